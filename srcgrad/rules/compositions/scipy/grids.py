"""Values between the elements of an array: scipy.ndimage.map_coordinates."""

from __future__ import annotations

import numpy as np
import scipy.ndimage

from srcgrad.rules.compositions.along import weighed
from srcgrad.rules.compositions.registry import means
from srcgrad.rules.compositions.scipy.banded import solved
from srcgrad.rules.compositions.scipy.filters import given, kind_of

FAR = 12  # elements beyond an edge, as SciPy has them where that goes on with its last value


@means(scipy.ndimage.map_coordinates)
def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    if order not in (0, 1, 3):
        raise NotImplementedError("map_coordinates of an order other than 0, 1 and 3 is not supported")
    if mode not in ("constant", "nearest", "mirror", "reflect", "wrap") or (order == 3 and mode == "reflect"):
        raise NotImplementedError(f"map_coordinates with mode={mode!r} is not supported")
    x, coordinates = np.asarray(input), np.asarray(coordinates)
    if coordinates.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    kind = kind_of(x, output)
    shape = x.shape
    x = x.astype(np.result_type(x.dtype, np.float64))
    beyond = 0
    if order == 3:
        if mode == "nearest":
            beyond = FAR
            x = np.pad(x, beyond, mode="edge")
        if prefilter:
            for axis in range(x.ndim):
                x = spline_filtered(x, axis, mode == "nearest")
    places, inside = [], True
    for axis in range(x.ndim):
        at = coordinates[axis] * np.float64(1)
        if mode == "constant":
            inside = inside & (at >= 0) & (at <= shape[axis] - 1)
            at = np.clip(at, 0, shape[axis] - 1)
        elif beyond == 0:
            at = moved_inside(at, shape[axis], mode)
        else:
            at = np.clip(at, -beyond, shape[axis] - 1 + beyond) + beyond
        places.append(near(at, order, x.shape[axis]))
    out = weighed(x, places)
    if mode == "constant":
        out = np.where(inside, out, cval)
    return given(out.astype(kind), output)


def moved_inside(at, n, mode):
    """The place in the array that a place beyond its ends stands for."""
    if mode == "nearest":
        return np.clip(at, 0, n - 1)
    if n == 1:
        return np.zeros_like(at)
    if mode == "wrap":
        beyond = np.where(at < 0, at + (n - 1) * (np.trunc(-at / (n - 1)) + 1), at - (n - 1) * np.trunc(at / (n - 1)))
        return np.where((at < 0) | (at > n - 1), beyond, at)
    elif mode == "mirror":
        period = 2 * n - 2
        at = np.abs(at) % period
        return np.where(at > n - 1, period - at, at)
    at = (at + 0.5) % (2 * n)
    return np.clip(np.where(at > n, 2 * n - at, at) - 0.5, 0, n - 1)


def near(at, order, n):
    """Indices along an axis, and the weights of what is there."""
    if order == 0:
        return [(np.clip(np.floor(at + 0.5).astype(int), 0, n - 1), 1.0)]
    first = np.clip(np.floor(at).astype(int), 0, n - 1)
    t = at - first
    if order == 1:
        return [(first, 1.0 - t), (np.minimum(first + 1, n - 1), t)]
    u = 1.0 - t
    weights = (u**3 / 6, (t * t * (t - 2.0) * 3.0 + 4.0) / 6, (u * u * (u - 2.0) * 3.0 + 4.0) / 6, t**3 / 6)
    return [(mirrored(first + k - 1, n), weights[k]) for k in range(4)]


def mirrored(i, n):
    i = np.abs(i)
    return np.where(i > n - 1, np.maximum(2 * n - 2 - i, 0), i)


def spline_filtered(x, axis, is_repeated):
    """Coefficients of the cubic spline through the values along an axis, which goes on mirrored."""
    n = x.shape[axis]
    if n == 1:
        return x
    rows = np.moveaxis(x, axis, 0)
    band = np.zeros((3, n))
    band[0], band[1], band[2] = 1.0 / 6, 4.0 / 6, 1.0 / 6
    if is_repeated:
        band[1, 0] = band[1, n - 1] = 5.0 / 6
    else:
        band[0, 1] = band[2, n - 2] = 2.0 / 6
    return np.moveaxis(solved(1, 1, band, rows, False), 0, axis)
