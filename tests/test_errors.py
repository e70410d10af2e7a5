"""Rejected programs: the class of the error, the user's own line in it, and what it says.

What is refused is refused before anything runs; what no active value reaches just runs.
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda
from support import along, directional, fresh, from_text, inner, random_like, subject

from srcgrad import grad
from srcgrad.errors import (
    ArgumentError,
    CotangentShapeError,
    DeviceError,
    RuntimeShapeError,
    SrcgradError,
    UnsupportedError,
)
from srcgrad.testing import check_grad, richardson


def line_of(function: Callable[..., Any], text: str) -> tuple[int, str]:
    """The number of the line of `function` with `text` in it, and that line."""
    lines, first = inspect.getsourcelines(function)
    for number, line in enumerate(lines, first):
        if text in line and "lambda" not in line:
            return number, line.strip()
    raise AssertionError(f"{text!r} is nowhere in {function.__name__}")


# Each of these marks the line to blame with a comment ---------------------------------------------------------------


def trims(x):
    y = np.trim_zeros(x)  # here
    return y * 2.0


def takes_eigenvectors(a):
    b = a * 2.0
    return np.linalg.eig(b)[1] @ a  # here


def unknown_function(x):
    return np.busday_count(x) + x  # here


def uses_a_set(x):
    d = {x, 2 * x}  # here
    return len(d)


def tries(x):
    y = x * 2
    try:
        y[0] = 1.0  # here
        if x[1] < 0.0:
            raise ValueError
    except ValueError:
        y[1] = 0.0
    return y


def uses_with(x):
    with open("nowhere") as f:  # here
        f.read()
    return x


def uses_global_statement(x):
    global LAST  # here
    LAST = x
    return x


def uses_yield(x):
    yield x  # here


def uses_class(x):
    class A:  # here
        pass

    return x


def deletes(x):
    y = x * 2
    del y  # here
    return y  # noqa: F821


def undefined_name(x):
    return x * not_defined_anywhere  # noqa: F821  # here


def norm_of_an_order_to_be_seen(x):
    return np.linalg.norm(x, x[0]) * x  # here


def unknown_method(x):
    return x.frobnicate()  # here


def unknown_numpy_name(x):
    return np.no_such_function(x)  # here


def undefined_on_one_path(x):
    if x > 0:
        y = x * 2
    return y * 3  # here


def orders_complex_numbers(x):
    return np.max(x * 1j).real  # here


def changes_type_in_a_branch(x):
    if x.sum() > 0:
        y = x
    else:
        y = x[:, None]
    return y * 2.0


def appends_to_a_list(x):
    out = []
    for xi in x:
        out.append(xi * 2)  # here
    return np.array(out)


def grows_in_a_while_loop(x):
    for _ in range(3 * len(x)):
        while x[-1] > 0.1:  # here
            x = np.append(x, x[-1] * 0.5)
    return x


def doubles_its_length(x, n):
    for _ in range(n):  # here
        x = np.concatenate((x, x * 2.0))
    return x


def prints_elsewhere(x):
    print(x, file=sys.stderr)  # here
    return x * x


def string_formatting(x):
    return x * len(f"{x}")  # here


VECTOR = np.array([0.5, 0.2])
REJECTED = [
    (trims, (VECTOR,), UnsupportedError, ["trim_zeros"]),
    (takes_eigenvectors, (np.eye(2),), UnsupportedError, ["eigenvalues of a real", r"astype\(complex\)"]),
    (unknown_function, (VECTOR,), UnsupportedError, ["busday_count"]),
    (uses_a_set, (0.5,), UnsupportedError, ["set"]),
    (tries, (VECTOR,), UnsupportedError, ["y is written in a try statement ahead of what may raise"]),
    (uses_with, (0.5,), UnsupportedError, ["with"]),
    (uses_global_statement, (0.5,), UnsupportedError, ["global"]),
    (uses_yield, (0.5,), UnsupportedError, ["yield|generator"]),
    (uses_class, (0.5,), UnsupportedError, ["class"]),
    (grows_in_a_while_loop, (VECTOR,), UnsupportedError, ["x grows in a while loop"]),
    (prints_elsewhere, (0.5,), UnsupportedError, ["without file="]),
    (undefined_name, (0.5,), (NameError, SrcgradError), ["not_defined_anywhere"]),
    (norm_of_an_order_to_be_seen, (VECTOR,), SrcgradError, ["order of a norm", "static"]),
    (unknown_method, (VECTOR,), (AttributeError, SrcgradError), ["frobnicate"]),
    (unknown_numpy_name, (VECTOR,), (AttributeError, SrcgradError), ["no_such_function"]),
    (orders_complex_numbers, (np.ones(2),), (TypeError, UnsupportedError), ["complex"]),
]


@pytest.mark.parametrize(("function", "args", "error", "texts"), REJECTED, ids=[row[0].__name__ for row in REJECTED])
def test_rejected(function: Callable[..., Any], args: tuple, error: Any, texts: list[str]) -> None:
    number, line = line_of(function, "# here")
    with pytest.raises(error) as caught:
        grad(function, jit=False).backward(*args, np.ones(2) if np.ndim(args[0]) else 1.0)
    message = str(caught.value)
    for text in texts:
        assert re.search(text, message), message
    assert f"line {number}" in message, message
    assert line.split("  #")[0] in message, message
    assert "^" in message, message
    assert "test_errors.py" in message, message


@pytest.mark.parametrize(
    ("function", "args", "error"),
    [row[:3] for row in REJECTED if row[2] is UnsupportedError],
    ids=[row[0].__name__ for row in REJECTED if row[2] is UnsupportedError],
)
def test_every_unsupported_construct_comes_with_help(function: Callable[..., Any], args: tuple, error: Any) -> None:
    with pytest.raises(UnsupportedError, match="(?s)help: .+"):
        grad(function, jit=False).backward(*args, np.ones(2) if np.ndim(args[0]) else 1.0)


def test_more_elements_than_there_is_room_for() -> None:
    """How much an array grows is not known ahead: it may turn out not to."""
    f = grad(doubles_its_length, jit=False)
    np.testing.assert_array_equal(f(VECTOR, 0), VECTOR)
    np.testing.assert_array_equal(f(VECTOR[:0], 3), VECTOR[:0])
    with pytest.raises(RuntimeShapeError, match="in some rounds than in others: from at most 2 to 4") as caught:
        f(VECTOR, 1)
    assert f"line {line_of(doubles_its_length, '# here')[0]}" in str(caught.value)
    assert "name it:  @grad(static=...)" in str(caught.value)


def test_buffers_of_two_lengths_that_change_places() -> None:
    """Which of the two comes out depends on the number of rounds: this is said ahead of what is wrong with v."""

    def f(u, h, w):
        y = np.zeros(h * w)
        for _ in range(2):
            for i in range(1, min(len(u), len(y)) - 1):
                y[i] = u[i - 1] + 2.0 * u[i + 1]
            u, y = y, u
        return y

    u, own = np.arange(1.0, 6.0), grad(f, jit=False)
    for v in (np.ones(6), np.ones(5)):
        with pytest.raises(RuntimeShapeError, match="(?s)from 6 to 5 in a loop.*for _ in range.*ahead of the loop"):
            own.backward(u, 2, 3, v)
    np.testing.assert_array_equal(own.backward(np.ones(6), 2, 3, np.ones(6)), [1.0, 1.0, 3.0, 3.0, 2.0, 2.0])
    with pytest.raises(CotangentShapeError, match="v has shape"):
        own.backward(np.ones(6), 2, 3, np.ones(5))


@pytest.mark.parametrize("function", [deletes, undefined_on_one_path], ids=lambda f: f.__name__)
def test_either_right_or_refused(function: Callable[..., Any]) -> None:
    """What Python itself refuses for some inputs."""
    with pytest.raises((SrcgradError, NameError)):
        grad(function, jit=False).backward(-0.5, 1.0)


def test_rank_that_differs_between_branches() -> None:
    with pytest.raises(SrcgradError, match=r"(?s)y"):
        grad(changes_type_in_a_branch, jit=False).backward(VECTOR, VECTOR)


# Which memory a name stands for may depend on the path: right, or refused, and never the one that came first ----------


def alias_from_a_loop(x, y, n):
    x, y = x.copy(), y.copy()
    for _ in range(n):
        y = x
    y[0] *= 2.0
    return x * x + y


def alias_from_a_branch(x, y, n):
    x, y = x.copy(), y.copy()
    if n > 1:
        y = x
    y[0] *= 2.0
    return x * x + y


def alias_written_in_the_loop(x, y, n):
    x, y = x.copy(), y.copy()
    for _ in range(n):
        x[0] *= 0.5
        x = y
    return x * y


def argument_rebound_then_written(x, y, n):
    for _ in range(n):
        x = x * y
    x[0] *= x[1]
    return x + y


def view_of_what_is_rebound(x, y, n):
    x = x.copy()
    head = x[:2]
    for _ in range(n):
        x = x * y
        head *= 2.0
    return x * head.sum()


def swapped_once(x, y, n):
    x, y = x.copy(), y.copy()
    if n > 0:
        x, y = y, x
    head = x[:2]
    head *= y[:2]
    return x * 2.0 + y


def written_through_the_older_name(x, y, n):
    x = x.copy()
    z = x
    for k in range(n):
        x = x * y
        z[k] = x[k]
    return x * z


def one_array_twice_in_a_branch(x, y, n):
    y, x = x, x * y
    if n > 1:
        y, x = x, 1 + y * y
        y = x
    y[0] = 2.0 * x[1]
    return x * x + y


def old_view_and_new_view(x, y, n):
    a = np.stack((x, y))
    before = a[1]
    for k in range(n):
        if k % 2 == 1:
            a = a * 1.0
        now = a[1]
        now[0] *= -0.5
    return before * now if n > 0 else before


def iterated_and_rebound(x, y, n):
    a = np.stack((x, y))
    for row in a:
        row *= 2.0
        for _ in range(n):
            a = a / (2 + np.cos(a))
    return a.sum(axis=0)


def swapped_with_a_view(x, y, n):
    a = np.stack((x, y))
    u = a[0]
    for _ in range(n):
        y[0] += 1.5
        y, u = u, y
    return a.sum(axis=0) + y * u


def view_joined_with_its_base(x, y, n):
    a = np.stack((x, y))
    for _ in range(n):
        u = a[:, 0]
        y[:2], u = u, y[:2]
        u *= 2.0
    now = a[:, 0]
    now[-1] += 3.0
    return a * y


def perhaps_reversed(x, y, n):
    a = np.stack((x, y))
    if n > 1:
        a = a[::-1]
    flat = a.reshape(-1)  # a copy of what is reversed
    flat[1] *= 0.5
    return a * flat.sum()


def perhaps_transposed(x, y, n):
    a = np.stack((x, y, x * y))
    for _ in range(n):
        a = a.T
    flat = a.ravel()
    flat[1] *= 0.5
    return a * flat.sum()


def parts_of_a_tuple(x, y, n):
    x, y = x.copy(), y.copy()
    u = x[:2]
    for _ in range(n):
        y[:2], u = u, y[1:]
        u *= 2.0
    return x * y


ALIASES = [
    perhaps_reversed,
    perhaps_transposed,
    parts_of_a_tuple,
    swapped_with_a_view,
    view_joined_with_its_base,
    one_array_twice_in_a_branch,
    old_view_and_new_view,
    iterated_and_rebound,
    alias_from_a_loop,
    alias_from_a_branch,
    alias_written_in_the_loop,
    argument_rebound_then_written,
    view_of_what_is_rebound,
    swapped_once,
    written_through_the_older_name,
]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("function", ALIASES, ids=lambda f: f.__name__)
def test_memory_that_depends_on_the_path(function: Callable[..., Any], n: int) -> None:
    args = (np.array([0.3, 0.5, 0.7]), np.array([0.9, -0.4, 1.1]), n)
    plain = subject(function, args, {})
    y = plain.run(fresh(args))
    direction, v = (random_like(np.random.default_rng(n), part) for part in (args, y))
    f = grad(function, jit=False)
    try:
        np.testing.assert_allclose(f(*fresh(args)), y, rtol=1e-12)
        cotangents = f.backward(*fresh(args), v)
    except UnsupportedError:
        return
    want, _ = directional(plain, direction, v)
    np.testing.assert_allclose(inner(cotangents, along(plain, direction)), want, rtol=1e-7)


def columns_reshaped(x, a, k):
    b = np.arctan(a[:, k])  # in Fortran's order: to reshape it is to copy it
    u = b.reshape(-1)
    u[1] *= x[0]
    return b.sum(axis=0) + u[:3]


def transposed_and_reshaped(x, a, k):
    b = a.T * 2.0
    u = b.reshape(-1)
    u[1] *= x[0]
    return b + u[0]


def joined_transposes_reshaped(x, a, k):
    b = np.concatenate((a.T, a.T))
    u = b.reshape(-1)
    u[1] *= x[1]
    return b + u[0]


def part_of_a_transpose_reshaped(x, a, k):
    b = a.T * 2.0
    u = b[:2].reshape(-1)
    u[1] *= x[1]
    return b + u[0]


def sums_of_a_transpose_reshaped(x, a, k):
    b = (a.T[:, :, None] * np.ones(2)).sum(axis=2)
    u = b.reshape(-1)
    u[1] *= x[1]
    return b + u[0]


def reshaped_in_the_loop(x, a, k):
    b = a * x[2]
    for _ in range(2):
        u = b.reshape(-1)
        u[1] *= x[0]
        b = np.arctan(b[:, k])
    return b


def reshaped_after_the_loop(x, a, k):
    b = a * x[2]
    for _ in range(2):
        b = np.arctan(b[:, k])
        c = np.sin(b)
        b, c = c, b
    u = b.reshape(-1)[:3]
    u[1] *= x[0]
    return b.sum(axis=0) + u


def stacked_transposes_reshaped(x, a, k):
    b = np.stack([a.T, a.T])
    u = b.reshape(-1)
    u[1] *= x[1]
    return b + u[0]


def made_contiguous(x, a, k):
    c = a * 1.0
    b = np.ascontiguousarray(c.T)  # a copy
    b[0, 1] *= x[1]
    return c + b[0, 1]


def like_a_transpose_reshaped(x, a, k):
    b = np.zeros_like(a.T)
    u = b.reshape(-1)
    u[1] = x[1] * a[0, 0]
    return b + u[1]


def transposed_product_reshaped(x, a, k):
    b = (x[:, None] * (x + 1.0)).T * 1.0
    u = b.reshape(-1)
    u[1] *= x[1]
    return b + u[0]


def greatest_of_a_turned_view_reshaped(w, x, idx):
    y = np.max(x[:, :, None].transpose(1, 2, 0), axis=1)
    z = y.reshape(-1)
    z[1] = w[1] ** 2
    return y * 1.0


def rows_backwards_reshaped(x, a, k):
    b = a[::-1, :2] * 2.0  # in order
    u = b.reshape(-1)
    u[1] *= x[1]
    return b + u[0]


def rows_looked_up_reshaped(x, a, k):
    b = a[k[:2] // 2] * 2.0  # in order
    u = b.reshape(-1)
    u[1] *= x[1]
    return b + u[0]


ORDERS = [
    (columns_reshaped, True),
    (transposed_and_reshaped, True),
    (joined_transposes_reshaped, True),
    (part_of_a_transpose_reshaped, True),
    (sums_of_a_transpose_reshaped, True),
    (stacked_transposes_reshaped, True),
    (made_contiguous, False),
    (like_a_transpose_reshaped, True),
    (transposed_product_reshaped, True),
    (reshaped_in_the_loop, True),
    (reshaped_after_the_loop, True),
    (greatest_of_a_turned_view_reshaped, True),
    (rows_backwards_reshaped, False),
    (rows_looked_up_reshaped, False),
]


@pytest.mark.parametrize(("function", "may_be_refused"), ORDERS, ids=[row[0].__name__ for row in ORDERS])
def test_reshape_of_what_numpy_keeps_in_another_order(function: Callable[..., Any], may_be_refused: bool) -> None:
    args = (np.array([0.3, 0.5, 0.7]), np.linspace(-0.7, 0.9, 6).reshape(2, 3), np.array([1, 1, 2]))
    plain = subject(function, args, {})
    y = plain.run(fresh(args))
    direction, v = (random_like(np.random.default_rng(0), part) for part in (args, y))
    f = grad(function, jit=False)
    try:
        np.testing.assert_allclose(f(*fresh(args)), y, rtol=1e-12)
        cotangents = f.backward(*fresh(args), v)
    except UnsupportedError:
        assert may_be_refused
        return
    want, _ = directional(plain, direction, v)
    np.testing.assert_allclose(inner(cotangents, along(plain, direction)), want, rtol=1e-7)


def writes_a_maybe_view(a):
    b = a * 1.0  # Fortran-ordered where a is
    c = b.T.reshape(3, 4)  # so a view of b there, and a copy elsewhere
    c[0] = 0.0
    return b.sum()


def test_a_view_that_depends_on_the_memory_layout() -> None:
    f = grad(writes_a_maybe_view, jit=False)
    assert f.backward(np.ones((2, 6))).tolist() == np.ones((2, 6)).tolist()
    with pytest.raises(UnsupportedError, match="(?s)line .*help: "):
        f.backward(np.asfortranarray(np.ones((2, 6))))


def some_columns(a, m):  # a view, if it is all of them
    return a[:, :m].ravel()


def columns_backwards(a, m):  # a view of one column
    return a[:, ::-1].reshape(-1)


def swapped_behind(a, m):  # a view, if one of the two has length 1
    return a.reshape(2, m, -1).transpose(0, 2, 1).reshape(2, -1)


@pytest.mark.parametrize("shape", [(4, 6), (1, 4), (4, 1), (6, 2)], ids=str)
@pytest.mark.parametrize("part", [some_columns, columns_backwards, swapped_behind])
def test_a_copy_of_a_part_may_be_a_view(part: Callable[..., Any], shape: tuple[int, int]) -> None:
    """It is read as it is; who writes to it, and returns the whole, is told so: NumPy's answer depends on lengths."""

    def reads(a, m):
        return part(a, m) ** 2 * 3.0

    def writes(a, m):
        own = a * 1.0
        p = part(own, m)
        p *= 3.0
        return own

    a = np.random.default_rng(0).normal(size=shape)
    v = np.random.default_rng(1).normal(size=reads(a, 2).shape)
    expected, _ = richardson(lambda t: np.sum(v * reads(a + t * np.cos(a), 2)), 0.0)
    got = grad(reads, wrt="a", jit=False).backward(a, 2, v)
    np.testing.assert_allclose(np.sum(got * np.cos(a)), expected, rtol=1e-7)
    with pytest.raises(UnsupportedError, match="(?s)own may or may not be.*on lengths"):
        grad(writes, wrt="a", jit=False).backward(a, 2, a)


