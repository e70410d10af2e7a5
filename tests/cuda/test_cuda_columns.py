"""A loop in order around independent ones: a thread goes through it where it stays with its own elements."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad

A = np.random.default_rng(0).uniform(0.2, 1.4, (7, 21))


def greatest_of_columns(a, w):
    return np.max(a * a, axis=0) * w


def least_of_columns(a, w):
    return np.min(a, axis=0) - w * w


def decayed(a, w):
    u = w.copy()
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            u[j] = 0.5 * u[j] * w[j] + a[i, j]
    return u


def turned_off(a, w):
    u = np.ones(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 0.5:
                u[j] = np.sin(a[i, j] * u[j])
    return u * w


def of_a_stack(a, w):
    u = np.ones((3, 21))
    for i in range(a.shape[0]):
        for k in range(3):
            for j in range(a.shape[1]):
                u[k, j] = u[k, j] * a[i, j] + w[j]
    return u[0] + u[1] * u[2]


def read_from_neighbours(a, w):
    u, then = w.copy(), w.copy()
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1] - 1):
            then[j] = u[j - 1] * a[i, j] + u[j + 1]
        for j in range(1, a.shape[1] - 1):
            u[j] = then[j]
    return u


def across(a, w):
    """Each row is of the one ahead of it, one column further on."""
    u = np.ones(a.shape) * w
    for i in range(a.shape[0] - 1):
        u[i + 1, :-1] = u[i, 1:] * a[i, :-1]
    return u


def triangular(a, w):
    u = w.copy()
    for i in range(a.shape[0]):
        for j in range(i, a.shape[1]):
            u[j] = u[j] * a[i, j] + 0.1
    return u


INSIDE = [greatest_of_columns, least_of_columns, decayed, turned_off, of_a_stack]
OUTSIDE = [read_from_neighbours, across, triangular]


@pytest.mark.parametrize("f", INSIDE + OUTSIDE)
@pytest.mark.parametrize("shape", [(7, 21), (1, 21), (20, 21)])
def test_columns(f: Callable[..., Any], shape: tuple[int, int]) -> None:
    a, w = np.resize(A, shape), np.linspace(0.5, 1.5, 21)
    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    y = plain(a, w)
    np.testing.assert_allclose(g(a, w), y, rtol=1e-12)
    for got, want in zip(g.backward(a, w, np.cos(y)), plain.backward(a, w, np.cos(y)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("f", INSIDE + OUTSIDE)
def test_who_goes_through_the_loop(f: Callable[..., Any]) -> None:
    text = grad(f, target="cuda").source(A, np.ones(21), kind="primal")
    launched_in_a_loop = re.search(r"^ {8,}\w+\[.*\]\(", text, re.M)
    assert bool(launched_in_a_loop) == (f in OUTSIDE), text
