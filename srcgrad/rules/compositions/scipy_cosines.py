"""SciPy's cosine transforms, by Fourier transforms of twice the length."""

from __future__ import annotations

import math

import numpy as np
import scipy.fft

from srcgrad.rules.compositions.registry import means


def turns(angles):
    """exp(i * angle)"""
    return np.cos(angles) + 1j * np.sin(angles)


def sums(x, type):
    """The sums of a type along the last axis, without a norm."""
    n = x.shape[-1]
    k = np.arange(n)
    if type == 1:
        if n < 2:
            raise ValueError("DCT-I is not defined for size < 2")
        return np.fft.rfft(np.concatenate([x, x[..., -2:0:-1]], axis=-1)).real
    elif type == 2:
        both = np.fft.fft(np.concatenate([x, x[..., ::-1]], axis=-1))[..., :n]
        return (both * turns(-math.pi * k / (2 * n))).real
    elif type == 3:
        half = np.where(k == 0, 0.5, 1.0)
        return 4 * n * np.fft.ifft(half * x * turns(math.pi * k / (2 * n)), 2 * n)[..., :n].real
    elif type == 4:
        inner = np.fft.ifft(x * turns(math.pi * k / (2 * n)), 2 * n)[..., :n]
        return 4 * n * (inner * turns(math.pi * (2 * k + 1) / (4 * n))).real
    raise ValueError("invalid DCT type")


def of_length(x, n):
    """x, cut or filled up with zeros."""
    if n is None or n == x.shape[-1]:
        return x
    elif n < x.shape[-1]:
        return x[..., :n]
    return np.concatenate([x, np.zeros((*x.shape[:-1], n - x.shape[-1]), x.dtype)], axis=-1)


def ends(n, type, first, last):
    """The orthogonal transforms weigh what belongs to frequency 0 (and, of the first type, to the highest)."""
    k = np.arange(n)
    weight = np.where(k == 0, first, 1.0)
    return np.where(k == n - 1, last, weight) if type == 1 else weight


def transformed(x, type, n, axis, norm, inverse):
    x = np.asarray(x)
    if np.iscomplexobj(x):
        raise NotImplementedError("cosine transforms of complex numbers are not supported")
    dtype = x.dtype if np.issubdtype(x.dtype, np.inexact) else np.float64
    x = of_length(np.moveaxis(x, axis, -1).astype(np.float64), n)
    size = x.shape[-1]
    count = 2 * (size - 1) if type == 1 else 2 * size
    if norm == "ortho":
        root = math.sqrt(2.0)
        if type == 1 or (type == 3 and not inverse) or (type == 2 and inverse):
            x = x * ends(size, type, root, root)
        y = sums(x, 5 - type if inverse and type in (2, 3) else type) / math.sqrt(count)
        if type == 1 or (type == 2 and not inverse) or (type == 3 and inverse):
            y = y * ends(size, type, 1.0 / root, 1.0 / root)
    else:
        y = sums(x, 5 - type if inverse and type in (2, 3) else type)
        if norm not in (None, "backward", "forward"):
            raise ValueError(f"Invalid norm value {norm!r}, should be 'backward', 'ortho' or 'forward'")
        if inverse == (norm != "forward"):
            y = y / count
    return np.moveaxis(y, -1, axis).astype(dtype)


@means(scipy.fft.dct)
def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return transformed(x, type, n, axis, norm, False)


@means(scipy.fft.idct)
def idct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return transformed(x, type, n, axis, norm, True)


@means(scipy.fft.dctn)
def dctn(x, type=2, *, axes=None, norm=None, overwrite_x=False, workers=None):
    return over_axes(x, type, axes, norm, False)


@means(scipy.fft.idctn)
def idctn(x, type=2, *, axes=None, norm=None, overwrite_x=False, workers=None):
    return over_axes(x, type, axes, norm, True)


def over_axes(x, type, axes, norm, inverse):
    x = np.asarray(x)
    for axis in range(x.ndim) if axes is None else axes:
        x = transformed(x, type, None, axis, norm, inverse)
    return x
