"""SciPy's filters of images: weighted sums of neighbours, an axis after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage as ndimage
from numpy.lib.array_utils import normalize_axis_index

from srcgrad.rules.compositions.along import part
from srcgrad.rules.compositions.registry import means

BEYOND: dict[str, Any] = {  # what stands beyond the ends, as np.pad calls it
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "constant": "constant",
    "grid-constant": "constant", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip


def picture(input):
    x = np.asarray(input)
    if not np.issubdtype(x.dtype, np.inexact):
        raise NotImplementedError("filters round the results of integers: pass x.astype(float)")
    return x


def padded(x, axis, before, after, mode, cval):
    if mode not in BEYOND:
        raise ValueError(f"boundary mode {mode!r} is not supported")
    widths = [(before, after) if k == axis else (0, 0) for k in range(x.ndim)]
    if BEYOND[mode] == "constant":
        return np.pad(x, widths, constant_values=cval)
    return np.pad(x, widths, mode=BEYOND[mode])


@means(ndimage.correlate1d)
def correlate1d(input, weights, axis=-1, *, mode="reflect", cval=0.0, origin=0):
    x, w = picture(input), np.asarray(weights)
    if w.ndim != 1 or len(w) < 1:
        raise RuntimeError("no filter weights given")
    axis = normalize_axis_index(axis, x.ndim)
    before = len(w) // 2 + origin
    wide = padded(x, axis, before, len(w) - 1 - before, mode, cval)
    n = x.shape[axis]
    out = np.zeros(x.shape, np.result_type(x.dtype, np.float64))
    for k in range(len(w)):
        out += w[k] * wide[part(axis, slice(k, k + n))]
    return out.astype(x.dtype)


@means(ndimage.convolve1d)
def convolve1d(input, weights, axis=-1, *, mode="reflect", cval=0.0, origin=0):
    w = np.asarray(weights)
    return correlate1d(input, w[::-1], axis, mode=mode, cval=cval, origin=-origin - (1 if len(w) % 2 == 0 else 0))


@means(ndimage.gaussian_filter1d)
def gaussian_filter1d(input, sigma, axis=-1, order=0, *, mode="reflect", cval=0.0, truncate=4.0, radius=None):
    width = int(truncate * float(sigma) + 0.5) if radius is None else radius
    return correlate1d(input, gaussian(sigma, order, width)[::-1], axis, mode=mode, cval=cval)


def gaussian(sigma, order, width):
    """A normal density at whole numbers, or its derivative."""
    x = np.arange(-width, width + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * x**2)
    weights = weights / np.sum(weights)
    if order == 0:
        return weights
    elif order == 1:
        return -x / (sigma * sigma) * weights
    elif order == 2:
        return (x**2 / (sigma * sigma) - 1.0) / (sigma * sigma) * weights
    raise NotImplementedError("derivatives of a Gaussian beyond the second are not supported")


def for_each_axis(value, count):
    return tuple([value] * count) if np.isscalar(value) else tuple(value)


@means(ndimage.gaussian_filter)
def gaussian_filter(input, sigma, order=0, *, mode="reflect", cval=0.0, truncate=4.0):
    x = picture(input)
    sigmas, orders = for_each_axis(sigma, x.ndim), for_each_axis(order, x.ndim)
    for axis in range(x.ndim):
        if sigmas[axis] > 1e-15:
            x = gaussian_filter1d(x, sigmas[axis], axis, orders[axis], mode=mode, cval=cval, truncate=truncate)
    return x


@means(ndimage.uniform_filter1d)
def uniform_filter1d(input, size, axis=-1, *, mode="reflect", cval=0.0, origin=0):
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return correlate1d(input, np.full(size, 1.0 / size), axis, mode=mode, cval=cval, origin=origin)


@means(ndimage.uniform_filter)
def uniform_filter(input, size=3, *, mode="reflect", cval=0.0, origin=0):
    x = picture(input)
    sizes, origins = for_each_axis(size, x.ndim), for_each_axis(origin, x.ndim)
    for axis in range(x.ndim):
        if sizes[axis] > 1:
            x = uniform_filter1d(x, sizes[axis], axis, mode=mode, cval=cval, origin=origins[axis])
    return x


@means(ndimage.laplace)
def laplace(input, *, mode="reflect", cval=0.0):
    x = picture(input)
    out = correlate1d(x, [1, -2, 1], 0, mode=mode, cval=cval)
    for axis in range(1, x.ndim):
        out = out + correlate1d(x, [1, -2, 1], axis, mode=mode, cval=cval)
    return out


def slope(input, axis, smooth, mode, cval):
    """The difference of the neighbours along an axis, smoothed along all others."""
    x = picture(input)
    axis = normalize_axis_index(axis, x.ndim)
    out = correlate1d(x, [-1, 0, 1], axis, mode=mode, cval=cval)
    for other in range(x.ndim):
        if other != axis:
            out = correlate1d(out, smooth, other, mode=mode, cval=cval)
    return out


@means(ndimage.sobel)
def sobel(input, axis=-1, *, mode="reflect", cval=0.0):
    return slope(input, axis, [1, 2, 1], mode, cval)


@means(ndimage.prewitt)
def prewitt(input, axis=-1, *, mode="reflect", cval=0.0):
    return slope(input, axis, [1, 1, 1], mode, cval)


@means(ndimage.correlate)
def correlate(input, weights, *, mode="reflect", cval=0.0, origin=0):
    x, w = picture(input), np.asarray(weights)
    if w.ndim != x.ndim:
        raise RuntimeError("filter weights array has incorrect shape.")
    origins = for_each_axis(origin, x.ndim)
    wide = x
    for axis in range(x.ndim):
        before = w.shape[axis] // 2 + origins[axis]
        wide = padded(wide, axis, before, w.shape[axis] - 1 - before, mode, cval)
    out = np.zeros(x.shape, np.result_type(x.dtype, np.float64))
    if x.ndim == 1:
        for i in range(w.shape[0]):
            out += w[i] * wide[i : i + x.shape[0]]
    elif x.ndim == 2:
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                out += w[i, j] * wide[i : i + x.shape[0], j : j + x.shape[1]]
    elif x.ndim == 3:
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                for k in range(w.shape[2]):
                    out += w[i, j, k] * wide[i : i + x.shape[0], j : j + x.shape[1], k : k + x.shape[2]]
    else:
        raise NotImplementedError("images of more than three axes are not supported")
    return out.astype(x.dtype)


@means(ndimage.convolve)
def convolve(input, weights, *, mode="reflect", cval=0.0, origin=0):
    w = np.asarray(weights)
    origins = for_each_axis(origin, w.ndim)
    back = tuple([-origins[k] - (1 if w.shape[k] % 2 == 0 else 0) for k in range(w.ndim)])
    return correlate(input, np.flip(w), mode=mode, cval=cval, origin=back)
