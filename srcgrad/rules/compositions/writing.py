"""Writes into parts of an array, said by functions."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import means


def places(a, index):
    """The index, one array per axis, of elements that are numbered in C order."""
    index = np.where(index < 0, index + a.size, index)
    return tuple([index // size_of(a.shape[k + 1 :]) % a.shape[k] for k in range(a.ndim)])


def size_of(shape):
    size = 1
    for n in shape:
        size = size * n
    return size


@means(np.put, method="put")
def put(a, ind, v, mode="raise"):
    ind = np.ravel(ind)
    if mode == "wrap":
        ind = ind % a.size
    if mode == "clip":
        ind = np.minimum(np.maximum(ind, 0), a.size - 1)
    if mode == "raise":
        if np.any(ind < -a.size) or np.any(ind >= a.size):
            raise IndexError("index is out of bounds")
    v = np.asarray(v)
    if v.ndim == 0:
        a[places(a, ind)] = v
    else:
        v = np.ravel(v)
        a[places(a, ind)] = v[np.arange(ind.size) % v.size]


@means(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    if axis is None:
        put(arr, indices, values)
    else:
        if arr.ndim != indices.ndim:
            raise ValueError("`indices` and `arr` must have the same number of dimensions")
        axis = axis % arr.ndim
        around = [np.arange(n).reshape((-1,) + (1,) * (arr.ndim - k - 1)) for k, n in enumerate(arr.shape)]
        arr[tuple(around[:axis]) + (indices,) + tuple(around[axis + 1 :])] = values


@means(np.place)
def place(arr, mask, vals):
    vals = np.ravel(vals)
    mask = np.asarray(mask) != 0
    count = np.count_nonzero(mask)
    if count > 0 and vals.size == 0:
        raise ValueError("Cannot insert from an empty array!")
    arr[mask] = vals[np.arange(count) % max(vals.size, 1)]


@means(np.putmask)
def putmask(a, mask, values):
    mask = np.asarray(mask) != 0
    values = np.asarray(values)
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    mask = mask.reshape(a.shape)
    if values.ndim == 0:
        np.copyto(a, values, where=mask)
    elif values.ndim == a.ndim and a.ndim > 1:
        if values.shape != a.shape:
            raise ValueError("srcgrad's np.putmask takes values of the shape of the array, or a vector")
        np.copyto(a, values, where=mask)
    else:
        flat = np.ravel(values)
        number = np.arange(a.size).reshape(a.shape)
        np.copyto(a, flat[number % flat.size], where=mask)
