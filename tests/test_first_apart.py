"""Names that are a number ahead of a loop and an array at its end, or get more axes: the first iterations apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_text

from srcgrad import check_grad, grad
from srcgrad.errors import UnsupportedError

X = np.array([0.5, 1.2, 0.8, 0.3, 0.9])


def newton(p):
    x = 1.0
    for _ in range(100):
        dx = (x**3 - p) / (3 * x**2)
        x = x - dx
        if np.max(np.abs(dx)) < 1e-12:
            break
    return x


def legendre(x, n=5):
    p0, p1 = 1.0, x
    for k in range(2, n + 1):
        p0, p1 = p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
    return p1


def clenshaw(x):
    c = x[:4] * 0.5
    b1 = b2 = 0.0
    for ck in c[:0:-1]:
        b1, b2 = 2 * x * b1 - b2 + ck, b1
    return x * b1 - b2 + c[0]


def fixed_point(x):
    z, d = 0.0, 1.0
    while d > 1e-9:
        new = np.tanh(0.5 * z + x)
        d = np.max(np.abs(new - z))
        z = new
    return z


def damped(x):
    z = 0.0
    for _ in range(50):
        new = np.cos(z * x)
        if np.max(np.abs(new - z)) < 1e-6:
            break
        z = new
    return z


def before_and_now(x):
    z = 0.0
    for _ in range(50):
        before = z
        z = np.cos(z * x)
        if np.max(np.abs(z - before)) < 1e-8:
            break
    return z


def of_another_sum(x):
    """The sum of a number is not that of an array of it."""
    s = 1.0
    for k in range(len(x) + 20):
        s = np.cos(np.sum(s) * x * 0.2) + k * 0.01
    return s


def while_true(x):
    z, k = 0.5, 0
    while True:
        z = z * x + np.sum(z) * 0.1
        k += 1
        if k > 4:
            break
    return z * k


def in_a_loop(x):
    t = 0.0
    for i in range(len(x)):
        u = 1.0
        for _ in range(i + 1):
            u = np.sin(u * x) + np.mean(u)
        t = t + u * i
    return t


def every_second(x):
    u = 2.0
    for i in range(len(x)):
        if i % 2:
            continue
        u = u * x + np.sum(u)
    return u


def taking_turns(x):
    a, b = 1.0, 2.0
    for _ in range(len(x)):
        a, b = b, np.tanh(a * x) + b
    return a * b


def returned_from_within(x):
    z = 1.0
    for k in range(30):
        z = 0.5 * (z + x / z)
        if np.sum(np.abs(z * z - x)) < 1e-8:
            return z * k
    return z


def a_trajectory(x):
    path = np.array(x)
    for _ in range(30):
        x = x + 0.1 * np.sin(x)
        path = np.vstack((path, x))
        if path[-1, 0] > 1.5:
            break
    return np.sum(path[:, 0] ** 2) + np.sum(path[-2])


def columns(x):
    path = np.array(x)
    for _ in range(len(x) + 2):
        x = x * 0.9
        path = np.column_stack((path, x))
    return path * 2.0


def a_product(x):
    m = x
    for k in range(len(x)):
        m = np.outer(m, x) if m.ndim == 1 else m @ np.outer(x, x) * (k + 1)
    return m


PROGRAMS = [
    newton, legendre, clenshaw, fixed_point, damped, before_and_now, of_another_sum, while_true, in_a_loop,
    every_second, taking_turns, returned_from_within, a_trajectory, columns, a_product,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_plain(function: Callable[..., Any]) -> None:
    g = grad(function, jit=False)
    check_value_and_grad(g, X, rtol=1e-12)


@pytest.mark.parametrize("function", [newton, damped, a_trajectory])
def test_compiled(function: Callable[..., Any]) -> None:
    check_value_and_grad(grad(function), X, rtol=1e-12, at_once=True)


def test_written_once_more_and_not_fifty_times() -> None:
    source = grad(before_and_now, jit=False).source(X)
    assert source.count("cos(") == 3  # once to be imported
    assert "50 > 0" not in source


@pytest.mark.parametrize("jit", [False, True])
def test_loops_that_end_too_early(jit: bool) -> None:
    for function, x, text in (
        (taking_turns, X[:0], "number where this loop runs less than 1 times"),
        (taking_turns, X[:1], "number where this loop runs less than 2 times"),
        (a_product, X[:0], "m is an array of 1 axis where this loop runs less than 1 times, and one of more elsewhere"),
        (damped, X * np.inf, "invalid"),
    ):
        if text == "invalid":  # it does not stop, as NumPy finds nan, which is not less
            assert np.isnan(grad(function, jit=jit)(x)).all()
            continue
        with pytest.raises(ValueError, match=text):
            grad(function, jit=jit)(x)


def stops_at_once(x):
    z = 0.0
    for _ in range(50):
        new = x * 1e-3
        if np.max(np.abs(new - z)) < 1e-2:
            break
        z = new
    return z


def test_a_loop_that_stops_at_once() -> None:
    with pytest.raises(ValueError, match="z is a number where this loop stops in iteration 1, and an array elsewhere"):
        grad(stops_at_once, jit=False)(X)


def never_the_same(x):
    z = 1.0
    for k in range(len(x)):
        if k % 2:
            z = np.sum(z)
        else:
            z = z * x
    return z


def test_what_does_not_become_one_array_is_refused() -> None:
    with pytest.raises(
        UnsupportedError, match="z is (a number at the beginning of the loop|of another kind by the path taken)"
    ):
        grad(never_the_same, jit=False)(X)


def test_programs_that_are_drawn() -> None:
    rng, checked = np.random.default_rng(8), 0
    for _ in range(28):
        f = from_text(drawn(rng), "f")
        try:
            check_value_and_grad(grad(f, jit=False), X, at_once=True)
        except UnsupportedError:  # a number or an array by the path taken
            continue
        checked += 1
    assert checked > 21


def drawn(rng: np.random.Generator) -> str:
    statement = lambda: str(
        rng.choice(
            [
                "a = 0.5 * a * x + b",
                "b = np.sum(a) * 0.1",
                "a, b = b, np.sin(a + x)",
                "b = 0.5 * a - 0.25 * b",
                "c = c + np.mean(b)",
                "c = np.max(a) - 0.5 * c",
                "a = np.tanh(b * x)",
            ]
        )
    )
    leave = str(rng.choice(["if k == 3: break", "if k == 1: continue", "if np.max(a) > 1.3: break", "pass"]))
    head = str(rng.choice(["for k in range(6):", "for k, w in enumerate(x):", "while k < 5:\n        k += 1"]))
    return f"""import numpy as np
