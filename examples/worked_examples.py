"""What `backward` does: sixteen small functions, each with the cotangent that it must give.

v has the shape of the output, the result is v^T J, and the result has the shape and dtype of x.  Every function here is
plain NumPy and Python; every figure is checked.  At the end stands the adjoint that was generated for one of them.
"""

import time

import numpy as np

from srcgrad import grad

W = np.array([3.0, 5.0])


@grad
def square(x):
    return x**2


@grad
def square_sum(x):
    return (x**2).sum()


@grad(wrt="x")
def weighed(x, w):
    return (x * x * w).sum()


@grad
def weighed_by_a_global(x):
    return (x * x * W).sum()


@grad
def weighed_rows(x, w):
    return (x * x * w).sum(1)


@grad
def curve(x):
    return np.stack((-(x**3), 5 * x))


@grad
def moments(x):
    return np.stack((x.sum(), (x**2).sum()))


@grad
def row_moments(x):
    return np.stack((x.sum(1), (x**2).sum(1)))


@grad
def powers(x):
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


@grad
def inner(x):
    return np.stack((x[0] * x[1], np.sin(x[0]) + x[1]))


@grad
def outer(y):
    return np.stack((np.exp(y[0]) * y[1], y[0] ** 2))


@grad
def composed(x):
    return outer(inner(x))


def one_hot(shape, index):
    v = np.zeros(shape)
    v[index] = 1.0
    return v


def row(number, what, cotangent, expected, rtol=1e-15):
    """Print one row, and insist on its figure, shape and dtype."""
    expected = np.asarray(expected)
    figures = np.array2string(np.asarray(cotangent), separator=", ", formatter={"float": "{:.8g}".format})
    print(f"{number:>3}  {what:<58} {' '.join(figures.split())}")
    assert np.shape(cotangent) == expected.shape, (number, np.shape(cotangent), expected.shape)
    assert np.asarray(cotangent).dtype == expected.dtype, (number, np.asarray(cotangent).dtype, expected.dtype)
    np.testing.assert_allclose(cotangent, expected, rtol=rtol, atol=0, err_msg=f"row {number}")


def main():
    start = time.perf_counter()
    print("  #  function, x and v                                          cotangent of x")

    row(1, "x**2 at 1.0, v left out", square.backward(1.0), 2.0)

    x = np.linspace(-2, 2, 5)
    x32 = x.astype(np.float32)
    row(2, "x**2 at five points at once, float32", square.backward(x32, np.ones(5, np.float32)), 2 * x32)
    row(3, "(x**2).sum(): the trick with sum", square_sum.backward(x), 2 * x)

    x = np.array([-1.0, 2.0])
    row(4, "(x*x*w).sum(), w an argument that is left alone", weighed.backward(x, W), [-6.0, 20.0])
    row(4, "(x*x*w).sum(), w a global", weighed_by_a_global.backward(x), [-6.0, 20.0])

    x = np.arange(6.0).reshape(3, 2)
    signs = np.array([-1, 1])
    expected = [[-0.0, 2.0], [-4.0, 6.0], [-8.0, 10.0]]
    row(5, "(x*x*w).sum(1), w integers: three gradients at once", weighed_rows.backward(x, signs, np.ones(3)), expected)

    _, pullback = curve.vjp(1.0)
    row(6, "(-x**3, 5x) at 1.0, v = [1, 0]", pullback(np.array([1.0, 0.0])), -3.0)
    row(6, "the same forward pass, v = [0, 1]", pullback(np.array([0.0, 1.0])), 5.0)

    _, pullback = curve.vjp(np.array([0.0, 1.0, 2.0]))
    row(7, "(-x**3, 5x) at three points, v = ones in row 0", pullback(one_hot((2, 3), 0)), [0.0, -3.0, -12.0])
    row(7, "v = ones in row 1", pullback(one_hot((2, 3), 1)), [5.0, 5.0, 5.0])

    _, pullback = moments.vjp(np.arange(4.0))
    row(8, "(sum x, sum x**2), v = [1, 0]", pullback(np.array([1.0, 0.0])), np.ones(4))
    row(8, "v = [0, 1]", pullback(np.array([0.0, 1.0])), [0.0, 2.0, 4.0, 6.0])

    x = np.arange(12.0).reshape(3, 4)
    _, pullback = row_moments.vjp(x)
    row(9, "the same for each of three rows, v = ones in row 0", pullback(one_hot((2, 3), 0)), np.ones((3, 4)))
    row(9, "v = ones in row 1", pullback(one_hot((2, 3), 1)), 2 * x)

    _, pullback = powers.vjp(1.0)
    jacobian = np.array([[pullback(one_hot((3, 2), (i, j))) for j in range(2)] for i in range(3)])
    row(10, "x**0 ... x**5 as a 3x2 matrix, one-hot v, six pullbacks", jacobian, np.arange(6.0).reshape(3, 2))

    for shape in (), (1,), (1, 1), (5,), (5, 1):
        x = np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)
        row(11, f"x**2 with x of shape {shape}, v = ones of that shape", square.backward(x, np.ones(shape)), 2 * x)

    x = np.arange(6.0).reshape(3, 2)
    row(12, "(x**2).sum() of a matrix", square_sum.backward(x), [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]])

    x = np.array([0.41, -1.2, 0.73])
    row(13, "sum x, v left out", total.backward(x), np.ones(3))
    row(13, "sum x, v = 1", total.backward(x, 1.0), np.ones(3))

    v = np.array([0.1, 1.0, 0.0001])
    reached = double_until_long(x)[0] / x[0]
    row(14, f"doubled until its norm is 1000: here times {reached:.0f}", double_until_long.backward(x, v), v * 1024.0)

    x = np.array([0.3, -0.7])
    chained = inner.backward(x, outer.backward(inner(x), np.ones(2)))
    row(15, "outer(inner(x)), one after the other", chained, composed.backward(x, np.ones(2)), rtol=1e-14)
    row(15, "and as one function", composed.backward(x, np.ones(2)), chained, rtol=1e-14)

    jacobian = np.array([[x[1], x[0]], [np.cos(x[0]), 1.0]])
    v = np.array([0.2, 0.8])
    row(16, "a loss weighed by v = [0.2, 0.8]", inner.backward(x, v), v @ jacobian, rtol=1e-14)

    print(f"\nAll sixteen hold; with compilation {time.perf_counter() - start:.1f} s.")
    print("\nThis was generated, and compiled, for row 14:\n")
    print(double_until_long.source(np.ones(3)))


if __name__ == "__main__":
    main()
