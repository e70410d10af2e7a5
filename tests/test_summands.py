"""What is added to a sum under a condition is one of two numbers, without a branch, where both may be computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.testing import check_grad

X = np.array([0.4, -0.3, 0.8, 0.6, 0.0])
Y = np.array([0.2, 0.5, 0.1, -0.7, 0.3])


def hinge(x, y, a):
    return np.maximum(a * x, y)


def of_three(x, y, a):
    return np.where(a * x > y, np.exp(a * x), np.where(y > 0.2, a - y, a * y))


def quotients(x, y, a):
    return np.sum(np.where(x > 0.1, a / np.where(x > 0.1, x, 1.0), y))


@pytest.mark.parametrize("function", [hinge, of_three, quotients])
def test_gradient(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), X, Y, 0.7)
    v = np.cos(np.arange(5.0)) if function is not quotients else 1.0
    expected = grad(function, jit=False).backward(X, Y, 0.7, v)
    assert_close(grad(function).backward(X, Y, 0.7, v), expected, 1e-14, "compiled")


def test_no_branch() -> None:
    sweep = grad(hinge).source(X, Y, 0.7).partition("# reverse sweep")[2]
    assert "a_b += either(" in sweep


def test_infinite_slopes_beside_the_choice() -> None:
    f = lambda x, a: np.sum(np.where(x > 0.0, np.log(a) * x, a))
    for jit in (False, True):
        x_b, a_b = grad(f, jit=jit).backward(np.array([-1.0, -2.0]), 0.0)
        np.testing.assert_array_equal(x_b, [0.0, 0.0])
        assert a_b == 2.0
