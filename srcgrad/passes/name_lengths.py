"""What a slice leaves of an axis goes by the name that the user has given it, from where it is first wanted.

    y = np.empty((B, np.maximum(x.shape[1] - 1, 0)))              T = np.maximum(x.shape[1] - 1, 0)
    k = np.empty((np.maximum(x.shape[1] - 1, 0), d))      →       y = np.empty((B, T))
                                                                  k = np.empty((T, d))

Up to here it is said by lengths of arguments, which passes can compare; the name is for the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..analysis.lengths import lengths_by_name, lengths_of
from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Dim, Expr, Var
from ..ir.nodes import Assign, For, Function, Stmt
from ..ir.walk import (
    blocks,
    expressions,
    map_expressions,
    rewrite,
    statements,
    subexpressions,
    substitute,
    with_blocks,
)


def name_lengths(function: Function) -> Function:
    called = function.info.names.lengths
    if not called:
        return function
    made, dims = lengths_of(function).made, lengths_by_name(function)
    lasting = {p.name for p in function.params if isinstance(p, Array) and made[p.name] == 1}
    said = Counter(part for stmt in function.body for part in _lengths(stmt))
    known: dict[Expr, Var] = {}
    body: list[Stmt] = []
    for stmt in function.body:
        for part in dict.fromkeys(_lengths(stmt)):
            length = substitute(part, dims)
            steady = all(node.array in lasting for node in subexpressions(length) if isinstance(node, Dim))
            if part not in known and length in called and steady and said[part] > 1:
                known[part] = Var(function.info.names.fresh(called[length]), INT64)
                body.append(Assign(known[part], part))
        body.append(_with_names(stmt, known) if known else stmt)
    return replace(function, body=tuple(body)) if known else function


def _lengths(stmt: Stmt) -> Iterator[Expr]:
    """What may be left of an axis by a slice, wherever it is said."""
    for inner in statements((stmt,)):
        for expr in expressions(inner):
            yield from (node for node in subexpressions(expr) if isinstance(node, Call) and node.op == "maximum")


def _with_names(stmt: Stmt, known: Mapping[Expr, Var]) -> Stmt:
    stmt = with_blocks(stmt, tuple(tuple(_with_names(s, known) for s in block) for block in blocks(stmt)))
    match stmt:
        case For(start=Const(value=0), stop=stop, step=Const(value=1)):  # range(n - 1) is range(max(n - 1, 0))
            stmt = replace(stmt, stop=known.get(affine.maximum(stop, affine.ZERO), stop))
    return map_expressions(stmt, lambda expr: rewrite(expr, lambda node: known.get(node, node)))
