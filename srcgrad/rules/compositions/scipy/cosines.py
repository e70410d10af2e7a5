"""SciPy's cosine and sine transforms, by Fourier transforms of twice the length."""

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


def checked(norm):
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"Invalid norm value {norm!r}, should be 'backward', 'ortho' or 'forward'")


def transformed(x, type, n, axis, norm, inverse):
    x = np.asarray(x)
    if np.iscomplexobj(x):
        real = transformed(x.real, type, n, axis, norm, inverse)
        return real + 1j * transformed(x.imag, type, n, axis, norm, inverse)
    dtype = x.dtype if np.issubdtype(x.dtype, np.inexact) else np.float64
    x = of_length(np.moveaxis(x, axis, -1).astype(np.float64), n)
    checked(norm)
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
        if inverse == (norm != "forward"):
            y = y / count
    return np.moveaxis(y, -1, axis).astype(dtype)


@means(scipy.fft.dct)
def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return transformed(x, type, n, axis, norm, False)


@means(scipy.fft.idct)
def idct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return transformed(x, type, n, axis, norm, True)


@means(scipy.fft.dst)
def dst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return sines(x, type, n, axis, norm, False)


@means(scipy.fft.idst)
def idst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return sines(x, type, n, axis, norm, True)


def sines(x, type, n, axis, norm, inverse):
    """By cosines: the sine of an angle is the cosine of what it lacks to a right one."""
    x = np.asarray(x)
    x = of_length(np.moveaxis(x if np.issubdtype(x.dtype, np.inexact) else x.astype(np.float64), axis, -1), n)
    if type == 1:
        y = odd_sums(x, norm, inverse).astype(x.dtype)
    else:
        k = np.arange(x.shape[-1])
        signs = np.where(k % 2 == 0, 1.0, -1.0).astype(x.real.dtype)
        if type == (3 if inverse else 2):
            y = transformed(x * signs, type, None, -1, norm, inverse)[..., ::-1]
        else:
            y = transformed(x[..., ::-1], type, None, -1, norm, inverse) * signs
    return np.moveaxis(y, -1, axis)


def odd_sums(x, norm, inverse):
    """The sines of the first type: what lies between the zeros of a sequence that goes on oddly."""
    zero = np.zeros((*x.shape[:-1], 1), x.dtype)
    turned = np.fft.fft(np.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1))[..., 1 : x.shape[-1] + 1] * 1j
    count = 2 * (x.shape[-1] + 1)
    y = turned if np.iscomplexobj(x) else turned.real
    checked(norm)
    if norm == "ortho":
        return y / math.sqrt(count)
    return y / count if inverse == (norm != "forward") else y


@means(scipy.fft.dctn)
def dctn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None):
    return over_axes(transformed, x, type, s, axes, norm, False)


@means(scipy.fft.idctn)
def idctn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None):
    return over_axes(transformed, x, type, s, axes, norm, True)


@means(scipy.fft.dstn)
def dstn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None):
    return over_axes(sines, x, type, s, axes, norm, False)


@means(scipy.fft.idstn)
def idstn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None):
    return over_axes(sines, x, type, s, axes, norm, True)


def over_axes(transform, x, type, s, axes, norm, inverse):
    x = np.asarray(x)
    sizes = None if s is None else (s,) if np.isscalar(s) else s
    if axes is None:
        axes = tuple(range(0 if sizes is None else x.ndim - len(sizes), x.ndim))
    elif np.isscalar(axes):
        axes = (axes,)
    for k in range(len(axes)):
        x = transform(x, type, None if sizes is None else sizes[k], axes[k], norm, inverse)
    return x
