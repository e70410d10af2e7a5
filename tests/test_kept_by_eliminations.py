"""Eliminations: a row is kept only where a later step may write it, and what is made for a step is kept once for it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.errors import BoundsError


def pivot_by_a_loop(a):
    a, n = a.copy(), a.shape[0]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = t
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= m * a[k, j]
    return np.sum(np.log(np.abs(np.diag(a))))


def pivot_from_the_end(a):
    a, n = a.copy(), a.shape[0]
    for k in range(n - 1, -1, -1):
        p = k
        if k > 0:
            for i in range(k):
                if abs(a[i, k]) > abs(a[p, k]):
                    p = i
        for j in range(n):
            a[k, j], a[p, j] = a[p, j], a[k, j]
        for i in range(k):
            m = a[i, k] / a[k, k]
            for j in range(k + 1):
                a[i, j] -= m * a[k, j]
    return np.sum(np.log(np.abs(np.diag(a))))


def by_outer_products(a):
    a, n = a.copy(), a.shape[0]
    for k in range(n):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(np.log(np.abs(np.diag(a)))) + np.sum(a[1:, 0])


def reflected(a):
    q, n = a.copy(), a.shape[1]
    for k in range(n - 1):
        v = q[k:, k] / np.sqrt(np.sum(q[k:, k] ** 2))
        for j in range(k, n):
            q[k:, j] -= 0.5 * v * np.dot(v, q[k:, j])
    return np.sum(q**3)


def any_row_may_be_the_pivot(a):
    a, n = a.copy(), a.shape[0]
    for k in range(n):
        p = k
        for i in range(n):
            if a[i, k] > a[p, k]:
                p = i
        for i in range(k + 1, n):
            m = a[i, k] * a[k, k]
            for j in range(k, n):
                a[i, j] -= m * a[k, j]
        for j in range(n):
            a[p, j] *= 0.5
    return np.sum(a**2)


def the_row_before_may_be_the_pivot(a):
    a, n = a.copy(), a.shape[0]
    for k in range(1, n):
        p = k
        for i in range(k + 1, n):
            if a[i, k] > a[p, k]:
                p = i - 2
        for i in range(k + 1, n):
            m = a[i, k] * a[k, k]
            for j in range(k, n):
                a[i, j] -= m * a[k, j]
        for j in range(n):
            a[p, j] *= 0.5
    return np.sum(a**2)


def the_pivot_before_may_stay(a):
    a, n, p = a.copy(), a.shape[0], 0
    for k in range(n):
        for i in range(k + 1, n):
            if a[i, k] > a[p, k]:
                p = i
        for i in range(k + 1, n):
            m = a[i, k] * a[k, k]
            for j in range(k, n):
                a[i, j] -= m * a[k, j]
        for j in range(n):
            a[p, j] *= 0.5
    return np.sum(a**2)


def by_rows(a):
    a, n = a.copy(), a.shape[0]
    for k in range(n):
        a[k] = a[k] / a[k, k]
        for i in range(n):
            if i != k:
                a[i] = a[i] - a[i, k] * a[k]
        a[k] *= 1.0 + 0.1 * a[k, -1]
    return np.sum(a**3)


def by_columns(q):
    q, n = q.copy(), q.shape[1]
    r = np.zeros((n, n))
    for k in range(n):
        v = q[:, k] * 1.0
        for i in range(k):
            r[i, k] = v @ q[:, i]
            v = v - r[i, k] * q[:, i]
        r[k, k] = np.sqrt(np.sum(v**2))
        q[:, k] = v / r[k, k]
        r[k, k] = np.hypot(r[k, k], r[0, k])
    return np.sum(r) + np.sum(q**3)


PROGRAMS = {
    pivot_by_a_loop: 0,
    pivot_from_the_end: None,  # what it keeps is not the question: that its gradient is right is
    by_outer_products: 0,
    reflected: 1,  # the columns, which every step changes
    any_row_may_be_the_pivot: 1,
    the_row_before_may_be_the_pivot: None,
    the_pivot_before_may_stay: 1,
    by_rows: 1,  # the pivot's row; a number that a row is multiplied with is kept once
    by_columns: 1,
}


@pytest.mark.parametrize(
    ("function", "jit"),
    [*((function, False) for function in PROGRAMS), (pivot_by_a_loop, True), (reflected, True)],
    ids=lambda p: getattr(p, "__name__", "compiled" if p is True else "plain"),
)
def test_gradients(function: Any, jit: bool) -> None:
    rng = np.random.default_rng(5)
    f = grad(function, jit=jit)
    for n in (1, 2, 5) if not jit else (5,):
        a = rng.normal(size=(n, n)) + (0.1 if n > 1 else 1.0)
        check_value_and_grad(f, a, at_once=jit)


@pytest.mark.parametrize("function", [f for f, count in PROGRAMS.items() if count is not None])
def test_memory(function: Any) -> None:
    """How many values are kept for each step, row and column."""
    text = grad(function, jit=False).source(np.ones((5, 5)))
    cubes = [
        shape
        for shape in re.findall(r"_kept(?:_\d+)? = np\.empty\(\((.*)\)\)\n", text)
        if shape.count(", ") - shape.count("maximum(") >= 2
    ]
    pushed = re.findall(r"push_array\(", text)
    assert len(cubes) + len(pushed) == PROGRAMS[function]


def shifted(a):
    """Each of these reads what another iteration has written, or an index may be one from the end."""
    a = a.copy()
    for k in range(-1, a.shape[0] - 1):
        a[k + 1 :, 1:] += 0.1 * a[k + 1 :, k][:, None] * a[k, 1:]
        a[1:] *= 1.0 + 0.1 * a[:-1]
        a[:, :-1] -= 0.1 * a[:, -1:]
    return a


def test_a_part_that_is_not_written_is_read_where_it_is() -> None:
    """`a[k + 1:, k]` beside `a[k + 1:, k + 1:]`: nothing waits for the whole product."""
    a = np.random.default_rng(1).normal(size=(5, 5)) + 5 * np.eye(5)
    assert "np.empty" not in grad(by_outer_products, jit=False).source(a, kind="primal")
    f = grad(shifted, jit=False)
    assert f.source(a, kind="primal").count("np.empty") == 3
    check_value_and_grad(f, a, rtol=1e-7)


def by_its_own_elements(a):
    """The element that all others are multiplied with is one of them; NumPy has read it by then."""
    a = a.copy()
    for k in range(a.shape[0]):
        a[k] -= a[k, 0] * a[0]
        a[k] = np.where(a[k] > 0.0, a[k] * a[k, -1], a[0, k] - a[k])
        a[:, k] = np.cumsum(a[:, k] * a[k, k]) + np.sum(a[k] * a[0, k])
    return a


@pytest.mark.parametrize("jit", (False, True), ids=("plain", "compiled"))
def test_an_element_that_the_loop_writes_is_read_ahead_of_it(jit: bool) -> None:
    f = grad(by_its_own_elements, jit=jit)
    rng = np.random.default_rng(3)
    for n in (1, 4):
        check_value_and_grad(f, rng.normal(size=(n, n)) + 0.1, at_once=jit)
    x = np.ones((2, 0))
    with pytest.raises(IndexError):
        by_its_own_elements(x)
    with pytest.raises(BoundsError):
        f(x)
