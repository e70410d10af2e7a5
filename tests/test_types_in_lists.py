"""Lists of numbers of several types: what an array that is made of one is of, when items have come and gone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcgrad import RuntimeUnsupportedError, UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.7, 1.6, 2.5])

# ----------------------------------------------------------------- floats may all have gone: an array of ints, perhaps


def ints_in_all_places(x, c):
    ys = [0.5] * len(x)
    for i in range(len(ys)):
        ys[i] = i
    a = np.array(ys)
    a[0] = x[0]
    return a * x


def asked_of_ints_in_all_places(x, c):
    ys = [0.5] * len(x)
    for i in range(len(ys)):
        ys[i] = i
    return x * 2 if isinstance(ys[0], int) else x


def ints_for_elements(x, c):
    ys = [v for v in x]
    for i in range(len(ys)):
        ys[i] = i
    a = np.array(ys)
    a[0] = x[0]
    return a * x


def the_only_float_popped(x, c):
    ys = [0.5]
    for i in range(len(x)):
        ys.append(i)
    ys.pop(0)
    a = np.array(ys)
    a[0] = x[0]
    return a * x


def the_only_float_cut_off(x, c):
    ys = [0.5]
    for i in range(len(x)):
        ys.append(i)
    a = np.array(ys[1:])
    a[0] = x[0]
    return a * x


def the_only_float_deleted(x, c):
    ys = [0.5]
    for i in range(len(x)):
        ys.append(i)
    del ys[0]
    a = np.array(ys)
    a[0] = x[0]
    return a * x


def the_only_float_removed(x, c):
    ys = [0.5]
    for i in range(len(x)):
        ys.append(i)
    ys.remove(0.5)
    a = np.array(ys)
    a[0] = x[0]
    return a * x


def the_first_until_one_is_left(x, c):
    ys = [0.5, 1, 2]
    while len(ys) > 1:
        ys.pop(0)
    a = np.array(ys)
    a[0] = x[0]
    return a * x[1]


def another_in_each_branch(x, c):
    if c:
        ys = [1]
    else:
        ys = [1, 0.5]
    a = np.array(ys)
    a[0] = x[0]
    return np.sum(a) * x


def another_in_each_branch_at_first(x, c):
    if c:
        ys = [0.5, 1]
    else:
        ys = [1]
    a = np.array(ys)
    a[0] = x[0]
    return np.sum(a) * x


def of_another_length_in_each_branch(x, c):
    if c:
        ys = [v for v in x]
    else:
        ys = [i for i in range(len(x) + 1)]
    a = np.array(ys)
    a[0] = x[0]
    return np.sum(a) * x


def behind_what_may_be_nothing(x, c):
    zs = [*[v for v in x if v > 100], 1]
    a = np.array(zs)
    a[0] = x[0]
    return np.sum(a) * x


def appended_to_what_may_be_nothing(x, c):
    zs = [v for v in x if v > 100]
    zs.append(1)
    a = np.array(zs)
    a[0] = x[0]
    return np.sum(a) * x


def added_to_what_may_be_nothing(x, c):
    zs = [v for v in x if v > 100] + [1]
    a = np.array(zs)
    a[0] = x[0]
    return np.sum(a) * x


def extended_where_it_may_be_nothing(x, c):
    zs = [v for v in x if v > 100]
    zs.extend([1, 2])
    a = np.array(zs)
    a[0] = x[0]
    return np.sum(a) * x


def extended_by_indices(x, c):
    zs = [v for v in x if v > 100]
    zs += [i for i in range(3)]
    a = np.array(zs)
    a[0] = x[0]
    return np.sum(a) * x


def inserted_into_what_may_be_nothing(x, c):
    zs = [v for v in x if v > 100]
    zs.insert(0, 1)
    a = np.array(zs)
    a[0] = x[0]
    return np.sum(a) * x


def lists_for_lists(x, c):
    ys = [[0.5, 1.5] for v in x]
    for i in range(len(ys)):
        ys[i] = [i, 1]
    a = np.array(ys)
    a[0, 0] = x[0]
    return np.sum(a) * x


def tuples_for_tuples(x, c):
    ys = [(0.5, 1.5) for v in x]
    for i in range(len(ys)):
        ys[i] = (i, 1)
    a = np.array(ys)
    a[0, 0] = x[0]
    return np.sum(a) * x


def numbers_in_lists(x, c):
    ys = [[0.5, 1.5] for v in x]
    for i in range(len(ys)):
        ys[i][0] = i
        ys[i][1] = 2
    a = np.array(ys)
    a[0, 0] = x[0]
    return np.sum(a) * x


def arrays_for_arrays(x, c):
    ys = [x * 1.0 for v in x]
    for i in range(len(ys)):
        ys[i] = np.arange(len(x))
    a = np.array(ys)
    a[0, 0] = x[0]
    return np.sum(a) * x


def an_array_for_an_array(x, c):
    ys = [x * 1.0 for v in x]
    for i in range(len(ys)):
        ys[i] = np.arange(len(x))
    a = ys[0]
    a[0] = x[0]
    return np.sum(a) * x


def an_array_behind_another(x, c):
    ys = [x * 1.0]
    for i in range(len(x)):
        ys.append(np.arange(len(x)))
    a = ys[1].copy()
    a[0] = x[0]
    return np.sum(a) * x


def arrays_cut_off(x, c):
    ys = [x * 1.0]
    for i in range(len(x)):
        ys.append(np.arange(len(x)))
    a = np.array(ys[1:])
    a[0, 0] = x[0]
    return np.sum(a) * x


def one_place_of_two(x, c):
    ys = [0.5, 1]
    i = 0 if c else 1
    ys[i] = 7
    a = np.array(ys)
    a[0] = x[0]
    return a * x[1]


def in_a_copy(x, c):
    ys = [0.5] * len(x)
    zs = ys.copy()
    for i in range(len(x)):
        zs[i] = i
    a = np.array(zs)
    a[0] = x[0] * 2
    return a * x


def another_list_in_each_iteration(x, c):
    ys = [0.5]
    for v in x:
        ys = [1] * (len(ys) + 1)
    a = np.array(ys)
    a[0] = x[0] * 2
    return np.sum(a) * x


def from_the_end(x, c):
    ys = [-1 for k in range(len(x))]
    if c:
        ys = [*ys, False]
    a = np.full(2, ys[-1])
    a[0] = x[0]
    return a * x[1]


def repeated_truths(x, c):
    n = True if c else 2
    a = np.repeat(np.array([n, n]), 2)
    a[0] = 0.5 * x[0]
    return a * x[1]


APART = [
    ints_in_all_places, asked_of_ints_in_all_places, ints_for_elements, the_only_float_popped,
    the_only_float_cut_off, the_only_float_deleted, the_only_float_removed, the_first_until_one_is_left,
    another_in_each_branch, another_in_each_branch_at_first, of_another_length_in_each_branch,
    behind_what_may_be_nothing, appended_to_what_may_be_nothing, added_to_what_may_be_nothing,
    extended_where_it_may_be_nothing, extended_by_indices, inserted_into_what_may_be_nothing, lists_for_lists,
    tuples_for_tuples, numbers_in_lists, arrays_for_arrays, an_array_for_an_array, an_array_behind_another,
    arrays_cut_off, one_place_of_two, in_a_copy, another_list_in_each_iteration, from_the_end, repeated_truths,
]  # fmt: skip


@pytest.mark.parametrize("function", APART)
def test_what_is_no_float_any_more_may_make_an_array_of_ints(function: Any) -> None:
    f, refused = grad(function, wrt="x", jit=False), 0
    for c in (True, False):
        try:
            assert np.allclose(f(X, c), function(X, c))
        except (UnsupportedError, RuntimeUnsupportedError) as error:
            assert "on one path" in str(error) or "may be of whole numbers here" in str(error)
            refused += 1
    assert refused


# ------------------------------------------------------------------------------------------- floats that are there


def a_float_at_first(x, c):
    ys = [0.5]
    for k in range(len(x)):
        ys.append(k)
    a = np.array(ys)
    a[0] = x[0]
    return np.sum(a * a) * x


def a_float_ahead_of_others(x, c):
    a = np.array([0.5, *[k for k in range(len(x))]])
    a[-1] = x[0] * x[1]
    return a[1:] * x


def floats_for_floats(x, c):
    ys = [0.5] * len(x)
    for k in range(len(x)):
        ys[k] = x[k] * k
    zs = [y for y in ys if y > 0][1:]
    zs.append(1.5)
    zs.pop(0)
    a, b = np.array(ys), np.array(zs)
    a[0] = x[0]
    b[-1] = x[1]
    return np.sum(a * a) * x + np.sum(b * b)


def floats_in_lists_and_arrays(x, c):
    ys = [[0.5, 1.5] for v in x]
    zs = [x * v for v in x]
    for k in range(len(ys)):
        ys[k][0] = x[k]
        zs[k] = x + k
    a, b, d = np.array(ys), np.array(zs), zs[0]
    a[0, 1] = b[0, 0] = x[1]
    d[0] = x[2]
    return np.sum(a * a) * x + np.sum(b * b) * d


def ints_for_floats_in_arithmetic(x, c):
    ys = [v for v in x]
    ys[0] = 2
    for k in range(1, len(x)):
        ys[k] = k if c else x[k]
    a = np.array(ys)
    a *= 3
    a[0] = 7
    return (sum(ys) + max(ys)) * x + a * ys[1] + np.mean(a[1:]) / ys[0]


def of_both_branches(x, c):
    if c:
        ys = [1, 0.5]
    else:
        ys = [v for v in x]
        ys.append(2.5)
    a = np.array(ys)
    a[0] = x[0]
    return np.sum(a * a) * x


def in_another_order(x, c):
    ys = [2.5]
    for k in range(len(x)):
        ys.insert(0, k)
    a, b, d = np.array(sorted(ys)), np.array(ys[::-1]), np.array(list(ys))
    a[0] = b[1] = d[2] = x[0] * x[1]
    return np.sum(a * a * b * d) * x


def made_anew(x, c):
    ys = [0.5]
    for v in x:
        ys = [*ys, v]
    a = np.array(ys)
    a[0] = x[0]
    return np.sum(a * a) * x


def none_at_first(x, c):
    h = [None] * len(x)
    for k in range(len(x)):
        h[k] = x[k] if k == 0 else h[k - 1] * x[k]
    a = np.array(h)
    a[0] = 0.5
    return np.sum(a * a) * x


SAME = [
    a_float_at_first, a_float_ahead_of_others, floats_for_floats, floats_in_lists_and_arrays,
    ints_for_floats_in_arithmetic, of_both_branches, in_another_order, made_anew, none_at_first,
]  # fmt: skip


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("function", SAME)
def test_what_is_the_same_whatever_is_in_the_list_is_computed(function: Any, c: bool) -> None:
    f = grad(function, wrt="x", jit=False)
    assert np.allclose(f(X, c), function(X, c))
    check_grad(f, X, c)


# ------------------------------------------------------------------------------------------------ its own memory


def arrays_of_a_list(x, c):
    ys = [v for v in x]
    a, b, d = np.asarray(ys), np.reshape(ys, (1, -1)), np.array_split(ys, 2)
    a[0], b[0, 0], d[0][0] = 0.5 * x[1], 3.0, x[0] * x[1]
    return ys[0] * x + a * b[0] + d[0][0]


def test_an_array_of_a_list_is_no_view_of_it() -> None:
    f = grad(arrays_of_a_list, wrt="x", jit=False)
    assert np.allclose(f(X, True), arrays_of_a_list(X, True))
    check_grad(f, X, True)


# --------------------------------------------------------------------------- Python's own numbers beside float32


def a_float_behind(x):
    ys = []
    for i in range(len(x)):
        ys.append(x[i])
    ys.append(0.1)
    return np.array(ys) * x[0], ys[0] * x[0], sum(ys)


def floats_between(x):
    ys = []
    for v in x:
        ys.append(v * v)
        ys.append(0.1)
    return np.array(sorted(ys)), np.max(ys), np.mean(ys), np.dot(ys, ys)


def a_float_in_some_places(x):
    ys = [v * v for v in x]
    for i in range(1, len(x)):
        ys[i] = 0.1
    ys.append(x[1])
    return np.array(ys) * x[0]


def ints_behind(x):
    ys = list(x)
    for i in range(len(x)):
        ys.append(i)
    return np.array(ys) * x[0], max(ys) + x[1]


def in_a_table(x):
    rows = [[v, v * v] for v in x]
    for i in range(len(rows)):
        rows[i][1] += 0.1
    rows.append([0.1, x[0]])
    return np.array(rows) * x[1]


def in_lists_made_anew(x):
    ys = [0.1] * len(x)
    for _ in range(2):
        ys = [*ys, ys[-1] * x[0]]
    return np.array(ys)


def in_places_of_none(x):
    ys = [None] * len(x)
    for i in range(len(x)):
        ys[i] = x[i]
    ys[0] = 0.1
    return np.array(ys)


def of_what_python_makes_of_them(x):
    return np.array([x[i].item() for i in range(len(x))]), x[1].item() * 0.1, x.item(2) / 3


def the_first_left(x):
    ys, zs = [0.0] * len(x), [0] * (len(x) + 1)
    for i in range(1, len(x)):
        ys[i] = ys[i - 1] + x[i]
        zs[i + 1] = x[i]
    a = np.array(ys)
    ys[0] = x[0]
    return a, np.array(zs) * x[0], np.array(ys[::-1])


def the_first_gone_by_the_next_iteration(x):
    ys, made = [0.0] * len(x), []
    for i in range(len(x)):
        made.append(np.sum(np.array(ys) * np.float32(0.1)).astype(np.float64))
        for k in range(len(x)):
            ys[k] = x[i] * x[k]
    return made[1] + made[2]


def numpys_alone(x):
    ys, zs = [0.0] * len(x), []
    for i in range(len(x)):
        ys[i] = x[i] * x[0]
        zs.append(np.float32(0.1) * x[i])
    return np.array(ys), np.array(zs), ys[-1]


BESIDE_FLOAT32 = [
    a_float_behind, floats_between, a_float_in_some_places, ints_behind, in_a_table, in_lists_made_anew,
    in_places_of_none, of_what_python_makes_of_them, the_first_left, the_first_gone_by_the_next_iteration,
    numpys_alone,
]  # fmt: skip


def all_equal(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return all(map(all_equal, found, wanted))
    is_alike = type(found) is type(wanted) and np.asarray(found).dtype == np.asarray(wanted).dtype
    return is_alike and np.allclose(found, wanted, 1e-14, 0.0)


@pytest.mark.parametrize("function", BESIDE_FLOAT32)
def test_pythons_numbers_beside_float32_keep_their_digits(function: Any) -> None:
    f, x = grad(function, jit=False), np.array([0.5, 1.25, 2.0], np.float32)
    assert all_equal(f(x), function(x))
    check_grad(f, x)


def test_pythons_numbers_beside_float32_compiled() -> None:
    f, x = grad(in_a_table), np.array([0.5, 1.25, 2.0], np.float32)
    assert all_equal(f(x), in_a_table(x))
    check_grad(f, x)


def made_anew_from_float32(x):
    products = [1] * len(x)
    for i in range(len(x)):
        products = [v * x[i] for v in products]
    return sum(products)


def pairs_made_anew_from_float32(x):
    pairs = [(1.0, 2.0)] * len(x)
    for i in range(len(x)):
        pairs = [(b * x[i], a * x[0]) for a, b in pairs]
    total = 0.0
    for a, b in pairs:
        total += a * b
    return total


@pytest.mark.parametrize("function", [made_anew_from_float32, pairs_made_anew_from_float32])
def test_lists_of_pythons_numbers_that_are_float32_later(function: Any) -> None:
    check_grad(grad(function, jit=False), np.array([0.5, 1.25, 2.0], np.float32))


def sum_of_a_few(x):
    few = [v for v in x if v > 1.0]
    return sum(few), sum(few) / 2 * x


def test_the_sum_of_a_list_that_turns_out_to_be_empty_is_a_float() -> None:
    total, scaled = grad(sum_of_a_few, jit=False)(np.array([0.5, 0.25]))
    assert (total, type(total)) == (0.0, np.float64)  # Python's is the whole number 0
    assert scaled.tolist() == [0.0, 0.0]
