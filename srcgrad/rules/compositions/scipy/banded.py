"""SciPy's solves with what lies near the diagonal of a matrix.

The matrix is factored once, as a constant.  x = solve(A, b) is found from the constants behind A and b, and corrected
by solve(A, b - A x), with the same factors: nothing is left to correct, but the derivative of that is the whole one.
So the sweep solves with the factors too, and keeps no elimination.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.linalg import LinAlgError

from srcgrad.rules.compositions.registry import means, steady


@means(scipy.linalg.solve_banded)
def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    below, above = l_and_u
    ab, b = np.asarray(ab), np.asarray(b)
    if ab.shape[1] != b.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
    if ab.shape[0] != below + above + 1:
        raise ValueError("invalid values for the number of lower and upper diagonals: l+u+1 does not equal ab.shape[0]")
    return solved(below, above, ab, b, False)


@means(scipy.linalg.solveh_banded)
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    ab, b = np.asarray(ab), np.asarray(b)
    if ab.shape[1] != b.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
    width, n = ab.shape[0] - 1, ab.shape[1]
    both = np.zeros((2 * width + 1, n), ab.dtype)
    both[width] = ab[0 if lower else width].real
    for d in range(1, width + 1):
        m = max(n - d, 0)
        if lower:
            both[width + d] = ab[d]
            both[width - d, d:] = np.conj(ab[d, :m])
        else:
            both[width - d] = ab[width - d]
            both[width + d, :m] = np.conj(ab[width - d, d:])
    return solved(width, width, both, b, True)


def solved(below, above, ab, b, is_definite):
    dtype = np.result_type(ab.dtype, b.dtype, np.float32)
    ab, rows = ab.astype(dtype), b.astype(dtype).reshape(b.shape[0], -1)
    upper, factors, pivots = factored(below, above, steady(ab), is_definite)
    x = steady(solved_by(below, above, upper, factors, pivots, steady(rows)))
    rest = rows - product(below, above, ab, x)
    return (x + solved_by(below, above, upper, factors, pivots, rest)).reshape(b.shape)


def factored(below, above, ab, is_definite):
    """Rows of the upper factor from the diagonal on, what was taken of each row from those below, and its partner."""
    n, width = ab.shape[1], below + above + 1
    work = np.zeros((n, below + width), ab.dtype)  # element (i, j) is at (i, j - i + below)
    for d in range(width):
        for i in range(max(below - d, 0), min(n, n + below - d)):
            work[i, d] = ab[width - 1 - d, i + d - below]
    factors = np.zeros((n, below), ab.dtype)
    pivots = np.zeros(n, np.int64)
    for j in range(n):
        p = j
        if is_definite:
            if not work[j, below].real > 0:
                raise LinAlgError("the matrix is not positive definite")
        else:
            for i in range(j + 1, min(j + below + 1, n)):
                if abs(work[i, below + j - i]) > abs(work[p, below + j - p]):
                    p = i
        pivots[j] = p
        if p != j:
            for t in range(width):
                held = work[j, below + t]
                work[j, below + t] = work[p, below + t + j - p]
                work[p, below + t + j - p] = held
        if work[j, below] == 0:
            raise LinAlgError("singular matrix")
        for i in range(j + 1, min(j + below + 1, n)):
            factor = work[i, below + j - i] / work[j, below]
            factors[j, i - j - 1] = factor
            for t in range(1, width):
                work[i, below + t + j - i] -= factor * work[j, below + t]
    return work[:, below:], factors, pivots


def solved_by(below, above, upper, factors, pivots, rows):
    n = rows.shape[0]
    x = rows.copy()
    for c in range(x.shape[1]):
        for j in range(n):
            held = x[pivots[j], c]
            x[pivots[j], c] = x[j, c]
            x[j, c] = held
            for i in range(j + 1, min(j + below + 1, n)):
                x[i, c] -= factors[j, i - j - 1] * held
        for j in range(n - 1, -1, -1):
            total = x[j, c]
            for t in range(1, min(below + above + 1, n - j)):
                total -= upper[j, t] * x[j + t, c]
            x[j, c] = total / upper[j, 0]
    return x


def product(below, above, ab, x):
    """The matrix times x"""
    n = x.shape[0]
    out = np.zeros(x.shape, ab.dtype)
    for d in range(-below, above + 1):
        first, count = max(d, 0), max(n - abs(d), 0)
        start = max(-d, 0)
        out[start : start + count] += ab[above - d, first : first + count, None] * x[first : first + count]
    return out
