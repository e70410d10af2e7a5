"""Buffers that every iteration fills in pieces are its own; vectors of which a loop sets all but the ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad


def upwind(x, u):
    """The stages of Runge and Kutta in buffers of the user's."""
    k, q, y = np.zeros(len(x)), np.ones(len(x)), u * 1.0
    for _ in range(3):
        k[0] = x[0] * y[-1]
        for i in range(1, len(x)):
            k[i] = x[i] * y[i - 1]
        for i in range(len(x) - 1, 0, -1):
            q[i] = x[i] * (y[i - 1] + 0.5 * k[i - 1]) ** 2
        q[0] = np.sin(x[0])
        y = y + 0.3 * (k + q)
    return y


def walls(x, u):
    """The edges of a grid, then all within them."""
    n, m = 4, len(x)
    t = np.full((n, m), 7.0)
    s = 0.0
    for r in range(3):
        t[0, :] = x
        t[-1, :] = x * u
        t[:, 0] = s
        t[:, -1] = 0.5
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                t[i, j] = x[j] * u[j - 1] * (i + r)
        s += np.sum(np.sin(t) * t)
    return s


def by_slices(x, u):
    t = np.zeros(len(x))
    s = 0.0
    for r in range(3):
        t[1:] = x[1:] * u[:-1] + s
        t[:1] = x[:1] * r
        s += np.sum(t * t)
    return s


def each_once_more(x, u):
    """Elements of its own are changed in the loop that fills them."""
    t = np.zeros(len(x))
    s = 0.0
    for r in range(3):
        t[0] = x[0]
        for i in range(1, len(x)):
            t[i] = x[i] * u[i]
            t[i] *= t[i]
        s += np.sum(np.sin(t))
    return s


OWN = [upwind, walls, by_slices, each_once_more]


def but_for_one(x, u):
    """t[0] is what the iteration before has left."""
    t = np.full(len(x), 0.7)
    s = 0.0
    for r in range(3):
        for i in range(1, len(x)):
            t[i] = x[i] * u[i]
        s += np.sum(np.sin(t) * t)
        t[0] = s
    return s


def read_too_early(x, u):
    t = np.full(len(x), 0.7)
    s = 0.0
    for r in range(3):
        for i in range(1, len(x)):
            t[i] = t[i - 1] * u[i]
        t[0] = x[0] * s
        s += np.sum(np.sin(t) * t)
    return s


def to_a_place_that_moves(x, u):
    t = np.full(len(x), 0.7)
    s, p = 0.0, len(x)
    for r in range(3):
        for i in range(p, len(x)):
            t[i] = x[i]
        p = 2
        for i in range(p):
            t[i] = u[i] * s + 0.1
        p = len(x) - 1
        s += np.sum(np.sin(t) * t)
    return s


def where_it_is_positive(x, u):
    t = np.full(len(x), 0.7)
    s = 0.0
    for r in range(3):
        t[0] = x[0]
        for i in range(1, len(x)):
            if x[i] > 0:
                t[i] = x[i] * u[i]
        s += np.sum(np.sin(t) * t)
        t *= 0.5
    return s


def a_triangle(x, u):
    t = np.full((len(x), len(x)), 0.7)
    s = 0.0
    for r in range(2):
        for i in range(len(x)):
            for j in range(i, len(x)):
                t[i, j] = x[i] * u[j]
        s += np.sum(np.sin(t) * t)
        t[1, 0] = s
    return s


def by_a_list_of_places(x, u):
    t = np.full(len(x), 0.7)
    k = np.arange(len(x)) // 2
    s = 0.0
    for r in range(3):
        t[0] = x[0]
        for i in range(1, len(x)):
            t[k[i]] = x[i] * u[i]
        s += np.sum(np.sin(t) * t)
        t *= 0.5
    return s


def read_by_the_next_loop(x, u):
    """The first column is read before it is set."""
    t = np.full((3, len(x)), 0.7)
    s = 0.0
    for r in range(3):
        for i in range(3):
            for j in range(1, len(x)):
                t[i, j] = x[j] * u[i] + 0.01 * s
            for j in range(len(x)):
                s += np.sin(t[i, j])
        for i in range(3):
            t[i, 0] = 0.1 * s * x[0]
        s += t[0, 0] * t[1, 1]
    return s


def by_an_index_that_moves_on(x, u):
    """What is read is not what has just been stored."""
    t = np.full(len(x), 0.7)
    s = 0.0
    for r in range(3):
        c = 0
        for i in range(len(x)):
            t[c] = x[i]
            c = (c * 3 + 1) % len(x)
            s += t[c]
        for i in range(len(x)):
            t[i] = 10.0 * x[i] * u[i]
    return s


def by_an_index_in_memory_that_moves_on(x, u):
    t, p = np.full(len(x), 0.7), np.zeros(len(x), dtype=np.int64)
    s = 0.0
    for r in range(3):
        for i in range(len(x)):
            t[p[i]] = x[i] * (r + 1)
            p[i] = (i * 2 + 1) % len(x)
            s += t[p[i]] ** 2
        for i in range(len(x)):
            t[i] = 10.0 * x[i] * u[i]
    return s


def by_more_than_was_filled(x, u):
    t = np.full((3, len(x)), 0.7)
    s = 0.0
    for r in range(2):
        for i in range(3):
            t[i, :2] = x[:2] * (u[:2] + i)
            s += np.sum(np.sin(t[i, :]) * t[i, :])
        t[:, 2:] = x[2:] * s
    return s


