"""Threads that are apart though it takes a proof: nobody adds atomically, and nothing is left to one thread."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import BroadcastError, CotangentShapeError, RuntimeShapeError, UnsupportedError, grad
from srcgrad.passes import order
from srcgrad.testing import check_grad

RNG = np.random.default_rng(8)


def is_as_on_a_cpu(function: Callable[..., Any], wrt: tuple[str, ...], arguments: tuple[Any, ...]) -> str:
    """Value and cotangents are those of the CPU target, and of differences; what was generated for the gradient."""
    on_device, plain = grad(function, wrt=wrt, target="cuda"), grad(function, wrt=wrt, jit=False)
    check_grad(plain, *arguments)
    value = function(*copy.deepcopy(arguments))
    seeds = tuple(RNG.normal(size=np.shape(y)) for y in value) if isinstance(value, tuple) else None
    seeds = RNG.normal(size=np.shape(value)) if seeds is None else seeds
    wanted = value, plain.backward(*arguments, v=seeds)  # as `check_grad` has generated it
    for got, want in zip(_flat(on_device.value_and_backward(*arguments, v=seeds)), _flat(wanted), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    for got, want in zip(_flat(on_device(*arguments)), _flat(value), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    return on_device.source(*arguments, v=seeds, kind="value_and_backward")


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, tuple) else [value]


# ------------------------------------------------------------------------------------------------------ coupled fields


def laplacian(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u


def gray_scott(u, w, steps):
    for _ in range(steps):
        uww = u * w * w
        u, w = u + 0.3 * laplacian(u) - uww + 0.04 * (1.0 - u), w + 0.1 * laplacian(w) + uww - 0.1 * w
    return u, w


def excited(u, w, steps):
    for _ in range(steps):
        change = u - u * u * u / 3.0 - w + laplacian(u)
        w = w + 0.1 * (u + 0.7 - 0.8 * w)
        u = u + 0.1 * change
    return u, w


@pytest.mark.parametrize("function", [gray_scott, excited], ids=lambda function: function.__name__)
@pytest.mark.parametrize("shape", [(5, 7), (3, 20)])
def test_coupled_fields(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    """That the fields are as long as each other is known where their cotangents are made, too."""
    u, w = RNG.uniform(0.1, 0.9, (2, *shape))
    text = is_as_on_a_cpu(function, ("u", "w"), (u, w, 3))
    assert "atomic.add" not in text and ".by_one(" not in text


def test_fields_that_never_meet() -> None:
    """A loop that does not run compares nothing; one that does stretches what is one long, or raises."""
    u, w = RNG.uniform(0.1, 0.9, (2, 4, 5))
    f = grad(gray_scott, wrt=("u", "w"), target="cuda")
    f.backward(u, w, 1, v=(u, w))
    for got, want in zip(f.backward(u, w[:3], 0, v=(u, w[:3])), (u, w[:3]), strict=True):
        np.testing.assert_array_equal(got, want)
    with pytest.raises((BroadcastError, CotangentShapeError, RuntimeShapeError)):
        f.backward(u, w[:3], 1, v=(u, w[:3]))
    is_as_on_a_cpu(gray_scott, ("u", "w"), (u, w, 2))


def tripled(u, w, steps):
    y = u * 3.0
    for _ in range(steps):
        y = y * w + y
    return y


@pytest.mark.parametrize("ahead", [((5, 5, 1),), ((5, 5, 0), (5, 1, 0)), ((5, 1, 1),), ((5, 5, 1), (1, 5, 0))])
def test_lengths_of_a_loop_that_does_not_run(ahead: tuple[tuple[int, int, int], ...]) -> None:
    """They are for nobody to compare, whatever was found in the calls before, and nothing is stretched or read."""
    f = grad(tripled, wrt=("u", "w"), target="cuda")
    for n, m, steps in (*ahead, (3, 5, 0), (5, 3, 0), (5, 1, 0), (3, 3, 2)):
        u, w, v = RNG.uniform(0.1, 0.9, n), RNG.uniform(0.1, 0.9, m), RNG.uniform(0.1, 0.9, n)
        y, (u_b, w_b) = f.value_and_backward(u, w, steps, v)
        np.testing.assert_allclose(y, tripled(u, w, steps), rtol=1e-13)
        powers = (1.0 + w) ** steps if steps else 1.0
        np.testing.assert_allclose(u_b, 3.0 * v * powers, rtol=1e-13)
        by_w = 3.0 * steps * u * v * (1.0 + w) ** (steps - 1) if steps else np.zeros(m)
        np.testing.assert_allclose(w_b, by_w if len(by_w) == m else [np.sum(by_w)], rtol=1e-13)


# ------------------------------------------------------------------------------------------- rows that take turns


def two_rows(x, steps):
    n = x.shape[0]
    b = np.zeros((2, n))
    b[0] = x
    for t in range(steps):
        for i in range(1, n - 1):
            b[(t + 1) % 2, i] = np.sin(b[t % 2, i - 1]) + 0.5 * b[t % 2, i + 1]
    return b[steps % 2]


def two_grids(x, steps):
    n, m = x.shape
    b = np.zeros((2, n, m))
    b[0] = x
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = b[t % 2, i - 1, j] + b[t % 2, i + 1, j] + b[t % 2, i, j - 1] + b[t % 2, i, j + 1]
                b[1 - t % 2, i, j] = 0.2 * around + np.sin(b[t % 2, i, j])
    return b[steps % 2]


def by_bits(x, steps):
    n = x.shape[0]
    b = np.zeros((2, n))
    b[0] = x
    for t in range(steps):
        now = t & 1
        for i in range(1, n - 1):
            b[1 - now, i] = np.cos(b[now, i - 1]) * b[now, i + 1]
    return b[steps & 1]


def by_slices(x, steps):
    b = np.zeros((2, x.shape[0]))
    b[0] = x
    for t in range(steps):
        b[(t + 1) % 2, 1:-1] = np.sin(b[t % 2, :-2]) * b[t % 2, 2:]
    return b[steps % 2]


def three_rows(x, steps):
    """Waves: the row after next is of this one and of the next."""
    n = x.shape[0]
    b = np.zeros((3, n))
    b[0], b[1] = x, 0.9 * x
    for t in range(steps):
        for i in range(1, n - 1):
            spread = b[(t + 1) % 3, i - 1] - 2.0 * b[(t + 1) % 3, i] + b[(t + 1) % 3, i + 1]
            b[(t + 2) % 3, i] = 2.0 * b[(t + 1) % 3, i] - b[t % 3, i] + 0.1 * np.sin(spread)
    return b[(steps + 1) % 3]


def all_states(x, steps):
    n = x.shape[0]
    u = np.zeros((steps + 1, n))
    u[0] = x
    for t in range(steps):
        for i in range(1, n - 1):
            u[t + 1, i] = u[t, i] + 0.1 * np.sin(u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])
    return u


def by_one_less(x, steps):
    n = x.shape[0]
    b = np.zeros((2, n))
    b[0] = x
    now = 0
    for _ in range(steps):
        then = 1 - now
        for i in range(1, n - 1):
            b[then, i] = np.sin(b[now, i - 1]) + 0.5 * b[now, i + 1]
        now = then
    return b[now]


def by_names_that_change_places(x, steps):
    n = x.shape[0]
    b = np.zeros((3, n))
    b[2] = x
    now, then = 2, 1
    for _ in range(steps):
        for i in range(1, n - 1):
            b[then, i] = np.sin(b[now, i - 1]) + 0.5 * b[now, i + 1]
        now, then = then, now
    return b[now]


TURNS = [two_rows, by_bits, by_slices, three_rows, all_states, by_one_less, by_names_that_change_places]


@pytest.mark.parametrize("function", [*TURNS, two_grids], ids=lambda function: function.__name__)
def test_rows_that_take_turns(function: Callable[..., Any]) -> None:
    """t % 2 is never (t + 1) % 2: no thread sets what another one reads, and neighbours' sums are gathered."""
    x = RNG.uniform(0.1, 0.9, (4, 5) if function is two_grids else 12)
    text = is_as_on_a_cpu(function, ("x",), (x, 4))
    assert "atomic.add" not in text and ".by_one(" not in text


