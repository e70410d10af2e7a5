"""Loops of independent steps with products of matrices: each part of all steps is one kernel, or one product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_close, fresh

from srcgrad import grad
from srcgrad.errors import CompiledError
from srcgrad.passes.gpu import distribute
from srcgrad.runtime import device


@pytest.fixture(autouse=True)
def small_loops_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribute, "WIDE_ROWS", 1)


def real(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.2, 1.4, shape)


def mixture(alphas, means, factors, x):
    n, d = x.shape
    terms = np.empty((n, alphas.size))
    for j in range(alphas.size):
        q = np.zeros((d, d))
        p = d
        for a in range(d):
            q[a, a] = np.exp(factors[j, a])
            q[a + 1 :, a] = factors[j, p : p + d - 1 - a]
            p += d - 1 - a
        y = (x - means[j]) @ q.T
        terms[:, j] = alphas[j] + np.sum(factors[j, :d]) - 0.5 * np.sum(y * y, axis=1)
    return np.sum(np.log(np.sum(np.exp(terms), axis=1)))


def row_by_row(w, x):
    """Each row of a matrix is made of the row before."""
    n, d = x.shape
    terms = np.empty((n, w.shape[0]))
    for j in range(w.shape[0]):
        q = np.zeros((d, d))
        for a in range(1, d):
            q[a] = np.sin(q[a - 1]) + w[j, a]
        y = x @ q.T
        terms[:, j] = np.sum(y * y, axis=1)
    return np.sum(np.sin(terms))


def heads(x, wq, wk, wv):
    out = np.zeros((x.shape[0], wv.shape[2]))
    for h in range(wq.shape[0]):
        scores = (x @ wq[h]) @ (x @ wk[h]).T
        e = np.exp(scores)
        out += (e / np.sum(e, axis=1, keepdims=True)) @ (x @ wv[h])
    return np.sum(out * out)


def directly(x, w):
    y = np.empty((x.shape[0], x.shape[1], w.shape[2]))
    for j in range(x.shape[0]):
        y[j] = x[j] @ w[j]
    return np.sum(np.sin(y))


def with_one_matrix(x, w):
    y = np.empty((x.shape[0], x.shape[1], w.shape[1]))
    for j in range(x.shape[0]):
        y[j] = x[j] @ w
    return np.sum(np.sin(y))


def turned(x, w):
    y = np.empty((x.shape[2], w.shape[2], x.shape[0]))
    for j in range(x.shape[0]):
        y[:, :, j] = x[j].T @ w[j]
    return np.sum(y * y * y)


def upwards_from_one(x, w):
    y = np.zeros((x.shape[0], x.shape[1], w.shape[2]))
    for j in range(1, x.shape[0]):
        y[j] = x[j] @ w[j - 1]
    return np.sum(np.sin(y))


def numbers(x, w, weights, scale):
    total = 0.0
    for j in range(x.shape[0]):
        weight = weights[j] * weights[j]
        twice = 2.0 * scale
        y = x[j] @ w
        size = 0.0
        for i in range(y.shape[0]):
            for k in range(y.shape[1]):
                size += y[i, k] * y[i, k]
        total += weight * np.sqrt(size) * twice
    return total


def numbers_of_each(x, w, weights, scale):
    total = 0.0
    for j in range(x.shape[0]):
        weight = weights[j] * weights[j]
        twice = 2.0 * scale
        y = x[j] @ w[j]
        total += weight * np.sqrt(np.sum(y * y)) * twice
    return total


def one_of_two(x, w, weights):
    out = np.empty(x.shape[0])
    for j in range(x.shape[0]):
        y = x[j] @ w
        if weights[j] > 0.8:
            out[j] = np.sum(y * y)
        else:
            out[j] = weights[j]
    return np.sum(out * out)


def greatest(x, w):
    out = np.empty(x.shape[0])
    for j in range(x.shape[0]):
        y = x[j] @ w
        top = np.max(y)
        out[j] = top + np.log(np.sum(np.exp(y - top)))
    return np.sum(out)


def the_last_is_read(x, w):
    y = np.zeros((x.shape[1], w.shape[1]))
    s = 0.0
    for j in range(x.shape[0]):
        y = np.sin(x[j] @ w)
        s += np.sum(y)
    return s * np.sum(y)


def in_order(x, w):
    h = x[0]
    for j in range(w.shape[0]):
        h = np.tanh(h @ w[j])
    return np.sum(h * h)


def in_place(x, w):
    for j in range(x.shape[0]):
        x[j] = np.sin(x[j] @ w)


def within_steps(x, w, steps):
    u = x * 1.0
    for _ in range(steps):
        for j in range(u.shape[0]):
            y = u[j] @ w
            u[j] = np.tanh(y) + 0.5 * y
    return np.sum(u * u)


def until_small(x, w):
    out = np.empty(x.shape[0])
    for j in range(x.shape[0]):
        y = x[j] @ w
        s = np.sum(y * y)
        while s > 1.0:
            s = 0.5 * s + 0.1 * y[0, 0] / (y[0, 0] + 1.0)
        out[j] = s
    return np.sum(out)


def as_many_as_the_number(x, w):
    out = np.zeros((x.shape[0], w.shape[1]))
    for j in range(x.shape[0]):
        y = x[j] @ w
        for i in range(j + 1):
            out[j] += y[i % y.shape[0]] * i
    return np.sum(np.sin(out))


def looked_up(x, w, places):
    s = 0.0
    for j in range(places.size):
        y = x[places[j]] @ w
        s += np.sum(y * y)
    return s


def mixture_of_loops(alphas, means, factors, x):
    n, d = x.shape
    k = alphas.size
    centered, scaled, terms = np.empty(d), np.empty(d), np.empty(k)
    total = 0.0
    for i in range(n):
        for j in range(k):
            for a in range(d):
                centered[a] = x[i, a] - means[j, a]
                scaled[a] = np.exp(factors[j, a]) * centered[a]
            p = d
            for a in range(d):
                for c in range(a + 1, d):
                    scaled[c] += factors[j, p] * centered[a]
                    p += 1
            squares = 0.0
            for a in range(d):
                squares += scaled[a] * scaled[a]
            terms[j] = alphas[j] - 0.5 * squares
        top = terms[0]
        for j in range(1, k):
            top = max(top, terms[j])
        weight = 0.0
        for j in range(k):
            weight += np.exp(terms[j] - top)
        total += top + np.log(weight)
    return total


def recurrent_layers(x, w, steps):
    n, d = x.shape
    out = np.empty(n)
    for i in range(n):
        h, y = np.empty(d), np.empty(d)
        for a in range(d):
            u = x[i, a]
            for _ in range(steps):
                u = np.sin(u) + 0.1 * x[i, a]
            h[a] = u
        size = 1.0
        for a in range(d):
            s = 0.0
            for b in range(d):
                s += w[a, b] * h[b]
            if s < -1e3:
                raise ValueError("too small")
            y[a] = np.tanh(s)
        for a in range(d - 1):
            size = 0.5 * size + y[a] * y[a + 1]
        shift = 0.25 * size
        for a in range(d):
            for b in range(a + 1):
                y[a] += shift * h[b] * size
        out[i] = np.sum(y) + size
    return np.sum(out * out)


K, D = 3, 4
STACK, MATRIX = real(K, 5, D), real(D, D)
PROGRAMS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (mixture, (real(K), real(K, D), 0.3 * real(K, 10), real(7, D)), {}),
    (mixture, (real(1), real(1, D), 0.3 * real(1, 10), real(7, D)), {}),
    (heads, (real(6, D), 0.3 * real(K, D, 2), 0.3 * real(K, D, 2), real(K, D, 5)), {}),
    (directly, (STACK, real(K, D, 2)), {}),
    (directly, (STACK[:0], real(0, D, 2)), {}),
    (directly, (STACK[:1], real(K, D, 2)), {}),
    (with_one_matrix, (STACK, MATRIX), {}),
    (turned, (STACK, real(K, 5, 3)), {}),
    (upwards_from_one, (STACK, real(K, D, 2)), {}),
    (numbers, (STACK, MATRIX, real(K), 0.7), {}),
    (numbers_of_each, (STACK, real(K, D, 2), real(K), 0.7), {}),
    (one_of_two, (STACK, MATRIX, np.array([0.3, 1.1, 0.9])), {}),
    (greatest, (STACK, MATRIX), {}),
    (greatest, (real(2, 40, D), MATRIX), {}),
    (the_last_is_read, (STACK, MATRIX), {}),
    (in_order, (real(1, 2, D), 0.5 * real(K, D, D)), {}),
    (in_place, (STACK, MATRIX), {"outputs": ("x",)}),
    (within_steps, (0.3 * STACK, 0.4 * MATRIX, 2), {"wrt": ("x", "w")}),
    (until_small, (STACK, MATRIX), {}),
    (as_many_as_the_number, (STACK, MATRIX), {}),
    (mixture_of_loops, (real(K), real(K, D), 0.3 * real(K, 10), real(37, D)), {}),
    (mixture_of_loops, (real(1), real(1, D), 0.3 * real(1, 10), real(5, D)), {}),
    (mixture_of_loops, (real(K), real(K, D), 0.3 * real(K, 10), real(0, D)), {}),
    (recurrent_layers, (real(21, D), real(D, D), 3), {}),
    (looked_up, (STACK, MATRIX, np.array([2, 0, 2])), {"wrt": ("x", "w")}),
]


WHOLE = [case for case in PROGRAMS if case[0] in (numbers_of_each, heads, mixture_of_loops, recurrent_layers)]


@pytest.mark.parametrize("f, given, options", WHOLE, ids=[f"{f.__name__}-{k}" for k, (f, *_) in enumerate(WHOLE)])
def test_steps_that_have_no_room_for_rows(
    f: Any, given: tuple[Any, ...], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribute, "MOST_MORE", -1)
    want = grad(f, jit=False, **options).value_and_backward(*fresh(given))
    assert_close(grad(f, target="cuda", **options).value_and_backward(*fresh(given)), want, 1e-10, "all")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f, given, options", PROGRAMS, ids=[f"{f.__name__}-{k}" for k, (f, *_) in enumerate(PROGRAMS)])
def test_steps(f: Any, given: tuple[Any, ...], options: dict[str, Any], dtype: Any) -> None:
    args = tuple(a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in given)
    v = (np.ones_like(args[0]),) if options.get("outputs") else ()
    tolerance = 1e-10 if dtype == np.float64 else 2e-3
    mine, plain = grad(f, target="cuda", **options), grad(f, jit=False, **options)
    ours, theirs = fresh(args), fresh(args)
    got, want = mine(*ours), f(*theirs)
    assert_close((ours, () if got is None else got), (theirs, () if want is None else want), tolerance, "f")
    want = plain.value_and_backward(*fresh(args), *v)
    assert_close(mine.value_and_backward(*fresh(args), *v), want, tolerance, "value and cotangents")
    value, pullback = mine.vjp(*fresh(args))
    assert_close((value, pullback(*(v or (1.0,)))), want, tolerance, "vjp")


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    launch = device.Launch.__call__

    def noted(self: device.Launch, *args: Any, **starts: Any) -> Any:
        found.append(self.kernel.function.__name__)
        return launch(self, *args, **starts)

    monkeypatch.setattr(device.Launch, "__call__", noted)
    return found


@pytest.mark.parametrize("f, args", [
    (mixture, lambda k: (real(k), real(k, D), 0.3 * real(k, 10), real(7, D))),
    (numbers_of_each, lambda k: (real(k, 5, D), real(k, D, 2), real(k), 0.7)),
    (directly, lambda k: (real(k, 5, D), real(k, D, 2))),
])  # fmt: skip
def test_as_many_launches_for_any_number_of_steps(f: Any, args: Any, launches: list[str]) -> None:
    counts = []
    for k in (2, 5):
        launches.clear()
        grad(f, target="cuda").backward(*args(k))
        counts.append(len(launches))
    assert counts[0] == counts[1] < 20


def test_long_loops_in_order_stay_on_the_host(launches: list[str]) -> None:
    """A thread for each of two steps would go through rows of 100 by itself."""
    args = 0.01 * real(2, 100, 100), 0.1 * real(3, 100)
    wanted = grad(row_by_row, jit=False).value_and_backward(*args)
    assert_close(grad(row_by_row, target="cuda").value_and_backward(*args), wanted, 1e-9, "value and cotangents")
    assert len(launches) > 200


def test_errors_of_steps_are_raised() -> None:
    args = real(K), real(K, D), 0.3 * real(K, 10), real(7, D)
    for given in (
        (args[0], args[1][:2], *args[2:]),
        (args[0], args[1][:, :3], *args[2:]),
        (args[0], args[1], args[2][:2], args[3]),
        (args[0], args[1], args[2][:, :8].copy(), args[3]),
    ):
        with pytest.raises((CompiledError, IndexError, ValueError)) as wanted:
            grad(mixture, jit=False).backward(*given)
        with pytest.raises(type(wanted.value)):
            grad(mixture, target="cuda").backward(*given)


def test_places_out_of_range_are_errors() -> None:
    for call in (grad(looked_up, target="cuda", wrt=("x", "w")), grad(looked_up, target="cuda", wrt="x").backward):
        with pytest.raises(IndexError):
            call(STACK, MATRIX, np.array([0, 3, 1]))
