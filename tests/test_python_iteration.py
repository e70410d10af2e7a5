"""Comprehensions with conditions, unpacking, `itertools`, `functools`, sorting: over what is known at run time only."""

from __future__ import annotations

import functools
import gc
import itertools
import math
import operator
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import ShortAxisError, UnsupportedError, grad
from srcgrad.frontend.control.iterators import Iterators, Made
from srcgrad.frontend.values import Scalar
from srcgrad.ir.expressions import FLOAT64, Const
from srcgrad.testing import check_grad

X = np.array([0.5, -0.3, 1.2, 0.7])
M = np.array([[0.5, -0.3], [1.2, 0.7], [-0.9, 0.4]])


def positive_ones(x):
    return np.array([v * v for v in x if v > 0.0])


def sum_of_positive_ones(x):
    return sum(v * v * k for k, v in enumerate(x) if v > 0.0)


@numba.njit(parallel=True)
def mean_difference(x):
    sums = np.zeros(len(x))
    for i in numba.prange(len(x)):
        for j in range(len(x)):
            sums[i] += abs(x[i] - x[j])
    return np.sum(sums) / (2 * len(x) * np.sum(x))


FACTORS = [1.01**k for k in range(40)]


def over_many_numbers(x):
    s = x[0]
    for c in FACTORS:
        s = s * 0.9 + c * x[1]
        if s > 2.5:
            break
    for c in [k * x[2] for k in range(40)]:
        if c > 20:
            continue
        s += np.cos(c)
    return s


def over_prange(x):
    s = mean_difference(x)
    for i in numba.prange(1, len(x)):
        s += x[i] * x[i - 1] ** 2
    return s


def pairs_below(x):
    return np.array([x[i] * x[j] for i in range(x.size) for j in range(i) if x[i] > x[j]])


def of_what_stays(x):
    kept = [v for v in x if v > 0.0]
    return sum(kept) / len(kept) + max(kept) * min(kept)


def comprehension_in_a_loop(x):
    s = 0.0
    for i in range(x.size):
        s += sum(v * x[i] for v in x[: i + 1] if v > x[i] - 0.6)
    return s


def of_a_list_by_a_condition(x):
    u, v, w = x[0], x[1], x[2]
    return sum([p * p for p in (u, v, w) if p > 0.0])


def names_stay_inside(x):
    v = x[0]
    return sum([v * v for v in x if v > 0.0]) * v


def any_and_all_of_some(x):
    return (
        x * (2.0 if any(v > 1.0 for v in x if v > 0.6) else 3.0) * (5.0 if all(v < 1.0 for v in x if v > 0.6) else 7.0)
    )


def filtered(x):
    return sum(filter(lambda v: v > 0.4, x))


def known_ones_filtered(x):
    return sum([x[k] * k for k in filter(lambda k: k % 2 == 1, range(4))])


def reduced(x):
    return functools.reduce(lambda a, b: a * b + 0.3, x)


def reduced_from_a_start(x):
    return functools.reduce(lambda a, b: a * b + 0.3, [x[0], x[2]], 0.5)


def accumulated(x):
    return np.array(list(itertools.accumulate(x))) * np.array(list(itertools.accumulate(x, lambda a, b: a * b)))


def accumulated_from_a_start(x):
    s = 0.0
    for v in itertools.accumulate(x, initial=0.25):
        s += v * v
    return s


def neighbours(x):
    s = 0.0
    for a, b in itertools.pairwise(x):
        s += a * b * b
    return s


def one_after_the_other(x):
    s = 0.0
    for k in itertools.chain(range(x.size - 1), [0, x.size - 1], (1,)):
        s = s * 0.5 + x[k] * k
    for row in itertools.chain(np.outer(x, x), [x, x * 2.0]):
        s += row.sum() ** 2
    return s + sum(itertools.chain(x, x * x))


def from_and_to(x):
    t = sum(v * w for v, w in zip(itertools.islice(x, 1, None), itertools.islice(x, 0, None, 2)))
    for v in itertools.islice(itertools.chain(x, x), x.size, None):
        t = t * v + 1.0
    return t + sum(itertools.islice(range(9), x.size)) * x[0]


def star_mapped(x):
    return sum(itertools.starmap(lambda a, b: a * b * b, zip(x, x[::-1])))


def over_a_product(x):
    s = 0.0
    for i, j in itertools.product(range(x.size), range(2)):
        s += x[i] * x[j] ** 2 * (i + 2 * j)
    return s


def over_a_product_of_arrays(x):
    s = 0.0
    for (a, b), c in zip(itertools.product((1.0, 2.0), (3.0, 4.0)), x):
        s += (a + b) * c * c
    for a, b in itertools.product(x, x[1:]):
        s += a * b * b
    return s


def indices_changed_in_the_body(x):
    s = 0.0
    for i, j in itertools.product(range(3), range(2)):
        s += x[i] * x[j] ** 2
        i = 3
        s += x[i]
    return s


def indices_of_an_array_changed_in_the_body(x):
    s = 0.0
    for i, j in np.ndindex(3, 2):
        s += x[i] * x[j] ** 2
        i = 3
        s += x[i]
    return s


def repeated_product(x):
    return sum([x[i] * x[j] * x[k] * (i + 2 * j + 3 * k) for i, j, k in itertools.product(range(2), repeat=3)])


def over_pairs(x):
    s = 0.0
    for i, j in itertools.combinations(range(x.size), 2):
        s += np.tanh(x[i] - 2.0 * x[j])
    return s


def over_pairs_of_items(x):
    s = 0.0
    for a, b in itertools.combinations(x, 2):
        s += np.tanh(a - 2.0 * b)
    for a, b, c in itertools.combinations([x[0], x[1], x[2], x[3]], 3):
        s += a * b * c * c
    return s


def over_pairs_with_replacement(x):
    s = 0.0
    for i, j in itertools.combinations_with_replacement(range(x.size), 2):
        s += np.tanh(x[i] - 2.0 * x[j])
    for a, b, c in itertools.combinations_with_replacement(x, 3):
        s += a * b * c * c
    return s + sum(p * q * q for p, q in itertools.combinations_with_replacement([x[0], 2.0, x[1]], 2))


def pairs_as_one_name(x):
    s = 0.0
    for pair in itertools.combinations(range(x.size), 2):
        s += x[pair[0]] * x[pair[1]] ** 2
    return s


def pairs_in_a_comprehension(x):
    return np.array([x[i] * x[j] ** 2 for i, j in itertools.combinations(range(x.size), 2)])


def first_and_rest(x):
    first, *rest = x
    return first * sum(rest) + rest[0] * rest[-1] * len(rest)


def both_ends(x):
    a, *middle, b, c = x * 2.0
    return a * b - c * sum(middle)


def rows_between(x):
    first, *rest = np.outer(x, x)
    return first * rest[1]


def as_a_tuple(x):
    t = tuple(x)
    return t[0] * t[-1] + sum(t) * len(t)


def longer_list(x):
    y = [*x, 1.5, *(2.0 * x)]
    return np.array(y) ** 2 * len(y)


def added_lists(x):
    y = list(x) + [x[0] * x[1], 2.0] + list(x[1:])
    return np.array(y) ** 2


def many_arguments(x):
    def f(a, b, c, d):
        return a * b - c * d

    return f(*x) + f(x[1], *x[1:]) + max(*x) * min(*x) + math.hypot(*x)


def left_over_arguments(x):
    def f(a, *more):
        return a * sum(more) * len(more)

    return f(*x[:1], *x[1:]) if x.size == 0 else f(x[0], *x[1:])


def zipped_with_a_tuple(x):
    s = 0.0
    for w, v in zip((1.0, 2.0, 3.0), x):
        s += w * v * v
    for v, name in zip(x[:2], [0.25, x[3], 0.5]):
        s += v * name
    return s


def sorted_numbers(x):
    a, b = sorted([x[0], x[1] * x[2]])
    low, *_, high = sorted(x)
    return a * b * b + low * high**2


def sorted_backwards(x):
    y = sorted(x, reverse=True)
    return np.array(y) * np.array([1.0, 2.0, 3.0, 4.0])


def sorted_by_a_key(x):
    y = sorted(x, key=lambda v: (v - 0.5) ** 2)
    z = sorted(x, key=lambda v: v > 0.6, reverse=True)  # equal keys stay as they were
    return np.array(y) * np.array([1.0, 2.0, 3.0, 4.0]) + np.array(z) * np.array([5.0, 7.0, 11.0, 13.0])


def sorted_in_place(x):
    y = [v * v for v in x]
    y.sort()
    z = list(x)
    z.sort(reverse=True)
    return y[0] * y[-1] + z[1] * z[2] ** 2


def sorted_is_a_list(x):
    return np.array(sorted(x) + [x[0]]) ** 2


def least_by_a_key(x):
    return min(x, key=lambda v: (v - 0.63) ** 2) * max((x[0], x[1], x[2]), key=abs) ** 2


def longest_row(x):
    return max(M * x[0], key=lambda row: row @ row) * x[1]


class Point(NamedTuple):
    x: Any
    y: Any
    scale: float = 2.0

    def norm(self):
        return self.scale * (self.x**2 + self.y**2)

    @property
    def turned(self):
        return Point(-self.y, self.x)


def methods_of_a_named_tuple(x):
    p = Point(x[0], x[1])
    q = p._replace(y=x[2]).turned
    return p.norm() * q.norm() * q.x + sum(p._asdict().values())


def named_behind_and(x):
    s = 0.0
    for v in x:
        if v > 0.0 and (w := v * 2.0) > 0.9:
            s += w * w
    return s


def named_on_either_side(x):
    y = 0.25
    z = (y := x[0] * 2.0) if x[1] > 0.0 else x[2] * y
    if x[3] > 1.0 or (t := x[0] * 3.0) > 1.0:
        return z * y
    return z * y * t


def nothing_beside_something(x):
    s = x[0] ** 2
    for a, b in zip(range(0), range(x.size)):
        s += x[a] * b
    return s


FUNCTIONS = [
    value for value in list(vars().values()) if callable(value) and getattr(value, "__module__", "") == __name__
    and not isinstance(value, type)
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for x in (X, -0.8 * X[::-1].copy()):
        check_value_and_grad(f, x, rtol=1e-14, at_once=True)


def many_ways(x, n):
    near = [v for v in x if v > -0.45]
    s = functools.reduce(lambda a, b: a * b + 0.3, near)
    first, *rest = sorted(near)
    for i, j in itertools.combinations(range(len(near)), 2):
        s += near[i] * near[j] ** 2
    for a, b in zip(rest, itertools.accumulate(rest)):
        s += a * b
    return s * first * 2**n / math.factorial(n) + math.comb(n + 3, 2) * min(x, key=abs)


def test_compiled() -> None:
    f = grad(many_ways, wrt="x")
    for x in (X, -0.8 * X[::-1].copy(), np.concatenate((X, 0.9 * X))):
        check_value_and_grad(f, x, 3, rtol=1e-14, at_once=True)


def wave_vectors(x, k):
    grid = np.arange(-k, k + 1)
    total = np.sum(np.cos(np.array(list(itertools.product(range(-k, k + 1), repeat=3))) @ x[:3]))
    total += np.sum(np.sin(np.array(list(itertools.product(grid, grid, grid))) @ x[1:4] + 0.3))
    for i, j in list(itertools.combinations(range(40), 2)):
        total += np.sin(0.1 * i * x[0] - j * x[1])
    return total * len(list(itertools.product(range(7), repeat=3)))


def test_lists_of_products() -> None:
    f = grad(wave_vectors, wrt="x", jit=False)
    for k in (1, 2, 0):
        check_value_and_grad(f, X[:4], k, rtol=1e-12)


def whole_numbers(x, n, k):
    return x * math.comb(n, k) + math.perm(n, k) - math.factorial(k) / 3 + (-1) ** n * 2**k


def test_whole_numbers() -> None:
    f = grad(whole_numbers, wrt="x", jit=False)
    for n, k in [(0, 0), (5, 2), (3, 7), (20, 20), (61, 13), (66, 2), (10, 9)]:
        if k <= n and math.perm(n, k) < 2**63:
            assert f(1.5, n, k) == whole_numbers(1.5, n, k)
    root = grad(lambda x, n: (x, math.isqrt(n)), wrt="x", jit=False)
    for n in (0, 1, 3, 4, 99, 2**52 - 1, (2**31) ** 2 - 1, 3037000499**2 - 1, 3037000499**2, 2**63 - 1):
        assert root(1.0, n)[1] == math.isqrt(n)
    with pytest.raises(ValueError, match="nonnegative"):
        root(1.0, -1)
    exact = grad(lambda x, n: x * (math.comb(n, 33) % 1_000_003), wrt="x", jit=False)
    assert exact(1.0, 66) == math.comb(66, 33) % 1_000_003


def series(x, n):
    """The square root of e**x, and some more, further than 64 bits go."""
    s = 0.0
    for k in range(n):
        s += (
            x**k / math.factorial(k) / 2**k
            + x / (math.factorial(k) ** 2 * (2 * k + 1))
            - math.comb(n + k, k) / 4.0 ** (2 * n)
        )
        s += math.factorial(2 * k) / (4.0**k * math.factorial(k) ** 2 * (2 * k + 1)) * (x / 4) ** (2 * k + 1)
        s += x * (1 / math.perm(n + k, k)) / -math.factorial(k + 1)
    return s


@pytest.mark.parametrize("jit", [False, True])
def test_a_quotient_of_large_whole_numbers(jit: bool) -> None:
    f = grad(series, wrt="x", jit=jit)
    check_value_and_grad(f, 0.7, 40, rtol=1e-13)


def test_what_is_too_large_for_a_float() -> None:
    f = grad(lambda x, n: x / math.factorial(n), wrt="x", jit=False)
    assert f(1.0, 170) == pytest.approx(1.0 / math.factorial(170), rel=1e-13)
    with pytest.raises(OverflowError, match="int too large to convert to float"):
        f(1.0, 171)
    np.testing.assert_allclose(
        grad(lambda x, n: x / math.comb(n, 514), wrt="x", jit=False)(1.0, 1029), 1 / math.comb(1029, 514), rtol=1e-12
    )


def test_small_integers_wrap_around_in_a_quotient_too() -> None:
    def quotient(x, k, n):
        return np.sum(x / (k * math.factorial(n)))

    x, k = np.array([1.0, 2.0]), np.array([100, 3], np.int16)
    for g in (grad(quotient, wrt="x", jit=False), grad(quotient, wrt="x")):
        assert g(x, k, 6) == quotient(x, k, 6)


def test_a_factorial_beyond_64_bits_shows_the_line_and_what_helps() -> None:
    def product(x, n):
        return x * math.factorial(n)

    for jit in (False, True):
        with pytest.raises(OverflowError) as caught:
            grad(product, wrt="x", jit=jit).backward(1.0, 21)
        assert "return x * math.factorial(n)" in str(caught.value)
        assert str(caught.value).endswith(
            "\n  help: in a quotient it is a float, which goes further:  x / math.factorial(n)"
        )


def unpacked_into_three(x):
    a, b, c = (v for v in x if v > 0.0)
    return a * b * c


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        (unpacked_into_three, (np.ones(4),), ValueError),
        (first_and_rest, (np.ones(0),), ValueError),
        (many_arguments, (np.ones(5),), ValueError),
        (reduced, (np.ones(0),), TypeError),
        (least_by_a_key, (np.ones(0),), (ValueError, IndexError)),
        (lambda x, n: x * 2**n, (1.0, -1), ValueError),
        (lambda x, n: x * math.factorial(n), (1.0, -1), ValueError),
        (lambda x, n: x * math.factorial(n), (1.0, 21), OverflowError),
        (lambda x, n: x * math.comb(n, 34), (1.0, 68), OverflowError),
        (lambda x, n: x * math.perm(n, n), (1.0, 21), OverflowError),
    ],
)
def test_errors_at_run_time(function: Callable[..., Any], arguments: tuple[Any, ...], error: Any) -> None:
    f = grad(function, wrt="x", jit=False)
    with pytest.raises(error):
        f(*arguments)
    with pytest.raises(error):
        f.backward(*arguments)


# --------------------------------------------------------------- lists that change, and what is shared between them


def beyond_an_empty_list(x):
    return [v for v in x if v > 5.0][0]


def last_of_an_empty_list(x):
    ys = [v for v in x if v > 5]
    return ys[-1]


def behind_what_was_popped(x):
    ys = list(x)
    ys.pop()
    return ys[3]


def beyond_a_shorter_list(x):
    ys = [v for v in x if v > 0]
    s = 0.0
    for k in range(x.size):
        s += ys[k] * k
    return s


def all_of_a_shorter_list(x):
    ys = [v for v in x if v > 0]
    s = 0.0
    for k in range(len(ys)):
        s += ys[k] * k
    return s


def log_of_calls(x):
    log = []

    def f(v):
        log.append(v)
        return v * 2.0

    y = [f(v) for v in x]
    return sum(y) * len(log)


def appends_in_a_comprehension(x):
    ys = []
    [ys.append(x[k]) for k in range(3)]
    return sum(ys)


def pops_in_a_comprehension(x):
    st = [x[0], x[1], x[2]]
    a, b = [st.pop() for _ in range(2)]
    return a * b * len(st)


def key_that_counts(x):
    log = []

    def f(v):
        log.append(v)
        return v * v

    y = sorted(x, key=f)
    return y[0] * len(log)


def and_that_appends(x):
    ys = [1.0]
    for v in x:
        v > 0 and ys.append(v)
    return x * len(ys)


def pops_on_either_side(x):
    ys = [x[0], x[1], x[2]]
    t = ys.pop() if x[0] > 0 else ys.pop() * 2
    return t * len(ys)


def while_that_pops(x):
    ys = list(x)
    k = 0
    while len(ys) > 1 and ys.pop() > 0.5:
        k += 1
    return x[0] * k + len(ys)


def pairs_leave_their_names(x):
    s = 0.0
    for i, j in itertools.combinations(range(x.size), 2):
        s += x[i] * x[j]
    return s * i * j


def empty_product_leaves_names(x):
    i = 7
    s = x[0]
    for i, j in itertools.product(range(x.size), range(0)):
        s += 1.0
    return s * i


def product_of_what_changes(x):
    ys = [v for v in x if v > 0]
    s = 0.0
    for a, b in itertools.product(ys, ys):
        s += a * b * b
        ys[0] = 10.0
    return s


def product_of_known_items_that_change(x):
    ys = [x[0], x[1]]
    s = 0.0
    for a, b in itertools.product(ys, ys):
        s += a * b * b
        ys[0] = 10.0
    return s


def rest_of_what_is_written(x):
    m = np.outer(x, x)
    a, *rest = m
    m[1, 1] = 7.0
    return rest[0][1] * x[0]


def rest_that_is_written(x):
    m = np.outer(x, x)
    a, *rest = m
    rest[0][1] = 7.0
    return np.sum(m)


def filtered_rows_of_what_is_written(x):
    m = np.outer(x, x)
    rows = list(filter(lambda r: r[0] > 0, m))
    m[:] = 1.0
    return rows[0] * x


def pairs_that_are_written(x):
    m = np.outer(x, x)
    for a, b in itertools.pairwise(m):
        b += a
    return m


def accumulated_rows_that_are_written(x):
    m = np.outer(x, x)
    list(itertools.accumulate(m))[0][0] = 99.0
    return m


def slice_that_is_written(x):
    a = [x * v for v in x if v > 0]
    b = a[:]
    b[0][0] = 55.0
    return a[0]


def copied_list_that_is_written(x):
    a = [x * v for v in x if v > 0]
    b = list(a)
    b[0][0] = 55.0
    return a[0]


def slice_whose_items_are_written(x):
    a = [x * v for v in x if v > 0]
    for r in a[1:]:
        r[0] = 5.0
    return a[1]


def neighbours_that_are_written(x):
    a = [x * v for v in x if v > 0]
    for p, q in zip(a, a[1:]):
        q += p
    return a[1]


def pairs_of_items_that_are_written(x):
    a = [x * v for v in x if v > 0]
    for p, q in itertools.combinations(a, 2):
        q += p
    return a[1]


def sorted_items_that_are_written(x):
    a = [x * v for v in x if v > 0]
    for q in sorted(a, key=lambda r: -r[0])[:2]:
        q[1] = 7.0
    return a[0]


def longer_list_that_is_written(x):
    a = [x * v for v in x if v > 0]
    b = a + [x * 1.0]
    b[0][0] = 5.0
    return a[0]


def largest_that_is_written(x):
    a = [x * v for v in x if v > 0]
    t = max(a, key=lambda r: r[0])
    t[0] = 5.0
    return a[0] + a[1]


