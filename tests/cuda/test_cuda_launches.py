"""What kernels are launched by: CUDA takes Python's integers alone, and the simulator whatever there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.runtime import device
from srcgrad.runtime.gpu.device_call import FIRST_ROWS

N = 5 * device.THREADS + 3


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What kernels are launched by: grids, blocks and lengths."""
    found: list[Any] = []
    configure, configured = device.Launch.configure, device._on_grid

    def note_lengths(launch: device.Launch, shared_bytes: int) -> None:
        found.append((*launch.lengths, shared_bytes))
        configure(launch, shared_bytes)

    def note(code: Any, grid: Any, block: Any, shared_bytes: int, *where: int) -> Any:
        found.append((*as_tuple(grid), *as_tuple(block), shared_bytes))
        return configured(code, grid, block, shared_bytes, *where)

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


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (squares, int),
        (squares, np.int32),
        (total_downwards, np.int64),
        (norms_of_rows, np.int32),
        (masked, int),
        (masked, np.int64),
        (trajectories, np.int64),
        (scattered, np.int32),
    ],
)
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


# ------------------------------------------------------------------------------------------- memory of each thread


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The shapes of arrays of which each thread has a part."""
    found: list[Any] = []
    empty = device.empty

    def note(shape: tuple[int, ...], dtype: Any) -> Any:
        found.append(shape)
        return empty(shape, dtype)

    monkeypatch.setattr(device, "empty", note)
    yield found


def until_small(x, most):
    out = np.empty(len(x))
    for i in range(len(x)):
        y, k = x[i], 0
        while k < most and y < 2.0:  # always, which nobody knows ahead
            y = np.sin(y) * x[i]
            k += 1
        out[i] = y
    return out


def smoothed_rows(x, n):
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        row = x[i] * n
        for k in range(1, row.size):
            row[k] = 0.5 * row[k] + 0.5 * row[k - 1]
        out[i] = row[-1]
    return out


@pytest.mark.parametrize("f, shape", [(until_small, (N,)), (smoothed_rows, (N, 70))])
@pytest.mark.parametrize("most", [1 << 30, 1 << 12, 1])
def test_memory_of_threads_is_bounded(
    f: Callable[..., Any], shape: tuple[int, ...], most: int, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "MOST_RESIDENT", 2)
    monkeypatch.setattr(device, "MOST_OWN", most)
    x, v = np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape), np.linspace(1.0, 2.0, N)
    want = grad(f, wrt="x", jit=False).backward(x, 5, v)
    np.testing.assert_allclose(grad(f, wrt="x", target="cuda").backward(x, 5, v), want, rtol=1e-12)
    own = [made for made in asked if len(made) == 2 and made not in (shape, (N, 1))]
    in_block = 64 * 8 * device.THREADS  # bytes: 64 rows, or more elements
    assert own and all(8 * np.prod(made) <= max(most, 2 * in_block) for made in own)
    assert max(made[1] for made in own) == device.THREADS * (1 if most < 1 << 30 else 2)


def test_memory_of_threads_along_two_axes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "MOST_RESIDENT", 2)
    monkeypatch.setattr(device.Launch, "configure", lambda launch, shared_bytes: None)
    launch = device.Launch(device.Kernel(lambda x: None, {}), (1000, 3))
    assert launch.blocks > device.MOST_RESIDENT
    assert launch.owners(8) == device.MOST_RESIDENT * device.THREADS
    monkeypatch.setattr(device, "MOST_OWN", 8 * device.THREADS)
    assert launch.owners(8) == device.THREADS
    monkeypatch.setattr(device, "MOST_OWN", 1 << 30)
    assert launch.owners(8) == device.THREADS  # the other array has no more room


def test_what_one_program_keeps_is_not_what_others_keep(asked: list[Any]) -> None:
    x, v = np.linspace(0.5, 1.5, N), np.ones(N)
    other = grad(lambda x, most: until_small(x, most) * 2.0, wrt="x", target="cuda")
    f = grad(until_small, wrt="x", target="cuda")

    def rows(g: Any, most: int) -> set[int]:
        asked.clear()
        g.backward(x, most, v)
        return {made[0] for made in asked if len(made) == 2}

    assert rows(other, 3) == {FIRST_ROWS}
    assert max(rows(f, 100)) >= 100
    assert min(rows(f, 3)) >= 100
    assert rows(other, 3) == {FIRST_ROWS}
