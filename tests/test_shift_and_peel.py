"""Loops that follow one another go through long ranges together, and what they hand on stays in registers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
import pytest
from support import assert_close, from_text, leaves

from srcgrad import grad
from srcgrad.backends import cpu
from srcgrad.passes import order
from srcgrad.passes.cpu import shift_and_peel
from srcgrad.runtime.ranges import parts_of
from srcgrad.runtime.stand_ins import STAND_INS
from srcgrad.runtime.vector_math.library import has_many_registers
from srcgrad.testing import check_grad

RNG = np.random.default_rng(22)


@contextmanager
def also_short(monkeypatch: Any) -> Iterator[None]:
    """Ranges of any length are divided, and at any cost."""
    with monkeypatch.context() as patch:
        patch.setattr(shift_and_peel, "LONG", 0)
        patch.setattr(shift_and_peel, "LONGER", 0)
        patch.setattr(shift_and_peel, "ENDS", 10**6)
        patch.setattr(shift_and_peel, "_accesses", lambda loop: 1000)
        yield


def stages(x, w):
    """Runge and Kutta's stages in buffers of the user's, each made of its own neighbour."""
    y, k, q = w.copy(), np.empty(len(x)), np.empty(len(x))
    for _ in range(2):
        k[0] = x[0]
        for i in range(1, len(x)):
            k[i] = x[i] * y[i - 1]
        z = y + 0.5 * k
        q[0] = x[0]
        for i in range(1, len(x)):
            q[i] = x[i] * z[i - 1]
        y += 0.3 * (k + 2.0 * q)
    return y


def heat(x, w):
    """… by slices, with walls."""

    def change(u):
        d = np.zeros_like(u)
        d[1:-1] = u[2:] - 2.0 * u[1:-1] + u[:-2]
        return d

    u = x * w
    for _ in range(2):
        k = change(u)
        q = change(u + 0.1 * k)
        u = u + 0.1 * (k + q) * w
    return u


def smooth(x, w):
    """Both loops change what the one before has read."""
    u = x.copy()
    a = np.zeros(len(x))
    for _ in range(2):
        for i in range(1, len(u) - 1):
            a[i] = 0.25 * (u[i - 1] + 2.0 * u[i] + u[i + 1] * w[i])
        for i in range(len(u) - 2, 0, -1):
            u[i] = a[i] ** 2 - 0.1 * (a[i + 1] - a[i - 1])
    return np.sum(u * a)


def left_over(x, w):
    """k[0] is what the second loop of the step before has left, and the last k what the first one has."""
    k, y = np.full(x.size, 0.5), x.copy()
    for _ in range(3):
        for i in range(1, x.size):
            k[i] = y[i - 1] * x[i]
        z = y + 0.1 * k * w
        for i in range(x.size - 1):
            k[i] = z[i + 1] * x[i]
        y = y + 0.2 * k * z
    return y, k


def around(x, w):
    """The first element waits for the last: no step can be made in one pass, but parts of it can."""
    y, k = x.copy(), np.zeros(len(x))
    for _ in range(2):
        for i in range(1, len(x)):
            k[i] = y[i] - y[i - 1]
        k[0] = y[0] - y[-1]
        for i in range(len(x) - 1):
            y[i] += 0.1 * k[i + 1] * w[i]
        y[-1] += 0.1 * k[0]
    return y


def multiples(x, w):
    """q is 2 p, but for the elements in which p begins later."""
    m, p, q, r = (np.zeros(len(x)) for _ in range(4))
    for _ in range(2):
        for i in range(len(x)):
            m[i] = x[i] * w[i] + r[i]
        for i in range(3, len(x)):
            p[i] = m[i]
        for i in range(len(x)):
            q[i] = 2.0 * m[i]
        for i in range(1, len(x)):
            r[i] = p[i - 1] + q[i - 1] * w[i]
    return r


def shrinking(x, w):
    """What was in the middle of a range is at the end of the next one."""
    m, y = np.zeros(len(x)), x.copy()
    for t in range(3):
        for i in range(1, len(x) - 4 * t - 1):
            m[i] = x[i] * y[i - 1]
        for i in range(1, len(x) - 4 * t):
            y[i] = y[i] + 0.3 * m[i] * w[i] + m[i - 1]
    return y


def patched(x, w):
    """p and q are made of m, but for its first element at different times."""
    m, p, q, r = (np.zeros(len(x)) for _ in range(4))
    for _ in range(2):
        for i in range(len(x)):
            m[i] = x[i] * w[i] + r[i]
        for i in range(len(x)):
            p[i] = m[i]
        m[0] = x[0] * 7.0
        for i in range(len(x)):
            q[i] = 2.0 * m[i]
        for i in range(1, len(x)):
            r[i] = p[i - 1] + q[i - 1] * w[i]
    return r


def rising(x, w):
    """… at its beginning."""
    m, y = np.zeros(len(x) + 2), x.copy()
    for t in range(3):
        for i in range(2 * t + 1, len(x)):
            m[i] = x[i] * y[i - 1]
        for i in range(2 * t, len(x) - 1):
            y[i] = y[i] + 0.3 * m[i] * w[i] + m[i + 1]
    return y


def once(x, w):
    """No loop is around these, and the sweep follows at once."""
    a, b, c = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
    for i in range(len(x)):
        a[i] = x[i] * x[i]
    for i in range(1, len(x)):
        b[i] = a[i] * a[i - 1]
    for i in range(1, len(x)):
        c[i] = b[i] * b[i - 1] * w[i]
    return c


def partly_cleared(x, w):
    """The sweep clears less of b's cotangent than it adds to."""
    a, b = np.ones(len(x)), np.full(len(x), 0.25)
    for _ in range(2):
        for i in range(1, len(x)):
            a[i] = b[i] * x[i] + 0.5 * b[i - 1]
        b[1:-1] = a[2:] * w[1:-1] - 0.5 * a[:-2]
    return a, b


