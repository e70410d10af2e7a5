"""One row per primitive: spelling, partials, domain, corners.

A partial is ordinary Python on IR expressions; `out` is the primitive's own result.  The reverse sweep keeps only what
the rows mention, so a row mentions what is cheapest to have: `exp` its result, `sin` its operand.  The tests are this
table: a new row is tested, in every frame, the moment it exists.

    "sqrt": Primitive("np.sqrt({})", (lambda x, out: 0.5 / out,), ...)
    y = sqrt(x)   →   x_b += times(y_b, 0.5 / y)   →   x_b += 0.5 * y_b / y
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.expressions import (
    BOOL,
    COMPLEX128,
    FLOAT64,
    INT64,
    Call,
    Const,
    Expr,
    call,
    compare,
    less,
    select,
)
from .partials import (
    Partial,
    arcsinh_slope,
    choice,
    complex_number,
    conj,
    copysign_slope,
    greater,
    imaginary_part,
    inside_unit,
    log1p_slope,
    log_slope,
    modulus_slope,
    number,
    number_choice,
    pick,
    pow_base,
    pow_exponent,
    python_choice,
    real_part,
    shares,
    whole_or_real,
)

Point = tuple[float, ...]


@dataclass(frozen=True)
class Interval:
    """Where an operand's test points come from."""

    low: float
    high: float
    dtype: np.dtype = FLOAT64


@dataclass(frozen=True)
class Adjoint:
    """In the place of a partial, where the function is linear and its adjoint is no product: conj, real, imag.

    The cotangent of z = x + iy, for a real result L, is dL/dx - i dL/dy: so a holomorphic f passes g on as g f'(z).
    """

    of: Callable[[Expr], Expr]


@dataclass(frozen=True)
class Primitive:
    """What is known of one scalar function.

    `partials` has one entry per operand: a function, or None where the derivative is zero, or UNKNOWN where nobody has
    written it, which is an error where it is asked for.  `partials=None` is zero in every operand.
    `integer` and `boolean` spell it for operands of those kinds, where that differs.  `corners` gives the partials at
    points where a convention decides.  `singular`: a partial can be inf or nan although the operands are finite.
    `cost` counts in additions.
    """

    spelling: str
    partials: tuple[Partial | Adjoint | None, ...] | None
    domain: tuple[Interval, ...]
    corners: Mapping[Point, Point] = field(default_factory=dict)
    singular: bool = False
    cost: int = 1
    integer: str = ""
    boolean: str = ""


REAL = Interval(-2.5, 2.5)
POSITIVE = Interval(0.2, 3.0)
ABOVE_ONE = Interval(1.2, 3.0)
UNIT = Interval(-0.9, 0.9)
WHOLE = Interval(-3, 3, INT64)
TRUTH = Interval(0, 1, BOOL)
COMPLEX = Interval(-2.5, 2.5, COMPLEX128)

INF, NAN = math.inf, math.nan
LN2, LN10 = math.log(2), math.log(10)
DEGREE = math.pi / 180


# --------------------------------------------------------------------------------------------------------------
# The table.

