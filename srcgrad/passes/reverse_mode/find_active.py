"""Which scalars and arrays carry derivatives: they depend on `wrt`, and the outputs depend on them.

y = x * 2; z = n * 3; return y     wrt x     →     active: x, y
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.dependence import Edge, edges_of, sources_of, spread
from ...analysis.find_chosen import find_chosen
from ...analysis.find_masked import find_masked
from ...analysis.find_unclean import find_unclean, reads_of
from ...errors import UnsupportedError
from ...ir.expressions import Call
from ...ir.info import Info, roots_of
from ...ir.nodes import (
    External,
    Function,
    Library,
    Stmt,
    leaves,
)
from ...rules.partials import UNKNOWN
from ...rules.scalar import PRIMITIVES

ORDINALS = ("first", "second", "third", "fourth")


def find_active(function: Function) -> Function:
    if function.callees:
        from .callees import find_active_in_all

        return find_active_in_all(function)
    info: Info = function.info
    roots = roots_of(function)
    edges = list(edges_of(function.body, roots))
    varied = spread(
        {roots.get(name, name) for name in info.wrt}, [(s, t) for t, sources, _ in edges for s, _ in sources]
    )
    wanted = {name for leaf in leaves(function.results) for name, _ in sources_of(leaf, roots)}
    useful = spread(wanted, [(t, s) for t, sources, _ in edges for s, _ in sources])
    active = frozenset(varied & useful)
    refuse_unknown(edges, function, active, roots)
    reads = reads_of(function, active)
    unclean, masked = find_unclean(reads), find_masked(reads)
    again = function.info.again  # a cotangent that is zero is no condition there: all that is one has to be said
    chosen = find_chosen(reads, sorted(active) if again else unclean)
    return replace(function, info=replace(info, active=active, unclean=unclean, masked=masked, chosen=chosen))


def refuse_unknown(edges: list[Edge], function: Function, active: frozenset[str], roots: dict[str, str]) -> None:
    """An active value must not go through a primitive whose derivative nobody has written."""
    from ...ir.walk import expressions, subexpressions

    for target, sources, stmt in edges:
        if target not in active or not any(source in active for source, _ in sources):
            continue  # (an array that holds drawn numbers, and gets others later)
        if isinstance(stmt, Library) and stmt.draws:
            raise UnsupportedError(
                "what is drawn has no derivative with respect to the numbers of this distribution",
                span=stmt.span,
                because="a derivative goes through it",
                help=("where none is wanted:  srcgrad.stop_gradient(...)  around that number",),
            )
        if isinstance(stmt, External):
            raise UnsupportedError(
                f"{stmt.function} has no derivative rule",
                span=stmt.span,
                because="a derivative goes through it",
                help=(
                    "where its result needs no derivative, hand it  stop_gradient(x);  or give it one:  @srcgrad.rule"
                    "  (in the guide: A derivative of your own)",
                ),
            )
        for expr in expressions(stmt):
            for node in subexpressions(expr):
                if isinstance(node, Call) and node.op in PRIMITIVES:
                    _refuse_unknown_partials(node, stmt, active, roots)


def _refuse_unknown_partials(node: Call, stmt: Stmt, active: frozenset[str], roots: dict[str, str]) -> None:
    partials = PRIMITIVES[node.op].partials or ()
    for place, (arg, partial) in enumerate(zip(node.args, partials, strict=False)):
        if partial is UNKNOWN and any(name in active for name, _ in sources_of(arg, roots)):
            raise UnsupportedError(
                f"{node.op} has no derivative rule for its {ORDINALS[place]} argument",
                span=stmt.span,
                because="a derivative goes through it",
                help=("where none is wanted:  srcgrad.stop_gradient(...)  around that argument",),
            )
