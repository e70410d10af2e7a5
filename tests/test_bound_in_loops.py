"""Names that loops bind which surely run: nobody asks whether they have a value, and no loop around hands them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import check_grad, grad
from srcgrad.errors import UnsupportedError

STARTS = [
    np.array(x) for x in ([0.9, 0.2, 0.8, 0.1], [0.1, 0.9, 0.3, 0.7], [0.1, 0.2, 0.3, 0.15], [0.1, -0.9, 0.7, 0.2])
]


def marched(x, n):
    out = np.zeros(n)
    for i in range(n):
        t = 0.1 * i
        for _ in range(40):
            s = np.cos(t) - x[i] * t
            t += 0.1 * s
        out[i] = s
    return out


def downwards_and_inner(x, n):
    for k in range(2, -1, -1):
        for j in range(2):
            s = x[k] * (j + 1)
            t = s * s
        u = t + s
        for j in range(1, -2, -2):
            w = u * x[k + j]
    return w * n + j


def read_ahead_in_the_next(x, n):
    t = 0.0
    for i in range(n):
        if i > 0:
            t += s  # noqa: F821
        for k in range(1, 3):
            s = x[i] * k
    return t + s


def on_some_paths(x, n):
    out = np.zeros(n)
    for i in range(n):
        for k in range(3):
            if x[i] > 0.5:
                s = x[i] * k
        out[i] = s  # of the iteration before, or unbound
    return out


def goes_on(x, n):
    for i in range(n):
        for k in range(3):
            if x[i] > 0.5:
                continue
            s = x[i] * k
        y = s
    return y * s


def left_early(x, n):
    for i in range(n):
        for k in range(3):
            if x[i] > 0.5:
                break
            s = x[i] * (k + 1)
    return s


def returns_early(x, n):
    s = 5.0 * x[0]
    for k in range(3):
        if x[k] > 0.75:
            return s
        s = x[k]
    return s * n


def caught(x, n):
    s = 1.0
    try:
        for k in range(3):
            if x[k] < 0:
                raise ValueError
            s = x[k] * s
    except ValueError:
        s = s * 2
    return s


def never(x, n):
    s = x[0]
    for i in range(n):
        for _ in range(0):
            s = x[i]
        for _ in range(2, -2):
            s = x[i]
    return s * s


def functions_of_them(x, n):
    t = 0.0
    for i in range(n):
        s = x[i]
        for k in range(2):

            def twice():
                return s * 2

            t += twice()
            s = x[k]
        t += s * twice()
    return t


def functions_with_names_of_their_own(x, n):
    pairs = []
    for i in range(n):
        for j in range(i + 1, n):
            if abs(x[i] - x[j]) < 0.65:
                pairs.append((i, j))

    def total(y):
        s = 0.0
        for i, j in pairs:
            s += y[i] * y[j]
        return s

    return total(x)


def functions_that_read_what_a_comprehension_has_too(x, n):
    k = 2.0

    def total(y):
        return sum([k * k for k in y]) + k

    for i in range(n):
        k = k * x[i]
    return total(x)


def functions_with_defaults(x, n):
    i = 1

    def product(y, m=i):
        s = y[m]
        for i in range(2):
            s = s * y[i]
        return s

    for i in range(n):
        z = product(x) + i
    return z * i + product(x)


def named_in_expressions(x, n):
    """Arrays whose lengths only a run tells, as := names them: no iteration reads what the one before has named."""
    s = 0.0
    for i in range(n):
        if len(above := np.flatnonzero(x > x[i])):
            s += x[above].mean() * x[i]
        if i > 0 and (less := x[x < x[i]]).size > 0 and not (k := i) > 2:
            s += np.sum(less**2) * k
        s += np.sum((y := x[x > 0.15]) * 2) * y[0] if not (m := x[i]) < 0.5 else m
        while (z := x[x > 0.5 + 0.2 * s]).size > 1:
            s += z.sum() + 0.1
    return s


def named_on_some_paths(x, n):
    s, t = 0.0, x[0]
    for i in range(n):
        if x[i] > 0.35 and (u := x[i] * 2) > 1.5:
            s += u
        elif x[i] < 0.15:
            s += u  # of an iteration before, or unbound
        s += t if 0.25 < x[i] < (t := x[i] ** 2) + 0.5 else 0.5 * t
        s += t if x[i] > 0.5 else (t := x[i] * 3)
    return s


SURE = [marched, downwards_and_inner]
ALL = [
    *SURE, read_ahead_in_the_next, on_some_paths, goes_on, left_early, returns_early, caught, never, functions_of_them,
    functions_with_names_of_their_own, functions_that_read_what_a_comprehension_has_too, functions_with_defaults,
    named_in_expressions, named_on_some_paths,
]  # fmt: skip


@pytest.mark.parametrize(("function", "jit"), [*((f, False) for f in ALL), *((f, True) for f in ALL[::3])])
def test_as_in_python(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, wrt="x", jit=jit)
    for x in STARTS:
        try:
            function(x, 4)
        except UnboundLocalError:
            with pytest.raises(UnboundLocalError):
                f(x, 4)
        else:
            check_value_and_grad(f, x, 4, rtol=1e-14)


@pytest.mark.parametrize("function", SURE, ids=lambda f: f.__name__)
def test_nobody_asks(function: Callable[..., Any]) -> None:
    assert "UnboundLocalError" not in grad(function, wrt="x").source(STARTS[0], 4)


def test_iterations_around_are_independent() -> None:
    assert "prange" in grad(marched, wrt="x", parallel=True).source(STARTS[0], 4)


def test_a_range_that_is_none_is_refused() -> None:
    """The text tells which loops surely run, and it can't tell that `range` is another function."""

    def shadowed(x, n, range):
        s, t = x[0], 0.0
        for i in np.arange(n):
            for _ in range(3):
                s = x[i] * 2
            t += s
            s = s * 2
        return t

    f = grad(shadowed, wrt="x", jit=False)
    assert f(STARTS[0], 4, range) == shadowed(STARTS[0], 4, range)
    with pytest.raises(UnsupportedError, match="range is not Python's own"):
        f(STARTS[0], 4, lambda n: [])


