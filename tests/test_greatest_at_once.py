"""A loop that finds the greatest, or the least, passes its cotangent on in the end, and not step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(23)
INF, NAN = np.inf, np.nan


def greatest_of(x, m):
    for i in range(len(x)):
        m = max(m, x[i])
    return m


def least_of(x, m):
    for value in x:
        m = min(m, value)
    return m


def greatest_modulus_of(x, m):
    for i in range(len(x)):
        m = max(m, abs(x[i]))
    return m * m


def twice_over(x, m):
    """The second one starts from what the first one found."""
    for i in range(len(x)):
        m = max(m, 2.0 * x[i])
    for i in range(1, len(x)):
        m = max(m, x[i] - x[i - 1])
    return m


def greatest_and_least(x, m):
    low = m
    for i in range(len(x)):
        m = max(m, x[i])
        low = min(low, x[i])
    return m * low


def in_a_branch(x, m):
    if m < 1.0:
        for i in range(len(x)):
            m = max(m, x[i])
    else:
        m = m * m
    return m


OF_ROWS = [greatest_of, least_of, greatest_modulus_of, twice_over, greatest_and_least, in_a_branch]


def pooled(x, m):
    y = np.zeros((x.shape[0] // 2, x.shape[1] // 3))
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            best = m
            for a in range(2):
                for b in range(3):
                    best = max(best, x[2 * i + a, 3 * j + b])
            y[i, j] = best
    return y


def softmax(x, m):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        top = x[i, 0] if x.shape[1] else m
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = 1.0
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] - top) + m
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] /= total
    return y


def while_it_shrinks(x, m):
    """What the greatest is found among changes from step to step."""
    u = x.copy()
    steps = 0
    while steps < 3:
        top = m
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                top = max(top, abs(u[i, j]))
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                u[i, j] = u[i, j] * (0.5 + u[i, j] / (4.0 + top * top))
        steps += 1
    return u


def handed_on(x, m):
    """The greatest so far, of one row after the other."""
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            m = max(m, x[i, j])
        y[i] = m * m
    return y


OF_GRIDS = [pooled, softmax, while_it_shrinks, handed_on]
TIES = (
    [], [3.0], [1.0, 3.0, 2.0, 3.0, 3.0, -1.0], [3.0] * 7, [0.0, -0.0, 0.0], [NAN, 3.0, NAN, 3.0],
    [-3.0, 3.0, -3.0], [NAN, NAN], [INF, 1.0, INF], [-INF, -INF],
)  # fmt: skip


def found(function: Callable[..., Any], *args: Any) -> Any:
    return grad(function, jit=False).value_and_backward(*args)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("start", [-INF, 3.0, 0.0, NAN])
@pytest.mark.parametrize("function", OF_ROWS, ids=lambda f: f.__name__)
def test_ties(function: Callable[..., Any], start: float, dtype: type) -> None:
    """Step by step the same, to the last bit: halves are exact."""
    for values in TIES:
        args = np.array(values, dtype), dtype(start), 0.75
        with np.errstate(invalid="ignore"):
            got = found(function, *args)
            with order.without("greatest_at_once"):
                want = found(function, *args)
        for one, other in zip((got[0], *got[1]), (want[0], *want[1]), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"{values} from {start}")


@pytest.mark.parametrize("function", OF_ROWS, ids=lambda f: f.__name__)
def test_gradients_of_rows(function: Callable[..., Any]) -> None:
    for n in (1, 2, 9):
        for start in (-4.0, 0.3, 5.0):
            check_grad(grad(function, jit=False), RNG.permutation(n) * 0.37 - 1.1, start)


@pytest.mark.parametrize("function", OF_GRIDS, ids=lambda f: f.__name__)
def test_gradients_of_grids(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for shape in ((0, 3), (4, 0), (1, 1), (4, 7), (6, 3)):
        x = RNG.permutation(shape[0] * shape[1]).reshape(shape) * 0.17 - 1.2
        for start in (-4.0, 0.25, 0.93):
            check_grad(f, x, start)


@pytest.mark.parametrize("function", OF_GRIDS, ids=lambda f: f.__name__)
def test_ties_in_grids(function: Callable[..., Any]) -> None:
    for most in (2, 4):
        for shape in ((4, 7), (3, 2), (0, 3), (3, 0)):
            args = RNG.integers(0, most, shape).astype(float), 1.0
            args = *args, np.ones_like(function(*args))
            got = found(function, *args)
            with order.without("greatest_at_once"):
                assert_close(got, found(function, *args), 1e-14, "ties")


@pytest.mark.parametrize(
    ("function", "parallel"), [(greatest_of, True), (least_of, False), (pooled, True), (softmax, False)]
)
def test_compiled(function: Callable[..., Any], parallel: bool) -> None:
    f = grad(function, parallel=parallel)
    size = (3000,) if function in (greatest_of, least_of) else (40, 30)
    for x in (RNG.normal(size=size), RNG.integers(0, 3, size).astype(float), RNG.normal(size=size)[::-1]):
        for start in (-5.0, 0.5):
            v = RNG.normal(size=np.shape(function(x, start)))
            assert_close(f.value_and_backward(x, start, v), found(function, x, start, v), 1e-12, "compiled")


@pytest.mark.parametrize("function", [greatest_of, pooled], ids=lambda f: f.__name__)
def test_nothing_is_kept_of_its_steps(function: Callable[..., Any]) -> None:
    x = np.ones(6) if function is greatest_of else np.ones((6, 6))
    text = grad(function).source(x, 0.5)
    assert "_kept" not in text and "if first < last:" in text, text


def of_what_is_computed(x, m):
    """Several roundings: computed again, it might come out as another number."""
    for i in range(len(x)):
        m = max(m, x[i] * x[i] + 0.1 * x[i])
    return m


def steps_are_read(x, m):
    s = 0.0
    for i in range(len(x)):
        m = max(m, x[i])
        s += m
    return s


@pytest.mark.parametrize("function", [of_what_is_computed, steps_are_read], ids=lambda f: f.__name__)
def test_others_go_step_by_step(function: Callable[..., Any]) -> None:
    x = RNG.permutation(8) * 0.37 - 1.1
    f = grad(function, jit=False)
    assert "if first < last:" not in f.source(x, 0.5)
    check_grad(f, x, 0.5)


def of_moduli_in_sums(x, m):
    """The slope of a modulus in a sum is asked for where its index is, too."""
    for i in range(len(x)):
        for j in range(i, len(x)):
            m = max(m, abs(x[j]) - 1.0)
    for i in range(len(x)):
        m = max(m, abs(x[i]) / 3.0)
    return m


def of_roots(x, m):
    r = np.zeros(len(x))
    for i in range(len(x)):
        r[i] = np.sqrt(x[i])
    for i in range(len(x)):
        m = max(m, r[i])
    return m


def of_scaled_roots(x, m):
    r = np.zeros(len(x))
    for i in range(len(x)):
        r[i] = np.sqrt(x[i])
    top = -1.0
    for i in range(len(x)):
        top = max(top, m * r[i])
    return top


def test_moduli_in_sums() -> None:
    f = grad(of_moduli_in_sums, jit=False)
    for x in ([3.0, -3.0, 3.0], [0.5, -4.0, 1.0], [-0.2], [], [0.0, 0.0]):
        for start in (-2.0, 0.25, 2.0):
            got = f.backward(np.array(x), start)
            with order.without("greatest_at_once"):
                want = grad(of_moduli_in_sums, jit=False).backward(np.array(x), start)
            assert_close(got, want, 1e-14, f"{x} from {start}")


def of_scaled(x, m):
    top = -1.0
    for i in range(len(x)):
        top = max(top, m * x[i])
    return top


def test_of_infinite_factors_that_are_not_chosen_nothing_is_seen() -> None:
    f = grad(of_scaled, jit=False)
    assert "if first < last:" in f.source(np.ones(3), 1.0)
    for x, of_x, of_m in (
        ([0.5, -INF, 0.25], [1.5, 0.0, 0.0], 0.5),
        ([-INF, 2.0, NAN, 2.0], [0.0, 0.75, 0.0, 0.75], 2.0),
    ):
        got = f.backward(np.array(x), 1.5)
        np.testing.assert_array_equal(got[0], of_x)
        assert got[1] == of_m


@pytest.mark.parametrize("function", [of_roots, of_scaled_roots], ids=lambda f: f.__name__)
def test_what_is_not_chosen_has_no_infinite_slope(function: Callable[..., Any]) -> None:
    """sqrt at 0, where another element is the greatest."""
    f = grad(function, jit=False)
    assert "if first < last:" in f.source(np.ones(3), 1.0)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(f.backward(np.array([0.0, 1.0, 4.0]), 1.0)[0], [0.0, 0.0, 0.25])


def slopes_that_change(x, m):
    """Of m * x[i] the slope is an element, which is another one later; n - 1 - i counts from what changes, too."""
    x, n, total = x.copy(), len(x), 0.0
    for _ in range(2):
        top = -1.0
        for i in range(n):
            top = max(top, m * x[n - 1 - i])
        n -= 1
        for k in range(len(x)):
            x[k] = x[k] - 0.5 * top
        total += top * top
    return total


def places_by_an_outer_index(x, m):
    x, r = x.copy(), 0
    while r < 2:
        for i in range(2):
            top = m
            for j in range(i + 1):
                top = max(top, x[i] - x[j] + m)
            for j in range(1, i + 2):
                top = max(top, x[(i + j) % len(x)])
            for k in range(len(x)):
                x[k] = x[k] - 0.25 * top * x[k]
        r += 1
    return np.sum(x)


def differences_to_one(x, m):
    x = x.copy()
    for _ in range(2):
        for i in range(2):
            top = m
            for j in range(i + 1):
                top = max(top, x[i] - x[j])
            for k in range(len(x)):
                x[k] = x[k] - 0.25 * top * x[k]
    return np.sum(x)


@pytest.mark.parametrize(
    "function", [slopes_that_change, places_by_an_outer_index, differences_to_one], ids=lambda f: f.__name__
)
def test_what_changes_between_a_loop_and_its_adjoint(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    assert "if first < last:" in f.source(np.ones(5), 0.5)
    for start in (-0.7, 0.13, 0.9):
        check_grad(f, RNG.permutation(5) * 0.37 - 0.6, start)
