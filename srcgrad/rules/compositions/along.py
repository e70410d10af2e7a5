"""What compositions do to axes."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple


def gathered(a, axis):
    """The array with the named axes as one, the last."""
    if axis is None:
        return np.ravel(a)
    axes = normalize_axis_tuple(axis, a.ndim)
    if len(axes) == 1:
        return np.moveaxis(a, axes[0], -1)
    kept = tuple(k for k in range(a.ndim) if k not in axes)
    return np.transpose(a, kept + axes).reshape(tuple(a.shape[k] for k in kept) + (-1,))


def kept_shape(shape, axis):
    """The shape with 1 for the axes that are reduced."""
    axes = tuple(range(len(shape))) if axis is None else normalize_axis_tuple(axis, len(shape))
    return tuple(1 if k in axes else shape[k] for k in range(len(shape)))


def count_along(shape, axis):
    """How many elements go into one of a reduction."""
    axes = tuple(range(len(shape))) if axis is None else normalize_axis_tuple(axis, len(shape))
    count = 1
    for k in axes:
        count = count * shape[k]
    return count


def part(axis, run):
    """The index that takes `run` along one axis."""
    return (slice(None),) * axis + (run,)


def over_rest(x, ndim, axis):
    """A row of numbers as an array of `ndim` axes along one of them."""
    return x.reshape((1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


def weighed(x, places):
    """Sums of the elements near places: `places` has the indices and weights along each axis."""
    total = 0.0
    for corner in itertools.product(*places):
        weight = 1.0
        for _, part in corner:
            weight = weight * part
        total = total + x[tuple(index for index, _ in corner)] * weight
    return total
