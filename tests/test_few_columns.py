"""Loops of their own for rows of two, three and four elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad

RNG = np.random.default_rng(12)


def weighed_rows(x, w):
    return (x * x * w).sum(1)


def left_a_sum_of_the_users(x, w):
    """Four rows at a time."""
    n, d = x.shape
    y = np.empty(n)
    for i in range(n):
        s = 0.0
        for k in range(d):
            s = s + (x[i, k] - w[k]) ** 2
        y[i] = s * x[i, 0]
    return y


def steps_of_particles(x, w):
    """A loop over rows that depend on those before."""
    x = x.copy()
    for i in range(1, x.shape[0]):
        for k in range(x.shape[1]):
            x[i, k] = 0.5 * x[i - 1, k] + x[i, k] * w[k]
    return x


def backwards(x, w):
    y = np.zeros(x.shape)
    for i in range(x.shape[0] - 1, -1, -1):
        for k in range(x.shape[1]):
            y[i, k] = x[i, k] / (1.0 + w[k] * w[k])
    return y


def left_inside_of_a_loop(x, w):
    for _ in range(5):
        x = x * w / np.sum(x)
    return x


def left_a_sine(x, w):
    return (np.sin(x) * w).sum(1)


def left_a_triangle(x, w):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for k in range(min(i, x.shape[1])):
            y[i, k] = x[i, k] * w[k]
    return y


def left_the_first_axis(x, w):
    y = np.zeros(x.shape[1])
    for k in range(x.shape[1]):
        for i in range(x.shape[0]):
            y[k] += x[i, 0] * w[k]
    return y


VERSIONS = [weighed_rows, steps_of_particles, backwards]
LEFT = [left_inside_of_a_loop, left_a_sum_of_the_users, left_a_sine, left_a_triangle, left_the_first_axis]


@pytest.mark.parametrize("function", [*VERSIONS, *LEFT], ids=lambda f: f.__name__)
def test_where(function: Callable[..., Any]) -> None:
    text = grad(function).source(np.ones((5, 2)), np.ones(2), kind="primal")
    assert [f"range({n}):" in text for n in (2, 3, 4)] == [function in VERSIONS] * 3, text


@pytest.mark.parametrize(
    ("function", "jit"), [*((f, False) for f in (*VERSIONS, *LEFT)), *((f, True) for f in (*VERSIONS, *LEFT)[::2])]
)
def test_all_lengths(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit, cache=False)
    for n in (1, 2, 5, 9):
        for columns in (1, 2, 3, 4, 5, 6, 33):
            x, w = RNG.uniform(0.5, 1.5, (n, columns)), RNG.uniform(0.5, 1.5, columns)
            check_value_and_grad(f, x, w, rtol=1e-13, at_once=True)
    empty = f.backward(np.ones((0, 2)), np.ones(2), function(np.ones((0, 2)), np.ones(2)))
    assert empty[0].shape == (0, 2)
    assert np.array_equal(empty[1], [0.0, 0.0])


def test_strided_rows() -> None:
    f = grad(weighed_rows, cache=False)
    x, w = RNG.uniform(0.5, 1.5, (9, 12)), RNG.uniform(0.5, 1.5, 6)
    for part, weights in ((x[:, ::4], w[::2]), (x[::-2, 2:0:-1], w[:2]), (x.T[:, :3], w[:3])):
        check_value_and_grad(f, part, weights, rtol=1e-13, at_once=True)
