"""What itertools.count, cycle and repeat give beside what has an end, or cut off: their items by number.

zip(itertools.count(a), xs)          item k of the one is a + k
zip(itertools.cycle(ys), xs)         … is ys[k % len(ys)]
itertools.islice(count(a, s), n)     a, a + s, …: n items
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, ValueArgumentError, place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Const, Expr, Load
from ...ir.nodes import If, Raise
from ...ir.walk import is_constant
from ...rules.compositions import PYTHON
from .. import identities, operators, optional, unpacking
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..calls import calls_in_place
from ..lists import list_items, lists
from ..values import Endless, Indexed, Items, Scalar, Static, TupleValue
from . import generators

if TYPE_CHECKING:
    from ..interpret import Interpreter

TAKE_SOME = (zip, map, itertools.islice)
ENDS = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."


def numbered(interpreter: Interpreter, function: Any, args: list[Any]) -> list[Any]:
    """The arguments of what takes as many items as it needs."""
    if not isinstance(function, Static) or not any(function.value is taker for taker in TAKE_SOME):
        return args
    made = [_numbered(interpreter, value) for value in args]
    are_left = [value for value in made if not isinstance(value, Endless)]
    return made if function.value is itertools.islice or len(are_left) > (function.value is map) else args


def _numbered(interpreter: Interpreter, value: Any) -> Any:
    if not generators.is_one(value):
        return value
    made = generators.given_to(value.value)
    function, given = made.function, {name: identities.now(interpreter, part) for name, part in made.given.items()}
    if function is PYTHON[itertools.count]:
        return _counted(interpreter, given["start"], given["step"])
    if function is PYTHON[itertools.cycle]:
        return _cycled(interpreter, given["items"])
    if function is PYTHON[itertools.repeat]:
        is_endless = optional.is_none(given["times"])
        return Endless(lambda k: given["object"]) if is_endless else _repeated(interpreter, **given)
    return value


def _repeated(interpreter: Interpreter, object: Any, times: Any) -> Any:
    if not isinstance(times, Scalar) or times.dtype.kind not in "iub":
        interpreter.build.refuse("itertools.repeat takes a whole number of times", error=ArgumentError)
    count = affine.maximum(cast(times.expr, INT64), affine.ZERO)
    return Indexed(interpreter.build.pin(count), lambda k: object)


def _counted(interpreter: Interpreter, start: Any, step: Any) -> Endless:
    def item(k: Expr) -> Any:
        moved = operators.binary(interpreter, "mul", step, Scalar(k, weak=True))
        return operators.binary(interpreter, "add", start, moved)

    return Endless(item)


def _cycled(interpreter: Interpreter, items: Any) -> Endless:
    """Python keeps what it has gone through: what is changed in the meantime is refused."""
    build = interpreter.build
    if isinstance(items, ArrayValue) and items.ndim:
        rows = whole(build.materialize(items, "items", copy=True))
        if isinstance(items.element, Load):
            build.twin(rows.element.array, items.element.array)  # type: ignore[attr-defined]
        length = rows.dims[0]

        def row(k: Expr) -> Any:
            build.check_fresh(rows.element)
            return unpacking.element(rows, Call("mod", (k, length), INT64))

        return Endless(row, length, source=items)
    known = unpacking.known_items(interpreter, items)
    if known is None:
        of_a_list = lists.copied(interpreter, items)
        if isinstance(items, Items):
            build.twin(of_a_list.rows, items.rows)
        at = lambda k: list_items.item_at(interpreter, of_a_list, Call("mod", (k, of_a_list.length), INT64))
        return Endless(at, of_a_list.length, source=items)
    length = affine.integer(len(known))
    return Endless(lambda k: known[k.value % len(known)], length, tuple(known), items)  # type: ignore[attr-defined]


def _in_rows(interpreter: Interpreter, value: Endless) -> Endless:
    """Where the number of an item is only known at run time."""
    if len(value.known) < 2:
        return Endless(lambda k: value.known[0], value.round) if value.known else value
    rows = lists.rows_of(interpreter, "items", TupleValue(value.known), may_change=True)
    at = lambda k: list_items.item_at(interpreter, rows, Call("mod", (k, rows.length), INT64))
    return Endless(at, value.round)


def beside(interpreter: Interpreter, values: list[Any], others: Any) -> Any:
    """zip, where some are endless, and `others` are those that are not, zipped."""
    rounds = [value.round for value in values if isinstance(value, Endless) and value.round is not None]

    def together(k: Expr, pair: TupleValue) -> TupleValue:
        rest = iter(pair.items)
        return TupleValue(tuple(v.item(k) if isinstance(v, Endless) else next(rest) for v in values))

    if any(is_constant(length, 0) for length in rounds):
        return TupleValue(())
    if isinstance(others, TupleValue):
        if others.items and not all(interpreter.build.is_at_least(length, 1) for length in rounds):
            interpreter.build.refuse("itertools.cycle of what may be empty, beside a tuple", "write the loop")
        return TupleValue(tuple(together(affine.integer(k), pair) for k, pair in enumerate(others.items)))
    count = others.count
    values = [_in_rows(interpreter, value) if isinstance(value, Endless) else value for value in values]
    for length in rounds:
        if not interpreter.build.is_at_least(length, 1):
            count = affine.minimum(count, affine.mul(length, count))
    return Indexed(interpreter.build.pin(count), lambda k: together(k, others.item(k)), others.held)


def sliced(interpreter: Interpreter, value: Any, *bounds: Any) -> Any:
    """itertools.islice"""
    if not isinstance(value, Endless):
        return calls_in_place.call_function(interpreter, PYTHON[itertools.islice], [value, *bounds], {})
    build = interpreter.build
    start, stop, step = {1: (None, *bounds, None), 2: (*bounds, None), 3: bounds}[len(bounds)]
    if stop is None or optional.is_none(stop):
        build.refuse("itertools.islice without an end, of what has none")
    first, end, by = (
        default if part is None or optional.is_none(part) else _bound(interpreter, part, least)
        for part, default, least in ((start, affine.ZERO, 0), (stop, affine.ZERO, 0), (step, affine.ONE, 1))
    )
    count = Call("trip_count", (first, end, by), INT64) if not is_constant(by, 1) else affine.sub(end, first)
    count = affine.maximum(count, affine.ZERO) if is_constant(by, 1) else count
    if isinstance(first, Const) and isinstance(end, Const) and isinstance(by, Const):
        count = affine.integer(len(range(first.value, end.value, by.value)))
    at = lambda k: affine.add(first, affine.mul(by, k))
    if value.round is not None and is_constant(value.round, 0):
        return TupleValue(())
    if value.round is not None and not build.is_at_least(value.round, 1):
        count = affine.minimum(count, affine.mul(value.round, count))
    if value.known and isinstance(count, Const):
        return TupleValue(tuple(value.item(affine.normal(at(affine.integer(k)))) for k in range(count.value)))
    by_number = _in_rows(interpreter, value)
    return Indexed(build.pin(count), lambda k: by_number.item(at(k)))


def _bound(interpreter: Interpreter, value: Any, least: int) -> Expr:
    build = interpreter.build
    if not isinstance(value, Scalar) or value.dtype.kind not in "iub":
        build.refuse(ENDS, error=ArgumentError)
    number = build.pin(cast(value.expr, INT64))
    if isinstance(number, Const) and number.value < least:
        build.refuse(ENDS, error=ValueArgumentError)
    if not build.is_at_least(number, least):
        wrong = Call("lt", (number, affine.integer(least)), BOOL)
        build.emit(If(wrong, (Raise("RuntimeValueError", ENDS + place(build.span)),)))
    return number
