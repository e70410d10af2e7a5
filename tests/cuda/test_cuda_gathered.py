"""Sums into elements that several loops choose together: each element's thread adds up what belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import leaves, random_like

from srcgrad import grad
from srcgrad.testing import check_grad


def signed(*shape: int) -> np.ndarray:
    return np.random.default_rng(7 * sum(shape) + 1).uniform(-1.0, 1.0, shape)


def convolved(x, w):
    out = np.zeros(len(x) - len(w) + 1)
    for i in range(len(x) - len(w) + 1):
        for k in range(len(w)):
            out[i] += w[k] * x[i + k]
    return out


def by_strides(x, w, n):
    """Of every third place some get nothing, or one element more than once."""
    out = np.zeros(n)
    for i in range(n):
        for k in range(len(w)):
            out[i] += w[k] * x[3 * i + k + 1] ** 2
    return out


def far_apart(x, w, n):
    """Backwards, and every second."""
    m = len(w)
    out = np.zeros(n)
    for i in range(n):
        for k in range(m):
            out[i] += w[k] * np.sin(x[i - 2 * k + 2 * m - 2])
    return out


def spread(x, w):
    out = np.zeros(len(x) + len(w) - 1)
    for i in range(len(x)):
        for k in range(len(w)):
            out[i + k] += w[k] * x[i]
    return out


def three_together(x, w, u):
    n = len(x) - len(w) - len(u) + 2
    out = np.zeros(n)
    for i in range(n):
        for a in range(len(w)):
            for b in range(len(u)):
                out[i] += w[a] * u[b] * x[i + a + b]
    return out


def image(x, w):
    n, m = x.shape[0] - 2, x.shape[1] - 2
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for a in range(3):
                for b in range(3):
                    out[i, j] += w[a, b] * x[i + a, j + b]
    return out


def channels(x, w):
    n = x.shape[1] - w.shape[2] + 1
    out = np.zeros((w.shape[0], n))
    for p in range(w.shape[0]):
        for q in range(w.shape[1]):
            for k in range(w.shape[2]):
                for i in range(n):
                    out[p, i] += w[p, q, k] * x[q, i + k]
    return out


def multiplied(x, w):
    out = np.zeros((x.shape[0], w.shape[1]))
    for i in range(x.shape[0]):
        for j in range(w.shape[1]):
            for k in range(x.shape[1]):
                out[i, j] += x[i, k] * w[k, j]
    return out


def part_of_the_range(x, w):
    out = np.zeros(len(x))
    for i in range(3, len(x) - len(w)):
        for k in range(1, len(w)):
            out[i] += w[k] * x[i + k - 2]
    return out


def with_itself(x, m):
    """Two elements of one array in each iteration: each of them has a loop of its own."""
    out = np.zeros(m)
    for k in range(m):
        for i in range(len(x) - m + 1):
            out[k] += x[i] * x[i + k]
    return out


def turned(x, w):
    """Each element and the one that is as far from the other end."""
    return x * x[::-1] + np.sin(w[0] * x[::-1])


def turned_along_both(x, w):
    return x[:, ::-1] * x + x[::-1] ** 2 * w


def turned_by_a_loop(x, w):
    n, out = len(x), np.zeros(len(x))
    for i in range(n):
        out[i] = np.exp(w[0] * x[n - 1 - i]) * x[i]
    return out


def option_tree(x, w):
    """Each step leaves one element less."""
    for _ in range(12):
        x = w[0] * x[:-1] + x[1:] ** 2
    return x


def time_in_rows(x, w):
    """All states in one array: what is read is another row than what is set."""
    for t in range(len(x) - 1):
        for i in range(1, x.shape[1] - 1):
            x[t + 1, i] = np.sin(x[t, i - 1]) + w[0] * x[t, i + 1]
    return x


def time_in_rows_around_a_ring(x, w):
    n = x.shape[1]
    for t in range(len(x) - 1):
        for i in range(n):
            x[t + 1, i] = np.sin(x[t, (i - 1) % n]) + w[0] * x[t, (i + 1) % n]
    return x


def pooled(x, started):
    """The mean of windows that overlap; `started` with an element that is in it twice."""
    n, m = (x.shape[0] - 3) // 2 + 1, (x.shape[1] - 3) // 2 + 1
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = started * x[2 * i, 2 * j]
            for a in range(3):
                for b in range(3):
                    s += x[2 * i + a, 2 * j + b]
            out[i, j] = s / 9.0
    return out


def greatest_in_windows(x):
    n, m = (x.shape[0] - 3) // 2 + 1, (x.shape[1] - 3) // 2 + 1
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = np.max(x[2 * i : 2 * i + 3, 2 * j : 2 * j + 3])
    return out


def first_greatest(x):
    n, m = x.shape[0] - 2, (x.shape[1] - 3) // 2 + 1
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            best = x[i, 2 * j]
            for a in range(3):
                for b in range(3):
                    if x[i + a, 2 * j + b] > best:
                        best = x[i + a, 2 * j + b]
            out[i, j] = best
    return out


def greatest_by_max(x):
    n, m = x.shape[0] - 2, x.shape[1] - 2
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            best = -np.inf
            for a in range(3):
                for b in range(3):
                    best = max(best, x[i + a, j + b])
            out[i, j] = best
    return out


def layer(x, w):
    """What is dear is computed once for a window, and kept for those who have its elements."""
    n, m = x.shape[0] - 2, x.shape[1] - 2
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for a in range(3):
                for b in range(3):
                    s += w[a, b] * x[i + a, j + b]
            out[i, j] = np.tanh(s)
    return out


def some_windows(x, mask, y):
    """In a branch; and y is read and set in place."""
    for i in range(len(mask)):
        if mask[i] > 0.0:
            s = 0.0
            for a in range(3):
                s += x[2 * i + a]
            y[i] = y[i] * s * s
    return y


def cut_at_the_ends(x, w):
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        for k in range(-2, 3):
            if 0 <= i + k and i + k < n:
                out[i] += w[k + 2] * np.sin(x[i + k])
    return out


def held_inside(x, w):
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        s = 0.0
        for k in range(-2, 3):
            s += w[k + 2] * x[min(max(i + k, 0), n - 1)]
        out[i] = s * s + np.sin(x[max(i - 1, 0)]) * x[min(i + 1, n - 1)]
    return out


def held_inside_and_dear(x, w):
    """What is kept for neighbours is for such that are not there, too."""
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        s = 0.0
        for k in range(4):
            there = x[min(max(i + k - 2, 0), n - 1)]
            s += w[k] * np.exp(-there * there) / (1.0 + there * there)
        out[i] = np.sin(s)
    return out


def held_inside_along_both(x):
    n, m = x.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    s += x[min(max(i + a, 0), n - 1), min(max(j + b, 0), m - 1)]
            out[i, j] = s / 9.0
    return out


def finer(x, w):
    """A grid made finer, and smoothed."""
    out = np.zeros(2 * len(x) - 5)
    for k in range(2 * len(x) - 5):
        s = 0.0
        for a in range(3):
            s += w[a] * x[k // 2 + a]
        out[k] = np.sin(s)
    return out


def cut_windows(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        s = 0.0
        for k in range(max(i - 2, 0), min(i + 3, len(x))):
            s += x[k] * w[k - i + 2]
        out[i] = s * s
    return out


def of_itself(x):
    """The next window has what this one has made: no two run at one time."""
    for i in range(len(x) - 2):
        s = 0.0
        for a in range(3):
            s += x[i + a] ** 2
        x[i] = s / 3.0
    return x


def pairs(p):
    n = p.shape[0]
    f = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            if i != j:
                dx = p[i, 0] - p[j, 0]
                dy = p[i, 1] - p[j, 1]
                r2 = dx * dx + dy * dy + 0.01
                s = 1.0 / (r2 * r2)
                f[i, 0] += dx * s * s - dx * s
                f[i, 1] += dy * s * s - dy * s
    return f


def total_of_pairs(x):
    e = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            e += np.exp(-((x[i] - x[j]) ** 2))
    return e


def pairs_above(x):
    e = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            e += np.exp(-((x[i] - x[j]) ** 2))
    return e


def pairs_below(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i):
            out[i] += np.sin(x[i] * x[j] ** 2)
    return out


def two_sets(x, c):
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(c)):
            d = x[i] - c[j]
            out[i] += d / (1.0 + d * d)
    return out


IN_BETWEEN: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((pooled, (signed(*shape), 1.0)) for shape in ((9, 11), (8, 3), (2, 5), (1, 1))),
    *((greatest_in_windows, (signed(*shape),)) for shape in ((9, 10), (3, 3), (2, 5))),
    *((first_greatest, (signed(*shape),)) for shape in ((9, 10), (8, 9), (3, 3), (2, 5))),
    *((greatest_by_max, (signed(*shape),)) for shape in ((6, 7), (3, 3), (2, 5))),
    *((f, (np.round(signed(9, 9)),)) for f in (first_greatest, greatest_by_max, greatest_in_windows)),
    *((layer, (signed(*shape), signed(3, 3))) for shape in ((6, 7), (3, 3), (2, 5))),
    *((some_windows, (signed(n), signed(m), signed(m))) for n, m in ((13, 6), (12, 5), (3, 1), (2, 0))),
    *((cut_at_the_ends, (signed(n), signed(5))) for n in (12, 3, 1, 0)),
    *((finer, (signed(n), signed(3))) for n in (12, 4, 3)),
    *((cut_windows, (signed(n), signed(5))) for n in (12, 4, 1, 0)),
    *((held_inside, (signed(n), signed(5))) for n in (12, 3, 2, 1, 0)),
    *((held_inside_and_dear, (signed(n), signed(4))) for n in (12, 1)),
    *((held_inside_along_both, (signed(*shape),)) for shape in ((6, 7), (1, 5), (2, 2), (0, 3))),
    (of_itself, (signed(9),)),
    *((pairs, (signed(n, 2),)) for n in (20, 2, 1, 0)),
    *((f, (signed(n),)) for f in (total_of_pairs, pairs_above, pairs_below) for n in (20, 3, 1, 0)),
    *((two_sets, (signed(n), signed(m))) for n, m in ((12, 5), (5, 12), (0, 3), (3, 0))),
]
AT_THE_ENDS = (two_sets, of_itself, held_inside, held_inside_and_dear, held_inside_along_both)  # some add atomically
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((convolved, (signed(n), signed(m))) for n, m in ((20, 4), (4, 4), (9, 8), (1, 1), (3, 0))),
    *((by_strides, (signed(24), signed(m), 7)) for m in (1, 3, 5)),
    *((far_apart, (signed(24), signed(m), 12)) for m in (1, 4)),
    *((spread, (signed(n), signed(m))) for n, m in ((17, 3), (3, 17), (0, 3))),
    (three_together, (signed(20), signed(3), signed(4))),
    *((image, (signed(*shape), signed(3, 3))) for shape in ((6, 7), (3, 3), (2, 5))),
    (channels, (signed(2, 12), signed(3, 2, 4))),
    *((multiplied, (signed(n, k), signed(k, m))) for n, k, m in ((4, 5, 3), (2, 2, 20), (0, 3, 4), (3, 0, 2))),
    *((part_of_the_range, (signed(14), signed(m))) for m in (4, 1)),
    (with_itself, (signed(14), 4)),
    *((turned, (signed(n), signed(1))) for n in (13, 2, 1, 0)),
    *((turned_along_both, (signed(*shape), signed(*shape))) for shape in ((5, 7), (4, 2), (1, 3))),
    (turned_by_a_loop, (signed(12), signed(1))),
    *((option_tree, (signed(n), signed(1))) for n in (15, 12, 5)),
    *(
        (f, (signed(*shape), signed(1)))
        for f in (time_in_rows, time_in_rows_around_a_ring)
        for shape in ((5, 9), (3, 40))
    ),
]


@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_gradient(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    v = random_like(np.random.default_rng(3), f(*args))
    wanted, got = (grad(f, **how).value_and_backward(*args, v) for how in ({"jit": False}, {"target": "cuda"}))
    for mine, want in zip(leaves(got), leaves(wanted), strict=True):
        np.testing.assert_allclose(mine, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("f", "args", "dtype"),
    [
        (f, args, dtype)
        for k, (f, args) in enumerate(IN_BETWEEN)
        for dtype in (np.float64, np.float32)[: 1 + (k % 3 == 0)]
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_gradient_of_what_stands_between_the_loops(f: Callable[..., Any], args: tuple[Any, ...], dtype: type) -> None:
    own = lambda: [arg.astype(dtype) if isinstance(arg, np.ndarray) else arg for arg in args]
    v = random_like(np.random.default_rng(3), f(*own()))
    wanted, got = (grad(f, **how).value_and_backward(*own(), v) for how in ({"jit": False}, {"target": "cuda"}))
    close = 1e-11 if dtype == np.float64 else 2e-4
    for mine, want in zip(leaves(got), leaves(wanted), strict=True):
        assert np.asarray(mine).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(mine, want, rtol=close, atol=close)
    has_ties = np.unique(args[0]).size < np.size(args[0])
    if dtype == np.float64 and not has_ties:
        check_grad(grad(f, jit=False), *own())


def held_downwards(x):
    n = len(x)
    out = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = 0.0
        for a in range(-1, 2):
            s += np.sin(x[min(max(i + a, 0), n - 1)])
        out[i] = s * s
    return out


def in_a_column_that_may_not_be_there(x, p):
    n, m = x.shape
    out = np.zeros(n)
    for i in range(n - 2):
        s = 0.0
        for a in range(3):
            if 0 <= p < m:
                s += x[i + a, p] * x[i + a, p]
        out[i] = s * s
    return out


def distances_in_the_second_column(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        s = 0.0
        for j in range(len(y)):
            s += np.sin(x[i] - y[j, 1])
        out[i] = s * s
    return out


AT_EDGES = [
    *((held_downwards, (signed(n),)) for n in (1, 2, 7)),
    *((in_a_column_that_may_not_be_there, (signed(6, 3), p)) for p in (2, 3, 9, -1, -9)),
    *((distances_in_the_second_column, (signed(0), signed(3, columns))) for columns in (0, 1, 2)),
]


@pytest.mark.parametrize(("f", "args"), AT_EDGES, ids=lambda value: getattr(value, "__name__", ""))
def test_nothing_is_touched_that_is_not_there(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    v = random_like(np.random.default_rng(3), f(*args))
    got = [leaves(grad(f, **how).value_and_backward(*args, v)) for how in ({"target": "cuda"}, {"jit": False})]
    for mine, want in zip(*got, strict=True):
        np.testing.assert_allclose(mine, want, rtol=1e-12, atol=1e-13)


def greatest_of_many(x):
    out = np.zeros((x.shape[0] - 4, x.shape[1] - 4))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            m = x[i, j]
            for a in range(5):
                for b in range(5):
                    m = max(m, x[i + a, j + b])
            out[i, j] = m
    return out


def test_wide_windows_stay_loops() -> None:
    """Written out they would take a second to generate, and gain nothing."""
    assert grad(greatest_of_many, target="cuda").source(signed(8, 9)).count("max(") < 5


@pytest.mark.parametrize(
    ("f", "args"),
    {f: args for f, args in reversed(IN_BETWEEN) if f not in AT_THE_ENDS}.items(),
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_nobody_adds_to_what_others_have(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    text = grad(f, target="cuda").source(*args)
    assert not {name for name in ("x_b", "p_b", "y_b") if f"atomic.add({name}" in text}


def test_an_element_is_what_is_gathered_for_it() -> None:
    """So nothing is cleared for it."""
    text = grad(convolved, target="cuda").source(signed(9), signed(3))
    assert "x_b = empty(" in text and "x_b[i] = total" in text


@pytest.mark.parametrize(
    ("f", "args", "sums"),
    [
        (convolved, (signed(9), signed(3)), ["w_b"]),
        (by_strides, (signed(24), signed(3), 7), ["w_b"]),
        (image, (signed(6, 7), signed(3, 3)), ["w_b"]),
        (with_itself, (signed(14), 4), []),
        (turned_along_both, (signed(5, 7), signed(5, 7)), []),
        (turned_by_a_loop, (signed(12), signed(1)), ["w_b"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_added_to_in_every_iteration_is_gathered(f: Callable[..., Any], args: Any, sums: list[str]) -> None:
    text = grad(f, target="cuda").source(*args)
    assert [name for name in ("x_b", "w_b") if f"atomic.add({name}" in text] == sums


def test_where_each_would_have_more_summands_than_there_are_elements() -> None:
    text = grad(multiplied, target="cuda").source(signed(3, 4), signed(4, 5))
    assert "if w.shape[1] <= x.shape[0] * x.shape[1]:" in text and text.count("@kernel") == 3


def test_the_length_of_what_shrinks_is_said_once() -> None:
    """It was said anew in each of its parts: twice as much with every step, half a megabyte for twelve."""
    text = grad(option_tree, target="cuda").source(signed(15), signed(1))
    assert "x.shape[0] - 12" in text and len(text) < 60_000


@pytest.mark.parametrize("f", [time_in_rows, time_in_rows_around_a_ring])
def test_states_in_rows_are_no_work_of_one_thread(f: Callable[..., Any]) -> None:
    assert ".by_one(" not in grad(f, target="cuda").source(signed(5, 9), signed(1))
