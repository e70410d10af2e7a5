"""Numbers that are the same in every iteration: computed ahead of the loop, their derivatives behind it."""

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


def of_arguments(x, a, b):
    return a / (2.0 * b) * x**2 + np.exp(a) * x


def in_steps(x, a, b):
    for _ in range(3):
        x = x + a / b * np.sin(x) + 0.5 * a * x
    return x


def changed_outside(x, a, b):
    for _ in range(2):
        a = a * 1.5
        for i in range(x.shape[0]):
            b += a / (2.0 + b) * x[i] * (a * a)
    return b * x


def where_it_is_asked_for(x, a, b):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            y[i] = x[i] / (a - 1.0)
        else:
            y[i] = x[i] * (a * b)
    return y


def on_one_side(x, a, b):
    return np.where(x > 0.0, x * (a * b), np.sqrt(a + b) - x / (a * b))


def own_names(x, a, b):
    s = 0.0
    for i in range(x.shape[0]):
        c = a * b
        d = c**2 + a
        s += d * x[i] * c
    return s


def until(x, a, b):
    n = 0
    s = a
    while s < 5.0 and n < 10:
        s = s * (1.0 + b / (1.0 + a)) + 0.1 * x[0]
        n += 1
    return s


def elements(x, a, b):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            s += x[i] * a * x[j] + x[0] * b
    return s


def at_two_depths(x, a, b):
    s = 0.0
    for i in range(x.shape[0]):
        c = x[i] * b
        for _ in range(2):
            s += 0.5 * c * x[i]
            for j in range(x.shape[0]):
                s += 0.5 * c * x[j]
    return s


def lengths_that_change(x, a, b):
    y = x * 1.0
    s = 0.0
    while y.shape[0] > 1:
        for i in range(y.shape[0]):
            s += a / y.shape[0] * y[i] + b * len(x)
        y = y[1:] * y[:-1]
    return s


def divided_by_whole_numbers(x, a, b):
    n = max(x.shape[0] - 4, 0)
    s = b
    for i in range(n):
        s += a * (7 // n) * x[i] + a * (7 % n)
    return s


FUNCTIONS = [
    at_two_depths, lengths_that_change, divided_by_whole_numbers, of_arguments, in_steps, changed_outside,
    where_it_is_asked_for, on_one_side, own_names, until, elements,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_is_what_it_was(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    assert_close(f(X, 1.2, 0.7), function(X, 1.2, 0.7), 1e-14, "value")
    check_grad(f, X, 1.2, 0.7)
    check_grad(f, X[:1] if function in (until, elements) else X[:0], 1.2, 0.7)
    v = np.ones_like(function(X, 1.2, 0.7))
    with order.without("hoist_scalars"):
        expected = grad(function, jit=False).backward(X, 1.2, 0.7, v)
    assert_close(f.backward(X, 1.2, 0.7, v), expected, 1e-13, "with every number where it is written")


def test_a_branch_that_is_not_taken_divides_by_nothing() -> None:
    f = grad(where_it_is_asked_for, jit=False)
    for x in (-np.abs(X), X[:0]):
        x_b, a_b, b_b = f.backward(x, 1.0, 0.5, np.ones_like(x))
        np.testing.assert_allclose(x_b, np.full(x.shape, 0.5))
        np.testing.assert_allclose((a_b, b_b), (0.5 * x.sum(), x.sum()))


def test_once() -> None:
    text = grad(in_steps).source(X, 1.2, 0.7)
    assert text.count("a / b") == 1 and text.count("0.5 * a") == 1 and text.count("b_b") == 2


def test_what_calls_a_function_leaves_the_loop_of_the_primal_too() -> None:
    text = grad(of_arguments).source(X, 1.2, 0.7, kind="primal")
    assert text.index("exp(a)") < text.index("for i")
