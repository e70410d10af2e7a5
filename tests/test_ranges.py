"""Triangles, symmetric matrices: which iterations touch elements of their own, by where loops inside begin and end."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from support import slope

from srcgrad import grad
from srcgrad.analysis.effects import Access
from srcgrad.analysis.ranges import Ranges
from srcgrad.analysis.signs import Signs
from srcgrad.ir import affine
from srcgrad.ir.expressions import FLOAT64, INT64, Array, Const, Expr, Var
from srcgrad.ir.nodes import For, Function, Store

X = np.random.default_rng(3).uniform(-1.0, 1.0, 7)


def from_the_diagonal_on(x):
    n = len(x)
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            a[i, j] = np.exp(-((x[i] - x[j]) ** 2)) * x[i]
            a[j, i] = a[i, j]
    return a


def up_to_the_diagonal(x):
    n = len(x)
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            k = np.exp(-((x[i] - x[j]) ** 2)) * x[i]
            a[i, j] = k
            a[j, i] = k
    return a


def beside_the_diagonal(x):
    n = len(x)
    a = np.zeros((n, n))
    for i in range(n):
        a[i, i] = x[i] ** 2
        for j in range(i + 1, n):
            a[i, j] = np.sin(x[i] * x[j])
            a[j, i] = -a[i, j] * x[i]
    return a


def along_antidiagonals(x):
    """What is compared is of the antidiagonals before: a table for two sequences, by waves."""
    n = len(x)
    d = np.outer(x, x)
    for s in range(2, n):
        for i in range(1, s):
            d[i, s - i] += np.sin(d[i - 1, s - i]) * np.cos(d[i, s - i - 1])
    return d


def one_beside_the_diagonal(x):
    """a[j, i] of one iteration is a[i, j] of the next: they wait for each other."""
    n = len(x)
    a = np.ones((n, n))
    for i in range(1, n):
        for j in range(i - 1, n):
            a[i, j] = a[i, j] * x[i] * 0.5
            a[j, i] = a[i, j] + x[j]
    return a


def a_row_and_a_column(x):
    n = len(x)
    a = np.outer(x, x)
    for i in range(n):
        for j in range(n):
            a[j, i] = a[i, j] * x[i]
    return a


def added_in_halves(x):
    """The second half is added to the first, whose halves are next; the bound of the loop is a copy of h."""
    y = np.outer(x, x)
    h = 3
    for k in range(2):
        for i in range(h):
            y[i] += np.sin(y[i + h])
        h = 3 >> (k + 1)
    return y


APART = [from_the_diagonal_on, up_to_the_diagonal, beside_the_diagonal, along_antidiagonals]
BY_HALVES = [added_in_halves]
IN_ORDER = [one_beside_the_diagonal, a_row_and_a_column]


@pytest.mark.parametrize("function", APART + BY_HALVES + IN_ORDER)
def test_gradients(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(4)
    v, direction = rng.normal(size=(7, 7)), rng.normal(size=7)
    f = grad(function, jit=False)
    np.testing.assert_allclose(f(X), function(X), rtol=1e-14)
    want, error = slope(lambda t: float(np.vdot(function(X + t * direction), v)))
    assert np.vdot(f.backward(X, v=v), direction) == pytest.approx(want, rel=1e-9, abs=10 * error)


@pytest.mark.parametrize("function", APART + BY_HALVES + IN_ORDER)
def test_what_is_apart_goes_one_way(function: Callable[..., Any]) -> None:
    down = [line for line in grad(function).source(X).splitlines() if "for i" in line and "-1)" in line]
    assert bool(down) == (function in IN_ORDER)


@pytest.mark.parametrize("function", [from_the_diagonal_on, beside_the_diagonal])
def test_in_threads(function: Callable[..., Any]) -> None:
    x = np.random.default_rng(5).uniform(-1.0, 1.0, 600)
    v = np.random.default_rng(6).normal(size=(600, 600))
    one, several = (grad(function, parallel=parallel).value_and_backward(x, v) for parallel in (False, True))
    for a, b in zip(one, several, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


# ------------------------------------------------------------------------------------------------------ what is proved

I, J = Var("i", INT64), Var("j", INT64)
S = Var("s", INT64)
SIGNS = Signs(Function("f", (), (), ()), never_negative=True)


def ran(loop: For, inner: For, at: Mapping[Expr, int] = MappingProxyType({})) -> Iterator[tuple[int, int]]:
    for i in range(*(value(part, at) for part in (loop.start, loop.stop, loop.step))):
        here = {**at, I: i}
        yield from ((i, j) for j in range(value(inner.start, here), value(inner.stop, here)))


def value(expr: Expr, at: Mapping[Expr, int]) -> int:
    terms, constant = affine.affine(expr)
    return constant + sum(count * at[term] for term, count in terms)


def test_no_two_iterations_meet_where_it_is_said() -> None:
    """By trying all pairs of iterations of small loops, over a triangle or another piece of a square."""
    rng, said = random.Random(9), 0
    number = lambda least, most: affine.integer(rng.randint(least, most))
    corner = lambda: rng.choice((number(0, 3), affine.add(I, number(-1, 1)), affine.sub(number(3, 5), I)))
    place = lambda: affine.add(rng.choice((I, I, J, J, affine.add(I, J), affine.sub(J, I))), number(-1, 1))
    array = Array("a", FLOAT64, (affine.integer(9), affine.integer(9)))
    for _ in range(1800):
        p, q = ((place(), place()) for _ in range(2))
        first, last = corner(), rng.choice((number(4, 6), affine.add(I, number(0, 3))))
        body = (Store(array, p, Const(0.0, FLOAT64)), Store(array, q, Const(0.0, FLOAT64)))
        inner = For(J, first, last, affine.ONE, body)
        loop = For(I, number(0, 1), number(3, 5), affine.ONE, (inner,))
        if not Ranges((), loop, SIGNS).never_meet(Access(array, p, True), Access(array, q, True)):
            continue
        said += 1
        for (i, j), (k, m) in itertools.product(ran(loop, inner), repeat=2):
            if i != k:
                here, there = (
                    tuple(value(part, at) for part in parts) for parts, at in ((p, {I: i, J: j}), (q, {I: k, J: m}))
                )
                assert here != there, (p, q, loop)
    assert said > 90


def test_no_two_iterations_meet_by_steps_that_are_no_numbers() -> None:
    """Whatever the step turns out to be: of no iteration is said anything where there is none."""
    rng, said = random.Random(4), 0
    times = lambda *counts: affine.mul(affine.integer(rng.choice(counts)), S)
    number = lambda least, most: affine.integer(rng.randint(least, most))
    within = lambda: affine.add(rng.choice((J, J, affine.ZERO)), affine.add(times(0, 1, 2), number(-1, 1)))
    place = lambda: affine.add(I, within())
    array = Array("a", FLOAT64, (affine.integer(99),))
    for _ in range(1500):
        p, q = place(), place()
        body = (Store(array, (p,), Const(0.0, FLOAT64)), Store(array, (q,), Const(0.0, FLOAT64)))
        inner = For(J, number(0, 1), affine.add(times(1, 2), number(-1, 0)), affine.ONE, body)
        stop = affine.add(times(-1, 0, 1), number(3, 12))
        loop = For(I, times(0, 1), stop, affine.add(times(1, 2, 3), number(0, 1)), (inner,))
        if not Ranges((), loop, SIGNS).never_meet(Access(array, (p,), True), Access(array, (q,), True)):
            continue
        said += 1
        for s in (-3, -2, -1, 1, 2, 3):
            at = {S: s}
            if value(loop.step, at) == 0:
                continue
            for (i, j), (k, m) in itertools.product(ran(loop, inner, at), repeat=2):
                assert i == k or value(p, {**at, I: i, J: j}) != value(q, {**at, I: k, J: m}), (p, q, loop, s)
    assert said > 150
