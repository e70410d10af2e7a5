"""Ends of slices that are known to lie inside the array are what the user wrote.

    for i in range(n):                                     for i in range(n):
        for j in range(i):                          →          for j in range(i):
            for k in range(minimum(j, n)):                         for k in range(j):
                s += a[i, k] * a[k, j]                                 s += a[i, k] * a[k, j]

NumPy cuts a slice at the end of its array.  Where no iteration comes that far, what is read here can be seen never to
be written again, and the array itself has it for the sweep.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.ranges import Ranges
from ..analysis.signs import signs_of
from ..ir import affine
from ..ir.expressions import INT64, Call, Expr
from ..ir.nodes import Block, For, Function, Stmt
from ..ir.walk import blocks, expressions, map_expressions, rewrite, subexpressions, with_blocks


def slice_ends(function: Function) -> Function:
    return _Ends(function).function()


class _Ends:
    def __init__(self, function: Function) -> None:
        self.whole = function
        self.signs = signs_of(function)

    def function(self) -> Function:
        body = self.block(self.whole.body, ())
        return replace(self.whole, body=body)

    def block(self, block: Block, around: tuple[For, ...]) -> Block:
        out: list[Stmt] = []
        ranges: Ranges | None = None
        for stmt in block:
            if around and any(map(_is_clipped, expressions(stmt))):
                ranges = ranges or Ranges(around[:-1], around[-1], self.signs)
                stmt = _with_ends(stmt, ranges)
            within = (*around, stmt) if isinstance(stmt, For) else around
            inner = tuple(self.block(part, within) for part in blocks(stmt))
            out.append(with_blocks(stmt, inner) if inner else stmt)
        return tuple(out)


def _with_ends(stmt: Stmt, ranges: Ranges) -> Stmt:
    return map_expressions(stmt, lambda expr: rewrite(expr, lambda node: _unclipped(node, ranges)))


def _is_clipped(expr: Expr) -> bool:
    return any(isinstance(node, Call) and node.op in ("maximum", "minimum") for node in subexpressions(expr))


def _unclipped(expr: Expr, ranges: Ranges) -> Expr:
    match expr:
        case Call(op="maximum" | "minimum" as op, args=(x, y)) if expr.dtype == INT64:
            lead = affine.sub(y, x) if op == "minimum" else affine.sub(x, y)
            if ranges.is_natural(lead):
                return x
            if ranges.is_natural(affine.sub(affine.ZERO, lead)):
                return y
    return expr


__all__ = ["slice_ends"]
