"""Of what types the numbers in a list of run-time length are, whatever path was taken.

ys = [0.5] * n                →    floats, perhaps none
ys[i] = 1                     →    floats or ints; np.array(ys) is of either: what has gone may have been the last float
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Expr, is_inexact
from ...ir.types import ScalarType
from .. import optional
from ..aliases import MEMORY
from ..array_values import ArrayValue
from ..joined_numbers import NO_ITEMS, ItemTypes, TypesOf, several, types_of
from ..values import Items, Layout, Nested, Scalar, TupleValue
from . import list_parts
from .list_rows import places_of, row_of_list

if TYPE_CHECKING:
    from ..builder import Builder
    from ..interpret import Interpreter


def known(interpreter: Interpreter, value: TupleValue | Items) -> ItemTypes:
    """What is known of a list."""
    if isinstance(value, TupleValue):
        found = NO_ITEMS
        for item in value.items:
            found = found.beside(of_item(interpreter, item))
        return found
    if list_parts.is_nothing(value):
        return NO_ITEMS
    build = interpreter.build
    found = build.item_types.get(build.root(value.rows), NO_ITEMS)
    if not found.places:
        (row,) = row_of_list(interpreter, value)
        places = places_of(row)
        if len(places) == 1 and isinstance(value.inner, Layout):
            places *= len(list(list_parts.leaves(value.inner)))
        elif len(places) == 1 and value.inner in (list, tuple):
            places *= row.dims[0].value  # type: ignore[attr-defined]
        found = ItemTypes.of((frozenset((place,)) for place in places), may_be_empty=True, count=None)
    return replace(found, may_be_empty=found.may_be_empty and not build.is_at_least(value.length, 1))


def of_item(interpreter: Interpreter, item: Any, inner: Any = None) -> ItemTypes:
    """The types of the numbers in an item, and of its arrays; of nothing, where it is None."""
    if optional.is_none(item):
        return NO_ITEMS
    if list_parts.is_flagged(inner) and not optional.is_optional(item):
        return of_item(interpreter, item).behind(list_parts.FLAG)
    if isinstance(item, Items):
        found = known(interpreter, item).some()
        return replace(found, may_be_empty=False, whole=1)
    parts = [part for part in list_parts.parts_of(item) if isinstance(part, (Scalar, ArrayValue))]
    if not parts:
        return NO_ITEMS
    return replace(
        ItemTypes.of(types_of(interpreter.build, part) for part in parts), are_short=all(map(_is_short, parts))
    )


def _is_short(number: Scalar | ArrayValue) -> bool:
    if not isinstance(number, Scalar) or not number.weak:
        return True
    return number.is_constant and complex(np.complex64(number.value)) == number.value


def note_put(interpreter: Interpreter, rows: Array, item: Any, inner: Any, is_sure: bool = False) -> None:
    """An item is put into rows; `is_sure`: whatever path is taken from where they were made."""
    build = interpreter.build
    more = replace(of_item(interpreter, item, inner), may_be_empty=not is_sure)
    _note(build, rows, inner, _known_of_rows(build, rows).beside(more))


def note_repeated(interpreter: Interpreter, rows: Array, item: Any, inner: Any) -> None:
    """Such items are put into rows, as many as a run tells."""
    build, more = interpreter.build, of_item(interpreter, item, inner)
    more = replace(more, may_be_empty=True, whole=None if more.whole else more.whole)
    _note(build, rows, inner, _known_of_rows(build, rows).beside(more))


def is_sure(build: Builder, rows: Array) -> bool:
    """Is what is put into a list here in it whatever path is taken from where it was made?"""
    return build.made_in.get(build.root(rows)) is build.block and not build.watches


def note_stored(interpreter: Interpreter, owner: Items, more: ItemTypes, place: Any) -> None:
    """Another item, or a number in it, is in the place of one: whose type may have been that of no other."""
    build, rows = interpreter.build, owner.rows
    before = known(interpreter, owner)
    is_behind = isinstance(place, Scalar) and build.is_at_least(place.expr, 1)
    found = before.either(before.some().beside(more))
    _note(build, rows, owner.inner, replace(found, first=before.first if is_behind else frozenset()))


def note_moved(interpreter: Interpreter, owner: Items) -> None:
    """Another item may be the first."""
    _note(interpreter.build, owner.rows, owner.inner, replace(known(interpreter, owner), first=frozenset()))


def note_left(interpreter: Interpreter, owner: Items) -> None:
    """Items leave a list."""
    _note(interpreter.build, owner.rows, owner.inner, known(interpreter, owner).some())


def note_joined(interpreter: Interpreter, rows: Array, value: Items, inner: Any) -> None:
    """The items of a list are put into rows behind what is there."""
    build, more = interpreter.build, known(interpreter, value)
    if list_parts.is_flagged(inner) and not list_parts.is_flagged(value.inner):
        more = more.behind(list_parts.FLAG)
    _note(build, rows, inner, _known_of_rows(build, rows).beside(more))
    _note_put_as(build, rows, value)


def note_part(interpreter: Interpreter, rows: Array, value: Items, is_whole: bool = False) -> None:
    """These rows are a copy of some items of a list."""
    found = known(interpreter, value)
    _note(interpreter.build, rows, value.inner, found if is_whole else found.some())
    _note_put_as(interpreter.build, rows, value)


def _note_put_as(build: Builder, rows: Array, value: Items) -> None:
    """Objects in a list have been put into it where they are put into these rows."""
    build.fields.note_put(build.root(rows), build.fields.put_at.get(build.root(value.rows), ()))


def note_at_head(interpreter: Interpreter, value: Items, whose: object, found: dict[object, ItemTypes]) -> None:
    """What the last iteration of a loop has put into a list is in it at the head of the next."""
    own = known(interpreter, value)
    found[whose] = own.either(found[whose]) if whose in found else own
    _note(interpreter.build, value.rows, value.inner, found[whose])


def note_number(interpreter: Interpreter, rows: Array, inner: Any, value: Scalar) -> None:
    """A number is put into an item, whichever place it has there."""
    build = interpreter.build
    before, types = _known_of_rows(build, rows), types_of(build, value)
    more = replace(ItemTypes.of([types] * max(len(before.places), 1)), are_short=_is_short(value))
    _note(build, rows, inner, before.either(before.some().beside(more)))


def note_numbers(build: Builder, rows: Array, inner: Any, types: frozenset[ScalarType]) -> None:
    """All numbers in these rows are of one of these types."""
    _note(build, rows, inner, ItemTypes.of((types,), may_be_empty=True, count=None))


def note_places(interpreter: Interpreter, rows: Array, value: Items, columns: Iterable[int], inner: Any) -> None:
    """These rows hold what stands at some places of a list's items."""
    of_list = known(interpreter, value)
    found = ItemTypes.of((of_list.places[k] for k in columns), count=None) if of_list.places else NO_ITEMS
    _note(interpreter.build, rows, inner, replace(found.some(), are_short=of_list.are_short))


