"""SciPy's convolutions of signals, and what it takes out of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal
from numpy.lib.array_utils import normalize_axis_tuple

from srcgrad.rules.compositions.along import part
from srcgrad.rules.compositions.registry import means
from srcgrad.rules.compositions.scipy.filters import convolve1d


@means(scipy.signal.convolve)
def convolve(in1, in2, mode="full", method="auto"):
    a, b = np.asarray(in1), np.asarray(in2)
    if a.ndim != b.ndim:
        raise ValueError("volume and kernel should have the same dimensionality")
    if a.ndim == 1:
        return a_part(np.convolve(a, b), a.shape, b.shape, mode, (0,))
    return a_part(sums(a, b), a.shape, b.shape, mode, tuple(range(a.ndim)))


def sums(a, b):
    """All sums of products, wherever the two overlap."""
    full = np.zeros([a.shape[k] + b.shape[k] - 1 for k in range(a.ndim)], np.result_type(a.dtype, b.dtype))
    if a.ndim == 2:
        (n, m), (p, q) = a.shape, b.shape
        for i in range(p):
            for j in range(q):
                full[i : i + n, j : j + m] += b[i, j] * a
    elif a.ndim == 3:
        (n, m, o), (p, q, r) = a.shape, b.shape
        for i in range(p):
            for j in range(q):
                for k in range(r):
                    full[i : i + n, j : j + m, k : k + o] += b[i, j, k] * a
    else:
        raise NotImplementedError("convolutions over more than three axes are not supported")
    return full


def a_part(full, shape, other, mode, axes):
    """What a mode keeps of all sums: as many as the first operand has, or those of which no part is missing."""
    if mode == "full":
        return full
    elif mode == "same":
        for k in axes:
            first = (other[k] - 1) // 2
            full = full[part(k, slice(first, first + shape[k]))]
        return full
    elif mode == "valid":
        if any(shape[k] < other[k] for k in axes) and any(shape[k] > other[k] for k in axes):
            raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
        for k in axes:
            full = full[part(k, slice(min(shape[k], other[k]) - 1, max(shape[k], other[k])))]
        return full
    raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")


@means(scipy.signal.correlate)
def correlate(in1, in2, mode="full", method="auto"):
    b = np.asarray(in2)
    return convolve(in1, np.conj(np.flip(b)) if np.iscomplexobj(b) else np.flip(b), mode)


@means(scipy.signal.fftconvolve, scipy.signal.oaconvolve)
def fftconvolve(in1, in2, mode="full", axes=None):
    a, b = np.asarray(in1), np.asarray(in2)
    if a.ndim != b.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if a.size == 0 or b.size == 0:
        raise ValueError("in1 and in2 must not be empty")
    over = normalize_axis_tuple(tuple(range(a.ndim)) if axes is None else axes, a.ndim)
    size = [a.shape[k] + b.shape[k] - 1 for k in over]
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        full = np.fft.ifftn(np.fft.fftn(a, size, over) * np.fft.fftn(b, size, over), axes=over)
        return a_part(full, a.shape, b.shape, mode, over)
    real = np.fft.irfftn(np.fft.rfftn(a, size, over) * np.fft.rfftn(b, size, over), size, over)
    return a_part(real, a.shape, b.shape, mode, over)


BEYOND: dict[str, Any] = {
    "fill": "constant",
    "wrap": "wrap",
    "symm": "symmetric",
}  # what stands beyond the ends, as np.pad calls it


@means(scipy.signal.convolve2d)
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    a, b = np.asarray(in1), np.asarray(in2)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    return a_part(sums_beyond(a, b, mode, boundary, fillvalue), a.shape, b.shape, mode, (0, 1))


def sums_beyond(a, b, mode, boundary, fillvalue):
    """All sums of products; what they reach beyond the first operand is said by the boundary."""
    if boundary not in BEYOND:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    if mode == "valid" or (boundary == "fill" and fillvalue == 0):
        return sums(a, b)
    (n, m), (p, q) = a.shape, b.shape
    widths = ((p - 1, p - 1), (q - 1, q - 1))
    if boundary == "fill":
        wide = np.pad(a, widths, constant_values=fillvalue)
    else:
        wide = np.pad(a, widths, mode=BEYOND[boundary])
    return sums(wide, b)[p - 1 : p - 1 + n + p - 1, q - 1 : q - 1 + m + q - 1]


@means(scipy.signal.correlate2d)
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    a, b = np.asarray(in1), np.asarray(in2)
    turned = np.conj(b[::-1, ::-1]) if np.iscomplexobj(b) else b[::-1, ::-1]
    if mode != "same":
        return convolve2d(a, turned, mode, boundary, fillvalue)
    (n, m), (p, q) = a.shape, b.shape
    full = convolve2d(a, turned, "full", boundary, fillvalue)
    return full[p // 2 : p // 2 + n, q // 2 : q // 2 + m]


@means(scipy.signal.detrend)
def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=False):
    x = np.asarray(data)
    x = x if np.issubdtype(x.dtype, np.inexact) else x.astype(np.float64)
    if type in ("constant", "c"):
        return x - np.mean(x, axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    rows = np.moveaxis(x, axis, -1)
    if np.isscalar(bp) and bp == 0:
        return np.moveaxis(without_line(rows), -1, axis).astype(x.dtype)
    breaks = [0, bp] if np.isscalar(bp) else sorted([0, *bp])
    if breaks[-1] > rows.shape[-1]:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    out = np.empty(rows.shape, x.dtype)
    for k in range(len(breaks)):
        stop = breaks[k + 1] if k + 1 < len(breaks) else rows.shape[-1]
        out[..., breaks[k] : stop] = without_line(rows[..., breaks[k] : stop])
    return np.moveaxis(out, -1, axis)


def without_line(rows):
    """The rows without the line that fits them best."""
    rows = rows - np.mean(rows, -1, keepdims=True)
    t = np.arange(rows.shape[-1]) - (rows.shape[-1] - 1) / 2.0
    squares = np.sum(t * t)
    slope = np.sum(rows * t, axis=-1, keepdims=True) / (squares if squares > 0 else 1.0)
    return rows - slope * t


@means(scipy.signal.hilbert)
def hilbert(x, N=None, axis=-1):
    x = np.asarray(x)
    if np.iscomplexobj(x):
        raise ValueError("x must be real.")
    x = x if np.issubdtype(x.dtype, np.inexact) else x.astype(np.float64)
    rows = np.moveaxis(x, axis, -1)
    n = rows.shape[-1] if N is None else N
    k = np.arange(n)
    twice = np.where((k == 0) | (2 * k == n), 1.0, np.where(2 * k < n, 2.0, 0.0))
    return np.moveaxis(np.fft.ifft(np.fft.fft(rows, n) * twice.astype(x.dtype)), -1, axis)


@means(scipy.signal.savgol_filter)
def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    x = np.asarray(x)
    if x.dtype not in (np.float64, np.float32):
        x = x.astype(np.float64)
    width = delta**deriv
    weights = scipy.signal.savgol_coeffs(window_length, polyorder, deriv) / width
    if mode != "interp":
        return convolve1d(x, weights, axis, None, mode, cval)
    if window_length > x.shape[axis]:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    rows = np.moveaxis(x, axis, -1)
    out = np.asarray(convolve1d(rows, weights, -1, None, "constant"))
    half = window_length // 2
    if half > 0:  # at the ends, what the polynomial through the first or last window is there
        by = [scipy.signal.savgol_coeffs(window_length, polyorder, deriv, pos=k, use="dot") for k in range(half)]
        begin = np.stack(by).T / width
        by = [
            scipy.signal.savgol_coeffs(window_length, polyorder, deriv, pos=window_length - half + k, use="dot")
            for k in range(half)
        ]
        end = np.stack(by).T / width
        out[..., :half] = rows[..., :window_length] @ begin
        out[..., -half:] = rows[..., -window_length:] @ end
    return np.moveaxis(out, -1, axis)
