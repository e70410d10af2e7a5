"""What a long program does several times is one function that it calls: the same results, in less text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close, from_text

from srcgrad import grad
from srcgrad.emit import repeated
from srcgrad.frontend.control import control
from srcgrad.testing import check_grad


class Linear:
    def __init__(self, rows, columns, seed):
        self.w = np.cos(np.arange(rows * columns) * 0.7 + seed).reshape(rows, columns) / rows
        self.b = np.sin(np.arange(columns) + seed)

    def __call__(self, x):
        return x @ self.w + self.b


class Normed:
    def __init__(self, width):
        self.scale, self.shift = np.full(width, 1.1), np.full(width, 0.1)

    def __call__(self, x):
        mean = x.mean(axis=-1, keepdims=True)
        spread = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        return self.scale * (x - mean) / np.sqrt(spread + 1e-3) + self.shift


class Layer:
    def __init__(self, width, seed):
        self.norm, self.up, self.down = (
            Normed(width),
            Linear(width, 2 * width, seed),
            Linear(2 * width, width, seed + 1),
        )

    def __call__(self, x):
        h = self.up(self.norm(x))
        if h.shape[0] == 1:
            h = h * 0.5
        return x + self.down(0.5 * h * (1.0 + np.tanh(h + 0.04 * h**3)))


class Model:
    def __init__(self, depth, width=3):
        self.layers = [Layer(width, k) for k in range(depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def loss(model, x):
    return np.mean(model(x) ** 2)


def all_states(model, x):
    """What is in the middle comes out, too."""
    total, states = 0.0, []
    for layer in model.layers:
        x = layer(x)
        total += np.sum(x) * total + np.max(x)
        states.append(x)
    return total, states[1], states[-1]


X = np.cos(np.arange(12.0)).reshape(4, 3)


@pytest.mark.parametrize(("function", "rows"), [(loss, 1), (all_states, 4)])
def test_is_what_it_was(function: Callable[..., Any], rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MOST_TEXT_OF_ARRAYS", 1_000)  # or it would be a loop over the layers
    model, x = Model(3 if function is loss else 4), X[:rows].copy()
    v = (0.7, x, 0.3 * x) if function is all_states else 1.0
    f = grad(function, jit=False)
    text = f.source(model, x, kind="value_and_backward")
    assert len(re.findall(r"(?m)^def \w+_part", text)) >= 2
    got, half = f.value_and_backward(model, x, v), f.vjp(model, x)[1](v)
    monkeypatch.setattr(repeated, "LONG", 1_000_000)
    f = grad(function, jit=False)
    long = f.source(model, x, kind="value_and_backward")
    assert "_part" not in long
    assert len(text) < 0.9 * len(long)
    expected = f.value_and_backward(model, x, v)
    assert_close(leaves_of(got), leaves_of(expected), 0, "with all written out")
    assert_close(leaves_of(half), leaves_of(expected[1]), 1e-14, "by the pair")


def leaves_of(structure: Any) -> list[Any]:
    """Numbers and arrays, of objects as of tuples."""
    if isinstance(structure, (tuple, list)):
        return [leaf for item in structure for leaf in leaves_of(item)]
    if hasattr(structure, "__dict__") and not isinstance(structure, np.ndarray):
        return [leaf for item in vars(structure).values() for leaf in leaves_of(item)]
    return [structure]


def test_compiled() -> None:
    model, by_python = Model(2), grad(loss, jit=False)
    check_grad(by_python, model, X)
    assert_close(
        leaves_of(grad(loss).backward(model, X)), leaves_of(by_python.backward(model, X)), 1e-13, "as plain Python"
    )


def test_a_name_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part stands where it wants one name twice, or other names from before, for what it is there."""

    def block(x: str, y: str, w: str, u: str) -> list[str]:
        return [
            f"    {y} = np.sin({w} @ {x})",
            f"    {y} = {y} * {x} + np.cos({u} @ {y})",
            f"    {y} = np.tanh({w} @ {y}) - {x}",
            f"    s = s * 0.5 + {y}[0]",
        ]

    lines = ["    s = 0.0", *block("x", "a", "w", "u"), *block("a", "b", "u", "w"), *block("b", "c", "w", "w")]
    lines += [*block("c", "d", "w", "u"), *block("d", "e", "u", "u"), "    return s * np.sum(e) + np.sum(b)", ""]
    function = from_text("\n".join(["import numpy as np", "", "", "def f(x, w, u):", *lines]), "f")
    x, w, u = np.cos(np.arange(3.0)), np.sin(np.arange(9.0)).reshape(3, 3), np.cos(np.arange(9.0)).reshape(3, 3)
    monkeypatch.setattr(repeated, "LONG", 0)
    monkeypatch.setattr(repeated, "LEAST", 10)
    assert grad(function).source(x, w, u).count("_part(") >= 3
    check_grad(grad(function, jit=False), x, w, u)
    by_python = grad(function, jit=False).backward(x, w, w)
    assert_close(list(grad(function).backward(x, w, w)), list(by_python), 1e-13, "one matrix for two names")


def rescaled(x, w, kind):
    h = np.tanh(x * w)
    if kind == 1:
        m = np.mean(h)
        spread = np.sqrt(np.mean((h - m) ** 2) + 1e-3)
        h = (h - m) / spread
    elif kind == 2:
        top = np.max(np.abs(h)) + 0.1
        h = h / top
    out = np.zeros(h.shape[0])
    for i in range(h.shape[0]):
        v = h[i]
        out[i] = v * np.exp(-v * v) if v > 0.0 else np.sin(v)
    if kind == 1:
        out = out * spread + m
    elif kind == 2:
        out = out * top
    return out


def by_kinds(x, w, kinds):
    for k in range(1):
        x = rescaled(x, w, kinds[0])
    x = rescaled(x, w, kinds[1])
    x = rescaled(x, w, kinds[2])
    x = rescaled(x, w, kinds[3])
    return np.sum(x * x)


@pytest.mark.parametrize(("kinds", "leasts"), [([0, 1, 2, 0], (3, 30)), ([1, 1, 1, 1], (10,)), ([2, 0, 0, 1], (3, 10))])
def test_what_some_ways_do_not_set_is_handed_to_nobody(
    kinds: list[int], leasts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated, "LONG", 0)
    x, w = np.cos(np.arange(4.0)), np.linspace(0.3, 1.2, 4)
    for least in leasts:
        monkeypatch.setattr(repeated, "LEAST", least)
        check_grad(grad(by_kinds, jit=False), x, w, np.array(kinds))


def two_tables(x, w, first, second):
    a, s = np.zeros(3), 0.0
    for i in range(3):
        a[i] = np.sin(x[first[i]]) * x[i] + s
        s = s * 0.5 + a[i]
    b, r = np.zeros(3), s
    for i in range(3):
        b[i] = np.sin(w[second[i]]) * w[i] + r
        r = r * 0.5 + b[i]
    return s * r


def test_an_error_names_its_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "LONG", 0)
    monkeypatch.setattr(repeated, "LEAST", 4)
    with pytest.raises(IndexError, match=r"w\[second\[i\]\]"):
        grad(two_tables).backward(np.arange(3.0), np.arange(4.0), np.array([0, 1, 2]), np.array([0, 1, 7]))
