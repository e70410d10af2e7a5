"""Grids in one row of memory, whose row length is an argument, and tables along their antidiagonals: what is proved."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import slope
from test_packed import total, value_of

from srcgrad import grad
from srcgrad.analysis.effects import effects
from srcgrad.analysis.ranges import Ranges
from srcgrad.analysis.signs import Signs
from srcgrad.ir import affine
from srcgrad.ir.expressions import FLOAT64, INT64, Array, Const, Expr, Var
from srcgrad.ir.nodes import For, Function, Store


def squares(x, n, m):
    y = np.zeros(n * m)
    for i in range(n):
        for j in range(m):
            y[i * m + j] = x[i * m + j] ** 2
    return y


def five_points(u, n, m):
    w = np.zeros(n * m)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            w[i * m + j] = u[i * m + j - 1] * u[i * m + j + 1] + u[(i - 1) * m + j] - u[(i + 1) * m + j] ** 2
    return w


def turned(x, n, m):
    y = np.zeros(n * m)
    for i in range(n):
        for j in range(m):
            y[j * n + i] = np.sin(x[i * m + j])
    return y


def product(a, n, m):
    c = np.zeros(n * n)
    for i in range(n):
        for j in range(n):
            for k in range(m):
                c[i * n + j] += a[i * m + k] * a[j * m + k]
    return c


def upwards(x, n, m):
    for i in range(1, n):
        for j in range(m):
            x[i * m + j] += 0.5 * x[(i - 1) * m + j] ** 2
    return x


def by_columns(u, n, m):
    w = np.zeros(n * m)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            w[j * n + i] = u[j * n + i - 1] * u[(j + 1) * n + i] - u[(j - 1) * n + i] + u[j * n + i + 1] ** 2
    return w


def seven_points(u, n, m):
    w = np.zeros(3 * n * m)
    for i in range(1, 2):
        for j in range(1, n - 1):
            for k in range(1, m - 1):
                here = (i * n + j) * m + k
                w[here] = u[here] * (u[here - 1] + u[here + 1] + u[here - m] + u[here + m])
                w[here] += u[here - n * m] ** 2 - u[here + n * m] ** 2
    return w


def of_a_part(u, n, m):
    """Rows of m, of which the iterations know nothing but what the caller says: k columns."""
    k = u.size // max(n, 1)
    w = np.zeros(n * m)
    for i in range(1, n - 1):
        for j in range(1, k - 1):
            w[i * m + j] = u[i * m + j - 1] + u[i * m + j + 1] ** 2 + u[(i - 1) * m + j] + u[(i + 1) * m + j]
    return w


def into_the_next_row(u, n, m):
    w = np.zeros(n * m)
    for i in range(n - 1):
        for j in range(m):
            w[i * m + j] = u[i * m + j] + u[i * m + j + 1] ** 2 + u[i * m + j + 2 - 1] - u[(i + 1) * m + j]
    return w


def in_shape(u, n, m):
    a, w = u.reshape(n, m), np.zeros(n * m)
    b = w.reshape(n, m)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            b[i, j] = a[i, j - 1] * a[i, j + 1] + a[i - 1, j] - a[i + 1, j] ** 2
    return w


FLAT = [
    squares,
    five_points,
    turned,
    product,
    upwards,
    by_columns,
    seven_points,
    into_the_next_row,
    in_shape,
]
LONGER = {seven_points: 3}  # so many times n * m elements


@pytest.mark.parametrize(("function", "jit"), [*((f, False) for f in FLAT), *((f, True) for f in FLAT[::2])])
def test_flat(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    for n, m in [(4, 5), (1, 3), (3, 1), (0, 4), (4, 0)]:
        rng = np.random.default_rng(n + m)
        size = LONGER.get(function, 1) * n * m
        x, along = rng.uniform(0.5, 1.0, size), rng.normal(size=size)
        y = function(x.copy(), n, m)
        v = rng.normal(size=y.shape)
        if jit or FLAT.index(function) % 2:  # at once
            value, x_b = f.value_and_backward(x.copy(), n, m, v=v)
        else:
            value, x_b = f(x.copy(), n, m), f.backward(x.copy(), n, m, v=v)
        np.testing.assert_allclose(value, y, rtol=1e-13)
        want, error = slope(lambda h, x=x, v=v, n=n, m=m, d=along: float(v @ function(x + h * d, n, m)))
        got = x_b @ along
        assert abs(got - want) <= 1e-7 * (1.0 + abs(want)) + 10 * error


@pytest.mark.parametrize("function", [squares, five_points], ids=lambda function: function.__name__)
def test_nothing_is_asked_of_an_element(function: Callable[..., Any]) -> None:
    """What a row length may be is asked ahead of all loops: it can't be negative where an iteration runs."""
    text = grad(function).source(np.zeros(20), 4, 5)
    assert text.index("BoundsError('an") < text.index("for ")
    assert text.count("BoundsError(") == 1


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("left_out", [0, 1, -3])
def test_neighbours_of_a_grid(left_out: int, jit: bool) -> None:
    """They are fetched where all rows are there; a corner that no iteration comes to may be missing."""
    f, n, m = grad(five_points, jit=jit), 5, 6
    u, v = np.cos(np.arange(float(n * m - left_out))), np.sin(np.arange(float(n * m)))
    along = np.cos(3.0 * np.arange(float(u.size)))
    want, error = slope(lambda h: float(v @ five_points(u + h * along, n, m)))
    assert abs(f.backward(u, n, m, v=v) @ along - want) <= 1e-8 + 10 * error
    text = f.source(u, n, m)
    assert "if n * m <= u_b.shape[0]:" in text and "v.copy()" not in text


