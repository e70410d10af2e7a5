"""SciPy's roots of functions of one number, by SciPy's own steps, through which no derivative goes.

Where f(x, p) = 0, x moves by -f_p dp / f_x: one more call of f at the root, behind the search, carries that.  Where
the search begins has no influence.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize

from srcgrad.rules.compositions.registry import follow, means, only_once, slope
from srcgrad.rules.user import stop_gradient

EPSILON = 4 * np.finfo(float).eps
STEP = np.finfo(float).eps ** 0.5


class Root:
    """What root_scalar returns."""

    def __init__(self, root, converged):
        self.root, self.converged = root, converged


def at_root(f, x, args):
    x = stop_gradient(x)
    return follow(x, f(x, *args), -1.0 / slope(f, x, *args))


def result(f, x, converged, args, maxiter, full_output, disp):
    if disp and not converged:
        raise RuntimeError(f"Failed to converge after {maxiter} iterations")
    x = at_root(f, x, args)
    return (x, Root(x, converged)) if full_output else x


def as_tuple(args):
    return args if isinstance(args, tuple) else (args,)


@means(scipy.optimize.brentq)
def brentq(f, a, b, args=(), xtol=2e-12, rtol=EPSILON, maxiter=100, full_output=False, disp=True):
    only_once("scipy.optimize.brentq")
    x, converged = brent(f, a, b, as_tuple(args), xtol, rtol, maxiter, False)
    return result(f, x, converged, as_tuple(args), maxiter, full_output, disp)


@means(scipy.optimize.brenth)
def brenth(f, a, b, args=(), xtol=2e-12, rtol=EPSILON, maxiter=100, full_output=False, disp=True):
    only_once("scipy.optimize.brenth")
    x, converged = brent(f, a, b, as_tuple(args), xtol, rtol, maxiter, True)
    return result(f, x, converged, as_tuple(args), maxiter, full_output, disp)


@means(scipy.optimize.bisect)
def bisect(f, a, b, args=(), xtol=2e-12, rtol=EPSILON, maxiter=100, full_output=False, disp=True):
    only_once("scipy.optimize.bisect")
    x, converged = halved(f, a, b, as_tuple(args), xtol, rtol, maxiter)
    return result(f, x, converged, as_tuple(args), maxiter, full_output, disp)


def check(xtol, rtol):
    if xtol <= 0:
        raise ValueError("xtol too small")
    if rtol < EPSILON:
        raise ValueError("rtol too small")


def known(value):
    if np.isnan(value):
        raise ValueError("The function value is NaN; solver cannot continue.")
    return value


def brent(f, a, b, args, xtol, rtol, maxiter, is_hyperbolic):
    """The first two rounds are for the ends: f stands in one place."""
    check(xtol, rtol)
    before, now = stop_gradient(float(a)), stop_gradient(float(b))
    across, f_before, f_now, f_across, last, step = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    x, converged = before, False
    for i in range(maxiter + 2):
        value = known(stop_gradient(float(f(x, *args))))
        if i == 0:
            f_before, x = value, now
            if value == 0:
                x, converged = before, True
                break
            continue
        f_now = value
        if i == 1 and value != 0 and np.signbit(f_before) == np.signbit(value):
            raise ValueError("f(a) and f(b) must have different signs")
        if i == 1 and value == 0:
            converged = True
            break
        if i == maxiter + 1:
            break
        if f_before != 0 and f_now != 0 and np.signbit(f_before) != np.signbit(f_now):
            across, f_across = before, f_before
            last = step = now - before
        if abs(f_across) < abs(f_now):
            before, now, across = now, across, now
            f_before, f_now, f_across = f_now, f_across, f_now
        delta = (xtol + rtol * abs(now)) / 2
        half = (across - now) / 2
        x = now
        if f_now == 0 or abs(half) < delta:
            converged = True
            break
        guess = np.inf
        if abs(last) > delta and abs(f_now) < abs(f_before):
            if before == across:
                guess = -f_now * (now - before) / (f_now - f_before)
            else:
                by_before = (f_before - f_now) / (before - now)
                by_across = (f_across - f_now) / (across - now)
                if is_hyperbolic:
                    guess = -f_now * (f_across - f_before) / (f_across * by_before - f_before * by_across)
                else:
                    guess = (
                        -f_now
                        * (f_across * by_across - f_before * by_before)
                        / (by_across * by_before * (f_across - f_before))
                    )
        if 2 * abs(guess) < min(abs(last), 3 * abs(half) - delta):
            last, step = step, guess
        else:
            last, step = half, half
        before, f_before = now, f_now
        now = now + (step if abs(step) > delta else delta if half > 0 else -delta)
        x = now
    return x, converged


def halved(f, a, b, args, xtol, rtol, maxiter):
    check(xtol, rtol)
    low, gap = stop_gradient(float(a)), stop_gradient(float(b)) - stop_gradient(float(a))
    f_low, x, converged = 0.0, low, False
    for i in range(maxiter + 2):
        value = known(stop_gradient(float(f(x, *args))))
        if value == 0 or (i > 1 and abs(gap) < xtol + rtol * abs(x)):
            converged = True
            break
        if i == 0:
            f_low = value
            x = low + gap
            continue
        if i == 1 and np.signbit(f_low) == np.signbit(value):
            raise ValueError("f(a) and f(b) must have different signs")
        if i > 1 and np.signbit(value) == np.signbit(f_low):
            low = x
        if i <= maxiter:
            gap = gap * 0.5
            x = low + gap
    return x, converged


@means(scipy.optimize.newton)
def newton(
    func,
    x0,
    fprime=None,
    args=(),
    tol=1.48e-8,
    maxiter=50,
    fprime2=None,
    x1=None,
    rtol=0.0,
    full_output=False,
    disp=True,
):
    only_once("scipy.optimize.newton")
    if np.size(x0) > 1:
        raise NotImplementedError("scipy.optimize.newton of an array is not supported")
    args = tuple(args) if isinstance(args, list) else as_tuple(args)
    start = np.asarray(x0)[()] * np.float64(1)
    if fprime is not None:
        x, converged = by_slope(func, start, fprime, fprime2, args, tol, rtol, maxiter)
    else:
        x, converged = by_secant(func, start, x1, args, tol, rtol, maxiter)
    return result(func, x, converged, args, maxiter, full_output, disp)


def is_close(x, y, tol, rtol):
    return abs(x - y) <= tol + rtol * abs(y) or x == y


def by_slope(f, x0, fprime, fprime2, args, tol, rtol, maxiter):
    if tol <= 0:
        raise ValueError("tol too small")
    x, converged = stop_gradient(x0), False
    for _ in range(maxiter):
        value = stop_gradient(f(x, *args) * np.float64(1))
        if value == 0:
            converged = True
            break
        rate = stop_gradient(fprime(x, *args) * np.float64(1))
        if rate == 0:
            raise RuntimeError("Derivative was zero.")
        step = value / rate
        if fprime2 is not None:
            adjusted = step * stop_gradient(fprime2(x, *args) * np.float64(1)) / rate / 2
            if abs(adjusted) < 1:
                step = step / (1.0 - adjusted)
        before, x = x, x - step
        if is_close(x, before, tol, rtol):
            converged = True
            break
    return x, converged


def by_secant(f, x0, x1, args, tol, rtol, maxiter):
    if tol <= 0:
        raise ValueError("tol too small")
    older = stop_gradient(x0)
    newer = older * (1 + 1e-4)
    newer = newer + (1e-4 if newer >= 0 else -1e-4)
    if x1 is not None:
        newer = stop_gradient(x1 * np.float64(1))
        if newer == older:
            raise ValueError("x1 and x0 must be different")
    f_older, f_newer, x, converged = 0.0, 0.0, older, False
    for i in range(maxiter + 2):
        value = stop_gradient(f(x, *args) * np.float64(1))
        if i == 0:
            f_older, x = value, newer
            continue
        f_newer = value
        if i == 1 and abs(f_newer) < abs(f_older):
            older, newer, f_older, f_newer = newer, older, f_newer, f_older
        if i == maxiter + 1:
            break
        if f_newer == f_older:
            if newer != older:
                raise RuntimeError("Tolerance reached: the function has the same value at two points")
            x, converged = (newer + older) / 2.0, True
            break
        if abs(f_newer) > abs(f_older):
            x = (-f_older / f_newer * newer + older) / (1 - f_older / f_newer)
        else:
            x = (-f_newer / f_older * older + newer) / (1 - f_newer / f_older)
        if is_close(x, newer, tol, rtol):
            converged = True
            break
        older, f_older = newer, f_newer
        newer = x
    return x, converged


@means(scipy.optimize.root_scalar)
def root_scalar(
    f,
    args=(),
    method=None,
    bracket=None,
    fprime=None,
    fprime2=None,
    x0=None,
    x1=None,
    xtol=None,
    rtol=None,
    maxiter=None,
    options=None,
):
    only_once("scipy.optimize.root_scalar")
    if options is not None or isinstance(fprime, bool) or isinstance(fprime2, bool):
        raise NotImplementedError("options, and functions that return their derivative, are not supported")
    args = as_tuple(args)
    if method is None:
        method = "brentq" if bracket is not None else "secant" if x1 is not None and fprime is None else "newton"
    if method in ("brentq", "brenth", "bisect"):
        if bracket is None:
            raise ValueError("Bracket needed")
        near = 2e-12 if xtol is None else xtol
        relative = EPSILON if rtol is None else rtol
        most = 100 if maxiter is None else maxiter
        if method == "bisect":
            x, converged = halved(f, bracket[0], bracket[1], args, near, relative, most)
        else:
            x, converged = brent(f, bracket[0], bracket[1], args, near, relative, most, method == "brenth")
        return Root(at_root(f, x, args), converged)
    elif method in ("newton", "halley", "secant"):
        if x0 is None:
            raise ValueError("x0 must not be None")
        near = 1.48e-8 if xtol is None else xtol
        relative = 0.0 if rtol is None else rtol
        most = 50 if maxiter is None else maxiter
        start = np.asarray(x0)[()] * np.float64(1)
        if method == "secant":
            x, converged = by_secant(f, start, x1, args, near, relative, most)
        elif fprime is None:
            x, converged = by_slope(f, start, lambda x, *args: difference(f, x, args), None, args, near, relative, most)
        else:
            x, converged = by_slope(
                f, start, fprime, None if method == "newton" else fprime2, args, near, relative, most
            )
        return Root(at_root(f, x, args), converged)
    raise NotImplementedError(f"root_scalar with method={method!r} is not supported")


def difference(f, x, args):
    wide = STEP * (1.0 if x >= 0 else -1.0) * max(1.0, abs(x))
    return (f(x + wide, *args) - f(x, *args)) / ((x + wide) - x)
