"""Threads that take several elements in turns, and read ahead: at the ends of turns, of rows, and of grids."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import test_cuda_corpus
from corpus import FLOAT64, PROGRAMS

from srcgrad import grad
from srcgrad.runtime.device import THREADS

TURNS = 4
NAMED = {program.name: program for program in PROGRAMS}


def product(x, y):
    return x * y + np.sqrt(x * x + 1.0)


def from_the_third_on(x, y):
    out = np.zeros_like(x)
    for i in range(2, x.size - 1):
        out[i] = x[i] * y[i - 2]
    return out


def downwards(x, y):
    out = x * y
    for i in range(x.size - 1, 0, -1):
        out[i] = x[i] * x[i] * y[i - 1]
    return out


def every_third(x, y):
    out = np.copy(y)
    for i in range(1, x.size, 3):
        out[i] = np.sin(x[i]) * y[i]
    return out


def in_place(x, y):
    for i in range(x.size):
        y[i] = y[i] * y[i] * x[i]
    return y


def chosen(x, y):
    out = np.zeros_like(x)
    for i in range(x.size):
        t = y[i]
        if x[i] > 0.0:
            out[i] = x[i] * t
        else:
            out[i] = t * t
    return out


def by_remainders(x, y):
    """A question that holds at both ends of some turns, and not between."""
    out = np.zeros_like(x)
    for i in range(x.size):
        t = y[i]
        if i % 1024 < 512:
            out[i] = x[i] * t
        elif i % 7 == 3:
            out[i] = t * t
        elif i % 5 < 3:
            out[i] = x[i] * x[i] * t
    return out


def neighbours(x, y):
    now, then = x.copy(), x.copy()
    for _ in range(3):
        for i in range(1, x.size - 1):
            then[i] = now[i] + 0.1 * (now[i + 1] + now[i - 1] - 2.0 * now[i]) * y[i]
        now, then = then, now
    return now


def norm(x, y):
    return np.sqrt(np.sum((x - y) ** 2))


LOOPS = [product, from_the_third_on, downwards, every_third, in_place, chosen, by_remainders, neighbours, norm]
TILE = TURNS * THREADS
LENGTHS = [0, 1, 2, 3, THREADS, TILE - 1, TILE, TILE + 1, 3 * TILE - 5]


def both(f: Callable[..., Any], *args: Any, v: Any = None) -> tuple[Any, Any]:
    plain, on_gpu = grad(f, wrt=("x", "y"), jit=False), grad(f, wrt=("x", "y"), target="cuda")
    return on_gpu.value_and_backward(*args, v=v), plain.value_and_backward(*args, v=v)


def same(got: Any, want: Any) -> None:
    if isinstance(want, tuple):
        for one, other in zip(got, want, strict=True):
            same(one, other)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("length", LENGTHS)
def test_of_any_length(f: Callable[..., Any], length: int) -> None:
    rng = np.random.default_rng(length)
    x, y = rng.normal(size=(2, length))
    v = 1.3 if f is norm else rng.normal(size=length)
    if f is norm and length == 0:
        y = x
        with np.errstate(all="ignore"):
            same(*both(f, x, y, v=v))
        return
    same(*both(f, x, y, v=v))


def open_at_one_end(x, y):
    """In the interior nobody asks for the end: that is where the last turns are beyond it."""
    out, twice = np.zeros_like(x), np.zeros_like(x)
    for i in range(1, x.size):
        out[i] = x[i] * y[i - 1]
    for i in range(x.size):
        twice[i] = out[i] * out[i] * x[i]
    for i in range(1, x.size):
        twice[i] += out[i] * y[i - 1]
    return twice


@pytest.mark.parametrize("length", LENGTHS)
def test_a_grid_that_is_open_at_one_end(length: int) -> None:
    rng = np.random.default_rng(length)
    x, y, v = rng.normal(size=(3, length))
    same(*both(open_at_one_end, x, y, v=v))


@pytest.mark.parametrize("case", range(len(NAMED["stages.one_buffer_for_all_stages"].cases)))
def test_stages_that_are_open_at_one_end(case: int) -> None:
    test_cuda_corpus.test_value_and_backward(NAMED["stages.one_buffer_for_all_stages"], case, FLOAT64)


def outer(x, y):
    return x[:, None] * y[None, :]


def plate(x, y):
    out = x.copy()
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            out[i, j] = y[i, j] * (x[i + 1, j] + x[i - 1, j] + x[i, j + 1] + x[i, j - 1] - 4.0 * x[i, j])
    return out


def block(x, y):
    out = x * y
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1]):
            for k in range(x.shape[2] - 1):
                out[i, j, k] = x[i - 1, j, k] * y[i + 1, j - 1, k + 1] + x[i, j, k]
    return out


def solid(x, y):
    """Of what a thread reads there, three quarters are below what another turn reads."""
    now, then = x.copy(), x.copy()
    for _ in range(2):
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                for k in range(1, x.shape[2] - 1):
                    near = now[i + 1, j, k] + now[i - 1, j, k] + now[i, j + 1, k] + now[i, j - 1, k]
                    near += now[i, j, k + 1] + now[i, j, k - 1]
                    then[i, j, k] = now[i, j, k] + 0.1 * (near - 6.0 * now[i, j, k])
        now, then = then, now
    return now * y


def solid_by_signs(x, y):
    """What is asked about an element itself is asked in each turn."""
    out = np.zeros_like(x)
    for i in range(1, x.shape[0] - 1):
        for j in range(2, x.shape[1] - 1):
            for k in range(x.shape[2] - 1):
                if x[i, j, k] > 0.0:
                    out[i, j, k] = x[i - 1, j, k] * x[i + 1, j, k + 1]
                elif k % 3 == 1 or i % 2 == 0:
                    out[i, j, k] = y[i, j - 2, k] * x[i, j + 1, k]
    return out


@pytest.mark.parametrize("f", [plate, product], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(1, 1), (2, 9), (3, 3), (4, 2), (5, 40), (9, 33), (33, 4), (70, 3), (1, 50)])
def test_rows(f: Callable[..., Any], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape)
    x, y, v = rng.normal(size=(3, *shape))
    same(*both(f, x, y, v=v))


@pytest.mark.parametrize("f", [block, solid, solid_by_signs], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 4), (6, 9, 3), (2, 2, 17), (9, 4, 5), (13, 6, 5), (16, 5, 34)])
def test_three_axes(f: Callable[..., Any], shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(shape)
    x, y, v = rng.normal(size=(3, *shape))
    same(*both(f, x, y, v=v))


def test_turns_of_three_axes_are_written_out() -> None:
    """Where NVVM leaves a loop over the turns as it is, what is read ahead lies in memory."""
    text = grad(solid, wrt=("x", "y"), target="cuda").source(np.ones((3, 3, 3)), np.ones((3, 3, 3)))
    step = next(part for part in text.split("@kernel") if "_ahead" in part and "total" in part)
    assert step.startswith(f"(turns={TURNS})") and f"for turn in range({TURNS})" not in step, step
    inside = step[: step.index("else:")]
    assert len(re.findall(r"_ahead\w*\[\d\] = ", inside)) == 7 * TURNS, step
    assert len(re.findall("if 1 <= k and k < x.shape", inside)) == 1 + 2 * TURNS, step  # for all that is read, once


def test_one_column_beside_one_row() -> None:
    rng = np.random.default_rng(5)
    x, y, v = rng.normal(size=9), rng.normal(size=35), rng.normal(size=(9, 35))
    same(*both(outer, x, y, v=v))


def test_arguments_that_are_one_array() -> None:
    """What is read ahead may be another name of what is written: then nothing is."""
    x = np.random.default_rng(6).normal(size=TILE + 3)

    def shifted(x, y):
        for i in range(x.size - 1):
            y[i] = x[i] * 2.0

    f = grad(shifted, wrt=("x", "y"), target="cuda")
    want = x.copy()
    for i in range(x.size - 1):
        want[i] = want[i] * 2.0
    got = x.copy()
    try:
        f(got, got)
    except Exception as error:  # or it is refused
        assert "memory" in str(error)
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("f", [product, chosen, neighbours, norm, by_remainders], ids=lambda f: f.__name__)
def test_text(f: Callable[..., Any]) -> None:
    text = grad(f, wrt=("x", "y"), target="cuda").source(np.ones(3), np.ones(3))
    assert re.search(r"_ahead\w* = cuda.local.array\(", text), text
    assert f"@kernel(turns={TURNS}" in text
