"""Arrays that every step makes of the same things are made once, ahead of the loop; all others where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

C, X = np.cos(np.arange(9.0)).reshape(3, 3), np.array([0.4, -0.3, 0.8])


def contacts(c, beta, x, steps):
    for _ in range(steps):
        x = 0.1 * (beta * c @ x)
    return np.sum(x * x)


def of_one_another(c, beta, x, steps):
    t = 0
    while t < steps:
        k = np.exp(-beta * c * c)
        k2 = k * c
        x = np.tanh(k2 @ x) * k[0]
        t += 1
    return np.sum(x)


def in_a_loop_in_a_loop(c, beta, x, steps):
    for i in range(steps):
        for j in range(2):
            k = beta * c
            m = k * (i + 1.0)
            x = np.sin(m @ x) + k[j]
    return np.sum(x * x)


def changed_behind(c, beta, x, steps):
    for t in range(steps):
        k = beta * c
        k[0, 0] = x[0]
        m = c * c
        x = np.tanh(k @ x) + m[1]
        c[t % 3] *= 0.5
    return np.sum(x)


def read_ahead_of_it(c, beta, x, steps):
    k = c + 1.0
    for t in range(steps):
        x = np.tanh(k @ x)
        k = beta * c
    return np.sum(x) + np.sum(k)


def behind_a_branch(c, beta, x, steps):
    for t in range(steps):
        if x[0] > 0.1 * t:
            k = beta * c
            x = np.tanh(k @ x)
        if t == 2:
            break
        w = beta * c * c
        x = np.cos(w @ x)
    return np.sum(x)


def through_a_handle(c, beta, x, steps):
    for t in range(steps):
        k = beta * c
        row = k[1]
        row[t % 3] = 0.0
        x = np.tanh(k @ x)
    return np.sum(x)


def handed_out(c, beta, x, steps):
    k = c * 0.0
    for _ in range(steps):
        k = beta * c
        x = np.tanh(k @ x)
    return np.sum(x) * k


PROGRAMS = [contacts, of_one_another, in_a_loop_in_a_loop, changed_behind]
PROGRAMS += [read_ahead_of_it, behind_a_branch, through_a_handle, handed_out]


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_is_what_it_was(function: Callable[..., Any], steps: int) -> None:
    f, args = grad(function, jit=False), (C, 0.7, X, steps)
    np.testing.assert_allclose(f(*map(np.copy, args[:3]), steps), function(C.copy(), 0.7, X.copy(), steps), rtol=1e-13)
    check_grad(f, *args)
    v = C if function is handed_out else 1.0
    with order.without("hoist_arrays"):
        expected = grad(function, jit=False).backward(*args, v)
    assert_close(f.backward(*args, v), expected, 1e-13, "made in every step")
    assert_close(f.vjp(*args)[1](v), expected, 1e-13, "by the pair")


@pytest.mark.parametrize(("function", "inside"), [(contacts, 0), (of_one_another, 0), (in_a_loop_in_a_loop, 1)])
def test_no_step_makes_it(function: Callable[..., Any], inside: int) -> None:
    text = grad(function).source(C, 0.7, X, 4, after="hoist_arrays")
    assert len(re.findall(r"(?m)^ {8,}\w+ = float64\[.*, .*\] of nothing", text)) == inside
    assert "t_rows" not in grad(contacts).source(C, 0.7, X, 4)


def test_what_may_fail_stays() -> None:
    """A loop that does not run looks at nothing."""

    def f(c, w, x, steps):
        for _ in range(steps):
            k = c * w[:3, :3]
            x = np.tanh(k @ x)
        return np.sum(x)

    assert grad(f, jit=False)(C, np.ones((2, 2)), X, 0) == f(C, np.ones((2, 2)), X, 0)
    check_grad(grad(f, jit=False), C, C + 1.0, X, 2)
