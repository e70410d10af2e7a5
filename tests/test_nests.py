"""Nests that run nobody knows how often: what they keep is one array each time, made where it is kept."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import from_text, slope

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(7)
X, Y = RNG.uniform(0.5, 1.5, 6), RNG.uniform(2.1, 3.0, 6)


def conjugate_gradients(b, c):
    """By slices and loops: a matrix with c on its diagonal and -1 beside it."""
    n = b.size
    x, r, p, q = np.zeros(n), b.copy(), b.copy(), np.zeros(n)
    rs = r @ r
    while True:
        for i in range(n):
            q[i] = c[i] * p[i]
            if i > 0:
                q[i] -= p[i - 1]
            if i < n - 1:
                q[i] -= p[i + 1]
        pq = 0.0
        for i in range(n):
            pq += p[i] * q[i]
        x = x + rs / pq * p
        new = 0.0
        for i in range(n):
            r[i] -= rs / pq * q[i]
            new += r[i] * r[i]
        if new < 1e-9:
            break
        p = r + new / rs * p
        rs = new
    return x


def newton_in_place(x, y):
    root = y.copy()
    while True:
        big = 0.0
        for i in range(x.size):
            d = root[i] ** 3 - x[i] * y[i]
            root[i] -= d / (3.0 * root[i] ** 2)
            big = max(big, abs(d))
        if big < 1e-12:
            return root


def around_a_ring(x, y):
    n, h, t, u = x.size, 0.1, 0.0, x.copy()
    k = np.zeros(n)
    while t < 0.5:
        for i in range(n):
            k[i] = np.sin(u[(3 * i + 1) % n] * u[i]) - y[i] * u[i]
        most = 0.0
        for i in range(n):
            most = max(most, abs(h * k[i]))
        for i in range(n):
            u[i] += h * k[i]
        t += h
        h *= 0.8 if most > 0.1 else 1.1
    return u


def a_square_each_time(x, y):
    n, u, s = x.size, np.outer(x, y), 0.0
    for step in range(9):
        s = 0.0
        for i in range(n):
            for j in range(1, n):
                u[i, j] = np.tanh(u[i, j] * u[i, j - 1])
                s += u[i, j] * u[i, 0]
        if s < 0.5 + step:
            break
    return u * s


def longer_each_time(x, y):
    u, m = x.copy(), 1
    while u[0] > 0.2:
        for i in range(m):
            u[i] = np.sin(u[i]) * np.cos(0.1 * y[i] * u[i])
        m = min(m + 2, x.size)
    return u


def rows_of_several_lengths(x, y):
    u, k = x.copy(), 0
    while k < 3:
        for i in range(x.size):
            s = 0.0
            for j in range(i):
                s = np.tanh(s + u[j] * y[i])
            u[i] += 0.2 * s
        k += 1
    return u


def made_in_each(x, y):
    u = x.copy()
    while u @ u > 1.0:
        new = np.zeros(x.size)
        for i in range(1, x.size):
            new[i] = 0.9 * np.sin(u[i]) + 0.1 * u[i - 1]
        new[0] = 0.5 * u[0]
        w = new * y
        u = new + 0.01 * np.cos(w) * w
    return u


def through_a_view(x, y):
    """What is kept of `new` is as it was ahead of the write through the view."""
    u, k = x.copy(), 0
    while k < 3:
        new = np.zeros(x.size)
        w = new[1:]
        for i in range(x.size - 1):
            w[i] = np.sin(u[i] * y[i])
        for i in range(x.size):
            u[i] = new[i] * new[i] + 0.5 * u[i]
        w *= 0.5
        u += new * new * y
        k += 1
    return u


def handed_to_the_next(x, y):
    """The last step's array is read while this one's is made."""
    u, last, k = x.copy(), x.copy(), 0
    while k < 3:
        new = np.empty(x.size)
        for i in range(x.size):
            new[i] = np.sin(u[i]) * last[i]
        for i in range(x.size):
            u[i] = new[i] ** 2 + y[i]
        last = new
        k += 1
    return last * u


def none_at_all(x, y):
    u = x.copy()
    while u[0] > 100.0:
        for i in range(x.size):
            u[i] = np.sin(u[i])
    return u * y


PROGRAMS = [
    conjugate_gradients, newton_in_place, around_a_ring, a_square_each_time, longer_each_time, rows_of_several_lengths,
    made_in_each, through_a_view, handed_to_the_next, none_at_all,
]  # fmt: skip


def source(function: Callable[..., Any], kind: str = "backward") -> str:
    return grad(function).source(X, Y, kind=kind)


@pytest.mark.parametrize("function", PROGRAMS)
def test_gradient(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), X, Y)


@pytest.mark.parametrize("function", [a_square_each_time, through_a_view, handed_to_the_next, none_at_all])
def test_compiled(function: Callable[..., Any]) -> None:
    check_grad(grad(function), X, Y)


@pytest.mark.parametrize("function", [conjugate_gradients, a_square_each_time, made_in_each])
def test_the_halves_of_a_pair(function: Callable[..., Any]) -> None:
    f = grad(function)
    y, pullback = f.vjp(X, Y)
    v = RNG.normal(size=y.shape)
    for got, want in zip(pullback(v), grad(function, jit=False).backward(X, Y, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("function", PROGRAMS[:-1])
def test_nothing_is_pushed_value_by_value_within_a_nest(function: Callable[..., Any]) -> None:
    depth: list[int] = []
    for line in source(function).splitlines():
        indent = len(line) - len(line.lstrip())
        while depth and indent <= depth[-1]:
            depth.pop()
        if line.lstrip().startswith(("for ", "while ")):
            depth.append(indent)
        assert not (re.search(r"= push\(", line) and len(depth) > 1), line


def test_what_is_final_in_its_nest_is_kept_behind_it_and_once() -> None:
    text = source(conjugate_gradients)
    kept = re.findall(r"(\w+)_top = (?:push_array|make_room)\(", text)
    assert sorted(kept) == ["p_kept", "q_kept", "r_kept"]


def test_memory_that_is_made_and_kept_in_each_iteration_is_made_on_its_stack() -> None:
    text = source(made_in_each)
    assert re.search(r"new_kept_top = make_room\(new_kept, new_kept_top, (.+)\)\n +new = kept_array\(new_kept, ", text)
    assert "push_array(new_kept" not in text


def test_divisions_of_indices_are_kept_once_for_all_iterations() -> None:
    ahead, _ = source(around_a_ring).split("while ")
    assert re.search(r"t\w*_kept = np\.empty\(\w+, np\.int64\)", ahead)


def test_a_branch_that_is_rarely_taken_keeps_what_it_needs() -> None:
    def rare(x, y):
        u, k = x.copy(), 0
        while k < 5:
            for i in range(x.size):
                if u[i] > 1.4:
                    u[i] = np.sin(u[i]) * y[i]
            k += 1
        return u

    text = source(rare)
    assert "make_room" not in text.split("# reverse sweep")[0].split("if ")[1]
    check_grad(grad(rare, jit=False), X, Y)


def test_stacks_that_grow_many_times() -> None:
    """Past the size from which they are moved by the system."""

    def shrunk(x):
        u = x.copy()
        while u[0] > 0.5:
            new = np.empty(x.size)
            for i in range(x.size):
                new[i] = np.sin(u[i])
            for i in range(x.size):
                u[i] = new[i] * new[i] / u[i]
        return u

    x = np.linspace(1.0, 1.5, 700_001)
    u, slope = x.copy(), np.ones_like(x)
    while u[0] > 0.5:
        slope *= np.sin(2.0 * u) / u - (np.sin(u) / u) ** 2
        u = np.sin(u) ** 2 / u
    for _ in range(2):  # in memory of the call before
        np.testing.assert_allclose(grad(shrunk).backward(x, np.ones_like(x)), slope, rtol=1e-11, atol=1e-13)


# ------------------------------------------------------------------------------------------------- random programs

NAMES = ("u", "w", "z")


class Writer:
    """One program at random: a loop that ends by what it computes, with nests in it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def program(self) -> str:
        heads = ["    while c < 3 and abs(s) < 0.99:", "    while True:", "    for step in range(4):"]
        head = self.random.choice(heads)
        stop = [] if "c <" in head else ["        if c > 2 or abs(s) > 0.97:", "            break"]
        body = self.block(2, self.random.randrange(1, 4))
        result = self.random.choice(["u", "w + z", "u * s + w"])
        start = ["n, c, s = x.size, 0, 0.5", "u, w, z = x.copy(), y * 1.0, np.zeros(x.size)"]
        lines = [*("    " + line for line in start), head, *body, "        c += 1", *stop, f"    return {result}"]
        return "import numpy as np\n\ndef f(x, y):\n" + "\n".join(lines) + "\n"

    def block(self, indent: int, count: int) -> list[str]:
        p, out, choice = "    " * indent, [], self.random.choice
        for _ in range(count):
            what, a, b = self.random.random(), choice(NAMES), choice(NAMES)
            if what < 0.6:
                ranges = ["n"] * 4 + ["1, n", "n - 1, -1, -1", "0, n, 2", "c % n, n"]
                out += [f"{p}for i in range({choice(ranges)}):", *self.nest(indent + 1, "i", 0)]
            elif what < 0.75:
                out.append(f"{p}{a} = {choice([f'np.sin({a} * {b})', f'0.5 * {b} + s * {a}', f'{b}.copy()'])}")
            elif what < 0.85:
                new = [f"e = np.{choice(['empty', 'zeros'])}(n)", "for i in range(n):", f"    e[i] = {self.value('i')}"]
                out += [p + line for line in (*new, f"{a}[:] = e * 0.7")]
            elif what < 0.92:
                out += [f"{p}if {a}[0] > {b}[n - 1]:", *self.block(indent + 1, 1)]
            else:
                out.append(f"{p}u, w = w, u")
        return out

    def nest(self, indent: int, i: str, depth: int) -> list[str]:
        p, out, choice = "    " * indent, [], self.random.choice
        for _ in range(self.random.randrange(1, 4)):
            what, a = self.random.random(), choice(NAMES)
            if what < 0.4:
                out.append(f"{p}{a}[{self.place(i)}] = np.tanh({self.value(i)})")
            elif what < 0.55:
                out.append(f"{p}{a}[{self.place(i)}] += 0.3 * np.sin({self.value(i)})")
            elif what < 0.75:
                out.append(f"{p}s = np.tanh(s + {self.value(i)})")
            elif what < 0.88 or depth:
                out += [f"{p}if {self.value(i, 1)} > {self.value(i, 1)}:", f"{p}    {a}[{i}] = s * {self.value(i)}"]
            else:
                out += [f"{p}for j in range({choice(['n', '3', i])}):", *self.nest(indent + 1, "j", 1)]
        return out

    def place(self, i: str) -> str:
        return self.random.choice([i] * 4 + [f"{i} - 1", f"({i} + 1) % n", f"n - 1 - {i}", "0"])

    def value(self, i: str, depth: int = 0) -> str:
        what = self.random.random()
        if depth > 2 or what < 0.4:
            return f"{self.random.choice(NAMES)}[{self.place(i)}]"
        if what < 0.5:
            return self.random.choice(["s", "0.7"])
        if what < 0.65:
            return f"np.{self.random.choice(['sin', 'arctan'])}({self.value(i, depth + 1)})"
        return f"({self.value(i, depth + 1)} {self.random.choice('+-*')} {self.value(i, depth + 1)})"


@pytest.mark.parametrize("seed", range(28))
def test_random_programs(seed: int) -> None:
    f = from_text(Writer(seed).program(), "f")
    x, y = X[: 3 + seed % 4], Y[: 3 + seed % 4]
    v = np.cos(np.arange(x.size))
    got = grad(f, jit=False).backward(x, y, v)
    along = np.sin(np.arange(x.size)), np.cos(3.0 * np.arange(x.size))
    want, _ = slope(lambda h: v @ f(x + h * along[0], y + h * along[1]), width=1e-3)
    assert sum(g @ d for g, d in zip(got, along, strict=True)) == pytest.approx(want, rel=1e-6, abs=1e-7)