def test_arrays_that_changed_places_are_called_what_the_user_calls_them() -> None:
    def f(a, b):
        if a[0] > b[0]:
            a, b = b, a
        a[0] *= 2
        return a - b

    with pytest.raises(UnsupportedError, match="^b may or may not be the array that was written"):
        grad(f, jit=False).backward(np.ones(3), np.ones(3), np.ones(3))


@pytest.mark.parametrize(
    "stretch", [lambda own, w: np.broadcast_to(own, w.shape), lambda own, w: np.broadcast_arrays(own, w)[0]]
)
@pytest.mark.parametrize("n", [1, 3])
def test_a_broadcast_operand_is_a_view(stretch: Callable[..., Any], n: int) -> None:
    """Where its length turns out to be 1 it is stretched, which we do with a copy."""

    def reads(x, w):
        own = x * 1.0
        shown = stretch(own, w)
        return np.sum(shown * w) + np.sum(own**2)

    def writes(x, w):
        own = x * 1.0
        shown = stretch(own, w)
        own *= 2.0
        return np.sum(shown * w)

    x, w = np.linspace(0.5, 1.5, n), np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(grad(reads, jit=False).backward(x, w)[0], 2.0 * x + (2.0 if n == 1 else w))
    with pytest.raises(UnsupportedError, match="may or may not be the array that was written"):
        grad(writes, jit=False).backward(x[:1], w)


