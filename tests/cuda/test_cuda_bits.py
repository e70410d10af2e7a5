"""Butterflies and gates over all elements in one loop: quotients and bits tell which thread has which elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_cuda_apart import is_as_on_a_cpu

RNG = np.random.default_rng(21)
X = RNG.uniform(0.5, 1.5, 16)
Y = RNG.uniform(0.5, 1.5, 16)
TWIDDLE = np.exp(-2j * np.pi * np.arange(8) / 16)
WR, WI = TWIDDLE.real.copy(), TWIDDLE.imag.copy()

# ------------------------------------------------------------------------------------- transforms, by quotient and rest


def fft_while(re, im, wr, wi):
    n = re.shape[0]
    re = re.copy()
    im = im.copy()
    h = 1
    while h < n:
        for k in range(n // 2):
            j = k // h
            r = k % h
            a = j * 2 * h + r
            b = a + h
            c = r * (n // (2 * h))
            tr = wr[c] * re[b] - wi[c] * im[b]
            ti = wr[c] * im[b] + wi[c] * re[b]
            re[b] = re[a] - tr
            im[b] = im[a] - ti
            re[a] = re[a] + tr
            im[a] = im[a] + ti
        h *= 2
    return re, im


def fft_shift(re, im, wr, wi, stages):
    n = re.shape[0]
    re = re.copy()
    im = im.copy()
    for s in range(stages):
        h = 1 << s
        for k in range(n // 2):
            j = k // h
            r = k % h
            a = j * 2 * h + r
            b = a + h
            c = r * (n // (2 * h))
            tr = wr[c] * re[b] - wi[c] * im[b]
            ti = wr[c] * im[b] + wi[c] * re[b]
            re[b] = re[a] - tr
            im[b] = im[a] - ti
            re[a] = re[a] + tr
            im[a] = im[a] + ti
    return re, im


def by_powers(x, w, stages):
    n = len(x)
    x = x.copy()
    for s in range(stages):
        h = 2**s
        for k in range(n // 2):
            a = (k // h) * 2 * h + k % h
            u, v = x[a], x[a + h]
            x[a] = u + w[s] * v
            x[a + h] = u - w[s] * v * u
    return x


def by_shifts(x, stages):
    n = len(x)
    x = x.copy()
    for s in range(stages):
        h = 1 << s
        for k in range(n // 2):
            a = ((k >> s) << (s + 1)) | (k & (h - 1))
            b = a | h
            u, v = x[a], x[b]
            x[a] = u + v * v
            x[b] = u - v
    return x


def by_divmod(x):
    n = x.shape[0]
    x = x.copy()
    h = n // 2
    while h >= 1:
        for k in range(n // 2):
            j, r = divmod(k, h)
            a = 2 * h * j + r
            u, v = x[a], x[a + h]
            x[a] = u + v
            x[a + h] = (u - v) * u
        h //= 2
    return x


def by_what_is_left(x):
    n = x.shape[0]
    x = x.copy()
    h = 1
    while h < n:
        for k in range(n // 2):
            a = 2 * k - k % h
            u, v = x[a], x[a + h]
            x[a] = u * v
            x[a + h] = u - v
        h *= 2
    return x


def where_the_rest_is_small(x):
    n = x.shape[0]
    x = x.copy()
    h = 1
    while h < n:
        for i in range(n):
            if i % (2 * h) < h:
                u, v = x[i], x[i + h]
                x[i] = u + v
                x[i + h] = u * v
        h *= 2
    return x


def every_second_group(x):
    n = x.shape[0]
    x = x.copy()
    h = 1
    while h < n:
        for i in range(n):
            if (i // h) % 2 == 0:
                u, v = x[i], x[i + h]
                x[i] = u + v
                x[i + h] = u * v
        h *= 2
    return x


def radix4(x):
    n = x.shape[0]
    x = x.copy()
    h = 1
    while h < n:
        for k in range(n // 4):
            a = k // h * 4 * h + k % h
            p, q, r, s = x[a], x[a + h], x[a + 2 * h], x[a + 3 * h]
            x[a] = p + q * r
            x[a + h] = p - q
            x[a + 2 * h] = r * s
            x[a + 3 * h] = r - s
        h *= 4
    return x


def flat_grid(x, y):
    n, m = y.shape
    y = y.copy()
    for k in range(n * m):
        i = k // m
        j = k % m
        y[i, j] = y[i, j] * x[i] + np.sin(x[j])
    return y


# ------------------------------------------------------------------------------------------------------- gates, by bits


def gate(re, t, q):
    n = re.shape[0]
    re = re.copy()
    c, s = np.cos(t), np.sin(t)
    h = 1 << q
    for b in range(n):
        if b & h == 0:
            p = b | h
            ar, br = re[b], re[p]
            re[b] = c * ar - s * br
            re[p] = s * ar + c * br
    return re


def gates(re, t, qs):
    n = re.shape[0]
    re = re.copy()
    for q in range(qs):
        c, s = np.cos(t[q]), np.sin(t[q])
        h = 1 << q
        for b in range(n):
            if b & h == 0:
                p = b ^ h
                ar, br = re[b], re[p]
                re[b] = c * ar - s * br
                re[p] = s * ar + c * br
    return re


def gates_by_shifts(re, t, qs):
    n = re.shape[0]
    re = re.copy()
    for q in range(qs):
        c, s = np.cos(t[q]), np.sin(t[q])
        for b in range(n):
            if (b >> q) & 1 == 0:
                p = b + (1 << q)
                ar, br = re[b], re[p]
                re[b] = c * ar - s * br
                re[p] = s * ar + c * br
    return re


def gates_by_quotients(re, t, qs):
    n = re.shape[0]
    re = re.copy()
    for q in range(qs):
        c, s = np.cos(t[q]), np.sin(t[q])
        h = 2**q
        for b in range(n):
            if (b // h) % 2 == 0:
                p = b + h
                ar, br = re[b], re[p]
                re[b] = c * ar - s * br
                re[p] = s * ar + c * br
    return re


def controlled(re, c, t):
    n = re.shape[0]
    re = re.copy()
    for b in range(n):
        if b & (1 << c) != 0 and b & (1 << t) == 0:
            p = b | (1 << t)
            re[b], re[p] = re[p], re[b] * re[p]
    return re


def both_ways(re, t, q):
    n = re.shape[0]
    re = re.copy()
    h = 1 << q
    for b in range(n):
        p = b ^ h
        if b < p:
            u, v = re[b], re[p]
            re[b] = u * t - v
            re[p] = v * t + u
    return re


def bitonic(x, ks):
    n = x.shape[0]
    x = x.copy()
    for s in range(1, ks + 1):
        k = 1 << s
        j = k >> 1
        while j > 0:
            for i in range(n):
                p = i ^ j
                if p > i:
                    u, v = x[i], x[p]
                    if (i & k == 0) == (u > v):
                        x[i] = v
                        x[p] = u
            j >>= 1
    return x


def two_qubits(x, m, q, r):
    x = x.copy()
    g, h = 1 << q, 1 << r
    mask = g | h
    for b in range(x.shape[0]):
        if b & mask == 0:
            u, v, w, z = x[b], x[b | g], x[b | h], x[b | mask]
            x[b] = m[0] * u + m[1] * v
            x[b | g] = m[1] * w
            x[b | h] = m[0] * z * u
            x[b | mask] = z * w
    return x


def reverse_pairs(x):
    n = x.shape[0]
    x = x.copy()
    for i in range(n):
        p = n - 1 - i
        if i < p:
            u, v = x[i], x[p]
            x[i] = v * u
            x[p] = u - v
    return x


PROGRAMS = [
    (fft_while, ("re", "im", "wr", "wi"), (X, Y, WR, WI)),
    (fft_shift, ("re", "im"), (X, Y, WR, WI, 4)),
    (by_powers, ("x", "w"), (X, Y[:4], 4)),
    (by_shifts, ("x",), (X, 4)),
    (by_divmod, ("x",), (X[:8],)),
    (by_what_is_left, ("x",), (X,)),
    (where_the_rest_is_small, ("x",), (X,)),
    (every_second_group, ("x",), (X,)),
    (radix4, ("x",), (X,)),
    (flat_grid, ("x", "y"), (X[:5], RNG.uniform(size=(5, 3)))),
    (gate, ("re", "t"), (X, 0.3, 2)),
    (gates, ("re", "t"), (X, Y[:4], 4)),
    (gates_by_shifts, ("re", "t"), (X, Y[:4], 4)),
    (gates_by_quotients, ("re", "t"), (X, Y[:4], 4)),
    (controlled, ("re",), (X, 3, 1)),
    (both_ways, ("re", "t"), (X, 0.3, 1)),
    (bitonic, ("x",), (X, 4)),
    (two_qubits, ("x", "m"), (X, Y[:2], 0, 3)),
    (reverse_pairs, ("x",), (X[:9],)),
]


@pytest.mark.parametrize(("function", "wrt", "arguments"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS])
def test_in_parallel(function: Callable[..., Any], wrt: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
    text = is_as_on_a_cpu(function, wrt, arguments)
    assert "# one thread" not in text


# ------------------------------------------------------------------------------------------ a name for what is left


def with_a_name_for_the_rest(x):
    n = x.shape[0]
    x = x.copy()
    h = n // 2
    while h >= 1:
        for k in range(n // 2):
            r = k % h
            a = 2 * (k - r) + r
            u, v = x[a], x[a + h]
            x[a] = u * v
            x[a + h] = u - v
        h //= 2
    return x


def test_name_for_the_rest() -> None:
    """That no index is negative is known by what the name was made of."""
    is_as_on_a_cpu(with_a_name_for_the_rest, ("x",), (X[:8],))


def down_from_a_multiple(x):
    """j is natural ahead of the loop, not in it: x[-1] is the last one."""
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        r = i % 3
        j = i - r
        y[i] = x[j]
        while j > -2 and x[j] > 0.6:
            y[i] += x[i] * x[j]
            j -= 1
            y[i] += x[j] * x[j]
    return y


def test_name_that_is_set_again() -> None:
    is_as_on_a_cpu(down_from_a_multiple, ("x",), (np.array([0.9, 0.8, 0.7, 1.2, 0.5, 1.1, 0.75]),))
