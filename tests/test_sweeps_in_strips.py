"""Both sweeps over steps that leave elements apart go by strips: which do, and that nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from racing import pieces_at_once
from support import leaves

from srcgrad import grad
from srcgrad.passes import order
from srcgrad.passes.cpu import sweeps_in_strips
from srcgrad.testing import check_grad


def asian_option(s0, sigma, rate, strike, z):
    steps, n = z.shape
    s = np.full(n, s0)
    total = np.zeros(n)
    for t in range(steps):
        s = s * np.exp((rate - 0.5 * sigma**2) / steps + sigma * np.sqrt(1 / steps) * z[t])
        total = total + s
    return np.exp(-rate) * np.mean(np.maximum(total / steps - strike, 0.0))


def horner(x, c):
    y = np.zeros_like(x)
    for k in range(c.shape[0]):
        y = y * x + c[k]
    return np.tanh(y)


def rate_of_each_step(x, p, steps):
    m = np.zeros(x.size)
    for t in range(1, steps + 1):
        g = np.cos(x) * p[0]
        m = 0.9 * m + p[1] * g
        x = x - m / (1 - 0.9**t)
    return x


def discounted(r0, a, z):
    r, integral = r0 * np.ones(z.shape[1]), np.zeros(z.shape[1])
    for t in range(z.shape[0]):
        integral += r * 0.1
        r += a * (0.5 - r) + z[t]
    return np.exp(-integral)


def there_and_back(x, w):
    """Two sweeps of the user's, of which the second reads what the first one stored."""
    y, seen = x.copy(), np.empty((len(w), x.size))
    for t in range(len(w)):
        y = y * w[t]
        seen[t] = y
    y = np.sin(y)
    for t in range(len(w) - 1, -1, -1):
        y = y + w[t] * seen[t]
    return y


def sum_in_between(x, w):
    """The second loop waits for a sum of the first, and goes by strips with its own reverse."""
    y = x.copy()
    for t in range(len(w)):
        y = y * np.sin(y + w[t])
    y = y / np.sum(y * y)
    for t in range(len(w)):
        y = y * np.cos(y * w[t])
    return np.sum(y)


def neighbours_in_between(x, w):
    y = x.copy()
    for t in range(len(w)):
        y = y * np.sin(y + w[t])
    return y[1:] * y[:-1]


def mean_of_each_step(x, w):
    out = np.empty(len(w))
    for t in range(len(w)):
        x = x * np.sin(x + w[t])
        out[t] = np.mean(x)
    return out


def rate_that_goes_on(x, w):
    r, rates = 1.0, np.zeros(len(w))
    for t in range(len(w)):
        r = 0.5 * r + w[t]
        rates[t] = r
        x = x * np.sin(r * x)
    return np.sum(x) + rates


X, W, Z = np.linspace(0.4, 1.2, 7), np.array([0.7, -0.3, 1.1]), np.linspace(-1, 1, 28).reshape(4, 7)
PROGRAMS = (
    (asian_option, (1.0, 0.3, 0.05, 0.8, Z), True),
    (horner, (X, W), True),
    (rate_of_each_step, (X, np.array([0.3, 0.2]), 3), True),
    (discounted, (0.3, 0.2, Z), True),
    (there_and_back, (X, W), True),
    (sum_in_between, (X, W), True),
    (neighbours_in_between, (X, W), False),
    (mean_of_each_step, (X, W), None),
    (rate_that_goes_on, (X, W), False),
)


@pytest.mark.parametrize(("function", "args", "expected"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_gradient(monkeypatch: Any, function: Any, args: Any, expected: bool | None) -> None:
    monkeypatch.setattr(sweeps_in_strips, "STRIP", 3)
    f = grad(function, jit=False)
    y = function(*args)
    v = np.cos(np.arange(np.size(y))).reshape(np.shape(y))
    before, after = (f.source(*args, v, after=name) for name in ("flatten_nests", "sweeps_in_strips"))
    assert expected is None or (after != before) is expected
    value, gradients = f.value_and_backward(*args, v)
    np.testing.assert_allclose(value, y, rtol=1e-13)
    check_grad(f, *args)
    with order.without("sweeps_in_strips"):
        others = grad(function, jit=False).backward(*args, v)
    for got, want in zip(leaves(gradients), leaves(others), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    empty = tuple(arg[..., :0] if np.shape(arg)[-1:] == (7,) else arg for arg in args)
    if function is not asian_option:  # a mean of nothing
        found = f.backward(*empty, v[:0] if v.shape in ((6,), (7,)) else v)
        for got, arg in zip(leaves(found), empty, strict=False):
            assert np.shape(got) == np.shape(arg)


@pytest.mark.parametrize("name", ["asian_option", "horner", "rate_of_each_step", "there_and_back"])
@pytest.mark.parametrize("seed", range(2))
def test_on_threads(monkeypatch: Any, name: str, seed: int) -> None:
    """In pieces that take turns, each with memory for a strip and sums of its own, the same comes out."""
    monkeypatch.setattr(sweeps_in_strips, "STRIP", 2)
    function, args = next((one, args) for one, args, _ in PROGRAMS if one.__name__ == name)
    v = np.cos(np.arange(np.size(function(*args)))).reshape(np.shape(function(*args)))
    want = grad(function, jit=False).backward(*args, v)
    with pieces_at_once(seed) as counts:
        found = grad(function, parallel=True, jit=False).backward(*args, v)
    assert max(counts) > 1
    for got, other in zip(leaves(found), leaves(want), strict=True):
        np.testing.assert_allclose(got, other, rtol=1e-12)


@pytest.mark.parametrize("function", [asian_option, horner], ids=lambda function: function.__name__)
def test_compiled(function: Any) -> None:
    """Of more elements than a strip has, in a time and a memory that nobody would notice."""
    x, z = np.linspace(-1, 1, 1300), np.sin(np.arange(5200.0)).reshape(4, 1300)
    args = (1.0, 0.3, 0.05, 0.8, z) if function is asian_option else (x, W)
    v = np.cos(np.arange(1300)) if function is horner else 1.0
    got, want = grad(function).backward(*args, v), grad(function, jit=False).backward(*args, v)
    for one, other in zip(leaves(got), leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
