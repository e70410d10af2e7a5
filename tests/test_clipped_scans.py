"""Loops that shift one number and hold it between bounds, gone over in parts: the greatest so far, queues, stores."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import slope
from test_scans import IN_PARTS

from srcgrad import dispatch, grad
from srcgrad.passes import order
from srcgrad.recalled import Recalled

LENGTHS = (1, 2, 33, 1100)  # parts of 32, and groups of 32 parts, are passed

# ------------------------------------------------------------------------------------------------------- programs


def greatest_so_far(x):
    y, m = np.empty_like(x), x[0]
    for i in range(len(x)):
        m = max(m, x[i])
        y[i] = m
    return y


def accumulated(x):
    return np.maximum.accumulate(x) - np.minimum.accumulate(x * x)


def greatest_of_squares(x):
    m = 0.0
    for i in range(len(x)):
        gap = x[i] - 0.3
        m = max(m, gap * gap)
    return m * x


def queue(x):
    y, w = np.empty_like(x), 0.0
    for i in range(len(x)):
        y[i] = w
        w = max(0.0, w + x[i])
    return y


def cusum(x):
    s = total = 0.0
    for i in range(len(x)):
        s = max(0.0, s + x[i] - 0.1)
        total += s * s
    return total


def store(x):
    y, s = np.empty_like(x), 0.5
    for i in range(len(x)):
        s = np.minimum(np.maximum(s + x[i], -0.7), 1.5)
        y[i] = s * x[i]
    return y


def clipped(x):
    y, s = np.empty_like(x), 0.5
    for i in range(len(x)):
        s = np.clip(s - x[i], -0.7, 1.5)
        y[i] = s
    return y


def set_anew(x):
    y, s = np.empty_like(x), 0.5
    for i in range(len(x)):
        s = s + x[i]
        if x[i] > 1.5:
            s = 0.1
        s = max(s, -1.0)
        y[i] = s
    return y


def by_branches(x):
    y, s = np.empty_like(x), 0.5
    for i in range(len(x)):
        t = x[i] * 2.0
        if t > 0.3:
            u = t - 0.2
            s = min(s + u, 3.0)
        elif t < -3.0:
            s = t
        else:
            s += -0.1
            s = max(s, -1.0)
        y[i] = s
    return y


def several_in_each(x):
    y, s = np.empty(len(x)), 0.5
    for i in range(len(x)):
        for k in range(3):
            s = max(s + x[(i + k) % len(x)], -0.5)
        y[i] = s if s < 2.0 else 1.0
    return y


def downwards(x):
    y, w = np.empty_like(x), 0.2
    for i in range(len(x) - 1, -1, -1):
        w = min(w - x[i], 0.9)
        y[i] = w
    return y


def elements(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = max(y[i - 1], x[i] - 0.2)
    return y


def twice(x):
    y, m = np.empty_like(x), 0.0
    for i in range(len(x)):
        m = max(m, x[i])
        y[i] = m
        m = max(m, 0.5 * x[i] + 0.1)
    return y


def the_other_first(x):
    y, m = np.empty_like(x), 0.0
    for i in range(len(x)):
        m = max(x[i], m)  # a nan of x is passed on, up to the next one
        y[i] = m
    return y


def nan_and_back(x):
    y, m = np.empty_like(x), 0.0
    for i in range(len(x)):
        m = np.maximum(m, x[i])
        if i % 50 == 49:
            m = max(-1.0, m)
        y[i] = m
    return y


def least_of_numbers(x):
    y, m = np.empty_like(x), 3
    k = (10.0 * np.nan_to_num(x, posinf=9.0, neginf=-9.0)).astype(np.int64)
    for i in range(len(x)):
        m = min(m, k[i])
        y[i] = m * x[i]
    return y


PROGRAMS = [f for f in list(globals().values()) if inspect.isfunction(f) and f.__module__ == __name__]
by_name = pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)


@pytest.fixture
def made_in_parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], Any]:
    monkeypatch.setattr(order, "ON_ONE_THREAD", IN_PARTS)
    return lambda function: grad(function, jit=False)


def numbers(n: int, *special: float) -> np.ndarray:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    for value in special:
        x[rng.integers(n)] = value
    return x


@by_name
@pytest.mark.filterwarnings("ignore")
def test_values(function: Callable[..., Any], made_in_parts: Any) -> None:
    f = made_in_parts(function)
    assert "part_size" in f.source(np.ones(3), kind="primal") or function is greatest_of_squares
    for n in LENGTHS:
        for special in ((), (np.nan,), (np.inf,), (-np.inf,), (np.inf, -np.inf, np.nan)):
            x = numbers(n, *special)
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(f(x), function(x), rtol=1e-11, atol=1e-11)


@by_name
def test_gradients(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one iteration after the other, and of differences: far from ties, which a random x has none of."""
    sides = []
    for passes in ((), IN_PARTS):
        monkeypatch.setattr(dispatch, "RECALLED", Recalled())
        monkeypatch.setattr(order, "ON_ONE_THREAD", passes)
        sides.append(grad(function, jit=False))
        assert ("part_size" in sides[-1].source(numbers(2))) == (passes != ())
        sides[-1].backward(numbers(2), np.ones(np.shape(function(numbers(2)))))  # generated here
    for n in (2, 33, 1100):
        x = numbers(n)
        v = np.random.default_rng(1).normal(size=np.shape(function(x)))
        in_order, found = (side.backward(x, v) for side in sides)
        np.testing.assert_allclose(found, in_order, rtol=1e-9, atol=1e-10)
        along = np.random.default_rng(2).normal(size=n)
        want, error = slope(lambda h: float(np.sum(v * function(x + h * along))), width=1e-6)  # noqa: B023
        assert abs(found @ along - want) <= 1e-6 * (1.0 + abs(want)) + 10 * error


