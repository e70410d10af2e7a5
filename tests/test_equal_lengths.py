"""Lengths that a check says are equal: loops over them are one loop, and what the check finds is not checked again."""

from __future__ import annotations

import random
from collections.abc import Callable
from operator import add, eq, floordiv, ge, gt, le, lt, mul, ne, neg, sub
from typing import Any

import numba
import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import BroadcastError, CotangentShapeError, grad
from srcgrad.ir import affine
from srcgrad.ir.expressions import INT64, Call, Const, Dim, Expr
from srcgrad.runtime import absorb
from srcgrad.testing import check_grad

RNG = np.random.default_rng(11)
A, B = RNG.uniform(0.2, 1.0, (2, 5, 3))


def loops_of(text: str) -> int:
    return sum(line.lstrip().startswith("for ") for line in text.splitlines())


def straight(x, w):
    y = x * w
    z = np.tanh(w) * 2.0
    x = x + z
    return x + np.exp(w) * y


def in_a_loop(x, w, steps):
    x, w = x.copy(), w.copy()
    for _ in range(steps):
        y = x * w
        z = np.tanh(w) * 2.0
        x += z
        w += y
    return x + w


def while_it_is_small(x, w):
    x = x.copy()
    while x.sum() < 30.0:
        y = x * w + 1.0
        x += np.sqrt(w)
        x += y
    return x


def several(x, w, u):
    s = 0.0
    for _ in range(2):
        x = x * w
        u = u * np.sin(w)
        s += (u * u).sum()
        x = x + u
    return x * s


def test_one_loop() -> None:
    assert loops_of(grad(straight, cache=False).source(A, B, kind="primal")) == 1  # over the memory of both
    text = grad(in_a_loop, cache=False).source(A, B, 3, kind="primal")
    assert "BoundsError" not in text
    assert loops_of(text.split("return")[0]) <= 3


def of_one_shape(x, w):
    if x.shape != w.shape:
        raise ValueError("shapes")
    s = np.sum(x * x)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            s += w[i, j] * x[i, j]
    return s + np.sum(x * w)


def asserted(x, w):
    assert x.shape == w.shape
    return np.sum(x * x) + np.sum(w * w) + np.sum(x * w)


def otherwise(x, w):
    if np.shape(x) == (w.shape[0], w.shape[1]):
        return np.sum(x * x) + np.sum(w * w) + np.sum(x * w)
    else:
        raise ValueError("shapes")


@pytest.mark.parametrize("function", [of_one_shape, asserted, otherwise])
def test_of_whole_shapes(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False, cache=False)
    text = f.source(A, B)
    assert loops_of(text) == text.count("if ") == 1
    assert f(A, B) == pytest.approx(function(A, B), rel=1e-14)
    check_grad(f, A, B)
    for other in (A[:4], A[:, :2], A[:2, :1]):
        with pytest.raises((ValueError, AssertionError)) as expected:
            function(A, other)
        with pytest.raises(expected.type):
            f.backward(A, other)


@pytest.mark.parametrize("jit", [False, True])
def test_right(jit: bool) -> None:
    cases = [(straight, (A, B)), (while_it_is_small, (A, B)), (several, (A, B, B + 0.1))]
    for function, arguments in cases if not jit else cases[2:]:
        f = grad(function, jit=jit, cache=False)
        check_value_and_grad(f, *arguments, rtol=1e-13)
    f = grad(in_a_loop, wrt=("x", "w"), jit=jit, cache=False)
    for steps in (0, 1, 3):
        check_value_and_grad(f, A, B, steps, rtol=1e-13)


@pytest.mark.parametrize("jit", [False, True])
def test_other_shapes(jit: bool) -> None:
    """What does not fit is an error; what is stretched is stretched; what never runs asks for nothing."""
    f = grad(in_a_loop, wrt=("x", "w"), jit=jit, cache=False)
    f(A, B, 2)
    with pytest.raises(BroadcastError):
        f.backward(A, B[:3], 2, A)
    with pytest.raises((BroadcastError, ValueError)):
        f(A, B[:3], 1)
    one = grad(straight, jit=jit, cache=False)
    for b in (B, B[:1], B):
        check_value_and_grad(one, A, b, rtol=1e-14, at_once=True)


def by_rows(x, w):
    d = x[1:] - x[:-1]
    return np.sum(w * d**2)


