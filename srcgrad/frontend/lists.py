"""Lists whose length is known at run time only.

ys = []                                  ys = empty(n)
for i in range(n):                →      for i in range(n):
    ys.append(f(i))                          ys[i] = f(i)

A list of known length is the tuple of its items (`TupleValue`): a change of it puts another one in its place, wherever
it is held (`list_methods`).  Where a loop or a branch changes its length, it becomes the rows of an array (`Items`),
with room for as many as there can be.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..errors import place as error_place
from ..ir import affine
from ..ir.expressions import BOOL, FLOAT64, INT64, Array, Axis, Call, Const, Dim, Expr, Load
from ..ir.nodes import Alloc, Grow, If, Raise, Store
from ..rules.compositions import deques
from . import (
    binding,
    common_lengths,
    expressions,
    identities,
    item_fields,
    item_names,
    item_views,
    list_items,
    list_parts,
    list_types,
    lists_of_none,
    operators,
    optional,
)
from .aliases import arrays_of, is_seen_elsewhere, note_twins
from .arithmetic import cast
from .joined_numbers import types_of
from .list_rows import Row, common_row, places_of, row_of, row_of_list
from .values import (
    NONE,
    ArrayValue,
    Indexed,
    Items,
    Layout,
    Nested,
    Range,
    Scalar,
    Static,
    TupleValue,
    axes,
    constant,
    new_list,
    static_int,
    whole,
)

if TYPE_CHECKING:
    from .builder import Builder
    from .interpret import Interpreter

ITS_ITEMS = "write  ys[i] = y  to an array that is allocated ahead of the loop"


def length_of(value: TupleValue | Items) -> Expr:
    return value.length if isinstance(value, Items) else affine.integer(len(value.items))


def most_of(value: TupleValue | Items) -> Expr:
    return value.most if isinstance(value, Items) else affine.integer(len(value.items))


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
        and lists_of_none.is_flagged(inner)
        and not (lists_of_none.is_flagged(value.inner) and not lists_of_none.is_nothing(value))
    ):
        if inner != lists_of_none.NOTHING:
            if not lists_of_none.is_nothing(value):
                list_types.note_joined(interpreter, rows, value, inner)
            lists_of_none.fill(interpreter, rows, value, start)
        return
    if isinstance(value, Items):
        held = array_of_items(interpreter, value)
        if isinstance(inner, Layout):
            list_parts.check_lengths(build, value.inner, inner)
        held = common_lengths.with_lengths(build, held, (held.dims[0], *rows.dims[1:]))
        build.check_fresh(held.element)
        place = lambda index: (affine.add(start, index[0]), *index[1:])
        build.each(held.dims, lambda index: Store(rows, place(index), cast(held.at(index), rows.dtype)))
        list_types.note_joined(interpreter, rows, value, inner)
        is_second = rows.name in build.all_twins(build.root(value.rows))
        note_shared(interpreter, rows, value.rows)
        build.rows_of_one |= {rows.name} if is_second or build.root(value.rows) in build.rows_of_one else set()
        if isinstance(inner, Layout):
            item_views.note_kinds(interpreter, rows, inner)
            build.fields.note_copied(build.root(value.rows), rows.name)
            if is_second:
                item_fields.note_held_twice(interpreter, rows)
        return
    for k, item in enumerate(value.items):
        put(interpreter, rows, affine.add(start, affine.integer(k)), item, inner, is_sure=True)


def put(interpreter: Interpreter, rows: Array, place: Expr, item: Any, inner: Any, is_sure: bool = False) -> None:
    """rows[place] = item"""
    build = interpreter.build
    if isinstance(inner, Layout):
        list_parts.put(interpreter, rows, place, item, inner, is_sure)
        return
    identities.give_away(interpreter, item, rows)
    list_types.note_put(interpreter, rows, item, inner, is_sure)
    if isinstance(item, Scalar):
        build.emit(Store(rows, (place,), cast(item.expr, rows.dtype)))
        return
    if isinstance(item, TupleValue):
        refuse_inexact(interpreter, item, rows.dtype)
    value = array_of_items(interpreter, item) if isinstance(item, Items) else operators.as_array(interpreter, item)
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
            item_fields.note_one_array(interpreter, rows)
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


class Grows(Exception):
    """A loop changes the length of a list: to be tried again with room for all of its items.

    `each`: by how much an iteration makes it longer at most (None: as was known before).
    """

    def __init__(self, identity: object, row: Row, each: Expr | None) -> None:
        self.identity, self.row, self.each = identity, row, each


def appended(interpreter: Interpreter, owner: Items, item: Any) -> Items:
    rows = owner.rows
    item = _fitted(interpreter, owner, item)
    row = common_row(interpreter, [*row_of_list(interpreter, owner), row_of(interpreter, item)])
    if owner.has_room:
        if row.dtype != rows.dtype or row.weak != owner.weak:
            raise Grows(owner.identity, row, None)
        if owner.grows:
            interpreter.build.emit(Grow(rows, affine.add(owner.length, affine.ONE)))
        put(interpreter, rows, owner.length, item, owner.inner, list_types.is_sure(interpreter.build, rows))
    elif any(owner.identity in heads for heads in interpreter.list_heads[-1:]):
        raise Grows(owner.identity, row, affine.ONE)
    else:
        rows = with_room(interpreter, rows.name, owner, row, affine.add(owner.most, affine.ONE))
        put(interpreter, rows, owner.length, item, row.inner, is_sure=True)
    more, most = affine.add(owner.length, affine.ONE), affine.add(owner.most, affine.ONE)
    return replace(owner, rows=rows, length=more, most=most, weak=row.weak, inner=row.inner)


def _fitted(interpreter: Interpreter, owner: Items, item: Any) -> Any:
    """An array as long as those that are in the list."""
    dims = owner.rows.dims[1:]
    if not isinstance(item, ArrayValue) or item.ndim != len(dims) or owner.inner is not None:
        return item
    if any(affine.difference(x, y) for x, y in zip(item.dims, dims, strict=True)):
        return item  # said where rows are compared
    return common_lengths.with_lengths(interpreter.build, item, dims)


def store(interpreter: Interpreter, owner: Items, index: Any, value: Any) -> None:
    """ys[i] = value.  A list of integers that gets a float becomes a list of floats."""
    from .numpy import indexing

    if owner.identity in interpreter.one_of_several | interpreter.given_away.keys():
        identities.check_own(interpreter, owner, "assigning to an item")
    value = _fitted(interpreter, owner, value)
    row = common_row(interpreter, [*row_of_list(interpreter, owner), row_of(interpreter, value)])
    owner = widened(interpreter, owner, row)
    value = binding.settled(interpreter, value) if isinstance(value, TupleValue) else value
    if item_views.is_view(interpreter, value):
        value = item_views.as_it_is(interpreter, value)
    build = interpreter.build
    target = indexing.subscript(build, array_of_items(interpreter, owner), [index])
    more = list_types.of_item(interpreter, value, owner.inner)
    if isinstance(owner.inner, Layout):
        assert isinstance(target.element, Load)
        item_names.note_moved(interpreter, owner.rows)
        list_types.note_stored(interpreter, owner, more)
        list_parts.put(interpreter, owner.rows, target.element.index[0], value, owner.inner)
        return
    list_types.note_stored(interpreter, owner, more)
    stale = set(build.stale)
    indexing.write(build, target, as_values(interpreter, value))
    if owner.rows.ndim > 1:
        for root in build.stale.keys() - stale:  # an item has another in its place: no array has changed
            del build.stale[root]
        list_items.note_replaced(interpreter, owner.rows)
        list_items.note_stored(interpreter, owner.rows, value)
        identities.give_away(interpreter, value, owner.rows)


def in_rows(interpreter: Interpreter, name: str, owner: TupleValue) -> Items:
    """A list of known length as rows, for what is assigned at a place that is only known at run time."""
    row = common_row(interpreter, row_of_list(interpreter, owner), are_known=True)
    if any(owner.identity in heads for heads in interpreter.list_heads[-1:]):
        raise Grows(owner.identity, row, affine.ZERO)
    items = rows_of(interpreter, name, owner)
    identities.change(interpreter, owner.identity, items)
    return items


def rows_of(interpreter: Interpreter, name: str, value: TupleValue, may_change: bool = False) -> Items:
    """What has a known number of items, as rows.  `may_change`: objects, which have other names, too."""
    row = common_row(interpreter, row_of_list(interpreter, value), are_known=True)
    if may_change and isinstance(row.inner, Layout):
        interpreter.build.refuse("objects that are held elsewhere as rows of an array")
    length = affine.integer(len(value.items))
    rows = with_room(interpreter, name, value, row, length)
    return Items(rows, length, length, row.weak, row.inner, value.identity)


def widened(interpreter: Interpreter, owner: Items, row: Row) -> Items:
    """The list with items of a wider kind, by whatever name."""
    is_alike = lists_of_none.is_flagged(row.inner) == lists_of_none.is_flagged(owner.inner)
    if is_alike and row.dtype == owner.rows.dtype and row.weak == owner.weak:
        return owner
    identities.check_own(interpreter, owner, "assigning to an item")
    is_first = lists_of_none.is_nothing(owner)  # what its items are is known now: the end of a loop around tells
    if owner.has_room or (not is_first and any(owner.identity in heads for heads in interpreter.list_heads[-1:])):
        raise Grows(owner.identity, row, None if owner.has_room else affine.ZERO)
    is_other = row.dtype != owner.rows.dtype or row.inner != owner.inner
    rows = with_room(interpreter, owner.rows.name, owner, row, owner.most) if is_other else owner.rows
    owner = replace(owner, rows=rows, weak=row.weak, inner=row.inner)
    identities.change(interpreter, owner.identity, owner)
    return owner


def are_numbers(value: Items, other: Items) -> bool:
    """Are these lists of numbers?"""
    return value.rows.ndim == other.rows.ndim == 1 and value.inner is other.inner is None


def array_of_items(interpreter: Interpreter, value: Items) -> ArrayValue:
    """The list as an array."""
    dims = (interpreter.build.pin(value.length), *value.rows.dims[1:])
    types = list_types.types_of_array(interpreter, value, dims[0])
    return ArrayValue(dims, Load(value.rows, axes(len(dims))), types=types)


def item_at(interpreter: Interpreter, value: Items, place: Expr) -> Any:
    """The item at a place that is not negative."""
    row = value.rows.dims[1:]
    interpreter.build.check_fresh(Load(value.rows, axes(value.rows.ndim)))
    if not row:
        return Scalar(Load(value.rows, (place,)), bool(value.weak), list_types.types_at(interpreter, value, 0))
    if lists_of_none.is_nothing(value):
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
        identities.give_away(interpreter, item, value.rows)
    return item


def item_by_item(interpreter: Interpreter, value: Items) -> Indexed:
    """What a loop runs over."""
    held = array_of_items(interpreter, value)
    return Indexed(held.dims[0], lambda i: item_at(interpreter, value, i), (held,))


def subscripted(interpreter: Interpreter, value: Items, index: Any) -> Any:
    """ys[i], ys[-1], ys[1:]"""
    from .numpy import indexing

    build, array = interpreter.build, array_of_items(interpreter, value)
    if isinstance(index, indexing.Slice):
        seen = indexing.subscript(build, array, [index])
        if (found := item_views.part_of_list(interpreter, value, seen)) is not None:
            return found
        part = build.materialize(seen, "items", copy=True)
        note_shared(interpreter, part, value.rows)
        is_whole = index.start is index.stop is None and abs(static_int(index.step) or 0) == 1
        list_types.note_part(interpreter, part, value, is_whole)
        return Items(part, part.dims[0], part.dims[0], value.weak, value.inner, object())
    number = static_int(index)
    if not isinstance(index, Scalar) or index.dtype.kind not in "iub":
        build.refuse("a list is indexed by an integer or a slice", error=ArgumentError)
    index = Scalar(cast(index.expr, INT64), index.weak)  # True is the second, not a mask
    if number is not None and number < 0:
        _check_there(interpreter, "lt", value, affine.integer(-number))
        return item_at(interpreter, value, affine.add(value.length, affine.integer(number)))
    if number is not None or build.is_at_least(index.expr, 0):
        is_all = affine.same(value.length, value.rows.dims[0]) and not value.grows  # the array is as long as the list
        if not is_all:
            _check_there(interpreter, "le", value, cast(index.expr, INT64))
    if number is None and not build.is_at_least(index.expr, 0):
        out = indexing.subscript(build, array, [index])
        if value.inner is None:
            types = list_types.types_at(interpreter, value, 0)
            return out if out.ndim else Scalar(out.element, bool(value.weak), types)
        assert isinstance(out.element, Load)
        return item_at(interpreter, value, out.element.index[0])  # from the end of the list: its rows may go beyond
    return item_at(interpreter, value, cast(index.expr, INT64))


def exactly(interpreter: Interpreter, value: Any, count: int) -> list[Any]:
    """The items of something unpacked into so many names; that it has as many is checked at run time."""
    held = value if isinstance(value, (ArrayValue, Items)) else copied(interpreter, value)
    wanted = affine.integer(count)
    check_length(interpreter, "ne", held, wanted, f"can't unpack an array of another length into {count} names")
    if isinstance(held, ArrayValue):
        held = ArrayValue((wanted, *held.dims[1:]), held.element)
    else:
        held = replace(held, length=wanted, most=wanted)
    return expressions.items_of(interpreter, held)


def split(interpreter: Interpreter, value: Any, before: int, after: int) -> list[Any]:
    """x, *xs, y = value: the items, and the list of those between the first and the last ones."""
    from .numpy.indexing import Slice

    held = value if isinstance(value, Items) else copied(interpreter, value)
    message = f"not enough values to unpack: at least {before + after} are needed"
    check_length(interpreter, "lt", held, affine.integer(before + after), message)
    end = affine.sub(held.length, affine.integer(after))
    middle = subscripted(interpreter, held, Slice(constant(before), Scalar(end, weak=True), None))
    first = [item_at(interpreter, held, affine.integer(k)) for k in range(before)]
    return [*first, middle, *(item_at(interpreter, held, affine.add(end, affine.integer(k))) for k in range(after))]


def check_length(interpreter: Interpreter, op: str, held: ArrayValue | Items, wanted: Expr, message: str) -> None:
    length = held.dims[0] if isinstance(held, ArrayValue) else held.length
    message += error_place(interpreter.build.span)
    interpreter.build.emit(If(Call(op, (length, wanted), BOOL), (Raise("RuntimeValueError", message),)))


def repeated(interpreter: Interpreter, value: TupleValue, count: Scalar) -> Items:
    """[0.0] * n"""
    build = interpreter.build
    row = common_row(interpreter, row_of_list(interpreter, value), are_known=True)
    if isinstance(row.inner, Layout) and row.inner != lists_of_none.NOTHING:
        build.refuse("a list of one tuple or object as often as only a run tells", "append copies in a loop")
    size = len(value.items)
    times = cast(count.expr, INT64)
    times = build.pin(times if build.is_at_least(times, 0) else affine.maximum(build.pin(times), affine.ZERO))
    rows = build.allocate("items", row.dtype, (affine.mul(times, affine.integer(size)), *row.dims))
    for k, item in enumerate(value.items if row.dims != (affine.ZERO,) else ()):
        identities.give_away(interpreter, item, rows)
        list_types.note_repeated(interpreter, rows, item, row.inner)
        part = operators.as_array(interpreter, item) if not isinstance(item, Scalar) else ArrayValue((), item.expr)
        held = whole(build.materialize(part, "t")) if part.ndim else part
        place = lambda i, k=k: affine.add(affine.mul(i, affine.integer(size)), affine.integer(k))
        store = lambda index, v=held, at=place: Store(
            rows, (at(index[0]), *index[1:]), cast(v.at(index[1:]), row.dtype)
        )
        build.each((times, *part.dims), store)
        if part.ndim:
            note_held(interpreter, rows, part)
            build.rows_of_one.add(rows.name)
    return Items(rows, rows.dims[0], rows.dims[0], row.weak, row.inner, object())


def _check_there(interpreter: Interpreter, op: str, value: Items, place: Expr) -> None:
    """Is the list long enough?  (Its array may be longer.)"""
    build = interpreter.build
    message = "list index out of range" + error_place(build.span)
    if not build.is_at_least(affine.sub(value.length, place), 1 if op == "le" else 0):
        build.emit(If(Call(op, (value.length, place), BOOL), (Raise("BoundsError", message),)))


def note_shared(interpreter: Interpreter, copy: Array, rows: Array) -> None:
    """Two lists of the same arrays, where we have copies of these."""
    if rows.ndim > 1 and not interpreter.build.in_composition:
        interpreter.build.twin(copy, rows)
        if interpreter.build.root(rows) in interpreter.build.rows_of_one:
            interpreter.build.rows_of_one.add(copy.name)


def joined(interpreter: Interpreter, parts: list[Any]) -> Items:
    """[*xs, y, *ys], xs + ys: the items of all parts."""
    build = interpreter.build
    lists = [part if isinstance(part, TupleValue) else copied(interpreter, part) for part in parts]
    row = common_row(interpreter, [row for part in lists for row in row_of_list(interpreter, part)])
    total: Expr = affine.ZERO
    for part in lists:
        total = affine.add(total, length_of(part))
    rows = build.allocate("items", row.dtype, (build.pin(total), *row.dims))
    start: Expr = affine.ZERO
    for part in lists:
        fill(interpreter, rows, part, row.inner, start)
        start = affine.add(start, length_of(part))
    return Items(rows, rows.dims[0], rows.dims[0], row.weak, row.inner, object())


def as_values(interpreter: Interpreter, value: Any) -> Any:
    """What NumPy makes of an argument: lists of run-time length are arrays to it, and nothing may be None."""
    if optional.is_optional(value):
        value = optional.unless_none(interpreter.build, value, optional.IN_NUMPY)
    if isinstance(value, TupleValue) and deques.is_one(value.kind):
        from .calls_in_place import call_composition

        return as_values(interpreter, call_composition(interpreter, deques.items_of, [value], {}))
    if isinstance(value, Items):
        value = lists_of_none.all_set(interpreter, value)
        inner = value.inner
        while isinstance(inner, Nested):
            inner = inner.inner
        if isinstance(inner, Layout) and inner is not value.inner:
            interpreter.build.refuse(
                "a list of lists in which an item may be None, or holds several things, is no array: its length is "
                "only known at run time",
                "make an array of each:  np.array([np.array(y) for y in ys])",
            )
        if isinstance(inner, Layout):
            interpreter.build.refuse(
                "a list of tuples that hold arrays, or of objects, is no array: its length is only known at run time",
                "make an array of each part:  np.array([x for x, P in ys])",
            )
        return array_of_items(interpreter, value)
    if isinstance(value, Indexed) and not isinstance(value.count, Const):
        from .comprehensions import collected

        return as_values(interpreter, collected(interpreter, value))
    if isinstance(value, TupleValue) and any(isinstance(item, (Items, TupleValue)) for item in value.items):
        return replace(value, items=tuple(as_values(interpreter, item) for item in value.items))
    return value


def not_its_memory(interpreter: Interpreter, given: list[Any], made: Any) -> Any:
    """What NumPy makes of a list is another array each time: np.asarray(ys), np.ravel(ys)"""
    build = interpreter.build
    if isinstance(made, TupleValue):
        return replace(made, items=tuple(not_its_memory(interpreter, given, item) for item in made.items))
    roots = {build.root(value.rows) for value in given if isinstance(value, Items)}
    if build.in_composition or not isinstance(made, ArrayValue) or not isinstance(made.element, Load):
        return made
    return whole(build.materialize(made, copy=True)) if build.root(made.element.array) in roots else made


def as_operand(interpreter: Interpreter, value: Any) -> Any:
    """The same of an argument that may be a range, or hold some."""
    if isinstance(value, Static) and isinstance(value.value, range):
        value = Range(*(affine.integer(part) for part in (value.value.start, value.value.stop, value.value.step)))
    if isinstance(value, Range):
        from .numpy.indexing import arange_of

        return arange_of(interpreter.build, value)
    if isinstance(value, TupleValue) and any(isinstance(item, Range) for item in value.items):
        value = replace(value, items=tuple(as_operand(interpreter, item) for item in value.items))
    return as_values(interpreter, value)


def run_over(interpreter: Interpreter, value: Any) -> Any:
    """What a loop runs over: lists whose items are not NumPy's item by item, others as arrays."""
    if isinstance(value, Items) and (
        value.weak or value.inner is not None or list_types.types_at(interpreter, value, 0)
    ):
        return item_by_item(interpreter, value)
    return value if isinstance(value, Indexed) else as_values(interpreter, value)


