"""Loops that look for the best: of what is overwritten again and again, only the last has a derivative."""

import numpy as np

from .registry import case, integers, number, program, real


@program(case(real(6)), case(real(1)), compiled=True)
def smallest(x):
    best = np.inf
    for i in range(len(x)):
        if x[i] < best:
            best = x[i]
    return best * best


@program(case(real(5, 3), real(4, 3)), case(real(1, 2), real(3, 2)), compiled=True)
def nearest_of_all(points, centres):
    total = 0.0
    for i in range(points.shape[0]):
        nearest = np.inf
        for j in range(centres.shape[0]):
            distance = 0.0
            for a in range(points.shape[1]):
                distance += (points[i, a] - centres[j, a]) ** 2
            if distance < nearest:
                nearest = distance
        total += nearest
    return total


@program(case(real(6, 8)), case(real(2, 2)))
def pooled(x):
    out = np.empty((x.shape[0] // 2, x.shape[1] // 2))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            top = -1e30
            for a in range(2):
                for b in range(2):
                    if x[2 * i + a, 2 * j + b] > top:
                        top = x[2 * i + a, 2 * j + b]
            out[i, j] = top
    return out


@program(case(real(5), number(0.3)), case(real(5), number(-9.0)), case(real(0), number(0.5)))
def beginning_with_an_argument(x, least):
    """None may be taken, and then it is the argument's."""
    for i in range(len(x)):
        if x[i] < least:
            least = np.sin(x[i])
    return least * 3


@program(case(real(6)))
def from_the_end(x):
    best = -10.0
    for i in range(len(x) - 1, 0, -1):
        if x[i] * x[i - 1] > best:
            best = x[i] * x[i - 1]
    return best


@program(case(real(6)))
def from_the_second(x):
    best = x[0]
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
    return best


@program(case(real(6)))
def two_searches(x):
    low, high = 10.0, -10.0
    for i in range(len(x)):
        if x[i] < low:
            low = x[i]
        if x[i] > high:
            high = x[i] * x[i]
    return high * low


@program(case(real(5, 2), 9.0), case(real(5, 2), -9.0))
def farthest_pair(x, bound):
    """In a nest of loops; with a bound, there may be none."""
    least, most = 10.0, 0.0
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            d = (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2
            if most < d < bound:
                most = d
            if d < least:
                least = np.sqrt(d)
    return most - least * least


@program(case(real(6)))
def sum_of_all_bests(x):
    """Each best so far counts: nothing may be left out."""
    best, total = 10.0, 0.0
    for i in range(len(x)):
        if x[i] < best:
            best = x[i]
        total += best * (i + 1)
    return total


@program(case(real(6)))
def sum_of_those_taken(x):
    best, total = 10.0, 0.0
    for i in range(len(x)):
        if x[i] < best:
            best = x[i]
            total += np.sin(x[i])
    return total * best


@program(case(real(6)))
def better_than_half(x):
    """A new best is made of the old one."""
    best = 2.0
    for i in range(len(x)):
        if x[i] < best:
            best = 0.5 * best + x[i]
    return best


@program(case(real(6), integers(3, 0, 5, 1, 1, 2)))
def with_its_place(x, order):
    best, at = -10.0, 0
    for k in range(len(order)):
        value = x[order[k]] * x[k]
        if value > best:
            best, at = value, k
    return best * x[at]


@program(case(real(4, 5), number(0.7)))
def best_of_each_step(x, w):
    """The loop around is a recurrence: which one was taken is kept for each of its iterations."""
    state = w
    for t in range(x.shape[0]):
        best = -10.0
        for j in range(x.shape[1]):
            score = np.sin(state * x[t, j])
            if score > best:
                best = score
        state = state * 0.5 + best * best
    return state


@program(case(real(5), real(4)), compiled=True)
def time_warping(x, y):
    """Dynamic time warping, by rows."""
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), 1e10)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            least = cost[i - 1, j]
            if cost[i, j - 1] < least:
                least = cost[i, j - 1]
            if cost[i - 1, j - 1] < least:
                least = cost[i - 1, j - 1]
            cost[i, j] = (x[i - 1] - y[j - 1]) ** 2 + least
    return cost[n, m]


@program(case(real(3, 4), real(3)))
def viterbi(scores, start):
    """The best path, a maximum over the states before at every step."""
    old = start * 1.0
    new = np.empty(len(start))
    for t in range(scores.shape[1]):
        for s in range(len(start)):
            best = -1e9
            for r in range(len(start)):
                value = old[r] * scores[s, t] + scores[r, t]
                if value > best:
                    best = value
            new[s] = best
        for s in range(len(start)):
            old[s] = new[s]
    best = -1e9
    for s in range(len(start)):
        if old[s] > best:
            best = old[s]
    return best


@program(case(real(6), 0.3), case(real(6), 5.0))
def the_last_below(x, bound):
    """Taken again and again, and never compared with itself."""
    found = 1.0
    for i in range(len(x)):
        if x[i] < bound:
            found = x[i] ** 2
    return found


@program(case(real(6)))
def infinite_slopes(x):
    """The slopes of those not taken do not matter, be they infinite."""
    best = -1.0
    for i in range(len(x)):
        if abs(x[i]) > best:
            best = np.sqrt(abs(x[i]) + 1e-300)
    return best
