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

from ..ir import affine
from ..ir.expressions import BOOL, Call, Load, Var
from ..ir.nodes import AddTo, AtomicAdd, Block, Lanes, Stmt, Store, While
from ..ir.walk import statements
from .block_sums import zero
from .kernel_text import Lines, chosen, lines_of, of_lane, text_of

Naming = Callable[[Var, str], str]  # the name of something that belongs to a number


@dataclass(frozen=True)
class Form:
    """How kernels are written: how many threads make a block, how many of them run a row together, and whether those
    may pass numbers to each other without memory that they share."""

    threads: int = 256
    lanes: int = 32
    shuffles: bool = True

    def meet(self, by_rows: str) -> str:
        """Where those that run a row together wait for each other, and see what they have written."""
        return "cuda.syncwarp()" if self.shuffles and by_rows == "warp" else "cuda.syncthreads()"


def together(loop: Lanes, by_rows: str, form: Form, of: Naming) -> Block:
    """A loop by the threads of a row; all of them know the sums then."""
    index, meet = loop.index, form.meet(by_rows)
    learnt = partial(_exchanged, by_rows, form, of)
    start = "" if affine.same(loop.start, affine.ZERO) else f"{text_of(loop.start)} + "
    writes = any(isinstance(s, (Store, AtomicAdd, Lines)) or _adds(s) for s in statements(loop.body))
    ahead = [*([meet] if writes else []), f"{index.name} = {start}lane"]
    behind: list[str] = []
    for var in loop.sums:
        before = of(var, "before")
        ahead += [f"{before} = {var.name}", f"{var.name} = {zero(var)}"]
        behind += learnt(var, lambda x, y: f"{x} + {y}")
        behind.append(f"{var.name} = {before} + {var.name}")
    for var, op in loop.extremes:
        behind += learnt(var, partial(chosen, op, var.dtype))
    goes_on = Call("lt", (index, loop.stop), BOOL)
    lanes = form.threads if by_rows == "block" else form.lanes
    body = (*loop.body, Lines(f"{index.name} += {lanes}"))
    return (*lines_of(ahead), While(index, goes_on, body), *lines_of([*behind, meet]))


def _exchanged(by_rows: str, form: Form, of: Naming, var: Var, joined: Callable[[str, str], str]) -> list[str]:
    """Every lane gets what all have, joined: of a warp by shuffles, of several warps in memory that they share."""
    other, shared = of(var, "other"), of(var, "lanes")
    by_shuffles = [
        f"half = {form.lanes // 2}",
        "while half > 0:",
        f"    {other} = {of_lane('shfl_xor_sync', var)}",
        f"    {var.name} = {joined(var.name, other)}",
        "    half >>= 1",
    ]
    if form.shuffles and by_rows == "warp":
        return by_shuffles
    count = form.threads // form.lanes if form.shuffles else form.lanes
    put = [f"{shared}[lane] = {var.name}"]
    if form.shuffles:
        put = [f"if lane % {form.lanes} == 0:", f"    {shared}[lane // {form.lanes}] = {var.name}"]
    return [
        *(by_shuffles if form.shuffles else []),
        f"{shared} = cuda.shared.array({count}, np.{var.dtype.name})",
        *put,
        "cuda.syncthreads()",
        f"{var.name} = {shared}[0]",
        f"for half in range(1, {count}):",
        f"    {var.name} = {joined(var.name, f'{shared}[half]')}",
        "cuda.syncthreads()",
    ]


def _adds(stmt: Stmt) -> bool:
    return isinstance(stmt, AddTo) and isinstance(stmt.target, Load)


__all__ = ["Form", "together"]
