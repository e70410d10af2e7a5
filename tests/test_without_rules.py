"""NumPy's functions without a rule: they run as they are where no derivative goes, and what they make is kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.stats
from numba import njit
from scipy.spatial.transform import Rotation

from srcgrad import RuntimeUnsupportedError, UnsupportedError, grad, stop_gradient
from srcgrad.runtime import interpreted
from srcgrad.testing import check_grad

X = np.array([0.51, 1.2, -0.3, 0.7, 0.9])


def straight(x):
    return (x * np.hamming(len(x))) ** 2


def in_a_loop(x):
    w = np.hamming(len(x))
    y = x * 1.0
    for _ in range(3):
        y = np.sin(y * w)
    return y


def in_a_branch(x):
    w = np.hamming(len(x))
    return x * w * x if x[0] > 0 else x * 2


def by_element(x):
    w = np.hamming(len(x))
    return np.sin(x * w[1]) * w.sum()


def of_its_length(x):
    return np.hamming(len(x)) * x * x


@pytest.mark.parametrize(
    ("function", "jit"),
    [*((f, False) for f in (straight, in_a_loop, in_a_branch, by_element, of_its_length)), (in_a_loop, True)],
)
def test_what_they_make_is_kept(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    y, v = function(X), np.linspace(1.0, 2.0, len(X))
    expected = f.backward(X, v)
    again, pullback = f.vjp(X)
    for found in (pullback(v), pullback(v), f.value_and_backward(X, v)[1]):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_allclose(again, y, rtol=1e-14)
    check_grad(f, X)


def test_v_is_compared_with_the_length_of_what_they_make() -> None:
    with pytest.raises(ValueError, match="has shape \\(9,\\), but the output has shape \\(5,\\)"):
        grad(of_its_length, jit=False).backward(X, np.ones(9))


@pytest.mark.parametrize("draw", [lambda x: x * scipy.stats.norm.rvs(0, 1), lambda x: x * scipy.stats.norm(0, 1).rvs()])
def test_what_draws_random_numbers_is_not_evaluated_ahead(draw: Callable[..., Any]) -> None:
    """What it drew would be the same number in every call."""
    with pytest.raises(UnsupportedError, match="rvs does something else each time"):
        grad(draw, jit=False)(1.0)


def by_a_view(x, w):
    return x * np.asarray_chkfinite(w) * x


def test_a_pullback_keeps_its_own() -> None:
    w = np.arange(5.0)
    _, pullback = grad(by_a_view, wrt="x", jit=False).vjp(X, w)
    w[:] = 100.0
    np.testing.assert_allclose(pullback(np.ones(5)), 2 * X * np.arange(5.0))


SERIES = np.polynomial.Chebyshev([1.0, 2.0])

REFUSED: dict[str, Callable[..., Any]] = {
    "np.ma.masked_where": lambda x, k: np.ma.masked_where(x < 0, x).sum(),
    "np.ma.masked_invalid": lambda x, k: (x * np.ma.masked_invalid(k)).sum(),
    "np.ma.log": lambda x, k: np.ma.log(k).sum() * x,
    "np.ma.array": lambda x, k: x * np.ma.array([1.0, 2.0], mask=[0, 1]).sum(),
    "np.ma.MaskedArray": lambda x, k: np.ma.MaskedArray(x).sum(),
    "np.asmatrix": lambda x, k: x * np.asmatrix(k).sum(),
    "np.asmatrix makes a matrix": lambda x, k: x * np.asmatrix([1.0, 2.0]).sum(),
    "np.rec.array": lambda x, k: x * np.rec.array(k).sum(),
    "Chebyshev": lambda x, k: SERIES(x),
    "HermiteE": lambda x, k: np.polynomial.HermiteE(x)(k),
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_plain_array_is_refused(what: str, jit: bool) -> None:
    with pytest.raises(UnsupportedError) as caught:
        grad(REFUSED[what], wrt="x", jit=jit)(X, X * 2)
    assert what in str(caught.value) and "test_without_rules.py" in str(caught.value) and "^" in str(caught.value)


def viewed_before_loops_are_merged(x):
    doubled = X * 2.0
    found = np.union1d(doubled, doubled)
    column = found[:, None]
    tripled = X * 3.0
    room = np.ones(found.size)
    return (column * x).sum(0) + tripled * x * room.sum()


def test_what_is_made_of_it_stays_behind_it() -> None:
    """The loops of `doubled` and `tripled` become one: the view, and what is as long, were ahead of the call then."""
    f = grad(viewed_before_loops_are_merged, jit=False)
    np.testing.assert_allclose(f(X), viewed_before_loops_are_merged(X))


def at_free_places(x, fixed=(1, 3)):
    free = np.setdiff1d(np.arange(len(x)), fixed)
    return np.outer(x, x)[np.ix_(free, free)].sum() + np.delete(x, fixed).prod()


def test_tuples_of_numbers_among_the_arguments() -> None:
    check_grad(grad(at_free_places, jit=False), X)


def turned(x):
    return Rotation.from_rotvec(x[:3]).apply(x[:3])


@pytest.mark.parametrize(
    "function, name, instead",
    [
        (lambda x: scipy.sparse.diags([x], [0]) @ x, "scipy.sparse.diags", "solve_banded"),
        (lambda x: scipy.sparse.csr_matrix(np.diag(x)) @ x, "scipy.sparse.csr_matrix", "hand it in"),
        (turned, "scipy.spatial.transform.Rotation.from_rotvec", "np.sin(angle) * k"),
        (lambda x: {i: x * t for i, t in enumerate(x)}[0], "the keys of a dict", "that f reads from outside"),
    ],
)
def test_what_to_write_instead(function: Callable[..., Any], name: str, instead: str) -> None:
    with pytest.raises(UnsupportedError, match=f"^{re.escape(name)}") as caught:
        grad(function, jit=False)(X)
    assert instead in str(caught.value).splitlines()[-1]


# ------------------------------------------------------------------------------------- what Numba does not know


def of_ranks(x, k):
    ranks = scipy.stats.rankdata(a=stop_gradient(x))
    bits = np.packbits(x > 0.6)
    peaks = scipy.ndimage.maximum_filter(k, 3, mode="nearest")
    return np.sin(x) * ranks * bits[0] + peaks * x**2 * np.bitwise_count(bits)[0]


@pytest.mark.parametrize("jit", [False, True])
def test_what_the_interpreter_runs(jit: bool) -> None:
    f = grad(of_ranks, wrt="x", jit=jit)
    for x in (X, X[::-1].astype(np.float32)):
        value, expected = f(x, x), of_ranks(x, x)
        np.testing.assert_allclose(value, expected, rtol=1e-6 if x is not X else 1e-15)
        assert value.dtype == expected.dtype
    check_grad(f, X, X)


def resampled(x, n):
    return scipy.signal.resample(np.linspace(1.0, 2.0, len(x)), n)[0] * x


def test_its_errors_are_scipys() -> None:
    f = grad(resampled)
    np.testing.assert_allclose(f(X, 3), resampled(X, 3), rtol=1e-14)
    with pytest.raises(ValueError, match="invalid number of data points"):
        f(X, -1)


def test_what_a_derivative_goes_through_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="scipy.stats.rankdata has no derivative rule") as caught:
        grad(lambda x: x * scipy.stats.rankdata(x), jit=False).backward(X, X)
    assert "stop_gradient(x)" in str(caught.value)


def surprising(x):
    return np.zeros(1) if np.all(x == x[:1]) else np.zeros((2, 2))


def test_a_result_of_another_type_is_not_read_as_the_one_that_was_expected() -> None:
    stand_in = interpreted._stand_in("surprising", surprising)
    with pytest.raises(RuntimeUnsupportedError, match="of which type the result of surprising is"):
        njit(lambda x: stand_in(x))(X)
