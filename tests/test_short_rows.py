"""Nests over whole arrays as one loop, and rows that are too short for vector registers several at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from racing import pieces_at_once

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad


def whole(x, w, a):
    return np.tanh(x)


def whole_and_light(x, w, a):
    return x * x * 0.5 - 2.0 * x


def along_the_rows(x, w, a):
    return np.tanh(x - w)


def from_row_to_row(x, w, a):
    return np.exp(x - a[:, None])


def both_ways(x, w, a):
    return np.sin(x * w) * np.exp(-np.square(x - a[:, None])) + w * a[:, None]


def lengths_with_names(x, w, a):
    n, m = x.shape
    rows = n
    y = np.empty((n, m))
    for i in range(rows):
        for j in range(m):
            y[i, j] = np.exp(x[i, j] - w[j]) * a[i]
    return y


def in_place(x, w, a):
    y = x.copy()
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = np.sin(y[i, j] + w[j]) * y[i, j]
    return y


def sums_of_the_users(x, w, a):
    """The user's own sum keeps its order."""
    s, y = 0.0, np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += np.exp(x[i, j] * w[j])
            y[i, j] = s
    return y


def sums_by_column(x, w, a):
    out = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += np.exp(x[i, j] * w[j]) * a[i]
    return out


def branches(x, w, a):
    y = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t = np.exp(x[i, j] - w[j])
            if t > 1.0:
                y[i, j] = t * w[j]
            else:
                y[i, j] = np.log1p(t) - a[i]
    return y


def reads_its_own_first_row(x, w, a):
    y = x.copy()
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = np.exp(-(y[i, j] * y[0, j]))
    return y


def reads_the_row_before(x, w, a):
    y = x.copy()
    for i in range(1, y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = np.sin(y[i, j] * w[j] + y[i - 1, j])
    return y


def uses_the_indices(x, w, a):
    y = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] * w[j] - 0.1 * j) + i
    return y


def part_of_the_rows(x, w, a):
    y = np.zeros(x.shape)
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1] - 1):
            y[i, j] = np.exp(x[i, j] - w[j])
    return y


def later_rows(x, w, a):
    y = np.zeros(x.shape)
    for i in range(min(2, x.shape[0]), x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] - w[j]) * a[i]
    return y


def in_steps(x, w, a):
    y = x.copy()
    for t in range(3):
        y = np.sin(y * w + t) + np.cos(y) * a[:, None]
    return y


