"""`near = [[] for _ in range(n)]`, `near[k].append(i)`: lists of which a run-time number says which one grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad

RNG = np.random.default_rng(6)
X, K = RNG.normal(size=30), RNG.integers(0, 8, size=30)
EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 4], [4, 5], [5, 6], [6, 7]])


def buckets(a, x, k):
    n = 8
    near = [[] for _ in range(n)]
    for i in range(len(k)):
        near[k[i]].append(i)
    s = 0.0
    for j in range(n):
        for i in near[j]:
            s += a * j * x[i]
    return s


def pairs(p, r):
    n = len(p)
    near = [[] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if i != j and np.sum((p[i] - p[j]) ** 2) < r * r:
                near[i].append(j)
    e = 0.0
    for i in range(n):
        m = len(near[i])
        for j in near[i]:
            e += np.exp(-np.sum((p[i] - p[j]) ** 2)) / m
    return e


def reduced(x, k, m):
    ys = [[] for _ in range(m)]
    for i in range(len(x)):
        ys[k[i]].append(np.sin(x[i]))
    out = np.zeros(m)
    for j in range(m):
        if ys[j]:
            out[j] = np.mean(ys[j]) + max(ys[j]) * len(ys[j]) + ys[j][-1] * ys[j][0]
    return out


def breadth_first(x, edges):
    adj = [[] for _ in range(len(x))]
    for a, b in edges:
        adj[a].append(b)
        adj[b].append(a)
    dist = np.full(len(x), -1.0)
    queue = [0]
    dist[0] = 0.0
    at = 0
    while at < len(queue):
        a = queue[at]
        at += 1
        for b in adj[a]:
            if dist[b] < 0:
                dist[b] = dist[a] + x[b] ** 2
                queue.append(b)
    return dist


def as_indices(x, k):
    g = [[] for _ in range(8)]
    for i in range(len(k)):
        g[k[i]].append(i)
    return np.array([np.sum(x[g[j]] ** 2) for j in range(8)])


def changed_in_its_loop(x, k):
    g = [[] for _ in range(8)]
    for i in range(8):
        g[k[i]].append(x[i])
    s = 0.0
    for v in g[k[0]]:
        s += v
        if s < 3.0:
            g[k[1]].append(v * 2)
    return s


def handed_on(x, k):
    def put(lists, place, v):
        lists[place].extend([v, v * v])

    rows = [[] for _ in range(len(x))]
    for i in range(len(x)):
        put(rows, k[i], x[i] if i != 9 else 0.5)
        if 0.5 in rows[k[i]] or len(rows[k[0]]) > 7:
            rows[k[i]].clear()
    total = 0.0
    for i, row in enumerate(rows):
        for j, v in enumerate(row):
            total += v * i + j
        total += 10.0 * (row[-2] if len(row) > 1 else 0.0)
    return total


def of_arrays(x, k):
    held = [[] for _ in range(4)]
    for i in range(len(x) - 2):
        held[k[i] % 4].append((i, x[i : i + 2] ** 2))
    total = np.zeros(2)
    for j in range(4):
        for i, pair in held[j]:
            total += (j + 1) * pair * x[i]
    return total


def read_ahead_of_what_is_put(x, k):
    near = [[] for _ in range(8)]
    near[0].append(x[0])
    s = 0.0
    for i in range(len(k)):
        if x[i] not in near[k[i]]:
            s += near[k[i]][-1] * x[i] if near[k[i]] else 1.0
            near[k[i]].append(x[i])
    near[1].extend(near[0])
    near[2].extend(near[2])
    if type(near[1]) is list and any(near[2]):
        s += 2.0 * sum(near[1][1:]) + 3.0 * sum(near[0] + near[2])
    return s


PROGRAMS = [
    (buckets, (0.3, X, K)),
    (pairs, (RNG.normal(size=(12, 3)), 0.8)),
    (reduced, (X, K, 8)),
    (reduced, (X[:9], -1 - K, 11)),
    (reduced, (X[:0], K[:0], 3)),
    (breadth_first, (X[:8], EDGES)),
    (as_indices, (X, K)),
    (handed_on, (X, K)),
    (of_arrays, (X, K)),
    (read_ahead_of_what_is_put, (X, K)),
    (read_ahead_of_what_is_put, (X, K.astype(np.uint64))),
]


@pytest.mark.parametrize(("function", "args"), PROGRAMS)
def test_as_in_python(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_value_and_grad(grad(function, jit=False), *args)


@pytest.mark.parametrize(("function", "args"), [PROGRAMS[2], PROGRAMS[5]])
def test_compiled(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    f = grad(function)
    check_value_and_grad(f, *args, at_once=True)
    narrow = (args[0].astype(np.float32), *args[1:])
    got, want = f(*narrow), function(*narrow)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_no_such_list() -> None:
    f = grad(buckets, jit=False)
    for k in (8, -9):
        with pytest.raises(IndexError, match="list index out of range"):
            f(0.3, X, np.array([1, k]))


def test_changed_in_its_loop() -> None:
    f = grad(changed_in_its_loop, jit=False)
    assert f(np.ones(8), np.array([1, 2, 2, 2, 2, 2, 2, 2])) == 1.0
    with pytest.raises(RuntimeError, match="a loop changes the list that it runs over"):
        f(np.ones(8), np.array([1, 1, 2, 2, 2, 2, 2, 2]))


def changed_by_what_is_called(x, k):
    g = [[] for _ in range(8)]
    for i in range(8):
        g[k[i]].append(x[i])

    def more(v):
        if v > 0.0:
            g[k[0]].append(-v)
        return v

    return sum([more(v) for v in g[k[1]]])


def filled_anew(x, k):
    g = [[] for _ in range(8)]
    for i in range(8):
        g[k[i]].append(x[i])
    s = 0.0
    for v in g[k[0]]:
        s += v
        g[k[1]].clear()
        g[k[1]].append(2 * v)
    return s


@pytest.mark.parametrize("function", [changed_by_what_is_called, filled_anew])
def test_changed_while_it_is_gone_through(function: Callable[..., Any]) -> None:
    f, others = grad(function, jit=False), np.array([1, 2, 3, 3, 3, 3, 3, 3])
    assert f(np.ones(8), others) == function(np.ones(8), others)
    with pytest.raises(RuntimeError, match="a loop changes the list that it runs over"):
        f(np.ones(8), np.array([1, 1, 3, 3, 3, 3, 3, 3]))


def returned(x, k):
    rows = [[] for _ in range(8)]
    for i in range(len(k)):
        rows[k[i]].append(x[i])
    return rows


def one_object(x, k):
    rows = [[] for _ in range(8)]
    rows[k[0]].append(x[0])
    return x[1] if rows[k[0]] is rows[k[1]] else x[2]


def written_after_it_is_put(x, k):
    rows = [[] for _ in range(8)]
    y = x[:2].copy()
    for i in range(len(k)):
        rows[k[i]].append(y)
        y[0] += x[i]
    return sum(np.sum(v) for v in rows[k[0]])


def at_an_array(x, k):
    rows = [[] for _ in range(8)]
    rows[k[0]].append(x[0])
    return sum(rows[k[:1]])


def some_of_them(x, k):
    rows = [[] for _ in range(8)]
    rows[k[0]].append(x[0])
    return len(rows[1:]) * x[0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (some_of_them, "a slice of lists of which only a run knows"),
        (returned, "are no result"),
        (one_object, "whether these are one object is not known"),
        (written_after_it_is_put, "may or may not be the array that was written"),
    ],
)
def test_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        grad(function, jit=False)(X, K)


def test_an_array_is_no_place() -> None:
    with pytest.raises(TypeError, match="list indices must be integers"):
        grad(at_an_array, jit=False)(X, K)