def known_at_head(build: Builder, found: dict[object, ItemTypes]) -> dict[str, ItemTypes]:
    """What is known of all rows at the head of a loop, where earlier tries have found more to be stored there."""
    for root, before in build.item_types.items():
        if (more := found.get(MEMORY + root)) is not None:
            build.item_types[root] = before.either(more)
            if root in build.rows_of_arrays:
                build.types[root] = TypesOf.of(build.item_types[root].of_all, object())
    return dict(build.item_types)


def found_at_end(build: Builder, at_head: dict[str, ItemTypes]) -> dict[object, ItemTypes]:
    """What an iteration of a loop has stored in the places of items, for the next one."""
    now = {root: build.item_types.get(root, known) for root, known in at_head.items()}
    changed = [root for root, known in now.items() if not at_head[root].has(known)]
    return {MEMORY + root: at_next_head(at_head[root], now[root]) for root in changed}


def at_next_head(at_head: ItemTypes, at_end: ItemTypes) -> ItemTypes:
    joined = at_head.either(at_end)
    return joined if joined.whole == at_head.whole else replace(joined, whole=None)  # there are more each time


def note_all(interpreter: Interpreter, rows: Array, inner: Any, sides: Iterable[ItemTypes]) -> None:
    """These rows hold one list or the other."""
    first, *others = sides
    for other in others:
        first = first.either(other)
    _note(interpreter.build, rows, inner, first)