def fewer_in_each_step(x, w, a):
    y = x.copy()
    for t in range(min(3, y.shape[0])):
        for i in range(t, y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = np.sin(y[i, j] - w[j])
    return y


def new_in_each_step(x, w, a):
    s = np.zeros(x.shape)
    for t in range(3):
        y = np.exp(x * w - 0.1 * t)
        s += y * y.sum()
    return s


def softmax(x, w, a):
    t = np.exp(x - x.max(axis=1)[:, None])
    return t / t.sum(axis=1)[:, None]


def normal_densities(x, w, a):
    z = (x - w) / (1.0 + a[:, None] ** 2)
    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


def three_axes(x, w, a):
    y = np.stack((x, 0.5 * x, x * x), axis=1)
    return np.tanh(y * w + a[:, None, None])


def exchanged_buffers(x, w, a):
    u, y = x.copy(), np.empty(x.shape)
    for _ in range(3):
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                y[i, j] = np.sin(u[i, j] * w[j])
        u, y = y, u
    return u


PROGRAMS = [
    whole, whole_and_light, along_the_rows, from_row_to_row, both_ways, in_place, sums_of_the_users, sums_by_column,
    lengths_with_names,
    branches, reads_its_own_first_row, reads_the_row_before, uses_the_indices, part_of_the_rows, later_rows, in_steps,
    fewer_in_each_step, new_in_each_step, softmax, normal_densities, three_axes, exchanged_buffers,
]  # fmt: skip
TILED = {
    along_the_rows, from_row_to_row, both_ways, in_place, sums_of_the_users, in_steps, normal_densities,
    later_rows, lengths_with_names,
}  # fmt: skip
SHAPES = [(0, 3), (3, 0), (1, 5), (7, 1), (300, 3), (17, 9), (9, 64), (3, 256)]


def arguments(shape: tuple[int, int], dtype: Any = np.float64) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(shape[0] + 100 * shape[1])
    return tuple(random.uniform(0.2, 1.0, dims).astype(dtype) for dims in (shape, shape[1:], shape[:1]))


@functools.cache
def made(function: Callable[..., Any], without: bool, **options: Any) -> Any:
    """Generated once for all shapes; `without` is for those that are made without the passes."""
    return grad(function, **options)


def assert_same(function: Callable[..., Any], args: tuple[np.ndarray, ...], rtol: float, **options: Any) -> None:
    value = function(*args)
    v = np.cos(np.arange(value.size)).reshape(value.shape).astype(value.dtype)
    f = made(function, False, **options)
    if options.get("jit", True):  # at once: Python has run the text of each
        got, cotangents = f.value_and_backward(*args, v)
    else:
        got, cotangents = f(*args), f.backward(*args, v)
    np.testing.assert_allclose(got, value, rtol=rtol)
    with order.without("flatten_nests"), order.without("side_by_side"):
        wanted = made(function, True, jit=False).backward(*args, v)
    for got, want in zip(cotangents, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * np.abs(want).max(initial=0.0))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_is_what_it_was(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    if function is softmax and not all(shape):
        return
    assert_same(function, arguments(shape), 1e-12, jit=False)


COMPILED = [(f, False) for f in (whole, in_place, sums_of_the_users, branches, exchanged_buffers)]
COMPILED += [(f, True) for f in (both_ways, sums_by_column, new_in_each_step)]


@pytest.mark.parametrize(("function", "parallel"), COMPILED, ids=lambda p: getattr(p, "__name__", p))
def test_compiled(function: Callable[..., Any], parallel: bool) -> None:
    for shape in ((300, 3), (17, 9), (9, 64)):
        assert_same(function, arguments(shape), 1e-12, parallel=parallel)


@pytest.mark.parametrize(
    "function", [both_ways, sums_by_column, softmax, three_axes, in_steps], ids=lambda f: f.__name__
)
def test_gradients_by_differences(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), *arguments((9, 3)))


@pytest.mark.parametrize("function", [whole, both_ways, sums_by_column], ids=lambda f: f.__name__)
def test_float32(function: Callable[..., Any]) -> None:
    assert_same(function, arguments((17, 3), np.float32), 2e-5)


@pytest.mark.parametrize("order", ["transposed", "every other", "reversed"])
@pytest.mark.parametrize("function", [whole, both_ways, in_place, sums_by_column], ids=lambda f: f.__name__)
def test_arrays_in_another_order(function: Callable[..., Any], order: str) -> None:
    x, w, a = arguments((6, 3))
    x = {"transposed": x.reshape(3, 6).T, "every other": np.repeat(x, 2, axis=1)[:, ::2], "reversed": x[::-1]}[order]
    for jit in (False, True) if order == "transposed" else (False,):
        assert_same(function, (x, w, a), 1e-12, jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_cotangents_in_any_order(jit: bool) -> None:
    x, w, a = arguments((9, 3))
    f = grad(both_ways, jit=jit)
    v = np.cos(x)
    wanted = f.backward(x, w, a, v)
    for other in (np.asfortranarray(v), np.repeat(v, 2, axis=1)[:, ::2], v[::-1].copy()[::-1]):
        kinds = [f.backward(x, w, a, other), f.vjp(x, w, a)[1](other)]
        kinds += [] if jit else [f.value_and_backward(x, w, a, other)[1]]
        for got in kinds:
            for one, want in zip(got, wanted, strict=True):
                np.testing.assert_allclose(one, want, rtol=1e-14)


def perhaps_with_a_bias(x, b, is_biased):
    y = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t = np.exp(x[i, j])
            if is_biased:
                t += b[j]
            y[i, j] = t
    return y


def chosen_by_a_condition(x, b, is_biased):
    y = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j]) + (b[j] if is_biased else 1.0)
    return y


@pytest.mark.parametrize("function", [perhaps_with_a_bias, chosen_by_a_condition], ids=lambda f: f.__name__)
def test_what_is_not_there_is_not_looked_at(function: Callable[..., Any]) -> None:
    f, x, nothing = grad(function, jit=False), np.ones((5, 3)), np.empty(0)
    np.testing.assert_array_equal(f(x, nothing, False), function(x, nothing, False))
    got = f.backward(x, nothing, False, x)
    np.testing.assert_allclose(got[0], np.exp(x))
    assert got[1].size == 0
    check_grad(f, x, np.ones(3), True)


def test_nothing_is_looked_at_where_there_are_no_rows() -> None:
    def f(x, w):
        y = np.empty(x.shape)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = np.exp(x[i, j] * w[j])
        return y

    x = np.empty((0, 3))
    got = grad(f, jit=False).backward(x, np.empty(0), x)
    assert [part.shape for part in got] == [(0, 3), (0,)]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("function", [whole, both_ways, sums_by_column, in_steps], ids=lambda f: f.__name__)
def test_in_pieces(function: Callable[..., Any], seed: int) -> None:
    args = arguments((30, 3))
    v = np.ones_like(function(*args))
    wanted = grad(function, jit=False).backward(*args, v)
    with pieces_at_once(seed) as counts:
        got = grad(function, jit=False, parallel=True).backward(*args, v)
    assert max(counts) > 1
    for one, want in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-12)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_several_rows_at_a_time(function: Callable[..., Any]) -> None:
    source = grad(function, jit=False).source(*arguments((9, 3)), kind="primal")
    assert ("for tile in range" in source) == (function in TILED)


def test_one_loop() -> None:
    source = grad(whole, jit=False).source(*arguments((9, 3)), kind="primal")
    assert source.count("for ") == 1 and "x_flat = x.reshape(" in source


def test_a_part_that_is_no_axis_stays_a_loop() -> None:
    def scaled(x, w):
        return np.sqrt(x * w[:, None, None])

    x, w = np.ones((4, 3, 2)), np.ones(4)
    source = grad(scaled, jit=False).source(x, w, kind="primal")
    assert source.count("for ") == 2 and "x_flat = x.reshape((x.shape[0], x.shape[1] * x.shape[2]))" in source
    check_grad(grad(scaled, jit=False), x, w)
