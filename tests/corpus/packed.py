"""Triangles in one row, row by row or column by column: a counter that grows by what an index says."""

import numpy as np

from .registry import case, positive, program, real


@program(case(real(10), real(4)), case(real(1), real(1)), case(real(0), real(0)), compiled=True)
def lower_triangle(theta, x):
    n = len(x)
    low = np.zeros((n, n))
    k = 0
    for i in range(n):
        for j in range(i + 1):
            low[i, j] = theta[k] * theta[k]
            k += 1
    return low @ x


@program(case(real(10), real(4), real(4)))
def upper_triangle(theta, x, y):
    """By slices, and the counter is moved on by hand."""
    n, k, total = len(x), 0, 0.0
    for i in range(n):
        total += x[i] * np.sum(theta[k : k + n - i] * y[i:])
        k += n - i
    return total


@program(case(real(4, 4)), case(real(2, 2, layout="F")))
def packed(a):
    n = a.shape[0]
    out = np.empty(n * (n + 1) // 2)
    k = 0
    for i in range(n):
        for j in range(i, n):
            out[k] = np.sin(a[i, j]) * a[j, i]
            k += 1
    return out


@program(case(real(5, 2)), case(real(1, 3)), compiled=True)
def distances_of_pairs(x):
    """By the closed form, which the user writes himself."""
    n, d = x.shape
    out = np.empty(n * (n - 1) // 2)
    for i in range(n):
        for j in range(i):
            s = 0.1
            for c in range(d):
                s += (x[i, c] - x[j, c]) ** 2
            out[i * (i - 1) // 2 + j] = np.sqrt(s)
    return out


@program(case(real(11), real(5)))
def upwards_from_the_end(theta, x):
    n, k, s = len(x), 1, 0.3
    for i in range(n - 1, 0, -1):
        s = np.sin(s + theta[k] * x[i])
        k += i
    return s * theta[k - 1]


@program(case(real(20), real(5)), compiled=True)
def counts_down(theta, x):
    """The counter gets less, from what an argument says."""
    n, s = len(x), 1.0
    k = len(theta) - 1
    for i in range(n):
        s = s * 0.5 + theta[k] * np.cos(x[i] * s)
        k -= i
    return s * theta[k]


@program(case(real(30), real(5)), case(real(30), real(3)))
def odd_steps(theta, x):
    """Squares: what lies between two of them is used behind the step, too."""
    k, s = 0, 0.0
    for i in range(len(x)):
        s += theta[k] * x[i]
        k += 2 * i + 1
        s *= theta[k]
    return s + theta[k]


@program(case(real(20), real(5), 3), case(real(20), real(5), 0))
def from_an_argument(theta, x, start):
    k = start
    s = 0.1
    for i in range(2, len(x)):
        s = np.tanh(s + theta[k] * x[i])
        k += i
    return s * k


@program(case(real(20), real(4)), compiled=True)
def tetrahedron(theta, x):
    """What a counter grows by is a square itself."""
    k, s = 0, 0.2
    for i in range(len(x)):
        for j in range(i + 1):
            for m in range(j + 1):
                s = s * 0.9 + theta[k] * x[i] * x[j] * np.cos(x[m])
                k += 1
    return s


@program(case(real(40), real(3), real(5)), compiled=True)
def goes_on_in_the_next_row(theta, x, y):
    """The counter is not set anew: where a triangle begins is known to the loop around alone."""
    k, s = 0, 0.2
    for a in range(len(y)):
        for i in range(len(x)):
            s = s * 0.9 + y[a] * theta[k] * x[i]
            k += i
        s += theta[k] * 0.1
    return s


@program(case(positive(3), real(3), real(9, 6)), compiled=True)
def of_many_points(diagonal, means, x):
    """A triangle for each row, by threads."""
    n, d = x.shape[0], len(means)
    out = np.empty(n)
    scaled = np.empty(d)
    for i in range(n):
        for a in range(d):
            scaled[a] = diagonal[a] * (x[i, a] - means[a])
        p = 0
        for a in range(d):
            for c in range(a + 1, d):
                scaled[c] += x[i, p] * scaled[a] * means[a]
                p += 1
        out[i] = np.sum(scaled * scaled)
    return out
