"""SciPy's `solve_ivp` by its explicit Runge-Kutta methods, by the steps that SciPy takes.

How long steps are is decided by numbers through which no derivative goes: the derivative is that of the formulas on
the times that were chosen, as near to the derivative of the solution as the solution itself.  The last step ends where
the interval does, and times at which the solution is asked for lie inside steps: by these, too, it is differentiated.

E. Hairer, S. P. Nørsett and G. Wanner, Solving Ordinary Differential Equations I (1993), II.4 on steps, II.6 on what
lies inside of them; the coefficients are SciPy's.
"""

from __future__ import annotations

import numpy as np
import scipy.integrate

from srcgrad.rules.compositions.registry import means
from srcgrad.rules.user import stop_gradient

LEAST_TOLERANCE = 100 * np.finfo(float).eps


class Tableau:
    """A method: where each stage is, and what it is made of; the step itself is one, too.

    `inside` gives the powers of a part of a step; in `DOP853` it is of `extra` stages besides, and of another form.
    """

    def __init__(self, method, inside, errors, extra=0):
        self.stages, self.order, self.extra = method.n_stages, method.error_estimator_order, extra
        self.times, self.weights = np.ones(self.stages + 1 + extra), np.zeros((self.stages + 1 + extra,) * 2)
        self.times[: self.stages] = method.C
        self.weights[: self.stages, : method.A.shape[1]] = method.A
        self.weights[self.stages, : self.stages] = method.B
        if extra:
            self.times[-extra:], self.weights[-extra:] = method.C_EXTRA, method.A_EXTRA
        self.inside, self.errors = inside, errors


RK23, RK45, DOP853 = scipy.integrate.RK23, scipy.integrate.RK45, scipy.integrate.DOP853
METHODS = {
    "RK23": Tableau(RK23, RK23.P, (RK23.E,)),
    "RK45": Tableau(RK45, RK45.P, (RK45.E,)),
    "DOP853": Tableau(DOP853, DOP853.D, (DOP853.E5, DOP853.E3), extra=3),
}


REACHED = "The solver successfully reached the end of the integration interval."
TOO_SMALL = "Required step size is less than spacing between numbers."


class Solution:
    """What solve_ivp returns."""

    def __init__(self, t, y, nfev, status):
        self.t, self.y, self.nfev, self.status = t, y, nfev, status
        self.success = status >= 0
        self.message = REACHED if status >= 0 else TOO_SMALL
        self.njev = self.nlu = 0
        self.sol = self.t_events = self.y_events = None


@means(scipy.integrate.solve_ivp)
def solve_ivp(
    fun,
    t_span,
    y0,
    method="RK45",
    t_eval=None,
    dense_output=False,
    events=None,
    vectorized=False,
    args=None,
    first_step=None,
    max_step=np.inf,
    rtol=1e-3,
    atol=1e-6,
):
    if method not in METHODS:
        raise NotImplementedError(
            'solve_ivp is differentiated by the methods "RK45", "RK23" and "DOP853"; '
            "for stiff equations write implicit steps as a loop, with np.linalg.solve"
        )
    if events is not None:
        raise NotImplementedError(
            "solve_ivp with events is not supported: find when they happen outside, and hand the end of t_span in"
        )
    if dense_output:
        raise NotImplementedError("solve_ivp with dense_output is not supported: say with t_eval where you want y")
    if vectorized:
        raise NotImplementedError(
            "solve_ivp with vectorized is not supported: it is fun(t, y) of one state that is called"
        )
    if max_step <= 0:
        raise ValueError("`max_step` must be positive.")
    t0, end = t_span
    t0, end = float(t0), float(end)
    y0 = np.array(y0)
    if y0.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    if not np.all(np.isfinite(y0)):
        raise ValueError("All components of the initial state `y0` must be finite.")
    y = y0 * np.float64(1.0)
    table = METHODS[method]
    rtol, atol = np.maximum(rtol, LEAST_TOLERANCE), np.asarray(atol)
    if atol.ndim > 0 and atol.shape != y0.shape:
        raise ValueError("`atol` has wrong shape.")
    if np.any(atol < 0):
        raise ValueError("`atol` must be positive.")
    given = () if args is None else args
    wanted = None if t_eval is None else times_wanted(np.asarray(t_eval), stop_gradient(t0), stop_gradient(end))
    return solved(fun, given, t0, end, y, table, wanted, first_step, max_step, rtol, atol)


