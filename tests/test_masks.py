"""What a condition leaves out contributes nothing, though it is a nan or infinite (edge case rule 3).

Each program is compared with itself on the elements that it does not leave out, and there with differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

NAN, INF = math.nan, math.inf


def nansum_of_squares(z, y):
    return np.nansum((z - y) ** 2)


def nanmean_of_products(z, y):
    return np.nanmean(z * y)


def nan_reductions(z, y):
    a = z * y
    return np.nanmax(a) + np.nanprod(a) + np.nanstd(a)


def chosen_later(z, y):
    a = z * y
    return np.sum(np.where(np.isnan(a), 0.0, np.sin(a)))


def replaced(z, y):
    return np.sum(np.exp(np.nan_to_num(z * y)) - 1.0)


def overwritten(z, y):
    r = (z - y) ** 2
    r[np.isnan(r)] = 0.0
    return np.sum(r)


def picked_by_a_mask(z, y):
    keep = ~np.isnan(z)
    r = np.tanh(z * y)
    return np.sum(r[keep] ** 2)


def picked_by_positions(z, y):
    r = np.tanh(z * y)
    return np.sum(r[np.flatnonzero(z == z)] ** 2)


def picked_in_a_loop(z, y):
    a = z * y
    total = 0.0
    for i in range(len(a)):
        if not np.isnan(a[i]):
            total += a[i] * a[i]
    return total


def skipped(z, y):
    total = 0.0
    for zi, yi in zip(z, y):
        r = math.cos(zi) * yi
        if math.isnan(r):
            continue
        total += r
    return total


def overwritten_in_a_loop(z, y):
    total = 0.0
    for i in range(len(z)):
        r = np.sin(z[i]) * y[i]
        if np.isnan(r):
            r = 0.0
        total += r
    return total


def roots_of_what_is_left(z, y):
    r = (np.sqrt(z * z) - y) ** 2
    return np.nansum(r)


def through_two_names(z, y):
    u = np.exp(z) * y
    w = u * u + y
    return np.sum(np.where(np.isnan(z), 0.0, w))


def helper(z, y):
    return (z * y - 1.0) ** 2


def of_a_helper(z, y):
    return np.nansum(helper(z, y)) / np.count_nonzero(~np.isnan(z))


def scaled_in_place(z, y):
    r = z - y
    r -= np.nanmean(r)
    r /= np.nanstd(r)
    return np.nansum(r**3)


def squared_in_place(z, y):
    r = z - y
    r *= r
    return np.nansum(r)


def carried(z, y):
    x = z
    for _ in range(3):
        x = x * y
    return np.nansum(x)


def number_carried(z, y):
    total = 0.0
    for i in range(len(z)):
        t = z[i]
        for _ in range(2):
            t = t * y[i]
        if not np.isnan(t):
            total += t
    return total


def least_of_those_there(z, y):
    best = 1e9
    for i in range(len(z)):
        d = (z[i] - y[i]) ** 2
        if d < best:
            best = d
    return best


def positions_with_a_name(z, y):
    r = np.tanh(z * y)
    total = 0.0
    for i in np.flatnonzero(z == z):
        total += r[i] * r[i]
    return total


def positions_of_positions(z, y):
    r = (z - y) ** 2
    k = np.where(~np.isnan(z))[0]
    total = 0.0
    for j in range(len(k)):
        at = k[j]
        total += r[at] * r[k[j]]
    return total


def found_by_a_search(z, y):
    r = (z - y) ** 2
    k = np.nanargmin(r)
    return r[k] * 2.0 + r[np.nanargmax(r)]


def copied_over(z, y):
    r = (z - y) ** 2
    np.copyto(r, 0.0, where=np.isnan(r))
    return r.sum()


def put_under_a_mask(z, y):
    r = (z - y) ** 2
    np.putmask(r, np.isnan(r), 0.0)
    return r.sum()


def replaced_in_place(z, y):
    r = (z - y) ** 2
    np.nan_to_num(r, copy=False)
    return r.sum()


def filled_forward(z, y):
    r = (z - y) ** 2
    for i in range(1, len(r)):
        if np.isnan(r[i]):
            r[i] = r[i - 1]
    return np.sum(r * (z == z))


def passed_by_fmax(z, y):
    return np.sum(np.fmax((z - y) ** 2, 0.0))


PROGRAMS = [
    nansum_of_squares,
    nanmean_of_products,
    nan_reductions,
    chosen_later,
    replaced,
    overwritten,
    picked_by_a_mask,
    picked_by_positions,
    picked_in_a_loop,
    skipped,
    overwritten_in_a_loop,
    roots_of_what_is_left,
    through_two_names,
    of_a_helper,
    scaled_in_place,
    squared_in_place,
    carried,
    number_carried,
    least_of_those_there,
    positions_with_a_name,
    positions_of_positions,
    found_by_a_search,
    copied_over,
    put_under_a_mask,
    replaced_in_place,
    filled_forward,
    passed_by_fmax,
]


@pytest.mark.parametrize(("program", "jit"), [*((p, False) for p in PROGRAMS), *((p, True) for p in PROGRAMS[::4])])
def test_a_nan_that_is_left_out(program: Callable[..., Any], jit: bool) -> None:
    z, y = np.array([0.5, NAN, -1.3, 0.8, NAN]), np.array([1.5, 0.7, 0.4, -0.6, 2.0])
    f = grad(program, jit=jit)
    there = ~np.isnan(z)
    got = f.backward(z, y)
    want = f.backward(z[there], y[there])
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g[there], w, rtol=1e-14)
        assert g[~there].tolist() == [0.0, 0.0]
    check_grad(f, z[there], y[there])


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes(dtype: Any) -> None:
    def masked(z, y, keep):
        r = z * y
        return np.sum(np.where(keep, np.abs(r * y), 0.0))

    z, y = np.array([0.5, NAN, 2.0], dtype), np.array([2.0, INF, 1.0], dtype)
    for g in grad(masked, jit=False).backward(z, y, ~np.isnan(z)):
        assert g.dtype == dtype
        assert g[1] == 0.0
        assert np.all(np.isfinite(g))
        assert np.all(g[[0, 2]] != 0.0)


def test_an_infinite_factor_that_is_left_out() -> None:
    """x log(x) at 0 has the factor log(0)."""

    def entropy(p):
        terms = p * np.log(p)
        terms[p == 0] = 0.0
        return -np.sum(terms)

    p = np.array([0.0, 0.25, 0.75])
    np.testing.assert_allclose(grad(entropy, jit=False).backward(p), [0.0, *(-np.log(p[1:]) - 1.0)])


def squares_where_chosen(x):
    inverse = 1.0 / x
    return np.sum(np.where(x != 0.0, inverse**2, 0.0))


def squares_of_what_is_replaced(x):
    inverse = 1.0 / x
    inverse[x == 0.0] = 0.0
    return np.sum(inverse**2 + inverse**3)


def squares_beside_a_diagonal(x):
    inverse = 1.0 / (x[:, None] - x[None, :])
    np.fill_diagonal(inverse, 0.0)
    return np.sum(inverse**2)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("program", [squares_where_chosen, squares_of_what_is_replaced, squares_beside_a_diagonal])
def test_the_power_of_an_inverse_that_is_left_out(program: Callable[..., Any]) -> None:
    """x**2 has an infinite slope where x is infinite, as x * x has: no zero of arithmetic."""
    x = np.array([0.7, 0.0, -1.3])
    f = grad(program, jit=False)
    got = f.backward(x)
    if program is squares_beside_a_diagonal:
        check_grad(f, x)
    else:
        assert got[1] == 0.0
        np.testing.assert_allclose(got[[0, 2]], f.backward(x[[0, 2]]), rtol=1e-15)
        check_grad(f, x[[0, 2]])


def test_a_nan_that_is_not_left_out() -> None:
    """One reader that nothing leaves out, or both sides of a condition: the total is a nan, and so is the gradient."""

    def summed(z, y):
        r = z * y
        return np.sum(r) + np.sum(np.where(np.isnan(r), 0.0, r))

    def on_either_side(z, y):
        r = z * y
        return np.sum(np.where(y > 0, r * r, -r))

    z, y = np.array([0.5, NAN]), np.array([1.0, 2.0])
    for program in summed, on_either_side:
        z_b, y_b = grad(program, jit=False).backward(z, y)
        assert np.isnan(y_b[1])
        assert np.isfinite([*z_b[:1], *y_b[:1]]).all()


def test_a_zero_of_arithmetic_is_none_of_structure() -> None:
    """The square of a root is x, with slope 1 also at 0: the gradient is no number there, never a 0."""

    def squares_of_roots(x):
        r = np.sqrt(x)
        return np.nansum(r * r)

    got = grad(squares_of_roots, jit=False).backward(np.array([0.0, 4.0, -1.0]))
    assert np.isnan(got[0])
    assert got[1] == 1.0
    assert got[2] == 0.0  # the root of -1 is a nan, which the sum left out


K = np.array([-1.0, 0.0, 1.0, 2.0])


def distances_scaled_by_an_angle(t):
    d = ((t * K) ** 2 + 0.0) ** 0.5
    return np.sum(np.maximum(np.where(K != 0, d, 1.0) - 0.2, 0)) * np.arctan2(t, 0.3)


def root_of_a_root(t):
    d = np.sqrt((t * K) ** 2)
    e = np.sqrt(d)
    there = K != 0
    return np.sum(np.where(there, e, 1.0)) * np.sqrt(t)


def chosen_in_a_later_loop(t):
    r = np.zeros(K.size)
    for i in range(K.size):
        r[i] = np.sqrt(t * K[i] * K[i])
    s = 0.0
    for j in range(K.size):
        if K[j] != 0:
            s += r[j] ** 3
    return s * np.sqrt(t)


def either_of_two_conditions(t):
    s = 0.0
    for i in range(K.size):
        d = np.sqrt(t * abs(K[i]))
        if i < 2:
            if K[i] != 0:
                s += d * d
        else:
            s += np.where(K[i] > 0, d, 0.0)
    return s * np.arctan2(t, 0.3)


def by_its_own_value(t):
    r = np.sqrt(t * K * K)
    return np.sum(np.where(r > 0, r * np.log(r), 0.0)) * np.sqrt(t)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "program",
    [
        distances_scaled_by_an_angle,
        root_of_a_root,
        chosen_in_a_later_loop,
        either_of_two_conditions,
        by_its_own_value,
    ],
)
def test_what_a_condition_left_out_stays_out_whatever_comes_after_it(program: Callable[..., Any], jit: bool) -> None:
    """The cotangent that comes back may be a zero of arithmetic: the condition is asked again."""
    f = grad(program, jit=jit)
    assert np.isfinite(f.backward(0.7))
    check_grad(f, 0.7)


def test_a_condition_on_the_value_reads_what_is_held_of_it() -> None:
    """The condition itself is not kept beside the value."""

    def near(p):
        d = p[:, None] - p[None, :]
        r = np.sqrt(d * d + 1e-9)
        return np.sum(np.where(r < 0.5, 1 / r, 2.0)) * np.linalg.norm(p)

    f = grad(near, jit=False)
    assert "bool" not in f.source(np.ones(3))
    check_grad(f, np.array([0.3, 0.9, 1.1]))


def between_the_two_the_mask_changes(x):
    there = x > 0.5
    r = np.sqrt(x)
    there[0] = not there[0]
    return np.sum(np.where(there, r**3, 0.0)) * np.sqrt(x[0])


def a_counter_in_the_condition(x):
    s, c = 0.0, 0
    for i in range(x.size):
        d = np.sqrt(x[i])
        c += 1
        if c > 2:
            s += d * np.sqrt(d)
        c += 1
    return s * np.sqrt(x[0])


def what_the_sweep_before_has_left(x):
    r, s = np.zeros(x.size), 0.0
    for sweep in range(3):
        for i in range(x.size):
            if K[i] > sweep - 0.7:
                s += r[i] * np.sqrt(r[i] + 1.0)
        for i in range(x.size):
            r[i] = np.sqrt(x[i] + sweep)
    return s * np.sqrt(x[1])


def across_the_diagonal(x):
    r = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            r[i, j] = np.sqrt(x[2 * i + j])
    s = 0.0
    for j in range(2):
        for i in range(2):
            s += np.where(K[2 * i + j] > 0.7, r[i, j], 0.3) * np.where(K[i] > -0.5, 1.0, r[j, i])
    return s * np.sqrt(x[0])


def a_mask_in_reverse_order(x):
    there, r = np.zeros(x.size, bool), np.zeros(x.size)
    for i in range(x.size):
        r[i] = np.sqrt(x[i])
        there[x.size - 1 - i] = x[i] > 0.6
    return np.sum(np.where(there, r**3, 1.0)) * np.sqrt(x[0])


def a_mask_through_a_row_that_is_chosen_later(x):
    r, k, s = np.empty(2), (x * x).reshape(2, 2), 0.0
    for sweep in range(2):
        for i in range(2):
            r[i] = np.sqrt(x[2 * sweep + i])
        row = k[1 if np.sum(r) > 1.9 else 0, ::-1]
        for i in range(2):
            if row[i] > 0.7:
                s += r[i] ** 3
        k[sweep] *= 0.5
    return s * np.sqrt(x[0])


@pytest.mark.parametrize(
    "program",
    [
        between_the_two_the_mask_changes,
        a_counter_in_the_condition,
        what_the_sweep_before_has_left,
        across_the_diagonal,
        a_mask_in_reverse_order,
        a_mask_through_a_row_that_is_chosen_later,
    ],
)
def test_conditions_that_are_not_the_same_where_the_value_is_computed(program: Callable[..., Any]) -> None:
    check_grad(grad(program, jit=False), np.array([0.3, 0.7, 1.2, 0.95]))


def test_no_condition_costs_nothing() -> None:
    def squares(z, y):
        return np.sum(((z - y) * y) ** 2)

    z = np.ones(3)
    assert "if" not in grad(squares, jit=False).source(z, z).partition("# reverse sweep")[2]
