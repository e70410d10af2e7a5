"""Slices that end within their array, rows that change places, and loops in a direction that is known at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from corpus.programs.solvers import lu_solve_with_pivots
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(20)


def rows_and_columns(a):
    """LU by rows: the slices end where the loops do."""
    a = a @ a.T
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def turned(a):
    """Levinson's recursion: slices from the end."""
    r, y = a[0] / 4.0, np.empty(a.shape[1])
    y[0] = -r[0]
    for k in range(1, len(r)):
        alpha = -(r[k] + np.flip(r[:k]) @ y[:k])
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def beyond_the_end(a):
    """Slices that are longer than the array, and that begin behind it."""
    s = 0.0
    for i in range(a.shape[0]):
        s += (a[i, : 2 * i] ** 2).sum() + (a[i, i + 2 :] * a[i, i]).sum() + (a[i + 1 :, i] * a[i, 0]).sum()
    return s


def of_two_widths(a):
    """Whether the slice ends within the array depends on its shape."""
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(i):
            s += a[i, :j].sum() * a[j, :i].prod()
    return s


def from_behind(a):
    a = a.copy()
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= 0.5 * (a[i, : -j - 1] @ a[j, : -j - 1])
    return a


@pytest.mark.parametrize("function", [rows_and_columns, turned, beyond_the_end, of_two_widths, from_behind])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_is_what_it_was(function: Callable[..., Any], rows: int) -> None:
    a = RNG.uniform(0.5, 1.5, (rows, rows)) + 3.0 * np.eye(rows)
    f = grad(function, jit=False)
    check_grad(f, a)
    v = np.ones_like(function(a))
    with order.without("slice_ends"):
        expected = grad(function, jit=False).value_and_backward(a, v)
    assert_close(f.value_and_backward(a, v), expected, 1e-12, "with ends of slices as they are written")


def test_what_is_not_written_again_is_not_kept() -> None:
    assert "kept" not in grad(rows_and_columns).source(np.eye(3))


# --------------------------------------------------------------------------------------------------------------
# Rows that change places: row k is final when step k is over, where all other rows that are written lie behind it.


def steps(place):
    """Row p is written in step k, row k is read; `place` says which is p."""

    def f(a, b):
        a = a.copy()
        n = len(b)
        for k in range(n - 1):
            p = place(k, n)
            a[p, 0] = a[p, 0] * a[k, 1] + b[k]
            for i in range(k + 1, n):
                a[i, 1] -= a[i, 0] * a[k, 0] * b[i]
        return a

    return f


PLACES = [
    lambda k, n: k + k % 2,
    lambda k, n: k + 1,
    lambda k, n: k - k % 2,
    lambda k, n: k + 1 - k % 3,
    lambda k, n: n - 1 - k,
    lambda k, n: (k + 2) % n,
    lambda k, n: k - n,
    lambda k, n: k + n // 2 - n,
    lambda k, n: min(k, 1),
    lambda k, n: max(k, 2),
    lambda k, n: k + min(1 - k, 0),
]


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_elimination_with_pivots(n: int) -> None:
    check_grad(grad(lu_solve_with_pivots, jit=False), RNG.uniform(-1.0, 1.0, (n, n)), RNG.uniform(0.5, 1.5, n))


def test_a_row_that_no_later_step_writes_is_not_kept() -> None:
    text = grad(lu_solve_with_pivots).source(np.eye(3), np.ones(3))
    assert "a_now" not in text and "push" not in text


@pytest.mark.parametrize("place", range(len(PLACES)))
@pytest.mark.parametrize("n", [3, 6])
def test_rows_elsewhere(place: int, n: int) -> None:
    check_grad(grad(steps(PLACES[place]), jit=False), RNG.uniform(0.5, 1.0, (n, n)), RNG.uniform(0.5, 1.0, n))


# --------------------------------------------------------------------------------------------------------------


def twice(x, first, last, step):
    """Where the index is negative, elements come twice, and in an order."""
    y = x.copy()
    for i in range(first, last, step):
        y[i] = np.sin(y[i]) * y[i] + x[i] * x[i]
    return y


def of_neighbours(x, first, last, step):
    y = np.zeros(len(x))
    for i in range(first, last, step):
        y[i] += x[i - 1] * x[i]
        y[i - 1] = np.sin(y[i])
    return y


def one_index_after_another(x, k):
    """Of two loops with one index the second has negative ones."""
    s = 0.0
    for i in range(3):
        s += x[i]
    for i in range(-3, 0):
        s += x[:i].sum() * x[i]
    for j in range(k - 5, 2):
        for i in range(j, 3):
            s += x[:i].sum() * x[j:].sum() * [x[i + n] for n in range(-2, 0)][0]
    return s


@pytest.mark.parametrize("k", [2, 4, 6])
def test_an_index_that_is_negative_in_one_loop_alone(k: int) -> None:
    x = RNG.uniform(0.5, 1.5, 5)
    f = grad(one_index_after_another, wrt="x", jit=False)
    assert_close(f(x, k), one_index_after_another(x, k), 1e-13, "value")
    check_grad(f, x, k)


@pytest.mark.parametrize("function", [twice, of_neighbours])
@pytest.mark.parametrize(
    "ends", [(4, -5, -1), (-4, 5, 1), (0, 5, 2), (4, -1, -2), (-1, -5, -1), (3, -4, -3), (4, 4, 1)]
)
@pytest.mark.parametrize("jit", [False, True])
def test_a_direction_that_is_known_at_run_time(
    function: Callable[..., Any], ends: tuple[int, int, int], jit: bool
) -> None:
    check_grad(grad(function, wrt="x", jit=jit), RNG.uniform(0.5, 1.5, 5), *ends)


def one_end_says_another(x, y):
    n, m = x.shape[0], y.shape[0]
    return np.sum(x[-2:-1]) + np.sum(y[:n]) + np.sum(x[:m])


def halves_of_rows(x, y):
    n, m = x.shape[0], y.shape[0]
    first = np.sum(x[-2:-1] * y[: n // 2 + 1][:1])
    return first + np.sum(y[:n][n // 2 : m] * x[n // 2 : m]) + np.sum(x[0:2] * 2.0)


@pytest.mark.parametrize("function", [one_end_says_another, halves_of_rows])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_check_goes_by_what_it_says_itself(function: Callable[..., Any], n: int) -> None:
    """x has two elements at least as y has, as x has: that is no reason not to ask x."""
    x, y = RNG.uniform(0.5, 1.5, n), RNG.uniform(0.5, 1.5, n)
    try:
        wanted = function(x, y)
    except ValueError:
        return
    f = grad(function, jit=False)
    assert_close(f(x, y), wanted, 1e-13, "value")
    check_grad(f, x, y)
