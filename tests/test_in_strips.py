"""Matrices that are read once: which products go by strips, and that gradients are those of the undecorated code."""

from __future__ import annotations

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.passes.cpu import in_strips
from srcgrad.testing import check_grad

rng = np.random.default_rng(0)
X, W, Y = rng.normal(size=(23, 3)), rng.normal(size=3), rng.normal(size=23)


def logistic(w, x, y):
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z) + 0.5 * np.sum(w * w)


def least_squares(w, x, y):
    r = x @ w - y
    return np.sum(r * r)


def poisson(w, x, y):
    z = np.dot(x, w)
    return np.exp(z).sum() - (y * z).sum()


def rows_by_hand(w, x, y):
    z = x @ w
    s = 0.0
    for i in range(len(z)):
        if z[i] > y[i]:
            s += np.tanh(z[i]) * y[i]
    return s


def twice(w, x, y):
    """Two layers of the same matrix: each of them goes by itself."""
    z = np.tanh(x @ w) * y
    u = x.T @ z
    return np.sum(np.sin(x @ u))


def differences(w, x, y):
    """Row i needs its neighbour."""
    z = x @ w
    return np.sum((z[1:] - z[:-1]) ** 2 * y[1:])


def scaled_by_all(w, x, y):
    """Each row needs the sum over all."""
    z = x @ w
    return np.sum(z * y) * np.sum(np.exp(z))


def of_a_slice(w, x, y):
    return np.sum((x[2:, :] @ w - y[2:]) ** 2)


def with_matrix(w, x, y):
    """The matrix has a gradient of its own."""
    z = np.tanh(x @ w)
    return np.sum(z * z * y)


@pytest.mark.parametrize("strip", [1 << 18, 8 * 3 * 5, 8, 1])
@pytest.mark.parametrize(
    ("function", "wrt", "by_strips"),
    [
        (logistic, "w", True), (least_squares, "w", True), (poisson, "w", True), (rows_by_hand, "w", True),
        (differences, "w", False), (scaled_by_all, "w", False), (of_a_slice, "w", False), (with_matrix, None, False),
        (logistic, ("w", "y"), True), (twice, "w", None),
    ],
)  # fmt: skip
def test_gradient(monkeypatch, function, wrt, by_strips, strip):
    monkeypatch.setattr(in_strips, "BYTES", strip)
    f = grad(function, wrt=wrt, jit=False)
    assert by_strips is None or ("in strips" in f.source(W, X, Y, kind="backward")) is by_strips
    if strip in (1 << 18, 8):  # by turns
        check_value_and_grad(f, W, X, Y, at_once=True)
    else:
        check_grad(f, W, X, Y)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (4, 0), (7, 1), (10_001, 33)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_for_all_shapes(shape, dtype):
    x, w, y = rng.normal(size=shape), rng.normal(size=shape[1]), rng.normal(size=shape[0])
    x, w, y = x.astype(dtype), w.astype(dtype), y.astype(dtype)
    f = grad(least_squares, wrt="w")
    for matrix in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
        got = f.backward(w, matrix, y)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, 2 * x.T @ (x @ w - y), rtol=1e-3 if dtype == np.float32 else 1e-10, atol=1e-2)


def sum_without_axes(w, x, y):
    """Every row adds to one number in memory."""
    total, z = np.zeros(()), x @ w
    for i in range(len(z)):
        total[()] += z[i] * y[i]
        z[i] *= y[i]
    return x.T @ z + total


def test_a_sum_in_an_array_without_axes():
    f = grad(sum_without_axes, jit=False)
    check_value_and_grad(f, W, X, Y, rtol=1e-7)
