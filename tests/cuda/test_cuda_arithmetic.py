"""Arithmetic that a device's own instructions would do otherwise than NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcgrad import UnsupportedError, grad

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.1, -0.1, 3.0, -3.0, -1e-17, 1e-40]


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    x, y = (random.normal(size=300) * 10.0 ** random.integers(*ends, 300) for ends in ((-8, 18), (-8, 8)))
    whole, part = np.array([1.0, 0.6, 7e17, 12345.678, 5e15 + 0.5]), np.array([0.1, 0.2, 3.0, 0.1, 0.7])
    all_x, all_y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    return np.concatenate((all_x, whole, -whole, x)).astype(dtype), np.concatenate((all_y, part, part, y)).astype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_remainders_of_floats_are_exact(dtype: Any) -> None:
    (x, y), eps = pairs(dtype), 2 * np.finfo(dtype).eps
    remainder, quotient = grad(lambda x, y: x % y, target="cuda"), grad(lambda x, y: x // y, target="cuda")
    got, want = remainder(x, y), x % y
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got) | np.isnan(want), np.signbit(want) | np.isnan(want))
    np.testing.assert_allclose(quotient(x, y), x // y, eps)
    usual = np.isfinite(x) & np.isfinite(y) & (y != 0.0)
    x, y = x[usual], y[usual]
    np.testing.assert_allclose(remainder.backward(x, y, np.ones(x.size, dtype))[1], -(x // y), eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pythons_choice_keeps_a_nan_that_comes_first(dtype: Any) -> None:
    def choices(x, y):
        greater, less, three = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        for i in range(len(x)):
            greater[i], less[i] = max(x[i], y[i]), min(x[i], y[i])
            three[i] = max(y[i], 0.5, x[i])
        return greater, less, three

    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(SPECIAL, SPECIAL))
    for got, want in zip(grad(choices, target="cuda")(x, y), choices(x, y), strict=True):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got) | np.isnan(want), np.signbit(want) | np.isnan(want))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_numbers_beside_nan(dtype: Any) -> None:
    def numbers(x, y):
        greater, less = np.empty_like(x), np.empty_like(x)
        for i in range(len(x)):
            greater[i], less[i] = np.fmax(x[i], y[i]), np.fmin(x[i], y[i])
        return greater, less

    with np.errstate(invalid="ignore"):
        x, y = (a.ravel().astype(dtype) for a in np.meshgrid(np.abs(SPECIAL), np.abs(SPECIAL)))
    for got, want in zip(grad(numbers, target="cuda")(x, y), numbers(x, y), strict=True):
        np.testing.assert_array_equal(got, want)


def test_remainders_of_integers() -> None:
    k, m = np.arange(-7, 8), np.array([3, -3, 5] * 5)
    np.testing.assert_array_equal(grad(lambda k, m, x: k % m * x, target="cuda")(k, m, np.ones(15)), k % m)
    np.testing.assert_array_equal(grad(lambda k, m, x: k // m * x, target="cuda")(k, m, np.ones(15)), k // m)


def test_shifts() -> None:
    """By what is not a number of bits, too: of k nothing is left then, but its sign."""
    k, n, x = np.array([3, -5, 7, -9, 1, -1]), np.array([0, 2, 62, 64, 70, 100]), np.ones(6)
    for f in (lambda k, n, x: (k << n) * x, lambda k, n, x: (k >> n) * x):
        np.testing.assert_array_equal(grad(f, target="cuda")(k, n, x), f(k, n, x))


def of_rows(k):
    """A row's sum, and what is greatest when that has been taken from it: all threads of the row know both."""
    out = np.zeros(k.shape[0], k.dtype)
    for i in range(k.shape[0]):
        s = k[i, 0]
        for j in range(k.shape[1]):
            s += k[i, j]
        m = k[i, 0]
        for j in range(k.shape[1]):
            m = max(m, k[i, j] - s)
        out[i] = m
    return out


def of_rows_and_more(k, x):
    return of_rows(k), np.sum(x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.uint64, np.uint32, np.uint8, np.int8])
def test_sums_of_integers_that_shuffles_do_not_know(dtype: Any) -> None:
    k = (np.arange(120) % 97).astype(dtype).reshape(3, 40)
    k[0, 0] = np.iinfo(dtype).max // 2 + 5  # more than the signed integers of that size
    for f in (lambda k, x: (np.sum(k), np.sum(x)), lambda k, x: (np.sum(k, axis=1), np.sum(x)), of_rows_and_more):
        got, want = grad(f, target="cuda")(k, np.ones(3))[0], grad(f, jit=False)(k, np.ones(3))[0]
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_powers_of_integers_are_products_or_refused(dtype: Any) -> None:
    k, x = np.array([3, 2, 200], dtype), np.array([0.5, 1.0, 2.0])
    f = grad(lambda k, x: x * (k**0 + k**5) * k**16, target="cuda")
    np.testing.assert_allclose(f(k, x), f.py_func(k, x), rtol=1e-15)
    for g in (lambda k, x: x * 2**k, lambda k, x: x * k**k, lambda k, x: x * k**17):
        with pytest.raises(UnsupportedError, match="a power of integers does not run on a GPU"):
            grad(g, target="cuda").backward(k, x, x)


# ---------------------------------------------------------------------------------------- the sine beside the cosine


def both(x):
    return np.sin(x) * np.exp(np.cos(x))


def both_in_a_sum(x):
    return np.sum(np.sin(x) * np.cos(x * 0.5) + np.cos(x))


def of_one_that_changes(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        t = x[i]
        s = np.sin(t)
        t = t + 1.0
        y[i] = s * np.cos(t) * np.cos(x[i]) + np.sin(t)
    return y


def until_the_cosine_turns(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        t = x[i]
        y[i] = np.sin(t)
        k = 0
        while np.cos(t) > -0.5 and k < 9:
            y[i] += np.sin(t) * 0.25
            t += 0.7
            k += 1
        y[i] += np.cos(t)
    return y


def beyond_the_end(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        y[i] = np.sin(x[i]) + (np.sin(x[i + 1]) * np.cos(x[i + 1]) if i + 1 < x.size else 0.0)
    return y


def one_in_the_other(x):
    return np.sin(np.cos(x)) + np.cos(np.cos(x)) + np.sin(x)


TOGETHER = {
    both: 1,
    both_in_a_sum: 1,
    of_one_that_changes: 1,
    until_the_cosine_turns: 0,
    beyond_the_end: 1,
    one_in_the_other: 2,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", TOGETHER, ids=lambda f: f.__name__)
def test_sine_and_cosine_of_one_number(f: Any, dtype: Any) -> None:
    x = np.linspace(-4.0, 4.0, 35).astype(dtype)
    plain, on_gpu = grad(f, jit=False), grad(f, target="cuda")
    y = np.asarray(plain(x))
    v = np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype)
    rtol = 1e-12 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(on_gpu(x), y, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(on_gpu.backward(x, v), plain.backward(x, v), rtol=rtol, atol=10 * rtol)
    name = "sincos(" if dtype == np.float64 else "sincosf("
    assert on_gpu.source(x, kind="primal").count(name) == TOGETHER[f], on_gpu.source(x, kind="primal")
