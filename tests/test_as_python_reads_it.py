"""What Python does where one might think of something else: reflected methods, patterns, enumerations, order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.7, -1.3, 0.4, 1.1])


class Kind(str, Enum):  # noqa: UP042 - this is what one meets
    LINEAR = "linear"
    SQUARE = "square"


def by_text(x, kind):
    return x**2 if kind == "square" else 3.0 * x


def by_member(x, kind):
    return x**2 if kind is Kind.SQUARE else 3.0 * x


@pytest.mark.parametrize("function", [by_text, by_member])
def test_enumerations_are_arguments(function: Callable[..., Any]) -> None:
    f = grad(function, wrt="x", jit=False)
    for kind in (Kind.SQUARE, Kind.LINEAR, Kind.SQUARE):
        np.testing.assert_array_equal(f(X, kind), function(X, kind))
        check_grad(f, X, kind)


class Amount:
    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        if not isinstance(other, Amount):
            return NotImplemented
        return Amount(self.a + other.a)

    def __eq__(self, other):
        if not isinstance(other, Amount):
            return NotImplemented
        return True

    __hash__ = None  # type: ignore[assignment]


class Other:
    def __init__(self, b):
        self.b = b

    def __radd__(self, amount):
        return amount.a * self.b


def not_implemented(x):
    s = Amount(x[0]) + Other(x[1])
    if Amount(x[0]) == 3.0 or Amount(x[0]) == "text":
        s = s * 2.0
    if Amount(x[0]) != None and Amount(x[0]) == Amount(x[1]):  # noqa: E711
        s = s + x[2]
    return s


@dataclass
class Circle:
    r: float
    name: str = "c"


class Side(Enum):
    LEFT = 0
    RIGHT = 1
    TOP = 2


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __contains__(self, v):
        return self.low <= v and v < self.high


def members_of_enumerations(x):
    s = sum(x[level] for level in Level) * len(Side)
    for side in Side:
        s += x[side.value] * (2.0 if side is Side.LEFT else 1.0)
    named = {side: x[side.value] ** 2 for side in Side}
    left, *_ = Side
    return s * named[Side.TOP] + named[left] + (x[3] if Side.TOP in list(Side) else 0.0)


def members_by_a_method(x):
    some, s = Interval(x[1], x[0]), 0.0
    for v in x:
        if v in some:
            s += v * v
        if v * 2.0 not in some:
            s += 5.0 * v
    return s + (x[0] if 3 in Interval(0, 3) else x[1])


class Pair(NamedTuple):
    a: float
    b: float


def positional_patterns(x):
    s = 0.0
    for shape in (Circle(x[0]), Pair(x[1], 2.0), 3.0 * x[2], Circle(x[3], "d")):
        match shape:
            case Circle(r, "c"):
                s += r * r
            case Circle(name="d", r=r):
                s += 10.0 * r
            case Pair(a, 2.0):
                s += a * 3.0
            case float(number):
                s += number
            case _:
                s += shape * x[0]
    return s


@dataclass
class Square:
    side: float
    at: tuple[float, float] = (0.0, 0.0)


def patterns_with_two_ways_to_a_name(x):
    s, t = 0.0, x[0]
    options = {"kind": "a", "w": x[1], "b": x[2]}
    for item in (7, 2.5, Circle(t), Square(2.0 * t), Square(x[1], (t, 3.0)), (x[2], 0), (0, x[3]), (t, t), options):
        match item:
            case int(k) | float(k):
                s += k * x[0]
            case Circle(r) | Square(r, (0.0, 0.0)):
                s += r * r
            case Square(at=(r, _)):
                s += 5.0 * r
            case (r, 0) | (0, r):
                s += r**3
            case (r, _) as pair:
                s += r * pair[1]
            case {"kind": "b", **others}:
                s += 1e9
            case {"kind": str(kind), **others}:
                options["w"] = 1e9  # others is a dict of its own
                s += sum(v * v for v in others.values()) * len(kind)
    return s


def patterns_decided_in_the_run(x, n):
    match (x[0], n, 3.0 * x[1]):
        case (r, 0, _) | (_, 1, r) | (r, _, _):
            return r * r * (1 + n) + x[2]


def partials_hold_what_was(x):
    s, out = x[0], 0.0
    for i in range(3):
        p = functools.partial(lambda a, b: a * b, s)
        s += x[i]
        out += p(x[i])
    q = functools.partial(np.multiply, 2.0 * x)
    x[1] = 5.0
    return out + np.sum(q(x[0]))


def doubles(x):
    x *= 2.0
    return x[1]


def combined(a, b=0.0, c=0.0):
    return a * 2.0 + b * 3.0 + c


def keywords_in_their_order(x):
    s = combined(x[0], b=doubles(x), c=x[2])
    t = combined(c=x[1], b=doubles(x), a=x[0])
    return s * t + (3.0 * x).dot(doubles(x) * x) + sum([x[0], 2.0] + [doubles(x)])


def owner_of_an_index(x):
    return (2.0 * x)[int(doubles(x) * 0.0)] * (x[0], x[1])[int(doubles(x) * 0.0)]


def containers_in_place(x):
    d = {"k": {"a": x[0]}}
    e, inner = d, d["k"]
    d |= {"b": x[1]}
    d["k"] |= {"c": x[2]}
    ys = [x[0], x[1], x[2], x[3]]
    ys += x
    return e["b"] * inner["c"] * np.sum(ys) * len(ys)


@dataclass
class Point:
    x: float
    y: float = field(compare=False, default=0.0)


def fields_that_count(x):
    p, q = Point(x[0], x[1]), Point(x[0], x[2])
    p.cache = x[3]
    return x[0] * 2.0 if p == q else x[1]


def whole_numbers_rounded(x):
    n = int(100.0 * x[0])
    ns = np.round(np.array([24, 15, -36, 25]), -1)
    return x * (round(n, -1) + round(25, -1) + round(-15, -1)) + np.sum(ns) * x + round(x[1], ndigits=1)


def compared_with_none(x):
    best = None
    for k in range(len(x)):
        if best == None or x[k] > best:  # noqa: E711
            best = x[k]
    return best * 2.0 if best != None else 0.0  # noqa: E711


class Plain:
    cache = None

    def __init__(self, a):
        self.a = a

    def value(self):
        return self.a if self.cache is None else self.cache


def attribute_of_the_class_that_is_none(x):
    return Plain(x[0] * x[1]).value()


def repeated_named_tuple(x):
    made = Pair(x[0], x[1]) * 2
    return made[3] * len(made) if not isinstance(made, Pair) else x[2]


def stars_ahead_of_calls(x):
    return sum([*x, doubles(x)]) + (*x, doubles(x), *x)[1] * np.sum(np.stack([*x, doubles(x)]))


def numbers_added_at_places(x):
    np.add.at(x, [0, 1], x[0] * 3.0)
    np.multiply.at(x, [1, 2], x[1])
    np.subtract.at(x, slice(0, 2), x[0] + x[1])
    return np.sum(x * x)


RIGHT = [
    members_of_enumerations, members_by_a_method,
    stars_ahead_of_calls, numbers_added_at_places,
    not_implemented, positional_patterns, patterns_with_two_ways_to_a_name, partials_hold_what_was,
    keywords_in_their_order, owner_of_an_index, containers_in_place, fields_that_count, whole_numbers_rounded,
    compared_with_none, attribute_of_the_class_that_is_none, repeated_named_tuple,
]  # fmt: skip


@pytest.mark.parametrize("function", RIGHT)
def test_as_python(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    mine, theirs = X.copy(), X.copy()
    np.testing.assert_allclose(f(mine), function(theirs), rtol=1e-14)
    np.testing.assert_array_equal(mine, theirs)
    check_grad(f, X)


class Box:
    """Of a module, or the `self` of a method: it may change between calls."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        return self.items[k] * 2.0

    def __add__(self, other):
        return self.items[0] + other.items[0]

    def __eq__(self, other):
        return self.items[0] == other.items[0]

    __hash__ = None  # type: ignore[assignment]


