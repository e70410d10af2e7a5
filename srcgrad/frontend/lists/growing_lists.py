"""Lists that loops and branches change: at the head of a loop, at its end, and where branches meet.

for i in range(n):                rows = empty(n), as many as there are items at most
    ys.append(f(i))         →     for i in range(n): …
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from ...ir import affine
from ...ir.expressions import Array, Call, Const, Expr, Load, Var
from ...ir.walk import numbers_set, variables
from .. import resized
from ..array_values import ArrayValue, axes
from ..joined_numbers import NO_ITEMS
from ..values import Items, Layout, Range, Scalar, TupleValue
from . import common_lengths, list_parts, list_types
from .list_rows import Row, common_row, lengths_of, row_of_list, with_lengths
from .lists import ITS_ITEMS, Grows, length_of, most_of
from .lists_as_arrays import array_of_items
from .put_in_rows import fill, with_room

if TYPE_CHECKING:
    from ..interpret import Interpreter


class Changed(Exception):
    """A loop changes lists from ahead of it: to be tried again with what they are in variables of their own."""

    def __init__(self, identities: list[object]) -> None:
        self.identities = identities  # in an order that is the same in every process


class WrittenOut(Exception):
    """A loop with few iterations makes a list longer: its length stays known where the loop is written out."""


@dataclass(frozen=True)
class Growth:
    row: Row
    each: Expr


def enter(interpreter: Interpreter, name: str, value: TupleValue | Items, growth: Growth, trips: Expr | None) -> Items:
    """The list at the head of a loop that makes it longer."""
    build = interpreter.build
    start = length_of(value)
    if list_parts.is_flagged(growth.row.inner) and affine.same(growth.each, affine.ZERO):
        rows = with_room(interpreter, name, value, growth.row, start)
        return Items(rows, start, start, growth.row.weak, growth.row.inner, value.identity)
    grows, has_room = trips is None, True
    keeps = affine.same(growth.each, affine.ZERO)
    is_as_wide = isinstance(value, Items) and value.rows.dtype == growth.row.dtype
    if isinstance(value, Items) and (value.has_room or (keeps and (trips is None or is_as_wide))):
        rows, grows, has_room = value.rows, value.grows, value.has_room
    elif trips is None and keeps:
        grows, rows = False, with_room(interpreter, name, value, growth.row, start)
    elif trips is None:
        start = build.capture(start, "n")
        rows = _growing(interpreter, name, value, growth.row, start)
    else:
        start = build.capture(start, "n")
        capacity = affine.add(most_of(value), affine.mul(trips, growth.each))
        rows = with_room(interpreter, name, value, growth.row, capacity)
    counter = build.variable(f"{name}_length", start)
    build.mutable.add(counter)
    build.lower[counter] = 0
    return Items(rows, counter, counter, growth.row.weak, growth.row.inner, value.identity, has_room, grows)


def _called(name: str) -> str:
    """What a message calls a list; that of a comprehension has no name of the user's."""
    return "its list" if name.startswith(".") else name


def _refuse_growing(interpreter: Interpreter, name: str) -> None:
    if interpreter.frame.is_composition:  # whose names are not the user's
        interpreter.build.refuse(
            "what is called here makes as many items as it turns out to need, inside of a loop or a branch",
            "call it outside of them, or tell it how many there are: solve_ivp by t_eval, as t_eval=[end]",
        )
    interpreter.build.refuse(
        f"{_called(name)} grows in a while loop that is inside another loop, or a branch",
        "allocate an array that is long enough, and count",
    )


def _growing(interpreter: Interpreter, name: str, value: TupleValue | Items, row: Row, start: Expr) -> Array:
    """The items in memory that grows."""
    if not resized.may_grow(interpreter):
        _refuse_growing(interpreter, name)
    rows = resized.memory_that_grows(interpreter.build, name, row.dtype, (start, *row.dims))
    fill(interpreter, rows, value, row.inner)
    return rows


@dataclass(frozen=True)
class Inside:
    """Of the loop that is interpreted; `steady`: the lists that every iteration makes longer by as much."""

    over: Range | None
    index: Var | None
    steady: set[object]


