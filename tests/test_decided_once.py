"""What decides something ahead of the sweep decides the same in it: a branch that has kept nothing is not taken."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(62)


def above_a_mark(u, c):
    """A logarithm beside a function that does not vectorise ahead of the sweep, and alone in it."""
    u = u.copy()
    w = np.zeros(u.shape[0])
    for _ in range(2):
        for i in range(u.shape[0]):
            w[i] = math.lgamma(c[i])
            if np.log(u[i]) > c[i]:
                w[i] = w[i] + np.sin(u[i] * u[i]) * np.tan(u[i])
        for i in range(1, u.shape[0]):
            u[i] = u[i] + 0.1 * w[i - 1] * u[i]
    return u


def by_a_name(u, c):
    u = u.copy()
    w = np.zeros(u.shape[0])
    for _ in range(2):
        for i in range(u.shape[0]):
            size = np.exp(u[i])
            twice = 2.0 * size
            w[i] = 0.5
            if twice > c[i]:
                w[i] = np.sin(u[i] * size) * size
        for i in range(1, u.shape[0]):
            u[i] = u[i] + 0.1 * w[i - 1] * u[i]
    return u


def by_an_array(u, c):
    u = u.copy()
    w, size = np.zeros(u.shape[0]), np.zeros(u.shape[0])
    for _ in range(2):
        for i in range(u.shape[0]):
            size[i] = np.exp(u[i])
        for i in range(u.shape[0]):
            w[i] = np.sin(u[i] * u[i]) * size[i] if size[i] > c[i] else 0.5
            if size[i] > c[i] + 0.1:
                w[i] = np.tan(u[i] * 0.1) * w[i]
        for i in range(1, u.shape[0]):
            u[i] = u[i] + 0.1 * w[i - 1] * u[i]
    return u


def which_element(u, c):
    u = u.copy()
    w = np.zeros(u.shape[0])
    for _ in range(2):
        for i in range(u.shape[0]):
            w[i] = u[int(np.exp(u[i])) % u.shape[0]] * u[i]
        for i in range(u.shape[0]):
            u[i] = u[i] + 0.1 * w[i] * c[i]
    return u


def by_a_sum_of_products(u, c):
    u = u.copy()
    w = np.zeros(u.shape[0])
    for _ in range(2):
        for i in range(u.shape[0]):
            w[i] = u[i] * u[i] - c[i] * c[i]
            if c[i] * c[i] - 2.0 > 0.0:
                w[i] = np.sin(u[i])
        for i in range(u.shape[0]):
            u[i] = u[i] + 0.1 * w[i] * u[i]
    return u


FUNCTIONS = [above_a_mark, by_a_name, by_an_array, which_element, by_a_sum_of_products]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_gradient(function: Callable[..., Any], n: int) -> None:
    check_grad(grad(function, jit=False), RNG.uniform(1.1, 1.4, n), RNG.uniform(0.1, 3.0, n))


def test_compiled() -> None:
    for function in FUNCTIONS:
        check_grad(grad(function), RNG.uniform(1.1, 1.4, 21), RNG.uniform(0.1, 3.0, 21))


def test_the_branch_that_was_taken_is_gone_back_through() -> None:
    """Marks that the logarithm of vector registers meets and that of the C library does not, or the other way round."""
    u = RNG.uniform(1.1, 1.4, 40_000)
    in_vectors, one_by_one = grad(logarithms)(u), np.array([math.log(x) for x in u])
    differ = in_vectors != one_by_one
    u, c = u[differ][:400], np.minimum(in_vectors, one_by_one)[differ][:400]
    assert u.shape == (400,)
    f = grad(one_step, wrt="u")
    taken = f(u, c)[1:] != u[1:]
    marks = np.append(np.where(taken, c[:-1] - 1e-9, c[:-1] + 1e-9), c[-1])
    v = np.ones(u.shape[0])
    expected = grad(one_step, wrt="u", jit=False).backward(u, marks, v)
    assert_close(f.backward(u, c, v)[:-1], expected[:-1], 1e-9, "of the branches that were taken")


def logarithms(u):
    return np.log(u)


def one_step(u, c):
    """What is not above its mark leaves the next one as it is."""
    u = u.copy()
    w = np.zeros(u.shape[0])
    for _ in range(1):
        for i in range(u.shape[0]):
            w[i] = 0.0 * math.lgamma(c[i])
            if np.log(u[i]) > c[i]:
                w[i] = w[i] + np.sin(u[i] * u[i]) * np.tan(u[i])
        for i in range(1, u.shape[0]):
            u[i] = u[i] + 0.1 * w[i - 1] * u[i]
    return u


@pytest.mark.parametrize("function", [above_a_mark, by_a_name, by_an_array])
def test_no_exponential_is_computed_again_to_decide(function: Callable[..., Any]) -> None:
    sweep = grad(function).source(np.ones(9), np.ones(9)).partition("# reverse sweep")[2]
    assert "if" in sweep and not re.search(r"(?:exp|log)\(", sweep)


def test_a_gpu_rounds_a_product_and_a_sum_once() -> None:
    """So a difference of products is not asked again there; a CPU rounds both wherever they are."""
    args = np.ones(9), np.ones(9)
    on_a_cpu = grad(by_a_sum_of_products).source(*args).partition("# reverse sweep")[2]
    assert re.search(r"if c\[i\] \* c\[i\] - 2.0 > 0.0", on_a_cpu)
    on_a_gpu = grad(by_a_sum_of_products, target="cuda").source(*args)
    assert len(re.findall(r"\* .* - 2.0 > 0.0", on_a_gpu)) == 1