def by_diff(x, w):
    return np.sum(w * np.diff(x, axis=0) ** 2)


def the_other_way(x, w):
    return np.sum((x[1:] - x[:-1]) ** 2 * w)


@pytest.mark.parametrize("function", [by_rows, by_diff, the_other_way])
def test_steps_along_an_axis(function: Callable[..., Any]) -> None:
    """One less than a length of x is a length of w: what is read once has no memory, and nothing is cleared for w_b."""
    f = grad(function, jit=False, cache=False)
    text = f.source(A[:, 0], B[1:, 0])
    assert loops_of(text) == text.count("np.zeros") == text.count("np.empty") == 1
    for rows in (5, 2, 1):
        check_value_and_grad(f, A[:rows], B[1:rows])
    check_value_and_grad(f, A, B[:1])
    check_value_and_grad(f, A[:2, :0], B[:1, :0])
    for other in (B[:3], B, B[1:, :2]):
        with pytest.raises(BroadcastError):
            f.backward(A, other)


def along_rows(x):
    return np.sum(np.diff(x, axis=1) ** 3)


def test_steps_along_rows_are_of_elements() -> None:
    """A loop over views of parts of rows is not vectorised."""
    f = grad(along_rows, jit=False, cache=False)
    assert "(x[i, j + 1] - x[i, j]) ** 3" in f.source(A, kind="primal")
    check_value_and_grad(f, A)


WEIGHTS = RNG.uniform(0.2, 1.0, (2, 1))


def beside_a_column(x, w, column):
    return np.sum(np.sin(x * w)) + np.sum((x @ column) ** 2)


def of_steps(x, w, column):
    return np.sum(np.diff(x) * w[:, 0]) * column[0, 0]


def by_a_global(x, w, column):
    return np.sum(x * WEIGHTS * w) * column[0, 0]


@pytest.mark.parametrize("function", [beside_a_column, of_steps, by_a_global])
def test_the_first_call_goes_by_the_lengths_that_meet(function: Callable[..., Any]) -> None:
    """A length of 1 beside another is no reason to stretch it, where nothing brings the two together."""
    first = (A[:2, 0], A[:1, :1], A[:1, :1]) if function is of_steps else (A[:2, :2], B[:2, :2], A[:2, :1])
    more = (A[:, 0], A[:4, :1], A[:1, :1]) if function is of_steps else (A[:2, :2], B[:2, :2], B[:2, :1])
    first, more = (tuple(map(np.array, arguments)) for arguments in (first, more))
    f = grad(function, jit=False, cache=False)
    ahead = f.source(*first)
    check_grad(f, *first)
    assert f.source(*first) == f.source(*more) == ahead
    assert f(*more) == pytest.approx(function(*more), rel=1e-14)
    assert ("conform" in ahead) == (function is by_a_global)
    check_grad(f, *(first if function is by_a_global else more))


def stretched_and_cut(x, rows, b):
    b[:, 0] /= 2.5 + x[-1]
    x[0] = 0.5 * b[0, 0]
    s = np.sum(x * np.cos(b[-1]))
    return rows[: len(b)] + s, x + rows.T[-1]


def test_v_of_a_slice_that_is_cut_short_beside_lengths_of_one() -> None:
    """v fits neither what is not stretched nor what is not cut: both are tried."""
    x, rows, b = np.ones(3), np.array([[3.0]]), np.ones((2, 1))
    f = grad(stretched_and_cut, jit=False)
    check_grad(f, x, rows, b)
    with pytest.raises(CotangentShapeError, match=r"shape \(2, 1\), but the output has shape \(1, 1\)"):
        f.backward(x, rows, b, (np.ones((2, 1)), np.ones(3)))


def step(u, v, w, steps):
    for _ in range(steps):
        u[1:] -= 0.5 * (w[1:] - w[:-1])
        v[:, 1:] -= 0.5 * (w[:, 1:] - w[:, :-1])
        w[:-1, :-1] -= 0.7 * (v[:-1, 1:] - v[:-1, :-1] + u[1:, :-1] - u[:-1, :-1])


def late(u, v):
    u += 1.0
    s = np.tanh(v).sum()
    if s > 100.0:
        u[0] += s
    u *= v[: u.shape[0]]


