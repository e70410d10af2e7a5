"""The greatest, the least, any and all: a number of each thread's, then of each block's, then of all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.runtime import device

GRID = device.THREADS * device.MOST_RESIDENT
LENGTHS = (1, device.THREADS - 1, GRID, 3 * GRID + 5)


def greatest(x):
    return np.max(x * 2.0) * np.sum(x)


def least_of_squares(x):
    return np.min(x * x) + np.max(x)


def any_above(x):
    return np.sum(x) * 2.0 if np.any(x > 0.9) else np.sum(x) * 3.0


def all_above(x):
    return np.sum(x) * 2.0 if np.all(x > -0.9) else np.sum(x) * 3.0


def found_in_a_loop(x):
    found = False
    for i in range(len(x) - 1, -1, -1):
        found = found or x[i] > 0.9
    return x * 2.0 if found else x * 3.0


def halved_until_small(x):
    y, steps = x * 1.0, 0
    while np.max(np.abs(y)) > 0.1:
        y = y * 0.5
        steps += 1
    return y * steps


@pytest.mark.parametrize("f", [greatest, least_of_squares, any_above, all_above, found_in_a_loop, halved_until_small])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_of_any_length(f: Callable[..., Any], n: int, dtype: type) -> None:
    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    assert any(f"'{op}'))" in g.source(np.ones(3, dtype), kind="primal") for op in ("maximum", "or", "and"))
    for seed in range(2):
        x = np.random.default_rng(seed).uniform(-1.0, 1.0, n).astype(dtype)
        y = plain(x.astype(np.float64)).astype(dtype)  # jit=False adds up one after the other
        v = np.ones_like(y) if np.ndim(y) else 1.0
        tolerance = 1e-12 if dtype is np.float64 else 2e-5
        np.testing.assert_allclose(g(x), y, rtol=tolerance, atol=tolerance)
        want = plain.backward(x.astype(np.float64), v)
        np.testing.assert_allclose(g.backward(x, v), want, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(g.vjp(x)[1](v), want, rtol=tolerance, atol=tolerance)


def scaled(x):
    return (x - x.min()) / (x.max() - x.min())


def scaled_matrix(x):
    return (x - np.min(x)) / (np.max(x) - np.min(x)) * np.any(x > 0.5)


@pytest.mark.parametrize(("f", "shape"), [(scaled, (2 * GRID + 3,)), (scaled, (2,)), (scaled_matrix, (GRID // 8, 9))])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_greatest_and_the_least_by_one_kernel(f: Callable[..., Any], shape: Any, dtype: type) -> None:
    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    x = np.random.default_rng(0).integers(-40, 40, shape).astype(dtype) + np.arange(shape[-1], dtype=dtype) % 2
    v = np.random.default_rng(1).normal(size=shape).astype(dtype)
    kernels = re.findall(r"^@kernel\((.*)\)$", g.source(x, kind="primal"), re.MULTILINE)
    assert sum("'minimum'" in kernel and "'maximum'" in kernel for kernel in kernels) == 1
    tolerance = 1e-12 if dtype is np.float64 else 2e-5
    np.testing.assert_allclose(g(x), plain(x), rtol=tolerance)
    want = plain.backward(x.astype(np.float64), v.astype(np.float64))
    np.testing.assert_allclose(g.backward(x, v), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("place", [0, 1, device.THREADS + 1, GRID + 2, 2 * GRID - 1])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_that_is_unlike_the_others(place: int, value: float) -> None:
    x = np.linspace(-1.0, 1.0, 2 * GRID)
    x[place] = value
    f = grad(lambda x, w: (np.max(x) * w, np.min(x) * w), target="cuda")
    np.testing.assert_array_equal(f(x, np.ones(1)), [[np.max(x)], [np.min(x)]])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, np.bool_])
def test_of_integers(dtype: type) -> None:
    f = grad(lambda k, w: w * np.max(k) + 1000.0 * w * np.min(k), wrt="w", target="cuda")
    for seed in range(3):
        k = np.random.default_rng(seed).integers(1 if dtype is np.bool_ else 3, 120, 2 * GRID + 1).astype(dtype)
        w = np.linspace(1.0, 2.0, 3)
        np.testing.assert_allclose(f(k, w), w * float(np.max(k)) + 1000.0 * w * float(np.min(k)))


def test_of_a_matrix() -> None:
    f, plain = (grad(lambda a: np.max(a * a) * a, **options) for options in ({"target": "cuda"}, {"jit": False}))
    assert "'maximum'))\ndef" in f.source(np.ones((2, 2)), kind="primal")
    for shape in ((1, 1), (5, 3), (3, 2 * GRID), (GRID + 1, 2)):
        a = np.random.default_rng(1).normal(size=shape)
        np.testing.assert_allclose(f(a), plain(a))
        np.testing.assert_allclose(f.backward(a, a), plain.backward(a, a))


def test_of_nothing() -> None:
    empty = np.zeros(0)
    f = grad(lambda x, w: w * 2.0 if np.any(x > 0.0) else w * 3.0, wrt="w", target="cuda")
    np.testing.assert_array_equal(f(empty, np.ones(2)), [3.0, 3.0])
    f = grad(lambda x, w: w * 2.0 if np.all(x > 0.0) else w * 3.0, wrt="w", target="cuda")
    np.testing.assert_array_equal(f(empty, np.ones(2)), [2.0, 2.0])
    with pytest.raises(ValueError, match="zero-size array"):
        grad(lambda x, w: np.max(x) * w, wrt="w", target="cuda")(empty, np.ones(2))


def test_a_few_numbers_of_each_step_are_for_one_thread() -> None:
    """The host would launch two kernels for every step."""

    def f(x):
        total = 0.0
        for t in range(x.shape[0]):
            top = x[t, 0]
            for j in range(x.shape[1]):
                top = np.maximum(top, x[t, j])
            total = 0.5 * total + np.sin(top) * total
        return x * total

    text = grad(f, target="cuda").source(np.ones((3, 2)), kind="primal")
    assert "by_one(" in text and "'maximum')" not in text


# ------------------------------------------------------------------------------------------------------ which it was


def at_the_greatest(x, w):
    k = np.argmax(x)
    return x[k] * w[k] + np.sum(x)


def at_the_least_of_a_matrix(x, w):
    k = np.argmin(x * w)
    return x.ravel()[k] * np.sum(w) + w.ravel()[0] * k


def nearest(x, w):
    """A loop of the user's, which passes over nan."""
    best, at = 4.0, -1
    for i in range(1, len(x)):
        if (x[i] - w[0]) ** 2 < best:
            best = (x[i] - w[0]) ** 2
            at = i
    return best * x[at] if at >= 0 else w[0] * 2.0


