"""x**y = 2**(y log2(x)), with the logarithm and its product to some 13 digits more than the result has."""

from __future__ import annotations

import math

from .coefficients import EXP2, LOG2, LOG2_FIRST
from .emit import Bool, Float, fma, polynomial, select
from .exponentials import scale, whole
from .logarithms import split
from .pairs import Pair, add, divide, fast_two_sum, multiply, two_product, two_sum


def pow(x: Float, y: Float) -> Float:
    """x**y, with C's values at the edges."""
    size = abs(x)
    result = _exp2(_times(_log2(size), y))
    result = select(size.is_(0.0) | size.is_(math.inf), _at_the_ends(size, y), result)
    result = select(x < 0.0, select(_is_whole(y), result, x.like(math.nan)), result)
    result = select(x.is_(-math.inf), _at_the_ends(size, y), result)
    result = select(_is_whole(y) & ~_is_whole(y * 0.5), result.copysign(x), result)
    result = select(size.is_nan() | y.is_nan(), x + y, result)
    return select(x.is_(1.0) | y.is_(0.0), x.like(1.0), result)


def _log2(x: Float) -> Pair:
    """k + s (c1 + z (c3 + z (c5 + …))) with s = (m - 1) / (m + 1) and z = s*s: the first two terms as pairs."""
    k, m = split(x)
    (c1, d1), (c3, d3) = LOG2_FIRST[x.format.name]
    s = fast_two_sum(*divide(Pair(m - 1.0, x.like(0.0)), two_sum(m, x.like(1.0))))
    z = multiply(s, s)
    tail = z.high * polynomial(z.high, LOG2)
    inner = add(Pair(x.like(c3), x.like(d3)), Pair(tail, x.like(0.0)))
    outer = add(Pair(x.like(c1), x.like(d1)), multiply(z, inner))
    part = multiply(s, outer)
    total = two_sum(k, part.high)
    return fast_two_sum(total.high, total.low + part.low)


def _times(log: Pair, y: Float) -> Pair:
    """The product, cut to where 2 to its power is 0 or inf in any case."""
    bound = 2.0 ** (x_digits := log.high.format.digits + 12)
    assert x_digits < log.high.format.bias
    y = y.at_most(bound).at_least(-bound)
    product = two_product(log.high, y)
    limit = 2.0 * log.high.format.bias
    far = abs(product.high) > limit
    low = select(far, y.like(0.0), fma(log.low, y, product.low))
    return fast_two_sum(product.high.at_most(limit).at_least(-limit), low)


def _exp2(x: Pair) -> Float:
    n, steps = whole(x.high)
    r = (x.high - n) + x.low
    return scale(fma(r, polynomial(r, EXP2), 1.0), steps)


def _at_the_ends(size: Float, y: Float) -> Float:
    """0**y and inf**y."""
    grows = (y > 0.0) & size.is_(math.inf) | (y < 0.0) & size.is_(0.0)
    return select(grows, size.like(math.inf), size.like(0.0))


def _is_whole(y: Float) -> Bool:
    return y.trunc().is_(y)
