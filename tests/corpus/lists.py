"""Lists that grow, change in place and become arrays; loops over what is numbered, zipped or turned round."""

# ruff: noqa: B905, C400, C417, PERF401, SIM113

import numpy as np

from .registry import ONLY64, case, positive, program, real


@program(case(real(5)), compiled=True)
def grows_in_a_loop(x):
    ys = []
    y = 1.0
    for i in range(len(x)):
        y = np.sin(y + x[i])
        ys.append(y * x[i])
    return np.array(ys)


@program(case(real(4)))
def stacked_rows(x):
    rows = []
    u = x.copy()
    for _ in range(20):
        u = np.sin(u) * x
        rows.append(u)
    return np.stack(rows) * 2.0


@program(case(real(3)))
def short_constant_range_keeps_its_length(x):
    ys = []
    for i in range(3):
        ys.append(x[i] ** 2)
    return ys[0] * ys[1] + ys[-1] * len(ys)


@program(case(positive(4)))
def reads_what_it_appended(x):
    ys = [x[0]]
    for i in range(len(x)):
        ys.append(ys[-1] * x[i])
    return ys[-1] + sum(ys) + len(ys) * ys[2]


@program(case(real(6)), compiled=True)
def appends_under_a_condition(x):
    kept = []
    for i in range(len(x)):
        if x[i] > 0:
            kept.append(x[i] ** 2)
        elif x[i] < -0.5:
            continue
        kept.append(x[i])
    return np.array(kept)


@program(case(real(4)))
def stops_early(x):
    ys = []
    for i in range(len(x)):
        ys.append(x[i] * 2)
        if len(ys) > 2:
            break
    ys.append(x[0] ** 3)
    return np.array(ys)


@program(case(real(3)))
def rows_of_rows(x):
    rows = []
    for i in range(len(x)):
        row = []
        for j in range(len(x)):
            row.append(x[i] * x[j] ** 2)
        rows.append(row)
    return np.array(rows) * rows[1][2]


@program(case(real(5)), compiled=True)
def pairs_of_a_triangle(x):
    squares = []
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            squares.append((x[i] - x[j]) ** 2)
    return np.array(squares)


@program(case(real(4)))
def points_in_tuples(x):
    points = []
    for i in range(len(x)):
        points.append((x[i], x[i] ** 2))
    s = 0.0
    for a, b in points:
        s += a * b
    return s + np.array(points)[2, 1] * points[0][1]


def add_large(ys, v):
    for i in range(len(v)):
        if v[i] > 0.0:
            ys.append(v[i] ** 2)


@program(case(real(5), dtypes=ONLY64))
def changed_by_a_function(x):
    ys = [1.0]
    same = ys
    add_large(ys, x)
    add_large(ys, -2 * x)
    s = 0.0
    for k, y in enumerate(same):
        s += k * y
    return s


@program(case(real(4)))
def one_list_two_names(x):
    a = [0.0, 1.0]
    b = a
    a[0] = x[0] * 2
    c = list(a)
    b.append(x[1])
    c[1] = x[2]
    return a[0] * a[2] + b[2] * c[1] + c[0]


@program(case(real(4)))
def rebound_in_a_loop(x):
    a = [0.0, 1.0]
    b = a
    for i in range(len(x)):
        a = [a[1] * x[i], a[0] + 1]
    return a[0] * a[1] + b[1]


@program(case(real(5)))
def changed_in_a_loop(x):
    state = [x[0], x[1]]
    other = state
    for i in range(len(x)):
        state[0] = state[0] * x[i] + state[1]
        state[1] += x[i] ** 2
    return other[0] * other[1]


@program(case(real(5)))
def window_of_a_history(x):
    history = [x[0], x[1]]
    for i in range(2, len(x)):
        history.append(history[-1] * x[i] + history[-2])
        history.pop(0)
    return history[0] * history[1]


@program(case(real(3)))
def other_changes(x):
    out = [x * 2]
    out += [x**2, x**3]
    out.extend([x])
    out.insert(0, x * x[0])
    p = out.pop(1)
    out.reverse()
    del out[0]
    return sum(out) * p * len(out)


