"""Loops that are independent in one of two cases: which it is, the host asks, and one thread does the other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_cuda_apart import is_as_on_a_cpu

from srcgrad import grad

RNG = np.random.default_rng(22)
X, Y = RNG.uniform(0.5, 1.5, (2, 16))

# ---------------------------------------------------------------------------- every second element of a torus, in place


def torus(u, f, steps):
    n, m = u.shape
    u = u.copy()
    for _ in range(steps):
        for colour in range(2):
            for i in range(n):
                for j in range(m):
                    if (i + j) % 2 == colour:
                        u[i, j] = 0.25 * (u[(i + 1) % n, j] + u[i - 1, j] + u[i, (j + 1) % m] * u[i, j - 1] - f[i, j])
    return u


def in_three_colours(u, f, steps):
    n, m = u.shape
    u = u.copy()
    for s in range(3 * steps):
        for i in range(n):
            for j in range(m):
                if (i + j) % 3 == s % 3:
                    u[i, j] = np.sin(u[(i + 1) % n, j] - u[i, (j - 1) % m]) * f[i, j]
    return u


def on_a_ring(u, steps):
    n = u.shape[0]
    u = u.copy()
    for _ in range(steps):
        for i in range(0, n, 2):
            u[i] = u[i] + 0.1 * np.sin(u[(i + 1) % n] - u[i - 1])
        for i in range(1, n, 2):
            u[i] = u[i] + 0.1 * np.sin(u[(i + 1) % n] - u[i - 1])
    return u


@pytest.mark.parametrize("n", [8, 9, 2, 1])
def test_ring(n: int) -> None:
    text = is_as_on_a_cpu(on_a_ring, ("u",), (X[:n], 2))
    assert "if u.shape[0] % 2 == 0:" in text


@pytest.mark.parametrize(
    ("function", "shape", "is_parallel"),
    [
        (torus, (6, 4), True),
        (torus, (5, 4), False),
        (torus, (4, 5), False),
        (torus, (2, 2), True),
        (in_three_colours, (6, 3), True),
        (in_three_colours, (6, 4), False),
    ],
)
def test_torus(function: Callable[..., Any], shape: tuple[int, int], is_parallel: bool) -> None:
    """Around an axis of odd length two elements of one colour are neighbours."""
    u, f = RNG.uniform(0.5, 1.5, (2, *shape))
    text = is_as_on_a_cpu(function, ("u", "f"), (u, f, 2))
    divides = 2 if function is torus else 3
    assert f"if u.shape[0] % {divides} == 0 and u.shape[1] % {divides} == 0:" in text
    assert is_parallel == all(length % divides == 0 for length in shape)
    kernels = text[: text.index(f"def {function.__name__}_value_and_backward(")]
    assert kernels.count("cuda.grid(2)") >= 4  # both axes


# ------------------------------------------------------------------------------------------- masks that may be negative


def rotated(re, im, t, h):
    n = re.shape[0]
    re = re.copy()
    im = im.copy()
    c, s = np.cos(t), np.sin(t)
    for b in range(n):
        if b & h == 0:
            p = b + h
            ar, br, ai, bi = re[b], re[p], im[b], im[p]
            re[b] = c * ar - s * br
            re[p] = s * ar + c * br
            im[b] = c * ai - s * bi
            im[p] = s * ai + c * bi
    return re, im


def both_ways(re, t, h):
    n = re.shape[0]
    re = re.copy()
    for b in range(n):
        p = b ^ h
        if b < p:
            u, v = re[b], re[p]
            re[b] = u * t - v
            re[p] = v * t + u
    return re


def goes_on(re, t, h):
    n = re.shape[0]
    re = re.copy()
    for b in range(n):
        if b & h:
            continue
        p = b | h
        u, v = re[b], re[p]
        re[b] = u * t - v
        re[p] = v * t + u
    return re


def sorted_pairs(x, h):
    n = x.shape[0]
    x = x.copy()
    for i in range(n):
        p = i ^ h
        if p > i:
            lo, hi = min(x[i], x[p]), max(x[i], x[p])
            x[i], x[p] = lo, hi
    return x


def butterflies(x, h):
    x = x.copy()
    for k in range(x.shape[0] // 2):
        a = 2 * (k // h) * h + k % h
        u, v = x[a], x[a + h]
        x[a] = u + v * v
        x[a + h] = u - v
    return x


@pytest.mark.parametrize(
    ("function", "wrt", "arguments"),
    [
        (rotated, ("re", "im", "t"), (X, Y, 0.3, 2)),
        (rotated, ("re", "im", "t"), (X, Y, 0.3, 5)),
        (rotated, ("re", "im", "t"), (X, Y, 0.3, 0)),
        (rotated, ("re", "im", "t"), (X[:3], Y[:3], 0.3, -2)),
        (both_ways, ("re", "t"), (X, 0.3, 4)),
        (both_ways, ("re", "t"), (X, 0.3, 6)),
        (both_ways, ("re", "t"), (X, 0.3, -3)),
        (goes_on, ("re", "t"), (X, 0.3, 8)),
        (goes_on, ("re", "t"), (X[:5], 0.3, -4)),
        (sorted_pairs, ("x",), (X, 4)),
        (sorted_pairs, ("x",), (X, -4)),
        (butterflies, ("x",), (X, 4)),
        (butterflies, ("x",), (X, 2)),
        (butterflies, ("x",), (X, -2)),
        (butterflies, ("x",), (X[:0], 3)),
    ],
)
def test_masks(function: Callable[..., Any], wrt: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
    """y[b | h] of an h below 0 may be any element: one thread goes through them."""
    text = is_as_on_a_cpu(function, wrt, arguments)
    host = text[text.rindex("\ndef ") :]
    assert f"if h >= {int(function is butterflies)}:" in host and "else:" in host
    assert "# one thread" not in host[: host.index("else:")]


# ----------------------------------------------------------------------------------------- what may be divided by 0


def by_the_length_of_another(x, w):
    m = len(w)
    x = x.copy()
    for k in range(x.shape[0] // 2):
        a = k // m * 2 * m + k % m
        u, v = x[a], x[a + m]
        x[a] = u + v * v
        x[a + m] = u * v
    return x


def by_a_difference(x, h):
    """That h is 1 at least says nothing of h - 1."""
    y = np.zeros(x.shape[0])
    for k in range(x.shape[0]):
        y[k // (h - 1) * (h - 1) + k % (h - 1)] = x[k] * x[k]
    return 2.0 * x * y


def in_halves(x):
    n = x.shape[0]
    x = x.copy()
    h = n // 2
    while h > 0:
        for k in range(n // 2):
            a = k // h * 2 * h + k % h
            u, v = x[a], x[a + h]
            x[a] = u + v
            x[a + h] = (u - v) * u
        h //= 2
    return x


def down_to_nothing(x, steps):
    """The last step, of a length that is 0, is one element for all."""
    n = x.shape[0]
    x = x.copy()
    h = n // 4
    for _ in range(steps):
        for k in range(n // 4):
            a = k // h * 2 * h + k % h
            u, v = x[a], x[a + h]
            x[a] = 0.5 * u + v * v
            x[a + h] = u * v
        h //= 2
    return x


def turned(x, h, m):
    """A matrix in one row: no iteration where m is 0."""
    y = np.zeros(h * m)
    for k in range(h * m):
        y[k % m * h + k // m] = x[k] * x[k]
    return y


@pytest.mark.parametrize(
    ("function", "arguments", "asked"),
    [
        (by_the_length_of_another, (X, X[:2]), "if w.shape[0] >= 1:"),
        (by_a_difference, (X, 5), ""),
        (in_halves, (X,), ""),
        (in_halves, (X[:1],), ""),
        (down_to_nothing, (X, 2), "if h >= 1:"),
        *((turned, (np.concatenate([X, Y])[: h * m], h, m), "m >= 1 and h >= 0") for h, m in ((4, 4), (1, 7), (7, 1))),
        *((turned, (np.concatenate([X, Y])[: h * m], h, m), "m >= 1 and h >= 0") for h, m in ((5, 3), (0, 4), (4, 0))),
        (turned, (X[:6], -2, -3), "m >= 1 and h >= 0"),
    ],
)
def test_divisors(function: Callable[..., Any], arguments: tuple[Any, ...], asked: str) -> None:
    text = is_as_on_a_cpu(function, ("x",), arguments)
    assert asked in text
    assert ("by_one(" in text) == bool(asked or function is by_a_difference)


@pytest.mark.parametrize(("function", "arguments"), [(butterflies, (X, 0)), (by_a_difference, (X, 1))])
def test_divisors_that_are_0(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Compiled code has 0 for k // 0, for all k: those iterations meet, and one thread goes through them."""
    on_device, plain = (grad(function, wrt=("x",), **how) for how in ({"target": "cuda"}, {"jit": False}))
    wanted = plain.value_and_backward(*arguments, v=Y)
    for got, want in zip(on_device.value_and_backward(*arguments, v=Y), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    text = on_device.source(*arguments, v=Y)
    assert "by_one(" in text[text.index("else:") if function is not by_a_difference else 0 :]


def in_one_row(x, y):
    """A matrix of one row: where that has no elements, none is divided by its length."""
    z = np.zeros(y.shape)
    for i in range(x.shape[0]):
        z[i // y.shape[1], i % y.shape[1]] = x[i] * x[i]
    return z


@pytest.mark.parametrize(("n", "shape"), [(12, (3, 4)), (11, (3, 4)), (0, (3, 4)), (0, (2, 0)), (0, (0, 3))])
def test_divided_by_the_length_of_what_is_touched(n: int, shape: tuple[int, int]) -> None:
    text = is_as_on_a_cpu(in_one_row, ("x",), (X[:n], RNG.uniform(size=shape)))
    assert "by_one(" not in text and "if y.shape[1] >= 1" not in text
