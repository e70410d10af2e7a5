"""Numbers that are others by now have no names of their own, and what nobody reads any more is not set."""

from __future__ import annotations

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad


def branches_in_branches(x, k):
    if x[0] < x[1]:
        if x[0] < 0.6:
            z = x[0] * x[1]
        else:
            z = x[0] / x[1]
    else:
        z = x[1] - x[0]
        if z < -0.4:
            z = 2 * z
    return z + x[0]


def carried_through_a_loop(x, k):
    t = 1.0
    for i in range(len(x)):
        if k[i] > 0:
            t = t * x[i] + np.sin(t)
        elif k[i] < 0:
            t = x[i]
    return t


def swapped_in_a_loop(x, k):
    a, b = x[0], x[1]
    for i in range(len(x)):
        a, b = b, a * x[i]
        if k[i] == 0:
            a = b
    return a * b


def counted_by_a_while_loop(x, k):
    i = 0
    s = 0.0
    while i < len(x) and s < 1.2:
        last = i
        s += x[i] ** 2
        i = last + 1
    return s * i


def set_ahead_of_a_branch(x, k):
    y = np.zeros(len(x))
    for i in range(len(x)):
        scale = 1.0
        shift = x[i]
        if k[i] > 0:
            scale = x[i]
        elif k[i] < 0:
            shift = 0.0
        y[i] = scale * shift + scale
    return y


def returned_early(x, k):
    if x[0] > 0.9:
        return x[0] * x[1]
    for i in range(len(x)):
        if k[i] < 0:
            return x[i] * x[0]
    return x[-1] ** 3


def called(t):
    if t > 1.2:
        return t * t - 1
    elif t < 0.5:
        return t + 1
    return t**3


def one_in_another(x, k):
    s = 0.0
    for i in range(len(x)):
        s += called(called(x[i]) * x[i])
    return s


def last_of(x):
    return x[4]


def added_to_where_nobody_reads_it(x, k):
    """It may be outside: so the sum stays, and with it what it is added to."""
    t, s = 0.5, x[0]
    while s < 1.5:
        t += x[2]
        s = last_of(x) + t
        s = 2.5
    return x * s + t


PROGRAMS = [
    added_to_where_nobody_reads_it,
    branches_in_branches,
    carried_through_a_loop,
    swapped_in_a_loop,
    counted_by_a_while_loop,
    set_ahead_of_a_branch,
    returned_early,
    one_in_another,
]


def points():
    rng = np.random.default_rng(83)
    return [(rng.uniform(0.2, 1.3, 5), rng.integers(-1, 2, 5)) for _ in range(6)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(program):
    f = grad(program, wrt="x", jit=False)
    cases = [(x, k, np.ones_like(program(x, k))) for x, k in points()]
    found = [f.backward(*case) for case in cases]
    with order.without("propagate_copies"):
        without = grad(program, wrt="x", jit=False)
        for case, gradient in zip(cases, found, strict=True):
            np.testing.assert_array_equal(without.backward(*case), gradient)
    for x, k in points():
        check_grad(f, x, k)


@pytest.mark.parametrize("program", [branches_in_branches, carried_through_a_loop, one_in_another])
def test_compiled(program):
    check_grad(grad(program, wrt="x"), *points()[0])


def test_a_branch_says_what_it_adds_and_no_more():
    text = grad(branches_in_branches, wrt="x").source(np.ones(2), np.ones(2, int))
    assert "_now" not in text
    sweep = text[text.index("# reverse sweep") :]
    assert "z_2_b" not in sweep and "x_b[0] += x[1]" in sweep
    with order.without("propagate_copies"):
        assert "_now" in grad(branches_in_branches, wrt="x").source(np.ones(2), np.ones(2, int))


def test_a_name_that_has_to_stay_is_read_everywhere():
    text = grad(carried_through_a_loop, wrt="x").source(np.ones(3), np.ones(3, int))
    assert "t_b_now = t_b\n" in text and "t_b = t_b_now * x[i]" in text
