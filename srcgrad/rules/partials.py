"""Partials that need more than a line: those of choices, powers, logarithms, and of complex numbers.

A partial is ordinary Python on IR expressions; `out` is the primitive's own result.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from ..ir.expressions import BOOL, INT64, Call, Const, Expr, Old, both, call, compare, complex_of, less, part_of, select

Partial = Callable[..., Any]  # (*operands, out) -> Expr, or a bare number; or an `Adjoint`
NAN = math.nan


def UNKNOWN(*operands: Expr) -> Any:
    """The partial that nobody has written: `find_active` sees that nobody asks for it."""
    raise AssertionError(operands)


def number(value: float, like: Expr) -> Const:
    """A constant of another expression's dtype."""
    return Const(value if like.dtype.kind == "c" else float(value), like.dtype)


def pick(condition: Expr, x: Any, y: Any) -> Expr:
    """`select`, where both sides may be bare numbers: they take the dtype of what the condition compares."""
    like = condition.args[0]  # type: ignore[attr-defined]
    return select(condition, *(side if isinstance(side, Expr) else number(side, like) for side in (x, y)))


def winner(x: Expr, y: Expr, wins: Callable[[Expr, Expr], Expr]) -> Expr:
    """The share of x in a choice between x and y: all, nothing, or half of a tie."""
    return pick(wins(x, y), 1.0, pick(compare("eq", x, y), 0.5, 0.0))


def unless_loses(x: Expr, y: Expr, wins: Callable[[Expr, Expr], Expr]) -> Expr:
    """As `winner`, but x keeps its share where the two can't be compared (nan)."""
    return pick(wins(y, x), 0.0, pick(compare("eq", x, y), 0.5, 1.0))


def greater(x: Any, y: Any) -> Expr:
    return less(y, x)


def choice(wins: Callable[[Expr, Expr], Expr]) -> tuple[Partial, Partial]:
    """np.maximum, np.minimum: nan wins, whoever brings it."""
    return (lambda x, y, out: unless_loses(x, y, wins)), (lambda x, y, out: unless_loses(y, x, wins))


def python_choice(wins: Callable[[Expr, Expr], Expr]) -> tuple[Partial, Partial]:
    """Python's max, min: the first stays unless the second beats it."""
    return (lambda x, y, out: unless_loses(x, y, wins)), (lambda x, y, out: winner(y, x, wins))


def number_choice() -> tuple[Partial, Partial]:
    """np.fmax, np.fmin: a nan never wins; who won can be read off the result."""

    def share(x: Expr, y: Expr, out: Expr) -> Expr:
        return pick(compare("ne", x, out), 0.0, pick(compare("eq", y, out), 0.5, 1.0))

    return share, lambda x, y, out: share(y, x, out)


def pow_base(x: Expr, y: Expr, out: Expr) -> Expr:
    """y * x**(y - 1), in the simplest form of a constant y; 0 for x**0, at x = 0 too."""
    if not isinstance(y, Const):
        nothing = both(compare("eq", y, 0.0), compare("eq", x, 0.0))  # x**0 has a slope by y that depends on x
        return select(nothing, number(0.0, x), y * call("pow", x, less_one(y)))
    match whole_or_real(y):
        case 0.0:
            return number(0.0, x)
        case 1.0:
            return number(1.0, x)
        case 2.0:
            return 2.0 * x
        case 3.0:
            return 3.0 * (x * x)
        case 0.5:
            return 0.5 / out
        case -1.0:
            return -(out * out)
        case exponent:
            return exponent * call("pow", x, exponent - 1.0)


def less_one(exponent: Expr) -> Expr:
    """exponent - 1, a whole number where the exponent is one."""
    match exponent:
        case Call(op="cast", args=(Expr(dtype=dtype) as k,)) if dtype == INT64:
            return Call("cast", (k - 1,), exponent.dtype)
        case Old(expr=Call(op="cast") as inner, at=at):  # as the forward part had it
            return Old(less_one(inner), at)
    return exponent - 1.0


