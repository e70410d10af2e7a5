"""Sweeps over every second element: which iterations are apart, by the remainders that conditions and steps leave."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import from_text, slope

from srcgrad import grad
from srcgrad.analysis.remainders import Remainder, leaves_a_remainder, never_meet
from srcgrad.analysis.signs import signs_of
from srcgrad.ir import affine
from srcgrad.ir.expressions import INT64, Call, Expr, Var
from srcgrad.ir.info import Info
from srcgrad.ir.names import Names
from srcgrad.ir.nodes import Function

RNG = np.random.default_rng(11)
U, F, LINE = RNG.uniform(-1.0, 1.0, (9, 8)), RNG.uniform(-1.0, 1.0, (9, 8)), RNG.uniform(-1.0, 1.0, 11)


def red_black(u, f):
    n, m = u.shape
    u = u.copy()
    for _ in range(3):
        for c in range(2):
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    if (i + j) % 2 == c:
                        u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u


def red_and_black(u, f):
    n, m = u.shape
    u = u.copy()
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            if (i + j) % 2:
                u[i, j] = np.sin(u[i - 1, j] * u[i + 1, j]) + u[i, j - 1] * f[i, j]
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            if (i + j) % 2 != 1:
                u[i, j] = np.sin(u[i - 1, j] * u[i + 1, j]) + u[i, j - 1] * f[i, j]
    return u


def by_steps(u, f):
    n, m = u.shape
    u = u.copy()
    for c in range(2):
        for i in range(1, n - 1):
            for j in range(1 + (i + c) % 2, m - 1, 2):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j] ** 2)
    return u


def three_colours(u, f):
    n, m = u.shape
    u = u.copy()
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            if (i + 2 * j) % 3 == 1:
                u[i, j] = u[i - 1, j] * u[i, j + 1] - f[i, j] * u[i + 1, j]
    return u


def lifting(u, f):
    """A wavelet's two steps: what is odd is predicted, what is even brought up to date."""
    u = u.copy()
    for i in range(1, u.size - 1, 2):
        u[i] -= 0.5 * (u[i - 1] + u[i + 1]) * f[i, 0]
    for i in range(2, u.size - 1, 2):
        u[i] += 0.25 * (u[i - 1] * u[i + 1])
    return u


def same_colour(u, f):
    """Neighbours across a corner are of one colour: they wait for each other."""
    n, m = u.shape
    u = u.copy()
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            if (i + j) % 2 == 0:
                u[i, j] = 0.5 * u[i - 1, j - 1] * u[i, j] + f[i, j]
    return u


def two_steps_back(u, f):
    u = u.copy()
    for i in range(2, u.size, 2):
        u[i] = 0.5 * u[i - 2] * u[i] + f[i % 9, 0]
    return u


def another_colour_each_row(u, f):
    """k goes on: what the condition says of i and j differs from row to row."""
    n, m = u.shape
    u = u.copy()
    k = 0
    for i in range(1, n - 1):
        k += i % 3
        for j in range(1, m - 1):
            if (i + j + k) % 2 == 0:
                u[i, j] = 0.5 * u[i - 1, j] * u[i, j - 1] + f[i, j]
    return u


def by_steps_of_products(u, f):
    """How often a row's loop runs differs from row to row, and so does what it keeps."""
    n, m = u.shape
    u = u.copy()
    for c in range(2):
        for i in range(1, n - 1):
            for j in range(1 + (i + c) % 2, m - 1, 2):
                u[i, j] = 0.5 * u[i - 1, j] * u[i + 1, j] + u[i, j - 1] - f[i, j] ** 2
    return u


APART = [red_black, red_and_black, by_steps, three_colours, lifting]
IN_ORDER = [same_colour, two_steps_back, another_colour_each_row, by_steps_of_products]
LINES = [lifting, two_steps_back]


def arguments(function: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray]:
    return (LINE, np.resize(F, (11, 2))) if function in LINES else (U, F)


def check(function: Callable[..., Any], **options: Any) -> None:
    g, args = grad(function, **options), arguments(function)
    v, directions = RNG.normal(size=args[0].shape), [RNG.normal(size=arg.shape) for arg in args]
    np.testing.assert_allclose(g(*args), function(*args), rtol=1e-13)
    got = sum(np.vdot(a, b) for a, b in zip(g.backward(*args, v=v), directions, strict=True))
    phi = lambda t: float(np.vdot(function(*(a + t * d for a, d in zip(args, directions, strict=True))), v))
    want, error = slope(phi)
    assert got == pytest.approx(want, rel=1e-8, abs=10 * error)


