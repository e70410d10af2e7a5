"""det: a determinant by minors, along the first row that is left."""

import numpy as np

from srcgrad import grad


def minor(a, n, m, row_after, column_after):
    """The determinant of the m by m minor whose rows and columns are chained; `row_after[n]` is its first row."""
    row, column = row_after[n], column_after[n]
    if m == 1:
        return a[row, column]
    total, sign, before = 0.0, 1.0, n
    row_after[n] = row_after[row]
    for _ in range(m):
        column_after[before] = column_after[column]  # leave this column out
        total += sign * a[row, column] * minor(a, n, m - 1, row_after, column_after)
        column_after[before] = column
        before, column = column, column_after[column]
        sign = -sign
    row_after[n] = row
    return total


@grad
def determinant(a):
    n = a.shape[0]
    chain = np.append(np.arange(1, n + 1), 0)
    return minor(a, n, n, chain, chain.copy())


def prepare(given):
    return (np.array(given["A"]).reshape(given["ell"], given["ell"]),)


EXAMPLE = {"A": [4.0, 1.0, 2.0, 3.0], "ell": 2}
FUNCTIONS = {
    "primal": (prepare, determinant, float),
    "gradient": (prepare, determinant.backward, lambda cotangent: cotangent.ravel().tolist()),
}
