"""Lengths that a check has found to be equal go by one name, so that loops over them are loops over one range.

    if x.shape[0] != w.shape[0]: raise …                 if x.shape[0] != w.shape[0]: raise …
    for i in range(x.shape[0]): y[i] = x[i] * w[i]  →    for i in range(x.shape[0]): …
    for i in range(w.shape[0]): z[i] = exp(w[i])         for i in range(x.shape[0]): …

The name is the one that the program uses first.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.lengths import Equal, Lengths, lengths_of
from ..ir.expressions import Expr
from ..ir.nodes import Alloc, Block, For, Function, If, Stmt
from ..ir.walk import blocks, statements, subexpressions, with_blocks


def equal_lengths(function: Function) -> Function:
    lengths = lengths_of(function)
    used = (part for stmt in statements(function.body) for end in _ends(stmt) for part in subexpressions(end))
    order = {part: k for k, part in enumerate(dict.fromkeys(used))}
    return replace(function, body=_block(function.body, lengths, Equal(order)))


def _ends(stmt: Stmt) -> tuple[Expr, ...]:
    match stmt:
        case For(start=start, stop=stop):
            return start, stop
        case Alloc(dims=dims):
            return dims
    return ()


def _block(block: Block, lengths: Lengths, equal: Equal) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        stmt = _with_one_name(stmt, equal)
        inner = tuple(_block(part, lengths, equal.within(stmt)) for part in blocks(stmt))
        out.append(with_blocks(stmt, inner) if inner else stmt)
        if isinstance(stmt, If):
            equal.learn(stmt, lengths)
    return tuple(out)


def _with_one_name(stmt: Stmt, equal: Equal) -> Stmt:
    if not equal.same_as:
        return stmt
    match stmt:
        case For(start=start, stop=stop):
            return replace(stmt, start=equal.named(start), stop=equal.named(stop))
        case Alloc(dims=dims):
            return replace(stmt, dims=tuple(map(equal.named, dims)))
    return stmt


__all__ = ["equal_lengths"]
