"""Distribution functions of scipy.special and what inverts them, as rows: their slopes are the densities.

    "gammainc": special("gammainc", (UNKNOWN, lambda a, x, out: gamma_density(a, x)), (POSITIVE, POSITIVE))

By the parameters SciPy has no derivative but where there is a short formula, and so it is `UNKNOWN`.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.expressions import Expr, call
from .partials import UNKNOWN, number
from .scalar import INF, POSITIVE, REAL, Interval, Primitive
from .special import PROBABILITY, ROOT_HALF, ROOT_TAU, as_real, register, special

BELOW_ZERO = Interval(-3.0, -0.1)
FEW, MANY = Interval(0, 2, np.dtype(np.int64)), Interval(3, 6, np.dtype(np.int64))
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)


def student_density(df: Expr, t: Expr, out: Expr) -> Expr:
    """poch, log1p: differences of log-gammas, and powers of 1 + t*t/df, lose the digits that a large df has."""
    scale = call("poch", 0.5 * df, number(0.5, df)) / call("sqrt", math.pi * df)
    return scale * call("exp", call("xlog1py", -0.5 * (df + 1.0), t * t / df))


def owens_first(h: Expr, a: Expr, out: Expr) -> Expr:
    return -0.5 / ROOT_TAU * call("exp", -0.5 * (h * h)) * call("erf", ROOT_HALF * (a * h))


def owens_second(h: Expr, a: Expr, out: Expr) -> Expr:
    widened = 1.0 + a * a
    return call("exp", -0.5 * (h * h) * widened) / (2 * math.pi * widened)


def gamma_density(a: Expr, x: Expr) -> Expr:
    """x**(a - 1) e**-x / gamma(a), which is the slope of gammainc."""
    return call("exp", call("xlogy", a - 1.0, x) - x - call("gammaln", a))


def beta_density(a: Expr, b: Expr, x: Expr) -> Expr:
    powers = call("xlogy", a - 1.0, x) + call("xlog1py", b - 1.0, -x)
    return call("exp", powers - call("betaln", a, b))


def poisson_density(k: Expr, m: Expr) -> Expr:
    return gamma_density(call("floor", k) + 1.0, m)


def binomial_density(k: Expr, n: Expr, p: Expr) -> Expr:
    """The slope of the share of those above k among n."""
    count = call("floor", as_real(k, p))
    return beta_density(count + 1.0, as_real(n, p) - count, p)


def failures_density(k: Expr, n: Expr, p: Expr) -> Expr:
    return beta_density(as_real(n, p), as_real(k, p) + 1.0, p)


# fmt: off
DISTRIBUTIONS: dict[str, Primitive] = {
    # normal
    "ndtr":        special("ndtr", (lambda x, out: 1 / ROOT_TAU * call("exp", -0.5 * (x * x)),), (REAL,),
                           singular=False),
    "log_ndtr":    special("log_ndtr", (lambda x, out: math.sqrt(2 / math.pi) / call("erfcx", -ROOT_HALF * x),),
                           (REAL,)),
    "ndtri":       special("ndtri", (lambda x, out: ROOT_TAU * call("exp", 0.5 * (out * out)),), (PROBABILITY,),
                           corners={(0.5,): (ROOT_TAU,), (0.0,): (INF,)}),
    # normal and Student's
    "owens_t":     special("owens_t", (owens_first, owens_second), (REAL, REAL)),
    "stdtr":       special("stdtr", (UNKNOWN, student_density), (POSITIVE, REAL), cost=100,
                           corners={(4e6, 0.0): (0.0, 0.3989422554675409)}),

    "stdtrit":     special("stdtrit", (UNKNOWN, lambda df, p, out: 1.0 / student_density(df, out, out)),
                           (POSITIVE, PROBABILITY), cost=100),
    "ndtri_exp":   special("ndtri_exp", (lambda y, out: ROOT_HALF_PI * call("erfcx", -ROOT_HALF * out),),
                           (BELOW_ZERO,)),

    # gamma
    "gammainc":    special("gammainc", (UNKNOWN, lambda a, x, out: gamma_density(a, x)), (POSITIVE, POSITIVE)),
    "gammaincc":   special("gammaincc", (UNKNOWN, lambda a, x, out: -gamma_density(a, x)), (POSITIVE, POSITIVE)),
    "gammaincinv": special("gammaincinv", (UNKNOWN, lambda a, y, out: 1.0 / gamma_density(a, out)),
                           (POSITIVE, PROBABILITY), cost=100),
    "gammainccinv": special("gammainccinv", (UNKNOWN, lambda a, y, out: -1.0 / gamma_density(a, out)),
                           (POSITIVE, PROBABILITY), cost=100),
    "chdtr":       special("chdtr", (UNKNOWN, lambda v, x, out: 0.5 * gamma_density(0.5 * v, 0.5 * x)),
                           (POSITIVE, POSITIVE)),
    "chdtrc":      special("chdtrc", (UNKNOWN, lambda v, x, out: -0.5 * gamma_density(0.5 * v, 0.5 * x)),
                           (POSITIVE, POSITIVE)),
    "chdtri":      special("chdtri", (UNKNOWN, lambda v, p, out: -2.0 / gamma_density(0.5 * v, 0.5 * out)),
                           (POSITIVE, PROBABILITY), cost=100),
    "gdtr":        special("gdtr", (lambda a, b, x, out: x * gamma_density(b, a * x), UNKNOWN,
                                    lambda a, b, x, out: a * gamma_density(b, a * x)), (POSITIVE,) * 3),
    "gdtrc":       special("gdtrc", (lambda a, b, x, out: -x * gamma_density(b, a * x), UNKNOWN,
                                     lambda a, b, x, out: -a * gamma_density(b, a * x)), (POSITIVE,) * 3),
    "pdtr":        special("pdtr", (UNKNOWN, lambda k, m, out: -poisson_density(k, m)), (POSITIVE, POSITIVE)),
    "pdtrc":       special("pdtrc", (UNKNOWN, lambda k, m, out: poisson_density(k, m)), (POSITIVE, POSITIVE)),

    # beta
    "betainc":     special("betainc", (UNKNOWN, UNKNOWN, lambda a, b, x, out: beta_density(a, b, x)),
                           (POSITIVE, POSITIVE, PROBABILITY)),
    "betaincc":    special("betaincc", (UNKNOWN, UNKNOWN, lambda a, b, x, out: -beta_density(a, b, x)),
                           (POSITIVE, POSITIVE, PROBABILITY)),
    "betaincinv":  special("betaincinv", (UNKNOWN, UNKNOWN, lambda a, b, y, out: 1.0 / beta_density(a, b, out)),
                           (POSITIVE, POSITIVE, PROBABILITY), cost=100),
    "bdtr":        special("bdtr", (UNKNOWN, UNKNOWN, lambda k, n, p, out: -binomial_density(k, n, p)),
                           (FEW, MANY, PROBABILITY)),
    "bdtrc":       special("bdtrc", (UNKNOWN, UNKNOWN, lambda k, n, p, out: binomial_density(k, n, p)),
                           (FEW, MANY, PROBABILITY)),
    "nbdtr":       special("nbdtr", (UNKNOWN, UNKNOWN, lambda k, n, p, out: failures_density(k, n, p)),
                           (FEW, MANY, PROBABILITY)),
    "nbdtrc":      special("nbdtrc", (UNKNOWN, UNKNOWN, lambda k, n, p, out: -failures_density(k, n, p)),
                           (FEW, MANY, PROBABILITY)),
}
# fmt: on

register(DISTRIBUTIONS)

__all__ = ["DISTRIBUTIONS"]
