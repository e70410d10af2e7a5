"""The head of a loop: each name that goes round it gets a variable or memory of its own, as earlier tries found it.

s = 0.0    →    s = variable(0.0)          u = x    →    u = memory of its own, with a copy of x
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import affine
from ...ir.expressions import Array, Const, Expr, Load, Var
from ...ir.walk import loads
from .. import binding, identities, one_of, optional, part_names, resized
from ..aliases import is_private, note_twins
from ..arithmetic import cast, cast_value
from ..array_values import ArrayValue, whole
from ..lists import growing_lists, list_types, lists_as_arrays
from ..objects import records
from ..values import UNDEFINED, Items, OneOf, Scalar, Static, TupleValue
from . import numbers_first
from .attempts import Attempt
from .handed_on import check_same_shape, in_other_memory

if TYPE_CHECKING:
    from ..interpret import Interpreter


def enter(interpreter: Interpreter, name: str, value: Any, attempt: Attempt, trips: Expr | None) -> Any:
    """The value of a name at the head of the loop: in a variable of its own, in memory of its own where rebound."""
    head = _enter(interpreter, name, value, attempt, trips)
    if (
        name in attempt.rebound.keys() | attempt.swapped | attempt.kinds.keys()
        and isinstance(head, ArrayValue)
        and isinstance(head.element, Load)
    ):
        interpreter.build.note_types(head.element.array, attempt.kinds.get(name, frozenset()))
        interpreter.build.note_rebound(head.element.array)
    if isinstance(head, Items) and (head is not value or name in attempt.items):
        list_types.note_at_head(interpreter, head, name, attempt.items)
    return head


def _enter(interpreter: Interpreter, name: str, value: Any, attempt: Attempt, trips: Expr | None) -> Any:
    build = interpreter.build
    if name in attempt.unlike:
        return Static(attempt.unlike[name])
    if value is UNDEFINED:  # a part of a tuple may be known
        value = attempt.begun.get(name, UNDEFINED)
    if value is UNDEFINED:
        attempt.unbound.add(name)
        if name in attempt.types:
            kind = attempt.types[name]
            value = replace(kind, expr=Const(kind.dtype.type(0).item(), kind.dtype))
        elif name in attempt.rebound:
            dtype, dims = attempt.rebound[name]
            return whole(build.allocate(name, dtype, dims, Const(dtype.type(0).item(), dtype)))
        elif name in attempt.tuples:
            found = attempt.tuples[name]
            value = replace(found, items=(UNDEFINED,) * len(found.items))
        elif name in attempt.one_of:
            value = OneOf(Scalar(affine.ZERO, weak=True), attempt.one_of[name])
        else:
            return UNDEFINED
    if name in attempt.optional and value is not UNDEFINED:
        value = optional.as_optional(value, attempt.optional[name])
    if name in attempt.one_of:
        value = one_of.as_one_of(value, attempt.one_of[name])
    if name in attempt.types and isinstance(value, ArrayValue) and not value.dims:
        if not list(loads(value.element)) or is_private(interpreter, name, value):  # nobody else writes to it
            value = Scalar(value.element)
    match value:
        case TupleValue() | Items() if name in attempt.relisted:
            return growing_lists.enter_anew(interpreter, name, value, *attempt.relisted[name])
        case OneOf(number=number, options=options):
            return OneOf(Scalar(_own_variable(interpreter, name, number, number.dtype), weak=True), options)
        case Scalar() if name in attempt.rebound and name in attempt.numbers_first:
            return numbers_first.spread(build, name, value, attempt.rebound[name], trips)
        case Scalar():
            kind = attempt.types.get(name, value)
            var = _own_variable(interpreter, name, value, kind.dtype)
            if value.weak and not kind.weak:
                build.either.add(var)
            return replace(kind, expr=var)
        case TupleValue(items=items):
            parts = []
            for part, item in ((part_names.of_item(name, value, k), item) for k, item in enumerate(items)):
                stays = records.is_record(value) and is_taken_to_stay(part, item, attempt)
                parts.append(item if stays else enter(interpreter, part, item, attempt, trips))
            return replace(value, items=tuple(parts))
        case Items(rows=rows) if (name in attempt.rebound or name in attempt.types) and rows.ndim == 1:
            wider = attempt.types.get(name)
            dtype, weak = (wider.dtype, wider.weak) if wider else (rows.dtype, value.weak)
            seen = cast_value(lists_as_arrays.array_of_items(interpreter, value), dtype)
            own = build.materialize(seen, name, copy=True)
            list_types.note_part(interpreter, own, value, is_whole=True)
            return Items(own, own.dims[0], own.dims[0], weak, identity=value.identity)
        case ArrayValue() if name in attempt.rebound and name not in attempt.swapped:
            dtype, dims = attempt.rebound[name]
            if name in attempt.resized:
                growth = attempt.resized[name]
                dims = tuple(value.dims[k] if k in growth else dim for k, dim in enumerate(dims))
                check_same_shape(interpreter, name, value.dims, dims)
                value = ArrayValue(dims, value.element)
                return resized.enter(interpreter, name, value, dtype, growth, trips)
            if dtype != value.dtype or not all(map(affine.same, dims, value.dims)):
                return whole(in_other_memory(interpreter, name, value, dtype, dims))
            if is_private(interpreter, name, value):
                return value
            own = build.materialize(value, name, copy=True)
            note_twins(interpreter, name, own, value)
            return whole(own)
    return value


def is_taken_to_stay(part: str, item: Any, attempt: Attempt) -> bool:
    """A whole number in an object that may change in the loop, and this number was not seen to: shapes may need it."""
    others = (attempt.types, attempt.optional, attempt.one_of, attempt.unlike)
    known = attempt.counted.union(*others)
    return isinstance(item, Scalar) and item.is_constant and item.dtype.kind in "ib" and part not in known


def enter_lists(interpreter: Interpreter, attempt: Attempt, trips: Expr | None) -> dict[object, Any]:
    """Lists that may change in place, as they are at the head of the loop, under all their names."""
    for identity, name in attempt.lists.items():
        value = identities.held(interpreter).get(identity)
        if value is None:
            continue
        growth = attempt.growth.get(identity)
        if growth is not None:
            value = growing_lists.enter(interpreter, name, value, growth, trips)
        else:
            value = enter(interpreter, name, value, attempt, trips)
        for part in identities.parts_within(value):  # by themselves, what is in it is what it is there
            if part.identity not in attempt.lists:
                identities.change(interpreter, part.identity, part)
        identities.change(interpreter, identity, value)
        if isinstance(value, Items):
            list_types.note_at_head(interpreter, value, identity, attempt.items)
    now = identities.held(interpreter)
    return {identity: now[identity] for identity in attempt.lists if identity in now}


def parts_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value, and those that it is made of, under the names that they have at the head of a loop."""
    yield name, value
    if isinstance(value, TupleValue):
        for k, item in enumerate(value.items):
            yield from parts_of(part_names.of_item(name, value, k), item)


def handle_of(value: Any) -> Array | None:
    if isinstance(value, Items):
        return value.rows
    return resized.memory_of(value) if isinstance(value, ArrayValue) else None


def _own_variable(interpreter: Interpreter, name: str, value: Scalar, dtype: np.dtype) -> Var:
    build = interpreter.build
    var = value.expr
    if isinstance(var, Var) and var.dtype == dtype and binding.names_of(interpreter, var) == [name]:
        if var in build.mutable:
            return var
        if var not in build.pinned and var not in build.lower:
            build.mutable.add(var)
            return var
    own = build.variable(name, cast(value.expr, dtype))
    build.mutable.add(own)
    return own
