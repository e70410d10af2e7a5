"""arcsinh and its kin: log(1 + f), with f to more digits than the result has."""

from __future__ import annotations

import math

from .emit import Float, select
from .logarithms import log_of_sum
from .pairs import Pair, divide, exact_fma, fast_two_sum, two_product, two_sum


def arcsinh(x: Float) -> Float:
    """f = a + a*a / (1 + sqrt(1 + a*a)), where a is |x|"""
    a = abs(x).at_most(2.0**x.format.digits)
    square = a * a
    f = fast_two_sum(a, square / (1.0 + (1.0 + square).sqrt()))
    return _odd(x, _log_of_one_and(f, abs(x)))


def arccosh(x: Float) -> Float:
    """f = d + sqrt(d*(x + 1)), where d is x - 1: the root is most of it near 1, and so it is a pair"""
    a = x.at_most(2.0**x.format.digits)
    d, above = a - 1.0, two_sum(a, x.like(1.0))
    square = two_product(d, above.high)
    root = square.high.sqrt()
    rest = exact_fma(-root, root, square.high) + (square.low + d * above.low)
    f = fast_two_sum(root, d)
    low = select(root.is_(0.0), root, f.low + rest * (0.5 / root))
    return select(x >= 1.0, _log_of_one_and(Pair(f.high, low), x), x.like(math.nan))


def arctanh(x: Float) -> Float:
    """half of it, with f = 2a / (1 - a), where a is |x|"""
    a = abs(x)
    below = two_sum(x.like(1.0), -a)
    half = 0.5 * _log_of_one_and(divide(Pair(a + a, x.like(0.0)), below), x.like(0.0))
    return _odd(x, select(a.is_(1.0), x.like(math.inf), half))


def _log_of_one_and(f: Pair, large: Float) -> Float:
    """log(1 + f); log(2 large), where that is large enough to be it"""
    digits, zero = large.format.digits, large.like(0.0)
    is_large = large > 2.0**digits
    total = two_sum(large.like(1.0), f.high)
    low = select(is_large, zero, total.low + f.low)
    return log_of_sum(select(is_large, large, total.high), low, select(is_large, large.like(1.0), zero))


def _odd(x: Float, result: Float) -> Float:
    """x itself, where it is so small that no other term counts"""
    return select(abs(x) < 0.5 ** (x.format.digits // 2 + 1), x, result.copysign(x))


__all__ = ["arccosh", "arcsinh", "arctanh"]
