"""scipy.special's elementwise functions: their rows, as in `scalar`, and their names, as in `names`.

    "erfcx": special("erfcx", (lambda x, out: 2.0 * (x * out) - TWO_OVER_ROOT_PI,), (REAL,))

Where SciPy itself has no derivative by an operand (the order of a Bessel function), ours is `UNKNOWN`: an error where
it is asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from ..ir.expressions import Call, Const, Expr, both, call, compare, less, select
from ..runtime import scipy_special
from .names import FUNCTIONS, UFUNCS, Like
from .partials import UNKNOWN, Partial, imaginary_part, number, pick, pow_base, pow_exponent, real_part
from .scalar import ABOVE_ONE, COMPLEX, INF, NAN, POSITIVE, PRIMITIVES, REAL, UNIT, Interval, Primitive

ROOT_PI = math.sqrt(math.pi)
ROOT_TAU = math.sqrt(2 * math.pi)
ROOT_HALF = math.sqrt(0.5)
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
PROBABILITY = Interval(0.05, 0.95)
BELOW_ZERO = Interval(-3.0, -0.1)
ORDER = Interval(0.5, 3.0)
DEGREE = Interval(0, 4, np.dtype(np.int64))


def special(name: str, partials: tuple[Partial | None, ...], domain: tuple[Interval, ...], **more: Any) -> Primitive:
    holes = ", ".join(["{}"] * len(domain))
    return Primitive(f"special.{name}({holes})", partials, domain, **{"singular": True, "cost": 40} | more)


def at_order(op: str, order: Expr, x: Expr, shift: int) -> Expr:
    """The same function of a neighbouring order."""
    return Call(op, (call("add", order, shift), x), x.dtype)


def unless_zero(x: Expr, at_zero: Any, slope: Expr) -> Expr:
    """A slope with a removable singularity at 0."""
    return pick(compare("eq", x, 0.0), at_zero, slope)


def only_of(x: Expr, quotient: Expr) -> Expr:
    """A multiple of x over what may be 0 as well: nothing where x is 0, with the slope of a multiple there."""
    return Call("unless_zero", (x, quotient), quotient.dtype)


def as_real(n: Expr, x: Expr) -> Expr:
    return n if n.dtype == x.dtype else Call("cast", (n,), x.dtype)


def polynomial(op: str, factor: Any, neighbour: str = "") -> Partial:
    """The slope of a polynomial of degree n: a factor times one of degree n - 1; 0 for n = 0."""

    def slope(n: Expr, x: Expr, out: Expr) -> Expr:
        lower = Call(neighbour or op, (call("sub", n, 1), x), x.dtype)
        return select(compare("eq", n, 0), number(0.0, x), factor(as_real(n, x)) * lower)

    return slope


def summed(x: Expr, y: Expr) -> Expr:
    return number(x.value + y.value, x) if isinstance(x, Const) and isinstance(y, Const) else x + y


def jacobi_slope(n: Expr, a: Expr, b: Expr, x: Expr, out: Expr) -> Expr:
    one = number(1.0, x)
    lower = Call("eval_jacobi", (call("sub", n, 1), summed(a, one), summed(b, one), x), x.dtype)
    return select(compare("eq", n, 0), number(0.0, x), 0.5 * (as_real(n, x) + summed(summed(a, b), one)) * lower)


def legendre_slope(n: Expr, x: Expr, out: Expr) -> Expr:
    zero = number(0.0, x)
    return jacobi_slope(n, zero, zero, x, out)


def chebyu_slope(n: Expr, x: Expr, out: Expr) -> Expr:
    """That of a multiple of the Jacobi polynomial with a = b = 1/2: both are n + 1 at x = 1."""
    half, degree = number(0.5, x), as_real(n, x)
    at_one = call("poch", number(1.5, x), degree) / call("scipy_gamma", degree + 1.0)
    return (degree + 1.0) / at_one * jacobi_slope(n, half, half, x, out)


def gegenbauer_slope(n: Expr, a: Expr, x: Expr, out: Expr) -> Expr:
    lower = Call("eval_gegenbauer", (call("sub", n, 1), summed(a, number(1.0, x)), x), x.dtype)
    return select(compare("eq", n, 0), number(0.0, x), 2.0 * a * lower)


def legendre_function_slope(m: Expr, v: Expr, x: Expr, out: Expr) -> Expr:
    """DLMF 14.10.5; at 1 and -1, where that is 0 / 0, known for m = 0 alone."""
    order, degree = as_real(m, x), as_real(v, x)
    lower = Call("lpmv", (m, call("sub", v, 1), x), x.dtype)
    slope = (degree * (x * out) - (degree + order) * lower) / (x * x - 1.0)
    at_end = both(compare("eq", m, 0), compare("eq", call("abs", x), 1.0))
    return select(at_end, 0.5 * degree * (degree + 1.0) * (x * out), slope)


def spherical_legendre_slope(n: Expr, m: Expr, theta: Expr, out: Expr) -> Expr:
    """Half the difference of those of the orders beside it: nothing is divided by, at the poles.

    It is a function of cos(theta) and abs(sin(theta)).
    """
    degree, order = as_real(n, theta), as_real(m, theta)
    above, below = (Call("spherical_legendre", (n, call("add", m, k), theta), theta.dtype) for k in (1, -1))
    up = call("sqrt", call("maximum", (degree - order) * (degree + order + 1.0), 0.0))
    down = call("sqrt", call("maximum", (degree + order) * (degree - order + 1.0), 0.0))
    return 0.5 * (sign_of(call("sin", theta)) * (up * above - down * below))


def genlaguerre_slope(n: Expr, a: Expr, x: Expr, out: Expr) -> Expr:
    lower = Call("eval_genlaguerre", (call("sub", n, 1), summed(a, number(1.0, x)), x), x.dtype)
    return select(compare("eq", n, 0), number(0.0, x), -lower)


def laguerre_slope(n: Expr, x: Expr, out: Expr) -> Expr:
    return genlaguerre_slope(n, number(0.0, x), x, out)


def elliptic_root(phi: Expr, m: Expr) -> Expr:
    sine = call("sin", phi)
    return call("sqrt", 1.0 - m * (sine * sine))


def psi(x: Any) -> Expr:
    return call("digamma", x)


def reciprocal_gamma_slope(x: Expr, out: Expr) -> Expr:
    """-psi(x) / gamma(x); at the poles of the gamma function (-1)**n n!."""
    at_pole = both(compare("le", x, 0.0), compare("eq", x, call("floor", x)))
    return select(at_pole, call("cos", math.pi * x) * call("scipy_gamma", 1.0 - x), -(out * psi(x)))


def sign_of(x: Expr) -> Expr:
    return call("sign", x)


def huber_scale(delta: Expr, r: Expr, out: Expr) -> Expr:
    size = call("abs", r)
    return pick(less(delta, size), size - delta, 0.0)


def huber_slope(delta: Expr, r: Expr, out: Expr) -> Expr:
    return pick(less(r, -delta), -delta, pick(less(delta, r), delta, r))


def pseudo_huber_scale(delta: Expr, r: Expr, out: Expr) -> Expr:
    """(r / (delta + s))**2 r**2 / s with s = sqrt(delta**2 + r**2): nothing cancels, nothing overflows."""
    s = call("hypot", delta, r)
    part = r / (delta + s)
    return part * part * (r * (r / s))


def box_power(log: str) -> Partial:
    """The slope of boxcox by its power: log(x)**2 times that of exprel at lmbda log(x)."""

    def slope(x: Expr, power: Expr, out: Expr) -> Expr:
        logarithm = call(log, x)
        return logarithm * logarithm * call("exprel_slope", power * logarithm)

    return slope


def inverse_box(shift: float) -> tuple[Partial, Partial]:
    """With w = out + shift: w**(1 - lmbda), and w y**2 times the slope of log(1 + t) / t at t = lmbda y."""

    def by_y(y: Expr, power: Expr, out: Expr) -> Expr:
        return call("pow", out + shift if shift else out, 1.0 - power)

    def by_power(y: Expr, power: Expr, out: Expr) -> Expr:
        return (out + shift if shift else out) * (y * y) * call("log1p_ratio_slope", power * y)

    return by_y, by_power


def elliptic_first(m: Expr, out: Expr) -> Expr:
    return near_zero(m, FIRST_KIND, (call("ellipe", m) / (1.0 - m) - out) / (2.0 * m))


def elliptic_second(m: Expr, out: Expr) -> Expr:
    return near_zero(m, SECOND_KIND, (out - call("ellipk", m)) / (2.0 * m))


def powers_of_sine(phi: Expr, m: Expr, second: float, third: float) -> Expr:
    """The integral from 0 to phi of sin(t)**2 + second m sin(t)**4 + third m**2 sin(t)**6."""
    two, four, six = (call("sin", k * phi) for k in (2.0, 4.0, 6.0))
    of_two, of_four = 0.5 * phi - 0.25 * two, 0.375 * phi - 0.25 * two + four / 32.0
    of_six = 0.3125 * phi - (15.0 / 64.0) * two + (3.0 / 64.0) * four - six / 192.0
    return of_two + m * (second * of_four + third * (m * of_six))


def incomplete_first(phi: Expr, m: Expr, out: Expr) -> Expr:
    """Abramowitz and Stegun (1964), 17.2; near m = 0, where that cancels, the series of what is integrated."""
    by_second = call("ellipeinc", phi, m) / (1.0 - m) - out
    slope = by_second / (2.0 * m) - call("sin", 2.0 * phi) / (4.0 * (1.0 - m) * elliptic_root(phi, m))
    return pick(less(call("abs", m), 1e-4), 0.5 * powers_of_sine(phi, m, 1.5, 1.875), slope)


def incomplete_second(phi: Expr, m: Expr, out: Expr) -> Expr:
    slope = (out - call("ellipkinc", phi, m)) / (2.0 * m)
    return pick(less(call("abs", m), 1e-4), -0.5 * powers_of_sine(phi, m, 0.5, 0.375), slope)


def jacobi(which: str, u: Expr, m: Expr) -> Expr:
    return call(f"ellipj_{which}", u, m)


def amplitude_by_m(u: Expr, m: Expr) -> Expr:
    """Of the integral of the first kind up to the amplitude, which is u, both slopes are known."""
    return -(jacobi("dn", u, m) * incomplete_first(jacobi("ph", u, m), m, u))


def delta_by_m(u: Expr, m: Expr, out: Expr) -> Expr:
    sine = jacobi("sn", u, m)
    return -0.5 * (sine * (sine + 2.0 * m * (jacobi("cn", u, m) * amplitude_by_m(u, m)))) / out


EXPREL = tuple(1 / (math.factorial(k) * (k + 3)) for k in range(6))
LOG1P_RATIO = tuple((-1) ** k * (k + 1) * (k + 2) / (k + 3) for k in range(6))
FIRST_KIND = tuple(math.pi / 2 * c for c in (1 / 4, 9 / 32, 75 / 256, 1225 / 4096, 19845 / 65536))
LOGARITHM = tuple((-1) ** (k + 1) / (k + 1) for k in range(6))  # of log(1 + x) / -x
SECOND_KIND = tuple(-math.pi / 2 * c for c in (1 / 4, 3 / 32, 15 / 256, 175 / 4096, 2205 / 65536))


SEMIFACTORIALS = tuple(float(math.prod(range(1, 2 * k + 2, 2))) for k in range(8))


def far_out(step: Expr) -> Expr:
    """How far 2 x f(x) is from 1, where f(x) nears 1 / (2 x) by a series in a step of 1 / (2 x**2)."""
    return step * series_at(step, SEMIFACTORIALS)


def erfcx_slope(x: Expr, out: Expr) -> Expr:
    near = 2.0 * (x * out) - 2 / ROOT_PI  # cancels far out
    return pick(less(20.0, x), 2 / ROOT_PI * far_out(-0.5 / (x * x)), near)


def dawsn_slope(x: Expr, out: Expr) -> Expr:
    return pick(less(20.0, call("abs", x)), -far_out(0.5 / (x * x)), 1.0 - 2.0 * (x * out))


def faddeeva_slope(z: Expr, out: Expr) -> Expr:
    """2i / sqrt(pi) - 2 z w(z), which cancels far out; below the real axis w(z) is 2 exp(-z**2) - w(-z)."""
    square, height = z * z, imaginary_part(z)
    below = select(less(height, 0.0), -4.0 * (z * call("exp", -square)), number(0.0, z))
    size = call("hypot", real_part(z), height)
    return select(less(20.0, size), -2j / ROOT_PI * far_out(0.5 / square) + below, 2j / ROOT_PI - 2.0 * (z * out))


def near_zero(x: Expr, series: tuple[float, ...], slope: Expr) -> Expr:
    """A slope by its series near 0, where the formula cancels."""
    return pick(less(call("abs", x), 1e-3), series_at(x, series), slope)


def series_at(x: Expr, series: tuple[float, ...]) -> Any:
    total: Any = series[-1]
    for coefficient in series[-2::-1]:
        total = coefficient + x * total
    return total


# fmt: off
SPECIAL: dict[str, Primitive] = {
    # error functions and the normal distribution
    "erfcx":       special("erfcx", (erfcx_slope,), (REAL,), corners={(1e8,): (-1e-16 / ROOT_PI,)}),
    "erfinv":      special("erfinv", (lambda x, out: ROOT_PI / 2 * call("exp", out * out),), (UNIT,),
                           corners={(0.0,): (ROOT_PI / 2,), (1.0,): (INF,)}),
    "erfcinv":     special("erfcinv", (lambda x, out: -ROOT_PI / 2 * call("exp", out * out),), (PROBABILITY,),
                           corners={(1.0,): (-ROOT_PI / 2,), (0.0,): (-INF,)}),
    "dawsn":       special("dawsn", (dawsn_slope,), (REAL,), corners={(-1e8,): (-0.5e-16,)}),
    "erfi":        special("erfi", (lambda x, out: 2 / ROOT_PI * call("exp", x * x),), (REAL,)),
    "wofz":        special("wofz", (faddeeva_slope,), (COMPLEX,), cost=100),

    # gamma and beta functions
    "scipy_gamma": special("gamma", (lambda x, out: out * psi(x),), (POSITIVE,)),
    "gammaln":     special("gammaln", (lambda x, out: psi(x),), (POSITIVE,), corners={(0.0,): (-INF,)}),
    "loggamma":    special("loggamma", (lambda x, out: pick(less(x, 0.0), NAN, psi(x)),), (POSITIVE,),
                           corners={(-0.5,): (NAN,)}),
    "rgamma":      special("rgamma", (reciprocal_gamma_slope,), (POSITIVE,),
                           corners={(0.0,): (1.0,), (-1.0,): (-1.0,), (-3.0,): (-6.0,)}),
    "beta":        special("beta", (lambda a, b, out: out * (psi(a) - psi(a + b)),
                                    lambda a, b, out: out * (psi(b) - psi(a + b))), (POSITIVE, POSITIVE)),
    "betaln":      special("betaln", (lambda a, b, out: psi(a) - psi(a + b),
                                      lambda a, b, out: psi(b) - psi(a + b)), (POSITIVE, POSITIVE)),
    "binom":       special("binom", (lambda n, k, out: out * (psi(n + 1.0) - psi(n - k + 1.0)),
                                     lambda n, k, out: out * (psi(n - k + 1.0) - psi(k + 1.0))),
                           (ABOVE_ONE, Interval(0.1, 1.0))),
    "poch":        special("poch", (lambda z, m, out: out * (psi(z + m) - psi(z)),
                                    lambda z, m, out: out * psi(z + m)), (POSITIVE, POSITIVE)),
    "zeta":        special("zeta", (UNKNOWN, lambda s, x, out: -s * call("zeta", s + 1.0, x)),
                           (ABOVE_ONE, POSITIVE), cost=100),
    # logistic functions, entropies, losses
    "expit":       special("expit", (lambda x, out: out * (1.0 - out),), (REAL,), singular=False, cost=15),
    "log_expit":   special("log_expit", (lambda x, out: call("expit", -x),), (REAL,), singular=False, cost=25),
    "logit":       special("logit", (lambda x, out: pick(less(0.5, call("abs", x - 0.5)), NAN, 1.0 / (x * (1.0 - x))),),
                           (PROBABILITY,), corners={(0.0,): (INF,), (1.0,): (INF,), (-1.0,): (NAN,)}, cost=20),
    "xlogy":       special("xlogy", (lambda x, y, out: call("log", y), lambda x, y, out: only_of(x, x / y)),
                           (REAL, POSITIVE), corners={(0.0, 0.0): (-INF, 0.0), (1.0, 0.0): (-INF, INF)}, cost=15),
    "xlog1py":     special("xlog1py", (lambda x, y, out: call("log1p", y),
                                       lambda x, y, out: only_of(x, x / (1.0 + y))),
                           (REAL, POSITIVE), corners={(0.0, -1.0): (-INF, 0.0)}, cost=15),
    "entr":        special("entr", (lambda x, out: -call("log", x) - 1.0,), (POSITIVE,),
                           corners={(0.0,): (INF,), (-1.0,): (NAN,)}, cost=15),
    "rel_entr":    special("rel_entr", (lambda x, y, out: call("log", x / y) + 1.0,
                                        lambda x, y, out: only_of(x, -(x / y))),
                           (POSITIVE, POSITIVE), corners={(0.0, 1.0): (-INF, 0.0)}, cost=20),
    "kl_div":      special("kl_div", (lambda x, y, out: call("log", x / y),
                                      lambda x, y, out: 1.0 - only_of(x, x / y)),
                           (POSITIVE, POSITIVE), corners={(0.0, 1.0): (-INF, 1.0), (1.0, 1.0): (0.0, 0.0)}, cost=20),
    "huber":       special("huber", (huber_scale, huber_slope), (POSITIVE, REAL), singular=False, cost=8,
                           corners={(1.0, 1.0): (0.0, 1.0), (1.0, 3.0): (2.0, 1.0), (1.0, -3.0): (2.0, -1.0)}),
    "pseudo_huber": special("pseudo_huber", (pseudo_huber_scale,
                                             lambda delta, r, out: r / call("hypot", 1.0, r / delta)),
                           (POSITIVE, REAL), cost=20, corners={(1.0, 1e200): (1e200, 1.0)}),

    # powers and exponentials
    "boxcox":      special("boxcox", (lambda x, power, out: call("pow", x, power - 1.0), box_power("log")),
                           (POSITIVE, REAL), corners={(2.0, 0.0): (0.5, math.log(2) ** 2 / 2)}),
    "boxcox1p":    special("boxcox1p", (lambda x, power, out: call("pow", 1.0 + x, power - 1.0), box_power("log1p")),
                           (POSITIVE, REAL), corners={(1.0, 0.0): (0.5, math.log(2) ** 2 / 2)}),
    "inv_boxcox":  special("inv_boxcox", inverse_box(0.0), (POSITIVE, POSITIVE),
                           corners={(2.0, 0.0): (math.exp(2), -2 * math.exp(2))}),
    "inv_boxcox1p": special("inv_boxcox1p", inverse_box(1.0), (POSITIVE, POSITIVE)),
    "powm1":       special("powm1", (lambda x, y, out: pow_base(x, y, out + 1.0),
                                     lambda x, y, out: pow_exponent(x, y, out + 1.0)), (POSITIVE, REAL)),
    "wrightomega": special("wrightomega", (lambda x, out: out / (1.0 + out),), (REAL,), cost=60),
    "exprel":      special("exprel", (lambda x, out: call("exprel_slope", x),), (REAL,), corners={(0.0,): (0.5,)}),
    "eval_jacobi": special("eval_jacobi", (UNKNOWN, UNKNOWN, UNKNOWN, jacobi_slope),
                           (DEGREE, POSITIVE, POSITIVE, UNIT)),
    "eval_genlaguerre": special("eval_genlaguerre", (UNKNOWN, UNKNOWN, genlaguerre_slope), (DEGREE, POSITIVE, REAL)),
    "eval_chebyu": special("eval_chebyu", (UNKNOWN, chebyu_slope), (DEGREE, UNIT)),
    "exprel_slope": special("exprel_slope", (lambda x, out: near_zero(x, EXPREL, (call("exp", x) - 2.0 * out) / x),),
                           (REAL,), corners={(0.0,): (1 / 3,)}),
    "log1p_ratio_slope": special("log1p_ratio_slope", (lambda x, out: near_zero(
                           x, LOG1P_RATIO, -(1.0 / ((1.0 + x) * (1.0 + x)) + 2.0 * out) / x),), (POSITIVE,),
                           corners={(0.0,): (2 / 3,)}),

    # hypergeometric functions
    "hyp0f1":      special("hyp0f1", (UNKNOWN, lambda b, z, out: call("hyp0f1", b + 1.0, z) / b), (POSITIVE, REAL)),
    "hyp1f1":      special("hyp1f1", (UNKNOWN, UNKNOWN,
                                      lambda a, b, z, out: a / b * call("hyp1f1", a + 1.0, b + 1.0, z)),
                           (POSITIVE, POSITIVE, REAL), cost=100),
    "hyp2f1":      special("hyp2f1", (UNKNOWN, UNKNOWN, UNKNOWN, lambda a, b, c, z, out:
                                      a * b / c * call("hyp2f1", a + 1.0, b + 1.0, c + 1.0, z)),
                           (POSITIVE, POSITIVE, POSITIVE, UNIT), cost=100),

    "hyperu":      special("hyperu", (UNKNOWN, UNKNOWN,
                                      lambda a, b, x, out: -a * call("hyperu", a + 1.0, b + 1.0, x)),
                           (POSITIVE, POSITIVE, POSITIVE), cost=100),

    # orthogonal polynomials
    "eval_legendre": special("eval_legendre", (UNKNOWN, legendre_slope), (DEGREE, UNIT)),
    "eval_chebyt": special("eval_chebyt", (UNKNOWN, polynomial("eval_chebyt", lambda n: n, "eval_chebyu")),
                           (DEGREE, UNIT)),
    "eval_hermite": special("eval_hermite", (UNKNOWN, polynomial("eval_hermite", lambda n: 2.0 * n)), (DEGREE, REAL)),
    "eval_hermitenorm": special("eval_hermitenorm", (UNKNOWN, polynomial("eval_hermitenorm", lambda n: n)),
                           (DEGREE, REAL)),
    "eval_laguerre": special("eval_laguerre", (UNKNOWN, laguerre_slope), (DEGREE, REAL)),

    "eval_gegenbauer": special("eval_gegenbauer", (UNKNOWN, UNKNOWN, gegenbauer_slope), (DEGREE, POSITIVE, UNIT)),
    "lpmv":        special("lpmv", (UNKNOWN, UNKNOWN, legendre_function_slope),
                           (Interval(0, 2, np.dtype(np.int64)), DEGREE, UNIT), cost=100),
    "spherical_legendre": special("spherical_legendre", (UNKNOWN, UNKNOWN, spherical_legendre_slope),
                           (DEGREE, Interval(-4, 4, np.dtype(np.int64)), REAL), cost=60),

    # integrals of exponentials, sines and cosines
    "exp1":        special("exp1", (lambda x, out: -(call("exp", -x) / x),), (POSITIVE,)),
    "expi":        special("expi", (lambda x, out: call("exp", x) / x,), (POSITIVE,)),
    "expn":        special("expn", (UNKNOWN, lambda n, x, out: -at_order("expn", n, x, -1)),
                           (Interval(1, 4, np.dtype(np.int64)), POSITIVE)),
    "si":          special("si", (lambda x, out: call("sinc", x / math.pi),), (REAL,)),
    "ci":          special("ci", (lambda x, out: call("cos", x) / x,), (POSITIVE,)),
    "shi":         special("shi", (lambda x, out: unless_zero(x, 1.0, call("sinh", x) / x),), (REAL,),
                           corners={(0.0,): (1.0,)}),
    "chi":         special("chi", (lambda x, out: call("cosh", x) / x,), (POSITIVE,)),
    "fresnel_s":   special("fresnel_s", (lambda x, out: call("sin", math.pi / 2 * (x * x)),), (REAL,)),
    "fresnel_c":   special("fresnel_c", (lambda x, out: call("cos", math.pi / 2 * (x * x)),), (REAL,)),
    "spence":      special("spence", (lambda x, out: near_zero(x - 1.0, LOGARITHM, call("log", x) / (1.0 - x)),),
                           (POSITIVE,), corners={(1.0,): (-1.0,)}),

    # elliptic integrals and functions
    "ellipk":      special("ellipk", (elliptic_first,), (PROBABILITY,), corners={(0.0,): (math.pi / 8,)}),
    "ellipkm1":    special("ellipkm1", (lambda p, out: -elliptic_first(1.0 - p, out),), (PROBABILITY,)),
    "ellipe":      special("ellipe", (elliptic_second,), (PROBABILITY,), corners={(0.0,): (-math.pi / 8,)}),

    "ellipkinc":   special("ellipkinc", (lambda phi, m, out: 1.0 / elliptic_root(phi, m), incomplete_first),
                           (UNIT, PROBABILITY)),
    "ellipeinc":   special("ellipeinc", (lambda phi, m, out: elliptic_root(phi, m), incomplete_second),
                           (UNIT, PROBABILITY)),
    "ellipj_sn":   special("ellipj_sn", (lambda u, m, out: jacobi("cn", u, m) * jacobi("dn", u, m),
                                         lambda u, m, out: jacobi("cn", u, m) * amplitude_by_m(u, m)),
                           (REAL, PROBABILITY), cost=100),
    "ellipj_cn":   special("ellipj_cn", (lambda u, m, out: -(jacobi("sn", u, m) * jacobi("dn", u, m)),
                                         lambda u, m, out: -(jacobi("sn", u, m) * amplitude_by_m(u, m))),
                           (REAL, PROBABILITY), cost=100),
    "ellipj_dn":   special("ellipj_dn", (lambda u, m, out: -m * (jacobi("sn", u, m) * jacobi("cn", u, m)), delta_by_m),
                           (REAL, PROBABILITY), cost=100),
    "ellipj_ph":   special("ellipj_ph", (lambda u, m, out: jacobi("dn", u, m),
                                         lambda u, m, out: amplitude_by_m(u, m)), (REAL, PROBABILITY), cost=100),
}
# fmt: on

# fmt: off
# Functions of SciPy that are a row of `scalar`, or a row above by another name.
ALIASES: dict[Any, str] = {
    scipy.special.erf: "erf", scipy.special.erfc: "erfc", scipy.special.psi: "digamma",
    scipy.special.gamma: "scipy_gamma",
    scipy.special.log1p: "log1p", scipy.special.expm1: "expm1", scipy.special.exp2: "exp2",
    scipy.special.cbrt: "cbrt", scipy.special.round: "rint", np.i0: "i0",
}
# fmt: on


def register(rows: dict[str, Primitive]) -> None:
    """Rows into the table; those that are SciPy's own ufuncs by their names."""
    named = {op: getattr(scipy.special, op) for op in rows if isinstance(getattr(scipy.special, op, None), np.ufunc)}
    PRIMITIVES.update(rows)
    UFUNCS.update(named)
    FUNCTIONS.update({function: op for op, function in named.items()})


def ours(models: dict[str, np.ufunc]) -> None:
    """Rows of functions that only `runtime.scipy_special` has, with the dtypes of these ufuncs."""
    for op, model in models.items():
        function = getattr(scipy_special, op)
        UFUNCS[op], FUNCTIONS[function] = Like(function, model, widens=False), op


register(SPECIAL)
FUNCTIONS.update(ALIASES)
UFUNCS.update({"scipy_gamma": scipy.special.gamma, "digamma": scipy.special.psi})
ours({
    "si": scipy.special.j0, "ci": scipy.special.j0, "shi": scipy.special.j0, "chi": scipy.special.j0,
    "fresnel_s": scipy.special.j0, "fresnel_c": scipy.special.j0,
    "ellipj_sn": scipy.special.ellipeinc, "ellipj_cn": scipy.special.ellipeinc, "ellipj_dn": scipy.special.ellipeinc,
    "ellipj_ph": scipy.special.ellipeinc, "spherical_legendre": scipy.special.betainc,
})  # fmt: skip
UFUNCS["zeta"] = Like(scipy.special.zeta, scipy.special.poch, widens=False)

__all__ = ["ALIASES", "SPECIAL"]
