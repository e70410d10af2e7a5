"""What kernels are launched by: CUDA takes Python's integers alone, and the simulator whatever there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.runtime import device

N = 5 * device.THREADS + 3


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What kernels are launched by: grids, blocks and lengths."""
    found: list[Any] = []
    configure, with_numba = device.Launch.configure, device._on_grid

    def note_lengths(launch: device.Launch, shared_bytes: int) -> None:
        found.append((*launch.lengths, shared_bytes))
        configure(launch, shared_bytes)

    def note(code: Any, grid: Any, block: Any, shared_bytes: int, pointer: int) -> Any:
        found.append((*as_tuple(grid), *as_tuple(block), shared_bytes))
        return with_numba(code, grid, block, shared_bytes, pointer)

    monkeypatch.setattr(device.Launch, "configure", note_lengths)
    monkeypatch.setattr(device, "_on_grid", note)
    yield found


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def squares(x, n):
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[i] * x[i]
    return out


def total_downwards(x, n):
    s = 0.0
    for i in range(n - 1, -1, -1):
        s += x[i] * x[i]
    return s


def norms_of_rows(x, n):
    rows = np.reshape(x[: n // 20 * 20], (n // 20, 20))
    return np.sum(np.sqrt(np.sum(rows * rows, axis=1)))


def masked(x, n):
    return np.sum(x[:n][x[:n] > 1.5] ** 2) * x


def trajectories(x, n):
    out = np.empty(n)
    for i in range(n):
        y = x[i]
        for _ in range(n % 3 + 1):
            y = np.sin(y)
        out[i] = y
    return out


def scattered(x, n):
    out = np.zeros(4)
    for i in range(n):
        out[i % 4] += x[i] ** 2
    return out


@pytest.mark.parametrize("f", [squares, total_downwards, norms_of_rows, masked, trajectories, scattered])
@pytest.mark.parametrize("kind", [int, np.int64, np.int32])
def test_lengths_that_the_host_computes_are_of_python(f: Callable[..., Any], kind: Any, launched: list[Any]) -> None:
    x, n = np.linspace(1.0, 2.0, N), kind(N)
    y = f(x, n)
    v = np.ones_like(y) if np.ndim(y) else 1.0
    g, plain = grad(f, wrt="x", target="cuda"), grad(f, wrt="x", jit=False)
    want = plain.backward(x, n, v)
    np.testing.assert_allclose(g(x, n), y, rtol=1e-12)
    np.testing.assert_allclose(g.backward(x, n, v), want, rtol=1e-12)
    np.testing.assert_allclose(g.vjp(x, n)[1](v), want, rtol=1e-12)
    assert launched
    assert all(type(number) is int for numbers in launched for number in numbers), launched
