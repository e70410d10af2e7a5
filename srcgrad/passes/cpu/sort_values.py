"""Where the order of numbers is only there to put them into it, they are sorted, without it.

    order = empty(n, int64)
    argsort(order, x)
    y = empty(n)                       →      y = empty(n)
    for i in range(n):                        sort_rows(y, x)
        y[i] = x[order[i]]

Along another axis than the last one, x has been turned for it, and so is what comes out.  A derivative needs the order:
this is for a function itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...analysis.grids import Memory, covers, nest_of, within
from ...ir import affine
from ...ir.expressions import Array, Expr, Load
from ...ir.nodes import Alloc, Block, For, Function, Library, Stmt, Store
from ...ir.walk import blocks, loads, statements, substitute, with_blocks


def sort_values(function: Function) -> Function:
    if not any(isinstance(stmt, Library) and stmt.routine == "argsort" for stmt in statements(function.body)):
        return function
    memory = Memory(function)

    def in_block(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            out.append(with_blocks(stmt, tuple(map(in_block, blocks(stmt)))))
            out[-4:] = _sorted(out[-4:], out[-5:-4], memory)
        return tuple(out)

    return replace(function, body=in_block(function.body))


@dataclass(frozen=True)
class _Gathered:
    """target[own] = read, for all elements."""

    loops: tuple[For, ...]
    target: Array
    read: Load

    @property
    def own(self) -> tuple[Expr, ...]:
        return tuple(loop.index for loop in self.loops)


def _gathered(stmt: Stmt) -> _Gathered | None:
    match nest_of(stmt):
        case loops, (Store(array=target, index=index, value=Load() as read),):
            found = _Gathered(loops, target, read)
            return found if index == found.own and covers(loops, target) else None
    return None


def _sorted(last: Sequence[Stmt], ahead: Sequence[Stmt], memory: Memory) -> Sequence[Stmt]:
    """The statements, or what is made of them.  `ahead`: what may have turned the numbers."""
    match last:
        case (
            Alloc(array=order),
            Library(routine="argsort", args=(Array() as x,)) as find,
            Alloc(array=values) as make,
            For() as nest,
        ) if find.out.name == order.name and len(memory.uses[order.name]) == 3 and order.name not in memory.outside:
            gathered = _gathered(nest)
            at = _places(gathered, order)
            if gathered is None or at is None or gathered.target.name != values.name:
                return last
            if not _is_the_same(gathered.read, Load(x, (*at[:-1], Load(order, at))), ahead):
                return last
            if at == gathered.own and all(map(affine.same, values.dims, order.dims)):
                return [make, replace(find, routine="sort_rows", out=values)]
            rows = Array(memory.names.fresh("rows"), x.dtype, order.dims)
            turned = within(gathered.loops, (Store(values, gathered.own, Load(rows, at), span=nest.span),))
            return [Alloc(rows, rows.dims, span=make.span), replace(find, routine="sort_rows", out=rows), make, turned]
    return last


def _places(gathered: _Gathered | None, order: Array) -> tuple[Expr, ...] | None:
    """Where the order is read: at each place once."""
    if gathered is None:
        return None
    found = [load.index for load in loads(gathered.read) if load.array.name == order.name]
    return found[0] if len(found) == 1 and len(found[0]) == len({*found[0]} & {*gathered.own}) else None


def _is_the_same(read: Load, wanted: Load, ahead: Sequence[Stmt]) -> bool:
    """Is it the element that is wanted, or the one that this was copied from?"""
    if (read.array.name, read.index) == (wanted.array.name, wanted.index):
        return True
    copied = _gathered(ahead[0]) if ahead else None
    if copied is None or copied.target.name != wanted.array.name or copied.read.array.name != read.array.name:
        return False
    there = dict(zip(copied.own, wanted.index, strict=True))
    return read.index == tuple(substitute(part, there) for part in copied.read.index)


__all__ = ["sort_values"]
