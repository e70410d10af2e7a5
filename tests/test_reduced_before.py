"""A number to which an array was reduced is found once, and again wherever something may have changed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad


def scaled(x: Any) -> Any:
    return (x - x.min()) / (x.max() - x.min())


def standard(x: Any) -> Any:
    return (x - np.mean(x)) / np.std(x)


def shares(x: Any) -> Any:
    return np.exp(x) / np.sum(np.exp(x)) + np.sum(np.exp(x))


def three_names(x: Any) -> Any:
    first = np.max(x)
    second = np.max(x)
    first = first * 2.0
    third = np.max(x)
    return first * second + third


def name_is_taken_again(x: Any) -> Any:
    scale = np.sum(x)
    a = np.sum(x * scale)
    scale = 2.0 * a
    return np.sum(x * scale) + a


def written_between(x: Any) -> Any:
    y = x * 2.0
    before = np.sum(y) * np.max(y)
    y[0] = 7.0
    return before * np.sum(y) * np.max(y)


def written_through_a_view(x: Any) -> Any:
    y = x * 2.0
    rows = y[1:]
    before = np.sum(y)
    rows[0] = before
    return np.sum(y) + np.max(y)


def written_in_a_branch(x: Any) -> Any:
    y = x.copy()
    total = np.sum(y)
    if x[0] > 0.0:
        y[1] = 3.0
        total = total * np.sum(y)
    return total + np.sum(y)


def written_in_a_loop(x: Any) -> Any:
    y = x.copy()
    total = np.sum(y)
    for i in range(3):
        total += np.sum(y) * np.max(y)
        y[i] = total * 0.1
        total += np.sum(y)
    return total + np.max(y)


def carried(x: Any) -> Any:
    y = x
    total = 0.0
    for _ in range(3):
        total += np.max(y) * np.sum(y)
        y = y * 0.5 + np.sum(y)
        total += np.max(y)
    return total


def by_another_function(x: Any) -> Any:
    y = x.copy()
    before = np.sum(y)
    clear_first(y)
    return before * np.sum(y)


def clear_first(y: Any) -> None:
    y[0] = 0.5


def into_place(x: Any) -> Any:
    y = x.copy()
    before = np.min(y)
    np.multiply(y, 3.0, out=y)
    y += before
    middle = np.min(y)
    np.add.at(y, np.array([0, 0, 1]), 1.0)
    return before + middle * np.min(y)


def counted_down(x: Any) -> Any:
    total = 0.0
    k = 3
    while k > 0:
        total += np.sum(x[:k]) * np.sum(x[:k])
        k -= 1
        total += np.sum(x[:k])
    return total


def in_a_comprehension(x: Any) -> Any:
    parts = [np.sum(x * i) + np.max(x) for i in range(3)]
    others = [np.sum(x * i) for i in range(1, 3)]
    return parts[0] + parts[1] * parts[2] + others[0] * others[1] + np.max(x)


def chosen(x: Any) -> Any:
    top = np.max(x) if x[0] > x[1] else np.min(x)
    return top * np.max(x) + np.min(x)


def by_weight(x: Any) -> Any:
    weight = 2.0
    total = np.sum(x * weight)
    weight = np.sum(x) - total
    total += np.sum(x * weight)
    weight *= 0.5
    return total + np.sum(x * weight)


def of_dtypes(x: Any) -> Any:
    return np.sum(x) * 2.0 + np.sum(x, dtype=np.float64) + np.max(x, initial=9.0) + np.max(x)


PROGRAMS = [
    scaled, standard, shares, three_names, name_is_taken_again, written_between, written_through_a_view,
    written_in_a_branch, written_in_a_loop, carried, by_another_function, into_place, counted_down,
    in_a_comprehension, chosen, by_weight, of_dtypes,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_and_gradients(program: Any, jit: bool = False) -> None:
    for x in (np.array([0.3, -1.2, 0.8, 0.1, 2.5]), np.array([-0.7, 0.4, 1.1, -2.0, 0.2])):
        expected = program(x.copy())
        np.testing.assert_allclose(grad(program, jit=jit)(x.copy()), expected, rtol=1e-12)
        check_grad(grad(program, jit=jit), x)


@pytest.mark.parametrize("program", [scaled, written_in_a_loop, counted_down], ids=lambda program: program.__name__)
def test_compiled(program: Any) -> None:
    test_values_and_gradients(program, jit=True)


def columns(a: Any) -> Any:
    return a.max() * a.min() + a.max() - np.max(a[0]) * np.max(a[0])


def test_of_matrices() -> None:
    a = np.array([[0.3, -1.2, 0.8], [0.1, 2.5, -0.4]])
    np.testing.assert_allclose(grad(columns, jit=False)(a), columns(a))
    check_grad(grad(columns, jit=False), a)


@pytest.mark.parametrize(("program", "loops"), [(scaled, 2), (standard, 3), (shares, 2)])
def test_each_number_is_found_once(program: Any, loops: int) -> None:
    """What is greatest and what is least by one loop, and then the loop that makes the result."""
    text = grad(program, jit=False).source(np.ones(3), kind="primal")
    assert len(re.findall(r"\bfor i in", text)) == loops, text


def test_ties_share_what_both_uses_pass_back() -> None:
    """With two of three elements the least, each passes on half of what reaches the least one, from both places."""
    x, v = np.array([1.0, 3.0, 1.0]), np.array([0.3, -0.2, 0.7])
    span = 2.0
    by_least = -v.sum() / span + (v @ (x - 1.0)) / span**2
    by_top = -(v @ (x - 1.0)) / span**2
    expected = v / span + np.array([by_least / 2, by_top, by_least / 2])
    np.testing.assert_allclose(grad(scaled, jit=False).backward(x, v), expected)


WRITERS = [
    lambda y, z: y.sort(),
    lambda y, z: y.fill(3.0),
    lambda y, z: np.copyto(y, z),
    lambda y, z: np.put(y, [0, 2], 9.0),
    lambda y, z: np.place(y, y > 0.5, 7.0),
    lambda y, z: np.putmask(y, y > 0.5, 7.0),
    lambda y, z: np.add.at(y, [0, 0], 2.0),
    lambda y, z: np.multiply(y, 2.0, y),
    lambda y, z: np.cumsum(z, out=y),
    lambda y, z: np.clip(y, 0.1, 0.4, out=y),
    lambda y, z: np.dot(np.outer(z, z), z, out=y),
    lambda y, z: np.take(z, [1, 0, 2, 3, 4], out=y),
    lambda y, z: np.concatenate([z[:2], z[2:]], out=y),
    lambda y, z: np.negative.at(y, [0, 2]),
    lambda y, z: np.fill_diagonal(y.reshape(1, 5), 4.0),
    lambda y, z: y[1:3].fill(8.0),
    lambda y, z: y[::-1].put([0], 8.0),
    lambda y, z: [part.fill(1.5) for part in (y, z)],
    lambda y, z: np.random.shuffle(y[:1]) or y.partition(2) or y.put([0], 2.0),
]


@pytest.mark.parametrize("write", WRITERS, ids=range(len(WRITERS)))
def test_whatever_writes(write: Any) -> None:
    def program(x: Any) -> Any:
        y, z = x * 0.7, np.cos(x)
        before = np.sum(y) * np.max(y) + y.min() + np.mean(y)
        write(y, z)
        return before + 2.0 * np.sum(y) * np.max(y) + 3.0 * y.min() * np.std(y) + y.mean()

    x = np.array([0.3, -1.2, 0.8, 0.1, 2.5])
    np.testing.assert_allclose(grad(program, jit=False)(x), program(x), rtol=1e-12)
