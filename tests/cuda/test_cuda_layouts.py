"""Arrays of kernels alone are laid out so that neighbouring threads touch neighbours in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close, fresh

from benchmarks.programs import PROGRAMS
from srcgrad import grad
from srcgrad.passes import order

RNG = np.random.default_rng(5)


def along_columns(x):
    """Each step works on a column."""
    y = x * 2.0
    for j in range(1, x.shape[1]):
        for i in range(x.shape[0] - 1):
            y[i, j] = y[i + 1, j - 1] * np.cos(x[i, j])
    return np.sum(y * y)


def returned(x):
    y = x * 2.0
    for j in range(1, x.shape[1]):
        for i in range(x.shape[0] - 1):
            y[i, j] = y[i + 1, j - 1] * np.cos(x[i, j])
    return y


def multiplied(x):
    return np.sum(np.sin(returned(x) @ x))


def looked_at(x):
    y = returned(x)
    if y[0, 1] > 100.0:
        return np.sum(y)
    return np.sum(y * y)


def handed_on(x):
    """The names change places: both have the other's layout."""
    u, new = x * 1.0, np.zeros(x.shape)
    for _ in range(3):
        for j in range(x.shape[1]):
            for i in range(1, x.shape[0] - 1):
                new[i, j] = u[i - 1, j] * 0.5 + np.sin(u[i + 1, j])
        u, new = new, u
    return np.sum(u * u)


def by_rows_too(x, w):
    """Threads of a row go through it side by side: a row is a row."""
    n, d = x.shape
    t = np.empty((n, d))
    for i in range(n):
        t[i] = np.sin(x[i] * w)
        t[i] = t[i] / np.sum(t[i])
    for i in range(n):
        t[i] = t[i] * np.max(t[i])
    return np.sum(t * t)


X = RNG.uniform(0.2, 1.4, (6, 5))
MIXTURE = PROGRAMS["gmm_loops"]
TURNED = {  # and what is to be seen of it in the text of the gradient
    along_columns: ((X,), "y = empty((x.shape[1], x.shape[0])"),
    looked_at: ((X,), "y[1, 0]"),
    MIXTURE.primal: (MIXTURE.arguments((5, 3, 20)), "scaled_rows_rows[i, a, j]"),
}
AS_IT_WAS = {
    returned: (X, RNG.uniform(size=X.shape)),
    multiplied: (RNG.uniform(0.2, 1.4, (5, 5)),),
    handed_on: (X,),
    by_rows_too: (X, RNG.uniform(size=5)),
}
RETURNS_AN_ARRAY = (returned,)


@pytest.mark.parametrize("f", TURNED, ids=lambda f: f.__name__)
def test_what_is_turned(f: Callable[..., Any]) -> None:
    args, seen = TURNED[f]
    assert seen in grad(f, target="cuda").source(*args, kind="backward")


@pytest.mark.parametrize("f", AS_IT_WAS, ids=lambda f: f.__name__)
def test_what_others_see_is_not(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    args = AS_IT_WAS[f][:1] if f in RETURNS_AN_ARRAY else AS_IT_WAS[f]
    texts = [grad(f, target="cuda").source(*args, kind="value_and_backward")]
    monkeypatch.setattr(order, "_left_out", {"threads_along_rows"})
    texts.append(grad(f, target="cuda").source(*args, kind="value_and_backward"))
    if f is returned:
        assert all("y[i, j]" in text for text in texts)  # its cotangent may be turned
    else:
        assert texts[0] == texts[1]


@pytest.mark.parametrize("f", [*TURNED, *AS_IT_WAS], ids=lambda f: f.__name__)
def test_values_and_derivatives(f: Callable[..., Any]) -> None:
    args, v = (TURNED[f][0] if f in TURNED else AS_IT_WAS[f]), ()
    if f in RETURNS_AN_ARRAY:
        args, v = args[:1], args[1:]
    plain, mine = grad(f, jit=False), grad(f, target="cuda")
    want = plain.value_and_backward(*fresh(args), *v)
    assert_close(mine.value_and_backward(*fresh(args), *v), want, 1e-10, "value and cotangents")
    value, pullback = mine.vjp(*fresh(args))
    assert_close((value, pullback(*(v or (1.0,)))), want, 1e-10, "vjp")
