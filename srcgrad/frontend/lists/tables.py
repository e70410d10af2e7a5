"""Lists in a list of run-time length: the numbers in them are those of one array.

table = [[0.0] * n for i in range(n)]          table = zeros((n, n))
table[i][j] = x                           →    table[i, j] = x
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ArgumentError
from ...ir.expressions import INT64, Const
from ...ir.types import ScalarType
from .. import expressions, identities, joined_numbers, operators
from ..arithmetic import cast
from ..array_values import ArrayValue
from ..numpy import indexing
from ..values import Items, Lost, Nested, Scalar, Static, static_int
from . import list_rows, list_types, lists, lists_as_arrays

if TYPE_CHECKING:
    from ..interpret import Interpreter


def assigned(interpreter: Interpreter, target: ast.expr, items: ast.expr, value: Any, op: str | None) -> bool:
    """`table[i][j] = value` or `table[i][j] op= value`, where target is `table[i]`: is it a number of such a table?"""
    found = _table(interpreter, target)
    if found is None:
        return False
    table, before = found
    places = [*before, items]
    if any(isinstance(place, (ast.Slice, ast.Tuple)) for place in places) or len(places) != table.rows.ndim:
        return False
    if not isinstance(value, Scalar) and not (isinstance(value, ArrayValue) and value.ndim == 0):
        return False
    index = [_place(interpreter, expressions.evaluate(interpreter, place)) for place in places]
    if op is not None:
        types = list_types.of_any_place(interpreter, table)
        kind = _place_type(interpreter, table, index)
        now = Scalar(cast(_at(interpreter, table, index).element, kind.dtype), kind.weak, types)
        value = operators.binary(interpreter, op, now, value)
    _store(interpreter, table, index, value if isinstance(value, Scalar) else Scalar(value.element))
    return True


def _table(interpreter: Interpreter, target: ast.expr) -> tuple[Items, list[ast.expr]] | None:
    """The outermost list of lists that the target is an item of, and under which indices."""
    places: list[ast.expr] = []
    found = None
    while isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
        places.insert(0, target.slice)
        target = target.value
        if _is_plain(target):
            owner = expressions.evaluate(interpreter, target)
            if isinstance(owner, Items) and (owner.inner is list or isinstance(owner.inner, Nested)):
                found = owner, list(places)
    return found


def _is_plain(node: ast.expr) -> bool:
    """May it be looked up twice: a name, an attribute, or an item under a key that is written there?"""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=owner) | ast.Subscript(value=owner, slice=ast.Constant() | ast.Name()):
            return _is_plain(owner)
    return False


def _place(interpreter: Interpreter, index: Any) -> Scalar:
    if not isinstance(index, Scalar) or index.dtype.kind not in "iub":
        interpreter.build.refuse("a list is indexed by an integer or a slice", error=ArgumentError)
    return Scalar(cast(index.expr, INT64), index.weak)


def _at(interpreter: Interpreter, table: Items, index: list[Scalar]) -> ArrayValue:
    return indexing.subscript(interpreter.build, lists_as_arrays.array_of_items(interpreter, table), list(index))


def _place_type(interpreter: Interpreter, table: Items, index: list[Scalar]) -> ScalarType:
    (row,) = list_rows.row_of_list(interpreter, table)
    places, column = list_rows.places_of(row), static_int(index[-1])
    return places[0] if len(places) == 1 or column is None else places[column]


def _store(interpreter: Interpreter, table: Items, index: list[Scalar], value: Scalar) -> None:
    identities.check_own(interpreter, table, "assigning to an item")
    (row,) = list_rows.row_of_list(interpreter, table)
    table = lists.widened(interpreter, table, _with_number(row, static_int(index[-1]), value))
    list_types.note_number(interpreter, table.rows, table.inner, value)
    indexing.write(interpreter.build, _at(interpreter, table, index), value)
    _note_changed(interpreter, table)


def _with_number(row: list_rows.Row, column: int | None, value: Scalar) -> list_rows.Row:
    """What the rows have in common once the value is in one of them."""
    own, width = ScalarType(value.dtype, value.weak), row.dims[-1]
    places = list(list_rows.places_of(row))
    if row.inner is list and column is not None and isinstance(width, Const) and -width.value <= column < width.value:
        places = places if len(places) == width.value else places * width.value
        places[column] = joined_numbers.common_place((places[column], own))
    else:
        places = [joined_numbers.common_place((place, own)) for place in places]
    return list_rows.row_of_places(places, row.dims, row.inner, np.result_type(row.dtype, value.dtype))


def _note_changed(interpreter: Interpreter, table: Items) -> None:
    """Names of lists that are its items: they have other numbers now, where we have copies."""
    root = interpreter.build.root(table.rows)
    memory = {root, *interpreter.build.all_twins(root)}
    changed = [identity for identity, rows in interpreter.given_away.items() if rows & {*memory, identities.ANY_MEMORY}]
    if not interpreter.one_of_several.isdisjoint(changed):  # other names may be it, by the path taken
        interpreter.build.refuse(
            "a list is changed that is an item of another one, and that other names may stand for, by the path taken",
            "give those names copies:  y = list(ys[i])",
        )
    for frame in identities.frames_of(interpreter):
        for name, value in frame.env.items():
            if any(identities.has(value, identity) for identity in changed):
                why = f"{name} is a list that is an item of another one, and was changed there"
                frame.env[name] = Static(Lost(why, "look it up again behind the change:  y = ys[i]"))


__all__ = ["assigned"]
