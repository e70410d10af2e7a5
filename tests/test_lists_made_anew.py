"""Lists that every iteration of a loop makes anew, of a length that only a run tells, and that are read behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgrad
from srcgrad import check_grad, grad


def longer_and_longer_until_large(a: Any, n: int) -> Any:
    for k in range(1, n):
        ys = []
        for i in range(k):
            ys.append(a * i)
        if sum(ys) > 5.0:
            break
    return ys[-1] * len(ys)


def begun_ahead(a: Any, n: int) -> Any:
    ys = []
    for k in range(n):
        ys = [a * i for i in range(k)]
        if sum(ys) > 5.0:
            break
    return ys[-1]


def with_an_else(a: Any, n: int) -> Any:
    for k in range(1, n):
        ys = []
        for i in range(k):
            ys.append(a * i + 0.1)
        if sum(ys) > 5.0:
            break
    else:
        ys = [y * a for y in ys]
    return sum(ys)


def two_at_a_time(a: Any, n: int) -> Any:
    for k in range(1, n):
        xs, ys = [], []
        for i in range(k):
            ys.append(a * i)
            if ys[-1] > 1.0:
                xs.append(i * a * a)
        if sum(ys) > 5.0:
            break
    return sum(xs) + sum(ys)


def rows_of_two(a: Any, n: int) -> Any:
    for k in range(1, n):
        rows = []
        for i in range(k):
            rows.append([a * i, a * k])
        if k > 3:
            break
    return rows[-1][1] * rows[0][1]


def in_a_loop_around(a: Any, n: int) -> Any:
    total = 0.0
    for m in range(1, n):
        for k in range(m):
            ys = []
            for i in range(k + m):
                ys.append(a * i)
            if sum(ys) > 4.0:
                break
        total = total + ys[-1]
    return total


def of_arrays_in_one_list(a: Any, n: int) -> Any:
    rows = []
    for k in range(1, n):
        rows.append(a * np.arange(1, 2 + min(k, 1)))
        if k > 2:
            break
    return np.sum(rows[-1]) * len(rows)


def downwards(a: Any, n: int) -> Any:
    ys = [a]
    for k in range(n, 0, -2):
        ys = []
        for i in range(k):
            ys.append(a * a * i)
        if len(ys) < 4:
            break
    return sum(ys)


def half_as_many(a: Any, n: int) -> Any:
    ys = [a]
    for k in range(n):
        ys = []
        for i in range(k // 2):
            ys.append(a * a * i)
    return sum(ys)


def three_at_most(a: Any, n: int) -> Any:
    ys = [a]
    for k in range(n):
        ys = []
        for i in range(int(np.minimum(k, 3))):
            ys.append(a * a * i)
    return sum(ys)


def in_two_loops_around(a: Any, n: int) -> Any:
    ys = [a]
    for m in range(n):
        for k in range(m):
            ys = []
            for i in range(k + m):
                ys.append(a * a * i)
    return sum(ys)


def skipping(a: Any, n: int) -> Any:
    ys = [a]
    for k in range(n):
        if k % 3 == 0:
            continue
        ys = []
        for i in range(k):
            ys.append(a * a * i)
    return sum(ys)


BOUND = [begun_ahead, downwards, half_as_many, three_at_most, in_two_loops_around, skipping, in_a_loop_around]
BOUND_INSIDE = [longer_and_longer_until_large, with_an_else, two_at_a_time, rows_of_two]


def check(function: Any, *args: Any, jit: bool = False) -> None:
    f = grad(function, jit=jit)
    np.testing.assert_allclose(f(*args), function(*args), rtol=1e-12)
    check_grad(f, *args)


@pytest.mark.parametrize("function", [*BOUND, *BOUND_INSIDE, of_arrays_in_one_list])
@pytest.mark.parametrize("n", [2, 3, 12])
def test_as_many_items_as_the_number_of_the_iteration_tells(function: Any, n: int) -> None:
    check(function, 0.7, n)


def test_compiled() -> None:
    check(longer_and_longer_until_large, 0.7, 12, jit=True)


@pytest.mark.parametrize("function", BOUND_INSIDE)
def test_no_iteration_has_made_it(function: Any) -> None:
    for n in (0, 1):
        with pytest.raises(UnboundLocalError):
            function(0.7, n)
        with pytest.raises(UnboundLocalError):
            grad(function, jit=False).backward(0.7, n)


def test_none_has_an_item() -> None:
    for n in (0, 1):
        with pytest.raises(srcgrad.BoundsError, match="list index out of range"):
            grad(begun_ahead, jit=False).backward(0.7, n)
