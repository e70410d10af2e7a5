"""Indices: of conditions, of diagonals and triangles, of flat positions."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import means


@means(np.flatnonzero)
def flatnonzero(a):
    return np.nonzero(np.ravel(a))[0]


@means(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    element, wanted = np.asarray(element), np.ravel(test_elements)
    found = np.any(element[..., None] == wanted, axis=-1)
    return ~found if invert else found


@means(np.argwhere)
def argwhere(a):
    return np.stack(np.nonzero(a), axis=-1)


@means(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        size = a.size if wrap else min(a.size, a.shape[1] * a.shape[1])
        a.flat[: size : a.shape[1] + 1] = val
    else:
        for length in a.shape[1:]:
            if length != a.shape[0]:
                raise ValueError("All dimensions of input must be of equal length")
        places = np.arange(a.shape[0])
        a[(places,) * a.ndim] = val


@means(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    rest = np.asarray(indices)
    lengths = shape if isinstance(shape, tuple) else (shape,)
    if order != "C":
        raise ValueError("only order='C' is supported here")
    out: tuple = ()
    for length in lengths[::-1]:
        out = (rest % length,) + out
        rest = rest // length
    if np.any(rest != 0):
        raise ValueError("index is out of bounds for an array of this size")
    return out


@means(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    if mode != "raise" or order != "C":
        raise ValueError("only mode='raise' and order='C' are supported here")
    out = np.int64(0)
    for axis, length in enumerate(dims):
        places = np.asarray(multi_index[axis])
        if np.any((places < 0) | (places >= length)):
            raise ValueError("invalid entry in coordinates array")
        out = out * length + places
    return out
