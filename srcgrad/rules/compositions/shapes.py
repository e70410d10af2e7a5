"""Arrays that are turned, repeated, padded, lengthened and shortened."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgrad.rules.compositions.registry import means
from srcgrad.rules.compositions.writing import size_of


def along(axis, item):
    """The index that picks `item` on an axis, and everything on those before it."""
    return (slice(None),) * axis + (item,)


def copy_part(out, at, a, start, length, axis):
    """Parts that are known to lie inside: a rule of the frontend copies them, and nothing is clipped."""
    out[along(axis, slice(at, at + length))] = a[along(axis, slice(start, start + length))]


def axis_of(a, axis):
    if axis < -a.ndim or axis >= a.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {a.ndim}")
    return axis % a.ndim


@means(np.fliplr)
def fliplr(m):
    m = np.asarray(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


@means(np.flipud)
def flipud(m):
    m = np.asarray(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1]


@means(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    m = np.asarray(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    first, second = axis_of(m, axes[0]), axis_of(m, axes[1])
    if first == second:
        raise ValueError("Axes must be different.")
    if k % 4 == 0:
        return m[:]
    if k % 4 == 2:
        return np.flip(m, (first, second))
    if k % 4 == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(np.swapaxes(m, first, second), second)


@means(np.diag_indices)
def diag_indices(n, ndim=2):
    return (np.arange(n),) * ndim


@means(np.diag_indices_from)
def diag_indices_from(arr):
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    for n in arr.shape[1:]:
        if n != arr.shape[0]:
            raise ValueError("All dimensions of input must be of equal length")
    return (np.arange(arr.shape[0]),) * arr.ndim


@means(np.repeat, method="repeat")
def repeat(a, repeats, axis=None):
    a = np.ravel(a) if axis is None else np.asarray(a)
    axis = 0 if axis is None else axis_of(a, axis)
    if np.ndim(repeats) == 0:
        if repeats < 0:
            raise ValueError("repeats may not contain negative values.")
        before, n, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
        out = np.empty(before + (n, repeats) + after, a.dtype)
        out[...] = np.expand_dims(a, axis + 1)
        return out.reshape(before + (n * repeats,) + after)
    counts = np.broadcast_to(repeats, a.shape[axis : axis + 1])
    source = np.empty(np.sum(counts), np.int64)
    end = 0
    for i in range(a.shape[axis]):
        if counts[i] < 0:
            raise ValueError("repeats may not contain negative values.")
        for _ in range(counts[i]):
            source[end] = i
            end += 1
    return a[along(axis, source)]


@means(np.tile)
def tile(A, reps):
    a = np.asarray(A)
    reps = reps if isinstance(reps, (tuple, list)) else (reps,)
    ndim = max(a.ndim, len(reps))
    reps = (1,) * (ndim - len(reps)) + tuple(reps)
    shape = (1,) * (ndim - a.ndim) + a.shape
    if ndim == 0:
        return np.copy(a)
    out = np.empty([n for k in range(ndim) for n in (reps[k], shape[k])], a.dtype)
    out[...] = a.reshape([n for length in shape for n in (1, length)])
    return out.reshape([reps[k] * shape[k] for k in range(ndim)])


@means(np.resize)
def resize(a, new_shape):
    a = np.ravel(a)
    shape = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    size = size_of(shape)
    out = np.empty(size, a.dtype)
    if a.size == 0:
        out[:] = 0
    for i in range(size if a.size > 0 else 0):
        out[i] = a[i % a.size]
    return out.reshape(shape)


@means(np.append)
def append(arr, values, axis=None):
    if axis is None:
        return np.concatenate((np.ravel(arr), np.ravel(values)))
    return np.concatenate((arr, values), axis=axis)


@means(np.insert)
def insert(arr, obj, values, axis=None):
    arr = np.ravel(arr) if axis is None else np.asarray(arr)
    axis = 0 if axis is None else axis_of(arr, axis)
    n = arr.shape[axis]
    values = np.asarray(values)
    if isinstance(obj, slice):
        obj = np.arange(n)[obj]
    if np.ndim(obj) == 0 or (isinstance(obj, (tuple, list)) and len(obj) == 1):
        at = obj if np.ndim(obj) == 0 else obj[0]
        if at < -n or at > n:
            raise IndexError(f"index {at} is out of bounds for axis {axis} with size {n}")
        at = at + n if at < 0 else at
        new = values[(None,) * (arr.ndim - values.ndim)]
        if np.ndim(obj) == 0:
            new = np.moveaxis(new, 0, axis)
        count = new.shape[axis]
        out = np.empty(arr.shape[:axis] + (n + count,) + arr.shape[axis + 1 :], arr.dtype)
        copy_part(out, 0, arr, 0, at, axis)
        copy_part(out, at, new, 0, count, axis)
        copy_part(out, at + count, arr, at, n - at, axis)
        return out
    at = np.asarray(obj)
    if at.dtype.kind == "b":
        if at.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        at = np.flatnonzero(at)
    if at.shape[0] == 1 and values.ndim > 0 and values.shape[0 if values.ndim < arr.ndim else axis] != 1:
        raise NotImplementedError("np.insert of several values at one place is supported where that is a number")
    position = np.empty(at.shape[0], np.int64)
    is_new = np.zeros(n + at.shape[0], np.bool_)
    for j in range(at.shape[0]):
        if at[j] < -n or at[j] > n:
            raise IndexError(f"index {at[j]} is out of bounds for axis {axis} with size {n}")
        here = at[j] + n if at[j] < 0 else at[j]
        ahead = 0
        for k in range(at.shape[0]):
            other = at[k] + n if at[k] < 0 else at[k]
            if other < here or (other == here and k < j):
                ahead += 1
        position[j] = here + ahead
        is_new[here + ahead] = True
    old = np.empty(n, np.int64)
    count = 0
    for i in range(n + at.shape[0]):
        if not is_new[i]:
            old[count] = i
            count += 1
    out = np.empty(arr.shape[:axis] + (n + at.shape[0],) + arr.shape[axis + 1 :], arr.dtype)
    out[along(axis, old)] = arr
    out[along(axis, position)] = values
    return out


@means(np.delete)
def delete(arr, obj, axis=None):
    arr = np.ravel(arr) if axis is None else np.asarray(arr)
    axis = 0 if axis is None else axis_of(arr, axis)
    n = arr.shape[axis]
    if not isinstance(obj, slice) and np.ndim(obj) == 0:
        if obj < -n or obj >= n:
            raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}")
        at = obj + n if obj < 0 else obj
        out = np.empty(arr.shape[:axis] + (n - 1,) + arr.shape[axis + 1 :], arr.dtype)
        copy_part(out, 0, arr, 0, at, axis)
        copy_part(out, at, arr, at + 1, n - 1 - at, axis)
        return out
    keep = np.ones(n, np.bool_)
    keep[list(obj) if isinstance(obj, tuple) else obj] = False
    return arr[along(axis, keep)]


@means(np.compress)
def compress(condition, a, axis=None, out=None):
    a = np.ravel(a) if axis is None else np.asarray(a)
    axis = 0 if axis is None else axis_of(a, axis)
    kept = a[along(axis, slice(None, len(condition)))][along(axis, np.asarray(condition) != 0)]
    if out is None:
        return kept
    out[...] = kept
    return out


@means(method="compress")
def compressed(a, condition, axis=None, out=None):
    return compress(condition, a, axis, out)


@means(np.extract)
def extract(condition, arr):
    return np.ravel(arr)[np.ravel(condition) != 0]


def pairs(width, ndim):
    """(before, after) for every axis, from any of the forms that np.pad takes."""
    if not isinstance(width, (tuple, list)):
        return ((width, width),) * ndim
    if not isinstance(width[0], (tuple, list)):
        width = (width,) * ndim
    if len(width) == 1:
        width = tuple(width) * ndim
    if len(width) != ndim:
        raise ValueError(f"operands could not be broadcast together: {len(width)} widths for {ndim} axes")
    return tuple([(one[0], one[len(one) - 1]) for one in width])


def padded_shape(array, width):
    return [array.shape[k] + width[k][0] + width[k][1] for k in range(array.ndim)]


def middle_of(array, width):
    """The index at which the array stands in the padded one."""
    return tuple([slice(width[k][0], width[k][0] + array.shape[k]) for k in range(array.ndim)])


REDUCTIONS: dict[str, Any] = {"mean": np.mean, "maximum": np.max, "minimum": np.min}
MODES = ("constant", "empty", "linear_ramp", "mean", "maximum", "minimum", "edge", "wrap", "reflect", "symmetric")


@means(np.pad)
def pad(array, pad_width, mode="constant", *, constant_values=0, end_values=0):
    array = np.asarray(array)
    width = pairs(pad_width, array.ndim)
    for low, high in width:
        if low < 0 or high < 0:
            raise ValueError("index can't contain negative values")
    if mode not in MODES:
        raise ValueError(f"mode '{mode}' is not supported")
    if mode == "constant" and not isinstance(constant_values, (tuple, list)):
        out = np.full(padded_shape(array, width), constant_values, array.dtype)
        out[middle_of(array, width)] = array
        return out
    if mode not in ("constant", "empty"):
        for axis in tuple(range(array.ndim)):
            if array.shape[axis] == 0 and width[axis][0] + width[axis][1] > 0:
                raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    out = np.empty(padded_shape(array, width), array.dtype)
    out[middle_of(array, width)] = array
    if mode == "empty":
        return out
    ends = pairs(end_values if mode == "linear_ramp" else constant_values, array.ndim)
    for axis in tuple(range(array.ndim)):
        n = array.shape[axis]
        low, high = width[axis]
        rest = middle_of(array, width)[axis + 1 :]  # along later axes nothing is there yet but the array
        lowest, highest = along(axis, low) + rest, along(axis, low + n - 1) + rest
        if mode == "linear_ramp":
            to_whole = np.floor if array.dtype.kind in "iu" else np.asarray
            for j in range(low):
                out[along(axis, j) + rest] = to_whole(ends[axis][0] + (out[lowest] - ends[axis][0]) * (j / low))
            for j in range(high):
                value = to_whole(ends[axis][1] + (out[highest] - ends[axis][1]) * (j / high))
                out[along(axis, low + n + high - 1 - j) + rest] = value
        elif mode == "constant" or mode in REDUCTIONS:
            first, last = ends[axis]
            if mode != "constant":
                reduced = out[along(axis, slice(low, low + n)) + rest]
                first = last = REDUCTIONS[mode](reduced, axis)
                if array.dtype.kind in "iu":
                    first = last = np.round(first)
            for j in range(low):
                out[along(axis, j) + rest] = first
            for j in range(high):
                out[along(axis, low + n + j) + rest] = last
        elif mode == "edge":
            for j in range(low):
                out[along(axis, j) + rest] = out[lowest]
            for j in range(high):
                out[along(axis, low + n + j) + rest] = out[highest]
        else:
            for j in range(low):
                out[along(axis, j) + rest] = out[along(axis, low + outside(j - low, n, mode)) + rest]
            for j in range(high):
                out[along(axis, low + n + j) + rest] = out[along(axis, low + outside(n + j, n, mode)) + rest]
    return out


def outside(position, n, mode):
    """The place inside an axis of n elements that a place outside of it repeats."""
    if mode == "wrap":
        return position % n
    if mode == "symmetric":
        return min(position % (2 * n), 2 * n - 1 - position % (2 * n))
    period = max(2 * n - 2, 1)
    return min(position % period, period - position % period)
