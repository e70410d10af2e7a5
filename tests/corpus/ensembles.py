"""Independent iterations around other loops, more of them than a vector register holds numbers."""

import numpy as np

from .registry import ONLY64, case, integers, positive, program, real


@program(case(real(19, 3), real(4, 3), real(4), 0.7), case(real(5, 2), real(3, 2), real(3), 0.7), compiled=True)
def radial_functions(x, centers, w, b):
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(centers.shape[0]):
            r = 0.0
            for a in range(x.shape[1]):
                t = x[i, a] - centers[j, a]
                r += t * t
            s += w[j] * np.exp(-b * r)
        total += np.tanh(s)
    return total


@program(case(real(17, 2), positive(2), 5), case(real(8, 2), positive(2), 3), compiled=True)
def trajectories(start, p, steps):
    """One oscillator for each row: a loop in time inside the loop over rows."""
    ends = np.empty(start.shape)
    for i in range(start.shape[0]):
        q, v = start[i, 0], start[i, 1]
        for _ in range(steps):
            v -= 0.1 * p[0] * np.sin(q)
            q += 0.1 * v * p[1]
        ends[i, 0] = q
        ends[i, 1] = v
    return ends


@program(case(real(11, 3), real(11)), case(real(2, 3), real(2)), compiled=True)
def all_pairs(position, charge):
    energy = 0.0
    for i in range(len(charge)):
        s = 0.0
        for j in range(len(charge)):
            d = 0.01
            for a in range(3):
                d += (position[i, a] - position[j, a]) ** 2
            s += charge[j] / np.sqrt(d)
        energy += charge[i] * s
    return energy


@program(case(real(18, 3), real(2, 6)), case(real(9, 1), real(2, 1)))
def triangles(x, factors):
    """A counter runs through the rows of a triangle: it is one number for all."""
    n, d = x.shape
    total = 0.0
    scaled = np.empty(d)
    for i in range(n):
        for j in range(factors.shape[0]):
            for a in range(d):
                scaled[a] = x[i, a]
            p = 0
            for a in range(d):
                for c in range(a, d):
                    scaled[c] += factors[j, p] * x[i, a]
                    p += 1
            for a in range(d):
                total += scaled[a] ** 2
    return total


@program(case(real(19, 3), real(4, 3)), case(real(10, 2), real(1, 2)), compiled=True)
def nearest(x, centers):
    """What is found differs: the reverse goes into other rows for each."""
    total = 0.0
    for i in range(x.shape[0]):
        best = np.inf
        for j in range(centers.shape[0]):
            r = 0.0
            for a in range(x.shape[1]):
                r += (x[i, a] - centers[j, a]) ** 2
            if r < best:
                best = r
        total += best
    return total


@program(
    case(real(13, 3), real(4, 3), integers(*range(4), *range(4), *range(4), 1)),
    case(real(8, 2), real(2, 2), integers(0, 1, 1, 1, 0, 1, 0, 0)),
)
def scattered(x, w, where):
    """Sums into elements that several iterations share, in the user's order, and in rows that one finds by a list."""
    out = np.zeros(w.shape[0])
    for i in range(x.shape[0]):
        s = 1.0
        for j in range(w.shape[0]):
            for a in range(x.shape[1]):
                s += np.sin(w[j, a] * x[i, a])
        out[where[i]] += s * s
    return out


@program(case(real(12, 4), real(3, 4)), case(real(8, 1), real(2, 1)))
def smeared(x, w):
    """Each adds to elements of its neighbours."""
    n, m = x.shape
    out = np.zeros(n + 2)
    for i in range(n):
        s = 0.0
        for j in range(w.shape[0]):
            for a in range(m):
                s += w[j, a] * x[i, a] ** 2
        out[i] += s
        out[i + 1] += 0.5 * s * s
        out[i + 2] -= s
    return out


@program(case(real(17, 4), real(4)), case(real(9, 2), real(2)))
def as_many_as_there_are(x, w):
    """Inner loops that end elsewhere in each iteration."""
    n, m = x.shape
    total = 0.0
    for i in range(n):
        s = 0.0
        for a in range(m):
            s += np.sin(x[i, a] * w[a])
        for a in range(min(i, m)):
            s *= 1.0 + 0.1 * w[a] * x[i, a]
        total += s
    return total


@program(case(real(17, 3), real(3, 3)), case(real(8, 2), real(2, 2)), compiled=True)
def changed_rows(x, w):
    """Rows are changed over and over, and each iteration's stay with it."""
    y = x.copy()
    for i in range(y.shape[0]):
        for j in range(w.shape[0]):
            for a in range(y.shape[1]):
                y[i, a] = np.sin(y[i, a] + w[j, a])
    return y


@program(case(real(17, 3), real(2, 3), 0.2), case(real(9, 3), real(2, 3), -5.0), compiled=True)
def on_conditions(x, w, limit):
    """What decides is the same for all, or is not; what is set in one branch alone is used behind it."""
    n, m = x.shape
    out = np.zeros(n)
    low = 0.0
    for i in range(n):
        s, t = 0.0, 1.0
        for j in range(w.shape[0]):
            if j > 0:
                t = 0.5 + s
            for a in range(m):
                u = x[i, a] * w[j, a]
                if u > limit:
                    t = t * u
                    s += t
                else:
                    s -= 0.25 * u
                if a > 1:
                    s += 0.1 * u * u
        if s > 0.0:
            out[i] = s * t
        else:
            low += s
    return out * (1.0 + low)


