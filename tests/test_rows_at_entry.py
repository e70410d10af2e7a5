"""Arrays that are handed in, of which a run-time number chooses one in a loop: in rows, where nobody writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.frontend.control import control

RNG = np.random.default_rng(8)
P = [RNG.normal(size=(3, 3)) for _ in range(4)]
STEPS = np.array([0, 3, 1, 1, -2, 2])
V = RNG.normal(size=3)


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(control, "MOST_TEXT_OF_ARRAYS", 1)
    yield


def products(P, v, steps):
    for k in steps:
        v = np.tanh(P[k] @ v)
    return v


def numbers(P, v, steps):
    total = 0.0
    for i in range(len(steps)):
        if v[i % 3] > -10.0:
            total += P[steps[i]][i % 3, 1] * v[i % 3] ** 2
    return total


def under_a_name(P, v, steps):
    kept = P[steps[0]]
    for k in steps:
        here = P[k]
        if v[0] > 0:
            kept = here
        v = kept.T @ v / 2 + here[:, 0]
    return v, kept


def of_a_function(P, v, steps):
    def row(matrices, k):
        return matrices[k][1]

    return np.sum([row(P, k) * v for k in steps], axis=0)


def written_behind(P, v, steps):
    for k in steps:
        v = np.sin(P[k] @ v)
    P[1][0] = v
    return v * P[1][0]


def written_ahead(P, v, steps):
    P[1][0] = v * v
    for k in steps:
        v = np.sin(P[k] @ v)
    return v


def another_is_written(P, v, steps):
    for k in steps:
        v += P[k][0] * v[::-1]
    return v


def over_them_in_each_step(P, v, steps):
    for k in steps:
        for m in P:
            v = np.sin(m @ v) + 0.1 * m[0] - np.sort(v) * P[k][1, 1] / 9
    return v


READ = [products, numbers, under_a_name, of_a_function]
WRITTEN = [another_is_written, written_behind, written_ahead]


@pytest.mark.parametrize("function", [*READ, *WRITTEN])
def test_as_in_python(function: Callable[..., Any]) -> None:
    check_value_and_grad(grad(function, wrt=("P", "v"), jit=False), P, V, STEPS)


def test_compiled() -> None:
    f = grad(products, wrt=("P", "v"))
    check_value_and_grad(f, P, V, STEPS)
    narrow = [p.astype(np.float32) for p in P]
    got, want = f(narrow, V.astype(np.float32), STEPS), products(narrow, V.astype(np.float32), STEPS)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("function", READ)
def test_items_in_any_layout(function: Callable[..., Any]) -> None:
    turned = [p.T if k % 2 else np.repeat(p, 2, axis=1)[:, ::2] for k, p in enumerate(P)]
    check_value_and_grad(grad(function, wrt=("P", "v"), jit=False), turned, V, STEPS)
    same = [P[0], P[1], P[0], P[1]]
    f = grad(function, wrt="v", jit=False)
    np.testing.assert_allclose(
        f.backward(same, V, STEPS, *seeds(function)), f.backward([p.copy() for p in same], V, STEPS, *seeds(function))
    )


def seeds(function: Callable[..., Any]) -> tuple[Any, ...]:
    return {numbers: (), under_a_name: ((V, P[2]),)}.get(function, (V,))


@pytest.mark.parametrize("function", [products, numbers, over_them_in_each_step])
def test_made_once(function: Callable[..., Any], no_room: None) -> None:
    f = grad(function, wrt=("P", "v"), jit=False)
    source = f.source(P, V, STEPS, kind="primal")
    ahead, _, loop = source.partition("in range(steps.shape[0])")
    assert re.search(r"P_3\w*\[", ahead) and not re.search(r"P_3\w*\[", loop), source
    check_value_and_grad(f, P, V, STEPS)


def in_one_branch(P, v, steps):
    if len(steps) < 2:
        return v * v
    for k in steps:
        v = np.tanh(P[k] @ v)
    return v


def test_where_no_loop_reads_them_they_are_not_made(no_room: None) -> None:
    f = grad(in_one_branch, wrt=("P", "v"), jit=False)
    ahead, _, behind = f.source(P, V, STEPS, kind="primal").partition("else:")
    assert "P_3" in behind and not re.search(r"P_3\[", ahead)
    for steps in (STEPS, STEPS[:1], STEPS[:0]):
        check_value_and_grad(f, P, V, steps)


@pytest.mark.parametrize("jit", [False, True])
def test_no_such_item(jit: bool) -> None:
    for k in (4, -5):
        for call in (lambda f, *args: f(*args), lambda f, *args: f.backward(*args, V)):
            with pytest.raises(IndexError, match="out of (bounds|range)"):
                call(grad(products, wrt="P", jit=jit), P, V, np.array([0, k]))


def a_row_is_written(P, v, steps):
    for k in steps:
        row = P[k][0]
        row[1] = v[0]
        v = v + row
    return v


def read_again(P, v, steps):
    for k in steps:
        v = np.sin(P[k] @ v)
        P[1][:] *= 0.5
    return v


def test_written_in_the_loop() -> None:
    with pytest.raises(UnsupportedError, match="may or may not be"):
        grad(a_row_is_written, wrt="P", jit=False)(P, V, STEPS)
    check_value_and_grad(grad(read_again, wrt=("P", "v"), jit=False), P, V, np.array([1, 1, 3, 1, 0]))
