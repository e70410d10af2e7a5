"""Steps that leave elements apart are made for a strip at a time: which are, and that nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corpus import FLOAT64, named
from racing import pieces_at_once
from support import fresh, leaves

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.passes.cpu import step_in_strips
from srcgrad.testing import check_grad

CORPUS = (
    "arrays.broadcast", "arrays.extremes", "arrays.extremes_over_axes", "arrays.product_over_axes",
    "arrays.softmax_rows", "arrays.standardise", "calls.tuple_carried", "calls.callee_writes_a_view",
    "complex_programs.mandelbrot_series", "complex_programs.leapfrog_parts", "in_place.newton_in_place",
    "in_place.loop_variable_names_like_ours", "lists.stacked_rows", "loops.double_until_long", "loops.rebound_array",
    "loops.arrays_that_trade_places", "loops.down_each_column", "loops.column_of_products",
    "loops.one_sum_down_columns", "loops.rebound_to_what_stretches", "physics.rk4", "physics.layers",
    "physics.lotka_volterra", "physics.adam", "structures.dict_round_a_loop", "views.column_view",
)  # fmt: skip


def decay(x, rates):
    for t in range(len(rates)):
        x = x * rates[t] + np.sin(x)
    return x


def paths(start, noise, drift):
    """What a path was worth at its best, in the mean over all paths."""
    s, best = start.copy(), start.copy()
    for t in range(noise.shape[0]):
        s = s * np.exp(drift + 0.1 * noise[t])
        best = np.maximum(best, s)
    return best.mean()


def momentum(x, target, steps):
    v = np.zeros(len(x))
    for t in range(steps):
        rate = 0.1 / (t + 1)
        g = 2 * (x - target)
        v = 0.9 * v - rate * g
        x = x + v
    return ((x - target) ** 2).sum()


def all_meet(x, steps):
    for _ in range(steps):
        x = x / np.sqrt(np.sum(x * x)) + 0.1 * x
    return x


def neighbours_meet(x, steps):
    y = x.copy()
    for _ in range(steps):
        y[1:] = y[1:] * y[:-1]
    return y


def last_value_is_wanted(x, steps):
    y, r = x.copy(), 1.0
    for t in range(steps):
        r = 0.5 + 0.1 * t
        y = y * r
    return y * r


def rate_that_goes_on(x, steps):
    y, r = x.copy(), 1.0
    for _ in range(steps):
        r = r * 0.5
        y = y + r * np.sin(y)
    return y


def copied_in_each_step(x, rates):
    v = x.copy()
    for i in range(len(rates)):
        w = v.copy()
        v = v * rates[i] + w
    return v


def from_the_last_element(x, steps):
    """y[-1] and y[n - 1] are one element, which every step changes twice."""
    y = x.copy()
    for t in range(steps):
        for i in range(-1, y.size):
            y[i] = 0.5 * y[i] * y[i] + t
    return y


X, NOISE = np.linspace(0.5, 1.5, 7), np.linspace(-1, 1, 21).reshape(3, 7)
OWN = (
    (decay, (X, np.array([0.5, 1.2, 0.9])), True),
    (paths, (X, NOISE, 0.05), True),
    (momentum, (X, X[::-1].copy(), 4), True),
    (copied_in_each_step, (X, np.array([0.5, 1.2, 0.9])), True),
    (all_meet, (X, 3), False),
    (from_the_last_element, (X, 3), False),
    (neighbours_meet, (X, 3), False),
    (last_value_is_wanted, (X, 3), None),
    (rate_that_goes_on, (X, 3), None),
)


def by_strips(text: str) -> bool:
    return "for first in range(" in text or "for first in range(first" in text


@pytest.mark.parametrize("strip", [1, 3, 1024])
@pytest.mark.parametrize(("function", "args", "expected"), OWN, ids=lambda value: getattr(value, "__name__", ""))
def test_gradient(monkeypatch: Any, function: Any, args: Any, expected: bool | None, strip: int) -> None:
    monkeypatch.setattr(step_in_strips, "STRIP", strip)
    f = grad(function, jit=False)
    v = np.ones_like(function(*args))
    assert expected is None or by_strips(f.source(*args, v, kind="backward")) is expected
    np.testing.assert_allclose(f(*args), function(*args), rtol=1e-13)
    check_grad(f, *args)
    empty = tuple(arg[..., :0] if isinstance(arg, np.ndarray) else arg for arg in args)
    if function in (decay, momentum, last_value_is_wanted, rate_that_goes_on) and len(empty[-1:]):
        np.testing.assert_array_equal(f(*empty), function(*empty))


@pytest.mark.parametrize("function", [decay, paths, momentum], ids=lambda function: function.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_on_threads(monkeypatch: Any, function: Any, seed: int) -> None:
    """Strips are what threads share out: in pieces that take turns, the same comes out."""
    monkeypatch.setattr(step_in_strips, "STRIP", 2)
    args = next(args for one, args, _ in OWN if one is function)
    v = np.ones_like(function(*args))
    serial = grad(function, jit=False)
    with pieces_at_once(seed) as counts:
        f = grad(function, parallel=True, jit=False)
        assert by_strips(f.source(*args, v, kind="backward").replace("_from", ""))
        found = f(*args), f.backward(*args, v)
    assert max(counts) > 1
    for got, want in zip(leaves(found), leaves((serial(*args), serial.backward(*args, v))), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("name", CORPUS)
def test_the_same_as_without(monkeypatch: Any, name: str) -> None:
    monkeypatch.setattr(step_in_strips, "STRIP", 2)
    program = named(name)
    args, keywords = program.arguments(0, FLOAT64)
    found = []
    for left_out in (set(), {"step_in_strips"}):
        monkeypatch.setattr(order, "_left_out", left_out)
        f = grad(program.function, wrt=program.cases[0].wrt, jit=False, **program.options)
        value, pullback = f.vjp(*fresh(args), **keywords)
        v = value if not isinstance(value, tuple) else None
        found.append((value, f(*fresh(args), **keywords), pullback(v) if v is not None else None))
    for got, want in zip(leaves(found[0]), leaves(found[1]), strict=True):
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def test_compiled() -> None:
    x, noise = np.linspace(0.5, 1.5, 3000), np.random.default_rng(0).normal(size=(50, 3000))
    f = grad(paths)
    plain = grad(paths, jit=False)
    np.testing.assert_allclose(f(x, noise, 0.01), paths(x, noise, 0.01), rtol=1e-12)
    for got, want in zip(f.backward(x, noise, 0.01), plain.backward(x, noise, 0.01), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10)
