"""Lists whose length is known at run time only.

ys = []                                  ys = empty(n)
for i in range(n):                →      for i in range(n):
    ys.append(f(i))                          ys[i] = f(i)

A list of known length is the tuple of its items (`TupleValue`): a change of it puts another one in its place, wherever
it is held (`list_methods`).  Where a loop or a branch changes its length, it becomes the rows of an array (`Items`),
with room for as many as there can be.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...errors import place as error_place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Const, Expr, Load
from ...ir.nodes import Grow, If, Raise, Store
from .. import binding, identities, optional, unpacking
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..joined_numbers import types_of
from ..numpy import indexing
from ..values import Indexed, Items, Layout, Range, Scalar, Slice, TupleValue, constant, new_list, static_int
from . import (
    common_lengths,
    filled_lists,
    item_names,
    item_views,
    list_items,
    list_parts,
    list_types,
    lists_as_arrays,
    put_in_rows,
    shared_items,
)
from .list_rows import Row, common_row, row_of, row_of_list

if TYPE_CHECKING:
    from ..interpret import Interpreter

ITS_ITEMS = "write  ys[i] = y  to an array that is allocated ahead of the loop"


def length_of(value: TupleValue | Items) -> Expr:
    return value.length if isinstance(value, Items) else affine.integer(len(value.items))


def most_of(value: TupleValue | Items) -> Expr:
    return value.most if isinstance(value, Items) else affine.integer(len(value.items))


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
        put_in_rows.put(interpreter, rows, owner.length, item, owner.inner, list_types.is_sure(interpreter.build, rows))
    elif any(owner.identity in heads for heads in interpreter.list_heads[-1:]):
        raise Grows(owner.identity, row, affine.ONE)
    else:
        rows = put_in_rows.with_room(interpreter, rows.name, owner, row, affine.add(owner.most, affine.ONE))
        put_in_rows.put(interpreter, rows, owner.length, item, row.inner, is_sure=True)
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
    if owner.identity in interpreter.one_of_several | interpreter.given_away.keys():
        identities.check_own(interpreter, owner, "assigning to an item")
    value = _fitted(interpreter, owner, value)
    row = common_row(interpreter, [*row_of_list(interpreter, owner), row_of(interpreter, value)])
    owner = widened(interpreter, owner, row)
    value = binding.settled(interpreter, value) if isinstance(value, TupleValue) else value
    if item_views.is_view(interpreter, value):
        value = item_views.as_it_is(interpreter, value)
    build = interpreter.build
    target = indexing.subscript(build, lists_as_arrays.array_of_items(interpreter, owner), [index])
    more = list_types.of_item(interpreter, value, owner.inner)
    if isinstance(owner.inner, Layout):
        assert isinstance(target.element, Load)
        item_names.note_moved(interpreter, owner.rows)
        list_types.note_stored(interpreter, owner, more, index)
        put_in_rows.put(interpreter, owner.rows, target.element.index[0], value, owner.inner)
        return
    list_types.note_stored(interpreter, owner, more, index)
    stale = set(build.stale)
    indexing.write(build, target, lists_as_arrays.as_values(interpreter, value))
    if owner.rows.ndim > 1:
        for root in build.stale.keys() - stale:  # an item has another in its place: no array has changed
            del build.stale[root]
        list_items.note_replaced(interpreter, owner.rows)
        list_items.note_stored(interpreter, owner.rows, value)
        shared_items.give_away(interpreter, value, owner.rows)


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
    rows = put_in_rows.with_room(interpreter, name, value, row, length)
    return Items(rows, length, length, row.weak, row.inner, value.identity)


def widened(interpreter: Interpreter, owner: Items, row: Row) -> Items:
    """The list with items of a wider kind, by whatever name."""
    is_alike = list_parts.is_flagged(row.inner) == list_parts.is_flagged(owner.inner)
    if is_alike and row.dtype == owner.rows.dtype and row.weak == owner.weak:
        return owner
    identities.check_own(interpreter, owner, "assigning to an item")
    is_first = list_parts.is_nothing(owner)  # what its items are is known now: the end of a loop around tells
    if owner.has_room or (not is_first and any(owner.identity in heads for heads in interpreter.list_heads[-1:])):
        raise Grows(owner.identity, row, None if owner.has_room else affine.ZERO)
    is_other = row.dtype != owner.rows.dtype or row.inner != owner.inner
    rows = put_in_rows.with_room(interpreter, owner.rows.name, owner, row, owner.most) if is_other else owner.rows
    owner = replace(owner, rows=rows, weak=row.weak, inner=row.inner)
    identities.change(interpreter, owner.identity, owner)
    return owner


def are_numbers(value: Items, other: Items) -> bool:
    """Are these lists of numbers?"""
    return value.rows.ndim == other.rows.ndim == 1 and value.inner is other.inner is None


def subscripted(interpreter: Interpreter, value: Items, index: Any) -> Any:
    """ys[i], ys[-1], ys[1:]"""
    build, array = interpreter.build, lists_as_arrays.array_of_items(interpreter, value)
    if isinstance(index, indexing.Slice):
        seen = indexing.subscript(build, array, [index])
        if (found := item_views.part_of_list(interpreter, value, seen)) is not None:
            return found
        part = build.materialize(seen, "items", copy=True)
        shared_items.note_shared(interpreter, part, value.rows)
        is_whole = index.start is index.stop is None and abs(static_int(index.step) or 0) == 1
        list_types.note_part(interpreter, part, value, is_whole)
        made = Items(part, part.dims[0], part.dims[0], value.weak, value.inner, object())
        list_types.note_moved(interpreter, made)
        return made
    number = static_int(index)
    if not isinstance(index, Scalar) or index.dtype.kind not in "iub":
        build.refuse("a list is indexed by an integer or a slice", error=ArgumentError)
    index = Scalar(cast(index.expr, INT64), index.weak)  # True is the second, not a mask
    if number is not None and number < 0:
        _check_there(interpreter, "lt", value, affine.integer(-number))
        return list_items.item_at(interpreter, value, affine.add(value.length, affine.integer(number)))
    if number is not None or build.is_at_least(index.expr, 0):
        is_all = affine.same(value.length, value.rows.dims[0]) and not value.grows  # the array is as long as the list
        if not is_all:
            _check_there(interpreter, "le", value, cast(index.expr, INT64))
    if number is None and not build.is_at_least(index.expr, 0):
        out = indexing.subscript(build, array, [index])
        if value.inner is None:
            return out if out.ndim else list_items._number(interpreter, value, out.element)
        assert isinstance(out.element, Load)
        return list_items.item_at(
            interpreter, value, out.element.index[0]
        )  # from the end of the list: its rows may go beyond
    return list_items.item_at(interpreter, value, cast(index.expr, INT64))


def exactly(interpreter: Interpreter, value: Any, count: int) -> list[Any]:
    """The items of something unpacked into so many names; that it has as many is checked at run time."""
    held = value if isinstance(value, (ArrayValue, Items)) else copied(interpreter, value)
    wanted = affine.integer(count)
    check_length(interpreter, "ne", held, wanted, f"{{}} values can't be unpacked into {count} names")
    if isinstance(held, ArrayValue):
        held = ArrayValue((wanted, *held.dims[1:]), held.element)
    else:
        held = replace(held, length=wanted, most=wanted)
    return unpacking.items_of(interpreter, held)


def split(interpreter: Interpreter, value: Any, before: int, after: int) -> list[Any]:
    """x, *xs, y = value: the items, and the list of those between the first and the last ones."""
    held = value if isinstance(value, Items) else copied(interpreter, value)
    message = f"not enough values to unpack: at least {before + after} are needed"
    check_length(interpreter, "lt", held, affine.integer(before + after), message)
    end = affine.sub(held.length, affine.integer(after))
    middle = subscripted(interpreter, held, Slice(constant(before), Scalar(end, weak=True), None))
    first = [list_items.item_at(interpreter, held, affine.integer(k)) for k in range(before)]
    return [
        *first,
        middle,
        *(list_items.item_at(interpreter, held, affine.add(end, affine.integer(k))) for k in range(after)),
    ]


def check_length(interpreter: Interpreter, op: str, held: ArrayValue | Items, wanted: Expr, message: str) -> None:
    length = held.dims[0] if isinstance(held, ArrayValue) else held.length
    told = (length,) if "{}" in message else ()
    message += error_place(interpreter.build.span)
    interpreter.build.emit(If(Call(op, (length, wanted), BOOL), (Raise("RuntimeValueError", message, told),)))


def repeated(interpreter: Interpreter, value: TupleValue, count: Scalar) -> Items:
    """[0.0] * n"""
    build = interpreter.build
    row = common_row(interpreter, row_of_list(interpreter, value), are_known=True)
    if isinstance(row.inner, Layout) and row.inner != optional.NOTHING:
        build.refuse("a list of one tuple or object as often as only a run tells", "append copies in a loop")
    size = len(value.items)
    times = cast(count.expr, INT64)
    times = build.pin(times if build.is_at_least(times, 0) else affine.maximum(build.pin(times), affine.ZERO))
    rows = build.allocate("items", row.dtype, (affine.mul(times, affine.integer(size)), *row.dims))
    for k, item in enumerate(value.items if row.dims != (affine.ZERO,) else ()):
        shared_items.give_away(interpreter, item, rows)
        list_types.note_repeated(interpreter, rows, item, row.inner)
        part = (
            lists_as_arrays.as_array(interpreter, item) if not isinstance(item, Scalar) else ArrayValue((), item.expr)
        )
        held = whole(build.materialize(part, "t")) if part.ndim else part
        place = lambda i, k=k: affine.add(affine.mul(i, affine.integer(size)), affine.integer(k))
        store = lambda index, v=held, at=place: Store(
            rows, (at(index[0]), *index[1:]), cast(v.at(index[1:]), row.dtype)
        )
        build.each((times, *part.dims), store)
        if part.ndim:
            put_in_rows.note_held(interpreter, rows, part)
            build.rows_of_one.add(rows.name)
    return Items(rows, rows.dims[0], rows.dims[0], row.weak, row.inner, object())


def _check_there(interpreter: Interpreter, op: str, value: Items, place: Expr) -> None:
    """Is the list long enough?  (Its array may be longer.)"""
    build = interpreter.build
    message = "list index out of range" + error_place(build.span)
    if not build.is_at_least(affine.sub(value.length, place), 1 if op == "le" else 0):
        build.emit(If(Call(op, (value.length, place), BOOL), (Raise("BoundsError", message),)))


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
        put_in_rows.fill(interpreter, rows, part, row.inner, start)
        start = affine.add(start, length_of(part))
    return Items(rows, rows.dims[0], rows.dims[0], row.weak, row.inner, object())


def run_over(interpreter: Interpreter, value: Any) -> Any:
    """What a loop runs over: lists whose items are not NumPy's item by item, others as arrays."""
    if isinstance(value, Items) and (
        value.weak or value.inner is not None or list_types.types_at(interpreter, value, 0)
    ):
        return list_items.item_by_item(interpreter, value)
    return value if isinstance(value, Indexed) else lists_as_arrays.as_values(interpreter, value)


