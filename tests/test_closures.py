"""Functions defined inside a function read its names as they are when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

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


# fmt: off
FUNCTIONS = [
    read_in_the_next_iteration, read_by_a_lambda, read_after_a_branch, read_when_it_is_not_none, defined_in_the_loop,
]
# fmt: on


@pytest.mark.parametrize("function", FUNCTIONS)
def test_names_of_the_function_around(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), X)
