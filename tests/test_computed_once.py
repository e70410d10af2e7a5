"""What is dear and stretched to many rows is computed for one; a sum that a mean and a spread want is taken once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.testing import check_grad

X, W = np.cos(np.arange(15.0)).reshape(5, 3) + 0.2, np.array([0.4, -0.7, 1.3])


def by_sines(x, w):
    return np.sum(np.tanh(x * np.sin(w)))


def by_two(x, w):
    return np.sum(np.exp(-((x - np.exp(w)) ** 2) / (1.0 + w * w)))


def outer(x, w):
    return np.exp(-(x[:, 0] ** 2))[:, None] * np.cos(w)[None, :]


def in_the_middle(x, w):
    cube = x[:, None, :] * np.exp(x[:2] * w)[None, :, :]
    return np.sum(cube * np.sqrt(1.0 + w * w), axis=(0, 2))


def steps(x, w):
    for k in range(3):
        x = np.tanh(x / (1.0 + w * w)) + np.where(x > np.sin(w), np.cos(w), x * k)
        w = w * 0.9
        x[0] = np.exp(w)
    return np.sum(x * x)


def written_behind(x, w):
    y = x * np.sin(w)
    w[0] = 5.0
    z = x * np.sin(w)
    w *= 2.0
    return np.sum(y * z) + np.sum(w)


def standardised(x, w):
    return np.sum(((x - x.mean(axis=0)) / x.std(axis=0)) ** 3 * w)


def sums_that_change(x, w):
    s = x.sum(axis=0)
    m = x.mean(axis=0)
    s[0] = 5.0
    v = x.var(axis=0)
    s2 = x.sum(axis=0)
    s2 *= 2.0
    x[1] = w
    return np.sum(s * m) + np.sum(m * v * s2) + np.sum(s2 * x.mean(axis=0) * x.std(axis=0))


PROGRAMS = [by_sines, by_two, outer, in_the_middle, steps, written_behind, standardised, sums_that_change]


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_is_what_numpy_says(function: Callable[..., Any], dtype: Any) -> None:
    x, w = X.astype(dtype), W.astype(dtype)
    f = grad(function, jit=False)
    for rows in (x, x[:1], x[::2, ::-1]) if function in (by_sines, by_two, outer, written_behind) else (x,):
        got, wanted = f(rows.copy(), w.copy()), function(rows.copy(), w.copy())
        assert np.asarray(got).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-12 if dtype == np.float64 else 1e-5)
    if dtype == np.float64:
        check_grad(f, x, w)
        check_grad(f, x, w, seed=1)


@pytest.mark.parametrize("function", [by_sines, by_two, outer])
def test_a_length_of_one_is_stretched_when_it_runs(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for x, w in ((X, W[:1]), (X[:, :1], W), (X[:0], W)):
        check_value_and_grad(f, x, w, rtol=1e-12)


def test_one_row_is_enough() -> None:
    for function, name in ((by_sines, "sin"), (outer, "cos")):
        text = grad(function).source(X, W, kind="primal")
        (line,) = (line for line in text.splitlines() if f" {name}(" in line)
        assert re.fullmatch(rf" +\w+\[(0, )?\w+\] = {name}\(w\[\w+\]\)", line)


def test_one_sum_for_a_mean_and_a_spread() -> None:
    text = grad(standardised).source(X, W, kind="primal")
    assert len(set(re.findall(r"(\w+)\[[^]]+\] \+= x\[", text))) == 1
