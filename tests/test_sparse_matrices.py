"""Products of sparse matrices that were made outside, in each format, with vectors and matrices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sps
from support import check_value_and_grad

from srcgrad import ArgumentError, UnsupportedError, check_grad, grad

SOME = sps.random(5, 7, density=0.4, random_state=1)
MATRICES = {
    **{
        cls.__name__: cls(SOME)
        for cls in (sps.csr_matrix, sps.csr_array, sps.csc_matrix, sps.csc_array, sps.coo_matrix, sps.coo_array)
    },
    "dia_matrix": sps.diags([1.0, -2.0, 1.0, 0.5], [-1, 0, 2, 4], shape=(5, 7)),
    "dia_array": sps.dia_array(SOME),
    "tall": sps.dia_matrix(SOME.T).T,
    "whole_numbers": sps.csr_array(np.arange(35).reshape(5, 7) % 3 - 1),
    "empty": sps.csr_array((5, 7)),
}
RANDOM = np.random.default_rng(0)
U7, U5, M7, M5 = (RANDOM.normal(size=shape) for shape in (7, 5, (7, 3), (3, 5)))
HOLDER = SimpleNamespace(A=None)


def product(u):
    return HOLDER.A @ u


def from_the_left(u):
    return u @ HOLDER.A


def turned(u):
    return HOLDER.A.T @ u + HOLDER.A.transpose().dot(u)


def of_shape(u):
    return u[: HOLDER.A.shape[0]] * HOLDER.A.ndim + (HOLDER.A.toarray() @ u)


def scaled(u, k):
    A = HOLDER.A
    return (k * A) @ u + (A * k) @ u / 2.0 - (-A) @ u + (A / k) @ u


@pytest.mark.parametrize("name", MATRICES)
def test_products(name: str) -> None:
    HOLDER.A = MATRICES[name]
    for f, x in ((product, U7), (product, M7), (from_the_left, U5), (from_the_left, M5), (turned, U5), (of_shape, U7)):
        check_value_and_grad(grad(f, jit=False), x, at_once=True)
    check_value_and_grad(grad(scaled, jit=False), U7, 0.7, at_once=True)
    assert grad(product, jit=False)(U7).dtype == product(U7).dtype


def heat(u, rate):
    for _ in range(5):
        u = u + rate * (HOLDER.A @ u)
    return u


def test_what_changes_outside_is_seen() -> None:
    f = grad(heat)
    u = RANDOM.normal(size=6)
    for matrix in (
        sps.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(6, 6), format="csr"),
        sps.csr_matrix(np.diag(np.arange(6.0))),
        sps.csc_array(np.ones((6, 6)) * 0.1),
    ):
        HOLDER.A = matrix
        np.testing.assert_allclose(f(u, 0.1), heat(u, 0.1), rtol=1e-12)
        matrix.data *= 2.0
        np.testing.assert_allclose(f(u, 0.1), heat(u, 0.1), rtol=1e-12)
        check_grad(f, u, 0.1)


def star(u):
    return HOLDER.A * u


def test_star_is_a_product_of_matrices_alone() -> None:
    HOLDER.A = sps.csr_matrix(SOME)
    np.testing.assert_allclose(grad(star, jit=False)(U7), star(U7), rtol=1e-12)
    HOLDER.A = sps.csr_array(SOME)
    with pytest.raises(UnsupportedError, match="products of each element of a sparse array"):
        grad(star, jit=False)(U7)


def with_an_argument(A, u):
    return A @ u


def test_refused() -> None:
    HOLDER.A = sps.csr_matrix(SOME)
    with pytest.raises(ValueError, match="dimension mismatch"):
        grad(product, jit=False)(U5)
    for other in (sps.bsr_matrix(SOME), sps.lil_matrix(SOME)):
        HOLDER.A = other
        with pytest.raises(UnsupportedError, match=r"of scipy.sparse can't be computed with(.|\n)*A\.tocsr\(\)"):
            grad(product, jit=False)(U7)
    with pytest.raises(ArgumentError, match="argument A is a csr_array of scipy.sparse"):
        grad(with_an_argument, jit=False)(sps.csr_array(SOME), U7)


def sum_of_squares(u: Any) -> Any:
    return np.sum((HOLDER.A @ u) ** 2)


def test_float32() -> None:
    HOLDER.A = sps.csr_array(SOME.astype(np.float32))
    u = U7.astype(np.float32)
    g = grad(sum_of_squares, jit=False)
    assert g(u).dtype == g.backward(u).dtype == np.float32
    np.testing.assert_allclose(g.backward(u), 2.0 * SOME.T @ (SOME @ U7), rtol=1e-5)
