"""Outer products that the steps of a loop add to a matrix are added together, wherever nobody looks in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(5)


def recurrent(W, U, xs, h):
    loss = 0.0
    for t in range(xs.shape[0]):
        h = np.tanh(W @ h + U @ xs[t])
        loss += np.sum(h * h)
    return loss


def gated(W, V, xs, h):
    for t in range(xs.shape[0]):
        z = 1.0 / (1.0 + np.exp(-(V @ h)))
        h = z * h + (1.0 - z) * np.tanh(W @ (z * h) + xs[t])
    return h


def until_it_is_small(W, U, xs, h):
    k = 0
    while np.sum(h * h) > 1e-3 and k < 90:
        h = 0.9 * np.tanh(W @ h) + 0.1 * (U @ h)
        k += 1
    return h


def now_and_then(W, U, xs, h):
    for t in range(xs.shape[0]):
        if xs[t, 0] > 0.0:
            h = np.sin(W @ h)
        else:
            h = np.cos(h @ U)
    return h


def within_each_other(W, U, xs, h):
    total = np.zeros(h.shape)
    for a in range(3):
        y = h * (a + 1.0)
        for t in range(xs.shape[0]):
            y = np.tanh(W @ y + xs[t])
        total += y
    return total


def changes_on_the_way(W, U, xs, h):
    for t in range(xs.shape[0]):
        h = np.tanh(W @ h + xs[t])
        W = 0.99 * W
    return h


def changes_between_loops(W, U, xs, h):
    for a in range(2):
        for t in range(xs.shape[0]):
            h = np.tanh(W @ h + xs[t])
        W = W * (1.0 + 0.1 * h[0])
    return h


def of_one_matrix_twice(W, U, xs, h):
    for t in range(xs.shape[0]):
        h = np.tanh(W @ np.cos(W @ h) + W.T @ xs[t])
    return h


def of_flat_parameters(W, U, xs, h):
    V = W.reshape(-1)[: h.size * h.size].reshape(h.size, h.size)
    for t in range(xs.shape[0]):
        h = np.tanh(V @ h + xs[t])
    return h


def of_a_part(W, U, xs, h):
    V = W[: h.shape[0], ::-1]
    for t in range(xs.shape[0]):
        h = np.tanh(V @ h + xs[t])
    return h


def of_a_matrix_made_here(W, U, xs, h):
    V = W @ U
    for t in range(xs.shape[0]):
        h = np.tanh(V @ h + xs[t])
    return h


def of_rows(W, U, xs, h):
    out = np.zeros(xs.shape)
    for t in range(xs.shape[0]):
        out[t] = np.maximum(W @ xs[t] + h, 0.0)
    return out


def power_iteration(W, U, xs, h):
    for _ in range(xs.shape[0]):
        y = W @ h
        h = y / np.sqrt(np.sum(y * y))
    return h @ (W @ h)


def left_early(W, U, xs, h):
    for t in range(xs.shape[0]):
        h = np.tanh(W @ h + xs[t])
        if np.sum(h) > 1.0:
            break
    return h


PROGRAMS = [
    recurrent, gated, until_it_is_small, now_and_then, within_each_other, of_one_matrix_twice, of_flat_parameters,
    of_rows,
    of_a_matrix_made_here, changes_between_loops, power_iteration, left_early,
]  # fmt: skip


def arguments(n: int, steps: int, dtype: Any = np.float64) -> tuple[np.ndarray, ...]:
    shapes = (n, n), (n, n), (steps, n), (n,)
    return tuple((RNG.normal(size=shape) / np.sqrt(max(n, 1))).astype(dtype) for shape in shapes)


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients(program: Callable[..., Any]) -> None:
    f = grad(program, jit=False)
    for n, steps in ((9, 33), (8, 64), (7, 5)):
        check_grad(f, *arguments(n, steps))
    assert "add_matmul_tn" in f.source(*arguments(9, 3))


@pytest.mark.parametrize("program", [changes_on_the_way, of_a_part])
def test_some_are_added_at_once(program: Callable[..., Any]) -> None:
    f = grad(program, jit=False)
    check_grad(f, *arguments(9, 40))
    assert "add_matmul_tn" not in f.source(*arguments(9, 3))


@pytest.mark.parametrize("program", [recurrent, now_and_then, of_one_matrix_twice, of_rows])
def test_compiled(program: Callable[..., Any]) -> None:
    f = grad(program)
    for n, steps in ((9, 65), (7, 5), (40, 1), (9, 0), (0, 0)):
        args = arguments(n, steps)
        v = np.ones(np.shape(program(*args)))
        expected = grad(program, jit=False).backward(*args, v)
        for found, wanted in zip(f.backward(*args, v), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)


def test_pullbacks_single_precision_complex_numbers_and_threads() -> None:
    args = arguments(12, 50)
    expected = grad(recurrent, jit=False).backward(*args)
    single = grad(recurrent, jit=False).backward(*(a.astype(np.float32) for a in args))
    for found, wanted in zip(single, expected, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    for program in (gated, of_a_matrix_made_here, until_it_is_small):
        y, pullback = grad(program, jit=False).vjp(*args)
        for found, wanted in zip(pullback(y), grad(program, jit=False).backward(*args, y), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
    check_grad(grad(gated, jit=False), *(a + 0.1j * a[::-1] for a in args))
    for found, wanted in zip(grad(recurrent, parallel=True, jit=False).backward(*args), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11)
