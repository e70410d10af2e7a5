"""Special functions that are said in simpler ones, and small functions of numbers."""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from srcgrad.rules.compositions.registry import means, steady

# --------------------------------------------------------------------------------------------------------------
# Sums of exponentials: the largest is taken out, and has no part in the derivative.


@means(scipy.special.logsumexp)
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    a = _floating(a)
    if b is not None:
        b = b if np.isscalar(b) else np.asarray(b)
        a = np.where(b == 0, np.where(a < np.inf, a, 0.0), a)  # what counts for nothing may be inf or nan
    top = _finite(steady(np.max(a if b is None else np.where(b == 0, -np.inf, a), axis, keepdims=True)))
    powers = np.exp(a - top) if b is None else b * np.exp(np.where(b == 0, np.minimum(a - top, 80.0), a - top))
    total = np.sum(powers, axis, keepdims=keepdims)
    if not keepdims:
        top = np.sum(top, axis)
    if return_sign:
        return np.log(np.abs(total)) + top, np.sign(total)
    return np.log(total) + top


def _finite(top):
    return np.where(np.isfinite(top), top, np.zeros_like(top))


@means(scipy.special.softmax)
def softmax(x, axis=None):
    x = _floating(x)
    powers = np.exp(x - steady(np.max(x, axis, keepdims=True)))
    return powers / np.sum(powers, axis, keepdims=True)


@means(scipy.special.log_softmax)
def log_softmax(x, axis=None):
    x = _floating(x)
    lowered = x - _finite(steady(np.max(x, axis, keepdims=True)))
    return lowered - np.log(np.sum(np.exp(lowered), axis, keepdims=True))


def _floating(x):
    x = np.asarray(x)
    if np.iscomplexobj(x):
        raise NotImplementedError("exponentials of complex numbers are not supported in this function")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


# --------------------------------------------------------------------------------------------------------------
# Functions of one or two numbers.


@means(scipy.special.polygamma)
def polygamma(n, x):
    x = np.float64(x)
    factor = (-1.0) ** (n + 1) * scipy.special.gamma(n + 1.0)
    return np.where(n == 0, scipy.special.psi(x), factor * scipy.special.zeta(n + 1, x))


@means(scipy.special.multigammaln)
def multigammaln(a, d):
    a = np.float64(a)
    total = d * (d - 1) * 0.25 * math.log(math.pi)
    for j in range(1, d + 1):
        total = total + scipy.special.loggamma(a + (1.0 - j) / 2)
    return total


@means(scipy.special.comb)
def comb(N, k, *, exact=False, repetition=False):
    if repetition:
        if exact and k == 0 and N >= 0:
            return 1
        N = N + k - 1
    if exact:
        of_whole(N, k)
        return math.comb(int(N), int(k)) if N >= 0 and k >= 0 else 0
    N, k = np.float64(N), np.float64(k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), scipy.special.binom(N, k), 0.0)


@means(scipy.special.perm)
def perm(N, k, exact=False):
    if exact:
        of_whole(N, k)
        return math.perm(int(N), int(k)) if N >= 0 and k >= 0 else 0
    N, k = np.float64(N), np.float64(k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), scipy.special.poch(N - k + 1.0, k), 0.0)


def of_whole(N, k):
    if int(N) != N or int(k) != k:
        raise ValueError("Non-integer `N` and `k` with `exact=True` is not supported.")


@means(scipy.special.factorial)
def factorial(n, exact=False):
    if exact:
        return of_each(exact_factorial, n, "factorial")
    n = np.float64(n)
    return np.where(n < 0, 0.0, scipy.special.gamma(n + 1.0))


@means(scipy.special.factorial2)
def factorial2(n, exact=False):
    if exact:
        return of_each(exact_double_factorial, n, "factorial2")
    if np.asarray(n).dtype.kind not in "iu":
        raise ValueError("factorial2 of numbers that are not whole is not supported")
    n = np.float64(n)
    even = 2.0 ** (n / 2.0) * scipy.special.gamma(n / 2.0 + 1.0)
    return np.where(n < 0, 0.0, np.where(n % 2 == 0, even, even * math.sqrt(2.0 / math.pi)))


def of_each(function, n, name):
    n = np.asarray(n)
    if n.dtype.kind not in "iu":
        raise ValueError(f"{name} of numbers that are not whole, with exact=True, is not supported")
    if n.ndim == 0:
        return function(n[()])
    return np.array([function(k) for k in np.ravel(n)]).reshape(n.shape)


