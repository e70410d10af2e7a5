"""An integer that both sides of a branch set is a choice between two.

    if j < 0:                    j_1 = -j if j < 0 else j
        j_1 = -j         →
    else:
        j_1 = j

An index that it is in can be told apart, then, and checked ahead of a loop; and nothing branches.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.expressions import INT64, Call, Expr, Load, select
from ..ir.nodes import Assign, Function, If, Stmt
from ..ir.walk import rewrite_block, subexpressions

CHEAP = ("add", "sub", "neg", "mul", "cast", "maximum", "minimum", "select")


def choose_integers(function: Function) -> Function:
    return replace(function, body=rewrite_block(function.body, lambda stmt: (_chosen(stmt),)))


def _chosen(stmt: Stmt) -> Stmt:
    match stmt:
        case If(condition=condition, then=(Assign(var=var, value=x),), orelse=(Assign(var=other, value=y),)):
            if var == other and var.dtype == INT64 and _is_cheap(x) and _is_cheap(y):
                return Assign(var, select(condition, x, y), span=stmt.span)
    return stmt


def _is_cheap(expr: Expr) -> bool:
    """May it be computed also where it is not wanted?"""
    return all(not isinstance(e, (Call, Load)) or (isinstance(e, Call) and e.op in CHEAP) for e in subexpressions(expr))


__all__ = ["choose_integers"]
