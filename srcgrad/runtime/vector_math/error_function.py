"""erf(x) = -expm1(-w): w = -log(erfc(x)) is smooth, one polynomial from 0 to where erf(x) is 1.

erfc(x) = exp(-x*x) * g / (1 + 2x): g hardly changes, one polynomial in (x - 3) / (x + 3) from 0 to where erfc(x) is 0.
"""

from __future__ import annotations

from .coefficients import ERF, ERF_FIRST, ERFC, ERFC_FIRST
from .emit import Float, fma, polynomial, select
from .exponentials import exp_pair, expm1_pair
from .pairs import Pair, divide, fast_two_sum, two_product, two_sum


def erf(x: Float) -> Float:
    """The error function."""
    size = abs(x).at_most(6.0)
    ((slope, correction),) = ERF_FIRST[x.format.name]
    start = two_product(size, x.like(slope))
    w = fast_two_sum(start.high, size * fma(size, polynomial(size, ERF), correction))
    result = expm1_pair(Pair(-w.high, -(w.low + start.low)))
    return (-(result.high + result.low)).copysign(x)


def erfc(x: Float) -> Float:
    """1 - erf(x), accurate for large x."""
    size = abs(x).at_most(ERFC_END[x.format.name])
    square = two_product(size, size)
    power = exp_pair(Pair(-square.high, -square.low))
    t = fma(size / (size + 3.0), 2.0, -1.0)
    ((first, correction),) = ERFC_FIRST[x.format.name]
    g = fast_two_sum(x.like(first), fma(t, polynomial(t, ERFC), correction))
    result = power.times(divide(g, two_sum(x.like(1.0), size + size)))
    return select(x < 0.0, 2.0 - result, result)


ERFC_END = {"float64": 28.0, "float32": 11.0}
