"""What several statements of one loop keep for the sweep is kept once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad, pipeline
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
    with pipeline.without("keep_once"):
        expected = grad(function, jit=False).value_and_backward(X, 0.7, v)
    assert_close(f.value_and_backward(X, 0.7, v), expected, 1e-14, "with everything kept that was asked for")


def kept(text: str) -> int:
    return text.count("_kept = np.empty(")


def test_once() -> None:
    now = kept(grad(two_that_turn).source(X, 0.7))
    with pipeline.without("keep_once"):
        before = kept(grad(two_that_turn).source(X, 0.7))
    assert now < before
