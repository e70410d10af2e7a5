"""Where Python's own numbers raise an exception, and compiled code has inf or nan: in a `try` that catches it.

n // k and n % k of whole numbers, which are 0 in NumPy's arrays, raise anyway, but for those in loops and branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import place
from ...ir.expressions import BOOL, Call, Const, Expr, both, either, negated
from ...ir.nodes import If, Raise
from ...ir.walk import variables
from ..arithmetic import are_pythons
from ..values import Scalar

if TYPE_CHECKING:
    from ..interpret import Interpreter

# Where an argument of `math` is outside of what the function takes.
OUTSIDE: dict[str, Callable[[Expr], Expr]] = {
    "sqrt": lambda x: _is(x, "lt", 0),
    "log": lambda x: _is(x, "le", 0),
    "log2": lambda x: _is(x, "le", 0),
    "log10": lambda x: _is(x, "le", 0),
    "log1p": lambda x: _is(x, "le", -1),
    "arcsin": lambda x: _is(Call("abs", (x,), x.dtype), "gt", 1),
    "arccos": lambda x: _is(Call("abs", (x,), x.dtype), "gt", 1),
    "arccosh": lambda x: _is(x, "lt", 1),
    "arctanh": lambda x: _is(Call("abs", (x,), x.dtype), "ge", 1),
    "sin": lambda x: _isinf(x),
    "cos": lambda x: _isinf(x),
    "tan": lambda x: _isinf(x),
    "gamma": lambda x: both(_is(x, "le", 0), Call("eq", (Call("floor", (x,), x.dtype), x), BOOL)),
    "lgamma": lambda x: both(_is(x, "le", 0), Call("eq", (Call("floor", (x,), x.dtype), x), BOOL)),
}
TOO_LARGE = ("exp", "exp2", "expm1", "sinh", "cosh", "pow", "gamma", "lgamma", "ldexp", "hypot")  # for finite arguments


# Of whole numbers, in Python's words.
BY_ZERO = {"floordiv": "integer division or modulo by zero", "mod": "integer modulo by zero"}


def division(interpreter: Interpreter, op: str, x: Any, y: Any) -> None:
    """x / y, x // y, x % y"""
    if not isinstance(x, Scalar) or not isinstance(y, Scalar):
        return
    if op in BY_ZERO and _is_checked(interpreter, x, y):
        message = BY_ZERO[op] + place(interpreter.build.span)
        _raise_if(interpreter, _is(y.expr, "eq", 0), "RuntimeZeroDivisionError", message)
        return
    if not may_vary(interpreter, y) and not interpreter.build.would_catch(ZeroDivisionError):
        return
    if not (y.is_constant and y.value != 0) and _are_pythons(interpreter, x, y):
        _raise_if(interpreter, _is(y.expr, "eq", 0), "ZeroDivisionError", "division by zero")


def _is_checked(interpreter: Interpreter, x: Scalar, y: Scalar) -> bool:
    """Are they whole numbers of Python's, where to ask costs nothing?  (A loop that asks may not vectorise.)"""
    build = interpreter.build
    if not build.is_top_level or build.items_on_demand or build.watches or build.is_either(y.expr):
        return False
    if interpreter.frame.is_composition:
        return False
    may_be_zero = not y.is_constant and not build.is_at_least(y.expr, 1)
    return may_be_zero and x.dtype.kind in "iu" and y.dtype.kind in "iu" and are_pythons((x, y))


def may_vary(interpreter: Interpreter, value: Scalar) -> bool:
    """Is it made of whole numbers from outside that may as well be known?  Then what Python raises would be, too."""
    handed_in = interpreter.build.handed_in if interpreter.varying and value.weak else ()
    return value.dtype.kind in "iu" and any(var.name in handed_in for var in variables(value.expr))


