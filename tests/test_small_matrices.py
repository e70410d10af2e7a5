"""Matrices of up to three rows are written out: solves, inverses, determinants, products, alone and in stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad

RNG = np.random.default_rng(1)


def two(x):
    return np.array([[x[0], x[1]], [x[2], x[3]]])


def three(x):
    return np.array([[x[0], x[1], x[2]], [x[3], x[4], x[5]], [x[6], x[7], x[8]]])


def solve_two(x):
    return np.linalg.solve(two(x), np.array([x[4], 1.0]))


def solve_three(x):
    return np.linalg.solve(three(x), np.array([[x[0], 1.0], [x[1], 2.0], [3.0, x[5]]]))


def inv_one(x):
    return np.linalg.inv(np.array([[x[0]]]))


def inv_two(x):
    return np.linalg.inv(two(x))


def inv_three(x):
    return np.linalg.inv(three(x))


def det_two(x):
    return np.linalg.det(two(x))


def det_three(x):
    return np.linalg.det(three(x))


def slogdet_two(x):
    sign, logarithm = np.linalg.slogdet(two(x))
    return sign + 2.0 * logarithm


def slogdet_three(x):
    sign, logarithm = np.linalg.slogdet(three(x))
    return sign * logarithm


def stacked(x):
    a = np.reshape(np.outer(np.sin(x), x)[:, :9], (9, 3, 3)) + 2.0 * np.eye(3)
    b = np.reshape(x, (3, 3))
    return np.linalg.solve(a, b) @ np.linalg.inv(a) * np.linalg.det(a)[:, None, None]


def one_matrix_for_many(x):
    return np.linalg.solve(two(x), np.reshape(x[:8], (4, 2, 1)))


def many_for_one_vector(x):
    return np.linalg.solve(np.reshape(np.concatenate((x, x[:3])), (3, 2, 2)), x[:2])


def powers(x):
    a = 0.3 * two(x)
    for _ in range(3):
        a = a @ a.T + 0.1 * np.sin(a) @ two(x)
    return a @ x[:2]


CASES = [
    solve_two, solve_three, inv_one, inv_two, inv_three, det_two, det_three, slogdet_two, slogdet_three, stacked,
    one_matrix_for_many, many_for_one_vector, powers,
]  # fmt: skip


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_values_and_gradients_without_routines(f: Callable[..., Any]) -> None:
    g = grad(f, jit=False)
    for x in (RNG.uniform(0.5, 1.5, 9), RNG.normal(size=9), np.array([0.0, 1.0, 2.0, 1.0, 0.0, 3.0, 1.5, 1.0, 0.0])):
        if x[0] == 0.0 and f in (inv_one, stacked, many_for_one_vector):
            continue  # of no inverse
        check_value_and_grad(g, x, rtol=1e-9, atol=1e-12, at_once=True)
    source = g.source(x, kind="value_and_backward")
    assert not any(f"{routine}(" in source for routine in ("matmul", "solve", "inv", "det", "slogdet")), source


@pytest.mark.parametrize("f", [solve_two, inv_three, stacked], ids=lambda f: f.__name__)
def test_compiled(f: Callable[..., Any]) -> None:
    x = RNG.uniform(0.5, 1.5, 9)
    v = np.cos(np.arange(f(x).size)).reshape(f(x).shape)
    y, found = grad(f).value_and_backward(x, v)
    np.testing.assert_allclose(y, f(x), rtol=1e-10)
    np.testing.assert_allclose(found, grad(f, jit=False).backward(x, v), rtol=1e-9)


@pytest.mark.parametrize(("f", "jit"), [(solve_two, False), (inv_two, False), (inv_three, False), (solve_two, True)])
def test_singular_matrices(f: Callable[..., Any], jit: bool) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        grad(f, jit=jit)(np.ones(9))


def test_determinants_of_singular_matrices() -> None:
    x = np.array([1.0, 2.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(grad(det_two, jit=False).backward(x)[:4], [4.0, -2.0, -2.0, 1.0])
    assert grad(slogdet_two, jit=False)(x) == -np.inf == slogdet_two(x)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128])
def test_other_dtypes(dtype: Any) -> None:
    x = np.arange(1, 10).astype(dtype)
    x = x + 0.5j * x[::-1] if dtype == np.complex128 else x
    for f in (inv_two, det_three, solve_two):
        found, wanted = grad(f, jit=False)(x), f(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == np.float32 else 1e-9, atol=1e-5)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype


def fallback(x):
    try:
        y = np.linalg.solve(two(x), x[:2])
    except np.linalg.LinAlgError:
        y = 2.0 * x[:2] * x[2:4]
    return y


def test_errors_are_caught() -> None:
    f = grad(fallback, jit=False)
    for x in (RNG.normal(size=9), np.ones(9), np.zeros(9)):
        np.testing.assert_allclose(f(x), fallback(x), rtol=1e-12)
    np.testing.assert_allclose(f.backward(np.ones(9), np.ones(2))[:4], [2.0] * 4)


def curvature(x):
    return grad(lambda y: np.sum(np.linalg.solve(two(y), y[4:6]) ** 2)).backward(x)


def test_second_derivatives() -> None:
    x = RNG.uniform(0.5, 1.5, 9)
    v = RNG.normal(size=9)
    found = grad(curvature, jit=False).backward(x, v)
    h = 1e-5
    first = grad(lambda y: np.sum(np.linalg.solve(two(y), y[4:6]) ** 2), jit=False)
    wanted = (first.backward(x + h * v) - first.backward(x - h * v)) / (2.0 * h)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * np.max(np.abs(wanted)))
