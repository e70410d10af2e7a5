"""Items of a list of run-time length that hold arrays, or are objects: their parts, one behind the other in a row.

history.append((x, P))         rows[t, :n] = x
x, P = history[t]       →      rows[t, n:] = P, row by row
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import place as error_place
from ...ir import affine
from ...ir.expressions import BOOL, FLOAT64, Axis, Call, Const, Expr, Load
from ...ir.nodes import If, Raise
from ...ir.types import SETS, DictKind, RecordKind, ScalarType
from .. import identities, optional
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..optional import NOTHING, OPTIONAL
from ..values import Items, Layout, Scalar, Static, TupleValue
from . import common_lengths, item_views, shared_items

if TYPE_CHECKING:
    from ...ir.expressions import Array
    from ..builder import Builder
    from ..interpret import Interpreter
    from .item_fields_known import Field

Lengths = tuple[Expr, ...]


def layout_of(interpreter: Interpreter, item: TupleValue) -> tuple[Layout, list[ScalarType]] | None:
    """How the parts of an item lie, and what kind of numbers each has.  None, where some part is no such thing."""
    numbers: list[ScalarType] = []
    layout = _layout_of(interpreter, item, numbers)
    return (layout, numbers) if isinstance(layout, Layout) and numbers else None


def _layout_of(interpreter: Interpreter, part: Any, numbers: list[ScalarType]) -> Any:
    match part:
        case Scalar(dtype=dtype, weak=weak) if dtype.kind in "biufc":
            numbers.append(ScalarType(dtype, weak))
            return ()
        case ArrayValue(dims=dims, dtype=dtype) if dtype.kind in "biufc":
            numbers.append(ScalarType(dtype))
            return dims
        case Static(value=known) if known is None or isinstance(known, (str, type)):
            return part
        case TupleValue(items=items, kind=kind) if _is_group(kind):
            parts = []
            for k, item in enumerate(items):
                count = len(numbers)
                parts.append(_layout_of(interpreter, item, numbers))
                if isinstance(item, (Scalar, ArrayValue)) and len(numbers) > count:
                    numbers[count] = item_views.kind_of_part(interpreter, part, k, count, numbers[count])
            return None if None in parts else Layout(kind, tuple(parts))
    return None


def _is_group(kind: Any) -> bool:
    if isinstance(kind, DictKind):
        return kind.cls not in SETS and kind.default is None
    if kind is optional.OPTIONAL:
        return True
    return isinstance(kind, RecordKind) or (isinstance(kind, type) and issubclass(kind, (tuple, list)))


def leaves(layout: Any) -> Iterator[Lengths]:
    """The lengths of each array; none of a number."""
    if isinstance(layout, Layout):
        for part in layout.parts:
            yield from leaves(part)
    elif isinstance(layout, tuple):
        yield layout


def lengths_in(layout: Any) -> Lengths:
    return tuple(dim for dims in leaves(layout) for dim in dims) if isinstance(layout, Layout) else ()


def with_lengths(layout: Any, lengths: Iterator[Expr]) -> Any:
    """The layout with these lengths in place of its own."""
    if isinstance(layout, Layout):
        return replace(layout, parts=tuple(with_lengths(part, lengths) for part in layout.parts))
    return tuple(next(lengths) for _ in layout) if isinstance(layout, tuple) else layout


def width_of(layout: Layout) -> Expr:
    out: Expr = affine.ZERO
    for dims in leaves(layout):
        out = affine.add(out, affine.product(dims))
    return out


def are_alike(x: Any, y: Any, same: Callable[[Expr, Expr], bool]) -> bool:
    """Do items of these kinds lie alike in a row?"""
    if isinstance(x, Layout) and isinstance(y, Layout):
        is_alike = x.kind == y.kind and len(x.parts) == len(y.parts)
        return is_alike and all(are_alike(p, q, same) for p, q in zip(x.parts, y.parts, strict=True))
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(map(same, x, y))
    return bool(x == y)


def check_lengths(build: Builder, now: Any, first: Layout) -> None:
    """Rows that are laid out in the one way are read in the other: they have to be alike at run time."""
    for dims, wanted in zip(leaves(now), leaves(first), strict=True):
        common_lengths.with_lengths(build, ArrayValue(dims, Const(0.0, FLOAT64)), wanted)


def parts_of(item: Any) -> Iterator[Any]:
    """The numbers and arrays in an item."""
    if isinstance(item, TupleValue):
        for part in item.items:
            yield from parts_of(part)
    elif not isinstance(item, Static):
        yield item


def fields_in(item: Any) -> Iterator[tuple[Field, ArrayValue]]:
    """The arrays in an item, with whose they are."""
    if isinstance(item, TupleValue):
        keys = item.kind.keys if item_views.is_object(item.kind) else range(len(item.items))
        for key, part in zip(keys, item.items, strict=True):
            if isinstance(part, ArrayValue):
                yield (item.kind, key), part
            else:
                yield from fields_in(part)


def place_in(index: Lengths, dims: Lengths) -> Expr:
    """Where an element lies among those of its array."""
    out: Expr = affine.ZERO
    for number, dim in zip(index, dims, strict=True):
        out = affine.add(affine.mul(out, dim), number)
    return out


def refuse_inexact(build: Builder, value: ArrayValue, rows: Array) -> None:
    """Whole numbers beside others that are none are kept as one of theirs: to 2**53 that changes nothing."""
    if rows.dtype.kind not in "fc" or value.dtype.kind not in "iu" or value.dtype.itemsize < 8:
        return
    message = "a whole number beyond 2**53 beside others in a list" + error_place(build.span)

    def check(index: Lengths) -> If:
        size = Call("abs", (cast(value.at(index), FLOAT64),), FLOAT64)
        return If(Call("gt", (size, Const(2.0**53, FLOAT64)), BOOL), (Raise("RuntimeValueError", message),))

    build.each(value.dims, check)


def item_at(interpreter: Interpreter, rows: Array, place: Expr, layout: Layout, numbers: Iterator[ScalarType]) -> Any:
    """The item at a place that is not negative: its arrays are copies, which are not written while the list is read."""
    build = interpreter.build
    place = build.capture(place, "k")
    start: Expr = affine.ZERO
    are_views = item_views.note_read(interpreter, rows, layout)
    known, places = build.item_types.get(build.root(rows)), itertools.count()

    def part_of(layout: Any, is_view: bool = False) -> Any:
        nonlocal start
        if isinstance(layout, Layout):
            is_view = are_views and (is_view or item_views.is_object(layout.kind))
            items = tuple(part_of(part, is_view) for part in layout.parts)
            return TupleValue(items, layout.kind, None if _is_tuple(layout.kind) else object())
        if isinstance(layout, Static):
            return layout
        index = affine.add(start, place_in(tuple(Axis(k) for k in range(len(layout))), layout))
        start, kind, number = affine.add(start, affine.product(layout)), next(numbers), next(places)
        element = cast(Load(rows, (place, index)), kind.dtype)
        if not layout:
            return Scalar(element, kind.weak, known.at(number) if known else frozenset())
        array = ArrayValue(layout, element, types=known.at(number) if known else frozenset())
        if is_view:
            return array
        own = build.materialize(array, "item", copy=True)
        build.twin(own, rows)
        build.in_items.add(own.name)
        return whole(own)

    item = part_of(layout)
    for part in (*identities.parts_within(item), item):
        shared_items.give_away(interpreter, part, rows)
    return item


def _is_tuple(kind: Any) -> bool:
    return kind is optional.OPTIONAL or (isinstance(kind, type) and issubclass(kind, tuple))


FLAG = ScalarType(BOOL, True)


def is_nothing(value: Any) -> bool:
    return isinstance(value, Items) and value.inner == NOTHING


def is_flagged(inner: Any) -> bool:
    return isinstance(inner, Layout) and inner.kind is OPTIONAL
