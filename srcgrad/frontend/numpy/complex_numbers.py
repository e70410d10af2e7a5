"""Complex numbers: their parts, read and written, and what NumPy, `cmath` and Python make of them.

z.real           →  real(z[#0])
z.imag[1:] = y   →  for each i:  z[i + 1] = complex(real(z[i + 1]), y[i])
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...ir.expressions import COMPLEX128, FLOAT64, Call, Const, Expr, part_of
from ...rules.names import COMPLEX_MATH
from ..arithmetic import cast, cast_value, elementwise, imaginary_part, real_part
from ..array_values import ArrayValue, computed
from ..broadcasting import broadcast
from ..builder import Builder
from ..types_that_decide import same_answer
from ..values import Scalar, TupleValue, constant
from . import creation
from .table import METHODS, also_into, array_or_number, flag, rule


def real(build: Builder, value: Any) -> Any:
    """z.real: a real value is its own real part."""
    return _mapped(real_part, value) if value.dtype.kind == "c" else value


def imag(build: Builder, value: Any) -> Any:
    """z.imag"""
    if value.dtype.kind == "c":
        return _mapped(imaginary_part, value)
    return _mapped(lambda expr: Const(expr.dtype.type(0).item(), expr.dtype), value)


def _mapped(function: Callable[[Expr], Expr], value: Any) -> Any:
    if isinstance(value, Scalar):
        return Scalar(function(value.expr), value.weak)
    has_gaps = value.dtype.kind == "c"  # where the other part lies
    return replace(computed(value, function(value.element)), has_gaps=has_gaps)


def from_parts(build: Builder, x: Any, y: Any, weak: bool = False) -> Any:
    """x + iy, each part as it is."""
    dtype = np.result_type(x.dtype, y.dtype, np.complex64)
    dims, elements = broadcast(build, [cast_value(x, part_of(dtype)), cast_value(y, part_of(dtype))])
    made = Call("complex", tuple(elements), dtype)
    return ArrayValue(dims, made) if isinstance(x, ArrayValue) or isinstance(y, ArrayValue) else Scalar(made, weak)


@rule(np.real)
def real_function(build: Builder, val: Any) -> Any:
    return real(build, array_or_number(build, val))


@rule(np.imag)
def imag_function(build: Builder, val: Any) -> Any:
    return imag(build, array_or_number(build, val))


@rule(np.conjugate)
def conjugate(build: Builder, x: Any, out: Any = None) -> Any:
    x = array_or_number(build, x)
    return also_into(build, out, elementwise(build, "conj" if x.dtype.kind == "c" else "pos", (x,)), core=0)


def conjugate_method(build: Builder, x: Any) -> Any:
    """The method gives a real array back as it is."""
    return elementwise(build, "conj", (x,), python=True) if x.dtype.kind == "c" else x


METHODS["conj"] = METHODS["conjugate"] = conjugate_method


@rule(np.angle)
def angle(build: Builder, z: Any, deg: Any = False) -> Any:
    z = array_or_number(build, z)
    if z.dtype.kind == "c":
        out = elementwise(build, "phase", (z,))
    else:
        out = elementwise(build, "arctan2", (Scalar(Const(0.0, FLOAT64), weak=True), z))
    if not flag(deg):
        return out
    return elementwise(build, "mul", (out, constant(180 / math.pi)), python=True)


def sign(build: Builder, z: Any) -> Any:
    """z / abs(z), and 0 at 0."""
    size = elementwise(build, "abs", (z,))
    zero = elementwise(build, "eq", (size, constant(0.0)), python=True)
    turned = elementwise(build, "div", (z, size))
    dims, elements = broadcast(build, [zero, turned])
    element = Call("select", (elements[0], Const(0, turned.dtype), elements[1]), turned.dtype)
    return ArrayValue(dims, element) if isinstance(z, ArrayValue) else Scalar(element)


@rule(np.iscomplexobj)
def is_complex_object(build: Builder, x: Any) -> Any:
    return constant(_is_complex(build, x))


@rule(np.isrealobj)
def is_real_object(build: Builder, x: Any) -> Any:
    return constant(not _is_complex(build, x))


def _is_complex(build: Builder, x: Any) -> bool:
    is_one = lambda value: value.dtype.kind == "c"
    value = array_or_number(build, x)
    return bool(is_one(value) if build.in_composition else same_answer(build, value, is_one))


@rule(np.iscomplex)
def is_complex(build: Builder, x: Any) -> Any:
    return elementwise(build, "ne", (imag_function(build, x), constant(0)), python=True)


@rule(np.isreal)
def is_real(build: Builder, x: Any) -> Any:
    return elementwise(build, "eq", (imag_function(build, x), constant(0)), python=True)


@rule(np.real_if_close)
def real_if_close(build: Builder, a: Any, tol: Any = None) -> Any:
    return build.refuse("the dtype of np.real_if_close depends on the data", "take the real part:  z.real")


# ----------------------------------------------------------------------------------------------- Python's own


def to_complex(build: Builder, real: Any = None, imag: Any = None) -> Any:
    """complex(x), complex(x, y)"""
    x, y = (_number(build, constant(0.0) if part is None else part) for part in (real, imag))
    if imag is None:
        return Scalar(cast(x.expr, COMPLEX128), weak=True)
    if x.dtype.kind != "c" and y.dtype.kind != "c":
        if x.is_constant and y.is_constant:
            return constant(complex(x.value, y.value))
        return from_parts(build, Scalar(cast(x.expr, FLOAT64)), Scalar(cast(y.expr, FLOAT64)), weak=True)
    imaginary = real_part(y.expr) if y.dtype == np.complex64 else y.expr  # Python knows that type by its float() alone
    turned = elementwise(build, "mul", (constant(1j), Scalar(imaginary, weak=True)), python=True)
    return elementwise(build, "add", (Scalar(x.expr, weak=True), turned), python=True)


def _number(build: Builder, value: Any) -> Scalar:
    value = creation.as_number(value)
    if not isinstance(value, Scalar):
        build.refuse("complex() takes numbers, not arrays", "x + 1j * y", error=ArgumentError)
    return value


def complex_math(build: Builder, target: Any, args: list[Any]) -> Any:
    """`cmath` computes in double precision and gives a Python number."""
    numbers = [Scalar(cast(_number(build, value).expr, COMPLEX128), weak=True) for value in args]
    if target is cmath.rect:
        r, phi = (Scalar(cast(_number(build, value).expr, FLOAT64), weak=True) for value in args)
        x, y = (_python(elementwise(build, "mul", (r, elementwise(build, op, (phi,))))) for op in ("cos", "sin"))
        return from_parts(build, x, y, weak=True)
    if target is cmath.polar:
        (z,) = numbers
        return TupleValue((_python(elementwise(build, "abs", (z,))), _python(elementwise(build, "phase", (z,)))))
    if target is cmath.log and len(numbers) == 2:
        top, bottom = (elementwise(build, "log", (z,)) for z in numbers)
        return _python(elementwise(build, "div", (top, bottom)))
    return _python(elementwise(build, COMPLEX_MATH[target], numbers))


def _python(value: Any) -> Scalar:
    return Scalar(value.expr, weak=True)