def close(
    interpreter: Interpreter,
    name: str,
    entry: TupleValue | Items,
    end: TupleValue | Items,
    growth: Growth | None,
    loop: Inside,
) -> None:
    """At the end of the body: how many items did the iteration add?  Raises `Grows` where more was learnt."""
    if growth is not None and isinstance(end, Items) and end.grows:
        return
    is_told_now = list_parts.is_nothing(entry) and not list_parts.is_nothing(end)  # what its items are
    added = affine.sub(most_of(end), most_of(entry))
    each = _at_most(added, loop)
    if isinstance(each, Const) and each.value < 0 and isinstance(entry, TupleValue):
        each = affine.ZERO  # it gets shorter, in the memory of rows that it will have
    inside = numbers_set(tuple(interpreter.build.block)) | {loop.index}
    if loop.over is None:
        stays = affine.same(each, affine.ZERO)
        if stays and growth is not None and not is_told_now:
            _refuse_other_memory(interpreter, name, entry, end)
            return
        if growth is not None and not affine.same(growth.each, affine.ZERO):
            if isinstance(entry, Items) and entry.grows:  # it could, and is another list now
                interpreter.build.refuse(
                    f"{_called(name)} is made anew in a while loop, so it is not known to stay as long as it is",
                    "write a for loop over a range, and a break where the test fails",
                )
            _refuse_growing(interpreter, name)
        row = common_row(interpreter, [*row_of_list(interpreter, entry), *row_of_list(interpreter, end)])
        row = _row_ahead(interpreter, name, row, inside, loop)
        raise Grows(end.identity, row, affine.ZERO if stays else affine.ONE)
    if variables(each) & inside:
        interpreter.build.refuse(
            f"{_called(name)} grows by another number of items in each iteration, so its length is not known ahead",
            ITS_ITEMS,
        )
    if isinstance(each, Const) and each.value < 0:
        interpreter.build.refuse(f"{_called(name)} gets shorter in a loop, which is not supported")
    if growth is None or is_told_now or not affine.same(growth.each, each):
        row = common_row(interpreter, [*row_of_list(interpreter, entry), *row_of_list(interpreter, end)])
        raise Grows(end.identity, _row_ahead(interpreter, name, row, inside, loop), each)
    _refuse_other_memory(interpreter, name, entry, end)
    if each == added and affine.same(length_of(end), most_of(end)):
        loop.steady.add(end.identity)


def _refuse_other_memory(interpreter: Interpreter, name: str, entry: Any, end: Any) -> None:
    """The next iteration reads what the list has at the head of the loop."""
    if isinstance(entry, Items) and isinstance(end, Items) and not list_parts.is_flagged(end.inner):
        if end.rows != entry.rows:
            interpreter.build.refuse(f"the items of {_called(name)} are put into other memory in a loop", ITS_ITEMS)


def _row_ahead(interpreter: Interpreter, name: str, row: Row, inside: set[Any], loop: Inside) -> Row:
    """What the items have in common, as it is known ahead of the loop."""
    build = interpreter.build
    lengths = lengths_of(row)
    if not any(variables(dim) & inside for dim in lengths):
        return row
    start = affine.ZERO if loop.over is None else loop.over.start
    dims = common_lengths.known_ahead(build, lengths, build.block, loop.index, start)
    if dims is None or not (row.inner is None or isinstance(row.inner, Layout)):
        build.refuse(
            f"the shape of the items of {_called(name)} is only known inside the loop",
            ITS_ITEMS,
            *((f"or, {common_lengths.WRITTEN_OUT}",) if loop.over is not None else ()),
        )
    return with_lengths(row, dims)


def _at_most(count: Expr, loop: Inside) -> Expr:
    """A bound of a number of items that depends on the index of the loop: what it is at one of the ends."""
    index, over = loop.index, loop.over
    if index is None or over is None or index not in variables(count) or not isinstance(over.step, Const):
        return count
    least, most = over.start, affine.sub(over.stop, affine.ONE)
    if over.step.value < 0:
        least, most = affine.add(over.stop, affine.ONE), over.start
    terms, constant = affine.affine(count)
    out: Expr = affine.integer(constant)
    for term, times in terms:
        match term:
            case Call(op="maximum" | "minimum" as op, args=(x, y)) if times > 0:
                either = affine.maximum if op == "maximum" else affine.minimum
                bound = either(_at_most(x, loop), _at_most(y, loop))
            case Call(op="floordiv", args=(x, Const(value=divisor))) if times > 0 and divisor > 0:
                bound = affine.floordiv(_at_most(x, loop), divisor)
            case _ if term == index:
                bound = most if times > 0 else least
            case _:
                bound = term
        out = affine.add(out, affine.mul(affine.integer(times), bound))
    return out


