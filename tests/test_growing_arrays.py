"""Arrays that grow in a while loop: their memory grows with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import RuntimeShapeError, UnsupportedError, grad

X = np.array([0.5, 0.8])


def a_trajectory(x: Any, n: int) -> Any:
    path, t = np.array(x), 0.0
    while t < n:
        x = x + 0.1 * np.sin(x)
        path = np.vstack((path, x))
        t += 1.0
    return np.sum(path[:, 0] ** 2) + np.sum(path[-2] * path[-1])


def until_it_is_large(x: Any, n: int) -> Any:
    values = x * 1.0
    while True:
        values = np.append(values, values[-1] * 1.1 + x[0])
        if np.sum(values) > n:
            break
    return np.sum(values**2) * len(values)


def at_the_front(x: Any, n: int) -> Any:
    values = x * 1.0
    while len(values) < n:
        values = np.concatenate(([x[0] * values[0]], values))
    return np.sum(values * values[::-1])


def written_to(x: Any, n: int) -> Any:
    values, k = x[:1] * 1.0, 0
    while k < n:
        values = np.append(values, values[-1] * x[1])
        values[0] += values[-1] * 0.1
        k += 1
    values[1:] *= 2.0
    return np.sum(values * values)


def in_an_inner_loop(x: Any, n: int) -> Any:
    values, k = x * 1.0, 0
    while k < n:
        for j in range(2):
            values = np.append(values, values[j] * x[j])
        k += 1
    return np.sum(values * np.arange(len(values)))


def with_a_list(x: Any, n: int) -> Any:
    values, last, k = np.array([]), [], 0
    while k < n:
        values = np.append(values, x[0] * k)
        last.append(values[-1] * x[1])
        k += 1
    return np.sum(values**2) + sum(last)


def in_a_function(x: Any, n: int) -> Any:
    return np.sum(powers(x, n) ** 2) + np.sum(powers(x * 2.0, n - 1))


def powers(x: Any, n: int) -> Any:
    values, k = x * 1.0, 0
    while k < n:
        values = np.append(values, values[k] * x[0])
        k += 1
    return values


PROGRAMS = [
    a_trajectory, until_it_is_large, at_the_front, written_to, in_an_inner_loop, with_a_list, in_a_function, powers,
]  # fmt: skip


def check(function: Any, n: int, jit: bool = False) -> None:
    f = grad(function, jit=jit)
    check_value_and_grad(f, X, n, rtol=1e-12)


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("n", [1, 2, 21])
def test_plain(function: Any, n: int) -> None:
    check(function, n)


@pytest.mark.parametrize("function", [a_trajectory, written_to])
def test_compiled(function: Any) -> None:
    check(function, 21, jit=True)


def in_a_loop_around(x: Any, n: int) -> Any:
    total = 0.0
    for k in range(n):
        total += np.sum(powers(x, k))
    return total


def along_another_axis(x: Any, n: int) -> Any:
    table = x[:, None]
    while table.shape[1] < n:
        table = np.hstack((table, x[:, None] * 2.0))
    return np.sum(table)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (in_a_loop_around, "values grows in a while loop that is inside another loop"),
        (along_another_axis, "table grows in a while loop, so its length is not known"),
    ],
)
def test_refused(function: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as caught:
        grad(function, jit=False).backward(X, 4)
    assert "while " in str(caught.value)


def left_from_the_round_before(x, n):
    total = 0.0
    for k in range(1, 4):
        for _ in range(n):
            weights = np.exp(x[:k])
            weights = weights / weights.sum()
        total += np.sum(weights**2)
    return total


def in_its_shape_ahead(x, n):
    total = 0.0
    for k in range(1, 4):
        weights = np.zeros(k)
        for _ in range(n):
            weights = np.exp(x[:k])
            weights = weights / weights.sum()
        total += np.sum(weights**2)
    return total


def test_what_an_inner_loop_makes_anew_in_another_shape():
    x = np.array([0.5, -1.0, 2.0, 0.3])
    with pytest.raises(RuntimeShapeError, match=r"its shape ahead of the loop:  weights = np\.zeros"):
        grad(left_from_the_round_before, jit=False)(x, 2)
    check_value_and_grad(grad(in_its_shape_ahead, jit=False), x, 2)
