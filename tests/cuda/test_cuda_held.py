"""Rows that the threads of a block hold in registers, and reading ahead: what may be held, and what may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def layer_norm(x):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def set_again_and_again(x):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * x[i, j]
            s += y[i, j] / x.shape[1]
        for k in range(x.shape[1]):
            y[i, k] += 1.0
            y[i, k] = y[i, k] * s + x[i, k]
        for j in range(x.shape[1]):
            y[i, j] += np.sin(y[i, j])
    return y


def set_where(x):
    """In the middle loop some elements alone are set: then it is not known here what the row has."""
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 2.0
            s += x[i, j]
        for j in range(x.shape[1]):
            if x[i, j] > 0.0:
                y[i, j] = y[i, j] * s
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] * y[i, j] + s
    return y


def neighbours(x):
    """What another thread has made is read: the threads have to meet."""
    y, z = np.zeros(x.shape), np.zeros(x.shape)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            y[i, j] = np.sin(x[i, j])
            s += y[i, j]
        for j in range(x.shape[1]):
            z[i, j] = y[i, x.shape[1] - 1 - j] * s + y[i, j]
    return z


def set_by_others(x):
    """Two loops set each element by different threads: the later one counts."""
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]
            s += x[i, j]
        for j in range(x.shape[1]):
            y[i, x.shape[1] - 1 - j] = s * x[i, j]
    return y


def first_element(x):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * x[i, j]
        first = y[i, 0]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] * first
    return y


def one_sum_twice(x):
    """Where a number is added up by two loops, what threads share for it is read before it is written again."""
    out = np.zeros(x.shape)
    for i in range(x.shape[0]):
        s = 1.0
        for j in range(x.shape[1]):
            s += x[i, j] * x[i, j]
        r = s
        for j in range(x.shape[1]):
            s += x[i, j] * r
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * s
    return out


def two_ranges(x):
    out = np.zeros(x.shape)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j]
        for j in range(1, x.shape[1]):
            out[i, j] = x[i, j] * s
    return out


def from_the_second(x):
    out = np.zeros(x.shape)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(1, x.shape[1]):
            s += x[i, j] * x[i, j - 1]
        for j in range(1, x.shape[1]):
            out[i, j] = x[i, j] * s
    return out


def moved(x):
    """The index of what is held changes between two loops."""
    out = np.zeros(x.shape)
    for i in range(x.shape[0]):
        k, s = i, 0.0
        for j in range(x.shape[1]):
            s += x[k, j]
        k = (i + 1) % x.shape[0]
        for j in range(x.shape[1]):
            out[i, j] = x[k, j] * s
    return out


HELD = [softmax, layer_norm, set_again_and_again, from_the_second, one_sum_twice]
NOT_HELD = [set_where, neighbours, set_by_others, first_element, two_ranges, moved]


CASES = [(f, width) for f in HELD for width in (512, 1_024, 1_025)]  # in the last one a thread has more than it holds
CASES += [(f, width) for f in NOT_HELD for width in (600, 1_025)]


@pytest.mark.parametrize("f, width", CASES)
def test_rows(f: Callable[..., Any], width: int) -> None:
    x, v = np.random.default_rng(0).normal(size=(2, 3, width))
    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    np.testing.assert_allclose(g(x), plain(x), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(g.backward(x, v), plain.backward(x, v), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("f", HELD, ids=lambda f: f.__name__)
def test_rows_that_are_held(f: Callable[..., Any]) -> None:
    kinds = ("primal", "backward") if f in (softmax, layer_norm) else ("primal",)
    assert all("_held_rows[" in grad(f, target="cuda").source(np.ones((2, 3)), kind=kind) for kind in kinds)


@pytest.mark.parametrize("f", NOT_HELD, ids=lambda f: f.__name__)
def test_rows_that_are_not(f: Callable[..., Any]) -> None:
    text = grad(f, target="cuda").source(np.ones((2, 3)), kind="primal")
    assert "_long_rows[" in text
    assert "_held_rows[" not in text


def weighted(x, w):
    m = np.max(x, axis=1, keepdims=True)
    return np.sum(w * (np.log(np.sum(np.exp(x - m), axis=1)) + m[:, 0]))


def of_other_rows(x, w):
    """A row is held; another one, that its first element chooses, is read as it is."""
    out = np.zeros(x.shape)
    for i in range(x.shape[0]):
        k = (i + 2) % x.shape[0]
        s = 0.0
        for j in range(x.shape[1]):
            s += x[k, j] * x[i, j] * w[i]
        for j in range(x.shape[1]):
            out[i, j] = x[k, j] * s + x[i, k]
    return np.sum(out * out)


@pytest.mark.parametrize("f", [weighted, of_other_rows], ids=lambda f: f.__name__)
@pytest.mark.parametrize("width", [20, 600])
def test_rows_and_a_sum_of_all(f: Callable[..., Any], width: int) -> None:
    x, w = np.random.default_rng(0).normal(size=(5, width)), np.linspace(0.5, 1.5, 5)
    g, plain = (grad(f, wrt=("x", "w"), **how) for how in ({"target": "cuda"}, {"jit": False}))
    (value, cotangents), (expected, wanted) = g.value_and_backward(x, w), plain.value_and_backward(x, w)
    np.testing.assert_allclose(value, expected, rtol=1e-11)
    for got, want in zip(cotangents, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def scaled(x, scale):
    return layer_norm(x) * scale


def test_what_rows_add_to_together() -> None:
    x, v = np.random.default_rng(0).normal(size=(2, 5, 700))
    scale = np.linspace(0.5, 1.5, 700)
    g, plain = grad(scaled, target="cuda"), grad(scaled, jit=False)
    assert "_held_rows[" in g.source(x, scale)
    for got, want in zip(g.backward(x, scale, v), plain.backward(x, scale, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


def test_a_row_of_a_softmax_is_read_once_and_written_once() -> None:
    text = grad(softmax, target="cuda").source(np.ones((2, 3)))
    kernel = next(part for part in text.split("@kernel") if "_held_rows(x, v, x_b):" in part)
    assert [kernel.count(f" {what}[i, j]") for what in ("x", "v", "x_b")] == [1, 1, 1], kernel
    assert kernel.count("cuda.syncthreads()") == 5, kernel  # a sum each, and the end of the row
