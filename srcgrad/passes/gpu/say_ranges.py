"""The range of a loop is said by what its names were made of, where the loop leaves that alone.

while s < n:                                   while s < n:
    stop, step = n - s, 2 * s          →           for i in range(0, n - s, 2 * s):
    for i in range(0, stop, step):                     x[i] += x[i + s]
        x[i] += x[i + s]                           s = 2 * s
    s = 2 * s

That i and i + s are half a step apart is known on the way back, too, where s is all that was kept of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ...analysis.defined_indices import by_values
from ...analysis.effects import values_behind, values_within
from ...ir import affine
from ...ir.expressions import INT64, Call, Const, Dim, Expr, Var
from ...ir.nodes import Block, For, Function
from ...ir.walk import blocks, with_blocks

Values = Mapping[Var, Expr]


def say_ranges(function: Function) -> Function:
    body = _block(function.body, MappingProxyType({}))
    return function if body == function.body else replace(function, body=body)


def _block(block: Block, values: Values) -> Block:
    out = []
    for stmt in block:
        if blocks(stmt):
            known = values_within(stmt, values)
            if isinstance(stmt, For):
                start, stop, step = (by_values(bound, known) for bound in (stmt.start, stmt.stop, stmt.step))
                stmt = replace(stmt, start=start, stop=stop, step=step)
            stmt = with_blocks(stmt, tuple(_block(inner, known) for inner in blocks(stmt)))
        values = {var: value for var, value in values_behind(stmt, values).items() if _is_plain(value)}
        out.append(stmt)
    return tuple(out)


def _is_plain(value: Expr) -> bool:
    """Is it arithmetic that takes no longer than to read a name?"""
    match value:
        case Var() | Dim() | Const():
            return value.dtype == INT64
        case Call(op="mul" | "lshift" | "min" | "max" | "minimum" | "maximum", args=args):
            return all(map(_is_plain, args))
    terms, _ = affine.affine(value) if value.dtype == INT64 else (((value, 1),), 0)
    return all(term != value and _is_plain(term) for term, _ in terms)


__all__ = ["say_ranges"]