box, other_box = Box([1.0, 2.0]), Box([3.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * len(box),
        lambda x: x * box[0],
        lambda x: x * (box + other_box),
        lambda x: x if box == other_box else 2.0 * x,
        lambda x: x if box else 3.0 * x,
    ],
    ids=["length", "item", "sum", "equality", "truth"],
)
def test_objects_from_outside_are_read_at_every_call(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    f = grad(function, jit=False)
    for items in ([1.0, 2.0], [3.0], [], [5.0, 1.0, 2.0]):
        monkeypatch.setattr(box, "items", items)
        try:
            want = function(1.5)
        except IndexError:
            continue
        assert f(1.5) == want


class Item:
    def __init__(self, a):
        self.a = a

    def __lt__(self, other):
        return self.a > other.a


def test_objects_are_not_sorted_by_their_attributes() -> None:
    with pytest.raises(UnsupportedError, match="the order"):
        grad(lambda x: sorted([Item(x[0]), Item(x[1])])[0].a, jit=False)(X)


@dataclass
class Model:
    weight: float
    offset: np.ndarray
    scale = 1.0  # of the class, if the object has no other

    def __post_init__(self):
        self.twice = 2.0 * self.weight
        self.kept = {}

    def predict(self, x):
        return self.weight * self.scale * x + self.twice * self.offset


def test_attributes_of_a_dataclass_that_are_no_fields() -> None:
    model = Model(1.5, np.array([0.5, 2.0]))
    f = grad(lambda model, x: model.predict(x) * getattr(model, "extra", 7.0), jit=False)
    v = np.array([1.0, -2.0])
    np.testing.assert_allclose(f(model, X[:2]), model.predict(X[:2]) * 7.0)
    model.scale, model.extra = 5.0, 3.0
    np.testing.assert_allclose(f(model, X[:2]), model.predict(X[:2]) * 3.0)
    slopes, _ = f.backward(model, X[:2], v)
    assert slopes.weight == pytest.approx(15.0 * v @ X[:2])
    assert slopes.twice == pytest.approx(3.0 * v @ model.offset)
    assert slopes.scale == pytest.approx(4.5 * v @ X[:2])


def what_patterns_find(x: Any) -> Any:
    s = 0.0
    for item in ([1, 2, 3], (4,), [], [5, 6], [0, 1, 2, 3], {"scale": 2, "by": x[0]}, {"other": 1}, "text", 3, x):
        match item:
            case []:
                s += 1.0
            case [a]:
                s += a * x[0]
            case [0, *middle, _]:
                s += middle[1] * x[1] + len(middle)
            case [a, *_, b] if a > 4:
                s += b * x[1]
            case [*first, b]:
                s += b * x[2] * len(first) + sum(first)
            case {"scale": n, "by": factor}:
                s = s * factor + n
            case {"by": _}:
                s += 1e9
            case str():
                s *= 2.0
            case int(k):
                s += k
            case _:
                s += int("ff", 16) + float(" 1.5") * x[int("1")] * np.float64("2")
    return s


def test_patterns_of_sequences_and_dicts() -> None:
    x = np.array([0.5, -1.3, 2.2])
    f = grad(what_patterns_find, jit=False)
    check_value_and_grad(f, x, rtol=1e-14)


def members_of_ranges(x, n, step):
    s = 0.0
    for i in range(-3, n + 3):
        if i in range(1, n, 2):
            s += x[i % n]
        if i not in range(0, 4):
            s += 2.0 * x[i % n]
        if i in range(n, -2, -3):
            s += 5.0 * x[i % n]
        if i in range(n - 1, 0, step):
            s += 7.0 * x[i % n]
        if i in range(0, n, -step):
            s += 11.0 * x[i % n]
    return s


def methods_as_functions(x, n, step):
    return np.ndarray.sum(x) * n + sum(map(np.ndarray.max, [x, x * step])) + np.ndarray.reshape(x, (2, -1))[1, 0]


@pytest.mark.parametrize("function", [members_of_ranges, methods_as_functions])
@pytest.mark.parametrize("step", [-2, 3])
def test_ranges_by_steps_and_methods_as_functions(function: Any, step: int) -> None:
    x = np.linspace(0.3, 2.0, 6)
    f = grad(function, jit=False, wrt="x")
    check_value_and_grad(f, x, 6, step, rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_name_of_the_pattern_that_matches_in_the_run(n: int) -> None:
    f = grad(patterns_decided_in_the_run, jit=False, wrt="x")
    check_value_and_grad(f, X, n, rtol=1e-7)


def scaled_by_a_power_of_two(x, k):
    return x * (2**k)


@pytest.mark.parametrize("k", [0, 1, 40, 62])
@pytest.mark.parametrize("jit", [True, False])
def test_powers_of_two(k: int, jit: bool) -> None:
    f = grad(scaled_by_a_power_of_two, wrt="x", jit=jit)
    assert f(1.5, k) == 1.5 * 2**k
    assert f.backward(1.5, k) == 2.0**k