def seen_behind_the_loop(x, u):
    t = np.full(len(x), 0.7)
    for r in range(3):
        t[0] = x[0] * r
        for i in range(1, len(x)):
            t[i] = x[i] * u[i] + r * t[i - 1]
    return t


SHARED = [
    but_for_one,
    read_too_early,
    to_a_place_that_moves,
    where_it_is_positive,
    a_triangle,
    by_a_list_of_places,
    read_by_the_next_loop,
    by_an_index_that_moves_on,
    by_an_index_in_memory_that_moves_on,
    by_more_than_was_filled,
    seen_behind_the_loop,
]


def differences(x, u):
    return np.sum(np.sin(x[1:] * u[1:]))


def all_but_the_last(x, u):
    s = 0.0
    for i in range(len(x) - 1):
        s += np.exp(x[i]) * u[i]
    return s


def all_but_two_at_each_end(x, u):
    return np.sum(np.sin(x[2:-2] * u[2:-2]))


def downwards(x, u):
    y = np.zeros(len(x))
    for i in range(len(x) - 1, 0, -1):
        y[i] = x[i] * u[i]
    return y


def wrapped(x, u):
    """x[-1] at first."""
    s = 0.0
    for i in range(len(x)):
        s += np.sin(x[i - 1]) * u[i]
    return s


ENDS = [differences, all_but_the_last, all_but_two_at_each_end, downwards, wrapped]


def arguments(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    return rng.uniform(-1.0, 1.0, n), rng.uniform(0.5, 1.0, n)


@pytest.mark.parametrize("n", [3, 4, 7])
@pytest.mark.parametrize("function", [*OWN, *SHARED, *ENDS])
def test_gradients(function: Callable[..., Any], n: int) -> None:
    check_grad(grad(jit=False, cache=False)(function), *arguments(n))


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("function", ENDS)
def test_short_vectors(function: Callable[..., Any], n: int) -> None:
    check_grad(grad(jit=False, cache=False)(function), *arguments(n))


@pytest.mark.parametrize("function", [*OWN, *ENDS])
def test_compiled(function: Callable[..., Any]) -> None:
    for n in (3, 40):
        check_grad(grad(cache=False)(function), *arguments(n))


@pytest.mark.parametrize("function", OWN)
def test_nothing_is_handed_on(function: Callable[..., Any]) -> None:
    """No cotangent of such a buffer is cleared, ahead of the loop or as a whole: it is set."""
    text = grad(jit=False, cache=False)(function).source(*arguments(5))
    shadows = set(re.findall(r"\b([ktq]_b)\b", text))
    assert shadows and not [name for name in shadows if f"{name} = np.zeros" in text], text
    assert not re.search(r"[ktq]\w*\[[a-z]\w*\] = (0\.0|7\.0)", text), text


@pytest.mark.parametrize("function", SHARED)
def test_what_iterations_share_stays(function: Callable[..., Any]) -> None:
    text = grad(jit=False, cache=False)(function).source(*arguments(5), kind="primal")
    assert text.index("np.full") < text.index("for r in"), text


@pytest.mark.parametrize("function", ENDS[:-1])
def test_ends_alone_are_cleared(function: Callable[..., Any]) -> None:
    text = grad(jit=False, cache=False)(function).source(*arguments(5))
    assert "x_b = np.empty" in text and re.search(r"x_b\[.*\] = 0\.0", text), text


def added_to_zeros(x, k):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] += x[i]
    w = np.zeros(len(x))
    for i in range(len(x)):
        w[i] = 1.0 / y[k[i]]
    return w


def added_whole(x, k):
    y = np.zeros(len(x))
    y += x
    return 1.0 / y


def set_to_what_it_was(x, k):
    y = x.copy()
    for i in range(len(x)):
        g = y[i]
        y[i] = 0.0
        y[i] += g
    return 1.0 / y


def cleared_first(x, k):
    y = np.ones(len(x))
    for i in range(len(x)):
        y[i] = 0.0
        y[i] += x[i]
    return 1.0 / y


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [added_to_zeros, added_whole, cleared_first, set_to_what_it_was])
def test_minus_zero_added_to_zero_is_zero(function: Callable[..., Any], jit: bool) -> None:
    x, k = np.array([-0.0, 0.0, 1.0]), np.arange(3)
    f = grad(function, wrt="x", jit=jit)
    with np.errstate(all="ignore"):
        value, _ = f.value_and_backward(x, k, np.ones(3))
        for found in (value,) if jit else (f(x, k), value, f.vjp(x, k)[0]):
            np.testing.assert_array_equal(found, [np.inf, np.inf, 1.0])


def added_to_minus_zeros(x):
    y = np.full(len(x), -0.0)
    for i in range(len(x)):
        y[i] += x[i]
    return y


def added_complex(z):
    y = np.zeros(len(z), dtype=np.complex128)
    for i in range(len(z)):
        y[i] += np.exp(z[i])
    return y


@pytest.mark.parametrize(
    ("function", "x"), [(added_to_minus_zeros, np.array([-0.0, 0.0])), (added_complex, np.array([0.3 - 0j, 0.3 + 0j]))]
)
def test_signs_of_zero(function: Callable[..., Any], x: Any) -> None:
    f = grad(function, jit=False)
    expected = function(x)
    for found in (f(x), f.value_and_backward(x, np.ones_like(expected))[0]):
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(np.signbit(part(found)), np.signbit(part(expected)))
