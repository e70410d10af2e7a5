"""SciPy's convolutions and filters of signals."""

from __future__ import annotations

import numpy as np
import scipy.signal
from numpy.lib.array_utils import normalize_axis_index

from srcgrad.rules.compositions.registry import means


@means(scipy.signal.convolve)
def convolve(in1, in2, mode="full", method="auto"):
    a, b = np.asarray(in1), np.asarray(in2)
    if a.ndim != b.ndim:
        raise ValueError("volume and kernel should have the same dimensionality")
    if a.ndim == 2:
        return convolve2d(a, b, mode)
    if a.ndim != 1:
        raise NotImplementedError("convolutions over more than two axes are not supported")
    return middle(np.convolve(a, b), len(a), len(b), mode)


def middle(full, n, m, mode):
    """What a mode keeps of all sums: as many as the first operand has, or those of which no part is missing."""
    if mode == "full":
        return full
    elif mode == "same":
        return full[(m - 1) // 2 : (m - 1) // 2 + n]
    elif mode == "valid":
        return full[min(n, m) - 1 : max(n, m)]
    raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")


@means(scipy.signal.correlate)
def correlate(in1, in2, mode="full", method="auto"):
    b = np.asarray(in2)
    return convolve(in1, np.conj(np.flip(b)) if np.iscomplexobj(b) else np.flip(b), mode)


@means(scipy.signal.fftconvolve, scipy.signal.oaconvolve)
def fftconvolve(in1, in2, mode="full", axes=None):
    a, b = np.asarray(in1), np.asarray(in2)
    if a.ndim != 1 or b.ndim != 1 or axes is not None:
        raise NotImplementedError("fftconvolve over other than one axis is not supported")
    size = len(a) + len(b) - 1
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        return middle(np.fft.ifft(np.fft.fft(a, size) * np.fft.fft(b, size)), len(a), len(b), mode)
    return middle(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size), len(a), len(b), mode)


@means(scipy.signal.convolve2d)
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    a, b = np.asarray(in1), np.asarray(in2)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError("convolve2d with another boundary than zeros is not supported")
    (n, m), (p, q) = a.shape, b.shape
    full = np.zeros((n + p - 1, m + q - 1), np.result_type(a.dtype, b.dtype))
    for i in range(p):
        for j in range(q):
            full[i : i + n, j : j + m] += b[i, j] * a
    if mode == "full":
        return full
    elif mode == "same":
        return full[(p - 1) // 2 : (p - 1) // 2 + n, (q - 1) // 2 : (q - 1) // 2 + m]
    elif mode == "valid":
        if not (n >= p and m >= q) and not (n <= p and m <= q):
            raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
        return full[min(n, p) - 1 : max(n, p), min(m, q) - 1 : max(m, q)]
    raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")


@means(scipy.signal.correlate2d)
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    b = np.asarray(in2)
    turned = np.conj(b[::-1, ::-1]) if np.iscomplexobj(b) else b[::-1, ::-1]
    if mode != "same":
        return convolve2d(in1, turned, mode, boundary, fillvalue)
    (n, m), (p, q) = np.shape(in1), b.shape
    full = convolve2d(in1, turned, "full", boundary, fillvalue)
    return full[p // 2 : p // 2 + n, q // 2 : q // 2 + m]


@means(scipy.signal.lfilter)
def lfilter(b, a, x, axis=-1):
    b, a, x = np.atleast_1d(b), np.atleast_1d(a), np.asarray(x)
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    axis = normalize_axis_index(axis, x.ndim)
    b, a = b / a[0], a / a[0]
    rows = np.moveaxis(x, axis, -1)
    shape = rows.shape
    rows = rows.reshape(-1, shape[-1])
    y = np.empty(rows.shape, np.result_type(b.dtype, a.dtype, x.dtype))
    for r in range(rows.shape[0]):
        for n in range(rows.shape[1]):
            total = b[0] * rows[r, n]
            for k in range(1, min(len(b), n + 1)):
                total += b[k] * rows[r, n - k]
            for k in range(1, min(len(a), n + 1)):
                total -= a[k] * y[r, n - k]
            y[r, n] = total
    return np.moveaxis(y.reshape(shape), -1, axis)


@means(scipy.signal.sosfilt)
def sosfilt(sos, x, axis=-1):
    sos, y = np.asarray(sos), np.asarray(x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if np.any(sos[:, 3] != 1):
        raise ValueError("sos[:, 3] should be all ones")
    for k in range(sos.shape[0]):
        y = lfilter(sos[k, :3], sos[k, 3:], y, axis)
    return y


@means(scipy.signal.detrend)
def detrend(data, axis=-1, type="linear"):
    x = np.asarray(data)
    x = x if np.issubdtype(x.dtype, np.inexact) else x.astype(np.float64)
    mean = np.mean(x, axis, keepdims=True)
    if type in ("constant", "c"):
        return x - mean
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    rows = np.moveaxis(x - mean, axis, -1)
    t = np.arange(rows.shape[-1]) - (rows.shape[-1] - 1) / 2.0
    slope = np.sum(rows * t, axis=-1, keepdims=True) / np.sum(t * t)
    return np.moveaxis(rows - slope * t, -1, axis).astype(x.dtype)


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
