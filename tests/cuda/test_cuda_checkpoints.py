"""Loops of a thread that keep every k-th state, and make the others again on the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.runtime.gpu import device_call

RNG = np.random.default_rng(0)
TRIPS = np.array([0, 1, 7, 8, 9, 4, 16, 17, 0, 47, 3, 20, 49, 2, 64, 5, 24, 15])  # neighbours differ
X, W = RNG.uniform(-0.6, 0.6, TRIPS.size), RNG.uniform(0.1, 0.4, TRIPS.size)


def one_state(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, k = x[i], 0
        while k < n[i]:
            y = y * y * 0.5 + w[i] * y
            k += 1
        out[i] = y * y
    return out


def two_that_change_places(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, z, k = x[i], w[i], 0
        while k < n[i] and y * y + z * z < 100.0:
            y, z = z, 0.9 * y * z + w[i] * y
            k += 1
        out[i] = y * z + y
    return out


def three_in_a_ring(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        a, b, c, k = x[i], w[i], 0.5, 0
        while k < n[i]:
            a, b, c = b, c, a * b * 0.9 + 0.3 * c * c
            k += 1
        out[i] = a + 2.0 * b + 3.0 * c
    return out


def by_the_number_of_the_step(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y = x[i]
        for t in range(2, n[i]):
            y = y * y * w[i] + 0.01 * t * x[i]
        out[i] = y
    return out


def counting_by_its_own(x, w, n):
    """A whole number is a part of the state."""
    out = np.empty(x.size)
    for i in range(x.size):
        y, k, j = x[i], 0, i
        while k < n[i]:
            y = y * y * w[i] + 0.01 * j
            j = 2 * k - j
            k += 1
        out[i] = y
    return out


def several_of_a_step(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, s, k = x[i], 0.0, 0
        while k < n[i]:
            s += y * y * w[i]
            y = 0.7 * y + 0.2 * y * s
            k += 1
        out[i] = y + s
    return out


def the_greater_one(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, z, rate, k = x[i], 0.2, w[i], 0
        while k < n[i]:
            y, z = max(y * rate, 0.5 - y * y), z * y + 0.1
            k += 1
        out[i] = y + z
    return out


def as_often_for_all(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, z = x[i], w[i]
        for t in range(n[1] + 2 * n[2]):
            y, z = y * z * 0.5 + 0.001 * t, z + 0.1 * y * z
        for t in range(n[7]):
            z = z * w[t] + 0.1 * z * z
        out[i] = y + z
    return out


def one_after_the_other(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, k = x[i], 0
        while k < n[i]:
            y = y * y * 0.5 + w[i] * y
            k += 1
        z = y
        while abs(z) > 1e-3:
            z = z * z * 0.5 + w[i] * z
        for _ in range(n[i]):
            z = z * z * 0.3 + w[i] * y
        out[i] = y * z
    return out


def left_early(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y = x[i]
        for k in range(n[i]):
            y = y * y * 0.7 + w[i]
            if y > 0.69:
                break
        out[i] = y
    return out


# ------------------------------------------------------------------------------------------ each step keeps its own


def dear(x, w, n):
    """It waits for its own arithmetic, and not for memory."""
    out = np.empty(x.size)
    for i in range(x.size):
        y = x[i]
        for _ in range(n[i]):
            y = np.sin(y) * w[i] + np.cos(y) + 0.3 * np.exp(-y * y)
        out[i] = y
    return out


def with_a_branch(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, k = x[i], 0
        while k < n[i]:
            if y > 0.1:
                y = y * y * 0.5 - w[i]
            else:
                y = 0.3 + w[i] * y * y
            k += 1
        out[i] = y
    return out


def that_jumps(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, k = x[i], 0
        while k < n[i]:
            y = (y * y * 0.5 + w[i]) % 0.4
            k += 1
        out[i] = y
    return out


def with_a_rest(x, w, n):
    """Nobody asks twice for what might fail."""
    out = np.empty(x.size)
    for i in range(x.size):
        y = x[i]
        for t in range(n[i]):
            y = y * y * w[(i + t) % w.size] + 0.1
        out[i] = y
    return out


def by_a_place_of_its_own(x, w, n):
    """Where there was no room for it, it would be any place."""
    out = np.empty(x.size)
    for i in range(x.size):
        y, j = x[i], w.size - 1
        for _ in range(n[i] // 4):
            y = y * y * w[j] + 0.1
            j = j - 1
        out[i] = y
    return out


def by_a_place_that_it_finds(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, k = x[i], 0
        while k < n[i]:
            y = y * y * 0.5 + w[int(abs(y) * 7.0) % w.size]
            k += 1
        out[i] = y
    return out


def with_a_loop_in_it(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, k = x[i], 0
        while k < n[i]:
            for _ in range(k % 3):
                y = y * y * 0.5 + w[i]
            y = y * y * 0.5 - w[i]
            k += 1
        out[i] = y
    return out


IN_SEGMENTS = [
    one_state,
    two_that_change_places,
    three_in_a_ring,
    by_the_number_of_the_step,
    counting_by_its_own,
    several_of_a_step,
    the_greater_one,
    as_often_for_all,
    one_after_the_other,
    left_early,
]
STEP_BY_STEP = [
    with_a_branch,
    that_jumps,
    with_a_rest,
    by_a_place_of_its_own,
    by_a_place_that_it_finds,
    with_a_loop_in_it,
]
by_name = pytest.mark.parametrize("f", [*IN_SEGMENTS, *STEP_BY_STEP], ids=lambda f: f.__name__)


def slope(f: Callable[..., Any], u: Any, t: Any, v: Any) -> Any:
    """Along u and t, by differences of the function as it is, with one step and with half of it."""

    def by(h: float) -> Any:
        return np.sum(v * (f(X + h * u, W + h * t, TRIPS) - f(X - h * u, W - h * t, TRIPS))) / (2.0 * h)

    return (4.0 * by(1e-5) - by(2e-5)) / 3.0


@by_name
def test_along_a_line(f: Callable[..., Any]) -> None:
    """The sum of v times the slope of f is that of the gradient times the direction: by differences."""
    u, t, v = RNG.normal(size=(3, X.size))
    x_b, w_b = grad(f, wrt=("x", "w"), target="cuda").backward(X, W, TRIPS, v)
    np.testing.assert_allclose(np.sum(x_b * u) + np.sum(w_b * t), slope(f, u, t, v), rtol=1e-6)


@pytest.mark.parametrize("kind", ["backward", "pullback"])
@by_name
def test_gradients(f: Callable[..., Any], kind: str) -> None:
    v = np.cos(np.arange(X.size))
    g, plain = grad(f, wrt=("x", "w"), target="cuda"), grad(f, wrt=("x", "w"), jit=False)
    got = g.backward(X, W, TRIPS, v) if kind == "backward" else g.vjp(X, W, TRIPS)[1](v)
    for one, other in zip(got, plain.backward(X, W, TRIPS, v), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("trips", [0, 1, 7, 8, 9, 48])
def test_all_threads_go_as_far(trips: int) -> None:
    n, v = np.full(X.size, trips), np.cos(np.arange(X.size))
    g, plain = grad(two_that_change_places, target="cuda"), grad(two_that_change_places, jit=False)
    np.testing.assert_allclose(g.backward(X, W, n, v), plain.backward(X, W, n, v), rtol=1e-10)


def counted(x, w, n):
    out = np.empty(x.size)
    for i in range(x.size):
        y, z = x[i], w[i]
        for t in range(n):
            y, z = y * y * 0.5 + 0.01 * t * z, z + 0.1 * y
        out[i] = y * z
    return out


@pytest.mark.parametrize("kind", ["backward", "pullback"])
@pytest.mark.parametrize("trips", [-3, 0, 1, 7, 8, 9, 40])
def test_as_often_as_the_caller_says(trips: int, kind: str) -> None:
    v = np.cos(np.arange(X.size))
    g, plain = grad(counted, wrt=("x", "w"), target="cuda"), grad(counted, wrt=("x", "w"), jit=False)
    got = g.backward(X, W, trips, v) if kind == "backward" else g.vjp(X, W, trips)[1](v)
    for one, other in zip(got, plain.backward(X, W, trips, v), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


SEVERAL = [two_that_change_places, counting_by_its_own, one_after_the_other, by_a_place_of_its_own]


@pytest.mark.parametrize("f", SEVERAL, ids=lambda f: f.__name__)
def test_more_than_there_is_room_for(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_call, "FIRST_ROWS", 2)
    v = np.cos(np.arange(X.size))
    g, want = grad(f, wrt=("x", "w"), target="cuda"), grad(f, wrt=("x", "w"), jit=False).backward(X, W, TRIPS, v)
    for _ in range(2):
        for one, other in zip(g.backward(X, W, TRIPS, v), want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


def test_single_precision() -> None:
    x, w, v = (a.astype(np.float32) for a in (X, W, np.cos(np.arange(X.size))))
    g, plain = grad(several_of_a_step, target="cuda"), grad(several_of_a_step, jit=False)
    np.testing.assert_allclose(g.backward(x, w, TRIPS, v), plain.backward(x, w, TRIPS, v), rtol=1e-4, atol=1e-6)


# ------------------------------------------------------------------------------------------------------- in the text


def text_of(f: Callable[..., Any]) -> str:
    return grad(f, wrt=("x", "w"), target="cuda").source(X, W, TRIPS)  # type: ignore[no-any-return]


@pytest.mark.parametrize("f", IN_SEGMENTS, ids=lambda f: f.__name__)
def test_what_is_kept_by_segments(f: Callable[..., Any]) -> None:
    text = text_of(f)
    loops = {one_after_the_other: 3, as_often_for_all: 2}
    assert text.count("for segment") == loops.get(f, 1), text


@pytest.mark.parametrize("f", STEP_BY_STEP, ids=lambda f: f.__name__)
def test_what_is_kept_step_by_step(f: Callable[..., Any]) -> None:
    """A branch, a whole number, a place: what decides, or jumps, must be what it was, to the last digit."""
    assert "segment" not in text_of(f)
