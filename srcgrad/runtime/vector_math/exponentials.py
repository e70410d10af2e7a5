"""exp and its kin: x = n log(2) + r with |r| <= log(2) / 2, a polynomial in r, and n put into the exponent."""

from __future__ import annotations

from .coefficients import EXP, EXP2, EXPM1, INVERSE_LN2, LN2
from .emit import Float, Int, fma, polynomial, select


def exp(x: Float) -> Float:
    """e**x"""
    steps, r, _ = _reduce(_clamp(x, LN2[x.format.name][0]))
    return scale(1.0 + fma(r * r, polynomial(r, EXP), r), steps)


def exp2(x: Float) -> Float:
    """2**x"""
    x = _clamp(x, 1.0)
    n, steps = whole(x)
    r = x - n
    return scale(fma(r, polynomial(r, EXP2), 1.0), steps)


def expm1(x: Float) -> Float:
    """e**x - 1, accurate near 0."""
    low = -(x.format.digits + 3) * 0.7
    high = (x.format.bias + 1) * 0.6932
    steps, r, lost = _reduce(x.at_most(high).at_least(low))
    power = _power(steps - 1, x)
    part = r + fma(r * r, polynomial(r, EXPM1), lost)
    grown = fma(power, part, power - 0.5) * 2.0
    tiny = 0.5 ** (x.format.digits + 1)
    return select(abs(x) < tiny, x, grown)


def _clamp(x: Float, unit: float) -> Float:
    """Beyond these bounds the result is 0, or inf."""
    lowest = -(x.format.bias + x.format.digits + 1) * unit
    return x.at_most((x.format.bias + 2) * unit).at_least(lowest)


def _reduce(x: Float) -> tuple[Int, Float, Float]:
    """n as `whole` has it, r = x - n log(2), and what was lost when r was rounded."""
    high, low = LN2[x.format.name]
    n, steps = whole(x, INVERSE_LN2[x.format.name][0])
    first = fma(-n, high, x)
    r = fma(-n, low, first)
    return steps, r, fma(-n, low, first - r)


def whole(x: Float, factor: float = 1.0) -> tuple[Float, Int]:
    """The whole number n nearest to x * factor, and bits whose lowest ones are n plus twice the bias."""
    magic = x.format.magic + 2 * x.format.bias
    shifted = fma(x, factor, magic)
    return shifted - magic, shifted.bits()


def scale(x: Float, steps: Int) -> Float:
    """x * 2**n, rounded once: in two steps, since 2**n itself may be out of range."""
    half = steps >> 1
    place = x.format.digits - 1
    return x * (half << place).as_float() * ((steps - half) << place).as_float()


def _power(steps: Int, x: Float) -> Float:
    """2**n, while it is in range."""
    return ((steps - x.format.bias) << (x.format.digits - 1)).as_float()
