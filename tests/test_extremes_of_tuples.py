"""max and min of tuples and lists: they are compared item by item, and the gradient goes to the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import RuntimeValueError, grad
from srcgrad.testing import check_grad

A, B = np.array([0.3, -0.7, 1.1, 0.5]), np.array([0.2, 1.3, -0.4, 0.9])


def pairs(a, b):
    x, y = max(zip(a, b, strict=True))
    z, w = min(zip(b, a, strict=True))
    return x * y + x * z * w


def by_a_key(a, b):
    i, v = max(enumerate(a), key=lambda p: p[1] * b[p[0]])
    x, y = min(zip(a, b, strict=True), key=lambda p: (p[0] > 0.0, p[1]))
    return v * b[i] * x * y


def of_a_generator(a, b):
    d, x, i = min(((x - 0.2) ** 2, x, i) for i, x in enumerate(a))
    return d * x * b[i]


def nested(a, b):
    (x, y), i = max(((x, y), i) for i, (x, y) in enumerate(zip(a, b, strict=True)))
    return x * y * i


def named(a, b):
    best = max((a[0], b[0]), (a[1], b[1]), (a[0], b[2]))
    v, name = min([(a[0] * b[0], "u"), (a[1] * b[1], "v")])
    return best[0] * best[1] + (v * 2.0 if name == "v" else v)


def of_lists(a, b):
    found = [[x * y, x] for x, y in zip(a, b, strict=True) if x > 0]
    v = min(found)
    return v[0] * v[1]


def beside_rows(a, b):
    d, row = min((np.sum((row - 0.2) ** 2), row) for row in np.outer(a, b))
    return d * row


def around_a_loop(a, b):
    best = (float("inf"), -1)
    for i, x in enumerate(a):
        best = min(best, (abs(x - b[0]), i))
    return best[0] * b[best[1]]


def perhaps_of_none(a, b):
    x, y = max(((x, y) for x, y in zip(a, b, strict=True) if x > 5.0), default=(a[0], b[1]))
    return x * y


FUNCTIONS = [pairs, by_a_key, of_a_generator, nested, named, of_lists, beside_rows, around_a_loop, perhaps_of_none]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_chosen_one(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for a, b in ((A, B), (A.astype(np.float32), B.astype(np.float32))):
        got, want = f(a, b), function(a, b)
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)
        check_grad(f, a, b)


def test_the_first_of_equal_ones() -> None:
    def f(x):
        a = max(zip((1.0, 1.0, 0.5), (x[0], x[1], x[2]), strict=True), key=lambda p: p[0])
        b = min((0.5, 0, x[0]), (0.5, 0, x[1]), (0.5, 1, x[2]))
        c = max(zip((2.0, 2.0), (1.0, 1.0), (x[1], x[0]), strict=True))
        return a[1] + 10.0 * b[2] + 100.0 * c[2]

    for x in (np.array([3.0, 2.0, 1.0]), np.array([2.0, 3.0, 1.0]), np.ones(3)):
        want = [1.0 + 10.0 * (x[0] <= x[1]) + 100.0 * (x[0] > x[1]), 10.0 * (x[0] > x[1]) + 100.0 * (x[0] <= x[1]), 0.0]
        np.testing.assert_array_equal(grad(f, jit=False).backward(x), want)
        assert grad(f, jit=False)(x) == f(x)


def test_arrays_that_would_decide() -> None:
    def f(x):
        return min((v * v, row) for v, row in zip(x, np.outer(x, x), strict=True))[1]

    with pytest.raises(RuntimeValueError, match="arrays must decide"):
        grad(f, jit=False)(np.array([1.0, -1.0]))


def test_compiled() -> None:
    check_grad(grad(nested), A, B)
