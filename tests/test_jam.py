"""Sums in the user's order, several iterations of the loop around them at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(5)


def matrix_vector(a, x):
    y = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s
    return y


def below_the_diagonal(a, x):
    y = np.zeros(a.shape[0])
    for i in range(1, a.shape[0]):
        for j in range(i, a.shape[0]):
            s = x[0]
            for k in range(i):
                s -= a[j, k] * a[i - 1, k]
            y[j] += s * s
    return y


def polynomials(a, x):
    y = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        p, q = 0.0, 1.0
        for j in range(a.shape[1]):
            p = p * 0.5 + a[i, j]
            q *= 1.0 + 0.1 * a[i, j] * x[j]
        y[i] = p * q
    return y


def two_sums_one_after_another(a, x):
    y = np.empty((2, a.shape[0]))
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        t = 0.0
        for j in range(a.shape[1]):
            t += a[i, j] * s * x[j]
        y[0, i] = t
        y[1, i] = s + t
    return y


def in_place(a, x):
    y = a[:, 0].copy()
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] = y[i] * 0.9 + a[i, j] * x[j]
    return y


def left_as_they_are_neighbours(a, x):
    y = np.zeros(a.shape[0] + 1)
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] += s
        y[i + 1] += 2.0 * s
    return y


def left_as_they_are_one_number(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        total += s * s
    return total


def left_as_they_are_one_after_another(a, x):
    y = np.zeros(a.shape[0] + 1)
    for i in range(a.shape[0]):
        s = y[i]
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i + 1] = s
    return y


def left_as_it_is_scratch(a, x):
    y, t = np.empty(a.shape[0]), np.empty(a.shape[1])
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
            t[j] = s
        y[i] = t[a.shape[1] // 2] * s
    return y


TOGETHER = [matrix_vector, below_the_diagonal, polynomials, two_sums_one_after_another]
ONE_BY_ONE = [
    left_as_they_are_neighbours,
    left_as_they_are_one_number,
    left_as_they_are_one_after_another,
    left_as_it_is_scratch,
]


@pytest.mark.parametrize("function", [*TOGETHER, in_place, *ONE_BY_ONE], ids=lambda f: f.__name__)
def test_same_bits(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for n in (1, 3, 4, 5, 8, 11):
        a, x = RNG.uniform(-1.0, 1.0, (n, n)), RNG.uniform(-1.0, 1.0, n)
        np.testing.assert_array_equal(f(a, x), function(a, x))
        check_grad(f, a, x)


@pytest.mark.parametrize("function", [matrix_vector, below_the_diagonal], ids=lambda f: f.__name__)
def test_compiled(function: Callable[..., Any]) -> None:
    f = grad(function, cache=False)
    for n in (3, 13):
        a, x = RNG.uniform(-1.0, 1.0, (n, n)), RNG.uniform(-1.0, 1.0, n)
        np.testing.assert_array_equal(f(a, x), function(a, x))
        check_grad(f, a, x)


@pytest.mark.parametrize("function", [*TOGETHER, *ONE_BY_ONE], ids=lambda f: f.__name__)
def test_where(function: Callable[..., Any]) -> None:
    a, x = np.ones((3, 3)), np.ones(3)
    text = grad(function, jit=False).source(a, x, kind="primal")
    assert ("4)" in text) == (function in TOGETHER)
