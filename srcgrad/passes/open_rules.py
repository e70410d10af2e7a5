"""Where nothing is differentiated, statements whose adjoint is given are statements like others.

rule maximum for top:
    top = x[0]                       top = x[0]
    for i in range(0, n, 1):    →    for i in range(0, n, 1):
        top = maximum(top, x[i])         top = maximum(top, x[i])
adjoint:
    …
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Block, Function, Rule, Stmt
from ..ir.walk import rewrite_block


def open_rules(function: Function) -> Function:
    return replace(function, body=rewrite_block(function.body, _open))


def _open(stmt: Stmt) -> Block:
    return stmt.forward if isinstance(stmt, Rule) else (stmt,)


__all__ = ["open_rules"]
