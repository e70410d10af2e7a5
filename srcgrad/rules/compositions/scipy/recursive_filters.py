"""SciPy's filters that feed back what they give, forward and in both directions."""

from __future__ import annotations

import numpy as np
import scipy.signal
from numpy.lib.array_utils import normalize_axis_index

from srcgrad.rules.compositions.along import over_rest, part
from srcgrad.rules.compositions.registry import means


def coefficients(b, a, dtype):
    """Numerator and denominator with 1 ahead, as exact as the result."""
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    dtype = np.result_type(b.dtype, a.dtype, dtype)
    b, a = b.astype(dtype), a.astype(dtype)
    if a[0] == 0:
        raise ValueError("the first coefficient of the denominator is 0")
    return b / a[0], a / a[0]


@means(scipy.signal.lfilter)
def lfilter(b, a, x, axis=-1, zi=None):
    x = np.asarray(x)
    axis = normalize_axis_index(axis, x.ndim)
    rows = np.moveaxis(x, axis, -1)
    shape = rows.shape
    if zi is None:
        b, a = coefficients(b, a, x.dtype)
        y = filtered(b, a, rows.reshape(-1, shape[-1]), None)
        return np.moveaxis(y.reshape(shape), -1, axis)
    z = np.asarray(zi)
    b, a = coefficients(b, a, np.result_type(x.dtype, z.dtype))
    order = max(len(a), len(b)) - 1
    if z.ndim != x.ndim or z.shape[axis] != order:
        raise ValueError("the shape of zi is not that of x with max(len(a), len(b)) - 1 along the axis")
    z = np.broadcast_to(np.moveaxis(z, axis, -1), (*shape[:-1], order)).reshape(-1, order)
    rows = rows.reshape(-1, shape[-1])
    y = filtered(b, a, rows, z)
    left = what_is_left(b, a, rows, y, z).reshape((*shape[:-1], order))
    return np.moveaxis(y.reshape(shape), -1, axis), np.moveaxis(left, -1, axis)


def filtered(b, a, rows, z):
    """`z`: what has been left for each row by what came before it."""
    y = np.empty(rows.shape, np.result_type(b.dtype, rows.dtype))
    for r in range(rows.shape[0]):
        for n in range(rows.shape[1]):
            total = b[0] * rows[r, n]
            for k in range(1, min(len(b), n + 1)):
                total += b[k] * rows[r, n - k]
            for k in range(1, min(len(a), n + 1)):
                total -= a[k] * y[r, n - k]
            if z is not None and n < z.shape[1]:
                total += z[r, n]
            y[r, n] = total
    return y


def what_is_left(b, a, rows, y, z):
    """What each row leaves for what comes after it."""
    left = np.zeros(z.shape, y.dtype)
    last = rows.shape[1] - 1
    for r in range(rows.shape[0]):
        for i in range(z.shape[1]):
            for k in range(i + 1, min(len(b), last + i + 2)):
                left[r, i] += b[k] * rows[r, last - (k - i - 1)]
            for k in range(i + 1, min(len(a), last + i + 2)):
                left[r, i] -= a[k] * y[r, last - (k - i - 1)]
            if i + last + 1 < z.shape[1]:
                left[r, i] += z[r, i + last + 1]
    return left


@means(scipy.signal.lfilter_zi)
def lfilter_zi(b, a):
    b, a = coefficients(b, a, np.float32)
    order = max(len(a), len(b)) - 1
    b = np.concatenate([b, np.zeros(order + 1 - len(b), b.dtype)])
    a = np.concatenate([a, np.zeros(order + 1 - len(a), a.dtype)])
    gaps = b[1:] - a[1:] * b[0]
    first = np.sum(gaps) / np.sum(a)
    return first * np.cumsum(a[:-1]) - np.concatenate([np.zeros(1, b.dtype), np.cumsum(gaps[:-1])])


@means(scipy.signal.filtfilt)
def filtfilt(b, a, x, axis=-1, padtype="odd", padlen=None, method="pad", irlen=None):
    if method != "pad":
        raise NotImplementedError(f"filtfilt with method={method!r} is not supported")
    b, a, x = np.atleast_1d(b), np.atleast_1d(a), np.asarray(x)
    axis = normalize_axis_index(axis, x.ndim)
    edge = 3 * max(len(a), len(b)) if padlen is None else padlen
    wide = extended(x, axis, padtype, edge)
    z = over_rest(lfilter_zi(b, a), x.ndim, axis)
    y, _ = lfilter(b, a, wide, axis, z * wide[part(axis, slice(0, 1))])
    y = np.flip(y, axis)
    y, _ = lfilter(b, a, y, axis, z * y[part(axis, slice(0, 1))])
    y = np.flip(y, axis)
    return y if padtype is None else y[part(axis, slice(edge, edge + x.shape[axis]))]


def extended(x, axis, padtype, edge):
    """With `edge` numbers more at either end."""
    if padtype is None:
        return x
    if padtype not in ("odd", "even", "constant"):
        raise ValueError(f"Unknown value '{padtype}' given to padtype.")
    n = x.shape[axis]
    if n <= edge:
        raise ValueError("The length of the input vector x must be greater than padlen.")
    first, last = x[part(axis, slice(0, 1))], x[part(axis, slice(n - 1, n))]
    if padtype == "constant":
        ahead, behind = np.repeat(first, edge, axis), np.repeat(last, edge, axis)
    else:
        ahead = np.flip(x[part(axis, slice(1, edge + 1))], axis)
        behind = np.flip(x[part(axis, slice(n - 1 - edge, n - 1))], axis)
        if padtype == "odd":
            ahead, behind = 2 * first - ahead, 2 * last - behind
    return np.concatenate([ahead, x, behind], axis)


@means(scipy.signal.sosfilt)
def sosfilt(sos, x, axis=-1):
    sos, x = sections(sos), np.asarray(x)
    y = x.astype(np.result_type(sos.dtype, x.dtype))
    for k in range(sos.shape[0]):
        y = lfilter(sos[k, :3], sos[k, 3:], y, axis)
    return y


def sections(sos):
    sos = np.asarray(sos)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if np.any(sos[:, 3] != 1):
        raise ValueError("sos[:, 3] should be all ones")
    return sos


@means(scipy.signal.sosfiltfilt)
def sosfiltfilt(sos, x, axis=-1, padtype="odd", padlen=None):
    sos, x = sections(sos), np.asarray(x)
    axis = normalize_axis_index(axis, x.ndim)
    ends = min(np.sum(sos[:, 2] == 0), np.sum(sos[:, 5] == 0))
    edge = 3 * (2 * sos.shape[0] + 1 - ends) if padlen is None else padlen
    y = extended(x.astype(np.result_type(sos.dtype, x.dtype)), axis, padtype, edge)
    for _ in range(2):  # there and back
        scale, first = 1.0, y[part(axis, slice(0, 1))]
        for k in range(sos.shape[0]):
            b, a = sos[k, :3], sos[k, 3:]
            z = over_rest(scale * lfilter_zi(b, a), x.ndim, axis)
            y, _ = lfilter(b, a, y, axis, z * first)
            scale = scale * np.sum(b) / np.sum(a)
        y = np.flip(y, axis)
    return y if padtype is None else y[part(axis, slice(edge, edge + x.shape[axis]))]
