"""Values under a mask that meet only others under the same mask are a loop with a condition, without positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad


def power_of_what_is_positive(x, w):
    y = x.copy()
    y[y > 0] = y[y > 0] ** 1.5
    return y


def two_sides(x, w):
    y = np.zeros_like(x)
    m = x > w
    y[m] = np.sqrt(x[m] - w[m]) * 2
    y[~m] -= x[~m] * w[~m]
    return y


def in_steps(x, w):
    m, s = x > 0.3, 0.0
    for k in range(3):
        x = x * 1.1
        x[m] = x[m] * w[m] + k
        m = x > 0.2
        s += np.sum(x[m] ** 2)
    return s


def sums_and_means(x, w):
    m = (x > 0) & (w < 1)
    return np.sum(x[m] * w[m]) + np.mean(x[x < 0.5] ** 2) + x[m].sum() / np.sum(m) + np.sum(np.sqrt(x[x > 0]))


def seen_through_views(x, w):
    y = x[..., 0] * 1.0
    m = y > 0
    y[m] = x[..., 0][m] * w[..., 1][m]
    y[1:][y[1:] > 0] *= np.exp(w[1:, 0][y[1:] > 0])
    return y


def of_itself_elsewhere(x, w):
    y = x * 1.0
    y[:-1][w[:-1] > 0] = y[1:][w[:-1] > 0]
    y[w > 0] = y[::-1][w > 0]
    y[y > 0] = y[y > 0] * w[y > 0]
    return y


def how_many_hold(x, w):
    m = x > 0
    y = x * w
    y[m] = x[m] * np.arange(np.sum(m))
    z = x[m]
    y[m] += z * w[m]
    x = x * 2.0
    y[m] += x[m]
    return y, np.sum(x[w > 0][1:]), np.sum(x[x > 9.0])


PROGRAMS = [
    (power_of_what_is_positive, 0),
    (two_sides, 0),
    (in_steps, 0),
    (sums_and_means, 0),
    (seen_through_views, 0),
    (of_itself_elsewhere, 2),  # what is written is read at other places: the values are fetched first
    (how_many_hold, 3),  # how many come first is asked for, and where they are
]


def drawn(shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(shape))
    return [rng.normal(size=shape), rng.normal(size=shape)]


def shapes_of(function: Callable[..., Any]) -> list[tuple[int, ...]]:
    return [(7, 2)] if function is seen_through_views else [(9,)] if function is how_many_hold else [(9,), (4, 3)]


COMPILED = (two_sides, of_itself_elsewhere)


@pytest.mark.parametrize(
    ("function", "jit"),
    [*((function, False) for function, _ in PROGRAMS), *((function, True) for function in COMPILED)],
    ids=lambda p: getattr(p, "__name__", "compiled" if p is True else "plain"),
)
def test_values_and_gradients(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    for shape in shapes_of(function):
        args = drawn(shape)
        check_value_and_grad(f, *args, rtol=1e-7, at_once=jit)


@pytest.mark.parametrize(("function", "looked_up"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_where_masks_hold_is_looked_up_only_if_that_counts(function: Callable[..., Any], looked_up: int) -> None:
    text = grad(function, jit=False).source(*drawn(shapes_of(function)[0]), kind="primal")
    assert text.count("    find_nonzero(") == looked_up


def test_nothing_is_computed_where_the_mask_does_not_hold() -> None:
    f = grad(two_sides)
    x, w = np.array([4.0, 1.0, np.nan, -np.inf]), np.array([0.0, 2.0, 1.0, 5.0])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(f(x, w), two_sides(x, w))
    x_b, w_b = f.backward(x, w, np.array([1.0, 1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(x_b[:2], [0.5, -2.0])
    np.testing.assert_array_equal(w_b[:2], [-0.5, -1.0])


def test_a_mask_of_other_lengths_is_refused_as_in_numpy() -> None:
    def f(x, w):
        y = x * 1.0
        y[w > 0] = x[w > 0] * 2
        return y

    with pytest.raises(IndexError, match="boolean index did not match"):
        grad(f, jit=False)(np.ones(4), np.ones(3))


def test_sums_under_masks_in_parallel() -> None:
    f = grad(sums_and_means, parallel=True)
    x, w = np.random.default_rng(0).normal(size=(2, 200_000))
    value, cotangents = f.value_and_backward(x, w)
    np.testing.assert_allclose(value, sums_and_means(x, w))
    for got, want in zip(cotangents, grad(sums_and_means).backward(x, w), strict=True):
        np.testing.assert_allclose(got, want)