def reduced_in_place(x):
    m = np.outer(x, x)

    def f(a, b):
        a += b
        return a

    return functools.reduce(f, m) + m[0]


def star_mapped_rows_of_what_is_written(x):
    m = np.outer(x, x)
    r = list(itertools.starmap(lambda a, b: a, zip(m, x)))
    m[:] = 1.0
    return r[0]


def kinds_of_sequences(x):
    t = tuple(x)
    return x * (2.0 if isinstance(t, tuple) else 3.0) * (5.0 if isinstance(list(x), list) else 7.0)


def compared_with_nothing(x):
    t = [v for v in x if v > 50]
    return x * (2.0 if t == [] else 3.0)


def sum_of_truths(x):
    return sum(x[k] > -0.5 for k in range(3)) * x


def indexed_by_a_sorted_list(x):
    return x[sorted(np.argsort(x)[:2])]


def written_by_a_list(x):
    y = x.copy()
    ps = [k for k in range(x.size) if x[k] > 0]
    y[ps] = 0.0
    return y * x


def indexed_by_a_comprehension(x):
    return x[[k for k in range(x.size) if x[k] > 0]] * 2


def filled_by_a_list(x):
    y = x.copy()
    y[:] = sorted(y)
    return y * x


def default_of_nothing(x):
    return max((v for v in x if v > 5), default=2.0) * x


def default_that_is_not_needed(x):
    return max((v for v in x if v > 0.4), default=2.0) * x


def known_list_in_an_and(x):
    ys = []
    x[0] > 0 and ys.append(x[0])
    return sum(ys)


def left_over_of_all(x):
    def f(a, *more):
        return a * sum(more) * len(more)

    return f(*x)


def or_of_a_list(x):
    ys = [v for v in x if v > 9] or [1.0]
    return ys[0] * x


def _written(y):
    y[2] += 1.0
    return y[0]


def rows_of_one_row_that_is_written(x):
    y = x.copy()
    return sum([row.sum() * _written(y) for row in np.broadcast_to(y, (3, 4))])


def pairs_with_rows_of_one_row_that_is_written(x):
    y = x.copy()
    return sum([row.sum() * _written(y) * v for row, v in zip(np.broadcast_to(y, (3, 4)), y)])


def items_of_its_pairs_change(x):
    a, b = [x[0], 1.0], [x[1], x[2]]
    total, pairs = 0.0, [(a, b), (b, a), (a, b)]
    for first, second in pairs:
        first[0] += second[1] * first[0]
        second[1] = 2.0 * second[1]
        total = 2.0 * total + first[0]
    return total


def its_pairs_are_others(x):
    a, b = [x[0], 1.0], [x[1], x[2]]
    pairs = [(a, b), (b, a), (a, b)]
    for first, second in pairs:
        first[0] += second[1] * first[0]
        pairs[2] = (b, b)
    return a[0] + b[0]


RIGHT = [
    items_of_its_pairs_change,
    all_of_a_shorter_list,
    log_of_calls,
    appends_in_a_comprehension,
    pops_in_a_comprehension,
    key_that_counts,
    and_that_appends,
    pops_on_either_side,
    pairs_leave_their_names,
    empty_product_leaves_names,
    product_of_what_changes,
    product_of_known_items_that_change,
    kinds_of_sequences,
    compared_with_nothing,
    sum_of_truths,
    indexed_by_a_sorted_list,
    written_by_a_list,
    indexed_by_a_comprehension,
    filled_by_a_list,
    default_of_nothing,
    default_that_is_not_needed,
    known_list_in_an_and,
    left_over_of_all,
]
REFUSED = [
    its_pairs_are_others,
    sorted_items_that_are_written,
    while_that_pops,
    rest_of_what_is_written,
    rest_that_is_written,
    filtered_rows_of_what_is_written,
    pairs_that_are_written,
    accumulated_rows_that_are_written,
    slice_that_is_written,
    copied_list_that_is_written,
    slice_whose_items_are_written,
    neighbours_that_are_written,
    pairs_of_items_that_are_written,
    longer_list_that_is_written,
    largest_that_is_written,
    reduced_in_place,
    star_mapped_rows_of_what_is_written,
    or_of_a_list,
    rows_of_one_row_that_is_written,
    pairs_with_rows_of_one_row_that_is_written,
]
TOO_SHORT = [beyond_an_empty_list, last_of_an_empty_list, behind_what_was_popped, beyond_a_shorter_list]


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_lists_that_change(function: Callable[..., Any]) -> None:
    np.testing.assert_allclose(grad(function, jit=False)(X), function(X), rtol=1e-14)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused_rather_than_wrong(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError):
        grad(function, jit=False)(X)


@pytest.mark.parametrize("function", TOO_SHORT, ids=lambda f: f.__name__)
def test_beyond_the_end(function: Callable[..., Any]) -> None:
    with pytest.raises(IndexError):
        function(X)
    with pytest.raises(IndexError):
        grad(function, jit=False)(X)


def plain_numbers(x):
    y = x
    for w, _ in zip((1.0, 2.0), x):
        y = y * w
    ws = [2.0 for v in x if v > 0.0]
    for w in ws:
        y = y * w
    return y * sum(ws) * max(ws)


def test_plain_numbers_widen_nothing() -> None:
    x = X.astype(np.float32)
    assert grad(plain_numbers, jit=False)(x).dtype == plain_numbers(x).dtype == np.float32


