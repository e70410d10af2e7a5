"""SciPy's filters of images: weighted sums of neighbours, an axis after the other; the largest and the median of them.

`output` is None, a dtype, or an array that the result is written to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage as ndimage
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from srcgrad.rules.compositions.along import part
from srcgrad.rules.compositions.registry import means

BEYOND: dict[str, Any] = {  # what stands beyond the ends, as np.pad calls it
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "constant": "constant",
    "grid-constant": "constant", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip

# ------------------------------------------------------------------------------------------- what goes in and out


def kind_of(x, output):
    """The dtype of the result."""
    kind = x.dtype if output is None else output.dtype if isinstance(output, np.ndarray) else np.dtype(output)
    if not np.issubdtype(kind, np.inexact):
        raise NotImplementedError("filters round the results of integers: pass x.astype(float), or output=float")
    return kind


def given(result, output):
    """The result, in the array that was handed in for it, if one was."""
    if isinstance(output, np.ndarray):
        if output.shape != result.shape:
            raise RuntimeError("output shape not correct")
        output[...] = result
        return output
    return result


def for_each_axis(value, count):
    return (value,) * count if np.isscalar(value) else tuple(value)


def filtered_axes(axes, ndim):
    return tuple(range(ndim)) if axes is None else normalize_axis_tuple(axes, ndim)


def padded(x, axis, before, after, mode, cval):
    if mode not in BEYOND:
        raise ValueError(f"boundary mode {mode!r} is not supported")
    widths = [(before, after) if k == axis else (0, 0) for k in range(x.ndim)]
    if BEYOND[mode] == "constant":
        return np.pad(x, widths, constant_values=cval)
    return np.pad(x, widths, mode=BEYOND[mode])


def conjugate(w):
    """A correlation has the conjugates of complex weights, a convolution the weights themselves."""
    return np.conj(w) if np.iscomplexobj(w) else w


# ------------------------------------------------------------------------------------------------- along one axis


@means(ndimage.correlate1d)
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    x, w = np.asarray(input), np.asarray(weights)
    kind = kind_of(x, output)
    if output is None and np.iscomplexobj(w):
        kind = np.result_type(kind, np.complex64)
    if w.ndim != 1 or len(w) < 1:
        raise RuntimeError("no filter weights given")
    axis = normalize_axis_index(axis, x.ndim)
    before = len(w) // 2 + origin
    wide = padded(x, axis, before, len(w) - 1 - before, mode, cval)
    n = x.shape[axis]
    out = np.zeros(x.shape, np.result_type(x.dtype, np.float64, w.dtype))
    w = conjugate(w)
    for k in range(len(w)):
        out += w[k] * wide[part(axis, slice(k, k + n))]
    return given(out.astype(kind), output)


@means(ndimage.convolve1d)
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    w = conjugate(np.asarray(weights))
    return correlate1d(input, w[::-1], axis, output, mode, cval, -origin - (1 if len(w) % 2 == 0 else 0))


@means(ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None
):
    width = int(truncate * float(sigma) + 0.5) if radius is None else radius
    return correlate1d(input, gaussian(sigma, order, width)[::-1], axis, output, mode, cval)


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


@means(ndimage.uniform_filter1d)
def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return correlate1d(input, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


# ------------------------------------------------------------------------------------- an axis after the other


@means(ndimage.gaussian_filter)
def gaussian_filter(
    input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None
):
    x = np.asarray(input)
    kind, axes = kind_of(x, output), filtered_axes(axes, x.ndim)
    sigmas, orders = for_each_axis(sigma, len(axes)), for_each_axis(order, len(axes))
    modes = for_each_axis(mode, len(axes))
    radii = (None,) * len(axes) if radius is None else for_each_axis(radius, len(axes))
    for k in range(len(axes)):
        if sigmas[k] > 1e-15:
            x = gaussian_filter1d(x, sigmas[k], axes[k], orders[k], kind, modes[k], cval, truncate, radius=radii[k])
    return given(x.astype(kind), output)


@means(ndimage.uniform_filter)
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    x = np.asarray(input)
    kind, axes = kind_of(x, output), filtered_axes(axes, x.ndim)
    sizes, origins = for_each_axis(size, len(axes)), for_each_axis(origin, len(axes))
    modes = for_each_axis(mode, len(axes))
    for k in range(len(axes)):
        if sizes[k] > 1:
            x = uniform_filter1d(x, sizes[k], axes[k], kind, modes[k], cval, origins[k])
    return given(x.astype(kind), output)


# ---------------------------------------------------------------------------------------------------- derivatives


def laplacian(input, output, mode, second):
    """The sum of the second derivatives: `second(x, axis, dtype, mode)` is one of them."""
    x = np.asarray(input)
    kind, modes = kind_of(x, output), for_each_axis(mode, x.ndim)
    if x.ndim == 0:
        return given(x.astype(kind), output)
    out = second(x, 0, kind, modes[0])
    for axis in range(1, x.ndim):
        out = out + second(x, axis, kind, modes[axis])
    return given(out, output)


@means(ndimage.laplace)
def laplace(input, output=None, mode="reflect", cval=0.0):
    def second(x, axis, kind, mode):
        return correlate1d(x, [1, -2, 1], axis, kind, mode, cval)

    return laplacian(input, output, mode, second)


def orders_along(axis, order, ndim):
    return tuple([order if k == axis else 0 for k in range(ndim)])


@means(ndimage.gaussian_laplace)
def gaussian_laplace(input, sigma, output=None, mode="reflect", cval=0.0, *, truncate=4.0, radius=None):
    def second(x, axis, kind, mode):
        orders = orders_along(axis, 2, x.ndim)
        return gaussian_filter(x, sigma, orders, kind, mode, cval, truncate, radius=radius)

    return laplacian(input, output, mode, second)


@means(ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(input, sigma, output=None, mode="reflect", cval=0.0, *, truncate=4.0, radius=None):
    x = np.asarray(input)
    kind, modes = kind_of(x, output), for_each_axis(mode, x.ndim)
    squares = 0.0
    for axis in range(x.ndim):
        orders = orders_along(axis, 1, x.ndim)
        slopes = gaussian_filter(x, sigma, orders, kind, modes[axis], cval, truncate, radius=radius)
        squares = squares + slopes**2
    return given(np.where(squares == 0, squares, np.sqrt(squares)), output)


def slope(input, axis, output, smooth, mode, cval):
    """The difference of the neighbours along an axis, smoothed along all others."""
    x = np.asarray(input)
    kind, modes = kind_of(x, output), for_each_axis(mode, x.ndim)
    axis = normalize_axis_index(axis, x.ndim)
    out = correlate1d(x, [-1, 0, 1], axis, kind, modes[axis], cval)
    for other in range(x.ndim):
        if other != axis:
            out = correlate1d(out, smooth, other, kind, modes[other], cval)
    return given(out, output)


@means(ndimage.sobel)
def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    return slope(input, axis, output, [1, 2, 1], mode, cval)


@means(ndimage.prewitt)
def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    return slope(input, axis, output, [1, 1, 1], mode, cval)


# --------------------------------------------------------------------------------------------- over all axes at once


@means(ndimage.correlate)
def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    x, w = np.asarray(input), np.asarray(weights)
    kind = kind_of(x, output)
    if output is None and np.iscomplexobj(w):
        kind = np.result_type(kind, np.complex64)
    if w.ndim != x.ndim:
        raise RuntimeError("filter weights array has incorrect shape.")
    origins = for_each_axis(origin, x.ndim)
    wide = x
    for axis in range(x.ndim):
        before = w.shape[axis] // 2 + origins[axis]
        wide = padded(wide, axis, before, w.shape[axis] - 1 - before, mode, cval)
    out = np.zeros(x.shape, np.result_type(x.dtype, np.float64, w.dtype))
    w = conjugate(w)
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
    return given(out.astype(kind), output)


@means(ndimage.convolve)
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    w = conjugate(np.asarray(weights))
    origins = for_each_axis(origin, w.ndim)
    back = tuple([-origins[k] - (1 if w.shape[k] % 2 == 0 else 0) for k in range(w.ndim)])
    return correlate(input, np.flip(w), output, mode, cval, back)


# ------------------------------------------------------------------------------------- by the order of neighbours


def ranked(chosen, input, size, axes, output, mode, cval, origin):
    """`chosen(windows, count)`: what is kept of the neighbours of each element, which are the last axis."""
    x = np.asarray(input)
    kind = x.dtype if output is None else kind_of(x, output)
    if np.iscomplexobj(x):
        raise TypeError("Complex type not supported")
    axes = filtered_axes(axes, x.ndim)
    sizes, origins = for_each_axis(size, len(axes)), for_each_axis(origin, len(axes))
    modes = for_each_axis(mode, len(axes))
    wide, count = x, 1
    for k in range(len(axes)):
        if sizes[k] < 1:
            raise RuntimeError("incorrect filter size")
        before = sizes[k] // 2 + origins[k]
        wide = padded(wide, axes[k], before, sizes[k] - 1 - before, modes[k], cval)
        count = count * sizes[k]
    windows = sliding_window_view(wide, sizes, axes).reshape((*x.shape, count))
    return given(chosen(windows, count).astype(kind), output)


def largest(windows, count):
    return np.max(windows, axis=-1)


def smallest(windows, count):
    return np.min(windows, axis=-1)


def middle(windows, count):
    return np.sort(windows, axis=-1)[..., count // 2]


@means(ndimage.maximum_filter1d)
def maximum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return ranked(largest, input, size, axis, output, mode, cval, origin)


@means(ndimage.minimum_filter1d)
def minimum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return ranked(smallest, input, size, axis, output, mode, cval, origin)


@means(ndimage.maximum_filter)
def maximum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    return ranked(largest, input, box(size, footprint), axes, output, mode, cval, origin)


@means(ndimage.minimum_filter)
def minimum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    return ranked(smallest, input, box(size, footprint), axes, output, mode, cval, origin)


@means(ndimage.median_filter)
def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    return ranked(middle, input, box(size, footprint), axes, output, mode, cval, origin)


def box(size, footprint):
    if footprint is not None:
        raise NotImplementedError("neighbours that a footprint chooses are not supported: pass a size")
    if size is None:
        raise RuntimeError("no footprint or filter size provided")
    return size
