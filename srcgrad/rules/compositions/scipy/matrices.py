"""SciPy's matrices of a certain form."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from srcgrad.rules.compositions.registry import means, steady


@means(scipy.linalg.block_diag)
def block_diag(*arrs):
    blocks = [np.atleast_2d(block) for block in arrs]
    if max([b.ndim for b in blocks]) > 2:
        raise NotImplementedError("block_diag of stacks of matrices is not supported")
    shape = sum([b.shape[0] for b in blocks]), sum([b.shape[1] for b in blocks])
    out = np.zeros(shape, np.result_type(*[b.dtype for b in blocks]))
    row, column = 0, 0
    for b in blocks:
        out[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return out


def sequence(c):
    c = np.asarray(c)
    if c.ndim != 1:
        raise NotImplementedError("sequences with other than one axis are not supported here")
    return c


@means(scipy.linalg.toeplitz)
def toeplitz(c, r=None):
    c = sequence(c)
    r = np.conj(c) if r is None else sequence(r)
    out = np.empty((len(c), len(r)), np.result_type(c.dtype, r.dtype))
    for i in range(len(c)):
        for j in range(len(r)):
            out[i, j] = c[i - j] if i >= j else r[j - i]
    return out


@means(scipy.linalg.circulant)
def circulant(c):
    c = sequence(c)
    n = len(c)
    out = np.empty((n, n), c.dtype)
    for i in range(n):
        for j in range(n):
            out[i, j] = c[(i - j) % n]
    return out


@means(scipy.linalg.hankel)
def hankel(c, r=None):
    c = sequence(c)
    r = np.zeros_like(c) if r is None else sequence(r)
    out = np.empty((len(c), len(r)), np.result_type(c.dtype, r.dtype))
    for i in range(len(c)):
        for j in range(len(r)):
            out[i, j] = c[i + j] if i + j < len(c) else r[i + j - len(c) + 1]
    return out


@means(scipy.linalg.companion)
def companion(a):
    a = sequence(a)
    if len(a) < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    first = -a[1:] / a[0]
    out = np.zeros((len(a) - 1, len(a) - 1), first.dtype)
    out[0] = first
    for k in range(len(a) - 2):
        out[k + 1, k] = 1
    return out


@means(scipy.linalg.khatri_rao)
def khatri_rao(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if a.shape[1] != b.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return (a[:, None, :] * b[None, :, :]).reshape(a.shape[0] * b.shape[0], b.shape[1])


@means(scipy.linalg.sqrtm)
def sqrtm(A):
    """A constant root R, and the L with R L + L R = A - R R beside it: that is 0, but for its derivative."""
    a = np.asarray(A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("the argument of sqrtm must be a square matrix")
    a = a.astype(np.result_type(a.dtype, np.float32))
    root = steady(root_of(steady(a)))
    return root + solved_on_both_sides(root, a - root @ root)


def root_of(a):
    """Denman and Beavers: the root and its inverse, scaled by their determinants, until they stay."""
    n = a.shape[0]
    root, inverse = a.copy(), np.eye(n, dtype=a.dtype)
    for k in range(100):
        _, first = np.linalg.slogdet(root)
        _, second = np.linalg.slogdet(inverse)
        scale = np.exp(-0.5 * (first + second) / n).astype(a.real.dtype) if k < 8 else a.real.dtype.type(1)
        next_root = 0.5 * (scale * root + np.linalg.inv(inverse) / scale)
        inverse = 0.5 * (scale * inverse + np.linalg.inv(root) / scale)
        change, size = np.sum(np.abs(next_root - root)), np.sum(np.abs(next_root))
        root = next_root
        if change <= n * np.finfo(a.dtype).eps * size:
            return root
    if change <= np.sqrt(np.finfo(a.dtype).eps) * size:
        return root
    raise np.linalg.LinAlgError("a root of this matrix is not found: is an eigenvalue 0 or negative?")


def solved_on_both_sides(r, e):
    """The L with r L + L r = e: where r turns to the identity, e turns to 2 L."""
    for k in range(100):
        inverse = np.linalg.inv(r)
        _, log = np.linalg.slogdet(r)
        scale = np.exp(-log / r.shape[0]).astype(r.real.dtype) if k < 8 else r.real.dtype.type(1)
        e = 0.5 * (scale * e + inverse @ e @ inverse / scale)
        next_r = 0.5 * (scale * r + inverse / scale)
        change = np.sum(np.abs(next_r - r))
        r = next_r
        if change <= 10 * r.shape[0] * np.finfo(r.dtype).eps:
            break
    return 0.5 * e
