"""An array that is of ints on one path and of floats on another: its own elements go back whole, whatever it is of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import RuntimeUnsupportedError, UnsupportedError, grad
from srcgrad.testing import check_grad

MIXED = np.array([0.3, 1.7, -0.4, 2.6])
WITHIN = np.array([0.3, 0.7, 0.4, 0.6])
BELOW = -MIXED[[0, 1, 3, 3]]


def ramp(t):
    if t < 0:
        return 0
    if t < 1:
        return t * t
    return 1


def ramps(x):
    return np.array([ramp(v) for v in x])


# ----------------------------------------------------------------------------------------------- its own elements


def scaled(x):
    a = ramps(x)
    for i in range(4):
        a[i] = a[i] * 2
    return np.sum(a * x)


def exchanged(x):
    a = ramps(x)
    a[0], a[1] = a[1], a[0]
    t = a[2]
    a[2] = a[3]
    a[3] = t
    return np.sum(a * x)


def put_in_order(x):
    a = ramps(x)
    a.sort()
    np.clip(a, 0, 4, out=a)
    return np.sum(a * x)


def running_sum(x):
    a = ramps(x)
    for i in range(1, 4):
        a[i] += a[i - 1]
    return np.sum(a * x)


def product_and_sum(x):
    a = ramps(x)
    a[0] = a @ a
    a[1] = a.sum()
    a[2] = np.max(a)
    return np.sum(a * x)


def sorted_by_insertion(x):
    a = ramps(x)
    for i in range(1, 4):
        v, k = a[i], i - 1
        while k >= 0 and a[k] > v:
            a[k + 1] = a[k]
            k -= 1
        a[k + 1] = v
    return np.sum(a * x)


def turned_round(x):
    a = ramps(x)
    a[1:] = a[:-1]
    a[:] = a[::-1]
    a[a < 0] = 0
    return np.sum(a * x)


def in_a_copy(x):
    a = ramps(x)
    b, c = a.copy(), np.zeros_like(a)
    b[0] = a[1] + a[2]
    b[1] = a.max()
    b[2] = -(a[3] ** 2)
    c[3] = b[0] - b[1]
    b[1:3] = [c[3], b[0]]
    return np.sum((b + c) * x)


def in_a_loop(x):
    a = ramps(x)
    for i in range(3):
        b = a.copy()
        b[0] = a[i]
        a = a * 2
        a[1] = b[0]
    return np.sum(a * x)


OWN = [
    scaled,
    exchanged,
    put_in_order,
    running_sum,
    product_and_sum,
    sorted_by_insertion,
    turned_round,
    in_a_copy,
    in_a_loop,
]


@pytest.mark.parametrize("x", [MIXED, WITHIN, BELOW])
@pytest.mark.parametrize("function", OWN)
def test_own_elements_go_back(function: Any, x: np.ndarray) -> None:
    g = grad(function, jit=False)
    check_value_and_grad(g, x, rtol=1e-12)


# ---------------------------------------------------------------------------------------------- those of another


def of_another_array(x):
    a, b = ramps(x), ramps(x - 1)
    b[0] = a[1]
    return np.sum(b * x)


def by_another_array(x):
    a, b = ramps(x), ramps(x - 1)
    a[0] = a[1] * b[2]
    return np.sum(a * x)


def of_the_last_iteration(x):
    out = np.array([ramp(x[0]), 1])
    for i in range(1, 3):
        now = np.array([ramp(x[i]), 1])
        out[0] = now[0]
        out = now
    return out[0] * x[0]


def of_what_had_the_name(x):
    a = ramps(x)
    b = a.copy()
    for i in range(3):
        b[i] = a[i + 1]
        a = ramps(x + i)
    return np.sum(b * x)


def of_a_variable(x):
    a = ramps(x)
    t = a[0]
    if x[1] > 0:
        t = 0.5
    a[1] = t
    return np.sum(a * x)


def halved(x):
    a = ramps(x)
    a[0] = a[1] / 2
    return np.sum(a * x)


# ---------------------------------------------------------------------------------- memory that is another's in a loop


def changed_places(x):
    a, b = np.array([ramp(x[0]), 1]), np.array([0.5, 1.5])
    for _ in range(3):
        a, b = b, a
        a[1] = 0.75
    return a[1] * x[0] + b[1]


def changed_by_a_branch(x):
    a = np.zeros(2)
    for i in range(3):
        if x[i] > 0:
            a = np.array([ramp(x[i]), 1])
    a[0] = 0.5
    return a[0] * x[0]


def changed_ahead_of_the_write(x):
    a = np.zeros(2)
    for i in range(3):
        a[0] = 0.5
        if x[i] > 0:
            a = np.array([1, 2])
    return a[0] * x[0]


def another_list(x):
    ys = [0.5, x[0]]
    for i in range(3):
        ys = [1, 2] if x[i] > 0.5 else [2, 3]
    a = np.array(ys)
    a[0] = 0.5
    return a[0] * x[0]


def a_list_that_grew(x):
    ys = [0]
    s = 0
    for v in x:
        a = np.array(ys)
        a[0] = 0.5
        s += a[0] * v
        ys.append(v)
    return s


def a_list_that_was_changed(x):
    acc = [0, 0]
    s = 0
    for i in range(len(x)):
        a = np.array(acc)
        a[0] = 0.5
        s += a[0]
        acc[i % 2] += x[i]
    return s * x[0]


def a_product(x):
    a = ramps(x)
    b = a[:, None] @ a[None, :]
    b[0] = 0.5
    return np.sum(b) * x[0]


def a_sum_of_elements(x):
    a = ramps(x)
    b = np.array([sum(a), 1])
    b[0] = 0.5
    return np.sum(b) * x[0]


def the_greatest_element(x):
    a = ramps(x)
    b = np.array([max(a), 1])
    b[0] = 0.5
    return np.sum(b) * x[0]


def the_greatest_item(x):
    b = np.array([max([ramp(v) for v in x]), 1])
    b[0] = 0.5
    return np.sum(b) * x[0]


def a_sum_of_items(x):
    b = np.array([sum(ramp(v) for v in x), 1])
    b[0] = 0.5
    return np.sum(b) * x[0]


def a_longer_list(x):
    b = np.array([ramp(v) for v in x] + [1])
    b[0] = 0.5
    return np.sum(b) * x[0]


def of_another_function(x):
    a = ramps(x)
    a[0] = np.arctan2(a[1], a[2])
    a[1] = np.ptp(a)
    return np.sum(a * x)


def clipped_to_halves(x):
    a = ramps(x)
    a[0] = a.clip(0.5, 2.5)[3]
    return np.sum(a * x)


CUT = [
    of_another_array, by_another_array, of_the_last_iteration, of_what_had_the_name, of_a_variable, halved,
    changed_places, changed_by_a_branch, changed_ahead_of_the_write, another_list,
    a_list_that_was_changed, a_product, a_sum_of_elements, the_greatest_element, the_greatest_item,
    a_sum_of_items, a_longer_list, of_another_function, clipped_to_halves,
]  # fmt: skip


@pytest.mark.parametrize("function", CUT)
def test_what_may_be_cut_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="an array is of int64 on one path, and of float64 on another"):
        grad(function, jit=False)(MIXED)


def test_a_list_that_has_no_float_yet_is_refused_in_the_run() -> None:
    with pytest.raises(RuntimeUnsupportedError, match="may be of whole numbers here"):
        grad(a_list_that_grew, jit=False)(MIXED)


def floats_all_along(x):
    u, v = np.zeros(4), np.ones(4)
    for _ in range(3):
        v = u * 0.5 + ramps(x)
        u, v = v, u
        u[0] = 0.5 * x[1]
    return np.sum(u * v)


@pytest.mark.parametrize("x", [MIXED, BELOW])
def test_floats_that_change_places(x: np.ndarray) -> None:
    g = grad(floats_all_along, jit=False)
    check_value_and_grad(g, x, rtol=1e-12)


def last_of_a_list(x):
    ys = [0]
    s = 0
    for v in x:
        s += ys[-1] * v + np.sum(np.array(ys) / 2)
        ys.append(v)
    return s


@pytest.mark.parametrize("x", [MIXED, BELOW])
def test_items_of_the_last_iteration(x: np.ndarray) -> None:
    g = grad(last_of_a_list, jit=False)
    check_value_and_grad(g, x, rtol=1e-12)


# ----------------------------------------------------------------------------------- no wider than its own elements


def mixed(x, c):
    n = 1 if c else 0.5
    return np.array([n * 1, n * 2, n * 3])


def nothing_or_an_element(x, c):
    a = mixed(x, c)
    a[0] = 0 if a[1] > 1 else a[2]
    if x[0] > 1:
        t = 1
    else:
        t = a[2]
    a[1] = t
    return np.sum(a * a) * x


def sum_and_product(x, c):
    a = mixed(x, c)
    s, m = 0, 1
    for v in a:
        s += v
        m *= v
    a[0] = s
    a[1] = m * 2 - s
    return np.sum(a * a) * x


def greatest_by_comparison(x, c):
    a = mixed(x, c)
    m = 0
    for v in a:
        if v > m:
            m = v
    a[0] = m
    return np.sum(a * a) * x


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("function", [nothing_or_an_element, sum_and_product, greatest_by_comparison])
def test_what_is_no_wider_than_its_elements_goes_into_an_array(function: Any, c: bool) -> None:
    f, x = grad(function, wrt="x", jit=False), np.array([0.7, 1.6, 2.5])
    assert np.allclose(f(x, c), function(x, c))
    check_grad(f, x, c)


def into_another_array(t, x):
    b = np.array([t, 1])
    b[0] = 0.7
    return np.sum(b * b) * x


def narrower_in_an_array(x, c):
    a = mixed(x, c)
    b = np.array([0 if x[0] > 0 else a[2], 1])
    b[0] = a[1]
    return np.sum(b * b) * x


def half_or_an_element(x, c):
    a = mixed(x, c)
    a[0] = 0.5 if x[0] > 0 else a[2]
    return np.sum(a * a) * x


def an_element_of_either(x, c):
    a, b, t = mixed(x, c), mixed(x, not c), 0
    for k in range(3):
        t = a[k] if x[0] > 1 else b[k]
    a[0] = t
    return np.sum(a * a) * x


def a_sum_in_another(x, c):
    a, b, s = mixed(x, c), mixed(x, not c), 0
    for k in range(3):
        b[0] = s
        s = s + a[k]
    return np.sum(b * b) * x


def of_the_array_before(x, c):
    a, t = mixed(x, c), 0
    for k in range(3):
        a[0] = t
        t = a[1]
        a = a * 0.5 if x[0] > 1 else np.arange(3)
    return np.sum(a * a) * x


def in_an_expression(x, c):
    a = mixed(x, c)
    return into_another_array(0.5 if x[0] > 1 else a[2], x)


def of_two_elements(x, c):
    a = mixed(x, c)
    return into_another_array(a[2] if x[0] > 1 else a[1], x)


def in_a_tuple(x, c):
    a = mixed(x, c)
    p, q = (0.5, 1.5) if x[0] > 1 else (a[0], a[1])
    return into_another_array(p, x)


def in_a_list_of_two(x, c):
    a = mixed(x, c)
    p = [0.5, 1.5] if x[0] > 1 else [a[0], a[1]]
    return into_another_array(p[0], x)


def asked_in_an_expression(x, c):
    a = mixed(x, c)
    t = 0.5 if x[0] > 1 else a[2]
    return x if isinstance(t, float) else x * 2


WIDER = [
    narrower_in_an_array, half_or_an_element, an_element_of_either, a_sum_in_another, of_the_array_before,
    in_an_expression, of_two_elements, in_a_tuple, in_a_list_of_two, asked_in_an_expression,
]  # fmt: skip


@pytest.mark.parametrize("function", WIDER)
def test_what_may_be_wider_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="on one path"):
        grad(function, wrt="x", jit=False)(np.array([0.7, 1.6, 2.5]), True)
