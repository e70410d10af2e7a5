"""`scipy.interpolate.bisplev`: surfaces of B-splines that were made outside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import bisplev, bisplrep
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.testing import check_grad

PLACES = np.meshgrid(np.linspace(0.0, 2.0, 9), np.linspace(-1.0, 1.0, 8), indexing="ij")
HEIGHTS = np.sin(PLACES[0]) * np.cos(2.0 * PLACES[1])
CUBIC = bisplrep(*map(np.ravel, (*PLACES, HEIGHTS)), s=0)
UNLIKE = bisplrep(*map(np.ravel, (*PLACES, HEIGHTS)), s=0, kx=1, ky=2)
X, Y = np.array([0.1, 0.5, 1.9]), np.array([-0.3, 0.4])


def height(x, y):
    return bisplev(x, y, CUBIC)


def of_other_degrees(x, y):
    return bisplev(x, y, UNLIKE) * x


def slopes(x, y):
    return bisplev(x, y, CUBIC, dx=1) * bisplev(x, y, CUBIC, dx=1, dy=2)


def grid(x, y):
    return bisplev(x, y, CUBIC) ** 2


@pytest.mark.parametrize(
    ("function", "x", "y"),
    [
        (height, 0.7, 0.2), (height, 2.5, 0.2), (height, 0.7, -3.0), (of_other_degrees, 0.7, 0.2), (slopes, 0.7, 0.2),
        (grid, X, Y), (grid, 0.3, Y), (grid, X, 0.2),
    ],
)  # fmt: skip
def test_as_scipy_says(function, x, y):
    f = grad(function, jit=False)
    check_value_and_grad(f, x, y, rtol=1e-12, atol=1e-13)


def test_coefficients():
    def at_a_place(x, c):
        return bisplev(x, 0.3, (CUBIC[0], CUBIC[1], c, 3, 3)) ** 2

    check_grad(grad(at_a_place), 0.7, CUBIC[2])


def test_one_place_in_an_array_is_refused():
    with pytest.raises(NotImplementedError, match="length 1"):
        grad(grid, jit=False)(X[:1], Y)
