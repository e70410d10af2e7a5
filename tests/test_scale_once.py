"""Steps whose reverse only scales a cotangent: one pass over it, with what overflows or not as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.passes import order


def grown(x, steps):
    for _ in range(steps):
        x = x * 2.0
    return x


def decayed(x, steps):
    y = x.copy()
    for _ in range(steps):
        y *= 0.5
    return y


def alternating(x, steps):
    y = x.copy()
    for _ in range(steps):
        y[:] = -y
    return y


def cleared(x, steps):
    y = x.copy()
    for _ in range(steps):
        y *= 0.0
    return y


def inside(x, steps):
    y = x.copy()
    for _ in range(steps):
        y[1:-1] *= 2.0
    return y


def two(x, steps):
    y, z = x.copy(), 3.0 * x
    for _ in range(steps):
        y *= 2.0
        z *= -0.25
    return y * z


def grid(x, steps):
    y = np.outer(x, x)
    for _ in range(steps):
        y *= 2.0
    return y.sum(axis=0)


def shrinking(x, steps):
    """Other elements in every step."""
    y = x.copy()
    for t in range(steps):
        y[t % 3 :] *= 2.0
    return y


@pytest.mark.parametrize("steps", [0, 1, 7])
@pytest.mark.parametrize("function", [grown, decayed, alternating, cleared, inside, two, grid, shrinking])
def test_is_what_the_steps_come_to(function: Any, steps: int) -> None:
    x, v = np.linspace(0.5, 2.0, 5), np.linspace(-1.0, 1.0, 5)
    got = grad(function, jit=False).backward(x, steps, v)
    with order.without("scale_once"):
        want = grad(function, jit=False).backward(x, steps, v)
    np.testing.assert_array_equal(got, want)  # (powers of two are exact)


@pytest.mark.parametrize("function", [grown, decayed, inside, two, grid])
def test_is_done(function: Any) -> None:
    assert "scale" in grad(function, jit=False).source(np.ones(5), 3, kind="backward")


def test_is_not_done_where_the_elements_are_others_in_every_step() -> None:
    assert "scale" not in grad(shrinking, jit=False).source(np.ones(5), 3, kind="backward")


def test_the_products_of_the_user_stay() -> None:
    """x * 0.9 * 0.9 is not x * 0.81, to the last bit."""

    def f(x):
        for _ in range(50):
            x = x * 0.9
        return x

    x = np.linspace(0.1, 1.0, 100)
    want = f(x)
    np.testing.assert_array_equal(grad(f)(x), want)
    np.testing.assert_array_equal(grad(f).value_and_backward(x, np.ones(100))[0], want)
    np.testing.assert_allclose(grad(f).backward(x, np.ones(100)), np.full(100, 0.9**50), rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "v", "steps", "dtype"),
    [
        (grown, 1e-300, 1500, np.float64),
        (grown, 1e-300, 2500, np.float64),
        (decayed, 1e300, 1900, np.float64),
        (decayed, 1e300, 3000, np.float64),
        (grown, 1e-36, 200, np.float32),
        (decayed, 1e36, 230, np.float32),
    ],
)
@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_beyond_the_range_of_the_scale(function: Any, v: float, steps: int, dtype: type, jit: bool) -> None:
    cotangent = np.array([v, -v, 0.0, np.inf, np.nan], dtype)
    got = grad(function, jit=jit).backward(np.ones(5, dtype), steps, cotangent)
    with np.errstate(over="ignore", under="ignore"):
        want = np.ldexp(cotangent, steps if function is grown else -steps)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)
