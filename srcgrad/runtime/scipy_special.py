"""scipy.special's functions of real numbers, for generated code: `special.i0(x)`.

In plain Python they are SciPy's.  Compiled, they are the C functions behind those (`scipy.special.cython_special`),
known to LLVM by name, so that machine code on disk finds them in the next process; float32 goes through float64.  The
few that loops of neural networks and statistics are full of are written out here: those vectorise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special
import scipy.special.cython_special as compiled
from llvmlite import binding
from numba.core import types
from numba.extending import get_cython_function_address, overload

from srcgrad.runtime.linked import linked
from srcgrad.runtime.scipy_special_calls import SAID, of_c
from srcgrad.runtime.vector_math import exp, log, log1p

# fmt: off
ONE_OPERAND = (
    "bei", "beip", "ber", "berp", "dawsn", "ellipe", "ellipk", "ellipkm1", "entr", "erfcinv", "erfcx", "erfi",
    "erfinv", "exp1", "expi", "exprel", "gamma", "gammaln", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1",
    "k1e", "kei", "keip", "ker", "kerp", "log_ndtr", "loggamma", "logit", "ndtr", "ndtri", "ndtri_exp", "psi",
    "rgamma", "spence", "wrightomega", "y0", "y1",
)
TWO_OPERANDS = (
    "beta", "betaln", "binom", "boxcox", "boxcox1p", "chdtr", "chdtrc", "chdtri", "ellipeinc", "ellipkinc",
    "eval_chebyt", "eval_chebyu", "eval_hermite", "eval_hermitenorm", "eval_laguerre", "eval_legendre", "expn",
    "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "huber", "hyp0f1", "inv_boxcox", "inv_boxcox1p", "iv",
    "ive", "jv", "jve", "kl_div", "kn", "kv", "kve", "modstruve", "owens_t", "pdtr", "pdtrc", "poch", "powm1",
    "pseudo_huber", "rel_entr", "stdtr", "stdtrit", "struve", "yn", "yv", "yve",
)
THREE_OPERANDS = (
    "bdtr", "bdtrc", "betainc", "betaincc", "betaincinv", "eval_gegenbauer", "eval_genlaguerre", "gdtr", "gdtrc",
    "hyp1f1", "hyperu", "lpmv", "nbdtr", "nbdtrc",
)
FOUR_OPERANDS = ("eval_jacobi", "hyp2f1")
# fmt: on


def external(name: str, count: int) -> tuple[Any, bool]:
    """The C function, and whether its first argument is a whole number; SciPy's has one more, which says nothing."""
    for first in ("double", "Py_ssize_t"):
        operands = ", ".join((first, *["double"] * (count - 1)))
        for signature, key in of_c()[name].items():
            if f"double ({operands}, int __pyx_skip_dispatch)" in signature:
                symbol, is_whole = f"srcgrad_special_{name}", first != "double"
                binding.add_symbol(symbol, get_cython_function_address(compiled.__name__, key))
                kinds = [types.intp if is_whole else types.float64, *[types.float64] * (count - 1)]
                return types.ExternalFunction(symbol, types.float64(*kinds, types.intc)), is_whole
    raise AssertionError(name)


def function_of(name: str, count: int) -> Callable[..., Any]:
    """The function of so many operands that generated code calls; its result has the dtype of the last."""
    in_double, is_whole = external(name, count)
    operands = [f"x{k}" for k in range(count)]
    given = [f"intp({x})" if is_whole and x == "x0" else f"float64({x})" for x in operands]
    listed, call = ", ".join(operands), f"in_double({', '.join(given)}, 0)"
    scope = {"ufunc": getattr(scipy.special, name), "in_double": in_double}
    scope |= {"float64": types.float64, "intp": types.intp}
    exec(
        f"def {name}({listed}):\n    return ufunc({listed})\n"
        f"def choose({listed}):\n    dtype = {operands[-1]}\n    return lambda {listed}: dtype({call})\n",
        scope,
    )
    overload(scope[name])(scope["choose"])
    return scope[name]


for _count, _names in enumerate((ONE_OPERAND, TWO_OPERANDS, THREE_OPERANDS, FOUR_OPERANDS), start=1):
    globals().update((name, function_of(name, _count)) for name in _names)
globals().update(SAID)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


