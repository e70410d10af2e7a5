"""Loops that ask whether they are at an end of their range go over the ends apart."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_text, slope

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(96)


def on_a_ring(x, y):
    """Lorenz 96."""
    n, d, u = x.size, np.zeros(x.size), x.copy()
    for _ in range(3):
        for i in range(n):
            d[i] = (u[(i + 1) % n] - u[(i - 2) % n]) * u[(i - 1) % n] - y[i] * u[i]
        for i in range(n):
            u[i] += 0.1 * d[i]
    return u


def from_the_end(x, y):
    s = 0.0
    for i in range(x.size):
        s += x[i] * y[i - 1] * x[(i + 3) % x.size]
    return s


def on_a_torus(x, y):
    n, m = x.size, y.size
    u = np.outer(x, y)
    new = np.empty((n, m))
    for _ in range(2):
        for i in range(n):
            for j in range(m):
                new[i, j] = u[i, j] + 0.1 * np.sin(
                    u[(i + 1) % n, j] + u[i - 1, j] + u[i, (j + 1) % m] + u[i, (j - 1) % m] - 4.0 * u[i, j]
                )
        u, new = new, u
    return u


def with_walls(x, y):
    n, u = x.size, x.copy()
    for _ in range(3):
        w = u.copy()
        for i in range(n):
            left = w[i - 1] if i > 0 else 0.5 * w[i]
            if i == n - 1:
                right = y[i]
            else:
                right = w[i + 1]
            u[i] = w[i] + 0.2 * np.tanh(left - 2.0 * w[i] + right)
    return u


def downwards(x, y):
    """Back substitution of a system with three diagonals, around the end."""
    n, u = x.size, np.zeros(x.size)
    for i in range(n - 1, -1, -1):
        if i < n - 2:
            u[i] = np.sin(x[i] - 0.3 * u[i + 1] * u[(i + 2) % n])
        else:
            u[i] = x[i] * y[i - n + 1]
    return u


def of_both_ends(x, y):
    s, n = 0.0, x.size
    for i in range(n):
        if (0 < i and i < n - 1) or y[i] > 100.0:
            s = np.sin(s + x[i] * y[i])
        elif not i >= 2:
            s += x[i]
    return s


def moved_as_far_as_the_data_say(x, y):
    n, k, z = x.size, int(x[0] * 10.0), np.zeros(x.size)
    for i in range(n):
        z[(i + k) % n] += x[i] * y[(i + 1) % n]
    return z


PROGRAMS = [
    on_a_ring, from_the_end, on_a_torus, with_walls, downwards, of_both_ends, moved_as_far_as_the_data_say,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_gradient(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for n in (1, 2, 3, 4, 7):
        x, y = RNG.uniform(0.5, 1.5, n), RNG.uniform(0.5, 1.5, n)
        check_value_and_grad(f, x, y, rtol=1e-13)


@pytest.mark.parametrize("function", [on_a_ring, on_a_torus, downwards, of_both_ends])
def test_compiled(function: Callable[..., Any]) -> None:
    f = grad(function)
    for n in (1, 2, 5, 37):
        x, y = RNG.uniform(0.5, 1.5, n), RNG.uniform(0.5, 1.5, n)
        check_value_and_grad(f, x, y, rtol=1e-13)


@pytest.mark.parametrize("function", PROGRAMS[:-1])
@pytest.mark.parametrize("kind", ["primal", "backward"])
def test_the_middle_asks_nothing(function: Callable[..., Any], kind: str) -> None:
    text = grad(function).source(np.ones(5), np.ones(5), kind=kind)
    with order.without("split_ends"):
        whole = grad(function).source(np.ones(5), np.ones(5), kind=kind)
    middles = [body for body in innermost(text) if not re.search(r"np\.m(in|ax)imum", body[0])]
    assert len(innermost(text)) > len(innermost(whole))
    for head, *body in middles:
        index = re.match(r" *for (\w+)", head).group(1)  # type: ignore[union-attr]
        asks = rf"%|_before\b|_after\b|\bif .*\b{index} *[<>=]|\b[<>=]=? {index}\b"
        own = [line for line in body if "i_after" not in line and "i_before" not in line]
        assert not re.search(asks, "\n".join(own)), body


def innermost(text: str) -> list[list[str]]:
    """The loops with no loop inside, line by line."""
    lines = text.splitlines()
    depth = [len(line) - len(line.lstrip()) for line in lines]
    found = []
    for k, line in enumerate(lines):
        if line.lstrip().startswith("for "):
            end = next((e for e in range(k + 1, len(lines)) if depth[e] <= depth[k]), len(lines))
            if not any(other.lstrip().startswith("for ") for other in lines[k + 1 : end]):
                found.append(lines[k:end])
    return found


@pytest.mark.parametrize("condition", ["(i + 1) % n < n - 1", "(i - 1) % n > 0", "((i + 1) % n + 1) % n > 1"])
def test_what_is_asked_of_a_place_that_goes_around(condition: str) -> None:
    """In the middle (i + 1) % n is i + 1, of which nobody has asked how many indices are near the end."""
    lines = [
        "def f(x):",
        "    n, s = x.size, 0.0",
        "    for i in range(n):",
        f"        s += x[i] * x[((i + 1) % n + 1) % n] if {condition} else -3.0 * x[i]",
        "    return s",
    ]
    f = from_text("\n".join(lines), "f")
    g = grad(f, jit=False)
    for n in range(1, 7):
        x = RNG.normal(size=n)
        assert g(x) == pytest.approx(f(x), rel=1e-13)


def test_few_iterations_are_left_as_they_are() -> None:
    def of_six(x):
        s = 0.0
        for i in range(6):
            s += x[i] * x[(i + 1) % 6]
        return s

    assert "minimum" not in grad(of_six, jit=False).source(np.ones(6), kind="primal")
    check_grad(grad(of_six, jit=False), RNG.normal(size=6))


def test_a_range_that_the_body_changes_is_gone_over_once() -> None:
    def shrinking(x):
        n, s = x.size, 0.0
        for i in range(n):
            s += x[i - 1] * x[i]
            n = n - 1
        return s * n

    f = grad(shrinking, jit=False)
    x = RNG.normal(size=5)
    assert f(x) == shrinking(x)
    check_grad(f, x)


# ------------------------------------------------------------------------------------------------- random programs


class Writer:
    """A program at random, of loops whose ends are not as their middle."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def program(self) -> str:
        choice = self.random.choice
        lines = ["n, m, k, s = x.size, y.size, int(10.0 * y[0]), 0.5", "u, z = x.copy(), np.zeros(x.size)"]
        lines += ["a, b = np.outer(x, y), np.zeros((x.size, y.size))", "for step in range(2):"]
        for _ in range(self.random.randrange(1, 3)):
            i = choice(["n", "n", "n", "1, n", "n - 1", "n - 1, -1, -1"])
            j = choice(["m", "m", "1, m", "m - 1, -1, -1"])
            lines.append(f"    for i in range({i}):")
            if self.random.random() < 0.5:
                lines += self.body("        ", "i", "n", "z[{}]", self.random.randrange(1, 4))
            else:
                lines += [f"        for j in range({j}):"]
                lines += self.body("            ", "j", "m", "b[i, {}]", self.random.randrange(1, 4))
        lines += [choice(["    u, z = z, u", "    u[:] = 0.9 * z + u", "    a[:] = np.sin(b) + 0.5 * a"])]
        lines += [f"return {choice(['u + z', 'b @ y + z * s', 'np.sum(b, axis=1) * s + u'])}"]
        return "import numpy as np\n\ndef f(x, y):\n" + "".join(f"    {line}\n" for line in lines)

    def body(self, p: str, i: str, n: str, target: str, count: int) -> list[str]:
        choice, out = self.random.choice, []
        for _ in range(count):
            what, value = self.random.random(), self.value(i, n)
            there = target.format(choice([i, i, f"({i} + 1) % {n}", f"{i} - 1"]))
            if what < 0.4:
                out.append(f"{p}{there} = np.tanh({value})")
            elif what < 0.6:
                out.append(f"{p}{there} += 0.5 * {value}")
            elif what < 0.7:
                out.append(f"{p}s = np.tanh(s + {value})")
            else:
                out += [f"{p}if {self.condition(i, n)}:", *self.body(p + "    ", i, n, target, 1)]
                out += [f"{p}else:", *self.body(p + "    ", i, n, target, 1)] if what < 0.85 else []
        return out

    def place(self, i: str, n: str) -> str:
        far = self.random.randrange(1, 4)
        return self.random.choice(
            [i, i, f"({i} + {far}) % {n}", f"({i} - {far}) % {n}", f"{i} - 1", f"({i} + k) % {n}"]
        )

    def condition(self, i: str, n: str) -> str:
        k, near = self.random.randrange(4), self.random.choice
        ends = [f"{i} {near(['>', '>=', '==', '!='])} {k}", f"{i} {near(['<', '<=', '==', '!='])} {n} - {k}"]
        return near([*ends, *ends, f"0 < {i} < {n} - {k}", f"{i} < {k} or {i} > {n} - 2", f"not {i} - {k} >= 0"])

    def value(self, i: str, n: str, depth: int = 0) -> str:
        what, choice = self.random.random(), self.random.choice
        if depth > 2 or what < 0.4:
            array = f"a[{self.place('i', 'n')}, {self.place(i, n)}]" if i == "j" else f"u[{self.place(i, n)}]"
            return choice([array, array, array, "s", f"x[{self.place('i', 'n')}]"])
        if what < 0.55:
            return f"np.{choice(['sin', 'arctan'])}({self.value(i, n, depth + 1)})"
        x, y = self.value(i, n, depth + 1), self.value(i, n, depth + 1)
        return f"({x} if {self.condition(i, n)} else {y})" if what < 0.65 else f"({x} {choice('+-*')} {y})"


@pytest.mark.parametrize("seed", range(28))
def test_random_programs(seed: int) -> None:
    f = from_text(Writer(seed).program(), "f")
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1.0, 1.0, 1 + seed % 6), rng.uniform(-1.0, 1.0, 1 + seed % 4)
    v, along = np.cos(np.arange(x.size)), (np.sin(np.arange(x.size)), np.cos(3.0 * np.arange(y.size)))
    g = grad(f, jit=False)
    value, cotangents = g.value_and_backward(x, y, v) if seed % 2 else (g(x, y), g.backward(x, y, v))
    np.testing.assert_allclose(value, f(x, y), rtol=1e-12, atol=1e-13)
    want, _ = slope(lambda h: v @ f(x + h * along[0], y + h * along[1]), width=1e-3)
    got = sum(b @ d for b, d in zip(cotangents, along, strict=True))
    assert got == pytest.approx(want, rel=1e-6, abs=1e-7)
