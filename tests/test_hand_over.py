"""What a loop adds to neighbours goes on from iteration to iteration in registers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.ir.affine import integer
from srcgrad.ir.expressions import FLOAT64, INT64, Array, Const, Load, Var
from srcgrad.ir.info import Info
from srcgrad.ir.names import Names
from srcgrad.ir.nodes import AddTo, For, Function, Run, Stmt, Subscript, View
from srcgrad.passes import order
from srcgrad.passes.cpu.hand_over import hand_over
from srcgrad.testing import check_grad

RNG = np.random.default_rng(16)


def differences(x):
    return np.diff(x[0]) ** 2


def slopes(x):
    d = np.diff(x, axis=1)
    return np.minimum(d[:, 1:], d[:, :-1]) * x[:, 2:]


def upwind(x):
    u = x[0].copy()
    for _ in range(3):
        u[1:] -= 0.2 * u[1:] * (u[1:] - u[:-1])
    return u


def around_a_point(x):
    y = x.copy()
    for _ in range(2):
        y[1:-1, 1:-1] = y[1:-1, 1:-1] ** 2 + 0.1 * (y[1:-1, 2:] * y[1:-1, :-2] - y[2:, 1:-1] + y[:-2, 1:-1])
    return y


def in_loops(x):
    s = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            s[i] += x[i, j] * np.exp(x[i, j - 1]) + x[i, j - 1] ** 2
    return s


def twice_to_each(x):
    y = np.empty(max(x.shape[1] - 1, 0))
    for j in range(x.shape[1] - 1):
        y[j] = x[0, j] * x[0, j + 1] + np.sin(x[0, j + 1]) - x[0, j] * x[-1, j + 1]
    return y


def of_two_rows(x):
    return np.sum(x[1:, 1:] * x[:-1, :-1] + np.maximum(x[1:, :-1], x[:-1, 1:]))


FUNCTIONS = [differences, slopes, upwind, around_a_point, in_loops, twice_to_each, of_two_rows]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(2, 1), (1, 2), (3, 3), (4, 9)])
def test_is_what_it_was(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    x = RNG.uniform(0.3, 0.9, shape)
    f = grad(function, jit=False)
    check_grad(f, x)
    v = np.asarray(RNG.normal(size=np.shape(function(x))))[()]
    with order.without("hand_over"):
        expected = grad(function, jit=False).backward(x, v)
    assert_close(f.backward(x, v), expected, 1e-13, "with additions to neighbours in memory")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled(dtype: Any) -> None:
    x = RNG.uniform(0.3, 0.9, (5, 70)).astype(dtype)
    for function in (slopes, upwind, of_two_rows):
        v = np.asarray(RNG.normal(size=np.shape(function(x)))).astype(dtype)[()]
        expected = grad(function, jit=False).backward(x, v)
        assert_close(grad(function).backward(x, v), expected, 1e-5 if dtype == np.float32 else 1e-13, function.__name__)


def test_a_handle_on_one_part_and_then_on_another_is_not_looked_through() -> None:
    base, n = Array("x_b", FLOAT64, (integer(9),)), integer(5)
    part = Array("part", FLOAT64, (n,))
    i = Var("i", INT64)

    def added(first: int) -> tuple[Stmt, ...]:
        view = View(part, base, Subscript((Run(integer(first), integer(1), n),)))
        adds = (AddTo(Load(array, (i,), checked=False), Const(1.0), reorder=True) for array in (part, base))
        return view, For(i, integer(0), n, integer(1), tuple(adds), ordered=False)

    info = Info(Names())
    once = Function("f", (base,), added(1), (), info)
    assert hand_over(once) != once
    for body in ((*added(1), *added(2)), (*added(2), *added(1))):
        twice = Function("f", (base,), body, (), info)
        assert hand_over(twice) == twice


@pytest.mark.parametrize("function", [differences, slopes, upwind, twice_to_each])
def test_neighbours_meet_in_registers(function: Callable[..., Any]) -> None:
    sweep = grad(function).source(np.ones((3, 4))).partition("# reverse sweep")[2]
    assert "+= handed" in sweep and "carried" not in sweep


def test_of_what_is_taken_away_the_number_itself_is_handed_over() -> None:
    """Its negative would come too late for LLVM, which negates where it adds: the loop did not vectorise."""

    def angles(x):
        s = 0.0
        for i in range(x.shape[0] - 1):
            s -= np.cos(x[i] - x[i + 1])
        return s

    text = grad(angles).source(np.ones(20))
    assert re.search(r"x_b\[i\] \+= g - handed\n +handed = g\n", text)
    assert re.search(r"x_b\[.+ - 1\] -= handed\n", text)
    check_grad(grad(angles), RNG.normal(size=37))