def leave(
    interpreter: Interpreter, before: Any, inside: Items, growth: Growth, trips: Expr | None, steady: bool
) -> Items:
    """The list after the loop: `steady` if every iteration added as many items."""
    build = interpreter.build
    had_room = isinstance(before, Items) and before.has_room
    if inside.length not in build.mutable:
        return inside
    if trips is None or inside.grows:
        now = build.variable("n", inside.length)
        build.lower[now] = 0
        if not inside.grows:
            return replace(inside, length=now, most=most_of(before), has_room=had_room)
        return replace(inside, length=now, most=now, has_room=had_room, grows=had_room)
    added = affine.mul(trips, growth.each)
    most = affine.add(most_of(before), added)
    length = affine.add(length_of(before), added)
    if not steady:
        assert isinstance(inside.length, Var)
        length = build.variable("n", inside.length)
        build.lower[length] = 0
    return replace(inside, length=length, most=most, has_room=had_room)


# --------------------------------------------------------------- names of lists that are others in each iteration

Leaves = tuple[Expr, ...]  # numbers of which the greatest is meant
MOST_BOUNDS = 4  # of a list that is made from the one before, and is longer, there is one more at each try
BY_THE_NUMBER_OF_ITEMS: dict[int, Expr] = {0: affine.ONE}  # the axis that changes its length; there is room for it


def common(
    interpreter: Interpreter,
    entry: TupleValue | Items,
    end: TupleValue | Items,
    known: tuple[Row, Leaves] | None,
    loop: Inside,
) -> tuple[Row, Leaves] | None:
    """What two lists need that have one name in turn: None if only the loop tells how many items there are."""
    build = interpreter.build
    rows = [*row_of_list(interpreter, entry), *row_of_list(interpreter, end)]
    row = common_row(interpreter, rows) if known is None else known[0]
    start = affine.ZERO if loop.over is None else loop.over.start
    dims = common_lengths.known_ahead(build, lengths_of(row), build.block, loop.index, start)
    if dims is None:
        return None
    if known is not None and common_row(interpreter, [row, *rows]) != row:
        row, dims = common_row(interpreter, [row, *rows]), lengths_of(row)
    return with_lengths(row, dims), _most_ahead(interpreter, entry, end, None if known is None else known[1], loop)


def _most_ahead(
    interpreter: Interpreter,
    entry: TupleValue | Items,
    end: TupleValue | Items,
    known: Leaves | None,
    loop: Inside,
) -> Leaves:
    """How many items there are at most, as it can be told ahead of the loop; nothing where it can't."""
    if known == ():
        return ()
    at_head, at_end = _leaves(most_of(entry)), _leaves(most_of(end))
    leaves = [*at_head, *at_end] if known is None else [*known, *(leaf for leaf in at_end if leaf not in at_head)]
    bounds = dict.fromkeys(_bound_ahead(interpreter, leaf, loop) for leaf in leaves)
    if None in bounds or len(bounds) > MOST_BOUNDS:
        return ()
    return tuple(bound for bound in bounds if bound is not None)


def _bound_ahead(interpreter: Interpreter, count: Expr, loop: Inside) -> Expr | None:
    """A bound of a number of items that holds in every iteration."""
    build = interpreter.build
    found = common_lengths.in_terms_of(build, count, build.block, lambda _, x, y: affine.same(x, y))
    bound = None if found is None else _at_most(found, loop)
    return None if bound is None or loop.index in variables(bound) else bound


def _leaves(most: Expr) -> list[Expr]:
    match most:
        case Call(op="maximum", args=args):
            return [leaf for arg in args for leaf in _leaves(arg)]
    return [most]


