"""What the items of a list of run-time length have in common: the rows of the array that holds them.

[x, 2.0]                 →      numbers, of the dtype of x
[(1.5, i), (y, j)]       →      rows of two places: a float64, an int64
[x[:2], y]               →      rows as long as x[:2] and y, which are of one length
[(x, 1.5), (y, z)]       →      rows that are longer by one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import affine
from ...ir.expressions import BOOL, Expr
from ...ir.types import ScalarType
from .. import joined_numbers, optional
from ..array_values import ArrayValue
from ..optional import NOTHING, OPTIONAL
from ..values import Items, Layout, Nested, Scalar, Static, TupleValue
from . import common_lengths, item_views, list_parts

if TYPE_CHECKING:
    from ..interpret import Interpreter


@dataclass(frozen=True)
class Row:
    """What the items of a list have in common; `weak` as in `Items`."""

    dtype: np.dtype
    weak: bool | tuple[ScalarType, ...]
    dims: tuple[Expr, ...]
    inner: Any = None


def row_of(interpreter: Interpreter, item: Any) -> Row:
    """The kind of row that an item takes."""
    match item:
        case Static(value=None):
            return Row(BOOL, (), (affine.ZERO,), optional.NOTHING)
        case Scalar():
            return Row(item.dtype, item.weak, ())
        case ArrayValue():
            return Row(item.dtype, False, item.dims)
        case Items(inner=optional.NOTHING):
            return interpreter.build.refuse(
                "lists of None in a list whose length is only known at run time",
                "allocate an array for what they will hold:  np.empty((n, m))",
            )
        case Items():
            return Row(item.rows.dtype, item.weak, (item.length, *item.rows.dims[1:]), Nested(item.inner))
        case TupleValue(items=parts, kind=kind) if kind in (tuple, list) and parts and all(map(_is_number, parts)):
            rows = [row_of(interpreter, part) for part in parts]
            return row_of_places([p for row in rows for p in places_of(row)], (affine.integer(len(parts)),), kind)
        case TupleValue() if (found := list_parts.layout_of(interpreter, item)) is not None:
            layout, numbers = found
            return row_of_places(numbers, (list_parts.width_of(layout),), layout)
    if isinstance(item, TupleValue) and not item.items:
        return interpreter.build.refuse(
            "lists that may grow, in a list whose length is only known at run time",
            "an array with a row for each of them, and an array of how many there are in each",
        )
    return interpreter.build.refuse(
        "a list whose length is only known at run time holds numbers, arrays, and lists, tuples or objects of these",
        "keep what differs in lists of its own",
    )


def _is_number(part: Any) -> bool:
    return isinstance(part, (Scalar, ArrayValue)) and part.dtype.kind in "biufc" and not getattr(part, "ndim", 0)


def common_row(interpreter: Interpreter, rows: list[Row], are_known: bool = False) -> Row:
    """Lengths are compared where items are put.  `are_known`: that they are the same has to be known already."""
    rows = in_common(interpreter, rows)
    first = rows[0]
    if first.inner == optional.NOTHING:
        return first
    for row in rows[1:]:
        has_layout = isinstance(row.inner, Layout)
        is_inside = row.inner is not None and not has_layout
        same = affine.same if are_known or is_inside else partial(common_lengths.are_alike, interpreter.build)
        is_alike = len(row.dims) == len(first.dims) and list_parts.are_alike(row.inner, first.inner, same)
        if not is_alike or not (has_layout or all(map(same, first.dims, row.dims))):
            interpreter.build.refuse(
                "the items of a list whose length is only known at run time must be of one shape",
                "keep what differs in lists of its own",
                "or, where an argument decides how many there are, name it:  @grad(static=...)",
            )
    each = [places_of(row) for row in rows]
    width = max(map(len, each))
    columns = list(zip(*(places if len(places) == width else places * width for places in each), strict=True))
    if isinstance(first.inner, Layout) and interpreter.build.fields.are_views:
        note_other_numbers(interpreter, first.inner, columns)
    held = np.result_type(*(row.dtype for row in rows))  # 0.1 beside a float32 keeps its digits, as in np.array(ys)
    return row_of_places([joined_numbers.common_place(column) for column in columns], first.dims, first.inner, held)


def places_of(row: Row) -> tuple[ScalarType, ...]:
    """What stands at each place of a row: one for all, where they are alike."""
    return row.weak if isinstance(row.weak, tuple) else (ScalarType(row.dtype, row.weak),)


def row_of_places(places: list[ScalarType], dims: tuple[Expr, ...], inner: Any, held: np.dtype | None = None) -> Row:
    """`held`: of what dtype the array is that holds such rows, if that is wider than the numbers in them."""
    dtype = np.result_type(*(place.dtype for place in places), *([] if held is None else [held]))
    places = places[:1] if len(set(places)) == 1 else places
    return Row(dtype, places[0].weak if places == [ScalarType(dtype, places[0].weak)] else tuple(places), dims, inner)


def lengths_of(row: Row) -> tuple[Expr, ...]:
    """All lengths that say what a row is."""
    return (*row.dims, *list_parts.lengths_in(row.inner))


def with_lengths(row: Row, lengths: Sequence[Expr]) -> Row:
    count = len(row.dims)
    return replace(row, dims=tuple(lengths[:count]), inner=list_parts.with_lengths(row.inner, iter(lengths[count:])))


def row_of_list(interpreter: Interpreter, value: TupleValue | Items) -> list[Row]:
    if isinstance(value, Items):
        return [Row(value.rows.dtype, value.weak, value.rows.dims[1:], value.inner)]
    return [row_of(interpreter, item) for item in value.items]


def note_other_numbers(interpreter: Interpreter, layout: Layout, columns: list[tuple[ScalarType, ...]]) -> None:
    """Items lie so, of which an array may hold whole numbers in Python, and another one others."""
    fields = interpreter.build.fields
    every = list(list_parts.leaves(layout))
    for dims, column in zip(every, columns if len(columns) > 1 else columns * len(every), strict=True):
        if dims and len({place.dtype for place in column}) > 1:
            fields.of_other_numbers |= set(item_views.kinds_in(layout))
            fields.check(interpreter.build)


def in_common(interpreter: Interpreter, rows: list[Row]) -> list[Row]:
    """Rows of which some hold None: all with a flag."""
    if not any(list_parts.is_flagged(row.inner) for row in rows):
        return rows
    return [_flagged(interpreter, row) for row in rows if row.inner != NOTHING] or rows[:1]


def _flagged(interpreter: Interpreter, row: Row) -> Row:
    if list_parts.is_flagged(row.inner):
        return row
    places = list(places_of(row))
    match row.inner:
        case None:
            part: Any = row.dims
        case Layout():
            part, count = row.inner, len(list(list_parts.leaves(row.inner)))
            places *= count // len(places)
        case Nested():
            interpreter.build.refuse("a list of None in which lists are put whose length is only known at run time")
        case kind:
            count = row.dims[0].value  # type: ignore[attr-defined]
            part, places = Layout(kind, ((),) * count), places * (count // len(places))
    layout = Layout(OPTIONAL, ((), part))
    return row_of_places([list_parts.FLAG, *places], (list_parts.width_of(layout),), layout, row.dtype)
