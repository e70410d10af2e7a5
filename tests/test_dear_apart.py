"""What is dear to compute is computed apart from what is looked up for it, and from the sums that it goes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(23)


def powers(x, k):
    s = 0.0
    for i in range(len(k)):
        s += x[i] ** 2.5
    return s


def two_sums(x, k):
    s, t = 0.0, 1.0
    for i in range(len(k)):
        e = np.exp(-x[i])
        s += e
        t += e * x[i]
        s -= np.log(x[i])
    return s / t


def by_branches(x, k):
    s = 0.0
    for i in range(len(k)):
        if x[i] > 0.6:
            s += np.log(x[i])
            if k[i] == 1:
                s -= np.sin(x[i])
        else:
            s -= np.exp(x[i])
        s += x[i] / 3
    return s


def seldom(x, k):
    s = -0.0
    for i in range(len(k)):
        if x[i] > 5.0:
            s += np.log(x[i])
    return s


def looked_up(x, k):
    y = np.zeros(len(k))
    for i in range(len(k)):
        y[i] = np.exp(-x[k[i]]) * np.sin(x[i])
    return y


def twice_looked_up(x, k):
    y = np.zeros(len(k))
    for i in range(len(k)):
        y[k[k[i]]] += np.tanh(x[k[k[i]]] + x[i])
    return y


def histogram(x, k):
    y = np.zeros(3)
    for i in range(len(k)):
        b = i % 3
        y[b] += x[i] ** 1.5
    return y


def counted_and_added(x, k):
    y, s = np.zeros(5), 0.0
    for i in range(len(k)):
        t = np.exp(x[k[i]])
        y[k[i]] += t
        y[0] += t * t
        s += np.log(t + x[i])
    return y * s


def only_where_it_may_be(x, k):
    s = 0.0
    for i in range(len(k)):
        s += np.exp(x[k[i] - 1]) if k[i] >= 1 else np.sin(x[i])
    return s


def index_by_branches(x, k):
    y = np.zeros(3)
    for i in range(len(k)):
        b = 0
        if x[i] > 0.5:
            b = 2
        y[b] += np.exp(x[i])
    return y


def matrix(x, k):
    a = np.zeros((3, 2))
    for i in range(len(k)):
        for j in range(2):
            a[k[i] % 3, j] += np.exp(x[i] * j)
    return a


FUNCTIONS = [
    powers, two_sums, by_branches, seldom, looked_up, twice_looked_up, histogram, counted_and_added,
    only_where_it_may_be, index_by_branches, matrix,
]  # fmt: skip
LENGTHS = [0, 1, 7, 255, 256, 257, 600]


def arguments(length: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    return RNG.uniform(0.3, 0.9, max(length, 5)).astype(dtype), RNG.integers(0, min(length, 5) or 1, length)


def cotangent(y: Any) -> Any:
    return RNG.normal(size=np.shape(y)).astype(np.asarray(y).dtype)[()]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("length", LENGTHS)
def test_is_what_it_was_to_the_last_bit(function: Callable[..., Any], length: int) -> None:
    x, k = arguments(length)
    f = grad(function, wrt="x", jit=False)
    y = function(x, k)
    np.testing.assert_array_equal(f(x, k), y)
    v = cotangent(y)
    value, x_b = f.value_and_backward(x, k, v)
    np.testing.assert_array_equal(value, y)
    with order.without("set_aside"):
        expected = grad(function, wrt="x", jit=False).backward(x, k, v)
    assert_close(x_b, expected, 1e-13, "in one loop")
    assert_close(f.backward(x, k, v), expected, 1e-13, "in one loop")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives(function: Callable[..., Any]) -> None:
    check_grad(grad(function, wrt="x", jit=False), *arguments(9))


def test_no_sum_loses_its_sign() -> None:
    x, k = arguments(7)
    assert np.signbit(grad(seldom, jit=False)(x, k)) and np.signbit(grad(seldom)(x, k))


@pytest.mark.parametrize(
    ("function", "dtype", "parallel"),
    [(f, *((np.float64, False) if k % 2 else (np.float32, True))) for k, f in enumerate(FUNCTIONS)],
)
def test_compiled(function: Callable[..., Any], dtype: Any, parallel: bool) -> None:
    x, k = arguments(700, dtype)
    f, plain = grad(function, wrt="x", parallel=parallel), grad(function, wrt="x", jit=False)
    y = function(x, k)
    v = cotangent(y)
    accuracy = 2e-5 if dtype == np.float32 else 1e-12
    value, x_b = f.value_and_backward(x, k, v)
    assert_close(value, y, accuracy, "value")
    assert_close(x_b, plain.backward(x, k, v), accuracy, "x_b")


def into_argument(y, x, k):
    for i in range(len(k)):
        y[k[i]] += np.exp(x[i])
    return np.sum(y)


def into_argument_from_anywhere(y, x, k):
    for i in range(len(k)):
        y[i] += np.exp(x[k[i]])
    return np.sum(y)


def by_what_is_looked_up(y, x, k):
    for i in range(len(k)):
        y[k[i]] += np.exp(x[k[i]])


def with_a_power(y, x, k):
    for i in range(len(k)):
        y[i % 7] += np.exp(x[i]) * 2 ** (390 - k[i])


def by_an_index_that_is_looked_up(y, x, k):
    q = np.empty(2)
    for i in range(2):
        q[i] = x[i]
    for i in range(len(k)):
        y[i] = np.exp(q[1 if x[k[i]] > 0.5 else 0])


def to_one_of_two(y, x, k):
    q = np.zeros(2)
    for i in range(len(k)):
        t = np.exp(x[i])
        y[i] = t
        q[1 if x[k[i]] > 0.5 else 0] += t
    return q


def beside_another(y, x, k):
    z = np.zeros((6, len(k)))
    for i in range(len(k)):
        t = np.exp(x[i])
        y[0] += t
        z[k[i], i] += t
    return z


BEFORE_AN_ERROR = [
    into_argument,
    into_argument_from_anywhere,
    by_what_is_looked_up,
    with_a_power,
    by_an_index_that_is_looked_up,
    to_one_of_two,
    beside_another,
]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", BEFORE_AN_ERROR)
@pytest.mark.parametrize("wrong", [0, 3, 300])
def test_what_is_written_before_an_index_is_out_of_bounds(function: Callable[..., Any], jit: bool, wrong: int) -> None:
    x, k = RNG.uniform(0.3, 0.9, 400), RNG.integers(0, 5, 400)
    k[wrong] = 400
    expected, found = np.zeros(400), np.zeros(400)
    error = ValueError if function is with_a_power else IndexError
    with pytest.raises(error):
        function(expected, x, k)
    with pytest.raises(error):
        grad(function, jit=jit)(found, x, k)
    assert_close(found, expected, 1e-13, "what was written")


def a_power_or_an_index(x, k):
    s = 0.0
    for i in range(len(k)):
        s += np.exp(x[k[i]]) * 2 ** (4 - k[i])
    return s


@pytest.mark.parametrize("wrong", [(5, 400), (400, 5)])
def test_the_first_error_is_the_one(wrong: tuple[int, int]) -> None:
    x, k = RNG.uniform(0.3, 0.9, 9), np.zeros(9, int)
    k[[2, 4]] = wrong
    error = ValueError if wrong[0] == 5 else IndexError
    with pytest.raises(error):
        a_power_or_an_index(x, k)
    with pytest.raises(error):
        grad(a_power_or_an_index, jit=False)(x, k)


def loops_of(text: str) -> list[str]:
    return [part.partition("\n    result")[0] for part in text.split("in range(first, last):")[1:]]


def test_nothing_dear_waits() -> None:
    ahead, dear, behind = loops_of(grad(counted_and_added).source(*arguments(9), kind="primal"))
    assert "x[k" in ahead and "exp(" not in ahead
    assert "exp(" in dear and "log(" in dear and "k[" not in dear
    assert "s +=" in behind and behind.count("y[") == 2 and "exp(" not in behind


def test_what_one_branch_reads_is_not_read_for_the_other() -> None:
    text = grad(only_where_it_may_be).source(*arguments(9), kind="primal")
    assert "range(first, last)" not in text


def test_the_c_library_is_quicker_one_by_one() -> None:
    def few(x):
        s = 0.0
        for i in range(8):
            s += np.log(x[i]) + np.exp(x[i])
        return s

    text = grad(few).source(np.ones(8), kind="primal")
    assert "np.log(" in text and "+ exp(" in text
