"""What a thread computes again on its way back instead of keeping it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad

RNG = np.random.default_rng(0)
TABLE = RNG.uniform(0.1, 0.5, 20)
X, W = RNG.uniform(0.2, 0.9, 7), RNG.uniform(0.1, 0.5, 7)


def heun(x, w, steps):
    out = np.empty(len(x))
    for i in range(len(x)):
        p, dt = x[i], 0.1 * w[i]
        for _ in range(steps):
            first = np.sin(p) * (1.0 - p)
            half = p + dt * first
            p = p + 0.5 * dt * (first + np.sin(half) * (1.0 - half))
        out[i] = p * p
    return out


def dear(x, w, steps):
    """The state itself is nothing that the way back needs, but all is made of it."""
    out = np.empty(len(x))
    for i in range(len(x)):
        p = x[i]
        for _ in range(steps):
            p = np.sin(p) * w[i] + np.cos(p) + 0.3 * np.exp(p * 0.5) + np.tanh(p)
        out[i] = p
    return out


def kepler(x, w, steps):
    out = np.empty(len(x))
    for i in range(len(x)):
        e, d = x[i], 1.0
        while abs(d) > 10.0**-steps:
            d = (e - w[i] * np.sin(e) - x[i]) / (1.0 - w[i] * np.cos(e))
            e = e - d
        out[i] = e
    return out


def in_two_loops(x, w, steps):
    out = np.empty(len(x))
    for i in range(len(x)):
        p = x[i]
        for t in range(steps):
            rate = p * w[(i + t) % len(w)]
            for k in range(3):
                q = p * rate + 0.1 * k
                p = p + 0.1 * q * np.cos(q) - 0.01 * t * p
        out[i] = p
    return out


def deciding(x, w, steps):
    """The branch of an iteration and of its mirror must be one, whatever is rounded."""
    out = np.empty(len(x))
    for i in range(len(x)):
        p, q = x[i], w[i]
        for _ in range(steps):
            h = p * q - 0.3 * p
            if h > 0.02:
                p = p - h * np.sin(p)
            else:
                p = p + 0.1 * q * q
            q = 0.9 * q + 0.1 * h * p
        out[i] = p * q
    return out


def changed_in_between(x, w, steps):
    """What the iteration has read is another number by the time of its mirror."""
    out = np.empty(len(x))
    for i in range(len(x)):
        p, rate = x[i], w[i]
        for _ in range(steps):
            h = p * rate
            p = p + h * np.sin(h)
            rate = 0.5 * rate + 0.1
        rate = p * 0.3
        out[i] = p * rate
    return out


def twice(x, w, steps):
    """A product over all and a second loop over what the first has left."""
    out = np.empty(len(x))
    for i in range(len(x)):
        p, s = x[i], 0.0
        for t in range(steps):
            a = p * p + w[i]
            p = a / (1.0 + a * a)
            s += a * p
        for t in range(steps):
            b = s * p - w[i]
            p = p * np.cos(b)
            s = s + b * b
        out[i] = s * p
    return out


def filters(x, w, steps):
    """Small matrices of each thread's own."""
    out = np.empty(len(x))
    step = np.array([[1.0, 0.1], [0.0, 1.0]])
    for i in range(len(x)):
        m, p = np.array([x[i], w[i]]), np.eye(2) * w[i]
        for t in range(steps):
            m, p = step @ m, step @ p @ step.T + 0.01 * np.eye(2)
            gain = p[:, 0] / (p[0, 0] + 0.1)
            m = m + gain * (np.sin(0.3 * t) - m[0])
            p = p - np.outer(gain, p[0])
        out[i] = m @ np.linalg.solve(p, m) + np.linalg.det(p)
    return out


def looked_up(x, w, steps):
    """A place that is made again might be rounded to the next element, or to one behind the last."""
    out = np.empty(len(x))
    for i in range(len(x)):
        p = x[i]
        for _ in range(steps):
            q = p * 0.3 + w[i]
            rate = TABLE[int(abs(q) * 6.0 + 0.1)] + q
            p = rate * p + 0.3 * np.sin(rate * p) * rate * q
        out[i] = p
    return out


CASES: list[tuple[Callable[..., Any], int, int]] = [  # with how many numbers are kept, for each iteration of loops
    (heun, 5, 1),
    (dear, 4, 1),
    (kepler, 9, 1),
    (in_two_loops, 3, 4),
    (deciding, 6, 5),
    (changed_in_between, 4, 2),
    (twice, 3, 3),
    (filters, 4, 5),
    (looked_up, 3, 2),
]


@pytest.mark.parametrize(("f", "steps", "_"), CASES, ids=lambda one: getattr(one, "__name__", ""))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients(f: Callable[..., Any], steps: int, _: int, dtype: Any) -> None:
    x, w = X.astype(dtype), W.astype(dtype)
    v = np.cos(np.arange(len(x))).astype(dtype)
    if dtype == np.float64:
        found = grad(f, wrt=("x", "w"), target="cuda").backward(x, w, steps, v)
    else:
        found = grad(f, wrt=("x", "w"), target="cuda").vjp(x, w, min(steps, 4))[1](v)
    want = grad(f, wrt=("x", "w"), jit=False).backward(X, W, steps if dtype == np.float64 else min(steps, 4), v)
    for got, right in zip(found, want, strict=True):
        np.testing.assert_allclose(
            got, right, rtol=1e-11 if dtype == np.float64 else 1e-4, atol=1e-6 * (dtype != np.float64)
        )


@pytest.mark.parametrize(("f", "steps", "kept"), CASES, ids=lambda one: getattr(one, "__name__", ""))
def test_what_is_kept(f: Callable[..., Any], steps: int, kept: int) -> None:
    source = grad(f, wrt=("x", "w"), target="cuda").source(X, W, steps)
    stores = [line for line in source.splitlines() if "thread] = " in line]
    assert len(stores) == kept, source
