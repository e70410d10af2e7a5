"""Arithmetic that a device's own instructions would do otherwise than NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcgrad import grad

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.1, -0.1, 3.0, -3.0, -1e-17, 1e-40]


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    x, y = (random.normal(size=300) * 10.0 ** random.integers(*ends, 300) for ends in ((-8, 18), (-8, 8)))
    whole, part = np.array([1.0, 0.6, 7e17, 12345.678, 5e15 + 0.5]), np.array([0.1, 0.2, 3.0, 0.1, 0.7])
    all_x, all_y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    return np.concatenate((all_x, whole, -whole, x)).astype(dtype), np.concatenate((all_y, part, part, y)).astype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_remainders_of_floats_are_exact(dtype: Any) -> None:
    (x, y), eps = pairs(dtype), 2 * np.finfo(dtype).eps
    remainder, quotient = grad(lambda x, y: x % y, target="cuda"), grad(lambda x, y: x // y, target="cuda")
    got, want = remainder(x, y), x % y
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got) | np.isnan(want), np.signbit(want) | np.isnan(want))
    np.testing.assert_allclose(quotient(x, y), x // y, eps)
    usual = np.isfinite(x) & np.isfinite(y) & (y != 0.0)
    x, y = x[usual], y[usual]
    np.testing.assert_allclose(remainder.backward(x, y, np.ones(x.size, dtype))[1], -(x // y), eps)


def test_remainders_of_integers() -> None:
    k, m = np.arange(-7, 8), np.array([3, -3, 5] * 5)
    np.testing.assert_array_equal(grad(lambda k, m, x: k % m * x, target="cuda")(k, m, np.ones(15)), k % m)
    np.testing.assert_array_equal(grad(lambda k, m, x: k // m * x, target="cuda")(k, m, np.ones(15)), k // m)