def test_rows_that_are_longer_than_the_loop() -> None:
    f, u = grad(of_a_part, jit=False), np.cos(np.arange(24.0))
    for n, m in [(4, 6), (4, 5), (3, 8), (3, 7)]:
        v = np.sin(np.arange(float(n * m)))
        want, error = slope(lambda h, n=n, m=m, v=v: float(v @ of_a_part(u + h * np.sin(u), n, m)))
        assert abs(f.backward(u, n, m, v=v) @ np.sin(u) - want) <= 1e-8 + 10 * error


def test_a_state_in_shape_is_set_once() -> None:
    """What is handed in is all that there is of it: it is no sum, and nothing is cleared that nobody reads again."""
    text = grad(in_shape).source(np.zeros(12), 3, 4)
    assert "w_b = np.empty(" in text and "w_b[i] = v[i]" in text
    assert text.count("= 0.0") == text.count("total = 0.0")


@pytest.mark.parametrize("jit", [False, True])
def test_a_row_that_is_shorter_than_the_loop_goes_on_in_the_next(jit: bool) -> None:
    """Rows of n - 1 elements, of which each iteration writes n: the last one is the first of the next row's."""

    def f(x, n):
        y = np.zeros(n * n)
        for i in range(n):
            for j in range(n):
                y[i * (n - 1) + j] = x[i * n + j] * (1.0 + y[i * (n - 1)])
        return y

    x, v, n = np.linspace(0.1, 1.0, 36), np.cos(np.arange(36.0)), 6
    along = np.sin(np.arange(36.0))
    g = grad(f, jit=jit)
    np.testing.assert_allclose(g(x, n), f(x, n), rtol=1e-14)
    want, error = slope(lambda h: float(v @ f(x + h * along, n)))
    assert abs(g.backward(x, n, v=v) @ along - want) <= 1e-8 + 10 * error


@pytest.mark.parametrize("jit", [False, True])
def test_a_row_length_below_zero(jit: bool) -> None:
    """Rows one behind the other towards the front: indices that count from the end, as in NumPy."""

    def f(x, n, m):
        y = np.zeros(n * 3)
        for i in range(n):
            for j in range(3):
                y[i * m + j] = x[i] * (j + 1.0)
        return y

    x = np.linspace(0.1, 1.0, 4)
    np.testing.assert_allclose(grad(f, jit=jit)(x, 4, -3), f(x, 4, -3))
    v = np.arange(12.0)
    np.testing.assert_allclose(grad(f, jit=jit).backward(x, 4, -3, v=v), [f(e, 4, -3) @ v for e in np.eye(4)])


def alignment(d):
    n, m = d.shape
    t = np.zeros((n + 1, m + 1))
    for s in range(2, n + m + 1):
        for i in range(max(1, s - m), min(n, s - 1) + 1):
            j = s - i
            t[i, j] = d[i - 1, j - 1] + np.logaddexp(t[i - 1, j], np.logaddexp(t[i, j - 1], t[i - 1, j - 1]))
    return t[n, m]


def warping(d):
    n, m = d.shape
    t = np.zeros((n, m))
    for s in range(n + m - 1):
        for i in range(max(0, s - m + 1), min(n, s + 1)):
            best = 0.0
            if i > 0 and s - i > 0:
                best = min(t[i - 1, s - i], t[i, s - i - 1], t[i - 1, s - i - 1])
            elif i > 0:
                best = t[i - 1, s - i]
            elif s - i > 0:
                best = t[i, s - i - 1]
            t[i, s - i] = d[i, s - i] + best
    return t[n - 1, m - 1]


