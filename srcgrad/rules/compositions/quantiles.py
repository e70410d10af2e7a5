"""Order statistics: sorted rows, and what stands at some place of them.  A tie goes to one of its elements."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.along import count_along, gathered, kept_shape
from srcgrad.rules.compositions.registry import handed, means

DISCRETE = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")  # an element, not between two


@means(np.partition)
def partition(a, kth, axis=-1, kind=None, order=None):
    """Everything is in order, which is more than was asked for."""
    check_kth(a, kth, axis)
    return np.sort(a, axis, kind, order)


@means(method="partition")
def partition_in_place(a, kth, axis=-1, kind=None, order=None):
    check_kth(a, kth, axis)
    a.sort(axis, kind, order)


@means(np.argpartition, method="argpartition")
def argpartition(a, kth, axis=-1, kind=None, order=None):
    check_kth(a, kth, axis)
    return np.argsort(a, axis, kind, order)


def check_kth(a, kth, axis):
    n = count_along(np.shape(a), axis)
    for k in (kth,) if np.ndim(kth) == 0 else kth:
        if n > 0 and (k < -n or k >= n):
            raise ValueError(f"kth(={k}) out of bounds ({n})")


@means(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    a = np.asarray(a)
    if out is None or out.dtype.kind == "c":  # complex numbers have no order
        values = a if a.dtype.kind == "f" else a.astype(np.float64)
    else:
        values = a.astype(np.result_type(a.dtype, out.dtype))  # in which NumPy adds the two in the middle
    rows = np.moveaxis(np.sort(gathered(values, axis)), -1, 0)
    n = len(rows)
    if n == 0:
        middle = np.full(rows.shape[1:], np.nan, rows.dtype)[()]
    else:
        middle = np.where(np.isnan(rows[-1]), rows[-1], (rows[(n - 1) // 2] + rows[n // 2]) / 2)
    result = np.reshape(middle, kept_shape(a.shape, axis)) if keepdims else middle
    return handed(np.positive(result), out)


@means(np.percentile)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    q = np.asarray(q) if isinstance(q, (tuple, list)) else q
    if not np.all((q >= 0) & (q <= 100)):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return quantile_of(a, q / 100, axis, out, method, keepdims)


@means(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    q = np.asarray(q) if isinstance(q, (tuple, list)) else q
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    return quantile_of(a, q, axis, out, method, keepdims)


def quantile_of(a, q, axis, out, method, keepdims):
    a = np.asarray(a)
    rows = np.moveaxis(np.sort(gathered(a, axis)), -1, 0)
    n = len(rows)
    place = place_of(n, q, method)
    low, high = neighbours(place, n)
    if method in DISCRETE:
        result = rows[low]
    else:
        weight = weight_of(place, low, method)
        if np.ndim(q) > 0:
            weight = weight.reshape(weight.shape + (1,) * (rows.ndim - 1))
        result = between(rows[low], rows[high], weight, (np.zeros((), a.dtype) * q).dtype, out)
    if a.dtype.kind == "f":
        result = np.where(np.isnan(rows[-1]), rows[-1], result)
    if keepdims:
        result = np.reshape(result, np.shape(q) + kept_shape(a.shape, axis))
    return handed(np.positive(result), out)


def neighbours(place, n):
    """The numbers on both sides of a place."""
    below = np.floor(place)
    last = np.maximum(n - 1, 0)
    return np.clip(below, 0, last).astype(np.int64), np.clip(below + 1, 0, last).astype(np.int64)


def between(low, high, weight, dtype, out):
    """From one number to the next, exact at both; `dtype` is that of the factors."""
    gap = high - low
    first, last = low + gap * weight.astype(dtype), gap * (1 - weight).astype(dtype)
    if out is None:
        last = high - last
    else:  # of the two, NumPy has only this one in the type of that
        last = high.astype(out.dtype) - last.astype(out.dtype)
    return np.where(weight >= 0.5, last, first)


def place_of(n, q, method):
    """Where the quantile is among n sorted numbers, counted from 0."""
    if method == "linear":
        return (n - 1) * q
    elif method == "lower":
        return np.floor((n - 1) * q)
    elif method == "higher":
        return np.ceil((n - 1) * q)
    elif method == "nearest":
        return np.round((n - 1) * q)
    elif method == "midpoint":
        return 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    elif method == "inverted_cdf":
        return np.ceil(n * q - 1)
    elif method == "averaged_inverted_cdf":
        return n * q - 1
    elif method == "closest_observation":
        place = n * q - 1.5
        return np.where((place == np.floor(place)) & (np.floor(place) % 2 == 1), place, np.floor(place) + 1)
    elif method == "interpolated_inverted_cdf":
        return n * q + q * (1 - 0 - 1) - 1
    elif method == "hazen":
        return n * q + (0.5 + q * (1 - 0.5 - 0.5)) - 1
    elif method == "weibull":
        return n * q + q * (1 - 0 - 0) - 1
    elif method == "median_unbiased":
        return n * q + (1 / 3.0 + q * (1 - 1 / 3.0 - 1 / 3.0)) - 1
    elif method == "normal_unbiased":
        return n * q + (3 / 8.0 + q * (1 - 3 / 8.0 - 3 / 8.0)) - 1
    raise ValueError(f"{method} is not a valid method")


def weight_of(place, low, method):
    """How far it is from the number below to the number above."""
    rest = np.clip(place - low, 0, 1)
    if method == "midpoint":
        return np.where(rest == 0, rest, 0.5)
    elif method == "averaged_inverted_cdf":
        return np.where(place - np.floor(place) == 0, 0.5, 1.0)
    return rest


# ------------------------------------------------------------------------------------------------------ without nan


@means(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    a = np.asarray(a)
    rows, shape = sorted_rows_of(a, axis)
    if rows.shape[1] == 0:
        middle = np.full(len(rows), np.nan, rows.dtype)
    else:
        count, row = np.sum(~np.isnan(rows), axis=-1), np.arange(len(rows))
        below = rows[row, np.maximum(count - 1, 0) // 2]
        middle = (below + rows[row, np.minimum(count // 2, rows.shape[1] - 1)]) / 2
    result = np.reshape(middle, kept_shape(a.shape, axis) if keepdims else shape)
    return handed(np.positive(result[()]), out)


def sorted_rows_of(a, axis):
    """A row for each number of the result, nan at its end; and what the shape of those is."""
    values = a if a.dtype.kind == "f" else a.astype(np.float64)
    sorted_rows = np.sort(gathered(values, axis))
    return sorted_rows.reshape((-1, sorted_rows.shape[-1])), sorted_rows.shape[:-1]


@means(np.nanpercentile)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    q = np.asarray(q) if isinstance(q, (tuple, list)) else q
    if not np.all((q >= 0) & (q <= 100)):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return nanquantile_of(a, q / 100, axis, out, method, keepdims)


@means(np.nanquantile)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    q = np.asarray(q) if isinstance(q, (tuple, list)) else q
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    return nanquantile_of(a, q, axis, out, method, keepdims)


def nanquantile_of(a, q, axis, out, method, keepdims):
    """As without nan, in each row up to where nan begins."""
    a = np.asarray(a)
    rows, shape = sorted_rows_of(a, axis)
    count = np.sum(~np.isnan(rows), axis=-1)
    each = np.asarray(q).reshape((-1, 1)) if np.ndim(q) > 0 else q
    place = place_of(count, each, method)
    low, high = neighbours(place, count)
    row = np.arange(len(rows))
    if method in DISCRETE:
        result = rows[row, low]
    else:
        weight = weight_of(place, low, method)
        result = between(rows[row, low], rows[row, high], weight, (np.zeros((), a.dtype) * q).dtype, None)
    result = np.reshape(result, np.shape(q) + (kept_shape(a.shape, axis) if keepdims else shape))
    return handed(np.positive(result[()]), out)
