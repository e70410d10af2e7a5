"""Functions of Python's own over what is only known at run time: zip, sorted, min, operator, tolist."""

from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import functools
import logging
import math
import operator
import random
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, 1.2, 1.7, 0.3, 0.9])
M = X[:, None] * X[1:] + 1.0


def strictly(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def not_strictly(x, y):
    s = 0.0
    for a, b in zip(x, y, strict=False):
        s += a * b
    return s


def strictly_beside_a_tuple(x):
    s = 0.0
    for a, b in zip(x, (1.0, 2.0, 3.0), strict=True):
        s += a * b
    return s


def lists_for_operands(x):
    m = M[:, :3] @ [v * v for v in x[:3]] + [v for v in x] @ M[:, :1]
    m += [v + 1.0 for v in x]
    m[1:] -= range(4)
    m = m.clip([v - 1.0 for v in x], 3.0)
    return m * m.dot([v for v in x]) + m.take([int(v) for v in x]) + x.dot(range(5))


def lists_for_matrices(x):
    m = np.outer(x, x)
    m @= [[v, 1.0, v, v * v, 2.0] for v in x]
    return m * np.sort(x).searchsorted([v - 0.1 for v in x])


def strictly_tuples(x):
    return sum(a * b for a, b in zip((x[0], x[1]), (1.0, 2.0, 3.0), strict=True))


def test_zip_as_long_as_each_other() -> None:
    check_grad(grad(strictly, jit=False), X, X + 1.0)
    check_grad(grad(not_strictly, jit=False), X, X[:3] + 1.0)
    check_grad(grad(strictly_beside_a_tuple, jit=False), X[:3])


@pytest.mark.parametrize("function", [lists_for_operands, lists_for_matrices])
def test_lists_are_operands_of_arrays(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-13)


@pytest.mark.parametrize("jit", [False, True])
def test_zip_of_other_lengths(jit: bool) -> None:
    f = grad(strictly, jit=jit)
    for y, word in ((X[:3], "shorter"), (np.ones(7), "longer")):
        with pytest.raises(ValueError, match=f"zip\\(\\) argument 2 is {word} than argument 1"):
            f(X, y)
    check_grad(f, X, X)


def test_zip_of_lengths_known_to_differ() -> None:
    with pytest.raises(ValueError, match="argument 2 is longer than argument 1"):
        grad(strictly_tuples, jit=False)(X)
    with pytest.raises(ValueError, match="argument 2 is shorter than argument 1"):
        grad(strictly_beside_a_tuple, jit=False)(X)


def by_what_they_index(x):
    order = sorted(range(len(x)), key=lambda i: x[i])
    return np.array([x[i] * k for k, i in enumerate(order)])


def from_the_greatest(x):
    return np.array([x[i] * k for k, i in enumerate(sorted(range(len(x)), key=lambda i: x[i], reverse=True))])


def at_the_least(x):
    return x[min(range(len(x)), key=lambda i: x[i])] * 2.0


def at_the_greatest(x):
    return x[max(range(1, len(x), 2), key=lambda i: x[i] ** 2)] * x


def numbers_of_a_range(x):
    ks = list(range(len(x)))
    ks[0] = 3
    return sum(x[k] * k for k in ks)


def multiplied(x):
    return functools.reduce(operator.mul, x)


def of_operators(x):
    return operator.truediv(operator.add(x, 1.0), operator.sub(operator.neg(x), operator.pow(x, 2)))


def added_arrays(x):
    return functools.reduce(operator.add, [x * i for i in range(len(x))])


def matrix_product(x):
    return operator.matmul(x, x[:, None] * x)


def of_a_list_of_numbers(x):
    s = sum(x.tolist()) ** 2
    for k, v in enumerate(x.tolist()):
        s += v * v * k
    return s


def number_of_an_array(x):
    return x[0].tolist() * x.sum().tolist()


def of_a_copy(x):
    numbers = x.tolist()
    x = x * 2.0
    numbers[0] = 5.0 * x[1]
    return x * sum(numbers)


def where_they_are_among(x):
    return np.where(np.isin(np.arange(len(x)), [1, 2]), x, x**2)


def where_they_are_not_among(x):
    return np.where(np.isin(np.arange(len(x)).reshape(1, -1), (0, 3), invert=True), x, x**2)


# fmt: off
FUNCTIONS = [
    by_what_they_index, from_the_greatest, at_the_least, at_the_greatest, numbers_of_a_range, multiplied, of_operators,
    added_arrays, matrix_product, of_a_list_of_numbers, number_of_an_array, of_a_copy, where_they_are_among,
    where_they_are_not_among,
]
# fmt: on


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_python(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), X)


