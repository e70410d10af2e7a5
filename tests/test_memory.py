"""Memory that serves again: never while somebody has it, from any thread, up to a limit, and until it is released."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import srcgrad
from srcgrad import grad
from srcgrad.runtime import memory
from srcgrad.runtime.lent import _extended, _fresh, _shelf


def chain(x):
    y = np.exp(np.sin(x) * x)
    for i in range(1, len(y)):
        y[i] = y[i] * 0.5 + 0.5 * y[i - 1] * y[i - 1]
    return y


def filled(n, value):
    return np.zeros(n) + value


def straight(x):
    return np.sin(x) * x


def slope(x: Any) -> Any:
    return np.cos(x) * x + np.sin(x)


LARGE = memory.LEAST // 8 + 5


def test_memory_serves_again() -> None:
    f, x = grad(straight), np.linspace(0.0, 1.0, LARGE)
    srcgrad.release_memory()
    first = f.backward(x, x)
    del first
    assert srcgrad.release_memory() >= 8 * LARGE
    first = f.backward(x, x)
    place = first.ctypes.data
    del first
    again = f.backward(x, np.ones(LARGE))
    assert again.ctypes.data == place
    np.testing.assert_allclose(again, slope(x), rtol=1e-13)


def test_small_arrays_are_not_held() -> None:
    f, x = grad(straight), np.linspace(0.0, 1.0, 100)
    f.backward(x, x)
    srcgrad.release_memory()
    f.backward(x, x)
    assert srcgrad.release_memory() == 0


@njit
def room(length, like):
    return _fresh(length, like).size


@pytest.mark.parametrize("n", [1, 9, 1_000, LARGE])
def test_no_vector_lies_in_two_lines(n: int) -> None:
    backward, x = grad(straight).backward, np.ones(n)
    results = [backward(x, x) for _ in range(8)]
    assert all(g.ctypes.data % memory.LINE == 0 for g in results)


def test_a_stack_that_grows_takes_the_largest_block() -> None:
    like = np.empty(1)
    srcgrad.release_memory()
    assert LARGE <= room(LARGE, like) < LARGE + 100
    for length in (16 * LARGE, 2 * LARGE, 4 * LARGE):
        room(length, like)
    held = srcgrad.release_memory()
    assert held >= 8 * 17 * LARGE  # what the last two had was what the first had left
    assert held < 8 * 18 * LARGE
    room(4 * LARGE, like)
    assert 4 * LARGE <= room(LARGE, like) < 4 * LARGE + 100


@njit
def extend(length, more, is_shared):
    stack = [_fresh(length, np.empty(1))]
    for i in range(length):
        stack[0][i] = i
    other = stack[0] if is_shared else np.empty(0)
    is_extended = _extended(_shelf(stack), more)
    array, wrong = stack[0], 0
    array[array.size - 1] += 1.0
    for i in range(length - 1):
        wrong += array[i] != i
    return is_extended, array.size, wrong, other.size


def test_a_long_stack_grows_where_it_is() -> None:
    srcgrad.release_memory()
    long = memory.LONG // 8
    for length in (long, long + 7, 3 * long + 1):
        assert extend(length, 5 * length, False) == (True, 5 * length, 0, 0)
    held = srcgrad.release_memory()
    assert 8 * 15 * long < held <= 8 * 22 * long + 4096  # at their new sizes
    is_extended, size, wrong, other = extend(long, 2 * long, True)  # somebody else has it
    assert (is_extended, wrong) == (False, 0) and size == other
    srcgrad.release_memory()
    assert not extend(long // 2, long, False)[0]
    srcgrad.release_memory()


@njit
def tangent(x, steps):
    x_t = 1.0
    for _ in range(steps):
        x, x_t = x + 1e-7 * np.sin(x), x_t + 1e-7 * np.cos(x) * x_t
    return x_t


def test_a_sweep_over_a_long_stack() -> None:
    @grad
    def f(x, steps):
        n = 0
        while n < steps:
            x = x + 1e-7 * np.sin(x)
            n += 1
        return x

    steps = 2 * memory.LONG // 8 + 3  # it is extended twice
    srcgrad.release_memory()
    for _ in range(2):
        assert f.backward(0.5, steps) == pytest.approx(tangent(0.5, steps), rel=1e-9)
    srcgrad.release_memory()


def test_stacks_of_two_threads_are_two() -> None:
    """Both go through all that is held, at once."""

    @grad
    def f(x, steps):
        n = 0
        while n < steps:
            x = 1.1 * np.sin(x)
            n += 1
        return x

    steps = 20 * LARGE
    want, found = f.backward(0.5, steps), []
    ask = lambda: found.extend(f.backward(0.5, steps) for _ in range(3))
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 12


def test_what_somebody_has_stays_as_it_is() -> None:
    f = grad(straight)
    points = [np.linspace(0.0, k, LARGE + 100 * k) for k in range(40)]
    results = [(f(x), f.backward(x, np.ones(len(x)))) for x in points]
    views = [result[1][::7] for result in results]
    for (y, x_b), view, x in zip(results, views, points, strict=True):
        np.testing.assert_allclose(y, np.sin(x) * x, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(x_b, slope(x), rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(view, x_b[::7])
    want = [np.array(view) for view in views]
    del results, y, x_b
    for x in points:
        f.backward(x, x)
    for view, copy in zip(views, want, strict=True):
        np.testing.assert_array_equal(view, copy)


def test_kept_values_of_one_call_are_not_those_of_another() -> None:
    f, rng = grad(chain), np.random.default_rng(0)
    x, z = rng.uniform(-1, 1, (2, LARGE))
    v = rng.normal(size=LARGE)
    want, other = f.backward(x, v), f.backward(z, v)
    y, pullback = f.vjp(x)
    z_y, z_pullback = f.vjp(z)
    for _ in range(3):
        np.testing.assert_array_equal(pullback(v), want)
        np.testing.assert_array_equal(z_pullback(v), other)
    np.testing.assert_array_equal(y, f(x))
    np.testing.assert_array_equal(z_y, f(z))


def test_threads_take_and_give_at_once() -> None:
    f = grad(straight)
    f.backward(np.ones(3), np.ones(3))
    wrong: list[str] = []

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        alive: list[tuple[Any, Any]] = []
        for _ in range(60):
            x = rng.uniform(-1, 1, LARGE + int(rng.integers(0, 3 * LARGE)))
            alive.append((x, f.backward(x, np.ones(len(x)))))
            if len(alive) > 3:
                at, got = alive.pop(int(rng.integers(0, 4)))
                if not np.allclose(got, slope(at), rtol=1e-12):
                    wrong.append(f"thread {number}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    srcgrad.release_memory()
    assert srcgrad.release_memory() == 0


def test_no_more_is_held_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(filled)
    srcgrad.release_memory()
    alive = [f(LARGE * 3, 1.5) for _ in range(3 * memory.SLOTS)]
    assert all(float(y[-1]) == 1.5 for y in alive)
    del alive
    assert 0 < srcgrad.release_memory() <= (memory.SLOTS + 1) * (LARGE * 3 * 8 + 256)
    for n in range(LARGE, 4 * LARGE, LARGE // 20):
        f(n, 2.0)
    assert srcgrad.release_memory() <= memory.most_held()


@pytest.mark.parametrize(("n", "error"), [(2**61, ValueError), (2**59, MemoryError), (-1, ValueError)])
def test_lengths_that_no_memory_has(n: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        grad(filled)(n, 1.0)


def test_a_process_ends_with_arrays_alive() -> None:
    program = (
        "import numpy as np, srcgrad, builtins\n"
        "from test_memory import straight, LARGE\n"
        "f = srcgrad.grad(straight)\n"
        "x = np.linspace(0.0, 1.0, LARGE)\n"
        "builtins.alive = [f.backward(x, x) for _ in range(5)]\n"
        "f.backward(x, x)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr
