"""What errors advise: they call things what the user calls them, at the line to change, and what they advise works."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.special
from scipy.optimize import brentq
from test_errors import line_of

from srcgrad import SrcgradError, grad
from srcgrad.errors import ArgumentError
from srcgrad.testing import check_grad

plain = partial(grad, jit=False)
X = np.array([0.5, 1.5, 2.5])


def sums_by_keys_of_a_run(x):
    by = {}
    for v in x:
        k = "hi" if v > 1 else "lo"
        by[k] = by.get(k, 0.0) + v * v  # here
    return by["hi"] * 2 + by["lo"]


def sums_by_default(x):
    by = defaultdict(float)
    for v in x:
        k = "hi" if v > 1 else "lo"
        by[k] += v * v  # here
    return by["hi"] * 2 + by["lo"]


def lists_by_keys_of_a_run(x):
    by = {}
    for v in x:
        k = "hi" if v > 1 else "lo"
        by.setdefault(k, []).append(v * v)  # here
    return sum(by["hi"]) * 2 + sum(by["lo"])


def sums_by_keys_made_ahead(x):
    by = {"hi": 0.0, "lo": 0.0}
    for v in x:
        k = "hi" if v > 1 else "lo"
        by[k] = by.get(k, 0.0) + v * v
    return by["hi"] * 2 + by["lo"]


def lists_by_keys_made_ahead(x):
    by = {"hi": [], "lo": []}
    for v in x:
        k = "hi" if v > 1 else "lo"
        by.setdefault(k, []).append(v * v)
    return sum(by["hi"]) * 2 + sum(by["lo"])


def roots_in_a_list(x):
    zeros = []
    for q in x:

        def residual(z):
            return np.sum(np.array([*zeros, z])) - q * q

        zeros.append(brentq(residual, -50.0, 50.0))  # here
    return zeros[-1]


def roots_in_an_object(x):
    curve = SimpleNamespace(zeros=[])
    for q in x:
        known = lambda z: np.sum(np.array([*curve.zeros, z])) - q * q
        curve.zeros.append(brentq(known, -50.0, 50.0))  # here
    return curve.zeros[-1]


def roots_in_an_array(x):
    zeros = np.zeros(len(x))
    for k in range(len(x)):
        zeros[k] = brentq(lambda z: np.sum(zeros[:k]) + z - x[k] * x[k], -50.0, 50.0)
    return zeros[-1]


def parabolic_cylinder(x):
    return np.sum(scipy.special.pbdv(1.5, x)[0])  # here


def defines_a_class(x):
    class Unit:  # here
        pass

    return x.sum()


def v_left_out_inside(x):
    return squares.backward(x).sum()  # here


squares = plain(lambda z: z**2)


class Scaled:
    def __init__(self):
        self.mean, self.work = 0.0, np.zeros(3)

    def keeps_the_mean(self, x):
        self.mean = x.mean()  # here
        return ((x - self.mean) ** 2).sum()

    def keeps_an_array(self, x):
        self.work[:] = x * x
        return (self.work * x).sum()


def three_of_four(x):
    a, b, c, d = x  # here
    return a * b * c * d


def nothing_at_times(x):  # here
    if x[0] > 0:
        return None
    return x.sum()


LETTER = "a"


def times_a_text(x):
    return LETTER * x  # here


def less_than_a_text(x):
    return x[0] < LETTER  # here


def at_a_float(x):
    return LETTER[x[0]]  # here


class Moving:
    def __init__(self, v):
        self.v = v


def velocities_of_two_types(x, of=np.float32):
    bodies = [Moving(x.astype(of)) for _ in x]
    for body in bodies:
        body.v = body.v + x  # here
    return bodies[0].v.sum()


def bound_by_a_number_first(x, bound=-np.inf):
    t = x[:1] * 1.0
    for v in x:
        if t < 1.5:
            bound = t.copy()
            t = t * 2.0
        elif bound != -np.inf:  # here
            t = (t + bound) / v
    return t.sum()


def bound_by_a_number_on_a_path(x):
    bound = -np.inf
    if x[0] > 0.0:
        bound = x.copy()
    return np.sum(bound * x)  # here


def far_apart(x, bonds=None):
    near = {(min(i, j), max(i, j)) for i, j in (BONDS if bonds is None else bonds)}
    return sum((x[i] - x[j]) ** 2 for i in range(3) for j in range(i) if (j, i) not in near)


def set_of_a_run(x):
    near = {int(v) for v in x}  # here
    return x[0] if 1 in near else x[1]


def by_objects(x):
    parts = [SimpleNamespace(v=value) for value in (x[0], x[1])]
    by = {
        part: 2.0 * part.v  # here
        for part in parts
    }
    return by[parts[0]]


def set_of_lists(x):
    near = {(1, [2, 3])}  # here
    return x[0] * len(near)


BONDS = [(1, 0), (1, 2)]
ALL_KEYS = "by gets other keys .*help: make it with all of its keys ahead of the branch:  by = "


def along_each_axis(x):
    u = np.outer(x, x)
    return sum(np.sum(np.roll(u, 1, axis=m) * u) for m in range(len(x) - 1))  # here


def parts_of_an_array(x):
    state = tuple(x)
    for _ in range(len(x) - 1):
        a, b, c = state  # here
        state = (a + b, a * b, c)
    return state[0] * state[2]


def parts_taken_first(x):
    state = x
    a, b, c = state
    state = (a, b, c)
    for _ in range(len(x) - 1):
        a, b, c = state
        state = (a + b, a * b, c)
    return state[0] * state[2]


AT_A_LINE: list[tuple[Callable[..., Any], str]] = [
    (sums_by_keys_of_a_run, ALL_KEYS + re.escape("{'hi': 0.0, 'lo': 0.0}")),
    (sums_by_default, ALL_KEYS + re.escape("{'hi': 0.0, 'lo': 0.0}")),
    (lists_by_keys_of_a_run, ALL_KEYS + re.escape("{'hi': [], 'lo': []}")),
    (parabolic_cylinder, "pbdv is not supported: .*help: .* give it its derivative:  @srcgrad.rule"),
    (defines_a_class, "help: define it outside of the function"),
    (v_left_out_inside, "v is needed"),
    (Scaled().keeps_the_mean, r"name of its own.*:  mean = .*array that the object has:  self\.mean\[:\] = "),
    (three_of_four, "3 values can't be unpacked into 4 names"),
    (nothing_at_times, "nothing_at_times returns None on the path taken, which has no derivative"),
    (times_a_text, "can't multiply sequence by non-int of type 'numpy.ndarray'"),
    (less_than_a_text, "'<' not supported between instances of 'numpy.float64' and 'str'"),
    (at_a_float, r"string indices must be integers(, not 'numpy.float64')?\n"),
    (velocities_of_two_types, r"help: let it be of one kind from the beginning:  v\.astype\(np\.float64\)"),
    (bound_by_a_number_first, r"bound is a number at the beginning.*help: .*:  bound = np\.full_like\(x, bound\)"),
    (bound_by_a_number_on_a_path, r"bound is of another kind by the path.*:  bound = np\.full_like\(x, bound\), where"),
    (set_of_a_run, "the items of a set, are known when f is compiled.* f reads from outside, arguments in static="),
    (by_objects, r"which SimpleNamespace this is, only a run tells.*\^{4}\n.*help: .*text that .*d\[o\.name\]"),
    (set_of_lists, "unhashable type: 'list'"),
    (along_each_axis, r"axis must be a constant integer(.|\n)*help: .*index of a loop.*for axis in range\(2\)"),
    (
        parts_of_an_array,
        r"of another kind.*beginning: a tuple of 3 items, .*length only a run tells.*\n.*help: .*  a, b, c = state;",
    ),
    (roots_in_an_object, "reads curve.zeros, a list .*help: keep the numbers in an array that the function reads"),
    (roots_in_a_list, "reads zeros, a list .*help: keep the numbers in an array:  zeros = "),
]


@pytest.mark.parametrize(("function", "words"), AT_A_LINE, ids=lambda row: getattr(row, "__name__", ""))
def test_at_the_line_to_change(function: Callable[..., Any], words: str) -> None:
    number, _ = line_of(function, "# here")
    with pytest.raises(SrcgradError, match="(?s)" + words) as caught:
        plain(function).backward(X)
    assert f"line {number}" in str(caught.value)


def test_an_axis_among_the_arguments_is_called_by_its_name() -> None:
    def rolled(x, along):
        return np.sum(np.roll(x, 1, axis=along) * x)

    with pytest.raises(SrcgradError, match=r"@grad\(static=\('along',\)\)"):
        plain(rolled).backward(X, np.array(0)[()] + 0)
    assert plain(rolled, static="along").backward(X, 0).shape == X.shape


def test_what_is_computed_once_from_an_argument() -> None:
    def gauss(x, n):
        t, w = np.polynomial.legendre.leggauss(n)
        return np.sum(w * np.sin(x[0] * t))

    with pytest.raises(SrcgradError, match=r"leggauss is not supported(.|\n)*computed once:  @grad\(static="):
        plain(gauss, wrt="x").backward(X, 5)
    assert plain(gauss, wrt="x", static="n").backward(X, 5).shape == X.shape


def test_axes_by_an_argument() -> None:
    def filled(x, n):
        return np.full((2,) * n, x[0]).sum()

    with pytest.raises(SrcgradError, match=r"how many axes .* only known at run time\n(.|\n)*@grad\(static="):
        plain(filled).backward(X, 3)
    assert plain(filled, static="n").backward(X, 3).tolist() == [8.0, 0.0, 0.0]


def test_what_is_advised_works() -> None:
    of_sums = X * [2, 4, 4]
    assert plain(sums_by_keys_made_ahead).backward(X).tolist() == of_sums.tolist()
    assert plain(lists_by_keys_made_ahead).backward(X).tolist() == of_sums.tolist()
    np.testing.assert_allclose(plain(Scaled().keeps_an_array).backward(X), 3 * X * X, rtol=1e-14)
    check_grad(plain(parts_taken_first), X)
    check_grad(plain(lambda x: velocities_of_two_types(x, np.float64)), X)
    check_grad(plain(lambda x: bound_by_a_number_first(x, np.full_like(x[:1], -np.inf))), X)
    assert plain(far_apart, static="bonds").backward(X, ((0, 1), (1, 2))).tolist() == [-4.0, 0.0, 4.0]
    assert plain(far_apart).backward(X).tolist() == [-4.0, 0.0, 4.0]
    assert plain(roots_in_an_array).backward(X) == pytest.approx([0.0, -3.0, 5.0])


@dataclass
class Pair:
    one: Any
    other: Any


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2,
        lambda x: (x * 2, x.sum()),
        lambda x: (x, "done", 3, None, [x.sum(), (x,)]),
        lambda x: {"a": x.sum(), "b": {"c": x}},
        lambda x: Pair(x, x.sum()),
        lambda x: [v * v for v in x],
        lambda x: (x * 1j).sum(),
    ],
)
def test_a_v_of_ones_is_said_as_it_works(function: Callable[..., Any]) -> None:
    f, y = plain(function), function(X)
    with pytest.raises(ArgumentError, match=r"v is needed(?s:.*)f.backward\(x, ") as caught:
        f.backward(X)
    (help,) = caught.value.help
    v = eval(help.partition("f.backward(x, ")[2].removesuffix(")"), {"np": np, "y": y, "Pair": Pair})
    assert f.backward(X, v).shape == X.shape
    _, pullback = f.vjp(X)
    with pytest.raises(ArgumentError, match=r"e\.g\. ones:  pullback\(") as caught:
        pullback()
    assert type(caught.value) is ArgumentError
    assert "x.shape" not in str(caught.value)


@pytest.mark.parametrize("result", ["hi", 3, True])
def test_a_result_without_a_derivative(result: Any) -> None:
    with pytest.raises(ArgumentError, match="the output of .* which has no derivative"):
        plain(lambda x: result).backward(X)


@pytest.mark.parametrize(
    ("given", "help"),
    [
        (3, "pass a float:  float(q)"),
        (True, "pass a float:  float(q)"),
        (np.arange(3), "pass floats:  q.astype(float)"),
        ({"a": 3, "b": 2}, "pass q with floats in it:  1.0, not 1"),
        (Fraction(1, 2), "pass float(q)"),
        ("text", None),
    ],
)
@pytest.mark.parametrize("wrt", [None, "q"])
def test_floats_in_the_place_of_ints(given: Any, help: str | None, wrt: str | None) -> None:
    with pytest.raises(ArgumentError) as caught:
        plain(lambda q: 2.5, wrt=wrt).backward(given)
    assert caught.value.help == (() if help is None else (help,))


def test_methods_are_called_what_the_user_calls_them() -> None:
    with pytest.raises(ArgumentError, match=r"\.vjp: too many positional arguments"):
        squares.vjp(1.0, 2.0)
    with pytest.raises(AttributeError, match="'GradFunction' object has no attribute 'forward'"):
        _ = squares.forward


def test_the_order_of_decorators() -> None:
    with pytest.raises(ArgumentError, match="not a classmethod(?s:.*)help: write @grad under @classmethod"):

        class _(Scaled):
            @plain
            @classmethod
            def make(cls, x):
                return x
