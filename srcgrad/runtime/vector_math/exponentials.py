"""exp and its kin: x = n log(2) + r with |r| <= log(2) / 2, a polynomial in r, and n put into the exponent."""

from __future__ import annotations

from typing import NamedTuple

from .coefficients import COSH, EXP, EXP2, EXPM1, INVERSE_LN2, LN2, SINH
from .emit import Float, Int, fma, polynomial, select
from .pairs import Pair, fast_two_sum, multiply, quotient


def exp(x: Float) -> Float:
    """e**x"""
    steps, r, _ = _reduce(_clamp(x, LN2[x.format.name][0]))
    first, second = halves(steps, x)
    return fma(fma(r * r, polynomial(r, EXP), r), first, first) * second


def exp2(x: Float) -> Float:
    """2**x"""
    x = _clamp(x, 1.0)
    n, steps = whole(x)
    r = x - n
    first, second = halves(steps, x)
    return fma(r * first, polynomial(r, EXP2), first) * second


def expm1(x: Float) -> Float:
    """e**x - 1, accurate near 0."""
    low = -(x.format.digits + 3) * 0.7
    high = (x.format.bias + 1) * 0.6932
    steps, r, lost = _reduce(x.at_most(high).at_least(low))
    power = power_of_two(steps - 1, x)
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


def halves(steps: Int, x: Float) -> tuple[Float, Float]:
    """Two powers whose product is 2**n, which itself may be out of range: only the second multiplication rounds."""
    half = steps >> 1
    place = x.format.digits - 1
    return (half << place).as_float(), ((steps - half) << place).as_float()


def power_of_two(steps: Int, x: Float) -> Float:
    """2**n, while it is in range."""
    return ((steps - x.format.bias) << (x.format.digits - 1)).as_float()


class Power(NamedTuple):
    """mantissa * first * second: the first multiplication is exact, only the second one can leave the range."""

    mantissa: Pair
    first: Float
    second: Float

    def times(self, x: Pair) -> Float:
        """Rounded once, where the result is subnormal too."""
        product = multiply(self.mantissa, x)
        return (product.high + product.low) * self.first * self.second

    def pair(self) -> Pair:
        return Pair(self.mantissa.high * self.first * self.second, self.mantissa.low * self.first * self.second)


def exp_pair(x: Pair) -> Power:
    """e**x, to a few more digits; in the instructions of `exp` where it can be, so that LLVM has them once."""
    steps, r, lost = _reduce(_clamp(x.high, LN2[x.high.format.name][0]))
    start = fast_two_sum(r.like(1.0), r)
    rounded = fast_two_sum(start.high, fma(r * r, polynomial(r, EXP), start.low))
    return Power(_grown(rounded, lost + x.low), *halves(steps, r))


def exp2_pair(x: Pair) -> Power:
    """2**x, likewise."""
    high = _clamp(x.high, 1.0)
    n, steps = whole(high)
    r = high - n
    rounded = fast_two_sum(r.like(1.0), r * polynomial(r, EXP2))
    return Power(_grown(rounded, x.low * LN2[r.format.name][0]), *halves(steps, r))


def _grown(x: Pair, rate: Float) -> Pair:
    """x * e**rate, for a rate below the last digit of whatever it was the rest of."""
    return fast_two_sum(x.high, fma(x.high, rate, x.low))


def tanh(x: Float) -> Float:
    """-e / (e + 2) with e = expm1(-2|x|), which is never large."""
    size = (abs(x) * 2.0).at_most(0.8 * x.format.digits)
    e = expm1_pair(Pair(-size, x.like(0.0)))
    below = fast_two_sum(x.like(2.0), e.high)
    result = quotient(Pair(-e.high, -e.low), Pair(below.high, below.low + e.low))
    return select(abs(x) < 0.5 ** (x.format.digits // 2 + 1), x, result.copysign(x))


def expm1_pair(x: Pair) -> Pair:
    """e**x - 1 for x between -log(2) * digits and 1 or so, to a few more digits."""
    steps, r, lost = _reduce(x.high)
    power = power_of_two(steps, r)
    base = fast_two_sum(x.high.like(-1.0), power)
    high = fast_two_sum(base.high, power * r)
    rest = fma(r * r, polynomial(r, EXPM1), lost + x.low)
    return fast_two_sum(high.high, fma(power, rest, base.low + high.low))


def sinh(x: Float) -> Float:
    """(a - b) cosh(r) + (a + b) sinh(r), with a = 2**n / 2 and b = 2**-n / 2."""
    (growing, shrinking), (cosine, sine, r) = _hyperbolic(abs(x))
    difference, total = growing - shrinking, growing + shrinking
    high = fma(total, r, difference)
    rest = fma(total, r, difference - high)
    result = high + fma(total, sine, fma(difference, cosine, rest))
    return select(abs(x) < 0.5 ** (x.format.digits // 2 + 1), x, (result + result).copysign(x))


def cosh(x: Float) -> Float:
    """a e**r + b e**-r: a + b would lose digits."""
    (growing, shrinking), (cosine, sine, r) = _hyperbolic(abs(x))
    rising, falling = r + (cosine + sine), (cosine - sine) - r
    result = growing + fma(growing, rising, fma(shrinking, falling, shrinking))
    return result + result


def _hyperbolic(x: Float) -> tuple[tuple[Float, Float], tuple[Float, Float, Float]]:
    """a and b, halved against overflow; cosh(r) - 1, sinh(r) - r and r."""
    steps, r, lost = _reduce(x.at_most((x.format.bias + 2.3) * LN2[x.format.name][0]))
    few, _ = whole(x.at_most(x.format.digits), INVERSE_LN2[x.format.name][0])
    bias = (x.format.magic + 2 * x.format.bias - few).bits()
    z = r * r
    cosine = fma(z * z, polynomial(z, COSH), 0.5 * z)
    sine = fma(r * z, polynomial(z, SINH), lost)
    return (power_of_two(steps - 2, x), power_of_two(bias - 2, x)), (cosine, sine, r)
