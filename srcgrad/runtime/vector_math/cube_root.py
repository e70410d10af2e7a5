"""cbrt: x = 8**k m with m between sqrt(1/8) and sqrt(8), a polynomial, and Newton's steps, of which none divides."""

from __future__ import annotations

import math

from .coefficients import INVERSE_CBRT
from .emit import Float, fma, polynomial, select
from .exponentials import power_of_two, whole
from .logarithms import split
from .pairs import exact_fma, two_product

CBRT2 = 2.0 ** (1 / 3)


def cbrt(x: Float) -> Float:
    """The cube root."""
    size = abs(x)
    exponent, m = split(size)
    k, steps = whole(exponent, 1 / 3)
    left = fma(k, -3.0, exponent)  # -1, 0 or 1
    inverse = polynomial(m - 1.0, INVERSE_CBRT)
    inverse = select(left < 0.0, inverse * CBRT2, select(left > 0.0, inverse * (1 / CBRT2), inverse))
    m = select(left < 0.0, m * 0.5, select(left > 0.0, m * 2.0, m))
    inverse = fma(inverse * (1 / 3), fma(-(m * inverse), inverse * inverse, 1.0), inverse)
    square = inverse * inverse
    root = m * square
    power = two_product(root, root)
    rest = fma(-root, power.low, exact_fma(-root, power.high, m))
    result = fma(rest, square * (1 / 3), root) * power_of_two(steps, x)
    return select((size > 0.0) & (size < math.inf), result.copysign(x), x)
