"""Values between the points of a grid: scipy.interpolate.RegularGridInterpolator."""

from __future__ import annotations

import numpy as np
import scipy.interpolate

from srcgrad.rules.compositions.along import weighed
from srcgrad.rules.compositions.registry import means, objects_mean


class Grid:
    """What RegularGridInterpolator makes."""

    def __init__(self, points, values, method, is_strict, fill_value):
        self.points, self.values, self.method = points, values, method
        self.is_strict, self.fill_value = is_strict, fill_value

    def __call__(self, xi, method=None):
        method = self.method if method is None else method
        if method not in ("linear", "nearest"):
            raise NotImplementedError(f"RegularGridInterpolator with method={method!r} is not supported")
        count = len(self.points)
        if isinstance(xi, tuple):
            parts = [np.asarray(part) for part in np.broadcast_arrays(*xi)]
        else:
            xi = np.asarray(xi)
            if count == 1 and xi.ndim < 2:
                xi = xi.reshape(-1, 1)
            elif xi.ndim == 1:
                xi = xi.reshape(1, -1)
            if xi.shape[-1] != count:
                raise ValueError("the sample points have another dimension than the interpolator")
            parts = [xi[..., k] for k in range(count)]
        places, inside = [], np.asarray(True)
        for points, at in zip(self.points, parts, strict=True):
            at = at * np.float64(1)
            is_within = (at >= points[0]) & (at <= points[-1])
            if self.is_strict and not np.all(is_within | np.isnan(at)):
                raise ValueError("One of the requested xi is out of bounds")
            inside = inside & is_within
            k = np.clip(np.searchsorted(points, at, "right") - 1, 0, len(points) - 2)
            t = (at - points[k]) / (points[k + 1] - points[k])
            if method == "nearest":
                places.append([(np.where(t <= 0.5, k, k + 1), 1.0)])
            else:
                places.append([(k, 1.0 - t), (k + 1, t)])
        out = weighed(self.values, places)
        if not self.is_strict and self.fill_value is not None:
            inside = inside.reshape(inside.shape + (1,) * (self.values.ndim - count))
            out = np.where(inside, out, self.fill_value)
        return out


@means(scipy.interpolate.RegularGridInterpolator)
def regular_grid_interpolator(points, values, method="linear", bounds_error=True, fill_value=np.nan):
    points = [np.asarray(axis, dtype=np.float64) for axis in points]
    values = np.asarray(values)
    if not np.issubdtype(values.dtype, np.inexact):
        values = values.astype(np.float64)
    for k, axis in enumerate(points):
        if np.any(axis[1:] <= axis[:-1]):
            raise ValueError("the points of a grid must be strictly ascending")
        if axis.shape[0] != values.shape[k]:
            raise ValueError("the points and the values of a grid differ in number")
    return Grid(points, values, method, bounds_error, fill_value)


@objects_mean("grid values method bounds_error fill_value", scipy.interpolate.RegularGridInterpolator)
def regular_grid_interpolator_outside(points, values, method, is_strict, fill_value):
    return Grid(points, values, method, is_strict, fill_value)
