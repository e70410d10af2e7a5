"""What `backward` must do: the sixteen worked examples, compiled, in float64 and float32, with the figures as stated.

Each is the plain NumPy function of the guide; `v` is the cotangent, of the output's shape; the result is v^T J.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcgrad import grad

DTYPES = [np.dtype(np.float64), np.dtype(np.float32)]
both = pytest.mark.parametrize("dtype", DTYPES, ids=str)
WEIGHTS = np.array([3.0, 5.0])


@grad
def square(x):
    return x**2


@grad
def sum_of_squares(x):
    return (x**2).sum()


@grad(wrt="x")
def weighted(x, w):
    return (x * x * w).sum()


@grad
def weighted_by_a_global(x):
    return (x * x * WEIGHTS).sum()


@grad
def weighted_rows(x, w):
    return (x * x * w).sum(1)


@grad
def two_curves(x):
    return np.stack((-(x**3), 5 * x))


@grad
def two_sums(x):
    return np.stack((x.sum(), (x**2).sum()))


@grad
def two_sums_of_rows(x):
    return np.stack((x.sum(1), (x**2).sum(1)))


@grad
def matrix_of_powers(x):
    return np.stack([x**i for i in range(6)]).reshape(3, 2)


@grad
def total(x):
    return x.sum()


@grad
def double_until_long(x):
    y = x * 2
    while np.linalg.norm(y) < 1000:
        y = y * 2
    return y


def first(x):
    return np.stack((x[0] * x[1], np.sin(x[0])))


def second(y):
    return np.stack((y[0] ** 2 + y[1], y[0] * y[1]))


@grad
def composed(x):
    return second(first(x))


def exactly(got: Any, want: Any, dtype: np.dtype, rtol: float | None = None) -> None:
    """Equal to rounding, in the dtype promised, of the shape promised."""
    want = np.asarray(want)
    assert np.asarray(got).dtype == dtype
    assert np.shape(got) == want.shape
    rtol = rtol or 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(got, want, rtol=rtol, atol=0)


@both
def test_01_scalar_to_scalar(dtype: np.dtype) -> None:
    exactly(square.backward(dtype.type(1.0)), 2.0, dtype)


def test_01_python_float() -> None:
    assert square.backward(1.0) == 2.0
    assert isinstance(square.backward(1.0), float)


@both
def test_02_elementwise(dtype: np.dtype) -> None:
    exactly(square.backward(np.linspace(-2, 2, 5, dtype=dtype), np.ones(5, dtype)), [-4, -2, 0, 2, 4], dtype)


@both
def test_03_the_trick_with_sum(dtype: np.dtype) -> None:
    exactly(sum_of_squares.backward(np.linspace(-2, 2, 5, dtype=dtype)), [-4, -2, 0, 2, 4], dtype)


@both
def test_04_an_argument_that_is_not_differentiated(dtype: np.dtype) -> None:
    x = np.array([-1.0, 2.0], dtype)
    exactly(weighted.backward(x, np.array([3.0, 5.0], dtype)), [-6, 20], dtype)
    exactly(weighted_by_a_global.backward(x), [-6, 20], dtype)


@both
def test_05_integer_weights(dtype: np.dtype) -> None:
    x, w = np.arange(6.0, dtype=dtype).reshape(3, 2), np.array([-1, 1])
    v = np.ones(3, weighted_rows(x, w).dtype)
    exactly(weighted_rows.backward(x, w, v), [[-0.0, 2], [-4, 6], [-8, 10]], dtype)


@both
def test_06_scalar_to_vector(dtype: np.dtype) -> None:
    x = dtype.type(1.0)
    exactly(two_curves.backward(x, np.array([1, 0], dtype)), -3, dtype)
    exactly(two_curves.backward(x, np.array([0, 1], dtype)), 5, dtype)


@both
def test_07_the_same_at_many_points(dtype: np.dtype) -> None:
    x = np.array([0.0, 1.0, 2.0], dtype)
    assert two_curves(x).shape == (2, 3)
    exactly(two_curves.backward(x, np.array([[1, 1, 1], [0, 0, 0]], dtype)), [0, -3, -12], dtype)
    exactly(two_curves.backward(x, np.array([[0, 0, 0], [1, 1, 1]], dtype)), [5, 5, 5], dtype)


@both
def test_08_vector_to_vector(dtype: np.dtype) -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0], dtype)
    exactly(two_sums.backward(x, np.array([1, 0], dtype)), [1, 1, 1, 1], dtype)
    exactly(two_sums.backward(x, np.array([0, 1], dtype)), [0, 2, 4, 6], dtype)


@both
def test_09_vector_to_vector_at_many_points(dtype: np.dtype) -> None:
    x = np.arange(12.0, dtype=dtype).reshape(3, 4)
    top, bottom = np.zeros((2, 2, 3), dtype)
    top[0], bottom[1] = 1, 1
    exactly(two_sums_of_rows.backward(x, top), np.ones((3, 4)), dtype)
    exactly(two_sums_of_rows.backward(x, bottom), [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18, 20, 22]], dtype)


@both
def test_10_scalar_to_matrix(dtype: np.dtype) -> None:
    x = dtype.type(1.0)
    one_hot = np.eye(6, dtype=dtype).reshape(6, 3, 2)
    got = np.array([matrix_of_powers.backward(x, v) for v in one_hot]).reshape(3, 2)
    exactly(got, [[0, 1], [2, 3], [4, 5]], dtype)
    y, pullback = matrix_of_powers.vjp(x)
    exactly(y, np.ones((3, 2)), dtype)
    exactly(np.array([pullback(v) for v in one_hot]).reshape(3, 2), [[0, 1], [2, 3], [4, 5]], dtype)


@both
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (5,), (5, 1)], ids=str)
def test_11_shapes(shape: tuple[int, ...], dtype: np.dtype) -> None:
    x = np.arange(1.0, 1 + np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    exactly(square.backward(x, np.ones(shape, dtype)), 2 * x, dtype)


@both
def test_12_matrix_to_scalar(dtype: np.dtype) -> None:
    x = np.arange(6.0, dtype=dtype).reshape(3, 2)
    exactly(sum_of_squares.backward(x), [[0, 2], [4, 6], [8, 10]], dtype)


@both
def test_13_v_left_out(dtype: np.dtype) -> None:
    x = np.array([0.31, -0.62, 0.17], dtype)
    exactly(total.backward(x), [1, 1, 1], dtype)
    exactly(total.backward(x, 1.0), [1, 1, 1], dtype)
    exactly(total.backward(x, v=dtype.type(1.0)), [1, 1, 1], dtype)


@both
def test_14_data_dependent_loop(dtype: np.dtype) -> None:
    x = np.array([0.41, -1.2, 0.73], dtype)
    v = np.array([0.1, 1.0, 0.0001], dtype)
    power = 1024  # |x| is about 1.46: 2 * 512 is the first power of two that takes it past 1000
    np.testing.assert_array_equal(double_until_long(x), x * power)
    exactly(double_until_long.backward(x, v), v * power, dtype)


@both
def test_15_chain_of_two_functions(dtype: np.dtype) -> None:
    f1, f2 = grad(first), grad(second)
    x, ones = np.array([0.6, -1.1], dtype), np.ones(2, dtype)
    by_parts = f1.backward(x, f2.backward(f1(x), ones))
    exactly(composed.backward(x, ones), by_parts, dtype, rtol=32 * np.finfo(dtype).eps)
    a, b = x.astype(np.float64)
    y0, y1 = a * b, np.sin(a)
    g0, g1 = 2 * y0 + y1, 1 + y0
    exactly(by_parts, [g0 * b + g1 * np.cos(a), g0 * a], dtype, rtol=64 * np.finfo(dtype).eps)


@both
def test_16_weighted_loss_vector(dtype: np.dtype) -> None:
    f = grad(first)
    x, v = np.array([0.6, -1.1], dtype), np.array([0.2, 0.8], dtype)
    a, b = x.astype(np.float64)
    rows = np.array([[b, a], [np.cos(a), 0.0]])
    exactly(f.backward(x, v), 0.2 * rows[0] + 0.8 * rows[1], dtype, rtol=32 * np.finfo(dtype).eps)


# What follows from them ---------------------------------------------------------------------------------------------


def test_one_forward_pass_serves_many_pullbacks() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y, pullback = two_sums.vjp(x)
    x[:] = 100.0  # the pullback has its own copy
    np.testing.assert_array_equal(y, [6, 14])
    for _ in range(2):  # nothing accumulates
        np.testing.assert_array_equal(pullback(np.array([0.0, 1.0])), [0, 2, 4, 6])
        np.testing.assert_array_equal(pullback(np.array([1.0, 0.0])), [1, 1, 1, 1])


@pytest.mark.parametrize(
    "v", [np.ones(5, np.int64), np.ones(5), np.ones(5, np.float32), np.ones(5, bool)], ids=lambda v: str(v.dtype)
)
def test_v_of_another_real_dtype_is_converted(v: np.ndarray) -> None:
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    exactly(square.backward(x, v), [-4, -2, 0, 2, 4], np.dtype(np.float32))


def test_v_left_out_for_a_vector_names_its_shape() -> None:
    with pytest.raises(TypeError, match=r"(?s)v.*\(2, 3\)|\(2, 3\).*v"):
        two_curves.backward(np.zeros(3))


def test_v_of_another_shape_is_never_broadcast() -> None:
    with pytest.raises(ValueError, match=r"(?s)5.*1|1.*5"):
        square.backward(np.ones(5), np.ones(1))


def test_complex_v_for_a_real_output() -> None:
    with pytest.raises(TypeError, match="complex"):
        square.backward(np.ones(5), np.ones(5) * 1j)


def test_the_gradient_of_a_composition() -> None:
    """Where v is the gradient of l at f(x), backward gives the gradient of l after f."""
    x = np.array([0.3, -0.4, 0.9])
    v = np.cos(square(x))
    np.testing.assert_allclose(square.backward(x, v), np.cos(x**2) * 2 * x, rtol=1e-14)
