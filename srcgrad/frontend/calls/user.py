"""Calls of what users say about derivatives: `stop_gradient`, and functions with a rule of their own.

y = squash(x)        →   y[i] = user.squash(x[i])
y = solve(a, b)      →   y = empty(n); user.solve(y, a, b)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ArgumentError
from ...ir import affine
from ...ir.expressions import INT64, Call, Load, is_inexact
from ...ir.nodes import Library
from ...rules.compositions.registry import steady
from ...rules.user import ArrayRule, ScalarRule, UserRule, result_dtype, stop_gradient
from ..arithmetic import cast_value
from ..array_values import ArrayValue, whole
from ..broadcasting import broadcast
from ..builder import Builder
from ..numpy.table import array_or_number, rule
from ..values import Scalar, Static, TupleValue, constant

if TYPE_CHECKING:
    from ..interpret import Interpreter


@rule(stop_gradient)
def stopped(build: Builder, x: Any) -> Any:
    return _without_derivative("stop_gradient", x)


@rule(steady)
def steadied(build: Builder, x: Any) -> Any:
    return _without_derivative("steady", x)


def _without_derivative(op: str, x: Any) -> Any:
    match x:
        case TupleValue(items=items):
            return TupleValue(tuple(_without_derivative(op, item) for item in items), x.kind)
        case Scalar(expr=expr) if is_inexact(x.dtype) and not x.is_constant:
            return Scalar(Call(op, (expr,), x.dtype), x.weak)
        case ArrayValue(dims=dims, element=element):
            return ArrayValue(dims, Call(op, (element,), x.dtype))
    return x


def call_rule(interpreter: Interpreter, own: UserRule, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function with a rule of its own."""
    values = _bound(interpreter.build, own, args, kwargs)
    if isinstance(own, ScalarRule):
        return _on_numbers(interpreter.build, own, values)
    assert isinstance(own, ArrayRule)
    return _on_arrays(interpreter, own, values)


def _bound(build: Builder, own: UserRule, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    defaults = {name: constant(value) for name, value in own.defaults.items()}
    given = defaults | dict(zip(own.parameters, args, strict=False)) | kwargs
    if len(args) > len(own.parameters) or set(given) != set(own.parameters):
        build.refuse(f"{own.__name__} takes the arguments {', '.join(own.parameters)}", error=ArgumentError)
    values = [array_or_number(build, given[name]) for name in own.parameters]
    for name, value in zip(own.parameters, values, strict=True):
        if not isinstance(value, (Scalar, ArrayValue)):
            build.refuse(f"the argument {name} of {own.__name__} is neither a number nor an array", error=ArgumentError)
        if value.dtype.kind == "c":
            build.refuse(f"{own.__name__} has a rule of its own, which does not take complex numbers", "z.real, z.imag")
    return values


def _on_numbers(build: Builder, own: ScalarRule, values: list[Any]) -> Any:
    kinds = [(float if v.dtype.kind == "f" else int) if isinstance(v, Scalar) and v.weak else v.dtype for v in values]
    dtype = result_dtype(tuple(kinds))
    operands = [cast_value(v, dtype if v.dtype.kind == "f" else INT64) for v in values]
    if all(isinstance(v, Scalar) for v in operands):
        return Scalar(Call(own.op, tuple(v.expr for v in operands), dtype))
    dims, elements = broadcast(build, operands)
    call = Call(own.op, tuple(elements), dtype)
    return ArrayValue(dims, call) if dims else Scalar(call)


def _on_arrays(interpreter: Interpreter, own: ArrayRule, values: list[Any]) -> Any:
    build = interpreter.build
    operands: list[Any] = [build.in_order(v) if isinstance(v, ArrayValue) else build.capture(v.expr) for v in values]
    if isinstance(own.result, type):
        number = build.allocate(own.__name__, np.dtype(own.result), (affine.ONE,))
        build.emit(Library(own.routine, number, tuple(operands)))
        return Scalar(Load(number, (affine.ZERO,)))
    like = _like(
        interpreter, own, [whole(o) if not isinstance(v, Scalar) else v for o, v in zip(operands, values, strict=True)]
    )
    out = build.allocate(own.__name__, like.dtype, like.dims)
    build.emit(Library(own.routine, out, tuple(operands)))
    return whole(out)


def _like(interpreter: Interpreter, own: ArrayRule, values: list[Any]) -> ArrayValue:
    """Something of the result's dtype and shape."""
    if isinstance(own.result, str):
        like = values[own.parameters.index(own.result)]
    else:
        like = array_or_number(interpreter.build, interpreter.call(Static(own.result), values, {}))
    if not isinstance(like, ArrayValue) or like.ndim == 0 or like.dtype.kind != "f":
        interpreter.build.refuse(
            f"result= of {own.__name__} gives no array of float32 or float64", "for a number:  result=float",
            error=ArgumentError,
        )  # fmt: skip
    return like
