"""Texts, functions and None of which the path taken chooses one, and items under keys that only the run tells."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support import Leaky, check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

NAMES = ("lift", "drag", "lift")
LAMINAR = "laminar"
FUNCTIONS = [np.sin, np.cos, np.tanh]
POWERS = {1: 2.0, 4: 0.5}
BY_PAIR = {(1, 2): (1.5, 2.0), (3, 4): (0.5, -1.0)}
SPECIAL = {2, 3}
FEW = frozenset({1, 4})


def regime(r):
    if r < 1:
        return "laminar"
    if r < 2:
        return "transition"
    return "turbulent"


def friction(x, kind):
    if kind == "laminar":
        return 64 * x
    if kind not in ("transition", "turbulent"):
        raise ValueError(f"no friction for {kind}")
    return x**2 if kind == "transition" else np.sqrt(x)


# ------------------------------------------------------------------------------------------------------ texts


def in_a_branch(x, n):
    mode = "small"
    if n > 1:
        mode = "large"
    if mode == "large":
        return x * 3
    return x * x


def three_of_them(x, n):
    mode = None
    if n > 2:
        mode = "a"
    elif n > 1:
        mode = "b"
    if mode is None:
        return x
    return x * 2 if mode == "a" else x**3


def conditional(x, n, here="p", there="q"):
    mode = here if n > 1 else there
    if mode == "p":
        return x * 2
    elif mode == "q":
        return x * x
    return x * 100


def of_a_function(x, n):
    return friction(x, regime(n))


def asked_of_a_function(x, n):
    kind = regime(n)
    if kind != "laminar" and not kind.startswith("tr"):
        x = x * 2
    return x * len(kind) + (kind in ("laminar", "other"))


def in_a_tuple(x, n):
    mode, factor = ("p", 2.0) if n > 1 else ("q", 3.0)
    pair = (mode, factor)
    if pair == ("p", 2.0):
        return x * x
    return x * pair[1]


def in_a_dict(x, n):
    state = {"mode": "off", "count": 1}
    if n > 1:
        state["mode"] = "on"
    return x * x if state["mode"] == "on" else x * state["count"]


class Machine:
    def __init__(self):
        self.state = "start"
        self.last = None

    def step(self, x):
        if self.state == "start":
            self.state = "run"
            return x * 2
        change = 0.0 if self.last is None else x - self.last
        self.last = x
        if x > 4:
            self.state = "end"
        return x + 1 + change**2


def state_of_an_object(x, n):
    machine = Machine()
    for _ in range(n):
        x = machine.step(x)
    return x if machine.state != "end" else x * 10


def round_a_loop(x, n):
    mode = "a"
    for _ in range(n):
        if mode == "a":
            x = x * 2
            mode = "b"
        elif mode == "b":
            x = x * x
            mode = "c"
        else:
            x = x + 1
            mode = "a"
    return x if mode == "a" else 3 * x


def exchanged(x, n):
    one, other = "u", "v"
    for _ in range(n):
        one, other = other, one
        if one == "u":
            x = x * x
        else:
            x = x + 1
    return x


def until_it_ends(x, n):
    state, k = "start", 0
    while state != "end":
        if state == "start":
            state = "middle"
            x = x * x
        else:
            x = x + 0.5
            k += 1
            if k > n:
                state = "end"
    return x


def in_an_unrolled_loop(x, n):
    for mode in ("a", "b", "c"):
        if n > 1:
            mode = "z"
        if mode == "z" or mode == "b":
            x = x * x
    return x


def in_a_nested_branch(x, n):
    mode = "q"
    if n > 0:
        x = x * 2
        if n > 1:
            mode = "p"
            if n > 2:
                mode = "r"
    return {"p": 2.0, "q": 5.0, "r": -1.0}[mode] * x


def the_same_object(x, n):
    mode = regime(n)
    return x * x if mode is LAMINAR else x


def bound_on_one_path(x, n):
    if n > 0:
        mode = "a" if n > 2 else "b"
        pair = (x, mode)
    if n > 0 and mode == "a":
        return x * x
    return x * 3 if n > 1 and pair[1] == "b" else x


def first_in_a_loop(x, n):
    for k in range(n):
        word = "even"
        pair = (x * k, "a" if k > 1 else "b", np.sin)
    if n > 0 and word == "even" and pair[1] == "a":
        return pair[2](pair[0])
    return x


def of_the_iteration_before(x, n):
    s = x
    for k in range(n):
        if k > 0 and mode == "a":  # noqa: F821
            s += pair[0] * (2 if pair[1] == "odd" else 3)  # noqa: F821
        mode = "a" if k != 1 else "b"  # noqa: F841
        pair = (x * k, "odd" if k % 2 else "even")  # noqa: F841
    return s


def beside_the_best(x, n):
    best = None
    for k in range(n):
        if best is None or x * k > best[0]:
            best = (np.sin(x * k), "odd" if k % 2 else "even")
    if best is None:
        return x
    return best[0] * 2 if best[1] == "odd" else best[0] * 3


class Kind(enum.Enum):
    A = 1
    B = 2


def members_of_an_enumeration(x, n):
    kind = Kind.A if n > 1 else Kind.B
    if kind is Kind.A:
        return x * x
    return x * kind.value


def matched(x, n):
    match regime(n):
        case "laminar":
            return x * x
        case "turbulent" | "other":
            return x * 2
    return x


def in_a_list(x, n):
    kinds = [regime(0.7 * k * n) for k in range(3)]
    kinds.append(regime(n))
    for kind in kinds:
        x = x * x if kind == "transition" else x + 0.5
    return x * kinds.count("laminar") + (kinds[-1] == "turbulent")


def of_a_function_of_its_own(x, n):
    def steps(x, mode, n):
        if n <= 0:
            return x
        return steps(x * x if mode == "p" else x + 1, "q" if mode == "p" else "p", n - 1)

    return steps(x, "p", n)


def up_and_down(x, n):
    i, mode = 0, "up"
    while True:
        if mode == "up":
            i += 1
            if i > n:
                mode = "down"
                continue
            x = x * 1.1
        elif mode == "down":
            i -= 1
            if i < 0:
                break
            x = x + 0.1 * x * x
    return x


def equal_as_python_has_it(x, n):
    if {"a": x} == {"b": x} or [x, 2.0] == (x, 2.0):
        return x
    if {"a": x, "b": n} == {"b": n, "a": x} and [x, n] == [x, n]:
        return x * x
    return x


# -------------------------------------------------------------------------------------------------- functions


def a_function_by_the_path(x, n):
    f = np.sin if n > 1 else np.cos
    return f(x) * 2


def one_of_two_lambdas(x, n):
    f = (lambda u: u * x) if n > 1 else (lambda u: u - 7)
    return f(x) + 1


def none_or_a_function(x, n):
    f = None
    if n > 1:
        f = np.sin
    elif n > 0:
        f = np.cos
    if f is not None and x > 0:
        return f(x)
    return x * 7


def alternating(x, n):
    f = np.sin
    for _ in range(n):
        x = x + f(x)
        f = np.cos if f is np.sin else np.sin
    return x


def two_of_its_own(x, n):
    def shrink(u):
        return 0.5 * u * x

    def grow(u):
        return u + x

    f = shrink
    for _ in range(n):
        x = x * 0.9 + 0.1 * f(x)
        f = grow if f is shrink else shrink
    return x


def two_at_once(x, n):
    f, slope = (np.sin, np.cos) if n > 1 else (np.exp, np.exp)
    for _ in range(3):
        x = x - 0.1 * f(x) / slope(x)
    return x


def reductions(x, n):
    values = np.array([x, 2 * x, x * x])
    total = np.sum if n > 1 else np.max
    return total(values) * getattr(np, {"add": "exp", "mul": "sin"}["add" if n > 2 else "mul"])(x)


def at_a_place(x, n):
    s = 0.0
    for k in range(n):
        s = s + FUNCTIONS[k % 3](x) * (2 if NAMES[k - 3] == "lift" else 5)
    return s


def under_a_condition(x, n):
    """What is not reached raises nothing: there are three functions, and no power of 0."""
    y = x + (FUNCTIONS[n](x) if n < 3 else x * x)
    if n > 3 or (n < 3 and FUNCTIONS[n](y) > 0.5 and regime(n) != "turbulent"):
        y = y * x
    return y * ((n == 1 and POWERS[n]) or 0.25)


def in_one_expression(x, n):
    return (np.sin if n > 1 else np.cos)(x) * {"laminar": 2.0, "transition": 3.0, "turbulent": 4.0}[regime(n)]


# ----------------------------------------------------------------------------------------------- sets and keys


def in_a_set(x, n):
    if n in SPECIAL:
        return x * x
    if regime(n) in {"laminar", "transition"} and n not in {0, 7}:
        return x + 1
    return x * 3 if n not in FEW else x


def in_an_array(x, n):
    values = np.array([x, 0.0, 2 * x])
    if n > 1:
        values[1] = x
    if n in np.array([0, 3]):
        x = x + 1
    return x * x if 0.0 in values else x


def in_a_range(x, n):
    s = x
    for k in range(n + 2):
        if k in range(1, n):
            s = s * x
        if k not in range(n):
            s += 1
    return s


def in_a_list_that_grows(x, n):
    seen, s = [], 0.0
    for k in range(n + 4):
        rest = (k * k) % 5
        if rest in seen:
            s += x * x
        else:
            seen.append(rest)
            s += x
    return s


def under_a_key(x, n):
    if n not in POWERS:
        return x
    return x ** POWERS[n]


def under_a_pair(x, n):
    if (n, n + 1) not in BY_PAIR:
        return x
    factor, offset = BY_PAIR[n, n + 1]
    return x * x * factor + offset


def none_in_a_tuple(x, n):
    pair = (None, 1.0) if n > 1 else (2.0, 3.0)
    if pair[0] is None:
        return x * x
    return x * pair[0] + pair[1]


def found_or_none(x, n):
    def find(limit):
        for k in range(5):
            if x * k > limit:
                return x * k
        return None

    found = find(n)
    return x if found is None else found * x


PROGRAMS = [
    in_a_branch,
    three_of_them,
    conditional,
    of_a_function,
    asked_of_a_function,
    in_a_tuple,
    in_a_dict,
    state_of_an_object,
    round_a_loop,
    exchanged,
    until_it_ends,
    in_an_unrolled_loop,
    in_a_nested_branch,
    the_same_object,
    members_of_an_enumeration,
    matched,
    in_a_list,
    of_a_function_of_its_own,
    up_and_down,
    equal_as_python_has_it,
    bound_on_one_path,
    first_in_a_loop,
    of_the_iteration_before,
    beside_the_best,
    a_function_by_the_path,
    one_of_two_lambdas,
    none_or_a_function,
    alternating,
    two_at_once,
    two_of_its_own,
    reductions,
    at_a_place,
    in_one_expression,
    under_a_condition,
    in_a_set,
    in_an_array,
    in_a_range,
    in_a_list_that_grows,
    under_a_key,
    under_a_pair,
    none_in_a_tuple,
    found_or_none,
]


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_path_tells(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for n in range(5):
        check_value_and_grad(f, 1.3, n, rtol=1e-14)


@pytest.mark.parametrize(
    "function", [state_of_an_object, round_a_loop, at_a_place, under_a_pair, found_or_none, in_a_list_that_grows]
)
def test_the_path_tells_compiled(function: Callable[..., Any]) -> None:
    f = grad(function)
    for n in (0, 1, 3):
        check_value_and_grad(f, 1.3, n, rtol=1e-14, at_once=True)


def test_comparisons_ask_for_a_number() -> None:
    text = grad(in_a_branch, jit=False).source(1.3, 2, kind="primal")
    assert "mode = 0 if n > 1 else 1" in text and "mode == 0" in text


def of_arrays(x, w, n):
    mode, scale = "tanh", np.tanh
    if n > 1:
        mode, scale = "relu", lambda u: np.maximum(u, 0.0)
    y = scale(x @ w)
    if mode == "relu":
        y[0] *= 2.0
    return y


@pytest.mark.parametrize("n", [1, 2])
def test_arrays(n: int) -> None:
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(4, 3)), rng.normal(size=(3, 2))
    f = grad(of_arrays, jit=False)
    assert np.allclose(f(x, w, n), of_arrays(x, w, n), rtol=1e-14)
    check_grad(f, x, w, n)


# ------------------------------------------------------------------------------------------------------- errors


def shown(x, n):
    kind = regime(n)
    print("it is", kind)
    if n > 2:
        raise ValueError(f"{kind} at {n}")
    return x


def test_messages(capsys: pytest.CaptureFixture[str]) -> None:
    f = grad(shown, jit=False)
    for n, kind in enumerate(["laminar", "transition", "turbulent"]):
        assert f(1.3, n) == 1.3
        assert capsys.readouterr().out == f"it is {kind}\n"
    with pytest.raises(ValueError, match="turbulent at 3"):
        f(1.3, 3)


@pytest.mark.parametrize("jit", [False, True])
def test_there_is_no_such_item(jit: bool) -> None:
    with pytest.raises(KeyError):
        grad(lambda x, n: x * POWERS[n], jit=jit)(1.3, 2)
    for n in (3, -4):
        with pytest.raises(IndexError):
            grad(lambda x, n: FUNCTIONS[n](x), jit=jit)(1.3, n)


def a_text_or_a_number(x, n):
    y = "none"
    if n > 1:
        y = 2.0
    return x if y == "none" else x * 2


def a_loop_over_one_of_two(x, n):
    for letter in regime(n):
        x = x * (2 if letter == "t" else 3)
    return x


def another_in_each_iteration(x, n):
    f = np.sin
    for k in range(n):
        x = f(x)
        f = lambda u, k=k: u * k
    return x


def behind_a_change(x, n):
    places = [0, 1, n]
    return places.pop() * x + FUNCTIONS[places.pop() * n % 3](x)


def a_row_that_changes_later(x, n):
    rows = [[x, 2.0], [3.0, x * x]]
    row = rows[n % 2]
    rows[0][0] = 7.0
    return row[0] * x + row[1]


def an_object_that_changes_later(x, n):
    machines = [Machine(), Machine()]
    machine = machines[n % 2]
    machines[0].state = "end"
    return x if machine.state == "end" else x * x


REFUSED = [
    (a_row_that_changes_later, "row is a list that is an item of another one, and was changed there"),
    (an_object_that_changes_later, "one of several objects is chosen by a number that is only known at run time"),
    (behind_a_change, "this needs one thing, and it is sin, cos or tanh, by the path taken"),
    (another_in_each_iteration, "f stands for another text or function in each iteration"),
    (lambda x, n: np.sin if n > 2 else np.cos, "the result is sin or cos, by the path taken"),
    (a_text_or_a_number, "y is of another kind by the path taken"),
    (a_loop_over_one_of_two, "this needs one thing, and it is 'laminar', 'transition' or 'turbulent'"),
]


@pytest.mark.parametrize("function, message", REFUSED)
def test_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        grad(function, jit=False)(1.3, 2)


def defaults_by_the_path(x, n):
    g = lambda v, q=0.5: v * q  # noqa: E731
    if n > 2:
        g = lambda v, q=2.0: v - q * v * v  # noqa: E731
    return g(x) + g(x, x)


def defaults_in_a_loop(x, n):
    def g(v, q=0.5):
        return v * q

    total = 0.0
    for k in range(n):
        total += g(x) * k
        if k > 1:

            def g(v, q=3.0):
                return v + q

    return total


@pytest.mark.parametrize("function", [defaults_by_the_path, defaults_in_a_loop])
def test_functions_with_defaults(function: Any) -> None:
    f = grad(function, jit=False)
    for n in (1, 4):
        check_value_and_grad(f, 0.7, n, rtol=1e-14)


@dataclass
class Weights:
    w: np.ndarray
    b: float


SLIGHT, STEEP = Leaky(0.1), Leaky(0.7)
LIGHT, HEAVY = (Weights(np.full(2, w), 1.5 * w) for w in (2.0, 3.0))


def one_that_is_said_to_be_equal(x, n):
    if n > 2:
        activation = SLIGHT
    else:
        activation = STEEP
    return activation(-x)


def one_that_holds_arrays(x, n):
    if n > 2:
        weights = LIGHT
    else:
        weights = HEAVY
    return np.sum(weights.w) * x * weights.b


@pytest.mark.parametrize("function", [one_that_is_said_to_be_equal, one_that_holds_arrays])
def test_objects_are_told_apart_by_what_they_are(function: Any) -> None:
    f = grad(function, jit=False)
    for n in (1, 4):
        check_value_and_grad(f, 0.7, n, rtol=1e-14)