# fmt: off
PRIMITIVES: dict[str, Primitive] = {
    # arithmetic
    "add":         Primitive("{} + {}", (lambda x, y, out: 1.0, lambda x, y, out: 1.0), (REAL, REAL),
                             boolean="{} or {}"),
    "sub":         Primitive("{} - {}",  (lambda x, y, out: 1.0, lambda x, y, out: -1.0),  (REAL, REAL)),
    "mul":         Primitive("{} * {}", (lambda x, y, out: y, lambda x, y, out: x), (REAL, REAL), boolean="{} and {}"),
    "div":         Primitive("{} / {}",  (lambda x, y, out: 1.0 / y,
                                          lambda x, y, out: -(out / y)),                   (REAL, POSITIVE),
                             {(1.0, 0.0): (INF, -INF)}, singular=True, cost=4),
    "neg":         Primitive("-{}",      (lambda x, out: -1.0,),                           (REAL,)),
    "pos":         Primitive("+{}",      (lambda x, out: 1.0,),                            (REAL,), cost=0),
    "floordiv":    Primitive("{} // {}", None,                                             (REAL, POSITIVE), cost=8),
    "mod":         Primitive("{} % {}",  (lambda x, y, out: 1.0,
                                          lambda x, y, out: -call("floordiv", x, y)),      (REAL, POSITIVE),
                             {(-3.0, 2.0): (1.0, 2.0)}, singular=True, cost=10),
    "fmod":        Primitive("np.fmod({}, {})", (lambda x, y, out: 1.0,
                                          lambda x, y, out: call("rint", (out - x) / y)),  (REAL, POSITIVE),
                             {(-3.0, 2.0): (1.0, 1.0)}, singular=True, cost=10, integer="int_fmod({}, {})"),
    "ieee_remainder": Primitive("ieee_remainder({}, {})", (lambda x, y, out: 1.0,
                                          lambda x, y, out: (out - x) / y),                (REAL, POSITIVE),
                             singular=True, cost=12),
    "pow":         Primitive("{} ** {}", (pow_base, pow_exponent),                         (POSITIVE, REAL),
                             {(0.0, 0.0): (0.0, 0.0), (0.0, 1.0): (1.0, 0.0), (0.0, 2.0): (0.0, 0.0),
                              (3.0, 0.0): (0.0, math.log(3)), (0.0, 0.5): (INF, 0.0), (-2.0, 3.0): (12.0, NAN)},
                             singular=True, cost=20, integer="int_power({}, {})"),
    "square":      Primitive("np.square({})",     (lambda x, out: 2.0 * x,),               (REAL,)),
    "reciprocal":  Primitive("np.reciprocal({})", (lambda x, out: -(out * out),),          (POSITIVE,),
                             {(0.0,): (-INF,)}, singular=True, cost=4),
    "abs":         Primitive("abs({})",           (lambda x, out: call("sign", x),),       (REAL,), {(0.0,): (0.0,)},
                             boolean="{}"),
    "sign":        Primitive("np.sign({})",       None,                                    (REAL,), {(0.0,): (0.0,)}),
    "copysign":    Primitive("np.copysign({}, {})", (copysign_slope, None), (REAL, REAL),
                             {(0.0, 1.0): (0.0, 0.0), (-2.0, -0.0): (1.0, 0.0)}),
    "hypot":       Primitive("np.hypot({}, {})",  (lambda x, y, out: pick(compare("eq", out, 0.0), 0.0, x / out),
                                                   lambda x, y, out: pick(compare("eq", out, 0.0), 0.0, y / out)),
                             (REAL, REAL), {(0.0, 0.0): (0.0, 0.0), (3.0, 0.0): (1.0, 0.0)}, cost=12),

    # complex numbers
    "real":        Primitive("{}.real", (Adjoint(lambda g: complex_number(g, number(0, g))),), (COMPLEX,), cost=0),
    "imag":        Primitive("{}.imag", (Adjoint(lambda g: complex_number(number(0, g), -g)),), (COMPLEX,), cost=0),
    "complex":     Primitive("complex({}, {})", (Adjoint(real_part), Adjoint(lambda g: -imaginary_part(g))),
                             (REAL, REAL), cost=0),
    "conj":        Primitive("{}.conjugate()", (Adjoint(conj),),                           (COMPLEX,)),
    "modulus":     Primitive("modulus({})", (modulus_slope,), (COMPLEX,), {(0.0,): (0.0,)}, cost=12),
    "phase":       Primitive("complex_angle({})", (lambda z, out: -1j / z,), (COMPLEX,), singular=True, cost=25),

    # choices: a bounded kink takes the minimum-norm subgradient, so a tie is split
    "maximum":     Primitive("maximum({}, {})",    choice(greater),                        (REAL, REAL),
                             {(1.0, 1.0): (0.5, 0.5), (0.0, 0.0): (0.5, 0.5)}, integer="np.maximum({}, {})",
                             boolean="{} or {}"),
    "minimum":     Primitive("minimum({}, {})",    choice(less),                           (REAL, REAL),
                             {(1.0, 1.0): (0.5, 0.5), (0.0, 0.0): (0.5, 0.5)}, integer="np.minimum({}, {})",
                             boolean="{} and {}"),
    "fmax":        Primitive("np.fmax({}, {})",    number_choice(),                        (REAL, REAL),
                             {(1.0, 1.0): (0.5, 0.5), (NAN, 1.0): (0.0, 1.0), (1.0, NAN): (1.0, 0.0)},
                             integer="np.maximum({}, {})", boolean="{} or {}"),
    "fmin":        Primitive("np.fmin({}, {})",    number_choice(),                        (REAL, REAL),
                             {(1.0, 1.0): (0.5, 0.5), (NAN, 1.0): (0.0, 1.0), (1.0, NAN): (1.0, 0.0)},
                             integer="np.minimum({}, {})", boolean="{} and {}"),
    "max":         Primitive("max({}, {})",        python_choice(greater),                 (REAL, REAL),
                             {(1.0, 1.0): (0.5, 0.5), (NAN, 1.0): (1.0, 0.0), (1.0, NAN): (1.0, 0.0)}),
    "min":         Primitive("min({}, {})",        python_choice(less),                    (REAL, REAL),
                             {(1.0, 1.0): (0.5, 0.5), (NAN, 1.0): (1.0, 0.0), (1.0, NAN): (1.0, 0.0)}),
    # clip passes at its bounds: x is not changed there
    "clip_low":    Primitive("np.maximum({}, {})", (lambda x, low, out: pick(less(x, low), 0.0, 1.0),
                                                    lambda x, low, out: pick(less(x, low), 1.0, 0.0)),
                             (REAL, REAL), {(1.0, 1.0): (1.0, 0.0)}),
    "clip_high":   Primitive("np.minimum({}, {})", (lambda x, high, out: pick(less(high, x), 0.0, 1.0),
                                                    lambda x, high, out: pick(less(high, x), 1.0, 0.0)),
                             (REAL, REAL), {(1.0, 1.0): (1.0, 0.0)}),
    "select":      Primitive("{1} if {0} else {2}", (None, lambda c, x, y, out: select(c, number(1, x), number(0, x)),
                                                     lambda c, x, y, out: select(c, number(0, x), number(1, x))),
                             (TRUTH, REAL, REAL)),
    # nothing times infinity is nothing: of a cotangent, and what is made of it; the slope by that is 1 at zero, too
    "unless_zero": Primitive("unless_zero({}, {})", (None, lambda g, x, out: number(1, x)), (REAL, REAL)),
    "wrap_low":    Primitive("{0} + {1} if {0} < 0 else {0}", None, (WHOLE, WHOLE), cost=2),  # see `ir.wraps`
    "wrap_high":   Primitive("{0} - {1} if {0} >= {1} else {0}", None, (WHOLE, WHOLE), cost=2),
    "heaviside":   Primitive("heaviside({}, {})", (None, lambda x, h, out: pick(compare("eq", x, 0.0), 1.0, 0.0)),
                             (REAL, REAL), {(0.0, 0.3): (0.0, 1.0)}),

    # roots, exponentials, logarithms
    "sqrt":        Primitive("np.sqrt({})",  (lambda x, out: 0.5 / out,),                  (POSITIVE,),
                             {(0.0,): (INF,), (-1.0,): (NAN,)}, singular=True, cost=5),
    "cbrt":        Primitive("np.cbrt({})",  (lambda x, out: 1.0 / (3.0 * (out * out)),),  (POSITIVE,),
                             {(0.0,): (INF,), (-8.0,): (1 / 12,)}, singular=True, cost=20),
    "exp":         Primitive("np.exp({})", (lambda x, out: out,), (REAL,), singular=True, cost=12),
    "exp2":        Primitive("np.exp2({})", (lambda x, out: LN2 * out,), (REAL,), singular=True, cost=12),
    "expm1":       Primitive("np.expm1({})", (lambda x, out: out + 1.0,), (REAL,), singular=True, cost=15),
    "log":         Primitive("np.log({})",   (log_slope(1.0),),                            (POSITIVE,),
                             {(0.0,): (INF,), (-1.0,): (NAN,)}, singular=True, cost=12),
    "log2":        Primitive("np.log2({})",  (log_slope(LN2),),                            (POSITIVE,),
                             {(0.0,): (INF,), (-1.0,): (NAN,)}, singular=True, cost=12),
    "log10":       Primitive("np.log10({})", (log_slope(LN10),),                           (POSITIVE,),
                             {(0.0,): (INF,), (-1.0,): (NAN,)}, singular=True, cost=12),
    "log1p":       Primitive("np.log1p({})", (log1p_slope,), (POSITIVE,),
                             {(-1.0,): (INF,), (-2.0,): (NAN,), (0.0,): (1.0,)}, singular=True, cost=15),
    "logaddexp":   Primitive("np.logaddexp({}, {})",  shares("exp"),  (REAL, REAL),
                             {(1.0, 1.0): (0.5, 0.5), (-INF, -INF): (0.5, 0.5)}, cost=30),
    "logaddexp2":  Primitive("np.logaddexp2({}, {})", shares("exp2"), (REAL, REAL),
                             {(1.0, 1.0): (0.5, 0.5), (-INF, -INF): (0.5, 0.5)}, cost=30),

    # trigonometric and hyperbolic
    "sin":         Primitive("np.sin({})",     (lambda x, out: call("cos", x),),           (REAL,), cost=15),
    "cos":         Primitive("np.cos({})",     (lambda x, out: -call("sin", x),),          (REAL,), cost=15),
    "tan":         Primitive("np.tan({})",     (lambda x, out: 1.0 + out * out,),          (UNIT,), cost=20),
    "arcsin":      Primitive("np.arcsin({})",  (lambda x, out: 1.0 / call("sqrt", (1.0 - x) * (1.0 + x)),),    (UNIT,),
                             {(1.0,): (INF,), (-1.0,): (INF,), (2.0,): (NAN,)}, singular=True, cost=20),
    "arccos":      Primitive("np.arccos({})",  (lambda x, out: -(1.0 / call("sqrt", (1.0 - x) * (1.0 + x))),), (UNIT,),
                             {(1.0,): (-INF,), (-1.0,): (-INF,), (2.0,): (NAN,)}, singular=True, cost=20),
    "arctan":      Primitive("np.arctan({})",  (lambda x, out: 1.0 / (1.0 + x * x),),      (REAL,), cost=20),
    "arctan2":     Primitive("np.arctan2({}, {})", (lambda y, x, out: call("per_square", x, y),
                                                    lambda y, x, out: -call("per_square", y, x)), (REAL, REAL),
                             {(0.0, 0.0): (NAN, NAN), (0.0, -1.0): (-1.0, 0.0), (3e-200, 4e-200): (1.6e199, -1.2e199),
                              (-3e200, 4e200): (1.6e-201, 1.2e-201), (INF, 1.0): (0.0, 0.0)}, singular=True, cost=25),
    "per_square":  Primitive("per_square({}, {})",  # x / (x*x + y*y)
                             (lambda x, y, out: (call("per_square", y, x) - out) * (call("per_square", y, x) + out),
                              lambda x, y, out: -2.0 * (out * call("per_square", y, x))), (POSITIVE, REAL),
                             {(0.0, 0.0): (NAN, NAN), (0.0, 2.0): (0.25, 0.0)}, singular=True, cost=12),
    "sinh":        Primitive("np.sinh({})", (lambda x, out: call("cosh", x),), (REAL,), singular=True, cost=20),
    "cosh":        Primitive("np.cosh({})", (lambda x, out: call("sinh", x),), (REAL,), singular=True, cost=20),
    "tanh":        Primitive("np.tanh({})",    (lambda x, out: 1.0 - out * out,),          (REAL,), cost=20),
    "arcsinh":     Primitive("np.arcsinh({})", (arcsinh_slope,), (REAL,), {(-1e200,): (1e-200,)}, cost=25),
    "arccosh":     Primitive("np.arccosh({})", (lambda x, out: 1.0 / (call("sqrt", x - 1.0) * call("sqrt", x + 1.0)),),
                             (ABOVE_ONE,), {(1.0,): (INF,), (0.0,): (NAN,), (-2.0,): (NAN,)}, singular=True, cost=25),
    "arctanh":     Primitive("np.arctanh({})", (lambda x, out: inside_unit(x, 1.0 / ((1.0 - x) * (1.0 + x))),), (UNIT,),
                             {(1.0,): (INF,), (-1.0,): (INF,), (2.0,): (NAN,)}, singular=True, cost=25),
    "deg2rad":     Primitive("np.deg2rad({})", (lambda x, out: DEGREE,),                   (REAL,)),
    "rad2deg":     Primitive("np.rad2deg({})", (lambda x, out: 1 / DEGREE,),               (REAL,)),
    "sinc":        Primitive("sinc({})", (lambda x, out: call("sinc_slope", x),), (REAL,), {(0.0,): (0.0,)}, cost=20),
    "sinc_slope":  Primitive("sinc_slope({})", (lambda x, out: pick(compare("eq", x, 0.0), -(math.pi**2) / 3,
                                                -((math.pi**2) * call("sinc", x)) - 2.0 * (out / x)),), (REAL,),
                             {(0.0,): (-(math.pi**2) / 3,)}, cost=35),

    # special functions
    "erf":         Primitive("error_function({})",
                                          (lambda x, out: 2 / math.sqrt(math.pi) * call("exp", -(x * x)),), (REAL,),
                             cost=20),
    "erfc":        Primitive("complementary_error_function({})",
                                          (lambda x, out: -2 / math.sqrt(math.pi) * call("exp", -(x * x)),), (REAL,),
                             cost=20),
    "gamma":       Primitive("gamma_function({})", (lambda x, out: out * call("digamma", x),), (POSITIVE,),
                             singular=True, cost=40),
    "lgamma":      Primitive("log_gamma({})", (lambda x, out: call("digamma", x),), (POSITIVE,),
                             singular=True, cost=40),
    "digamma":     Primitive("digamma({})", (lambda x, out: call("trigamma", x),), (POSITIVE,),
                             singular=True, cost=40),
    "trigamma":    Primitive("trigamma({})", (lambda x, out: -2.0 * call("zeta", number(3.0, x), x),), (POSITIVE,),
                             singular=True, cost=40),

    # steps: flat between their jumps
    "floor":       Primitive("np.floor({})",     None, (REAL,), {(1.0,): (0.0,)}, integer="{}"),
    "ceil":        Primitive("np.ceil({})",      None, (REAL,), {(1.0,): (0.0,)}, integer="{}"),
    "trunc":       Primitive("np.trunc({})",     None, (REAL,), {(1.0,): (0.0,)}, integer="{}"),
    "rint":        Primitive("np.rint({})",      None, (REAL,), {(0.5,): (0.0,)}, integer="{}"),
    "round_to":    Primitive("round_to({}, {})", None, (REAL, WHOLE), cost=8),
    "ldexp":       Primitive("np.ldexp({}, {})", (lambda x, n, out: call("ldexp", number(1, x), n), None),
                             (REAL, WHOLE), cost=8),
    "cast":        Primitive("{}",               (lambda x, out: 1.0,), (REAL,), cost=0),  # its dtype is the emitter's

    "nextafter":   Primitive("np.nextafter({}, {})", (lambda x, y, out: 1.0, None), (REAL, REAL), cost=8),
    "spacing":     Primitive("np.spacing({})",   None, (REAL,), cost=8),
    "exponent":    Primitive("exponent({})",     None, (REAL,), cost=8),
    "stop_gradient": Primitive("{}",             None, (REAL,), cost=0),
    "steady":      Primitive("{}",               None, (REAL,), cost=0),  # in first derivatives alone
    "follow":      Primitive("{0}",              (lambda x, t, slope, out: 1.0, lambda x, t, slope, out: slope, None),
                             (REAL, REAL, REAL), cost=0),  # x, which moves by `slope` times as much as t does

    # questions
    "lt":          Primitive("{} < {}",  None, (REAL, REAL)),
    "le":          Primitive("{} <= {}", None, (REAL, REAL)),
    "gt":          Primitive("{} > {}",  None, (REAL, REAL)),
    "ge":          Primitive("{} >= {}", None, (REAL, REAL)),
    "eq":          Primitive("{} == {}", None, (REAL, REAL)),
    "ne":          Primitive("{} != {}", None, (REAL, REAL)),
    "isnan":       Primitive("np.isnan({})",    None, (REAL,), integer="False", boolean="False"),
    "isinf":       Primitive("np.isinf({})",    None, (REAL,), integer="False", boolean="False"),
    "isfinite":    Primitive("np.isfinite({})", None, (REAL,), integer="True", boolean="True"),
    "signbit":     Primitive("np.signbit({})",  None, (REAL,), integer="{} < 0", boolean="False"),
    "and":         Primitive("{} and {}", None, (TRUTH, TRUTH)),
    "or":          Primitive("{} or {}",  None, (TRUTH, TRUTH)),
    "not":         Primitive("not {}",    None, (TRUTH,)),

    # integers
    "bitand":      Primitive("{} & {}", None, (WHOLE, WHOLE)),
    "bitor":       Primitive("{} | {}", None, (WHOLE, WHOLE)),
    "bitxor":      Primitive("{} ^ {}", None, (WHOLE, WHOLE)),
    "invert":      Primitive("~{}",     None, (WHOLE,), boolean="not {}"),
    "lshift":      Primitive("shift_left({}, {})",  None, (WHOLE, WHOLE)),
    "rshift":      Primitive("shift_right({}, {})", None, (WHOLE, WHOLE)),
    "gcd":         Primitive("np.gcd({}, {})", None, (WHOLE, WHOLE), cost=20),
    "lcm":         Primitive("np.lcm({}, {})", None, (WHOLE, WHOLE), cost=20),
}
# fmt: on

