"""A loop along a row, by the threads that run the iteration together: those of a warp, or of a block.

for j in range(m), together:                   s = 0.0
    s += x[i, j]                               j = lane
                                       →       while j < m:
                                                   s += x[i, j]
                                                   j += 32
                                               …and all of them learn of the sum
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ...ir import affine
from ...ir.expressions import BOOL, Call, Load, Var
from ...ir.nodes import AddTo, Assign, AtomicAdd, Block, Comment, Lanes, Stmt, Store, While
from ...ir.walk import expressions, loads, statements
from ...passes.gpu.offload import HELD_ROWS
from .block_sums import zero
from .kernel_text import Lines, chosen, lines_of, of_lane, text_of
from .read_ahead import in_turns, stores, turns

Naming = Callable[[Var, str], str]  # the name of something that belongs to a number
Joined = Callable[[str, str], str]  # what two of them make


@dataclass(frozen=True)
class Form:
    """How kernels are written: how many threads make a block, how many of them run a row together, and whether those
    may pass numbers to each other without memory that they share."""

    threads: int = 256
    lanes: int = 32
    shuffles: bool = True

    @property
    def held(self) -> int:
        """How many elements of a row a thread of a block holds."""
        return HELD_ROWS // self.threads

    def meet(self, by_rows: str) -> Meeting:
        """Where those that run a row together wait for each other, and see what they have written."""
        return Meeting("cuda.syncwarp()" if self.shuffles and by_rows == "warp" else "cuda.syncthreads()")


@dataclass(frozen=True)
class Meeting(Lines):
    """Where threads wait for each other."""


def meeting_once(body: Block) -> Block:
    """The body without waiting again where nobody has touched memory since the last time."""
    out: list[Stmt] = []
    have_met = False
    for stmt in body:
        if isinstance(stmt, Meeting) and have_met:
            continue
        own = isinstance(stmt, (Assign, Comment)) or (isinstance(stmt, AddTo) and isinstance(stmt.target, Var))
        have_met = isinstance(stmt, Meeting) or (have_met and own and not any(map(loads, expressions(stmt))))
        out.append(stmt)
    return tuple(out)


def together(loop: Lanes, by_rows: str, form: Form, of: Naming) -> Block:
    """A loop by the threads of a row; all of them know the sums then."""
    index, meet = loop.index, form.meet(by_rows)
    start = "" if affine.same(loop.start, affine.ZERO) else f"{text_of(loop.start)} + "
    writes = any(isinstance(s, (Store, AtomicAdd, Lines)) or _adds(s) for s in statements(loop.body))
    ahead: list[str] = [] if loop.held else [f"{index.name} = {start}lane"]
    behind: list[str] = []
    joined: list[tuple[Var, Joined]] = []
    for var in loop.sums:
        before = of(var, "before")
        ahead += [f"{before} = {var.name}", f"{var.name} = {zero(var)}"]
        joined.append((var, lambda x, y: f"{x} + {y}"))
        behind.append(f"{var.name} = {before} + {var.name}")
    joined += [(var, partial(chosen, op, var.dtype)) for var, op in loop.extremes]
    goes_on = Call("lt", (index, loop.stop), BOOL)
    lanes = form.threads if by_rows == "block" else form.lanes
    if loop.held:
        at, count = f"{start}lane + {lanes} * turn", affine.integer(form.held)
        whole = (*turns(at, index, count, goes_on, stores(loop.reads)), *turns(at, index, count, goes_on, loop.body))
    elif loop.reads:
        first = Var(of(index, "ahead"), index.dtype)
        whole = in_turns(index, first, str(lanes), goes_on, loop.reads, loop.body)
    else:
        whole = (While(index, goes_on, (*loop.body, Lines(f"{index.name} += {lanes}"))),)
    learnt = lines_of([*(_exchanged(by_rows, form, of, joined) if joined else []), *behind])
    if loop.held:
        return (*lines_of(ahead), *whole, *learnt)
    return (*((meet,) if writes else ()), *lines_of(ahead), *whole, *learnt, meet)


def _exchanged(by_rows: str, form: Form, of: Naming, joined: list[tuple[Var, Joined]]) -> list[str]:
    """Every lane gets what all have, joined: of a warp by shuffles, of several warps in memory that they share.

    That memory may be written again once they have met behind this.
    """
    by_shuffles: list[str] = []
    for var, of_two in joined if form.shuffles else ():
        other = of(var, "other")
        by_shuffles += [
            f"half = {form.lanes // 2}",
            "while half > 0:",
            f"    {other} = {of_lane('shfl_xor_sync', var)}",
            f"    {var.name} = {of_two(var.name, other)}",
            "    half >>= 1",
        ]
    if form.shuffles and by_rows == "warp":
        return by_shuffles
    count = form.threads // form.lanes if form.shuffles else form.lanes
    shared = {var: of(var, "lanes") for var, _ in joined}
    made = [f"{shared[var]} = cuda.shared.array({count}, np.{var.dtype.name})" for var, _ in joined]
    put = [f"{shared[var]}[lane] = {var.name}" for var, _ in joined]
    if form.shuffles:
        first = [f"    {shared[var]}[lane // {form.lanes}] = {var.name}" for var, _ in joined]
        put = [f"if lane % {form.lanes} == 0:", *first]
    learnt: list[str] = []
    for var, of_two in joined:
        learnt += [
            f"{var.name} = {shared[var]}[0]",
            f"for half in range(1, {count}):",
            f"    {var.name} = {of_two(var.name, f'{shared[var]}[half]')}",
        ]
    return [*by_shuffles, *made, *put, "cuda.syncthreads()", *learnt]


def _adds(stmt: Stmt) -> bool:
    return isinstance(stmt, AddTo) and isinstance(stmt.target, Load)


__all__ = ["Form", "meeting_once", "together"]
