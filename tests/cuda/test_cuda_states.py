"""Steps through time whose states the sweep reads again: where they are made, and how many kernels a step takes."""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad


def two_buffers(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i - 1])
        now, then = then, now
    return now


def in_place(u, rate, steps):
    for _ in range(steps):
        u[1:-1] -= rate * u[1:-1] * (u[2:] - u[:-2])
    return u * 1.0


def from_a_copy(u, rate, steps):
    for _ in range(steps):
        old = u.copy()
        u[1:-1] = old[1:-1] + rate * old[1:-1] * (old[:-2] - 2.0 * old[1:-1] + old[2:])
    return u * 1.0


def into_a_copy(u, rate, steps):
    for _ in range(steps):
        new = u.copy()
        new[1:-1] -= rate * u[1:-1] * (u[2:] - u[:-2])
        u = new
    return u


def copied_back(u, rate, steps):
    now, then = u.copy(), 2.0 * u
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i - 1])
        now[:] = then
    return now


def copied_back_and_set(u, rate, steps):
    now, then = u.copy(), 2.0 * u
    for _ in range(steps):
        now[0] = rate * now[1] * now[0]
        for i in range(1, u.size - 1):
            then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i - 1])
        now[:] = then
    return now


def starts_from_zeros(u, rate, steps):
    now, then = u.copy(), np.zeros_like(u)
    for k in range(2, steps):
        for i in range(2, u.size - 1):
            then[i] = now[i] - k * rate * now[i] * now[i - 1]
        now, then = then, now
    return now


def both_used(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i - 1])
        now, then = then, now
    return now * then


def with_ends(u, rate, steps):
    now, then = u.copy(), u.copy()
    for t in range(steps):
        now[0] = rate * t
        for i in range(1, u.size - 1):
            then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i - 1])
        then[-1] = then[-2] * then[0]
        now, then = then, now
    return now


def two_states(u, rate, steps):
    a, b = u.copy(), 2.0 * u
    a2, b2 = a.copy(), b.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            reacts = rate * a[i] * b[i] * b[i]
            a2[i] = a[i] + rate * (a[i - 1] + a[i + 1] - 2.0 * a[i]) - reacts
            b2[i] = b[i] + rate * (b[i - 1] + b[i + 1] - 2.0 * b[i]) + reacts
        a, a2 = a2, a
        b, b2 = b2, b
    return a * b


def with_a_residual(u, rate, steps):
    now, then = u.copy(), u.copy()
    changed = 0.0
    for k in range(steps):
        changed += np.sum(now * now) * k
        for i in range(1, u.size - 1):
            then[i] = now[i] * now[i] + rate * (now[i + 1] - now[i - 1])
        changed += np.sum((then - now) ** 2)
        now, then = then, now
    return changed + now[0]


def of_a_named_length(u, rate, steps):
    n = len(u)
    now, then = u.copy(), np.zeros(n)
    for _ in range(steps):
        then[0], then[n - 1] = now[0], now[n - 1]
        for i in range(1, n - 1):
            then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i - 1])
        now, then = then, now
    return now


def from_a_copy_by_loops(u, rate, steps):
    n = len(u)
    for _ in range(steps):
        old = u.copy()
        for i in range(1, n - 1):
            u[i] = old[i] + rate * old[i] * (old[i - 1] - 2.0 * old[i] + old[i + 1])
    return u * 1.0


def copied_and_set(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        then[:] = now
        now[0] = 0.5 * now[1]
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * now[i] * now[i - 1]
        now, then = then, now
    return now * now


def the_one_before(u, rate, steps):
    before, now = 2.0 * u, u.copy()
    for _ in range(steps):
        before = now.copy()
        for i in range(1, u.size - 1):
            now[i] += rate * before[i] * before[i - 1]
    return before * now


def summed_as_it_was(u, rate, steps):
    now, then = u.copy(), u.copy()
    s = 0.0
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * now[i] * (now[i + 1] - now[i - 1])
        now, then = then, now
        s += np.sum(then)
    return s


def changed_afterwards(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i - 1])
        now, then = then, now
    now[0] = 5.0 * now[0]
    return now * now


def one_after_the_other(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] - rate * now[i] * (now[i + 1] - now[i - 1])
        now, then = then, now
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * now[i] * now[i - 1]
        now, then = then, now
    return now


