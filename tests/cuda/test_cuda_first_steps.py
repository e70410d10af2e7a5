"""The first of many steps reads its state where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import cuda

from srcgrad import grad

RNG = np.random.default_rng(0)
U, V = RNG.normal(size=23), RNG.normal(size=23)
GRID, OF_GRID = RNG.normal(size=(7, 9)), RNG.normal(size=(7, 9))


def two_buffers(u, w, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            then[i] = now[i] + w * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, then = then, now
    return now


def slices(u, w, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + w * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def in_place(u, w, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += w * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def around_the_ends(u, w, steps):
    u = u.copy()
    for _ in range(steps):
        u = u + w * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
    return u


def not_linear(u, w, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] * u[:-2] + w * np.sin(u[2:])
    return u


def from_the_end(u, w, steps):
    """What is before the first element is the last one."""
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(u.shape[0]):
            then[i] = now[i - 1] * w + 0.5 * now[i]
        now, then = then, now
    return now


def of_a_part(u, w, steps):
    """The state is shorter than what it is copied from."""
    n = u.shape[0] - 4
    now, then = np.empty(n), np.empty(n)
    for i in range(n):
        now[i] = u[i]
    for _ in range(steps):
        for i in range(n):
            then[i] = now[i - 1] * w + 0.5 * now[i]
        now, then = then, now
    return now


def old_and_new(u, w, steps):
    now, then = u.copy(), np.zeros(u.shape[0])
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            then[i] = now[i] + w * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, then = then, now
    return now * then


def every_other_element(u, w, steps):
    """A step leaves half of the elements alone: those of the first state are read for ever."""
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            if i % 2 == 0:
                then[i] = w * (now[i - 1] + now[i + 1])
        now, then = then, now
    return now


def a_part_by_numbers(u, w, steps):
    """Which elements stay is decided by numbers of the program's own."""
    low, high = u.shape[0] // 4, u.shape[0] // 2
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(low, high):
            then[i] = now[i] * w + now[i] * now[i]
        now, then = then, now
    return now


def twice(u, w, steps):
    return two_buffers(two_buffers(u, w, steps), 0.5 * w, steps + 1)


def on_a_grid(u, w, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                then[i, j] = now[i, j] + w * (now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1])
        now, then = then, now
    return now


def slices_of_a_grid(u, w, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + w * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def along_one_axis(u, w, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = 0.5 * u[1:-1] + w * (u[:-2] * u[2:])
    return u


def a_corner(u, w, steps):
    u = u.copy()
    for _ in range(steps):
        u[2:, :-3] = u[2:, :-3] * w + u[:-2, 3:] - 0.2 * u[1:-1, 1:-2]
    return u


def taken_out(u, w, steps):
    """Elements leave for good: nothing comes back to them."""
    u = u.copy()
    for _ in range(steps):
        u[3:] = w * u[:-3]
    return u


def looked_at_in_between(u, w, steps):
    u, s = u.copy(), np.zeros(u.shape[0])
    for _ in range(steps):
        u[1:-1] = u[1:-1] + w * (u[:-2] + u[2:])
        s = s + u * u
    return u + s


def as_long_as_it_grows(u, w, steps):
    """The way back counts from the number of steps that were made."""
    now, then, t = u.copy(), u.copy(), 0
    while t < steps and np.max(np.abs(now)) > 1e-3:
        for i in range(1, u.shape[0] - 1):
            then[i] = now[i] + w * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, then = then, now
        t += 1
    return now


PROGRAMS = [
    two_buffers, slices, in_place, around_the_ends, not_linear, from_the_end, of_a_part, old_and_new,
    every_other_element, a_part_by_numbers, twice, on_a_grid, slices_of_a_grid, along_one_axis, a_corner, taken_out,
    looked_at_in_between, as_long_as_it_grows,
]  # fmt: skip
by_name = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
by_steps = pytest.mark.parametrize("steps", [-1, 0, 1, 2, 3, 4])


def arguments(f: Callable[..., Any]) -> tuple[Any, Any]:
    if f in (on_a_grid, slices_of_a_grid, along_one_axis, a_corner):
        return GRID, OF_GRID
    return U, V[:-4] if f is of_a_part else V


@by_steps
@by_name
def test_gradients(f: Callable[..., Any], steps: int) -> None:
    u, v = arguments(f)
    want = grad(f, wrt=("u", "w"), jit=False).backward(u, 0.3, steps, v)
    kept = u.copy(), v.copy()
    for one, other in zip(grad(f, wrt=("u", "w"), target="cuda").backward(u, 0.3, steps, v), want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal((u, v) if u.shape == v.shape else u, kept if u.shape == v.shape else kept[0])


@by_steps
@by_name
def test_of_the_state_alone(f: Callable[..., Any], steps: int) -> None:
    """Then nothing but states is swept through."""
    u, v = arguments(f)
    want = grad(f, jit=False, wrt="u").backward(u, 0.3, steps, v)
    np.testing.assert_allclose(grad(f, target="cuda", wrt="u").backward(u, 0.3, steps, v), want, rtol=1e-12, atol=1e-13)


@by_steps
@by_name
def test_values(f: Callable[..., Any], steps: int) -> None:
    u, _ = arguments(f)
    np.testing.assert_allclose(grad(f, target="cuda")(u, 0.3, steps), f(u, 0.3, steps), rtol=1e-12, atol=1e-13)


@by_name
def test_along_a_line(f: Callable[..., Any]) -> None:
    """The sum of v times the slope of f is that of the gradient times the direction: by differences."""
    (u, v), h = arguments(f), 1e-4
    d = np.random.default_rng(1).normal(size=u.shape)
    slopes = [(f(u + k * h * d, 0.3, 3) - f(u - k * h * d, 0.3, 3)) / (2 * k * h) for k in (1, 2)]
    slope = np.sum(v * (4.0 * slopes[0] - slopes[1]) / 3.0)
    got = np.sum(d * grad(f, target="cuda", wrt="u").backward(u, 0.3, 3, v))
    np.testing.assert_allclose(got, slope, rtol=1e-8)


@pytest.mark.parametrize("f", [two_buffers, slices], ids=lambda f: f.__name__)
def test_arguments_on_the_device(f: Callable[..., Any]) -> None:
    """They are read as they lie there, and stay as they are; a result of no step is not the argument itself."""
    g, plain = grad(f, target="cuda", wrt="u"), grad(f, jit=False, wrt="u")
    wide = cuda.to_device(np.stack([V, V], axis=1))
    for v in (cuda.to_device(V), wide[:, 0]):
        for steps in (0, 1, 3):
            out = g.backward(cuda.to_device(U), 0.3, steps, v)
            np.testing.assert_allclose(out.copy_to_host(), plain.backward(U, 0.3, steps, V), rtol=1e-12)
            out[:] = 0.0
            np.testing.assert_array_equal(v.copy_to_host(), V)


READ = {two_buffers: 1, slices: 1, in_place: 1, slices_of_a_grid: 1, on_a_grid: 1, from_the_end: 1, of_a_part: 0}


@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
def test_in_the_text(f: Callable[..., Any]) -> None:
    text = grad(f, target="cuda", wrt="u").source(arguments(f)[0], 0.3, 3)
    assert text.count("v if _ == steps - 1 else") == READ[f], text
