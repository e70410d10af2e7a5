"""Elementary functions without branches: the loop around them vectorises, which one around `math.exp` does not.

    for i in range(n):                          vmulpd …  vfmadd213pd …  (4 or 8 numbers at a time)
        y[i] = exp(-x[i] * x[i])        →

In plain Python they are NumPy's and SciPy's.  Compiled, they are kernels of ours, in LLVM's instructions: at most
2 units in the last place off, everywhere, with the values of IEEE 754 at the edges.  float32 stays float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcgrad.runtime.vector_math import (
    cube_root,
    error_function,
    exponentials,
    hypotenuse,
    inverse_hyperbolic,
    logarithms,
    powers,
    trigonometry,
)
from srcgrad.runtime.vector_math.library import register

__all__ = [
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "hypot",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "pow",
    "sin",
    "sinh",
    "tan",
    "tanh",
]


def exp(x: Any) -> Any:
    """e**x"""
    return np.exp(x)


def exp2(x: Any) -> Any:
    """2**x"""
    return np.exp2(x)


def expm1(x: Any) -> Any:
    """e**x - 1, accurate near 0."""
    return np.expm1(x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return np.log(x)


def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return np.log2(x)


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return np.log10(x)


def log1p(x: Any) -> Any:
    """log(1 + x), accurate near 0."""
    return np.log1p(x)


def logaddexp(x: Any, y: Any) -> Any:
    """log(e**x + e**y), without overflow."""
    return np.logaddexp(x, y)


def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2**x + 2**y), without overflow."""
    return np.logaddexp2(x, y)


def sin(x: Any) -> Any:
    """The sine."""
    return np.sin(x)


def cos(x: Any) -> Any:
    """The cosine."""
    return np.cos(x)


def tan(x: Any) -> Any:
    """The tangent."""
    return np.tan(x)


def arctan(x: Any) -> Any:
    """The angle whose tangent is x."""
    return np.arctan(x)


def arcsin(x: Any) -> Any:
    """The angle whose sine is x."""
    return np.arcsin(x)


def arccos(x: Any) -> Any:
    """The angle whose cosine is x."""
    return np.arccos(x)


def arctan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y)."""
    return np.arctan2(y, x)


def hypot(x: Any, y: Any) -> Any:
    """How far the point (x, y) is from (0, 0)."""
    return np.hypot(x, y)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return np.tanh(x)


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    return np.sinh(x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    return np.cosh(x)


def arcsinh(x: Any) -> Any:
    """The number whose hyperbolic sine is x."""
    return np.arcsinh(x)


def arccosh(x: Any) -> Any:
    """The number, 0 or more, whose hyperbolic cosine is x."""
    return np.arccosh(x)


def arctanh(x: Any) -> Any:
    """The number whose hyperbolic tangent is x."""
    return np.arctanh(x)


def cbrt(x: Any) -> Any:
    """The cube root."""
    return np.cbrt(x)


def erf(x: Any) -> Any:
    """The error function."""
    return type(x)(math.erf(x))


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate for large x."""
    return type(x)(math.erfc(x))


def pow(x: Any, y: Any) -> Any:
    """x**y, and nan where that is not real."""
    return np.asarray(x)[()] ** y  # of single numbers NumPy's ** is the C library's, and np.power is not


register(exp, exponentials.exp)
register(exp2, exponentials.exp2)
register(expm1, exponentials.expm1)
register(log, logarithms.log)
register(log2, logarithms.log2)
register(log10, logarithms.log10)
register(log1p, logarithms.log1p)
register(logaddexp, logarithms.logaddexp, 2)
register(logaddexp2, logarithms.logaddexp2, 2)
register(sin, trigonometry.sin, limit=trigonometry.LIMIT, far=trigonometry.sin_far)
register(cos, trigonometry.cos, limit=trigonometry.LIMIT, far=trigonometry.cos_far)
register(tan, trigonometry.tan, limit=trigonometry.LIMIT, far=trigonometry.tan_far)
register(arctan, trigonometry.arctan)
register(arcsin, trigonometry.arcsin)
register(arccos, trigonometry.arccos)
register(arctan2, trigonometry.arctan2, 2)
register(hypot, hypotenuse.hypot, 2)
register(tanh, exponentials.tanh)
register(sinh, exponentials.sinh)
register(cosh, exponentials.cosh)
register(arcsinh, inverse_hyperbolic.arcsinh)
register(arccosh, inverse_hyperbolic.arccosh)
register(arctanh, inverse_hyperbolic.arctanh)
register(cbrt, cube_root.cbrt)
register(erf, error_function.erf)
register(erfc, error_function.erfc)
register(pow, powers.pow, 2)
