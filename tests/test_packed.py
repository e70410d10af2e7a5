"""Rows of packed triangles: which of them are apart is proved, and nothing else is."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.analysis.ranges import Ranges
from srcgrad.analysis.signs import Signs
from srcgrad.errors import BoundsError
from srcgrad.ir import affine, products
from srcgrad.ir.expressions import FLOAT64, INT64, Array, Call, Const, Dim, Expr, Var, integer
from srcgrad.ir.nodes import Alloc, For, Function, Store
from srcgrad.testing import check_grad

N, I, J = Dim("x", 0), Var("i", INT64), Var("j", INT64)
OUT = Array("out", FLOAT64, (affine.mul(N, N),))


def value_of(expr: Expr, known: dict[Any, int]) -> int:
    match expr:
        case Const(value=value):
            return int(value)
        case Call(op=op, args=args):
            parts = [value_of(arg, known) for arg in args]
            of_two = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "rshift": int.__rshift__}
            return -parts[0] if op == "neg" else of_two[op](*parts)
    return known[expr]


def triangle(x: Expr) -> Expr:
    return Call("rshift", (affine.mul(x, affine.add(x, affine.ONE)), affine.ONE), INT64)


def total(*parts: tuple[int, Expr]) -> Expr:
    out: Expr = affine.ZERO
    for count, part in parts:
        out = affine.add(out, affine.mul(integer(count), part))
    return out


def drawn(rng: random.Random) -> tuple[For, Expr, Expr]:
    """A loop over rows of any kind, and two places in them."""
    few = lambda: rng.choice((0, 0, 1, -1, 2))
    start = total((rng.choice((0, 0, 1)), I), (rng.choice((0, 1)), affine.ONE))
    stop = rng.choice((total((1, N), (rng.choice((0, -1)), affine.ONE)), total((1, I), (few(), affine.ONE))))
    square = rng.choice((triangle(I), affine.mul(I, affine.sub(N, I)), triangle(affine.sub(I, affine.ONE))))

    def place() -> Expr:
        linear = (rng.choice((1, 1, 2, -1)), J), (few(), I), (rng.choice((0, 0, 1, 2)), affine.ONE)
        return total((rng.choice((1, 1, 2)), square), *linear)

    first = place()
    second = rng.choice((first, affine.add(first, affine.ONE), place()))
    inner = For(J, start, stop, affine.ONE, (Store(OUT, (first,), Const(0.0)), Store(OUT, (second,), Const(0.0))))
    low, high = rng.choice(((affine.ZERO, N), (affine.ONE, N), (affine.ZERO, affine.sub(N, affine.ONE))))
    return For(I, low, high, affine.ONE, (inner,)), first, second


def elements(loop: For, place: Expr, n: int) -> dict[int, set[int]]:
    """By the row, the elements that a place means in it."""
    (inner,) = loop.body
    assert isinstance(inner, For)
    out = {}
    for i in range(value_of(loop.start, {N: n}), value_of(loop.stop, {N: n})):
        here = {N: n, I: i}
        span = range(value_of(inner.start, here), value_of(inner.stop, here))
        out[i] = {value_of(place, {**here, J: j}) for j in span}
    return out


def test_what_is_proved_is_so() -> None:
    """Loops at random: no two rows meet where that is said."""
    proved = 0
    for number in range(1500):
        loop, first, second = drawn(random.Random(number))
        function = Function("f", (Array("x", FLOAT64, (N,)),), (Alloc(OUT, OUT.dims), loop), (OUT,))
        ranges = Ranges((), loop, Signs(function))
        if not ranges.are_in_rows(first, second, ranges.runs_there(first, second)):
            continue
        proved += 1
        for n in range(7):
            rows = elements(loop, first, n), elements(loop, second, n)
            for one, other in itertools.product(*rows):
                assert one == other or not rows[0][one] & rows[1][other], (number, n, one, other)
    assert proved > 100


def test_products_are_multiplied_out() -> None:
    up = affine.add(I, affine.ONE)
    assert products.lead(triangle(up), triangle(I)) == up
    assert products.lead(triangle(I), affine.mul(I, I)) is None
    assert products.lead(affine.mul(up, affine.sub(N, up)), affine.mul(I, affine.sub(N, I))) == total(
        (1, N), (-2, I), (-1, affine.ONE)
    )
    assert products.lead(affine.mul(up, N), affine.mul(I, I)) is None


# ------------------------------------------------------------------------------------------------------ whole programs


def distances(x):
    n, d = x.shape
    out = np.empty(n * (n - 1) // 2)
    k = 0
    for i in range(n):
        for j in range(i + 1, n):
            s = 0.1
            for c in range(d):
                s += (x[i, c] - x[j, c]) ** 2
            out[k] = np.sqrt(s)
            k += 1
    return out


def by_the_closed_form(x):
    n = x.shape[0]
    out = np.empty(n * (n + 1) // 2)
    for i in range(n):
        for j in range(i + 1):
            out[i * (i + 1) // 2 + j] = np.sin(x[i, j])
    return out


def from_the_last_row_on(x):
    n = x.shape[0]
    out = np.empty(n * (n + 1) // 2)
    k = 0
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            out[k] = np.sin(x[i, j])
            k += 1
    return out


def rows_with_gaps(x):
    n = x.shape[0]
    out = np.zeros(n * (n + 3))
    k = 0
    for i in range(n):
        for j in range(i):
            out[k + j] = np.sin(x[i, j])
        k += i + 2
    return out


def rows_that_meet(x):
    """The last of a row is the first of the next one."""
    n = x.shape[0]
    out = np.zeros(n * (n + 1))
    k = 0
    for i in range(n):
        for j in range(i + 1):
            out[k + j] = np.sin(x[i, j]) * out[k + j] + x[j, i]
        k += i
    return out


def rows_that_come_back(x):
    n = x.shape[0]
    out = np.zeros(n * (n + 1))
    k = n * n
    for i in range(n):
        for j in range(3):
            out[k - j] = out[k - j] * 0.5 + np.sin(x[i, j])
        k -= i
    return out


APART = [distances, by_the_closed_form, from_the_last_row_on, rows_with_gaps]
MEETING = [rows_that_meet, rows_that_come_back]
X = np.random.default_rng(7).uniform(0.2, 1.4, (6, 6))


@pytest.mark.parametrize("f", APART + MEETING, ids=lambda f: f.__name__)
def test_which_rows_run_at_one_time(f: Callable[..., Any]) -> None:
    text = grad(f, parallel=True).source(X, kind="backward")
    assert ("_backward_i_on_threads" in text) == (f in APART)
    assert "kept = np.empty(n, np.int64)" not in text  # no counter


@pytest.mark.parametrize("f", APART + MEETING, ids=lambda f: f.__name__)
def test_values_and_derivatives(f: Callable[..., Any]) -> None:
    for n in (0, 1, 2, 6):
        if n >= 3 or f is not rows_that_come_back:
            x = X[:n, :n].copy()
            assert_close(grad(f, jit=False)(x), f(x), 1e-12, "value")
            check_grad(grad(f, jit=False), x)


@pytest.mark.parametrize("f, columns, more", [(distances, 3, -1), (by_the_closed_form, 400, 1)])
def test_on_threads(f: Callable[..., Any], columns: int, more: int) -> None:
    x = np.random.default_rng(3).uniform(size=(400, columns))
    v = np.random.default_rng(4).uniform(size=200 * (400 + more))
    assert_close(grad(f, parallel=True).value_and_backward(x, v), grad(f).value_and_backward(x, v), 1e-12, "both")


def short(theta, x):
    k, s = 0, 0.0
    for i in range(len(x)):
        for j in range(i + 1):
            s += theta[k] * x[j]
            k += 1
    return s


def test_a_triangle_that_is_too_short() -> None:
    theta, x = np.arange(1.0, 11.0), np.ones(4)
    for jit in (False, True):
        f = grad(short, jit=jit)
        assert f(theta, x) == short(theta, x)
        for given in (theta[:9], theta[:1]):
            with pytest.raises(BoundsError, match="out of bounds"):
                f.backward(given, x)
