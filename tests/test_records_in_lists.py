"""Lists of tuples whose places differ: a number beside the index that it belongs to, a flag, a count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import check_grad, grad

X = np.array([1.5, 2.0, 0.5, 4.0])


def with_their_places(x: Any) -> Any:
    pairs = []
    for i in range(len(x)):
        pairs.append((x[i] * 2, i))
    total = 0.0
    for value, i in pairs:
        total += value * x[i]
    return total


def nearest_first(x: Any) -> Any:
    edges = []
    for i in range(len(x)):
        for j in range(i):
            edges.append((abs(x[i] - x[j]), i, j))
    edges = sorted(edges, key=lambda edge: edge[0])
    d, i, j = edges[0]
    return d * x[i] + sum(d * x[i] * x[j] for d, i, j in edges)


def with_flags(x: Any) -> Any:
    triples = [(value, i, i > 1) for i, value in enumerate(x)]
    total = 0.0
    for value, i, is_late in triples:
        if is_late:
            total += value * x[i - 1]
    return total


def stack_of_work(x: Any) -> Any:
    out, stack = 0.0, [(x[0], 0)]
    while len(stack) > 0:
        value, depth = stack.pop()
        if depth < 3:
            stack.append((value * x[depth], depth + 1))
        else:
            out = out + value
    return out


def kept_by_a_branch(x: Any) -> Any:
    found = []
    for i in range(len(x)):
        if x[i] > 1.0:
            found.append((i, x[i], 2.0 * x[i]))
    return x[found[-1][0]] * found[0][2] * len(found)


def whole_numbers_first(x: Any) -> Any:
    pairs = []
    for i in range(len(x)):
        pairs.append((i, 1))
    pairs.append((x[0], 2))
    return sum(a * b for a, b in pairs)


def as_an_array(x: Any) -> Any:
    pairs = []
    for i in range(len(x)):
        pairs.append((i, x[i]))
    table = np.array(pairs)
    return (table[:, 0] * table[:, 1] ** 2).sum()


def division_of_places(x: Any) -> Any:
    pairs = []
    for i in range(len(x)):
        pairs.append((i, x[i]))
    return sum(value * (i // 2) + value / (i + 1) for i, value in pairs)


PROGRAMS = [
    with_their_places, nearest_first, with_flags, stack_of_work, kept_by_a_branch, whole_numbers_first, as_an_array,
    division_of_places,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_plain(f: Any) -> None:
    g = grad(f, jit=False)
    assert g(X) == f(X)
    check_grad(g, X)


@pytest.mark.parametrize("k", [-3, -1, 2])
def test_places_from_the_end_that_are_known_at_run_time(k: int) -> None:
    def of_tuples(x: Any, k: int) -> Any:
        found = []
        for i in range(len(x)):
            if x[i] > 1.0:
                found.append((x[i], i))
        value, i = found[k]
        return value * x[i] * (i + 1)

    def of_lists(x: Any, k: int) -> Any:
        found = []
        for i in range(len(x)):
            if x[i] > 1.0:
                found.append([x[i] * j for j in range(1, len(x))])
        return sum(found[k]) * found[k][-1]

    for f in (of_tuples, of_lists):
        g = grad(f, jit=False)
        assert g(X, k) == f(X, k)
        check_grad(g, X, k)
        with pytest.raises(IndexError):
            g(X, 3 if k > 0 else -4)


@pytest.mark.parametrize("f", [with_their_places, with_flags, division_of_places], ids=lambda f: f.__name__)
def test_each_place_keeps_its_dtype(f: Any) -> None:
    x = X.astype(np.float32)
    y = grad(f, jit=False)(x)
    assert y == pytest.approx(f(x), rel=1e-6) and y.dtype == f(x).dtype == np.float32


@pytest.mark.parametrize("f", [nearest_first, stack_of_work], ids=lambda f: f.__name__)
def test_compiled(f: Any) -> None:
    check_value_and_grad(grad(f), X, rtol=0.0, at_once=True)


def test_a_number_that_would_be_rounded_is_an_error() -> None:
    def f(x: Any, seed: Any) -> Any:
        pairs = []
        for i in range(len(x)):
            pairs.append((seed + i, x[i]))
        return sum(value * (number % 7) for number, value in pairs)

    g = grad(f, jit=False)
    assert g(X, 2**52) == f(X, 2**52)
    with pytest.raises(ValueError, match="a whole number beyond"):
        g(X, 2**60)


def test_places_of_arrays_are_not_checked() -> None:
    assert "2**53" not in grad(nearest_first, jit=False).source(X) + grad(with_flags, jit=False).source(X)


@pytest.mark.parametrize("number, is_exact", [(2**60, True), (2**60 + 1, False)])
def test_constants_that_would_be_rounded(number: int, is_exact: bool) -> None:
    def f(x: Any) -> Any:
        pairs = []
        for i in range(len(x)):
            pairs.append((x[i], number))
        return sum(value * (k % 7) for value, k in pairs)

    g = grad(f, jit=False)
    if is_exact:
        assert g(X) == f(X)
    else:
        with pytest.raises(ValueError, match="a whole number beyond"):
            g(X)


def test_names_of_a_comprehension_are_its_own() -> None:
    """They do not make what has the same name in a loop ahead of it live: nothing is kept of it."""

    def f(x: Any) -> Any:
        rows = []
        for i in range(len(x)):
            for j in range(i):
                rows.append(x[i] * x[j])
        return sum(x[i] * rows[j] for i, j in ((0, 1), (1, 2)))

    check_grad(grad(f, jit=False), X)
