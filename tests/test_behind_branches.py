"""What branches add to neighbours is added behind them, once, so that it can be handed over."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(61)


def upwind(u, a):
    f = np.zeros(u.shape[0] + 1)
    for i in range(1, u.shape[0]):
        if a[i] > 0.0:
            f[i] = a[i] * u[i - 1] ** 2
        else:
            f[i] = a[i] * np.sin(u[i])
    return f


def godunov(u, a):
    """Four cases, in one of which nothing is added."""
    u = u.copy()
    f = np.zeros(u.shape[0] + 1)
    for _ in range(3):
        for i in range(1, u.shape[0]):
            left, right = u[i - 1] * a[i], u[i]
            if left > right:
                s = 0.5 * (left + right)
                f[i] = 0.5 * left * left if s > 0.0 else 0.5 * right * right
            elif left > 0.0:
                f[i] = 0.5 * left * left
            elif right < 0.0:
                f[i] = 0.5 * right * right
            else:
                f[i] = 0.0
        for i in range(1, u.shape[0] - 1):
            u[i] -= 0.2 * (f[i + 1] - f[i])
    return u


def contacts(u, a):
    f = np.zeros(u.shape[0])
    for i in range(u.shape[0] - 1):
        d = u[i + 1] - u[i]
        if d < 0.1:
            f[i] += a[i] * d * d
            f[i + 1] -= a[i + 1] * d
    return f


def three_in_a_row(u, a):
    f = np.zeros(u.shape[0])
    for i in range(1, u.shape[0] - 1):
        if a[i] > 0.0:
            f[i] = u[i - 1] * u[i] * u[i + 1]
        elif a[i] < -0.5:
            f[i] = u[i + 1] ** 3 * a[i]
    return f


def in_two_directions(u, a):
    n = int(np.sqrt(u.shape[0]))
    w, c = u[: n * n].reshape(n, n), a[: n * n].reshape(n, n)
    out = np.zeros((n, n))
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            dx = w[i, j] * w[i - 1, j] if c[i, j] > 0.0 else w[i + 1, j] - w[i, j]
            if c[j, i] > 0.0:
                dy = w[i, j] - w[i, j - 1] ** 2
            else:
                dy = w[i, j + 1] * w[i, j]
            out[i, j] = c[i, j] * dx - c[j, i] * dy
    return out


def only_where_it_is(u, a):
    """An element that there is not in every iteration."""
    f = np.zeros(u.shape[0])
    for i in range(u.shape[0]):
        if i + 1 < u.shape[0] and a[i] > 0.0:
            f[i] = u[i] * u[i + 1]
        elif i > 1:
            f[i] = np.exp(u[i - 2]) * u[i]
    return f


def up_to_a_mark(u, a):
    """… which only the arguments say."""
    f = np.zeros(u.shape[0])
    for i in range(u.shape[0]):
        if a[i] < 2.0:
            f[i] = u[i + 1] * u[i] * a[i]
    return f


def beside_a_lookup(u, a):
    """Two additions of one number: which one is which is not to be mixed up."""
    n = u.shape[0]
    z, f = np.zeros(n), np.zeros(n)
    for i in range(1, n):
        z[i] = u[(7 * i) % n] + a[i]
        if a[i] > 0.0:
            f[i] = a[i] * u[i - 1] ** 2
        else:
            f[i] = a[i] * np.sin(u[i])
    return z + f


def of_an_array_alone(u, a):
    """In a branch an element of the iteration's own is added to, and its neighbours in any case."""
    f = np.zeros(u.shape[0])
    for i in range(1, u.shape[0] - 1):
        r = np.sqrt(u[i - 1] * u[i] + u[i + 1] ** 2)
        if r > 0.7:
            f[i] = r * np.exp(a[i])
        else:
            f[i] = r * r
    return f


FUNCTIONS = [
    beside_a_lookup,
    of_an_array_alone,
    upwind,
    godunov,
    contacts,
    three_in_a_row,
    in_two_directions,
    only_where_it_is,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 10, 26])
def test_is_what_it_was(function: Callable[..., Any], n: int) -> None:
    u, a = RNG.uniform(0.3, 0.9, n), RNG.normal(size=n)
    f = grad(function, jit=False)
    check_grad(f, u, a)
    v = RNG.normal(size=np.shape(function(u, a)))
    with order.without("behind_branches"):
        expected = grad(function, jit=False).backward(u, a, v)
    for mine, theirs in zip(f.backward(u, a, v), expected, strict=True):
        assert_close(mine, theirs, 1e-13, "with additions in the branches")


@pytest.mark.parametrize(
    ("dtype", "boundscheck", "functions"),
    [
        (np.float32, False, (beside_a_lookup, upwind, in_two_directions)),
        (np.float64, True, (of_an_array_alone, godunov, only_where_it_is)),
    ],
)
def test_compiled(dtype: Any, boundscheck: bool, functions: tuple[Callable[..., Any], ...]) -> None:
    u, a = RNG.uniform(0.3, 0.9, 81).astype(dtype), RNG.normal(size=81).astype(dtype)
    for function in functions:
        v = RNG.normal(size=np.shape(function(u, a))).astype(dtype)
        expected = grad(function, jit=False).backward(u, a, v)
        for mine, theirs in zip(grad(function, boundscheck=boundscheck).backward(u, a, v), expected, strict=True):
            assert_close(mine, theirs, 1e-5 if dtype == np.float32 else 1e-13, function.__name__)


@pytest.mark.parametrize("function", [upwind, godunov])
def test_neighbours_meet_in_registers(function: Callable[..., Any]) -> None:
    sweep = grad(function).source(np.ones(9), np.ones(9)).partition("# reverse sweep")[2]
    assert re.search(r"u_b\[i - 1\] \+= .*handed|u_b\[i\] [+-]= .*handed", sweep)
    assert not re.search(r"^ {12,}(?:if|el).*\n(?: {16,}.*\n)* {16,}u_b\[", sweep, re.MULTILINE)


@pytest.mark.parametrize("boundscheck", [True, False])
def test_no_element_is_touched_that_the_program_does_not_touch(boundscheck: bool) -> None:
    """The last iteration takes no branch: there is no u[n] to add nothing to."""
    u, a = RNG.uniform(0.3, 0.9, 40), RNG.uniform(0.1, 0.9, 40)
    a[-1] = 3.0
    text = grad(up_to_a_mark, boundscheck=boundscheck).source(u, a)
    assert "behind = " not in text
    for jit in (False, True):
        check_grad(grad(up_to_a_mark, jit=jit, boundscheck=boundscheck), u, a)


def where_another_place_is_given(u, y, x, k, a):
    z, f = np.zeros(u.shape[0]), np.zeros(u.shape[0])
    for i in range(1, u.shape[0]):
        z[i] = x[k[i]] + y[i]
        if a[i] > 0.0:
            f[i] = a[i] * u[i - 1] ** 2
        else:
            f[i] = a[i] * np.sin(u[i])
    return z + f


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("boundscheck", [True, False])
def test_what_is_added_elsewhere_stays_there(jit: bool, boundscheck: bool) -> None:
    args = RNG.uniform(0.3, 0.9, (3, 40))
    k, a = RNG.integers(0, 40, 40), RNG.normal(size=40)
    check_grad(grad(where_another_place_is_given, jit=jit, boundscheck=boundscheck), *args, k, a)
