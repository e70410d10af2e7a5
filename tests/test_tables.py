"""Lists in lists whose number is only known at run time: `table[i][j] = y`, and what is one list under two names."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.errors import UnsupportedError
from srcgrad.testing import check_grad

X = np.array([1.25, 2.0, 3.25, 4.0])
A = np.array([[0.5, 2.0, -1.0], [3.0, 0.25, 1.5], [1.0, -2.0, 4.0]])


def warped(x):
    n = len(x)
    cost = [[np.inf] * (n + 1) for _ in range(n + 1)]
    cost[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            cost[i][j] = abs(x[i - 1] - 1.1 * x[j - 1]) + min(cost[i - 1][j], cost[i][j - 1], cost[i - 1][j - 1])
    return cost[n][-1]


def of_integers_first(x):
    n = len(x)
    table = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            table[i][j] += x[j] ** 2 + (table[i - 1][j] if i else 0)
    return table[n - 1][0] * table[1][1]


def with_short_rows(x):
    pairs = [[0.0, 1] for _ in x]
    for i in range(len(x)):
        pairs[i][0] = x[i]
        pairs[i][1] += i
    return sum([a**b for a, b in pairs])


def eliminated(a):
    n = len(a)
    m = [list(row) for row in a]
    sign = 1.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(m[i][k]) > abs(m[best][k]):
                best = i
        if best != k:
            m[k], m[best] = m[best], m[k]
            sign = -sign
        for i in range(k + 1, n):
            factor = m[i][k] / m[k][k]
            for j in range(k, n):
                m[i][j] -= factor * m[k][j]
    for k in range(n):
        sign *= m[k][k]
    return sign


def exchanged(a):
    m = [[row[0], row[1]] for row in a]
    m[0], m[2] = m[2], m[0]
    m[0][1], m[1][0] = m[1][0], m[0][1]
    return m[0][0] * m[0][1] + m[1][0] ** 2 * m[2][1]


def grown(a):
    n = len(a)
    rows = []
    for i in range(n):
        rows.append([0.0] * n)
        for j in range(i + 1):
            rows[i][j] = a[i, j] * (rows[i][j - 1] if j else 1.0)
    return rows[n - 1][n - 1] + rows[1][0]


def of_three_levels(x):
    n = len(x)
    cube = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        cube[i][0][1] = x[i]
        cube[0][i][i] += x[i] ** 2
    return cube[1][0][1] * cube[0][2][2] * len(cube[0] + cube[1])


class Grid:
    def __init__(self, n):
        self.rows = [[1.0] * n for _ in range(n)]

    def put(self, i, j, value):
        self.rows[i][j] *= value


def of_an_object(x):
    grid = Grid(len(x))
    for i in range(len(x)):
        grid.put(i, 1, x[i])
        grid.rows[i][0] += grid.rows[i][1]
    return grid.rows[1][0] * grid.rows[2][1]


def on_one_path(x):
    rows = [[0.0, 1.0] for _ in x]
    if x[0] > 1.0:
        rows[0][1] = x[1] ** 2
    else:
        rows[1][1] = x[0]
    return rows[0][1] * 3.0 + rows[1][1]


def of_copies(a):
    m = [[row[0], row[1]] for row in a]
    other, deep = [row[:] for row in m], copy.deepcopy(m)
    other[0][1] = 5.0 * a[1, 1]
    deep[0][1] *= 2.0
    return m[0][1] * other[0][1] * deep[0][1]


def through_a_row(a):
    m = [list(row) for row in a]
    for row in m:
        row[0] = 2.0 * row[1]
    first = m[0]
    first[1] = a[2, 2]
    return m[1][0] * m[0][1]


def kept_as_it_was(x):
    state, history = [1.0, 2.0], []
    for value in x:
        state = [state[0] + value * state[1], state[1] - state[0]]
        history.append(state)
    best = history[0]
    for row in history:
        if row[0] > best[0]:
            best = row
    return history[-1][0] * history[0][1] + best[0]


def filled_by_slices(x):
    items = [0.0, 1.0, 2.0, 3.0]
    other = items
    items[1:3] = [x[0], x[1]]
    items[:1] = [x[2], 5.0]
    items[-2:] *= np.array([2.0, 3.0])
    long = [value * 2.0 for value in x]
    long[:] = [value**2 for value in long]
    return sum([value**2 for value in other]) * len(other) + long[-1] * long[0]


PROGRAMS = [
    (warped, X), (of_integers_first, X), (with_short_rows, X), (eliminated, A), (exchanged, A), (grown, A),
    (of_three_levels, X), (of_an_object, X), (on_one_path, X), (of_copies, A), (through_a_row, A), (kept_as_it_was, X),
    (filled_by_slices, X),
]  # fmt: skip


@pytest.mark.parametrize(("function", "x"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_tables(function, x) -> None:
    check_grad(grad(function, jit=False), x)


def test_a_table_compiled() -> None:
    check_grad(grad(of_integers_first), X)


# --------------------------------------------------------------- one list in Python, of which there are copies here


def put_in_and_changed(x):
    rows = []
    for i in range(len(x)):
        row = [x[i], 0.0]
        rows.append(row)
        row[1] = x[i] * 2
    return sum([row[1] for row in rows])


def changed_by_the_next_iteration(x):
    row, rows = [0.0, 0.0], []
    for i in range(len(x)):
        row[1] = row[1] + x[i]
        row = [x[i], 0.0]
        rows.append(row)
    return rows[0][1]


def one_row_repeated(x):
    row = [0.0, 0.0]
    rows = [row] * len(x)
    row[0] = x[1]
    return rows[1][0]


def one_row_in_a_comprehension(x):
    row = [0.0, 0.0]
    rows = [row for _ in range(len(x))]
    row[0] = x[1]
    return rows[1][0]


def a_row_assigned(x):
    row, rows = [0.0] * len(x), [[1.0] * len(x) for _ in x]
    rows[1] = row
    row[0] = x[1]
    return rows[1][0]


def a_known_list_that_grows(x):
    first = [x[0], x[1]]
    rows = [first, [1.0, 2.0]]
    for i in range(len(x)):
        rows.append([x[i], x[i]])
    first[0] = x[2]
    return rows[0][0]


@pytest.mark.parametrize(
    "function",
    [
        put_in_and_changed,
        changed_by_the_next_iteration,
        one_row_repeated,
        one_row_in_a_comprehension,
        a_row_assigned,
        a_known_list_that_grows,
    ],
)
def test_a_list_that_is_an_item_does_not_change(function) -> None:
    with pytest.raises(UnsupportedError, match="changes a list that is an item of another one"):
        grad(function, jit=False)(X)


def rows_that_are_one(x):
    rows = [[0.0, 1.0]] * len(x)
    rows[0][0] = x[1]
    return rows[1][0]


def long_rows_that_are_one(x):
    rows = [[0.0] * len(x)] * len(x)
    row = rows[1]
    row[0] = 2.0
    return rows[0][0] * x[0]


def a_row_of_two_lists(x):
    rows = [[0.0, 1.0] for _ in x]
    others = [row for row in rows]
    others[0][0] = x[1]
    return rows[0][0]


def a_row_put_in_again(x):
    rows = [[0.0, 1.0] for _ in x]
    rows += [rows[0]]
    rows[0][0] = x[1]
    return rows[-1][0]


def places_that_are_no_exchange(a):
    rows = [list(row) for row in a]
    rows[0], rows[1] = rows[2], rows[0]
    rows[0][0] = 5.0 * a[1, 1]
    return rows[2][0]


@pytest.mark.parametrize(
    "function", [rows_that_are_one, long_rows_that_are_one, a_row_of_two_lists, a_row_put_in_again]
)
def test_rows_that_may_be_one(function) -> None:
    with pytest.raises(UnsupportedError, match="may or may not be the array that was written under another name"):
        grad(function, jit=False)(X)
    with pytest.raises(UnsupportedError, match="may or may not be the array that was written under another name"):
        grad(places_that_are_no_exchange, jit=False)(A)


def a_row_with_a_name(x):
    rows = [[0.0, 1.0] for _ in x]
    row = rows[0]
    rows[0][0] = x[1]
    return row[0]


def read_by_the_next_iteration(x):
    rows = [[0.0, 1.0] for _ in x]
    row, total = rows[0], 0.0
    for i in range(len(x)):
        total += row[0]
        rows[0][0] = x[i]
    return total


def changed_on_one_path(x):
    row, rows, total = [0.0, x[0]], [], 0.0
    for i in range(len(x)):
        total += row[0]
        if i > 0:
            rows[0][0] = x[1]
        rows.append(row)
    return total


def an_array_whose_place_is_taken(x):
    rows = [x * 1.0 for _ in x]
    row, total = rows[0], 0.0
    for i in range(len(x)):
        total += row[0]
        rows[0] = x * (i + 2)
    return total


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (a_row_with_a_name, "row is a list that is an item of another one, and was changed there"),
        (changed_on_one_path, "row is a list that is an item of another one, and was changed there"),
        (read_by_the_next_iteration, "row is a list that is an item of another one, and was changed there"),
        (an_array_whose_place_is_taken, "row is an array that was an item of a list, until another one took its place"),
    ],
)
def test_names_of_rows_that_have_changed(function, message) -> None:
    with pytest.raises(UnsupportedError, match=message):
        grad(function, jit=False)(X)
