"""What a loop adds to elements further ahead is set aside for a strip of iterations."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(17)


def central(x):
    return (x[0, 2:] - x[0, :-2]) ** 2


def five_apart(x):
    return np.tanh(x[:, 5:] * x[:, :-5])


def burgers(x):
    u = x[0].copy()
    for _ in range(3):
        u[1:-1] = u[1:-1] - 0.1 * u[1:-1] * (u[2:] - u[:-2])
    return u


def bent(x):
    d = x[0, 2:] - 2 * x[0, 1:-1] + x[-1, 1:-1] ** 2 + x[0, :-2]
    return np.sqrt(1 + d * d) / (2 + x[0, 1:-1] + 1 / (1 + d**2))


def steepness(x):
    s = np.zeros(max(x.shape[0] - 2, 0))
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            across, along = x[i, j + 1] - x[i, j - 1], x[i + 1, j] - x[i - 1, j]
            s[i - 1] += np.sqrt(1 + across**2 + along**2) * x[i, j]
    return s


def by_turns(x):
    y = np.zeros(max(x.shape[1] - 3, 0))
    for j in range(x.shape[1] - 3):
        y[j] = x[0, j] * x[0, j + 3] - np.sin(x[0, j + 3]) + x[-1, j] * x[-1, j + 2] * x[0, j]
    return y


def while_it_is_large(x):
    u = x[0].copy()
    while np.sum(u) > 0.1:
        u[1:-1] = 0.5 * u[1:-1] * (1 - u[2:] * u[:-2])
        u[0] *= 0.5
        u[-1] *= 0.5
    return u


def of_both_halves(x):
    half = x.shape[1] // 2
    left, right = x[0, :half], x[0, half:]
    return np.sum(left[2:] * left[:-2]) + np.sum(right[2:] * right[:-2] ** 2)


FUNCTIONS = [central, five_apart, burgers, bent, steepness, by_turns, while_it_is_large, of_both_halves]
SHAPES = [(1, 3), (2, 5), (3, 8), (4, 11), (1, 600)]


@pytest.mark.parametrize(
    ("function", "shape"), [(f, shape) for f in FUNCTIONS for shape in SHAPES if f is not five_apart or shape[1] >= 5]
)
def test_is_what_it_was(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    x = RNG.uniform(0.3, 0.9, shape)
    f = grad(function, jit=False)
    check_grad(f, x)
    v = np.asarray(RNG.normal(size=np.shape(function(x))))[()]
    with order.without("set_aside"):
        expected = grad(function, jit=False).backward(x, v)
    assert_close(f.backward(x, v), expected, 1e-13, "with additions in memory")


@pytest.mark.parametrize("length", [0, 1, 2, 255, 256, 257, 258, 512, 515])
def test_strips_of_all_lengths(length: int) -> None:
    def products(x):
        total = 0.0
        for j in range(len(x) - 2):
            total += x[j] * x[j + 2]
        return total

    x = RNG.normal(size=length)
    padded = np.concatenate([np.zeros(2), x, np.zeros(2)])
    expected = (padded[4:] + padded[:-4]) if length else x
    assert_close(grad(products, jit=False).backward(x), expected, 1e-15, "x_b")


@pytest.mark.parametrize(
    ("dtype", "parallel", "functions"),
    [(np.float32, False, (five_apart, burgers, bent)), (np.float64, True, (five_apart, steepness))],
)
def test_compiled(dtype: Any, parallel: bool, functions: tuple[Callable[..., Any], ...]) -> None:
    x = RNG.uniform(0.3, 0.9, (40, 700)).astype(dtype)
    for function in functions:
        v = np.asarray(RNG.normal(size=np.shape(function(x)))).astype(dtype)[()]
        expected = grad(function, jit=False).backward(x, v)
        found = grad(function, parallel=parallel).backward(x, v)
        assert_close(found, expected, 2e-5 if dtype == np.float32 else 1e-12, function.__name__)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sums_are_set_aside(function: Callable[..., Any]) -> None:
    sweep = grad(function).source(np.ones((3, 9))).partition("# reverse sweep")[2]
    assert "] += aside" in sweep


def test_the_next_element_is_handed_over() -> None:
    sweep = grad(bent).source(np.ones((3, 9))).partition("# reverse sweep")[2]
    assert sweep.count("] += aside") == 1
    assert len(re.findall(r"\+= (?:.* \+ )?handed$", sweep, re.MULTILINE)) == 2  # in the strip, and at its end


def test_pieces_have_strips_of_their_own() -> None:
    text = grad(steepness, parallel=True).source(np.ones((3, 9)))
    piece = text[text.index("# reverse") :] if "# reverse" in text else text
    assert "aside" in piece
    for definition in text.split("def ")[1:]:
        if "+= aside" in definition:
            assert "aside = np.empty(256)" in definition


def what_is_read(x):
    y = x[0].copy()
    for j in range(x.shape[1] - 2):
        y[j + 2] += y[j] * 0.5
    return y


def cheap_in_many_rows(x):
    return x[0, 2:] - x[0, :-2] + x[1, 2:] - x[1, :-2] + x[2, 2:] - x[2, :-2]


def along_columns(x):
    s = np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        for i in range(x.shape[0] - 2):
            s[j] = 0.5 * s[j] + x[i, j] * x[i + 2, j]
    return s


def of_a_few(x):
    y = x[0, :9] * 2.0
    return y[2:] * y[:-2]


@pytest.mark.parametrize("function", [what_is_read, cheap_in_many_rows, along_columns, of_a_few])
def test_what_waits_for_what_it_adds_or_is_cheap_is_left(function: Callable[..., Any]) -> None:
    assert "+= aside" not in grad(function).source(np.ones((3, 9)))
    check_grad(grad(function, jit=False), RNG.normal(size=(3, 9)))
