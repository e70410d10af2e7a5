"""Scalar functions that NumPy, `math` and Numba do not spell alike: one text, plain Python or compiled.

    sinc(np.float32(0.5))   →   np.float32(0.6366198)

Each gives back the dtype of its first operand, and nan or inf (never an error) where a slope is asked for at a pole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcgrad.runtime.linked import linked

__all__ = [
    "complementary_error_function",
    "digamma",
    "error_function",
    "exponent",
    "gamma_function",
    "heaviside",
    "ieee_remainder",
    "int_fmod",
    "int_power",
    "log_gamma",
    "per_square",
    "round_to",
    "shift_left",
    "shift_right",
    "sinc",
    "sinc_slope",
    "trigamma",
    "whole_power",
]


@linked
def error_function(x: Any) -> Any:
    """The C library's; `vector_math.erf` is quicker where several are computed at a time."""
    return type(x)(math.erf(x))


@linked
def complementary_error_function(x: Any) -> Any:
    """The C library's; `vector_math.erfc` is quicker where several are computed at a time."""
    return type(x)(math.erfc(x))


@linked
def gamma_function(x: Any) -> Any:
    """The gamma function; as `math.gamma`, a ValueError at its poles."""
    return type(x)(math.gamma(x))


@linked
def log_gamma(x: Any) -> Any:
    """log(abs(gamma(x))); as `math.lgamma`, a ValueError at its poles."""
    return type(x)(math.lgamma(x))


@linked
def digamma(x: Any) -> Any:
    """The slope of `log_gamma`."""
    z = np.float64(x)
    shift = np.float64(0.0)
    if z == 0.0:
        return type(x)(-np.copysign(np.inf, z))
    if z < 0.0:
        if z == np.floor(z):
            return type(x)(np.nan)
        shift = -np.pi / np.tan(np.pi * (z - np.rint(z)))  # reflection: psi(1 - z) - psi(z) = pi / tan(pi z)
        z = 1.0 - z
    while z < 8.0:  # recurrence, until the asymptotic series holds to rounding
        shift -= 1.0 / z
        z += 1.0
    if z == np.inf:
        return type(x)(np.inf)
    t = 1.0 / (z * z)
    series = t * (1 / 12 - t * (1 / 120 - t * (1 / 252 - t * (1 / 240 - t * (1 / 132 - t * (691 / 32760 - t / 12))))))
    return type(x)(shift + np.log(z) - 0.5 / z - series)


@linked
def trigamma(x: Any) -> Any:
    """The slope of `digamma`."""
    z = np.float64(x)
    shift = np.float64(0.0)
    sign = np.float64(1.0)
    if z <= 0.0:
        if z == np.floor(z):
            return type(x)(np.inf)
        sine = np.sin(np.pi * (z - np.rint(z)))
        shift = (np.pi / sine) ** 2  # reflection: psi'(1 - z) + psi'(z) = (pi / sin(pi z))**2
        sign = -sign
        z = 1.0 - z
    while z < 8.0:
        shift += sign / (z * z)
        z += 1.0
    t = 1.0 / (z * z)
    series = 1 / 6 - t * (1 / 30 - t * (1 / 42 - t * (1 / 30 - t * (5 / 66 - t * (691 / 2730 - t * 7 / 6)))))
    return type(x)(shift + sign * (1.0 / z + 0.5 * t + series * t / z))


@linked
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), and 1 at 0."""
    if x == 0:
        return type(x)(1.0)
    u = type(x)(np.pi) * x
    return np.sin(u) / u


@linked
def sinc_slope(x: Any) -> Any:
    """The slope of `sinc`; near 0 by its series, where (cos(pi x) - sinc(x)) / x cancels."""
    u = np.pi * np.float64(x)
    t = u * u
    if t < 0.25:
        series = 1 - t * (1 / 10 - t * (1 / 280 - t * (1 / 15120 - t * (1 / 1330560 - t / 172972800))))
        return type(x)(-np.pi / 3 * u * series)
    return type(x)(np.pi * (np.cos(u) - np.sin(u) / u) / u)


@linked
def per_square(x: Any, y: Any) -> Any:
    """x / (x*x + y*y), by the smaller over the larger one: squares would overflow, and vanish."""
    is_larger = abs(x) >= abs(y)
    larger, smaller = (x, y) if is_larger else (y, x)
    ratio = np.divide(smaller, larger)  # nan of two zeros, in plain Python too
    return np.divide(type(x)(1.0) if is_larger else ratio, larger * (type(x)(1.0) + ratio * ratio))


@linked
def heaviside(x: Any, at_zero: Any) -> Any:
    """0 below zero, 1 above, `at_zero` at zero."""
    if x < 0:
        return type(x)(0.0)
    if x > 0:
        return type(x)(1.0)
    return at_zero if x == 0 else x


@linked
def ieee_remainder(x: Any, y: Any) -> Any:
    """x - n * y for the whole n nearest to x / y, ties to even; exact."""
    step = abs(y)
    r = np.fmod(abs(x), step + step)  # the same dtype throughout: 2 * step is float64 in Numba
    if r >= step and r - step >= step - (r - step):
        r -= step + step
    elif r > step - r:
        r -= step
    return np.copysign(type(x)(1.0), x) * r


@linked
def exponent(x: Any) -> Any:
    """The e of x = m * 2**e with m in [0.5, 1)."""
    return np.int32(math.frexp(x)[1])


@linked
def round_to(x: Any, decimals: Any) -> Any:
    """`np.round(x, decimals)`."""
    scale = type(x)(10.0 ** abs(decimals))
    if decimals >= 0:
        return np.rint(x * scale) / scale
    return np.rint(x / scale) * scale


@linked
def int_fmod(x: Any, y: Any) -> Any:
    """`np.fmod` of integers: the sign of x, and 0 where y is 0."""
    if y == 0:
        return type(x)(0)
    r = abs(x) % abs(y)
    return type(x)(-r if x < 0 else r)


@linked
def int_power(x: Any, n: Any) -> Any:
    """`x ** n` of integers; a negative n is refused, as NumPy refuses it."""
    if n < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return type(x)(x**n)


@linked
def shift_left(x: Any, n: Any) -> Any:
    """`x << n` as NumPy has it: 0 where n is not below the number of bits."""
    return type(x)(x << n) if 0 <= n < 64 else type(x)(0)


@linked
def shift_right(x: Any, n: Any) -> Any:
    """`x >> n` as NumPy has it: 0 or -1 where n is not below the number of bits."""
    if 0 <= n < 64:
        return type(x)(x >> n)
    return type(x)(-1) if x < 0 else type(x)(0)


MOST_FACTORS = 64  # of more, a product is no quicker than a power, and its rounding errors add up


@linked
def whole_power(x: Any, k: Any) -> Any:
    """x**k for a whole number k: where that is a product of few factors, in half of the C library's time."""
    exponent = np.int64(k)
    left = np.abs(exponent)
    if not 0 <= left <= MOST_FACTORS:  # the least integer is its own abs
        return type(x)(np.float64(x) ** np.float64(exponent))
    product, factor = np.float64(1.0), np.float64(x)
    while left > 0:
        if left & 1:
            product *= factor
        factor *= factor
        left >>= 1
    if exponent >= 0:
        return type(x)(product)
    if 1e-300 < abs(product) < 1e300:
        return type(x)(1.0 / product)
    return type(x)(np.float64(x) ** np.float64(exponent))
