"""What is made in a branch whose other side raises lives on behind it: views of all kinds, and writes through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad

X = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])


def a_row(x, k):
    if k == 4:
        r = x[1]
    else:
        raise ValueError("k")
    return r * r


def on_the_other_side(x, k):
    if k != 4:
        raise ValueError("k")
    else:
        r = x[:, ::2]
    return r * r


def transposed(x, k):
    if k == 4:
        r = x.T
    else:
        raise ValueError("k")
    return r[1] * r[2]


def reshaped(x, k):
    if k == 4:
        r = x.reshape(-1)
    elif k == 5:
        r = x[0]
    else:
        raise ValueError("k")
    return np.sin(r) * r


def written_through(x, k):
    if k == 4:
        r = x[:, 1:]
    else:
        raise ValueError("k")
    r[0] *= r[1]
    return x * 1.0


def of_an_array_made_there(x, k):
    if k == 4:
        y = x * 2.0
        r = y[0]
        r[1] = r[0] * r[2]
    else:
        raise ValueError("k")
    return y * r


def in_a_chain_of_calls(x, k):
    def row(x):
        if k == 3:
            return x[1]
        if k == 4:
            return x[0]
        raise KeyError(k)

    return row(x) * x[1, 2]


def unpacked(x, k):
    if k == 4:
        a, b = x
    else:
        raise ValueError("k")
    return a * b


def in_a_loop_left_early(x, k):
    while True:
        if k == 4:
            r = x[0]
            break
        raise ValueError("k")
    return r * r


def in_each_iteration(x, k):
    s = 0.0
    for i in range(2):
        if x[i, 2] > 0.0:
            r = x[i]
        else:
            raise ValueError("negative")
        s += r[0] * r[1]
        r[2] = s * r[0]
    return x * s


def in_a_list(x, k):
    if k == 4:
        rows = [x[0], x[1]]
    else:
        raise ValueError("k")
    return rows[0] * rows[1]


def in_a_try(x, k):
    try:
        r = x[k - 3]
    except IndexError:
        raise ValueError("k") from None
    return r * r


def in_branches_of_branches(x, k):
    if k == 4:
        if x.shape[0] == 2:
            r = x[0]
        else:
            raise ValueError("rows")
    else:
        raise ValueError("k")
    assert x[0, 0] > 0.0
    return r * 2.0


PROGRAMS = [
    a_row, on_the_other_side, transposed, reshaped, written_through, of_an_array_made_there, in_a_chain_of_calls,
    unpacked, in_a_loop_left_early, in_each_iteration, in_a_list, in_a_try, in_branches_of_branches,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradient(program: Callable[..., Any]) -> None:
    f = grad(program, wrt="x", jit=False)
    mine, theirs = X.copy(), X.copy()
    np.testing.assert_allclose(f(mine, 4), program(theirs, 4), rtol=1e-14)
    np.testing.assert_array_equal(mine, theirs)
    check_grad(f, X, 4)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not in_each_iteration])
def test_what_is_raised(program: Callable[..., Any]) -> None:
    with pytest.raises((ValueError, KeyError)) as plain:
        program(X.copy(), 7)
    with pytest.raises(type(plain.value)):
        grad(program, wrt="x", jit=False)(X.copy(), 7)


@pytest.mark.parametrize("program", [a_row, written_through, of_an_array_made_there])
def test_compiled(program: Callable[..., Any]) -> None:
    check_grad(grad(program, wrt="x"), X, 4)


def test_a_name_that_this_path_has_just_bound_is_not_asked_for() -> None:
    """Beside the one that raises, the path binds it: no flag is left, and no test of it."""
    assert "bound" not in grad(in_each_iteration, wrt="x").source(X, 4).replace("out of bounds", "")


def looped_ahead_of_an_error(x, k):
    s, i = 1.0, 0
    if k != 4:
        while i < 7 and x[2] < x[1]:
            i += 1
            for j in range(7):
                s += s * (2.0 if x[1] == j else x[3])
                x[i % 4] = np.sin(s)
        raise ValueError("k")
    return s + x[1] * x[0]


def test_nothing_is_kept_for_a_sweep_back_from_an_error() -> None:
    """What the sweep would read was bound on no way that led there, which Numba could not type."""
    x = np.arange(8.0)[::-2]
    f = grad(looped_ahead_of_an_error, wrt="x")
    for given in (x.copy(), x):  # x is copied, into another layout
        value, x_b = f.value_and_backward(given, 4)
        assert value == 36.0 and x_b.tolist() == [5.0, 7.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="k"):
        f.value_and_backward(x, 3)
    assert "kept" not in f.source(x, 4)


def caught_in_a_loop(x):
    s = 0.0
    for i in range(x.shape[0]):
        y = x[i]
        try:
            y = y * y
            if x[i] > 0.65:
                y = y * 3.0
                raise ValueError("no")
            y = np.sin(y)
        except ValueError:
            y = y * 2.0 * x[i]
        s += y * x[0]
    return s


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_computed_ahead_of_an_error_that_is_caught(dtype):
    """The sweep goes back through it: such a branch ends elsewhere."""
    x = np.linspace(0.1, 0.9, 9).astype(dtype)
    for given in (x, np.repeat(x, 2)[::2], x[:0]) if dtype == np.float64 else (x[::-1],):
        if given.size:
            check_grad(grad(caught_in_a_loop, jit=False), given)
        else:
            assert grad(caught_in_a_loop, jit=False).backward(given).shape == (0,)