def test_ties_are_split_as_ever(made_in_parts: Any) -> None:
    x = np.tile([1.0, 0.5, 1.0, 2.0], 100)
    for function in (greatest_so_far, accumulated, elements):
        v = np.cos(np.arange(400.0))
        np.testing.assert_allclose(
            made_in_parts(function).backward(x, v), grad(function, jit=False, parallel=True).backward(x, v), atol=1e-12
        )


def test_in_single_precision(made_in_parts: Any) -> None:
    x = numbers(3000).astype(np.float32)
    for function in (greatest_so_far, queue, clipped):
        y = made_in_parts(function)(x)
        assert y.dtype == np.float32
        np.testing.assert_allclose(y, function(x.astype(np.float64)), atol=2e-5)


def whole_numbers_that_are_shifted(k):
    y, s = np.empty_like(k), 0
    for i in range(len(k)):
        s = max(0, s + k[i])
        y[i] = s
    return y


def chosen_by_itself(x):
    y, s = np.empty_like(x), 0.5
    for i in range(len(x)):
        if s > 1.0:
            s = s - 1.0
        s = max(s + x[i], -1.0)
        y[i] = s
    return y


def of_itself_twice(x):
    y, s = np.empty_like(x), 0.5
    for i in range(len(x)):
        s = max(s, s + x[i])
        y[i] = s
    return y


def scaled(x):
    y, s = np.empty_like(x), 0.5
    for i in range(len(x)):
        s = max(0.9 * s + x[i], 0.0)
        y[i] = s
    return y


@pytest.mark.parametrize(
    "function",
    [whole_numbers_that_are_shifted, chosen_by_itself, of_itself_twice, scaled],
    ids=lambda function: function.__name__,
)
def test_others_stay_in_order(function: Callable[..., Any], made_in_parts: Any) -> None:
    x = np.arange(-20, 300) % 7 - 3 if function is whole_numbers_that_are_shifted else numbers(300)
    f = made_in_parts(function)
    assert "part_size" not in f.source(x, kind="primal")
    np.testing.assert_allclose(f(x), function(x), rtol=1e-13)
