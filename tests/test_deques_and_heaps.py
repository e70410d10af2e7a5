"""Lists that are taken from at both ends, kept in order or kept as heaps, and tuples in their order."""

from __future__ import annotations

import bisect
import copy
import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.3, -0.4, 0.9, 0.5])


def moving_mean(x):
    window = deque(maxlen=3)
    out = []
    for v in x:
        window.append(v * v)
        out.append(np.mean(window) * len(window) + sum(window))
    return np.array(out)


def breadth_first(x):
    queue = deque([0])
    seen = [False] * len(x)
    seen[0] = True
    s = 0.0
    while queue:
        i = queue.popleft()
        s += x[i] * x[i - 1]
        for j in range(len(x)):
            if not seen[j] and x[i] * x[j] > -0.3:
                seen[j] = True
                queue.append(j)
    return s


def recursive_filter(x):
    before = deque([0.0, 0.0], maxlen=2)
    y = []
    for v in x:
        y.append(v - 0.5 * before[0] + 0.1 * before[1])
        before.appendleft(y[-1])
    return np.array(y)


def both_ends(x):
    q = deque()
    q.extend(x)
    q.extendleft([1.0, x[0]])
    q.reverse()
    q[1] = x[2] * 3.0
    q.rotate(-1)
    q.rotate(3)
    last = q.pop()
    return np.array(list(q)) * last if isinstance(q, deque) else x


def greatest_length(x):
    q = deque(x, maxlen=3)
    q.append(x[0] * x[1])
    r = q.copy()
    r.append(2.0)
    return sum(q) * r[0] * x + np.array(r)[0] + len(r)


class Delay:
    def __init__(self, steps: int) -> None:
        self.line = deque([0.0] * steps, maxlen=steps)

    def step(self, value: Any) -> Any:
        out = self.line[0]
        self.line.append(value)
        return out


def delays(x):
    one = Delay(2)
    other = copy.deepcopy(one)
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = one.step(x[i]) * 2.0 + x[i]
    other.step(x[0])
    return out + other.line[-1] + len(other.line)


def shortest_paths(x):
    w = np.abs(np.outer(x, x)) + 0.1
    distance = [np.inf] * 4
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for v in range(4):
            further = d + w[u, v] ** 2
            if further < distance[v]:
                distance[v] = further
                heapq.heappush(heap, (further, v))
    return np.array(distance)


def heaps(x):
    heap = list(x)
    heapq.heapify(heap)
    least = heapq.heappop(heap)
    a = heapq.heappushpop(heap, x[0] * x[1])
    b = heapq.heapreplace(heap, 0.7 * x[2])
    best, least_two = heapq.nlargest(2, x), heapq.nsmallest(2, x, key=lambda v: v * v)
    return least * heap[-1] * x + a * heap[0] + b * best[1] + least_two[1]


def kept_in_order(x):
    ys, zs = [], [0.0, 2.0]
    for v in x:
        bisect.insort(ys, v)
        bisect.insort_left(zs, v * v)
    return np.array(ys) * np.array(zs)[1:5]


def as_long_as(x):
    first = itertools.takewhile(lambda v: v < 0.8, x)
    return sum(first) * sum(itertools.dropwhile(lambda v: v < 0.8, x)) * x


def from_items(x):
    return np.fromiter((x[i] * x[j] for i in range(4) for j in range(i)), float, 4) * np.fromiter([v for v in x], float)


def quasi_newton(x):
    steps, changes = deque(maxlen=2), deque(maxlen=2)
    for k in range(len(x)):
        q, factors = x * x * (k + 1.0), []
        for s, y in zip(reversed(steps), reversed(changes)):
            factors.append(s.dot(q) / y.dot(y))
            q = q - factors[-1] * y
        for i, (s, f) in enumerate(zip(steps, reversed(factors))):
            q = q + s * f * (i + 1)
        steps.append(0.3 * q)
        changes.append(q + x)
    return q * sum(map(np.sum, steps))


EVERY = [
    moving_mean,
    quasi_newton,
    breadth_first,
    recursive_filter,
    both_ends,
    greatest_length,
    delays,
    shortest_paths,
    heaps,
    kept_in_order,
    as_long_as,
    from_items,
]


def longer_meanwhile(x):
    queue, s = deque(x, maxlen=4), 0.0
    for v, w in zip(queue, x):
        queue.append(v)
        s += v * w
    return s


def test_what_is_gone_through_stays() -> None:
    with pytest.raises(UnsupportedError, match="a loop changes the list or dict that it runs over"):
        grad(longer_meanwhile, jit=False)(X)


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_as_python_does(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-13)


@pytest.mark.parametrize("function", [moving_mean, shortest_paths], ids=lambda f: f.__name__)
def test_compiled(function: Callable[..., Any]) -> None:
    check_value_and_grad(grad(function), X, rtol=1e-13, at_once=True)


def test_a_deque_is_no_result() -> None:
    with pytest.raises(UnsupportedError, match="a deque as a result"):
        grad(lambda x: deque([x]), jit=False)(X)


def tuples_in_order(x, n):
    s = 0.0
    for i in range(n):
        for j in range(n):
            if (x[i], i) < (x[j], j):
                s += x[i] * x[j]
            if (x[i] > 0, x[j]) >= (True, 0.4):
                s += x[i]
            if (1, x[i]) <= (1, x[j], 2):
                s -= x[j] * j
            if [x[i], 2.0] > [x[j]]:
                s *= 1.1
            if (0, x[i]) < (1, x[j]):
                s *= 1.01
            if ((x[i], 1), 2) < ((x[i], 1), x[j]):
                s *= 1.02
            if (x[i], "a") < (x[j], "b"):
                s *= 1.03
    return s


def test_tuples_are_compared_item_by_item() -> None:
    f = grad(tuples_in_order, jit=False)
    for x in (X, np.full(4, 0.3), np.array([0.3, 0.2, 0.3, np.nan])):
        np.testing.assert_allclose(f(x, 4), tuples_in_order(x, 4), rtol=1e-13)
    check_grad(f, X, 4)


def written_after_append(x):
    steps, y = deque(), x[:2].copy()
    for i in range(len(x)):
        steps.append(y)
        y[0] = y[0] + x[i]
    return np.sum(steps[0])


def written_after_push(x):
    heap, y = [], x[:2].copy()
    for i in range(len(x)):
        heapq.heappush(heap, (x[i], y))
        y[0] = y[0] + x[i]
    return np.sum(heapq.heappop(heap)[1])


def read_by_places(x):
    rows, y = [], x[:2].copy()
    for i in range(len(x)):
        rows.append(y)
        y[0] = y[0] + x[i]
    turned = [rows[len(x) - 1 - k] for k in range(len(x))]
    return np.sum(turned[0])


@pytest.mark.parametrize("function", [written_after_append, written_after_push, read_by_places])
def test_arrays_that_are_written_later(function: Callable[..., Any]) -> None:
    """Python's containers hold the array itself: to compute with what it was is refused."""
    with pytest.raises(UnsupportedError, match="may or may not be the array that was written"):
        grad(function, jit=False)(X)
