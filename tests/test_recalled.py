"""What was generated for one function serves others of the same code, and only where they read the same."""

from __future__ import annotations

import functools
import gc
import math
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import dispatch, grad, pipeline
from srcgrad.recalled import Recalled
from srcgrad.testing import check_grad

X = np.array([0.5, 1.5, 2.0])


@pytest.fixture(autouse=True)
def generations(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the functions that something was generated for, from nothing on."""
    made: list[str] = []
    generate = pipeline.generate

    def counted(function: Any, *args: Any) -> Any:
        made.append(function.__name__)
        return generate(function, *args)

    monkeypatch.setattr(dispatch, "RECALLED", Recalled())
    monkeypatch.setattr(pipeline, "generate", counted)
    yield made


def reads(value):
    return lambda x: np.sum(np.sin(x) * value)


def reads_by_name(w, k):
    def inner(x):
        return x**k * w

    def outer(x):
        return np.sum(inner(x) * w[0])

    return outer


def reads_a_default(w, k):
    def inner(x, power=k):
        return x**power * w

    return lambda x: np.sum(inner(x))


def reads_an_array_by_default(w):
    def inner(x, w=w):
        return x**2 * w

    return lambda x: np.sum(inner(x))


def through(model, x):
    return model.loss(x) * model.n


def of_two(one, other, x):
    return np.sum(one.w * x**2 + other.w * x) + (1.0 if one is other else 0.0)


def shadowed(model, scaled):
    model.scaled = scaled
    return model


def reads_items(values):
    return lambda x: np.sum(x**2 * values[0]) + values[-1][1] * len(values)


def reads_keys(values):
    return lambda x: sum([np.sum(x**2 * values[key]) for key in values])


def reads_an_object(model):
    return lambda x: np.sum(x**model.n * model.w)


def calls_a_method(model):
    return lambda x: model.loss(x) + model.n


def reads_both(one, other):
    return lambda x: np.sum(one.w * x**2 + other.w * x) + (1.0 if one is other else 0.0)


def reads_a_class(n):
    class Settings:
        power = n

    return lambda x: np.sum(x**Settings.power)


def reads_itself(w, n):
    def power(x, k):
        return x if k == n else x * power(x, k + 1) * w

    return lambda x: power(x[0], 0) * w


def reads_an_attribute(w, n):
    def inner(x):
        return x * w

    inner.n = n
    return lambda x: np.sum(inner(x) ** inner.n)


def reads_a_partial(w, n):
    inner = functools.partial(np.power, 2.0 + n)
    return lambda x: np.sum(inner(x) * w)


def reads_text(model):
    return lambda x: np.sum(x) * len(f"{model}") * len(str(model)) * len("%s" % model)  # noqa: UP031


def reads_values(model):
    return lambda x: np.sum(x * vars(model)["n"])


def reads_a_docstring(text):
    def inner(x):
        return x**2

    inner.__doc__ = text
    return lambda x: np.sum(inner(x)) * (2.0 if inner.__doc__ == "twice" else 1.0)


def reads_a_cell(n):
    def inner(x):
        return x * n

    return lambda x: np.sum(x ** inner.__closure__[0].cell_contents)


def reads_the_scale(values):
    return lambda x: np.sum(x) * values.scale


def reads_one_item(values):
    return lambda x: np.sum(x**2) * values["a"]


def counters(together):
    """Two functions that count with one variable, or each with its own."""

    def counter():
        n = 1

        def step():
            nonlocal n
            n += 1

        return (lambda x: x * n), step

    one, step = counter()
    other = (lambda x: one(x)) if together else counter()[0]
    for _ in range(3):
        step()
    return lambda x: np.sum(one(x) + 2 * other(x))


class Model:
    def __init__(self, n: int, w: Any) -> None:
        self.n, self.w = n, w


class Named(Model):
    def __str__(self) -> str:
        return "n" * self.n


class Sevens(dict[str, float]):
    def __getitem__(self, key: str) -> float:
        return 7.0


class Scaled(dict[str, float]):
    def __init__(self, scale: float) -> None:
        super().__init__(a=1.0)
        self.scale = scale


class Fit:
    """What is decorated as a method, of an object with data of its own."""

    def __init__(self, w: Any, n: int = 2) -> None:
        self.w, self.n, self.parts = w, n, [w, 2.0]

    def scaled(self, x):
        return x**self.n * self.w

    def loss(self, x):
        return np.sum(self.scaled(x)) * self.parts[1] + np.sum(self.parts[0] * x)

    def __call__(self, x):
        return self.loss(x)


class Other(Fit):
    def scaled(self, x):
        return x**self.n - self.w


def partly(w, x, k=2):
    return np.sum(x**k * w)


class Pair(NamedTuple):
    a: Any
    b: Any


W = np.array([1.0, -2.0, 0.5])
ONCE = {  # functions of one code, for all of which one text will do
    "arrays": [reads(W), reads(W * 2), reads(W[::-1].copy())],
    "numbers": [reads(1.5), reads(-2.5)],
    "functions": [reads_by_name(W, 2), reads_by_name(W + 1, 2), reads_by_name(2 * W, 2)],
    "defaults": [reads_a_default(W, 3), reads_a_default(-W, 3)],
    "lists": [reads_items([W, 2.0 * W]), reads_items([W**2, W])],
    "tuples": [reads_items((W, 2.0 * W)), reads_items((W**2, W))],
    "named tuples": [reads_items(Pair(W, 2.0 * W)), reads_items(Pair(W**2, W))],
    "dicts": [reads_keys({"a": W, "b": W * 2}), reads_keys({"a": W - 1, "b": -W})],
    "recursion": [reads_itself(0.5, 3), reads_itself(1.5, 3)],
    "methods": [Fit(W).loss, Fit(W + 1).loss, Fit(-W).loss],
    "objects that are called": [Fit(W), Fit(W + 1)],
    "partials": [functools.partial(partly, W), functools.partial(partly, 2.0 * W)],
    "arrays as defaults": [reads_an_array_by_default(W), reads_an_array_by_default(1 / W)],
    "methods of what is given": [functools.partial(through, Fit(W)), functools.partial(through, Fit(1 - W))],
    "objects": [reads_an_object(Model(2, W)), reads_an_object(Model(2, -W)), reads_an_object(Model(2, 1.0 / W))],
    "methods of objects": [calls_a_method(Fit(W)), calls_a_method(Fit(W + 1))],
    "one variable": [counters(True), counters(True)],
}
MODEL = Model(n=2, w=W)
ANEW = {  # functions of one code that need a text each
    "whole numbers": [reads(2), reads(3)],
    "types": [reads(W), reads(W.astype(np.float32)), reads(W[::-1]), reads(np.ones((3, 1)) * W), reads(2.0)],
    "numbers of NumPy's": [reads(2.0), reads(np.float64(3.0)), reads(np.float32(3.0))],
    "functions": [reads_by_name(W, 2), reads_by_name(W, 3)],
    "defaults": [reads_a_default(W, 3), reads_a_default(W, 4)],
    "lists": [reads_items([W, 2.0 * W]), reads_items([W, W, W]), reads_items((W, 2 * W)), reads_items([2.0, W])],
    "dicts": [reads_keys({"a": W, "b": W * 2}), reads_keys({"b": W - 1, "a": -W}), reads_keys({"a": W})],
    "objects": [reads_an_object(Model(n=2, w=W)), reads_an_object(Model(n=3, w=-W))],
    "objects of other classes": [calls_a_method(Fit(W)), calls_a_method(Other(W))],
    "two objects": [reads_both(*[Fit(W)] * 2), reads_both(Fit(W), Fit(2 * W))],
    "classes": [reads_a_class(2), reads_a_class(3)],
    "recursion": [reads_itself(0.5, 2), reads_itself(0.5, 4)],
    "attributes": [reads_an_attribute(W, 2), reads_an_attribute(W, 3)],
    "partials": [reads_a_partial(W, 1.0), reads_a_partial(W, 2.0)],
    "methods": [Fit(W).loss, Fit(W, 3).loss, Other(W).loss, Fit(2.0).loss],
    "functions in place of methods": [Fit(W).loss, shadowed(Fit(W), lambda x: x * 3.0).loss],
    "objects by two names": [functools.partial(of_two, *[Fit(W)] * 2), functools.partial(of_two, Fit(W), Fit(W + 1))],
    "partials of other numbers": [functools.partial(partly, W, k=2), functools.partial(partly, W, k=3)],
    "variables": [counters(True), counters(False)],
    "texts of objects": [reads_text(Named(n, W)) for n in (1, 2, 3, 4)],
    "values of objects": [reads_values(Model(n, W)) for n in (1, 2, 3, 4)],
    "docstrings": [reads_a_docstring("once"), reads_a_docstring("twice")],
    "cells": [reads_a_cell(n) for n in (2, 3, 4)],
    "classes of dicts": [reads_one_item({"a": 2.0}), reads_one_item(Sevens(a=2.0))],
    "attributes of dicts": [reads_the_scale(Scaled(2.0)), reads_the_scale(Scaled(3.0))],
}


@pytest.mark.parametrize("name", ONCE)
def test_one_text_serves_all(name: str, generations: list[str]) -> None:
    first, *others = ONCE[name]
    check_grad(grad(first, jit=False), X)
    before = len(generations)
    for function in (*others, first, others[0]):
        check_grad(grad(function, jit=False), X)
    assert len(generations) == before
    grad(first, jit=False, fastmath=True).backward(X)
    assert len(generations) == before + 1
    grad(others[0], jit=False, fastmath=True).backward(X)
    assert len(generations) == before + 1


def test_a_text_that_is_shown_is_made_once(generations: list[str]) -> None:
    texts = {grad(reads(2.0), jit=False).source(X) for _ in range(2)}
    assert len(generations) == len(texts) == 1


@pytest.mark.parametrize("name", ANEW)
def test_what_reads_something_else_has_its_own(name: str, generations: list[str]) -> None:
    for k, function in enumerate(ANEW[name] * 2):
        before = len(generations)
        g = grad(function, jit=False)
        check_value_and_grad(g, X, rtol=1e-6)
        assert len(generations) > before or k >= len(ANEW[name])


def applied(first, second, x):
    return np.sum(first(x) * second(x)) + (1.0 if first is second else 0.0)


def test_functions_that_are_arguments(generations: list[str]) -> None:
    def scaled(w):
        return lambda x: np.sin(x) * w

    def added(k):
        return lambda x: x + k

    f = grad(applied, jit=False)
    for k in range(6):
        expected = np.cos(X) * W * k * (X + k) + np.sin(X) * W * k
        np.testing.assert_allclose(f.backward(scaled(W * k), added(k), X), expected)
        np.testing.assert_allclose(grad(applied, jit=False).backward(scaled(W * k), added(k), X), expected)
    assert len(generations) == 3
    same = scaled(W)
    assert f(same, same, X) == pytest.approx(applied(same, same, X))
    assert f(scaled(W), scaled(W), X) == pytest.approx(applied(scaled(W), scaled(W), X))
    assert f(same, same, X) == pytest.approx(applied(same, same, X))


def test_the_same_object_is_the_same(generations: list[str]) -> None:
    for n in (2, 2, 3):
        MODEL.n = n
        np.testing.assert_allclose(grad(reads_an_object(MODEL), jit=False).backward(X), n * X ** (n - 1) * W)
    assert len(generations) == 2


def test_compiled_once(generations: list[str]) -> None:
    for k in range(4):
        y, x_b = grad(reads(W + k)).value_and_backward(X)
        assert y == pytest.approx(np.sum(np.sin(X) * (W + k)))
        np.testing.assert_allclose(x_b, np.cos(X) * (W + k))
    assert len(generations) == 1


def test_indices_of_a_loop_are_handed_in_from_the_third_on(generations: list[str]) -> None:
    rows = np.random.default_rng(0).normal(size=(7, 3))
    for k, row in enumerate(rows):
        f = grad(lambda x: np.sum(np.sin(rows[k] * x) ** 2) + k, jit=k == 5)  # noqa: B023
        y, x_b = f.value_and_backward(X)
        assert y == pytest.approx(np.sum(np.sin(row * X) ** 2) + k)
        np.testing.assert_allclose(x_b, np.sin(2 * row * X) * row)
    assert len(generations) == 3


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_a_counter_of_the_same_function(jit: bool, generations: list[str]) -> None:
    model = Model(0, W)
    f = grad(lambda x: np.sum(x ** (model.n + 1)) * model.n, jit=jit)
    for n in (0, 1, 2, 3, 2, 0, 7, np.int64(4), 5, 8):
        model.n = n
        np.testing.assert_allclose(f.backward(X), n * (n + 1) * X**n)
    assert len(generations) == 4  # one for NumPy's


def test_whole_numbers_and_floats_in_groups(generations: list[str]) -> None:
    for k in range(9):
        settings = 2 + k, 0.5 * k
        f = grad(lambda x: np.sum(x ** settings[0]) * settings[1], jit=False)  # noqa: B023
        np.testing.assert_allclose(f.backward(X), 0.5 * k * (2 + k) * X ** (1 + k))
    assert len(generations) == 5


@pytest.mark.parametrize("kind", [list, tuple, lambda two: Pair(*two), lambda two: {0: two[0], -1: two[1]}])
def test_floats_in_groups(kind: Callable[[Any], Any], generations: list[str]) -> None:
    for k in range(6):
        values = kind([0.5 + k, 2.0 - k])
        check_grad(grad(lambda x: np.sum(x**2 * values[0]) + values[-1] * x[0], jit=False), X)  # noqa: B023
    assert len(generations) == 3


def test_powers_of_whole_numbers_that_may_be_negative() -> None:
    for n in (0, 1, 2, 3, -1, -2):
        np.testing.assert_allclose(grad(lambda x: np.sum(x * 2**n), jit=False).backward(X), np.full(3, 2.0**n))  # noqa: B023


@pytest.mark.parametrize(
    "made",
    [lambda n: 10**n, lambda n: 1 << n, lambda n: (n + 10) ** 19, lambda n: abs((-n - 1) ** 0.5)],
    ids=["powers", "shifts", "to the power of a constant", "roots of negative numbers"],
)
def test_powers_of_whole_numbers_are_exact(made: Callable[[int], Any]) -> None:
    """Python's are no int64."""
    for n in (1, 2, 3, 18, 19, 24, 63):
        x_b = grad(lambda x: np.sum(x * made(n)), jit=False).backward(X)  # noqa: B023
        np.testing.assert_allclose(x_b, np.full(3, float(made(n))))


@pytest.mark.parametrize(
    "made",
    [
        lambda n: n,
        lambda n: n * n,
        lambda n: n + 2**62,
        lambda n: math.factorial(20 + n % 9),
    ],
    ids=["itself", "squares", "sums", "factorials"],
)
def test_products_of_whole_numbers_are_exact(made: Callable[[int], Any]) -> None:
    numbers = (1, 2, 3, 5, 2**20, 2**31, 7, 2**40, 2**62, 4)
    for n in numbers:
        x_b = grad(lambda x: np.sum(x) * float(made(n)), jit=False).backward(X)  # noqa: B023
        np.testing.assert_allclose(x_b, np.full(3, float(made(n))))
    count = 1
    g = grad(lambda x: np.sum(x) * float(made(count)), jit=False)
    for count in numbers:
        np.testing.assert_allclose(g.backward(X), np.full(3, float(made(count))))


@pytest.mark.parametrize("made", [lambda n: 1 / n, lambda n: 7 // n, lambda n: 7 % n], ids=["/", "//", "%"])
def test_division_by_a_whole_number_that_is_zero(made: Callable[[int], Any], generations: list[str]) -> None:
    def of(n: int) -> Any:
        return grad(lambda x: np.sum(x * x) * made(n), jit=False)

    for n in (1, 2, 3, 4, -5):
        np.testing.assert_allclose(of(n).backward(X), 2 * X * made(n))
    assert len(generations) == 3
    with pytest.raises(ZeroDivisionError):
        of(0).backward(X)


def test_defaults_of_what_calls_itself() -> None:
    """They are no arguments of the calls inside."""

    def make(p: float) -> Any:
        def power(x, n, p=p):
            return np.sum(x) * p if n == 0 else power(x * p, n - 1)

        return grad(power, jit=False, static="n", wrt="x")

    for p in (2.0, 3.0, 2.0):
        np.testing.assert_allclose(make(p).backward(X, 2, 1.0), np.full(3, p**2))


def helper(x, p=2.0):
    return abs(x) * p


def other_helper(x, p=2.0):
    return x**2 * p


def test_a_function_that_is_made_of_something_else_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(expected: Any) -> None:
        for k in (1.0, 2.0):
            np.testing.assert_allclose(grad(lambda x: np.sum(helper(x) * W * k), jit=False).backward(X), expected * k)  # noqa: B023

    check(2.0 * W)
    monkeypatch.setattr(helper, "__defaults__", (3.0,))
    check(3.0 * W)
    monkeypatch.setitem(globals(), "abs", lambda x: x**3)
    check(9.0 * X**2 * W)
    monkeypatch.setattr(helper, "__code__", other_helper.__code__)
    monkeypatch.delitem(globals(), "abs")
    check(6.0 * X * W)


def test_cells_that_hold_arrays_of_functions_elsewhere() -> None:
    def make(w: Any, p: int) -> Any:
        inner = grad(lambda x: np.sum(x**3 * w) * p, jit=False)
        return lambda x: np.sum(inner.backward(x))

    for k in (2, 3, 2):
        np.testing.assert_allclose(grad(make(W * k, k), jit=False).backward(X), 6 * X * W * k**2)


def test_numbers_that_must_be_known_are_known(generations: list[str]) -> None:
    x = np.arange(24.0).reshape(2, 3, 4) / 10
    for turn in range(3):
        for axis in (0, 1, 2, -1):
            f = grad(lambda x: np.sum(np.sum(x, axis=axis) ** 2), jit=False)  # noqa: B023
            np.testing.assert_allclose(f.backward(x), np.broadcast_to(2 * x.sum(axis, keepdims=True), x.shape))
    assert len(generations) == 5  # the third was tried once


def test_halves_agree() -> None:
    for k in range(5):
        y, pullback = grad(lambda x: np.exp(x) * (W + k), jit=False).vjp(X)  # noqa: B023
        np.testing.assert_allclose(pullback(np.ones(3)), y)


def of_an_object(w):
    model = Model(2, w)
    model.act = lambda x: x * w
    return lambda x: np.sum(model.act(x))


def of_a_class(w):
    class Act:
        def __call__(self, x):
            return x * w

    act = Act()
    return lambda x: np.sum(act(x))


def of_a_list(w):
    functions = [lambda x: x * w]
    return lambda x: np.sum(functions[0](x))


@pytest.mark.parametrize(
    "make",
    [lambda w: reads_items([w, w]), lambda w: reads_an_attribute(w, 2), of_an_object, of_a_class, of_a_list],
    ids=["items", "function with attributes", "object", "class", "list"],
)
def test_nothing_is_held(make: Callable[[Any], Any]) -> None:
    data = np.ones(3)
    f = grad(make(data), jit=False)
    f.backward(X)
    alive = weakref.ref(data)
    del data, f
    gc.collect()
    assert alive() is None


def test_what_is_gone_serves_nobody() -> None:
    def gradient(n: int) -> Any:
        model = Model(n=n, w=W)
        return grad(reads_an_object(model), jit=False).backward(X)

    for n in (2, 3, 2, 4):
        gc.collect()
        np.testing.assert_allclose(gradient(n), n * X ** (n - 1) * W)


def test_items_of_a_list_may_be_other_arrays(generations: list[str]) -> None:
    layers = [np.eye(3), np.ones(3)]
    f = grad(lambda x: np.sum(np.tanh(layers[0] @ x + layers[1])), jit=False)
    for _ in range(3):
        check_grad(f, X)
        f.backward(X)
        layers[0] = layers[0] * 0.5
        layers[1] = layers[1] - 0.1
    before = len(generations)
    f.backward(X)
    assert len(generations) == before
    layers.append(np.ones(3))
    f.backward(X)
    assert len(generations) == before + 1


def test_a_list_that_holds_no_array_any_more() -> None:
    values: list[Any] = [W, 2.0]
    f: Callable[..., Any] = grad(lambda x: np.sum(x * values[0]) * values[1], jit=False)
    np.testing.assert_allclose(f.backward(X), W * 2.0)
    for k in range(3):
        values[:] = [3.0 + k, 2.0]
        np.testing.assert_allclose(f.backward(X), np.full(3, (3.0 + k) * 2.0))
    values[:] = [W, 5.0]
    np.testing.assert_allclose(f.backward(X), W * 5.0)


def test_a_name_of_pythons_that_is_a_global_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(w: Any) -> Any:
        return grad(lambda x: np.sum(abs(x) * w), jit=False)

    np.testing.assert_allclose(make(W).backward(-X), -W)
    monkeypatch.setitem(make.__globals__, "abs", lambda x: x**2)
    np.testing.assert_allclose(make(W).backward(-X), -2 * X * W)
