"""`with` of objects of the user's own classes: what they do at both ends, and globals that they set for a while."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.errors import UnsupportedError
from srcgrad.testing import check_grad

X = np.array([0.5, 1.5, 2.5])
THIS = sys.modules[__name__]
MODE = "plain"
ROUNDS = 2


def set_mode(mode):
    global MODE
    MODE = mode.lower()


class mode:
    """Sets a global, and puts it back."""

    def __init__(self, name):
        self.name = name
        self.before = MODE

    def __enter__(self):
        set_mode(self.name)
        return self

    def __exit__(self, *args):
        set_mode(self.before)

    def __call__(self, function):
        def wrapped(*args):
            with self:
                return function(*args)

        return wrapped


def computed(x):
    return x**2 if MODE == "square" else x**3 if MODE == "cube" else np.sin(x)


def ahead_within_and_behind(x):
    y = computed(x)
    with mode("Square"):
        y = y + 2.0 * computed(x)
    return np.sum(y + 3.0 * computed(x))


def one_in_another(x):
    with mode("square"):
        y = computed(x)
        with mode("cube"):
            y = y * computed(x)
        y = y + computed(x)
    return np.sum(y * computed(x))


def returned_within(x):
    with mode("square"):
        return np.sum(computed(x))


def both_returned(x):
    with mode("square"), np.errstate(divide="ignore"):
        y = computed(x)
        with mode("cube"):
            with np.errstate(all="ignore"):
                return np.sum(y / computed(x))


def calls_it_and_goes_on(x):
    return returned_within(x) * np.sum(computed(x)) + both_returned(x)


@mode("cube")
def decorated(x):
    return np.sum(computed(x))


def calls_decorated(x):
    return decorated(x) + np.sum(computed(x))


def in_a_loop(x):
    s = 0.0
    for i in range(x.size):
        with mode("square"):
            t = computed(x[i])
            for _ in range(i):
                t *= computed(x[i])
        s += t * computed(x[i])
    return s


def in_a_branch(x):
    s = 0.0
    for v in x:
        if v > 1.0:
            with mode("cube"):
                s += computed(v)
        else:
            s += computed(v)
    return s


def by_its_module(x):
    with mode("square"):
        y = x**2 if THIS.MODE == "square" else x
    return np.sum(y + (x**3 if THIS.MODE == "square" else x))


def a_branch_in_it(x):
    s = 0.0
    for v in x:
        with mode("square"):
            if v > 1.0:
                s += computed(v)
            elif v < 0.0:
                raise ValueError("below 0")
            else:
                s -= computed(v) ** 2
        s *= computed(v)
    return s


def raised_in_a_branch(x):
    if x[0] > 10.0:
        with mode("square"):
            raise ValueError("too large")
    return np.sum(computed(x))


class Weighing:
    def __init__(self, weight):
        self.weight = weight
        self.total = 0.0

    def __enter__(self):
        self.weight = 2.0 * self.weight
        return self.weight

    def __exit__(self, kind, error, trace):
        self.total = self.total + self.weight
        self.weight = self.weight / 2.0
        return None


def with_numbers(x, w):
    weighing = Weighing(w)
    y = 0.0
    with weighing as doubled:
        y = np.sum(doubled * x**2)
    with weighing:
        y = y + weighing.weight
    return y * weighing.total + weighing.weight


FUNCTIONS = [
    ahead_within_and_behind, one_in_another, returned_within, both_returned, calls_it_and_goes_on,
    by_its_module, in_a_loop, in_a_branch, a_branch_in_it, raised_in_a_branch,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_globals_are_others_within(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(function, jit=False)
    for now in "plain", "cube":  # what it is outside is looked at before each call
        monkeypatch.setitem(globals(), "MODE", now)
        for x in X, X[:1], X[::-2]:
            assert np.isclose(f(x), function(x), rtol=1e-14)
            check_grad(f, x)
        assert MODE == now


@pytest.mark.parametrize("function", [one_in_another, in_a_loop])
def test_compiled(function: Callable[..., Any]) -> None:
    check_grad(grad(function), X)


def test_a_decorator() -> None:
    check_grad(grad(calls_decorated, jit=False), X)


def test_raised_within() -> None:
    with pytest.raises(ValueError, match="below 0"):
        grad(a_branch_in_it, jit=False)(np.array([0.5, -1.0]))
    with pytest.raises(ValueError, match="too large"):
        grad(raised_in_a_branch, jit=False)(np.array([20.0]))
    assert MODE == "plain"


def test_attributes_that_change() -> None:
    f = grad(with_numbers, jit=False)
    assert np.isclose(f(X, 1.5), with_numbers(X, 1.5), rtol=1e-14)
    check_grad(f, X, 1.5)


def test_an_instance_that_is_a_default() -> None:
    def inner(x, within=mode("square")):  # noqa: B008
        with within:
            return np.sum(computed(x))

    check_grad(grad(inner, jit=False), X)


def a_harmless_one_by_another_name(x):
    quiet = np.errstate
    with quiet(divide="ignore"), contextlib.nullcontext(x) as y:
        return np.sum(y**2)


def test_a_harmless_one_by_another_name() -> None:
    check_grad(grad(a_harmless_one_by_another_name, jit=False), X)


def calls_decorated_elsewhere(x):
    with mode("square"):
        y = decorated(x)  # which puts back what was there when it was decorated
    return y


class leaves_it:
    def __enter__(self):
        set_mode("square")

    def __exit__(self, *args):
        pass


class swallows:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is ValueError


class at_random(mode):
    def __init__(self, name, x):
        self.name, self.before, self.x = name, MODE, x

    def __enter__(self):
        if self.x > 0.5:
            set_mode(self.name)


class counts:
    def __enter__(self):
        global ROUNDS
        ROUNDS += 1

    def __exit__(self, *args):
        pass


def left(x):
    with leaves_it():
        return np.sum(computed(x))


def swallowed(x):
    with swallows():
        y = np.sum(x)
    return y


def by_chance(x):
    with at_random("cube", x[0]):
        y = np.sum(computed(x))
    return y


def counted(x):
    with counts():
        y = np.sum(x) * ROUNDS
    return y


def left_early(x):
    with mode("square"):
        if x[0] > 1.0:
            return np.sum(x)
        y = computed(x)
    return np.sum(y)


def in_a_try(x):
    try:
        with mode("square"):
            if x[0] > 1.0:
                raise ValueError
            y = np.sum(computed(x))
    except ValueError:
        y = np.sum(x)
    return y


def set_outside_of_it(x):
    set_mode("square")
    return np.sum(computed(x))


def recursive(x, n):
    return x if n == 0 else computed(recursive(x, n - 1))


def recursion_within(x):
    n = int(x[0])
    with mode("square"):
        y = recursive(x[1], n)
    return y


@contextlib.contextmanager
def as_a_generator(name):
    set_mode(name)
    yield
    set_mode("plain")


def of_a_generator(x):
    with as_a_generator("square"):
        y = computed(x)
    return np.sum(y)


differentiated = grad(computed, jit=False)


def derivative_within(x):
    with mode("square"):
        y = differentiated.backward(x[0])
    return y


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (calls_decorated_elsewhere, "the global MODE is another one behind this `with`"),
        (left, "the global MODE is another one behind this `with`"),
        (swallowed, "it may swallow exceptions"),
        (by_chance, "the global MODE is set in a loop or a branch"),
        (counted, "ROUNDS is global and assigned to"),
        (left_early, "a return, break or continue in a branch of this `with`"),
        (in_a_try, "a `with` of your own in a try"),
        (set_outside_of_it, "MODE is global and assigned to"),
        (recursion_within, "compiled on its own, in a `with` that sets globals"),
        (of_a_generator, "this `with` is not supported"),
        (derivative_within, "backward in a `with` that sets globals"),
    ],
)
def test_what_is_refused(function: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        grad(function)(X)
    assert MODE == "plain"
