"""What is read of an array before the loop writes it there: the array is kept once, and not what is read of it."""

from __future__ import annotations

import numpy as np
import pytest
from corpus.programs.solvers import levinson_and_durbin

from srcgrad import check_grad, grad

RANDOM = np.random.default_rng(0)
A, B = RANDOM.uniform(0.5, 1.5, (5, 5)), RANDOM.uniform(0.5, 1.5, (5, 4))
ROW = RANDOM.uniform(-0.3, 0.3, 6)


def triangular_product(a, b):
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j] ** 2)
    return b


def downwards(a, b):
    b = b.copy()
    for i in range(b.shape[0] - 1, -1, -1):
        for j in range(b.shape[1]):
            for k in range(i):
                b[i, j] += a[i, k] * b[k, j] ** 2
    return b


def in_steps(a, b):
    """The array is what it is ahead of each step."""
    b = b.copy()
    for _ in range(3):
        for i in range(b.shape[0]):
            for j in range(b.shape[1]):
                for k in range(i + 1, b.shape[0]):
                    b[i, j] += 0.1 * a[i, k] * b[k, j] ** 2
    return b


def the_other_triangle(a, b):
    """What is read has been written: it can't be what it was ahead of the loop."""
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            for k in range(i):
                b[i, j] += a[i, k] * b[k, j] ** 2
    return b


def written_ahead_by_another(a, b):
    b = b.copy()
    for i in range(b.shape[0]):
        b[b.shape[0] - 1, 0] *= 1.1
        for j in range(b.shape[1]):
            for k in range(i + 1, b.shape[0]):
                b[i, j] += a[i, k] * b[k, j] ** 2
    return b


def from_the_end(a, b):
    """b[k - n] is the element that b[k] is, too."""
    n, b = b.shape[0], b.copy()
    for i in range(n):
        for j in range(b.shape[1]):
            for k in range(i + 1):
                b[i, j] += a[i, k] * b[k - n, j] ** 2
    return b


PROGRAMS = [triangular_product, downwards, in_steps, the_other_triangle, written_ahead_by_another, from_the_end]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f) -> None:
    g = grad(f, jit=False)
    assert np.allclose(g(A, B), f(A, B), rtol=1e-14)
    for n in (1, 2, 5):
        check_grad(g, A[:n, :n].copy(), B[:n].copy())


@pytest.mark.parametrize("f, dims", [(triangular_product, "b_1.copy()"), (downwards, "b_1.copy()"), (in_steps, "[_]")])
def test_the_array_is_kept_alone(f, dims) -> None:
    text = grad(f, jit=False).source(A, B)
    kept = [line for line in text.splitlines() if "_kept = " in line or "_row = " in line]
    assert any(dims in line for line in kept) and "b_1_now_kept" not in text


def test_a_row_that_grows_is_kept_once_for_all_who_read_it() -> None:
    """The loops over it are as long as it gets in the loop around them."""
    g = grad(levinson_and_durbin, jit=False)
    check_grad(g, ROW)
    assert g.source(ROW).count("y_kept = np.empty((") == 1 and "y_now" not in g.source(ROW)


@pytest.mark.parametrize("f", [triangular_product, in_steps], ids=lambda f: f.__name__)
def test_compiled(f) -> None:
    check_grad(grad(f), A, B)