def copied(interpreter: Interpreter, value: Any, is_deep: bool = False) -> Any:
    """list(xs), or copy.deepcopy(xs)"""
    if isinstance(value, Range) and unpacking.known_range(value) is None:
        value = unpacking.indexed(interpreter, value)
    if isinstance(value, Indexed) and not isinstance(value.count, Const):
        return filled_lists.collected(interpreter, value)
    known = isinstance(value, Items) and not isinstance(value.length, Const)
    if known or (isinstance(value, ArrayValue) and value.ndim and not isinstance(value.dims[0], Const)):
        weak, inner = (value.weak, value.inner) if isinstance(value, Items) else (False, None)
        seen = lists_as_arrays.array_of_items(interpreter, value) if isinstance(value, Items) else value
        types = types_of(interpreter.build, seen)
        rows = interpreter.build.materialize(seen, "items", copy=True)
        if isinstance(value, Items):
            list_types.note_part(interpreter, rows, value, is_whole=True)
        else:
            list_types.note_numbers(interpreter.build, rows, inner, types)
        if isinstance(value, ArrayValue) and value.ndim > 1:
            put_in_rows.note_held(interpreter, rows, value)
        elif isinstance(value, Items) and not is_deep:
            shared_items.note_shared(interpreter, rows, value.rows)
        return Items(rows, rows.dims[0], rows.dims[0], weak, inner, object())
    return new_list(unpacking.items_of(interpreter, value))