def enter_anew(interpreter: Interpreter, name: str, value: TupleValue | Items, row: Row, most: Leaves) -> Items:
    """The list at the head of a loop in which the name stands for others: in rows that have room for each."""
    build = interpreter.build
    start = length_of(value)
    if most:
        capacity = functools.reduce(affine.maximum, most)
        rows = with_room(interpreter, name, value, row, capacity)
    elif resized.may_grow(interpreter):
        start = build.capture(start, "n")
        rows = _growing(interpreter, name, value, row, start)
    else:
        refuse_other_length(interpreter, name)
    counter = build.variable(f"{name}_length", start)
    build.mutable.add(counter)
    build.lower[counter] = 0
    return Items(rows, counter, capacity if most else counter, row.weak, row.inner, value.identity, grows=not most)


def refuse_other_length(interpreter: Interpreter, name: str) -> NoReturn:
    interpreter.build.refuse(
        f"{name} is a list of another length at the end of the loop than at its beginning",
        "append to one list, or write to an array that is allocated ahead of the loop",
    )


def as_rows(
    interpreter: Interpreter, name: str, entry: Items, end: TupleValue | Items
) -> tuple[ArrayValue, ArrayValue]:
    """The lists at the head of a loop and at its end, as arrays."""
    if isinstance(end, TupleValue):
        (row,) = row_of_list(interpreter, entry)
        length = affine.integer(len(end.items))
        end = Items(with_room(interpreter, name, end, row, length), length, length, row.weak, row.inner)
    head = ArrayValue((entry.length, *entry.rows.dims[1:]), Load(entry.rows, axes(entry.rows.ndim)))
    return head, array_of_items(interpreter, end)


def holds_arrays(row: Row) -> bool:
    """Are the items memory, or do they hold some?"""
    return bool(row.dims) and row.inner is not tuple


def settled(interpreter: Interpreter, value: Any) -> Any:
    """A list, or what holds some, with the number of items that there are now."""
    build = interpreter.build
    if isinstance(value, TupleValue):
        items = tuple(settled(interpreter, item) for item in value.items)
        return value if items == value.items else replace(value, items=items)
    if not isinstance(value, Items) or value.length not in build.mutable:
        return value
    now = build.variable("n", value.length)
    build.lower[now] = 0
    return replace(value, length=now, most=now if value.most == value.length else value.most, grows=False)


# --------------------------------------------------------------------------------- branches that change lists


def merge(
    interpreter: Interpreter, name: str, x: tuple[list[Any], Any], y: tuple[list[Any], Any], same: Callable[..., Any]
) -> Items:
    """One list for what has another length at the end of each branch; `same` merges numbers."""
    build = interpreter.build
    sides = [x, y]
    values = [value for _, value in sides]
    if not (all(isinstance(v, Items) for v in values) and values[0].rows == values[1].rows):
        row = common_row(interpreter, [row for v in values for row in row_of_list(interpreter, v)])
        capacity = affine.maximum(most_of(values[0]), most_of(values[1]))
        inside = {var for block, _ in sides for var in numbers_set(tuple(block))}
        if any(variables(e) & inside for e in (capacity, *lengths_of(row))):
            build.refuse(f"the length of {name} depends on the path taken", ITS_ITEMS)
        rows = build.allocate(name, row.dtype, (build.pin(capacity), *row.dims))
        types = []
        for block, value in sides:
            build.item_types.pop(rows.name, None)
            with build.into(block):
                fill(interpreter, rows, value, row.inner)
            types.append(build.item_types.get(rows.name, NO_ITEMS))
        list_types.note_all(interpreter, rows, row.inner, types)
        has_room = False
    else:
        row = common_row(interpreter, [row for v in values for row in row_of_list(interpreter, v)])
        rows = values[0].rows
        has_room = values[0].has_room
    lengths = [Scalar(length_of(value), weak=True) for value in values]
    length = lengths[0]
    if not affine.same(lengths[0].expr, lengths[1].expr):
        length = same(interpreter, f"{name}_length", (x[0], lengths[0]), (y[0], lengths[1]))
        build.lower[length.expr] = 0
    most = affine.maximum(most_of(values[0]), most_of(values[1]))
    grows = has_room and values[0].grows
    return Items(rows, length.expr, most, row.weak, row.inner, values[0].identity, has_room, grows)
