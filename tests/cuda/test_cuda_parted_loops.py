"""Loops that do several things at once, have ends unlike their middle, or hold a number between bounds by questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad

LENGTHS = (1, 2, 40, 600)


def sum_and_greatest(x, a):
    s, top, k = 0.0, -9.0, 0
    for i in range(x.shape[0]):
        d = x[i] * 2.0 - a[i]
        s += d * d
        if d > top:
            top = d
            k = i
    return s * top + k


def sum_beside_a_question(x, a):
    s, found = 0.0, False
    for i in range(x.shape[0]):
        s += x[i] * a[i]
        found = found or x[i] > 1.5
    return s * 2.0 if found else s


def least_and_greatest(x, a):
    low, high, first, last = 9.0, -9.0, 0, 0
    for i in range(x.shape[0]):
        if x[i] < low:
            low, first = x[i], i
        if a[i] > high:
            high, last = a[i], i
    return (high - low) * (last - first)


def elements_and_greatest(x, a):
    y, top = np.zeros_like(x), x[0]
    for _ in range(2):
        for i in range(x.shape[0]):
            y[i] += np.sin(x[i]) * a[i]
            if x[i] > top:
                top = x[i]
    return y * top


def what_is_greatest_so_far(x, a):
    """Of which the elements are made: that is one loop."""
    y, top = np.zeros_like(x), -9.0
    for i in range(x.shape[0]):
        if x[i] > top:
            top = x[i]
        y[i] = top * a[i]
    return y * 2.0


def same_twice(x, a):
    s, top = 0.0, -9.0
    for i in range(x.shape[0]):
        s += x[i]
        if a[i] > top:
            top = a[i]
        s += x[i]
    return s * top


def one_before(x, a):
    y = np.zeros_like(x)
    for i in range(len(x)):
        s = x[i]
        if i >= 1:
            s += 0.4 * y[i - 1]
        y[i] = s
    return y


def two_before(x, a):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i]
        if i > 0:
            y[i] += a[i] * 0.4 * y[i - 1]
        if i > 1:
            y[i] -= 0.1 * y[i - 2]
    return y


def one_behind(x, a):
    y = np.zeros_like(x)
    for i in range(len(x) - 1, -1, -1):
        y[i] = x[i] - 0.5 * a[i] * (y[i + 1] if i + 1 < len(x) else 0.3)
    return y


def beginning_apart(x, a):
    y = np.zeros_like(x)
    for i in range(len(x)):
        if i == 0:
            y[i] = x[i] * a[i]
        else:
            y[i] = 0.5 * y[i - 1] + x[i]
    return y


def running_total(x, a):
    y = a.copy()
    for i in range(len(x)):
        y[i] = x[i] + (y[i - 1] if i > 0 else 0.0)
    return np.sum(y * a)


def around_the_end(x, a):
    y = a * 1.0
    for i in range(len(x)):
        y[i] = y[i] - 0.3 * (y[i] - y[i - 1])
    return y * x


def queue(x, a):
    y, w = np.zeros_like(x), 0.0
    for i in range(len(x)):
        w = w + x[i]
        if w < 0:
            w = 0.0
        y[i] = w * a[i]
    return y


def store(x, a):
    y, w = np.zeros_like(x), 0.5
    for i in range(len(x)):
        w += x[i]
        if w <= -1.0:
            w = -1.0
        if a[i] < w:
            w = a[i]
        y[i] = w
    return y


def level(x, a):
    y, w = np.zeros_like(x), x[0]
    for i in range(len(x)):
        w = w + x[i] if w + x[i] > 0.0 else 0.0
        w = w if w < a[i] else a[i]
        y[i] = w
    return y


def forgetful(x, a):
    """Where a bound is nan, what comes out is nan, and then the next bound: what was before is forgotten."""
    y, w = np.zeros_like(x), 30.0
    for i in range(len(x)):
        w = w if w >= x[i] else x[i]
        w = w - 0.1 * abs(a[i])
        y[i] = w
    return y


SEVERAL = [
    sum_and_greatest, sum_beside_a_question, least_and_greatest, elements_and_greatest, what_is_greatest_so_far,
    same_twice,
]  # fmt: skip
SCANNED = [
    one_before, two_before, one_behind, beginning_apart, running_total, around_the_end, queue, store, level,
    forgetful,
]  # fmt: skip


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("function", [*SEVERAL, *SCANNED], ids=lambda function: function.__name__)
def test_parted(function: Callable[..., Any], n: int) -> None:
    for kind in ("numbers", "ties", "nan"):
        x, a = np.random.default_rng(n).normal(size=(2, n))
        x, a = (np.round(x), np.round(a)) if kind == "ties" else (x, a)
        if kind == "nan":
            x[n // 2] = a[n // 3] = np.nan
        on_device, plain = grad(function, target="cuda"), grad(function, jit=False)
        y = function(x.copy(), a.copy())
        v = np.cos(np.arange(np.size(y))).reshape(np.shape(y)) if np.ndim(y) else None
        np.testing.assert_allclose(on_device(x, a), y, rtol=1e-12, atol=1e-12)
        (value, got), (_, want) = (f.value_and_backward(x, a, v=v) for f in (on_device, plain))
        np.testing.assert_allclose(value, y, rtol=1e-12, atol=1e-12)
        for left, right in zip(got, want, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("function", [f for f in SEVERAL if f is not what_is_greatest_so_far])
def test_nothing_is_left_in_order(function: Callable[..., Any]) -> None:
    """The host has loops over steps alone."""
    source = grad(function, target="cuda").source(np.ones(9), np.ones(9), kind="primal")
    host = source[source.index(f"\ndef {function.__name__}(") :]
    assert not [line for line in host.splitlines() if "for i in range" in line], host


@pytest.mark.parametrize("function", SCANNED, ids=lambda function: function.__name__)
def test_a_scan(function: Callable[..., Any]) -> None:
    assert "part_size" in grad(function, target="cuda").source(np.ones(9), np.ones(9), kind="primal")
