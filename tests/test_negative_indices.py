"""What indices mean that may be negative, that move in leaps, or that belong to views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.errors import UnsupportedError
from srcgrad.testing import check_grad

RNG = np.random.default_rng(6)


def in_leaps(x):
    a = x.copy()
    for i in range(x.shape[0]):
        a[i - i % 2] = x[i] * x[i]
    return np.sum(a * a)


def there_and_back(x):
    a = x.copy()
    for i in range(4):
        a[4 * i - i * i] = np.sin(a[4 * i - i * i]) * x[i]
    return np.sum(a * np.arange(6.0))


def from_the_end_of_a_view(x):
    a = x.copy()
    for i in range(x.shape[0]):
        w = a[2:]
        a[i] = np.sin(w[i - 2]) * x[i]
    return np.sum(a * a)


def from_the_end_of_rows(x):
    n = x.shape[0]
    m = np.outer(x, x)
    for i in range(n):
        w = m[2:]
        for j in range(n):
            m[i, j] = np.sin(w[i - 2, j]) * x[i]
    return np.sum(m * np.arange(n))


def from_the_end_of_a_part_of_a_row(x):
    n = x.shape[0]
    s = 0.0
    for i in range(n):
        t = np.zeros((n, n))
        r = t[i, :4]
        for j in range(4):
            r[j - 2] = x[i] * x[j]
        s += t[i, n - 1] + 2.0 * t[i, 3]
    return s


def from_the_last_to_the_last(x):
    a, b = np.sin(x), np.empty(x.size)
    for i in range(-1, x.size):
        b[i] = 2.0 * a[i] + 1.0
    return np.sum(b**3)


def round_a_ring(x):
    n = x.size
    y = np.empty(n)
    for i in range(n):
        y[i] = x[(i + 1) % n] * x[(i - 1) % n]
    return np.sum(y * x)


FUNCTIONS = [
    from_the_last_to_the_last,
    round_a_ring,
    in_leaps,
    there_and_back,
    from_the_end_of_a_view,
    from_the_end_of_rows,
    from_the_end_of_a_part_of_a_row,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_value_and_gradient(function: Callable[..., Any]) -> None:
    x = RNG.uniform(0.3, 1.2, 6)
    f = grad(function, jit=False)
    value, _ = f.value_and_backward(x, 1.0)
    assert_close((f(x), value), (function(x), function(x)), 1e-13, "value")
    check_grad(f, x)


def remainders(x, steps):
    y = 2.0 * x
    n = y.size
    for i in range(steps):
        y[i % n] = np.sin(y[(i + 1) % n]) + 3.0
    return y


def kept_remainders(x, steps):
    places, s = np.arange(steps), 0.0
    for i in range(steps):
        s += x[places[i] % x.size]
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [remainders, kept_remainders])
def test_a_remainder_by_the_length_of_an_empty_array(function: Callable[..., Any], jit: bool) -> None:
    f, none = grad(function, jit=jit), np.zeros(0)
    v = none if function is remainders else 1.0
    for call in (lambda: f(none, 3), lambda: f.backward(none, 3, v)):
        with pytest.raises((IndexError, ZeroDivisionError)):
            call()
    check_grad(f, RNG.uniform(0.3, 1.2, 2), 3)


def of_a_copy_that_is_a_view(x, k):
    a = x.copy()
    s = 0.0
    for item in a[::k]:
        s += item
        a *= 2.0
    return s


def of_pairs(x, k):
    a = x.copy()
    s = 0.0
    for n, item in enumerate(a[::k]):
        s += n * item
        a *= 2.0
    return s


def written_through_it(x, k):
    rows = np.array([1, 2])
    m = np.outer(x, x)
    w = m[rows[0], ::k]
    w[1:] += 1.0
    return np.sum(m * m)


@pytest.mark.parametrize("function", [of_a_copy_that_is_a_view, of_pairs, written_through_it])
def test_a_view_of_which_we_have_a_copy(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError):
        grad(function, wrt="x", jit=False).backward(RNG.uniform(0.3, 1.2, 6), 2)


def test_steps_that_scale_complex_numbers() -> None:
    def f(x):
        z = x * (1 + 2j)
        for _ in range(3):
            z *= 2j
        return z

    check_grad(grad(f, jit=False), RNG.uniform(0.3, 1.2, 4))
