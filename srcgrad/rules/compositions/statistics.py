"""Moments and spreads."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import means


@means(np.var, method="var")
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None):
    a = np.asarray(a)
    center = np.mean(a, axis, dtype, keepdims=True) if mean is None else mean
    count = a.size // center.size
    if np.iscomplexobj(a):
        far = a - center
        total = np.sum(far.real**2 + far.imag**2, axis, dtype, keepdims=keepdims)
        return np.divide(total, max(count - ddof, 0), out=out)
    return np.divide(np.sum((a - center) ** 2, axis, dtype, keepdims=keepdims), max(count - ddof, 0), out=out)


@means(np.std, method="std")
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None):
    return np.sqrt(var(a, axis, dtype, None, ddof, keepdims, mean=mean), out=out)


@means(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    return np.subtract(np.max(a, axis, keepdims=keepdims), np.min(a, axis, keepdims=keepdims), out=out)
