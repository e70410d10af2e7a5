"""Of the last step of a forward sweep only what the reverse sweep reads is computed: nobody looks at the state after.

    for t in range(steps):                     for t in range(steps):
        y_kept[t] = y                   →          y_kept[t] = y
        k = slope(y)                               if t < steps - 1:
        y += h * k                                     k = slope(y); y += h * k

The reverse sweep starts from the cotangent of the last state, and needs the states that steps begin with.  With one
step it was half of the work; with a thousand it is nothing, so only steps that are loops themselves are looked at.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir import affine
from ..ir.expressions import Array, Call, Const, Expr, Load, compare
from ..ir.nodes import (
    AddTo,
    Assign,
    Block,
    Comment,
    CopyTo,
    For,
    Function,
    If,
    Library,
    Stmt,
    Store,
    View,
    leaves,
)
from ..ir.walk import expressions, loads, statements, subexpressions, variables
from ..rules.costs import may_raise
from .effects import effects, is_dead
from .info import roots_of

SILENT = (AddTo, Assign, Comment, CopyTo, For, If, Store, View)
PRODUCTS = ("matmul", "add_matmul", "matvec", "add_matvec")  # of matrices: they fail at no value


def last_step(function: Function) -> Function:
    seen = {p.name for p in function.params if isinstance(p, Array)}
    roots = roots_of(function)
    seen |= {roots.get(leaf.name, leaf.name) for leaf in leaves(function.results) if isinstance(leaf, Array)}
    results = {v.name for leaf in leaves(function.results) if isinstance(leaf, Expr) for v in variables(leaf)}
    out: list[Stmt] = []
    for position, stmt in enumerate(function.body):
        if isinstance(stmt, For) and _is_of_steps(stmt):
            later = function.body[position + 1 :]
            needed = seen | {roots.get(name, name) for name in effects(later).names()}
            stmt = _shortened(stmt, later, needed, results, roots)
        out.append(stmt)
    return replace(function, body=tuple(out))


def _is_of_steps(loop: For) -> bool:
    """A loop in the user's order around others, whose last iteration is known by its index."""
    runs = affine.sub(loop.stop, loop.start)
    return (
        loop.ordered
        and loop.step == affine.ONE
        and not (isinstance(runs, Const) and runs.value > 16)
        and not loads(loop.stop)
        and not variables(loop.stop) & effects(loop.body).writes
    )


def _shortened(loop: For, later: Block, needed: set[str], results: set[str], roots: dict[str, str]) -> For:
    body = list(loop.body)
    first = len(body)
    while first and is_for_the_next(body[first - 1], later, needed, results, roots):
        first -= 1
    rest = tuple(body[first:])
    if not any(isinstance(stmt, (For, Library)) for stmt in rest):
        return loop
    goes_on = compare("lt", loop.index, affine.sub(loop.stop, affine.ONE))
    return replace(loop, body=(*body[:first], If(goes_on, rest, span=loop.span)))


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


__all__ = ["is_for_the_next", "last_step"]
