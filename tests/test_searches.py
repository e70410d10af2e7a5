"""Which searches for the best are reversed in one iteration, and what they do where it is not unique."""

from __future__ import annotations

from typing import Any

import corpus
import numpy as np
import pytest

from srcgrad import grad
from srcgrad.both_sweeps import Memory
from srcgrad.ir.expressions import Load
from srcgrad.ir.nodes import AddTo
from srcgrad.ir.types import ArrayType
from srcgrad.ir.walk import statements
from srcgrad.options import Options
from srcgrad.pipeline import transformed
from srcgrad.testing import check_grad

SHORT = (
    "smallest",
    "nearest_of_all",
    "beginning_with_an_argument",
    "from_the_end",
    "with_its_place",
    "infinite_slopes",
)
LONG = ("sum_of_all_bests", "sum_of_those_taken", "better_than_half", "best_of_each_step")


@pytest.mark.parametrize("name", SHORT + LONG)
def test_one_iteration_is_reversed_where_only_one_has_something_to_pass_on(name: str) -> None:
    program = corpus.named(f"searches.{name}")
    args, keywords = program.arguments(0, corpus.FLOAT64)
    text = grad(program.function).source(*args, **keywords)
    assert ("chosen_kept" not in text) == (name in SHORT)
    assert ("last = " in text) == (name in SHORT)


def pooled(x):
    n = x.shape[0] // 4
    y = np.empty(n)
    for i in range(n):
        best = x[4 * i]
        for j in range(1, 4):
            if x[4 * i + j] > best:
                best = x[4 * i + j]
        y[i] = best
    return y


def least_of_rows(x):
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        best = x[i, 0]
        for j in range(1, x.shape[1]):
            if x[i, j] < best:
                best = x[i, j]
        y[i] = best
    return y


def with_what_comes_later(x):
    """The cotangent of the best is read again, behind what it is handed to."""
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        best = x[i, 0] * 1.0
        for j in range(1, x.shape[1]):
            if x[i, j] > best:
                best = x[i, j]
        y[i] = best * best + x[i, 0]
        x[i, 0] = 2.0 * best
    return y * x[:, 0]


def from_another_element(x):
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        best = x[i, 2]
        for j in range(1, x.shape[1]):
            if x[i, j] > best:
                best = x[i, j]
        y[i] = best
    return y


def downwards(x):
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        best = x[i, x.shape[1] - 1]
        for j in range(x.shape[1] - 2, -1, -1):
            if x[i, j] > best:
                best = x[i, j]
        y[i] = best
    return y


@pytest.mark.parametrize("f", [pooled, least_of_rows, with_what_comes_later, from_another_element, downwards])
def test_a_search_that_begins_with_the_element_before_its_loop(f: Any) -> None:
    """One addition for all, and no branch that nobody can guess; not where it begins elsewhere."""
    rng = np.random.default_rng(3)
    made = grad(f, jit=False)
    for rows in (1, 2, 7):
        for columns in (4, 5):
            x = rng.standard_normal((rows, columns) if f is not pooled else 4 * rows + columns)
            check_grad(made, x)
    ties = np.ones((2, 4)) if f is not pooled else np.ones(8)
    first = 2 if f is from_another_element else 3 if f is downwards else 0
    if f is not with_what_comes_later:
        assert np.flatnonzero(made.backward(ties, np.ones(2))).tolist() == [first, first + 4]
    text = made.source(ties, np.ones(2))
    assert ("if last" in text) == (f is from_another_element)


def test_what_a_search_has_found_is_inside() -> None:
    """Its place is one of those that were looked at: nothing is left to be checked."""
    checked = [place for f in (pooled, least_of_rows) for place in places_added_to(f) if place.checked]
    assert not checked


def peak(x):
    """Of a window, begun in its middle: the place may be ahead of where it began."""
    s = 0.0
    for i in range(len(x) - 4):
        k = 2
        for j in range(5):
            if x[i + j] > x[i + k]:
                k = j
        s += x[i + k] * x[i + k - 2]
    return s


