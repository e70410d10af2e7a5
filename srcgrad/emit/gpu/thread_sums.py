"""What a thread adds to one element in many of its iterations is a number while they last.

i = i_first                                        j = j_first
while i < n:                                       while j < m:
    j = j_first                                        total = 0.0
    while j < m:                                       i = i_first
        atomic: s[j] += x[i, j]               →        runs = i < n
        j += j_step                                    while i < n:
    i += i_step                                            total += x[i, j]
                                                           i += i_step
                                                       if runs:
                                                           atomic: s[j] += total
                                                       j += j_step

One atomic addition per thread and element.  Where the axis is the one along which threads of a warp are neighbours, all
of them mean the same element, and add up among themselves first.  Where it is the other one of two, the threads of a
block that lie along it do, in memory that they share: they go through the outer loop together.  Where a condition
chooses what is added, it may have chosen nothing, because there is no such element: then nothing is added to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...ir import affine
from ...ir.expressions import BOOL, Call, Const, Expr, Var
from ...ir.names import Names
from ...ir.nodes import AddTo, AtomicAdd, Block, For, If, Kernel, Stmt
from ...ir.walk import loads, rewrite_block, statements, variables
from .block_sums import folded
from .in_common import changed_by, in_common

MOST_SHARED = 64  # bytes of a thread that a block may share: three blocks then fit on a processor, or more


@dataclass(frozen=True)
class ThreadSums:
    """The axis that goes innermost, an iteration with numbers for the elements, and what is added to those at last.

    `ahead` is what all iterations have in common.
    """

    axis: For
    ahead: Block
    body: Block
    totals: tuple[Var, ...]
    added: Block
    beside: For | None  # the axis along which threads of a block are neighbours, where those have elements of their own
    arrays: tuple[str, ...]  # to which nothing else is added


def thread_sums(kernel: Kernel, on_grid: tuple[For, ...], names: Names, memory: Mapping[str, str]) -> ThreadSums | None:
    """`memory`: which memory arrays are handles on."""
    if kernel.by_rows:
        return None
    private = {made.array.name for made in kernel.scratch}
    found = [s for s in statements(kernel.body) if isinstance(s, AtomicAdd) and s.array.name not in private]
    steady = _steady(kernel, on_grid)
    free: dict[For, list[AtomicAdd]] = {axis: [] for axis in on_grid}
    for stmt in found:
        used = _used(stmt)
        if used <= steady and not any(map(loads, stmt.index)):
            for axis in on_grid:
                if axis.index not in used:
                    free[axis].append(stmt)
    if not any(free.values()):
        return None
    axis = max(on_grid, key=lambda axis: len(free[axis]))  # of several the outermost
    every_time = {_element(stmt) for stmt in kernel.body if isinstance(stmt, AtomicAdd)}
    totals: dict[tuple[str, tuple[Expr, ...]], tuple[Var, Stmt]] = {}
    for stmt in free[axis]:
        if _element(stmt) in totals:
            continue
        total = Var(names.fresh("total"), stmt.array.dtype)
        added: Stmt = replace(stmt, value=total)
        if _element(stmt) not in every_time:
            added = If(Call("ne", (total, Const(0, total.dtype)), BOOL), (added,))
        totals[_element(stmt)] = total, added
    chosen = set(map(id, free[axis]))

    def in_number(stmt: Stmt) -> Block:
        if not (isinstance(stmt, AtomicAdd) and id(stmt) in chosen):
            return (stmt,)
        return (AddTo(totals[_element(stmt)][0], stmt.value, reorder=True, span=stmt.span),)

    ahead, body = in_common(kernel, axis, on_grid, rewrite_block(kernel.body, in_number), names, memory)
    inner = on_grid[-1]
    apart = len(on_grid) == 2 and all(axis is on_grid[0] and inner.index in _used(stmt) for stmt in free[axis])
    few = sum(total.dtype.itemsize for total, _ in totals.values()) <= MOST_SHARED
    beside = inner if apart and few and affine.same(inner.step, affine.ONE) else None
    others = {stmt.array.name for stmt in found if id(stmt) not in chosen}
    arrays = tuple(dict.fromkeys(s.array.name for s in free[axis] if beside and s.array.name not in others))
    return ThreadSums(
        axis,
        ahead,
        body,
        tuple(t for t, _ in totals.values()),
        tuple(add for _, add in totals.values()),
        beside,
        arrays,
    )


def _element(stmt: AtomicAdd) -> tuple[str, tuple[Expr, ...]]:
    return stmt.array.name, stmt.index


def _used(stmt: AtomicAdd) -> set[Var]:
    return set().union(*map(variables, stmt.index))


def _steady(kernel: Kernel, on_grid: tuple[For, ...]) -> set[Var]:
    """What an index may be made of, to be known where the innermost loop is over."""
    used = {v for s in statements(kernel.body) if isinstance(s, AtomicAdd) for part in s.index for v in variables(part)}
    return used - changed_by(kernel, on_grid)


def within_warp(totals: tuple[Var, ...], runs: Var) -> Iterator[str]:
    """The first thread of a warp has what all of them have; if anyone had an iteration, it had one."""
    yield "if cuda.blockDim.x >= 32:"
    yield from (f"    {line}" for line in folded(totals, 16))
    yield f"    {runs.name} = {runs.name} and cuda.threadIdx.x % 32 == 0"


def within_block(totals: tuple[tuple[Var, str], ...], runs: Var, threads: int) -> Iterator[str]:
    """Of the threads of a block that mean one element, the first one has what all of them have.

    Where each means another, nobody waits.  `totals`: the names of memory that they share, too.
    """
    yield "if cuda.blockDim.y > 1:"
    for total, shared in totals:
        yield f"    {shared} = cuda.shared.array({threads}, np.{total.dtype.name})"
        yield f"    {shared}[member] = {total.name}"
    yield "    cuda.syncthreads()"
    yield "    if cuda.threadIdx.y == 0:"
    yield "        for half in range(1, cuda.blockDim.y):"
    for total, shared in totals:
        yield f"            {total.name} += {shared}[member + cuda.blockDim.x * half]"
    yield "    cuda.syncthreads()"
    yield f"    {runs.name} = {runs.name} and cuda.threadIdx.y == 0"


__all__ = ["ThreadSums", "thread_sums", "within_block", "within_warp"]