def times_wanted(times, t0, end):
    if times.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    at = stop_gradient(times)
    if np.any(at < min(t0, end)) or np.any(at > max(t0, end)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    if np.any(np.diff(at) * np.sign(end - t0) <= 0):
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return times


def size_of(x):
    return np.linalg.norm(x) / x.size**0.5


def solved(fun, args, t, end, y, table, wanted, first_step, max_step, rtol, atol):
    """Steps are tried one after the other, those again that were too long."""
    direction = 1.0 if stop_gradient(end) >= stop_gradient(t) else -1.0
    slopes = np.zeros((table.stages + 1 + table.extra, y.size), y.dtype)
    times, states = [t], [y.copy()]
    span = abs(stop_gradient(end) - stop_gradient(t))
    size = beginning(slopes[0], fun, args, t, y, table.order, direction, span, first_step, max_step, rtol, atol)
    calls = 1 if first_step is not None else 2
    is_again, status, is_over = False, 0, span == 0 or y.size == 0
    if wanted is None:
        if is_over:
            times.append(end)
            states.append(y.copy())
    else:
        if span == 0:
            raise NotImplementedError("solve_ivp with t_eval is not supported where `t_span` has no length")
        out = np.zeros((wanted.size, y.size), y.dtype)
        found = wanted.size if is_over else 0
    while not is_over:
        here = stop_gradient(t)
        least = 10 * abs(np.nextafter(here, direction * np.inf) - here)
        if not is_again:
            size = max_step if size > max_step else max(size, least)
        elif size < least:
            status = -1
            break
        ahead = t + direction * size
        if direction * (stop_gradient(ahead) - stop_gradient(end)) > 0:
            ahead = end
        step = ahead - t
        new = made(slopes, fun, args, t, y, step, table, 1, table.stages + 1)
        calls += table.stages
        scale = atol + np.maximum(np.abs(stop_gradient(y)), np.abs(stop_gradient(new))) * rtol
        size = abs(stop_gradient(step))
        error = size * error_of(stop_gradient(slopes[: table.stages + 1]), table.errors, scale)
        factor = 10.0 if error == 0 else 0.9 * error ** (-1 / (table.order + 1))
        if error < 1:
            size *= min(1.0 if is_again else 10.0, factor)
            if wanted is None:
                times.append(ahead)
                states.append(new.copy())
            elif found < wanted.size and direction * (stop_gradient(wanted[found]) - stop_gradient(ahead)) <= 0:
                if table.extra:
                    made(slopes, fun, args, t, y, step, table, table.stages + 1, table.stages + 1 + table.extra)
                    calls += table.extra
                while found < wanted.size and direction * (stop_gradient(wanted[found]) - stop_gradient(ahead)) <= 0:
                    out[found] = y + step * inside(table, slopes, (wanted[found] - t) / step)
                    found += 1
            is_over = direction * (stop_gradient(ahead) - stop_gradient(end)) >= 0
            t, y = ahead, new
            slopes[0] = slopes[table.stages]
        else:
            size *= max(0.2, factor)
        is_again = not error < 1
    if wanted is None:
        return Solution(np.array(times), np.array(states).T, calls, status)
    y = out[:found].T if table.extra else np.ascontiguousarray(out[:found].T)  # as they lie in memory
    return Solution(wanted[:found].copy(), y, calls, status)


def made(slopes, fun, args, t, y, step, table, first, last):
    """The slopes of these stages, and the state at the last one."""
    new = y.copy()
    for stage in range(first, last):
        mean = np.zeros_like(y)
        for k in range(stage):
            mean += table.weights[stage, k] * slopes[k]
        new = y + step * mean
        slopes[stage] = fun(t + table.times[stage] * step, new, *args)
    return new


def error_of(slopes, errors, scale):
    """The error of a step of length 1, in units of what is tolerated."""
    error = size_of(np.dot(errors[0], slopes) / scale)
    if len(errors) == 1 or error == 0:
        return error
    return error**2 / np.sqrt(error**2 + 0.01 * size_of(np.dot(errors[1], slopes) / scale) ** 2)


def inside(table, slopes, x):
    """The mean slope from the beginning of a step to a part x of it, times x."""
    out = np.zeros_like(slopes[0])
    if not table.extra:
        power = 1.0
        for k in range(table.inside.shape[1]):
            power = power * x
            out += power * np.dot(table.inside[:, k], slopes)
        return out
    mean = np.zeros_like(out)
    for k in range(table.stages):
        mean += table.weights[table.stages, k] * slopes[k]
    for k in range(4):
        out = (out + np.dot(table.inside[3 - k], slopes)) * (1 - x if k % 2 else x)
    out = (out + 2 * mean - (slopes[table.stages] + slopes[0])) * x
    out = (out + slopes[0] - mean) * (1 - x)
    return (out + mean) * x


def beginning(slope, fun, args, t, y, order, direction, span, first_step, max_step, rtol, atol):
    """The slope at the beginning, and the length of the first step: as in II.4, from what one step of Euler's finds."""
    if first_step is not None:
        if first_step <= 0:
            raise ValueError("`first_step` must be positive.")
        if first_step > span:
            raise ValueError("`first_step` exceeds bounds.")
        slope[:] = fun(t, y, *args)
        return float(first_step)
    scale = atol + np.abs(stop_gradient(y)) * rtol
    slope[:] = fun(t, y, *args)
    if span == 0 or y.size == 0:
        return 0.0
    steep, height = size_of(stop_gradient(slope) / scale), size_of(stop_gradient(y) / scale)
    size = min(1e-6 if height < 1e-5 or steep < 1e-5 else 0.01 * height / steep, span)
    near = np.zeros_like(slope)
    near[:] = fun(stop_gradient(t) + size * direction, stop_gradient(y + size * direction * slope), *args)
    bend = size_of(stop_gradient(near - slope) / scale) / size
    steepest = max(steep, bend)
    guess = max(1e-6, size * 1e-3) if steepest <= 1e-15 else (0.01 / steepest) ** (1 / (order + 1))
    return min(100 * size, guess, span, max_step)