@pytest.mark.parametrize("function", APART + IN_ORDER)
def test_gradients(function: Callable[..., Any]) -> None:
    check(function, jit=False)


@pytest.mark.parametrize("function", [red_black, by_steps])
def test_in_threads(function: Callable[..., Any]) -> None:
    """Pieces of a sweep add to the rows of their neighbours, and set their own to zero."""
    check(function, parallel=True)
    u, f = RNG.uniform(size=(2, 1200, 1000))
    v = RNG.normal(size=u.shape)
    one, several = grad(function), grad(function, parallel=True)
    for a, b in zip(one.backward(u, f, v=v), several.backward(u, f, v=v), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("function", APART)
def test_sweeps_that_are_apart_go_one_way(function: Callable[..., Any]) -> None:
    """What is reversed goes upwards too, where no iteration waits for another."""
    text = grad(function).source(*arguments(function))
    assert not counts_down("\n".join(line for line in text.splitlines() if "for i" in line))


@pytest.mark.parametrize("function", IN_ORDER)
def test_sweeps_that_are_not_apart_go_back(function: Callable[..., Any]) -> None:
    assert counts_down(grad(function).source(*arguments(function)))


def counts_down(text: str) -> bool:
    return any("for " in line and (", -1)" in line or ", -2)" in line) for line in text.splitlines())


def test_whole_numbers_of_a_condition_are_not_kept() -> None:
    assert "kept" not in grad(red_black).source(U, F)


# ------------------------------------------------------------------------------------------------------ what is proved

I, J, K = (Var(name, INT64) for name in "ijk")


def drawn(rng: random.Random, most: int) -> Expr:
    out: Expr = affine.integer(rng.randint(-2, 3))
    for var in (I, J, K):
        out = affine.add(out, affine.mul(affine.integer(rng.randint(-most, most)), var))
    if rng.random() < 0.2:
        out = affine.add(out, Call("mod", (affine.add(I, K), affine.integer(rng.choice((2, 4, 6)))), INT64))
    return out


OPERATIONS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
    "bitand": operator.and_, "minimum": min,
}  # fmt: skip


def value(expr: Expr, at: dict[Expr, int]) -> int:
    if isinstance(expr, Call) and expr.op == "mod":
        return value(expr.args[0], at) % value(expr.args[1], at)
    terms, constant = affine.affine(expr)
    return constant + sum(count * (at[t] if t in at else value(t, at)) for t, count in terms)


def test_no_two_iterations_meet_where_it_is_said() -> None:
    """By trying all pairs of them; k is the same in both."""
    rng, said = random.Random(5), 0
    points = [dict(zip((I, J), found, strict=True)) for found in itertools.product(range(6), repeat=2)]
    for _ in range(3000):
        modulus = rng.choice((2, 2, 3, 4))
        first = Remainder(drawn(rng, 2), modulus)
        second = first if rng.random() < 0.6 else replace_constant(first, rng.randint(0, 3))
        shift = lambda var: affine.add(var, affine.integer(rng.randint(-2, 2)))
        p, q = ((shift(I), shift(J)) for _ in range(2))
        if rng.random() < 0.3:
            p, q = (drawn(rng, 1), p[1]), (drawn(rng, 1), q[1])
        if not never_meet(p, (first,), q, (second,), {I, J}):
            continue
        said += 1
        for k in range(3):
            here = [at | {K: k} for at in points if not value(first.expr, at | {K: k}) % modulus]
            there = [at | {K: k} for at in points if not value(second.expr, at | {K: k}) % modulus]
            touched = {tuple(value(part, at) for part in p) for at in here}
            assert touched.isdisjoint(tuple(value(part, at) for part in q) for at in there), (p, q, first, second)
    assert said > 200


def with_remainders(rng: random.Random) -> Expr:
    """Sums of remainders, of masks, and of halves of remainders, that a proof must not look through."""
    out: Expr = affine.integer(rng.randint(-2, 3))
    modulus = rng.choice((2, 3, 4))
    for _ in range(rng.randint(1, 3)):
        inner = affine.add(
            affine.mul(affine.integer(rng.choice((1, 1, 2, -1))), rng.choice((I, I, J))), drawn_number(rng)
        )
        kinds = {"mod": rng.choice((modulus, modulus, 6)), "bitand": rng.choice((1, 3)), "floordiv": 2, "add": 0}
        op = rng.choice(("mod", "mod", "mod", "bitand", "floordiv", "add"))
        part: Expr = Call(op, (inner, affine.integer(kinds[op])), INT64)
        if rng.random() < 0.2:
            part = Call(rng.choice(("floordiv", "minimum")), (part, affine.integer(rng.choice((2, 3)))), INT64)
        out = affine.add(out, affine.mul(affine.integer(rng.choice((1, -1, 1, -1, 2))), part))
    return out


