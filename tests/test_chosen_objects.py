"""Which of several objects or arrays is asked for is known at run time: `links[link.parent].offset`."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, check_grad, grad


@dataclass
class Link:
    parent: int
    offset: np.ndarray
    length: float


class Body:
    def __init__(self, mass: float, speed: float) -> None:
        self.mass = mass
        self.speed = speed
        self.kind = "free"


LINKS = [Link(-1, np.array([0.1, 0.2]), 1.0), Link(0, np.array([0.3, 0.1]), 0.7), Link(1, np.array([0.2, 0.4]), 0.5)]
Q = np.array([0.3, -0.4, 0.8])
ORDER = np.array([1, 2, 2, 0, -1])


def tree(q, links, order):
    places = []
    for k, link in enumerate(links):
        base = np.zeros(2) if link.parent < 0 else places[link.parent] + links[link.parent].offset
        places.append(base + link.length * np.array([np.cos(q[k]), np.sin(q[k])]))
    return places[-1]


def up_to_the_root(q, links, order):
    total, k = 0.0, len(links) - 1
    while k >= 0:
        link = links[k]
        total = total + q[k] * link.length * (link.offset @ links[order[k]].offset)
        k = links[k].parent
    return total


@pytest.mark.parametrize(("function", "jit"), [(tree, False), (tree, True), (up_to_the_root, False)])
def test_objects_that_are_handed_in(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, wrt="q", jit=jit)
    np.testing.assert_allclose(f(Q, LINKS, ORDER), function(Q, LINKS, ORDER), rtol=1e-14)
    check_grad(f, Q, LINKS, ORDER)


def test_of_one_length() -> None:
    """They are rows of one array: of another length, none is read."""
    links = copy.deepcopy(LINKS)
    links[1].offset = np.ones(3)
    f = grad(up_to_the_root, wrt="q", jit=False)
    for _ in range(2):
        with pytest.raises(UnsupportedError, match="indexed by a number that is only known at run time"):
            f(Q, links, ORDER)
        np.testing.assert_allclose(f(Q, LINKS, ORDER), up_to_the_root(Q, LINKS, ORDER), rtol=1e-14)


RAGGED = [np.array([2.0, 1.0]), np.array([0.5, 1.0, 3.0]), np.array([1.0])]


def of_ragged_rows(q, order):
    total = 0.0
    for k in range(len(RAGGED)):
        total += np.polyval(RAGGED[k], q[0]) * q[k]
    return total


def test_of_several_lengths() -> None:
    """Where each can be told by writing the loop out, it is."""
    check_value_and_grad(grad(of_ragged_rows, wrt="q", jit=False), Q, ORDER, rtol=1e-14)


def bodies_of(q):
    return [Body(1.0 + k, q[k] * k) for k in range(3)]


def that_change(q, order):
    bodies, total = bodies_of(q), 0.0
    for k in order:
        bodies[1].speed = bodies[k].speed * q[0] + bodies[k].mass
        total += bodies[k].speed
    return total


def with_texts(q, order):
    bodies = bodies_of(q)
    bodies[2].kind = "held"
    total = 0.0
    for k in order:
        total += bodies[k].speed * (q[1] if bodies[k].kind == "held" else q[2])
    return total


def with_objects_in_them(q, order):
    parts = [SimpleNamespace(rows=q * k, inner=SimpleNamespace(scale=q[k] ** 2)) for k in range(3)]
    return sum(parts[k].rows @ q * parts[k].inner.scale for k in order)


@pytest.mark.parametrize("function", [that_change, with_texts, with_objects_in_them])
def test_objects_that_are_made_here(function: Callable[..., Any]) -> None:
    check_value_and_grad(grad(function, wrt="q", jit=False), Q, ORDER, rtol=1e-13)


def named(q, order):
    body = bodies_of(q)[order[0]]
    return body.speed


def told_to_change(q, order):
    bodies = bodies_of(q)
    bodies[order[0]].speed = q[0]
    return bodies[1].speed


def added_to(q, order):
    bodies = bodies_of(q)
    bodies[order[0]].speed += q[0]
    return bodies[1].speed


def by_the_path(q, order):
    bodies = bodies_of(q)
    body = bodies[order[0]] if q[0] > 0 else bodies[0]
    return body.speed


def with_another_name(q, links, order):
    links[order[0]].offset[0] = 5.0
    return q.sum()


@pytest.mark.parametrize("function", [named, told_to_change, added_to, by_the_path])
def test_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="one of several objects is chosen by a number"):
        grad(function, wrt="q", jit=False)(Q, ORDER)


def test_what_is_chosen_is_not_written() -> None:
    with pytest.raises(UnsupportedError, match="written under another name"):
        grad(with_another_name, wrt="q", jit=False)(Q, LINKS, ORDER)


def of_none(q, order):
    places = []
    return q[0] if order[0] > 0 else places[order[0]] * q[1]


def test_no_items() -> None:
    f = grad(of_none, wrt="q", jit=False)
    assert f(Q, ORDER) == Q[0]
    with pytest.raises(IndexError, match="there are no items"):
        f(Q, ORDER[::-1])


class Layer:
    def __init__(self, weight, step) -> None:
        self.weight, self.step, self.calls = weight, step, 0

    def forward(self, x):
        self.calls += 1
        self.weight[0] *= 1.0 + 0.1 * x
        return np.tanh(self.weight @ self.step) * x

    @property
    def used(self):
        return self.calls * self.weight[0]


class Bias:
    def __init__(self, b) -> None:
        self.b = b

    def forward(self, x):
        return x + self.b

    used = 0.5


def by_methods(q, order):
    layers = [Layer(q * 2, q[:3] ** 2), Bias(q[1]), Layer(q + 1, np.cos(q))]
    x, total = q[0], 0.0
    for k in order:
        x = layers[k].forward(x)
        if layers[k].used > 1.0:
            total += x * layers[0].used
    return total + x + layers[0].calls * layers[2].weight[0]


def in_dicts(q, order):
    table = [{"a": q[0], "rows": q * 2}, {"rows": q**2, "a": q[1] * q[2]}, {"a": 2.0, "rows": np.cos(q)}]
    total = 0.0
    for k in order:
        total += table[k]["a"] * np.sum(table[k]["rows"]) + table[k].get("a")
        table[1]["a"] = total * q[0]
    return total


def with_other_keys(q, order):
    table = [{"a": q[0], "kind": 1}, {"a": q[1] * q[2], "kind": 1}, {"b": q[2], "kind": 2}]
    total = 0.0
    for k in order:
        if table[k]["kind"] == 1:
            total += table[k]["a"]
        else:
            total += 2.0 * table[k]["b"]
        try:
            total += table[k]["b"] * q[0]
        except KeyError:
            total *= 1.5
    return total


def made_when_asked_for(q, order):
    made = []

    def start():
        made.append(q[1] + len(made))
        return made[-1]

    table = [defaultdict(start), defaultdict(start), {"a": q[2]}]
    return table[order[0]]["a"] * q[0] + table[0]["a"]


@pytest.mark.parametrize(
    ("function", "jit"),
    [(by_methods, False), (in_dicts, False), (with_other_keys, False), (with_other_keys, True), (by_methods, True)],
)
def test_methods_and_dicts(function: Callable[..., Any], jit: bool) -> None:
    check_value_and_grad(grad(function, wrt="q", jit=jit), Q, ORDER, rtol=1e-13)


class Stored:
    def __init__(self, weight: float) -> None:
        self.weight = weight


class Computed:
    def __init__(self, root: float) -> None:
        self.root = root

    @property
    def weight(self) -> float:
        return self.root**2

    def shifted(self, x: float) -> float:
        return x + self.root


def stored_or_computed(q, order):
    layers = [Stored(q[0]), Computed(q[1]), Stored(q[2])]
    total = 0.0
    for k in order:
        total += layers[k].weight * q[0]
        if k % 3 == 1:
            total = layers[k].shifted(total)
        try:
            total += layers[k].root
        except AttributeError:
            total *= 1.25
    return total


def test_what_only_some_store() -> None:
    check_value_and_grad(grad(stored_or_computed, wrt="q", jit=False), Q, ORDER, rtol=1e-13)


def test_keys_that_only_some_have() -> None:
    """Python asks the one that is chosen: it alone raises, or makes what is missing."""
    table = grad(lambda q, k: [{"a": q[0]}, {"b": q[1]}][k]["a"] * q[2], wrt="q", jit=False)
    check_value_and_grad(table, Q, 0)
    with pytest.raises(KeyError):
        table(Q, 1)
    for first in (0, 1, 2, -2):
        check_value_and_grad(grad(made_when_asked_for, wrt="q", jit=False), Q, np.array([first, 2]))


def dict_named(q, order):
    row = [{"a": q[0]}, {"a": q[1]}][order[0]]
    return row["a"]


def dict_changed(q, order):
    rows = [{"a": q[0]}, {"a": q[1]}]
    rows[order[0]]["a"] += q[2]
    return rows[0]["a"]


def through_another_name(q, order):
    rows = [{"a": q * 2}, {"a": q**2}]
    rows[order[0]]["a"][0] = 5.0
    return rows[1]["a"][0]


def method_in_comprehension(q, order):
    layers = [Bias(q[0]), Bias(q[1])]
    return sum([layers[k % 2].forward(q[2]) for k in order])


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (dict_named, r'one of several dicts[\s\S]*items\[k\]\["key"\]'),
        (dict_changed, "one of several dicts"),
        (through_another_name, "which memory this is depends on the path"),
        (method_in_comprehension, "let a method of it begin a statement of its own"),
    ],
)
def test_refused_of_methods_and_dicts(function: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        grad(function, wrt="q", jit=False)(Q, ORDER)
