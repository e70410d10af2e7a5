"""Lists and objects are known by what they are: whatever holds one sees it change, and items are arrays, not copies."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import RuntimeShapeError, UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, -1.0, 2.0])


class Body:
    def __init__(self, position):
        self.position = position
        self.force = 0.0

    def move(self, distance):
        self.position = self.position + distance
        return self.position


# ------------------------------------------------------------------------------- what was evaluated before a change


def forces_between_pairs(x):
    bodies = [Body(x[0]), Body(x[1]), Body(x[2])]
    for i, a in enumerate(bodies):
        for b in bodies[i + 1 :]:
            distance = a.position - b.position
            a.force = a.force + distance
            b.force = b.force - distance
    return bodies[0].force + 10.0 * bodies[1].force + 100.0 * bodies[2].force


def one_object_twice_in_a_loop(x):
    a, b = Body(x[0]), Body(x[1])
    for body in (a, b, a):
        body.position = body.position * 2.0 + 1.0
    return a.position + b.position


def pairs_in_a_loop(x):
    a, b = Body(x[0]), Body(x[1])
    for p, q in ((a, b), (b, a)):
        p.position = p.position + 2.0 * q.position
    return a.position + 10.0 * b.position


def rows_in_a_loop(x):
    rows = [[x[0]], [x[1]]]
    for row in rows:
        rows[1][0] = rows[1][0] + row[0]
    return rows[1][0]


def stack_machine(x):
    stack = [x[0], x[1], x[2]]
    stack.append(stack.pop() * stack.pop())
    stack.insert(0, stack.pop())
    return stack[0] + 10 * stack[1] + len(stack)


def stack_of_run_time_length(x):
    stack = [x[i] for i in range(x.size)]
    while len(stack) > 1:
        stack.append(stack.pop() * stack.pop() + stack[0])
        stack.pop()
    return stack[0] * len(stack)


def receiver_and_argument(x):
    body = Body(x[0])
    body.move(body.move(x[1]))
    return body.position


def argument_ahead_of_a_call(x):
    body = Body(x[0])
    return (lambda one, distance: one.position * distance)(body, body.move(x[1]))


def item_ahead_of_a_call(x):
    body = Body(x[0])
    pair = body, body.move(x[1])
    return pair[0].position


def comprehension_that_moves(x):
    bodies = [Body(x[0]), Body(x[1]), Body(x[2])]

    def push(one):
        for body in bodies:
            body.position = body.position + one.position
        return one.position

    return [push(body) for body in bodies][2]


# ------------------------------------------------------------------------------------ methods and partials with names


def append_by_another_name(x):
    ys = []
    push = ys.append
    push(x[0])
    push(x[1])
    return sum(ys) * len(ys)


def append_by_another_name_in_a_loop(x):
    ys = []
    push = ys.append
    for i in range(x.size):
        push(x[i] * i)
    return sum(ys)


def method_as_an_argument(x):
    body = Body(x[0])

    def twice(f, distance):
        return f(distance) + f(distance)

    return twice(body.move, x[1]) + 10 * body.position


def partial_of_a_list(x):
    ys = [x[0]]
    last = partial(lambda items, factor: items[-1] * factor, ys)
    ys.append(x[2])
    return last(3.0)


# ------------------------------------------------------------------------------------------------ arrays as items


def item_changed_in_place(x):
    gradients = [x * 1.0, x * 2.0]
    first = gradients[0]
    gradients[0] += 1.0
    return np.sum(first * x)


def argument_changed_as_an_item(x):
    x = x.copy()
    parameters = [x]
    parameters[0] *= 2.0
    return np.sum(x * x)


def list_extended_as_an_item(x):
    inner = [x[0]]
    outer = [inner, inner]
    outer[0] += [x[1]]
    return sum(outer[1]) * len(inner)


def objects_that_change_places(x):
    a, b = Body(x[0]), Body(x[1])
    bodies = [a, b]
    bodies[0], bodies[1] = bodies[1], bodies[0]
    a.position = 5.0 * x[2]
    return bodies[1].position


def list_in_a_dict_by_unpacking(x):
    held, ys = {}, [x[0]]
    held["a"], k = ys, 2.0
    ys.append(x[1])
    return sum(held["a"]) * k


def arrays_that_change_places(x):
    rows = [x * (i + 1) for i in range(x.size)]
    for i in range(x.size - 1):
        rows[i], rows[i + 1] = rows[i + 1], rows[i]
    return np.sum(rows[0] * x) + np.sum(rows[-1] * x * x)


def replaced_by_what_it_was(x):
    rows = [x * (i + 1) for i in range(x.size)]
    for i, row in enumerate(rows):
        rows[i] = np.sin(row)
    for _ in range(3):
        old = rows[0]
        rows[0] = np.cos(old) + rows[1]
    return np.sum(rows[0] * rows[1])


def filled_one_by_one(x):
    rows = [np.zeros(3)] * x.size
    for i in range(x.size):
        rows[i] = x * (i + 1)
    copy = rows.copy()
    rows[0] = copy[1] * 2.0
    return np.sum(rows[0] * copy[0])


def rows_changed_in_place(x):
    rows = [x * (i + 1) for i in range(x.size)]
    rows[0] += 1.0
    rows[1] *= rows[0]
    return np.sum(rows[0] * rows[1])


RIGHT = [
    forces_between_pairs, one_object_twice_in_a_loop, pairs_in_a_loop, rows_in_a_loop, stack_machine,
    stack_of_run_time_length, receiver_and_argument, argument_ahead_of_a_call, item_ahead_of_a_call,
    comprehension_that_moves, append_by_another_name, append_by_another_name_in_a_loop, method_as_an_argument,
    partial_of_a_list, item_changed_in_place, argument_changed_as_an_item, list_extended_as_an_item,
    objects_that_change_places, list_in_a_dict_by_unpacking, arrays_that_change_places, replaced_by_what_it_was,
    filled_one_by_one, rows_changed_in_place,
]  # fmt: skip


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_right(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)


def test_an_argument_is_written_as_an_item() -> None:
    def doubled(x):
        parameters = [x]
        parameters[0] *= 2.0
        return np.sum(x * x)

    x = X.copy()
    assert grad(doubled, jit=False)(x) == 4 * np.sum(X * X)
    np.testing.assert_array_equal(x, 2 * X)


# ------------------------------------------------------------------------------------------- what can't be followed


def read_after_another_took_its_place(x):
    rows = [x * (i + 1) for i in range(x.size)]
    old = rows[0]
    rows[0] = np.sin(old)
    return np.sum(rows[0] - old)


def one_array_in_two_places(x):
    rows = [x * (i + 1) for i in range(x.size)]
    rows[0] = rows[1]
    rows[1][0] = 5.0
    return np.sum(rows[0])


def one_array_in_all_places(x):
    rows = [x * 1.0] * x.size
    rows[0][0] = 5.0
    return np.sum(rows[1])


def written_after_the_list_has_moved(x):
    rows = [x * (i + 1) for i in range(x.size)]
    first = rows[0]
    rows.append(x)
    first[0] = 5.0
    return np.sum(rows[0])


def stored_and_written(x):
    rows, other = [x * (i + 1) for i in range(x.size)], x * 2.0
    rows[0] = other
    other[1] = 3.0
    return np.sum(rows[0])


def circle_of_objects(x):
    a, b = Body(x[0]), Body(x[1])
    a.force, b.force = b, a
    return a.force.position


def array_of_a_list_by_another_name(x):
    states = [np.zeros(2), np.ones(2)]
    first = states[0]
    for k, v in enumerate(x):
        states[k % 2][0] += v
    return np.sum(first)


def one_array_twice_by_number(x):
    state = np.zeros(2)
    states = [state, state]
    states[int(x[0] > 0)][0] = x[1]
    return np.sum(states[0] * state)


def objects_that_change_places_by_name(x, n=3):
    a, b = Body(x[0]), Body(x[1])
    c = a
    for _ in range(n):
        a, b, c = b, c, a
        a.move(2.0 * b.position)
    return a.position + 10.0 * b.position + 100.0 * c.position


def lists_that_change_places_by_name(x, n=3):
    a, b = [x[0], x[1]], [x[1], x[2]]
    c = a
    for _ in range(n):
        a, b, c = b, c, a
        a[0] = a[0] + b[1]
    return a[0] + 10.0 * b[0] + 100.0 * c[0]


def lists_at_run_time_that_change_places(x, n=3):
    a, b = list(x), list(2.0 * x)
    c = a
    for _ in range(n):
        a, b, c = b, c, a
        a[0] = a[0] + b[1]
    return a[0] + 10.0 * b[0] + 100.0 * c[0]


def objects_that_change_places_in_a_list(x, n=3):
    bodies = [Body(x[0]), Body(x[1])]
    for _ in range(n):
        bodies[0], bodies[1] = bodies[1], bodies[0]
        bodies[0].move(x[2])
    return bodies[0].position + 10.0 * bodies[1].position


def lists_that_change_places_in_a_dict(x, n=3):
    held = {"old": [x[0], x[1]], "new": [x[1], x[2]]}
    for _ in range(n):
        held["old"], held["new"] = held["new"], [2.0 * v for v in held["old"]]
        held["old"][0] += 1.0
    return held["old"][0] + 10.0 * held["new"][1]


def an_item_with_another_name(x, n=3):
    bodies = [Body(x[0]), Body(x[1])]
    first = bodies[0]
    for _ in range(n):
        bodies[0], bodies[1] = bodies[1], bodies[0]
    return first.position + 10.0 * bodies[0].position


PLACES_CHANGE = [
    objects_that_change_places_by_name, lists_that_change_places_by_name, lists_at_run_time_that_change_places,
    objects_that_change_places_in_a_list, lists_that_change_places_in_a_dict, an_item_with_another_name,
]  # fmt: skip


@pytest.mark.parametrize("function", PLACES_CHANGE, ids=lambda f: f.__name__)
def test_places_that_change_in_a_loop(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError):
        grad(lambda x, steps: function(x, len(steps)), jit=False)(X, np.ones(3))
    if function is not lists_at_run_time_that_change_places:  # a loop that is written out has them by what they are
        f = grad(lambda x: function(x, 3), jit=False)
        assert f(X) == function(X, 3)
        check_grad(f, X)


def states_that_are_handed_on(x, steps):
    state = {"now": [x[0], x[1]], "before": [x[1], x[2]]}
    for step in steps:
        new = [2.0 * now - before + step for now, before in zip(state["now"], state["before"])]
        state["before"], state["now"] = state["now"], new
    return state["now"][0] * state["before"][1]


def test_states_that_are_handed_on() -> None:
    f = grad(states_that_are_handed_on, jit=False)
    assert f(X, X) == states_that_are_handed_on(X, X)
    check_grad(f, X, X)


REFUSED = [
    read_after_another_took_its_place, one_array_in_two_places, one_array_in_all_places,
    written_after_the_list_has_moved, stored_and_written, circle_of_objects, array_of_a_list_by_another_name,
    one_array_twice_by_number,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError):
        grad(function, jit=False)(X)


# ----------------------------------------------------------------------- what a branch, or a loop, changes in another


def in_a_list_in_a_branch(x):
    rows = [[x[0], x[1]], [x[2], x[1]]]
    if x[0] > 0.3:
        rows[1][0] += x[2]
    return rows[1][0] * rows[0][1]


def in_an_object_in_a_list_in_a_branch(x):
    bodies = [Body([x[0], x[1]]), Body([x[1], x[2]])]
    if x[0] > 0.3:
        bodies[1].position[0] = x[2] * 2.0
    return bodies[1].position[0] * bodies[0].position[0]


def in_a_tuple_in_a_branch(x):
    row = [x[0], x[1]]
    held = (row, 2.0)
    if x[2] > 1.0:
        row[1] = x[0]
    return held[0][1] * held[1]


def in_a_partial_in_a_branch(x):
    row = [x[0], x[1]]
    last = partial(lambda items, factor: items[-1] * factor, row)
    if x[2] > 1.0:
        row[1] = x[0]
    return last(3.0)


def places_or_a_number(x):
    held = {"p": [x[0], 2.0 * x[0]], "q": [x[1], 2.0 * x[2]]}
    if held["p"][0] > 0.7:
        held["p"], held["q"] = held["q"], held["p"]
    else:
        held["p"][0] = x[1] * x[2]
    return held["p"][0] + 10.0 * held["q"][1]


def another_name_in_a_branch(x):
    row = [x[0], x[1]]
    a, b = Body(row), Body(row)
    held, b = [a, 2.0], a
    for _ in x:
        a, b = a, b
    if x[1] > 5.0:
        b = a
    return held[1] * b.force + b.position[0]


def values_that_change_where_the_loop_is(x):
    held = {"p": [x[0]], "q": [2.0 * x[1]]}
    for k, v in held.items():
        held[k] = v + [x[2]]
    for v in held.values():
        v[0] *= 2.0
    for k, v in enumerate(reversed(held["q"])):
        held["q"][1 - k] = v * x[0]
    return held["q"][0] * held["q"][1] + held["p"][1]


def an_index_that_changes_its_list(x):
    row, held, body = [x[0], x[1], x[2]], {"a": x[0], "b": x[1]}, Body([x[1], 2.0])

    def first():
        row[1] = 3.0 * row[1] * x[2]
        held["b"] = held["b"] * x[2]
        body.position[1] = 9.0 * x[0]
        return 0

    row[first()] = 5.0
    row[first() + 1] *= 2.0
    held[("a", "b")[first()]] = 2.0 * x[1]
    body.position[first()] = 6.0 * body.position[first() + 1]
    del row[first()]
    row = [*row, first(), *row]
    row += [*list(x), first(), row[1]]
    return row[0] * row[1] * row[4] * row[-1] + held["a"] * held["b"] + body.position[0] * body.position[1]


def places_of_objects(x):
    number, array = 2.0 * x[0], x + 1.0
    bodies = [Body(number), Body(x[1])]
    bodies[0].force, bodies[1].force = array, x * 2.0
    for _ in range(len(x)):
        bodies[0], bodies[1] = bodies[1], bodies[0]
    return number * bodies[0].position + np.sum(array * x) * bodies[1].force[0]


def called_once(x):
    total, bodies = [0.0], [Body(x[0]), Body(x[1])]

    def nth(k):
        total[0] += x[2]
        return bodies[k]

    nth(1).position += 2.0 * x[0]
    nth(0).position *= nth(1).position
    bodies[int(nth(0).force)].force += x[1]
    return bodies[0].position + bodies[1].position * total[0] + bodies[0].force


CHANGED_IN_ANOTHER = [
    called_once,
    an_index_that_changes_its_list, places_of_objects,
    in_a_list_in_a_branch, in_an_object_in_a_list_in_a_branch, in_a_tuple_in_a_branch, in_a_partial_in_a_branch,
    places_or_a_number, another_name_in_a_branch, values_that_change_where_the_loop_is,
]  # fmt: skip


@pytest.mark.parametrize("function", CHANGED_IN_ANOTHER, ids=lambda f: f.__name__)
def test_changed_in_another(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for x in (X, X[::-1].copy()):
        assert f(x) == function(x)
        check_grad(f, x)


def pick(y, z, first):
    out = z
    if first:
        out = y
    return out


def one_of_two_at_run_time(x):
    q, rows = list(x), [list(x), list(x)]
    r = q
    for k in range(len(x) - 1):
        if x[0] < 0.3:
            r = pick(rows[1], q, x[k] > 0.0)
        r[0] += 1.0
    return q[0]


def an_item_and_a_name_in_a_loop(x):
    rows = [[x[0], x[1]], [x[1], x[2]]]
    row = rows[1]
    for k in range(len(x)):
        row = rows[k % 2]
    for k in range(len(x)):
        rows[0][k % 2] += x[0]
    return row[0]


def an_item_or_another_list(x):
    other, rows = [x[0], x[1]], [[x[0], x[1]], [x[1], x[2]]]
    row = rows[1] if x[0] > 0.0 else other
    for k in range(len(x)):
        rows[k % 2][0] += 1.0
    return row[0]


def one_list_in_two_places(x):
    rows = [[x[0], x[1]]] * 2
    for _ in range(len(x)):
        rows[1] = [x[1], x[2]]
    return rows[0][0]


def a_value_to_come(x):
    held = {"p": x[0], "q": 2.0 * x[0]}
    for v in held.values():
        held["q"] = v + 1.0
    return held["q"]


def an_item_to_come(x):
    values = [x[0], x[1]]
    for v in reversed(values):
        values[0] = v + 1.0
    return values[0]


def another_list_at_a_place(x):
    rows = [[x[0], x[1]]] * 2
    for k in range(len(x)):
        rows = [rows[k % 2], [x[1], x[2]]]
    return rows[0][0]


def a_list_in_another_object(x):
    one, bodies = Body([x[0], x[1]]), [Body([x[1], x[2]])]
    for _ in range(len(x)):
        one.position[0] *= 2.0
        one = bodies[0]
    return bodies[0].position[0]


def a_list_in_an_object_with_another_name(x):
    body, one, total = Body([x[1], x[2]]), Body([x[0], x[1]]), 0.0
    bodies = [body]
    for _ in range(len(x)):
        body.position[0] += 1.0
        total += one.position[0]
        one = bodies[0]
    return total


def one_of_two_or_the_same(x):
    q, r = [x[0], x[1]], [x[1], x[2]]
    if x[0] > 0.3:
        for _ in range(len(x)):
            q = r
    return x[0] if q is r else x[1]


def a_list_of_run_time_length_or_the_same(x):
    q = r = [x[0], x[1]]
    if x[0] > 9.0:
        q = list(x)
    return x[0] if q is r else x[1]


def one_list_twice_in_a_branch(x):
    rows = [[x[0], x[1]], [x[2], x[1]]]
    if x[0] > 0.0:
        rows = [rows[1], rows[1]]
    rows[0][0] = 5.0
    return rows[1][0]


def an_item_that_the_right_side_moves(x):
    rows = [x * (i + 1.0) for i in range(len(x))]

    def exchange():
        rows[0], rows[1] = rows[1], rows[0]
        return 2.0

    rows[0] *= exchange()
    return np.sum(rows[0])


def another_list_in_a_branch_in_a_loop(x):
    p, q = [x[0], x[1]], [x[1], x[2]]
    for k in range(len(x)):
        p[0] = p[0] + x[0]
        if k % 2 == 0:
            p = q
    return q[0]


NOT_TOLD_APART = [
    another_list_in_a_branch_in_a_loop,
    an_item_that_the_right_side_moves,
    one_list_twice_in_a_branch,
    a_list_in_another_object, a_list_in_an_object_with_another_name, one_of_two_or_the_same,
    a_list_of_run_time_length_or_the_same,
    one_of_two_at_run_time, an_item_and_a_name_in_a_loop, an_item_or_another_list, one_list_in_two_places,
    a_value_to_come, an_item_to_come, another_list_at_a_place,
]  # fmt: skip


@pytest.mark.parametrize("function", NOT_TOLD_APART, ids=lambda f: f.__name__)
def test_not_told_apart(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError):
        grad(function, jit=False)(X)


# ------------------------------------------------ lists of known length, at places that are only known at run time


def shortest_paths(w):
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (1, 4)]
    distance = [np.inf] * 5
    distance[0] = 0.0
    for _ in range(4):
        for (i, j), length in zip(edges, w, strict=True):
            if distance[i] + length < distance[j]:
                distance[j] = distance[i] + length
    return distance[4] + 2.0 * distance[3]


def put(values, k, x):
    values[k] = x
    return values


def by_several_names(x):
    values = [0.0, x[0], x[1]]
    k = int(x[4] > 0)
    same = put(values, k, x[2])
    put(same, -1, x[3] * values[k])
    return values[0] + 2.0 * same[1] * values[2]


def in_a_branch_and_swapped(x):
    values = [x[0], x[1], x[2]]
    k = int(x[4] > 0)
    if x[3] > 0:
        values[k] += x[3] ** 2
    values[k], values[0] = values[0], values[k]
    return values[0] + 2.0 * values[1] * values[2]


def elimination_of_a_small_table(x):
    a = [[2.0, 1.0, 0.0], [3.0, x[0], 1.0], [0.0, 1.0, x[1]]]
    b = [x[2], x[3], x[4]]
    for k in range(3):
        p = k
        for r in range(k + 1, 3):
            if abs(a[r][k]) > abs(a[p][k]):
                p = r
        a[k], a[p] = a[p], a[k]
        b[k], b[p] = b[p], b[k]
        for r in range(k + 1, 3):
            factor = a[r][k] / a[k][k]
            b[r] -= factor * b[k]
            for c in range(k, 3):
                a[r][c] -= factor * a[k][c]
    return b[2] / a[2][2]


def places_of_triangles(x):
    triangles, s = [[0, 1, 2], [1, 2, 3], [2, 0, 3]], 0.0
    for k in range(len(x) // 2):
        i, j, l = triangles[k]
        s += x[i] * x[j] - x[l] * triangles[k][0]
    return s


def states_by_number(x):
    states, rows = [np.zeros(2), np.ones(2), np.zeros(2)], 0.0
    for k, v in enumerate(x):
        states[(k * k) % 3][0] += v
        state = states[k % 3]
        state[1] = state[0] * v + 1.0
        rows = rows + state
        states[(k + 1) % 3] = states[(k + 1) % 3] * 0.5
    return np.sum(states[0] * states[1] + states[2] * rows)


AT_RUN_TIME = [
    shortest_paths, by_several_names, in_a_branch_and_swapped, elimination_of_a_small_table, places_of_triangles,
    states_by_number,
]  # fmt: skip


@pytest.mark.parametrize("function", AT_RUN_TIME, ids=lambda f: f.__name__)
def test_places_known_at_run_time(function: Callable[..., Any]) -> None:
    x = np.array([0.9, 1.7, 0.4, 1.1, 2.3, 0.7])
    f = grad(function, jit=False)
    assert f(x) == function(x)
    check_grad(f, x)


def test_a_place_that_a_list_does_not_have() -> None:
    def f(x: Any) -> Any:
        values = [0.0, 1.0]
        values[int(x)] = x
        return values[0]

    with pytest.raises(IndexError):
        grad(f, jit=False).backward(2.0)
    with pytest.raises(UnsupportedError):
        grad(lambda x: put([0.0, 1.0], 2, x)[0], jit=False).backward(2.0)


# ----------------------------------------------------------------- items as long as arrays that may differ in length


def trajectory(start, steps):
    a = np.array([[1.0, 0.1], [-0.2, 1.0]])
    states = [start]
    for step in steps:
        states.append(a @ states[-1] + step)
    return np.stack(states)


def rollout(start, controls, a, b):
    states, cost = [start], 0.0
    for t, u in enumerate(controls):
        state = states[t]
        cost += state @ state + 0.1 * u @ u
        states.append(a @ state + b @ u)
    return cost + 10.0 * states[-1] @ states[-1]


def means_or_what_was_there(points, centres):
    nearest = np.argmin(np.abs(points[:, None] - centres).sum(axis=2), axis=1)
    return np.array([points[nearest == k].mean(axis=0) if np.any(nearest == k) else centres[k] for k in range(4)])


def the_same_as_a_loop(points, centres):
    nearest, out = np.argmin(np.abs(points[:, None] - centres).sum(axis=2), axis=1), []
    for k in range(len(centres)):
        if np.any(nearest == k):
            out.append(points[nearest == k].mean(axis=0))
        else:
            out.append(centres[k])
    return np.array(out)


def hidden_states(w, start, xs):
    """One row to begin with, one for each of the sequences that there are."""
    h, c = np.repeat(start, xs.shape[1], axis=0), np.tile(start, (xs.shape[1], 1))
    states = [2 * h]
    for x in xs:
        c = c * np.tanh(np.hstack((x, h)) @ w) + x
        h = np.tanh(c)
        states.append(2 * h)
    return np.stack(states)


def test_items_as_long_as_a_row_repeated() -> None:
    random = np.random.default_rng(1)
    w, start, xs = random.normal(size=(6, 3)), random.normal(size=(1, 3)), random.normal(size=(4, 5, 3))
    f = grad(hidden_states, jit=False)
    np.testing.assert_array_equal(f(w, start, xs), hidden_states(w, start, xs))
    check_grad(f, w, start, xs)
    with pytest.raises(UnsupportedError, match="of one shape"):  # twice as long is never as long

        def doubled(x: Any, steps: Any) -> Any:
            rows = [x]
            for step in steps:
                rows.append(step * np.repeat(rows[-1], 2))
            return rows[-1]

        grad(doubled, jit=False).backward(np.ones(4), np.ones(2), v=np.ones(16))


def test_items_as_long_as_other_arrays() -> None:
    random = np.random.default_rng(1)
    check_grad(grad(trajectory, jit=False), np.array([0.5, 1.0]), random.normal(size=(4, 2)))
    a, b = (
        np.array([[1.0, 0.1], [0.0, 0.95]]),
        np.array([[0.1], [0.2]]),
    )  # a length of 1 is stretched
    check_grad(grad(rollout, jit=False), np.array([0.5, 1.0]), random.normal(size=(4, 1)), a, b)
    points, centres = random.normal(size=(6, 3)), random.normal(size=(4, 3))
    centres[2] = 50.0  # nearest to none
    for function in (means_or_what_was_there, the_same_as_a_loop):
        f = grad(function, jit=False)
        np.testing.assert_array_equal(f(points, centres), function(points, centres))
        check_grad(f, points, centres)


def test_items_that_turn_out_to_differ_in_length() -> None:
    def f(x: Any, w: Any, steps: Any) -> Any:
        rows = [x]
        for step in steps:
            rows.append(w * step)
        return rows[-1]

    with pytest.raises(RuntimeShapeError, match="lengths 3 and 2"):
        grad(f, jit=False).backward(np.ones(3), np.ones(2), np.ones(2), v=np.ones(3))
    with pytest.raises(UnsupportedError, match="of one shape"):  # what is computed from one length seldom is the same

        def g(x: Any, steps: Any) -> Any:
            rows = [x]
            for step in steps:
                rows.append(step * rows[-1][::2])
            return rows[-1]

        grad(g, jit=False).backward(np.ones(4), np.ones(2), v=np.ones(1))


class Activation(Enum):
    TANH = "tanh"
    SINE = "sine"


SETTINGS = SimpleNamespace(rate=0.1, weights=np.array([1.0, 2.0, 3.0]))


def a_namespace_that_changes(x: Any) -> Any:
    state = SimpleNamespace(x=x.copy(), n=0, v=np.zeros_like(x))
    while state.n < 3:
        state.v = 0.9 * state.v - SETTINGS.rate * state.x * SETTINGS.weights
        state.x = state.x + state.v
        state.n += 1
    state.scale = 2.0
    return state.x @ state.v * state.scale


def an_enumeration_by_its_values(x: Any) -> Any:
    total = 0.0
    for name in "tanh-sine".split("-"):
        match Activation(name):
            case Activation.TANH:
                total += np.tanh(x).sum()
            case Activation.SINE:
                total += np.sin(x) @ x
    return total


def functions_by_their_names(x: Any) -> Any:
    def double(t: Any) -> Any:
        return t * 2

    def square(t: Any) -> Any:
        return t * t

    table = {f.__name__: f for f in (double, square)}
    return table["square"](x).sum() * table["double"](x)[0]


@pytest.mark.parametrize(
    "f", [a_namespace_that_changes, an_enumeration_by_its_values, functions_by_their_names], ids=lambda f: f.__name__
)
def test_settings_and_names(f: Any) -> None:
    x, g = np.array([0.3, 0.7, 1.1]), grad(f, jit=False)
    check_value_and_grad(g, x, rtol=1e-6)


def test_namespaces_as_arguments_and_results() -> None:
    def f(p: Any) -> Any:
        return SimpleNamespace(product=p.w * p.b, total=p.w.sum())

    p, v = SimpleNamespace(w=np.array([1.0, 2.0]), b=3.0), SimpleNamespace(product=np.array([1.0, 10.0]), total=0.5)
    g = grad(f, jit=False)
    assert g(p).total == 3.0 and g(p).product.tolist() == [3.0, 6.0]
    got = g.backward(p, v)
    assert got.w.tolist() == [3.5, 30.5] and got.b == 21.0


def test_no_such_member() -> None:
    def f(x: Any) -> Any:
        return x if Activation("cosine") is Activation.SINE else 2 * x

    with pytest.raises(ValueError, match="'cosine' is not a valid Activation"):
        grad(f, jit=False)(1.0)


class Layer:
    def __init__(self, name: str, alpha: Any = 1) -> None:
        self.name, self.alpha = name, alpha

    def __repr__(self) -> str:
        return self.name


class Leaky(Layer):
    def __str__(self) -> str:
        return "Leaky(alpha={})".format(self.alpha)  # noqa: UP032


OUTSIDE = Leaky("leaky", 0.3)


def by_its_text(x):
    layer, leaky = Layer("Tanh"), Leaky("leaky", 2)
    y = np.tanh(x) if str(layer).lower() == "tanh" else x
    y = y * 3.0 if str(leaky).lower() == "leaky(alpha=2)" else y
    return y * 2.0 if str(OUTSIDE) == "Leaky(alpha=0.3)" and "leaky" in repr(leaky) else y


def test_the_text_of_an_object() -> None:
    x, f = np.array([0.3, 0.7, 1.1]), grad(by_its_text, jit=False)
    check_value_and_grad(f, x, rtol=1e-15)

    def by_a_number(x: Any) -> Any:
        return x if str(Leaky("leaky", x)) == "Leaky(alpha=0.5)" else 2 * x

    with pytest.raises(UnsupportedError, match="only known at run time is for messages"):
        grad(by_a_number, jit=False)(0.5)

    def in_a_message(x: Any) -> Any:
        if x < 0:
            raise ValueError("no " + str(Leaky("leaky", x)))
        return x

    with pytest.raises(ValueError, match=r"no Leaky\(alpha=-1.0\)"):
        grad(in_a_message, jit=False)(-1.0)


# -------------------------------------------------------------------------------- arrays in lists among the arguments


def stepped_down(ws, gs, rate):
    for i in range(len(ws)):
        ws[i] -= rate * gs[i] * ws[0][0]
    us = ws
    us[1] *= ws[0]
    return np.sum(ws[0] * ws[1]) * us[1]


def test_arrays_in_a_list_from_outside_are_updated_in_their_places() -> None:
    """The list stays as it is: as in Python, the caller sees what its arrays have become."""
    made = lambda: ([np.array([0.5, -0.3, 2.0]), np.array([1.5, 0.3, -2.0])], [np.ones(3), np.arange(3.0)], 0.3)
    ours, theirs = made(), made()
    np.testing.assert_allclose(grad(stepped_down, jit=False)(*ours), stepped_down(*theirs), rtol=1e-14)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-14)
    check_grad(grad(stepped_down, jit=False), *made())


def test_a_list_that_has_been_put_into_another_is_still_named() -> None:
    """The other one has its items in rows: what is updated in its place would not be seen there."""

    def put_in_and_changed(x, n):
        ys = []
        for i in range(n):
            zs = [x * i]
            ys.append(zs)
            zs[0] += 1.0
        return sum(y[0] for y in ys)

    with pytest.raises(UnsupportedError, match="changes a list that is an item of another one"):
        grad(put_in_and_changed, jit=False)(np.ones(3), 3)


# ------------------------------------------------------------------------------- texts, ranges and pairs that are known


def by_letters(d):
    q, k = [d[name] * 2.0 for name in "qk"]
    total = np.sum(q * k)
    for name in "kqk":
        total = total * 0.5 + (np.sum(d[name]) if name == "k" else d[name][0])
    for _ in "":
        total = 0.0
    return total + sum(d[a][0] * d[b][1] for a in "qk" for b in "kq")


def ranges_turned_and_indexed(d):
    x, total = d["q"], 0.0
    turned, inner = range(len(x))[::-1], range(1, len(x))
    for i in turned:
        total = total * 0.5 + x[i]
    for i in range(len(x))[::-1] if x.ndim == 1 else range(len(x)):
        total = np.sin(total) * x[i]
    return total * x[inner[0]] * x[inner[-1]] + sum(x[i] for i in range(0, 3)[1:])


def in_the_order_of_keys(d):
    parts = [v.ravel() * (k + 1) for k, (_, v) in enumerate(sorted(d.items()))]
    last = sorted([(2, d["q"][0]), (1, d["k"][0])], reverse=True)
    return np.concatenate(parts).sum() * last[0][1]


@pytest.mark.parametrize(
    "function", [by_letters, ranges_turned_and_indexed, in_the_order_of_keys], ids=lambda f: f.__name__
)
def test_what_is_known_of_texts_ranges_and_pairs(function: Callable[..., Any]) -> None:
    given = {"q": np.array([0.5, 1.3, 0.7]), "k": np.array([0.2, 0.9, 1.1])}
    f = grad(function, jit=False)
    check_value_and_grad(f, given, rtol=1e-14)


def test_an_index_outside_of_a_range() -> None:
    with pytest.raises(IndexError):
        grad(lambda x: x[range(1, len(x))[5]], jit=False)(np.ones(3))


def test_a_result_of_two_kinds_is_shown_where_it_is_returned() -> None:
    def two_kinds(x):
        t = np.outer(x, x) if x.size > 1 else x.sum()
        return x, t

    with pytest.raises(UnsupportedError, match=r"(?s)the result is of another kind.*return x, t"):
        grad(two_kinds, jit=False)(np.ones(3))


class Quaternion:
    def __init__(self, v):
        self.v = v


class Attitude:
    def __init__(self, q):
        self.q = q

    def update(self, g):
        if g > 0.8:
            self.q = Quaternion(self.q.v * g)
            return
        self.q = Quaternion(self.q.v + np.sin(g))


class Vehicle:
    def __init__(self, attitude):
        self.attitude = self.same = attitude


def an_object_anew_in_each_branch(x):
    attitude = Attitude(Quaternion(x[:2] ** 2))
    vehicle, total = Vehicle(attitude), 0.0
    for k in range(len(x)):
        attitude.update(x[k])
        vehicle.same.q.v[0] += x[1]
        total += vehicle.attitude.q.v[0] * attitude.q.v[1]
    attitude.q.v = attitude.q.v * 2
    return total + np.sum(vehicle.same.q.v)


@pytest.mark.parametrize("jit", [False, True])
def test_another_object_in_an_attribute_by_the_path(jit):
    """Who calls the method holds it as the method does: by the one place in the object whose attribute it is."""
    x = np.array([0.513, 1.217, 0.823, 0.371, 0.947])
    check_value_and_grad(grad(an_object_anew_in_each_branch, jit=jit), x, rtol=1e-13)


def one_with_another_name(x):
    attitude = Attitude(Quaternion(x[:2] ** 2))
    before = attitude.q
    if x[0] > 0.8:
        attitude.q = Quaternion(x[:2])
    before.v = x[:2] * 3
    return np.sum(attitude.q.v)


def test_another_object_by_the_path_that_has_a_name():
    with pytest.raises(UnsupportedError, match="changes an object that is one of several by the path taken"):
        grad(one_with_another_name, jit=False)(np.array([0.513, 1.217]))