# ------------------------------------------------ what can't be rows of an array, beside what is known at run time only

REACTIONS = [({"a": 1, "b": 1}, "c", 0.5), ({"c": 1}, "a", 0.1), ({"c": 2}, "b", 0.3)]
FUNCTIONS = [np.sin, np.cos, np.exp]


def rates_of_reactions(x):
    now = {"a": x[3], "b": 0.8, "c": 0.1}
    for (used, made, rate), scale in zip(REACTIONS, x):
        for name, power in used.items():
            rate = rate * now[name] ** power
        now[made] += rate * scale
    return now["a"] + 2.0 * now["b"] * now["c"]


def weighed_functions(x):
    total = sum(w * f(x[-1]) for f, w in zip(FUNCTIONS, x))
    for k, (f, w) in enumerate(zip(FUNCTIONS, x[1:])):
        total += f(w) * k
        if total > 2.0:
            break
    return total


def written_meanwhile(x):
    total, pairs = 0.0, list(zip(["first", "second"], x))
    for name, v in zip(["first", "second", "third"], x):
        total += v**2 if name == "second" else v
        x[1] = 5.0 * x[2]
    return total * pairs[1][1]


@pytest.mark.parametrize("function", [rates_of_reactions, weighed_functions, written_meanwhile])
def test_zip_of_what_are_no_rows(function: Callable[..., Any]) -> None:
    f, x = grad(function, jit=False), np.array([0.5, -0.3, 1.2, 0.7])
    check_value_and_grad(f, x, rtol=1e-14)


def test_zip_that_would_end_early() -> None:
    f = grad(lambda x: sum(w * f(w) for f, w in zip(FUNCTIONS, x)), jit=False)
    f(np.ones(4))
    with pytest.raises(ShortAxisError, match="zip.. of 3 items .* beside 2 others"):
        f(np.ones(2))
    with pytest.raises(UnsupportedError):  # how many there are is not known ahead
        grad(lambda x: sum(w * f(w) for f, w in zip(FUNCTIONS, x[x > 0])), jit=False)(np.ones(4))


def over_permutations(x):
    s = sum(x[i] * x[j] ** 2 for i, j in itertools.permutations(range(3), 2))
    for i, j, k in itertools.permutations([0, 1, 2]):
        s = s + x[i] * j - x[k]
    return s


def test_permutations() -> None:
    f = grad(over_permutations, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)
    with pytest.raises(UnsupportedError, match="more than 64 permutations"):
        grad(lambda x: sum(x[p[0]] for p in itertools.permutations(range(5))), jit=False)(X)
    with pytest.raises(UnsupportedError, match="only known at run time"):
        grad(lambda x: sum(p[0] for p in itertools.permutations(x)), jit=False)(X)


# ----------------------------------------------------------------------------------------- iterators with names


def pairs_once(x):
    total = 0.0
    pairs = enumerate(zip(x[1:], x[:-1]))
    for k, (a, b) in pairs:
        total += (k + 1) * a * b
    for k in range(len(x)):
        scaled = (v * x[k] for v in x)
        total += sum(scaled)
    return total


def generator_in_a_function(x):
    mean = np.mean(x)
    squares = ((v - mean) ** 2 for v in x)

    def total():
        return sum(squares)

    return total()


def both_summed(values, others):
    return sum(values) + sum(a * b for a, b in others)


def iterators_as_arguments(x):
    return both_summed((v * v for v in x), zip(x, x[::-1])) + both_summed(map(np.sin, [x[0], x[1]]), enumerate(x))


def values_twice(x):
    held = {"a": x[0], "b": x[1]}
    values = held.values()
    return sum(values) + sum(values) * len(values)


def numbers_as_they_were(x):
    y, s, k = x * 1.0, x[0], int(x[0] > 0.0)
    scaled, part, numbers = functools.partial(lambda c, v: c * v, s), slice(k, None), range(k + 1)
    for v in [y[0], y[2], s * y[1]]:
        y += 0.5
        s = s * v
        k += 1
    for w in map(lambda v: v * s, y):
        y[1] = s = s + w
    for w, j in zip([y[0], y[1]], x):
        y[1] = s = s + w * j
    return scaled(s) + y[part].sum() + sum([j * s for j in numbers])


def serpentine(x):
    """Each row the other way: what is left over goes on to the next one."""
    y, left = np.outer(x, x), 0.0
    for i in range(3):
        for j in range(3) if i % 2 == 0 else reversed(range(3)):
            y[i, j] += left
            left = 0.5 * y[i, j] * x[j]
    return y.sum() + left


def range_by_the_path_taken(x):
    n = x.size
    if x[0] > 0.0:
        places = range(0, n, 2)
        n = 1
    else:
        places = range(n - 1, 0, -1)
    s = len(places) * x[places[0]]
    for j in places:
        s = s * 0.5 + x[j] ** 2
    for j in places[::-1]:
        s = s * x[j] + n
    return s


def other_range_by_the_path_taken(x):
    return range_by_the_path_taken(-x)


def in_the_place_of_what_it_reads(x):
    pair = x[0], x[1:]
    pair = map(np.asarray, pair)
    first, rest = pair
    row = [first, rest[0]]
    for k in range(2):
        row = map(lambda v, k=k: v * (k + x[0]), row)
    rest = (v * v for v in rest)
    return sum(row) + sum(rest)