def drawn_number(rng: random.Random) -> Expr:
    return affine.integer(rng.randint(-3, 3))


def exactly(expr: Expr, at: dict[Expr, int]) -> int:
    match expr:
        case Call(op=op, args=(x, y)):
            return int(OPERATIONS[op](exactly(x, at), exactly(y, at)))
        case Call(op="neg", args=(x,)):
            return -exactly(x, at)
        case Var():
            return at[expr]
    return int(expr.value)  # type: ignore[attr-defined]


def test_what_is_never_zero() -> None:
    rng, said, zeros = random.Random(6), 0, 0
    points = [dict(zip((I, J), found, strict=True)) for found in itertools.product(range(-7, 8), repeat=2)]
    for k in range(4000):
        expr = with_remainders(rng)
        is_said = leaves_a_remainder(expr)
        said += is_said
        if is_said or k % 8 == 0:  # of others, enough to know that there are zeros
            has_zero = any(exactly(expr, at) == 0 for at in points)
            zeros += has_zero
            assert not (is_said and has_zero), expr
    assert said > 200 and zeros > 50


def test_bounds_of_remainders() -> None:
    """What is said to be natural is, of remainders and masks that are taken away as well."""
    rng, said = random.Random(7), 0
    points = [dict(zip((I, J), found, strict=True)) for found in itertools.product(range(-7, 8), repeat=2)]
    signs = signs_of(Function("f", (I, J), (), (), Info(Names())))
    for _ in range(4000):
        expr = with_remainders(rng)
        if signs.is_natural(expr):
            said += 1
            assert min(exactly(expr, at) for at in points) >= 0, expr
    assert said > 200


def replace_constant(known: Remainder, by: int) -> Remainder:
    return Remainder(affine.add(known.expr, affine.integer(by)), known.modulus)


def test_programs_of_sweeps() -> None:
    """Sweeps as they come, with conditions and steps of all kinds, in place."""
    for seed in range(12):
        rng = random.Random(seed)
        text = sweeps(rng)
        function = from_text(text, "f")
        check_text(function, text, seed)


def sweeps(rng: random.Random) -> str:
    lines = ["def f(u, w, c):", "    u = u.copy()", "    n, m = u.shape", "    k = 0", "    for s in range(2):"]
    place = lambda: f"u[i + {rng.randint(0, 4)} - 2, j + {rng.randint(0, 4)} - 2]"
    for _ in range(2):
        modulus = rng.choice((2, 2, 3))
        number = rng.choice(("i + j", "i - j", "2 * i + j", "i", "i + j + k"))
        value = f"np.sin({place()}) * {place()} + w[i]"
        lines.append("        for i in range(2, n - 2):")
        if rng.random() < 0.2:
            lines.append("            k += i")
        if rng.random() < 0.5:
            lines.append(f"            for j in range(2 + ({number.replace('j', 's')}) % {modulus}, m - 2, {modulus}):")
            lines.append(f"                u[i, j] {rng.choice(('=', '+='))} {value}")
        else:
            lines.append("            for j in range(2, m - 2):")
            lines.append(f"                if ({number}) % {modulus} == {rng.choice(('c', '0', 's'))}:")
            lines.append(f"                    u[i, j] {rng.choice(('=', '+='))} {value}")
            if rng.random() < 0.4:
                lines += ["                else:", f"                    u[i, j] = 0.5 * {place()}"]
    return "\n".join(["import numpy as np", *lines, "    return u", ""])


