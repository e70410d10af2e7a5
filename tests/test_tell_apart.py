"""Inner loops of which the compiler is told that their iterations touch elements of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.backends.loop_wishes import AccessGroup

RNG = np.random.default_rng(8)


def eliminated(a, x):
    a = a.copy()
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            for j in range(k, a.shape[1]):
                a[i, j] -= x[i] * a[k, j]
    return a


def neighbours_in_other_rows(a, x):
    """Element k of one row is made of element k - 1 of another: of two rows, or of one."""
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            for k in range(1, a.shape[1]):
                a[i, k] -= x[k] * a[j, k - 1]
    return a


def backwards_in_other_rows(a, x):
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                a[i, k] -= x[k] * a[j, a.shape[1] - 1 - k]
    return a


def columns(a, x):
    """Rows by an index of which nothing is known, in columns of their own."""
    a = a.copy()
    for i in range(a.shape[0]):
        other = (i * i + 1) % a.shape[0]
        for k in range(a.shape[1]):
            a[i, k] = np.sin(a[other, k]) * x[k]
    return a


def halves(a, x):
    """What is written lies behind all that is read."""
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            for k in range(16):
                a[i, k + 16] += 0.1 * a[j, k] * x[k]
    return a


def parts_that_are_one(a, x):
    """Two names of one array."""
    a = a.copy()
    b = a[:, ::-1]
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                a[i, k] += 0.1 * b[j, k] * x[k]
    return a


def in_the_users_array(a, x):
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            for j in range(k, a.shape[1]):
                a[i, j] -= x[i] * a[k, j]


def rows_below(a, x):
    """How far one row is from the next, only a run tells."""
    a = a.copy()
    for i in range(a.shape[0] - 1):
        for k in range(a.shape[1]):
            a[i, k] -= x[k] * a[i + 1, k]
    return a


APART = [eliminated, columns, halves, rows_below]
NOT_APART = [neighbours_in_other_rows, backwards_in_other_rows, parts_that_are_one]


@pytest.mark.parametrize("function", [*APART, *NOT_APART, in_the_users_array], ids=lambda f: f.__name__)
def test_which(function: Callable[..., Any]) -> None:
    text = grad(function).source(np.ones((3, 3)), np.ones(3), kind="primal", after="tell_apart")
    assert ("# apart" in text) == (function in APART), text


@pytest.mark.parametrize("function", [*APART, *NOT_APART], ids=lambda f: f.__name__)
def test_compiled(function: Callable[..., Any]) -> None:
    f = grad(function, cache=False)
    for n in (32, 33, 70) if function is halves else (1, 2, 7, 8, 9, 33, 70):
        a, x = RNG.uniform(-0.2, 0.2, (3, n)), RNG.uniform(-0.5, 0.5, max(n, 3))
        check_value_and_grad(f, a, x, rtol=1e-12, atol=1e-14)


def test_the_accesses_of_each_loop_are_a_group_of_their_own() -> None:
    """llvmlite takes nodes of the same operands for one."""
    module = ir.Module()
    groups = [AccessGroup(module, (), name=str(k)) for k in range(2)]
    wishes = [module.add_metadata(("llvm.loop.parallel_accesses", group)) for group in groups]
    assert wishes[0] is not wishes[1]
    assert [wish.operands[1] for wish in wishes] == groups
