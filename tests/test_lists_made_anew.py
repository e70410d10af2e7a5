"""Lists that every iteration of a loop makes anew, of a length that only a run tells, and that are read behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

import srcgrad
from srcgrad import grad


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


def as_many_as_times_fit(a: Any, n: int) -> Any:
    dt, ys = 0.25, []
    for end in np.arange(1.0, 1.0 + n, 1.0):
        ys = []
        for t in np.arange(0.0, end + dt, dt):
            ys.append(a * a * t * (end - t))
        if max([abs(y) for y in ys]) > 3.5:
            break
    return sum(ys)


def squares(a: Any, n: int) -> Any:
    for k in range(1, n):
        ys = []
        for i in range(k * k):
            ys.append(a * a * i)
    return ys[-1] * len(ys)


def as_a_branch_says(a: Any, n: int) -> Any:
    ys = [a]
    for k in range(n):
        ys = []
        for i in range(min(k, 5)):
            ys.append(a * a * i)
        ys.append(a * k)
    return sum(ys)


def arrays_that_others_hold(a: Any, n: int) -> Any:
    x = a * np.arange(1.0, 4.0)
    ys, last, total = [x], x, 0.0
    for k in range(n, 0, -1):
        first = ys[0]
        ys = []
        for i in range(k * k % 7 + 1):
            ys.append(x * i + k)
        ys[0][1] = a * k
        total = total + np.sum(first * ys[0]) + np.sum(last)
        last = ys[-1]
        x = x * 0.9 + ys[-1] * 0.1
    return np.sum(ys[-1] * ys[0]) + total + np.sum(last) * len(ys)


def this_one_and_the_last(a: Any, n: int) -> Any:
    old, ys, total = [a], [a], 0.0
    for k in range(n):
        old, ys = ys, []
        for i in range(k * k % 7 + 1):
            ys.append(a * i + old[-1] * 0.5)
        total += sum(old) * k
    return total + sum(ys)


def the_best(a: Any, n: int) -> Any:
    best, most = [], -1.0
    for k in range(n):
        ys = []
        for i in range(k * k % 7):
            ys.append(a * a * i)
        if sum(ys) > most:
            most = sum(ys)
            best = ys
    return sum(best) + most


def made_from_the_last_in_a_while_loop(a: Any, n: int) -> Any:
    ys, k = [a, a * a], 0
    while sum(ys) < 20.0 and k < n:
        k += 1
        more = []
        for i in range(len(ys)):
            more.append(ys[i] * 1.2)
            if i % 2:
                more.append(ys[i] * a)
        ys = more
    return sum(ys) * len(ys)


def changed_behind_the_loop(a: Any, n: int) -> Any:
    ys = [a]
    for k in range(n):
        ys = []
        for i in range(k * k % 7 + 1):
            ys.append(a * i)
        for i in range(1, len(ys)):
            ys[i] += ys[i - 1] * a
    ys[0] = a * a
    for _ in range(n):
        ys.append(ys[-1] * a)
    while len(ys) > 3:
        ys.pop()
    return sum(ys)


def one_longer_each_time(a: Any, n: int) -> Any:
    ys, total = [], 0.0
    for _ in range(n):
        ys = [y * a for y in ys]
        ys.append(a * a)
        total += sum(ys)
    return total


def of_a_function(a: Any, n: int) -> Any:
    ys = the_first_of_four(a, n)
    return sum(ys) * len(ys)


def the_first_of_four(a: Any, n: int) -> Any:
    ys = []
    for k in range(n):
        ys = [(a * i, i) for i in range(k * k % 7)]
        if len(ys) == 4:
            break
    return [v * v * i for v, i in ys]


BOUND = [begun_ahead, downwards, half_as_many, three_at_most, in_two_loops_around, skipping, in_a_loop_around]
BOUND_INSIDE = [longer_and_longer_until_large, with_an_else, two_at_a_time, rows_of_two]

GROWING = [
    as_many_as_times_fit,
    squares,
    as_a_branch_says,
    arrays_that_others_hold,
    this_one_and_the_last,
    the_best,
    made_from_the_last_in_a_while_loop,
    changed_behind_the_loop,
    one_longer_each_time,
    of_a_function,
]


def check(function: Any, *args: Any, jit: bool = False) -> None:
    f = grad(function, jit=jit)
    check_value_and_grad(f, *args, rtol=1e-12)


@pytest.mark.parametrize("function", [*BOUND, *BOUND_INSIDE, of_arrays_in_one_list])
@pytest.mark.parametrize("n", [2, 3, 12])
def test_as_many_items_as_the_number_of_the_iteration_tells(function: Any, n: int) -> None:
    check(function, 0.7, n)


@pytest.mark.parametrize("function", GROWING)
@pytest.mark.parametrize("n", [2, 3, 12])
def test_as_many_items_as_only_the_iteration_tells(function: Any, n: int) -> None:
    check(function, 0.7, n)


@pytest.mark.parametrize("function", [longer_and_longer_until_large, as_many_as_times_fit, arrays_that_others_hold])
def test_compiled(function: Any) -> None:
    check(function, 0.7, 12, jit=True)


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


def test_in_a_loop_around_its_memory_can_not_grow() -> None:
    def f(a: Any, n: int) -> Any:
        total = 0.0
        for m in range(n):
            ys = []
            for k in range(m):
                ys = []
                for i in range(k * k):
                    ys.append(a * i)
            total += sum(ys)
        return total

    with pytest.raises(srcgrad.UnsupportedError, match="ys is a list of another length at the end") as caught:
        grad(f, jit=False).backward(0.7, 5)
    assert "for k in range(m)" in str(caught.value)