# Where operands are complex, Numba's own are not NumPy's: see `runtime.complex_numbers`.
OF_COMPLEX = {"div": "complex_divide({}, {})", "pow": "complex_power({}, {})"} | {
    op: f"complex_{op}({{}})" for op in ("exp", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "arccosh")
}


# --------------------------------------------------------------------------------------------------------------


def spelling(expr: Call) -> str:
    """The Python text of a call, with holes for its operands: `{}` in order, or `{1}` by number."""
    primitive, operands = PRIMITIVES[expr.op], expr.args
    kind = operands[-1].dtype.kind
    if kind == "b":
        return primitive.boolean or primitive.spelling
    if kind in "iu":
        return _integer_spelling(primitive, expr)
    if expr.op == "pow" and _is_small_whole(operands[1]):
        return f"{{}} ** {int(operands[1].value.real)}"  # type: ignore[attr-defined]  # products; a float would call pow
    if kind == "c" and expr.op in OF_COMPLEX:
        return OF_COMPLEX[expr.op]
    return primitive.spelling


def _integer_spelling(primitive: Primitive, expr: Call) -> str:
    second = expr.args[-1]
    if expr.op == "sign" and expr.dtype.kind == "u":  # Numba's takes the upper half for negative numbers
        return "1 if {} > 0 else 0"
    if isinstance(second, Const) and second.value >= 0:  # nothing to guard against
        match expr.op:
            case "pow":
                return "{} ** {}"
            case "lshift" if second.value < 64:
                return "{} << {}"
            case "rshift" if second.value < 64:
                return "{} >> {}"
    return primitive.integer or primitive.spelling


def _is_small_whole(expr: Expr) -> bool:
    if not isinstance(expr, Const):
        return False
    value = whole_or_real(expr)
    return abs(value) <= 16 and float(value.real).is_integer() and value.imag == 0


def times(cotangent: Expr, partial: Any) -> Expr:
    """The cotangent times a partial, put simply.

    It goes *into* the sides of a select, so that the side which was not taken is exactly zero, even where the cotangent
    is inf or nan: sqrt(maximum(x, 0)) has slope 0 at x = -1, not 0 * inf.
    """
    match partial:
        case Call(op="select", args=(condition, x, y)):
            return select(condition, times(cotangent, x), times(cotangent, y))
        case Call(op="neg", args=(x,)):
            return -times(cotangent, x)
        case Call(op="div", args=(x, y)):
            return times(cotangent, x) / y
    value = partial.value if isinstance(partial, Const) else partial
    if isinstance(value, Expr):
        return cotangent * value
    if value == 0 or value != value:
        return number(value, cotangent)
    if value == 1:
        return cotangent
    if value == -1:
        return -cotangent
    return value * cotangent


__all__ = ["PRIMITIVES", "Interval", "Primitive", "spelling", "times"]
