"""The state after the last step, which nobody reads, is not computed for a gradient alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import BoundsError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, -0.3, 1.2, 0.7])


def steps_of_arrays(x, steps):
    y = x.copy()
    for _ in range(steps):
        k = np.sin(y) * x
        z = np.empty_like(y)
        z[0] = y[0]
        for i in range(1, y.size):
            z[i] = y[i - 1] * k[i]
        y = y + 0.1 * z * k
    return y


def products(x, steps):
    a = np.outer(x, x)
    y = x.copy()
    for _ in range(steps):
        y = np.tanh(a @ y) + y * y
    return y


def read_after_the_loop(x, steps):
    y, k = x.copy(), np.zeros(x.size)
    for _ in range(steps):
        for i in range(x.size):
            k[i] = np.cos(y[i])
        for i in range(x.size):
            y[i] = y[i] * k[i]
    return y * np.exp(k)


def looked_up(x, steps):
    y = x.copy()
    for t in range(steps):
        for i in range(y.size):
            y[i] = np.sin(y[i]) * x[(t + i) % 5]
    return y


FUNCTIONS = [steps_of_arrays, products, read_after_the_loop]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_any_number_of_steps(function: Callable[..., Any]) -> None:
    f = grad(function, wrt="x", jit=False)
    for steps in (0, 1, 2, 5):
        check_grad(f, X, steps)
        value, x_b = f.value_and_backward(X, steps, X)
        np.testing.assert_allclose(value, function(X, steps), rtol=1e-14)
        np.testing.assert_allclose(f.backward(X, steps, X), x_b, rtol=1e-12, atol=1e-14)


def test_where() -> None:
    f = grad(steps_of_arrays, wrt="x", jit=False)
    assert "< steps - 1:" in f.source(X, 3)
    assert "< steps - 1:" not in f.source(X, 3, kind="value_and_backward")
    assert "< steps - 1:" not in grad(read_after_the_loop, wrt="x", jit=False).source(X, 3)


def test_the_state_after_is_handed_out_as_a_row() -> None:
    x = np.vander(X, 3)
    f = grad(lambda x: np.subtract.reduce(x), jit=False)
    np.testing.assert_array_equal(f.value_and_backward(x, np.ones(3))[0], np.subtract.reduce(x))


def test_compiled() -> None:
    f = grad(steps_of_arrays, wrt="x", cache=False)
    for steps in (0, 1, 3):
        check_grad(f, X, steps)


def test_what_fails_in_the_last_step_fails() -> None:
    f = grad(looked_up, wrt="x", jit=False)
    assert f.backward(X, 1, X).shape == X.shape
    with pytest.raises((IndexError, BoundsError)):
        f.backward(X, 2, X)  # (1 + 3) % 5 is 4
