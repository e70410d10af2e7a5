"""Numbers and arrays that are of one type on one path and of another on the other: bool or int, int or float, real …"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from support import check_value_and_grad

from srcgrad import ArgumentError, UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.7, 1.6, 2.5])
EMPTY = np.zeros(0)

# ------------------------------------------------------------------------------------------- what is the same on both


def summed(x, c):
    s = 0
    for i in range(len(x)):
        s += x[i]
    return s * s


def best(x, c):
    top = 0
    for i in range(len(x)):
        if x[i] > top:
            top = x[i]
    return top * 2


def stored(x, c):
    n = 1
    if c:
        n = 0.5 * x[0]
    y = np.zeros(3)
    y[0] = n
    y[1:] += n
    return y * x


def in_arithmetic(x, c):
    n = 2
    if c:
        n = 0.5 * x[0]
    return max(n, 0.1) + np.maximum(n, 0.2) + abs(n) + n**2 + math.sqrt(n) + np.sqrt(n) + 1 / n + n / 3 + x * n


def divided_down(x, c):
    n = 7
    if c:
        n = n * 0.5
    return (n // 2) * x + (n % 2) * x


def in_an_array(x, c):
    s = 0
    t = 1
    for v in x:
        s += v
        t *= v
    return np.array([s, t, 2.0]) * np.array([s, s, s])


def written_whole_numbers(x, c):
    n = 1
    if c:
        n = 0.5
    a = np.array([n, 4])
    a *= 2
    a[1] = 3
    return np.sum(a) * x


def counted(x, c):
    n = 0
    for v in x:
        n = n + (v > 1)
    return n * x


def said_once(x, c):
    found = False
    for v in x:
        found = found or v > 1
    return 2.0 * x if found else x


def one_of_two_arrays(x, c):
    a = np.array([1, 2, 3])
    if c:
        a = x
    return a * x


def in_a_list(x, c):
    ys = [1]
    for v in x:
        ys.append(ys[-1] * v)
    a = np.array(ys)
    return np.sum(a * a) * a


def message(x, c):
    n = 1
    if c:
        n = x[0]
    if n < 0:
        raise ValueError(f"{n} is too small")
    return x * n


def made_of_one_type(x, c):
    n = 1 if c else 0.5
    a = np.array([n, 2, 3])
    b, d = a.astype(float), np.asarray([n, 1, 2], float)
    b[0] = d[1] = x[0]
    return a * x + b * d


def in_lists_that_change(x, c):
    n = 1 if c else 0.5
    ys = [k * n for k in range(len(x))]
    ys[0] = 2.5
    ys[1] = ys[0] * x[0]
    zs = [*ys, 1.5]
    a = np.array(zs)
    a[0] = 0.5
    return (sum(ys) + max(zs)) * x + np.sum(a)


SAME = [
    summed, best, stored, in_arithmetic, divided_down, in_an_array, written_whole_numbers, counted, said_once,
    one_of_two_arrays, in_a_list, message, made_of_one_type, in_lists_that_change,
]  # fmt: skip


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("function", SAME)
def test_what_is_the_same_on_both_paths_is_computed(function: Any, c: bool) -> None:
    f = grad(function, wrt="x", jit=False)
    assert np.allclose(f(X, c), function(X, c))
    check_grad(f, X, c)


@pytest.mark.parametrize("function", [summed, best, in_an_array, counted])
def test_a_loop_that_does_not_run_leaves_what_there_was(function: Any) -> None:
    assert np.all(grad(function, wrt="x", jit=False)(EMPTY, True) == function(EMPTY, True))


@pytest.mark.parametrize("function", [summed, in_arithmetic, one_of_two_arrays])
@pytest.mark.parametrize("c", [True, False])
def test_of_float32(function: Any, c: bool) -> None:
    x = X.astype(np.float32)
    assert np.allclose(grad(function, jit=False, wrt="x")(x, c), function(x, c), rtol=1e-6)
    check_grad(grad(function, jit=False, wrt="x"), x, c)


# --------------------------------------------------------------------------------------------------- what is not


def place_or_mask(x, c):
    n = True
    if c:
        n = 2
    return np.sum(x[np.array([n, n, n])])


def place_or_new_axis(x, c):
    n = 1
    if c:
        n = True
    return np.sum(x[n])


def masks(x, c):
    a = np.array([True, False, True])
    if c:
        a = np.array([1, 0, 1])
    return np.sum(x[a])


def asked_by_isinstance(x, c):
    n = 1
    if c:
        n = n * 0.5
    return x[0] if isinstance(n, int) else x[1]


def asked_by_type(x, c):
    n = 1
    if c:
        n = 0.5
    return x[0] if type(n) is int else x[1]


def asked_in_a_function(x, c):
    def h(n):
        return x[0] if isinstance(n, bool) else x[1]

    return h(c and 3)


def asked_by_a_pattern(x, c):
    n = 1 if c else 0.5
    match n:
        case int():
            return x[0]
    return x[1]


@dataclass
class Held:
    n: Any


def asked_of_an_attribute(x, c):
    p = Held(1)
    if c:
        p.n = 0.5
    return x[0] if isinstance(p.n, int) else x[1]


def asked_of_an_item(x, c):
    ys = [1]
    for v in x:
        ys.append(v)
    s = 0.0
    for y in ys:
        s += 5.0 if isinstance(y, int) else y
    return s


def asked_of_a_part(x, c):
    pairs = [(0, 1)]
    for k in range(len(x)):
        pairs.append((k, x[k]))
    s = 0.0
    for _, y in pairs:
        s += 5.0 if isinstance(y, int) else y
    return s


def asked_of_an_object_in_a_list(x, c):
    bodies = [Held(1)]
    for v in x:
        bodies.append(Held(v))
    s = 0.0
    for body in bodies:
        s += 5.0 if isinstance(body.n, int) else body.n
    return s


def asked_of_one_of_two(x, c):
    ys = [1, 0.5]
    return x[0] if isinstance(ys[int(c)], int) else x[1]


def asked_where_it_calls_itself(x, c):
    def f(k, n):
        if k <= 0:
            return x[0] if isinstance(n, int) else x[1]
        return f(k - 1, n * 2)

    return f(int(c), 0.5 if c else 1)


def asked_what_it_is_of(x, c):
    n = 1
    if c:
        n = 0.5
    return x[0] if np.array([n]).dtype == np.int64 else x[1]


def cut(x, c):
    n = 1
    if c:
        n = n * 0.5
    a = np.array([n, 2])
    a[0] = 2.7 * x[0]
    return a[0] * x[1]


def cut_through_a_view(x, c):
    n = 1
    for _ in range(3):
        if c:
            n = n * 0.5
    a = np.full(3, n)
    b = a[:1]
    b[:] = x[:1]
    return a * x


def cut_in_what_is_like_it(x, c):
    n = 1
    if c:
        n = 0.5
    a = np.zeros_like(np.arange(3) * n)
    a[x > 1] = x[x > 1]
    return a * x


def cut_in_a_copy(x, c):
    n = 1 if c else 0.5
    a = np.concatenate([np.array([n, 2]), np.array([n, 3])]).reshape(2, 2).copy()
    a[0, 0] = x[0]
    return a * x[0]


def cut_by_an_element(x, c):
    n = 1 if c else 0.5
    m = np.array([n, 2])[0]
    a = np.array([m, 1])
    a[0] = x[0]
    return a * x[0]


def cut_in_one_of_two(x, c):
    a = np.array([1, 2, 3])
    if c:
        a = a * 0.5
    a[0] = x[0]
    return a * x


def cut_by_a_function(x, c):
    def f(k):
        return 1 if k <= 0 else 0.5 * f(k - 1)

    a = np.array([f(int(c)), 1])
    a[0] = x[0]
    return a * x[0]


def cut_in_a_product(x, c):
    n = 1 if c else 0.5
    b = np.matmul(np.eye(2, dtype=int), np.array([n, 4]))
    b[0] = 0.5
    return b * x[0]


def cut_in_what_is_repeated(x, c):
    n = 1 if c else 0.5
    b = np.array([n, 4]).repeat(2)
    b[0] = 0.5
    return b * x[0]


def cut_in_what_is_joined(x, c):
    n = 1 if c else 0.5
    b = np.r_[np.array([n, 4]), 1]
    b[0] = 0.5
    return b * x[0]


def cut_in_a_union(x, c):
    n = 1 if c else 0.5
    b = np.union1d(np.array([n, 4]), np.array([2]))
    b[0] = 0.5
    return b * x[0]


def cut_where_halves_are_exchanged(x, c):
    n = 1 if c else 0.5
    b = np.fft.fftshift(np.array([n, 4]))
    b[0] = 0.5
    return b * x[0]


def cut_in_a_matrix_of_diagonals(x, c):
    n = 1 if c else 0.5
    b = scipy.linalg.toeplitz(np.array([n, 4]))
    b[0, 0] = 0.5
    return b[0] * x[0]


def tried_in_place(x, c):
    n = 1 if c else 0.5
    a = np.array([n, 4])
    try:
        a /= 2
    except TypeError:
        return x
    return a * x[0]


def divided_in_part(x, c):
    ys = [1] * len(x)
    if not c:
        for i in range(len(x)):
            ys[i] = ys[i] * x[i]
    a = np.array(ys)
    a[1:] /= 2
    a *= x[0] * 0.5
    return a


def subtracted(x, c):
    ys = np.array([x[0] > 1, x[0] < 1, x[0] > 2] if c else [x[0] * x[1], 2.0, x[2]])
    return (ys - ys[0]) * x


def differences(x, c):
    """Of bools these are where neighbours are not equal."""
    ys = [x[0] > 1, x[0] < 1] if c else [x[0] * x[1], 2.0]
    return np.diff(np.array(ys)) * x


def divided_in_place(x, c):
    n = 1 if c else 0.5
    a = np.array([n, 4])
    a /= 2
    return a * x[0]


def added_at(x, c):
    n = 1 if c else 0.5
    a = np.array([n, 4, 5])
    np.add.at(a, [0], x[0])
    return a * x


def cut_by_a_list(x, c):
    n = 1 if c else 0.5
    a = np.array([n * k for k in range(len(x))])
    a[0] = x[0]
    return a * x


def cut_where_no_item_may_be_new(x, c):
    counts = [0, 0]
    for k in range(len(x)):
        counts[k % 2] += x[k]
    a = np.array(counts)
    a[0] = 0.5
    return a


def cut_to_what_is_given(x, c):
    n = 1 if c else 0.5
    return np.insert(np.array([n, 2]), 0, 2.7) + np.full_like(np.array([n, 1, 2]), 1.5) * x


def product_of_truths(x, c):
    a = x > 1
    if c:
        a = np.array([2, 1, 2])
    return (a @ a) * x


def to_a_negative_power(x, c):
    n = np.int64(2)
    if c:
        n = n * 0.5
    return n**-1 * x


def truths_added(x, c):
    n = 1
    if c:
        n = x[0] > 0
    return (n + (x[1] > 0)) * x


def turned_over(x, c):
    n = 1
    if c:
        n = x[0] > 0
    return (~n) * x


def root_of_real_or_complex(x, c):
    z = -1.0
    if c:
        z = 1j * x[0]
    return np.sqrt(z).imag + x


def asked_whether_complex(x, c):
    z = -x
    if c:
        z = x + 1j * x
    return x * 2 if np.iscomplexobj(z) else x


def as_text(x, c):
    n = 2
    if c:
        n = n * 0.5
    return x * n, f"{n}"


APART = [
    place_or_mask, place_or_new_axis, masks, asked_by_isinstance, asked_by_type, asked_in_a_function,
    asked_by_a_pattern,
    asked_of_an_attribute, asked_of_an_item, asked_of_a_part, asked_of_an_object_in_a_list, asked_of_one_of_two,
    asked_where_it_calls_itself, asked_what_it_is_of, cut,
    cut_through_a_view, cut_in_what_is_like_it, cut_in_a_copy, cut_by_an_element, cut_in_one_of_two, cut_by_a_function,
    added_at, cut_by_a_list, cut_in_a_product, cut_in_what_is_repeated, cut_in_what_is_joined, cut_in_a_union,
    tried_in_place, cut_where_halves_are_exchanged, cut_in_a_matrix_of_diagonals,
    cut_where_no_item_may_be_new, cut_to_what_is_given, product_of_truths, to_a_negative_power,
    truths_added, turned_over, root_of_real_or_complex, asked_whether_complex, as_text,
]  # fmt: skip


@pytest.mark.parametrize("c", [False, True])
@pytest.mark.parametrize("function", [divided_in_place, divided_in_part, subtracted])
def test_where_numpy_raises_on_one_path_the_other_is_right(function: Any, c: bool) -> None:
    """NumPy divides no whole numbers in place, and subtracts no bools: nobody goes on there, and nothing is cut."""
    x = np.array([1.5, 0.7, 0.2])
    try:
        expected = function(x, c)
    except TypeError:
        return
    check_grad(grad(function, jit=False), x, c)
    np.testing.assert_allclose(grad(function, jit=False)(x, c), expected)


def test_differences_of_bools_or_of_floats_are_refused() -> None:
    with pytest.raises(ArgumentError, match="subtract does not take bool"):
        grad(differences, jit=False)(np.array([1.5, 0.7, 0.2]), True)


@pytest.mark.parametrize("function", APART)
def test_what_the_type_decides_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="is (of )?.* on one path, and (of )?.* on another"):
        grad(function, wrt="x", jit=False)(X, True)


def test_it_says_where_and_what_helps() -> None:
    with pytest.raises(UnsupportedError) as found:
        grad(cut, wrt="x")(X, True)
    said = str(found.value)
    assert "an array is of int64 on one path, and of float64 on another" in said
    assert "a[0] = 2.7 * x[0]" in said and "dtype=np.float64" in said
    with pytest.raises(UnsupportedError, match="a number is int on one path, and float on another") as asked:
        grad(asked_by_isinstance, wrt="x")(X, True)
    assert "isinstance(n, int)" in str(asked.value) and "float(…)" in str(asked.value)


def text_with_a_format(x, c):
    n = 2
    if c:
        n = n * 0.5
    return x * n, f"{n:.2f}"


def test_a_format_that_says_how_it_is_written() -> None:
    for c in (True, False):
        assert grad(text_with_a_format, wrt="x", jit=False)(X, c)[1] == text_with_a_format(X, c)[1]


# ---------------------------------------------------------------------------------------------- as a loop leaves it


def sums_in_an_array(x, c):
    s = 0
    for v in x:
        s += v
    a = np.array([s, s * s])
    a[0] = 0.5 * a[1]
    return a


def in_nested_loops(x, c):
    m = 0
    for i in range(len(x)):
        for j in range(len(x)):
            m += x[i] * x[j]
    a = np.full(3, m)
    a /= len(x)
    return a


def until(x, c):
    k, s = 0, 0
    while True:
        s = s + x[k]
        k += 1
        if s > 1.0 or k == len(x):
            break
    a = np.array([s, 1])
    a[1] = 0.5
    return a * (2.0 if isinstance(s, int) else 3.0)


def sum_with_a_limit(x, c):
    s = 0
    for v in x:
        s += v
        if s > 2.0:
            s = 0
    return s * x


@pytest.mark.parametrize("function", [sums_in_an_array, in_nested_loops, until, sum_with_a_limit])
def test_behind_a_loop_a_number_is_as_iterations_leave_it(function: Any) -> None:
    f = grad(function, wrt="x", jit=False)
    check_value_and_grad(f, X, True, rtol=1e-14)


def in_a_branch(x, c):
    s = 0
    for v in x:
        if c:
            s = s + v
    return made_whole(s)


def in_one_of_two(x, c):
    s = 0
    for v in x:
        if v > 1.0:
            s = 0.5 * v
        else:
            s = 3
    return made_whole(s)


def left_early(x, c):
    s = 0
    for v in x:
        if v > 1.0:
            break
        s += v
    return made_whole(s)


def skipped(x, c):
    s = 0
    for v in x:
        if v > 1.0:
            continue
        s += v
    return made_whole(s)


def the_greater(x, c):
    s = 9
    for v in x:
        s = max(s, v)
    return made_whole(s)


def the_greater_and_nothing(x, c):
    s = 9
    for v in x:
        s = max(s, v) + 0
    return made_whole(s)


def the_least_of_two(x, c):
    return x * (2.0 if isinstance(min(1, x[0]), int) else 3.0)


def the_one_before(x, c):
    now, last = 1, 2
    for v in x:
        last = now
        now = now * v
    return made_whole(last)


def begun_anew(x, c):
    s = 0
    for v in x:
        s += v
        if c:
            s = 1
    return made_whole(s)


def in_its_iterations(x, c):
    s = 0
    for v in x:
        x = x * made_whole(s)[0]
        s += v
    return x


def caught(x, c):
    s = 0
    for v in x:
        try:
            if v > 1.0:
                raise ValueError
            s += v
        except ValueError:
            s = 2
    return made_whole(s)


def made_whole(s):
    a = np.array([s, 1])
    a[0] = 0.5
    return a


BY_ITERATIONS = [
    in_a_branch, in_one_of_two, left_early, skipped, the_greater, the_greater_and_nothing, the_least_of_two,
    the_one_before, begun_anew, in_its_iterations, caught,
]  # fmt: skip


@pytest.mark.parametrize("function", BY_ITERATIONS)
def test_iterations_that_may_leave_another_type_are_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="on one path"):
        grad(function, wrt="x", jit=False)(X, True)