@pytest.mark.parametrize(
    "function",
    [
        numbers_as_they_were,
        pairs_once,
        generator_in_a_function,
        values_twice,
        iterators_as_arguments,
        in_the_place_of_what_it_reads,
        serpentine,
        range_by_the_path_taken,
        other_range_by_the_path_taken,
    ],
    ids=lambda f: f.__name__,
)
def test_iterators_with_names(function):
    x = np.array([0.5, -1.0, 2.0])
    f = grad(function, jit=False)
    check_value_and_grad(f, x, rtol=1e-14)


def zipped_twice(x):
    pairs = zip(x, x)
    return sum(a * b for a, b in pairs) + sum(a for a, _ in pairs)


def generator_in_a_loop(x):
    total = 0.0
    squares = (v * v for v in x)
    for _ in range(len(x)):
        total += sum(squares)
    return total


def taken_in_a_branch(x):
    total = 0.0
    squares = map(lambda v: v * v, [x[0], x[1]])
    if x[0] > 0.0:
        total += sum(squares)
    return total + sum(squares)


def written_ahead_of_a_generator(x):
    y = x * 1.0
    squares = (v * v for v in y)
    y[0] = 5.0
    return sum(squares)


def changed_ahead_of_a_view(x):
    held = {"a": x[0], "b": x[1]}
    values = held.values()
    held["b"] = 5.0
    return sum(values)


def list_that_is_left_behind(x):
    values, total = [x[0], x[1]], 0.0
    for v in values:
        total += v
        values[1] = 5.0 * total
        values = [3.0, 2.0]
    return total + values[0]


def summed_twice(values):
    return sum(values) + sum(values)


def generator_as_an_argument(x):
    return summed_twice(v * v for v in x)


def iterator_from_a_function(x):
    def pairs():
        return zip(x, x)

    made = pairs()
    return sum(a * b for a, b in made) + sum(a for a, _ in made)


def named_beside_another(x):
    squares, k = (v * v for v in x), 2.0
    return sum(squares) * k + sum(squares)


def held_in_a_list(x):
    held = [zip(x, x), 2.0]
    return sum(a * b for a, b in held[0]) + sum(a for a, _ in held[0])


def held_in_a_dict(x):
    held = {"squares": map(lambda v: v * v, [x[0], x[1]])}
    return sum(held["squares"]) + sum(held["squares"])


def generator_of_what_the_loop_carries(x):
    s = x[0]
    for v in (v * s for v in x):
        s += v
    return s


def paired_with_what_the_loop_writes(x):
    y, s = x * 1.0, 0.0
    for k, v in enumerate(v * y[2] for v in y):
        y[2] += 0.5
        s += v * k
    return s


def mapped_by_what_the_loop_carries(x):
    s = x[0]
    for v in map(lambda v: v * s, [x[0], 0.5]):
        s += v
    return s


def number_of_a_loop_in_between(x):
    s = x[0]
    scaled = (v * s for v in (1, 2))
    for v in x:
        s += v
    return sum(scaled)


def function_that_reads_what_has_changed(x):
    s = x[0]
    scaled = (g(v) for g in [lambda v: v * s] for v in (1, 2))
    s = 2.0
    return sum(scaled)


def written_by_what_is_called(x, of):
    of[0] = 5.0
    return sum(x)


def argument_that_is_written_meanwhile(x):
    y = x * 1.0
    return written_by_what_is_called((v * 2.0 for v in y), y)


def writes_of_a_generator(x):
    y = x * 1.0

    def longer(v):
        y[2] += v
        return y[2]

    lengths = (longer(v) for v in (1.0, 2.0))
    return y[2] * sum(lengths)


def held_in_an_attribute(x):
    o, s = Steps(2.0), x[0]
    o.scaled = (v * s for v in x)
    s = 3.0
    return sum(o.scaled) * s


class Steps:
    def __init__(self, n):
        self.n = n

    def of(self, x):
        return (v * self.n for v in x)


def reads_an_object_that_has_changed(x):
    o = Steps(2.0)
    scaled = o.of(x)
    o.n = x[0]
    return sum(scaled)


def one_of_two_generators(x):
    s = x[0]
    scaled = (v * s for v in x) if s > 0.1 else (v for v in x)
    s = 2.0
    return sum(scaled) * s


def two_names_at_once(x):
    squares = others = (v * v for v in x)
    return sum(squares) + sum(others)


def named_within(x):
    return sum(squares := (v * v for v in x)) + sum(squares)


def in_the_place_of_what_changes_by_another_name(x):
    row = [x[0], x[1]]
    same = row
    row = map(lambda v: v * 2.0, row)
    same.append(x[2])
    return sum(row)


def in_the_place_of_what_holds_what_changes(x):
    rows = ([x[0]], [x[1]])
    first = rows[0]
    rows = (row[0] * 2.0 for row in rows)
    first[0] = x[2]
    return sum(rows)


def in_the_place_of_memory_that_is_written(x):
    same = x
    x = (v * 2.0 for v in x)
    same[1] = 3.0
    return sum(x)


def in_the_place_of_what_it_reads_later(x):
    row = [x[0], x[1]]
    row = (v * first for v, first in zip(row, (row[0] for _ in x)))
    return sum(row)


