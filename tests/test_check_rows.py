"""What chooses the row that a loop runs along is checked once, ahead of the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(41)


def factors(p, q, user, item, r):
    s = 0.0
    for e in range(len(r)):
        u = user[e]
        i = item[e]
        guess = 0.0
        for k in range(p.shape[1]):
            guess += p[u, k] * q[i, k]
        s += (r[e] - guess) ** 2
    return s


def chosen_directly(p, q, user, item, r):
    s = 0.0
    for e in range(len(r)):
        for k in range(p.shape[1]):
            s += p[user[e], k] * q[item[e], k] * r[e]
    return s


def written_rows(p, q, user, item, r):
    y = np.zeros(p.shape)
    for e in range(len(r)):
        for k in range(p.shape[1] - 1, -1, -1):
            y[user[e], k] += p[user[e], k] * q[item[e], k] * r[e]
    return y


def changed_on_the_way(p, q, user, item, r):
    s = 0.0
    u = user[0]
    for e in range(len(r)):
        for k in range(p.shape[1]):
            s += p[u, k] * r[e]
            u = item[(e + k) % len(item)]
    return s * np.sum(q)


PROGRAMS = (factors, chosen_directly, written_rows, changed_on_the_way)


def arguments(rows: int = 4, columns: int = 3, count: int = 7) -> list[Any]:
    p, q = RNG.standard_normal((rows, columns)), RNG.standard_normal((rows, columns))
    user, item = RNG.integers(-rows, rows, count), RNG.integers(-rows, rows, count)
    return [p, q, user, item, RNG.standard_normal(count)]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f: Callable[..., Any], jit: bool) -> None:
    check_grad(grad(jit=jit)(f), *arguments())
    args = arguments()
    np.testing.assert_allclose(grad(jit=jit)(f)(*args), f(*args), rtol=1e-13)


@pytest.mark.parametrize("f", PROGRAMS[:3])
@pytest.mark.parametrize("kind", ["primal", "backward"])
def test_nothing_is_looked_up_in_the_inner_loop(f: Callable[..., Any], kind: str) -> None:
    text = grad(f).source(*arguments(), kind=kind)
    inner = text[text.index("for k in range") :].split("\n", 1)[1]
    assert "_inside" in text
    assert "[user[e]" not in inner.split("for e in")[0]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("f", PROGRAMS[:3])
@pytest.mark.parametrize("where, wrong", [(2, 4), (2, -5), (3, 4), (3, -5), (2, 2**62), (3, -(2**63))])
def test_no_row_outside(f: Callable[..., Any], where: int, wrong: int, parallel: bool) -> None:
    args = arguments()
    args[where][5] = wrong
    g = grad(parallel=parallel)(f)
    v = [np.ones(args[0].shape)] if f is written_rows else []
    with pytest.raises(IndexError, match="out of bounds"):
        if (PROGRAMS.index(f) + parallel) % 2:
            g(*args)
        else:
            g.backward(*args, *v)


@pytest.mark.parametrize("jit", [False, True])
def test_a_loop_that_does_not_run_looks_nowhere(jit: bool) -> None:
    args = arguments(columns=0)
    args[2][:] = 99
    assert grad(jit=jit)(factors)(*args) == factors(*args)
    user_too_short = [*args[:2], args[2][:2], *args[3:]]
    assert grad(jit=jit)(chosen_directly)(*user_too_short) == 0.0


def test_the_same_without_the_pass() -> None:
    args = arguments(6, 5, 40)
    for f in PROGRAMS:
        with order.without("check_rows"):
            want = grad(f, cache=False, jit=False).source(*args)
        assert ("_inside" in grad(f).source(*args)) == (f is not changed_on_the_way)
        assert "_inside" not in want


def rolled(u, steps):
    for _ in range(steps):
        u = u + 0.1 * (np.roll(u, 1, axis=1) - np.roll(u, -1, axis=1)) * np.roll(u, 1, axis=0)
    return np.sum(u * u)


@pytest.mark.parametrize("shape", [(4, 5), (1, 1), (3, 0)])
def test_the_index_of_a_loop_is_inside_and_so_is_what_is_rolled(shape: tuple[int, int]) -> None:
    u = RNG.standard_normal(shape)
    f = grad(rolled, jit=False)
    text = f.source(u, 3)
    assert "BoundsError" not in text and "_inside" not in text
    assert text.count("1 % ") == 3  # of 1 by rows, and of 1 and -1 by columns: ahead of the steps
    assert f(u, 3) == rolled(u, 3)
    check_grad(f, u, 3)