@pytest.mark.parametrize("jit", [False, True])
def test_what_writes_its_arguments(jit: bool) -> None:
    """Plain calls take lengths to be equal too, where that shows before anything is written."""
    text = grad(step, cache=False).source(A, B, A + B, 2, kind="primal")
    assert "conform" not in text and "BroadcastError" in text
    cases = [(step, (A, B, A + B, 2)), (late, (A, B[:1])), (step, (A, B[:1], A + B, 0)), (late, (A, B))]
    for function, arguments in cases[: 2 if jit else 4]:
        f = grad(function, jit=jit, cache=False)
        expected, found = ([np.array(a) if np.ndim(a) else a for a in arguments] for _ in range(2))
        function(*expected)
        f(*found)
        for x, y in zip(expected, found, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-13)


def test_written_once_though_the_lengths_differ() -> None:
    f = grad(late, jit=False, cache=False)
    f(A.copy(), B)
    u, expected = A.copy(), A.copy()
    f(u, B[:1])  # code for equal lengths fails here, ahead of all that it would write
    late(expected, B[:1])
    np.testing.assert_allclose(u, expected, rtol=1e-14)
    u = A.copy()
    with pytest.raises((BroadcastError, ValueError)):
        f(u, B[:2])


def write_by_write(u, v, w):
    u += v
    v *= w[: v.shape[0]] + u


def row_by_row(u, v, w):
    for i in range(u.shape[0]):
        u[i] -= u[i, i + 1 :] @ w[i + 1 :]
        v[i:] += w[i:]


def if_it_is_small(u, v, w):
    u += 1.0
    if np.sum(w) < -100.0:
        u *= v


def in_a_local_array(u, v, w):
    u[0] = w[0]
    t = np.zeros(v.shape)
    t += u
    v[:] = t * w


FULL, ROW = RNG.uniform(0.2, 1.0, (2, 4))
SQUARE = RNG.uniform(0.2, 1.0, (4, 4))
ONE_WRITE_AFTER_ANOTHER = [
    (write_by_write, (FULL, ROW, FULL + ROW)),
    (row_by_row, (SQUARE, ROW, FULL)),
    (if_it_is_small, (FULL, ROW, ROW)),
    (in_a_local_array, (FULL, ROW, FULL + ROW)),
]


@pytest.mark.parametrize(("function", "arguments"), ONE_WRITE_AFTER_ANOTHER)
def test_compared_at_entry(function, arguments) -> None:
    """What the lengths of arguments decide is compared ahead of all writes, wherever it stands."""
    text = grad(function, cache=False).source(*arguments, kind="primal")
    assert "conform" not in text and " or " not in text
    start, _, rest = text.partition("    for ")
    assert "ShapeError(" in start or "BroadcastError(" in start
    assert "ShapeError(" not in rest and "BroadcastError(" not in rest
    runs = [arguments, (arguments[0], arguments[1][:1], arguments[2]), (arguments[0][:1], *arguments[1:])]
    for given in [*runs, (arguments[0], arguments[1][:3], arguments[2][:3])]:
        f = grad(function, jit=False, cache=False)
        f(*(a.copy() for a in arguments))  # code for equal lengths is there
        expected, found = [a.copy() for a in given], [a.copy() for a in given]
        problems = []
        for call, where in ((function, expected), (f, found)):
            try:
                call(*where)
            except ValueError as problem:  # NumPy's too
                problems.append(problem)
        assert len(problems) in (0, 2)
        for x, y in zip(expected, found, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-13)


def down_by_twos(a, b, n):
    s = 0.0
    for _ in range(n):
        s += (a * b).sum()
    for _ in range(0, n, -2):
        for j in range(a.shape[0]):
            s += b[j]
    return s


def steps_of_either_sign(a, b, n, k):
    s = 0.0
    if n > 0 and a.shape[0] > b.shape[0]:
        raise ValueError("no")
    for _ in range(0, n, k):
        for j in range(a.shape[0]):
            s += b[j]
    return s


def checked_in_a_loop(b, c):
    s = 0.0
    for _ in range(c.shape[0]):
        if c.shape[0] != 1 + b.shape[0]:
            raise ValueError("lengths")
        s += b[0]
    return s


def both_negative(a, n):
    s = 0.0
    for _ in range(n - 3):
        for _ in range(n - 3):
            s += a[0]
    return s


