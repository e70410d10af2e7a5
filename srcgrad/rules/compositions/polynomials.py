"""Polynomials as rows of coefficients, the highest power first."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import means


@means(np.poly)
def poly(seq_of_zeros):
    zeros = np.asarray(seq_of_zeros) * 1.0
    if zeros.ndim != 1:
        raise ValueError("the polynomial of a matrix needs its eigenvalues")
    out = np.zeros(zeros.shape[0] + 1, dtype=zeros.dtype)
    out[0] = 1.0
    for k in range(zeros.shape[0]):
        out[1 : k + 2] -= zeros[k] * out[: k + 1]
    return out


@means(np.polyadd)
def polyadd(a1, a2):
    return _joined(np.atleast_1d(a1), np.atleast_1d(a2), 1)


@means(np.polysub)
def polysub(a1, a2):
    return _joined(np.atleast_1d(a1), np.atleast_1d(a2), -1)


def _joined(a, b, sign):
    out = np.zeros(max(a.shape[0], b.shape[0]), dtype=np.result_type(a, b))
    out[out.shape[0] - a.shape[0] :] += a
    out[out.shape[0] - b.shape[0] :] += sign * b
    return out


@means(np.polymul)
def polymul(a1, a2):
    return np.convolve(np.atleast_1d(a1), np.atleast_1d(a2))


@means(np.polyfit)
def polyfit(x, y, deg, *, w=None):
    left = np.vander(np.asarray(x) * 1.0, deg + 1)
    right = np.asarray(y) * 1.0
    if left.shape[0] != right.shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None:
        weights = np.asarray(w)
        if weights.shape[0] != right.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * weights[:, np.newaxis]
        right = (right.T * weights).T
    scale = np.sqrt(np.sum(left * left, axis=0))
    found = np.linalg.lstsq(left / scale, right)[0]
    return (found.T / scale).T