@pytest.mark.parametrize("function", [by_what_they_index, at_the_least, multiplied, of_a_list_of_numbers])
def test_functions_of_python_compiled(function: Callable[..., Any]) -> None:
    check_grad(grad(function), X)


def of_lists_of_numbers(m):
    s = 0.0
    for row in m.tolist():
        s += sum(row) * row[0]
    return s


def test_lists_of_the_rows_of_an_array() -> None:
    check_grad(grad(of_lists_of_numbers, jit=False), M)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("jit", [False, True])
def test_pythons_sum_keeps_the_dtype_of_integers(jit: bool) -> None:
    """0 + np.uint8(200) is a uint8, where np.sum has 64 bits."""

    def sums(k, x):
        return sum(k), sum(k, 1), sum(k, x), sum(k > 100), sum(np.stack((k, k))) * x, sum([v for v in k]) * x

    for dtype in (np.uint8, np.int32):
        k = np.array([200, 100], dtype)
        for got, want in zip(grad(sums, jit=jit)(k, 0.5), sums(k, 0.5), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def added(x):
    return math.fsum(x) + math.fsum(v * v for v in x)


def multiplied_numbers(x):
    return math.prod(x.tolist())


def test_numbers_of_python_are_in_double_precision() -> None:
    x = X.astype(np.float32)
    found, wanted = grad(of_a_list_of_numbers, jit=False)(x), of_a_list_of_numbers(x)
    assert abs(found - wanted) < 1e-12 and np.asarray(found).dtype == np.asarray(wanted).dtype
    for f in (added, multiplied_numbers):
        assert type(grad(f, jit=False)(x)) is float
        assert grad(f, jit=False)(x) == pytest.approx(f(x), rel=1e-15)


def lists_beside_numbers_of_numpy(x):
    shares = [x[0], x[1] ** 2] / np.sum(x)
    shares /= x[2]
    return np.sum(shares * ((1.0, 2.0) - x[3])) + ([1.0] * np.int64(3))[2] * x[1]


def tuples_of_run_time_length(x):
    ends = (0.5,) * len(x) + (1.0,)
    return np.sum(np.array(ends[:-1]) * x) * ends[-1] + len(ends) * x[0]


def test_arithmetic_of_lists_and_tuples() -> None:
    check_grad(grad(lists_beside_numbers_of_numpy, jit=False), X)
    check_grad(grad(tuples_of_run_time_length, jit=False), X)


def table_of_lists(x):
    table = [[0.0] * 3 for _ in range(len(x))]
    for i in range(len(x)):
        table[i][1:] = [x[i], x[i] * i]
    return table[-1][-1]


def table_of_longer_lists(x):
    table = [[0.0] * len(x) for _ in range(len(x))]
    for i in range(1, len(x)):
        table[i][:] = [x[i] + table[i - 1][0]]
    return table[-1][0]


@pytest.mark.parametrize("function", [table_of_lists, table_of_longer_lists])
def test_a_table_of_lists_says_what_to_write(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match=r"a list in a list is changed(.|\n)*np\.zeros\(\(n, m\)\)"):
        grad(function, jit=False)(X)


@grad
def cubes(x):
    return np.sum(x**3)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: logging.getLogger("x") or x[0], r"logging\.getLogger is not supported"),
        (lambda x: x * statistics.mode(x), r"statistics\.mode is not supported"),
        (lambda x: x[random.randint(0, 1)], r"random\.randint is not supported"),
        (lambda x: cubes.vjp(x)[0], r"\.vjp in a function that is differentiated"),
    ],
)
def test_what_ends_in_pythons_own_library_is_said_of_the_function(function: Any, words: str) -> None:
    """Not `a try statement with except is not supported`, of a statement that the user has not written."""
    with pytest.raises(UnsupportedError, match=words):
        grad(function, jit=False)(np.array([1.0, 2.0]))


