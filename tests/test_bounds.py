"""An index out of bounds in compiled code, in the primal and in the adjoint: which index, which axis, which line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import BoundsError, grad

X, ROWS = np.arange(3.0), np.arange(12.0).reshape(4, 3)


def read(x: Any, k: Any) -> Any:
    y = np.zeros(k.shape[0])
    for i in range(k.shape[0]):
        y[i] = 2.0 * x[k[i]]  # here
    return y


def added(x: Any, k: Any) -> Any:
    y = np.zeros(3)
    for i in range(k.shape[0]):
        y[k[i]] += x[i] ** 2  # here
    return y


def in_two_calls(x: Any, k: Any) -> Any:
    def at(j: Any) -> Any:
        return x[j] ** 2  # here

    total = 0.0
    for i in range(k.shape[0]):
        total += at(k[i])
    return total


def in_a_condition(x: Any, k: Any) -> Any:
    i = 0
    while x[i] < k:  # here
        i += 1
    return x[i] * 2.0


def rows(x: Any, k: Any) -> Any:
    total = 0.0
    for i in range(k.shape[0]):
        row = x[k[i]]  # here
        total += row @ row
    return total


def columns(x: Any, k: Any) -> Any:
    total = 0.0
    for i in range(2):
        total += x[i, k] * x[i, 0]  # here
        k = k + 1
    return total


CASES = [
    (read, (X, np.array([0, 7, 1])), np.ones(3), "index 7 is out of bounds for axis 0 with size 3"),
    (added, (X, np.array([0, 3])), np.ones(3), "index 3 is out of bounds for axis 0 with size 3"),
    (in_two_calls, (X, np.array([0, -4])), None, "index -4 is out of bounds for axis 0 with size 3"),
    (in_a_condition, (X, 9.0), None, "index 3 is out of bounds for axis 0 with size 3"),
    (rows, (ROWS, np.array([1, 5])), None, "index 5 is out of bounds for axis 0 with size 4"),
    (columns, (ROWS, 2), None, "index 3 is out of bounds for axis 1 with size 3"),
]


@pytest.mark.parametrize("function, args, v, words", CASES, ids=[case[0].__name__ for case in CASES])
def test_which_index_and_where(function: Callable[..., Any], args: tuple[Any, ...], v: Any, words: str) -> None:
    """By turns of the function and of its gradient."""
    f = grad(function, wrt="x")
    turn = [case[0] for case in CASES].index(function) % 2
    with pytest.raises(BoundsError) as caught:
        f.backward(*args, v=v) if turn else f(*args)
    first, where, line, carets = str(caught.value).splitlines()
    assert first == words and __file__ in where
    assert line.rstrip().endswith("# here") and "^" in carets


def test_in_threads() -> None:
    """As many numbers as are worth threads, and the last one is outside."""
    places = np.append(np.arange(3).repeat(100_000), 3)
    compiled = grad(read, wrt="x", parallel=True)
    with pytest.raises(BoundsError, match="index 3 is out of bounds for axis 0 with size 3") as caught:
        compiled.backward(X, places, v=np.ones(places.size))
    assert "# here" in str(caught.value)


def test_unchecked() -> None:
    """Nothing is asked for, nor said, where the caller has chosen so."""
    compiled = grad(added, wrt="x", boundscheck=False)
    np.testing.assert_array_equal(compiled.backward(X, np.array([0, 2, -1]), v=np.ones(3)), 2.0 * X)


def with_a_diagonal(x: Any, n: Any) -> Any:
    total = 0.0
    a = np.outer(x, x)
    np.fill_diagonal(a, 1.0)
    for i in range(n):
        for j in range(n):
            total += a[i, j] * x[j]
    return total


def test_no_check_asks_what_is_known() -> None:
    """That is: what never fails, or was asked before."""
    f = grad(with_a_diagonal, jit=False)
    text = f.source(X, 3)
    checks = [line.strip() for line in text.splitlines() if line.strip().startswith("if ")]
    assert len(set(checks)) == len(checks)


NO = False


def and_no(x, k):
    s = np.sum(x)
    if x[k] > 0.0 and NO:
        s = s * 2.0
    return s


def or_yes(x, k):
    s = np.sum(x)
    if x[k] > 0.0 or not NO:
        s = s * 2.0
    return s


def asserted(x, k):
    assert x[k] > -5.0 or len(x) >= 0
    return np.sum(x * x)


def chosen(x, k):
    return np.sum(x) * (2.0 if x[k] > 0.0 and NO else 3.0)


def chosen_of_one(x, k):
    return np.where(x[k] > 0.0, x[0], x[0])


def never_again(x, k):
    s = np.sum(x)
    while x[k] > -9.0 and x[k] < 9.0 and NO:
        s = s * 2.0
    return s


def nothing_to_take_off(x, k):
    stack = []
    s = x[0] + 0.0
    for i in range(2):
        while x[k] > 0.0 and stack and stack[-1] > x[i]:
            stack.pop()
        s = s * x[i]
    return s


def of_nothing(x, k, more=None):
    s = np.sum(x)
    if x[k] > -5.0 and x[k] < 9.0 and more:
        s = s * 2.0
    return s


DECIDED = [and_no, or_yes, asserted, chosen, chosen_of_one, never_again, nothing_to_take_off, of_nothing]


@pytest.mark.parametrize("function", DECIDED)
def test_what_decides_nothing_is_still_looked_at(function: Callable[..., Any]) -> None:
    """The element that is asked for first may not be there."""
    f = grad(function, jit=False)
    assert f(X, 1) == function(X, 1)
    for call in (f, f.backward):
        with pytest.raises(IndexError):
            call(X, X.shape[0] + 4)
