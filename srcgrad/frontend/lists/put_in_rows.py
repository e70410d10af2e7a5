"""Items are put into the rows of the array that holds a list.

ys.append(x)       →       ys[n] = x, element by element

Python has one array there, where x has a name as well, and we have two: twins (see `aliases`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import place as error_place
from ...ir import affine
from ...ir.expressions import BOOL, FLOAT64, Array, Call, Const, Dim, Expr
from ...ir.nodes import Alloc, If, Raise, Store
from .. import identities, optional
from ..aliases import arrays_of, is_seen_elsewhere, note_twins
from ..arithmetic import cast
from ..array_values import ArrayValue
from ..values import Items, Layout, Scalar, TupleValue
from . import common_lengths, item_views, list_parts, list_types, lists_as_arrays, lists_of_none, shared_items
from .list_rows import Row

if TYPE_CHECKING:
    from ..builder import Builder
    from ..interpret import Interpreter


def with_room(interpreter: Interpreter, name: str, value: TupleValue | Items, row: Row, capacity: Expr) -> Array:
    """The items in an array that has rows for more."""
    build = interpreter.build
    rows = build.allocate(name, row.dtype, (build.pin(capacity), *row.dims))
    fill(interpreter, rows, value, row.inner)
    return rows


def fill(
    interpreter: Interpreter, rows: Array, value: TupleValue | Items, inner: Any, start: Expr = affine.ZERO
) -> None:
    """Put the items of a list into rows, from `start` on."""
    build = interpreter.build
    if (
        isinstance(value, Items)
        and list_parts.is_flagged(inner)
        and not (list_parts.is_flagged(value.inner) and not list_parts.is_nothing(value))
    ):
        if inner != optional.NOTHING:
            if not list_parts.is_nothing(value):
                list_types.note_joined(interpreter, rows, value, inner)
            lists_of_none.fill(interpreter, rows, value, start)
        return
    if isinstance(value, Items):
        held = lists_as_arrays.array_of_items(interpreter, value)
        if isinstance(inner, Layout):
            list_parts.check_lengths(build, value.inner, inner)
        held = common_lengths.with_lengths(build, held, (held.dims[0], *rows.dims[1:]))
        build.check_fresh(held.element)
        place = lambda index: (affine.add(start, index[0]), *index[1:])
        build.each(held.dims, lambda index: Store(rows, place(index), cast(held.at(index), rows.dtype)))
        list_types.note_joined(interpreter, rows, value, inner)
        is_second = rows.name in build.all_twins(build.root(value.rows))
        shared_items.note_shared(interpreter, rows, value.rows)
        build.rows_of_one |= {rows.name} if is_second or build.root(value.rows) in build.rows_of_one else set()
        if isinstance(inner, Layout):
            item_views.note_kinds(interpreter, rows, inner)
            build.fields.note_copied(build.root(value.rows), rows.name)
            if is_second:
                shared_items.note_held_twice(interpreter, rows)
        return
    for k, item in enumerate(value.items):
        put(interpreter, rows, affine.add(start, affine.integer(k)), item, inner, is_sure=True)


def put(interpreter: Interpreter, rows: Array, place: Expr, item: Any, inner: Any, is_sure: bool = False) -> None:
    """rows[place] = item"""
    build = interpreter.build
    if isinstance(inner, Layout):
        _put_parts(interpreter, rows, place, item, inner, is_sure)
        return
    shared_items.give_away(interpreter, item, rows)
    list_types.note_put(interpreter, rows, item, inner, is_sure)
    if isinstance(item, Scalar):
        build.emit(Store(rows, (place,), cast(item.expr, rows.dtype)))
        return
    if isinstance(item, TupleValue):
        refuse_inexact(interpreter, item, rows.dtype)
    value = (
        lists_as_arrays.array_of_items(interpreter, item)
        if isinstance(item, Items)
        else lists_as_arrays.as_array(interpreter, item)
    )
    value = common_lengths.with_lengths(build, value, rows.dims[1:])
    place = build.capture(place, "k")
    store_array(interpreter, rows, value, lambda index: (place, *index))


def store_array(
    interpreter: Interpreter,
    rows: Array,
    value: ArrayValue,
    at: Callable[[tuple[Expr, ...]], tuple[Expr, ...]],
    is_number: bool = False,
) -> None:
    """An item, or a part of one, goes where `at` says of its elements."""
    build = interpreter.build
    build.check_fresh(value.element)
    build.each(value.dims, lambda index: Store(rows, at(index), cast(value.at(index), rows.dtype)))
    if not is_number:
        note_put(interpreter, rows, value)


def note_put(interpreter: Interpreter, rows: Array, value: ArrayValue) -> None:
    """A list holds this array, or an item of it does."""
    build = interpreter.build
    if not build.in_composition and (value.handle is not None or value.is_window):
        if any(_is_held_twice(interpreter, rows, build.root(array)) for array in arrays_of(value)):
            shared_items.note_one_array(interpreter, rows)
    note_held(interpreter, rows, value)


def refuse_inexact(interpreter: Interpreter, item: TupleValue, dtype: np.dtype) -> None:
    """A whole number beside others that are none is kept as one of theirs: to 2**53 that changes nothing."""
    build = interpreter.build
    for part in item.items if dtype.kind in "fc" else ():
        is_wide = isinstance(part, Scalar) and part.dtype.kind in "iu" and part.dtype.itemsize == 8
        is_exact = is_wide and part.is_constant and int(float(part.value)) == part.value
        if is_wide and not is_exact and not _is_within_lengths(build, part.expr):
            message = "a whole number beyond 2**53 beside others in a list" + error_place(build.span)
            size = Call("abs", (cast(part.expr, FLOAT64),), FLOAT64)
            build.emit(If(Call("gt", (size, Const(2.0**53, FLOAT64)), BOOL), (Raise("RuntimeValueError", message),)))


def _is_within_lengths(build: Builder, number: Expr) -> bool:
    """Is it an index that runs over arrays, or near to one?  No array is so long that its places would be rounded."""
    terms, constant = affine.affine(number)
    return abs(constant) < 2**48 and all(
        abs(times) < 16 and (isinstance(term, Dim) or _runs_over_an_array(build, term)) for term, times in terms
    )


def _runs_over_an_array(build: Builder, index: Expr) -> bool:
    least, most = build.lower.get(index, -1), build.upper.get(index)
    return least >= 0 and most is not None and _is_within_lengths(build, most)


def _is_held_twice(interpreter: Interpreter, rows: Array, root: str) -> bool:
    """May a list hold this memory twice: put there before, or by each iteration of a loop that has not made it?"""
    build = interpreter.build
    is_made_here = any(isinstance(stmt, Alloc) and stmt.array.name == root for stmt in build.block)
    return rows.name in build.all_twins(root) or bool(interpreter.loops and not is_made_here)


def note_held(interpreter: Interpreter, rows: Array, value: Any) -> None:
    """A list holds arrays themselves, or views of them, where we have copies in the rows of an array."""
    if not isinstance(value, ArrayValue) or interpreter.build.in_composition:  # (those hand out no lists)
        return
    note_twins(interpreter, "", rows, value)
    if value.handle is None and value.is_window:
        for seen in arrays_of(value):
            if is_seen_elsewhere(interpreter, "", interpreter.build.root(seen)):
                interpreter.build.twin(rows, seen)


def _put_parts(
    interpreter: Interpreter, rows: Array, place: Expr, item: TupleValue, layout: Layout, is_sure: bool = False
) -> None:
    """rows[place] = item"""
    build = interpreter.build
    if layout == optional.NOTHING:
        return
    if optional.is_none(item):
        build.emit(Store(rows, (place, affine.ZERO), Const(rows.dtype.type(0).item(), rows.dtype)))
        return
    if layout.kind is optional.OPTIONAL:
        item = optional.as_optional(item, item)
    build.in_items.add(build.root(rows))
    item_views.note_put(interpreter, rows, layout)
    for part in (*identities.parts_within(item), item):
        shared_items.give_away(interpreter, part, rows)
    place = build.capture(place, "k")
    start: Expr = affine.ZERO
    list_types.note_put(interpreter, rows, item, layout, is_sure)
    shared_items.note_arrays(interpreter, rows, list(list_parts.fields_in(item)))
    for part, dims in zip(list_parts.parts_of(item), list_parts.leaves(layout), strict=True):
        value = part if isinstance(part, ArrayValue) else ArrayValue((), part.expr)
        if isinstance(part, ArrayValue) and not part.ndim:
            shared_items.note_without_axes(interpreter, rows, part)
        value = common_lengths.with_lengths(build, value, dims)
        list_parts.refuse_inexact(build, value, rows)
        at = lambda index, start=start, dims=dims: (place, affine.add(start, list_parts.place_in(index, dims)))
        store_array(interpreter, rows, value, at, is_number=isinstance(part, Scalar))
        start = affine.add(start, affine.product(dims))