class Squared:
    """A property that can be assigned."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def value(self) -> Any:
        return self.held * 2.0

    @value.setter
    def value(self, value: Any) -> None:
        self.held = value * value


def assigned_by_a_setter(x):
    own = Squared(x)
    own.value = own.value + x
    return own.value


def copied(x):
    own, row = Squared(x), [x * 2.0, x]
    other, same = copy.copy(own), copy.deepcopy([own, row, row])
    other.value = x[0]
    same[1][0] = x * 5.0
    y = copy.deepcopy(x)
    y[0] = 1.0
    return own.value * same[2][0] + other.value + row[0] * y * same[0].value


def numbers_of_numpy(x):
    y = x[0]
    return np.concatenate([v[..., np.newaxis] for v in (y, y * 2.0)]) * y[()] + y[None] * x[1][...]


def compared_in_a_chain(x):
    total = 0.0
    for v in x:
        if 0.2 < v <= sum(w * w for w in x):
            total += v**3
        if least(x) < v < 2.0 + least(x):
            total += v
    return total * x


def least(x):
    found = x[0]
    for v in x:
        if v < found:
            found = v
    return found


def extended(x):
    ys = [1.0]
    ys.extend(np.cumsum(x))
    ys.extend(v * v for v in x)
    ys += list(x)
    return np.array(ys)


def searched(x):
    limits = [0.3, 0.9, 1.7]
    return x * bisect.bisect(limits, x[0]) + bisect.bisect_left([1.0, x[1]], 1.2) * x[2]


def with_none(x, more=None):
    ordered = collections.OrderedDict()
    ordered["square"] = x * x
    if x[0] > 0.0 and more:
        x = x * more.factor
    return ordered["square"] * x + sys.float_info.epsilon * sys.float_info.max_exp


def with_ranges(x):
    return (x + range(3)) / 2.0 * (range(len(x)) * x) + x @ range(3)


@pytest.mark.parametrize(
    "function",
    [with_ranges, assigned_by_a_setter, copied, numbers_of_numpy, compared_in_a_chain, extended, searched, with_none],
)
def test_more_of_python(function: Any) -> None:
    f = grad(function, jit=False)
    for x in (np.array([0.5, 1.5, 0.7]), np.array([1.1, 0.4, 2.5])):
        check_value_and_grad(f, x, rtol=1e-13)


@pytest.mark.parametrize("jit", [False, True])
def test_a_number_times_a_power_of_two(jit: bool) -> None:
    f = grad(lambda x, n: math.ldexp(x, n) + math.ldexp(1.0, 3) * x, jit=jit)
    assert f.value_and_backward(1.5, 2) == (18.0, 12.0)


STATISTICS = [
    lambda x: statistics.mean(list(x)),
    lambda x: statistics.mean(x),
    lambda x: statistics.fmean(x.tolist()),
    lambda x: statistics.geometric_mean(x.tolist()),
    lambda x: statistics.harmonic_mean([x[0], x[1], 2.0]),
    lambda x: statistics.median(x),
    lambda x: statistics.pvariance(x),
    lambda x: statistics.variance(x.tolist(), x[2]),
    lambda x: statistics.pstdev(x.tolist()),
    lambda x: statistics.stdev([a * a for a in x]),
    lambda x: statistics.covariance(x.tolist(), (x * x).tolist()),
    lambda x: statistics.correlation(x.tolist(), np.sin(3 * x).tolist()),
    lambda x: operator.getitem(x, 1) * abs(operator.floordiv(-x[0], 0.3)) + operator.mod(x[2], 0.4),
    lambda x: x[0] if operator.lt(x[3], x[0]) and operator.contains((1, 2), len(x) - 3) else x[1],
]


def weighted_mean(x):
    return statistics.fmean(x, weights=(1.0, 2.0, 0.5, 3.0, x[0]))


if sys.version_info >= (3, 11):  # Python's own has no weights before
    STATISTICS.append(weighted_mean)


@pytest.mark.parametrize("function", STATISTICS, ids=map(str, range(len(STATISTICS))))
def test_statistics_and_operators(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)


@pytest.mark.parametrize("function", [statistics.pstdev, statistics.stdev])
def test_deviations_of_equal_numbers_have_the_slope_of_numpys(function: Callable[..., Any]) -> None:
    f = grad(lambda x: function(x) * x[0], jit=False)
    np.testing.assert_array_equal(f.backward(np.array([0.5, 0.5])), [0.0, 0.0])


def test_too_few_for_statistics() -> None:
    with pytest.raises(ValueError, match="more data points"):
        grad(lambda x: statistics.stdev(x), jit=False)(X[:1])


LOG = logging.getLogger("a test")


def test_messages_of_loggers_are_left_out() -> None:
    def f(x: Any) -> Any:
        LOG.info("a sum of %f", np.sum(x))
        if x[0] > 0.4:
            logging.debug(f"{x[0]=} is large")
        for k, v in enumerate(x):
            LOG.log(logging.DEBUG, "%d: %s", k, v, extra={"k": k})
        return np.sum(x**2)

    check_grad(grad(f, jit=False), X)


def each_row(x: Any) -> Any:
    total = 0.0
    for pair in x[:4].reshape(-1, 2):
        total += np.hypot(*pair) * math.atan2(*pair)
    return total


def vectors_unpacked(x: Any) -> Any:
    return np.cross(*np.outer(x[:2], x)[:, 1:4] ** [[2], [3]])[1] + np.maximum(x[0], *x[3:4])


@pytest.mark.parametrize("function", [each_row, vectors_unpacked])
def test_as_many_are_unpacked_as_a_function_takes(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)


def test_another_number_than_a_function_takes() -> None:
    with pytest.raises(ValueError, match="values can't be unpacked into 2 names"):
        grad(lambda x: np.hypot(*x), jit=False)(X)


def weighed_twice(a, b, c=2.0, d=0.5):
    return a * b * c + d * d * a


class Universe:
    def __init__(self, rate, matter, state=-1.0, change=0.0):
        self.rate, self.matter, self.state, self.change = rate, matter, state, change

    def at(self, z, power=3.0):
        rest = (1 - self.matter) * (1 + z) ** (3 * (1 + self.state + self.change))
        return self.rate * np.sqrt(self.matter * (1 + z) ** power + rest)


@dataclasses.dataclass
class Line:
    slope: float
    start: float = 2.0


PARTLY = functools.partial(weighed_twice, 1.5)

TO_DEFAULTS: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (lambda t: weighed_twice(*t), (2, 3, 4)),
    (lambda t: weighed_twice(*t, d=t[0]), (2, 3)),
    (lambda t: weighed_twice(t[0], *t[1:]), (2, 3, 4)),
    (lambda t: Universe(*t).at(0.5), (2, 3, 4)),
    (lambda t: Universe(*t, change=0.3).at(0.5), (2, 3)),
    (lambda t: Universe(t[0], 0.3).at(*t), (1, 2)),
    (lambda t: Line(*t).slope * Line(*t).start, (1, 2)),
    (lambda t: PARTLY(*t), (1, 2, 3)),
    (lambda t: (lambda a, b=2.0: a * b * b)(*t), (1, 2)),
]


@pytest.mark.parametrize("function, numbers", TO_DEFAULTS)
def test_as_many_as_there_are_go_to_parameters_with_defaults(
    function: Callable[..., Any], numbers: tuple[int, ...]
) -> None:
    f, t = grad(function, jit=False), np.array([1.3, 0.7, 0.4, 0.2])
    for n in numbers:
        assert f(t[:n]) == pytest.approx(function(t[:n]), rel=1e-14)
        check_grad(f, t[:n])
    for n in {min(numbers) - 1, max(numbers) + 1} - {0}:
        with pytest.raises(ValueError, match="can't unpack an array of another length|not enough values|out of bounds"):
            f(np.ones(n))


def of_rows(a, b, power=2.0):
    return np.sum(a * b) ** power


@pytest.mark.parametrize("function", [lambda m: of_rows(*m), lambda m: np.sum(np.where(np.isclose(*m), m[0], m[1]))])
def test_rows_and_options_of_numpys_are_no_numbers_with_defaults(function: Callable[..., Any]) -> None:
    m = np.array([[1.0, 2.0, 4.0], [1.5, 2.0, 3.0]])
    f = grad(function, jit=False)
    assert f(m) == pytest.approx(function(m), rel=1e-14)
    check_grad(f, m[:, [0, 2]])


def of_order(a, b, p=2.0):
    return np.linalg.norm([a, b], p)


def of_order_scaled(a, b, scale=0.5, p=2.0):
    return np.linalg.norm([a, b], p) * scale


OF_ORDER = functools.partial(of_order_scaled, 1.5)

KEEP_A_DEFAULT: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (lambda t: of_order(*t), (2,)),
    (lambda t: of_order(*t) * of_order(1.0, *t[1:]), (2,)),
    (lambda t: of_order_scaled(*t), (2, 3)),
    (lambda t: OF_ORDER(*t), (1, 2)),
    (lambda t: (lambda a, p=3.0: np.linalg.norm([a, 2.0], p))(*t), (1,)),
]


@pytest.mark.parametrize("function, numbers", KEEP_A_DEFAULT)
def test_a_default_that_must_be_known_stays_what_it_is(function: Callable[..., Any], numbers: tuple[int, ...]) -> None:
    f, t = grad(function, jit=False), np.array([1.3, 0.7, 0.4, 0.2])
    for n in numbers:
        assert f(t[:n]) == pytest.approx(function(t[:n]), rel=1e-14)
        check_grad(f, t[:n])
    with pytest.raises(ValueError, match="'p' must be known when the function is compiled, so it keeps its default"):
        f(t[: max(numbers) + 1])


def test_what_is_refused_whatever_the_defaults() -> None:
    with pytest.raises(NotImplementedError, match="loadtxt"):
        grad(lambda t: (lambda a, b=2.0: np.loadtxt("a") * a * b)(*t), jit=False)(X)


def test_as_many_as_there_are_compiled() -> None:
    f = grad(lambda t: Universe(*t).at(0.5))
    for n in (2, 3, 4):
        check_grad(f, np.array([1.3, 0.7, -0.6, 0.2])[:n])


# ------------------------------------------------------------------------------------------------ copies of arguments


class Weights:
    def __init__(self, x, scale):
        self.x, self.scale = x, scale


def copied_object(p):
    q = copy.copy(p)
    q.scale = q.scale * 2.0 + p.scale
    return q.scale * q.x * p.scale


def deeply_copied_object(p):
    q = copy.deepcopy(p)
    q.scale *= p.scale
    q.x *= q.scale
    return q.x * p.x


def copied_containers(p):
    d, ys = copy.copy({"p": p.x}), copy.deepcopy([p.x, p.scale])
    d["p"] = d["p"] * p.scale
    ys[1] *= ys[0][0]
    return d["p"] * ys[1]


@pytest.mark.parametrize("function", [copied_object, deeply_copied_object, copied_containers], ids=lambda f: f.__name__)
def test_a_copy_of_an_argument_may_change(function: Callable[..., Any]) -> None:
    given = Weights(X.copy(), 1.3)
    np.testing.assert_allclose(grad(function, jit=False)(given), function(given), rtol=1e-14)
    assert given.scale == 1.3 and np.array_equal(given.x, X)
    check_grad(grad(lambda x, scale: function(Weights(x, scale)), jit=False), X, 1.3)
    given_b = grad(function, jit=False).backward(given, X)
    x_b, scale_b = grad(lambda x, scale: function(Weights(x, scale)), jit=False).backward(X, 1.3, X)
    np.testing.assert_allclose(given_b.x, x_b)
    np.testing.assert_allclose(given_b.scale, scale_b)


@pytest.mark.parametrize("given, held, copied", [
    ([X], "a list", r"ys = list\(ys\)"), ({0: X}, "a dict", r"d = dict\(d\)"),
])  # fmt: skip
def test_arguments_that_can_not_change_are_named(given: Any, held: str, copied: str) -> None:
    def changed(p):
        p[0] = p[0] * 2.0
        return p[0]

    with pytest.raises(UnsupportedError, match=rf"(?s)changes {held} that comes from outside.*{copied}"):
        grad(changed, jit=False)(given)


def bits(x, n):
    s = 0.0
    for k in range(x.size.bit_length()):
        s = s + x[k] * (n >> k & 1)
    return s * n.bit_length() + x[-1] ** 2 * (-n).bit_count() * (2 ** (n - 1).bit_length())


def whole_or_not(x, y):
    return x * y if y.is_integer() else x + y


@pytest.mark.parametrize("n", [1, 6, 13, 1024])
def test_bits_of_whole_numbers(n: int) -> None:
    f = grad(bits, jit=False)
    check_value_and_grad(f, X, n, rtol=1e-14)


def test_is_integer() -> None:
    f = grad(whole_or_not, wrt="x", jit=False)
    assert [f.backward(2.0, y) for y in (3.0, 3.5, -4.0)] == [3.0, 1.0, -4.0]
    assert f.backward(2.0, math.inf) == 1.0


def middle(x, center=np.median):
    return center(x) * x


def test_functions_of_numpy_as_arguments() -> None:
    f = grad(middle, jit=False)
    for arguments in ((X,), (X, np.mean), (X, np.max)):
        check_value_and_grad(f, *arguments, rtol=1e-7)
