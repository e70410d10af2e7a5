"""parallel=True over the rows of compressed matrices: apart where in order, on one thread where they are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from racing import pieces_at_once

from srcgrad import grad, runtime

RNG = np.random.default_rng(0)


def product(values, x, columns, starts):
    y = np.zeros(starts.size - 1, values.dtype)
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            y[i] += np.sin(values[p]) * x[columns[p]]
    return y


def downwards(values, x, columns, starts):
    y = np.zeros(starts.size - 1, values.dtype)
    for i in range(starts.size - 2, -1, -1):
        first, last = starts[i], starts[i + 1]
        for p in range(first, last):
            y[i] += values[p] ** 2 * x[columns[p]]
    return y


def from_the_second_row(values, x, columns, starts):
    y = np.zeros(starts.size - 2, values.dtype)
    for i in range(starts.size - 2):
        for p in range(starts[i + 1], starts[i + 2]):
            y[i] += values[p] * x[i] * columns[p]
    return y


def scaled_in_place(values, x, columns, starts):
    values = values.copy()
    for i in range(starts.size - 1):
        total = 0.0
        for p in range(starts[i], starts[i + 1]):
            total += values[p] * x[i]
        for p in range(starts[i], starts[i + 1]):
            values[p] = values[p] * total + columns[p]
    return values


def with_the_next(values, x, columns, starts):
    """The next row's first element is touched too."""
    y = np.zeros(starts.size - 1, values.dtype)
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1] - 1):
            y[i] += values[p] * values[p + 1] * x[columns[p]]
    return y


def with_an_element_of_its_own(values, x, columns, starts):
    y = np.zeros(starts.size - 1, values.dtype)
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            y[i] += values[p] * values[i] * x[columns[p]]
    return y


PROGRAMS = (product, downwards, from_the_second_row, scaled_in_place, with_the_next, with_an_element_of_its_own)
BY_ROWS = (product, downwards, from_the_second_row)
STARTS = {
    "in order": [0, 2, 5, 5, 6, 9, 12],
    "not from the first element": [3, 5, 6, 6, 8, 9, 10],
    "overlapping": [0, 4, 2, 6, 3, 9, 8],
    "from behind": [-4, -1, 2, 4, 6, 9, 12],
}


def arguments(starts: list[int]) -> tuple[Any, ...]:
    return RNG.normal(size=12), RNG.normal(size=8), RNG.integers(0, 8, 12), np.array(starts)


def slope(function: Callable[..., Any], args: tuple[Any, ...], ways: tuple[Any, ...]) -> Any:
    """Along the ways, by complex step."""
    values, x, *rest = args
    return function(values + 1e-30j * ways[0], x + 1e-30j * ways[1], *rest).imag / 1e-30


@pytest.mark.parametrize("starts", STARTS.values(), ids=list(STARTS))
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_pieces_that_take_turns(function, starts):
    args = arguments(starts)
    ways = RNG.normal(size=12), RNG.normal(size=8)
    expected = slope(function, args, ways)
    v = RNG.normal(size=expected.shape)
    for seed in range(3):
        args = (*args[:3], args[3].astype((np.int64, np.int32)[seed % 2]))
        with pieces_at_once(seed) as counts:
            f = grad(function, wrt=("values", "x"), parallel=True, jit=False)
            np.testing.assert_allclose(f(*args), function(*args), rtol=1e-12)
            values_b, x_b = f.backward(*args, v)
        found = np.vdot(values_b, ways[0]) + np.vdot(x_b, ways[1])
        np.testing.assert_allclose(found, np.vdot(v, expected), rtol=1e-10)
    assert counts or starts[0] < 0 or starts != sorted(starts)


@pytest.mark.parametrize("function", BY_ROWS, ids=lambda f: f.__name__)
def test_rows_have_no_copies(function):
    *given, starts = arguments([0, 2, 12])
    for dtype in (np.int64, np.int32):
        f = grad(function, wrt=("values", "x"), parallel=True)
        source = f.source(*given, starts.astype(dtype), kind="backward")
        assert "rows_rise(starts, " in source
        assert "partial_sums(values_b" not in source
    assert "rows_rise" not in f.source(*given, starts.astype(np.uint32), kind="backward")


def test_without_the_look_at_the_rows_a_race_would_show(monkeypatch):
    args = arguments(STARTS["overlapping"])
    monkeypatch.setattr(runtime, "rows_rise", lambda starts, first, count: True)
    expected = grad(product, wrt="values", jit=False).backward(*args, np.ones(6))
    with pytest.raises(AssertionError):
        for seed in range(50):
            with pieces_at_once(seed):
                f = grad(product, wrt="values", parallel=True, jit=False)
                np.testing.assert_allclose(f.backward(*args, np.ones(6)), expected, rtol=1e-12)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="there is one thread")
def test_compiled():
    rows = 100_000
    in_order = np.concatenate(([0], np.cumsum(RNG.integers(0, 9, rows))))
    starts = {"in order": in_order, "overlapping": np.clip(in_order + RNG.integers(-20, 20, rows + 1), 0, in_order[-1])}
    values, x = RNG.normal(size=in_order[-1]), RNG.normal(size=1_000)
    columns, v = RNG.integers(0, 1_000, values.size), RNG.normal(size=rows)
    f, serial = (grad(product, wrt=("values", "x"), parallel=parallel) for parallel in (True, False))
    before = numba.get_num_threads()
    for given in starts.values():
        expected = serial.backward(values, x, columns, given, v)
        for count in (1, 2):
            numba.set_num_threads(count)
            for found, wanted in zip(f.backward(values, x, columns, given, v), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
        numba.set_num_threads(before)


def test_what_is_kept_of_a_state_is_copied_on_threads():
    def steps(u, rate, count):
        for _ in range(count):
            u[1:-1, 1:-1] += rate * (u[2:, 1:-1] + u[:-2, 1:-1])
        return u

    u, v = RNG.normal(size=(6, 5)), RNG.normal(size=(6, 5))
    expected = grad(steps, jit=False).backward(u, 0.1, 3, v)
    f = grad(steps, parallel=True, jit=False)
    threaded = f.source(u, 0.1, 3, kind="backward").split("    else:\n", 1)[1].split("# reverse sweep")[0]
    assert "copy_to(" not in threaded and "_on_threads(" in threaded
    with pieces_at_once() as counts:
        found = grad(steps, parallel=True, jit=False).backward(u, 0.1, 3, v)
    assert max(counts) > 1
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
