"""Order, running results and look-ups at the points where a convention decides, and what they refuse."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from support import check_value_and_grad

import srcgrad
from srcgrad import UnsupportedError, grad
from srcgrad.runtime.order import FEW, FEW_TO_SORT, argsort, order_by_digits, order_by_words
from srcgrad.testing import check_grad

pytestmark = pytest.mark.filterwarnings("ignore")
NAN = np.nan


def gradient(function: Callable[..., Any], *values: Any) -> list[Any]:
    args = [np.array(value, float) for value in values]
    return np.asarray(grad(function, jit=False).backward(*args)).tolist()


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lambda x: np.sum(np.cumprod(x)), [2, 0, 3, 0, 1], [1, 8, 0, 0, 0]),
        (lambda x: np.cumprod(x)[-1], [2, 0, 3], [0, 6, 0]),
        (lambda x: np.maximum.accumulate(x)[-1], [1, 3, 3], [0, 0.5, 0.5]),
        (lambda x: np.sort(x)[0], [2, 1, 1], [0, 1, 0]),  # ties in the order of their places
        (lambda x: np.sort(x)[-1], [2, 1, 2], [0, 0, 1]),
        (lambda x: np.median(x), [1, 1, 2], [0, 1, 0]),
        (lambda x: np.median(x), [1, NAN, 2], [0, 1, 0]),  # the median is nan: it is that element
        (lambda x: np.nanmedian(x), [1, NAN, 2], [0.5, 0, 0.5]),
        (lambda x: np.nanmedian(x), [np.inf, -np.inf, 0, NAN, 3, np.inf], [0, 0, 0, 0, 1, 0]),
        (lambda x: np.quantile(x, 0.25), [0, 1, 2, 3, 4], [0, 1, 0, 0, 0]),
        (lambda x: np.std(x), [2, 2, 2], [0, 0, 0]),
        (lambda x: np.nanstd(x), [2, NAN, 2], [0, 0, 0]),
        (lambda x: np.std(x, axis=0).sum(), [[2, 1], [2, 3]], [[0, -0.5], [0, 0.5]]),
        (lambda x: np.var(x, axis=()).sum(), [1, 2], [0, 0]),
        (lambda x: np.max(x, initial=1.0), [1, 0], [0.5, 0]),  # a tie with what is not active
        (lambda x: np.max(x, initial=2.0), [1, 0], [0, 0]),
        (lambda x: np.nanmax(x), [1, NAN, 1], [0.5, 0, 0.5]),
        (lambda x: np.nan_to_num(x).sum(), [1, NAN, np.inf], [1, 0, 0]),
        (lambda x: np.unique(x).sum(), [1, 2, 1], [1, 1, 0]),
        (lambda x: np.logaddexp.reduce(x), [-np.inf, 0], [0, 1]),
    ],
)  # fmt: skip
def test_convention(function: Callable[..., Any], x: Any, expected: Any) -> None:
    np.testing.assert_array_equal(gradient(function, x), expected)


@pytest.mark.parametrize(("x", "slope"), [(-0.5, 0), (0.0, 1), (0.5, 1), (1.0, 3), (2.0, 3), (2.5, 0)])
def test_interp_at_its_points(x: float, slope: float) -> None:
    def f(x):
        return np.interp(x, np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0]))

    assert gradient(f, x) == slope


def test_interp_of_one_point() -> None:
    f = grad(lambda x, y: np.interp(x, np.array([1.0]), y), jit=False)
    assert np.concatenate([np.ravel(part) for part in f.backward(1.0, np.array([3.0]))]).tolist() == [0, 1]


def interp_of_numbers(x, xp, fp):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = np.interp(x[i], xp, fp)
    return out


INTERPS = [
    lambda x, xp, fp: np.interp(x, xp, fp),
    lambda x, xp, fp: np.interp(x, xp, fp, left=-1.5, right=7.0),
    interp_of_numbers,
]


@pytest.mark.parametrize("function", INTERPS)
def test_interp_where_points_are_repeated(function: Callable[..., Any]) -> None:
    rng, f = np.random.default_rng(0), grad(function, jit=False)
    for n in (1, 2, 3, 6, 13, 25):
        xp = np.sort(rng.integers(0, n // 2 + 1, n) / 2.0)
        if function is interp_of_numbers and n > 3:
            xp = rng.permutation(xp)  # NumPy looks among these as it does among others
        fp, x = rng.normal(size=n), np.concatenate([xp, rng.normal(size=4) * n, [np.nan]])
        np.testing.assert_allclose(f(x, xp, fp), function(x, xp, fp), rtol=1e-13, atol=1e-14)
        v = np.append(rng.normal(size=len(x) - 1), 0.0)
        _, _, slopes = f.backward(x, xp, fp, v)
        alone = np.array([function(x, xp, part) - function(x, xp, 0.0 * part) for part in np.eye(n)])
        np.testing.assert_allclose(slopes, np.nan_to_num(alone) @ v, atol=1e-13)


def test_interp_of_an_array_among_points_in_no_order() -> None:
    """What NumPy makes of a number goes by the one before it."""
    with pytest.raises(ValueError, match="needs xp to be increasing"):
        grad(INTERPS[0], jit=False)(np.array([0.5, 1.5]), np.array([0.0, 2.0, 1.0]), np.ones(3))
    assert grad(INTERPS[0], jit=False)(np.zeros(0), np.array([0.0, 2.0, 1.0]), np.ones(3)).shape == (0,)


@pytest.mark.parametrize("function", INTERPS)
def test_interp_of_small_integers_and_beside_nan(function: Callable[..., Any]) -> None:
    f, x = grad(function, wrt="x", jit=False), np.array([50.0, 150.0])
    xp, fp = np.array([0, 100, 200], np.uint8), np.array([200, 100, 0], np.uint8)
    np.testing.assert_array_equal(f(x, xp, fp), function(x, xp, fp))
    np.testing.assert_array_equal(f.backward(x, xp, fp, np.ones(2)), [-1.0, -1.0])
    with_nan = np.array([0.0, 100.0, np.nan])
    if function is interp_of_numbers:
        np.testing.assert_array_equal(f(x, with_nan, fp), function(x, with_nan, fp))


@pytest.mark.parametrize("function", INTERPS)
def test_interp_beside_infinities_and_of_float32(function: Callable[..., Any]) -> None:
    f, inf = grad(function, jit=False), np.inf
    x = np.array([-1.0, 0.0, 0.3, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, inf, -inf])
    points = [0.0, 1.0, 2.0, 3.0], [-inf, 0.0, 1.0, inf], [0.0, 1.0, inf, inf], [-inf, -inf, 0.0, 1.0]
    heights = [0.0, inf, 1.0, 2.0], [inf, inf, 1.0, -inf], [0.0, inf, -inf, 2.0], [3.0, 1.0, 2.0, 5.0], [2.0] * 4
    for xp, fp in itertools.product(map(np.array, points), map(np.array, heights)):
        np.testing.assert_array_equal(f(x, xp, fp), function(x, xp, fp), err_msg=str((xp, fp)))
    _, xp_b, fp_b = f.backward(x[1:3], np.array(points[0]), np.array([1.0, 3.0, inf, inf]), np.ones(2))
    np.testing.assert_allclose(fp_b, [1.7, 0.3, 0, 0])
    np.testing.assert_allclose(xp_b, [-3.4, -0.6, 0, 0])
    _, _, fp_b = f.backward(x[5:7], np.array(points[1]), np.array(heights[3]), np.ones(2))  # beyond the last but inf
    np.testing.assert_array_equal(fp_b, [0, 0, 2, 0])
    xp, fp = np.sort(np.random.default_rng(1).normal(size=(2, 7)).astype(np.float32))
    np.testing.assert_array_equal(f(xp, xp, fp), fp.astype(float))  # and at its last point: all digits of it
    between = (xp[1:] + xp[:-1]) / 2
    np.testing.assert_allclose(f(between, xp, fp), function(between, xp, fp), rtol=1e-14)


@pytest.mark.parametrize("items", [sorted, lambda x: sorted([x[0], x[1], x[2]])])
def test_nan_is_sorted_to_the_end_of_a_list(items: Callable[..., Any]) -> None:
    f = grad(lambda x: np.array(items(x)), jit=False)
    np.testing.assert_array_equal(f(np.array([1.0, NAN, 0.5])), [0.5, 1.0, NAN])
    np.testing.assert_array_equal(f.backward(np.array([1.0, NAN, 0.5]), np.array([2.0, 3.0, 0.0])), [3.0, 0.0, 2.0])


def doses_in_their_order(x, y):
    level = 0.0
    for time, amount, kind in sorted([(x[0], y[0], 2), (x[1], y[1], 1), (x[2], y[2], 3)]):
        level = level * np.exp(-time) + kind * amount
    return level


def corners_in_their_order(x, y):
    corners = [(x[0], y[0]), (x[1], y[1]), (x[2], y[2])]
    corners.sort(reverse=True)
    return sum((a - c) * (b + d) for (a, b), (c, d) in zip(corners, corners[1:], strict=False))


def lists_in_their_order(x, y):
    corners = [[x[0], y[0]], [x[1], y[1]], [x[2], 0.5]]
    (a, b), (c, _), (_, d) = sorted(corners)
    return a * b * c + d


def test_lists_of_other_lengths_are_not_compared() -> None:
    def smallest(x):
        return sorted([[x[0], 1], [x[1]]])[0][0]

    with pytest.raises(UnsupportedError, match="items or keys that are lists of several lengths"):
        grad(smallest)(np.ones(2))


def by_stamps_with_many_digits(x, y):
    stamps = sorted([(1_700_000_000_000_000_001, x[0]), (1_700_000_000_000_000_000, x[1]), (2**60, x[2])], reverse=True)
    return sum(k * v * y[k] for k, (_, v) in enumerate(stamps))


SORTED = [doses_in_their_order, corners_in_their_order, by_stamps_with_many_digits, lists_in_their_order]


@pytest.mark.parametrize("function", SORTED)
@pytest.mark.parametrize("x", [(0.5, 0.3, 0.9), (0.5, 0.5, 0.3)])
def test_tuples_of_numbers_are_sorted(function: Callable[..., Any], x: Any) -> None:
    """Where the first ones are equal, the second ones decide."""
    args = np.array(x), np.array([0.4, 1.3, 0.7])
    f = grad(function, wrt="y", jit=False)
    check_value_and_grad(f, *args, rtol=1e-14)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sort", "argsort", "diff"])
def test_nothing_at_all(name: str) -> None:
    function = getattr(np, name)
    f = grad(lambda x: np.sum(function(x) * 1.0), jit=False)
    assert f(np.ones(0)) == 0
    assert f.backward(np.ones(0)).shape == (0,)
    table = grad(lambda x: np.sum(function(x, axis=0) * 1.0), jit=False)
    assert table.backward(np.ones((0, 3))).shape == (0, 3)
    assert table.backward(np.ones((3, 0))).shape == (3, 0)


NORMS_OF_NOTHING = np.lib.NumpyVersion(np.__version__) >= "2.3.0"  # an error before


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.median(x),
        lambda x: np.median(x.reshape(0, 3), axis=0, keepdims=True),
        lambda x: np.histogram(x, bins=3, weights=x)[0],
        lambda x: np.histogram_bin_edges(x, bins=2) + np.sum(x),
        lambda x: np.partition(x, 0),
        *[
            pytest.param(norm, marks=pytest.mark.skipif(not NORMS_OF_NOTHING, reason="this NumPy has no such norm"))
            for norm in (
                lambda x: np.linalg.norm(x, np.inf),
                lambda x: np.linalg.norm(x.reshape(3, 0), 1),
                lambda x: np.linalg.norm(x.reshape(0, 3), 2),
            )
        ],
    ],
)
def test_what_numpy_makes_of_nothing(function: Callable[..., Any]) -> None:
    f, want = grad(function, jit=False), function(np.ones(0))
    np.testing.assert_array_equal(f(np.ones(0)), want, strict=True)
    assert f.backward(np.ones(0), np.ones_like(want)).shape == (0,)


@pytest.mark.parametrize("bins", [1, 3, 10, 97])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_histograms_count_as_numpy_does(dtype: Any, bins: int) -> None:
    """In which of equal bins a number is, is computed; edges are rounded, and numbers lie on them."""
    rng = np.random.default_rng(bins)
    ranged = lambda a, w: np.histogram(a, bins, (-0.3, 0.7), weights=w)
    w = rng.normal(size=300).astype(dtype)
    spoilt = rng.normal(size=300)
    spoilt[::7] = np.nan
    for a in (rng.normal(size=300), np.linspace(-0.3, 0.7, 300), rng.integers(-3, 8, 300) / 10, spoilt):
        a = a.astype(dtype)
        wanted = [ranged, *([] if np.isnan(a).any() else [lambda a, w: np.histogram(a, bins, weights=w)])]
        for function in wanted:
            totals, edges = grad(function, jit=False)(a, w)
            np.testing.assert_array_equal(edges, function(a, w)[1])
            np.testing.assert_allclose(totals, function(a, w)[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="is not finite"):
        grad(lambda a, w: np.histogram(a, bins, weights=w)[0], jit=False)(spoilt, w)


def test_no_degrees_of_freedom_are_nan_in_out() -> None:
    def f(x):
        out = np.zeros(2)
        np.nanvar(x, axis=0, ddof=1, out=out)
        return out

    x = np.array([[1.0, 2.0], [NAN, 4.0]])
    np.testing.assert_array_equal(grad(f, jit=False)(x), [NAN, 2.0])
    np.testing.assert_array_equal(grad(f, jit=False).backward(x, np.ones(2)), [[0.0, -2.0], [0.0, 2.0]])


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: np.quantile(x, 1.5), ValueError, r"range \[0, 1\]"),
        (lambda x: np.percentile(x, [10, 101]).sum(), ValueError, r"range \[0, 100\]"),
        (lambda x: np.quantile(x, 0.5, method="best"), srcgrad.ValueArgumentError, "best is not a valid method"),
        (lambda x: np.diff(x, axis=2), srcgrad.ArgumentError, "axis 2 is out of bounds"),
        (lambda x: np.cumsum(x, axis=2), srcgrad.ArgumentError, "axis 2 is out of bounds"),
        (lambda x: np.sort(x, axis=2), srcgrad.ArgumentError, "axis 2 is out of bounds"),
        (lambda x: np.max(x, where=x > 0), srcgrad.ArgumentError, "'initial'"),
        (lambda x: np.std(x, where=x > 0), srcgrad.ArgumentError, "where"),
        (lambda x: np.average(x, weights=x * 0), ZeroDivisionError, "sum to zero"),
        (lambda x: np.bincount(np.array([0, -1, 1]), x).sum(), ValueError, "no negative elements"),
        (lambda x: x[np.nanargmax(x * NAN)], ValueError, "All-NaN"),
        (lambda x: np.gradient(x[:2], edge_order=2).sum(), ValueError, "too small"),
        (lambda x: np.convolve(x, x, "some").sum(), srcgrad.ValueArgumentError, "mode must be"),
        (lambda x: np.searchsorted(x, x, side="top"), srcgrad.SrcgradError, "side must be"),
        (lambda x: np.partition(x, 3)[0], ValueError, r"kth\(=3\) out of bounds \(3\)"),
        (lambda x: x[np.argpartition(x, (0, -4))].sum(), ValueError, r"kth\(=-4\) out of bounds \(3\)"),
        (lambda x: np.pad(x[:0], 2, mode="edge").sum(), ValueError, "can't extend empty axis 0"),
    ],
)
def test_refused(function: Callable[..., Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        grad(function, jit=False).backward(np.array([0.3, 0.1, 0.7]))


def test_the_order_carries_no_derivative() -> None:
    assert gradient(lambda x: np.sum(np.argsort(x) * 1.0), [0.3, 0.1]) == [0, 0]


def test_a_running_sum_keeps_nothing() -> None:
    text = grad(lambda x: np.cumsum(x * 2.0)).source(np.ones(3))
    assert "kept" not in text and "result = " not in text


@pytest.mark.parametrize("jit", [False, True])
def test_elements_as_arrays_of_no_axes(jit: bool) -> None:
    def f(x):
        y = x * 2
        first, last = y[..., 0], x[..., -1]
        first[...] = first + last
        y[1] = 3 * first
        return y

    g = grad(f, jit=jit)
    x = np.array([0.5, 0.2, 0.7])
    np.testing.assert_allclose(g(x), f(x))
    assert g.backward(x, np.ones(3)).tolist() == [8, 0, 6]


def test_the_compiled_order_is_stable() -> None:
    rng = np.random.default_rng(0)
    compiled = numba.njit(lambda order, x: argsort(order, x))  # noqa: PLW0108
    for n in (5, FEW_TO_SORT - 1, FEW_TO_SORT, FEW, 3000):
        x = rng.normal(size=n) * 10.0 ** rng.integers(-200, 200, n)
        for part, value in enumerate((NAN, 0.0, -0.0, np.inf, -np.inf, 1.5)):
            x[rng.integers(0, n, n // 10 + part % 2)] = value
        close = np.where(x > 0, -1e300, 1 + 1e-13 * rng.integers(0, 99, n))  # what tells them apart is far down
        for given in (x, close, np.where(rng.random(n) < 0.1, close, x), x.astype(np.float32)):
            order = np.empty(n, np.int64)
            compiled(order, given)
            assert np.array_equal(order, np.argsort(given, kind="stable"))


@pytest.mark.parametrize("order_of", [order_by_words, order_by_digits])
def test_the_order_of_whole_numbers(order_of: Any) -> None:
    compiled = numba.njit(lambda order, keys: order_of(order, keys))  # noqa: PLW0108
    top, n = np.uint64(1 << 63), 300
    keys = np.random.default_rng(1).integers(0, 1 << 64, n, np.uint64)
    for given in (keys, keys >> 60, keys << 60, keys % 3, keys * 0, keys % 50 + top * (keys > top), keys % 9 << 40):
        order = np.empty(n, np.int64)
        compiled(order, given)
        assert np.array_equal(order, np.argsort(given, kind="stable"))


@pytest.mark.parametrize("kind", ["float64", "int8"])
def test_values_are_sorted_without_their_order(kind: str) -> None:
    f = grad(lambda x: np.sort(x))  # noqa: PLW0108
    x = np.random.default_rng(2).integers(-50, 50, (7, 90)).astype(kind)
    if kind.startswith("float"):
        x[x > 40] = NAN
    for given in (x, x[:, ::3], x[:, :0], x.T, -x[::-1]):
        np.testing.assert_array_equal(f(given), np.sort(given), strict=True)
    text = f.source(x, kind="primal")
    assert "sort_rows(" in text and "argsort" not in text


SOME_OF_THEM = [
    lambda x: x[np.argsort(x)[:3]],
    lambda x: x[np.argsort(x, kind="stable")][:4],
    lambda x: x[np.argsort(x, kind="stable")],
    lambda x: np.sort(x.reshape(4, -1), axis=0, kind="stable")[1:],
]


@pytest.mark.parametrize("function", SOME_OF_THEM)
def test_a_part_of_an_order_and_zeros_of_both_signs(function: Callable[..., Any]) -> None:
    for x in (np.random.default_rng(0).random(20), np.array([0.0, -0.0, np.nan, 1.0, -1.0, -np.nan] * 10)):
        for f in (grad(function), grad(function, jit=False)):
            np.testing.assert_array_equal(f(x), function(x))
            np.testing.assert_array_equal(np.signbit(f(x)), np.signbit(function(x)))


def test_an_order_that_is_needed_is_found() -> None:
    x = np.array([2.0, 1.0, 1.0, 0.5])
    box = np.random.default_rng(3).random((3, 4, 5))
    for axis in (0, 1, 2, None):
        f = grad(lambda x, axis=axis: np.sort(x * 2.0, axis), jit=False)
        assert "argsort(" not in f.source(box, kind="primal")
        np.testing.assert_array_equal(f(box), np.sort(box * 2.0, axis))
    for function, is_needed in (
        (lambda x: np.median(x) + np.unique(x)[0], False),
        (lambda x: np.unique(x, return_index=True), True),
        (lambda x: x[np.argsort(x)] * np.argsort(x)[0], True),
        (lambda x: x[::-1][np.argsort(x)], True),
        (lambda x: (x * x)[np.argsort(x)], True),
        (lambda x: x[np.argsort(x)[::-1]], True),
    ):
        f = grad(function, jit=False)
        assert ("argsort(" in f.source(x, kind="primal")) == is_needed
        for got, want in zip(np.atleast_1d(f(x)), np.atleast_1d(function(x)), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "uint32"])
def test_bins_of_small_integers(kind: str) -> None:
    bins, x = np.array([3, 1, 100, 3], kind), np.array([0.5, 1.5, 2.5, 3.5])
    f = grad(lambda x, bins: np.bincount(bins, x) * np.bincount(bins, minlength=5), jit=False)
    np.testing.assert_array_equal(f(x, bins), f.py_func(x, bins))
    np.testing.assert_array_equal(f.backward(x, bins, np.arange(101.0)), [6.0, 1.0, 100.0, 6.0])


TABLES = [
    np.array([]), np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.1, np.nan, np.nan]), np.array([1, 2, 3]),
    np.array([0.1, 0.2, 0.3], np.float32), np.array([False, True]), np.array([1, 2, 3], np.uint8),
]  # fmt: skip
NUMBERS = (0.1, 0.5, np.nan, 2, True, np.float32(0.1), np.float64(0.3), -np.inf, np.inf, np.int8(2), np.array(0.5))


@pytest.mark.parametrize("table", TABLES)
def test_a_number_is_looked_for_where_it_stands(table: np.ndarray) -> None:
    left, right = (lambda a, x: np.searchsorted(a, x)), (lambda a, x: a.searchsorted(x, "right"))
    for f in (left, right):
        made = grad(f, jit=False)
        for x in NUMBERS:
            got, want = made(table, x), f(table, x)
            assert got == want and type(got) is type(want), (x, got, want)


def between_knots(x, knots, heights):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        k = np.searchsorted(knots, x[i])
        if 0 < k < knots.shape[0]:
            out[i] = (x[i] - knots[k - 1]) * (knots[k] - x[i]) + np.interp(x[i], knots, heights) ** 2
    return out


@pytest.mark.parametrize("jit", [False, True])
def test_numbers_that_are_looked_for_in_a_loop(jit: bool) -> None:
    rng = np.random.default_rng(5)
    knots = np.sort(rng.random(9))
    check_grad(grad(between_knots, jit=jit), 1.3 * rng.random(12) - 0.1, knots, rng.random(9))
    text = grad(between_knots, target="cuda").source(knots, knots, knots, knots)
    host = text[text.index("def between_knots_backward(") :]
    assert "search_left" not in text and "for i in" not in host and "fetch" not in host


def left_and_one_sided(i, j):
    return np.setdiff1d(i, j), np.setdiff1d(i, j, True), np.setxor1d(i, j), np.setxor1d(i, j, assume_unique=True)


def test_sets_of_numbers_are_those_of_numpy() -> None:
    """They are compositions: Numba takes seconds to compile its own."""
    kinds = (np.float64, np.float32, np.int64, np.int32)
    found = [np.array(v, kind) for kind in kinds for v in ([], [3, 1, 1, 0, 2, 5, 0], [0, 1, 3, 2, 0], [0])]
    found += [np.array([NAN, 1, NAN, 2, 0]), np.arange(6.0).reshape(2, 3), np.array([True, False, True])]
    f = grad(left_and_one_sided, jit=False)
    for i, j in itertools.product(found, found):
        for got, expected in zip(f(i, j), left_and_one_sided(i, j), strict=True):
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype
    assert "np.set" not in f.source(found[0], found[0], kind="primal")
