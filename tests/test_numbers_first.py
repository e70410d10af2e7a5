"""Names that are a number ahead of a loop and an array behind it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.errors import RuntimeShapeError, UnsupportedError
from srcgrad.testing import check_grad

X = np.random.default_rng(5).uniform(0.4, 1.6, (3, 4))


def sum_of_columns(x):
    s = 0.0
    for i in range(x.shape[1]):
        s = s + x[:, i] ** 2
    return s * s


def sum_of_rows(x):
    s, p = 0, 1.5
    for row in x:
        s += row
        p = np.sin(row) * p
    return s * p


def polynomial(x):
    y = 2.0
    for k in range(x.shape[0]):
        y = y * x[0] + x[k] - 2.0 * y
    return y


def iterated(x):
    z = x[0, 0]
    for k in range(x.shape[1] - 1):
        z = z * z * 0.1 + x[:, k] / (1.0 + z * z)
    return z


@pytest.mark.parametrize(
    ("function", "jit"),
    [(sum_of_columns, False), (sum_of_rows, False), (polynomial, False), (iterated, False), (sum_of_rows, True)],
)
def test_spread_over_the_array(function: Callable, jit: bool) -> None:
    f = grad(function, jit=jit)
    for x in (X, X[:1, :2].copy()):
        np.testing.assert_allclose(f(x), function(x), rtol=1e-13)
        check_grad(f, x)
    single = X.astype(np.float32)
    assert f(single).dtype == function(single).dtype == np.float32


def test_a_loop_that_does_not_run() -> None:
    f = grad(sum_of_columns, jit=False)
    with pytest.raises(RuntimeShapeError, match="s is a number where this loop does not run"):
        f(np.ones((3, 0)))


def summed_in_it(x):
    """In the first iteration the sum of a number, later of an array: another thing than of an array all along."""
    s = 1.0
    for i in range(x.shape[1]):
        t = np.sum(s)
        s = s * x[:, i] + t
    return s


def under_a_condition(x):
    s = 1.0
    for i in range(x.shape[1]):
        if x[0, i] > 9.0:
            s = s * x[:, i]
    return s


def left_early(x):
    s = 0.0
    for i in range(x.shape[1]):
        if x[0, i] > 9.0:
            break
        s = s + x[:, i]
    return s


@pytest.mark.parametrize("function", [summed_in_it, left_early])
def test_not_spread_where_it_would_show(function: Callable) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-13)


def test_refused_by_the_path_taken() -> None:
    with pytest.raises(UnsupportedError, match="s is a number at the beginning of the loop, and may be another thing"):
        grad(under_a_condition, jit=False)(X)
