"""Grids in one row of memory whose row length is an argument, and tables along their antidiagonals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_flat_arrays import FLAT, LONGER, alignment, by_columns, five_points, in_shape, product, seven_points, upwards

from srcgrad import grad


@pytest.mark.parametrize(("n", "m"), [(4, 5), (1, 3), (0, 4), (21, 34)])
@pytest.mark.parametrize("function", FLAT, ids=lambda function: function.__name__)
def test_flat(function: Callable[..., Any], n: int, m: int) -> None:
    rng = np.random.default_rng(n + m)
    x = rng.uniform(0.1, 0.5, LONGER.get(function, 1) * n * m)
    on_device, plain = grad(function, target="cuda"), grad(function, jit=False)
    y = plain(x.copy(), n, m)
    v = rng.normal(size=y.shape)
    np.testing.assert_allclose(on_device(x.copy(), n, m), y, rtol=1e-13)
    np.testing.assert_allclose(
        on_device.backward(x.copy(), n, m, v=v), plain.backward(x.copy(), n, m, v=v), rtol=1e-11, atol=1e-12
    )
    text = on_device.source(x, n, m, kind="primal")
    assert ".by_one(" not in text
    assert "_i_j" in text or function in (product, upwards)  # a grid of both indices


@pytest.mark.parametrize("shape", [(5, 7), (1, 4), (17, 12)])
def test_antidiagonals(shape: tuple[int, int]) -> None:
    d = np.random.default_rng(shape[0]).uniform(size=shape)
    on_device, plain = grad(alignment, target="cuda"), grad(alignment, jit=False)
    for got, want in zip(on_device.value_and_backward(d), plain.value_and_backward(d), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    assert "_i[" in on_device.source(d, kind="primal")


@pytest.mark.parametrize("function", [five_points, by_columns, seven_points, in_shape], ids=lambda f: f.__name__)
def test_neighbours_of_a_grid_are_fetched(function: Callable[..., Any]) -> None:
    """Where all rows are there, nobody adds to what others add to."""
    text = grad(function, target="cuda").source(np.ones(60), 4, 5)
    kernels = text.split("@kernel")[1:]
    assert sum("atomic.add" in kernel for kernel in kernels) == 1  # where a corner is missing
    assert " <= " in text.rpartition("def ")[2]


def with_ghost_cells(u, n, m, c, steps):
    u = u.copy()
    w = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                k = i * m + j
                w[k] = u[k] + c * (u[k - 1] + u[k + 1] + u[k - m] + u[k + m] - 4.0 * u[k])
        for i in range(n):
            w[i * m] = w[i * m + 1]
        u, w = w, u
    return u


@pytest.mark.parametrize("more", [0, 3])
def test_a_pullback_asks_by_the_length_of_its_own(more: int) -> None:
    """It is not handed what the vector was made as long as."""
    u = np.random.default_rng(4).uniform(size=20 + more)
    (y, pull_back), (want, plain) = (
        grad(with_ghost_cells, **how).vjp(u, 4, 5, 0.1, 3) for how in ({"target": "cuda"}, {"jit": False})
    )
    np.testing.assert_allclose(y, want, rtol=1e-13)
    for got, wanted in zip(pull_back(np.cos(u)), plain(np.cos(u)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)