NOT_AS_IT_WAS = [
    in_the_place_of_what_changes_by_another_name, in_the_place_of_what_holds_what_changes,
    in_the_place_of_memory_that_is_written, in_the_place_of_what_it_reads_later,
    held_in_an_attribute, reads_an_object_that_has_changed, one_of_two_generators, two_names_at_once, named_within,
    generator_of_what_the_loop_carries, paired_with_what_the_loop_writes, mapped_by_what_the_loop_carries,
    number_of_a_loop_in_between, function_that_reads_what_has_changed, argument_that_is_written_meanwhile,
    writes_of_a_generator,
    generator_as_an_argument, iterator_from_a_function, named_beside_another, held_in_a_list, held_in_a_dict,
    zipped_twice, generator_in_a_loop, taken_in_a_branch, written_ahead_of_a_generator, changed_ahead_of_a_view,
    list_that_is_left_behind,
]  # fmt: skip


@pytest.mark.parametrize("function", NOT_AS_IT_WAS, ids=lambda f: f.__name__)
def test_iterators_that_are_not_as_they_were(function):
    with pytest.raises(
        UnsupportedError,
        match=r"gone through|has changed|changes the list|is held in|loop changes|items change|:= of an iterator",
    ):
        grad(function, jit=False)(np.array([0.5, -1.0, 2.0]))


class Body(NamedTuple):
    mass: Any
    place: Any


class Link(NamedTuple):
    body: Body
    length: Any

    def pull(self, k):
        return k * self.length * self.body.mass


SECOND = operator.itemgetter(1)


def by_their_getters(x):
    pairs = [(k, v * v) for k, v in enumerate(x)]
    links = [Link(Body(x[0], 1.0), x[1]), Link(Body(x[2], x[3]), x[0])]
    first, last = operator.itemgetter(0, -1)(x)
    heaviest = max(links, key=operator.attrgetter("body.mass"))
    nearest, length = operator.attrgetter("body.place", "length")(heaviest)
    total = sum(map(operator.methodcaller("pull", k=2.0), links)) + nearest * length
    return total + first * last + sum(k * j * v for k, (j, v) in enumerate(sorted(pairs, key=SECOND)))


def at_the_least_of_all(x):
    squares = [v * v for v in x]
    k = min(range(len(x)), key=x.__getitem__)
    j = max(range(len(x)), key=squares.__getitem__)
    return x[k] * j + squares[j] * x[0]


def some_of_them(x):
    return sum(itertools.compress(x * x, x > 0.6)) + sum(itertools.compress(x, [1, 0, 1]))


@pytest.mark.parametrize("function", [by_their_getters, at_the_least_of_all, some_of_them], ids=lambda f: f.__name__)
def test_getters_and_selectors(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)


def states_of_a_network(x, w):
    step = lambda h, u: np.tanh(h + w @ u)
    states = [h for h in itertools.accumulate(x, step, initial=np.zeros(len(w)))]
    return np.array(states), functools.reduce(step, x, np.ones(len(w)))


def pairs_from_a_start(x, w):
    steps = itertools.accumulate(x, lambda s, u: (s[0] + u[0], s[1] * w[0, 0] + s[0] * u[1]), initial=(0.0, 1.0))
    return np.array([a * b for a, b in steps])


@pytest.mark.parametrize("function", [states_of_a_network, pairs_from_a_start], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_states_that_are_shaped_unlike_the_items(function: Any, n: int) -> None:
    x, w = np.random.default_rng(n).normal(size=(n, 2)), np.array([[0.5, -0.3], [1.2, 0.7], [-0.9, 0.4]])
    for found, wanted in zip(grad(function, jit=False)(x, w), function(x, w), strict=True):
        np.testing.assert_allclose(found, wanted)
    check_grad(grad(function, jit=False), x, w)


def test_values_known_as_iterators_are_held() -> None:
    """Each is known by its address, which another value must not get: a loop that is tried again drops many."""
    known, value = Iterators(), Scalar(Const(1.0, FLOAT64))
    held = weakref.ref(value)
    known.note(value, Made())
    del value
    gc.collect()
    assert held() is not None
    assert held() in known
    assert Scalar(Const(1.0, FLOAT64)) not in known


WEIGHTS, EXPONENTS = [0.444635, 0.535328, 0.154329], [0.109818, 0.405771, 2.227660]


def integrals(z):
    pairs = [(w, k * z**2) for w, k in zip(WEIGHTS, EXPONENTS, strict=True)]
    total = 0.0
    for w1, k1 in pairs:
        for w2, k2 in pairs:
            for w3, k3 in pairs:
                t = k1 + 2 * k2 + k3
                total += w1 * w2 * w3 * (np.sqrt(1 / t) if t > 1.0 else 1.0 - t / 3.0)
    return total


def test_a_nest_of_loops_over_short_lists_is_not_all_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that makes too much text, the outer loops run over arrays."""
    monkeypatch.setattr("srcgrad.frontend.control.control.MOST_TEXT_OF_NEST", 50)
    f = grad(integrals, jit=False)
    lines = f.source(1.3).splitlines()
    assert any("for " in line for line in lines) and len(lines) < 150  # 400, written out
    check_grad(f, 1.3)
    np.testing.assert_allclose(f(1.3), integrals(1.3), rtol=1e-13)
