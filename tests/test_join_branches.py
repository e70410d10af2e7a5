"""The forward and the reverse part of an iteration branch once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(29)


def one_or_the_other(x, k):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.6:
            s += np.log(x[i])
        else:
            s -= np.exp(x[i]) * x[i]
    return s


def one_alone(x, k):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0.6:
            y[i] = np.sin(x[i]) ** 2
    return y


def one_in_the_other(x, k):
    y = np.ones(len(x))
    for i in range(len(x)):
        if x[i] > 0.4:
            t = np.exp(x[i])
            if k[i] > 0:
                t = np.tanh(t)
            y[i] = t * t
        elif k[i] == 0:
            y[i] = x[i]
    return y


def by_what_changes(x, k):
    y = np.zeros(len(x))
    for i in range(len(x)):
        t = x[i] * 2
        if t > 1.0:
            t = np.log(t)
        if t > 1.0:
            t = t * t
        y[i] = t * x[i]
    return y


def by_an_element_that_changes(x, k):
    y = x.copy()
    for i in range(len(x)):
        if y[i] > 0.6:
            y[i] = y[i] * y[i]
        if y[i] > 0.6:
            y[i] = np.sin(y[i])
    return y


def with_something_between(x, k):
    y, s = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        t = 1.0
        if k[i] > 0:
            t = np.exp(x[i])
        s += t
        y[i] = s_of(t)
        if k[i] > 0:
            y[i] *= x[i]
    return y * s


def s_of(t):
    return t / (1 + t)


def neighbours(x, k):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        if k[i] > 0:
            y[i] = np.exp(x[i] * x[i - 1])
    return y


def columns(x, k):
    y = np.zeros((len(x), 3))
    for i in range(len(x)):
        for j in range(3):
            if x[i] > 0.3 * j:
                y[i, j] = np.sqrt(x[i]) * j
            else:
                y[i, j] = x[i] ** 3
    return y


FUNCTIONS = [
    one_or_the_other, one_alone, one_in_the_other, by_what_changes, by_an_element_that_changes, with_something_between,
    neighbours, columns,
]  # fmt: skip


def arguments(length: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    return RNG.uniform(0.3, 0.9, length).astype(dtype), RNG.integers(0, 3, length)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("length", [0, 1, 8, 40])
def test_is_what_it_was(function: Callable[..., Any], length: int) -> None:
    x, k = arguments(length)
    f = grad(function, wrt="x", jit=False)
    if length > 1:
        check_grad(f, x, k)
    v = np.asarray(RNG.normal(size=np.shape(function(x, k))))[()]
    with order.without("join_branches"):
        value, expected = grad(function, wrt="x", jit=False).value_and_backward(x, k, v)
    found = f.value_and_backward(x, k, v)
    np.testing.assert_array_equal(found[0], value)
    np.testing.assert_array_equal(found[1], expected)
    np.testing.assert_array_equal(f.backward(x, k, v), expected)


@pytest.mark.parametrize(("function", "parallel"), [(f, k % 2 == 0) for k, f in enumerate(FUNCTIONS)])
def test_compiled(function: Callable[..., Any], parallel: bool) -> None:
    x, k = arguments(300)
    v = np.asarray(RNG.normal(size=np.shape(function(x, k))))[()]
    expected = grad(function, wrt="x", jit=False).backward(x, k, v)
    assert_close(grad(function, wrt="x", parallel=parallel).backward(x, k, v), expected, 1e-12, "x_b")


def test_branches_once_and_keeps_nothing() -> None:
    text = grad(one_or_the_other, wrt="x").source(*arguments(8))
    assert text.count("if x[i] > 0.6") == 1 and "kept" not in text
    assert "x_b = np.empty(" in text and "x_b[i] = " in text


def test_a_branch_without_derivative_stores_zeros() -> None:
    text = grad(one_alone, wrt="x").source(*arguments(8))
    assert "x_b = np.empty(" in text and "x_b[i] = 0.0" in text


def elements_in_order(x, k):
    z = np.zeros(len(x))
    for i in range(len(x)):
        if k[i] > 0:
            z[i] += x[i] * 1e16
        z[i] += x[i]
        if k[i] > 0:
            z[i] -= x[i] * 1e16
    return z


def test_additions_to_an_element_keep_their_order() -> None:
    x, k = np.linspace(0.3, 0.9, 5), np.array([1, 0, 1, 1, 0])
    found, _ = grad(elements_in_order, wrt="x", jit=False).value_and_backward(x, k, np.ones(5))
    np.testing.assert_array_equal(found, elements_in_order(x, k))


def prints_between(x, k):
    y, z = np.zeros(len(x)), np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0.4:
            y[i] = np.exp(x[i])
        print(i)
        if x[i] > 0.4:
            z[i] = np.exp(x[k[i]]) * y[i]
    return z


def test_what_is_printed_before_an_error(capsys: Any) -> None:
    x, k = np.full(6, 0.7), np.array([0, 1, 2, 9, 4, 5])
    with pytest.raises(IndexError):
        grad(prints_between, wrt="x", jit=False).value_and_backward(x, k, np.ones(6))
    assert capsys.readouterr().out == "0\n1\n2\n3\n"


def view_between_two_branches(x, k):
    m = np.outer(x, x)
    if k == 2:
        d = m * 2.0
    else:
        d = m * 3.0
    e = d[1]
    if k == 2:
        return e * x
    return e * 1.0


def branch_that_its_own_reverse_follows(x, k):
    if k > 0:
        y = np.outer(x, x) * 1.0
    else:
        y = np.outer(x, x) * 2.0
    np.fill_diagonal(y, 3.0)
    return y @ x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [view_between_two_branches, branch_that_its_own_reverse_follows])
def test_a_view_stays_behind_the_branch_that_makes_its_memory(function: Callable[..., Any], jit: bool) -> None:
    x = np.array([0.5, 1.5, -0.7])
    f = grad(function, wrt="x", jit=jit)
    for k in (0, 2):
        assert_close(f(x, k), function(x, k), 1e-14, "value")
        check_grad(f, x, k)
