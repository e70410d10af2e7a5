"""Neighbours that are as far away as an argument or a length says: each element's thread fetches what they add."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_cuda_apart import is_as_on_a_cpu

RNG = np.random.default_rng(8)
X, Z = RNG.uniform(0.5, 1.5, (2, 20))
M = RNG.uniform(0.5, 1.5, (6, 9))


def lagged(x, w):
    return x[w:] * x[: len(x) - w]


def lagged_by_a_loop(x, w):
    y = np.zeros(max(len(x) - w, 0))
    for i in range(len(x) - w):
        y[i] = x[i] * x[i + w] - np.sin(x[i + w])
    return y


def by_a_length(x, z):
    w = len(z)
    n = len(x)
    y = x.copy()
    for i in range(w, n - w):
        y[i] = x[i + w] * x[i - w] - 2.0 * x[i] * x[i]
    return y


def with_near_ones(x, w):
    y = np.zeros(len(x))
    for i in range(2 + w, len(x) - w - 2):
        y[i] = x[i - w] * x[i + w] + x[i - 2] * x[i + 1] * x[i - w - 1]
    return y


def of_two_lengths(x, w, u):
    y = np.zeros(len(x))
    for i in range(len(x) - w - u):
        y[i] = x[i] * x[i + w] * x[i + u] + x[i + w + u]
    return y


def where_it_branches(x, z, w):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if i + w < len(x) and z[i] > 1.0:
            y[i] = x[i] * x[i + w]
        elif i >= w:
            y[i] = x[i - w] ** 2
    return y


def along_one_axis(x, w):
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(m - w):
            y[i, j] = x[i - 1, j] * x[i + 1, j + w] - x[i, j + w] * x[i, j]
    return y


def along_both(x, w, u):
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(u, n):
        for j in range(m - w):
            y[i, j] = x[i - u, j] * x[i, j + w]
    return y


def steps(x, w):
    for _ in range(3):
        y = x.copy()
        for i in range(w, len(x) - w):
            y[i] = 0.5 * x[i] + 0.1 * np.sin(x[i - w] * x[i + w])
        x = y
    return x


def in_place(x, y, w):
    y = y.copy()
    for i in range(len(x) - w):
        y[i] = y[i] * x[i] * x[i + w]
    return y


def that_differs(x, z):
    """Another distance in each iteration: that is left alone."""
    y = np.zeros(4)
    for i in range(4):
        w = len(z) * (i % 3)
        y[i] = x[i] * x[i + w]
    return y


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *((f, (X[:n], w)) for f in (lagged, lagged_by_a_loop) for n, w in ((20, 3), (20, 0), (5, 5), (7, 6), (0, 0))),
        *((lagged_by_a_loop, (X[:n], w)) for n, w in ((4, 9), (6, 4))),
        *((by_a_length, (X, Z[:w])) for w in (1, 3, 10)),
        *((with_near_ones, (X, w)) for w in (0, 1, 4, 9)),
        *((of_two_lengths, (X, w, u)) for w, u in ((3, 5), (5, 3), (0, 0), (4, 4), (12, 12))),
        *((where_it_branches, (X, Z, w)) for w in (0, 2, 25)),
        *((along_one_axis, (M, w)) for w in (0, 1, 4, 9)),
        *((along_both, (M, w, u)) for w, u in ((2, 1), (0, 0), (9, 1), (1, 6))),
        *((steps, (X, w)) for w in (0, 1, 4, 11)),
        *((in_place, (X, Z, w)) for w in (0, 3, 20)),
        (that_differs, (X, Z[:3])),
    ],
)
def test_far_neighbours(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    text = is_as_on_a_cpu(function, ("x",), arguments)
    if function not in (where_it_branches, that_differs, with_near_ones, along_both, of_two_lengths, in_place):
        assert "atomic.add" not in text[: text.index("@kernel", text.index("@kernel") + 1)]
        assert "<= 2 * " in text[text.rindex("\ndef ") :]  # whether they are near enough


@pytest.mark.parametrize("w", [-1, -3])
def test_on_the_other_side(w: int) -> None:
    """x[i + w] of a w below 0 is x[-1] for some i."""

    def shifted(x, w):
        y = np.zeros(len(x))
        for i in range(len(x) - 3):
            y[i] = x[i] * x[i + w]
        return y

    is_as_on_a_cpu(shifted, ("x",), (X, w))


@pytest.mark.parametrize("seed", range(8))
def test_random_stencils(seed: int, tmp_path: Any) -> None:
    rng = random.Random(seed)
    far = lambda: rng.choice(("i", "i + w", "i - w", "i + u", "i - u", "i + w + 1", "i - w + u", "i + 1", "i - 2"))
    value = lambda: rng.choice((f"x[{far()}] * x[{far()}]", f"np.sin(x[{far()}])", f"z[{far()}] * x[{far()}] ** 2"))
    condition = rng.choice(("", "", "if z[i] > 1.0:", "if i % 2 == 0:"))
    lines = ["def f(x, z, w, u):", "    y = np.zeros(len(x))", "    d = max(w + 1, u, w - u, u - w, w + u, 2)"]
    lines += ["    for i in range(d, len(x) - d):", *([f"        {condition}"] if condition else [])]
    pad = " " * (12 if condition else 8)
    lines += [f"{pad}y[i] += {value()} - {value()}" for _ in range(rng.randint(1, 2))]
    path = tmp_path / f"stencil_{seed}.py"
    path.write_text("\n".join(["import numpy as np\n\n", *lines, "    return y", ""]))
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    for w, u, n in ((3, 1, 20), (1, 1, 9), (2, 5, 20), (0, 0, 12), (4, 4, 6)):
        is_as_on_a_cpu(scope["f"], ("x", "z"), (X[:n], Z[:n], w, u))