def f(x):
    a, b, c, k = 1.0, 0.5, 0.25, 0
    {head}
        {statement()}
        {statement()}
        {leave}
        {statement()}
    return x * (a + b) + c
"""


class Filter:
    """The attributes of its last step are first set by that step."""

    def __init__(self, x: Any, p: Any) -> None:
        self.x, self.p = x, p

    def step(self, z: Any) -> None:
        self.innovation = z - self.x
        self.gain = self.p / (self.p + 0.3)
        self.x = self.x + self.gain * self.innovation
        self.p = (1.0 - self.gain) * self.p + 0.01


def filtered(z, p):
    k = Filter(0.0 * p, p)
    s = 0.0
    for v in z:
        k.step(v)
        s = s + k.x * k.gain
    return s + k.innovation


def keys_in_a_loop(z, p):
    d = {}
    s = 0.0
    for v in z:
        d["last"] = v * p
        s = s + d["last"] ** 2
    return s + d["last"]


def keys_in_a_while_loop(z, p):
    d, i = {}, 0
    while i < len(z):
        d["last"] = z[i] * p + (d["last"] if i > 0 else 0.0)
        i += 1
        if d["last"] > 1.0:
            break
    return d["last"]


def set_in_a_loop(z, p):
    s = {0}
    for _ in range(len(z)):
        s.add(1)
    return z[0] * p * len(s)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("f", [filtered, keys_in_a_loop, keys_in_a_while_loop, set_in_a_loop], ids=lambda f: f.__name__)
def test_attributes_and_keys_that_the_first_iteration_sets(f: Callable[..., Any], count: int) -> None:
    assert grad(f, jit=False)(X[:count], 0.7) == pytest.approx(f(X[:count], 0.7), rel=1e-14)
    check_grad(grad(f, jit=False), X[:count], 0.7)


@pytest.mark.parametrize("f", [filtered, keys_in_a_loop, keys_in_a_while_loop], ids=lambda f: f.__name__)
def test_attributes_and_keys_of_a_loop_that_does_not_run(f: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="without some of its keys or attributes"):
        grad(f, jit=False).backward(X[:0], 0.7)
