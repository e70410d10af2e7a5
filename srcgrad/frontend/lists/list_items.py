"""Items of lists of run-time length: read where they lie, and the names that stand for them until others lie there."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...ir import affine
from ...ir.expressions import Array, Axis, Expr, Load
from .. import identities
from ..aliases import arrays_of, is_known_elsewhere, value_leaves
from ..arithmetic import cast
from ..array_values import ArrayValue, axes, whole
from ..values import NONE, Indexed, Items, Layout, Lost, Nested, Scalar, Static, TupleValue
from . import list_parts, list_types, lists_as_arrays, put_in_rows, shared_items
from .list_rows import places_of, row_of_list

if TYPE_CHECKING:
    from ..interpret import Interpreter


def is_item(interpreter: Interpreter, value: Any) -> bool:
    """Is it an array or a list that is an item of a list, or a part of one, whose place another may take?"""
    if isinstance(value, Items) and value.identity is None:
        return True
    if not isinstance(value, ArrayValue) or not value.ndim:
        return False
    roots = {interpreter.build.root(array) for array in arrays_of(value)}
    every = (held for held in identities.held(interpreter).values() if isinstance(held, Items))
    return any(interpreter.build.root(held.rows) in roots for held in every)


def copy_of_item(interpreter: Interpreter, value: ArrayValue | Items, is_second: bool) -> ArrayValue | Items:
    """An item in memory of its own, while its place is taken by another; `is_second`: in Python it may be there too."""
    build = interpreter.build
    seen = lists_as_arrays.array_of_items(interpreter, value) if isinstance(value, Items) else value
    own = build.materialize(seen, "t", copy=True)
    for array in arrays_of(seen):
        if is_second or build.root(array) in build.rows_of_one:
            build.twin(own, array)
        for other in sorted(filter(partial(_has_a_name, interpreter), build.all_twins(build.root(array)))):
            build.twin(own, Array(other, array.dtype, ()))  # it may be the array that was put there
    if isinstance(value, Items):
        list_types.note_part(interpreter, own, value, is_whole=True)
        return Items(own, own.dims[0], own.dims[0], value.weak, value.inner)
    return whole(own)


def _has_a_name(interpreter: Interpreter, root: str) -> bool:
    build = interpreter.build
    lists = (held for held in identities.held(interpreter).values() if isinstance(held, Items))
    return (
        build.is_known_outside(root)
        or is_known_elsewhere(interpreter, "", root)
        or any(build.root(x.rows) == root for x in lists)
    )


def note_replaced(interpreter: Interpreter, rows: Array) -> None:
    """Names of what items were: their memory has other numbers now."""
    for frame in identities.frames_of(interpreter):
        for name, value in frame.env.items():
            shown = [leaf for leaf in value_leaves(value) if isinstance(leaf, ArrayValue) and leaf.handle != rows]
            roots = {interpreter.build.root(array) for leaf in shown for array in arrays_of(leaf)}
            if not name.startswith(".") and interpreter.build.root(rows) in roots:
                lost = f"{name} is an array that was an item of a list, until another one took its place"
                frame.env[name] = Static(Lost(lost, f"keep a copy:  {name} = ys[i].copy()"))


def note_stored(interpreter: Interpreter, rows: Array, value: Any) -> None:
    """A list holds what is stored in it itself, where we have copies in the rows of an array."""
    build = interpreter.build
    value = lists_as_arrays.array_of_items(interpreter, value) if isinstance(value, Items) else value
    root = build.root(rows)
    shown = {build.root(array) for array in arrays_of(value)} if isinstance(value, ArrayValue) else set()
    if any(root in {other, *build.all_twins(other)} for other in shown):
        if value.handle is not None or value.is_window:
            shared_items.note_one_array(interpreter, rows)  # two items are one
    else:
        put_in_rows.note_held(interpreter, rows, value)


def _number(interpreter: Interpreter, value: Items, element: Expr) -> Scalar:
    """An item of a list of numbers."""
    kind = lists_as_arrays.kind_of_numbers(value)
    return Scalar(cast(element, kind.dtype), kind.weak, list_types.types_at(interpreter, value, 0))


def item_at(interpreter: Interpreter, value: Items, place: Expr) -> Any:
    """The item at a place that is not negative."""
    row = value.rows.dims[1:]
    interpreter.build.check_fresh(Load(value.rows, axes(value.rows.ndim)))
    if not row:
        return _number(interpreter, value, Load(value.rows, (place,)))
    if list_parts.is_nothing(value):
        return NONE
    if isinstance(value.inner, Layout):
        kinds = places_of(row_of_list(interpreter, value)[0])
        return list_parts.item_at(interpreter, value.rows, place, value.inner, itertools.cycle(kinds))
    place = interpreter.build.capture(place, "k")
    array = ArrayValue(row, Load(value.rows, (place, *(Axis(k) for k in range(len(row))))))
    if value.grows and (value.inner is None or isinstance(value.inner, Nested)):
        own = interpreter.build.materialize(array, "item", copy=True)
        interpreter.build.twin(own, value.rows)
        if value.inner is not None:
            list_types.note_part(interpreter, own, replace(value, inner=value.inner.inner))
        array = whole(own)  # its place may be taken by another item, and its memory by a longer one
    if value.inner is None:
        return array
    if isinstance(value.inner, Nested):
        held = interpreter.build.stored(array, "row")
        return Items(held, held.dims[0], held.dims[0], value.weak, value.inner.inner)
    count = row[0].value  # type: ignore[attr-defined]
    (places,) = [places_of(row) for row in row_of_list(interpreter, value)]
    places = places if len(places) == count else places * count
    parts = []
    for k, kind in enumerate(places):
        element = cast(array.at((affine.integer(k),)), kind.dtype)
        parts.append(Scalar(element, kind.weak, list_types.types_at(interpreter, value, k)))
    item = TupleValue(tuple(parts), value.inner)
    if value.inner is list:
        item = replace(item, identity=object())
        shared_items.give_away(interpreter, item, value.rows)
    return item


def item_by_item(interpreter: Interpreter, value: Items) -> Indexed:
    """What a loop runs over."""
    held = lists_as_arrays.array_of_items(interpreter, value)
    return Indexed(held.dims[0], lambda i: item_at(interpreter, value, i), (held,))
