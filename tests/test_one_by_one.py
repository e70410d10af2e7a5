"""Items that Python computes one by one, as they are wanted; and an index that rebinds what it is an index of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import UnsupportedError, check_grad, grad

X = np.array([0.513, 1.217, 0.823, 0.371, 0.947])


def counts(x):
    n = 0

    def f(v):
        nonlocal n
        n += 1
        return v > 0.9

    return x * n if any(f(v) for v in x) else x * (n + 1)


def counts_a_few(x):
    n = [0]

    def f(v):
        n[0] += 1
        return v > 0.9

    return x * n[0] if all(f(v) for v in (x[0], x[1], x[2])) else x * (n[0] + 1)


def fills_a_list(x):
    h = [None] * len(x)

    def f(i):
        h[i] = x[i]
        return x[i] > 0.9

    any(f(i) for i in range(len(x)))
    return sum([x[0] if v is None else v * 2 for v in h])


def adds_to_an_array(x):
    c = np.zeros(3)

    def f(v):
        c[0] += v
        return v > 0.9

    return x * c[0] if all(map(f, x)) else x * c[0] * 2.0


def adds_to_a_dict(x):
    d = {"n": 0.0}

    def f(v):
        d["n"] += v
        return v > 0.9

    return x * d["n"] if 2 in (f(v) for v in x) else x


def called_once_more(x):
    n, t = 0.0, 0.0

    def f(v):
        nonlocal n
        n += v
        return v * n

    for a, b in zip(map(f, x), range(2)):
        t += a * b
    return t * n * x


def in_turns(x):
    c = np.zeros(1)

    def f(v):
        c[0] += v
        return c[0] * v

    return sum([a - 2 * b for a, b in zip(map(f, x), map(f, x))]) * x


def read_in_between(x):
    n = 0.0

    def f(v):
        nonlocal n
        n += v
        return n * v

    return sum(a * n for a in (f(v) for v in x)) * x


CHANGE = [counts, counts_a_few, fills_a_list, adds_to_an_array, adds_to_a_dict, called_once_more, in_turns,
          read_in_between]  # fmt: skip


@pytest.mark.parametrize("function", CHANGE)
def test_what_changes_something_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="what computes these items changes something"):
        grad(function, jit=False)(X)


def near_none_before(x):
    s = 0.0
    for i in range(len(x)):
        if not any(abs(v - x[i]) < 1e-9 for v in x[:i]) and 3 not in (k for k in range(2)):
            s += x[i] ** 2
    return s


def with_memory_of_its_own(x):
    def f(v):
        w, q = np.zeros(2), [v]
        w[0] = v
        q.append(v)
        return w[0] * q[1] > 0.3

    return np.sum(x**2) if any(f(v) for v in x) else x[0]


def pairs_of_maps(x):
    f = lambda v: np.sin(v) * x[0]
    return sum(a * b for a, b in zip(map(f, x), (v**2 for v in x))) + sum([a for a in map(f, x[1:])])


@pytest.mark.parametrize("function", [near_none_before, with_memory_of_its_own, pairs_of_maps])
def test_what_changes_nothing(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), X)


def rebinds_an_array(x):
    s = x * 1.0
    o = s

    def f():
        nonlocal s
        s = s * 2
        return 0

    s[f()] += x[1]
    return s + o * 10


def rebinds_within(x):
    s = x * 1.0
    o = s
    s[(s := s * 2).size - 5] += 5.0
    return s + o * 10


def rebinds_a_list(x):
    ys = [x[0], x[1]]
    o = ys

    def f():
        nonlocal ys
        ys = [x[2], x[2]]
        return 0

    ys[f()] += x[1]
    return ys[0] + 10 * o[0]


@pytest.mark.parametrize("function", [rebinds_an_array, rebinds_within, rebinds_a_list])
def test_an_index_that_rebinds_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match=r"the index gives .* to something else"):
        grad(function, jit=False)(X)


def index_that_writes(x):
    s, ys = x * 1.0, [x[0], x[1]]

    def f():
        s[1] = 7 * x[0]
        ys.append(x[2])
        return 0

    s[f()] += x[1]
    ys[f()] += x[3]
    return np.sum(s * x) * ys[0] * ys[-1]


def test_an_index_that_writes() -> None:
    check_grad(grad(index_that_writes, jit=False), X)
    assert grad(index_that_writes, jit=False)(X) == pytest.approx(index_that_writes(X))