def left_inside(x, w):
    """k as before, which is seen in the next step alone."""
    return left_over(x, w)[0]


def begins_late(x, w):
    """q is 2 p where the first loop has been, and not before."""
    p, q, r = np.ones(len(x)), np.zeros(len(x)), np.zeros(len(x))
    for _ in range(2):
        for i in range(2, len(x)):
            g = x[i] * w[i] + r[i]
            p[i] = g
            q[i] = 2.0 * g
        for i in range(1, len(x)):
            r[i] = p[i - 1] + q[i - 1] * w[i]
    return r


FUNCTIONS = [
    stages, heat, smooth, left_over, around, multiples, shrinking, patched, rising, once, partly_cleared, left_inside,
    begins_late,
]  # fmt: skip


def cotangent(y: Any) -> Any:
    made = [np.asarray(RNG.normal(size=np.shape(part)))[()] for part in leaves(y)]
    return tuple(made) if isinstance(y, tuple) else made[0]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_is_what_it_was(monkeypatch: Any, function: Callable[..., Any]) -> None:
    given = [tuple(RNG.uniform(0.3, 0.9, (2, n))) for n in (5, 14)]
    found = []
    with also_short(monkeypatch):
        f = grad(function, jit=False)
        for x, w in given:
            expected = function(x, w)
            assert "parts_of(" in f.source(x, w, kind="primal") + f.source(x, w)
            assert_close(f(x, w), expected, 1e-14, "result")
            check_grad(f, x, w)
            v = cotangent(expected)
            found.append((v, f.backward(x, w, v)))
    with order.without("shift_and_peel"):
        f = grad(function, jit=False)
        for (x, w), (v, got) in zip(given, found, strict=True):
            assert_close(got, f.backward(x, w, v), 1e-13, "loop after loop")


@pytest.mark.parametrize("function", [stages, heat, smooth])
def test_compiled(function: Callable[..., Any]) -> None:
    x, w = RNG.uniform(0.3, 0.9, 517), RNG.uniform(0.3, 0.9, 517)
    f, expected = grad(function), function(x, w)
    v = cotangent(expected)
    value, cotangents = f.value_and_backward(x, w, v)
    assert_close(value, expected, 1e-14, "result")
    assert_close(cotangents, grad(function, jit=False).backward(x, w, v), 1e-12, "gradient")


@pytest.mark.parametrize("seed", range(12))
def test_programs_at_random(monkeypatch: Any, seed: int) -> None:
    """Loops, single elements and slices, in any order: what each reads has to be what the others have left."""
    draw = random.Random(seed)
    f = from_text(_program(draw), "f")
    for n in (draw.randint(4, 7), draw.randint(8, 16)):
        rng = np.random.default_rng(seed)
        x, w = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
        expected = f(x, w)
        v = cotangent(expected)
        with also_short(monkeypatch):
            g = grad(f, jit=False)
            assert_close(g(x, w), expected, 1e-12, "result")
            found = g.backward(x, w, v)
        with order.without("shift_and_peel"):
            assert_close(found, grad(f, jit=False).backward(x, w, v), 1e-12, "gradient")