def one_row_at_times(x, k, steps):
    """(t + k) % 2 is t % 2 where k is even."""
    n = x.shape[0]
    b = np.zeros((2, n))
    b[0] = x
    for t in range(steps):
        for i in range(1, n - 1):
            b[(t + k) % 2, i] = np.sin(b[t % 2, i - 1]) + 0.5 * b[t % 2, i + 1]
    return b[0] + 2.0 * b[1]


def same_rows_again(x, steps):
    """t % 3 and (t + 1) % 2 are one number where t is 1."""
    n = x.shape[0]
    b = np.zeros((3, n))
    b[0] = x
    for t in range(steps):
        for i in range(1, n - 1):
            b[(t + 1) % 2, i] = np.sin(b[t % 3, i - 1]) + 0.5 * b[t % 3, i + 1]
    return b[0] + 2.0 * b[1]


def by_halves(x, steps):
    """t % 4 // 2 and (t + 1) % 4 // 2 are one number in every other step."""
    n = x.shape[0]
    b = np.zeros((2, n))
    b[0] = x
    for t in range(steps):
        for i in range(1, n - 1):
            b[(t + 1) % 4 // 2, i] = np.sin(b[t % 4 // 2, i - 1]) + 0.5 * b[t % 4 // 2, i + 1]
    return b[0] + 2.0 * b[1]


def by_the_inner_index(x, steps):
    """(i + 1) % 2 of one iteration is i % 2 of the next."""
    n = x.shape[0]
    b = np.zeros((2, n))
    b[0] = x
    for t in range(steps):
        for i in range(1, n - 1):
            b[(i + 1) % 2, i] = np.sin(b[i % 2, i - 1]) + 0.5 * b[i % 2, i + 1] + x[i]
    return b[0] + 2.0 * b[1]


ALIKE = [(one_row_at_times, (1, 3)), (one_row_at_times, (2, 3)), *((f, (4,)) for f in (same_rows_again, by_halves))]


@pytest.mark.parametrize("function, more", [*ALIKE, (by_the_inner_index, (2,))])
def test_rows_that_may_be_one(function: Callable[..., Any], more: tuple[int, ...]) -> None:
    x = RNG.uniform(0.1, 0.9, 7)
    if function is by_the_inner_index:
        text = grad(function, wrt="x", target="cuda").source(x, *more)
    else:
        text = is_as_on_a_cpu(function, ("x",), (x, *more))
    assert ".by_one(" in text


# ---------------------------------------------------------------------------------------------------------- two halves


def by_longer_halves(x):
    x = x.copy()
    n = x.shape[0]
    h = (n + 1) // 2
    for i in range(n // 2):
        x[i] = x[i + h] * x[i]
    return x


def by_what_is_left(x):
    x = x.copy()
    n = x.shape[0]
    shorter = n // 2
    longer = n - shorter
    for i in range(shorter):
        x[i] += np.sin(x[longer + i]) * x[i]
    return x


def by_shifts(x):
    x = x.copy()
    n = x.shape[0]
    for i in range(n >> 1):
        x[i] = x[i + ((n + 1) >> 1)] * x[i]
    return x


def by_thirds(x):
    x = x.copy()
    n = x.shape[0]
    third = (n + 2) // 3
    for i in range(n // 3):
        x[i] = x[i + third] * x[i]
    return x


def rows_of_halves(x):
    x = x.reshape(-1, 2).copy()
    n = x.shape[0]
    h = (n + 1) // 2
    for i in range(n // 2):
        for j in range(2):
            x[i, j] = x[i + h, j] * x[i, j]
    return x


HALVES = [by_longer_halves, by_what_is_left, by_shifts, by_thirds, rows_of_halves]


@pytest.mark.parametrize("function", HALVES, ids=lambda function: function.__name__)
def test_halves(function: Callable[..., Any]) -> None:
    """(n + 1) // 2 is n // 2 at least: what one half gets of the other nobody sets."""
    for n in (1, 10, 14) if function is not rows_of_halves else (2, 6, 10):
        text = is_as_on_a_cpu(function, ("x",), (RNG.uniform(0.5, 1.5, n),))
    assert "atomic.add" not in text and ".by_one(" not in text


def from_the_shorter_half(x):
    """Of seven elements x[3] is set, and read for x[0]."""
    x = x.copy()
    n = x.shape[0]
    for i in range((n + 1) // 2):
        x[i] = x[i + n // 2] * x[i]
    return x


def one_too_near(x):
    x = x.copy()
    n = x.shape[0]
    h = (n - 1) // 2
    for i in range(n // 2):
        x[i] = x[i + h] * x[i]
    return x


def by_other_parts(x):
    """(n + 1) // 3 is less than n // 2."""
    x = x.copy()
    n = x.shape[0]
    h = (n + 1) // 3
    for i in range(n // 2):
        x[i] = x[i + h] * x[i]
    return x


def before_it_changed(x):
    """What h was made of is not what it is in the loop."""
    x = x.copy()
    n = x.shape[0] // 2
    h = (n + 1) // 2
    n = x.shape[0]
    for i in range(n // 2):
        x[i] = x[i + h] * x[i]
    return x


def in_the_other_branch(x, w):
    """What is known of h in one branch, the last step aside, is nothing that the other one knows."""
    n, h = x.shape[0] // 2, 1
    y = np.zeros(x.shape[0])
    for t in range(w.shape[0]):
        y = y * np.sum(y) + 0.1
        if w[t] > 0.0:
            h = (x.shape[0] + 1) // 2
            for i in range(n):
                y[i] += x[i]
                y[i + h] += x[i] * x[i]
        else:
            for i in range(n):
                y[i] += x[i]
                y[i + h] += x[i] * x[i]
    return y


def test_what_one_branch_knows() -> None:
    f = grad(in_the_other_branch, wrt="x", target="cuda")
    x, w = RNG.uniform(0.1, 0.9, 9), np.array([-1.0, 1.0, -1.0])
    np.testing.assert_allclose(f(x, w), in_the_other_branch(x, w), rtol=1e-12)
    kernels = f.source(x, w, kind="primal").split("@kernel")
    adding = [text for text in kernels if "h + i" in text and "y" in text and "n, x" in text]
    assert sum("atomic.add" in text for text in adding) == 1  # where h may be 1, as neighbours meet


@pytest.mark.parametrize("function", [from_the_shorter_half, one_too_near, by_other_parts, before_it_changed])
def test_halves_that_overlap(function: Callable[..., Any]) -> None:
    for n in (7, 8):
        x = RNG.uniform(0.5, 1.5, n)
        plain = grad(function, jit=False)
        np.testing.assert_allclose(plain(x), function(x), rtol=1e-14)
        check_grad(plain, x)
    with pytest.raises(UnsupportedError, match="nothing in .* runs in parallel"):
        grad(function, target="cuda").source(x)


# ----------------------------------------------------------------------------------- parts of a step that is no number


def butterflies(re, im):
    re, im, n = re.copy(), im.copy(), re.shape[0]
    h = 1
    while h < n:
        for start in range(0, n, 2 * h):
            for j in range(h):
                a, b = start + j, start + j + h
                c, s = np.cos(np.pi * j / h), -np.sin(np.pi * j / h)
                x, y = re[b] * c - im[b] * s, re[b] * s + im[b] * c
                re[b], im[b] = re[a] - x, im[a] - y
                re[a] += x
                im[a] += y
        h *= 2
    return re, im


def walsh_hadamard(x, levels):
    x = x.copy()
    for level in range(levels):
        h = 1 << level
        for i in range(0, x.shape[0], 2 * h):
            for j in range(i, i + h):
                x[j], x[j + h] = x[j] * x[j + h], x[j] - x[j + h]
    return x


def by_pairs(x):
    x, n = x.copy(), x.shape[0]
    s = 1
    while s < n:
        for i in range(0, n - s, 2 * s):
            x[i] = np.sin(x[i]) + x[i + s]
        s *= 2
    return x[0]


def sums_up_and_down(x):
    """Blelloch's running sum, without what each element adds itself."""
    x, n = x.copy(), x.shape[0]
    d = 1
    while d < n:
        for i in range(0, n, 2 * d):
            x[i + 2 * d - 1] += x[i + d - 1]
        d *= 2
    x[n - 1] = 0.0
    d //= 2
    while d > 0:
        for i in range(0, n, 2 * d):
            x[i + d - 1], x[i + 2 * d - 1] = x[i + 2 * d - 1], x[i + 2 * d - 1] + x[i + d - 1]
        d //= 2
    return x


def by_an_argument(x, s):
    x, n = x.copy(), x.shape[0]
    for i in range(s, n - s, 3 * s):
        x[i] *= x[i + s] * x[i - s]
        x[i + s] *= 2.0
    return x


def in_windows(x, s):
    x, n = x.copy(), x.shape[0]
    for i in range(0, n - s + 1, s):
        for j in range(s - 1):
            x[i + j] *= x[i + j + 1]
    return x


EIGHT = RNG.uniform(0.5, 1.5, (2, 8))
BY_STEPS = [
    (butterflies, ("re", "im"), tuple(EIGHT)),
    (walsh_hadamard, ("x",), (EIGHT[0], 3)),
    (by_pairs, ("x",), (RNG.uniform(0.5, 1.5, 13),)),
    (sums_up_and_down, ("x",), (EIGHT[0],)),
    (by_an_argument, ("x",), (RNG.uniform(0.5, 1.5, 13), 2)),
    (in_windows, ("x",), (RNG.uniform(0.5, 1.5, 13), 3)),
]


@pytest.mark.parametrize("function, wrt, arguments", BY_STEPS)
def test_parts_of_a_step(function: Callable[..., Any], wrt: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
    text = is_as_on_a_cpu(function, wrt, arguments)
    assert "atomic.add" not in text and "one thread:" not in text
    assert "cuda.grid(2)" in text or function not in (butterflies, walsh_hadamard)


def test_steps_that_lead_nowhere() -> None:
    """That s is 1 at least in the loop follows from there being an iteration."""
    f, x = grad(by_an_argument, wrt="x", target="cuda"), RNG.uniform(0.5, 1.5, 13)
    for s in (-2, 9):
        np.testing.assert_array_equal(f(x, s), x)
        np.testing.assert_array_equal(f.backward(x, s, v=x), x)
    with pytest.raises(ValueError, match="must not be zero"):
        f.backward(x, 0, v=x)


def a_whole_step_on(x, s):
    x, n = x.copy(), x.shape[0]
    for i in range(0, n - s, s):
        x[i] *= x[i + s]
    return x


def windows_that_overlap(x, s):
    x, n = x.copy(), x.shape[0]
    for i in range(0, n - s, s):
        for j in range(s):
            x[i + j] *= x[i + j + 1]
    return x


def half_of_another_step(x, s):
    x, n = x.copy(), x.shape[0]
    h = 2 * s
    s += 1
    for i in range(0, n - s, s):
        x[i] *= x[i + h]
    return x


@pytest.mark.parametrize("function", [a_whole_step_on, windows_that_overlap, half_of_another_step])
def test_steps_that_meet(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="nothing in .* runs in parallel"):
        grad(function, wrt="x", target="cuda").source(RNG.uniform(0.5, 1.5, 9), 1)


# -------------------------------------------------------------------------------------------- the greatest, in a loop


def greatest(x):
    m = -np.inf
    for i in range(x.shape[0]):
        m = max(m, x[i])
    return m * m


def least_distance(x, y, m):
    for i in range(x.shape[0]):
        d = abs(x[i] - y[i])
        m = min(m, d)
    return np.exp(m)


def from_the_first(x):
    m = x[0]
    for i in range(1, x.shape[0]):
        m = max(m, x[i])
    return x / m


def fastest_of_each_step(x, steps):
    """A step in time is as long as the fastest allows."""
    u = x.copy()
    for _ in range(steps):
        fastest = 1e-3
        for i in range(u.shape[0]):
            fastest = max(fastest, abs(u[i]))
        u = u - 0.1 / fastest * (u - np.roll(u, 1))
    return u


def sum_and_greatest(x):
    s, m = 0.0, -1.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
        m = max(m, x[i])
    return s * m


def speed_of_sound(u, c, k):
    m = 0.0
    for i in range(u.shape[0]):
        m = max(m, abs(u[i]) + c[i])
    n = 0.0
    for i in range(u.shape[0]):
        n = max(n, u[i] * k)
    return m / n


def of_a_grid(x):
    m = -1.0
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1] - 1):
            m = max(m, abs(x[i, j] - x[i - 1, j + 1]))
    return x / m


def both_ends(x):
    low, high = 9.0, -9.0
    for i in range(x.shape[0]):
        low = min(low, x[i])
        high = max(high, x[i])
    return (x - low) / (high - low)


SOME, OTHERS = RNG.permutation(40) * 0.1 - 1.75, RNG.uniform(3.0, 4.0, 40)
FOUND = [
    (greatest, ("x",), (SOME,)),
    (least_distance, ("x", "y", "m"), (SOME, OTHERS, 9.0)),
    (least_distance, ("x", "y", "m"), (SOME, OTHERS, 0.01)),
    (from_the_first, ("x",), (SOME,)),
    (fastest_of_each_step, ("x",), (SOME, 3)),
    (sum_and_greatest, ("x",), (SOME,)),
    (speed_of_sound, ("u", "c", "k"), (SOME, OTHERS, 1.5)),
    (of_a_grid, ("x",), (RNG.uniform(size=(5, 9)),)),
    (both_ends, ("x",), (SOME,)),
]


@pytest.mark.parametrize("function, wrt, arguments", FOUND)
def test_greatest(function: Callable[..., Any], wrt: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
    """All threads look for it together, and no iteration keeps what was greatest so far."""
    text = is_as_on_a_cpu(function, wrt, arguments)
    on_device, plain = grad(function, wrt=wrt, target="cuda"), grad(function, wrt=wrt, jit=False)
    (y, pull_back), (wanted, by_hand) = on_device.vjp(*arguments), plain.vjp(*arguments)
    np.testing.assert_allclose(y, wanted, rtol=1e-13)
    for got, want in zip(_flat(pull_back(wanted)), _flat(by_hand(wanted)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    assert "_kept[" not in text or function is fastest_of_each_step
    assert ", 'max'" in text or ", 'min'" in text
    if function is greatest:
        host = text[text.index("def greatest_value_and_backward(x") :]
        always = [line for line in host.splitlines() if line.startswith("    ") and not line.startswith("     ")]
        assert sum("[x.shape[0]](" in line for line in always) == 3 and "by_one" not in "".join(always)


INF, NAN = np.inf, np.nan
TIES = [
    [1.0, 3.0, 2.0, 3.0, 0.0],
    [3.0, 3.0, 3.0],
    [3.0, 1.0, 3.0, 3.0, 2.0, 3.0, 1.0],
    [-0.0, 0.0, -1.0, 0.0],
    [2.0],
    [],
    [-INF, -INF, -INF],
    [-INF, 1.0],
    [INF, 1.0, INF],
    [NAN, 1.0, NAN, 1.0, 0.5, NAN],
    [NAN, NAN],
    [*([1.0, 0.0] * 300), 0.0],
]


def greatest_of(x, m):
    for i in range(x.shape[0]):
        m = max(m, x[i])
    return m


def greatest_modulus_of(x, m):
    for i in range(x.shape[0]):
        m = max(m, abs(x[i]))
    return m


def least_of(x, m):
    for i in range(x.shape[0]):
        m = min(m, x[i])
    return m


def step_by_step(function: Callable[..., Any], *args: Any) -> Any:
    """By the adjoint of each statement."""
    with order.without("greatest_at_once"):
        return grad(function, jit=False).backward(*args, 0.7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("start", [-INF, 3.0, 0.0, NAN, INF])
def test_ties(start: float, dtype: type) -> None:
    """Who shares the cotangent, and how much of it each has, is as on a CPU: to the last bit, as halves are exact."""
    for function in (greatest_of, least_of, greatest_modulus_of):
        on_device = grad(function, target="cuda")
        for values in TIES:
            x, m = np.array(values, dtype), dtype(start)
            for got, want in zip(on_device.backward(x, m, 0.7), step_by_step(function, x, m), strict=True):
                np.testing.assert_array_equal(got, want, err_msg=f"{function.__name__} of {values} and {start}")


def greatest_of_rows(x, m):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            m = max(m, x[i, j])
    return m


@pytest.mark.parametrize("start", [-1.0, 3.0])
def test_ties_in_a_grid(start: float) -> None:
    on_device = grad(greatest_of_rows, target="cuda")
    for shape in ((3, 4), (1, 5), (6, 1), (0, 3), (3, 0), (40, 3)):
        for most in (2, 4):
            x = RNG.integers(0, most, shape).astype(float)
            for got, want in zip(
                on_device.backward(x, start, 0.7), step_by_step(greatest_of_rows, x, start), strict=True
            ):
                np.testing.assert_array_equal(got, want)


def of_a_triangle(x):
    m = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            m = max(m, x[i] - x[j])
    return m


def test_greatest_of_a_triangle() -> None:
    """Not a launch for each row."""
    f, x = grad(of_a_triangle, target="cuda"), SOME[:9]
    np.testing.assert_allclose(f.backward(x), grad(of_a_triangle, jit=False).backward(x), rtol=1e-13)
    assert ", 'max'" not in f.source(x)


def seen_on_the_way(x):
    s, m = 0.0, -np.inf
    for i in range(x.shape[0]):
        m = max(m, x[i])
        s += m * x[i]
    return s


def with_the_last(x):
    """What the loop leaves behind is read, besides what is greatest."""
    m, last = 0.1, 0.0
    for i in range(x.shape[0]):
        last = 2.0 * x[i]
        m = max(m, last)
    return x * (m * last)


def of_products(x, y):
    """A product and a sum may be rounded once, or twice: no two kernels have to agree on what is greatest."""
    m = -np.inf
    for i in range(x.shape[0]):
        m = max(m, x[i] * y[i] + x[i])
    return m


def of_quotients(x, y):
    """By y each slope is of x and y."""
    m = -np.inf
    for i in range(x.shape[0]):
        m = max(m, x[i] / y[i])
    return m


def of_powers(x):
    m = 0.0
    for i in range(x.shape[0]):
        m = max(m, x[i] * x[i])
    return m


@pytest.mark.parametrize(
    "function, names",
    [(seen_on_the_way, "x"), (with_the_last, "x"), (of_products, "xy"), (of_quotients, "xy"), (of_powers, "x")],
)
def test_what_is_not_found_together(function: Callable[..., Any], names: str) -> None:
    arguments = (SOME, OTHERS)[: len(names)]
    text = is_as_on_a_cpu(function, tuple(names), arguments)
    assert ", 'max'))" not in text