DIAGONALS = [alignment, warping]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", DIAGONALS, ids=lambda function: function.__name__)
def test_antidiagonals(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    for shape in [(5, 7), (1, 4), (6, 1), (3, 3)]:
        rng = np.random.default_rng(shape[0])
        d, along = rng.uniform(size=shape), rng.normal(size=shape)
        want, error = slope(lambda h, d=d, e=along: float(function(d + h * e)), width=1e-4)
        assert abs(np.sum(f.backward(d) * along) - want) <= 1e-7 + 10 * error


def test_antidiagonals_ask_once() -> None:
    text = grad(alignment).source(np.zeros((4, 5)), kind="primal")
    assert "% " not in text and text.count("BoundsError(") <= 1


def test_a_row_length_that_is_a_product() -> None:
    def f(u, n, m):
        for i in range(n):
            for k in range(m):
                u[i * n * m + k] = 2.0 * u[i * n + k]
        return u

    u = np.arange(60.0)
    np.testing.assert_array_equal(grad(f, jit=False)(u.copy(), 3, 4), f(u.copy(), 3, 4))

    def g(u, n, m, k):
        for i in range(k):
            for _ in range(n):
                for j in range(m):
                    u[i * k * n + j] = u[i * k + j]
        return u

    np.testing.assert_array_equal(grad(g, jit=False)(np.arange(400.0), 3, 4, 5), g(np.arange(400.0), 3, 4, 5))


# ---------------------------------------------------------------------------------------------------------- proofs

N, M, I, J, K = (Var(name, INT64) for name in "nmijk")
OUT = Array("out", FLOAT64, (affine.mul(N, M),))


def drawn(rng: random.Random) -> tuple[For, list[Expr]]:
    """A loop with one or two loops in it, upwards or downwards, and two places of two or three digits."""
    small = lambda: affine.integer(rng.choice((0, 0, 0, 1, -1)))
    lengths = [N, M, M, affine.add(M, affine.ONE), affine.sub(M, affine.ONE), affine.integer(3)]

    def around(index: Var, body: tuple[Any, ...]) -> For:
        low, high = affine.integer(rng.choice((0, 0, 0, 1))), affine.add(rng.choice(lengths), small())
        if rng.random() < 0.3:
            return For(index, affine.sub(high, affine.ONE), affine.sub(low, affine.ONE), affine.integer(-1), body)
        return For(index, low, high, affine.integer(rng.choice((1, 1, 1, 2))), body)

    def place() -> Expr:
        digits = rng.sample([I, J, K], 3)
        digit = lambda: affine.add(digits.pop(), small())
        two = affine.add(affine.mul(digit(), rng.choice(lengths)), digit())
        if rng.random() < 0.3:
            two = affine.add(affine.mul(two, rng.choice(lengths)), digit())
        return affine.add(two, small())

    places = [place(), place()]
    places[1] = rng.choice((places[0], total((1, places[0]), (1, small())), places[1]))
    inner = around(J, (around(K, tuple(Store(OUT, (p,), Const(0.0)) for p in places)),))
    return around(I, (inner,)), places


def ran(loop: For, known: dict[Any, int], places: list[Expr]) -> list[set[int]]:
    """The elements that places mean in all iterations of a loop, and of those in it."""
    out: list[set[int]] = [set() for _ in places]
    start, stop, step = (value_of(bound, known) for bound in (loop.start, loop.stop, loop.step))
    for i in range(start, stop, step):
        here = {**known, loop.index: i}
        (first, *_) = loop.body
        found = ran(first, here, places) if isinstance(first, For) else [{value_of(place, here)} for place in places]
        for mine, theirs in zip(out, found, strict=True):
            mine |= theirs
    return out


def test_what_is_proved_is_so() -> None:
    """Loops at random: no two iterations meet where that is said."""
    proved = 0
    for number in range(900):
        loop, places = drawn(random.Random(number))
        function = Function("f", (N, M), (loop,), ())
        ranges = Ranges((), loop, Signs(function, never_negative=True))
        first, second = (next(a for a in effects(loop.body).accesses if a.index == (p,)) for p in places)
        if not ranges.never_meet(first, second):
            continue
        proved += 1
        for n, m in itertools.product(range(-1, 5), repeat=2):
            steps = range(*(value_of(bound, {N: n, M: m}) for bound in (loop.start, loop.stop, loop.step)))
            rows = [ran(loop.body[0], {N: n, M: m, I: i}, places) for i in steps]  # type: ignore[arg-type]
            for one, other in itertools.permutations(range(len(rows)), 2):
                met = rows[one][0] & rows[other][1]
                assert not {element for element in met if element >= 0}, (number, n, m, one, other)
    assert proved > 60
