"""np.vectorize: functions of numbers that are called for each element, with several results and by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, 2.0, 3.0])


def both(v, w):
    return v * w, v / w


@np.vectorize
def decorated(v, scale=1.0):
    return v**2 if v > 1.0 else scale * v


def two_results(x, w):
    product, ratio = np.vectorize(both)(x, w)
    return product + 2.0 * ratio


def one_of_two(x, w):
    return np.vectorize(both)(x, w)[1]


def two_of_a_matrix(x, w):
    a, b = np.vectorize(both)(x[:, None], w)
    return np.sum(a, axis=1) * b[:, 0]


def two_of_numbers(x, w):
    a, b = np.vectorize(both)(x[0], w[1])
    return a + 3.0 * b


def by_name(x, w):
    f = np.vectorize(lambda v, w=1.0, s=2.0: v * w**2 * s)
    return f(x, w=w) + f(x, s=3.0) + f(w=x, v=w)


def by_name_of_a_global(x, w):
    return decorated(x, scale=w) + decorated(x)


def of_one_type_on_both_paths(x, w):
    return np.vectorize(lambda v, w: 0.0 if v < 1.0 else v * w)(x, w)


class Line:
    def __init__(self, weights, slope):
        self.weights = weights
        self.slope = slope

    def __call__(self, v):
        return self.slope * np.sin(v) + self.weights[0] * v if v > 1.0 else v


def an_object(x, w):
    line = Line(w, 2.0)
    f = np.vectorize(line)
    line.slope = 3.0
    return f(x * w)


FUNCTIONS = [
    an_object, two_results, one_of_two, two_of_a_matrix, two_of_numbers, by_name, by_name_of_a_global,
    of_one_type_on_both_paths,
]  # fmt: skip


@pytest.mark.parametrize(("function", "jit"), [*((f, False) for f in FUNCTIONS), *((f, True) for f in FUNCTIONS[::2])])
def test_vectorized(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    for x, w in (X, X[::-1] + 0.3), (X[1:], X[1:] * 2.0):
        check_value_and_grad(f, x, w, rtol=1e-13, at_once=jit)


@pytest.mark.parametrize("function", FUNCTIONS[:-1], ids=lambda function: function.__name__)
def test_of_float32(function: Callable[..., Any]) -> None:
    f, x, w = grad(function, jit=False), X.astype(np.float32), X[::-1].astype(np.float32)
    made, expected = f(x, w), function(x, w)
    assert np.allclose(made, expected, rtol=1e-6)
    assert np.asarray(made).dtype == np.asarray(expected).dtype
    check_grad(f, x, w)


def cut_by_the_first(x):
    return np.vectorize(lambda v: 0 if v < 1.0 else v * 2.5)(x)


def one_of_two_cut_by_the_first(x):
    return np.vectorize(lambda v: (v, 0 if v < 1.0 else v * 2.5))(x)[0]


@pytest.mark.parametrize("function", [cut_by_the_first, one_of_two_cut_by_the_first])
def test_the_first_result_decides_on_the_type(function: Callable[..., Any]) -> None:
    """NumPy makes [0, 5, 7] of it."""
    with pytest.raises(UnsupportedError, match="makes all results of the type of the first, which may be int"):
        grad(function)(X)
    with pytest.raises(UnsupportedError, match="of the type of the first, which may be np.float32"):
        grad(of_one_type_on_both_paths)(X.astype(np.float32), X.astype(np.float32))


def test_nothing_to_call_it_for() -> None:
    for function in two_results, of_one_type_on_both_paths:
        for f in function, grad(function, jit=False):
            with pytest.raises(ValueError, match="size 0 inputs"):
                f(X[:0], X[:0])


SMALL, THIRD = np.array([100, 2, -7], np.int8), np.float32(1 / 3)


def of_small_integers(x):
    return np.vectorize(lambda v, k: (k * k) * v)(x, SMALL)


def of_small_integers_by_name(x):
    return np.vectorize(lambda v, k: (k + 100) * v)(x, k=SMALL) * np.vectorize(lambda k: k + 20)(k=SMALL)


def beside_a_float32(x):
    return np.vectorize(lambda v: v * THIRD)(x) + np.vectorize(lambda v: 0.1 * v + 0.2)(x.astype(np.float32))


def with_a_number_of_numpys(x, k):
    return np.vectorize(lambda v, one: v * (one * one))(x, k[0])


def with_a_list_of_them(x, k):
    return np.vectorize(lambda v, one: v * (one * one))(x, one=[np.int8(100), np.int8(2), np.int8(7)])


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("function", [with_a_number_of_numpys, with_a_list_of_them])
def test_numpys_numbers_that_are_no_array_stay_what_they_are(function: Callable[..., Any]) -> None:
    x, k = np.array([0.5, 1.5, 2.0]), np.array([100, 2, 3], np.int8)
    np.testing.assert_array_equal(grad(function, jit=False)(x, k), function(x, k))


@pytest.mark.filterwarnings("ignore:overflow")  # of NumPy, asking for the type of the first
@pytest.mark.parametrize("function", [of_small_integers, of_small_integers_by_name, beside_a_float32])
def test_it_computes_with_pythons_numbers(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    made, expected = f(X), function(X)
    assert np.allclose(made, expected, rtol=1e-14) and made.dtype == expected.dtype
    check_grad(f, X, rtol=1e-2 if function is beside_a_float32 else None)


def beyond_a_small_integer(x):
    return np.vectorize(lambda k: k + 100)(SMALL) * x


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_result_that_its_type_does_not_hold() -> None:
    for f in beyond_a_small_integer, grad(beyond_a_small_integer, jit=False):
        with pytest.raises(OverflowError, match="out of bounds for int8"):
            f(X)


class Accumulator:
    def __init__(self):
        self.sum = 0.0

    def __call__(self, v):
        self.sum += v
        return self.sum * v


def by_what_it_has_seen(x):
    return np.vectorize(Accumulator())(x)


def by_what_is_around(x):
    seen = 0.0

    def f(v):
        nonlocal seen
        seen += v
        return v * seen

    return np.vectorize(f)(x)


@pytest.mark.parametrize("function", [by_what_it_has_seen, by_what_is_around])
def test_a_function_that_changes_what_it_finds(function: Callable[..., Any]) -> None:
    """NumPy calls it once more for the first element."""
    with pytest.raises(UnsupportedError, match="calls its function twice for the first element"):
        grad(function, jit=False)(X)
