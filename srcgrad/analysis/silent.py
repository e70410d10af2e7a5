"""Statements that come to nothing after a loop: nobody looks at what they write, and they raise nothing."""

from __future__ import annotations

from ..ir.expressions import Call, Load
from ..ir.nodes import AddTo, Assign, Block, Comment, CopyTo, For, If, Library, Stmt, Store, View
from ..ir.walk import expressions, statements, subexpressions
from ..rules.costs import may_raise
from .effects import effects
from .lives import is_dead

SILENT = (AddTo, Assign, Comment, CopyTo, For, If, Store, View)
PRODUCTS = ("matmul", "add_matmul", "matvec", "add_matvec")  # of matrices: they fail at no value


def is_for_the_next(stmt: Stmt, later: Block, needed: set[str], results: set[str], roots: dict[str, str]) -> bool:
    """Does all that comes of the statement come to nothing after the loop, errors included?"""
    inside = tuple(statements((stmt,)))
    own = effects((stmt,))
    if not all(map(_is_silent, inside)):
        return False
    written = {roots.get(a.array.name, a.array.name) for a in own.accesses if a.writes}
    if written & needed or {roots.get(name, name) for name in own.views} & needed:
        return False
    return all(is_dead(var, (later,), var.name in results) for var in own.writes)


def _is_silent(stmt: Stmt) -> bool:
    if isinstance(stmt, Library):
        return stmt.routine in PRODUCTS
    if not isinstance(stmt, SILENT):
        return False
    nodes = [node for expr in expressions(stmt) for node in subexpressions(expr)]
    nodes += subexpressions(stmt.target) if isinstance(stmt, AddTo) else ()
    if any(isinstance(node, Load) and node.checked for node in nodes) or (isinstance(stmt, Store) and stmt.checked):
        return False
    return not any(isinstance(node, Call) and may_raise(node) for node in nodes)


__all__ = ["is_for_the_next"]
