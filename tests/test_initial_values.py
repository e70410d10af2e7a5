"""Initial value problems, as `scipy.integrate.solve_ivp` solves them: the same steps, and the derivative on them.

With `max_step` and tolerances that any step meets, the times of the steps are the same for all parameters, so that
differences of SciPy's own solution say what the derivative is to their last digit.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.integrate import odeint, solve_ivp
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

METHODS = ("RK23", "RK45", "DOP853")
STEPS = {"first_step": 0.05, "max_step": 0.05, "rtol": 1e3, "atol": 1e3}
RATES = np.array([1.5, 1.0, 3.0, 1.2])
START = np.array([1.3, 0.7])
TIMES = np.array([0.12, 0.13, 0.41, 0.43, 1.11, 1.72, 1.94])
LATER = np.linspace(-0.3, 0.3, 7)


def prey_and_predators(t, z, a, b, c, d):
    x, y = z
    return [a * x - b * x * y, -c * y + d * x * y]


def pendulum(t, z, p):
    return np.array([z[1], -p[0] * np.sin(z[0]) - p[1] * z[1] + p[2] * np.cos(p[3] * t)])


class Reaction:
    def __init__(self, order):
        self.order = order

    def rates(self, t, y, k):
        flow = k * y[:-1] ** self.order
        out = np.zeros_like(y)
        out[:-1] -= flow
        out[1:] += flow
        return out


SECOND = Reaction(2)


def at_times(p, z, later, method="RK45"):
    times = TIMES + 0.01 * later  # differences leave none of its step
    sol = solve_ivp(prey_and_predators, (0.0, 2.0), z, method, times, args=(p[0], p[1], p[2], p[3]), **STEPS)
    return sol.y


def at_the_end(p, z, begin, end):
    return solve_ivp(lambda t, y: pendulum(t, y, p), [begin, end], z, max_step=0.05, rtol=1e3, atol=1e3).y[:, -1]


def on_the_way(p, z):
    sol = solve_ivp(pendulum, (1.0, 0.2), z, method="RK23", args=(p,), **STEPS)
    return np.sum(sol.y * sol.y) + sol.y[0, 3] * sol.t[2]


def of_lists(a, b):
    return solve_ivp(lambda t, y: -a * y[0] ** 2, (0, 1), [b], t_eval=[0.25, 1.0], **STEPS).y[0]


def of_a_chain(k, y):
    return solve_ivp(SECOND.rates, (0.0, 1.0), y, args=(k,), **STEPS).y[-1, -1]


def rotating(p, z):
    sol = solve_ivp(lambda t, y: (1j * p[0] - p[1]) * y, [0, 1], z + 0j, t_eval=np.array([0.3, 1.0]), **STEPS)
    return np.abs(np.sum(sol.y) + 0.3) ** 2


def experiments(p, starts):
    misfit = 0.0
    for k in range(len(starts)):
        sol = solve_ivp(pendulum, (0.0, 1.0), starts[k], args=(p,), t_eval=np.linspace(0.1, 1.0, 4), **STEPS)
        misfit += np.sum((sol.y[0] - 0.3 * k) ** 2)
    return misfit


PROGRAMS = (
    *((at_times, (RATES, START, LATER, method)) for method in METHODS),
    (at_the_end, (RATES, START, 0.3, 2.0)),
    (at_the_end, (RATES, START, 2.0, 0.5)),
    (on_the_way, (RATES, START)),
    (of_lists, (0.7, 1.3)),
    (of_a_chain, (np.array([1.0, 0.4]), np.array([1.0, 0.5, 0.1]))),
    (rotating, (RATES, START)),
    (experiments, (RATES, np.array([[1.0, 0.0], [0.1, -1.0]]))),
)


@pytest.mark.parametrize(("function", "args"), PROGRAMS)
def test_on_steps_that_stay(function: Any, args: tuple[Any, ...]) -> None:
    check_value_and_grad(grad(function, jit=False), *args, at_once=True)  # (solutions by themselves: below)


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_compiled(method: str) -> None:
    check_value_and_grad(grad(at_times), RATES, START, LATER, method, rtol=1e-12, at_once=True)


def told(p, z, span, times, method, tolerance):
    sol = solve_ivp(pendulum, span, z, method, times, args=(p,), rtol=tolerance, atol=1e-3 * tolerance)
    return sol.t, sol.y, sol.nfev, sol.status, sol.success


@pytest.mark.parametrize("times", [None, TIMES[1:-1], TIMES[-1:0:-1]])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
@pytest.mark.parametrize("method", METHODS)
def test_steps_are_scipys(method: str, tolerance: float, times: Any) -> None:
    span = (0.1, 2.0) if times is None or times[0] < times[-1] else (2.0, 0.1)
    p = np.array([90.0, 1.0, 20.0, 7.0])  # so that steps are tried again
    got, want = (f(p, START, span, times, method, tolerance) for f in (grad(told, jit=False), told))
    assert got[2:] == want[2:]
    near = 1e-6 if method == "DOP853" else 1e-9  # what is left of its error is rounding, mostly
    for mine, scipys in zip(got[:2], want[:2], strict=True):
        np.testing.assert_allclose(mine, scipys, rtol=near, atol=near)


@pytest.mark.parametrize("method", METHODS)
def test_on_steps_of_any_length(method: str) -> None:
    """As near as the solution is: where steps are is no part of the derivative."""

    def last(p, z):
        sol = solve_ivp(
            pendulum, (0.0, 2.0), z, method, args=(p,), rtol=1e-10 if method != "RK23" else 1e-7, atol=1e-10
        )
        return sol.y[:, -1]

    check_grad(grad(last, jit=False), RATES, START, rtol=1e-6)


@pytest.mark.parametrize("times", [None, np.array([0.5, 0.9, 1.1])])
def test_a_solution_that_ends_before_its_time(times: Any) -> None:
    explodes = lambda y: told_of(lambda t, z: z * z, y, (0.0, 2.0), times)
    got, want = grad(explodes, jit=False)(np.array([1.0])), explodes(np.array([1.0]))
    assert got[2:] == want[2:] == (-1, False)
    assert len(got[0]) == len(want[0])
    before = want[1] < 1e6
    np.testing.assert_allclose(got[1][before], want[1][before], rtol=1e-6)


@pytest.mark.parametrize("times", [None, [0.6]])
def test_in_a_branch_of_a_loop(times: Any) -> None:
    def some_of_them(p, z):
        s = 0.0
        for k in range(3):
            if z[0] > 0.6 * k:
                s += np.sum(
                    solve_ivp(pendulum, (0.0, 0.6), z * (k + 1), args=(p,), t_eval=times, **STEPS).y[:, -1] ** 2
                )
        return s

    f = grad(some_of_them, jit=False)
    if times is None:
        with pytest.raises(UnsupportedError, match=r"as many items as it turns out to need(.|\n)*t_eval=\[end\]"):
            f(RATES, START)
        return
    np.testing.assert_allclose(f(RATES, START), some_of_them(RATES, START), rtol=1e-12)
    check_grad(f, RATES, START)


def test_why_it_ended_is_told() -> None:
    def last(y):
        sol = solve_ivp(lambda t, z: z * z, (0.0, 0.9), y)
        if not sol.success:
            raise RuntimeError(sol.message)
        return sol.y[:, -1]

    f = grad(last, jit=False)
    np.testing.assert_allclose(f(np.array([1.0])), last(np.array([1.0])), rtol=1e-12)
    with pytest.raises(RuntimeError, match="Required step size is less than spacing between numbers"):
        f(np.array([2.0]))


def told_of(f, y, span, times):
    sol = solve_ivp(f, span, y, t_eval=times)
    return sol.t, sol.y, sol.status, sol.success


def test_an_interval_of_no_length() -> None:
    still = lambda y: solve_ivp(lambda t, z: z * z, (1.0, 1.0), y).y
    f = grad(still, jit=False)
    np.testing.assert_array_equal(f(START), still(START))
    check_grad(f, START)


def test_a_state_of_nothing() -> None:
    for times in (None, TIMES):
        none = lambda y, times=times: solve_ivp(lambda t, z: z * z, (0.0, 2.0), y, t_eval=times).y
        assert grad(none, jit=False)(START[:0]).shape == none(START[:0]).shape


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
@pytest.mark.parametrize("times", [None, [0.5, 1.0]])
def test_states_of_other_types(dtype: Any, times: Any) -> None:
    f = lambda y: solve_ivp(lambda t, z: -0.5 * z, (0.0, 1.0), y, t_eval=times).y
    y = np.array([3.3, 1.7]).astype(dtype)
    assert grad(f, jit=False)(y).dtype == f(y).dtype
    np.testing.assert_allclose(grad(f, jit=False)(y), f(y), rtol=1e-13)


def test_what_is_handed_back_is_no_view() -> None:
    def told_and_changed(y, times):
        sol = solve_ivp(lambda t, z: -z, (0.0, 2.0), y, t_eval=times)
        sol.t[0] = 7.0
        z = list(START)
        other = solve_ivp(doubled, (0.0, 1.0), z)
        return sol.t, times, other.y[:, 0]

    def doubled(t, z):
        z[0] += 0.0 * t + (z[0] < 0.5)
        return -z

    got, want = (f(START.copy(), TIMES.copy()) for f in (grad(told_and_changed, jit=False), told_and_changed))
    for mine, scipys in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, scipys)


def test_what_to_write_for_odeint() -> None:
    f = lambda y, t: -0.5 * y * t
    instead = "solve_ivp(lambda t, y: f(y, t), (t[0], t[-1]), y0, t_eval=t).y.T"
    with pytest.raises(UnsupportedError, match=re.escape(instead)):
        grad(lambda y0, t: odeint(f, y0, t), jit=False)(START, TIMES)
    written = grad(lambda y0, t: solve_ivp(lambda t, y: f(y, t), (t[0], t[-1]), y0, t_eval=t, rtol=1e-7).y.T, jit=False)
    np.testing.assert_allclose(written(START, TIMES), odeint(f, START, TIMES), rtol=1e-5)


def test_second_derivatives() -> None:
    def slope(a, b):
        return grad(lambda c: np.sum(of_lists(a, c) ** 2)).backward(b)

    check_grad(grad(slope, jit=False), 0.7, 1.3)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda y: solve_ivp(np.multiply, (0, 1), y, "LSODA").y, NotImplementedError, '"RK45", "RK23" and "DOP853"'),
        (lambda y: solve_ivp(np.multiply, (0, 1), y, events=abs).y, NotImplementedError, "events"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y, dense_output=True).y, NotImplementedError, "with t_eval"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y, vectorized=True).y, NotImplementedError, "vectorized"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y, max_step=0.0).y, ValueError, "`max_step` must be positive"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y, first_step=2.0).y, ValueError, "`first_step` exceeds bounds"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y, atol=-1.0).y, ValueError, "`atol` must be positive"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y, atol=y[:1]).y, ValueError, "`atol` has wrong shape"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y / 0.0).y, ValueError, "must be finite"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y[None]).y, ValueError, "`y0` must be 1-dimensional"),
        (lambda y: solve_ivp(np.multiply, (0, 1), y, t_eval=2 * y).y, ValueError, "not within `t_span`"),
        (lambda y: solve_ivp(np.multiply, (0, 3), y, t_eval=y).y, ValueError, "not properly sorted"),
        (lambda y: solve_ivp(np.multiply, (1, 1), y, t_eval=[1]).y, NotImplementedError, "has no length"),
    ],
)
def test_what_is_refused(function: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        grad(function, jit=False)(START)
