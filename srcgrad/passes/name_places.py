"""Places around the ends of a grid get names: in a kernel, or on a CPU as far out as they stay what they are.

total += g[i - 1 + n if i - 1 < 0 else i - 1]          i_before = i - 1 + n if i - 1 < 0 else i - 1
total += x[i - 1 + n if i - 1 < 0 else i - 1]    →     total += g[i_before]
                                                       total += x[i_before]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..analysis.effects import effects
from ..analysis.extremes import without_comments
from ..analysis.grids import is_parallel
from ..ir import affine
from ..ir.expressions import INT64, Call, Expr, Var
from ..ir.names import Names
from ..ir.nodes import Assign, Block, For, Function, Stmt
from ..ir.walk import (
    blocks,
    expressions,
    map_expressions,
    remembered,
    rewrite,
    statements,
    subexpressions,
    variables,
    with_blocks,
)
from ..ir.wraps import is_wrap

STEPS = {-1: "before", 1: "after"}


def name_places(function: Function) -> Function:
    names = function.info.names

    def changed(stmt: Stmt) -> Stmt:
        is_thread = is_parallel(stmt) and not _is_around_another(stmt)
        inner = _named if is_thread else lambda block, _: tuple(map(changed, block))
        return with_blocks(stmt, tuple(inner(block, names) for block in blocks(stmt)))

    return replace(function, body=tuple(map(changed, function.body)))


def _is_around_another(stmt: Stmt) -> bool:
    """Are loops right within each other the axes of a grid?  What stands between them would make them rows."""
    match without_comments(blocks(stmt)[0]):
        case (For() as inner,):
            return is_parallel(inner) and stmt.index not in variables(inner.start) | variables(inner.stop)  # type: ignore[attr-defined]
    return False


def name_all_places(function: Function) -> Function:
    return replace(function, body=_named(function.body, function.info.names))


def _named(block: Block, names: Names, known: Mapping[Expr, Var] | None = None) -> Block:
    """`known`: places that have names around the block."""
    if not known and not any(map(_has_place, block)):
        return block
    known = dict(known or {})
    changing = effects(block).writes | {s.index for s in statements(block) if isinstance(s, For)}
    out: list[Stmt] = []
    for stmt in block:
        for place in _places(stmt):
            if place not in known and not variables(place) & changing:
                known[place] = Var(names.fresh(_name(place)), INT64)
                out.append(Assign(known[place], place))
        stmt = map_expressions(stmt, lambda expr: rewrite(expr, lambda node: known.get(node, node)))
        out.append(with_blocks(stmt, tuple(_named(part, names, known) for part in blocks(stmt))))
    return tuple(out)


def _places(stmt: Stmt) -> Iterator[Expr]:
    """All in a statement and in those inside it: they may be computed where nobody wants them."""
    for inner in statements((stmt,)) if _has_place(stmt) else ():
        for expr in expressions(inner):
            yield from filter(is_wrap, subexpressions(expr))


@remembered
def _has_place(stmt: Stmt) -> bool:
    inside = any(_has_place(inner) for block in blocks(stmt) for inner in block)
    return inside or any(is_wrap(part) for expr in expressions(stmt) for part in subexpressions(expr))


def _name(place: Expr) -> str:
    assert isinstance(place, Call)
    terms, step = affine.affine(place.args[0])
    index = next((term.name for term, count in terms if isinstance(term, Var) and count == 1), "i")
    return f"{index}_{STEPS.get(step, 'around') if len(terms) == 1 else 'around'}"


__all__ = ["name_all_places", "name_places"]
