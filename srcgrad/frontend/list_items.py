"""Items of lists of run-time length on their way to other places, and the names that stand for them meanwhile.

ys[i], ys[j] = ys[j], ys[i]               →      both are copied, and take each other's place
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..ir.expressions import Array
from . import (
    binding,
    expressions,
    identities,
    item_views,
    list_types,
    lists_as_arrays,
    put_in_rows,
    shared_items,
)
from .aliases import arrays_of, value_leaves
from .values import ArrayValue, Items, Lost, Static, TupleValue, whole

if TYPE_CHECKING:
    from .interpret import Interpreter


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
    seen = lists_as_arrays.array_of_items(interpreter, value) if isinstance(value, Items) else value
    own = interpreter.build.materialize(seen, "t", copy=True)
    for array in arrays_of(seen) if is_second else ():
        interpreter.build.twin(own, array)
    if isinstance(value, Items):
        list_types.note_part(interpreter, own, value, is_whole=True)
        return Items(own, own.dims[0], own.dims[0], value.weak, value.inner)
    return whole(own)


def is_exchange(targets: list[ast.expr], value: ast.expr) -> bool:
    """a[i], a[j] = a[j], a[i]: do places hand each other what they hold?"""
    match targets, value:
        case [ast.Tuple(elts=places)], ast.Tuple(elts=values) if all(isinstance(p, ast.Subscript) for p in places):
            has_calls = any(isinstance(node, ast.Call) for node in ast.walk(value))
            return not has_calls and sorted(map(ast.unparse, places)) == sorted(map(ast.unparse, values))
    return False


def exchanged(interpreter: Interpreter, targets: list[ast.expr], value: TupleValue) -> TupleValue:
    """Items of lists on their way to other places: none of them is held twice afterwards."""
    places = [place.value for place in targets[0].elts]  # type: ignore[attr-defined]
    owners = [expressions.evaluate(interpreter, place) for place in places]
    rows = [owner.rows if isinstance(owner, Items) else None for owner in owners]
    is_one_list = None not in rows and len(set(rows)) == 1
    items = zip(value.items, rows, strict=True)
    return replace(value, items=tuple(_on_its_way(interpreter, item, to, is_one_list) for item, to in items))


def _on_its_way(interpreter: Interpreter, item: Any, to: Array | None, is_one_list: bool) -> Any:
    if is_item(interpreter, item):
        return copy_of_item(interpreter, item, is_second=False)
    if item_views.is_view(interpreter, item):  # (in a list of known length it stays one)
        own = item if to is None else item_views.as_it_is(interpreter, item, is_second=not is_one_list)
        return identities.under_new_identities(own) if is_one_list else own
    if isinstance(item, TupleValue) and item.identity in interpreter.given_away and is_one_list:
        return replace(binding.settled(interpreter, item), identity=object())
    return item


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
