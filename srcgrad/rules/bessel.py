"""Bessel functions and their kin, as rows: what solves the equations of waves in cylinders, spheres and linear fields.

    "j0": special("j0", (lambda x, out: -call("j1", x),), (REAL,))

The slopes are those of NIST's Digital Library of Mathematical Functions: 10.6 and 10.29 (Bessel), 10.51 (spherical),
10.63 (Kelvin), 9.2 (Airy), 11.4 (Struve).  By the order none is known to SciPy, and so it is `UNKNOWN`.
"""

from __future__ import annotations

import numpy as np
import scipy.special

from ..ir.expressions import Expr, call, compare, select
from .partials import UNKNOWN, Partial
from .scalar import POSITIVE, REAL, Interval, Primitive
from .special import DEGREE, ORDER, ROOT_PI, as_real, at_order, ours, register, sign_of, special, unless_zero


def bessel(op: str, ahead: float, behind: float, own: Partial = lambda v, x, out: None) -> tuple[Partial, Partial]:
    """The slope of a Bessel function of order v, by those of orders v + 1 and v - 1."""

    def slope(v: Expr, x: Expr, out: Expr) -> Expr:
        after, before = at_order(op, v, x, 1), at_order(op, v, x, -1)
        difference = before - after if ahead * behind < 0 else before + after
        halved = behind * difference
        extra = own(v, x, out)
        return halved if extra is None else halved + extra

    return UNKNOWN, slope


def spherical(op: str, ahead: float, behind: float) -> tuple[Partial, Partial]:
    """(behind n f[n - 1] + ahead (n + 1) f[n + 1]) / (2 n + 1): nothing is divided by x.  For n = 0, ahead f[1]."""

    def slope(n: Expr, x: Expr, out: Expr) -> Expr:
        degree = as_real(n, x)
        after = ahead * ((degree + 1.0) * at_order(op, n, x, 1))
        both = behind * (degree * at_order(op, n, x, -1)) + after
        return select(compare("eq", n, 0), after, both / (2.0 * degree + 1.0))

    return UNKNOWN, slope


def struve(op: str, ahead: float) -> tuple[Partial, Partial]:
    """As of a Bessel function, and the term that the equation has on its right-hand side."""

    def slope(v: Expr, x: Expr, out: Expr) -> Expr:
        half = 0.5 * (at_order(op, v, x, -1) + ahead * at_order(op, v, x, 1))
        return half + 0.5 / ROOT_PI * call("pow", 0.5 * x, v) / call("scipy_gamma", v + 1.5)

    return UNKNOWN, slope


