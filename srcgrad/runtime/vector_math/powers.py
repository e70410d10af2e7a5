"""x**y = 2**(y log2(x)), with the logarithm and its product to some 13 digits more than the result has."""

from __future__ import annotations

import math

from .coefficients import EXP2, LOG2, LOG2_FIRST
from .emit import Bool, Float, fma, polynomial, select
from .exponentials import halves, whole
from .logarithms import split
from .pairs import Pair, divide, fast_two_sum, multiply, two_product


def pow(x: Float, y: Float) -> Float:
    """x**y, with C's values at the edges."""
    result = _exp2(_times(_log2(abs(x)), y))
    refused = (x < 0.0) & (x > -math.inf) & ~_is_whole(y)
    result = select(refused, x.like(math.nan), result)
    odd = _is_whole(y) & ~_is_whole(y * 0.5)
    result = result.copysign(select(odd, x, x.like(1.0)))
    return select(x.is_(1.0) | y.is_(0.0), x.like(1.0), result)  # even where the other is nan


def _log2(x: Float) -> Pair:
    """k + s (c1 + z (c3 + z (c5 + …))) with s = (m - 1) / (m + 1) and z = s*s: the first two terms as pairs."""
    k, m = split(x)
    (c1, d1), (c3, d3) = LOG2_FIRST[x.format.name]
    total = m + 1.0
    s = divide(Pair(m - 1.0, x.like(0.0)), Pair(total, m - (total - 1.0)))
    z = multiply(s, s)
    inner = fast_two_sum(x.like(c3), z.high * polynomial(z.high, LOG2))
    inner = multiply(z, Pair(inner.high, inner.low + d3))
    outer = fast_two_sum(x.like(c1), inner.high)
    part = multiply(s, Pair(outer.high, outer.low + (inner.low + d1)))
    log = fast_two_sum(k, part.high)
    high = select(x > 0.0, log.high, x.like(-math.inf))
    return Pair(select(x < math.inf, high, x), log.low + part.low)


def _times(log: Pair, y: Float) -> Pair:
    """The product.  Both y and it are cut to where the power is 0, 1 or inf in any case, which keeps inf * 0 away."""
    digits, limit = y.format.digits, 2.0 * y.format.bias
    y = abs(y).at_most(2.0 ** (digits + 12)).at_least(0.5 ** (digits + 12)).copysign(y)
    product = two_product(log.high, y)
    low = select(abs(product.high) > limit, y.like(0.0), fma(log.low, y, product.low))
    return Pair(product.high.at_most(limit).at_least(-limit), low)


def _exp2(x: Pair) -> Float:
    n, steps = whole(x.high)
    r = (x.high - n) + x.low
    first, second = halves(steps, r)
    return fma(r * first, polynomial(r, EXP2), first) * second


def _is_whole(y: Float) -> Bool:
    """Adding `big` drops the fraction; a number beyond it has none."""
    big = 2.0 ** (y.format.digits - 1)
    size = abs(y).at_most(big)
    return ((size + big) - big).is_(size)
