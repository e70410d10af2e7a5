"""Complex numbers of a dtype from their parts, and functions of them.

Numba raises where a complex number is divided by zero, makes nan of powers of zero, loses digits in expm1 and arccosh,
makes inf * 0 of parts that are zero, and calls functions of C around which no loop vectorises.  These do what NumPy
does, of the kernels of `vector_math`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import register_jitable

from srcgrad.runtime import vector_math
from srcgrad.runtime.linked import linked, overload

__all__ = [
    "complex64",
    "complex128",
    "complex_angle",
    "complex_arccosh",
    "complex_cos",
    "complex_cosh",
    "complex_divide",
    "complex_exp",
    "complex_expm1",
    "complex_power",
    "complex_sin",
    "complex_sinh",
    "complex_tanh",
    "modulus",
]


@linked
def complex64(real: Any, imag: Any) -> Any:
    return np.complex64(complex(real, imag))


@linked
def complex128(real: Any, imag: Any) -> Any:
    return np.complex128(complex(real, imag))


def modulus(z: Any) -> Any:
    """abs(z)"""
    return abs(z)


def complex_angle(z: Any) -> Any:
    return np.angle(z)


def complex_divide(x: Any, y: Any) -> Any:
    """x / y; by zero it is inf or nan."""
    return np.divide(x, y)


def complex_power(x: Any, y: Any) -> Any:
    """x ** y; of zero it is 0 where the real part of y is positive, and nan where it isn't."""
    return np.power(x, y)


def complex_exp(z: Any) -> Any:
    return np.exp(z)


def complex_expm1(z: Any) -> Any:
    return np.expm1(z)


def complex_sin(z: Any) -> Any:
    return np.sin(z)


def complex_cos(z: Any) -> Any:
    return np.cos(z)


def complex_sinh(z: Any) -> Any:
    return np.sinh(z)


def complex_cosh(z: Any) -> Any:
    return np.cosh(z)


def complex_tanh(z: Any) -> Any:
    return np.tanh(z)


def complex_arccosh(z: Any) -> Any:
    return np.arccosh(z)


# ---------------------------------------------------------------------------------------------------- compiled


def _part(*operands: Any) -> Any:
    """The type of the parts."""
    single = all(kind in (types.complex64, types.float32) for kind in operands)
    return np.float32 if single else np.float64


@overload(modulus)
def _modulus(z):  # no types: Numba compares signatures
    part = _part(z)
    one, infinite = part(1.0), part(np.inf)

    def modulus(z):
        x, y = abs(z.real), abs(z.imag)
        large, small = (x, y) if x > y else (y, x)
        ratio = small / large
        size = large * np.sqrt(one + ratio * ratio)  # nothing overflows that is no infinity
        size = large if small == 0 else size
        return infinite if large == infinite or small == infinite else size

    return modulus


@overload(complex_angle)
def _angle(z):
    arctan2 = vector_math.arctan2
    return lambda z: arctan2(z.imag, z.real)


@overload(complex_divide)
def _divide(x, y):
    part = _part(x, y)
    whole, one, zero = (complex64 if part is np.float32 else complex128), part(1.0), part(0.0)
    if not isinstance(y, types.Complex):

        def by_real(x, y):
            y = y if y != zero else zero  # -0.0 is 0.0 here
            return whole(x.real / y, x.imag / y)

        return by_real

    def divide(x, y):
        c, d = y.real, y.imag
        flat = abs(c) >= abs(d)
        large, small = (c, d) if flat else (d, c)
        ratio = small / large
        scale = one / (large + small * ratio)
        a, b = part(x.real), part(x.imag)
        real, imag = (a + b * ratio, b - a * ratio) if flat else (a * ratio + b, b * ratio - a)
        real, imag = real * scale, imag * scale
        if c == zero and d == zero:
            real, imag = a / zero, b / zero
        return whole(real, imag)

    return divide


@overload(complex_power)
def _power(x, y):
    part = _part(x, y)
    whole, zero = (complex64 if part is np.float32 else complex128), part(0.0)
    one = whole(part(1.0), zero)
    undefined = whole(part(np.nan), part(np.nan))

    def power(x, y):
        base, exponent = whole(x.real, x.imag), whole(y.real, y.imag)
        if exponent == 0:
            return one
        if base == 0:
            return whole(zero, zero) if exponent.real > 0 else undefined
        if exponent.imag != 0 or not abs(exponent.real) < 100 or exponent.real != int(exponent.real):
            return base**exponent
        count = abs(int(exponent.real))  # products, of less than 100 factors
        while count & 1 == 0:
            base *= base
            count >>= 1
        out = base
        while count > 1:
            base *= base
            count >>= 1
            if count & 1:
                out *= base
        return out if exponent.real > 0 else complex_divide(one, out)

    return power


@register_jitable(inline="always")
def _times(x: Any, factor: Any) -> Any:
    """x * factor, where a factor that is zero stays so beside an infinity."""
    product = x * factor
    return product if factor != 0 else factor


def _from_parts(function: Callable[..., Any], parts: Callable[..., Any]) -> None:
    """Compile the function as what gives the parts of the result from those of z.

    It is put in the place of the call: LLVM would not inline that many kernels, nor vectorise the loop around a call.
    """
    parts = register_jitable(inline="always")(parts)

    def compiled(z):
        whole = complex64 if z == types.complex64 else complex128

        def compiled(z):
            real, imag = parts(z.real, z.imag)
            return whole(real, imag)

        return compiled

    overload(function, inline="always")(compiled)


exp, expm1, sin, cos = vector_math.exp, vector_math.expm1, vector_math.sin, vector_math.cos
sinh, cosh = vector_math.sinh, vector_math.cosh


def _exp(x, y):
    size = exp(x)
    return size * cos(y), _times(size, sin(y))


def _expm1(x, y):
    half = sin(y / 2)  # cos(y) - 1 is -2 sin(y / 2)**2
    return expm1(x) * cos(y) - 2 * half * half, _times(exp(x), sin(y))


def _sin(x, y):
    return _times(cosh(y), sin(x)), cos(x) * sinh(y)


def _cos(x, y):
    return cos(x) * cosh(y), -_times(sinh(y), sin(x))


def _sinh(x, y):
    return sinh(x) * cos(y), _times(cosh(x), sin(y))


def _cosh(x, y):
    return cosh(x) * cos(y), _times(sinh(x), sin(y))


def _tanh(x, y):
    turned = np.tan(complex(-y, x))  # tanh(z) = -i tan(i z)
    return turned.imag, -turned.real


def _arccosh(x, y):
    turned = np.arccos(complex(x, y))
    return abs(turned.imag), math.copysign(turned.real, y)


_from_parts(complex_exp, _exp)
_from_parts(complex_expm1, _expm1)
_from_parts(complex_sin, _sin)
_from_parts(complex_cos, _cos)
_from_parts(complex_sinh, _sinh)
_from_parts(complex_cosh, _cosh)
_from_parts(complex_tanh, _tanh)
_from_parts(complex_arccosh, _arccosh)
