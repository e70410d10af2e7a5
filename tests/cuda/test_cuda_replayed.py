"""Calls that are given to the driver as they were before: the same results, for other arrays, in other memory."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numba import cuda
from numba.core import config

if config.ENABLE_CUDASIM:
    pytest.skip("the simulator runs the host's part each time", allow_module_level=True)

import srcgrad.cuda
from srcgrad import grad
from srcgrad.runtime.gpu import device_blocks, replayed

N = 300


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The calls that were not run, but replayed."""
    found: list[Any] = []
    call = replayed.Replay.__call__

    def note(replay: replayed.Replay, values: Any) -> list[Any]:
        found.append(replay)
        return call(replay, values)

    monkeypatch.setattr(replayed.Replay, "__call__", note)
    yield found


def chain(x, y):
    return np.sin(x) * y + x * x


def distance(x, y):
    return np.sqrt(np.sum((x - y) ** 2))


def standardised(x, y):
    rows = np.reshape(x, (30, 10))
    return (rows - np.mean(rows, axis=0)) / np.std(rows, axis=0) * y[0]


def steps(x, y):
    u = x.copy()
    for _ in range(3):
        u[1:-1] += 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:]) * y[1:-1]
    return u


def two_buffers(x, y):
    u, w = x.copy(), np.zeros(x.size)
    for _ in range(5):
        for i in range(1, x.size - 1):
            w[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, w = w, u
    return u * y


def sums_of_columns(x, y):
    out = np.zeros(10)
    for i in range(x.size // 10):
        for j in range(10):
            out[j] += x[10 * i + j] * y[j]
    return out


def upwards_and_back(x, y):
    return x[::-1] * y, np.reshape(x, (10, x.size // 10)).T * 2.0, y


def products(x, y):
    a, b = np.reshape(x, (20, 15)), np.reshape(y, (15, 20))
    return np.tanh(a @ b) @ a[:, 0] + a @ b[:, 1] + np.outer(a[0], b[0])[1, 2]


def stacks_of_products(x, y):
    a, b = np.reshape(x, (3, 10, 10)), np.reshape(y, (3, 10, 10))
    return np.tanh(a @ b) @ a


PROGRAMS = [
    products,
    stacks_of_products,
    chain,
    distance,
    upwards_and_back,
    steps,
    sums_of_columns,
    standardised,
    two_buffers,
]
PLACES = (0, 8)  # memory that was given back is not used again soon, or at once


def arrays(seed: int, dtype: Any = np.float64, count: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.5, 2.0, (2, count))
    return x.astype(dtype), y.astype(dtype)


def like(value: Any) -> Any:
    """A cotangent."""
    if isinstance(value, tuple):
        return tuple(map(like, value))
    return 1.0 if np.ndim(value) == 0 else np.cos(np.arange(value.size, dtype=float)).reshape(value.shape)


def moved(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(moved, value))
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def fetched(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map(fetched, value))
    return value.copy_to_host() if hasattr(value, "copy_to_host") else value


def same(got: Any, want: Any) -> None:
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "program, places",
    [pytest.param(program, PLACES[k % 2], id=program.__name__) for k, program in enumerate(PROGRAMS)],
)
def test_the_third_call_is_replayed(
    program: Any, places: int, replays: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it gives is of its own arrays, and no call writes what another one has returned."""
    monkeypatch.setattr(device_blocks, "MOST_PLACES", places)
    monkeypatch.setattr(replayed.device_memory.pool, "blocks", device_blocks.Blocks())
    f, reference = grad(program, target="cuda"), grad(program, jit=False)
    all_found, all_wanted = [], []
    for turn in range(4):
        x, y = arrays(turn)
        v = like(program(x, y))
        found = f(*moved((x, y))), f.backward(*moved((x, y, v)))
        assert len(replays) == 2 * max(0, turn - 1)
        all_found.append(found)
        all_wanted.append((program(x, y), reference.backward(x, y, v)))
    for found, wanted in zip(all_found, all_wanted, strict=True):
        same(fetched(found), wanted)


def test_shapes_strides_types_and_numbers_are_told_apart(replays: list[Any]) -> None:
    def f(x, rate):
        return np.where(x > 1.0, x * rate, 1.0 / rate)

    ours, reference = grad(f, target="cuda"), grad(f, jit=False)
    cases: list[Any] = []
    for count in (N, 1, 0):
        cases += [(arrays(count, np.float64, count)[0], rate) for rate in (2.0, np.float64(2.0), 2, -0.0, 0.0)]
        cases.append((arrays(count, np.float32, count)[0], 2.0))
    with np.errstate(all="ignore"):
        for _ in range(4):
            for x, rate in cases:
                wanted = reference(x, rate), reference.backward(x, rate, np.ones_like(x))
                found = fetched((ours(*moved((x, rate))), ours.backward(*moved((x, rate, np.ones_like(x))))))
                for got, want in zip((found[0], *found[1]), (wanted[0], *wanted[1]), strict=True):
                    assert got.dtype == np.asarray(want).dtype
                    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert len(replays) >= 2 * len(cases)


def test_views_of_other_strides(replays: list[Any]) -> None:
    f = grad(chain, target="cuda")
    x, y = arrays(3)
    on_device, other = moved((x, y))
    for _ in range(3):
        for part in (slice(0, 100), slice(100, 200), slice(0, 200, 2), slice(1, 201, 2)):
            found = f.backward(on_device[part], other[part], moved(np.ones(100)))
            same(fetched(found), grad(chain, jit=False).backward(x[part], y[part], np.ones(100)))
    assert len(replays) == 8  # twice four, but for the first two of each form


def test_one_array_by_two_names(replays: list[Any]) -> None:
    """Which of the two a kernel is given nobody can tell by its address."""
    reference = grad(chain, jit=False)
    x, y = arrays(5)
    a, b, v = moved((x, y, np.ones(N)))
    f, g = grad(chain, target="cuda"), grad(chain, target="cuda")
    for _ in range(4):
        same(fetched(f.backward(a, a, v)), reference.backward(x, x, np.ones(N)))
        same(fetched(g.backward(a, b, a)), reference.backward(x, y, x))
    assert not replays


def test_two_arrays_and_then_one_by_two_names(replays: list[Any]) -> None:
    f, reference = grad(chain, target="cuda"), grad(chain)
    x, y = arrays(5)
    a, b, v = moved((x, y, np.ones(N)))
    for _ in range(3):
        same(fetched(f.backward(a, b, v)), reference.backward(x, y, np.ones(N)))
    same(fetched(f.backward(a, a, v)), reference.backward(x, x, np.ones(N)))
    same(fetched(f.backward(a, b, b)), reference.backward(x, y, y))
    assert len(replays) == 3


def doubled(x, y):
    x *= 2.0
    y[0] += x[1]


def test_arguments_that_are_written(replays: list[Any]) -> None:
    f = grad(doubled, target="cuda", outputs=("x", "y"))
    for turn in range(5):
        x, y = arrays(turn)
        a, b = moved((x, y))
        f(a, b)
        doubled(x, y)
        same(fetched((a, b)), (x, y))
        given = moved(arrays(turn))
        back = f.backward(*given, moved((x, y)))
        same(fetched(given), arrays(turn))
        same(fetched(back), grad(doubled, outputs=("x", "y")).backward(*arrays(turn), (x, y)))
    assert len(replays) == 6


def test_what_the_host_decides_by_the_data_is_run(replays: list[Any]) -> None:
    def f(x):
        s = np.sum(x)
        while s > 1.0:
            x = x * 0.5
            s = np.sum(x)
        return np.sum(x * x)

    ours = grad(f, target="cuda")
    for factor in (1.0, 2.0, 0.001, 8.0):
        x = factor * arrays(1)[0]
        same(fetched(ours.backward(moved(x))), grad(f, jit=False).backward(x))
    assert not replays


def test_what_kernels_report(replays: list[Any]) -> None:
    def taken(x, at):
        return x[at] ** 2

    f = grad(taken, target="cuda")
    for last in (2, 3, 4, N, 5, -N - 1, 6):
        x, at = arrays(1)[0], np.array([1, 2, last])
        given = *moved((x, at)), moved(np.ones(3))
        if -N <= last < N:
            same(fetched(f.backward(*given)), grad(taken, jit=False).backward(x, at, np.ones(3)))
        else:
            with pytest.raises(IndexError, match=f"index {last} is out of bounds"):
                f.backward(*given)
    assert len(replays) == 5


def test_lengths_that_do_not_fit(replays: list[Any]) -> None:
    f = grad(chain, target="cuda")
    for _ in range(4):
        with pytest.raises(ValueError, match="broadcast"):
            f(moved(np.ones(5)), moved(np.ones(6)))
    assert not replays


def test_memory_of_earlier_calls_is_not_held(replays: list[Any]) -> None:
    def f(x, y):
        return np.reshape(x * y, (x.size // 10, 10)).T, np.sum(x)

    ours = grad(f, target="cuda")
    held = []
    for turn in range(4):
        given = moved(arrays(turn))
        found = ours(*given)
        held += [weakref.ref(each.gpu_data) for each in (*given, *found)]
        del given, found
    gc.collect()
    assert len(replays) == 2
    assert not [each for each in held if each() is not None]


def test_memory_is_used_again_within_a_call(replays: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay wants little more than the host's part at one time; and where there is not even that, that part runs."""

    def shrinking(x, y):
        s = np.zeros(x.size)
        for i in range(20):
            u = np.exp(x[i:])
            u[1:-1] += 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
            s[i:] += u[::-1]
        return s * y

    f = grad(shrinking, target="cuda")
    for turn in range(4):
        same(fetched(f(*moved(arrays(turn)))), shrinking(*arrays(turn)))
    assert len(replays) == 2
    assert sum(replays[0].sizes) < 8 * 10 * N

    def none_left(size: int) -> Any:
        raise MemoryError

    block = replayed.pool.block
    call = replayed.Replay.__call__

    def without_memory(replay: replayed.Replay, values: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(replayed.pool, "block", none_left, raising=False)
            return call(replay, values)

    monkeypatch.setattr(replayed.Replay, "__call__", without_memory)
    same(fetched(f(*moved(arrays(7)))), shrinking(*arrays(7)))
    assert replayed.pool.block == block


def test_blocks_that_are_held_at_one_time_lie_apart() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        sizes = [int(size) for size in rng.integers(1, 5000, 40)]
        held: list[int] = []
        events, together = [], []
        for block in range(len(sizes)):
            while held and rng.random() < 0.45:
                events.append((held.pop(int(rng.integers(len(held)))), False))
            held.append(block)
            events.append((block, True))
            together.append(tuple(held))
        offsets, total = replayed.arranged(events, sizes)
        for group in together:
            ends = sorted((offsets[block], offsets[block] + sizes[block]) for block in group)
            assert all(one[1] <= other[0] for one, other in itertools.pairwise(ends))
            assert ends[-1][1] <= total


class Last:
    """What calls a function when it goes."""

    def __init__(self, call: Any) -> None:
        self.call = call

    def __del__(self) -> None:
        self.call()


def test_a_call_while_another_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a finaliser, or a handler of signals: neither has the other's launches."""
    inner, f = grad(chain, target="cuda"), grad(steps, target="cuda")
    given = moved(arrays(1))
    launch = replayed.Prepared.launch
    for turn in range(5):
        x, y = arrays(turn)
        due = [Last(lambda: inner(*given))]

        def launching(prepared: Any, shape: Any, values: Any) -> None:
            launch(prepared, shape, values)
            due.clear()

        with monkeypatch.context() as patch:
            patch.setattr(replayed.Prepared, "launch", launching)
            found = f(*moved((x, y)))
        due.clear()
        same(fetched(found), steps(x, y))


def test_numbers_that_kernels_do_not_take() -> None:
    f = grad(lambda x, z: 2.0 * x, wrt="x", target="cuda")
    for z in (2j, 1j, 1.0, None, "a") * 3:
        same(fetched(f(moved(np.ones(5)), z)), 2.0 * np.ones(5))


def test_streams(replays: list[Any]) -> None:
    f = grad(distance, target="cuda")
    for _ in range(3):
        for own in (cuda.stream(), None):
            x, y = arrays(2)
            if own is None:
                found = f.backward(*moved((x, y)))
            else:
                with srcgrad.cuda.stream(own):
                    found = f.backward(*moved((x, y)))
                own.synchronize()
            same(fetched(found), grad(distance, jit=False).backward(x, y))
    assert replays


def test_threads() -> None:
    """Each has its own addresses in the end."""
    f = grad(standardised, target="cuda")
    problems: list[Any] = []

    def work(seed: int) -> None:
        try:
            x, y = arrays(seed)
            v = like(standardised(x, y))
            wanted = grad(standardised, jit=False).backward(x, y, v)
            given = moved((x, y, v))
            for _ in range(6):
                same(fetched(f.backward(*given)), wanted)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
