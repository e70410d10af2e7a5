"""Unevaluated sums high + low, for steps that need more than the digits of the type.

two_sum(1.0, 1e-20)   →   (1.0, 1e-20)
"""

from __future__ import annotations

from typing import NamedTuple

from .emit import Float, fma


class Pair(NamedTuple):
    """high + low, with low below the last digit of high."""

    high: Float
    low: Float


def two_sum(x: Float, y: Float) -> Pair:
    """x + y, exactly."""
    total = x + y
    part = total - x
    return Pair(total, (x - (total - part)) + (y - part))


def fast_two_sum(x: Float, y: Float) -> Pair:
    """x + y, exactly where x is the larger one, or 0."""
    total = x + y
    return Pair(total, y - (total - x))


def two_product(x: Float, y: Float) -> Pair:
    """x * y, exactly, while nothing over- or underflows."""
    product = x * y
    if x.code.has_fma:
        return Pair(product, fma(x, y, -product))
    (a, b), (c, d) = _halves(x), _halves(y)
    return Pair(product, ((a * c - product) + a * d + b * c) + b * d)


def _halves(x: Float) -> Pair:
    """Two numbers of half the digits."""
    big = x * (2.0 ** ((x.format.digits + 1) // 2) + 1.0)
    high = big - (big - x)
    return Pair(high, x - high)


def multiply(x: Pair, y: Pair) -> Pair:
    """x * y, to nearly twice the digits."""
    product = two_product(x.high, y.high)
    return Pair(product.high, fma(x.high, y.low, fma(x.low, y.high, product.low)))


def quotient(x: Pair, y: Pair) -> Float:
    """x / y, by one division: within about half a unit in the last place."""
    high, low = divide(x, y)
    return high + low


def divide(x: Pair, y: Pair) -> Pair:
    """x / y, to nearly twice the digits."""
    inverse = 1.0 / y.high
    guess = x.high * inverse
    rest = fma(-guess, y.low, exact_fma(-guess, y.high, x.high) + x.low)
    return Pair(guess, rest * inverse)


def exact_fma(x: Float, y: Float, z: Float) -> Float:
    """x * y + z where z nearly cancels the product: exact, with or without hardware for it."""
    if x.code.has_fma:
        return fma(x, y, z)
    product = two_product(x, y)
    return (z + product.high) + product.low
