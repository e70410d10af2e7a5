"""Whole numbers of 32 bits in kernels, and addresses that neighbours have in common: the results are those of a CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import cuda

from srcgrad import grad
from srcgrad.runtime import device
from srcgrad.runtime.gpu import launching


def compared_with_large_numbers(x, n):
    y = np.zeros(x.size)
    for i in range(x.size):
        if i + 1 < x.size * 1_000_000_000 and x.size * 3_000_000_000 > i:
            y[i] = x[i] * x[i]
    return y


def compared_with_an_argument(x, n):
    y = np.zeros(x.size)
    for i in range(x.size):
        if i * i < n + 5_000_000_000 and i < n * 1_000_000_000:
            y[i] = x[i] ** 3
    return y


def scrambled(x, n):
    y = np.zeros(x.size)
    for i in range(x.size):
        place = (i * 2_654_435_761) % 101
        y[i] = x[i] * x[(i * 2_654_435_761 + n) % x.size] if place < 50 else x[i]
    return y


def far_apart(x, n):
    y = np.zeros(x.size)
    for i in range(x.size):
        if i >= 12:
            y[i] = x[i - 12] * x[i]
        if i + 20 < x.size:
            y[i] += x[i + 20] ** 2
        if i < 3:
            y[i] -= x[i + 5]
    return y


def the_index_changes_between(x, n):
    y = np.zeros(x.size)
    for i in range(x.size):
        k = i
        if i > 2:
            y[i] += x[k] * x[k - 1]
        k = x.size - 1 - i
        if i < x.size - 2:
            y[i] += x[k] * x[k - 1]
        else:
            y[i] += 2.0 * x[k + 1] * x[k]
    return y


def one_name_in_two_loops(x, n):
    y = np.zeros(x.size)
    for i in range(x.size):
        s = 0.0
        for k in range(1, n):
            if k % 2 == 0:
                s += x[k] * x[k - 1]
            else:
                s -= x[k + 1]
        for k in range(n - 1, 0, -1):
            if k % 3 == 0:
                s += x[k] * x[k + 1]
            else:
                s += x[k - 1]
        y[i] = s * x[i]
    return y


def corners(x, n):
    u = x.reshape(-1, 4)
    y = np.zeros_like(u)
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            if i > 0 and j > 0:
                y[i, j] += u[i - 1, j - 1] * u[i, j]
            if i < u.shape[0] - 1 and j < u.shape[1] - 1:
                y[i, j] += u[i + 1, j + 1] ** 2
            if i > 0:
                y[i, j] -= u[i - 1, j] * u[i, j]
    return y


def strided(x, n):
    u = x.reshape(-1, 4)[::2, ::-1].T
    y = np.zeros(u.shape)
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            if i > 0:
                y[i, j] += u[i - 1, j] * u[i, j]
            if j < u.shape[1] - 1:
                y[i, j] += u[i, j + 1] ** 2
    return y


PROGRAMS = [
    compared_with_large_numbers, compared_with_an_argument, scrambled, far_apart, the_index_changes_between,
    one_name_in_two_loops, corners, strided,
]  # fmt: skip


def check(f: Callable[..., Any], size: int) -> None:
    x = np.linspace(0.3, 1.9, size)
    plain, on_gpu = grad(f, jit=False), grad(f, target="cuda")
    want = f(x, 7)
    np.testing.assert_allclose(on_gpu(x, 7), want, rtol=1e-13)
    v = np.cos(np.arange(want.size)).reshape(want.shape)
    np.testing.assert_allclose(on_gpu.backward(x, 7, v), plain.backward(x, 7, v), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_same_as_on_a_cpu(f: Callable[..., Any]) -> None:
    check(f, 40)


@pytest.mark.parametrize("f", [scrambled, corners, strided], ids=lambda f: f.__name__)
def test_long_arrays(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays and axes that are longer than numbers of 32 bits are for have kernels of their own."""
    for module in (device, launching):
        monkeypatch.setattr(module, "LONGEST", 30)
    before = set(device._compiled)
    check(f, 36)
    made = set(device._compiled) - before
    assert device.SIMULATED or [key for key in made if key.endswith("for long arrays")]


@device.kernel
def read_behind_the_loop(x, y, n):
    i = cuda.grid(1)
    if i < y.shape[0]:
        s = 0.0
        for k in range(n):
            if k % 2 == 0:
                s += x[k]
            else:
                s -= 2.0 * x[k]
        y[i] = s + x[k + 1]


def test_a_variable_that_a_loop_sets_first() -> None:
    """At the head of the loop it is not yet what the body makes of it."""
    x, y = np.linspace(0.3, 1.9, 9), cuda.to_device(np.zeros(3))
    read_behind_the_loop[3](cuda.to_device(x), y, 5)
    want = x[0] - 2.0 * x[1] + x[2] - 2.0 * x[3] + x[4] + x[5]
    np.testing.assert_allclose(y.copy_to_host(), want, rtol=1e-13)
