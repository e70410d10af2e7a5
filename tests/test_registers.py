"""Elements that a loop adds to throughout are scalars, even where it adds to others of that array, perhaps the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(4)


def all_pairs(x):
    dx = x[:, None, 0] - x[None, :, 0]
    dy = x[:, None, 1] - x[None, :, 1]
    return np.sum(x[0] * dx / (dx**2 + dy**2 + 0.05), axis=1)


def rows_and_columns(d):
    for k in range(d.shape[0]):
        d = np.minimum(d, d[:, k : k + 1] + 1.1 * d[k : k + 1, :])
    return d


def read_in_between(x):
    """What is added up is read by some of the iterations that follow."""
    y = x.copy()
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            y[i, 0] = y[i, 0] * 0.9 + x[j, 1] * y[j, 0]
            y[j, 1] += y[i, 0] ** 2
    return y


@pytest.mark.parametrize("function", [all_pairs, rows_and_columns, read_in_between])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_gradient(function: Callable[..., Any], n: int) -> None:
    x = RNG.uniform(0.3, 1.0, (n, n))
    check_grad(grad(function, jit=False), x)
    with order.without("registers"):
        check_grad(grad(function, jit=False), x)


def test_rows_of_pairs_are_added_up_in_scalars() -> None:
    text = grad(all_pairs).source(np.ones((3, 3)))
    assert "x_b[i, 1] += total" in text and "x_b_lanes" not in text
