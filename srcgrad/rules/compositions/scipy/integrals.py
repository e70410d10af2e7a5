"""SciPy's integrals of what is known at points."""

from __future__ import annotations

import numpy as np
import scipy.integrate
from numpy.lib.array_utils import normalize_axis_index

from srcgrad.rules.compositions.along import part
from srcgrad.rules.compositions.differences import steps, trapezoid
from srcgrad.rules.compositions.registry import means

means(scipy.integrate.trapezoid)(trapezoid)


@means(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    y = np.asarray(y)
    axis = normalize_axis_index(axis, y.ndim)
    if x is not None:
        check_points(np.asarray(x), y, axis)
    heights = y[part(axis, slice(1, None))] + y[part(axis, slice(None, -1))]
    result = np.cumsum(steps(y, x, dx, axis) * heights / 2.0, axis)
    if initial is None:
        return result
    if initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    return np.concatenate([np.zeros_like(y[part(axis, slice(0, 1))], dtype=result.dtype), result], axis)


IN_DOUBLE = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18)  # SciPy's widths of intervals, whatever x is


@means(scipy.integrate.simpson)
def simpson(y, x=None, *, dx=1.0, axis=-1):
    y = np.asarray(y)
    axis = normalize_axis_index(axis, y.ndim)
    y = np.moveaxis(y, axis, -1)
    n = y.shape[-1]
    if x is None:
        gaps, far, near = None, dx, dx
    else:
        x = np.asarray(x)
        check_points(x, y, y.ndim - 1, axis)
        gaps = np.diff(x if x.ndim == 1 else np.moveaxis(x, axis, -1)).astype(
            np.float64 if IN_DOUBLE else kind_of(y, x)
        )
        far, near = gaps[..., n - 3], gaps[..., n - 2]
    result = simpson_pairs(y, gaps, dx, n - 1 + n % 2)
    if n == 2:
        result = result + 0.5 * near * (y[..., 0] + y[..., 1])
    elif n % 2 == 0:  # the last interval, by Cartwright's correction
        result = result + last_interval(y[..., n - 3], y[..., n - 2], y[..., n - 1], gaps, far, near)
    return result


def check_points(x, y, along, axis=None):
    """As many points as there are values along an axis (which is another one of x, where it has them all)."""
    if x.ndim == 1:
        count = x.shape[0]
    elif x.ndim == y.ndim:
        count = x.shape[along if axis is None else axis]
    else:
        raise ValueError("If given, shape of x must be 1-D or the same as y.")
    if count != y.shape[along]:
        raise ValueError("If given, length of x along axis must be the same as y.")


def kind_of(y, x):
    return np.result_type(y.dtype, x.dtype, np.float32)


def simpson_pairs(y, gaps, dx, n):
    """Simpson's rule over the first n points, an odd number."""
    left, middle, right = y[..., 0 : n - 1 : 2], y[..., 1:n:2], y[..., 2:n:2]
    if gaps is None:
        return np.sum(left + 4.0 * middle + right, axis=-1) * (dx / 3.0)
    first, second = gaps[..., 0 : n - 1 : 2], gaps[..., 1:n:2]
    both, relation = first + second, ratio(first, second)
    outer = left * (2.0 - ratio(1.0, relation)) + right * (2.0 - relation)
    return np.sum(both / 6.0 * (outer + middle * (both * ratio(both, first * second))), axis=-1)


def last_interval(left, middle, right, gaps, far, near):
    if gaps is None:
        return far * (5 / 12 * right + 2 / 3 * middle - 1 / 12 * left)
    end = ratio(2 * near**2 + 3 * far * near, 6 * (far + near)) * right
    return end + ratio(near**2 + 3.0 * far * near, 6 * far) * middle - ratio(near**3, 6 * far * (far + near)) * left


def ratio(x, y):
    """x / y, and 0 where y is 0."""
    return np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y))
