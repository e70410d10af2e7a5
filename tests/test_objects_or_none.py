"""Names that are None or an object, a dict, by the path taken: the best so far, what was hit first."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_text

from srcgrad import UnsupportedError, check_grad, grad

X = np.array([0.513, 1.217, 0.823, 0.371, 0.947])


@dataclass
class Sphere:
    centre: Any
    radius: Any


def nearest(x):
    best, least = None, np.inf
    for sphere in [Sphere(x[0], 1.0), Sphere(x[1], 2.0)]:
        t = sphere.centre**2 + sphere.radius
        if t < least:
            least, best = t, sphere
    return best.centre * best.radius


def nearest_of_many(x):
    best, least = None, np.inf
    for sphere in [Sphere(x[i] * x, 1.0 + i) for i in range(len(x))]:
        t = np.sum(sphere.centre**2) - sphere.radius
        if t < least:
            least, best = t, sphere
    return np.sum(best.centre) * best.radius


def greatest_in_a_dict(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best["value"]:
            best = {"value": x[i], "place": i}
    return best["value"] * best["place"]


def first_hit(x):
    hit = None
    for i in range(len(x)):
        if x[i] > 1.0:
            hit = Sphere(x[i], 2.0 * i)
            break
    if hit is None:
        return x[0]
    return hit.centre * hit.radius


def forgotten(x):
    b, s = Sphere(x[0] * x, x[1]), 0.0
    for i in range(len(x)):
        if b is not None:
            s = s + np.sum(b.centre) * b.radius * i
        if x[i] > 0.8:
            b = None
    return s if b is None else s * x[2]


@pytest.mark.parametrize("function", [nearest, nearest_of_many, greatest_in_a_dict, first_hit, forgotten])
def test_plain(function: Callable[..., Any]) -> None:
    g = grad(function, jit=False)
    check_value_and_grad(g, X, rtol=1e-12)


def test_compiled() -> None:
    check_grad(grad(nearest_of_many), X)


@pytest.mark.parametrize("jit", [False, True])
def test_none_is_not_used(jit: bool) -> None:
    with pytest.raises(TypeError, match="best is None here"):
        grad(greatest_in_a_dict, jit=jit)(X[:0])


def another_by_the_path(x):
    b = Sphere(x[0], x[1])
    a = b if x[0] > 0.1 else None
    if a is not None:
        a.radius = 3.0
    return b.radius * x[2]


def test_what_may_be_two_is_not_changed() -> None:
    with pytest.raises(UnsupportedError, match="changes an object that comes from outside, or is one of several"):
        grad(another_by_the_path, jit=False)(X)


class Drawn:
    """Three names for objects or None, which are bound, changed and read in branches and loops."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_dict = self.random.random() < 0.3
        self.factor = " * x" if self.random.random() < 0.3 else ""
        self.v, self.w = ("['v']", "['w']") if self.is_dict else (".v", ".w")

    def name(self) -> str:
        return self.random.choice("abc")

    def number(self, depth: int) -> str:
        return self.random.choice(["x[0]", "x[1] * x[2]", "s", "0.5", "x[3]", *(["x[i]"] if depth else [])])

    def made(self, depth: int) -> str:
        v, w = self.number(depth) + self.factor, self.number(depth) + self.factor
        return f"{{'v': {v}, 'w': {w}}}" if self.is_dict else f"O({v}, {w})"

    def read(self, depth: int) -> list[str]:
        name = self.name()
        return [f"if {name} is not None:", f"    s = s + np.sum({name}{self.v}) * {self.number(depth)}"]

    def statement(self, depth: int) -> list[str]:
        draw, name, value = self.random.random(), self.name(), self.number(depth) + self.factor
        if draw < 0.2:
            return [f"{name} = {self.made(depth)}"]
        if draw < 0.42:
            return [f"{name} = {self.name() if draw < 0.35 else None}"]
        if draw < 0.6:
            return self.read(depth)
        if draw < 0.72:
            changes = [f"{self.v} = {value}", f"{self.v} = {name}{self.v} * 1.5", f"{self.w} += {name}{self.v}"]
            return [f"if {name} is not None:", f"    {name}{self.random.choice(changes)}"]
        if draw < 0.85 and depth < 2:
            inner = [line for _ in range(self.random.randrange(1, 3)) for line in self.statement(depth)]
            other = ["else:", *self.inside(self.statement(depth))] if self.random.random() < 0.4 else []
            return [f"if {self.number(depth)} > {self.random.choice([0.4, 0.8, 1.0])}:", *self.inside(inner), *other]
        if depth < 1:
            inner = [line for _ in range(self.random.randrange(2, 4)) for line in self.statement(1)]
            return ["for i in range(len(x)):", *self.inside(inner)]
        return self.read(depth)

    @staticmethod
    def inside(lines: list[str]) -> list[str]:
        return ["    " + line for line in lines]

    def program(self) -> str:
        lines = ["s = 0.25", "a = None", f"b = {self.random.choice(['None', self.made(0)])}", f"c = {self.made(0)}"]
        lines += [line for _ in range(self.random.randrange(4, 7)) for line in self.statement(0)]
        for name in "abc":
            lines += [f"if {name} is not None:"]
            lines += [f"    s = s + np.sum({name}{self.v}) + np.sum({name}{self.w}) * x[4]"]
        made = ["import numpy as np", "class O:", "    def __init__(self, v, w):", "        self.v, self.w = v, w"]
        return "\n".join([*made, "def f(x):", *self.inside([*lines, "return s"]), ""])


def test_programs_that_are_drawn() -> None:
    checked = 0
    for seed in range(30):
        f = from_text(Drawn(seed).program(), "f")
        g = grad(f, jit=False)
        try:
            check_value_and_grad(g, X, at_once=True)
        except UnsupportedError as error:
            assert "one of several" in str(error) or "another list or object" in str(error)
            continue
        checked += 1
    assert checked >= 20
