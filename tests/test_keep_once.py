"""What several statements of one loop keep for the sweep is kept once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

X = np.array([0.4, -0.3, 0.8, 0.6])


def two_that_turn(x, a):
    p, q = x, x * a
    for _ in range(3):
        p, q = np.sin(p) * q, np.cos(p) * q * p
    return p + q


def changed_in_between(x, a):
    y = x.copy()
    s = np.zeros_like(x)
    for _ in range(3):
        for i in range(x.shape[0]):
            s[i] += y[i] * y[i] * a
            y[i] = np.sin(y[i]) + s[i]
            s[i] += y[i] * np.exp(y[i]) * s[i]
    return s


def under_conditions(x, a):
    y = x.copy()
    for _ in range(3):
        for i in range(x.shape[0]):
            if y[i] > 0.3:
                y[i] = y[i] * np.sin(y[i]) * a
            else:
                y[i] = y[i] * np.cos(y[i]) + a * y[i]
    return y


def of_the_one_before(x, a):
    y = x.copy()
    z = x * a
    for k in range(1, 4):
        for i in range(1, x.shape[0]):
            z[i] = np.sin(y[i]) * y[i - 1] * z[i - 1]
            y[i] = y[i] * y[i - 1] * z[i] + z[i - 1] * np.cos(y[i - 1])
    return y * z


@pytest.mark.parametrize("function", [two_that_turn, changed_in_between, under_conditions, of_the_one_before])
def test_is_what_it_was(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_grad(f, X, 0.7)
    v = np.cos(np.arange(4.0))
    with order.without("keep_once"):
        expected = grad(function, jit=False).value_and_backward(X, 0.7, v)
    assert_close(f.value_and_backward(X, 0.7, v), expected, 1e-14, "with everything kept that was asked for")


def kept(text: str) -> int:
    return text.count("_kept = np.empty(")


def test_once() -> None:
    now = kept(grad(two_that_turn).source(X, 0.7))
    with order.without("keep_once"):
        before = kept(grad(two_that_turn).source(X, 0.7))
    assert now < before


def until_then(x, a):
    t, u = 0.0, np.stack([x * x + 1.0, x, x * x + 2.0])
    while t < 1.0:
        density = u[0]
        speed = u[1] / density
        pressure = 0.4 * (u[2] - 0.5 * density * speed**2)
        step = min(0.3 / np.max(np.abs(speed) + np.sqrt(pressure / density)), 1.0 - t)
        u = u - a * step * np.stack([density * speed, density * speed * speed + pressure, speed * pressure])
        t += step
    return np.sum(u[0] ** 2 * u[2])


def changed_while(x, a):
    y, s, k = x.copy(), np.zeros_like(x), 0
    while k < 3:
        for i in range(x.shape[0]):
            s[i] += y[i] * y[i] * a
            y[i] = np.sin(y[i]) + s[i]
            s[i] += y[i] * np.cos(y[i]) * s[i]
        for i in range(x.shape[0] - 1):
            s[i] = y[i] * s[i] * y[i + 1]
            y[i] = y[i] * s[i]
        k += 1 if s[0] < 100.0 else 2
    return s


def lengths_that_change(x, a):
    y, n = x.copy(), 4
    while n > 1:
        z = y[:n] * y[:n] * a
        w = np.sin(y[:n]) * y[:n]
        y[:n] = z * w + y[:n] * z
        n -= 1
    return y


@pytest.mark.parametrize("function", [until_then, changed_while, lengths_that_change])
def test_in_loops_that_end_by_themselves(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    v = np.cos(np.arange(4.0))[: np.size(function(X, 0.7))] if np.ndim(function(X, 0.7)) else 1.0
    check_grad(f, X, 0.7)
    with order.without("keep_once"):
        other = grad(function, jit=False)
        expected, text = other.value_and_backward(X, 0.7, v), other.source(X, 0.7)
    assert_close(f.value_and_backward(X, 0.7, v), expected, 1e-14, "with everything kept that was asked for")
    fewer = text.count("make_room(") - f.source(X, 0.7).count("make_room(")
    assert fewer > 0 or function is lengths_that_change  # rows of other lengths each time
    assert_close(f.vjp(X, 0.7)[1](v), expected[1], 1e-14, "by the pair")
