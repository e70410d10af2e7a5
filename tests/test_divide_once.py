"""Integer quotients of what stays as it is are computed once, behind the check of their divisor."""

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

X = np.cos(np.arange(24.0)).reshape(2, 3, 4)


def heads_of(x, heads):
    batch, steps, width = x.shape
    q = x.reshape(batch, steps, heads, width // heads).transpose(0, 2, 1, 3)
    s = q @ q.transpose(0, 1, 3, 2) / np.sqrt(width // heads)
    return np.sum(np.sin(s) * s)


def in_the_loop(x, m):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[2] // m + x.shape[1] % m):
            s += x[i, 0, j % 4] ** 2 * j
    return s


def divisor_of_the_loop(x, m):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(4 // m):
            s += np.sin(x[i, 0, j])
        m = m % 2 + 1
    return s


def in_a_branch(x, m):
    s = 0.0
    for i in range(x.shape[0]):
        if m != 0:
            for j in range(x.shape[2] // m):
                s += x[i, 1, j] ** 3
    return s


CASES = [(heads_of, 2), (heads_of, 1), (in_the_loop, 3), (in_the_loop, -2), (divisor_of_the_loop, 2), (in_a_branch, 2)]


@pytest.mark.parametrize(("function", "m"), [*CASES, (in_a_branch, 0)])
def test_is_what_it_was(function: Callable[..., Any], m: int) -> None:
    f = grad(function, jit=False)
    np.testing.assert_allclose(f(X, m), function(X, m), rtol=1e-13)
    check_grad(f, X, m)
    with order.without("divide_once"):
        expected = grad(function, jit=False).backward(X, m)
    assert_close(f.backward(X, m), expected, 1e-14, "divided in every iteration")
    assert_close(f.vjp(X, m)[1](), expected, 1e-14, "by the pair")


def test_by_zero() -> None:
    for call in (grad(heads_of, jit=False), grad(heads_of, jit=False).backward):
        with pytest.raises(ZeroDivisionError):
            call(X, 0)


def test_no_quotient_is_kept() -> None:
    text = grad(heads_of).source(X, 2)
    assert len(re.findall("//", text)) == 1
    assert "np.int64" not in text
    with order.without("divide_once"):
        assert "np.int64" in grad(heads_of).source(X, 2)