def on_a_plate(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                near = now[i + 1, j] + now[i - 1, j] + now[i, j + 1] + now[i, j - 1]
                then[i, j] = now[i, j] + rate * now[i, j] * (near - 4.0 * now[i, j])
        now, then = then, now
    return now


# How many kernels a step takes, and a step of the sweep.
PROGRAMS: dict[Callable[..., Any], tuple[int, int]] = {
    two_buffers: (1, 1), in_place: (1, 1), from_a_copy: (1, 1), into_a_copy: (1, 1), on_a_plate: (1, 1),
    copied_back: (1, 3), copied_back_and_set: (3, 3), starts_from_zeros: (1, 1), both_used: (1, 2), with_ends: (3, 3),
    two_states: (1, 2), with_a_residual: (1, 3), summed_as_it_was: (1, 2), the_one_before: (1, 3),
    changed_afterwards: (1, 1), from_a_copy_by_loops: (1, 1),
}  # fmt: skip


def arguments(f: Callable[..., Any], length: int, dtype: Any, steps: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(length)
    shape = (length, length + 1) if f is on_a_plate else (length,)
    return rng.normal(size=shape).astype(dtype), dtype(0.1), steps


@pytest.mark.parametrize(
    "f", [*PROGRAMS, one_after_the_other, of_a_named_length, copied_and_set], ids=lambda f: f.__name__
)
def test_backward(f: Callable[..., Any]) -> None:
    same_as_in_python(f, [(7, 0), (7, 1), (7, 4), (3, 2)], np.float64)


def test_backward_in_single_precision() -> None:
    same_as_in_python(two_buffers, [(7, 0), (7, 4)], np.float32)


def same_as_in_python(f: Callable[..., Any], sizes: list[tuple[int, int]], dtype: Any) -> None:
    plain, on_gpu = (grad(f, wrt=("u", "rate"), **how) for how in ({"jit": False}, {"target": "cuda"}))
    for length, steps in sizes:
        args = arguments(f, length, dtype, steps)
        value = plain(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
        v = np.random.default_rng(5).normal(size=np.shape(value)).astype(dtype)
        for got, wanted in zip(on_gpu.backward(*args, v), plain.backward(*args, v), strict=True):
            close(got, wanted, dtype)


@pytest.mark.parametrize("f", [two_buffers, in_place, from_a_copy, two_states, with_ends], ids=lambda f: f.__name__)
def test_values_and_pullbacks(f: Callable[..., Any]) -> None:
    plain, on_gpu = (grad(f, wrt=("u", "rate"), **how) for how in ({"jit": False}, {"target": "cuda"}))
    for steps in (0, 1, 3):
        args = arguments(f, 6, np.float64, steps)
        v = np.random.default_rng(5).normal(size=6)
        value, wanted = plain.value_and_backward(*args, v)
        got_value, got = on_gpu.value_and_backward(*args, v)
        again_value, pullback = on_gpu.vjp(*args)
        for x, y in zip(
            (got_value, *got, again_value, *pullback(v), *pullback(v)), (value, *wanted) * 2 + wanted, strict=True
        ):
            close(x, y, np.float64)


def close(got: Any, wanted: Any, dtype: Any) -> None:
    tolerance = 1e-11 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * (1.0 + np.max(np.abs(wanted))))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_kernels_of_a_step(f: Callable[..., Any]) -> None:
    text = grad(f, wrt=("u", "rate"), target="cuda").source(*arguments(f, 7, np.float64, 4))
    host = ast.parse(text).body[-1]
    loops = [node for node in ast.walk(host) if isinstance(node, ast.For)]
    assert tuple(map(launches, loops)) == PROGRAMS[f], text


@pytest.mark.parametrize("f, count", [(two_buffers, 1), (in_place, 1), (with_ends, 0)], ids=lambda f: str(f))
def test_the_state_after_the_last_step_is_made_where_somebody_looks_at_it(f: Callable[..., Any], count: int) -> None:
    """One that is set in the step before it is kept is needed, too."""
    g = grad(f, wrt=("u", "rate"), target="cuda")
    args = arguments(f, 7, np.float64, 4)
    assert g.source(*args).count("in range(steps - 1):") == count
    assert "in range(steps - 1):" not in g.source(*args, kind="value_and_backward")


def launches(loop: ast.For) -> int:
    calls = (node.func for node in ast.walk(loop) if isinstance(node, ast.Call))
    return sum(isinstance(f, ast.Subscript) or (isinstance(f, ast.Attribute) and f.attr == "by_one") for f in calls)
