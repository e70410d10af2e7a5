"""Differences of neighbours, and sums of what lies between them."""

from __future__ import annotations

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from srcgrad.rules.compositions.along import over_rest, part
from srcgrad.rules.compositions.registry import constant_integer, means


@means(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    a, n = np.asarray(a), constant_integer(n, "n")
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if n == 0:  # whatever is to come before it or after it
        return a
    axis = normalize_axis_index(axis, a.ndim)
    if prepend is not None:
        a = np.concatenate([edge(prepend, a, axis), a], axis)
    if append is not None:
        a = np.concatenate([a, edge(append, a, axis)], axis)
    return differences(a, n, axis)


def differences(a, n, axis):
    if n == 0:
        return a
    after, before = part(axis, slice(1, None)), part(axis, slice(None, -1))  # (loops over named views do not vectorise)
    return differences(a[after] != a[before] if a.dtype.kind == "b" else a[after] - a[before], n - 1, axis)


def edge(values, a, axis):
    """What comes before the array or after it: a number is there for all."""
    values = np.asarray(values)
    if values.ndim > 0:
        return values
    return np.broadcast_to(values, tuple(1 if k == axis else a.shape[k] for k in range(a.ndim)))


@means(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    ary = np.ravel(ary)
    parts = [ary[1:] - ary[:-1]]
    if to_begin is not None:
        parts = [np.ravel(to_begin).astype(ary.dtype), *parts]
    if to_end is not None:
        parts = [*parts, np.ravel(to_end).astype(ary.dtype)]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@means(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    f = np.asarray(f)
    f = f if f.dtype.kind in "fc" else f.astype(np.float64)
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    if len(varargs) == 0:
        spacings = (1.0,) * len(axes)
    elif len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        spacings = varargs * len(axes)
    elif len(varargs) == len(axes):
        spacings = varargs
    else:
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    slopes = [slope_along(f, spacings[k], axes[k], edge_order) for k in range(len(axes))]
    return slopes[0] if len(axes) == 1 else tuple(slopes)


def slope_along(f, spacing, axis, edge_order):
    if f.shape[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    before, here, after = part(axis, slice(None, -2)), part(axis, slice(1, -1)), part(axis, slice(2, None))
    out = np.empty_like(f)
    uniform = np.ndim(spacing) == 0
    if uniform:
        out[here] = (f[after] - f[before]) / (2.0 * spacing)
        first = last = spacing
    else:
        points = np.asarray(spacing)
        if points.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if len(points) != f.shape[axis]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        gaps = np.diff(points if points.dtype.kind == "f" else points.astype(np.float64))
        left, right = gaps[:-1], gaps[1:]
        a = over_rest(-right / (left * (left + right)), f.ndim, axis)
        b = over_rest((right - left) / (left * right), f.ndim, axis)
        c = over_rest(left / (right * (left + right)), f.ndim, axis)
        out[here] = a * f[before] + b * f[here] + c * f[after]
        first, last = gaps[0], gaps[-1]
    if edge_order == 1:
        out[part(axis, 0)] = (f[part(axis, 1)] - f[part(axis, 0)]) / first
        out[part(axis, -1)] = (f[part(axis, -1)] - f[part(axis, -2)]) / last
    elif uniform:
        a, b, c = -1.5 / spacing, 2.0 / spacing, -0.5 / spacing
        out[part(axis, 0)] = a * f[part(axis, 0)] + b * f[part(axis, 1)] + c * f[part(axis, 2)]
        out[part(axis, -1)] = -c * f[part(axis, -3)] - b * f[part(axis, -2)] - a * f[part(axis, -1)]
    else:
        near, far = gaps[0], gaps[1]
        a = -(2.0 * near + far) / (near * (near + far))
        b = (near + far) / (near * far)
        c = -near / (far * (near + far))
        out[part(axis, 0)] = a * f[part(axis, 0)] + b * f[part(axis, 1)] + c * f[part(axis, 2)]
        far, near = gaps[-2], gaps[-1]
        a = near / (far * (far + near))
        b = -(near + far) / (far * near)
        c = (2.0 * near + far) / (near * (far + near))
        out[part(axis, -1)] = a * f[part(axis, -3)] + b * f[part(axis, -2)] + c * f[part(axis, -1)]
    return out


# ------------------------------------------------------------------------------------------------------- integrals


def steps(y, x, dx, axis):
    """The widths of the steps along an axis."""
    if x is None:
        return dx
    x = np.asarray(x)
    if x.ndim == 1:
        return over_rest(np.diff(x), y.ndim, axis)
    return np.diff(x, axis=axis)


@means(np.trapezoid, getattr(np, "trapz", np.trapezoid))  # until NumPy 2.4
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = np.asarray(y)
    along = normalize_axis_index(axis, y.ndim)
    heights = y[part(along, slice(1, None))] + y[part(along, slice(None, -1))]
    return (steps(y, x, dx, along) * heights / 2.0).sum(axis)  # dx may have more axes than y: -1 is the last of all
