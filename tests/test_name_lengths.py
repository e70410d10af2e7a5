"""What a slice leaves of an axis is one length by whatever name, and goes by the user's in the text."""

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

TABLE, PLACES, TOKENS = (
    np.cos(np.arange(20.0)).reshape(5, 4),
    np.sin(np.arange(28.0)).reshape(7, 4),
    np.array([[0, 3, 1, 4]]),
)
WEIGHTS = np.cos(np.arange(16.0) ** 2).reshape(4, 4)


def layer(x, w):
    batch, steps, width = x.shape
    y = (x @ w).reshape(batch, steps, 2, width // 2).transpose(0, 2, 1, 3)
    return np.tanh(x) + y.transpose(0, 2, 1, 3).reshape(batch, steps, width)


def embedded(table, places, tokens, w):
    given = tokens[:, :-1]
    steps = given.shape[1]
    x = table[given] + places[:steps]
    return np.sum(layer(layer(x, w), w) ** 2)


def by_steps(table, places, tokens, w):
    given = tokens[:, 1:]
    steps = given.shape[1]
    state, total = np.zeros(w.shape[0]), 0.0
    for t in range(steps):
        state = np.tanh(table[given[0, t]] + state @ w)
        total += state @ places[t] * (steps - t)
    rows = 0.0
    for t in range(steps - 1, -1, -1):
        rows += places[t, 0] * steps
    return total / steps + rows


def named_in_a_loop(table, places, tokens, w):
    total = 0.0
    for k in range(3):
        part = places[k:, :]
        count = part.shape[0]
        if k == 1:
            kept = count
        for i in range(count):
            total += part[i, 0] ** 2 * count
    return total * kept


PROGRAMS = [embedded, by_steps, named_in_a_loop]


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("tokens", [TOKENS, TOKENS[:, :2]], ids=["four", "two"])
def test_is_what_it_was(function: Callable[..., Any], tokens: np.ndarray) -> None:
    f = grad(function, jit=False, wrt=("table", "places", "w"))
    args = TABLE, PLACES, tokens, WEIGHTS
    np.testing.assert_allclose(f(*args), function(*args), rtol=1e-13)
    check_grad(f, *args)
    expected = f.backward(*args)
    assert_close(f.vjp(*args)[1](), expected, 1e-14, "by the pair")
    with order.without("name_lengths"):
        assert_close(grad(function, jit=False, wrt=("table", "places", "w")).backward(*args), expected, 0, "no names")


def test_one_name() -> None:
    text = grad(embedded).source(TABLE, PLACES, TOKENS, WEIGHTS)
    assert text.count("np.maximum(tokens.shape[1] - 1, 0)") == 1
    assert "for j in range(steps)" in text
    assert not re.search(r"(\bsteps\w*) >=? \1\b", text)


def test_no_check_twice() -> None:
    """The slice has been checked ahead of all: nothing asks again whether its rows are there."""
    text = grad(embedded).source(TABLE, PLACES, TOKENS, WEIGHTS)
    assert "ShortAxisError" in text and "places.shape[0]:\n        raise BoundsError" not in text


def through_views(x, w):
    rows = np.tanh(x).reshape(-1, x.shape[2]) @ w
    return np.sum(rows.reshape(x.shape[0], x.shape[1], 2, -1).transpose(2, 0, 1, 3) ** 3)


def test_nothing_is_cleared() -> None:
    """What comes first to memory may come by a view of all of it."""
    x = np.cos(np.arange(24.0)).reshape(2, 3, 4)
    f = grad(through_views)
    assert "np.zeros" not in f.source(x, WEIGHTS)
    check_grad(grad(through_views, jit=False), x, WEIGHTS)


def test_a_length_of_nothing() -> None:
    """Of no elements, as in NumPy, -1 stands for no length."""
    for jit in (True, False):
        for call in (through_views, grad(through_views, jit=jit), grad(through_views, jit=jit).backward):
            with pytest.raises(ValueError, match="cannot reshape"):
                call(np.empty((2, 0, 4)), WEIGHTS)
