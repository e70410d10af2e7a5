"""Convolution and correlation of sequences: a sum of shifted copies."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import means


@means(np.convolve)
def convolve(a, v, mode="full"):
    if np.ndim(a) > 1 or np.ndim(v) > 1:
        raise ValueError("object too deep for desired array")
    a, v = np.ravel(a), np.ravel(v)
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if len(v) == 0:
        raise ValueError("v cannot be empty")
    return convolved(a, v, mode, (min(len(a), len(v)) - 1) // 2)


@means(np.correlate)
def correlate(a, v, mode="valid"):
    if np.ndim(a) > 1 or np.ndim(v) > 1:
        raise ValueError("object too deep for desired array")
    a, v = np.ravel(a), np.ravel(v)
    if len(a) == 0:
        raise ValueError("first argument cannot be empty")
    if len(v) == 0:
        raise ValueError("second argument cannot be empty")
    start = (len(v) - 1) // 2 if len(a) >= len(v) else len(a) // 2
    return convolved(a, np.conj(v[::-1]) if np.iscomplexobj(v) else v[::-1], mode, start)


def convolved(a, v, mode, start):
    """`start`: which of all sums is the first of those that mode "same" keeps."""
    n, m = len(a), len(v)
    short = min(n, m)
    dtype = np.result_type(a.dtype, v.dtype)
    if mode == "valid":
        out = np.zeros(max(n, m) - short + 1, dtype)
        if n >= m:
            for k in range(m):
                out += v[k] * a[m - 1 - k : n - k]
        else:
            for k in range(n):
                out += a[k] * v[n - 1 - k : m - k]
        return out
    out = np.zeros(n + m - 1, dtype)
    if n >= m:
        for k in range(m):
            out[k : k + n] += v[k] * a
    else:
        for k in range(n):
            out[k : k + m] += a[k] * v
    if mode == "same":
        return out[start : start + max(n, m)]
    elif mode == "full":
        return out
    raise ValueError("mode must be one of 'valid', 'same', or 'full'")
