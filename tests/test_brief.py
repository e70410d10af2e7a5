"""Calls that are over too soon to let other Python threads run meanwhile."""

import threading

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.emit.brief import ALWAYS
from srcgrad.frontend.arguments import type_of
from srcgrad.options import Options
from srcgrad.pipeline import generate


def polynomial(x):
    return x * x + 3 * x


def total(x):
    return (x * x).sum()


def triangle(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s += x[i] * x[j]
    return s


def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def four_deep(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            for k in range(len(x)):
                for m in range(len(x)):
                    s += x[i] * x[j] * x[k] * x[m]
    return s


def few(x):
    for _ in range(10):
        x = x * x
    return x


def many(x):
    for _ in range(1_000_000):
        x = x * 1.5 - x
    return x


def as_told(x, n):
    for _ in range(n):
        x = x * 1.5 - x
    return x


def squared_length(x):
    s = 0.0
    for _ in range(len(x) * len(x)):
        s += x[0]
    return s


def by_entries(x, starts):
    s = 0.0
    for i in range(starts[0]):
        s += x[i]
    return s


def until(x):
    while x < 1e9:
        x = x * 2
    return x


def solved(a, b):
    return np.linalg.solve(a, b)


vector, square = np.ones(3), np.eye(3)


@pytest.mark.parametrize("kind", ["primal", "backward"])
@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (polynomial, (2.0,), ALWAYS), (polynomial, (vector,), 4096), (polynomial, (square,), 64),
        (total, (vector,), 4096), (triangle, (vector,), 64), (product, (square, square), 16),
        (four_deep, (vector,), 0), (few, (2.0,), 4096), (many, (2.0,), 0), (as_told, (2.0, 3), 0),
        (squared_length, (vector,), 64), (until, (2.0,), 0), (by_entries, (vector, np.array([3])), 0),
        (solved, (square, vector), 0),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_how_long_axes_may_be(function, args, expected, kind):
    types = tuple(type_of("x", arg) for arg in args)
    output = type_of("v", function(*args))
    generated = generate(function, kind, types, output if kind == "backward" else None, Options())
    assert generated.facts.brief == expected


@pytest.mark.parametrize("length", [0, 1, 4096, 4097])
def test_both_sides_of_the_limit(length):
    f, x = grad(polynomial), np.linspace(0, 1, length)
    for _ in range(2):
        np.testing.assert_allclose(f(x), polynomial(x))
        np.testing.assert_allclose(f.backward(x, x), (2 * x + 3) * x)
    rows = np.ones((2, length))
    np.testing.assert_allclose(f(rows), polynomial(rows))


def test_others_run_while_a_long_call_computes():
    f = grad(as_told)
    f(1.0, 1)
    done = threading.Event()
    count = 0

    def compute():
        f(1.0, 30_000_000)
        done.set()

    thread = threading.Thread(target=compute)
    thread.start()
    while not done.is_set():
        count += 1
        done.wait(0.005)
    thread.join()
    assert count > 3
