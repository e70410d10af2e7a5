"""Attributes of objects in lists of run-time length get other values, where their parts lie.

b.x = b.x + dt * b.v       →       rows[i, 0] = rows[i, 0] + dt * rows[i, 1]

Items are rows of numbers here, so what Python has as one has to be one row.  Where an object may be in a list twice, or
several objects may have one array, nothing of their kind can change (`ItemFields.check`); lists that share objects
are twins (see `aliases`), of which the others can't be read after a change.  As a loop comes back to what stands ahead
of its first sharing, this is noted of a kind of object once and for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import affine
from ...ir.expressions import Array, Expr
from ...ir.nodes import Store
from ...ir.types import ScalarType
from ...ir.walk import loads, substitute
from .. import identities, joined_numbers, optional
from ..aliases import HELD, arrays_of, value_leaves
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..values import Items, Scalar, Static, TupleValue
from . import common_lengths, item_names, item_views, list_parts, list_types, put_in_rows, shared_items
from .item_fields_known import OtherNumbers, Put

if TYPE_CHECKING:
    from ..interpret import Interpreter


def store(interpreter: Interpreter, owner: TupleValue, key: Any, value: Any) -> Any:
    """owner.key = value, where the owner is a view: what is held then."""
    build, rows = interpreter.build, item_views.rows_of(interpreter, owner)
    assert rows is not None
    if key not in owner.kind.keys:
        build.refuse(
            f"an object that is an item of a list gets {key!r}, which it did not have when it was put in",
            "give it all of them ahead of putting it in",
        )
    k = owner.kind.keys.index(key)
    part = owner.items[k]
    if optional.is_optional(value):
        value = optional.unless_none(build, value, "what is assigned is None here")
    if isinstance(part, Scalar) and isinstance(value, ArrayValue) and not value.ndim:
        shared_items.note_without_axes(interpreter, rows, value)
        value = Scalar(value.element)
    if isinstance(part, Scalar) and isinstance(value, Scalar):
        _store_number(interpreter, rows, owner, k, part, value)
    elif isinstance(part, ArrayValue) and isinstance(value, ArrayValue) and value.ndim == part.ndim:
        _store_array(interpreter, rows, owner, k, part, value)
    elif not _is_the_same(part, value):
        build.refuse(
            f"{key} of an object that is an item of a list becomes another thing than a number, or an array of as "
            "many axes as it was",
            "keep what changes so in a list of its own:  fs[i] = …",
        )
    return value


def _is_the_same(part: Any, value: Any) -> bool:
    if isinstance(part, Static) and isinstance(value, Static):
        return part.value is value.value or part.value == value.value
    return identities.is_same_list(part, value)


def _widened(interpreter: Interpreter, rows: Array, owner: TupleValue, k: int, part: Any, value: Any) -> None:
    """The kind of number that a part gets has to be that which it has from the beginning, wherever it is put in."""
    _check_kind(interpreter, owner.kind.keys[k], part, value)
    own = ScalarType(part.dtype, isinstance(part, Scalar) and part.weak)
    new = joined_numbers.common_place((own, ScalarType(value.dtype, isinstance(value, Scalar) and value.weak)))
    if new == own:
        return
    name, build = (owner.kind, owner.kind.keys[k]), interpreter.build
    kinds, number = build.fields.kinds, _number_of(interpreter, rows, part)
    put_at = build.fields.put_at.get(build.root(rows), ()) if number is not None else ()
    places = [(*place, number) for place in put_at]
    new = joined_numbers.common_place((new, *(kinds[name, p] for p in (*places, None) if (name, p) in kinds)))
    other: list[Put | None] = [place for place in places if kinds.get((name, place)) != new]
    if not other and kinds.get((name, None)) != new:
        other = [None]
    if not other or (build.fields.are_kinds_kept and part.dtype != value.dtype):
        build.refuse(
            f"{owner.kind.keys[k]} of an object that is an item of a list becomes a number of another kind",
            "let it begin as one of that kind:  0.0",
        )
    raise OtherNumbers(name, other, new)


def _number_of(interpreter: Interpreter, rows: Array, part: Scalar | ArrayValue) -> int | None:
    """Which of the numbers and arrays of an item a part is; None where the lengths ahead of it have other names."""
    (load,) = loads(item_views.expr_of(part))
    ndim = part.ndim if isinstance(part, ArrayValue) else 0
    column = substitute(load.index[1], dict.fromkeys(range(ndim), affine.ZERO))
    start: Expr = affine.ZERO
    layout = interpreter.build.fields.layouts[interpreter.build.root(rows)]
    for number, dims in enumerate(list_parts.leaves(layout)):
        if len(dims) == ndim and affine.same(start, column):
            return number
        start = affine.add(start, affine.product(dims))
    return None


def _check_kind(interpreter: Interpreter, key: Any, part: Any, value: Any) -> None:
    """Whole numbers may become others; what is read of an array, or a flag, is another thing then, also further up."""
    is_number = isinstance(part, Scalar)
    kinds = (part.dtype, value.dtype)
    if part.dtype == value.dtype or (is_number and all(kind.kind in "iuf" and kind.itemsize == 8 for kind in kinds)):
        return
    what = "a number" if is_number else "an array"
    wide = np.result_type(*kinds)
    when = "assign one of its kind" if part.dtype == wide else "let it be of one kind from the beginning"
    interpreter.build.refuse(
        f"{key} of an object that is an item of a list becomes {what} of another kind",
        f"{when}:  np.{wide}({key})" if is_number else f"{when}:  {key}.astype(np.{wide})",
    )


def _store_number(
    interpreter: Interpreter, rows: Array, owner: TupleValue, k: int, part: Scalar, value: Scalar
) -> None:
    build = interpreter.build
    _widened(interpreter, rows, owner, k, part, value)
    build.check_fresh(value.expr)
    (load,) = loads(part.expr)
    list_parts.refuse_inexact(build, ArrayValue((), value.expr), rows)
    _note_changed(interpreter, rows)
    list_types.note_number(interpreter, rows, owner.kind, value)  # one of them is that of this part
    build.emit(Store(rows, load.index, cast(value.expr, rows.dtype)))


def _store_array(
    interpreter: Interpreter, rows: Array, owner: TupleValue, k: int, part: ArrayValue, value: ArrayValue
) -> None:
    build = interpreter.build
    _widened(interpreter, rows, owner, k, part, value)
    build.check_fresh(value.element)
    new = common_lengths.with_lengths(build, value, part.dims)
    list_parts.refuse_inexact(build, new, rows)
    if any(build.root(array) == build.root(rows) for array in arrays_of(new)):
        new = whole(build.materialize(new, "t", copy=True))
    (load,) = loads(part.element)
    _note_changed(interpreter, rows)
    interpreter.build.fields.replaced.add(build.root(rows))
    at = lambda index: tuple(substitute(place, dict(enumerate(index))) for place in load.index)
    build.each(part.dims, lambda index: Store(rows, at(index), cast(new.at(index), rows.dtype)))
    item_names.forget_shown(interpreter, rows)
    put_in_rows.note_put(interpreter, rows, value)
    shared_items.note_arrays(interpreter, rows, [((owner.kind, owner.kind.keys[k]), value)])


@contextmanager
def writing(interpreter: Interpreter, owner: Any, key: Any) -> Iterator[None]:
    """An array of an object is written in its place."""
    build, fields = interpreter.build, interpreter.build.fields
    rows = item_views.rows_of(interpreter, owner)
    if rows is None or not item_views.is_object(owner.kind):
        yield
        return
    part = owner.items[owner.kind.keys.index(key)] if key in owner.kind.keys else None
    if isinstance(part, ArrayValue) and not part.is_window:  # what would be written is a copy of it
        build.refuse(
            f"{key} of an object that is an item of a list is written in its place, and has several axes, or numbers "
            "of another kind than the object's others",
            "give it a new one:  y.m = y.m + z",
        )
    if not fields.is_own((owner.kind, key)):
        yield
        return
    fields.own.add((owner.kind, key))
    fields.own_kinds |= fields.kinds_in.get(build.root(rows), frozenset())
    fields.changed_kinds |= fields.kinds_in.get(build.root(rows), frozenset())
    fields.check(build)
    before = set(build.stale)
    with fields.other_places():
        yield
    for other in (build.stale.keys() - before) & ({build.root(rows)} | build.parameters):  # whose is no such array
        del build.stale[other]
    item_names.lose_copies(interpreter, build.root(rows))


def _note_changed(interpreter: Interpreter, rows: Array) -> None:
    """A part of an item is given another value: who else may hold the item?"""
    fields, build, root = interpreter.build.fields, interpreter.build, interpreter.build.root(rows)
    kinds = fields.kinds_in.get(root, frozenset())
    fields.changed.add(root)
    fields.changed_kinds |= kinds
    fields.check(interpreter.build)
    before = set(build.stale)
    build.note_write(rows, in_place=False)
    every = identities.held(interpreter).values()
    lists_there = {build.root(value.rows) for value in every if isinstance(value, Items)} | fields.rows
    arrays = {build.root(array) for leaf in _shown_by_names(interpreter) for array in arrays_of(leaf)}
    arrays |= build.parameters | build.in_items - fields.kinds_in.keys()
    for other in build.stale.keys() - before:
        if other == root or (other in arrays and other not in lists_there):  # no array has changed
            del build.stale[other]
    fields.disturbed += bool(build.stale.keys() - before)
    item_names.lose_copies(interpreter, root)


def _shown_by_names(interpreter: Interpreter) -> Iterator[ArrayValue]:
    """The arrays that names stand for."""
    for frame in identities.frames_of(interpreter):
        for name, value in frame.env.items():
            if (
                not name.startswith(HELD)
                and not isinstance(value, Items)
                and not item_views.is_view(interpreter, value)
            ):
                yield from (leaf for leaf in value_leaves(value) if isinstance(leaf, ArrayValue))
