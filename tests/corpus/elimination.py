"""Elements of one array that are told apart by the ranges of loops, as in elimination, and such that are not."""

import numpy as np

from .registry import ONLY64, case, integers, number, positive, program, real


@program(case(positive(4, 4)), case(positive(1, 1)), case(positive(0, 0)), compiled=True)
def eliminated(a):
    """LU without pivots: row i is changed by row k < i, column j by column k < j."""
    a = a + 3.0 * np.eye(len(a))
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@program(case(real(4, 4)), case(real(2, 2)), compiled=True)
def factor_of_cholesky(a):
    n = a.shape[0]
    l = np.zeros((n, n))
    for j in range(n):
        s = 4.0 + a[j, j]
        for k in range(j):
            s -= l[j, k] * l[j, k]
        l[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= l[i, k] * l[j, k]
            l[i, j] = s / l[j, j]
    return l


@program(case(positive(4, 4)))
def eliminated_with_the_pivot_row(a):
    """i begins at k: the row that is subtracted changes too."""
    n = a.shape[0]
    for k in range(n):
        for i in range(k, n):
            for j in range(k + 1, n):
                a[i, j] -= 0.3 * a[i, k] * a[k, j]
    return a


@program(case(positive(4, 4)))
def eliminated_from_below(a):
    """k - 1 is never negative where the loop runs, and k - 2 is."""
    n = a.shape[0]
    for k in range(1, n):
        for j in range(k, n):
            a[k, j] += a[k - 1, j] * a[k - 2, j] * a[k, k - 1]
    return a


@program(case(positive(5), number(1.3)))
def back_substituted(x, s):
    n = len(x)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= 0.2 * x[j] * np.sin(s * x[i])
        x[i] /= s
    return x


@program(case(positive(4), integers(0, 2, 3, 1), 2), case(positive(4), integers(0, 2, 3, 1), 0))
def bound_that_moves(x, to, m):
    """The end of the range is not what it was when the loop has run."""
    y = np.zeros(4)
    for k in range(4):
        for j in range(k + 1, m + 1):
            y[k] += x[j] * y[j] + x[k] * x[j]
            y[j] = x[j] * x[k]
            m = to[j]
    return y


@program(case(positive(4), 3), case(positive(4), 0))
def sum_where_a_branch_is_taken(x, m):
    """x[m + 2] is not there, and not asked for where no branch is taken."""
    y = np.zeros(4)
    for k in range(m):
        for j in range(k + 1, 4):
            y[j] = y[j] + x[j] * x[k]
            if k > 5:
                y[k + 7] += y[j]
    return y


@program(case(real(2, 3), real(3)))
def counts_down_in_a_while_loop(a, x):
    """The sweep's own loop has its counter's name in its bounds."""
    n = 0
    s = 0.4
    while n < 3:
        n += 1
        s = np.sin(np.sin(a[-1, 0] * s))
        if s * a[1, -1] > 0.7:
            return x * s
        a[0, 1] *= s
    return a[0] * s + x * np.sin(s)


@program(case(real(4), real(8)))
def written_twice_by_a_negative_index(y, x):
    n = len(y)
    for i in range(-n, n):
        y[i] = y[i] * x[i + n]
    return y


@program(case(positive(4), dtypes=ONLY64), case(positive(9), dtypes=ONLY64))
def every_other_from_k_on(a):
    """What is changed in one sweep over every other element is read in the next: it begins elsewhere."""
    s = 0.0
    n = len(a)
    for k in range(3):
        for i in range(k, n - 1, 2):
            s += a[i + 1] * a[i + 1]
            a[i] = a[i] * 0.5 + 0.1 * a[i] * a[i]
    return s


@program(case(positive(6, 3), positive(6)), compiled=True)
def remainders_from_j_on(a, w):
    """i counts from another start in every iteration of the outer loop."""
    n = len(w)
    for j in range(3):
        for i in range(j, n):
            a[i, j] = np.sin(w[(i + 1) % n] * a[i, j])
    return a


@program(case(positive(6), positive(3), positive(9), 4), compiled=True)
def length_of_a_loop_set_ahead_of_it(y, w, x, n):
    p = len(w)
    q = len(y)
    for a in range(n):
        m = 2 * a + 1
        for b in range(m):
            for c in range(q):
                for d in range(p):
                    y[c] += 0.01 * w[d] * x[c + d] * m * b
    return y
