"""Tables that are looked up, counted and filled."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgrad.rules.compositions.registry import constant_integer, means


@means(np.searchsorted, method="searchsorted")
def searchsorted(a, v, side="left", sorter=None):
    """Where v belongs in sorted `a`, without a derivative; a number is looked for in the place of the call."""
    a = np.asarray(a)
    is_plain = a.ndim == 1 and a.dtype.kind in "biuf" and np.asarray(v).dtype.kind in "biuf"
    if np.ndim(v) > 0 or sorter is not None or side not in ("left", "right") or not is_plain:
        return places_in(a, v, side, sorter)
    return place_in(a, np.asarray(v)[()], side == "right")


def places_in(a: Any, v: Any, side: str, sorter: Any) -> Any:
    """np.searchsorted, by a routine (a rule of `frontend.numpy.order`)."""


def place_in(a, v, behind):
    """By halves; nan is beyond all numbers."""
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        other = a[middle]
        if not (v < other or (other != other and v == v)) if behind else other < v or (v != v and other == other):
            low = middle + 1
        else:
            high = middle
    return np.int64(low)


@means(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    """Straight lines between points; at a point the slope is that to the right of it (at the last, to the left)."""
    xp, fp = np.asarray(xp), np.asarray(fp)
    if len(xp) == 0:
        raise ValueError("array of sample points is empty")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    if period is None:
        if (
            np.ndim(x) > 0 and np.size(x) > 0 and np.any(xp[1:] < xp[:-1])
        ):  # of these NumPy makes what the order of x says
            raise ValueError("np.interp of an array needs xp to be increasing: sort xp, and fp with it, first")
        return interpolated(np.asarray(x)[()], xp, fp, left, right)
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    x, xp = np.asarray(x)[()] % period, xp % period
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate([xp[-1:] - period, xp, xp[0:1] + period])
    fp = np.concatenate([fp[-1:], fp, fp[0:1]])
    return interpolated(x, xp, fp, None, None)


def interpolated(x, xp, fp, left, right):
    x = x + np.float64(0)
    n = len(xp)
    place = last_up_to(xp, x) if np.ndim(x) == 0 else np.searchsorted(xp, x, side="right") - 1
    low = np.clip(place, 0, max(n - 2, 0))
    high = np.minimum(low + 1, n - 1)
    width = wide(xp[high]) - wide(xp[low])
    rise = wide(fp[high]) - wide(fp[low])
    slope = rise / np.where(width == 0, np.inf, width)
    near = np.where(place < n - 1, low, high)
    lost = np.isnan(slope * (x - xp[near]) + fp[near])  # beside inf: NumPy tries from the other end then
    level = lost & ((x == xp[near]) | (fp[low] == fp[high]))
    near = np.where(lost & ~level, high, near)
    inside = np.where(level, 0, slope * (x - xp[near])) + fp[near]
    below = np.where(x < xp[0], fp[0] if left is None else left, inside)
    result = np.where(x > xp[-1], fp[-1] if right is None else right, below)
    return np.where(np.isnan(x) & (n > 1), x, result)  # of one point NumPy asks whether x is below or above


def wide(a):
    """Of 64 bits, as NumPy computes: differences of small integers would wrap, those of float32 lose digits."""
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def last_up_to(xp, x):
    """The place of the last one that is not greater, as NumPy looks for it also where xp is in no order."""
    n = len(xp)
    low = 1
    while low < min(n, 4) and (x >= xp[low] if n <= 4 else not x < xp[low]):
        low += 1
    high = low
    if n > 4 and low == 4:
        low, high = 3, (9 if n > 10 and x < xp[9] else n)
    while low < high:
        middle = (low + high) // 2
        if x >= xp[middle]:
            low = middle + 1
        else:
            high = middle
    return low - 1


@means(np.digitize)
def digitize(x, bins, right=False):
    bins = np.asarray(bins)
    if bins.ndim != 1:
        raise ValueError("object too deep for desired array")
    steps = np.diff(bins)
    if not (np.all(steps >= 0) or np.all(steps <= 0)):
        raise ValueError("bins must be monotonically increasing or decreasing")
    upward = len(bins) < 2 or bins[-1] >= bins[0]
    rising = np.sort(bins)
    below, up_to = np.searchsorted(rising, x, side="left"), np.searchsorted(rising, x, side="right")
    return np.where(upward, below, len(bins) - below) if right else np.where(upward, up_to, len(bins) - up_to)


BEYOND_ALL = 2**63 - 1  # no index of an array is as large


@means(np.bincount)
def bincount(x, weights=None, minlength=0):
    x = np.asarray(x)
    if x.dtype.kind == "f":
        raise TypeError("Cannot cast array data from dtype('float64') to dtype('int64') according to the rule 'safe'")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    n: Any = np.int64(0)  # one number says both how long the result is, and whether it can be made
    for k in x.astype(np.int64):
        n = max(n, k + 1 if k >= 0 else BEYOND_ALL)
    if n == BEYOND_ALL:
        raise ValueError("'list' argument must have no negative elements")
    if weights is None:
        counts = np.zeros(max(n, minlength), np.int64)
        np.add.at(counts, x, 1)
        return counts
    weights = np.asarray(weights)
    if len(weights) != len(x):
        raise ValueError("The weights and list don't have the same length.")
    totals = np.zeros(max(n, minlength))
    np.add.at(totals, x, weights)
    return totals


@means(np.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    if isinstance(bins, str):
        raise ValueError("bins must be a number or an array of edges")
    if np.ndim(bins) == 1:
        return np.asarray(bins)
    a = np.asarray(a)
    if range is not None:
        low, high = range[0], range[1]
    elif a.size == 0:
        low, high = 0.0, 1.0
    else:
        low, high = np.min(a), np.max(a)
    if low > high:
        raise ValueError("max must be larger than min in range parameter.")
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("the range of the histogram is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1, dtype=a.dtype if a.dtype.kind == "f" else np.float64)


@means(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """The counts have no derivative, the sums of weights have."""
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    a = np.ravel(a)
    edges = histogram_bin_edges(a, bins, range)
    n = len(edges) - 1
    inside = (a >= edges[0]) & (a <= edges[-1])
    if np.ndim(bins) == 1:
        place = np.searchsorted(edges, a, side="right") - 1
        place = np.where(inside, np.where(a == edges[-1], n - 1, place), 0)
    else:
        place = place_in_equal_bins(np.where(inside, a, edges[0]), edges)
    if weights is None:
        counts = np.zeros(n, np.int64)
        np.add.at(counts, place, inside.astype(np.int64))
    else:
        weights = np.ravel(weights)
        counts = np.zeros(n, weights.dtype)
        np.add.at(counts, place, np.where(inside, weights, 0))
    if density:
        return counts / np.diff(edges) / np.sum(counts), edges
    return counts, edges


def place_in_equal_bins(a, edges):
    """As NumPy does it: computed, and mended by the edges, which are rounded."""
    n = len(edges) - 1
    place = np.clip(((a - edges[0]) / (edges[-1] - edges[0]) * n).astype(np.int64), 0, n - 1)
    place = place - (a < edges[place])
    return place + ((a >= edges[place + 1]) & (place < n - 1))


@means(np.unique)
def unique(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True
):
    if axis is not None:
        raise NotImplementedError("np.unique along an axis is not supported")
    shape = np.shape(ar)
    ar = np.ravel(ar)
    order = np.argsort(ar)
    held = ar[order]
    first = np.ones(len(ar), np.bool_)
    if ar.dtype.kind == "f" and equal_nan:
        first[1:] = (held[1:] != held[:-1]) & ~(np.isnan(held[1:]) & np.isnan(held[:-1]))
    else:
        first[1:] = held[1:] != held[:-1]
    results = [held[first]]
    if return_index:
        results = [*results, order[first]]
    if return_inverse:
        inverse = np.empty(len(ar), np.int64)
        inverse[order] = np.cumsum(first) - 1
        results = [*results, inverse.reshape(shape)]
    if return_counts:
        starts = np.arange(len(ar))[first]
        results = [*results, np.diff(starts, append=len(ar))]
    return results[0] if len(results) == 1 else tuple(results)


@means(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    kept = np.ravel(ar1) if assume_unique else np.unique(ar1)
    others = np.sort(np.ravel(ar2))
    if len(others) > 0:
        place = np.minimum(np.searchsorted(others, kept), len(others) - 1)
        kept = kept[others[place] != kept]
    return kept


@means(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    parts = (np.ravel(ar1), np.ravel(ar2)) if assume_unique else (np.unique(ar1), np.unique(ar2))
    held = np.sort(np.concatenate(parts))
    differs = np.ones(len(held) + 1, np.bool_)
    differs[1:-1] = held[1:] != held[:-1]
    return held[differs[1:] & differs[:-1]]


@means(np.lexsort)
def lexsort(keys, axis=-1):
    """Sorted by the first key, then, where that stands, by the next: the last counts most."""
    order = np.argsort(keys[0], axis)
    for key in keys[1:]:
        if np.shape(key) != np.shape(keys[0]):
            raise ValueError("all keys need to be the same shape")
        order = order[np.argsort(np.asarray(key)[order])]
    return order


@means(np.vander)
def vander(x, N=None, increasing=False):
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = len(x) if N is None else N
    powers = np.empty((len(x), n), np.result_type(x.dtype, np.int64))
    powers[:, :1] = 1
    powers[:, 1:] = x[:, None]
    powers = np.cumprod(powers, axis=1)
    return powers if increasing else powers[:, ::-1]


@means(np.polyval)
def polyval(p, x):
    p, x = np.asarray(p), np.asarray(x)[()]
    y = np.zeros(np.shape(x), np.result_type(p.dtype, x.dtype))[()]
    for k in range(len(p)):
        y = y * x + p[k]
    return y


@means(np.polyder)
def polyder(p, m=1):
    p, m = np.asarray(p), constant_integer(m, "m")
    return p if m == 0 else polyder(p[:-1] * np.arange(len(p) - 1, 0, -1), m - 1)


@means(np.polyint)
def polyint(p, m=1):
    p, m = np.asarray(p), constant_integer(m, "m")
    return p if m == 0 else polyint(np.concatenate([p / np.arange(len(p), 0, -1), np.zeros(1, p.dtype)]), m - 1)


@means(np.add.reduceat)
def add_reduceat(array, indices, axis=0):
    a, indices = np.moveaxis(np.asarray(array), axis, 0), np.asarray(indices)
    n = len(indices)
    out = np.empty((n, *a.shape[1:]), np.sum(a[:0]).dtype)  # that of sums: integers have 64 bits
    for k in range(n):
        start = indices[k]
        if start < 0 or start >= len(a):
            raise IndexError(f"index {start} out-of-bounds in add.reduceat [0, {len(a)})")
        stop = indices[k + 1] if k + 1 < n else len(a)
        out[k] = np.sum(a[start : max(stop, start + 1)], axis=0)
    return np.moveaxis(out, 0, axis)
