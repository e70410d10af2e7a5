"""Sweeps over a grid, back and forth: what takes turns with what, and what must not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad


def in_place(u, rate, steps):
    for _ in range(steps):
        u[1:-1] += rate * (u[2:] + u[:-2] - 2.0 * u[1:-1])
    return u * 1.0


def one_step(u, rate, steps):
    u[1:-1] += rate * (u[2:] + u[:-2] - 2.0 * u[1:-1])
    u[1:-1] += rate * (u[2:] - u[:-2]) * steps
    return u * 1.0


def one_sided(u, rate, steps):
    for _ in range(steps):
        u[1:] += rate * u[:-1]
    return u * 1.0


def weighed(u, rate, steps):
    for _ in range(steps):
        u[1:-1] += rate * u[1:-1] * (u[2:] - u[:-2])
    return u * 1.0


def two_buffers(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * (now[i + 1] - now[i - 1])
        now, then = then, now
    return now


def both_buffers(u, rate, steps):
    now, then = u.copy(), 2.0 * u
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * (now[i + 1] - now[i - 1])
        now, then = then, now
    return now * then


def with_a_source(u, rate, steps):
    now, then = u.copy(), u.copy()
    for t in range(steps):
        now[0] = rate * t
        for i in range(1, u.size - 1):
            then[i] = now[i] * now[i] + rate * (now[i + 1] - now[i - 1])
        now, then = then, now
        now[-1] = now[-2]
    return now


def half_of_it(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(2, u.size // 2):
            then[i] = now[i] + rate * (now[i + 1] - now[i - 2])
        now, then = then, now
    return now + then


def until_quiet(u, rate, steps):
    now, then = u.copy(), u.copy()
    t = 0
    while t < steps and np.max(np.abs(now)) > 1e-3:
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * (now[i + 1] - 2.0 * now[i] + now[i - 1])
        now, then = then, now
        t += 1
    return now


def plates(u, rate, steps):
    now, then = u.reshape(3, -1).copy(), u.reshape(3, -1).copy()
    for _ in range(steps):
        for i in range(1, now.shape[0] - 1):
            for j in range(1, now.shape[1] - 1):
                then[i, j] = now[i, j] + rate * (now[i + 1, j] + now[i - 1, j] + now[i, j + 1] - 3.0 * now[i, j - 1])
        now, then = then, now
    return now


def many_rods(u, rate, steps):
    out = np.empty((2, u.size))
    for k in range(2):
        now, then = (k + 1.0) * u, u.copy()
        for _ in range(steps):
            for i in range(1, u.size - 1):
                then[i] = now[i] + rate * (now[i + 1] - now[i - 1])
            now, then = then, now
        out[k] = now
    return out


PROGRAMS = (in_place, one_step, one_sided, weighed, two_buffers, both_buffers, with_a_source, half_of_it, until_quiet,
            plates, many_rods)  # fmt: skip


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_sweeps_are_those_of_the_cpu(program: Callable[..., Any], steps: int) -> None:
    rng = np.random.default_rng(0)
    u = rng.normal(size=12)
    y = program(u.copy(), 0.1, steps)
    v = rng.normal(size=np.shape(y))
    expected = grad(program, jit=False).backward(u, 0.1, steps, v)
    found = grad(program, target="cuda").backward(u, 0.1, steps, v)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("program", [in_place, two_buffers], ids=lambda program: program.__name__)
def test_a_step_back_is_one_kernel(program: Callable[..., Any]) -> None:
    text = grad(program, wrt="u", target="cuda").source(np.ones(12), 0.1, 5)
    back = text.rpartition("    for _ in range(steps - 1, -1, -1):\n")[2].splitlines()
    step = [line for line in back if line.startswith("        ")]
    assert sum("_backward_" in line for line in step) == 1, text


def worn_down(x, rate, most):
    out = np.empty_like(x)
    for i in range(x.size):
        y, k = x[i], 0
        while y > 1.0 and k < most:
            y -= rate[i] * y * x[i]
            k += 1
        out[i] = y
    return out


def test_what_a_loop_in_a_thread_adds_to_an_element_is_added_once() -> None:
    x, rate, v = np.linspace(0.5, 4.0, 11), np.linspace(0.1, 0.3, 11), np.cos(np.arange(11.0))
    f = grad(worn_down, target="cuda")
    for most in (0, 1, 100):
        expected = grad(worn_down, jit=False).backward(x, rate, most, v)
        for one, other in zip(f.backward(x, rate, most, v), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
    loop = f.source(x, rate, 100, v).partition("for segment in")[2].partition("i += cuda")[0]
    assert loop.count("rate_b[i] +=") == 1 and loop.index("rate_b_now +=") < loop.index("if runs:"), loop


def mirrored(x, w):
    """The element that is added is another one but in the middle, where it is what was just stored."""
    u = x * 1.0
    for row in range(u.shape[0]):
        n = u.shape[1]
        for i in range(n):
            u[row, i] = np.sin(w[row, i])
            u[row, i] += u[row, n - 1 - i] * w[row, 0]
        for i in range(n):
            u[row, i] += w[row, i]
            u[row, i] += u[row, n - 1 - i] * x[row, 0]
    return u


def mirrored_by_the_host(x, w):
    u = x[0] * 1.0
    for i in range(len(u)):
        u[i] = np.sum(np.minimum(w, 0.3))
        u[i] += u[len(u) - 1 - i]
    return u


@pytest.mark.parametrize("f", [mirrored, mirrored_by_the_host], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [4, 5])
def test_an_element_that_may_be_the_one_just_stored(f: Callable[..., Any], n: int) -> None:
    x, w, v = np.random.default_rng(1).normal(size=(3, 2, n))
    v = v[0] if f is mirrored_by_the_host else v
    on_gpu, plain = grad(f, target="cuda"), grad(f, jit=False)
    np.testing.assert_allclose(on_gpu(x, w), f(x, w), rtol=1e-12)
    for got, want in zip(on_gpu.backward(x, w, v), plain.backward(x, w, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
