"""What comes out the same in all iterations of an outer loop is computed once, ahead of it, and ties no two of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(0)
X, W = RNG.uniform(0.2, 0.9, 11), RNG.uniform(0.1, 0.5, 11)


def driven(x, w, n):
    out = np.empty(len(x))
    for i in range(len(x)):
        p = x[i]
        for t in range(n):
            p = p + 0.1 * np.sin(0.3 * t) * w[i] * p
            if p > 0.8:
                p = 0.5 * p * p
        out[i] = p
    return out


def from_two_on(x, w, n):
    s = 0.0
    for i in range(len(x)):
        for t in range(2, 2 + n):
            s = s + np.exp(-0.5 * t) * x[i] * w[i] ** t
    return s


def backwards_by_three(x, w, n):
    out = np.zeros(len(x))
    for i in range(len(x)):
        p = w[i]
        for t in range(3 * n, 0, -3):
            p = p * np.cos(0.1 * t) + x[i] * p * p
        out[i] = p
    return out


def each_step_of_its_own(x, w, n):
    """The factor depends on the step of the outermost loop too, and on nothing in between."""
    for k in range(n):
        for i in range(len(x)):
            p = x[i]
            for t in range(3):
                p = p + 0.1 * np.sin(0.3 * t + k) * w[i] * p
            x[i] = p
    return x


def until_small(x, w, n):
    while np.sum(x) > 1.0:
        for i in range(len(x)):
            p = x[i]
            for t in range(n):
                p = p * (0.4 + 0.1 * np.cos(0.3 * t)) + 0.01 * w[i] * p * p
            x[i] = p
    return x


def in_a_branch(x, w, n):
    out = np.zeros(len(x))
    for i in range(len(x)):
        p = x[i]
        for t in range(n):
            if p > 0.4:
                p = p * np.tanh(0.1 * t + 0.3) - 0.1 * p * w[i] * p
        out[i] = p
    return out


def triangle(x, w, n):
    out = np.zeros(len(x))
    for i in range(len(x)):
        p = x[i]
        for t in range(i):
            p = p + 0.1 * np.sin(0.3 * t) * w[i] * p
        out[i] = p
    return out


def a_season(x, w, n):
    out = np.zeros(len(x))
    for i in range(len(x)):
        p = x[i]
        for t in range(3 * n):
            p = p + 0.1 * w[(t * t) % n] * p * p
        out[i] = p
    return out


def by_its_step(x, w, n):
    """A step that divides by its own number, but for those of which the number is 0."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        p = x[i]
        for t in range(n + 3):
            if t >= 3:
                p = p + 0.1 * w[(t * t) % t + (n * n) % (1 + 7 % t)] * p * p
        out[i] = p
    return out


CASES = [
    driven,
    from_two_on,
    backwards_by_three,
    each_step_of_its_own,
    until_small,
    in_a_branch,
    triangle,
    a_season,
    by_its_step,
]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [4, 0])
def test_gradients(f: Callable[..., Any], n: int) -> None:
    if f is until_small and n == 0:
        n = 1
    if f is a_season and n == 0:
        with np.errstate(all="ignore"):  # no iteration asks for the rest by nothing
            np.testing.assert_array_equal(grad(f, wrt="x", jit=False).backward(X, W, 0, np.ones(11)), np.ones(11))
        return
    check_grad(grad(f, wrt=("x", "w"), jit=False), X.copy(), W.copy(), n)


@pytest.mark.parametrize(
    ("f", "options"),
    [(driven, {}), (a_season, {"parallel": True}), (by_its_step, {}), (by_its_step, {"parallel": True})],
)
def test_compiled(f: Callable[..., Any], options: dict[str, bool]) -> None:
    v = np.cos(np.arange(11.0))
    want = grad(f, wrt=("x", "w"), jit=False).backward(X, W, 5, v)
    for got, right in zip(grad(f, wrt=("x", "w"), **options).backward(X, W, 5, v), want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-12)


def by_nothing(x, w, n):
    out = np.zeros(len(x))
    for i in range(len(x)):
        p = x[i]
        for t in range(len(w)):
            p = p + 0.1 * w[(5 + t * t) % n] * p * p
        out[i] = p
    return out


@pytest.mark.parametrize("jit", [False, True], ids=["", "compiled"])
def test_a_remainder_by_nothing(jit: bool) -> None:
    """It is 0, as in compiled code elsewhere, not what happens to lie in memory."""
    f = grad(by_nothing, wrt=("x", "w"), jit=jit)
    want = f.backward(X, W, 1, np.ones(11))
    left = [np.full(11, 3) for _ in range(20)]
    del left  # what takes its place has threes in it
    for got, right in zip(f.backward(X, W, 0, np.ones(11)), want, strict=True):
        np.testing.assert_array_equal(got, right)


def by_steps_of_any_length(x, w, n):
    s = 0.0
    for i in range(len(x)):
        p = x[i]
        for t in range(0, 7, n):
            p = p + 0.1 * w[i] * np.sin(0.3 * t) * p
        s += p
    return s


def test_nobody_comes_to_a_range_without_steps() -> None:
    f = grad(by_steps_of_any_length, wrt=("x", "w"), jit=False)
    assert "t_kept" in f.source(X, W, 2)
    assert f.value_and_backward(X[:0], W, 0)[0] == 0.0
    with pytest.raises(ValueError, match="must not be zero"):
        f.value_and_backward(X, W, 0)


def test_the_whole_loop_is_one() -> None:
    """Both sweeps of an iteration follow each other, so that nothing is kept for all iterations."""
    text = grad(driven, wrt=("x", "w"), jit=False).source(X, W, 4)
    assert text.count("in(0.3 *") == 1 and re.search(r"t_kept\[t_\d+\] = 0.1 \* (np\.)?sin", text), text
    assert not re.search(r"empty\(\(x\.shape\[0\], ", text), text


def test_iterations_run_on_threads() -> None:
    text = grad(driven, wrt=("x", "w"), parallel=True).source(X, W, 4)
    assert "driven_backward_i_on_threads(0, x.shape[0]" in text, text
    assert "by_one" not in grad(driven, wrt=("x", "w"), target="cuda").source(X, W, 4)
    assert "by_one" not in grad(triangle, wrt=("x", "w"), target="cuda").source(X, W, 4)
