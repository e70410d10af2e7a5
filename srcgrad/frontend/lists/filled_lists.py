"""Lists of run-time length whose items are computed in a loop.

[f(i) for i in range(n)]   →   t = empty(n); for i in range(n): t[i] = f(i)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ir import affine
from ...ir.expressions import INT64, Expr, Load, Var
from ...ir.nodes import Alloc, For, Pick, Run, Stmt, Store, Subscript, View
from ...ir.walk import numbers_set, statements, variables
from .. import identities
from ..aliases import arrays_of
from ..array_values import ArrayValue
from ..builder import Builder
from ..values import Indexed, Items, Layout, Scalar
from . import common_lengths, item_views, list_parts, list_rows, list_types, lists_as_arrays, put_in_rows, shared_items

if TYPE_CHECKING:
    from ..interpret import Interpreter


class AtRunTime(Exception):
    """Which items there are is only known at run time."""


def collected(interpreter: Interpreter, over: Indexed) -> Items:
    """list(zip(x, y)), sum(map(f, x)): the items of what a loop would run over, as a list."""
    try:
        return _collected(interpreter, over)
    except AtRunTime:
        return interpreter.build.refuse("what is called for each item changes a list", "write the loop")


def _collected(interpreter: Interpreter, over: Indexed) -> Items:
    return filled(interpreter, "i", interpreter.build.pin(over.count), lambda index, block: over.item(index))


def filled(interpreter: Interpreter, name: str, count: Expr, element: Callable[[Var, list[Stmt]], Any]) -> Items:
    """A list of run-time length, whose items are computed in a loop."""
    build = interpreter.build
    saved = [(frame.env, dict(frame.env)) for frame in identities.frames_of(interpreter)]
    lists_before, disturbed = identities.held(interpreter), build.fields.disturbed
    index = Var(build.names.index(name), INT64)
    build.lower[index] = 0
    block: list[Stmt] = []
    with build.nested(block):
        made = element(index, block)
        now = identities.held(interpreter)
        if any(now.get(identity) != value for identity, value in lists_before.items()):
            raise AtRunTime
        if build.fields.disturbed != disturbed:  # what the next item is made of may be a copy of what has changed
            raise AtRunTime
        row = list_rows.row_of(interpreter, made)
        has_layout = isinstance(row.inner, Layout)
        value = made if isinstance(made, Scalar) or has_layout else lists_as_arrays.as_array(interpreter, made)
    for env, before in saved:
        env.clear()
        env.update(before)
    if isinstance(value, ArrayValue):
        row = replace(row, dims=value.dims)
    inside = numbers_set(tuple(block)) | {index}
    if any(variables(dim) & inside for dim in list_rows.lengths_of(row)):
        row = _of_one_shape(build, row, block, index)
    out = build.allocate("t", row.dtype, (count, *row.dims))
    build.in_unnamed.add(out.name)
    if has_layout:  # (where it is put, it is given away)
        item_views.note_put(interpreter, out, row.inner)
    else:
        shared_items.give_away(interpreter, made, out)
    if any(identity in lists_before for identity in identities.within(made)) or _may_be_again(interpreter, made, index):
        build.rows_of_one.add(out.name)
        shared_items.note_held_twice(interpreter, out)
    list_types.note_repeated(interpreter, out, made, row.inner)
    with build.nested(block):
        if isinstance(value, Scalar):
            build.emit(Store(out, (index,), value.expr))
        elif isinstance(value, ArrayValue):
            build.check_fresh(value.element)
            value = common_lengths.with_lengths(build, value, row.dims)
            build.each(row.dims, lambda i: Store(out, (index, *i), value.at(i)))
        else:
            put_in_rows.put(interpreter, out, index, value, row.inner)
    build.names.release(index.name)
    for known in (build.lower, build.upper):
        known.pop(index, None)
    build.emit(For(index, affine.ZERO, count, affine.ONE, tuple(block)))
    made_there = {stmt.array.name for stmt in statements(tuple(block)) if isinstance(stmt, Alloc)}
    arrays = [part for part in list_parts.parts_of(value) if isinstance(part, ArrayValue)]
    for part in arrays:
        others = [build.root(array) for other in arrays if other is not part for array in arrays_of(other)]
        if part.handle is not None or part.is_window:
            if any(
                build.root(array) not in made_there
                and (build.root(array) in others or not _is_apart(block, part, index))
                for array in arrays_of(part)
            ):
                shared_items.note_one_array(interpreter, out)  # parts of one array may overlap
    put_in_rows.note_held(interpreter, out, value)
    return Items(out, count, count, row.weak, row.inner, object())


def _may_be_again(interpreter: Interpreter, made: Any, index: Var) -> bool:
    """Is there an object of another list in it that may be that of another iteration, too?"""
    if interpreter.frame.is_composition:  # it puts all in order
        return False
    objects = [part for part in (*identities.parts_within(made), made) if item_views.is_view(interpreter, part)]
    return any(item_views.place_of(part) != index for part in objects)


def _is_apart(block: list[Stmt], part: ArrayValue, index: Var) -> bool:
    """Is it another part of its array in each iteration: the row of this number?"""
    views = {stmt.array: stmt for stmt in block if isinstance(stmt, View)}
    match part.element:
        case Load(array=array, index=places) if array not in views:
            picks = [place for place in places if index in variables(place)]
        case Load(array=array) if isinstance(how := views[array].how, Subscript) and views[array].base not in views:
            picks = [item.index for item in how.items if isinstance(item, Pick)]
            if any(
                index in variables(e) for item in how.items if isinstance(item, Run) for e in (item.start, item.length)
            ):
                return False
        case _:
            return False
    return any(affine.affine(pick)[0] == ((index, 1),) for pick in picks)


def _of_one_shape(build: Builder, row: list_rows.Row, block: list[Stmt], index: Var) -> list_rows.Row:
    """What the items of all iterations are, in the shape that the first one has."""
    lengths = common_lengths.known_ahead(build, list_rows.lengths_of(row), block, index, affine.ZERO)
    if lengths is None:
        return build.refuse("the items of this comprehension may differ in shape", "write the loop")
    lengths = tuple(build.pin(length) for length in lengths)
    build.lower |= {length: 0 for length in lengths if isinstance(length, Var)}
    return list_rows.with_lengths(row, lengths)
