"""Numbers that are Python's on one path and small integers of NumPy's on another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcgrad import UnsupportedError, grad


def added_up(x, u):
    t = 0
    for v in u:
        t += v
    return x * t


def added_by_index(x, u):
    t = u[0]
    for i in range(len(u)):
        t = u[i] + t
    return x * t


def largest_over(x, u):
    best = 0
    for v in u:
        if v > best:
            best = v
    return x * (best / 4) + x[best % 4]


def chosen(x, u):
    t = 0 if u[0] > 3 else u[1]
    return x * (t + u[2])


def wider_in_a_loop_that_runs(x, u):
    t = u[0]
    for k in range(3):
        t = t + np.int64(k)
    return x * (t * 2 + max(u[1], 1) / 2)


def made_pythons(x, u):
    t = 0
    if u[0] > 3:
        t = int(u[1])
    return x * (t - 7)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16, np.uint32, np.int64])
@pytest.mark.parametrize(
    "function", [added_up, added_by_index, largest_over, chosen, wider_in_a_loop_that_runs, made_pythons]
)
def test_it_wraps_as_numpys_does(function: Any, kind: Any) -> None:
    f = grad(function, wrt="x", jit=False)
    x = np.arange(1.0, 5.0)
    for u in ([100, 90, 120, 111], [2, 90, 120, 3], [5, 4, 3, 2]):
        with np.errstate(over="ignore"):
            expected = function(x, np.array(u, kind))
            slope = function(x + 1.0, np.array(u, kind)) - expected
        assert (f(x, np.array(u, kind)) == expected).all()
        assert f.backward(x, np.array(u, kind), np.ones(4)).sum() == pytest.approx(slope.sum())


def one_less(x, u):
    t = 0
    if u[0] > 3:
        t = u[1]
    return x * (t - 1)


def one_more_in_a_loop(x, u):
    best = -1
    for v in u:
        if v > best:
            best = v
    return x * (best + 100)


def turned(x, u):
    t = 0.5 if u[0] > 3 else u[1]
    return x * -t


def raised_to_it(x, u):
    t = 2 if u[0] > 3 else u[1]
    return x * abs(t) ** 2


def greatest(x, u):
    t = max(u.astype(np.int8)[0], 100)
    return x * (t * 3)


def greatest_beside_wider(x, u):
    t = max([u.astype(np.int8)[0], np.int64(2)])
    return x * (t - 5)


def wider_behind_a_loop(x, u):
    """Which may not run."""
    t = u[0]
    for k in range(u[1]):
        t = t + np.int64(k)
    return x * (t - u[2])


def in_a_list_that_an_iteration_leaves(x, u):
    ys, y = [300] * len(u), 0.0
    for i in range(len(u)):
        a = np.array(ys)
        y = y + a[0] * a[1] * x
        for k in range(len(u)):
            ys[k] = np.int8(u[k])
    return y


def in_an_array_that_an_iteration_leaves(x, u):
    a, y = np.array([300, 300, 300]), 0.0
    for _ in range(len(u)):
        y = y + a[0] * a[1] * x
        a = u.astype(np.int8)
    return y


DIFFERENT_ON_PATHS = [
    one_less, one_more_in_a_loop, turned, raised_to_it, greatest, greatest_beside_wider, wider_behind_a_loop,
    in_a_list_that_an_iteration_leaves, in_an_array_that_an_iteration_leaves,
]  # fmt: skip


@pytest.mark.parametrize("function", DIFFERENT_ON_PATHS)
def test_another_number_on_each_path_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="a number is u?int8 on one path, and of another type on another"):
        grad(function, wrt="x", jit=False)(np.ones(4), np.array([1, 2, 3], np.uint8))