def negative_rows(x, n, m):
    s = x[0]
    for _ in range(n):
        for j in range(m):
            s = np.sin(s) + x[j]
    return s


def test_what_holds_only_where_a_loop_runs() -> None:
    for jit in (False, True):
        for function, arguments in [
            (down_by_twos, (np.ones(9), np.ones(3), -6)),
            (steps_of_either_sign, (np.ones(9), np.ones(3), -6, -2)),
        ]:
            with pytest.raises(IndexError):
                grad(function, wrt="a", jit=jit, cache=False)(*arguments)
    assert grad(checked_in_a_loop, jit=False)(np.ones(0), np.ones(0)) == 0.0
    assert grad(both_negative, wrt="a", jit=False)(np.ones(2), 1) == 0.0
    np.testing.assert_array_equal(grad(both_negative, wrt="a", jit=False).backward(np.ones(2), 1), [0.0, 0.0])
    assert grad(negative_rows, wrt="x", jit=False)(np.ones(3), 2, -2) == 1.0


def late_and_said(u, v):
    print("once")
    u *= v


def plus_one_times(u, v):
    u += 1.0
    u *= v


def swapped(z, w):
    y = np.zeros(z.shape[0])
    for _ in range(3):
        for i in range(z.shape[0]):
            y[i] = z[i] * 0.5 + w[i]
        z, y = y, z
    return z


def test_what_the_caller_sees(capsys: pytest.CaptureFixture[str]) -> None:
    f = grad(late_and_said, jit=False)
    f(np.ones(5), np.ones(5))
    f(np.ones(5), np.ones(1))
    assert capsys.readouterr().out.split() == ["once", "once"]
    f = grad(plus_one_times, jit=False)
    with pytest.raises(BroadcastError):
        f(np.ones(5), np.ones(4))
    f(np.ones(5), np.ones(5))
    u = np.ones(5)
    f(u, np.full(1, 3.0))
    np.testing.assert_array_equal(u, np.full(5, 6.0))
    plain, ours, w = np.arange(3.0), np.arange(3.0), np.ones(3)
    np.testing.assert_array_equal(grad(swapped, jit=False)(ours, w), swapped(plain, w))
    np.testing.assert_array_equal(ours, plain)


def rebound(a, b, steps):
    for _ in range(steps):
        b = b * a
    return b.sum()


def test_what_is_rebound_fits_in_every_step() -> None:
    f = grad(rebound, wrt="a", jit=False)
    assert f(np.full(1, 2.0), np.ones(3), 2) == 12.0
    for call in (f, f.backward):
        with pytest.raises(BroadcastError):
            call(np.ones(2), np.ones(400), 2)


def arguments_trade_places(x, y, steps):
    a = x * 2.0
    for _ in range(steps):
        a[0] += 1.0
        x, a = a, x
    return x * y


def broadcast_before_and_after(x, y, steps):
    a = x * 2.0
    before = x * y
    for _ in range(steps):
        a[0] += 1.0
        x, a = a, x
    return before + x * y