def _program(draw: random.Random) -> str:
    arrays = ["a", "b", "c", "d"][: draw.randint(2, 4)]

    def element(index: str) -> str:
        return f"{draw.choice([*arrays, 'x', 'w'])}[{index}]"

    def near(low: int, high: int) -> str:
        return f"i + {draw.randint(-low, high)}"

    lines = [f"{name} = {draw.choice(['x * 0.5', 'np.zeros(n)', 'w.copy()', 'np.full(n, 0.25)'])}" for name in arrays]
    steps: list[str] = []
    for _ in range(draw.randint(2, 6)):
        to, kind = draw.choice(arrays), draw.random()
        if kind < 0.25:
            at, come = draw.choice(["0", "1", "n - 1", "n - 2", "-1"]), draw.choice(["0", "1", "n - 1"])
            steps.append(f"{to}[{at}] {draw.choice(['=', '+='])} 0.5 * {element(come)}")
        elif kind < 0.35:
            steps.append(f"{to}[1:-1] = {element('2:')} - 0.5 * {element(':-2')}")
        else:
            low, high = draw.randint(0, 2), draw.randint(0, 2)
            down = f"n - 1 - {high}, {low} - 1, -1"
            steps.append(f"for i in range({down if draw.random() < 0.2 else f'{low}, n - {high}'}):")
            for _ in range(draw.randint(1, 2)):
                at = draw.choice(["i", "i", near(low, high)])
                terms = (f"{draw.choice([0.5, -0.3])} * {element(near(low, high))}" for _ in range(draw.randint(1, 3)))
                product = f" * {element('i')}" if draw.random() < 0.4 else ""
                steps.append(
                    f"    {draw.choice(arrays)}[{at}] {draw.choice(['=', '+=', '-='])} {' + '.join(terms)}{product}"
                )
    lines += ["for t in range(2):", *(f"    {line}" for line in steps)]
    lines.append(f"return {', '.join(arrays)}")
    return "import numpy as np\n\n\ndef f(x, w):\n    n = len(x)\n    " + "\n    ".join(lines) + "\n"


def test_what_nobody_else_reads_stays_in_registers() -> None:
    """Of the stages of a step, the state alone is read from memory, and written."""
    text = grad(stages).source(np.ones(9), np.ones(9), kind="primal")
    middle = text.partition("if part + 1 < parts:")[2].partition("low = ")[0]
    stored = re.findall(r"^ *(\w+\[.*\]) = ", middle, re.MULTILINE)
    assert [place for place in stored if "i_1" in place] == ["y[i_1 - 1]"], text


def rows(x, w):
    """Rows of a grid are in the first cache anyway."""
    y = np.zeros_like(x)
    z = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = x[i, j] * w[i, j - 1]
        for j in range(1, x.shape[1]):
            z[i, j] = y[i, j] * y[i, j - 1]
    return z


def dear(x, w):
    """Exponentials take longer than any memory."""
    y = np.exp(x)
    z = np.zeros_like(x)
    z[1:] = np.exp(y[1:] * y[:-1] * w[1:])
    return z


def choices(x, w):
    """What comes out of a branch LLVM hands on to nobody."""
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = x[i] if w[i] > 0.5 else x[i - 1] / w[i]
    z = np.zeros_like(x)
    for i in range(1, len(x)):
        z[i] = y[i] * y[i - 1]
    return z


@pytest.mark.parametrize("function", [rows, dear, choices])
def test_what_would_gain_nothing_is_left_alone(function: Callable[..., Any]) -> None:
    x = np.ones((9, 9) if function is rows else 9)
    f = grad(function)
    assert "parts_of(" not in f.source(x, x, kind="primal") + f.source(x, x, x)


@pytest.mark.parametrize("count", [0, 255, 256, 5000])
def test_in_how_many_parts(count: int) -> None:
    least = 256 if has_many_registers(cpu.cpu_target.target_context.codegen()) else 4096
    compiled = STAND_INS[parts_of]
    assert numba.njit(lambda n: compiled(n, 256, 4096))(count) == (2 if count >= least else 1)
    expected = 2 if least == 256 and count >= 256 else 1
    assert numba.njit(lambda n: compiled(n, 256, 0))(count) == expected  # never, where registers are few
    assert parts_of(count, 256, 4096) == (2 if count >= 256 else 1)
