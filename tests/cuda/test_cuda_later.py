"""What is computed again instead of kept in memory, and what is read ahead of a loop; and where neither may be."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.errors import BoundsError


def standardised(x, w):
    return (x - np.mean(x, axis=0)) / np.std(x, axis=0) + w


def by_a_norm(x, w):
    return np.sin(x) / np.sqrt(np.sum(x * x)) + w


def made_of_what_is_overwritten(x, w):
    """x is not what it was when what is added to later is stored."""
    y = np.sin(x) * w
    total = np.sqrt(np.sum(y * x))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] * y[i, j] * total
    return x * np.sum(x)


def two_that_are_read(x, w):
    """Two arrays would have to be read for the one."""
    return x * x * w + np.sum(np.exp(x) * x * w) * w


def changed_in_between(x, w):
    scale = np.sum(x)
    y = x * scale
    scale = scale * np.sum(y * w)
    return y * scale + x


PROGRAMS = (standardised, by_a_norm, made_of_what_is_overwritten, two_that_are_read, changed_in_between)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f: Callable[..., Any]) -> None:
    plain, on_gpu = (grad(f, wrt=("x", "w"), **how) for how in ({"jit": False}, {"target": "cuda"}))
    for shape in [(5, 7), (40, 9), (1, 3)]:
        rng = np.random.default_rng(2)
        x, w, v = (rng.uniform(0.5, 1.5, shape) for _ in range(3))
        for got, want in zip(on_gpu.backward(x, w, v), plain.backward(x, w, v), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11 * np.max(np.abs(want), initial=1.0))


@pytest.mark.parametrize("f", [standardised, by_a_norm], ids=lambda f: f.__name__)
def test_is_written_once(f: Callable[..., Any]) -> None:
    x = np.ones((4, 3))
    text = grad(f, wrt="x", target="cuda").source(x, x)
    assert len(re.findall(r"\bx_b\[i, j\] \+?=", text)) == 1, text


def weighted_columns(x, w, index):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * w[j] * np.sqrt(w[j]) + x[i, index[j]]
    return y


def test_a_column_reads_once_what_it_has_in_common() -> None:
    x, w = np.ones((4, 3)), np.ones(3)
    f = grad(weighted_columns, wrt=("x", "w"), target="cuda")
    text = f.source(x, w, np.array([0, 2, 1]))
    kernel = next(part for part in text.split("@kernel") if "w_here = w[j]" in part)
    assert kernel.index("w_here = w[j]") < kernel.index("while i <") and kernel.count("w[j]") == 1, text


def test_nothing_is_read_ahead_of_its_check() -> None:
    rng = np.random.default_rng(0)
    x, w, v = rng.uniform(0.5, 1.5, (40, 3)), rng.uniform(0.5, 1.5, 3), rng.normal(size=(40, 3))
    plain, f = (grad(weighted_columns, wrt=("x", "w"), **how) for how in ({"jit": False}, {"target": "cuda"}))
    index = np.array([0, 2, -1])
    for got, want in zip(f.backward(x, w, index, v), plain.backward(x, w, index, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    for wrong in (np.array([0, 3, 1]), np.array([0, 1, 1 << 40])):
        with pytest.raises((BoundsError, IndexError)):
            f.backward(x, w, wrong, v)
    with pytest.raises((BoundsError, IndexError)):
        f.backward(x, w[:2], index, v)
