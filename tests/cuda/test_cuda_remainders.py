"""Sweeps over every second element, and symmetric matrices: their threads are apart by remainders, and by ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_ranges import APART as SYMMETRIC
from test_remainders import APART, LINES, by_steps_of_products

from srcgrad import grad


@pytest.mark.parametrize("shape", [(9, 8), (20, 37)])
@pytest.mark.parametrize("function", [*APART, by_steps_of_products], ids=lambda function: function.__name__)
def test_sweeps(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    f = rng.uniform(-1.0, 1.0, (shape[0], 9))
    u, f = (rng.uniform(size=shape[0]), f) if function in LINES else rng.uniform(-1.0, 1.0, (2, *shape))
    v = rng.normal(size=u.shape)
    on_device, plain = grad(function, target="cuda"), grad(function, jit=False)
    np.testing.assert_allclose(on_device(u, f), plain(u, f), rtol=1e-13, atol=1e-14)
    for got, want in zip(on_device.backward(u, f, v=v), plain.backward(u, f, v=v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    if function in APART:
        assert ".by_one(" not in on_device.source(u, f)


@pytest.mark.parametrize("n", [7, 33])
@pytest.mark.parametrize("function", SYMMETRIC, ids=lambda function: function.__name__)
def test_symmetric(function: Callable[..., Any], n: int) -> None:
    rng = np.random.default_rng(n)
    x, v = rng.uniform(-1.0, 1.0, n), rng.normal(size=(n, n))
    on_device, plain = grad(function, target="cuda"), grad(function, jit=False)
    for got, want in zip(on_device.value_and_backward(x, v), plain.value_and_backward(x, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    assert ".by_one(" not in on_device.source(x)