def ahead_of_its_beginning(x, y):
    k = 5
    for j in range(1, 10):
        if x[j] > 0:
            k = j
    return y[k - 5] * x[0]


def by_steps(x, y):
    k = 4
    for j in range(0, 10, 2):
        if x[j] > 0:
            k = j
    return y[k - 4] * x[0]


def downwards_to(x, y):
    k = 3
    for j in range(3, -1, -1):
        if x[j] > 0:
            k = j
    return y[k - 3] * x[0] + y[len(y) - 1 - (k - 3)]


def from_an_argument(x, y, p):
    k = p
    for j in range(p, -1, -1):
        if x[j] > 0:
            k = j
    return y[k - p] * x[0]


@pytest.mark.parametrize("f", [ahead_of_its_beginning, by_steps, downwards_to, from_an_argument])
@pytest.mark.parametrize("taken", [1, 2, 3, 8, None])
@pytest.mark.parametrize("length", [12, 3])
def test_a_place_ahead_of_where_the_search_began(f: Any, taken: int | None, length: int) -> None:
    x, y = -np.ones(12), np.arange(float(length)) + 1
    if taken is not None:
        x[taken] = 3.0
    more = (4,) if f is from_an_argument else ()
    made = grad(f, wrt=("y",))
    try:
        expected = f(x, y, *more)
    except IndexError:
        with pytest.raises(IndexError):
            made(x, y, *more)
        with pytest.raises(IndexError):
            made.backward(x, y, *more)
        return
    assert made(x, y, *more) == expected
    np.testing.assert_array_equal(made.backward(x, y, *more), grad(f, wrt=("y",), jit=False).backward(x, y, *more))


def test_a_peak_of_windows() -> None:
    x = np.array([5, 1, 2, 3, 1, 0, 4, 2.5])
    f = grad(peak)
    assert f(x) == peak(x) == 31
    assert f.backward(x).tolist() == [4, 3, 0, 1, 8, 0, 7, 0]


def places_added_to(f: Any) -> list[Load]:
    x = ArrayType(np.dtype(np.float64), 1 if f is pooled else 2, "C")
    v = ArrayType(np.dtype(np.float64), 1, "C")
    _, program = transformed(f, "backward", (x,), v, Options(), Memory())
    added = [s.target for s in statements(program.body) if isinstance(s, AddTo) and isinstance(s.target, Load)]
    assert added
    return added


@pytest.mark.parametrize("jit", [False, True])
def test_of_equal_ones_the_first_is_taken(jit: bool) -> None:
    f = grad(corpus.searches.smallest, jit=jit)
    assert f.backward(np.array([2.0, 1.0, 1.0, 3.0])).tolist() == [0, 2, 0, 0]
    assert f.backward(np.array([np.nan, 2.0, np.nan])).tolist() == [0, 4, 0]
    assert f.backward(np.array([np.nan])).tolist() == [0]


def test_infinite_slopes_of_those_not_taken_do_not_matter() -> None:
    f = grad(roots, jit=False)
    assert f.backward(np.array([0.0, 4.0])).tolist() == [0, 0.25]


def roots(x):
    best = -1.0
    for i in range(len(x)):
        if x[i] > best:
            best = np.sqrt(x[i])
    return best


def test_what_is_read_after_the_loop_is_as_the_loop_left_it() -> None:
    """The names that the reverse of one loop leaves unset are set anew by the next."""
    f = grad(one_after_the_other, jit=False)
    x = np.array([3.0, 1.0, 2.0])
    assert f.backward(x).tolist() == [1.0, 3.0, 0.0]


def one_after_the_other(x):
    best = 10.0
    for i in range(len(x)):
        if x[i] < best:
            best = x[i]
    top = -10.0
    for i in range(len(x)):
        if x[i] > top:
            top = x[i]
    return best * top
