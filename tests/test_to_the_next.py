"""What one iteration writes and the next one reads, in a register: where it is, and that nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(21)


def gauss_seidel(u, w):
    u = u.copy()
    for _ in range(2):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - w[j])
    return u


def backwards(u, w):
    u = u.copy()
    for i in range(u.shape[0]):
        for j in range(u.shape[1] - 2, -1, -1):
            u[i, j] = np.sin(u[i, j + 1]) - w[j]
    return u


def in_columns(u, w):
    u = u.copy()
    for i in range(1, u.shape[0]):
        u[i, 0] += 0.5 * u[i - 1, 0] * w[0]
        u[i, 1] = u[i, 1] * u[i - 1, 1]
    return u


def every_second(u, w):
    y = u[0].copy()
    for j in range(2, y.shape[0], 2):
        y[j] = y[j - 2] * w[j] + y[j - 1]
    return y


def filtered(u, w):
    """Of the two that are read, one is handed on; it is added to before it is read."""
    y = np.zeros(u.shape[1], u.dtype)
    for j in range(2, u.shape[1]):
        y[j] += u[0, j] * w[j]
        y[j] += 0.5 * y[j - 1] - 0.1 * y[j - 2]
    return y


def twice_in_one_iteration(u, w):
    """What is handed on is changed before it is read, and read twice."""
    y = u[0].copy()
    for j in range(1, y.shape[0]):
        y[j - 1] += w[j]
        y[j] = y[j] * y[j - 1] + 0.1 * y[j - 1]
    return y


def left_what_comes_two_later(u, w):
    y = u[0].copy()
    for j in range(2, y.shape[0]):
        y[j] = y[j] + 0.5 * y[j - 2] * w[j]
    return y


def left_another_row_that_may_be_this_one(u, w):
    u = u.copy()
    for i in range(u.shape[0]):
        other = (i * i) % u.shape[0]
        for j in range(1, u.shape[1]):
            u[i, j] = u[i, j - 1] * w[j] + u[i, j]
            u[other, j] = 0.5 * u[other, j] + w[j]
    return u


def left_written_in_between(u, w):
    y = u[0].copy()
    for j in range(1, y.shape[0]):
        y[j - 1] = w[j]
        y[j] = y[j] * y[j - 1]
    return y


def left_read_where_a_condition_holds(u, w):
    y = u[0].copy()
    for j in range(1, y.shape[0]):
        y[j] = y[j] if w[j] > 0.0 else 0.5 * y[j - 1]
    return y


def left_two_names(u, w):
    y = u[0].copy()
    z = y[::-1]
    for j in range(1, y.shape[0]):
        y[j] = y[j] + 0.5 * y[j - 1]
        z[j] *= w[j]
    return y


CARRIED = [gauss_seidel, backwards, in_columns, every_second, filtered, twice_in_one_iteration]
LEFT = [
    left_what_comes_two_later,
    left_another_row_that_may_be_this_one,
    left_written_in_between,
    left_read_where_a_condition_holds,
    left_two_names,
]


@pytest.mark.parametrize("function", [*CARRIED, *LEFT], ids=lambda f: f.__name__)
def test_where(function: Callable[..., Any]) -> None:
    text = grad(function).source(np.ones((4, 4)), np.ones(4), kind="primal")
    assert ("carried" in text) == (function in CARRIED), text


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("function", [*CARRIED, *LEFT], ids=lambda f: f.__name__)
def test_same_bits(function: Callable[..., Any], dtype: Any) -> None:
    f = grad(function, jit=False)
    if dtype == np.complex128 and function is left_read_where_a_condition_holds:
        return
    for shape in ((2, 2), (3, 3), (4, 7)):
        u, w = (RNG.uniform(-1.0, 1.0, s).astype(dtype) for s in (shape, shape[1]))
        np.testing.assert_array_equal(f(u, w), function(u, w))
        if dtype == np.float64:
            check_grad(f, u, w)


@pytest.mark.parametrize("function", [*CARRIED, *LEFT], ids=lambda f: f.__name__)
def test_compiled(function: Callable[..., Any]) -> None:
    f = grad(function, cache=False)
    for shape in ((2, 2), (5, 5), (9, 40)):
        u, w = RNG.uniform(-1.0, 1.0, shape), RNG.uniform(-1.0, 1.0, shape[1])
        check_value_and_grad(f, u, w, rtol=1e-13, at_once=True)
