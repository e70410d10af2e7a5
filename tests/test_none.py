"""Names that are None until they have a value: `prev = None` ahead of a loop, `best = None`, by the path taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, 1.2, 1.7, 0.3, 0.9])
M = X[:, None] * X + 1.0


def differences(x):
    prev = None
    s = 0.0
    for v in x:
        if prev is not None:
            s += (v - prev) ** 2
        prev = v
    return s


def least(x):
    best = None
    for i in range(len(x)):
        v = x[i] * x[i]
        if best is None or v < best:
            best = v
    return best


def neighbours(M):
    prev = None
    s = 0.0
    for i in range(M.shape[0]):
        h = np.tanh(M[i])
        if prev is not None:
            s = s + np.sum(h * prev)
        prev = h
    return s


def summed(x):
    out = None
    for i in range(len(x)):
        t = x * x[i]
        out = t if out is None else out + t
    return out


def least_of_some(x):
    best = None
    arg = 0
    for i in range(len(x)):
        if x[i] > 0.4:
            if best is None or x[i] < best:
                best = x[i]
                arg = i
    if best is not None:
        return best * arg
    return 0.0


def with_continue(x):
    prev = None
    s = 0.0
    for i, v in enumerate(x):
        if prev is None:
            prev = v
            continue
        s += v * prev
        prev = v
    return s


def in_a_while_loop(x):
    prev = None
    s = 0.0
    k = 0
    while k < len(x):
        if prev is not None:
            s += (x[k] - prev) ** 2
        prev = x[k]
        k += 1
    return s


def with_break(x):
    prev = None
    s = 0.0
    for v in x:
        if v > 100:
            break
        if prev is not None:
            s += (v - prev) ** 2
        prev = v
    return s


def read_by_an_inner_loop(x):
    prev = None
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            if prev is not None:
                s += prev * x[j]
        prev = x[i] ** 2
    return s


def forgotten_again(x):
    prev = None
    s = 0.0
    for i in range(len(x)):
        if i % 3 == 0:
            prev = None
        if prev is not None:
            s += prev * x[i]
        prev = x[i]
    return s


def a_tuple(x):
    state = None
    s = 0.0
    for v in x:
        if state is None:
            state = (v, v * x)
        else:
            a, b = state
            s += a * np.sum(b)
            state = (a * v, b + v)
    return s


def the_same_memory(x):  # aliasing: h mutated in place
    h = x * 1.0
    prev = None
    s = 0.0
    for i in range(len(x)):
        if prev is not None:
            s = s + np.sum(prev * x[i])
        prev = h
        h[i] = h[i] * 2 + 1
    return s


def rebound_and_written(x):
    h = x * 1.0
    prev = None
    s = 0.0
    for i in range(len(x)):
        h = h + 1
        if prev is not None:
            s = s + np.sum(prev * h * x[i])
        prev = h
        h[0] = 5.0 * x[i]
    return s


def two_names(x):
    a = None
    b = None
    s = 0.0
    for v in x:
        if a is not None and b is not None:
            s += a * b * v
        a = b
        b = v
    return s


def in_conditions(x):
    a = None
    s = 0.0
    for v in x:
        if not (a is None or v < a):
            s += a * v
        elif a is not None:
            s += 2 * a
        a = v
    return s


def in_a_conditional_expression(x):
    best = None
    for v in x:
        best = v if best is None else max(best, v) * 1.5
    return best if best is not None else 0.0


def given_to_a_function(x):
    def f(v, prev=None):
        if prev is None:
            return v
        return v * prev

    prev = None
    s = 0.0
    for v in x:
        s += v if prev is None else f(v, prev)
        prev = v
    return s


def an_integer(x):
    prev = None
    s = 0
    for k in range(len(x)):
        if prev is not None:
            s += x[k] * prev
        prev = k
    return s


def a_wider_type(x):
    prev = None
    s = 0.0
    for k in range(len(x)):
        if prev is not None:
            s += x[k] * prev
        if x[k] > 1:
            prev = 1
        else:
            prev = x[k]
    return s


def by_a_branch(x):
    if x[0] > 0.2:
        w = None
    else:
        w = x[1]
    return x * 2 if w is None else x * w


def none_at_the_end(x):
    last = x[0]
    s = 0.0
    for v in x:
        if last is not None:
            s += last * v
        last = None if v > 1 else v
    return s


def updated_in_place(x):
    best = None
    for v in x:
        if best is None:
            best = x * 0
        best += v * v
    return best


def beside_a_list(x):
    out = []
    prev = None
    for v in x:
        out.append(v if prev is None else 0.5 * prev + v)
        prev = out[-1]
    return np.array(out)


def anew_in_each_iteration(x):
    s = 0.0
    for i in range(len(x)):
        best = None
        for j in range(i):
            if best is None or x[j] * x[i] < best:
                best = x[j] * x[i]
        if best is not None:
            s += best
    return s


def cell(h, v, x):
    if h is None:
        h = np.zeros(len(x))
    return np.tanh(h * v + x)


def state_of_a_cell(x):
    h = None
    for v in x:
        h = cell(h, v, x)
    return h


def in_the_test_of_a_while_loop(x):
    lo = None
    i = 0
    while i < len(x) and (lo is None or lo < 1.5):
        lo = x[i] if lo is None else lo * 1.3 + x[i]
        i += 1
    return lo


def by_another_name(x):
    p = None
    if x[0] > 0.1:
        p = x * 2
    q = p
    return x if q is None else q * x


def conditional_none(x):
    p = x * 2 if x[0] > 0.1 else None
    if p is None:
        return x
    return p * x


def several_paths(x):
    p = None
    for v in x:
        if p is None:
            p = v
            continue
        if v < p:
            p = v
            continue
        p = p * v
    return p


def with_its_index(x):
    best = None
    bi = None
    for i in range(len(x)):
        if best is None or x[i] > best:
            best, bi = x[i], i
    return x[bi] * best


def known_by_the_index(x):
    best = before = None
    for i in range(len(x)):
        c = np.sin(3 * x[i])
        if i == 0 or c < best:
            best = c
        if i > 0:
            best = best + 0.1 * (c - before)
        before = c
    return best * before


def secant(x):
    before, now = None, x[0]
    for i in range(4):
        f = np.sin(now) - x[1]
        if f > 0.1 and i > 0:
            new = before + (now - before) * 0.5
        else:
            new = now - 0.3 * f
        before, now = now, new
    return now


def true_or_not(x):
    best = None
    for i in range(len(x)):
        if not best:
            x = x * 1.5
        best = x[i] - x[0] if i != 2 else None
    return x * best if best else x


def one_or_the_other(x):
    best = None
    for v in x:
        y = best or 0.5
        if best and best > 0.6:
            y = y * v
        best = y * 0.5 + v
    return best and best * 2


def while_there_is_none(x):
    found, k = None, 0
    while not found and k < len(x):
        if x[k] > 1.5:
            found = x[k] * x[0]
        k += 1
    return found or x[1]


OF_MATRIX = (neighbours,)
PROGRAMS = [
    differences,
    least,
    neighbours,
    summed,
    least_of_some,
    with_continue,
    in_a_while_loop,
    with_break,
    read_by_an_inner_loop,
    forgotten_again,
    a_tuple,
    the_same_memory,
    rebound_and_written,
    two_names,
    in_conditions,
    in_a_conditional_expression,
    given_to_a_function,
    an_integer,
    a_wider_type,
    by_a_branch,
    none_at_the_end,
    updated_in_place,
    beside_a_list,
    anew_in_each_iteration,
    state_of_a_cell,
    in_the_test_of_a_while_loop,
    by_another_name,
    conditional_none,
    several_paths,
    with_its_index,
    known_by_the_index,
    secant,
    true_or_not,
    one_or_the_other,
    while_there_is_none,
]


@pytest.mark.parametrize("function", PROGRAMS)
def test_names_that_may_be_none(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), M if function in OF_MATRIX else X)


@pytest.mark.parametrize("function", [differences, least_of_some, neighbours, a_tuple, state_of_a_cell])
def test_names_that_may_be_none_compiled(function: Callable[..., Any]) -> None:
    check_grad(grad(function), M if function in OF_MATRIX else X)


@pytest.mark.parametrize("function", [differences, least_of_some, forgotten_again])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_iterations(function: Callable[..., Any], count: int) -> None:
    f, x = grad(function, jit=False), X[:count]
    assert f(x) == function(x)
    assert f.backward(x, 1.0).shape == x.shape


def last_one(x):
    last = None
    for v in x:
        last = v
    return last * 2.0


@pytest.mark.parametrize("jit", [False, True])
def test_none_is_not_used(jit: bool) -> None:
    f = grad(last_one, jit=jit)
    check_grad(f, X)
    with pytest.raises(TypeError, match="last is None here"):
        f(X[:0])


def becomes_a_list(x):
    items = None
    for v in x:
        if items is None:
            items = []
        items.append(v)
    return np.array(items)


def a_row_written_later(m):
    m, prev, s = m.copy(), None, 0.0
    for i in range(m.shape[0]):
        if prev is not None:
            m[i - 1] += 1.0
            s = s + np.sum(prev * m[i])
        prev = m[i]
    return s


REFUSED = [
    (becomes_a_list, X, "items is None at one end of the loop"),
    (a_row_written_later, M, "may or may not be the array that was written"),
]


@pytest.mark.parametrize("function, argument, text", REFUSED)
def test_refused(function: Callable[..., Any], argument: np.ndarray, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        grad(function, jit=False)(argument)


def below_a_limit(x, limit):
    if x[0] > limit:
        return None
    return x * limit


def test_a_result_that_may_be_none_is_asked_for_in_the_run() -> None:
    for f in (below_a_limit, lambda x, limit: (below_a_limit(x, limit), 2.0 * x)):
        g = grad(f, jit=False)
        check_grad(g, X, 9.0)
        np.testing.assert_array_equal(np.ravel(g(X, 9.0)), np.ravel(f(X, 9.0)))
        for call in (g, g.value_and_backward, g.backward):
            with pytest.raises(TypeError, match="returns .*None.* on the path taken"):
                call(X, -9.0, *() if call is g else (g(X, 9.0),))


# None that a name, or what is returned, is for the first time in a loop.


def nothing_found(x, b):
    for i in range(len(x)):
        if x[i] > b:
            return None
    return x * 2.0


def found_or_nothing(x, b):
    for v in x:
        if v > b:
            return None
        if v > 0.45:
            return v
    return 0.0


def while_nothing(x, b):
    i = 0
    while i < len(x):
        for j in range(i):
            if x[i] * x[j] > b:
                return
        i += 1
    return x[0] * x


def none_in_a_tuple(x, b):
    for i in range(len(x)):
        if x[i] > b:
            return x[i], None, (None, x[i])
        if x[i] > 0.85:
            return x[i] * 2.0, x[i], (x, x[0])
    return 1.0, x[1], (x * 2.0, 2.0)


def asked_by_the_caller(x, b):
    y = nothing_found(x, b)
    return x if y is None else y


def summed_by_the_caller(x, b):
    s = 0.0 * x
    for k in range(3):
        v = found_or_nothing(x, b + 0.1 * k)
        if v is not None:
            s = s + v * x
    y = while_nothing(x, 0.3 * b)
    return s if y is None else s + y


def unpacked_by_the_caller(x, b):
    a, y, (z, w) = none_in_a_tuple(x, b)
    return x * w * a if y is None else y * z * a


def or_else(x, b):
    for i in range(len(x)):
        if x[i] > b:
            y = None
            break
    else:
        y = x * 2.0
    return x if y is None else y


def the_last_one(x, b):
    for i in range(len(x)):
        pair = (None, "low") if x[i] < b else (x[i], "high")
    return x if pair[0] is None else pair[0] * x


LOOPS = [asked_by_the_caller, summed_by_the_caller, unpacked_by_the_caller, or_else, the_last_one]
VALUES = np.array([0.3, 0.4, 0.9, 0.5])


@pytest.mark.parametrize("b", [10.0, 0.6, 0.35, 0.2, -1.0])
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_none_for_the_first_time_in_a_loop(function: Any, b: float) -> None:
    f = grad(function, wrt="x", jit=False)
    check_value_and_grad(f, VALUES, b, rtol=1e-14)


def test_a_result_that_is_none_from_within_a_loop() -> None:
    for function in (nothing_found, found_or_nothing, while_nothing):
        f = grad(function, wrt="x", jit=False)
        np.testing.assert_allclose(f(VALUES, 10.0), function(VALUES, 10.0), rtol=1e-14)
        with pytest.raises(
            TypeError, match=r"returns None on the path taken, which has no derivative\n.* line \d+\n.*def "
        ):
            f(VALUES, 0.1)


def test_none_in_a_loop_that_does_not_run() -> None:
    def unbound(x, n):
        for _ in range(n):
            y = None
        return x if y is None else 2.0 * x

    f = grad(unbound, wrt="x", jit=False)
    np.testing.assert_allclose(f(VALUES, 2), VALUES)
    with pytest.raises(UnboundLocalError):
        f(VALUES, 0)
