"""What loops and single threads would only make ready for others, those make by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.runtime.gpu.device_call import SIMULATED
from srcgrad.runtime.gpu.device_memory import ALIGNED, zeros_together
from srcgrad.testing import check_grad

RNG = np.random.default_rng(0)
A, W, V = RNG.uniform(0.2, 1.4, (7, 21)), RNG.uniform(0.5, 1.5, 21), RNG.normal(size=(7, 21))
SQUARE = RNG.uniform(0.2, 1.4, (9, 9))


def centered(a, w):
    return (a - np.mean(a, axis=0)) * w


def standardised(a, w):
    return (a - np.mean(a, axis=0)) / np.std(a, axis=0) * w


def by_the_norm_of_rows(a, w):
    return a / np.sqrt(np.sum(a * a, axis=1))[:, None] * w


def over_columns_that_vanish(a, w):
    """One column is all alike: its deviation is zero, which decides something in two kernels."""
    b = a * (w > 0.6)
    s = np.std(b, axis=0)
    return np.where(s > 0.0, b / np.where(s > 0.0, s, 1.0), b * w)


def of_rows_and_columns(a, w):
    m = np.sum(a, axis=0) / a.shape[0]
    out = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] * m[j] - m[(j + 1) % a.shape[1]] * w[j]
    return out


def twice_of_one(a, w):
    """Of a square matrix both indices run over the same range."""
    m = np.sum(a, axis=0) / 3.0
    out = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            out[i, j] = a[i, j] * m[i] * m[j]
    return out


def changed_in_between(a, w):
    s = np.sum(a, axis=0)
    m = s / a.shape[0]
    for j in range(a.shape[1]):
        s[j] = s[j] * w[j]
    return a * m + s


def given_back(a, w):
    m = np.sum(a, axis=0) / a.shape[0]
    return m, a * m


def in_a_loop_of_the_host(a, w):
    u = a.copy()
    for _ in range(3):
        m = np.sum(u, axis=0) / a.shape[0]
        u = u - 0.3 * m * w
    return u


def by_one_number(a, w):
    return a / np.sqrt(np.sum(a * a)) * w


def by_numbers_of_numbers(a, w):
    s = np.sum(a * a)
    t = np.sqrt(s) + 1.0
    return np.tanh(a * t) / (s * t + 1.0) * w


def by_what_decides(a, w):
    """Neither kernel may go another way than the other."""
    s = np.sum(a * a)
    t = s * 0.37 + np.sum(w)
    return np.where(t > 3.0, a * t, a * w)


def number_that_changes(a, w):
    s = np.sum(a)
    u = a.copy()
    for _ in range(3):
        u = u / (1.0 + s)
        s = s * 0.5 + np.sum(u)
    return u * w


PROGRAMS = [
    centered, standardised, by_the_norm_of_rows, over_columns_that_vanish, of_rows_and_columns, twice_of_one,
    changed_in_between, given_back, in_a_loop_of_the_host, by_one_number, by_numbers_of_numbers, by_what_decides,
    number_that_changes,
]  # fmt: skip
by_name = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


def arguments(f: Callable[..., Any]) -> tuple[Any, Any]:
    return (SQUARE, W[:9]) if f is twice_of_one else (A, W)


@by_name
def test_along_a_line(f: Callable[..., Any]) -> None:
    """Against differences of the function as it is written."""
    check_grad(grad(f, wrt=("a", "w"), target="cuda"), *arguments(f))


@pytest.mark.parametrize("kind", ["backward", "value_and_backward", "pullback"])
@by_name
def test_gradients(f: Callable[..., Any], kind: str) -> None:
    a, w = arguments(f)
    v = (V[0], V) if f is given_back else V[:9, :9] if f is twice_of_one else V
    v = RNG.normal(size=a.shape) if f is twice_of_one else v
    g, plain = grad(f, wrt=("a", "w"), target="cuda"), grad(f, wrt=("a", "w"), jit=False)
    got = {
        "backward": lambda: g.backward(a, w, v),
        "value_and_backward": lambda: g.value_and_backward(a, w, v)[1],
        "pullback": lambda: g.vjp(a, w)[1](v),
    }[kind]()
    for one, other in zip(got, plain.backward(a, w, v), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@by_name
def test_values(f: Callable[..., Any]) -> None:
    got, want = grad(f, target="cuda")(*arguments(f)), f(*arguments(f))
    for one, other in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_single_precision() -> None:
    a, w, v = (x.astype(np.float32) for x in (A, W, V))
    g, plain = grad(standardised, wrt=("a", "w"), target="cuda"), grad(standardised, wrt=("a", "w"), jit=False)
    for one, other in zip(g.backward(a, w, v), plain.backward(a, w, v), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_of_no_rows_and_no_columns(shape: tuple[int, int]) -> None:
    a = np.full(shape, 0.5)
    (a_b,) = (grad(by_the_norm_of_rows, target="cuda", wrt=("a",)).backward(a, np.ones(shape[1]), np.ones(shape)),)
    assert np.shape(a_b) == shape or np.shape(a_b[0]) == shape


# ------------------------------------------------------------------------------------------------------- in the text

KERNELS = {  # how many there are for a gradient with respect to a
    centered: 2,
    standardised: 4,
    by_one_number: 3,
}


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_as_few_kernels(f: Callable[..., Any]) -> None:
    text = grad(f, wrt=("a",), target="cuda").source(A, W)
    assert text.count("@kernel") == KERNELS[f], text


def test_what_stays() -> None:
    assert grad(changed_in_between, target="cuda").source(A, W, kind="primal").count("@kernel") == 3
    assert grad(given_back, target="cuda").source(A, W, kind="primal").count("@kernel") == 3


# ------------------------------------------------------------------------------------------------- zeros in one piece


def test_zeros_in_one_piece_of_memory() -> None:
    """They do not overlap, begin as memory of their own does, and stay for as long as one of them is held."""
    forms = (((3,), np.float64), ((0, 4), np.float32), ((2, 5), np.float32), ((), np.int64), ((1,), np.bool_))
    first, *others = zeros_together(*forms)
    for (shape, dtype), array in zip(forms, (first, *others), strict=True):
        assert (array.shape, array.dtype) == (shape, dtype)
        np.testing.assert_array_equal(array.copy_to_host(), np.zeros(shape, dtype))
    first.copy_to_device(np.ones(3))
    held = [array for array in others if array.size]
    assert all(not array.copy_to_host().any() for array in held)
    if not SIMULATED:
        places = [array.device_ctypes_pointer.value for array in (first, *held)]
        assert all(place % ALIGNED == places[0] % ALIGNED for place in places)
        assert places == sorted(set(places))
    del first, others
    np.testing.assert_array_equal(held[-1].copy_to_host(), np.zeros(1, bool))


@pytest.mark.parametrize("sizes", [(0, 3), (2, 0)])
def test_zeros_of_no_length(sizes: tuple[int, int]) -> None:
    first, second = zeros_together(*(((n,), np.float64) for n in sizes))
    assert (first.size, second.size) == sizes
    assert not first.copy_to_host().any() and not second.copy_to_host().any()


def kept_on_the_way(a, w, steps):
    """One array of zeros for each step is kept, the others are not."""
    out = np.zeros(a.shape[1])
    for t in range(steps):
        s, m = np.zeros(a.shape[1]), np.zeros(a.shape[1])
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                s[j] += a[i, j] * out[j]
                m[j] += a[i, j] * w[j]
        out = out + np.sin(s) + m
    return out


@pytest.mark.parametrize("kind", ["backward", "pullback"])
def test_zeros_of_each_step(kind: str) -> None:
    g, plain = grad(kept_on_the_way, wrt=("a", "w"), target="cuda"), grad(kept_on_the_way, wrt=("a", "w"), jit=False)
    got = g.backward(A, W, 3, V[0]) if kind == "backward" else g.vjp(A, W, 3)[1](V[0])
    for one, other in zip(got, plain.backward(A, W, 3, V[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_in_one_line() -> None:
    text = grad(standardised, wrt=("a",), target="cuda").source(A, W)
    assert text.count("zeros_together(") == 1 and text.count(" zeros(") == 0, text


# ------------------------------------------------------------------------------------ what a single thread launches


def between_walls(a, w, steps):
    """What is at an end is kept, for the one thread that goes back from there."""
    u, flux = w.copy(), np.zeros(w.size + 1)
    for _ in range(steps):
        for i in range(1, u.size):
            flux[i] = 0.3 * (u[i] - u[i - 1])
        flux[0] = u[0] * u[0]
        flux[u.size] = u[u.size - 1] * u[u.size - 1]
        for i in range(u.size):
            u[i] -= a[0, 0] * (flux[i + 1] - flux[i])
    return u


def changed_ends(a, w, steps):
    """The next step sets what is kept of the end."""
    u, end = w.copy(), np.zeros(1)
    for _ in range(steps):
        end[0] = u[0] * u[0]
        for i in range(u.size):
            u[i] = np.sin(u[i]) + end[0] * a[0, i]
    return u


def passed_round(a, w, steps):
    """A share of all that there is, beside what comes from others, whose places only a run knows."""
    r, share = w.copy(), 0.1 * a[0, 0]
    for _ in range(steps):
        new = np.full(w.size, (1.0 - share) / w.size)
        for i in range(w.size - 1):
            new[int(5 * a[2, i])] += r[int(4 * a[3, i])] * a[1, i]
        r = new
    return r


def put_elsewhere(a, w, steps):
    """Each element of a small array gets what all points pass on."""
    y = np.zeros(a.shape[1])
    for i in range(a.shape[1]):
        y[i] = np.sin(a[0, i] + w[0]) / (a[1, i] + w[1]) * (a[2, i] - w[2])
    return y


ALONE = {between_walls: 2, changed_ends: 3, passed_round: 2, put_elsewhere: 1}


@pytest.mark.parametrize("f", ALONE, ids=lambda f: f.__name__)
def test_launches_of_one_thread(f: Callable[..., Any]) -> None:
    """It joins what comes next, reads what others have kept, or is the last block's of a kernel further ahead."""
    g, plain = grad(f, wrt=("a", "w"), target="cuda"), grad(f, wrt=("a", "w"), jit=False)
    v = RNG.normal(size=np.shape(f(A, W, 3)))
    check_grad(plain, A, W, 3)
    for got in (g.backward(A, W, 3, v), g.vjp(A, W, 3)[1](v)):
        for one, other in zip(got, plain.backward(A, W, 3, v), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    text = g.source(A, W, 3)
    assert text.count(".by_one(") == ALONE[f], text[text.rindex("\ndef ") :]
