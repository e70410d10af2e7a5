"""Searches for the best that look closely only at strips which have something better: as one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.both_sweeps import Memory
from srcgrad.emit.brief import STEPS, longest_brief
from srcgrad.ir.types import ArrayType
from srcgrad.options import Options
from srcgrad.passes import order
from srcgrad.pipeline import transformed
from srcgrad.testing import check_grad

RNG = np.random.default_rng(5)
NAN, INF = np.nan, np.inf


def greatest_of_numpy(x):
    return x[np.argmax(x)] * x[np.argmin(x)]


def nearest(x):
    best, at = np.inf, 0
    for i in range(len(x)):
        d = (x[i] - 0.3) ** 2
        if d < best:
            best = d
            at = i
    return x[at] * best


def last_of_the_least(x):
    best = x[0]
    at = 0
    for i in range(1, len(x)):
        if x[i] <= best:
            best, at = x[i], i
    return best * (at + 1)


def how_often_it_grew(x):
    """All that an improvement does is done for each of them."""
    best, count, steps = -1.0, 0, np.zeros(3)
    for i in range(len(x)):
        if abs(x[i]) > best:
            best = abs(x[i])
            count += 1
            steps[count % 3] += x[i]
    return steps * best


def of_each_row(x):
    y = np.empty(3)
    for k in range(3):
        best = x[k]
        for i in range(len(x) - k):
            if x[i + k] * 2.0 - x[k] > best:
                best = x[i + k] * 2.0 - x[k]
        y[k] = best
    return y


SEARCHES = [greatest_of_numpy, nearest, last_of_the_least, how_often_it_grew, of_each_row]


def data() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    found = [rng.normal(size=n) for n in (3, 639, 640, 770, 1300)]
    x = rng.normal(size=1500)
    found += [np.sort(x), np.sort(x)[::-1].copy(), np.ones(1500), np.where(x > 1, INF, x), np.where(x < -1, -INF, x)]
    for places in ([0], [1400], [200, 700], range(1500)):  # in the first strip, behind them all, in two, in each
        found.append(x.copy())
        found[-1][list(places)] = NAN
    found.append(np.where(x > 0, 0.0, -0.0))
    return [*found, np.round(x, 1)]


@pytest.mark.parametrize("function", SEARCHES, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_one_after_the_other(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    with order.without("searches_in_strips"):
        one_by_one = grad(function, jit=False)
        wanted = [one_by_one.value_and_backward(x, np.ones(np.shape(function(x)))) for x in data()]
    assert ", end, 128)" in f.source(np.ones(3), kind="primal")
    for x, (value, x_b) in zip(data(), wanted, strict=True):
        for dtype in (np.float64, np.float32):
            np.testing.assert_array_equal(f(x.astype(dtype)), function(x.astype(dtype)))
        np.testing.assert_array_equal(function(x), value)
        np.testing.assert_array_equal(f.backward(x, np.ones(np.shape(value))), x_b)


@pytest.mark.parametrize("function", SEARCHES, ids=lambda f: f.__name__)
def test_gradient(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), RNG.normal(size=1100))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_compiled() -> None:
    def all_of_them(x):
        return greatest_of_numpy(x) + nearest(x) + last_of_the_least(x) + how_often_it_grew(x) + of_each_row(x)

    f, plain = grad(all_of_them), grad(all_of_them, jit=False)
    for x in data():
        for got, want in zip(f.value_and_backward(x, np.ones(3)), plain.value_and_backward(x, np.ones(3)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def written_on_the_way(x):
    """An improvement changes what is looked at later."""
    y = x.copy()
    best = y[0]
    for i in range(len(y) - 600):
        if y[i] > best:
            best = y[i]
            y[i + 600] = 2.0 * best
    return best


def of_every_second(x):
    best = x[0, 0]
    for i in range(x.shape[0]):
        if x[i, 1] > best:
            best = x[i, 1]
    return best


def an_exponential(x):
    """Which vector registers may round otherwise."""
    best = 0.0
    for i in range(len(x)):
        if np.exp(x[i]) > best:
            best = np.exp(x[i])
    return best


def added_up_in_each(x):
    best, total = x[0], 0.0
    for i in range(len(x)):
        total += x[i] * best
        if x[i] > best:
            best = x[i]
    return best * total


def looked_up_in_each(x):
    """An index may fail where nothing is better."""
    best, looked_up = x[0], 0.0
    for i in range(len(x)):
        d = x[int(x[i] * 100.0)]
        if x[i] > best:
            best = x[i]
            looked_up = d
    return best * looked_up


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (written_on_the_way, (2000,)),
        (of_every_second, (2000, 2)),
        (an_exponential, (2000,)),
        (added_up_in_each, (2000,)),
        (looked_up_in_each, (2000,)),
    ],
    ids=lambda what: getattr(what, "__name__", ""),
)
def test_left_as_they_are(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, shape)
    f = grad(function, jit=False)
    assert ", end, 128)" not in f.source(x, kind="primal")
    assert f(x) == function(x)
    check_grad(f, x[:700])


def test_strips_are_left_out_where_the_last_one_counts_too() -> None:
    x = np.concatenate([[5.0], RNG.normal(size=1279)])
    x[700], x[1100] = -9.0, -9.0
    text = grad(last_of_the_least, jit=False).source(x, kind="primal")
    assert "top = x[first]" in text
    assert grad(last_of_the_least)(x) == -9.0 * 1101


def test_small_calls_keep_the_lock() -> None:
    program = transformed(last_of_the_least, "primal", (ArrayType(np.dtype(float), 1, "C"),), None, Options(), Memory())
    assert longest_brief(program[1]) == STEPS


def test_whole_numbers() -> None:
    def search(k, x):
        return x[np.argmax(k)] + k.max()

    k = RNG.integers(-50, 50, 3000)
    f = grad(search, jit=False)
    assert ", end, 128)" in f.source(k, np.ones(3000), kind="primal")
    x = RNG.normal(size=3000)
    assert f(k, x) == search(k, x)
    assert f.backward(k, x)[np.argmax(k)] == 1.0
