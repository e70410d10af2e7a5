"""Several iterations at a time: of loops around sums in the user's order, and around rows into which all add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

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


def weighed(a, x):
    y = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        y[i] = np.sum(a[i] * x)
    return y


def factor_by_rows(a, x):
    """Of a matrix that is made positive definite; what is added to is read and written in the same sweep."""
    n = a.shape[0]
    b, l = a @ a.T + n * np.eye(n), np.zeros((n, n))
    for j in range(n):
        s = b[j, j]
        for k in range(j):
            s -= l[j, k] * l[j, k]
        l[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            s = b[i, j]
            for k in range(j):
                s -= l[i, k] * l[j, k]
            l[i, j] = s / l[j, j]
    return l


def eliminated(a, x):
    a = a + a.shape[0] * np.eye(a.shape[0])
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            w = a[i, k] / a[k, k]
            for j in range(k, a.shape[0]):
                a[i, j] -= w * a[k, j]
    return a


def rows_that_meet(a, x):
    """The row that is added to is the one before, which is another one's own."""
    y = np.zeros(a.shape)
    for i in range(1, a.shape[0]):
        for k in range(a.shape[1]):
            y[i, k] += a[i, k] * a[i - 1, k] * x[k]
    return y


def row_looked_up(a, x):
    """Additions to one row by two of those that go together."""
    y = np.zeros(a.shape)
    for i in range(a.shape[0]):
        row = (i * i + 1) % a.shape[0]
        for k in range(a.shape[1]):
            y[i, k] = a[row, k] * x[k]
    return y


def row_read_between(a, x):
    """Each reads what those before have added to the shared row."""
    h = x.copy()
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            h[k] = h[k] * 0.5 + a[i, k] * np.abs(h[k])
    return h


ADDING = [weighed, factor_by_rows, eliminated, rows_that_meet, row_looked_up, row_read_between]
SHARED = ADDING[:5]
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
    assert (", 4):" in text) == (function in TOGETHER)


@pytest.mark.parametrize(("function", "jit"), [*((f, False) for f in ADDING), *((f, True) for f in ADDING[::2])])
def test_rows_into_which_all_add(function: Callable[..., Any], jit: bool) -> None:
    rng = np.random.default_rng(5)  # away from kinks
    f = grad(function, jit=jit, cache=False)
    for n in (1, 3, 4, 5, 8, 11, *((26, 41) if jit else ())):
        a, x = rng.uniform(-1.0, 1.0, (n, n)), rng.uniform(-1.0, 1.0, n)
        check_value_and_grad(f, a, x, rtol=1e-10, at_once=jit)


@pytest.mark.parametrize("function", ADDING, ids=lambda f: f.__name__)
def test_where_rows_are_shared(function: Callable[..., Any]) -> None:
    a, x = np.ones((3, 3)), np.ones(3)
    sweep = grad(function, jit=False).source(a, x).split("# reverse sweep")[-1]
    assert (", 4):" in sweep) == (function in SHARED), sweep
