"""`while` loops that count are `for` loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(31)


def upward(x, n):
    i, s = 0, 0.0
    while i < len(x):
        s += x[i] ** 2.5
        i += 1
    return s * i


def downward(x, n):
    s = 0.0
    while n > 0:
        n -= 1
        s += np.exp(x[n])
    return s * (n + 2)


def by_two(x, n):
    i, s = 1, 0.0
    while i < len(x):
        s += x[i] * x[i - 1]
        i = i + 2
    return s * i


def by_three_downward(x, n):
    i, s = len(x) - 1, 1.0
    while 0 <= i:
        s *= x[i] + i
        i -= 3
    return s * i


def two_deep(x, n):
    s = np.zeros(len(x))
    i = 0
    while i < len(x):
        j = i
        while j <= n:
            s[i] += np.sin(x[i] * j)
            j += 1
        s[i] *= j
        i += 1
    return s


def with_continue(x, n):
    i, s = -1, 0.0
    while i < len(x) - 1:
        i += 1
        if x[i] > 0.6:
            continue
        s += x[i] * x[i] * i
    return s


def merged(x, n):
    i = j = 0
    s = 0.0
    while i < len(x) and j < n:
        if x[i] < 0.6:
            s += x[i] * j
            i += 1
        else:
            j += 1
    while i < len(x):
        s += x[i] * i
        i += 1
    return s


COUNTED = [upward, downward, by_two, by_three_downward, two_deep, with_continue]


def ends_early(x, n):
    i, s = 0, 0.0
    while i < len(x):
        s += x[i]
        if s > 1.5:
            break
        i += 1
    return s * x[0]


def skips(x, n):
    i, s = 0, 0.0
    while i < len(x):
        s += x[i] * i
        i += 2 if x[i] > 0.6 else 1
    return s


def end_moves(x, n):
    i, s = 0, 0.0
    while i < n:
        s += x[i] * i
        i += 1
        n -= 1
    return s


def end_is_an_element(x, n):
    ends = np.full(1, n)
    i, s = 0, 0.0
    while i < ends[0]:
        s += x[i] * i
        ends[0] -= 1
        i += 1
    return s


def gets_shorter(x, n):
    i, s = 0, 0.0
    y = x
    while i < len(y):
        s += y[i] * i
        y = y[1:] * 2
        i += 1
    return s


def twice_a_turn(x, n):
    i, s = 0, 0.0
    while i < n:
        s += x[i]
        i += 1
        s *= 1 + i
        i += 1
    return s


def grows(x, n):
    values, i = [x[0]], 0
    while i < len(values):
        if len(values) < n:
            values.append(values[i] * x[i])
        i += 1
    return values[-1]


OTHERS = [merged, ends_early, skips, end_moves, end_is_an_element, gets_shorter, twice_a_turn, grows]


@pytest.mark.parametrize("function", [*COUNTED, *OTHERS])
@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_values_and_derivatives(function: Callable[..., Any], length: int) -> None:
    x, n = RNG.uniform(0.3, 0.9, length), length
    if function is twice_a_turn:
        n -= n % 2
    f = grad(function, jit=False)
    np.testing.assert_array_equal(f(x, n), function(x, n))
    check_grad(f, x, n)


@pytest.mark.parametrize("function", COUNTED)
def test_no_turns(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    np.testing.assert_array_equal(f(np.empty(0), -2), function(np.empty(0), -2))


@pytest.mark.parametrize("function", COUNTED)
def test_compiled(function: Callable[..., Any]) -> None:
    x = RNG.uniform(0.3, 0.9, 40)
    np.testing.assert_allclose(grad(function)(x, 39), function(x, 39), 1e-12)
    check_grad(grad(function), x, 39)


@pytest.mark.parametrize("function", COUNTED)
def test_keeps_no_counter(function: Callable[..., Any]) -> None:
    text = grad(function).source(RNG.uniform(0.3, 0.9, 5), 4)
    assert "while" not in text and "push(" not in text


@pytest.mark.parametrize("function", OTHERS)
def test_does_not_take_others_for_counting(function: Callable[..., Any]) -> None:
    assert "while" in grad(function).source(RNG.uniform(0.3, 0.9, 6), 4, kind="primal")


def from_an_argument(x, n):
    s, i = 1.0, n - n
    while i < n:
        s = s * s * x[i]
        i += 1
    return s * i


def to_an_argument_that_changes(x, n):
    s, i, m = 1.0, 0, n
    while i < m:
        s = np.sin(s * x[i])
        i += 1
    m -= 2
    return s * (m + i)


def down_and_up(x, n):
    s = 1.0
    while n > 0:
        n -= 1
        s = np.sin(s * x[n])
    while n < 3:
        n += 1
        s = s * s
    return s * n


@pytest.mark.parametrize(
    ("function", "jit"),
    [(from_an_argument, False), (to_an_argument_that_changes, False), (down_and_up, False), (down_and_up, True)],
)
def test_the_reverse_half_knows_where_it_began(function: Callable[..., Any], jit: bool) -> None:
    x, n = RNG.uniform(0.3, 0.9, 12), 5
    f = grad(function, wrt="x", jit=jit)
    check_grad(f, x, n)
    value, pullback = f.vjp(x, n)
    np.testing.assert_allclose(value, function(x, n), 1e-13)
    np.testing.assert_allclose(pullback(1.0), f.backward(x, n), 1e-13)


def up_to_what_it_meets(x, n):
    i, s = 0, 0.0
    while i != n:
        s += np.sin(x[i])
        i += 1
    return s * i


def down_to_what_it_meets(x, n):
    s, i = 1.0, n
    while 0 != i:
        i -= 1
        s = s * np.cos(x[i])
    return s * (i + 2)


def past_what_it_meets(x, n):
    i, s = 0, 0.0
    while i != n and s < 1e9:
        s += x[i]
        i += 1
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [up_to_what_it_meets, down_to_what_it_meets, past_what_it_meets])
def test_loops_to_what_they_meet(function: Callable[..., Any], jit: bool) -> None:
    """An end that is never met is an error, in a gradient that reads no element, too."""
    x, f = RNG.uniform(0.3, 0.9, 6), grad(function, wrt="x", jit=jit)
    for n in (0, 1, 6):
        np.testing.assert_allclose(f(x, n), function(x, n), 1e-13)
        check_grad(f, x, n)
    with pytest.raises(IndexError):
        f(x, -1)
    if function is not past_what_it_meets:
        assert "while" not in f.source(x, 6)
        with pytest.raises(IndexError):
            f.backward(x, -1)


def divides_on_its_way(x, n):
    i, s = 3, 0.0
    while i != n:
        s += x[i] * (10 // (i - 5))
        i += 1
    return s


def test_what_ends_a_loop_that_runs_past_is_pythons() -> None:
    with pytest.raises(ZeroDivisionError):
        grad(divides_on_its_way, wrt="x", jit=False)(np.arange(1.0, 9.0), 2)
