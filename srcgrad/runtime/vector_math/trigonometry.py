"""sin, cos and tan: x = n pi / 2 + r with |r| <= pi / 4, polynomials in r, and the quadrant from n.

Up to LIMIT by Cody and Waite: n pi / 2 is taken off in parts.  Beyond, n has too many digits for that, and nearly
nobody asks: there, one number at a time, by Payne and Hanek, who multiply by those digits of 2 / pi that count.
"""

from __future__ import annotations

import math
from functools import cache

from llvmlite import ir

from .coefficients import ARCTAN, COS, HALF_PI, SIN, THREE_QUARTERS_PI
from .emit import Bool, Float, Int, fma, polynomial, select
from .pairs import Pair, divide, exact_fma, fast_two_sum, multiply, two_product, two_sum

LIMIT = {"float64": 2.0**40, "float32": 2.0**15}


def sin(x: Float) -> Float:
    return _sin(x, *_near(x))


def sin_far(x: Float) -> Float:
    return _sin(x, *_far(x))


def _sin(x: Float, quadrant: Int, r: Pair) -> Float:
    turned = _is_odd(quadrant)
    result = _signed(select(turned, _sum(_cosine(r)), _sum(_sine(r))), quadrant)
    return select(abs(x) < x.format.smallest_normal, x, result)  # -0 too


def cos(x: Float) -> Float:
    return _cos(x, *_near(x))


def cos_far(x: Float) -> Float:
    return _cos(x, *_far(x))


def _cos(x: Float, quadrant: Int, r: Pair) -> Float:
    turned = _is_odd(quadrant)
    return _signed(select(turned, _sum(_sine(r)), _sum(_cosine(r))), quadrant + 1)


def tan(x: Float) -> Float:
    return _tan(x, *_near(x))


def tan_far(x: Float) -> Float:
    return _tan(x, *_far(x))


def _tan(x: Float, quadrant: Int, r: Pair) -> Float:
    turned = _is_odd(quadrant)
    sine, cosine = fast_two_sum(*_sine(r)), fast_two_sum(*_cosine(r))
    above = Pair(select(turned, -cosine.high, sine.high), select(turned, -cosine.low, sine.low))
    below = Pair(select(turned, sine.high, cosine.high), select(turned, sine.low, cosine.low))
    return select(abs(x) < x.format.smallest_normal, x, _sum(divide(above, below)))


def arctan(x: Float) -> Float:
    """|x| is moved to within tan(pi / 8) of 0, by a rotation of pi / 4 or pi / 2."""
    half_pi = HALF_PI[x.format.name]
    size = abs(x).at_most(2.0 ** (x.format.digits + 4))  # inf would leave nan in `rest`
    middle, far = size > 0.4142135623730950488, size > 2.4142135623730950488
    zero = x.like(0.0)
    above = select(far, x.like(-1.0), select(middle, size - 1.0, size))
    below = select(far, size, select(middle, size + 1.0, x.like(1.0)))
    high = select(far, x.like(half_pi[0]), select(middle, x.like(half_pi[0] / 2), zero))
    low = select(far, x.like(half_pi[1]), select(middle, x.like(half_pi[1] / 2), zero))
    lost = select(middle & ~far, size - (below - 1.0), zero)
    t, rest = divide(Pair(above, zero), Pair(below, lost))
    z = t * t
    total = fast_two_sum(high, t)
    tail = fma(t * z, polynomial(z, ARCTAN), low + rest)
    angle = select(size < x.format.smallest_normal, size, total.high + (total.low + tail))
    return angle.copysign(x)


