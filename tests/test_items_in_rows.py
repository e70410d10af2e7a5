"""A loop over a list of arrays or objects, in which much is done: over rows of arrays that are made of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support import Leaky, check_value_and_grad

from srcgrad import check_grad, grad
from srcgrad.frontend.control import control

RNG = np.random.default_rng(4)


@dataclass
class Edge:
    first: int
    last: int
    measured: np.ndarray
    weight: Any
    kind: str = "odometry"


EDGES = [Edge(k, k + 1, RNG.normal(size=3), RNG.normal(size=(3, 3))) for k in range(4)]
X = RNG.normal(size=15)
ROWS = [RNG.normal(size=5) for _ in range(4)]


@pytest.fixture(autouse=True)
def no_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(control, "MOST_TEXT_OF_ARRAYS", 1)
    yield


def graph(x, edges):
    for _ in range(2):
        H, b, is_first = np.zeros((len(x), len(x))), np.zeros(len(x)), True
        for edge in edges:
            i, j = 3 * edge.first, 3 * edge.last
            r = np.sin(x[j : j + 3] - x[i : i + 3]) - edge.measured
            H[i : i + 3, i : i + 3] += edge.weight.T @ edge.weight
            H[i : i + 3, j : j + 3] -= edge.weight
            b[i : i + 3] += edge.weight @ r
            if is_first:
                H[:3, :3] += 10.0 * np.eye(3)
                is_first = False
        x = x + np.linalg.solve(H + 30.0 * np.eye(len(x)), b) * (edges[0].kind == "odometry")
    return x


def filtered(x, rows):
    state = x[:5]
    for w in rows:
        state = np.tanh(state * w + x[5:10])
        state = state - np.mean(state) + np.sort(state)[::-1]
    return state


def of_one_text(x, rows):
    for text in ("a",) * 9:
        for w in rows:
            x = np.sin(x) if text == "a" and w[0] > 0 else x
    return x


def in_pairs(x, rows):
    total = 0.0
    for (w, k), other in zip([(rows[0], 1), (rows[1], 2), (rows[2], 0)], rows[1:]):
        total += np.sum(w * x[:5] * other) * x[k]
    return total


@pytest.mark.parametrize(
    ("function", "given", "wrt"),
    [
        (graph, EDGES, "x"),
        (filtered, ROWS, ("x", "rows")),
        (of_one_text, ROWS, ("x", "rows")),
        (in_pairs, ROWS, ("x", "rows")),
    ],
)
def test_one_loop(function: Callable[..., Any], given: Any, wrt: Any) -> None:
    f = grad(function, wrt=wrt, jit=False, cache=False)
    texts = [f.source(X, items, kind="primal").splitlines() for items in (given, given * 3)]
    assert len(texts[1]) < len(texts[0]) + 20 * 2 * len(given)  # what puts items into rows
    np.testing.assert_allclose(f(X, given), function(X, given), rtol=1e-13)
    check_grad(f, X, given)


@pytest.mark.parametrize("jit", [False, True])
def test_of_several_shapes(jit: bool) -> None:
    """Then it is written out, whether the first call shows it or a later one."""

    def sums(x, rows):
        total = x[0]
        for w in rows:
            total = np.sin(total) + np.sum(w) * x[1]
        return total

    f = grad(sums, jit=jit, cache=False)
    alike, unlike = ROWS, [*ROWS[:3], np.ones(2)]
    for rows in (unlike, alike, unlike):
        check_value_and_grad(f, X, rows, rtol=1e-13)
    g = grad(sums, jit=jit, cache=False)
    for rows in (alike, unlike, alike):
        check_value_and_grad(g, X, rows, rtol=1e-13)


def that_writes_them(x, rows):
    for w in rows:
        w *= x[0]
    return rows[1] + rows[2]


def that_writes_one_of_them(x, rows):
    total = 0.0
    for w in rows:
        rows[2][0] = total
        total += np.sum(w * x[:5])
    return total + rows[2][0]


def that_writes_one_later(x, rows):
    total = 0.0
    for w in rows:
        total += np.sum(w * x[:5])
    rows[0][:] = total
    return total * w[0] + rows[0][1]


def the_last_is_the_one_that_is_written(x, rows):
    for w in rows:
        last = w
    rows[3][0] = x[0]
    return last * x[:5]


@pytest.mark.parametrize(
    "function", [that_writes_them, that_writes_one_of_them, that_writes_one_later, the_last_is_the_one_that_is_written]
)
def test_what_is_written(function: Callable[..., Any]) -> None:
    f = grad(function, wrt="x", jit=False, cache=False)
    rows, expected = copy.deepcopy(ROWS), copy.deepcopy(ROWS)
    np.testing.assert_allclose(f(X, rows), function(X, expected), rtol=1e-13)
    for row, wanted in zip(rows, expected, strict=True):
        np.testing.assert_allclose(row, wanted, rtol=1e-13)
    check_grad(f, X, ROWS)


def test_kernels_have_several() -> None:
    """On a GPU a loop of the host launches one for each item; written out, they become one."""

    def weighted(x, rows):
        total = x * 1.0
        for w in rows:
            total = np.sin(total * w) + x
        return total

    text = grad(weighted, wrt="x", target="cuda", cache=False).source(X[:5], ROWS, kind="primal")
    assert "ShortAxisError" not in text and text.count("def weighted_i") == 1


def test_large_arrays_stay_where_they_are() -> None:
    def through(x, weights):
        for w in weights:
            x = np.tanh(w @ x)
        return x

    f = grad(through, jit=False, cache=False)

    def in_two(x, weights, others):  # together they are too large
        for w, u in zip(weights, others):
            x = np.tanh(w @ (u @ x))
        return x

    small, large = (tuple(RNG.normal(size=(n, n)) / n for _ in range(3)) for n in (20, 200))
    assert "ShortAxisError" in f.source(np.ones(20), small) and "ShortAxisError" not in f.source(np.ones(200), large)
    half = tuple(RNG.normal(size=(120, 120)) / 120 for _ in range(3))
    assert "ShortAxisError" not in grad(in_two, jit=False, cache=False).source(np.ones(120), half, half)
    for n, weights in ((200, large), (20, small), (200, large)):
        np.testing.assert_allclose(f(np.ones(n), weights), through(np.ones(n), weights), rtol=1e-13)


LAYERS = [(Leaky(k / 10), RNG.normal(size=5)) for k in range(4)]
EDGES_OUTSIDE = EDGES[:]


def with_objects_that_compare(x):
    for activation, w in LAYERS:
        x = activation(x * w) + x
    return x


def over_objects_from_outside(x):
    total = 0.0
    for edge in EDGES_OUTSIDE:
        total += np.sum(edge.measured * x[:3]) * edge.first
    return total


def as_often_as_there_are_items(x):
    for _ in [None] * 40:
        x = np.sin(x)
    return x


@pytest.mark.parametrize(
    "function", [with_objects_that_compare, over_objects_from_outside, as_often_as_there_are_items]
)
def test_objects_are_not_compared(function: Callable[..., Any]) -> None:
    check_value_and_grad(grad(function, jit=False, cache=False), X[:5], rtol=1e-13)
