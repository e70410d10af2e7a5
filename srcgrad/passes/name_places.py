"""Places around the ends of a grid get names in a kernel.

total += g[i - 1 + n if i - 1 < 0 else i - 1]          i_before = i - 1 + n if i - 1 < 0 else i - 1
total += x[i - 1 + n if i - 1 < 0 else i - 1]    →     total += g[i_before]
                                                       total += x[i_before]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..ir import affine
from ..ir.expressions import INT64, Call, Expr, Var
from ..ir.names import Names
from ..ir.nodes import Assign, Block, For, Function, Stmt
from ..ir.walk import blocks, map_expressions, rewrite, statements, variables, with_blocks
from ..ir.wraps import is_wrap
from .alternate import is_parallel
from .effects import effects

STEPS = {-1: "before", 1: "after"}


def name_places(function: Function) -> Function:
    names = function.info.names

    def changed(stmt: Stmt) -> Stmt:
        inner = _named if is_parallel(stmt) else lambda block, _: tuple(map(changed, block))
        return with_blocks(stmt, tuple(inner(block, names) for block in blocks(stmt)))

    return replace(function, body=tuple(map(changed, function.body)))


def _named(block: Block, names: Names, known: Mapping[Expr, Var] | None = None) -> Block:
    """`known`: places that have names around the block."""
    known = dict(known or {})
    changing = effects(block).writes | {s.index for s in statements(block) if isinstance(s, For)}
    out: list[Stmt] = []

    def name(expr: Expr) -> Expr:
        if not is_wrap(expr) or variables(expr) & changing:
            return expr
        if expr not in known:
            known[expr] = Var(names.fresh(_name(expr)), INT64)
            out.append(Assign(known[expr], expr))
        return known[expr]

    for stmt in block:
        stmt = map_expressions(stmt, lambda expr: rewrite(expr, name))
        out.append(with_blocks(stmt, tuple(_named(part, names, known) for part in blocks(stmt))))
    return tuple(out)


def _name(place: Expr) -> str:
    assert isinstance(place, Call)
    terms, step = affine.affine(place.args[0])
    index = next((term.name for term, count in terms if isinstance(term, Var) and count == 1), "i")
    return f"{index}_{STEPS.get(step, 'around') if len(terms) == 1 else 'around'}"


__all__ = ["name_places"]
