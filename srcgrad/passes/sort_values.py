"""Where the order of numbers is only there to put them into it, they are sorted, without it.

    order = empty(n, int64)
    argsort(order, x)
    y = empty(n)                       →      y = empty(n)
    for i in range(n):                        sort_rows(y, x)
        y[i] = x[order[i]]

A derivative needs the order: this is for a function itself.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.expressions import Array, Load
from ..ir.nodes import Alloc, Block, For, Function, Library, Stmt, Store
from ..ir.walk import blocks, statements, with_blocks
from .alternate import Memory, covers, nest_of


def sort_values(function: Function) -> Function:
    if not any(isinstance(stmt, Library) and stmt.routine == "argsort" for stmt in statements(function.body)):
        return function
    memory = Memory(function)

    def in_block(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            out.append(with_blocks(stmt, tuple(map(in_block, blocks(stmt)))))
            out[-4:] = _sorted(out[-4:], memory)
        return tuple(out)

    return replace(function, body=in_block(function.body))


def _sorted(last: list[Stmt], memory: Memory) -> list[Stmt]:
    """The statements, or what is made of them."""
    match last:
        case (
            Alloc(array=order),
            Library(routine="argsort", args=(Array() as x,)) as find,
            Alloc(array=values) as make,
            For() as nest,
        ) if find.out.name == order.name and _is_unused_else(order, memory) and _gathers(nest, values, x, order):
            return [make, replace(find, routine="sort_rows", out=values)]
    return last


def _is_unused_else(order: Array, memory: Memory) -> bool:
    return len(memory.uses[order.name]) == 3 and order.name not in memory.outside


def _gathers(nest: For, values: Array, x: Array, order: Array) -> bool:
    """Do the loops do nothing but values[i, k] = x[i, order[i, k]], for all elements?"""
    match nest_of(nest):
        case (
            loops,
            (Store(array=target, index=index, value=Load(array=read, index=(*row, Load(array=by, index=at)))),),
        ):
            own = tuple(loop.index for loop in loops)
            is_of_these = (target.name, read.name, by.name) == (values.name, x.name, order.name)
            return is_of_these and index == at == own and tuple(row) == own[:-1] and covers(loops, values)
    return False


__all__ = ["sort_values"]
