"""Norms and solves of NumPy's newer and rarer spellings."""

from __future__ import annotations

import math

import numpy as np

from srcgrad.rules.compositions.along import gathered, kept_shape
from srcgrad.rules.compositions.registry import means


@means(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = np.asarray(x)
    out = np.linalg.norm(gathered(x, axis), ord, -1)
    return np.reshape(out, kept_shape(x.shape, axis)) if keepdims else out


@means(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return np.linalg.norm(x, ord, (-2, -1), keepdims)


@means(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    a, b = np.asarray(a), np.asarray(b)
    if axes is not None:
        rest = tuple(k for k in range(a.ndim) if k not in axes)
        a = np.transpose(a, (*rest, *axes))
    found = a.shape[b.ndim :]
    return np.linalg.solve(a.reshape(math.prod(found), -1), b.reshape(-1)).reshape(found)


@means(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    a = np.asarray(a)
    first, last = a.shape[:ind], a.shape[ind:]
    return np.linalg.inv(a.reshape(math.prod(first), -1)).reshape((*last, *first))


@means(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    p = np.moveaxis(np.asarray(p) * 1.0, axis, -1)
    step = np.diff(p, axis=-1)
    half = period / 2
    inside = np.mod(step + half, period) - half
    inside = np.where((inside == -half) & (step > 0), half, inside)
    limit = half if discont is None else max(discont, half)
    jump = np.where(np.abs(step) < limit, 0.0, inside - step)
    out = np.array(p)
    out[..., 1:] += np.cumsum(jump, axis=-1)
    return np.moveaxis(out, -1, axis)
