"""The items of what is unpacked or run over, one by one: of a tuple, a list, an array, a text, a range.

x, y = p              f(*p)              for k in range(3)              where how many there are is known
"""

from __future__ import annotations

import enum
import itertools
import math
from typing import TYPE_CHECKING, Any

from ..errors import STEP_OF_ZERO, ArgumentError, NoItemsError, NoneArgumentError, place
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Axis, Call, Const, Expr
from ..ir.nodes import If, Raise
from ..ir.walk import is_constant
from . import known_values, optional
from .array_values import ArrayValue, remap, whole
from .builder import Builder
from .lists import list_items, lists_as_arrays
from .objects import containers, records, special_methods
from .values import Grid, Indexed, Items, Range, Scalar, Static, TupleValue, constant

if TYPE_CHECKING:
    from .interpret import Interpreter


def items_of(interpreter: Interpreter, value: Any) -> list[Any]:
    """The items of something that is unpacked."""
    items = known_items(interpreter, value)
    if items is None:
        interpreter.build.refuse("only tuples, and arrays of a length that is known, can be unpacked")
    return items


def run_over_by_loop(interpreter: Interpreter, over: Any) -> Any:
    """A text that a loop runs over is a tuple of letters, and an enumeration one of its members; vars(o) a dict."""
    over = records.as_it_is_now(interpreter, over)
    known_values.refuse_template(interpreter, over)
    is_known = isinstance(over, Static) and isinstance(over.value, (str, enum.EnumMeta))
    return TupleValue(tuple(map(constant, over.value))) if is_known else containers.run_over_by_loop(interpreter, over)


def known_items(interpreter: Interpreter, value: Any) -> list[Any] | None:
    """The items of something that is unpacked, or None if their number is only known at run time."""
    value = containers.run_over_by_loop(interpreter, records.as_it_is_now(interpreter, value))
    if records.is_dict(value):
        return [constant(key) for key in value.kind.keys]
    special_methods.refuse_object(interpreter, value, "the items", "__iter__")
    known_values.refuse_template(interpreter, value)
    if isinstance(value, TupleValue):
        return list(value.items)
    if isinstance(value, ArrayValue) and value.ndim and isinstance(value.dims[0], Const):
        return [element(value, affine.integer(k)) for k in range(value.dims[0].value)]
    if isinstance(value, Items) and isinstance(value.length, Const):
        return [list_items.item_at(interpreter, value, affine.integer(k)) for k in range(value.length.value)]
    if isinstance(value, Indexed) and isinstance(value.count, Const):
        return [value.item(affine.integer(k)) for k in range(value.count.value)]
    numbers = known_range(value)
    if numbers is not None:
        return [constant(k) for k in numbers]
    if isinstance(value, Static) and isinstance(value.value, (str, range, tuple, list, dict, enum.EnumMeta)):
        return [constant(item) for item in value.value]
    if isinstance(value, Grid):
        return known_tuples(interpreter, value)
    if isinstance(value, (Items, Indexed, Range)) or (isinstance(value, ArrayValue) and value.ndim):
        return None
    is_number = isinstance(value, Scalar) or (isinstance(value, ArrayValue) and not value.ndim)
    error = NoItemsError if is_number else NoneArgumentError if optional.is_none(value) else ArgumentError
    return interpreter.build.refuse("only tuples, lists and arrays can be unpacked", error=error)


def known_range(value: Any) -> range | None:
    """The numbers of a range, where they are known."""
    if isinstance(value, Range):
        bounds = [e.value for e in (value.start, value.stop, value.step) if isinstance(e, Const)]
        return range(*bounds) if len(bounds) == 3 else None
    return None


def refuse_step_of_zero(build: Builder, over: Range) -> None:
    """Where no range of Python's is made, which would."""
    if not is_constant(over.step):
        error = Raise("RuntimeValueError", STEP_OF_ZERO + place(build.span))
        build.emit(If(Call("eq", (over.step, affine.ZERO), BOOL), (error,)))


def element(value: ArrayValue, index: Expr) -> Any:
    inner = remap(value, value.dims[1:], [index, *(Axis(k) for k in range(value.ndim - 1))])
    return inner if inner.dims else Scalar(inner.element, types=inner.types)


WRITTEN_OUT = 64  # items at most that stand as a tuple of tuples


def known_tuples(interpreter: Interpreter, grid: Grid) -> list[Any] | None:
    """The items of a grid, where they are known and few."""
    if grid.array is not None:
        return None
    lists_of_items = [known_items(interpreter, value) for value in grid.over]
    known = [items for items in lists_of_items if items is not None]
    if len(known) < len(lists_of_items) or math.prod(map(len, known)) > WRITTEN_OUT:
        return None
    if grid.ascending is not None:
        chosen = itertools.combinations if grid.ascending else itertools.combinations_with_replacement
        return [TupleValue(items) for items in chosen(known[0] if known else (), len(known))]
    return [TupleValue(items) for items in itertools.product(*known)]


def trips_of(rng: Range) -> Expr:
    """How often a loop over this range runs."""
    if affine.same(rng.step, affine.ONE):
        count = affine.sub(rng.stop, rng.start)
        return count if affine.is_at_least(count, 0) else affine.maximum(count, affine.ZERO)
    return Call("trip_count", (rng.start, rng.stop, rng.step), INT64)


def indexed(interpreter: Interpreter, value: Any) -> Indexed | None:
    """What a loop runs over, item by item, where the number of items is only known at run time."""
    build = interpreter.build
    special_methods.refuse_object(interpreter, value, "the items", "__iter__")
    value = value if isinstance(value, (Indexed, Items, TupleValue)) else lists_as_arrays.as_values(interpreter, value)
    match value:
        case Indexed():
            return value
        case Items():
            return list_items.item_by_item(interpreter, value)
        case ArrayValue(dims=(_, *_)):
            held = whole(build.stored(value, "items"))

            def fresh(i: Expr) -> Any:
                build.check_fresh(held.element)
                return element(held, i)

            return Indexed(held.dims[0], fresh, (held,))
        case Range(start=start, step=step):
            if known_range(value) is None:
                start, step = build.pin(start, "start"), build.pin(step, "step")
                at = lambda i: Scalar(affine.add(start, affine.mul(step, i)), weak=True)
                return Indexed(build.pin(trips_of(value)), at)
    return None


def turned(interpreter: Interpreter, value: Any) -> Any:
    if isinstance(value, Range):
        count = Call("trip_count", (value.start, value.stop, value.step), INT64)
        if affine.same(value.step, affine.ONE):
            return Range(affine.sub(value.stop, affine.ONE), affine.sub(value.start, affine.ONE), affine.integer(-1))
        last = affine.add(
            value.start, affine.mul(value.step, affine.sub(interpreter.build.capture(count, "n"), affine.ONE))
        )
        return Range(last, affine.sub(value.start, value.step), affine.mul(affine.integer(-1), value.step))
    several = indexed(interpreter, value)
    if several is not None:
        last = affine.sub(several.count, affine.ONE)
        return Indexed(several.count, lambda i: several.item(affine.sub(last, i)), several.held)
    return TupleValue(tuple(reversed(items_of(interpreter, value))))
