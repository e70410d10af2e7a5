"""Branches that no run takes, as their text tells: the sweep back through them reads what they would have made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad

X = np.array([0.7, 1.3, -0.4, 0.9, 1.1])


def a_branch_in_one(x, k):
    s = 0.0
    if k != k:
        if x[0] > 0:
            s += x[1] * x[2]
    return s + np.sum(x * x)


def a_length(x, k):
    y, n = x[:k], len(x)
    s = 0.0
    if n != n:
        if len(x) < 0:
            y = np.zeros(k)
        s += np.sum(y * y)
    return s + len(y) + np.sum(x * x)


def a_length_in_a_loop(x, k):
    z, s = x[:k], x[0]
    if k != k:
        for i in range(k):
            z = np.zeros(i + 1)
        s += sum(z)
    return s * s + len(z)


def an_array(x, k):
    z, s = np.ones(k) * x[0], 0.0
    if k != k:
        for j in range(3):
            w = x[:j]
        s += np.sum(w * w)
    else:
        w = z[::-1]
    return s + len(w) * w[0]


def a_sum(x, k):
    z, w, s = x[:k], x * 1.0, 0.0
    if k != k:
        for i in range(3):
            s += w.sum() * x[i]
    return s + np.sum(z * z)


def a_loop_with_while(x, k):
    z, s = x[:k], 0.0
    if k != k:
        for j in range(k):
            while s < -1e9:
                s += len(z) * x[j]
    return s + np.sum(z * x[:k])


def in_a_loop_and_a_branch(x, k):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            y = x[:k]
            if i != i:
                if k > 2:
                    y = y * x[i]
                s += np.sum(y * y)
            s += len(y) * x[i] ** 2
    return s


@pytest.mark.parametrize(
    "function",
    [a_branch_in_one, a_length, a_length_in_a_loop, an_array, a_sum, a_loop_with_while, in_a_loop_and_a_branch],
)
def test_a_branch_that_is_never_taken(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for k in (3, 1):
        check_value_and_grad(f, X, k, rtol=1e-14)
