"""Lengths that loops compute of what stays are computed once, ahead of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

X = np.array([0.4, -0.3, 0.8, 0.6, -0.2, 0.5])


def padded(x, n):
    y, t = x.copy(), 0.0
    while t < 1.0:
        ghosts = np.concatenate([y[:1], y[:1], y[:n], y[n - 1 :], y[n - 1 :]])
        slope = np.cos(ghosts[1:-1] * ghosts[:-2]) - ghosts[2:]
        flux = np.sin(slope[1:] + slope[:-1])
        y = y - 0.1 * (flux[1:] - flux[:-1]) * slope[2:]
        t += 0.4
    return y


def of_a_counter(x, n):
    s = np.zeros(x.size)
    for k in range(3):
        m = np.maximum(n - 1, 0)
        inner = n - k - 1
        s[:m] += x[:m] * x[1 : m + 1] * k
        s[:inner] *= np.sin(x[:inner])
    return s


def in_branches(x, n):
    s = 0.0
    for i in range(x.size):
        if x[i] > 0.0:
            m = np.minimum(n, 4) - 1
            s += np.sum(x[:m] ** 2) * x[i]
        else:
            k = np.minimum(n, 4) - 1
            s -= np.sum(np.sin(x[:k])) * x[i]
    return s


def changed_by_the_loop(x, n):
    s = 0.0
    for _ in range(3):
        m = np.maximum(n - 1, 0)
        s += np.sum(x[:m] ** 3)
        n -= 1
        k = np.maximum(n - 1, 0)
        s *= 1.0 + np.sum(x[:k])
    return s


def ends(x, m):
    y = x[: np.maximum(m - 1, 0)]
    return np.sum(y * y) * x[m - 1]


def by_another_function(x, n):
    s = 0.0
    for i in range(1, 4):
        s += ends(x, n) + ends(x, i)
    return s


@pytest.mark.parametrize("function", [padded, of_a_counter, in_branches, changed_by_the_loop, by_another_function])
def test_is_what_it_was(function: Callable[..., Any]) -> None:
    f, n = grad(function, jit=False), X.size
    np.testing.assert_allclose(f(X, n), function(X, n), rtol=1e-13)
    check_grad(f, X, n)
    v = np.cos(np.arange(6.0)) if np.ndim(function(X, n)) else 1.0
    with order.without("lengths_once"):
        expected = grad(function, jit=False).value_and_backward(X, n, v)
    assert_close(f.value_and_backward(X, n, v), expected, 1e-14, "with lengths where they stand")
    assert_close(f.vjp(X, n)[1](v), expected[1], 1e-14, "by the pair")


def test_shorter() -> None:
    now = grad(padded).source(X, X.size)
    with order.without("lengths_once"):
        before = grad(padded).source(X, X.size)
    assert len(now) < len(before)
