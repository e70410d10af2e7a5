"""Which searches for the best are reversed in one iteration, and what they do where it is not unique."""

from __future__ import annotations

import corpus
import numpy as np
import pytest

from srcgrad import grad

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