def check_text(function: Callable[..., Any], text: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, w, c = rng.uniform(-0.7, 0.7, (8, 9)), rng.uniform(-0.5, 0.5, 8), seed % 2
    v, du, dw = rng.normal(size=u.shape), rng.normal(size=u.shape), rng.normal(size=8)
    g = grad(function, wrt=("u", "w"), jit=False)
    np.testing.assert_allclose(g(u, w, c), function(u, w, c), rtol=1e-12, err_msg=text)
    by_u, by_w = g.backward(u, w, c, v=v)
    want, error = slope(lambda t: float(np.vdot(function(u + t * du, w + t * dw, c), v)))
    got = np.vdot(by_u, du) + np.vdot(by_w, dw)
    assert got == pytest.approx(want, rel=1e-7, abs=10 * error + 1e-9), text


# ------------------------------------------------------------------------------------------------------ other frames


def through_a_view(u, c):
    u = u.copy()
    w = u[1:, ::2]
    for i in range(1, w.shape[0] - 1):
        for j in range(w.shape[1]):
            if (i + j) % 2 == c:
                w[i, j] = np.sin(w[i - 1, j]) * w[i + 1, j] + u[0, 0]
    return u


def in_branches_of_a_loop(u, c):
    u = u.copy()
    for t in range(3):
        if t % 2 == c:
            for i in range(c, u.shape[0] - 1, 2):
                u[i] = u[i] * u[i + 1]
        else:
            for i in range(1 - c, u.shape[0] - 1, 2):
                u[i + 1] += np.sin(u[i])
    return u


def counted_from_the_end(u, c):
    """u[-1] is an element of another remainder, or of the same one: that depends on how many there are."""
    u = u.copy()
    for i in range(0, u.shape[0], 2):
        u[i, 0] = u[i - 1, 0] * u[i - 2, 1] + u[-i - 1, 0] * (c + 1)
    return u


def symmetric_in_a_view(u, c):
    n = min(u.shape)
    a = np.zeros((n + 1, n + 1))
    b = a[1:, 1:]
    for i in range(n):
        for j in range(i, n):
            b[i, j] = u[i, j] * u[j, i]
            b[j, i] = b[i, j] * (0.5 + c)
    return a


@pytest.mark.parametrize("shape", [(6, 7), (7, 4), (3, 3), (1, 2), (5, 0), (0, 3)])
@pytest.mark.parametrize("function", [through_a_view, in_branches_of_a_loop, counted_from_the_end, symmetric_in_a_view])
def test_views_branches_and_other_layouts(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(shape))
    base = rng.uniform(0.3, 1.0, shape)
    g = grad(function, wrt="u", jit=False)
    for u in (base, np.asfortranarray(base), base[::-1, ::-1], base.astype(np.float32)):
        for c in (0, 1):
            try:
                wanted = function(u, c)
            except IndexError:
                with pytest.raises(IndexError):
                    g(u, c)
                continue
            single = u.dtype == np.float32
            np.testing.assert_allclose(g(u, c), wanted, rtol=1e-5 if single else 1e-13)
            v, direction = rng.normal(size=wanted.shape).astype(wanted.dtype), rng.normal(size=shape)
            wide = u.astype(float)
            phi = lambda t, x=wide, d=direction, v=v, c=c: float(np.vdot(function(x + t * d, c), v))
            want, error = slope(phi)
            got = np.vdot(g.backward(u, c, v=v), direction)
            assert got == pytest.approx(want, rel=1e-4 if single else 1e-8, abs=10 * error + (1e-4 if single else 0.0))


def by_rows_of_a_table(x, s):
    n = x.shape[0]
    y = np.zeros(n)
    for i in range(n):
        row = s[i]
        y[(i + row[0]) % n] = np.sin(x[i])
    return y * x


def by_rows_in_turn(x, s):
    n = x.shape[0]
    y = np.zeros((2, n))
    for i in range(n):
        row = s[i]
        for k in range(2):
            place = (i + row[k]) % n
            y[k, place] = np.sin(x[i]) * (k + 1)
    return y * x


@pytest.mark.parametrize("function", [by_rows_of_a_table, by_rows_in_turn])
def test_a_row_that_each_iteration_names_is_no_table(function: Callable[..., Any]) -> None:
    """Its numbers are others in the next iteration: two of them may store to one place."""
    x, s = np.linspace(0.3, 1.9, 7), np.array([[0, 1], [-1, 0], [-2, 2], [3, -3], [0, 0], [1, 4], [1, 1]])
    v = np.cos(np.arange(function(x, s).size)).reshape(function(x, s).shape)
    got = grad(function, wrt="x", jit=False).backward(x, s, v)
    for k, unit in enumerate(np.eye(x.size)):
        up, down = (np.sum(v * function(x + step * unit, s)) for step in (1e-6, -1e-6))
        assert got[k] == pytest.approx((up - down) / 2e-6, abs=1e-7)
