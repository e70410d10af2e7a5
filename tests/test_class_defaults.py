"""Attributes with a default in the body of a class, which one path gives to the object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad

X = np.array([0.3, -0.8, 1.5, 0.05, 0.9])


class Filter:
    gain = 0.5
    count = 0
    mode = "slow"
    last = None

    def step(self, x):
        if x < 0.1:
            self.mode = "fast"
            return x * self.gain
        if x > 1:
            self.gain = self.gain * x
        self.count += 1
        self.last = x
        return x + self.gain


class Steeper(Filter):
    gain = 2.0


def in_a_branch(x):
    o = Filter()
    if x[0] > 0:
        o.gain = x[1] * x[2]
    return o.gain * x[0] + Filter.gain + Filter().gain


def in_a_loop(x, n):
    o, steeper, total = Filter(), Steeper(), 0.0
    for k in range(n):
        total += o.step(x[k]) * steeper.step(x[-k])
    if o.mode == "fast":
        total *= x[1]
    if o.last is not None:
        total += o.last * o.count
    return total + steeper.gain * o.gain * x[0]


@pytest.mark.parametrize("jit", [False, True])
def test_loops(jit: bool) -> None:
    f = grad(in_a_loop, jit=jit)
    for n in (0, 1, 5):
        check_value_and_grad(f, X, n, rtol=1e-13, at_once=jit)


def test_branches() -> None:
    f = grad(in_a_branch, jit=False)
    for x in X, -X:
        check_value_and_grad(f, x)
        check_value_and_grad(f, x.astype(np.float32), rtol=1e-6)


def test_the_class_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(in_a_branch, jit=False)
    check_value_and_grad(f, -X)
    monkeypatch.setattr(Filter, "gain", 3.0)
    check_value_and_grad(f, -X)


def what_it_has_of_its_own(x):
    o = Filter()
    if x[0] > 0:
        o.gain = x[1]
    return x[0] * (1.0 if "gain" in vars(o) else 2.0)


class Shared:
    rows = np.zeros(3)


def what_all_share(x):
    o = Shared()
    if x[0] < 0:
        o.rows = x[:3] * 2
    o.rows[0] = x[1]
    return o.rows[0] * x[0]


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (what_it_has_of_its_own, "has gain of its own by the path taken"),
        (what_all_share, "other keys or attributes by the path taken: rows"),
    ],
)
def test_refused(function: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        grad(function, jit=False)(X)
