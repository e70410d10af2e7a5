"""Numbers of Python's own: `float`, `int`, `round`, `abs`, `max`, `min`, and what `math` computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ArgumentError
from ...ir import affine
from ...ir.expressions import FLOAT64, INT64, Call, Const, Load
from ...ir.nodes import Store
from ...rules.compositions import python
from ...rules.names import MATH
from .. import known_values, operators, unpacking
from ..arithmetic import cast, elementwise, is_out_of_bounds
from ..array_values import ArrayValue, whole
from ..control import python_raises
from ..joined_numbers import small_types, types_of_any
from ..lists import lists_as_arrays, lists_of_none
from ..numpy import complex_numbers, functions, reductions
from ..numpy.table import TABLE
from ..objects import special_methods
from ..values import Items, Scalar, Static, TupleValue, Unpacked, constant, new_list
from . import calls_in_place

if TYPE_CHECKING:
    from ..builder import Builder
    from ..interpret import Interpreter


def convert(interpreter: Interpreter, dtype: np.dtype, args: list[Any]) -> Any:
    """np.float32(x) and its like."""
    value = args[0] if args else constant(0)
    known_values.refuse_template(interpreter, value)
    if isinstance(value, Static) and isinstance(value.value, str):
        value = _read(interpreter, dtype.type, value.value)
    if isinstance(value, Scalar):
        return Scalar(cast(value.expr, dtype))
    return functions.astype(interpreter.build, lists_as_arrays.as_array(interpreter, value), Static(dtype))


def math_function(interpreter: Interpreter, target: Any, args: list[Any]) -> Any:
    """`math` computes in double precision and gives a Python number."""
    build = interpreter.build
    numbers: list[Scalar] = []
    for value in args:
        if isinstance(value, ArrayValue) and value.ndim == 0:
            build.check_fresh(value.element)
            value = Scalar(value.element)
        if not isinstance(value, Scalar):
            build.refuse(f"math.{target.__name__} takes a number, not an array", f"np.{target.__name__}")
        _refuse_complex(interpreter, value, f"math.{target.__name__}")
        is_exponent = target is math.ldexp and len(numbers) == 1  # an integer, to NumPy's function too
        numbers.append(Scalar(cast(value.expr, INT64 if is_exponent and value.dtype.kind in "iub" else FLOAT64)))
    op = MATH[target]
    if target is math.log and len(numbers) == 2:
        top, bottom = (elementwise(build, "log", (n,)) for n in numbers)
        for number, logarithm in zip(numbers, (top, bottom), strict=True):
            python_raises.of_math(interpreter, "log", (number,), logarithm)
        python_raises.division(interpreter, "div", replace(top, weak=True), replace(bottom, weak=True))
        return Scalar(elementwise(build, "div", (top, bottom)).expr, weak=True)
    result = elementwise(build, op, numbers)
    python_raises.of_math(interpreter, op, numbers, result)
    return Scalar(result.expr, weak=True)


def _refuse_complex(interpreter: Interpreter, value: Scalar, name: str) -> None:
    if value.dtype.kind == "c":
        interpreter.build.refuse(f"{name} takes a real number", "take the real part, z.real", error=ArgumentError)


WRITTEN = {"rint": "__round__", "floor": "__floor__", "ceil": "__ceil__"}  # methods of the user's classes


def to_int(interpreter: Interpreter, op: str, args: list[Any]) -> Any:
    """int(x), math.floor(x) …: a Python int."""
    build = interpreter.build
    if args and op in WRITTEN and (said := special_methods.called(interpreter, args[0], WRITTEN[op], *args[1:])):
        return said
    known_values.refuse_template(interpreter, *args)
    if op == "trunc" and args and isinstance(args[0], Static) and isinstance(args[0].value, str):
        return _read(interpreter, int, *map(known_values.plain, args))
    value = number_of(interpreter, args[0] if args else constant(0))
    _refuse_complex(interpreter, value, "an integer part")
    if len(args) == 2 and not (isinstance(args[1], Static) and args[1].value is None):  # round(x, digits)
        return _rounded(build, value, args[1])
    if value.is_constant:
        python: dict[str, Callable[[Any], Any]] = {"floor": math.floor, "ceil": math.ceil, "trunc": int, "rint": round}
        try:
            return constant(python[op](value.value))
        except (OverflowError, ValueError) as problem:
            build.refuse(str(problem), error=ArgumentError)
    if value.dtype.kind in "iub":
        return Scalar(cast(value.expr, INT64), weak=True)
    python_raises.to_int(interpreter, value)
    inner = value.expr if op == "trunc" else Call(op, (value.expr,), value.dtype)
    return Scalar(Call("cast", (inner,), INT64), weak=True)


def _rounded(build: Builder, value: Scalar, digits: Any) -> Scalar:
    """round(x, digits) is of the type of x."""
    if value.weak and value.is_constant and isinstance(digits, Scalar) and digits.is_constant:
        return constant(round(value.value, digits.value))
    return replace(TABLE[np.round](build, value, digits), weak=value.weak, types=value.types)


def number_of(interpreter: Interpreter, value: Any) -> Scalar:
    """A number, or an array of one element as one."""
    if isinstance(value, ArrayValue) and all(isinstance(d, Const) and d.value == 1 for d in value.dims):
        interpreter.build.check_fresh(value.element)
        return Scalar(value.at([affine.ZERO] * value.ndim))
    if not isinstance(value, Scalar):
        interpreter.build.refuse("a number is needed here, not an array or a tuple", error=ArgumentError)
    return value


def to_float(interpreter: Interpreter, value: Any = None) -> Any:
    known_values.refuse_template(interpreter, value)
    if isinstance(value, Static) and isinstance(value.value, str):
        return _read(interpreter, float, value.value)
    number = number_of(interpreter, value if value is not None else constant(0.0))
    _refuse_complex(interpreter, number, "float()")
    return Scalar(cast(number.expr, FLOAT64), weak=True)


def _read(interpreter: Interpreter, kind: Callable[..., Any], *said: Any) -> Any:
    """float("inf"), int("12"), int("ff", 16)"""
    try:
        return constant(kind(*said))
    except (TypeError, ValueError) as problem:
        return interpreter.build.refuse(str(problem), error=ArgumentError)


def to_complex(interpreter: Interpreter, real: Any = None, imag: Any = None) -> Any:
    known_values.refuse_template(interpreter, real)
    if isinstance(real, Static) and isinstance(real.value, str) and imag is None:
        return _read(interpreter, complex, real.value)
    return complex_numbers.to_complex(interpreter.build, real, imag)


def to_bool(interpreter: Interpreter, value: Any = None) -> Any:
    return Scalar(operators.truth(interpreter, value if value is not None else constant(False)), weak=True)


def choose_extremum(op: str) -> Callable[..., Any]:
    def builtin(interpreter: Interpreter, *args: Any, key: Any = None, default: Any = None) -> Any:
        build = interpreter.build

        def chosen(key: Any) -> Any:
            items = args[0] if len(args) == 1 else new_list(args)
            others = [] if default is None else [default]
            by = python.smallest if op == "min" else python.largest
            return calls_in_place.call_function(interpreter, by, [items, key, *others], {})

        if key is not None:
            return chosen(key)
        if len(args) == 1:
            args = (lists_of_none.all_set(interpreter, args[0]),)
            if isinstance(args[0], Items) and args[0].inner is not None:
                return chosen(Static(python.itself))
            is_weak = isinstance(args[0], Items) and args[0].weak is True
            value = lists_as_arrays.array_of_its_kind(interpreter, args[0])
            if default is not None and isinstance(value, ArrayValue) and not isinstance(value.dims[0], Const):
                return chosen(Static(python.itself))
            if isinstance(value, ArrayValue) and value.ndim == 1:
                found = reductions.extremum(build, value, op="maximum" if op == "max" else "minimum")
                return Scalar(found.expr, weak=True) if is_weak and isinstance(found, Scalar) else found
            items = unpacking.known_items(interpreter, value)
            if items is None or any(map(_is_compared_by_items, items)):
                return chosen(Static(python.itself))
            args = tuple(items)
            if not args and default is not None:
                return default
            if not args:
                build.refuse(f"{op}() arg is an empty sequence", error=ArgumentError)
        elif any(map(_is_compared_by_items, args)):
            return chosen(Static(python.itself))
        numbers = [number_of(interpreter, value) for value in args]
        compared = _as_whole_numbers(build, op, numbers)
        out = compared[0]
        for other in compared[1:]:
            out = elementwise(build, op, (out, other), python=True)
            if len({number.weak for number in numbers}) > 1:
                build.either.add(out.expr)
        types = types_of_any(build, numbers)
        if len({kind.dtype.kind for kind in types}) > 1 or small_types(types):  # it is one of them, of its type
            out = replace(out, types=types)
        return _as_one_of_them(build, op, [value for value in args if isinstance(value, ArrayValue)], out)

    return builtin


def _as_whole_numbers(build: Builder, op: str, numbers: list[Scalar]) -> list[Scalar]:
    """Python's integers may be beyond what NumPy's beside them hold: they compare all the same."""
    kinds = {number.dtype for number in numbers if not number.weak and number.dtype.kind in "iu"}
    is_open = any(
        number.weak and (not number.is_constant or any(is_out_of_bounds(number, dtype) for dtype in kinds))
        for number in numbers
    )
    if not kinds - {INT64} or not is_open or any(number.dtype.kind not in "iub" for number in numbers):
        return numbers
    if np.dtype(np.uint64) in kinds:
        build.refuse(f"{op} of np.uint64 and of Python's integers", "int(n), where it has less than 64 bits")
    return [replace(number, expr=cast(number.expr, INT64)) for number in numbers]


def _is_compared_by_items(value: Any) -> bool:
    return isinstance(value, TupleValue) and isinstance(value.kind, type) and issubclass(value.kind, (tuple, list))


def _as_one_of_them(build: Builder, name: str, arrays: list[ArrayValue], found: Scalar) -> Scalar | ArrayValue:
    """Python returns one of the arguments: an array without axes by another name, which may be written."""
    if any(value.ndim for value in arrays):
        build.refuse(
            f"{name} of an array with one element and of a number is the one or the other",
            f"np.{name}imum, or its element:  x[0]",
        )
    memory = [value.element.array for value in arrays if isinstance(value.element, Load)]
    if not memory:
        return found
    own = build.allocate("t", found.dtype, ())
    build.emit(Store(own, (), found.expr))
    build.note_types(own, found.types)
    for array in memory:
        build.twin(own, array)
    return whole(own)


def length_of_vector(interpreter: Interpreter, *values: Any) -> Any:
    """math.hypot, of any number of coordinates"""
    if any(isinstance(value, Unpacked) for value in values):
        fold = [Static(math.hypot), values[0].value, constant(0.0)]
        return calls_in_place.call_function(interpreter, python.reduced, fold, {})
    numbers = [Scalar(cast(number_of(interpreter, value).expr, FLOAT64), weak=True) for value in values]
    if not numbers:
        return constant(0.0)
    if len(numbers) == 1:
        return absolute(interpreter, numbers[0])
    out = numbers[0]
    for number in numbers[1:]:
        out = Scalar(elementwise(interpreter.build, "hypot", (out, number)).expr, weak=True)
    return out


def absolute(interpreter: Interpreter, value: Any) -> Any:
    said = special_methods.called(interpreter, value, "__abs__")
    return elementwise(interpreter.build, "abs", (value,), python=True) if said is None else said


def power(interpreter: Interpreter, x: Any, y: Any) -> Any:
    return operators.binary(interpreter, "pow", x, y)