@program(case(real(3)))
def longer_on_one_path(x):
    ys = [x[0]] if x[0] > 0.0 else [x[1]]
    ys.append(x[1])
    if x[2] > 0.0:
        ys.append(x[2])
    return sum(ys) * len(ys)


@program(case(real(4), dtypes=ONLY64))
def filled_by_index(x):
    d = [0.0] * len(x)
    for i in range(len(x)):
        d[i] = x[i] * 2 + (d[i - 1] if i > 0 else 0.0)
    m = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(3):
            m[i][j] = x[i] * x[j] * i
    counts = [0] * len(x)
    for i in range(len(x)):
        counts[i] += x[i] * i
    return sum(d) * counts[2] + m[1][2] * m[2][1]


@program(case(real(4), real(4)))
def numbered_and_zipped(x, w):
    s = 0.0
    for a, b in zip(x[:-1], x[1:]):
        s += a * b * b
    for k, (a, b) in enumerate(zip(x, w[::-1]), start=2):
        s += k * a * b * b
    for i in reversed(range(len(x) - 1)):
        s = s * x[i] + 1
    for v in reversed(w):
        s = s * v + 1.0
    return s


@program(case(real(4)))
def comprehensions_over_pairs(x):
    areas = [(b + a) / 2 * (b - a) for a, b in zip(x[:-1], x[1:])]
    weighted = [k * v for k, v in enumerate(x)]
    return sum(areas) * areas[1] + sum(weighted) * weighted[-1] + sum(map(lambda t: t * t, x))


@program(case(real(2, 3)))
def index_selects_an_axis(a):
    s = 0.0
    for axis in range(a.ndim):
        s += (a.sum(axis=axis) ** 2).sum()
    weights = (0.1, 0.2, 0.3)
    for i in range(3):
        s += weights[i] * a[0, i]
    for i in (0, 1):
        s += a.reshape(2, 3).max(axis=i).sum() * (i + 1)
    for (p, q), c in zip([(1, 2), (3, 4)], "ab"):
        s += p * q * a[0, 0] * (c == "a")
    return s


@program(case(real(3)))
def layers_of_other_shapes(x):
    values = [x]
    for _ in range(3):
        values.append(np.concatenate([values[-1], values[-1][:1]]) * 1.5)
    return values[-1].sum() * values[1]


@program(case(real(3), dtypes=ONLY64))
def tuple_that_widens(x):
    t = (0, 0)
    for i in range(len(x)):
        t = (t[0] + x[i], t[1] + 1)
    return t[0] * t[1]


@program(case(positive(5)))
def reads_the_last_where_there_is_one(x):
    ys = []
    for i in range(len(x)):
        if ys and ys[-1] > 1.7:
            break
        ys.append(x[i] * ys[-1] if i else x[i])
    return sum(ys) * len(ys)


@program(case(positive(3, 4)), case(positive(1, 2)))
def states_in_a_list_of_none(a):
    states, best = [None] * (len(a) + 1), [None] * len(a)
    states[0] = a[0] * 0.5
    for i in range(len(a)):
        states[i + 1] = np.tanh(states[i]) * a[i]
        for j in range(i + 1):
            if best[j] is None or best[j] < states[i + 1][0]:
                best[j] = states[i + 1][0] * (1.0 + j)
    return states[-1] + sum(b for b in best if b is not None)


@program(case(real(3, 5)), case(real(2, 3)))
def filtered_rows(a):
    weights = np.array([0.2, 0.5, 0.4])
    smooth = np.array([np.convolve(row, weights, "same") for row in a])
    return smooth, np.array([np.correlate(row, weights) for row in smooth])


@program(case(real(4, 5)), case(real(2, 3)))
def rolled_by_rows_of_whole_numbers(a):
    steps, s = np.array([[0, 1], [2, -1], [-3, 5]]), 0.0
    for step in steps:
        s = s + np.sum(np.roll(a, step, axis=(0, 1)) * a[0]) * step[1]
    return s
