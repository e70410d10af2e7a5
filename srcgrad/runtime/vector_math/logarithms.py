"""log and its kin: x = 2**k m with m between sqrt(1/2) and sqrt(2), and a polynomial in s = (m - 1) / (m + 1)."""

from __future__ import annotations

import math
from collections.abc import Callable

from .coefficients import INVERSE_LN2, INVERSE_LN10, LN2, LOG, LOG10_2
from .emit import Float, Int, fma, polynomial, select
from .exponentials import Power, exp2_pair, exp_pair
from .pairs import Pair, fast_two_sum, two_product, two_sum


def log(x: Float) -> Float:
    """The natural logarithm."""
    k, m = split(x)
    high, low = LN2[x.format.name]
    f = m - 1.0
    half, rest = _tail(f)
    return _at_the_edges(x, fma(k, high, f - (half - fma(k, low, rest))))


def log2(x: Float) -> Float:
    """The logarithm to base 2."""
    k, m = split(x)
    return _at_the_edges(x, _scaled(Pair(m - 1.0, x.like(0.0)), INVERSE_LN2, k, x.like(0.0)))


def log10(x: Float) -> Float:
    """The logarithm to base 10."""
    k, m = split(x)
    high, low = LOG10_2[x.format.name]
    return _at_the_edges(x, _scaled(Pair(m - 1.0, x.like(0.0)), INVERSE_LN10, k * high, k * low))


def log1p(x: Float) -> Float:
    """log(1 + x), accurate near 0."""
    total, lost = two_sum(x.like(1.0), x.at_most(2.0 ** (x.format.digits + 2)))
    y = select(x > 2.0**x.format.digits, x, total)
    return select(abs(x) < 0.5 ** (x.format.digits + 1), x, log_of_sum(y, lost))


def log_of_sum(x: Float, lost: Float, doublings: Float | None = None) -> Float:
    """log(2**doublings * (x + lost)), for what was lost when x was rounded."""
    k, m, power = _split_normal(x)
    k = k if doublings is None else k + doublings
    high, low = LN2[x.format.name]
    f = fast_two_sum(m - 1.0, lost * 0.5 * power)
    half, rest = _tail(f.high)
    return _at_the_edges(x, fma(k, high, f.high - (half - (fma(k, low, f.low) + rest))))


def logaddexp(x: Float, y: Float) -> Float:
    """log(e**x + e**y)"""
    k, f, larger = _ratio(x, y, exp_pair)
    high, low = LN2[x.format.name]
    half, rest = _tail(f.high)
    grown = fma(k, high, f.high - (half - (fma(k, low, f.low) + rest)))
    return select(x.is_(y), x + (high + low), larger + grown)  # inf and inf: their difference is nan


def logaddexp2(x: Float, y: Float) -> Float:
    """log2(2**x + 2**y)"""
    k, f, larger = _ratio(x, y, exp2_pair)
    return select(x.is_(y), x + 1.0, larger + _scaled(f, INVERSE_LN2, k, x.like(0.0)))


def _ratio(x: Float, y: Float, power: Callable[[Pair], Power]) -> tuple[Float, Pair, Float]:
    """k, f and the larger of the two, with 2**k (1 + f) = 1 + the smaller power / the larger one, of which nothing is
    lost: where the result is small beside x and y, it hangs on the last digits of x - y."""
    gap, lost = two_sum(x, -y)
    lost = select(abs(gap) < 2.0 * x.format.bias, select(gap > 0.0, -lost, lost), x.like(0.0))  # not inf - inf
    ratio = power(Pair(-abs(gap), lost)).pair()
    big = ratio.high > math.sqrt(2.0) - 1.0
    less = fast_two_sum(x.like(-1.0), ratio.high)
    high = select(big, 0.5 * less.high, ratio.high)
    low = select(big, 0.5 * (less.low + ratio.low), ratio.low)
    return select(big, x.like(1.0), x.like(0.0)), Pair(high, low), select(x > y, x, y)


def _tail(f: Float) -> tuple[Float, Float]:
    """log(1 + f) = f - (half - rest): f itself is exact, and what is taken from it small."""
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    return half, s * fma(z, polynomial(z, LOG), half)


def _scaled(f: Pair, factors: dict[str, tuple[float, float]], high: Float, low: Float) -> Float:
    """high + low + log(1 + f) * factor, rounded about once."""
    factor, correction = factors[high.format.name]
    _, rest = _tail(f.high)
    square = two_product(f.high, f.high)
    a = fast_two_sum(f.high, -0.5 * square.high)
    tail = a.low + (f.low + (rest - 0.5 * square.low))
    b = two_product(a.high, high.like(factor))
    c = two_sum(high, b.high)
    return c.high + (c.low + (b.low + fma(tail, factor, fma(a.high, correction, low))))


def _at_the_edges(x: Float, result: Float) -> Float:
    special = select(x.is_(0.0), x.like(-math.inf), x.like(math.nan))
    return select(x > 0.0, select(x < math.inf, result, x), special)


def split(x: Float) -> tuple[Float, Float]:
    """k and m of x = 2**k * m, for positive x; a subnormal x too."""
    digits = x.format.digits
    small = x < x.format.smallest_normal
    k, m, _ = _split_normal(select(small, x * 2.0**digits, x))
    return select(small, k - digits, k), m


def _split_normal(x: Float) -> tuple[Float, Float, Float]:
    """k, m and 2**(1 - k), which is never out of range."""
    place = x.format.digits - 1
    root = x.format.bits_of(math.sqrt(0.5))
    one = x.format.bits_of(1.0)
    moved = x.bits() + (one - root)  # its exponent is that of x / sqrt(1/2)
    exponent = moved >> place
    m = ((moved & ((1 << place) - 1)) + root).as_float()
    power = (2 * x.format.bias + 1 - exponent) << place
    return _as_number(exponent, x) - x.format.bias, m, power.as_float()


def _as_number(n: Int, x: Float) -> Float:
    """A whole number below 2**(digits - 1), from its bits."""
    big = 2.0 ** (x.format.digits - 1)
    return (n | x.format.bits_of(big)).as_float() - big