def best_in_each_round(x, w):
    total, at = 0.0, 0
    for k in range(3):
        best = -np.inf
        for i in range(len(x)):
            if x[i] * w[i] - k * x[i] > best:
                at = i
                best = x[i] * w[i] - k * x[i]
        total += best * w[at] + np.sum(x * k)
    return total


SEARCHES = (at_the_greatest, at_the_least_of_a_matrix, nearest, best_in_each_round)
NAN, INF = np.nan, np.inf
ORDINARY = [
    [0.3, 0.9, -0.2, 0.9, 0.1],
    [0.0, -0.0, 0.0],
    [-0.0, 0.0, -1.0],
    [INF, 1.0, INF],
    [-INF, -INF],
    [2.0],
    [5.0, 5.0, 5.0, 5.0],
]


@pytest.mark.parametrize("f", SEARCHES, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_searches(f: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    with_nan = [[0.3, NAN, 0.9], [NAN, 1.0], [1.0, NAN, NAN, 2.0]]
    long = [rng.integers(0, 9, size).astype(float) for size in (device.THREADS + 3, GRID + 7)]
    on_gpu, plain = (grad(f, wrt=("x", "w"), **how) for how in ({"target": "cuda"}, {"jit": False}))
    for values in (*ORDINARY, *with_nan, *long):
        x = np.array(values)
        w = rng.uniform(0.5, 1.5, x.shape)
        if f is at_the_least_of_a_matrix:
            x, w = (np.stack([a, a[::-1]]) for a in (x, w))
        value, cotangents = on_gpu.value_and_backward(x, w)
        expected, wanted = plain.value_and_backward(x, w)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        for got, want in zip(cotangents, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", SEARCHES, ids=lambda f: f.__name__)
def test_all_threads_search(f: Callable[..., Any]) -> None:
    x = np.ones((2, 3)) if f is at_the_least_of_a_matrix else np.ones(3)
    text = grad(f, wrt="x", target="cuda").source(x, x, kind="primal")
    assert text.count("'maximum')") + text.count("'minimum')") >= 2, text


def numbers_of_a_branch(x, s):
    t = np.abs(s) * s
    if t > 2.0:
        c = t * np.sin(t)
        t = t + np.tanh(t * c)
    if s < 5.0:
        t = t * np.max(x)
    return t * np.sum(x)


def array_of_a_branch(x, a, s):
    t = np.abs(s) * s
    if t > 2.0:
        u = np.zeros(len(a))
        for i in range(len(a)):
            if np.abs(u[-1 - i]) > t:
                t += np.tanh(t * a[i])
            u[i] = t
    if s < 5.0:
        t = t * np.max(x)
    return t * np.sum(x)


@pytest.mark.parametrize("s", [1.0, 1.7, 5.5])
@pytest.mark.parametrize("function", [numbers_of_a_branch, array_of_a_branch])
def test_what_a_branch_alone_has_is_not_handed_over_elsewhere(function: Any, s: float) -> None:
    """The cotangent of t comes from the device, so one thread goes back through the first branch."""
    x = np.array([0.5, 2.0, 1.0])
    args = (x, x + 0.25, s) if function is array_of_a_branch else (x, s)
    f, plain = grad(function, target="cuda"), grad(function, jit=False)
    np.testing.assert_allclose(f(*args), function(*args), rtol=1e-12)
    for got, want in zip(f.backward(*args), plain.backward(*args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def farthest(x, y):
    best = 0.0
    for i in range(len(x)):
        gap = x[i] - 2.0
        best = max(best, gap * gap)
    return best * y


def nearest_in_rows(x, y):
    best = 9.0
    for i in range(len(x)):
        for j in range(len(y)):
            gap = x[i] - y[j]
            best = min(best, gap * gap)
    return best * y


@pytest.mark.parametrize("f", [farthest, nearest_in_rows])
def test_pythons_own_of_what_an_iteration_makes(f: Callable[..., Any]) -> None:
    """A nan is neither greater nor less, so it is passed over, wherever it is."""
    g = grad(f, target="cuda")
    assert ", 'm" in g.source(np.ones(3), np.ones(3), kind="primal")
    y = np.array([0.3, -0.2])
    for n in (0, 1, 300, 1025):
        x = np.random.default_rng(n).normal(size=n)
        for at in {0, n // 2, n - 1} if n > 1 else ():
            np.testing.assert_array_equal(g(x, y), f(x, y))
            x[at] = np.nan
        np.testing.assert_array_equal(g(x, y), f(x, y))


def test_the_other_way_round_a_nan_stays_until_the_next() -> None:
    def last_first(x, y):
        best = 0.0
        for i in range(len(x)):
            best = max(x[i], best)
        return best * y

    x = np.random.default_rng(0).normal(size=40)
    x[7], x[39] = np.nan, np.nan
    np.testing.assert_array_equal(grad(last_first, target="cuda")(x, np.ones(2)), np.full(2, np.nan))
    x[39] = 0.1
    np.testing.assert_array_equal(grad(last_first, target="cuda")(x, np.ones(2)), last_first(x, np.ones(2)))


def test_what_is_made_of_a_number_that_was_fetched_stays_with_the_host() -> None:
    """One number is waited for, whether an index is negative and how long the result is."""

    def binned(k, x):
        return np.bincount(k, weights=x * x, minlength=4)

    g, k, x = grad(binned, target="cuda"), np.array([0, 5, 5, 1]), np.array([0.5, 2.0, 1.0, 3.0])
    for kind in ("primal", "backward"):
        assert g.source(k, x, kind=kind).count("fetch(") == 1, kind
    np.testing.assert_array_equal(g(k, x), binned(k, x))
    v = np.arange(1.0, 7.0)
    np.testing.assert_array_equal(g.backward(k, x, v), 2.0 * x * v[k])
    for wrong in (np.array([0, -1, 2, 1]), np.full(4, -(2**63))):
        with pytest.raises(ValueError, match="must have no negative elements"):
            g(wrong, x)


def decided_in_a_loop(x, k):
    """What was fetched ahead of a loop, and in it, and is changed on the device since."""
    count = np.max(k)
    total = 0
    for step in range(3):
        if count > 2:
            total = total + count * 10
        y = x * (step + 1.0)
        if np.max(y) > 1.5:
            count = count - np.max(k) + step
            if count < 2:
                total += count
        x = y + total
    return x * count


@pytest.mark.parametrize("top", [1, 3, 4])
def test_numbers_that_change_are_fetched_anew(top: int) -> None:
    x, k = np.array([0.4, 0.2, -0.7]), np.array([0, top, 1])
    np.testing.assert_allclose(grad(decided_in_a_loop, target="cuda")(x, k), decided_in_a_loop(x, k), rtol=1e-14)