def two_buffers(u, b, steps):
    new = np.zeros_like(u)
    k = 0
    while k < steps:
        for i in range(1, u.size - 1):
            new[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
        u, new = new, u
        k += 1
    return u * b


PLACES = [
    (arguments_trade_places, (4, 4)),
    (arguments_trade_places, (4, 1)),
    (broadcast_before_and_after, (4, 4)),
    (two_buffers, (4, 4)),
    (two_buffers, (4, 1)),
]


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize(("function", "lengths"), PLACES)
def test_who_has_changed_places_is_broadcast_as_it_is_then(function, lengths, steps) -> None:
    x, y = (RNG.uniform(0.2, 1.0, length) for length in lengths)
    f = grad(function, wrt=("u", "b") if function is two_buffers else ("x", "y"), jit=False)
    v = RNG.uniform(0.2, 1.0, 4)
    expected = function(x.copy(), y.copy(), steps)
    np.testing.assert_allclose(f(x.copy(), y.copy(), steps), expected, rtol=1e-14)
    np.testing.assert_allclose(f.value_and_backward(x, y, steps, v)[0], expected, rtol=1e-14)
    np.testing.assert_allclose(f.vjp(x, y, steps)[0], expected, rtol=1e-14)
    check_grad(f, x, y, steps)


def scaled_triangles(h, steps):
    n = len(h)
    for _ in range(steps):
        r = np.linalg.qr(h + 4.0 * np.eye(n))[1]
        r /= 2.0 + np.max(np.abs(r))
        h = r
    return h


def test_memory_that_leaves_a_loop_is_as_long_as_it_was_asked_to_be() -> None:
    """Its lengths are said by what is equal in the loop, and views of it go ahead of the loop with it."""
    f = grad(scaled_triangles, wrt="h", jit=False)
    h = np.random.default_rng(3).normal(size=(3, 3))
    for steps in range(3):
        check_value_and_grad(f, h, steps, rtol=1e-13)
    np.testing.assert_array_equal(f(h[:, :2], 0), h[:, :2])  # no step runs, and the lengths may differ


def test_what_does_not_fit_is_not_added() -> None:
    """Cotangents of what a loop would have stretched that has not run."""
    compiled = numba.njit(lambda x_b, out_b: absorb(x_b, out_b))
    for into in (absorb, compiled):
        for n, m, want in ((1, 3, [3.0, 0.0, 0.0]), (2, 3, [0.0] * 3), (3, 2, [0.0] * 3), (3, 3, [0.0] * 3)):
            memory = np.zeros(3)
            into(memory[:n], np.ones(m))
            np.testing.assert_array_equal(memory, want)


def test_what_is_said_of_lengths_whatever_they_are() -> None:
    """Comparisons that are decided, and the greater and the less of two, of random expressions."""
    rng = random.Random(2)
    n, m = Dim("x", 0), Dim("y", 0)
    known = {"lt": lt, "le": le, "gt": gt, "ge": ge, "eq": eq, "ne": ne}
    value = {"add": add, "sub": sub, "mul": mul, "neg": neg, "floordiv": floordiv, "minimum": min, "maximum": max}

    def made(depth: int) -> Expr:
        if depth == 0:
            return rng.choice((n, m, affine.integer(rng.randint(-3, 3))))
        x, y, k = made(depth - 1), made(rng.randrange(depth)), affine.integer(rng.randint(1, 3))
        quotient = Call("floordiv", (x, k), INT64)
        return rng.choice((quotient, affine.mul(k, x), affine.add(x, y), affine.sub(x, y), affine.minimum(x, y)))

    def at(expr: Expr, lengths: dict[Expr, int]) -> int:
        match expr:
            case Call(op=op, args=args):
                return value[op](*(at(arg, lengths) for arg in args))
            case Const():
                return int(expr.value)
        return lengths[expr]

    everywhere = [{n: i, m: j} for i in range(6) for j in (0, 1, 4)]
    decided = 0
    for _ in range(1500):
        x, y = made(rng.randrange(4)), made(rng.randrange(4))
        answers = {op: affine.decided(op, x, y) for op in known}
        decided += sum(answer is not None for answer in answers.values())
        for lengths in everywhere:
            p, q = at(x, lengths), at(y, lengths)
            assert all(answers[op] in (None, ask(p, q)) for op, ask in known.items()), (x, y)
            assert at(affine.minimum(x, y), lengths) == min(p, q)
            assert at(affine.maximum(x, y), lengths) == max(p, q)
    assert decided > 1500
    half, rest = (Call("floordiv", (affine.add(n, affine.integer(k)), affine.integer(2)), INT64) for k in (0, 1))
    least = affine.minimum(n, m)
    for x, y in ((half, n), (half, rest), (least, n), (affine.ZERO, least), (affine.ZERO, half)):
        assert affine.decided("le", x, y)


def behind_a_half(a, b):
    y = a[len(b) // 2 :] * b
    for i in range(len(b) // 2):
        y[i + len(b) // 2] += a[i] * y[i]
    return y


def by_its_own_half(a, b):
    y = a * b
    return y[0] + np.sum(a[len(a) // 2 :] * b)


@pytest.mark.parametrize(
    ("function", "lengths"), [(behind_a_half, (6, 4)), (behind_a_half, (2, 1)), (by_its_own_half, (6, 1))]
)
def test_a_length_is_not_named_by_what_is_made_of_it(function: Callable[..., Any], lengths: tuple[int, int]) -> None:
    a, b = (np.arange(n) + 0.5 for n in lengths)
    f = grad(function, jit=False)
    np.testing.assert_allclose(f(a, b), function(a, b), rtol=1e-14)
    check_grad(f, a, b)
