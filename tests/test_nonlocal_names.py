"""Names of a function that functions in it assign."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_text

from srcgrad import UnsupportedError, check_grad, grad
from srcgrad.frontend.syntax.nonlocal_names import as_attributes

X = np.array([1.0, 2.0, 3.0])


def a_sum(x):
    s: float = 0.0

    def add(v):
        nonlocal s
        s = s + v * v

    for i in range(len(x)):
        add(x[i])
    return s


def an_array_and_a_count(x):
    c, n = x * 0.0, 0

    def add(v):
        nonlocal c, n
        c = c * v + x
        c *= 2.0
        n += 1

    for v in x:
        add(v)
    return np.sum(c) * n


def a_parameter(x, c=2.0):
    def add(v):
        nonlocal c
        c += v * v

    add(x[0])
    add(x[1])
    return [c for c in x][0] * c + (lambda c: c * 3.0)(x[2])


def two_functions_up(x):
    s = 0.0

    def outer(k):
        def inner(v):
            nonlocal s
            s += v * k

        for i in range(k):
            inner(x[i])

    outer(2)
    outer(3)
    return s * s


def calls_of_a_right_hand_side(x):
    calls = 0

    def rhs(t, y):
        nonlocal calls
        calls += 1
        return -y * x[0] + t

    y = x[1]
    for i in range(5):
        k = rhs(0.1 * i, y)
        y = y + 0.1 * rhs(0.1 * i + 0.05, y + 0.05 * k)
    return y * calls


def the_best_so_far(x):
    best, at = None, -1

    def see(i):
        nonlocal best, at
        if best is None or x[i] ** 2 > best:
            best = x[i] ** 2
            at = i

    for i in range(len(x)):
        see(i)
    return best * x[at]


def each_has_its_own(x):
    def counter():
        n = 0

        def step():
            nonlocal n
            n += 1
            return n

        return step

    one, other = counter(), counter()
    return x[0] * one() + x[1] * one() + x[2] * other()


def in_a_while_loop(x):
    u, nonlocals = 0.0, x[2]

    def go():
        nonlocal u
        u += x[1]

    while u < 3.0:
        go()
    return u * x[0] * nonlocals


def an_array_that_is_replaced(x):
    y = x.copy()

    def push(i, v):
        nonlocal y
        y = y.copy()
        y[i] = v * y[0]

    push(1, x[2])
    push(0, x[1])
    return np.sum(y * x)


PROGRAMS = [
    a_sum, an_array_and_a_count, a_parameter, two_functions_up, calls_of_a_right_hand_side, the_best_so_far,
    each_has_its_own, in_a_while_loop, an_array_that_is_replaced,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_assigned_from_within(function: Callable[..., Any]) -> None:
    g = grad(function, jit=False)
    check_value_and_grad(g, X, rtol=1e-6)


@pytest.mark.parametrize("function", [an_array_and_a_count, the_best_so_far])
def test_compiled(function: Callable[..., Any]) -> None:
    check_grad(grad(function), X)


SCOPES = """
def f(x, n):
    s = x
    def g(y, s=s):
        return s + n
    def h():
        nonlocal s, n
        def g(s):
            return s
        s, n = n, [s for s in range(n)]
        s = [s for n in s]
    h()
    return s + n
"""


def test_scopes() -> None:
    """What is bound further in has no part in it; defaults, and the first thing that a comprehension goes over, do."""
    node = as_attributes(ast.parse(SCOPES).body[0])
    assert ast.unparse(node) == (
        "def f(x, n):\n"
        "    nonlocals = namespace(n=n)\n"
        "    nonlocals.s = x\n\n"
        "    def g(y, s=nonlocals.s):\n"
        "        return s + nonlocals.n\n\n"
        "    def h():\n"
        "        pass\n\n"
        "        def g(s):\n"
        "            return s\n"
        "        nonlocals.s, nonlocals.n = (nonlocals.n, [s for s in range(nonlocals.n)])\n"
        "        nonlocals.s = [nonlocals.s for n in nonlocals.s]\n"
        "    h()\n"
        "    return nonlocals.s + nonlocals.n"
    ).replace("namespace", "<class 'types.SimpleNamespace'>")


def around():
    total = 0.0

    def f(x):
        nonlocal total
        total = total + x[0]
        return total

    return f


def walrus(x):
    s = 0.0

    def add(v):
        nonlocal s
        return (s := s + v)

    return add(x[0]) + add(x[1])


@pytest.mark.parametrize("function, name", [(around(), "total"), (walrus, "s")])
def test_refused(function: Callable[..., Any], name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{name} is nonlocal and assigned to"):
        grad(function, jit=False)(X)


def test_programs_that_are_drawn() -> None:
    """Two names, changed by two functions and by the one around them in loops and branches."""
    rng, x, checked = np.random.default_rng(3), np.array([1.0317, 2.0171, 2.9113]), 0
    for _ in range(21):
        f = from_text(drawn(rng), "f")
        g = grad(f, jit=False)
        if abs(f(x)) < 1e6:
            checked += 1
            check_value_and_grad(g, x, at_once=True)
        else:
            np.testing.assert_allclose(g(x), f(x), rtol=1e-12)
    assert checked > 14


def drawn(rng: np.random.Generator) -> str:
    change = lambda: str(
        rng.choice(["a = a * 0.5 + v", "b += a * v", "a, b = b, a", "b = b - v", "a -= 0.25 * b", "a = b"])
    )
    call = lambda: str(rng.choice(["one(x[k])", "other(x[k] * b)", "one(a)", "a = a + other(x[0])", "b = one(b)"]))
    return f"""def f(x):
    a, b = x[0], 1.0
    def one(v):
        nonlocal a, b
        {change()}
        if v > {rng.choice([0.5, 1.5, 2.5])}:
            {change()}
        return a + v
    def other(v, c=a):
        nonlocal {rng.choice(["b", "a, b"])}
        b = b * 0.5 + one(v * c)
        return b - v
    for k in range(3):
        {call()}
        if k != 1:
            {call()}
    {call().replace("k", "1")}
    return a * b + {rng.choice(["a", "one(b)"])}
"""
