"""Solves and determinants of matrices of up to three rows, and of stacks of them, written out.

LAPACK takes a microsecond to be called for one; here a stack of them is arithmetic of arrays, and one in a loop a few
numbers.  Rows change places as LAPACK has them do, by choices instead of branches.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError

from srcgrad.rules.compositions.registry import is_constant

MOST = 3  # rows
COLUMNS = 4  # of right-hand sides


def is_small(a):
    return is_constant(a.shape[-1]) and a.shape[-1] <= MOST


def inexact(*arrays):
    """All of one dtype, that of the result."""
    dtype = np.result_type(*[a.dtype if a.dtype.kind in "fc" else np.float64 for a in arrays])
    return [a.astype(dtype, copy=False) for a in arrays]


def small_solve(a, b):
    n, m = a.shape[-1], b.shape[-1]
    rows = [[element(a, i, j) for j in range(n)] + [element(b, i, k) for k in range(m)] for i in range(n)]
    for c in range(n):
        rows, _ = with_largest_first(rows, c)
        if is_zero(rows[c][c]):
            raise LinAlgError("Singular matrix")
        rows = without_column(rows, c, rows[c][c])
    x = [[rows[i][n + k] for k in range(m)] for i in range(n)]
    for i in range(n - 1, -1, -1):
        for k in range(m):
            for j in range(i + 1, n):
                x[i][k] = x[i][k] - rows[i][j] * x[j][k]
            x[i][k] = x[i][k] / rows[i][i]
    return np.stack([np.stack(row, axis=-1) for row in x], axis=-2)


def with_largest_first(rows, c):
    """Of rows c and below, that with the largest element in column c comes first; and what that does to the sign."""
    sign = 1.0
    for r in range(c + 1, len(rows)):
        is_larger = np.abs(rows[r][c]) > np.abs(rows[c][c])
        pairs = list(zip(rows[c], rows[r], strict=True))
        rows[c] = [*rows[c][:c], *(chosen(is_larger, q, p) for p, q in pairs[c:])]
        rows[r] = [*rows[r][:c], *(chosen(is_larger, p, q) for p, q in pairs[c:])]
        sign = sign * chosen(is_larger, -1.0, 1.0)
    return rows, sign


def without_column(rows, c, pivot):
    """Below row c, of which what is there is taken away."""
    for r in range(c + 1, len(rows)):
        f = rows[r][c] / pivot
        pairs = list(zip(rows[c], rows[r], strict=True))
        rows[r] = [*rows[r][: c + 1], *(q - f * p for p, q in pairs[c + 1 :])]
    return rows


def small_slogdet(a):
    n = a.shape[-1]
    rows = [[element(a, i, j) for j in range(n)] for i in range(n)]
    sign, logarithm = 1.0, 0.0
    for c in range(n):
        rows, turned = with_largest_first(rows, c)
        pivot = rows[c][c]
        sign = sign * turned * np.sign(pivot)
        logarithm = logarithm + np.log(np.abs(pivot))
        rows = without_column(rows, c, chosen(pivot == 0, 1.0, pivot))
    return sign, logarithm


def element(a, i, j):
    return a[i, j] if a.ndim == 2 else a[..., i, j]


def chosen(condition, x, y):
    if condition.ndim > 0:
        return np.where(condition, x, y)
    return x if condition else y


def is_zero(x):
    return np.any(x == 0) if x.ndim > 0 else x == 0


def small_det(a):
    n = a.shape[-1]
    if n == 1:
        return element(a, 0, 0)
    if n == 2:
        return element(a, 0, 0) * element(a, 1, 1) - element(a, 0, 1) * element(a, 1, 0)
    return (
        element(a, 0, 0) * (element(a, 1, 1) * element(a, 2, 2) - element(a, 1, 2) * element(a, 2, 1))
        - element(a, 0, 1) * (element(a, 1, 0) * element(a, 2, 2) - element(a, 1, 2) * element(a, 2, 0))
        + element(a, 0, 2) * (element(a, 1, 0) * element(a, 2, 1) - element(a, 1, 1) * element(a, 2, 0))
    )
