"""Python's max and min return one of their arguments: an array without axes is itself, and may be written later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, 1.5, 2.5])


def read_again(x):
    y = x[0, ...]
    m = max(y, 0.1)
    return m * x + m**2 + np.array([m, 2.0 * m, 1.0])


def of_numbers_made_of_it(x):
    y = x[0, ...]
    m = max(y * 2, abs(y), 0.1)
    y += 1
    return m * x[1] + y


def given_back(x):
    y = x[0, ...]
    return max(y, 0.1), min(0.9, y) * 2


def round_a_loop(x):
    y = np.asarray(1.0)
    for _ in range(5):
        y = y - (y * y - x[1]) / (2 * y)
        y = max(y, 0.2)
    return y * x[0]


def greatest_so_far(x):
    y = np.asarray(x[0])
    for v in x:
        y = max(y, v)
    return y * x[0]


def clamped(v):
    return max(min(v, 1.0), 0.0)


def by_a_function(x):
    y = x[0, ...]
    return clamped(y) * x


@pytest.mark.parametrize("x", [X, X - 1.0, X.astype(np.float32)])
@pytest.mark.parametrize(
    "function", [read_again, of_numbers_made_of_it, given_back, round_a_loop, greatest_so_far, by_a_function]
)
def test_what_is_not_written_is_a_number(function: Any, x: np.ndarray) -> None:
    f = grad(function, jit=False)
    for got, expected in zip(np.atleast_1d(f(x.copy())), np.atleast_1d(function(x.copy())), strict=True):
        assert np.allclose(got, expected)
    check_grad(f, np.abs(x) + 0.01 if function is round_a_loop else x)


def by_itself(x):
    y = x[0, ...]
    m = max(y, 0.1)
    y += 1
    return m * x[1]


def as_a_whole(x):
    y = x[0, ...]
    m = min(0.9, y)
    y[...] = 3.0
    return m * x[1]


def by_what_it_is_part_of(x):
    x = x.copy()
    m = max(0.1, x[0, ...])
    x[0] = 2 * x[1]
    return m * x[1]


def by_the_other_name(x):
    x = x.copy()
    m = max(0.1, x[0, ...])
    m += 1
    return x[0] * x[1]


def in_a_tuple(x):
    t = max(x[0, ...], 0.1), x[1]
    x[0] = 5.0
    return t[0] * t[1]


def in_a_function(x):
    y = x[0, ...]
    m = clamped(y)
    y *= 2
    return m + y


def of_a_list(x):
    y = x[0, ...]
    m = max([y, 0.1, x[1]])
    y += 1
    return m * x[1]


@pytest.mark.parametrize(
    "function",
    [by_itself, as_a_whole, by_what_it_is_part_of, by_the_other_name, in_a_tuple, in_a_function, of_a_list],
)
def test_what_is_written_later_may_be_it(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="may or may not be the array that was written under another name"):
        grad(function, jit=False)(X.copy())


def of_one_element(x):
    return max(x[:1], 0.1) * x[1]


def test_an_array_of_one_element_is_no_number() -> None:
    with pytest.raises(UnsupportedError, match="is the one or the other"):
        grad(of_one_element, jit=False)(X)
