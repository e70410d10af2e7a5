"""A matrix is multiplied by the vectors of many iterations at a time, and nobody can tell but by the time it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(11)


def network(W, V, b, X, y):
    loss = 0.0
    for i in range(X.shape[0]):
        h = np.maximum(W @ X[i] + b, 0.0)
        loss += np.sum((V @ h - y[i]) ** 2)
    return loss


def classes(W, V, b, X, y):
    loss = 0.0
    for i in range(X.shape[0]):
        p = V @ np.tanh(W @ X[i] + b)
        e = np.exp(p - np.max(p))
        loss -= np.log(e[0] / np.sum(e)) * y[i, 0]
    return loss


def from_the_left(W, V, b, X, y):
    out = np.zeros((X.shape[0], V.shape[1]), X.dtype)
    for i in range(X.shape[0]):
        out[i] = np.sin(X[i] @ W + b) @ V
    return out


def in_place(W, V, b, X, y):
    for i in range(X.shape[0]):
        X[i] = W @ X[i] + b * y[i, 0]
    return V @ X[0]


def numbers_on_both_sides(W, V, b, X, y):
    out = np.zeros(X.shape)
    for i in range(X.shape[0]):
        scale = np.sum(X[i] ** 2)
        h = W @ X[i]
        size = np.sqrt(np.sum(h * h) + 1.0)
        g = V @ (h / size)
        out[i] = g * scale + h * size
    return out


def numbers_set_anew(W, V, b, X, y):
    out = np.zeros(X.shape)
    for i in range(X.shape[0]):
        s = 0.0
        for k in range(X.shape[1]):
            s += X[i, k] * b[k]
        h = W @ X[i] * s
        s = 1.0
        for k in range(X.shape[1]):
            s *= 1.0 + 0.1 * h[k]
        out[i] = V @ h * s
    return out


def by_a_condition(W, V, b, X, y):
    out = np.zeros(X.shape)
    for i in range(X.shape[0]):
        h = W @ X[i]
        if h[0] > 0.0:
            h = h * b
        else:
            h[1] = 2.0 * h[0]
        out[i] = V @ h
    return out


def until_it_is_small(W, V, b, X, y):
    out = np.zeros(X.shape)
    for i in range(X.shape[0]):
        h = W @ X[i]
        r = np.sum(h * h) + 1.0
        while r > 0.5:
            r = 0.5 * r
        out[i] = V @ h * r
    return out


def sums_on_both_sides(W, V, b, X, y):
    total, norms = np.zeros(b.size), 0.0
    for i in range(X.shape[0]):
        norms += np.sum(X[i] ** 2)
        h = W @ X[i]
        total += h
        norms += np.sum(np.abs(V @ h))
    return total * norms


def parts_of_vectors(W, V, b, X, y):
    out = np.zeros(X.shape)
    for i in range(X.shape[0]):
        h = W @ X[i]
        h[1:] = h[1:] * h[:-1]
        out[i] = (V @ h)[::-1]
    return out


def neighbours(W, V, b, X, y):
    out = np.zeros(X.shape)
    for i in range(1, X.shape[0]):
        out[i] = W @ X[i - 1] + V @ X[i]
    return out


def a_matrix_of_its_own(W, V, b, X, y):
    out = np.zeros(X.shape)
    for i in range(X.shape[0]):
        out[i] = (W * y[i]) @ X[i] + V @ X[i]
    return out


def matrices_by_number(W, V, b, X, y):
    stack = np.stack([W * (1.0 + k) for k in range(X.shape[0])])
    out = np.zeros(X.shape)
    for i in range(X.shape[0]):
        Z = X[::-1]
        h = W @ Z[i]
        U = stack[i]
        out[i] = V @ (U @ h) + U @ Z[i]
    return out


def of_its_own_rows(W, V, b, X, y):
    out = np.zeros(W.shape)
    for i in range(W.shape[0]):
        out[i] = np.tanh(W @ W[i]) + W.T @ X[0]
    return out


def under_a_condition(W, V, b, X, y):
    loss = 0.0
    for k in range(3):
        if k != 1:
            for i in range(X.shape[0]):
                loss += np.sum(np.sin(W @ np.cos(W @ X[i]))) * (k + 1.0)
    return loss


def in_steps(W, V, b, X, y):
    for _ in range(3):
        out = np.zeros(X.shape)
        for i in range(X.shape[0]):
            out[i] = np.tanh(W @ X[i] + b)
        W = W + 0.1 * np.mean(out)
    return V @ np.sum(out, axis=0)


def each_before_the_next(W, V, b, X, y):
    for i in range(1, X.shape[0]):
        X[i] = np.tanh(W @ X[i - 1]) + X[i]
    return V @ X[-1]


PROGRAMS = [
    network, classes, from_the_left, in_place, numbers_on_both_sides, numbers_set_anew, by_a_condition,
    until_it_is_small, sums_on_both_sides, parts_of_vectors, neighbours, matrices_by_number, a_matrix_of_its_own,
    of_its_own_rows, under_a_condition, in_steps,
]  # fmt: skip
BY_STRIPS = [network, classes, from_the_left, numbers_on_both_sides, numbers_set_anew]


def arguments(count: int, n: int = 4, dtype: Any = np.float64) -> tuple[np.ndarray, ...]:
    shapes = (n, n), (n, n), (n,), (count, n), (count, n)
    return tuple(RNG.normal(size=shape).astype(dtype) for shape in shapes)


def copies(args: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    return [a.copy() for a in args]


@pytest.mark.parametrize("program", [*PROGRAMS, each_before_the_next])
def test_values_and_gradients(program: Callable[..., Any]) -> None:
    f = grad(program, jit=False)
    for count in (1, 32, 45):
        args = arguments(count)
        with order.without("products_in_strips"):
            plain = grad(program, jit=False)
            y = program(*copies(args))
            v = np.cos(np.arange(np.size(y))).reshape(np.shape(y))
            expected = plain.value_and_backward(*args, v)
        value, cotangents = f.value_and_backward(*args, v)
        np.testing.assert_allclose(value, expected[0], rtol=1e-12, atol=1e-12)
        for found, wanted in zip(cotangents, expected[1], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
    check_value_and_grad(f, *arguments(35, 3), rtol=1e-12, atol=1e-12, at_once=True)


@pytest.mark.parametrize("program", BY_STRIPS)
def test_these_go_by_strips(program: Callable[..., Any]) -> None:
    f = grad(program, jit=False)
    for kind in ("primal", "backward", "value_and_backward"):
        assert f.source(*arguments(3), kind=kind).count("matvec(") == 0


def test_those_that_wait_for_each_other_do_not() -> None:
    assert "matvec(" in grad(each_before_the_next, jit=False).source(*arguments(3))


@pytest.mark.parametrize("program", [network, numbers_on_both_sides, by_a_condition])
def test_compiled(program: Callable[..., Any]) -> None:
    f, plain = grad(program), grad(program, jit=False)
    for args in (arguments(70, 5), arguments(0, 3), arguments(33, 2), arguments(5, 40)):
        v = np.ones(np.shape(program(*copies(args))))
        value, cotangents = f.value_and_backward(*args, v)
        for found, wanted in zip(cotangents, plain.backward(*args, v), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(value, program(*copies(args)), rtol=1e-12, atol=1e-12)


def test_pullbacks_single_precision_and_complex_numbers() -> None:
    args = arguments(40)
    for program in (from_the_left, by_a_condition, numbers_on_both_sides, sums_on_both_sides):
        y, pullback = grad(program, jit=False).vjp(*args)
        v = np.cos(y)
        for found, wanted in zip(pullback(v), grad(program, jit=False).backward(*args, v), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    single = grad(network, jit=False).backward(*(a.astype(np.float32) for a in args))
    for found, wanted in zip(single, grad(network, jit=False).backward(*args), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=1e-3)
    check_grad(grad(from_the_left, jit=False), *(a[:33] + 0.3j * a[:33] for a in args))


@pytest.mark.parametrize("jit", [False, True])
def test_rows_that_are_not_there(jit: bool) -> None:
    def first_rows(W, X, n):
        out = np.zeros((n, W.shape[0]))
        for i in range(n):
            out[i] = W @ X[i]
        return out

    f, W, X = grad(first_rows, jit=jit), np.eye(3), np.ones((40, 3))
    assert np.sum(f.backward(W, X, 33, np.ones((33, 3)))[1]) == 99
    for n in (41, 64, 100):
        with pytest.raises(IndexError):
            f(W, X, n)
        with pytest.raises(IndexError):
            f.backward(W, X, n, np.ones((n, 3)))


def test_rows_from_the_end() -> None:
    def last_rows(W, X, n):
        total = np.zeros(W.shape[0])
        for i in range(-n, 0):
            total += np.tanh(W @ X[i])
        return total

    check_grad(grad(last_rows, jit=False), RNG.normal(size=(3, 3)), RNG.normal(size=(50, 3)), 37)