def _known_of_rows(build: Builder, rows: Array) -> ItemTypes:
    return build.item_types.get(build.root(rows), NO_ITEMS)


def _note(build: Builder, rows: Array, inner: Any, found: ItemTypes) -> None:
    """What is known of rows.  Those that lists or arrays lie in hold several: what is of all of them, is of each."""
    root = build.root(rows)
    build.types.pop(root, None)  # a list takes what it gets
    if rows.ndim > 1 and (inner is None or isinstance(inner, Nested)):
        found = replace(found.some(), whole=None if found.whole else found.whole)
        depth = 0
        while isinstance(inner, Nested):
            inner, depth = inner.inner, depth + 1
        if inner is None and rows.ndim - 1 > depth:
            build.rows_of_arrays.add(root)
            build.note_types(rows, found.of_all)  # (an array doesn't)
    build.item_types[root] = found


def types_at(interpreter: Interpreter, value: Items, place: int) -> frozenset[ScalarType]:
    """The types of a number at this place of an item, if there are several."""
    found = interpreter.build.item_types.get(interpreter.build.root(value.rows))
    return found.at(place) if found else frozenset()


def types_of_numbers(interpreter: Interpreter, value: Items) -> frozenset[ScalarType]:
    """The types of the items of a list of numbers."""
    found = known(interpreter, value)
    return found.places[0] if found.places else frozenset()


def types_of_array(interpreter: Interpreter, value: Items, length: Expr) -> frozenset[ScalarType]:
    """The types of an array of the items, if there are several."""
    found = known(interpreter, value)
    if found.first:  # the array is no narrower
        found = replace(found, of_all=frozenset(kind for kind in found.of_all if _holds_any(kind, found.first)))
    floats = {kind.dtype for kind in found.of_all if is_inexact(kind.dtype)}
    if len(found.of_all) < 2 or found.whole is None or len(floats) != 1:
        return several(found.of_all)
    bounds = [length, value.most, *([] if value.grows else value.rows.dims[:1])]
    if any(interpreter.build.is_at_least(affine.sub(affine.integer(found.whole), n), 0) for n in bounds):
        return found.of_all
    if interpreter.build.is_at_least(length, found.whole + 1):
        return frozenset(map(ScalarType, floats))
    return TypesOf.of(found.of_all, object(), Call("le", (length, affine.integer(found.whole)), BOOL))


def _holds_any(kind: ScalarType, others: Iterable[ScalarType]) -> bool:
    return any(np.result_type(kind.dtype, other.dtype) == kind.dtype for other in others)


def of_any_place(interpreter: Interpreter, value: Items) -> frozenset[ScalarType]:
    """The types of a number at a place that only a run tells, if there are several."""
    return several(frozenset(kind for place in known(interpreter, value).places for kind in place))


def as_one_of_its_numbers(interpreter: Interpreter, value: Any, made: Any, is_sum: bool) -> Any:
    """What is greatest or least in a list of numbers, or their sum, has one of their types."""
    if not (isinstance(value, Items) and value.inner is None and value.rows.ndim == 1 and isinstance(made, Scalar)):
        return made
    types = types_of_numbers(interpreter, value)
    if is_sum:  # of bools it is an int
        types = frozenset(replace(kind, dtype=INT64) if kind.dtype == BOOL else kind for kind in types)
    return replace(made, types=types) if len(types) > 1 and not made.types else made