# fmt: off
BESSEL: dict[str, Primitive] = {
    # of whole and real order
    "j0":          special("j0", (lambda x, out: -call("j1", x),), (REAL,)),
    "j1":          special("j1", (lambda x, out: unless_zero(x, 0.5, call("j0", x) - out / x),), (REAL,),
                           corners={(0.0,): (0.5,)}),
    "y0":          special("y0", (lambda x, out: -call("y1", x),), (POSITIVE,)),
    "y1":          special("y1", (lambda x, out: call("y0", x) - out / x,), (POSITIVE,)),
    "i0":          special("i0", (lambda x, out: call("i1", x),), (REAL,), corners={(0.0,): (0.0,)}),
    "i1":          special("i1", (lambda x, out: unless_zero(x, 0.5, call("i0", x) - out / x),), (REAL,),
                           corners={(0.0,): (0.5,)}),
    "i0e":         special("i0e", (lambda x, out: call("i1e", x) - sign_of(x) * out,), (REAL,),
                           corners={(0.0,): (0.0,)}),
    "i1e":         special("i1e", (lambda x, out: unless_zero(x, 0.5, call("i0e", x) - out * (sign_of(x) + 1.0 / x)),),
                           (REAL,), corners={(0.0,): (0.5,)}),
    "k0":          special("k0", (lambda x, out: -call("k1", x),), (POSITIVE,)),
    "k1":          special("k1", (lambda x, out: -call("k0", x) - out / x,), (POSITIVE,)),
    "k0e":         special("k0e", (lambda x, out: out - call("k1e", x),), (POSITIVE,)),
    "k1e":         special("k1e", (lambda x, out: out - out / x - call("k0e", x),), (POSITIVE,)),
    "jv":          special("jv", bessel("jv", -0.5, 0.5), (ORDER, POSITIVE), cost=100),
    "yv":          special("yv", bessel("yv", -0.5, 0.5), (ORDER, POSITIVE), cost=100),
    "iv":          special("iv", bessel("iv", 0.5, 0.5), (ORDER, POSITIVE), cost=100),
    "kv":          special("kv", bessel("kv", -0.5, -0.5), (ORDER, POSITIVE), cost=100),
    "ive":         special("ive", bessel("ive", 0.5, 0.5, lambda v, x, out: -(sign_of(x) * out)), (ORDER, POSITIVE),
                           cost=100),
    "kve":         special("kve", bessel("kve", -0.5, -0.5, lambda v, x, out: out), (ORDER, POSITIVE), cost=100),
    "kn":          special("kn", bessel("kn", -0.5, -0.5), (Interval(1, 3, np.dtype(np.int64)), POSITIVE), cost=100),
    "yn":          special("yn", bessel("yn", -0.5, 0.5), (Interval(1, 3, np.dtype(np.int64)), POSITIVE), cost=100),
    "jve":         special("jve", bessel("jve", -0.5, 0.5), (ORDER, POSITIVE), cost=100), # of real x as jv and yv
    "yve":         special("yve", bessel("yve", -0.5, 0.5), (ORDER, POSITIVE), cost=100),

    # spherical
    "spherical_jn": special("spherical_jn", spherical("spherical_jn", -1.0, 1.0), (DEGREE, REAL), cost=100),
    "spherical_yn": special("spherical_yn", spherical("spherical_yn", -1.0, 1.0), (DEGREE, POSITIVE), cost=100),
    "spherical_in": special("spherical_in", spherical("spherical_in", 1.0, 1.0), (DEGREE, REAL), cost=100),
    "spherical_kn": special("spherical_kn", spherical("spherical_kn", -1.0, -1.0), (DEGREE, POSITIVE), cost=100),

    # Kelvin
    "ber":         special("ber", (lambda x, out: call("berp", x),), (REAL,)),
    "bei":         special("bei", (lambda x, out: call("beip", x),), (REAL,)),
    "ker":         special("ker", (lambda x, out: call("kerp", x),), (POSITIVE,)),
    "kei":         special("kei", (lambda x, out: call("keip", x),), (POSITIVE,)),
    "berp":        special("berp", (lambda x, out: unless_zero(x, 0.0, -call("bei", x) - out / x),), (REAL,),
                           corners={(0.0,): (0.0,)}),
    "beip":        special("beip", (lambda x, out: unless_zero(x, 0.5, call("ber", x) - out / x),), (REAL,),
                           corners={(0.0,): (0.5,)}),
    "kerp":        special("kerp", (lambda x, out: -call("kei", x) - out / x,), (POSITIVE,)),
    "keip":        special("keip", (lambda x, out: call("ker", x) - out / x,), (POSITIVE,)),

    # Airy
    "airy_ai":     special("airy_ai", (lambda x, out: call("airy_aip", x),), (REAL,), cost=100),
    "airy_aip":    special("airy_aip", (lambda x, out: x * call("airy_ai", x),), (REAL,), cost=100),
    "airy_bi":     special("airy_bi", (lambda x, out: call("airy_bip", x),), (REAL,), cost=100),
    "airy_bip":    special("airy_bip", (lambda x, out: x * call("airy_bi", x),), (REAL,), cost=100),

    # Struve
    "struve":      special("struve", struve("struve", -1.0), (ORDER, POSITIVE), cost=100),
    "modstruve":   special("modstruve", struve("modstruve", 1.0), (ORDER, POSITIVE), cost=100),
}
# fmt: on

register(BESSEL)
ours(dict.fromkeys(("airy_ai", "airy_aip", "airy_bi", "airy_bip"), scipy.special.j0))
ours({op: scipy.special.eval_legendre for op in BESSEL if op.startswith("spherical_")})

__all__ = ["BESSEL"]
