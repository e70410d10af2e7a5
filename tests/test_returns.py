"""`return` out of loops, of arrays that the loop writes to: what is returned is the array, not a copy of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

X = np.array([1.0, 0.2, 0.31, 0.4, 0.52])


def swept_until_still(x, bound):
    y = x.copy()
    for k in range(30):
        moved = 0.0
        for i in range(1, len(x) - 1):
            new = 0.45 * (y[i - 1] + y[i + 1])
            moved += abs(new - y[i])
            y[i] = new
            if moved > 40.0 * bound:
                return y * 0.5, moved
        if moved < bound:
            return y, moved
    return y, 0.0 * x[0]


def never_leaves_otherwise(x, bound):
    y = x.copy()
    while True:
        y[1:-1] = 0.4 * (y[2:] + y[:-2])
        if np.sum(y[1:-1] ** 2) < 1.0 + bound:
            return y


def two_arrays_or_a_part(x, bound):
    y, z = x.copy(), np.zeros(4)
    for k in range(20):
        y[0] *= 1.5
        z[k % 3] = y[0]
        if y[0] > 20.0:
            return z
        if z[0] > bound:
            return y[1:]
        z[1] = 3.0
    else:
        y[1] = 7.0
        return y[1:] * z[0]


def under_conditions(x, bound):
    y = x.copy()
    if bound > 0.5:
        for k in range(20):
            y[0] *= 1.5
            if y[0] > 20.0:
                if k > bound:
                    return y
                y[1] = 2.0
                if y[1] > 10.0:
                    return 3.0 * y
        y[2] = 4.0
    y[3] *= y[0]
    return y


def of_a_function_within(x, bound):
    y = x.copy()

    def grown(z):
        for _ in range(20):
            z[0] *= 1.5
            if z[0] > 20.0 * bound:
                return z
        return z

    r = grown(y)
    y[1] = 3.0 * y[0]
    return r * y


def rebound_to_itself(x, bound):
    y = x * 1.0
    for _ in range(6):
        y[0] *= 1.5
        if y[0] > 4.0 * bound:
            y[2] = y[1]
            return y
        y = y[:]
    y[1] = 0.0
    return y


def from_two_loops(x, bound):
    y = x * 1.0
    for i in range(5):
        for j in range(5):
            y[i] += 0.3 * y[j]
            if y[i] > 2.0 * bound:
                return y
        y[i] *= 0.7
    for i in range(5):
        y[i] *= x[i]
        if y[i] > bound:
            return y
    y[0] = 1.0
    return y


def written_on_one_path(x, bound):
    y = x * 1.0
    z = y if bound > 0.5 else x * 2.0
    if x[0] > bound:
        y[0] = 3.0 * x[1]
        w = y
    else:
        w = z * y
    return w


RIGHT = [
    swept_until_still, never_leaves_otherwise, two_arrays_or_a_part, under_conditions, of_a_function_within,
    rebound_to_itself, from_two_loops, written_on_one_path,
]  # fmt: skip


@pytest.mark.parametrize("bound", [0.01, 0.3, 1.3, 25.0])
@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_returned_from_a_loop(function: Callable[..., Any], bound: float) -> None:
    f = grad(function, wrt="x", jit=False)
    got, want = (value if isinstance(value, tuple) else (value,) for value in (f(X, bound), function(X, bound)))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-15)
    check_grad(f, X, bound)
