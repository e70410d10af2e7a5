"""Operators on values: arithmetic and truth, as Python has them, and what is known of values now."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, NoneArgumentError, UnsupportedError, ZeroDivisionArgumentError
from ..errors import place as error_place
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Expr, both, negated
from ..ir.nodes import If, Raise
from ..ir.types import RecordKind
from ..rules.names import OPERATORS as ARITHMETIC
from . import binding, known_values, one_of, optional
from .arithmetic import cast, elementwise
from .array_values import ArrayValue
from .calls import texts
from .control import python_raises
from .lists import lists, lists_as_arrays
from .numpy import products
from .numpy.shapes import only_element
from .objects import containers, library_objects, records, sets, special_methods
from .types_that_decide import note_results
from .values import Closure, Items, OneOf, Range, Scalar, Static, TupleValue, Unusable, constant, new_list, static_int

if TYPE_CHECKING:
    from .interpret import Interpreter


PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "mod": operator.mod,
    "floordiv": operator.floordiv, "pow": operator.pow, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "bitand": operator.and_, "bitor": operator.or_,
    "bitxor": operator.xor,
}  # fmt: skip
OF_PYTHON = (str, int, float, bool, type(None))
OPERATORS: dict[type[ast.AST], str] = {**ARITHMETIC, ast.MatMult: "matmul"}


def binary(interpreter: Interpreter, op: str, x: Any, y: Any) -> Any:
    build = interpreter.build
    x, y = (library_objects.as_made_here(interpreter, value) for value in (x, y))
    special = special_methods.operation(interpreter, op, x, y)
    if special is not None:
        return special
    if isinstance(x, (ArrayValue, Range)) and isinstance(y, (ArrayValue, Range)) and type(x) is not type(y):
        x, y = (
            lists_as_arrays.as_array(interpreter, lists.copied(interpreter, v)) if isinstance(v, Range) else v
            for v in (x, y)
        )
    if op == "matmul":
        if isinstance(x, ArrayValue) or isinstance(y, ArrayValue):  # (two lists have no product in Python)
            x, y = (lists_as_arrays.as_operand(interpreter, value) for value in (x, y))
        return note_results(build, "matmul", "", [x, y], products.matrix_product(build, x, y, name="@"))
    if op == "mod" and isinstance(x, Static) and isinstance(x.value, str):
        return _text_arithmetic(interpreter, op, x, y)
    if isinstance(x, (TupleValue, Items)) or isinstance(y, (TupleValue, Items)):
        return _tuple_arithmetic(interpreter, op, x, y)
    if isinstance(x, Static) and isinstance(y, Static):
        try:
            return constant(PYTHON_OPERATORS[op](x.value, y.value))
        except Exception as problem:  # the user's own program fails here
            error = NoneArgumentError if optional.is_none(x) or optional.is_none(y) else UnsupportedError
            return build.refuse(str(problem), error=error)
    if (isinstance(x, Static) and isinstance(x.value, (str, bytes))) or (
        isinstance(y, Static) and isinstance(y.value, str)
    ):
        return _text_arithmetic(interpreter, op, x, y)
    are_pythons = all(isinstance(v, Scalar) and v.weak for v in (x, y))
    if interpreter.varying and op in ("pow", "lshift") and are_pythons and x.dtype.kind in "iu":
        _refuse_other_numbers(interpreter, x, y)
    if op == "pow" and are_pythons and x.dtype.kind in "iu" and y.dtype.kind in "iu":
        exponent = static_int(y)
        if exponent is None and not build.is_at_least(y.expr, 0):
            message = "an int to the power of a negative int is a float: write float(base) ** n"
            is_negative = Call("lt", (y.expr, affine.ZERO), BOOL)
            build.emit(If(is_negative, (Raise("RuntimeValueError", message + error_place(build.span)),)))
        if exponent is not None and exponent < 0:
            x = Scalar(cast(x.expr, np.dtype(np.float64)), weak=True)
        elif exponent is None and static_int(x) == 2:
            op, x = "lshift", constant(1)
    if op in ("div", "floordiv", "mod"):
        python_raises.division(interpreter, op, x, y)
        known_zero = isinstance(y, Scalar) and y.is_constant and y.weak and y.value == 0
        if known_zero and isinstance(x, Scalar) and x.weak and not build.watches:
            message = python_raises.BY_ZERO.get(op, "division by zero")
            build.refuse(message, error=ZeroDivisionArgumentError)
    if op == "floordiv" and are_pythons and interpreter.loops and interpreter.instance is None:
        quotient = build.quotient_at_entry(x.expr, y.expr)
        if quotient is not None:
            return Scalar(quotient, weak=True)
    if op == "pow" and isinstance(x, ArrayValue) and x.dtype == BOOL and isinstance(y, Scalar) and y.weak:
        if static_int(y) == 2:  # which NumPy takes for np.square: int8, and not int64
            return elementwise(build, "square", (x,))
    result = elementwise(build, op, (x, y), python=True)
    if op == "pow":
        python_raises.power(interpreter, x, y, result)
    return result


def _refuse_other_numbers(interpreter: Interpreter, x: Scalar, y: Scalar) -> None:
    """For powers of integers that may be no int64: numbers from outside may as well be known, and Python is exact."""
    if x.is_constant and y.is_constant:
        return
    exponent = static_int(y)
    is_root = y.dtype.kind == "f" and interpreter.build.is_at_least(x.expr, 0)
    if not is_root and (exponent is None or exponent > 3):
        interpreter.build.refuse("a power of an integer may be a float, a complex number or more than 64 bits")


def _text_arithmetic(interpreter: Interpreter, op: str, x: Any, y: Any) -> Any:
    """ "-" * 10, "n = %d" % n: of numbers that are only known at run time, a message shows the place."""
    if op == "mod":
        known_values.refuse_template(interpreter, x)
    if op == "mod" and not texts.is_known((x, y)):
        return Static(texts.percent(interpreter, x.value, y))
    try:
        return constant(PYTHON_OPERATORS[op](known_values.plain(x), known_values.plain(y)))
    except Exception as problem:
        return interpreter.build.refuse(known_values.as_python_says(problem, x, y), error=ArgumentError)


def _tuple_arithmetic(interpreter: Interpreter, op: str, x: Any, y: Any) -> Any:
    if records.is_set(x) or records.is_set(y):
        return sets.computed(interpreter, op, x, y)
    if records.is_dict(x) and records.is_dict(y) and op == "bitor":
        return replace(records.with_items(x, records.as_dict(x) | records.as_dict(y)), identity=object())
    for value in (x, y):
        if records.is_dict(value) or records.is_record(value):
            what = "a dict" if records.is_dict(value) else f"a {value.kind.cls.__name__}"
            interpreter.build.refuse(f"{op} is not defined on {what}", "compute with its items", error=ArgumentError)
    if isinstance(x, TupleValue) and isinstance(y, TupleValue) and op == "add":
        return new_list(x.items + y.items) if x.kind is list else TupleValue(x.items + y.items)
    if op == "add" and not isinstance(x, ArrayValue) and not isinstance(y, ArrayValue):
        kinds = [part.kind for part in (x, y) if isinstance(part, (Items, TupleValue))]
        if kinds == [list, list]:
            return lists.joined(interpreter, [x, y])
        if kinds == [tuple, tuple]:
            return replace(lists.joined(interpreter, [x, y]), kind=tuple, identity=None)
    if op == "mul" and not isinstance(x, ArrayValue) and not isinstance(y, ArrayValue):
        parts, count = (x, y) if isinstance(x, (TupleValue, Items)) else (y, x)
        number = static_int(count)
        if number is not None and isinstance(parts, TupleValue):
            items = tuple(binding.bind_item(interpreter, "t", item) for item in parts.items) * number  # one array
            return new_list(items) if parts.kind is list else TupleValue(items)
        if isinstance(count, Scalar) and isinstance(parts, TupleValue) and parts.kind is list:
            return lists.repeated(interpreter, parts, count)
        if isinstance(count, Scalar) and isinstance(parts, TupleValue) and parts.kind is tuple:
            return replace(lists.repeated(interpreter, parts, count), kind=tuple, identity=None)
    is_numpys = any(isinstance(v, ArrayValue) or (isinstance(v, Scalar) and not v.weak and op != "mul") for v in (x, y))
    if is_numpys:  # which makes an array of the other one
        return elementwise(
            interpreter.build, op, [lists_as_arrays.as_array(interpreter, v) for v in (x, y)], python=True
        )
    return interpreter.build.refuse(
        f"{op} is not defined on these lists or tuples", "make an array of them:  np.array(t)"
    )


def unary(interpreter: Interpreter, op: ast.unaryop, value: Any) -> Any:
    if isinstance(op, ast.Not):
        known = known_truth(interpreter, value)
        if known is not None:
            return constant(not known)
        return Scalar(negated(truth(interpreter, value)), weak=True)
    name, value = OPERATORS[type(op)], library_objects.as_made_here(interpreter, value)
    said = special_methods.called(interpreter, value, f"__{special_methods.NAMES.get(name, name)}__")
    if said is not None:
        return said
    if isinstance(value, Scalar) and value.dtype == BOOL and value.weak and name != "invert":
        value = Scalar(cast(value.expr, INT64), weak=True)
    return elementwise(interpreter.build, name, (lists_as_arrays.as_array(interpreter, value),), python=True)


def truth(interpreter: Interpreter, value: Any) -> Expr:
    """The condition that a value is when tested."""
    value = records.as_it_is_now(interpreter, value)
    known = static_truth(value)
    if known is not None:
        return Const(known, BOOL)
    for name in ("__bool__", "__len__"):
        said = special_methods.called(interpreter, value, name)
        if said is not None:
            return truth(interpreter, said)
    if isinstance(value, OneOf):
        return one_of.compared(value, lambda option: truth(interpreter, option)).expr
    if containers.is_one(value):
        return Const(containers.told(interpreter, value, "truth", lambda: bool(value.value)), BOOL)
    if optional.is_optional(value):
        flag, held = value.items
        if not isinstance(held, Scalar):
            interpreter.build.refuse("the truth value of what is None or an array is ambiguous", "ask: is not None")
        return both(flag.expr, truth(interpreter, held))
    if isinstance(value, Items):
        return Call("ne", (value.length, affine.ZERO), BOOL)
    if isinstance(value, ArrayValue):
        value = only_element(
            interpreter.build, value, "only an array of one element has a truth value", "use .any() or .all()"
        )
    if not isinstance(value, Scalar):
        interpreter.build.refuse_unusable(value)
        interpreter.build.refuse("the truth value of this value is ambiguous", error=ArgumentError)
    if value.dtype == BOOL:
        return value.expr
    return Call("ne", (value.expr, Const(value.dtype.type(0).item(), value.dtype)), BOOL)


def known_truth(interpreter: Interpreter, value: Any) -> bool | None:
    """The same, also of a container from outside, as long as Python says so."""
    if static_truth(value) is None and containers.is_one(value) and isinstance(value, Static):
        said = truth(interpreter, value)
        return bool(said.value) if isinstance(said, Const) else None
    return static_truth(value)


def static_truth(value: Any) -> bool | None:
    """Whether a value is true, where that is known now."""
    match value:
        case Scalar(expr=Const(value=number)):
            return bool(number)
        case Static() | TupleValue() if special_methods.own(value, "__bool__") or special_methods.own(value, "__len__"):
            return None
        case Static(value=item):
            return None if isinstance(item, Unusable) or containers.is_one(value) else bool(item)
        case OneOf(options=options):
            answers = {static_truth(option) for option in options}
            return answers.pop() if len(answers) == 1 else None
        case TupleValue(items=(flag, held)) if optional.is_optional(value):
            is_there = static_truth(flag)
            return static_truth(held) if is_there else is_there
        case TupleValue(items=items, kind=kind):
            return bool(items) or isinstance(kind, RecordKind)
        case Closure():
            return True
    return None
