"""Lists that get shorter in loops, inside of other loops too: stacks, work lists, and what is cleared in each step."""

from __future__ import annotations

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.errors import UnsupportedError
from srcgrad.testing import check_grad

X = np.array([3.0, 1.0, 2.0, 0.5, 1.5])
POINTS = np.array([[0.1, 0.1], [1.2, -0.5], [2.3, 0.3], [0.5, 1.5], [1.6, 1.2], [0.9, 0.4]])


def taller_ones(x):
    stack, total = [], 0.0
    for value in x:
        while stack and stack[-1] > value:
            total += stack.pop() * value
        stack.append(value)
    return total + stack[-1] * len(stack)


def of_pairs(x):
    stack, total = [], 0.0
    for value in x:
        while stack and stack[-1][0] > value:
            height, width = stack.pop()
            total += height * width
        stack.append((value, value**2))
    while stack:
        total += stack.pop()[1]
    return total


def lower_hull(points):
    hull = []
    for x, y in sorted([(p[0], p[1]) for p in points]):
        while len(hull) > 1:
            (ax, ay), (bx, by) = hull[-2], hull[-1]
            if (bx - ax) * (y - ay) > (by - ay) * (x - ax):
                break
            hull.pop()
        hull.append((x, y))
    return sum([hull[i][0] * hull[i + 1][1] - hull[i + 1][0] * hull[i][1] for i in range(len(hull) - 1)])


def postfix(x):
    stack = [x[0], x[1], x[0]]
    for k in range(len(x)):
        if k % 2:
            right = stack.pop()
            stack.append(stack.pop() * right + x[k])
        else:
            stack.append(x[k])
    return stack.pop() * len(stack)


def a_known_list(x):
    items, total = [1.0, 2.0, x[0], x[1], x[2], x[0]], 0.0
    for k in range(len(x)):
        if x[k] > 1.2:
            total += items.pop() * x[k]
    while len(items) > 2:
        total += items.pop() ** 2
    return total + items[0] * len(items)


def filled_and_emptied(x):
    items, total = [], 0.0
    for k in range(len(x)):
        for j in range(k):
            items.append(x[j] * k)
        while len(items) > 1:
            total += items.pop() * items[0]
    return total


def cleared(x):
    items, total = [1.0, x[0]], 0.0
    for value in x:
        total += len(items) * items[-1]
        items.clear()
        items.append(value)
    return total * items[0]


PROGRAMS = [
    (taller_ones, X), (of_pairs, X), (lower_hull, POINTS), (postfix, X), (a_known_list, X), (filled_and_emptied, X),
    (cleared, X),
]  # fmt: skip


@pytest.mark.parametrize(("function", "x"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_stacks(function, x) -> None:
    check_grad(grad(function, jit=False), x)


def test_a_stack_compiled() -> None:
    check_grad(grad(taller_ones), X)


def popped_too_often(x):
    stack, total = [], 0.0
    for value in x:
        total += stack.pop() * value if value < 2.0 else 0.0
        stack.append(value) if value > 2.5 else None
    return total


def test_an_empty_stack() -> None:
    with pytest.raises(IndexError, match="pop from an empty list"):
        grad(popped_too_often, jit=False)(X)


def merged_neighbours(x):
    values = []
    for value in x:
        values.append(value)
        while len(values) > 1 and values[-2] > values[-1]:
            last = values.pop()
            values.append((values.pop() + last) / 2.0)
    return sum([value**2 for value in values])


def test_a_list_that_grows_in_an_inner_while_loop() -> None:
    with pytest.raises(UnsupportedError, match="values grows in a while loop that is inside another loop"):
        grad(merged_neighbours, jit=False)(X)


def of_pairs_in_order(points):
    pairs = sorted([(np.floor(p[0]), p[1]) for p in points], reverse=True)
    triples = [(p[0], p[1], k) for k, p in enumerate(points)]
    triples.sort(key=lambda t: (-t[1], t[2]))
    return pairs[0][1] * pairs[2][1] ** 2 + triples[0][0] * triples[1][1] * triples[0][2]


def test_the_order_of_tuples() -> None:
    check_grad(grad(of_pairs_in_order, jit=False), POINTS)