def power(interpreter: Interpreter, x: Any, y: Any, result: Any) -> None:
    """x ** y"""
    if not isinstance(x, Scalar) or not isinstance(y, Scalar):
        return
    to_zero = interpreter.build.would_catch(ZeroDivisionError) and not (y.is_constant and y.value >= 0)
    to_infinity = interpreter.build.would_catch(OverflowError) and result.dtype.kind == "f"
    if not (to_zero or to_infinity) or not _are_pythons(interpreter, x, y):
        return
    if to_zero:
        at_zero = both(_is(x.expr, "eq", 0), _is(y.expr, "lt", 0))
        _raise_if(interpreter, at_zero, "ZeroDivisionError", "0.0 cannot be raised to a negative power")
    if to_infinity:
        is_at_zero = either(_is(x.expr, "ne", 0), _is(y.expr, "ge", 0))
        too_large = both(both(_isinf(result.expr), is_at_zero), _are_finite((x, y)))
        _raise_if(interpreter, too_large, "OverflowError", "Numerical result out of range")


def of_math(interpreter: Interpreter, op: str, arguments: Sequence[Scalar], result: Scalar) -> None:
    """math.log(0.0), math.sqrt(-1.0), math.exp(1000.0)"""
    if result.dtype.kind != "f":
        return
    infinite = _isinf(result.expr)
    if op in OUTSIDE:
        outside = OUTSIDE[op](arguments[0].expr)
    else:
        has_nan: Expr | None = None
        for argument in arguments:
            has_nan = either(has_nan, Call("isnan", (argument.expr,), BOOL))
        outside = both(Call("isnan", (result.expr,), BOOL), negated(has_nan or Const(False, BOOL)))
        if op == "pow":
            outside = either(outside, both(_is(arguments[0].expr, "eq", 0), infinite))
    if interpreter.build.would_catch(ValueError):
        _raise_if(interpreter, outside, "ValueError", "math domain error")
    if op in TOO_LARGE and interpreter.build.would_catch(OverflowError):
        too_large = both(both(infinite, _are_finite(arguments)), negated(outside))
        _raise_if(interpreter, too_large, "OverflowError", "math range error")


def to_int(interpreter: Interpreter, value: Scalar) -> None:
    """int(x) of nan and inf"""
    if value.dtype.kind != "f":
        return
    if interpreter.build.would_catch(ValueError):
        is_nan = Call("isnan", (value.expr,), BOOL)
        _raise_if(interpreter, is_nan, "ValueError", "cannot convert float NaN to integer")
    if interpreter.build.would_catch(OverflowError):
        _raise_if(interpreter, _isinf(value.expr), "OverflowError", "cannot convert float infinity to integer")


def _are_pythons(interpreter: Interpreter, x: Scalar, y: Scalar) -> bool:
    """Python's numbers raise where NumPy's have inf or nan; of both, it is a number of NumPy's that comes out."""
    build = interpreter.build
    unknown = [build.is_either(value.expr) for value in (x, y)]
    if not any(unknown) or any(not value.weak and not each for value, each in zip((x, y), unknown, strict=True)):
        return are_pythons((x, y))
    return build.refuse(
        "whether this raises an exception depends on the path taken",
        "float(x), for a number of Python's",
        because="a number of Python's does, one of NumPy's does not",
    )


def _is(expr: Expr, op: str, number: int) -> Expr:
    return Call(op, (expr, Const(expr.dtype.type(number).item(), expr.dtype)), BOOL)


def _isinf(expr: Expr) -> Expr:
    return Call("isinf", (expr,), BOOL)


def _are_finite(values: Sequence[Scalar]) -> Expr:
    finite: Expr = Const(True, BOOL)
    for value in values:
        if value.dtype.kind == "f":
            finite = both(finite, Call("isfinite", (value.expr,), BOOL))
    return finite


def _raise_if(interpreter: Interpreter, condition: Expr, error: str, message: str) -> None:
    interpreter.build.emit(If(condition, (Raise(error, message),)))