def copied(interpreter: Interpreter, value: Any, is_deep: bool = False) -> Any:
    """list(xs), or copy.deepcopy(xs)"""
    if isinstance(value, Range) and expressions.known_range(value) is None:
        from .builtins_of_python import indexed

        value = indexed(interpreter, value)
    if isinstance(value, Indexed) and not isinstance(value.count, Const):
        from .comprehensions import collected

        return collected(interpreter, value)
    known = isinstance(value, Items) and not isinstance(value.length, Const)
    if known or (isinstance(value, ArrayValue) and value.ndim and not isinstance(value.dims[0], Const)):
        weak, inner = (value.weak, value.inner) if isinstance(value, Items) else (False, None)
        seen = array_of_items(interpreter, value) if isinstance(value, Items) else value
        types = types_of(interpreter.build, seen)
        rows = interpreter.build.materialize(seen, "items", copy=True)
        if isinstance(value, Items):
            list_types.note_part(interpreter, rows, value, is_whole=True)
        else:
            list_types.note_numbers(interpreter.build, rows, inner, types)
        if isinstance(value, ArrayValue) and value.ndim > 1:
            note_held(interpreter, rows, value)
        elif isinstance(value, Items) and not is_deep:
            note_shared(interpreter, rows, value.rows)
        return Items(rows, rows.dims[0], rows.dims[0], weak, inner, object())
    return new_list(expressions.items_of(interpreter, value))
