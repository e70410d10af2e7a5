"""Moments and spreads.

A sum of squared distances is at its least where they are from the mean: by the mean its derivative is 0, and the way
back does not go through that (as PyTorch's `var_backward`).
"""

from __future__ import annotations

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from srcgrad.rules.compositions.along import count_along
from srcgrad.rules.compositions.registry import handed, means, steady


@means(np.var, method="var")
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None):
    a = np.asarray(a)
    center = steady(np.mean(a, axis, dtype, keepdims=True)) if mean is None else mean
    free = max(count_along(a.shape, axis) - ddof, 0)
    if np.iscomplexobj(a):
        far = a - center
        return handed(np.divide(summed(far.real**2 + far.imag**2, axis, dtype, out, keepdims), free), out)
    return handed(np.divide(summed((a - center) ** 2, axis, dtype, out, keepdims), free), out)


def summed(a, axis, dtype, out, keepdims):
    """The sum as NumPy has it in the array that was handed in for it: added up in the wider type of the two."""
    if out is None:
        return np.sum(a, axis, dtype, keepdims=keepdims)
    wide = np.result_type(a.dtype, out.dtype) if dtype is None else dtype
    return np.sum(a, axis, wide, keepdims=keepdims).astype(out.dtype)


@means(np.std, method="std")
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None):
    return root(var(a, axis, dtype, out, ddof, keepdims, mean=mean), out)


def root(variance, out):
    """Of equal numbers the spread is 0, and so is its derivative."""
    return handed(np.positive(np.where(variance == 0, 0.0, np.sqrt(variance))), out)


@means(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    greatest, least = np.max(a, axis, keepdims=keepdims), np.min(a, axis, keepdims=keepdims)
    return handed(np.subtract(greatest if out is None else greatest.astype(out.dtype), least), out)


@means(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    a = np.asarray(a)
    if weights is None:
        mean = np.mean(a, axis, keepdims=keepdims)
        return (mean, np.zeros_like(mean)[()] + count_along(a.shape, axis)) if returned else mean
    weights = np.asarray(weights)
    whole = a.dtype.kind not in "fc"
    dtype = np.result_type(a.dtype, weights.dtype, np.float64) if whole else np.result_type(a.dtype, weights.dtype)
    weights = weights_along(weights, a, axis).astype(dtype)
    scale = np.sum(weights, axis, keepdims=keepdims)
    if np.any(scale == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = np.sum(a * weights, axis, dtype=dtype, keepdims=keepdims) / scale
    return (mean, scale) if returned else mean


def weights_along(weights, a, axis):
    """The weights as an array of the shape of `a`; fewer axes are those that are averaged over."""
    if weights.ndim == a.ndim:
        if weights.shape != a.shape and axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weights.shape != a.shape:
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize_axis_tuple(axis, a.ndim)
    if weights.ndim != len(axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    if tuple(a.shape[k] for k in axes) != weights.shape:
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = tuple(axes.index(k) for k in range(a.ndim) if k in axes)
    ordered = np.transpose(weights, order)
    return np.broadcast_to(ordered.reshape(tuple(a.shape[k] if k in axes else 1 for k in range(a.ndim))), a.shape)


@means(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """One variable has a variance, a number; of several it must be known that they are several."""
    m = np.asarray(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    wide = np.result_type(m.dtype, np.float64) if dtype is None else dtype
    x = variables(m, rowvar).astype(wide)
    if y is not None:
        y = np.asarray(y)
        if y.ndim > 2:
            raise ValueError("y has more than 2 dimensions")
        x = np.concatenate([x, variables(y, rowvar).astype(np.result_type(y.dtype, wide) if dtype is None else wide)])
    if ddof is None:
        ddof = 0 if bias else 1
    n = x.shape[1]
    if fweights is None and aweights is None:
        center, factor = steady(np.mean(x, axis=1, keepdims=True)), np.float64(n - ddof)
        weighted = centered = x - center
    else:
        if fweights is not None and len(fweights) != n:
            raise RuntimeError("incompatible numbers of samples and fweights")
        if aweights is not None and len(aweights) != n:
            raise RuntimeError("incompatible numbers of samples and aweights")
        weights = np.ones(n) if fweights is None else np.asarray(fweights).astype(np.float64)
        if aweights is not None:
            weights = weights * aweights
        total = np.sum(weights)
        center = steady(np.sum(x * weights, axis=1, keepdims=True) / total)
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = total - ddof
        else:
            factor = total - ddof * np.sum(weights * aweights) / total
        centered = x - center
        weighted = centered * weights
    c = (centered @ weighted.conj().T) * (1 / np.maximum(factor, 0.0)).astype(wide)
    if m.ndim < 2 and y is None:
        return c[0, 0, ...]
    if len(x) == 1:
        raise NotImplementedError("np.cov of a matrix with one variable is a number: pass the row itself")
    return c


def variables(m, rowvar):
    """One row for each variable."""
    if m.ndim < 2:
        return m.reshape((1, -1))
    return m if rowvar else m.T


@means(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    each = np.arange(len(c))
    spread = np.sqrt(c[each, each])
    return np.clip(c / spread[:, None] / spread[None, :], -1, 1)
