"""Loops that pass on numbers of several kinds, of which some do not need the others: two loops, each in parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import slope
from test_clipped_scans import numbers
from test_scans import IN_PARTS

from srcgrad import dispatch, grad
from srcgrad.passes import order
from srcgrad.recalled import Recalled


def greatest_fall(r):
    s = peak = fall = 0.0
    for i in range(len(r)):
        s += r[i]
        peak = max(peak, s)
        fall = max(fall, peak - s)
    return fall


def greatest_sum_of_a_stretch(x):
    now = best = x[0]
    for i in range(1, len(x)):
        now = max(x[i], now + x[i])
        best = max(best, now)
    return best


def below_the_peak(r):
    y, w, peak = np.empty_like(r), 1.0, 1.0
    for i in range(len(r)):
        w = w * (1.0 + 0.01 * r[i])
        peak = max(peak, w)
        y[i] = w / peak - 1.0
    return y


def waiting_times(x):
    arrives = free = total = 0.0
    for i in range(len(x)):
        arrives = arrives + abs(x[i])
        free = max(arrives, free) + 0.3 + 0.1 * x[i]
        total += free - arrives
    return total


def three_kinds(x):
    y, s, m, k = np.empty_like(x), 0.1, 0.0, 0
    for i in range(len(x)):
        k += 1
        s = 0.9 * s + x[i]
        m = max(m, s)
        y[i] = m * s / k
    return y


def of_elements(x):
    y, z, m = x.copy(), np.zeros_like(x), 0.0
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
        m = max(m, y[i])
        z[i] = m
    return y * z


def read_behind_the_loop(x):
    s = m = 0.0
    for i in range(len(x) - 1, -1, -1):
        m = min(m, s) + 0.01 * x[i]
        s = 0.7 * s - x[i]
    return s * 2.0 + m


PROGRAMS = [f for f in list(globals().values()) if inspect.isfunction(f) and f.__module__ == __name__]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_they_come_to_the_same(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for passes in ((), IN_PARTS):
        monkeypatch.setattr(dispatch, "RECALLED", Recalled())
        monkeypatch.setattr(order, "ON_ONE_THREAD", passes)
        f = grad(function, jit=False)
        for kind in ("primal", "backward"):
            assert ("part_size" in f.source(np.ones(3), kind=kind)) == (passes != ())
        for n in (1, 2, 33, 1100):
            x = numbers(n)
            np.testing.assert_allclose(f(x), function(x), rtol=1e-10, atol=1e-11)
        x = numbers(1100)
        v = np.random.default_rng(1).normal(size=np.shape(function(x)))
        found.append(f.backward(x, v))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-10)
    along = np.random.default_rng(2).normal(size=x.size)
    want, error = slope(lambda h: float(np.sum(v * function(x + h * along))), width=1e-6)
    assert abs(found[1] @ along - want) <= 1e-6 * (1.0 + abs(want)) + 10 * error


def each_of_the_other(x):
    s = m = 0.0
    for i in range(len(x)):
        s = max(m, s) + x[i]
        m = 0.5 * m + s
    return m


def one_of_no_kind(x):
    s, m = 0.0, 0.3
    for i in range(len(x)):
        s = 0.5 * s + x[i]
        m = np.sin(m + s)
    return m


@pytest.mark.parametrize("function", [each_of_the_other, one_of_no_kind], ids=lambda function: function.__name__)
def test_others_stay_in_order(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "ON_ONE_THREAD", IN_PARTS)
    f, x = grad(function, jit=False), numbers(300)
    assert "part_size" not in f.source(x, kind="primal")
    np.testing.assert_allclose(f(x), function(x), rtol=1e-13)
