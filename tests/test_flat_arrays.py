"""Grids in one row of memory, whose row length is an argument, and tables along their antidiagonals: what is proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import slope

from srcgrad import grad


def squares(x, n, m):
    y = np.zeros(n * m)
    for i in range(n):
        for j in range(m):
            y[i * m + j] = x[i * m + j] ** 2
    return y


def five_points(u, n, m):
    w = np.zeros(n * m)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            w[i * m + j] = u[i * m + j - 1] * u[i * m + j + 1] + u[(i - 1) * m + j] - u[(i + 1) * m + j] ** 2
    return w


def turned(x, n, m):
    y = np.zeros(n * m)
    for i in range(n):
        for j in range(m):
            y[j * n + i] = np.sin(x[i * m + j])
    return y


def product(a, n, m):
    c = np.zeros(n * n)
    for i in range(n):
        for j in range(n):
            for k in range(m):
                c[i * n + j] += a[i * m + k] * a[j * m + k]
    return c


def upwards(x, n, m):
    for i in range(1, n):
        for j in range(m):
            x[i * m + j] += 0.5 * x[(i - 1) * m + j] ** 2
    return x


FLAT = [squares, five_points, turned, product, upwards]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", FLAT, ids=lambda function: function.__name__)
def test_flat(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    for n, m in [(4, 5), (1, 3), (3, 1), (0, 4), (4, 0)]:
        rng = np.random.default_rng(n + m)
        x, along = rng.uniform(0.5, 1.0, n * m), rng.normal(size=n * m)
        y = function(x.copy(), n, m)
        np.testing.assert_allclose(f(x.copy(), n, m), y, rtol=1e-13)
        v = rng.normal(size=y.shape)
        want, error = slope(lambda h, x=x, v=v, n=n, m=m, d=along: float(v @ function(x + h * d, n, m)))
        got = f.backward(x.copy(), n, m, v=v) @ along
        assert abs(got - want) <= 1e-7 * (1.0 + abs(want)) + 10 * error


@pytest.mark.parametrize("function", [squares, five_points], ids=lambda function: function.__name__)
def test_nothing_is_asked_of_an_element(function: Callable[..., Any]) -> None:
    """What a row length may be is asked ahead of all loops: it can't be negative where an iteration runs."""
    text = grad(function).source(np.zeros(20), 4, 5)
    assert text.index("BoundsError('an") < text.index("for ")
    assert text.count("BoundsError(") == 1


@pytest.mark.parametrize("jit", [False, True])
def test_a_row_that_is_shorter_than_the_loop_goes_on_in_the_next(jit: bool) -> None:
    """Rows of n - 1 elements, of which each iteration writes n: the last one is the first of the next row's."""

    def f(x, n):
        y = np.zeros(n * n)
        for i in range(n):
            for j in range(n):
                y[i * (n - 1) + j] = x[i * n + j] * (1.0 + y[i * (n - 1)])
        return y

    x, v, n = np.linspace(0.1, 1.0, 36), np.cos(np.arange(36.0)), 6
    along = np.sin(np.arange(36.0))
    g = grad(f, jit=jit)
    np.testing.assert_allclose(g(x, n), f(x, n), rtol=1e-14)
    want, error = slope(lambda h: float(v @ f(x + h * along, n)))
    assert abs(g.backward(x, n, v=v) @ along - want) <= 1e-8 + 10 * error


@pytest.mark.parametrize("jit", [False, True])
def test_a_row_length_below_zero(jit: bool) -> None:
    """Rows one behind the other towards the front: indices that count from the end, as in NumPy."""

    def f(x, n, m):
        y = np.zeros(n * 3)
        for i in range(n):
            for j in range(3):
                y[i * m + j] = x[i] * (j + 1.0)
        return y

    x = np.linspace(0.1, 1.0, 4)
    np.testing.assert_allclose(grad(f, jit=jit)(x, 4, -3), f(x, 4, -3))
    v = np.arange(12.0)
    np.testing.assert_allclose(grad(f, jit=jit).backward(x, 4, -3, v=v), [f(e, 4, -3) @ v for e in np.eye(4)])


def alignment(d):
    n, m = d.shape
    t = np.zeros((n + 1, m + 1))
    for s in range(2, n + m + 1):
        for i in range(max(1, s - m), min(n, s - 1) + 1):
            j = s - i
            t[i, j] = d[i - 1, j - 1] + np.logaddexp(t[i - 1, j], np.logaddexp(t[i, j - 1], t[i - 1, j - 1]))
    return t[n, m]


def warping(d):
    n, m = d.shape
    t = np.zeros((n, m))
    for s in range(n + m - 1):
        for i in range(max(0, s - m + 1), min(n, s + 1)):
            best = 0.0
            if i > 0 and s - i > 0:
                best = min(t[i - 1, s - i], t[i, s - i - 1], t[i - 1, s - i - 1])
            elif i > 0:
                best = t[i - 1, s - i]
            elif s - i > 0:
                best = t[i, s - i - 1]
            t[i, s - i] = d[i, s - i] + best
    return t[n - 1, m - 1]


DIAGONALS = [alignment, warping]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", DIAGONALS, ids=lambda function: function.__name__)
def test_antidiagonals(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    for shape in [(5, 7), (1, 4), (6, 1), (3, 3)]:
        rng = np.random.default_rng(shape[0])
        d, along = rng.uniform(size=shape), rng.normal(size=shape)
        want, error = slope(lambda h, d=d, e=along: float(function(d + h * e)), width=1e-4)
        assert abs(np.sum(f.backward(d) * along) - want) <= 1e-7 + 10 * error


def test_antidiagonals_ask_once() -> None:
    text = grad(alignment).source(np.zeros((4, 5)), kind="primal")
    assert "% " not in text and text.count("BoundsError(") <= 1
