"""Lists of floats that begin with some ints: a longer one has a float in it, and so have the arrays made of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcgrad import RuntimeUnsupportedError, UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.7, 1.6, 2.5])


def sums_from_0(x, c):
    ys = [0]
    for v in x:
        ys.append(ys[-1] + v)
    a = np.array(ys)
    a /= 2
    return np.sum(a * a) * x


def above_one(x, c):
    ys = [0, 1]
    for v in x:
        if v > 1:
            ys.append(v)
    a = np.array(ys)
    a -= np.mean(a)
    return np.sum(a * a) * x


def until_three(x, c):
    ys = [0]
    t = 0
    while t < 3:
        t = t + x[0]
        ys.append(t)
    a = np.array(ys)
    a[0] = 0.5 * x[0]
    return np.sum(a * a) * x


def one_at_the_beginning(x, c):
    ys = [0.0] * (len(x) + 1)
    ys[0] = 1
    for k in range(len(x)):
        ys[k + 1] = ys[k] * x[k]
    a = np.array(ys)
    a[0] = 0.5 * x[0]
    return np.sum(a * a) * x


def in_what_is_made_of_it(x, c):
    ys = [0]
    for v in x:
        ys.append(v)
    a = np.array(ys)
    b, d = a.copy()[1:], np.sort(a)
    b[0] = x[1] * 2
    d[0] = 0.5
    return np.sum(d * d) * x * b


def more_ints_in_a_branch(x, c):
    ys = [0]
    if c:
        ys = [0, 1]
    for v in x:
        ys.insert(0, v)
    a = np.array(ys)
    a[0] = 0.5
    return np.sum(a * a) * x


def ints_and_all_of_x(x, c):
    ys = [0] + [v for v in x]
    a, b = np.array(ys), np.array([1, *x])
    a[0] = b[0] = x[0] * x[1]
    return np.sum(a * a) * x + np.sum(b * b)


def pairs_at_first_of_ints(x, c):
    ys = [[0, 1]]
    for v in x:
        ys.append([v, 1])
    a = np.array(ys)
    a[0, 0] = 0.5
    return np.sum(a * a) * x


def a_float_at_last(x, c):
    s = 0
    for v in x:
        ys = [k for k in range(len(x))]
        ys.append(v)
        a = np.array(ys)
        a[0] = v * v
        s += np.sum(a * a)
    return s * x


LONGER = [
    sums_from_0, above_one, until_three, one_at_the_beginning, in_what_is_made_of_it, more_ints_in_a_branch,
    ints_and_all_of_x, pairs_at_first_of_ints, a_float_at_last,
]  # fmt: skip


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("function", LONGER)
def test_a_list_that_is_longer_than_its_ints_has_a_float(function: Any, c: bool) -> None:
    f = grad(function, wrt="x", jit=False)
    assert np.allclose(f(X, c), function(X, c))
    check_grad(f, X, c)


def first_set(x, c):
    ys = [0]
    for v in x:
        ys.append(v)
    a = np.array(ys)
    a[0] = 0.5
    return a


@pytest.mark.parametrize("jit", [True, False])
def test_one_that_is_not_is_refused_in_the_run(jit: bool) -> None:
    f = grad(first_set, wrt="x", jit=jit)
    assert np.all(f.backward(np.array([2.0]), True, np.ones(2)) == 1)
    with pytest.raises(RuntimeUnsupportedError, match="may be of whole numbers here"):  # Python's is cut to 0
        f(np.zeros(0), True)


def ints_in_each_iteration(x, c):
    ys = [0]
    for k in range(len(x)):
        ys.append(x[k])
        ys.append(k)
    a = np.array(ys)
    a[0] = 0.5
    return np.sum(a * a) * x


def ints_stored_in_each_iteration(x, c):
    ys = [0.5] * (len(x) + 1)
    for k in range(len(x)):
        ys[k] = k
    a = np.array(ys)
    a[0] = 0.5
    return np.sum(a * a) * x


def appended_on_one_path(x, c):
    ys = [k for k in range(len(x))]
    if c:
        ys.append(0.5)
    a = np.array(ys)
    a[0] = 0.5
    return np.sum(a * a) * x


def repeated_ints(x, c):
    ys = [0] * len(x)
    for v in x:
        ys.append(v)
    a = np.array(ys)
    a[0] = 0.5
    return np.sum(a * a) * x


def ints_of_a_comprehension(x, c):
    ys = [k for k in range(len(x))]
    for v in x:
        ys.append(v)
    a = np.array(ys)
    a[0] = 0.5
    return np.sum(a * a) * x


def a_row_of_ints(x, c):
    table = [[0, 0] for v in x]
    table[0][0] = x[0]
    a = np.array(table[1])
    a[0] = 0.5
    return np.sum(a * a) * x


def where_it_would_be_caught(x, c):
    ys = [0]
    for v in x:
        ys.append(v)
    a = np.array(ys)
    try:
        a[0] = 0.5
        if c:
            raise ValueError
    except Exception:
        return x * 3
    return np.sum(a * a) * x


def joined_by_paths(x, c):
    ys = [0]
    for v in x:
        ys.append(v)
    a = np.array(ys)
    if c:
        a = np.arange(len(x) + 1)
    a[0] = 0.5
    return np.sum(a * a) * x


NOT_KNOWN = [
    ints_in_each_iteration, ints_stored_in_each_iteration,
    appended_on_one_path, repeated_ints,
    ints_of_a_comprehension, a_row_of_ints, where_it_would_be_caught, joined_by_paths,
]  # fmt: skip


@pytest.mark.parametrize("function", NOT_KNOWN)
def test_where_its_length_does_not_tell_it_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="an array is of int64 on one path, and of float64 on another"):
        grad(function, wrt="x", jit=False)(X, True)
