"""Short inner loops in masked vector registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(3)


def softmax(x, w, n):
    e = np.exp(x - x.max(axis=1)[:, None]) * np.abs(x) ** 0.7
    return e / e.sum(axis=1)[:, None]


def rain(x, w, n):
    """Rows in which more happens than one loop over whole arrays, step by step."""
    x = x.copy()
    for _ in range(n):
        speed = 0.4 * x**0.13
        falling = speed * x
        x[:, :-1] += falling[:, 1:] - falling[:, :-1]
        x[:, -1] -= falling[:, -1]
    return x


def state_in_steps(x, w, n):
    h = x[0].copy()
    for k in range(x.shape[0]):
        h = np.tanh(w * h + x[k])
    return h


def sums_by_row(x, w, n):
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        s = np.log(x[i] * w).sum()
        out[i] = s * s
    return out


def sums_of_the_users(x, w, n):
    s, y = 0.0, np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += np.sin(x[i, j] * w[j])
            y[i, j] = s
    return y


FUNCTIONS = [softmax, rain, state_in_steps, sums_by_row, sums_of_the_users]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_lengths(function: Callable[..., Any]) -> None:
    """On both sides of what fills a register, and of the length from which on there are no masks."""
    plain = grad(function, wrt=("x", "w"), jit=False)
    compiled = plain if function is sums_of_the_users else grad(function, wrt=("x", "w"), cache=False)
    for m in (1, 2, 5, 8, 11, 15, 16, 17, 40):
        x, w = RNG.uniform(0.2, 1.0, (7, m)), RNG.uniform(0.5, 1.0, m)
        y = function(x, w, 3)
        v = RNG.uniform(-1.0, 1.0, y.shape)
        value, cotangents = compiled.value_and_backward(x, w, 3, v)
        np.testing.assert_allclose(value, y, rtol=1e-12)
        for a, b in zip(cotangents, plain.backward(x, w, 3, v), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)
        if m in (5, 11):
            check_value_and_grad(compiled, x, w, 3, at_once=True)
    x, w = RNG.uniform(0.2, 1.0, (0, 3)), np.ones(3)
    if function is not state_in_steps:
        assert compiled.value_and_backward(x, w, 2, function(x, w, 2))[1][0].shape == (0, 3)


def test_single_precision() -> None:
    f = grad(rain, wrt="x", cache=False)
    x = RNG.uniform(0.2, 1.0, (9, 5)).astype(np.float32)
    exact = f.backward(x.astype(float), x[0].astype(float), 2, np.ones((9, 5)))
    np.testing.assert_allclose(f.backward(x, x[0], 2, np.ones_like(x)), exact, rtol=1e-5, atol=1e-6)


def test_two_versions() -> None:
    x = np.ones((4, 3))
    assert "if x.shape[1] < 16:" in grad(rain, cache=False).source(x, x[0], 2)
    assert "< 16" not in grad(lambda x: np.sqrt(x - x.sum(1)[:, None]) * 2.0, cache=False).source(x)  # not dear
    assert "< 16" not in grad(lambda x: np.tanh(x), cache=False).source(x)  # one loop over the memory


def escape(z, c):
    inside = np.abs(z) < 2.0
    z = np.where(inside, z * z + c, z)
    return np.where(inside, np.log1p(np.abs(z) ** 2), 0.0), np.where(np.abs(z) > 1.0, z, c * z)


def test_choices_between_complex_numbers() -> None:
    z, c = RNG.normal(size=(2, 40)) + 1j * RNG.normal(size=(2, 40))
    f = grad(escape, cache=False)
    for a, b in zip(f(z, c), escape(z, c), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    check_grad(f, z, c)
    assert "choose(" in f.source(z, c)