@program(case(real(19), real(4), 3), case(real(3), real(4), 9, dtypes=ONLY64))
def parts_of_the_range(x, w, begin):
    total = 0.0
    for i in range(begin, len(x)):
        s = x[i]
        for j in range(len(w)):
            s = s * 0.5 + np.cos(w[j] * x[i - begin])
        total += s * s
    return total


@program(case(real(2, 11, 3), real(3, 3)), case(real(3, 8, 2), real(2, 2)))
def in_a_loop(x, w):
    """The same again and again in an outer loop: scratch of one axis more is made once."""
    out = np.zeros(x.shape[1])
    row = np.empty(x.shape[2])
    for t in range(x.shape[0]):
        for i in range(x.shape[1]):
            for a in range(x.shape[2]):
                row[a] = x[t, i, a] + out[i]
            for j in range(w.shape[0]):
                for a in range(x.shape[2]):
                    row[a] = np.tanh(row[a] + w[j, a])
            for a in range(x.shape[2]):
                out[i] += 0.1 * row[a]
    return out


@program(case(real(9, 2), real(3, 2), integers(0, 1, 2, 1)), case(real(9, 2), real(3, 2), integers(0, 1)))
def counts_and_flags(x, w, chosen):
    """Integers and truth values that differ, and others that do not."""
    total = 0.0
    for i in range(x.shape[0]):
        above, flag, rounds = 0, False, 0
        for k in range(len(chosen)):
            rounds += 1
            for a in range(x.shape[1]):
                t = x[i, a] * w[chosen[k], a]
                if t > 0.0:
                    above += 1
                    flag = not flag
                total += t * t * rounds
        total += x[i, 0] * above if flag else x[i, 1] * rounds
    return total


@program(
    case(real(20, 2), real(2)), case(real(20, 2, layout="F"), real(2)), case(real(20, 2, layout="reverse"), real(2))
)
def rows_in_other_layouts(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        s = 1.0
        for _ in range(3):
            for a in range(x.shape[1]):
                s = np.sin(s + x[i, a] * w[a])
        total += s
    return total


@program(case(positive(19, low=1.0, high=9.0), 1.5), case(positive(3, low=1.0, high=9.0), 1.5), compiled=True)
def roots_by_newton(a, start):
    """Each goes on until it is near enough, some for more rounds than others."""
    out = np.empty(len(a))
    for i in range(len(a)):
        x = start
        while abs(x * x - a[i]) > 1e-3:
            x = 0.5 * (x + a[i] / x)
        out[i] = x * x * x
    return out


@program(
    case(real(20, low=-0.6, high=0.3), real(20, low=-0.5, high=0.5), 9),
    case(real(9), real(9), 0, dtypes=ONLY64),
    compiled=True,
)
def escape(real_part, imaginary, limit):
    total = 0.0
    for i in range(len(real_part)):
        x, y, n = 0.0, 0.0, 0
        while x * x + y * y < 4.0 and n < limit:
            x, y = x * x - y * y + real_part[i], 2.0 * x * y + imaginary[i]
            n += 1
        total += x * x + 0.5 * y * y
    return total


@program(case(positive(18, 2), real(2), 4), case(positive(9, 2), real(2), 1), compiled=True)
def two_searches(x, w, most):
    """Two loops one after the other, with choices in them, and sums that all share."""
    n = x.shape[0]
    out = np.zeros(n)
    spent = 0.0
    for i in range(n):
        s, t, k = x[i, 0], 1.0, 0
        while s > 0.2 and k < most:
            if s > 1.0:
                t = t * s
                s = s * 0.5
            else:
                s -= 0.3 * np.cos(s)
            k += 1
        while t < 3.0:
            t = t * (1.5 + 0.1 * x[i, 0]) + w[0] * w[1] * w[1]
            out[i] += 0.1 * t
        spent += s * t
    return out.sum() + 0.01 * spent


@program(case(positive(17, 3), positive(3)), case(positive(2, 1), positive(1)))
def searches_in_a_loop(x, w):
    """A loop of unknown length in one of known length."""
    total = 0.0
    for i in range(x.shape[0]):
        s = 1.0
        for a in range(x.shape[1]):
            while s < 2.0:
                s = s * 1.3 + 0.2
            s = 0.3 * s * w[a] + 0.1 * x[i, a]
        total += s
    return total


@program(case(positive(9), positive(8)), case(positive(3), positive(3)))
def search_beside_a_shorter_array(x, y):
    """What is read in the loop alone may be shorter, where the loop does not run."""
    total = 0.0
    for i in range(len(x)):
        s = x[i]
        while i < len(y) and s < 2.0:
            s = s + y[i] * s
        total += s * s
    return total


@program(case(positive(19), 2), case(positive(19), 0), compiled=True)
def search_in_a_branch(x, limit):
    """A branch that is the same for all, with a loop of unknown length in it."""
    total = 0.0
    for i in range(len(x)):
        s = x[i]
        if limit > 1:
            while s < 2.0:
                s = s * 1.5 + 0.3 * x[i]
        total += s * s
    return total