def dead_between_two_loops(x, n):
    """At the first inner loop nobody needs `a`; it has a value ahead of the outer one, for where that never runs."""
    s = 0.0
    a = x * 1.5
    b = x[::-1] - 0.2 * a
    c = a[::-1] - 0.2 * b
    for _ in range(n - 1):
        if s > 0.7:
            a = np.where(x > 0.4, x, c)
        for _ in range(3):
            a = b
        for _ in range(n - 1):
            a = a[::-1] - 0.2 * c
        s += b[1] * c[2]
    return s + np.sum(a) * 0.01


@pytest.mark.parametrize("n", [0, 1, 2, 4])
@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_a_value_from_ahead_is_left_by_a_loop_that_never_runs(n: int, jit: bool) -> None:
    x = np.array([0.3, 0.8, 0.55, 0.2, 0.6])
    f = grad(dead_between_two_loops, jit=jit)
    check_value_and_grad(f, x, n, rtol=1e-13)


# Ranges that a name, or what is returned, is for the first time in a loop.


def range_in_a_loop(x, b):
    for i in range(1, len(x)):
        if x[i] > b:
            r = range(i)
            break
    else:
        r = range(2)
    return sum(x[k] for k in r)  # refused


def returned_in_a_loop(x, b):
    def chosen():
        for i in range(1, len(x)):
            if x[i] > b:
                return range(i)
        return range(2)

    return sum(x[k] for k in chosen())  # refused


def known_range_in_a_loop(x, b):
    for i in range(1, len(x)):
        if x[i] > b:
            r = range(3)
    return sum(x[k] * x[i] for k in r)


@pytest.mark.parametrize("function", [range_in_a_loop, returned_in_a_loop])
def test_a_range_that_first_appears_in_a_loop(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="is a range that first appears inside a loop") as caught:
        grad(function, wrt="x", jit=False)(np.array([0.3, 0.4, 0.9, 0.5]), 0.35)
    assert "# refused" in str(caught.value)


def test_a_range_between_constants_that_first_appears_in_a_loop() -> None:
    f, x = grad(known_range_in_a_loop, wrt="x", jit=False), np.array([0.3, 0.4, 0.9, 0.5])
    assert f(x, 0.35) == pytest.approx(known_range_in_a_loop(x, 0.35))
    check_grad(f, x, 0.35)
    with pytest.raises(UnboundLocalError):
        f(x, 2.0)
