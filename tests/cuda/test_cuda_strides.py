"""Windows that go on by a stride: each thread adds up what belongs to its element, those of one remainder together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad


def convolved(x, w):
    y = np.zeros(max((x.size - 3) // 2 + 1, 0))
    for i in range(y.size):
        y[i] = w[0] * x[2 * i] + np.sin(w[1] * x[2 * i + 1]) + w[2] * x[2 * i + 2] * x[2 * i]
    return y


def restricted(x, w):
    """From a fine grid to a coarse one, as in multigrid."""
    y = w[0] * np.ones((x.size + 1) // 2)
    for i in range(1, (x.size - 1) // 2):
        y[i] = 0.25 * x[2 * i - 1] ** 2 + 0.5 * x[2 * i] + w[1] * x[2 * i + 1]
    return y


def prolonged(x, w):
    """And back: what is between two numbers is of both."""
    y = np.zeros(max(2 * x.size - 1, 0))
    for i in range(x.size - 1):
        y[2 * i] = x[i] * x[i]
        y[2 * i + 1] = w[0] * x[i] + w[1] * x[i] * x[i + 1]
    return y


def by_threes(x, w):
    """Seven numbers by strides of three: of two remainders there are two, of one three."""
    y = np.zeros(max((x.size - 7) // 3 + 1, 0))
    for i in range(y.size):
        y[i] = x[3 * i] * x[3 * i + 6] + w[0] * x[3 * i + 1] - x[3 * i + 4] * x[3 * i + 3]
        y[i] += w[1] * x[3 * i + 2] * x[3 * i + 5]
    return y


def behind_the_middle(x, w):
    """The windows begin a few numbers further on, and are gone through by every second one."""
    y = np.zeros_like(x)
    for i in range(2, x.size // 2 - 1):
        if x[2 * i] > 0.0:
            y[i] = x[2 * i - 3] * x[2 * i + 1]
        else:
            y[i] = 0.5 * x[2 * i + 1]
    return y


def of_a_picture(x, w):
    rows, columns = max((x.shape[0] - 1) // 2, 0), max((x.shape[1] - 1) // 3, 0)
    y = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            y[i, j] = x[2 * i, 3 * j] * x[2 * i + 2, 3 * j + 3] + w[0] * x[2 * i + 1, 3 * j] ** 2 - x[2 * i, 3 * j + 3]
    return y


def mean_of_squares(x, w):
    """Four numbers of a picture are one: the mean is a number of the thread's."""
    n, m = x.shape
    return w[0] * np.exp(x.reshape(n // 2, 2, m // 2, 2).mean(axis=(1, 3)))


def greatest_of_squares(x, w):
    return x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2).max(axis=(1, 3)) * w[1]


def sums_of_rows(x, w):
    """The axes come in another order, and one of them stays."""
    parts = x.reshape(2, x.shape[0] // 2, x.shape[1])
    return np.sum(parts * parts, axis=0) + w[2]


LINES = [convolved, restricted, prolonged, by_threes, behind_the_middle]
W = np.array([0.3, 0.7, -0.4])


def same(f: Callable[..., Any], x: Any) -> None:
    plain, on_gpu = (grad(f, wrt=("x",), **how) for how in ({"jit": False}, {"target": "cuda"}))
    y, pullback = plain.vjp(x, W)
    v = np.random.default_rng(3).normal(size=np.shape(y))
    value, x_b = on_gpu.value_and_backward(x, W, v=v)
    np.testing.assert_allclose(value, f(x, W), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(x_b, pullback(v), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(on_gpu.vjp(x, W)[1](v), x_b)


@pytest.mark.parametrize("f", LINES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("length", [0, 1, 3, 5, 8, 13, 41])
def test_lines(f: Callable[..., Any], length: int) -> None:
    same(f, np.random.default_rng(length).normal(size=length))


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (4, 9), (7, 8), (9, 3), (12, 40)])
def test_pictures(shape: tuple[int, int]) -> None:
    same(of_a_picture, np.random.default_rng(shape).normal(size=shape))


POOLS = [mean_of_squares, greatest_of_squares, sums_of_rows]


@pytest.mark.parametrize("f", POOLS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(2, 2), (4, 6), (10, 34), (0, 4), (2, 0)])
def test_pools(f: Callable[..., Any], shape: tuple[int, int]) -> None:
    same(f, np.random.default_rng(shape).normal(size=shape))


@pytest.mark.parametrize("f", POOLS, ids=lambda f: f.__name__)
def test_pools_of_other_shapes_are_refused(f: Callable[..., Any]) -> None:
    for shape in ((3, 2), (3, 4), (5, 5)):
        with pytest.raises(ValueError):
            f(np.ones(shape), W)
        with pytest.raises(ValueError):
            grad(f, wrt=("x",), target="cuda").backward(np.ones(shape), W, np.ones((1, 1)))


@pytest.mark.parametrize("f", [*LINES, of_a_picture, *POOLS], ids=lambda f: f.__name__)
def test_differences_and_no_atomics(f: Callable[..., Any]) -> None:
    x = np.random.default_rng(1).normal(size=17 if f in LINES else (6, 10))
    check_grad(grad(f, wrt=("x",), jit=False), x, W)
    text = grad(f, wrt=("x",), target="cuda").source(x, W)
    assert "atomic" not in text, text


# ---------------------------------------------------------------------------- the best of a window, looked for by loops


def greatest_by_loops(x, w):
    """What is left over at the ends is nobody's."""
    y = np.empty((x.shape[0] // 2, x.shape[1] // 3))
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            top = x[2 * i, 3 * j]
            for a in range(2):
                for b in range(3):
                    if x[2 * i + a, 3 * j + b] > top:
                        top = x[2 * i + a, 3 * j + b]
            y[i, j] = np.sin(top)
    return y


def least_and_where(x, w):
    n, m = x.shape
    y = np.empty((n // 2, m // 2))
    place = np.zeros((n // 2, m // 2), dtype=np.int64)
    for i in range(n // 2):
        for j in range(m // 2):
            least = np.inf
            for a in range(2):
                for b in range(2):
                    if x[2 * i + a, 2 * j + b] < least:
                        least = x[2 * i + a, 2 * j + b]
                        place[i, j] = 2 * a + b
            y[i, j] = np.exp(w[1] * least) * (place[i, j] + 1)
    return y


def greatest_of_python(x, w):
    y = np.empty((x.shape[0] // 2, x.shape[1]))
    for i in range(y.shape[0]):
        for j in range(x.shape[1]):
            top = -1e30
            for a in range(2):
                top = max(top, x[2 * i + a, j])
            y[i, j] = top * w[2]
    return y


@pytest.mark.parametrize("f", [greatest_by_loops, least_and_where, greatest_of_python], ids=lambda f: f.__name__)
def test_the_best_of_a_window(f: Callable[..., Any]) -> None:
    """Which element it is a thread decides by branches: no place is made of what a run finds, or asked for."""
    rng = np.random.default_rng(6)
    for shape in ((2, 3), (5, 7), (0, 4), (1, 1), (12, 34)):
        same(f, rng.normal(size=shape))
    same(f, np.round(rng.normal(size=(6, 9))))  # some are as good
    check_grad(grad(f, wrt=("x",), jit=False), rng.normal(size=(6, 9)), W)
    text = grad(f, wrt=("x",), target="cuda").source(np.ones((6, 9)), W)
    assert "atomic" not in text and "status" not in text, text