# --------------------------------------------------------------------------------------------------------------


@linked
def expit(x: Any) -> Any:
    """1 / (1 + e**-x)"""
    one = type(x)(1.0)
    return one / (one + exp(-x))


@linked
def log_expit(x: Any) -> Any:
    """log(expit(x))"""
    zero = type(x)(0.0)
    return (x if x < zero else zero) - log1p(exp(-abs(x)))


@linked
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), and 0 at x = 0 whatever y is (but for nan)."""
    return type(x)(0.0) if x == 0 and y == y else x * log(y)


@linked
def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 at x = 0 whatever y is (but for nan)."""
    return type(x)(0.0) if x == 0 and y == y else x * log1p(y)


@linked
def zeta(s: Any, x: Any) -> Any:
    """The sum of (x + k)**-s over k = 0, 1, ...: Hurwitz's zeta function for s > 1, by Euler and Maclaurin."""
    a = np.float64(x)
    power = np.float64(s)
    if power < 1.0 or (a < 0.0 and power != np.floor(power)):
        return type(x)(np.nan)
    if power == 1.0 or (a <= 0.0 and a == np.floor(a)):
        return type(x)(np.inf)
    total = np.float64(0.0)
    while a < 12.0 + power:  # until the series in 1 / a holds to rounding
        term = a**-power
        total += term
        if a > 0.0 and term < 1e-18 * abs(total):
            return type(x)(total)
        a += 1.0
    term = a**-power
    total += term * (a / (power - 1.0) + 0.5)
    for k in range(8):
        term *= (power + 2 * k) / a if k == 0 else (power + 2 * k - 1) * (power + 2 * k) / (a * a)
        total += term * EULER_MACLAURIN[k]
    return type(x)(total)


# Bernoulli numbers of even order over factorials
EULER_MACLAURIN = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000,
)  # fmt: skip


@linked
def spherical_legendre(n: Any, m: Any, theta: Any) -> Any:
    """sqrt((2n + 1) / 4 pi (n - m)! / (n + m)!) P(m, n, cos(theta)), as in `sph_harm_y`: by degrees, upwards from m."""
    size, degree = int(abs(m)), int(n)
    if size > degree:
        return type(theta)(0.0)
    cosine, sine = np.cos(np.float64(theta)), abs(np.sin(np.float64(theta)))
    value = np.float64(0.5) / np.sqrt(np.pi)
    for i in range(1, size + 1):
        value *= -np.sqrt((2.0 * i + 1.0) / (2.0 * i)) * sine
    before = np.float64(0.0)
    for k in range(size + 1, degree + 1):
        below = np.sqrt(((k - 1.0) ** 2 - size * size) / (4.0 * (k - 1.0) ** 2 - 1.0))
        grown = np.sqrt((4.0 * k * k - 1.0) / (k * k - size * size)) * (cosine * value - below * before)
        before, value = value, grown
    return type(theta)(-value if m < 0 and size % 2 == 1 else value)


@linked
def exprel_slope(x: Any) -> Any:
    """The slope of `exprel`, (e**x - 1) / x; near 0 by its series, where the formula cancels."""
    u = np.float64(x)
    if abs(u) < 0.25:
        total = np.float64(0.0)
        for k in range(12, -1, -1):
            total = total * u + EXPREL_SERIES[k]
        return type(x)(total)
    if u > 709.0:  # e**u overflows before its quotient by u does
        return type(x)(np.exp(u - np.log(u)))
    return type(x)((u * np.exp(u) - np.expm1(u)) / (u * u))


# (k + 1) / (k + 2)!
EXPREL_SERIES = (
    1 / 2, 1 / 3, 1 / 8, 1 / 30, 1 / 144, 1 / 840, 1 / 5760, 1 / 45360, 1 / 403200, 1 / 3991680, 1 / 43545600,
    1 / 518918400, 1 / 6706022400,
)  # fmt: skip


@linked
def log1p_ratio_slope(x: Any) -> Any:
    """The slope of log(1 + x) / x; near 0 by its series."""
    u = np.float64(x)
    if abs(u) < 0.0625:
        total = np.float64(0.0)
        for k in range(16, 0, -1):
            total = total * -u + k / (k + 1)
        return type(x)(-total)
    return type(x)((u / (1.0 + u) - np.log1p(u)) / (u * u))
