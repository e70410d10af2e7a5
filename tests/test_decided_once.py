"""What decides something ahead of the sweep decides the same in it: a branch that has kept nothing is not taken."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close, from_text

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


def at_their_marks() -> tuple[Any, Any]:
    """Marks that the logarithm of vector registers meets and that of the C library does not, or the other way round."""
    u = RNG.uniform(1.1, 1.4, 40_000)
    in_vectors, one_by_one = grad(logarithms)(u), np.array([math.log(x) for x in u])
    differ = in_vectors != one_by_one
    u, c = u[differ][:400], np.minimum(in_vectors, one_by_one)[differ][:400]
    assert u.shape == (400,)
    return u, c


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


def one_step_of_products(u, c):
    u = u.copy()
    w = np.zeros(u.shape[0])
    for _ in range(1):
        for i in range(u.shape[0]):
            w[i] = 0.0 * math.lgamma(c[i])
            gap = u[i] * 1.37 - c[i]
            w[i] += gap * 1e-30
            if gap >= 0.0:
                w[i] += np.sin(u[i] * u[i]) * np.tan(u[i])
        for i in range(1, u.shape[0]):
            u[i] = u[i] + 0.1 * w[i - 1] * u[i]
    return u


def goes_back_where_it_came(function: Callable[..., Any], u: Any, c: Any, **options: Any) -> None:
    f, v = grad(function, wrt="u", **options), np.ones(u.shape[0])
    taken = np.abs(f(u, c)[1:] - u[1:]) > 1e-9
    marks = np.append(np.where(taken, c[:-1] - 1e-9, c[:-1] + 1e-9), c[-1])
    expected = grad(function, wrt="u", jit=False).backward(u, marks, v)
    assert_close(f.backward(u, c, v)[:-1], expected[:-1], 1e-9, "of the branches that were taken")


def test_the_branch_that_was_taken_is_gone_back_through() -> None:
    goes_back_where_it_came(one_step, *at_their_marks())


def test_where_the_user_lets_the_compiler_round_as_it_likes() -> None:
    u = RNG.uniform(1.1, 1.4, 4000)
    goes_back_where_it_came(one_step_of_products, u, u * 1.37, fastmath=True)


def by_bool(u, c, y):
    u = u.copy()
    w, z = np.zeros(u.shape[0]), np.zeros(u.shape[0])
    for _ in range(1):
        for i in range(u.shape[0]):
            z[i] = 0.0 * math.lgamma(c[i])
            w[i] = y[int(np.log(u[i]) > c[i])] * u[i] + z[i]
        for i in range(1, u.shape[0]):
            u[i] = u[i] + 0.1 * w[i - 1] * u[i]
    return u


def by_choice(u, c, y):
    u = u.copy()
    w, z = np.zeros(u.shape[0]), np.zeros(u.shape[0])
    for _ in range(1):
        for i in range(u.shape[0]):
            z[i] = 0.0 * math.lgamma(c[i])
            w[i] = y[1 if np.log(u[i]) > c[i] else 0] * u[i] + z[i]
        for i in range(1, u.shape[0]):
            u[i] = u[i] + 0.1 * w[i - 1] * u[i]
    return u


@pytest.mark.parametrize("function", [by_bool, by_choice])
def test_the_element_that_was_read_gets_the_cotangent(function: Callable[..., Any]) -> None:
    u, c = at_their_marks()
    y = np.array([1.0, 2.0])
    f = grad(function, wrt="y")
    read = np.round((f(u, c, y)[1:] / u[1:] - 1.0) / (0.1 * u[:-1])).astype(int) - 1
    expected = np.bincount(read, weights=0.1 * u[:-1] * u[1:], minlength=2)
    assert_close(f.backward(u, c, y, np.ones(u.shape[0])), expected, 1e-9, "of the elements that were read")


def guarded(u, a):
    """What stands behind a condition may not be there without it."""
    f = np.zeros(u.shape[0])
    for _ in range(3):
        w = np.sin(u) + f
        for i in range(u.shape[0] - 1, -1, -1):
            f[i] += u[i] * w[i] if i < 2 or w[i - 2] > a[i] else 0.89
        for i in range(2, u.shape[0] - 2):
            w[i] += a[i + 1]
    return f + w


def in_a_sum(u, a):
    g = np.zeros(u.shape[0])
    for _ in range(2):
        w = a * 0.5
        for i in range(u.shape[0]):
            if np.log(1.1 + u[i] ** 2) > 0.001:
                s = 2.0 + a[i] + u[i]
                w[i] += s - (s if i + 2 >= u.shape[0] or g[i + 2] > 0.52 else 0.0) ** 2
            w[i] += u[i]
        u = w.copy()
    return u


@pytest.mark.parametrize("function", [guarded, in_a_sum])
@pytest.mark.parametrize("jit", [False, True])
def test_what_a_condition_guards_is_not_read_without_it(function: Callable[..., Any], jit: bool) -> None:
    for n in (1, 5):
        check_grad(grad(function, jit=jit), np.linspace(0.3, 0.9, n), np.linspace(-1.0, -0.2, n))


def test_long_chains_of_numbers() -> None:
    """What is made of states by way of many others is kept in between."""
    lines = ["import numpy as np", "def f(u):", "    u, w = u.copy(), np.zeros(len(u))", "    for _ in range(3):"]
    lines += ["        for i in range(1, len(u) - 1):", "            x0 = u[i] * u[i - 1]"]
    lines += [f"            x{k} = x{k - 1} * 1.01 + u[i + 1]" for k in range(1, 160)]
    lines += [
        "            w[i] = x159 * x0",
        "        for i in range(len(u)):",
        "            u[i] += 0.01 * np.tanh(w[i])",
    ]
    f = from_text("\n".join([*lines, "    return u", ""]), "f")
    check_grad(grad(f, jit=False), np.linspace(0.01, 0.02, 7))


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
