"""What one thread does alone: numbers, and what has to go in order; never loops whose iterations are apart."""

import ast
from typing import Any

import numpy as np
import pytest
from corpus import FLOAT64, PROGRAMS

from srcgrad import grad

NAMED = {program.name: program for program in PROGRAMS}
APART = (
    "stages.rolled stages.summed_up_and_then_squared loops.along_a_diagonal in_place.transpose_in_place physics.adam "
    "physics.heat elimination.eliminated"
).split()


def loops_of_one_thread(text: str) -> list[str]:
    """The kernels that one thread runs, and that have a loop in them."""
    module = ast.parse(text)
    calls = [node.func for node in ast.walk(module) if isinstance(node, ast.Call)]
    alone = {f.value.id for f in calls if isinstance(f, ast.Attribute) and f.attr == "by_one"}  # type: ignore[attr-defined]
    made = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name in alone]
    return [f.name for f in made if any(isinstance(node, (ast.For, ast.While)) for node in ast.walk(f))]


def source(f: Any, *args: Any, **keywords: Any) -> str:
    return grad(f, target="cuda").source(*args, **keywords)


@pytest.mark.parametrize("name", APART)
def test_of_the_corpus(name: str) -> None:
    program = NAMED[name]
    args, keywords = program.arguments(0, FLOAT64)
    text = source(program.function, *args, **keywords)
    assert loops_of_one_thread(text) == [], text


def products_of_rows(x):
    return np.prod(np.sin(x), axis=1)


def products_of_columns(x):
    return np.prod(np.sin(x), axis=0)


def halves(x):
    half = x.shape[0] // 2
    y = np.zeros_like(x)
    for i in range(half):
        for j in range(x.shape[1]):
            y[i + half, j] = x[i, j] * x[i + half, j]
    return y


def shifted_by_a_number(x):
    return np.roll(x, x.shape[0] // 3, axis=0) * x


@pytest.mark.parametrize(
    "f", [products_of_rows, products_of_columns, halves, shifted_by_a_number], ids=lambda f: f.__name__
)
def test_others(f: Any) -> None:
    x = np.linspace(0.1, 1.0, 24).reshape(6, 4)
    text = source(f, x)
    assert loops_of_one_thread(text) == [], text
    v = np.random.default_rng(3).normal(size=f(x).shape)
    got = grad(f, target="cuda").backward(x, v)
    np.testing.assert_allclose(got, grad(f, jit=False).backward(x, v), rtol=1e-12, atol=1e-14)


def test_what_has_to_go_in_order_does() -> None:
    def walk(x, y):
        s = 0.0
        for i in range(x.size):
            s = 0.5 * np.sin(s + x[i])
        return s * y

    x = np.linspace(0.1, 1.0, 5)
    assert loops_of_one_thread(source(walk, x, x))


def horner(x, c):
    y = np.zeros_like(x)
    for k in range(len(c)):
        y = y * x + c[k]
    return y


def test_what_begins_as_a_copy_is_a_number_of_the_thread() -> None:
    x, c, v = np.linspace(0.1, 1.0, 5), np.array([0.5, -1.0, 2.0]), np.linspace(-1.0, 1.0, 5)
    text = source(horner, x, c)
    assert text.count("@kernel") == 1 and "y_b = v[i]" in text, text
    for got, want in zip(*(grad(horner, **how).backward(x, c, v) for how in ({"target": "cuda"}, {"jit": False}))):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def marched(x, steps):
    """What a loop binds that surely runs is no value of the iteration before."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        t = x[i]
        for _ in range(12):
            s = np.cos(t) - 0.3 * t
            t += 0.1 * s
        out[i] = s * steps
    return out


def test_what_a_loop_binds_that_surely_runs_is_the_threads_own() -> None:
    x, v = np.linspace(0.1, 1.0, 21), np.linspace(-1.0, 1.0, 21)
    assert source(marched, x, 2.0).count("@kernel") == 1
    f, plain = grad(marched, target="cuda", wrt="x"), grad(marched, jit=False, wrt="x")
    np.testing.assert_allclose(f(x, 2.0), plain(x, 2.0), rtol=1e-12)
    np.testing.assert_allclose(f.backward(x, 2.0, v), plain.backward(x, 2.0, v), rtol=1e-12)
