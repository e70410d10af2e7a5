"""What is left out of an adjoint where a cotangent is zero is a choice, once the adjoint itself is differentiated.

    x_b[i] += unless_zero(g, g / x[i])      →      x_b[i] += g / x[i] if g != 0.0 else 0.0

Before `reverse` it is none: the slope of `g / x[i]` by g is 1 / x[i], where g is zero too.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.expressions import BOOL, Call, Const, Expr, select
from ...ir.nodes import Block, Function
from ...ir.walk import map_expressions, rewrite, rewrite_block


def zeros_chosen(function: Function) -> Function:
    body = _block(function.body)
    return function if body == function.body else replace(function, body=body)


def _block(block: Block) -> Block:
    return rewrite_block(block, lambda stmt: (map_expressions(stmt, lambda e: rewrite(e, chosen)),))


def chosen(expr: Expr) -> Expr:
    match expr:
        case Call(op="unless_zero", args=(g, x)):
            counts = Call("ne", (g, Const(g.dtype.type(0).item(), g.dtype)), BOOL)
            return select(counts, x, Const(x.dtype.type(0).item(), x.dtype))
    return expr
