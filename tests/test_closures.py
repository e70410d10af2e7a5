"""Functions defined inside a function read its names as they are when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad

X = np.array([0.5, 1.2, 1.7, 0.3, 0.9])


def read_in_the_next_iteration(x):
    p, s = 1.0, 0.0

    def doubled():
        return p * 2.0

    for v in x:
        s += doubled() * v
        p = v
    return s


def read_by_a_lambda(x):
    p, s = 1.0, 0.0
    doubled = lambda: p * 2.0
    k = 0
    while k < len(x):
        s += doubled() * x[k]
        p = x[k]
        k += 1
    p = 3.0
    return s * doubled()


def read_after_a_branch(x):
    p = 1.0
    doubled = lambda: p * 2.0
    if x[0] > 0.1:
        p = x[1]
    return doubled() * x[2]


def read_when_it_is_not_none(x):
    p, s = None, 0.0

    def doubled():
        return 0.0 if p is None else p * 2.0

    for v in x:
        s += doubled() * v
        p = v
    return s


def defined_in_the_loop(x):
    s = 0.0
    for i in range(1, len(x)):
        part = x[:i] * x[i]
        scaled = lambda t, part=part: t * part
        of_part = lambda: part.sum()
        s += scaled(2.0).sum() + of_part()
    return s


def called_in_a_comprehension(x):
    k = 5.0

    def scaled(t):
        return t * k

    outs = [scaled(x[0]) for k in range(3)]
    return outs[1] * k


def called_for_every_element(x):
    v = 3.0
    scaled = lambda t: t * v
    return np.sum(np.array([scaled(v) for v in x]) * x) * v


def called_for_every_row(x):
    row = x * 2.0
    dot = lambda b: row @ b
    rows = np.stack((x, x * 3.0))
    return np.sum(np.array([dot(row) for row in rows]) ** 2) * row[0]


def called_in_a_generator(x):
    i = 4.0
    held = lambda: i * x[1]
    by_number = {i: held() for i in range(2)}
    return sum(held() for i in range(3)) * x[0] + by_number[1] + i


def called_where_the_list_grows(x):
    v = 3.0
    scaled = lambda t: t * v
    return np.sum(np.array([scaled(v) for v in x if v > 0.4])) * v


def made_in_a_comprehension(x):
    k = 5.0
    outs = [lambda t: t * k for k in range(3)]  # each is t * 2
    return outs[0](x[0]) + outs[2](x[1]) * k


def comprehensions_in_each_other(x):
    k = 2.0
    held = lambda: k
    return np.sum(np.array([[k * w * held() for k in x] for w in x])) * k


def defined_in_a_loop_and_called_behind(x):
    for i in range(len(x)):

        def last(t):
            return t * x[i]

    return last(2.0)


def a_lambda_of_a_loop_called_behind(x):
    y = 0.0
    for i in range(len(x)):
        k = x[i] * x[i]
        f = lambda t: t * k  # noqa: B023
        y += f(1.0)
    return y * f(3.0)


def two_names_of_a_loop_behind_it(x):
    s = 0.0
    for v in x:
        w = v * v
        if v > 1.0:
            w = w + s

        def g(t):
            return t * w + v  # noqa: B023

        s += g(2.0)
    return s * g(1.0)


def of_an_inner_loop_called_behind_both(x):
    for i in range(len(x)):
        for j in range(i + 1):
            m = x[i] * x[j]

            def f(t):
                return t * m + x[j]  # noqa: B023

    return f(x[0])


# fmt: off
FUNCTIONS = [
    read_in_the_next_iteration, read_by_a_lambda, read_after_a_branch, read_when_it_is_not_none, defined_in_the_loop,
    called_in_a_comprehension, called_for_every_element, called_for_every_row, called_in_a_generator,
    called_where_the_list_grows, made_in_a_comprehension, comprehensions_in_each_other,
    defined_in_a_loop_and_called_behind, a_lambda_of_a_loop_called_behind, two_names_of_a_loop_behind_it,
    of_an_inner_loop_called_behind_both,
]
# fmt: on


@pytest.mark.parametrize("function", FUNCTIONS)
def test_names_of_the_function_around(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)
