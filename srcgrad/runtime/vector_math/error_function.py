"""erf(x) = -expm1(-w): w = -log(erfc(x)) is smooth, one polynomial from 0 to where erf(x) is 1."""

from __future__ import annotations

from .coefficients import ERF, ERF_FIRST
from .emit import Float, fma, polynomial
from .exponentials import expm1_pair
from .pairs import Pair, fast_two_sum, two_product


def erf(x: Float) -> Float:
    """The error function."""
    size = abs(x).at_most(6.0)
    ((slope, correction),) = ERF_FIRST[x.format.name]
    start = two_product(size, x.like(slope))
    w = fast_two_sum(start.high, size * fma(size, polynomial(size, ERF), correction))
    result = expm1_pair(Pair(-w.high, -(w.low + start.low)))
    return (-(result.high + result.low)).copysign(x)
