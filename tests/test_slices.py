"""Slices are taken to end inside their axes, and still right where an axis is shorter than that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_close, check_value_and_grad, from_arrow

import srcgrad
from srcgrad import grad
from srcgrad.testing import check_grad


def pieces(x: Any) -> Any:
    a, b, c, d, e, f = x[:3], x[-2:], x[2::-1], x[:-4:-1], x[1:4:2], x[-3:-1]
    ends = np.sum(a**2) + np.prod(b) + np.sum(c * c * c) + np.sum(np.sin(d)) + np.sum(np.exp(e)) + np.sum(f) * b.size
    return ends + np.array([a.size, b.size, c.size, d.size, e.size, f.size])


def differences(f: Any, x: np.ndarray, v: Any) -> np.ndarray:
    steps = np.eye(x.size) * 1e-6
    return np.array([np.sum(v * (f(x + step) - f(x - step))) / 2e-6 for step in steps]).reshape(x.shape)


@pytest.mark.parametrize("lengths", [(5, 4, 1, 6, 0, 2, 3, 7), (0, 5), (1, 1, 3), (3, 8)])
def test_any_length_in_any_order(lengths: tuple[int, ...]) -> None:
    f = grad(pieces, jit=False)
    for n in lengths:
        check(f, n)


def test_any_length_compiled() -> None:
    f = grad(pieces)
    for n in (5, 2, 5):
        check(f, n)


def check(f: Any, n: int) -> None:
    x, v = np.linspace(0.3, 1.2, n), np.arange(1.0, 7.0)
    np.testing.assert_allclose(f(x), pieces(x), rtol=1e-14)
    np.testing.assert_allclose(f.backward(x, v), differences(pieces, x, v), atol=1e-6)
    y, pullback = f.vjp(x)
    np.testing.assert_allclose(pullback(v), f.backward(x, v), rtol=1e-14)


def rows_and_columns(x: Any) -> Any:
    for k in range(x.shape[0]):
        x = x + 0.3 * x[:, k : k + 1] * x[k : k + 1, :]
    return x


def triangles(x: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i, :i].sum() * x[i, i + 1 :].sum() + (x[i, i : i + 2] ** 2).sum()
    return s


def windows(x: Any) -> Any:
    y = np.zeros(x.shape[1])
    w = np.array([0.3, 0.5, -0.4])
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[0] - 1):
            y[j - 1 : j + 2] += w * x[i - 1 : i + 2, j - 1 : j + 2].sum() * x[i, j - 1 : j + 2]
    return y


def from_the_last_on(x: Any) -> Any:
    s = 0.0
    for k in range(x.shape[0] - 1, -1, -1):
        s += np.sin(x[:, k:]).sum() * (x[: k + 1, k] ** 2).sum()
    return s


def blocks(x: Any) -> Any:
    s = 0.0
    for i in range(0, x.shape[0], 2):
        s += x[i : i + 2].sum() ** 2 * x[:, i : i + 2].shape[1]
    return s


def in_branches(x: Any) -> Any:
    s = 0.0
    for k in range(x.shape[0]):
        if k < x.shape[1]:
            s += (x[:, k : k + 1] ** 2 + x[0]).sum()
    return s


@pytest.mark.parametrize("f", [rows_and_columns, triangles, windows, from_the_last_on, blocks, in_branches])
def test_by_the_indices_of_loops(f: Any) -> None:
    rng = np.random.default_rng(3)
    g = grad(f, jit=False)
    for shape in ((4, 4), (5, 3), (3, 5), (1, 1), (2, 1), (0, 2), (4, 4)):
        x = rng.uniform(0.5, 1.0, shape)
        try:
            expected = f(x)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                g(x)
            continue
        assert_close(g(x), expected, 1e-13, "value")
        check_grad(g, x)


def test_rows_and_columns_of_square_matrices_need_no_broadcasting() -> None:
    text = grad(rows_and_columns).source(np.eye(3))
    assert "BroadcastError" not in text and "minimum" not in text and "ShortAxisError" in text


def test_slices_in_branches_not_taken() -> None:
    f = grad(from_arrow("x -> np.sum(x[:4] ** 2) if len(x) >= 4 else x[0] * 3.0"), jit=False)
    for n in (2, 5, 2):
        x = np.arange(1.0, n + 1)
        want = 2.0 * x * (np.arange(n) < 4) if n >= 4 else 3.0 * (np.arange(n) == 0)
        np.testing.assert_allclose(f.backward(x), want)


def test_columns_and_lengths_of_one() -> None:
    def f(x: Any, m: Any) -> Any:
        d = x[:, 0:1].T - x[:, 0:1]
        return np.sum((d**2 + 1.0) @ m * x[:, 1:2])

    g = grad(f, jit=False)
    for n, width in ((4, 1), (3, 2), (1, 1)):
        x, m = np.arange(2.0 * n).reshape(n, 2) + 0.5, np.arange(1.0, 1.0 + n * width).reshape(n, width)
        np.testing.assert_allclose(g(x, m), f(x, m), rtol=1e-14)
        steps = np.eye(x.size).reshape(x.size, n, 2) * 1e-6
        want = np.array([(f(x + step, m) - f(x - step, m)) / 2e-6 for step in steps]).reshape(x.shape)
        np.testing.assert_allclose(g.backward(x, m)[0], want, rtol=1e-5, atol=1e-5)
    x, m = np.ones((3, 1)), np.ones((3, 1))  # x[:, 1:2] is empty
    assert g(x, m) == 0.0
    assert g.backward(x, m)[0].shape == (3, 1)


def test_a_primal_that_writes_writes_once() -> None:
    def f(x: Any) -> Any:
        x[1:] *= 2.0
        y = x[:2].copy()
        x[0] += 1.0
        return np.sum(y * y)

    g = grad(f, jit=False)
    for n in (3, 1, 4, 1):
        x, plain = np.arange(1.0, n + 1), np.arange(1.0, n + 1)
        assert g(x) == f(plain)
        np.testing.assert_array_equal(x, plain)


def test_what_fits_only_where_a_slice_is_cut_short() -> None:
    f = grad(from_arrow("x -> np.sum(x[:3] * np.ones(2))"), jit=False)
    np.testing.assert_array_equal(f.backward(np.ones(2)), [1.0, 1.0])
    with pytest.raises(srcgrad.BroadcastError):
        f(np.ones(4))


def test_what_has_to_be_known_ahead_of_time() -> None:
    f = grad(from_arrow("x -> np.prod(x[:, :2].reshape(x[:, :2].shape[::-1])[:2], axis=tuple(range(2)))"), jit=False)
    np.testing.assert_array_equal(f.backward(np.full((2, 3), 2.0)), [[8.0, 8.0, 0.0], [8.0, 8.0, 0.0]])
    np.testing.assert_array_equal(f.backward(np.full((2, 1), 2.0)), [[2.0], [2.0]])


def of_equal_indices(x: Any) -> Any:
    c = np.zeros((3, 3, 2, 4))
    c[1, 1] = x[0]
    c[-1, -1] = x[1] ** 2
    c[0:1, 0:1] = np.sin(x[2])
    for e in range(2):
        c[e, e] += x[e] * 2.0
        c[e, e + 1] -= x[e]
    return c * c[1, 1] + c[2, 2]


@pytest.mark.parametrize("jit", [False, True])
def test_an_index_that_stands_twice_beside_axes_that_are_one(jit: bool) -> None:
    x = np.linspace(0.5, 2.0, 24).reshape(3, 2, 4)
    f = grad(of_equal_indices, jit=jit)
    check_value_and_grad(f, x, rtol=1e-14)


def from_a_quotient_on(x, n, m):
    total = 0
    for i in range(3):
        total = total + np.sum(x[n // m :] ** 2) * np.sum(x[: n // m])
        if i == 1:
            total = total * 2.0
    return total


@pytest.mark.parametrize(("n", "m"), [(-4, 2), (4, 2), (-1, 3), (3, -2), (0, 5)])
def test_quotients_of_what_is_handed_in_may_be_negative(n: int, m: int) -> None:
    x = np.array([0.3, -0.8, 1.5, 0.05, 0.9])
    check_grad(grad(from_a_quotient_on, jit=False), x, n, m)


def test_a_quotient_of_a_number_in_an_array_of_no_axes() -> None:
    f = grad(from_arrow("x, a -> np.where(x >= 9.0, 0.0, x / np.sqrt(a - 0.1))"), jit=False)
    check_grad(f, np.array([1.0, 2.0, 10.0]), np.array(0.16))
