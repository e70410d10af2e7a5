"""Whole numbers that take turns are expressions of the loop's index: `now = 1 - now`, and `now, then = then, now`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.testing import check_grad

X = np.random.default_rng(2).uniform(0.1, 0.9, 6)


def one_less(x, steps):
    s, now = 0.0, 1
    for t in range(steps):
        s += x[now] * x[t]
        now = 1 - now
        s -= np.sin(x[now])
    return s + x[now]


def of_five(x, steps):
    s, k = 0.0, 3
    for t in range(2, steps):
        s += x[k] * x[t]
        k = 5 - k
        s += k * x[0]
    return s * x[k] + k


def change_places(x, steps):
    s, p, q = 0.0, 4, 1
    for t in range(steps):
        s += x[p] * (t + 1.0)
        p, q = q, p
        s *= x[q]
    return s + x[p] + q


def by_way_of_a_third(x, steps):
    s, p, q = 0.0, 0, 5
    for _ in range(steps):
        r = p
        p = q
        s += x[p] * x[r]
        q = r
        s += np.cos(x[q])
    return s - x[q] * x[p]


def two_pairs(x, steps):
    s, p, q, now = 0.0, 0, 1, 0
    for _ in range(steps):
        s += x[p + 2 * now] * x[q]
        p, q = q, p
        now = 2 - now
    return s + x[now + 1] * x[p]


TURN = [one_less, of_five, change_places, by_way_of_a_third, two_pairs]


def under_a_condition(x, steps):
    s, now = 0.0, 0
    for t in range(steps):
        s += x[now] * x[t]
        if x[t] > 0.4:
            now = 1 - now
    return s + x[now]


def from_an_argument(x, steps):
    s, now = 0.0, steps % 2
    for t in range(steps):
        s += x[now] * x[t]
        now = 1 - now
    return s + x[now]


def three_in_a_ring(x, steps):
    s, p, q, r = 0.0, 0, 1, 2
    for _ in range(steps):
        s += x[p] * x[q] - x[r]
        p, q, r = q, r, p
    return s + x[p] * x[r]


def twice(x, steps):
    s, now = 0.0, 0
    for t in range(steps):
        now = 1 - now
        s += x[now] * x[t]
        now = 1 - now
        s += x[now]
    return s * x[now]


def one_copies_the_other(x, steps):
    """Not in turns: p is q, which is what p was, and then both are one."""
    s, p, q = 0.0, 0, 3
    for _ in range(steps):
        s += x[p] * x[q]
        p = q
        q = p
    return s * x[p] + x[q]


def in_an_inner_loop(x, steps):
    s, now = 0.0, 0
    for t in range(steps):
        for _ in range(t):
            now = 1 - now
        s += x[now] * x[t]
    return s


OTHERS = [under_a_condition, from_an_argument, three_in_a_ring, twice, one_copies_the_other, in_an_inner_loop]


@pytest.mark.parametrize("function", [*TURN, *OTHERS], ids=lambda function: function.__name__)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    f = grad(function, wrt="x", jit=False)
    for steps in (0, 1, 2, 5, 6):
        check_value_and_grad(f, X, steps, rtol=1e-14)


@pytest.mark.parametrize("function", TURN, ids=lambda function: function.__name__)
def test_nothing_is_kept_of_them(function: Callable[..., Any]) -> None:
    text = grad(function, wrt="x").source(X, 5)
    assert "& 1" in text and "np.int64" not in text


def test_compiled() -> None:
    for function in (change_places, of_five):
        check_grad(grad(function, wrt="x", cache=False), X, 5)