def exact_factorial(n):
    return math.factorial(n) if n >= 0 else 0


def exact_double_factorial(n):
    if n < 0:
        return 0
    if n > 33:
        raise OverflowError("the double factorial of a number above 33 has more than 64 bits")
    out = 1
    for k in range(n, 1, -2):
        out *= k
    return out


# Of integers of 16 bits at most SciPy's releases make the one or the other.
OF_SMALL = {
    f.__name__: f(np.zeros(1, np.int8)).dtype
    for f in (scipy.special.exp10, scipy.special.cosm1, scipy.special.sindg, scipy.special.cosdg)
}


def real_of(x, name):
    kind = np.asarray(x).dtype
    is_small = kind.kind in "iub" and kind.itemsize <= 2
    return np.asarray(x).astype(OF_SMALL[name]) if is_small else np.multiply(1.0, x)


@means(scipy.special.exp10)
def exp10(x, out=None):
    return np.power(10.0, real_of(x, "exp10"), out=out)


@means(scipy.special.cosm1)
def cosm1(x, out=None):
    half = np.sin(0.5 * real_of(x, "cosm1"))
    return np.multiply(-2.0 * half, half, out=out)


@means(scipy.special.sindg)
def sindg(x, out=None):
    return np.sin(np.deg2rad(real_of(x, "sindg")), out=out)


@means(scipy.special.cosdg)
def cosdg(x, out=None):
    return np.cos(np.deg2rad(real_of(x, "cosdg")), out=out)


@means(scipy.special.tandg)
def tandg(x, out=None):
    return np.tan(np.deg2rad(real_of(x, "sindg")), out=out)


@means(scipy.special.fdtr)
def fdtr(dfn, dfd, x):
    return scipy.special.betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


@means(scipy.special.fdtrc)
def fdtrc(dfn, dfd, x):
    return scipy.special.betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))


# Polynomials that are others at another place.


@means(scipy.special.eval_sh_legendre)
def eval_sh_legendre(n, x):
    return scipy.special.eval_legendre(n, 2.0 * x - 1.0)


@means(scipy.special.eval_sh_chebyt)
def eval_sh_chebyt(n, x):
    return scipy.special.eval_chebyt(n, 2.0 * x - 1.0)


@means(scipy.special.eval_sh_chebyu)
def eval_sh_chebyu(n, x):
    return scipy.special.eval_chebyu(n, 2.0 * x - 1.0)


@means(scipy.special.eval_chebyc)
def eval_chebyc(n, x):
    return 2.0 * scipy.special.eval_chebyt(n, 0.5 * x)


@means(scipy.special.eval_chebys)
def eval_chebys(n, x):
    return scipy.special.eval_chebyu(n, 0.5 * x)


@means(np.modf, math.modf)
def modf(x):
    x = x * 1.0
    return np.where(np.isinf(x), np.copysign(0.0, x), np.fmod(x, 1.0)), np.trunc(x)


@means(np.divmod, divmod)
def divmod_(x, y):
    return x // y, x % y


@means(math.dist)
def dist(p, q):
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    total = 0.0
    for k in range(len(p)):
        total = math.hypot(total, p[k] - q[k])
    return total


@means(math.fsum)
def fsum(seq):
    total = 0.0
    for item in seq:
        total = total + float(item)
    return total


# --------------------------------------------------------------------------------------------------------------
# Questions.


@means(np.isposinf)
def isposinf(x, out=None):
    return np.logical_and(np.isinf(x), np.logical_not(np.signbit(x)), out=out)


@means(np.isneginf)
def isneginf(x, out=None):
    return np.logical_and(np.isinf(x), np.signbit(x), out=out)


@means(np.isclose)
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    near = (np.abs(np.subtract(a, b)) <= atol + rtol * np.abs(b)) & np.isfinite(b) | np.equal(a, b)
    return near | np.isnan(a) & np.isnan(b) if equal_nan else near


@means(np.allclose)
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@means(math.isclose)
def isclose_numbers(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    near = abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)
    return a == b or (math.isfinite(a) and math.isfinite(b) and near)


@means(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    x, y = np.asarray(a1), np.asarray(a2)
    if x.ndim != y.ndim or x.shape != y.shape:
        return False
    same = x == y
    if equal_nan:
        same = same | np.isnan(x) & np.isnan(y)
    return bool(np.all(same))
