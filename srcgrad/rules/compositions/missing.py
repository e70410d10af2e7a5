"""Reductions that pass over nan, and nan replaced."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import handed, means, steady
from srcgrad.rules.compositions.statistics import root


def without_nan(a, filling):
    """The array with another value for nan."""
    a = np.asarray(a)
    return np.where(np.isnan(a), filling, a) if a.dtype.kind in "fc" else a


@means(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    x = np.asarray(x)[()]
    if x.dtype.kind not in "fc":
        return np.positive(x)
    if copy:
        return finite(x, nan, posinf, neginf)
    x[...] = finite(x, nan, posinf, neginf)
    return x


def finite(x, nan, posinf, neginf):
    if np.iscomplexobj(x):
        return finite(x.real, nan, posinf, neginf) + 1j * finite(x.imag, nan, posinf, neginf)
    high = np.finfo(x.dtype).max if posinf is None else posinf
    low = np.finfo(x.dtype).min if neginf is None else neginf
    return np.where(np.isnan(x), nan, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))


@means(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    return np.sum(without_nan(a, 0), axis, dtype, out, keepdims)


@means(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    return np.prod(without_nan(a, 1), axis, dtype, out, keepdims)


@means(np.nancumsum)
def nancumsum(a, axis=None, dtype=None, out=None):
    return np.cumsum(without_nan(a, 0), axis, dtype, out)


@means(np.nancumprod)
def nancumprod(a, axis=None, dtype=None, out=None):
    return np.cumprod(without_nan(a, 1), axis, dtype, out)


@means(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    a = np.asarray(a)
    if a.dtype.kind not in "fc":
        return np.mean(a, axis, dtype, out, keepdims)
    total = np.sum(without_nan(a, 0), axis, dtype, out, keepdims)
    count = np.sum(~np.isnan(a), axis, keepdims=keepdims)
    return handed(np.divide(total, count.astype(total.dtype)), out)


@means(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None):
    a = np.asarray(a)
    if a.dtype.kind not in "fc":
        return np.var(a, axis, dtype, out, ddof, keepdims)
    center = steady(nanmean(a, axis, dtype, keepdims=True)) if mean is None else mean  # as in `var`
    far = a - center
    squares = np.where(np.isnan(a), 0, far.real**2 + far.imag**2 if np.iscomplexobj(a) else far**2)
    free = np.sum(~np.isnan(a), axis, keepdims=keepdims) - ddof
    total = np.sum(squares, axis, dtype, keepdims=keepdims)
    return handed(np.positive(np.where(free > 0, total / np.maximum(free, 1).astype(total.dtype), np.nan)), out)


@means(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None):
    return root(nanvar(a, axis, dtype, out, ddof, keepdims, mean=mean), out)


@means(np.nanmax)
def nanmax(a, axis=None, out=None, keepdims=False):
    a = np.asarray(a)
    if a.dtype.kind not in "fc":
        return np.max(a, axis, out, keepdims)
    top = np.max(without_nan(a, -np.inf), axis, keepdims=keepdims)
    return handed(np.positive(np.where(np.all(np.isnan(a), axis, keepdims=keepdims), np.nan, top)), out)


@means(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=False):
    a = np.asarray(a)
    if a.dtype.kind not in "fc":
        return np.min(a, axis, out, keepdims)
    bottom = np.min(without_nan(a, np.inf), axis, keepdims=keepdims)
    return handed(np.positive(np.where(np.all(np.isnan(a), axis, keepdims=keepdims), np.nan, bottom)), out)


@means(np.nanargmax)
def nanargmax(a, axis=None, out=None, *, keepdims=False):
    a = np.asarray(a)
    if a.dtype.kind in "fc":
        if np.any(np.all(np.isnan(a), axis)):
            raise ValueError("All-NaN slice encountered")
    return np.argmax(without_nan(a, -np.inf), axis, out, keepdims=keepdims)


@means(np.nanargmin)
def nanargmin(a, axis=None, out=None, *, keepdims=False):
    a = np.asarray(a)
    if a.dtype.kind in "fc":
        if np.any(np.all(np.isnan(a), axis)):
            raise ValueError("All-NaN slice encountered")
    return np.argmin(without_nan(a, np.inf), axis, out, keepdims=keepdims)
