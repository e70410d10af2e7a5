"""Rows of one array that an index tells apart, which stays as it is in a nest, are arrays by themselves there.

for i in range(1, n - 1):                           for i in range(1, n - 1):
    g = b_b[(t + 1) % 2, i]                             g = b_b_row[(t + 1) % 2, i]
    b_b[(t + 1) % 2, i] = 0.0               →           b_b_row[(t + 1) % 2, i] = 0.0
    b_b[t % 2, i - 1] += g                              b_b_row_1[t % 2, i - 1] += g
    b_b[t % 2, i + 1] += 0.5 * g                        b_b_row_1[t % 2, i + 1] += 0.5 * g

So who asks which memory a statement touches is told that it adds to one row what it is given in another.  The names are
for such questions: `with_rows_apart` takes them back.  No index may be negative: x[-1] is x[n - 1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import combinations

from ..ir import affine
from ..ir.expressions import Array, Dim, Expr, Load, Var
from ..ir.names import Names
from ..ir.nodes import AddTo, Block, For, Stmt, Store
from ..ir.rename import rename_arrays
from ..ir.walk import expressions, loads, map_expressions, rewrite, rewrite_block, statements, subexpressions, variables
from .defined_indices import by_values
from .effects import effects, values_within
from .remainders import leaves_a_remainder


def with_rows_apart(
    nest: For,
    body: Block,
    values: Mapping[Var, Expr],
    names: Names,
    may_be_one: Callable[[str, str], bool],
    change: Callable[[Block], Block | None],
) -> Block | None:
    """What `change` makes of the body of a nest.  `values`: what variables have been made of ahead of it."""
    own: dict[str, _Rows] = {}
    places = _places(body)
    moving = effects((nest,)).writes
    steady = {
        v: x for v, x in values_within(nest, values).items() if not any(isinstance(e, Dim) for e in subexpressions(x))
    }
    for name in {s.target.array.name for s in statements(body) if isinstance(s, AddTo) and isinstance(s.target, Load)}:
        is_alone = not any(may_be_one(name, other) for other in places if other != name)
        axis = _telling_axis(places[name], steady, moving) if is_alone else None
        if axis is not None:
            array, _ = places[name][0]
            said = dict.fromkeys(_said(index[axis], steady) for _, index in places[name])
            rows = {row: replace(array, name=names.fresh(f"{name}_row")) for row in said}
            own[name] = _Rows(array, axis, rows, steady)
    if not own:
        return change(body)
    out = change(rewrite_block(body, lambda stmt: (_by_rows(stmt, own),)))
    return None if out is None else _taken_back(out, own)


@dataclass(frozen=True)
class _Rows:
    """The names of the rows of an array that an index along an axis tells apart."""

    array: Array
    axis: int
    rows: Mapping[Expr, Array]
    values: Mapping[Var, Expr]

    def of(self, index: tuple[Expr, ...]) -> Array:
        return self.rows[_said(index[self.axis], self.values)]


def _places(body: Block) -> dict[str, list[tuple[Array, tuple[Expr, ...]]]]:
    """Where each array is read, set, and added to."""
    out: dict[str, list[tuple[Array, tuple[Expr, ...]]]] = {}
    for array, index in _touched(body):
        out.setdefault(array.name, []).append((array, index))
    return out


def _touched(body: Block) -> Iterator[tuple[Array, tuple[Expr, ...]]]:
    for stmt in statements(body):
        yield from ((load.array, load.index) for expr in expressions(stmt) for load in loads(expr))
        match stmt:
            case Store(array=array, index=index) | AddTo(target=Load(array=array, index=index)):
                yield array, index


def _telling_axis(
    places: list[tuple[Array, tuple[Expr, ...]]], values: Mapping[Var, Expr], moving: Set[Var]
) -> int | None:
    """An axis along which the array is touched in several rows, which are others whatever the numbers are."""
    for axis in range(len(places[0][1])):
        rows = list(dict.fromkeys(_said(index[axis], values) for _, index in places))
        stay = not any(loads(row) or variables(row) & moving for row in rows)
        if len(rows) > 1 and stay and all(_are_apart(*pair) for pair in combinations(rows, 2)):
            return axis
    return None


def _said(part: Expr, values: Mapping[Var, Expr]) -> Expr:
    return affine.normal(by_values(part, values))


def _are_apart(x: Expr, y: Expr) -> bool:
    return affine.difference(x, y) not in (None, 0) or leaves_a_remainder(affine.sub(x, y))


def _by_rows(stmt: Stmt, own: Mapping[str, _Rows]) -> Stmt:
    def said(node: Expr) -> Expr:
        if isinstance(node, Load) and node.array.name in own:
            return replace(node, array=own[node.array.name].of(node.index))
        return node

    stmt = map_expressions(stmt, lambda expr: rewrite(expr, said))
    if isinstance(stmt, Store) and stmt.array.name in own:
        return replace(stmt, array=own[stmt.array.name].of(stmt.index))
    return stmt


def _taken_back(block: Block, own: Mapping[str, _Rows]) -> Block:
    names = {row.name: found.array for found in own.values() for row in found.rows.values()}

    def said(node: Expr) -> Expr:
        return replace(node, array=names[node.array].name) if isinstance(node, Dim) and node.array in names else node

    back = lambda stmt: map_expressions(rename_arrays(stmt, names), lambda expr: rewrite(expr, said))
    return rewrite_block(block, lambda stmt: (back(stmt),))


__all__ = ["with_rows_apart"]
