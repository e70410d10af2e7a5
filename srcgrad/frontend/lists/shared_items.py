"""Objects and arrays that are put into the rows of lists: which may be there twice, or be known by other names.

Noted of a kind of object once and for all (see `ItemFields`); lists that share objects are twins (see `aliases`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.expressions import Array
from ...ir.nodes import Alloc
from ...ir.walk import loads
from .. import identities
from ..aliases import arrays_of, is_seen_elsewhere
from ..array_values import ArrayValue
from ..values import Items, TupleValue
from . import item_views
from .item_fields_known import ANY_FIELD, Field

if TYPE_CHECKING:
    from ..interpret import Interpreter


def note_arrays(interpreter: Interpreter, rows: Array, parts: list[tuple[Field, ArrayValue]]) -> None:
    """Arrays that are put into an item: which may be known by another name, or be one?"""
    build, fields = interpreter.build, interpreter.build.fields
    roots: list[str] = []
    for part, value in parts:
        if value.handle is None and not value.is_window and not value.is_view_to_numpy:
            continue
        found = {build.root(array) for array in arrays_of(value)}
        around = found.union(*(build.all_twins(root) for root in found))
        is_of_these = build.root(rows) in around and found & build.in_items  # a copy of an array that lies there
        if build.root(rows) in found or found & set(roots) or is_of_these:
            note_one_array(interpreter, rows)
        if is_of_these or around & (fields.rows | fields.kinds_in.keys()) - ({build.root(rows)} - found):
            fields.note_shared([part, ANY_FIELD])
        if found & set(roots):
            fields.note_shared(part for part, _ in parts)
        elif not _is_made_for_this(interpreter, value):
            fields.note_shared([part])
        roots += found


def _is_made_for_this(interpreter: Interpreter, value: ArrayValue) -> bool:
    """Is it memory that was made just now, and that has no name?"""
    build, handle = interpreter.build, value.handle
    if handle is None or build.root(handle) != handle.name or build.in_composition:
        return False
    is_made_here = any(isinstance(stmt, Alloc) and stmt.array.name == handle.name for stmt in build.block)
    return is_made_here and not is_seen_elsewhere(interpreter, "", handle.name)


def note_held_twice(interpreter: Interpreter, rows: Array) -> None:
    """An object is put into rows where it may be already."""
    fields = interpreter.build.fields
    fields.held_twice |= fields.kinds_in.get(interpreter.build.root(rows), frozenset())
    fields.check(interpreter.build)


def expect_once(interpreter: Interpreter, value: TupleValue) -> None:
    """No object of this kind is in a list twice, or nothing is right that has been said of its place."""
    fields = interpreter.build.fields
    fields.changed_kinds.add(value.kind)
    fields.check(interpreter.build)


def is_in_turn(interpreter: Interpreter, value: Any, rows: Array) -> bool:
    """for b in ys: zs.append(b):  is it the item of this iteration, and had the other list none of these ahead?"""
    build, seen = interpreter.build, item_views.rows_of(interpreter, value)
    if seen is None or not build.fields.ahead:
        return False
    loop = build.fields.ahead[-1]
    source, target = build.root(seen), build.root(rows)
    is_first = target not in loop.put
    loop.put.add(target)
    places = {load.index[0] for part in item_views.parts_in(value) for load in loads(item_views.expr_of(part))}
    if not is_first or places != {loop.index} or loop.moved.get(source, 0) != build.fields.moved.get(source, 0):
        return False
    found, work = {source}, [source]
    while work:
        more = loop.twins.get(work.pop(), set()) - found
        found |= more
        work += more
    return target not in found


def note_without_axes(interpreter: Interpreter, rows: Array, value: ArrayValue) -> None:
    """An array without axes is a number in rows, which Python's += leaves as it is, by other names."""
    fields = interpreter.build.fields
    if value.handle is not None and not value.ndim:
        fields.without_axes |= fields.kinds_in.get(interpreter.build.root(rows), frozenset())
        fields.check(interpreter.build)


def note_one_array(interpreter: Interpreter, rows: Array) -> None:
    """An array is put into rows where it may be already."""
    fields = interpreter.build.fields
    interpreter.build.rows_of_one.add(interpreter.build.root(rows))
    fields.of_one_array |= fields.kinds_in.get(interpreter.build.root(rows), frozenset())
    fields.check(interpreter.build)


def give_away(interpreter: Interpreter, value: Any, *rows: Array) -> None:
    """A list is, in Python, an item of one that has its items in the rows of these arrays."""
    if not isinstance(value, (TupleValue, Items)) or value.identity is None:
        return
    build = interpreter.build
    build.fields.popped.pop(value.identity, None)
    is_from_ahead = any(value.identity in heads for heads in interpreter.list_heads[-1:])  # as each iteration has it
    known = interpreter.given_away.get(value.identity, frozenset())
    may_be_there = identities.ANY_MEMORY in known
    known -= {identities.ANY_MEMORY}
    for array in rows:
        is_next = is_in_turn(interpreter, value, array) and build.root(array) not in known
        is_there = bool(known & {build.root(array), *build.all_twins(build.root(array))})
        if is_from_ahead or (is_there and not is_next):
            build.rows_of_one.add(build.root(array))
            may_be_there = True
        if may_be_there:
            note_held_twice(interpreter, array)
        for root in known - {build.root(array)}:  # it is an item of both
            build.twin(array, Array(root, array.dtype, ()))
    interpreter.given_away[value.identity] = known | {build.root(array) for array in rows}


def note_shared(interpreter: Interpreter, copy: Array, rows: Array) -> None:
    """Two lists of the same arrays, where we have copies of these."""
    if rows.ndim > 1 and not interpreter.build.in_composition:
        interpreter.build.twin(copy, rows)
        if interpreter.build.root(rows) in interpreter.build.rows_of_one:
            interpreter.build.rows_of_one.add(copy.name)