def whole_or_real(x: Const) -> Any:
    """The number that a constant is, without an imaginary part that is zero."""
    is_real = not isinstance(x.value, complex) or x.value.imag == 0
    return float(x.value.real) if is_real else x.value


def pow_exponent(x: Expr, y: Expr, out: Expr) -> Expr:
    """log(x) * out; 0 at x = 0, where the power itself stays 0 (or 1, for 0**0)."""
    if isinstance(x, Const):
        return number(_log(x.value), out) * out
    return call("log", pick(compare("eq", x, 0.0), 1.0, x)) * out


def _log(x: Any) -> Any:
    if isinstance(x, complex):
        return cmath.log(x) if x else 0.0
    return math.log(x) if x > 0 else 0.0 if x == 0 else NAN


def copysign_slope(x: Expr, y: Expr, out: Expr) -> Expr:
    return call("sign", x) * call("copysign", 1.0, y)


def shares(power: str) -> tuple[Partial, Partial]:
    """logaddexp: the share of either power in their sum, by the smaller over the larger one: nothing overflows, and no
    digits are lost (x - out would have lost them).  The slope of a share has no kink where the two meet."""

    def share(x: Expr, y: Expr, first: bool) -> Expr:
        loses = less(x, y)
        same = both(compare("eq", x, y), Call("isinf", (x,), BOOL))
        ratio = call(power, select(same, number(0.0, x), pick(loses, x - y, y - x)))
        return pick(loses, *((ratio, 1.0) if first else (1.0, ratio))) / (1.0 + ratio)

    return (lambda x, y, out: share(x, y, True)), (lambda x, y, out: share(x, y, False))


def log_slope(scale: float) -> Partial:
    """1 / (scale * x); log of a negative number is nan, and so is its slope."""

    def slope(x: Expr, out: Expr) -> Expr:
        return 1.0 / x if scale == 1.0 else 1.0 / (scale * x)

    return lambda x, out: slope(x, out) if x.dtype.kind == "c" else pick(less(x, 0.0), NAN, slope(x, out))


def log1p_slope(x: Expr, out: Expr) -> Expr:
    slope = 1.0 / (1.0 + x)
    return slope if x.dtype.kind == "c" else pick(less(x, -1.0), NAN, slope)


def inside_unit(x: Expr, slope: Expr) -> Expr:
    return slope if x.dtype.kind == "c" else pick(less(1.0, call("abs", x)), NAN, slope)


def arcsinh_slope(x: Expr, out: Expr) -> Expr:
    slope = 1.0 / call("sqrt", x * x + 1.0)
    if x.dtype.kind == "c":
        return slope
    size = call("abs", x)
    return pick(less(1e9, size), 1.0 / size, slope)  # from there on 1 is nothing, and the square may overflow


def modulus_slope(z: Expr, out: Expr) -> Expr:
    """conj(z) / abs(z); at 0 the least subgradient, 0."""
    slope = conj(z) / Call("cast", (out,), z.dtype)
    return select(compare("eq", out, 0.0), number(0.0, z), slope)


def as_sum_of_squares(expr: Expr) -> Expr | None:
    """abs(x)**2 and hypot(x, y)**2 without the root, which has a kink where they have none; None of other squares."""
    match expr:
        case Call(op="mul", args=(root, again)) if root == again:
            pass
        case Call(op="square", args=(root,)) | Call(op="pow", args=(root, Const(value=2))):
            pass
        case _:
            return None
    match root:
        case Call(op="abs", args=(x,)):
            return x * x
        case Call(op="hypot", args=(x, y)):
            return x * x + y * y
        case Call(op="modulus", args=(z,)):
            real, imag = real_part(z), Call("imag", (z,), part_of(z.dtype))
            return real * real + imag * imag
    return None


def conj(z: Expr) -> Expr:
    return Call("conj", (z,), z.dtype)


def real_part(z: Expr) -> Expr:
    return Call("real", (z,), part_of(z.dtype))


def imaginary_part(z: Expr) -> Expr:
    return Call("imag", (z,), part_of(z.dtype))


def complex_number(x: Expr, y: Expr) -> Expr:
    return Call("complex", (x, y), complex_of(x.dtype))