def every_element(a):
    p = a.ravel()
    p *= 2.0
    return a


def upper_half(a):
    p = a.reshape(2, -1)
    p[0] = 3.0 * p[1]
    return a


@pytest.mark.parametrize("entry", ["__call__", "backward", "value_and_backward"])
@pytest.mark.parametrize("function", [every_element, upper_half])
@pytest.mark.parametrize("turn", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
def test_arguments_in_another_order(function: Callable[..., Any], turn: Callable[..., Any], entry: str) -> None:
    """We have them in C order, where NumPy makes a copy of one and a view of another."""
    a = np.arange(1.0, 13.0).reshape(4, 3)
    v = () if entry == "__call__" else (np.ones((4, 3)),)
    getattr(grad(function, jit=False), entry)(a.copy(), *v)
    with pytest.raises(UnsupportedError, match="on the order in memory"):
        getattr(grad(function, jit=False), entry)(turn(a), *v)
    read = grad(lambda a: np.sum(a.ravel() ** 2 * np.arange(12.0)), jit=False)
    np.testing.assert_array_equal(read.backward(turn(a)), 2.0 * a * np.arange(12.0).reshape(4, 3))


def turned(a):
    return a.T.ravel()


def turned_twice(a):
    b = a.T
    return b.reshape(-1)


def turned_and_in_threes(a):  # a view of three columns, too
    return a.T.reshape(3, -1)


def turned_in_columns(a):
    return a.reshape(-1, order="F")


def turned_in_order(a):
    return np.ascontiguousarray(a.T)


def turned_in_space(a):
    return a.reshape(a.shape[0], -1, a.shape[1]).transpose(2, 0, 1).ravel()


TURNED = [turned, turned_twice, turned_and_in_threes, turned_in_columns, turned_in_order, turned_in_space]


@pytest.mark.parametrize("shape", [(4, 6), (1, 6), (6, 1), (4, 3)], ids=str)
@pytest.mark.parametrize("part", TURNED)
def test_a_copy_of_what_is_turned_may_be_a_view(part: Callable[..., Any], shape: tuple[int, int]) -> None:
    """It is a copy of nearly all lengths: a write to either is an error of the others."""

    def reads(a):
        own = a * 1.0
        own[0] *= 2.0
        return part(own) ** 2 * 3.0

    def writes_the_part(a):
        own = a * 1.0
        p = part(own)
        for k in range(2):
            p *= 3.0 + k
        return own * np.sum(p)

    def writes_the_whole(a):
        own = a * 1.0
        p = part(own)
        if a[0, 0] < 100.0:
            own *= a
        return own * np.sum(p**2)

    a = np.random.default_rng(0).normal(size=shape)
    for function in (reads, writes_the_part, writes_the_whole):
        own = np.array(a)
        y = function(a)
        v = np.random.default_rng(1).normal(size=y.shape)
        f = grad(function, jit=False)
        if function is not reads and np.shares_memory(part(own), own):
            for entry in (f.backward, f.value_and_backward, f.vjp):
                with pytest.raises(RuntimeShapeError, match="this is a view of an array in NumPy"):
                    entry(a, *([] if entry == f.vjp else [v]))
            continue
        expected, _ = richardson(lambda t: np.sum(v * function(a + t * np.cos(a))), 0.0)
        value, got = f.value_and_backward(a, v)
        np.testing.assert_allclose(value, y, rtol=1e-13)
        np.testing.assert_allclose(np.sum(got * np.cos(a)), expected, rtol=1e-7)


def test_a_check_that_nobody_needs_is_not_made() -> None:
    f = grad(lambda a: np.sum(a.T.ravel() ** 2 * np.arange(a.size)), jit=False)
    assert "RuntimeShapeError" not in f.source(np.ones((2, 3)))


def like_it(a):
    return np.ones_like(a) * a[0, 0]


def computed(a):
    return np.maximum(a * 2.0, 0.1)


def added_up_along(a):
    return np.cumsum(a, axis=0)


def backwards(a):
    return a[::-1] + 0.0


def copied(a):
    return np.copy(a)


@pytest.mark.parametrize("make", [like_it, computed, added_up_along, backwards, copied])
def test_what_is_made_of_an_argument_is_in_its_order(make: Callable[..., Any]) -> None:
    """A write to its elements in one row is one to a copy where NumPy has it in Fortran's order."""

    def writes(a):
        b = make(a)
        p = b.ravel()
        p *= 3.0
        return b

    a, v = np.arange(1.0, 7.0).reshape(2, 3), np.ones((2, 3))
    value, _ = grad(writes, jit=False).value_and_backward(a, v)
    np.testing.assert_array_equal(value, writes(a.copy()))
    for entry in (grad(writes, jit=False).value_and_backward, grad(writes, jit=False).backward):
        with pytest.raises(UnsupportedError, match="on the order in memory"):
            entry(np.asfortranarray(a), v)


def test_a_copy_of_its_own_is_in_c_order() -> None:
    def writes(a, b):
        made = [a.copy(), (b.T * 2.0).copy(order="C"), np.zeros((2, 3))]
        for one in made:
            p = one.ravel()
            p += 3.0 * a[0, 0]
        return made[0] * made[1] + made[2]

    a, b = np.asfortranarray(np.arange(1.0, 7.0).reshape(2, 3)), np.arange(6.0).reshape(3, 2)
    f = grad(writes, jit=False)
    np.testing.assert_array_equal(f(a, b), writes(a, b))
    check_grad(f, a, b)


def test_no_words_of_ours_reach_the_user() -> None:
    with pytest.raises(UnsupportedError) as caught:
        grad(trims, jit=False).backward(VECTOR, VECTOR)
    assert not re.search(r"\b(IR|Old|AddTo|Load|Store|ForEach|Expr|numba)\b", str(caught.value))
    frames = [frame.filename for frame in inspect.getinnerframes(caught.tb)]
    assert len(frames) <= 4, frames


# What no active value reaches just runs -----------------------------------------------------------------------------


def counts_unique(x, k):
    order = np.argsort(k)
    return x * order[0]


def trims_what_is_not_active(x, w):
    q = np.trim_zeros(w)
    return (x * q).sum()


def test_unsupported_but_not_active() -> None:
    f = grad(trims_what_is_not_active, wrt="x", jit=False)
    w = np.array([3.0, 1.0, 2.0])
    assert f(np.ones(3), w) == np.trim_zeros(w).sum()
    assert f.backward(np.ones(3), w).tolist() == np.trim_zeros(w).tolist()


def test_lengths_of_what_has_no_rule_are_known_when_it_has_run() -> None:
    def ranked(x):
        order = np.trim_zeros(np.argsort(x))
        return np.sum(x[order] * np.arange(1, x.size))

    for jit in (False, True):
        assert grad(ranked, jit=jit).backward(np.array([0.1, 0.3, 0.7])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("jit", [False, True])
def test_of_what_has_no_rule_the_length_alone_is_read(jit: bool) -> None:
    f = grad(lambda x, w: x * np.trim_zeros(w).shape[0], wrt="x", jit=jit)
    assert f.value_and_backward(2.0, np.array([0, 3, 1, 0])) == (4.0, 2.0)


def test_of_what_has_no_rule_the_type_must_not_depend_on_the_values() -> None:
    for function in (lambda x, w: x * np.sum(np.abs(np.roots(w))), lambda x, w: x * np.sum(np.emath.sqrt(w).imag)):
        with pytest.raises(UnsupportedError, match="depends on the values"):
            grad(function, jit=False)(2.0, np.array([1.0, 0.0, 1.0]))


def test_what_does_something_else_each_time_is_not_called_ahead(tmp_path: Path) -> None:
    counter = itertools.count(1)
    made = str(tmp_path / "made")

    def makes(x):
        if x > 100.0:
            os.mkdir(made)
        return x

    for function in (makes, lambda x: x * next(counter)):
        with pytest.raises(UnsupportedError, match="something else each time"):
            grad(function, jit=False)(2.0)
    assert not os.path.exists(made)
    assert next(counter) == 1


@pytest.mark.filterwarnings("error")
def test_warnings_are_left_out() -> None:
    def warns(x):
        if x > 100.0:
            warnings.warn(f"{x} is large", stacklevel=2)
        return x * x

    assert grad(warns, jit=False).backward(2.0) == 4.0


def test_constants_that_are_no_number_are_refused_at_their_line() -> None:
    for function in (lambda x: x * int(np.inf), lambda x: x * float("x"), lambda x: x * round(math.nan)):
        with pytest.raises(ArgumentError, match=r"(?s)to (integer|float).*\^"):
            grad(function, jit=False)(2.0)

    def beside_a_pole(x):
        return x * math.lgamma(0.0) if x < 0 else x * 2.0

    assert grad(beside_a_pole, jit=False).backward(2.0) == 2.0


def test_unsupported_but_only_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def prints_trimmed(x):
        print(np.trim_zeros(x) > 0)
        return (x * x).sum()

    assert grad(prints_trimmed, jit=False).backward(np.array([2.0, 1.0])).tolist() == [4, 2]
    assert capsys.readouterr().out == "[ True  True]\n"


def test_printing_as_print_does_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(x):
        print("x", x, sep=" ", end="\n", flush=True, file=None)
        return x * x

    assert grad(prints, jit=False).backward(3.0) == 6.0
    assert capsys.readouterr().out == "x 3.0\n"


def test_the_same_function_is_refused_where_it_is_active() -> None:
    with pytest.raises(UnsupportedError, match="(?s)trim_zeros.*q = np.trim_zeros"):
        grad(trims_what_is_not_active, jit=False).backward(np.ones(3), np.ones(3))


def test_nothing_runs_before_the_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    def f(out, x):
        print("running")
        out[:] = np.trim_zeros(x)

    out = np.zeros(2)
    with pytest.raises(UnsupportedError):
        grad(f, jit=False).backward(out, VECTOR, VECTOR)
    assert capsys.readouterr().out == ""
    assert not out.any()


def test_without_a_gpu() -> None:
    """One error, before anything runs; the source is there all the same."""
    f = grad(lambda x: (x * x).sum(), target="cuda")
    assert "@kernel" in f.source(VECTOR)
    if cuda.is_available():
        return
    for entry in (f, f.backward, f.value_and_backward, f.vjp):
        with pytest.raises(DeviceError, match=r"(?s)needs an NVIDIA GPU and its driver.*target=\"cpu\".*f\.ptx"):
            entry(VECTOR)


def test_unknown_option() -> None:
    with pytest.raises(TypeError, match="speed"):
        grad(trims, speed="fast")
    with pytest.raises((ValueError, NotImplementedError), match="target"):
        grad(trims, target="abacus")


@pytest.mark.parametrize("thing", [3, "text", None], ids=repr)
def test_not_a_function(thing: Any) -> None:
    if thing is None:
        return  # grad(None) is the decorator that is still waiting for its function
    with pytest.raises(TypeError):
        grad(thing)


def test_lambdas_beside_each_other() -> None:
    """Whatever the lines that Python has for a lambda: it is that one, or an error."""
    a, b = 5.0, 7.0
    for f, want in ((lambda x: 2.0 * x, 2.0), (lambda x: 3.0 * x, 3.0), (lambda x: np.sin(x), np.cos(1.0))):
        assert grad(f, jit=False).backward(1.0) == want
    fs = (lambda x: a * x, lambda x: b * x, lambda x: (lambda y: y * a)(x * x), lambda x: (lambda y: y * b)(x * x))
    assert [grad(f, jit=False).backward(1.0) for f in fs] == [5.0, 7.0, 10.0, 14.0]
    for f, want in (
        (lambda x: 2.0 * x, 2.0), (lambda y: 3.0 * y, 3.0),
        (lambda x: x * (1.0 +
            x), 3.0),
    ):  # fmt: skip
        assert grad(f, jit=False).backward(1.0) == want
    for key, f in dict(two=lambda x: 2.0 * x, three=lambda x: 3.0 * x if x else x, four=lambda x: x**4).items():
        assert grad(f, jit=False).backward(1.0) == {"two": 2.0, "three": 3.0, "four": 4.0}[key]


@pytest.mark.parametrize(
    "text", ["if s > 1.0: raise ValueError('large')", "for b in x:\n        if b > 0.5: raise ValueError('large')"]
)
def test_what_the_user_raises_between_loops_comes_ahead_of_what_is_wrong_with_the_second(text: str) -> None:
    body = f"""
def f(x, w, out):
    s = 0.0
    for a in x:
        s += a * a
    {text}
    t = 0.0
    for i in range(len(x)):
        out[i] = x[i]
        t += w[i] * x[i]
    return s * t
"""
    f = grad(from_text(body, "f"), wrt="x", jit=False)
    x, out = np.array([0.1, 0.2, 3.0]), np.zeros(3)
    for call in (f, f.backward, f.vjp):
        with pytest.raises(ValueError, match="large"):
            call(x, np.ones(1), out)
    assert not out.any()


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("np.polydiv(x, x)[0]", "np.poly1d"),
        ("scipy.stats.boxcox(x)[0]", None),
        ("scipy.linalg.polar(np.eye(2) * x[0])[0]", None),
        ("scipy.signal.spectrogram(x)[0]", None),
        ("scipy.interpolate.griddata(x, x, x)[0]", None),
    ],
)
def test_only_a_name_that_is_near_is_given(text: str, near: str | None) -> None:
    with pytest.raises(UnsupportedError) as caught:
        names = "".join(f"import scipy.{part}\n" for part in ("interpolate", "linalg", "signal", "stats"))
        f = from_text(f"import numpy as np\n{names}\n\ndef f(x):\n    return {text}\n", "f")
        grad(f, jit=False).backward(np.array([1.0, 2.0]))
    assert ("the nearest supported" in str(caught.value)) == (near is not None)
    assert near is None or f"function is {near}\n" in str(caught.value)


def kept_where_positive(x):
    out = []
    for v in x:
        if v > 0:
            out.append((v * v, x))
    return out


def doubled_and_summed(x, out):
    out[:] = 2.0 * x
    return np.sum(x)


def test_errors_of_results_show_the_line() -> None:
    with pytest.raises(UnsupportedError) as caught:
        grad(kept_where_positive, jit=False)(np.ones(2))
    assert "    return out\n" in str(caught.value)
    with pytest.raises(ValueError, match="outputs=") as told:
        grad(doubled_and_summed, outputs="out", jit=False).backward(np.ones(2), np.ones(2), v=np.ones(2))
    assert "    return np.sum(x)\n" in str(told.value)
    assert str(told.value).endswith("help: leave outputs= out, and return the value, out.copy()")


def test_what_v_is_called_where_f_has_one() -> None:
    f = grad(lambda x, v: x * v, jit=False)
    with pytest.raises(
        TypeError, match="multiple values for argument 'v'\n  help: .* here the cotangent is cotangent="
    ):
        f.backward(np.ones(2), 2.0, v=np.ones(2))
    assert f.backward(np.ones(2), 2.0, cotangent=np.ones(2))[1] == 2.0
