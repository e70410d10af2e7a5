"""Sums along the axes of a matrix, of any shape: rows by threads, by warps and by blocks, and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import cuda

import srcgrad.cuda
from srcgrad import grad
from srcgrad.runtime import device

LONG = device.THREADS * 2 + 3 if device.SIMULATED else 1_300


def rows(x):
    return np.sum(x * x, axis=1)


def columns(x):
    return np.sum(x * x, axis=0)


def norms_of_columns(x):
    return np.sqrt(1.0 + np.sum(x * x, axis=0))


def both(x):
    return x * np.sum(x, axis=0) + np.sum(x, axis=1)[:, None]


def standardised(x):
    return (x - np.mean(x, axis=0)) / np.sqrt(1.0 + np.var(x, axis=0))


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def rows_in_loops(x):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(x.shape[1] - 1, -1, -1):
            out[i] += np.sin(x[i, j])
        out[i] = out[i] * out[i]
    return out


def of_a_stack(x):
    y = np.reshape(x, (1, x.shape[0], x.shape[1])) * np.array([1.0, 2.0]).reshape(2, 1, 1)
    return np.sum(y * y, axis=(0, 2)) * np.sum(y, axis=0)[:, 0]


EVERY = [rows, columns, norms_of_columns, both, standardised, softmax, rows_in_loops, of_a_stack]
CASES = [(f, shape) for f in EVERY for shape in ((3, LONG) if f is not of_a_stack else (2, LONG), (33, 31))]
CASES += [(f, shape) for f in (rows, both, softmax) for shape in ((1, 1), (70, 3), (5, 300))]
CASES += [(f, shape) for f in (columns, rows_in_loops) for shape in ((0, 4), (4, 0))]


@pytest.mark.parametrize("f, shape", CASES)
def test_of_any_shape(f: Callable[..., Any], shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    y = plain(x)
    v = np.cos(np.arange(y.size)).reshape(y.shape)
    np.testing.assert_allclose(g(x), y, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(g.backward(x, v), plain.backward(x, v), rtol=1e-11, atol=1e-11)


def scaled_in_steps(x):
    u, rate = x * 1.0, 0.1 * x[:, 0]
    for _ in range(2):
        u[1:-1, 1:-1] += (u[2:, 1:-1] + u[:-2, 1:-1] - 2.0 * u[1:-1, 1:-1]) * rate[1:-1, None]
    return u


@pytest.mark.parametrize("shape", [(5, 4), (3, 33), (1, 2)])
def test_rows_that_add_nothing_because_there_is_no_such_element(shape: tuple[int, int]) -> None:
    test_of_any_shape(scaled_in_steps, shape)


def kernels(f: Callable[..., Any], kind: str = "backward") -> list[str]:
    text = grad(f, target="cuda").source(np.ones((3, 4)), kind=kind)
    return [part for part in text.split("@kernel")[1:] if "cuda." in part]


@pytest.mark.parametrize("f", [columns, rows])
def test_one_atomic_addition_behind_each_loop(f: Callable[..., Any]) -> None:
    (text,) = kernels(f, "primal")
    loops = text[text.index("total = 0.0") :]
    added = loops.index("total += x_ahead[turn] * x_ahead[turn]")
    assert added < loops.rindex("if runs:") < loops.index("cuda.atomic.add")
    if f is rows and not device.SIMULATED:  # the threads of a warp add to one element
        assert "total += cuda.shfl_down_sync" in loops[: loops.index("if runs:")]


def two_sums_of_columns(x):
    return np.sum(x * x, axis=0) * np.sum(np.sin(x), axis=0)


def nine_sums_of_columns(x):
    a, b, c = np.sum(x, axis=0), np.sum(x * x, axis=0), np.sum(np.sin(x), axis=0)
    d, e, f = np.sum(np.cos(x), axis=0), np.sum(np.exp(x), axis=0), np.sum(3.0 * x, axis=0)
    g, h, i = np.sum(x / 3.0, axis=0), np.sum(x * x * x, axis=0), np.sum(1.0 / (2.0 + x * x), axis=0)
    return a * b + c * d + e * f + g * h + i


@pytest.mark.parametrize("shape", [(40, 3), (9, 31), (33, 300)])
@pytest.mark.parametrize("f", [two_sums_of_columns, nine_sums_of_columns])
def test_threads_of_a_block_that_have_one_column(f: Callable[..., Any], shape: tuple[int, int]) -> None:
    test_of_any_shape(f, shape)


def test_which_sums_of_columns_have_room_in_a_block() -> None:
    """One number for each thread and sum; of many sums, those of a block in memory that the launch finds room for."""
    (text,) = kernels(two_sums_of_columns, "primal")[:1]
    assert "block_sums" not in text and text.count("cuda.atomic.add") == 2, text
    assert "if cuda.blockDim.y > 1:" in text, text
    text = grad(nine_sums_of_columns, target="cuda").source(np.ones((3, 4)), kind="primal")
    assert "cuda.shared.array(256" not in text, text


def several_numbers(x, w):
    a, b, c = np.sum(x * w), np.max(x), np.mean(np.abs(w))
    return a * b + np.sin(c)


@pytest.mark.parametrize("n", [1, 7, LONG, 20 * LONG])
def test_one_launch_for_the_sums_of_all_blocks(n: int) -> None:
    """The count of blocks is 0 again each time, for one block too, and on a stream of the user's."""
    f, plain = grad(several_numbers, target="cuda"), grad(several_numbers, jit=False)
    x, w = np.random.default_rng(n).normal(size=(2, n))
    first = f.value_and_backward(x, w)
    want = plain.value_and_backward(x, w)
    with srcgrad.cuda.stream(cuda.stream()):
        other = f.value_and_backward(x, w)
    for got in (first, f.value_and_backward(x, w), other):
        np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
        np.testing.assert_allclose(np.concatenate(got[1]), np.concatenate(want[1]), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(got[0], first[0])
    text = f.source(x, w, kind="primal")
    assert text.count("blocks_done, 0") == text.count("@kernel(") - text.count("@kernel(turns"), text


def mean_of_squares(x, w):
    return np.sqrt(np.mean(x * x) + np.sum(w * w))


def with_an_element_that_is_set(x, w):
    y = x * 2.0
    s = np.sum(y * w)
    y[0] = s * y[0]  # by one thread, which reads what the kernel ahead of it may have set
    return y


def in_steps(x, w):
    s = 1.0
    for k in range(4):
        s = 0.5 * np.sum(np.sin(x * s)) + w[k]
    return s


BY_LAST = [(f, n) for f in (mean_of_squares, in_steps) for n in (0, 1, LONG)]


@pytest.mark.parametrize("f, n", [*BY_LAST, (with_an_element_that_is_set, 1), (with_an_element_that_is_set, LONG)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_one_thread_computes_of_sums_the_last_block_does(f: Callable[..., Any], n: int) -> None:
    x, w = np.random.default_rng(n).normal(size=(2, max(n, 4)))
    x = x[:n]
    w = w if f is not with_an_element_that_is_set else w[:n]
    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    y = plain(x, w)
    v = np.cos(np.arange(np.size(y))).reshape(np.shape(y))
    got, want = g.value_and_backward(x, w, v), plain.value_and_backward(x, w, v)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    for one, other in zip(got[1], want[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    if f is mean_of_squares:
        assert "by_one" not in g.source(x, w, kind="primal")


def written_out(x, w):
    w = w * 1.0
    s = np.sum(x)
    for _ in range(3):
        s = s * 0.5 + 0.7
        y = (np.cos(s) + np.cos(x)) + 0.1 * x
        w[2] = s * 0.5
    return np.sum(y * w)


def test_iterations_that_are_written_out_add_each_its_own() -> None:
    """Those of three steps are the same statements: the very objects."""
    x, w = np.random.default_rng(0).normal(size=(2, 9))
    for got, want in zip(
        grad(written_out, target="cuda").backward(x, w), grad(written_out, jit=False).backward(x, w), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


def of_chosen(x, index):
    total = 0.0
    for i in range(index.size):
        if index[i] > 90:
            raise ValueError("no such element")
        total += x[index[i]] * x[index[i]]
    return total


@pytest.mark.parametrize("n", [5, 20 * LONG])
def test_sums_after_a_launch_whose_threads_stopped(n: int) -> None:
    f, plain = grad(of_chosen, target="cuda"), grad(of_chosen, jit=False)
    x, index = np.linspace(0.0, 1.0, 40), np.arange(n) % 40
    for _ in range(2):
        np.testing.assert_allclose(f.backward(x, index), plain.backward(x, index), rtol=1e-12)
        for wrong, error in ((91, ValueError), (40, IndexError)):
            bad = index.copy()
            bad[n // 3] = wrong
            with pytest.raises(error):
                f.value_and_backward(x, bad)
        np.testing.assert_allclose(f(x, index), plain(x, index), rtol=1e-12)


def test_what_a_row_of_a_softmax_keeps() -> None:
    """The exponentials and their cotangents; not the quotients, and nothing twice."""
    text = grad(softmax, target="cuda").source(np.ones((3, 4)))
    host = text[text.rindex("\ndef ") :]
    assert host.count("= scratch(softmax_backward_i_long_rows[") == 2, host


def test_what_begins_alike_is_not_one_array_where_it_changes() -> None:
    def f(x, a):
        b = a.copy()
        z = np.zeros(x.size)
        for i in range(x.size):
            z[1] += x[i]
            z[i] += z[i]  # its reverse changes one of two cotangents with the same numbers
        return z + np.sum(b, axis=0), b

    x, a = np.linspace(0.1, 1.0, 5), np.ones((3, 5))
    v = np.arange(1.0, 6.0), np.zeros((3, 5))
    for got, want in zip(grad(f, target="cuda").backward(x, a, v), grad(f, jit=False).backward(x, a, v), strict=True):
        np.testing.assert_allclose(got, want)


def added_to_and_exchanged(x, w):
    """A row adds to places that may meet, and reads and sets the same array after that."""
    a, b = x * 1.0, w * 1.0
    for _ in range(2):
        for i in range(x.shape[0]):
            for j in range(x.shape[1] - 1):
                a[i, (j + 1) % x.shape[1]] += np.sin(b[i, j])
        b, a = a, b
    return a * b


def added_to_and_set(x, w):
    a, b = x * 1.0, w * 1.0
    for _ in range(2):
        for i in range(x.shape[0]):
            first = (i + 2) % 3
            for j in range(x.shape[1] - 1):
                a[i, (first + 2 * j) % x.shape[1]] += np.sin(b[i, j])
            for j in range(x.shape[1]):
                c = a[i, j]
                a[i, j] = b[i, j]
                b[i, j] = c
    return a * b


@pytest.mark.parametrize("f", [added_to_and_exchanged, added_to_and_set], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(3, 4), (3, 34), (2, LONG // 2)])
def test_what_a_row_adds_to_and_reads(f: Callable[..., Any], shape: tuple[int, int]) -> None:
    x, w, v = np.random.default_rng(1).normal(size=(3, *shape))
    on_gpu, plain = (grad(f, wrt=("x", "w"), **how) for how in ({"target": "cuda"}, {"jit": False}))
    value, cotangents = on_gpu.value_and_backward(x, w, v)
    expected, wanted = plain.value_and_backward(x, w, v)
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-11)
    for got, want in zip(cotangents, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


def test_threads_of_a_row_meet_once_between_two_looks_at_memory() -> None:
    text = grad(softmax, target="cuda").source(np.ones((2, 3)))
    kernel = next(part for part in text.split("@kernel") if "by_rows='block'" in part or "long_rows" in part)
    between = kernel.split("cuda.syncthreads()")[1:-1]
    assert len(between) > 5 and all("[" in part for part in between), kernel


def layer_norm(x, scale):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale


def test_what_a_thread_has_just_computed_it_does_not_keep() -> None:
    x, scale, v = (np.random.default_rng(k).normal(size=shape) for k, shape in enumerate([(5, 7), (7,), (5, 7)]))
    f, plain = grad(layer_norm, target="cuda"), grad(layer_norm, jit=False)
    assert "kept" not in f.source(x, scale)
    for got, want in zip(f.backward(x, scale, v), plain.backward(x, scale, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
