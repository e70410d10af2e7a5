"""scipy.special's functions of real numbers, for generated code: `special.i0(x)`.

In plain Python they are SciPy's.  Compiled, they are the C functions behind those (`scipy.special.cython_special`),
known to LLVM by name, so that machine code on disk finds them in the next process; float32 goes through float64.  The
few that loops of neural networks and statistics are full of are written out here: those vectorise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
import scipy.special.cython_special as compiled
from llvmlite import binding
from numba.core import types
from numba.extending import get_cython_function_address, overload

from srcgrad.runtime.linked import linked
from srcgrad.runtime.vector_math import exp, log, log1p

# fmt: off
ONE_OPERAND = (
    "dawsn", "ellipe", "ellipk", "entr", "erfcinv", "erfcx", "erfi", "erfinv", "exp1", "expi", "exprel", "gamma",
    "gammaln", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "log_ndtr", "loggamma", "logit",
    "ndtr", "ndtri", "psi", "rgamma", "spence", "y0", "y1",
)
TWO_OPERANDS = (
    "beta", "betaln", "binom", "boxcox", "boxcox1p", "ellipeinc", "ellipkinc", "eval_chebyt", "eval_chebyu",
    "eval_hermite", "eval_hermitenorm", "eval_laguerre", "eval_legendre", "expn", "gammainc", "gammaincc",
    "gammainccinv", "gammaincinv", "huber", "hyp0f1", "inv_boxcox", "inv_boxcox1p", "iv", "ive", "jv", "kl_div", "kn",
    "kv", "kve", "owens_t", "poch", "pseudo_huber", "rel_entr", "stdtr", "yn", "yv",
)
THREE_OPERANDS = ("betainc", "betaincinv", "eval_genlaguerre", "hyp1f1")
FOUR_OPERANDS = ("eval_jacobi", "hyp2f1")
# fmt: on


def _of_c() -> dict[str, dict[str, str]]:
    """SciPy's C functions by name, those of one name by their signatures."""
    found: dict[str, dict[str, str]] = {}
    for key, capsule in compiled.__pyx_capi__.items():
        name = re.sub(r"__pyx_fuse_[\d_]+", "", key)
        found.setdefault(name, {})[str(capsule)] = key
    return found


_OF_C = _of_c()


def external(name: str, count: int) -> tuple[Any, bool]:
    """The C function, and whether its first argument is a whole number; SciPy's has one more, which says nothing."""
    for first in ("double", "Py_ssize_t"):
        operands = ", ".join((first, *["double"] * (count - 1)))
        for signature, key in _OF_C[name].items():
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
