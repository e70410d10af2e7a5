"""Grids: those without ends, whose sweeps gather around them, and those in whose interior a thread asks once."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import test_cuda_corpus
from corpus import FLOAT32, FLOAT64, PROGRAMS

from srcgrad import grad
from srcgrad.runtime import device

NAMED = {program.name: program for program in PROGRAMS}
PERIODIC = [name for name in NAMED if name.startswith("periodic.")]
GATHERED = "ring_by_steps ring_by_remainders ring_from_the_end added_to_the_next lorenz_96 reaction_on_a_torus"

# ------------------------------------------------------------------------------------------------------ without ends


@pytest.mark.parametrize("name, position", [(name, k) for name in PERIODIC for k in range(len(NAMED[name].cases))])
def test_without_ends(name: str, position: int) -> None:
    test_cuda_corpus.test_value_and_backward(NAMED[name], position, FLOAT64)


@pytest.mark.parametrize("name", ["periodic.ring_by_remainders", "periodic.reaction_on_a_torus"])
def test_pullbacks_and_single_precision(name: str) -> None:
    test_cuda_corpus.test_call_and_vjp(NAMED[name], 0, FLOAT64)
    test_cuda_corpus.test_value_and_backward(NAMED[name], 0, FLOAT32)


@pytest.mark.parametrize("name", GATHERED.split())
def test_nobody_adds_to_anothers_element_or_divides(name: str) -> None:
    args, keywords = NAMED[f"periodic.{name}"].arguments(0, FLOAT64)
    text = grad(NAMED[f"periodic.{name}"].function, target="cuda").source(*args, **keywords)
    kernels = text[: text.rindex("\ndef ")]
    assert "atomic" not in kernels and "%" not in kernels, text


def around_obstacles(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * (now[i + 1] - 2.0 * now[i] + now[i - 1])
            if i % 3 == 1:
                then[i] = rate
        now, then = then, now
    return now


def upwind(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(u.size):
            if 0 < i and i < u.size - 1:
                if now[i] > 0.2:
                    then[i] = now[i] - rate * now[i] * (now[i] - now[i - 1])
                else:
                    then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i])
        now, then = then, now
    return now


def with_sides(u, rate, steps):
    then = u.copy()
    for i in range(u.size):
        left = u[i - 1] if i > 0 else rate
        right = u[i + 1] if i + 1 < u.size else 0.0
        then[i] = u[i] + rate * left * right
    return then


def damped(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * (now[i + 1] - now[i - 1])
            then[i] = then[i] * np.sin(then[i])
        now, then = then, now
    return now


def of_a_matrix(u, rate, steps):
    now = u[:, None] * np.ones(5)
    then = now * rate
    for _ in range(steps):
        for i in range(1, now.shape[0] - 1):
            for j in range(1, now.shape[1] - 1):
                if (i + j) % 2 == 0:
                    then[i, j] = rate * (now[i + 1, j] * now[i, j + 1] - now[i - 1, j])
                if now[i, j] < 0.5:
                    then[i, j] += now[i, j - 1]
        now, then = then, now
    return now


BRANCHES = [around_obstacles, upwind, with_sides, damped, of_a_matrix]


@pytest.mark.parametrize("f", [f for f in BRANCHES if f is not upwind])
def test_nobody_adds_to_anothers_element_where_iterations_branch(f: Callable[..., Any]) -> None:
    text = grad(f, target="cuda").source(np.ones(9), 0.1, 2)
    assert not re.search(r"atomic\.add\((now_b|\w+, \(?i [+-])", text), text


@pytest.mark.parametrize("f", BRANCHES)
def test_sweeps_of_iterations_that_branch(f: Callable[..., Any]) -> None:
    on_gpu, plain = grad(f, target="cuda"), grad(f, jit=False)
    for size in (1, 2, 9):
        u = np.linspace(-0.5, 0.9, size) ** 2 + 0.1
        v = np.cos(np.arange(f(u, 0.1, 3).size)).reshape(f(u, 0.1, 3).shape)
        for got, want in zip(on_gpu.backward(u, 0.1, 3, v), plain.backward(u, 0.1, 3, v), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def diffused(u, rate, steps):
    for _ in range(steps):
        u = u + rate * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
    return u


def diffused_by_loops(u, rate, steps):
    n = len(u)
    now, then = u.copy(), np.zeros_like(u)
    for _ in range(steps):
        for i in range(n):
            then[i] = now[i] + rate * (now[(i + 1) % n] - 2.0 * now[i] + now[i - 1])
        now, then = then, now
    return now


@pytest.mark.parametrize("f", [diffused, diffused_by_loops])
def test_a_step_of_the_sweep_is_one_kernel(f: Callable[..., Any]) -> None:
    text = grad(f, wrt="u", target="cuda").source(np.ones(7), 0.1, 3)
    (loop,) = (node for node in ast.walk(ast.parse(text).body[-1]) if isinstance(node, ast.For))
    assert {type(stmt) for stmt in loop.body} == {ast.Assign, ast.Expr}, text  # two arrays change places, a kernel
    assert len(loop.body) == 2, text


# ---------------------------------------------------------------------------------------------------- their interior


def five_points(u, w, rate):
    for _ in range(2):
        flow = u[2:, 1:-1] - u[:-2, 1:-1] + u[1:-1, 2:] * u[1:-1, :-2]
        u[1:-1, 1:-1] += rate * w[1:-1, 1:-1] * flow - u[1:-1, 1:-1]
    return u * 1.0


def lopsided(u, w, rate):
    """Neighbours further to one side than to the other, along both axes."""
    n, m = u.shape
    y = np.zeros_like(u)
    for i in range(1, n - 3):
        for j in range(2, m - 1):
            y[i, j] = u[i - 1, j] * w[i + 3, j] + rate * u[i + 2, j - 2] * u[i + 1, j + 1] - u[i, j]
    return y


def seven_points(u, w, rate):
    for _ in range(2):
        middle = u[1:-1, 1:-1, 1:-1]
        near = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        u[1:-1, 1:-1, 1:-1] += rate * (near + u[1:-1, 1:-1, 2:] + w[1:-1, 1:-1, :-2] - 6.0 * middle) * middle
    return u * w


INTERIOR = {five_points: 2, lopsided: 2, seven_points: 3}


@pytest.mark.parametrize("f", INTERIOR, ids=lambda f: f.__name__)
def test_interior(f: Callable[..., Any]) -> None:
    plain, on_gpu = (grad(f, wrt=("u", "w", "rate"), **how) for how in ({"jit": False}, {"target": "cuda"}))
    for shape in [(9, 8, 7), (5, 5, 5), (4, 6, 3), (3, 3, 4), (2, 1, 5), (1, 3, 1), (0, 4, 2)]:
        rng = np.random.default_rng(3)
        u, w, v = (rng.normal(size=shape[: INTERIOR[f]]) for _ in range(3))
        for got, want in zip(on_gpu.backward(u, w, 0.3, v), plain.backward(u, w, 0.3, v), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("f", INTERIOR, ids=lambda f: f.__name__)
def test_a_thread_asks_once(f: Callable[..., Any]) -> None:
    """Where all neighbours are there nothing is asked any more: of three axes, nothing of the outer two."""
    u = np.ones((9, 8, 7)[: INTERIOR[f]])
    text = grad(f, wrt=("u", "w", "rate"), target="cuda").source(u, u, 0.3)
    split = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If) and node.orelse]
    interiors = [node for node in split if indices(node.test) == set("ij")]
    assert interiors, text
    for inner in (inner for node in interiors for stmt in node.body for inner in ast.walk(stmt)):
        assert not (isinstance(inner, ast.If) and (INTERIOR[f] == 2 or indices(inner.test) & set("ij"))), text


def indices(test: ast.expr) -> set[str]:
    return {node.id[0] for node in ast.walk(test) if isinstance(node, ast.Name)} & set("ijk")


def far_apart(x):
    y = np.zeros_like(x)
    for i in range(13, x.shape[0] - 13):
        for j in range(x.shape[1]):
            y[i, j] = x[i - 13, j] * x[i + 13, j]
    return y


def test_more_than_registers_hold() -> None:
    """What rows that are far apart span does not shrink with the elements that a thread takes."""
    x = np.random.default_rng(5).uniform(size=(28, 2))
    on_gpu, plain = grad(far_apart, target="cuda"), grad(far_apart, jit=False)
    for got, want in zip(on_gpu.value_and_backward(x, x), plain.value_and_backward(x, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


# ------------------------------------------------------------------------------------------------------------ shapes


@pytest.mark.parametrize(
    "lengths, block, grid",
    [
        ((215, 215, 215), (32, 8, 1), (7, 27, 54)),  # rows of 224 threads, and not of 256; four planes for a thread
        ((46, 46, 46), (64, 4, 1), (1, 12, 46)),
        ((3162, 3162), (256, 1), (13, 3162)),
        ((5, 100), (128, 2), (1, 3)),
        ((100, 3), (4, 64), (1, 2)),
        ((10_000_000,), (256,), (39_063,)),
    ],
)
def test_few_threads_are_idle(monkeypatch: pytest.MonkeyPatch, lengths: Any, block: Any, grid: Any) -> None:
    monkeypatch.setattr(device, "THREADS", 256)
    monkeypatch.setattr(device, "MOST_RESIDENT", 2112)
    monkeypatch.setattr(device.Launch, "configure", lambda launch, shared_bytes: None)
    launch = device.Launch(device.Kernel(lambda x: None, {}), lengths)
    assert (launch.block, launch.grid) == (block, grid)
