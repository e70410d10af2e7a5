"""Kernels that are the same but for names are one, which is launched with other arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(5)
X, W = RNG.normal(size=(5, 6)), 0.4 * RNG.normal(size=(4, 6, 6))
SHIFTS, PLACES = RNG.normal(size=(4, 6)), np.array([0, 3, 1, 3, 2])


def layer(x, w, shift):
    y = np.tanh(x @ w + shift)
    top = np.max(y, axis=1)
    return y * np.exp(-top)[:, None] + np.mean(y)


def layers(x, w_0, w_1, w_2, w_3, shifts):
    x = layer(x, w_0, shifts[0])
    x = layer(x, w_1, shifts[1])
    x = layer(x, w_2, shifts[2])
    x = layer(x, w_3, shifts[3])
    return np.sum(x * x)


def gathered(x, w_0, w_1, w_2, w_3, shifts):
    """Each table has sums of its own for a block."""
    t, u, v = w_0[:, 0] ** 2, w_1[:, 1] ** 2, w_2[:, 2] ** 2
    s = np.sum(np.sin(t[PLACES]) * x[:, 0])
    s = s + np.sum(np.sin(u[PLACES]) * x[:, 0])
    s = s + np.sum(np.sin(v[PLACES]) * x[:, 0])
    return s * np.sum(shifts) + np.sum(w_3)


def of_two_kinds(x, w_0, w_1, w_2, w_3, shifts):
    """The greatest and the least are found by kernels that differ in nothing else."""
    s = np.max(w_0[0]) * np.sum(x)
    s = s + np.min(w_1[0]) * np.sum(x * x) * s
    return s + np.max(w_2[0]) * s - np.min(w_3[0]) + np.sum(shifts)


@pytest.mark.parametrize("function", [layers, gathered, of_two_kinds])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_as_on_the_host(function: Callable[..., Any], dtype: Any) -> None:
    args = [np.asarray(a, dtype) for a in (X, *W, SHIFTS)]
    on_device, on_host = grad(function, target="cuda"), grad(function, jit=False)
    value, got = on_device.value_and_backward(*args)
    wanted, expected = on_host.value_and_backward(*args)
    tolerance = 1e-12 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(value, wanted, rtol=tolerance)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=10 * tolerance, atol=10 * tolerance)
    if dtype == np.float64:
        check_grad(on_device, *args)


def test_one_of_each() -> None:
    text = grad(layers, target="cuda").source(X, *W, SHIFTS)
    host = text[text.index("\ndef layers_backward(") :]
    kernels = re.findall(r"@kernel.*\ndef (\w+)\(", text)
    launches = [len(re.findall(rf"\b{name}(?=[\[.])", host)) for name in kernels]
    assert min(launches) == 1
    assert max(launches) >= 3
    assert sum(launches) > len(kernels) + 4
