"""iter(xs), and what is taken from it: by next, by loops and by functions, each where the last one stopped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad

X = np.array([0.5, 1.5, 2.5, 0.7])


def first_apart(x):
    it = iter(x)
    last, total = next(it), 0.0
    for v in it:
        total += (v - last) ** 2
        last = v
    return total


def with_a_default(x):
    it = iter(x)
    a, b, c = next(it, 1.0), next(it, 2.0), next(it, 3.0)
    return a * b + c


def until_nothing_is_left(x):
    it, total = iter(x), 0.0
    while True:
        v = next(it, None)
        if v is None:
            break
        total += v * v
    return total


def two_at_a_time(x):
    it, total = iter(x), 0.0
    for v in it:
        total += v * next(it, 1.0)
    return total


def stopped_and_gone_on(x):
    it, total = iter(x), 0.0
    for v in it:
        if v > 1:
            break
        total += v
    for v in it:
        total += 3 * v * v
    return total


def taken_whole(x):
    it = iter(list(x))
    return sum(it) * x[0] + sum(it)


def by_a_function(x):
    it = iter(x)

    def take():
        return next(it, 0.0)

    return take() * 2 + take()


def under_a_condition(x):
    it, total = iter(x), 0.0
    for k in range(len(x)):
        if x[k] > 1:
            total += next(it)
    return total + next(it, 7.0)


def of_one_iterator(x):
    it = iter(x)
    return next(it) + 2 * next(iter(it), 0.0)


def of_what_changes(x):
    y, ys = x.copy(), [x[0]]
    it, other = iter(y), iter(ys)
    y[0] = 7.0 * x[0]
    ys.append(x[0] * 3)
    return next(it) + sum(v * v for v in other)


def rows(x):
    m = np.outer(x, x)
    it = iter(m)
    row = next(it)
    row[0] = 5.0 * x[0]
    return m[0, 0] * x[0] + np.sum(row)


def of_a_range(x):
    it = iter(range(5))
    next(it)
    return x[0] * next(it) + next(it)


def in_a_loop(x):
    total = 0.0
    for k in range(3):
        it = iter(x)
        total += next(it) * k
        for v in it:
            total += v * v * k
    return total


ALL = [
    first_apart, with_a_default, until_nothing_is_left, two_at_a_time, stopped_and_gone_on, taken_whole, by_a_function,
    under_a_condition, of_one_iterator, of_what_changes, rows, of_a_range, in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("x", [X, X[:1], X[:2]])
@pytest.mark.parametrize("function", ALL)
def test_each_item_once(function: Any, x: np.ndarray) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, x, rtol=1e-6)


@pytest.mark.parametrize("function", [first_apart, two_at_a_time, stopped_and_gone_on])
def test_compiled(function: Any) -> None:
    f = grad(function)
    check_value_and_grad(f, X, rtol=1e-6)


def too_many(x):
    it = iter(x)
    next(it)
    next(it)
    return x[0]


def test_nothing_is_left() -> None:
    for f in (too_many, grad(too_many, jit=False)):
        with pytest.raises(StopIteration):
            f(X[:1])


def handed_back(x):
    return iter(x)


def of_a_dict(x):
    return next(iter({"a": x[0]}))


@pytest.mark.parametrize("function", [handed_back, of_a_dict])
def test_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="iter"):
        grad(function, jit=False)(X)
