"""Copies of arrays, and arrays that are filled, are loops over their elements: such that fuse with others.

y_b = empty(n)                    y_b = empty(n)
y_b[...] = v               →      for i in range(n):
                                      y_b[i] = v[i]
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.lengths import lengths_of
from ...ir.expressions import Const, Expr, Load
from ...ir.info import elementwise
from ...ir.nodes import Alloc, Block, CopyTo, For, Function, Stmt, Store
from ...ir.walk import blocks, rewrite_block, with_blocks


def copies_as_loops(function: Function) -> Function:
    names, lengths = function.info.names, lengths_of(function)

    def changed(block: Block, around: frozenset[str]) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if blocks(stmt):
                inner = around | {stmt.index.name} if isinstance(stmt, For) else around
                out.append(with_blocks(stmt, tuple(changed(b, inner) for b in blocks(stmt))))
            else:
                out += copied(stmt, around)
        return tuple(out)

    def copied(stmt: Stmt, around: frozenset[str]) -> tuple[Stmt, ...]:
        if isinstance(stmt, CopyTo):
            target, source = stmt.target, stmt.source
            read = lambda indices: Load(source, indices, checked=False)
            copy = elementwise(target, lengths.of(target), read, names, around, stmt.span)
            return (unchecked(copy),)
        if isinstance(stmt, Alloc) and stmt.fill is not None and not _is_zero(stmt.fill):
            fill = stmt.fill
            filled = elementwise(stmt.array, stmt.dims, lambda indices: fill, names, around, stmt.span)
            return replace(stmt, fill=None), unchecked(filled)
        return (stmt,)

    return replace(function, body=changed(function.body, frozenset()))


def _is_zero(fill: Expr) -> bool:
    return isinstance(fill, Const) and not fill.value


def unchecked(stmt: Stmt) -> Stmt:
    (out,) = rewrite_block((stmt,), lambda s: (replace(s, checked=False),) if isinstance(s, Store) else (s,))
    return out


__all__ = ["copies_as_loops", "unchecked"]