def arctan2(y: Float, x: Float) -> Float:
    a, b, one = abs(y), abs(x), x.like(1.0)
    larger, some = select(a > b, a, b), x.format.bias // 2
    scale = select(larger > 2.0 ** (some + some // 2), x.like(2.0 ** (-some // 2)), one)
    scale = select(larger < 2.0**-some, x.like(2.0**some), scale)
    is_infinite = a.is_(math.inf) | b.is_(math.inf)
    a, b = (select(is_infinite, select(size.is_(math.inf), one, size * 0.0), size * scale) for size in (a, b))
    return _angle(a, select(larger.is_(0.0), one, b), _is_negative(x), x.like(0.0)).copysign(y)


def arcsin(x: Float) -> Float:
    """The angle of (sqrt(1 - x*x), x), which is as far from (0, 0) as 1."""
    root, rest = _other_side(x)
    return _angle(abs(x), root, root < 0.0, -(abs(x) * rest)).copysign(x)


def arccos(x: Float) -> Float:
    root, rest = _other_side(x)
    return _angle(root, abs(x), _is_negative(x), x * rest)


def _other_side(x: Float) -> Pair:
    """sqrt(1 - x*x)"""
    square = two_product(x, x)
    total = two_sum(x.like(1.0), -square.high)
    root = total.high.sqrt()
    rest = exact_fma(-root, root, total.high) + (total.low - square.low)
    return Pair(root, select(root.is_(0.0), root, rest * (0.5 / root)))


def _angle(a: Float, b: Float, backwards: Bool, more: Float) -> Float:
    """arctan(a / b) + more, of two numbers that are not negative; `backwards`: pi less that."""
    half_pi, three_quarters, zero = HALF_PI[a.format.name], THREE_QUARTERS_PI[a.format.name], a.like(0.0)
    middle, far = a > b * 0.4142135623730950488, a > b * 2.4142135623730950488
    difference, total = two_sum(a, -b), two_sum(a, b)
    above = Pair(select(far, -b, select(middle, difference.high, a)), select(middle & ~far, difference.low, zero))
    below = Pair(select(far, a, select(middle, total.high, b)), select(middle & ~far, total.low, zero))
    above = Pair(select(backwards, -above.high, above.high), select(backwards, -above.low, above.low))

    def turned(part: int) -> Float:
        right = select(middle, a.like(half_pi[part] / 2), zero)
        left = select(middle, a.like(three_quarters[part]), a.like(half_pi[part] * 2))
        return select(far, a.like(half_pi[part]), select(backwards, left, right))

    t, rest = divide(above, below)
    z = t * t
    angle = fast_two_sum(turned(0), t)
    tail = fma(t * z, polynomial(z, ARCTAN), turned(1) + (rest + more))
    return angle.high + (angle.low + tail)


def _near(x: Float) -> tuple[Int, Pair]:
    """n, whose lowest bits count, and r: right to the last place even where x is next to a multiple of pi / 2."""
    first, second, third, _ = HALF_PI[x.format.name]
    shifted = fma(x, 0.6366197723675814, x.format.magic)
    n = shifted - x.format.magic
    r = exact_fma(-n, x.like(first), x)
    product = two_product(n, x.like(second))
    r, low = two_sum(r, -product.high)
    return shifted.bits(), fast_two_sum(r, fma(-n, third, low - product.low))


def _far(x: Float) -> tuple[Int, Pair]:
    """As `_near`.  An integer m and an exponent: m times WINDOW binary digits of 2 / pi, without multiples of 4."""
    digits, whole, fraction = x.format.digits, WINDOW, WINDOW - 2
    bits = abs(x).bits()
    mantissa = (bits & ((1 << digits - 1) - 1)) | (1 << digits - 1)
    exponent = (bits >> (digits - 1)) - (x.format.bias + digits - 1)
    turns = _two_over_pi(FAR_DIGITS - fraction - exponent) * mantissa.resize(whole)  # in units of 2**-fraction
    quadrant = (turns + (1 << fraction - 1)) >> fraction
    rest = turns - (quadrant << fraction)
    negative = (rest >> (whole - 1)).is_(1)
    rest = select(negative, 0 - rest, rest)
    zeros = rest.leading_zeros()
    rest = rest << zeros
    unit = ((x.format.bias + 2 - digits - zeros.resize(x.format.width)) << (digits - 1)).as_float()
    high = (rest >> (whole - digits)).resize(x.format.width).to_float() * unit
    low = ((rest << digits) >> (whole - digits)).resize(x.format.width).to_float() * (unit * 0.5**digits)
    first, second, *_ = HALF_PI[x.format.name]
    r = fast_two_sum(*multiply(Pair(high, low), Pair(x.like(first), x.like(second))))
    downwards = x < 0.0
    quadrant = select(downwards, 0 - quadrant, quadrant).resize(x.format.width)
    sign = select(negative, x.like(-1.0), x.like(1.0)) * select(downwards, x.like(-1.0), x.like(1.0))
    sign = select(abs(x).is_(math.inf), x.like(math.nan), sign)
    return quadrant, Pair(r.high * sign, r.low * sign)


WINDOW = 192  # 2 before the point, 53 that are lost, 61 by which r may be small, 53 that remain, and some more
FAR_DIGITS = 1168


def _two_over_pi(position: Int) -> Int:
    """WINDOW binary digits of 2 / pi, from that position (counted from the end) upwards."""
    builder = position.code.builder
    table = _digits_of_two_over_pi().to_bytes(FAR_DIGITS // 8 + WINDOW // 8, "little")
    kind = ir.ArrayType(ir.IntType(8), len(table))
    constant = ir.GlobalVariable(builder.module, kind, builder.module.get_unique_name("two_over_pi"))
    constant.global_constant, constant.linkage = True, "private"
    constant.initializer = ir.Constant(kind, bytearray(table))
    index = [ir.IntType(32)(0), (position >> 3).ref]
    wide = builder.bitcast(builder.gep(constant, index), ir.IntType(WINDOW + 64).as_pointer())
    loaded = Int(position.code, builder.load(wide, align=1))
    return (loaded >> (position & 7).resize(WINDOW + 64)).resize(WINDOW)


@cache
def _digits_of_two_over_pi() -> int:
    """2 / pi times 2**FAR_DIGITS: pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    one = 1 << (FAR_DIGITS + 64)

    def arctan_of_inverse(n: int) -> int:
        total, power, k = 0, one // n, 0
        while power:
            total += (-1) ** k * (power // (2 * k + 1))
            power //= n * n
            k += 1
        return total

    pi = 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)
    return (2 * one << FAR_DIGITS) // pi


def _sine(r: Pair) -> tuple[Float, Float]:
    z = r.high * r.high
    return r.high, fma(r.high * z, polynomial(z, SIN), r.low)


def _cosine(r: Pair) -> tuple[Float, Float]:
    z = r.high * r.high
    half = 0.5 * z
    high = 1.0 - half
    return high, ((1.0 - high) - half) + fma(z * z, polynomial(z, COS), -(r.high * r.low))


def _sum(parts: tuple[Float, Float]) -> Float:
    return parts[0] + parts[1]


def _is_negative(x: Float) -> Bool:
    """-0 too."""
    return (x.bits() >> (x.format.width - 1)).is_(1)


def _is_odd(quadrant: Int) -> Bool:
    return (quadrant & 1).is_(1)


def _signed(x: Float, quadrant: Int) -> Float:
    """Negative in the third and fourth quadrant."""
    sign = (quadrant << (x.format.width - 2)) & (1 << (x.format.width - 1))
    return (x.bits() ^ sign).as_float()
