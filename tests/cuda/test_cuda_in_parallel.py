"""Loops that used to run in one thread, or to be refused: their iterations are independent, or nearly so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import fresh, slope

from srcgrad import RuntimeValueError, grad

pytestmark = pytest.mark.filterwarnings("ignore:overflow")  # of integers, which wrap around

RNG = np.random.default_rng(17)
X, A = RNG.uniform(0.2, 1.5, (2, 70))


def is_right(function: Callable[..., Any], *args: Any) -> str:
    """On a GPU what the plain function gives, and its gradient; what was generated for both."""
    on_device, plain = grad(function, target="cuda"), grad(function, jit=False)
    y = function(*fresh(args))
    np.testing.assert_allclose(on_device(*fresh(args)), y, rtol=1e-12, atol=1e-13)
    v = np.cos(np.arange(np.size(y))).reshape(np.shape(y)) + 0.2
    got, want = (f.backward(*fresh(args), v=v) for f in (on_device, plain))
    got, want = ((g,) if isinstance(g, (np.ndarray, float)) else g for g in (got, want))
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    active = [k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f"]
    directions = [RNG.normal(size=np.shape(args[k])) for k in active]

    def along(step: float) -> Any:
        moved = fresh(list(args))
        for k, direction in zip(active, directions, strict=True):
            moved[k] = moved[k] + step * direction
        return np.sum(function(*moved) * v)

    found = sum(np.sum(g * d) for g, d in zip(got, directions, strict=True))
    np.testing.assert_allclose(found, slope(along, 1e-3)[0], rtol=1e-6, atol=1e-7)
    return on_device.source(*args) + on_device.source(*args, kind="primal")


def loops_of_one_thread(text: str) -> list[str]:
    """Why one thread goes through loops, where it does."""
    return re.findall("# (one thread: .*)", text)


# ------------------------------------------------------------------------------------------------ steps of arguments


def by_steps(x, s):
    y = np.zeros(x.shape[0])
    for i in range(0, x.shape[0], s):
        y[i] = x[i] ** 2
    return y


def sum_by_steps(x, s):
    total = 0.0
    for i in range(0, x.shape[0], s):
        total += np.sin(x[i])
    return total


def downwards(x, s):
    total, y = 0.0, x.copy()
    for i in range(x.shape[0] - 1, -1, -s):
        total += x[i] ** 2
        y[i] = np.cos(x[i])
    return y * total


def in_place_by_steps(x, s):
    for i in range(1, x.shape[0], s):
        x[i] *= np.sin(x[i])
    return x


def both_axes_by_steps(x, s):
    y = np.zeros_like(x)
    for i in range(0, x.shape[0], s):
        for j in range(1, x.shape[1], s + 1):
            y[i, j] = x[i, j] * x[i, j]
    return y


@pytest.mark.parametrize("step", [1, 3, 69, 70, 200])
@pytest.mark.parametrize("function", [by_steps, sum_by_steps, downwards, in_place_by_steps, both_axes_by_steps])
def test_steps_of_arguments(function: Callable[..., Any], step: int) -> None:
    text = is_right(function, X.reshape(7, 10) if function is both_axes_by_steps else X, step)
    assert not loops_of_one_thread(text) and "atomic.add" not in text


def test_steps_the_other_way() -> None:
    is_right(by_steps, X, -4)
    is_right(downwards, X, -4)
    with pytest.raises(RuntimeValueError, match="must not be zero"):
        grad(by_steps, target="cuda")(X, 0)
    with pytest.raises(RuntimeValueError, match="must not be zero"):
        grad(by_steps, target="cuda").backward(X, 0, v=X)


# ------------------------------------------------------------------------------------- integers, and names read behind

PLACES = RNG.integers(-10, 10, 70)
SMALL = RNG.integers(1, 4, 70) * RNG.choice([-1, 1], 70)


def counted(x, places):
    found = np.zeros(10, dtype=np.int64)
    for i in range(places.shape[0]):
        found[places[i]] += 1
    for i in range(0, places.shape[0], 2):
        found[places[i]] -= i
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * found[places[i]]
    return y


def product_of_integers(x, k):
    p = 3
    for i in range(k.shape[0]):
        p *= k[i]
    return x * np.cos(float(p)) * np.sin(float(np.prod(k[:9])))


def product_of_integers_again_and_again(x, k):
    """The second begins with what the first has left on the device."""
    p = k[0]
    for _ in range(3):
        for i in range(k.shape[0]):
            p = k[i] * p
    return x * np.sin(float(p % 1000))


@pytest.mark.parametrize("function", [counted, product_of_integers, product_of_integers_again_and_again])
def test_integers(function: Callable[..., Any]) -> None:
    text = is_right(function, X, PLACES if function is counted else SMALL)
    assert not loops_of_one_thread(text)


def read_behind(x, a):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        t = x[i] * a[i]
        u = t + 1.0
        y[i] = u * u
    return y * t + u


def read_behind_downwards(x, a):
    y, t = np.zeros_like(x), 0.5
    for _ in range(2):
        for i in range(x.shape[0] - 1, 0, -1):
            t = np.sin(x[i]) + a[0]
            y[i] += t * t
        y *= t
    return y + t


def none_to_read(x, a):
    t = a[1]
    y = x.copy()
    for i in range(3, x.shape[0] - 68):
        t = x[i] * 2.0
        y[i] = t * a[i]
    return y * t


def written_there(x, a):
    """What is read behind is made of memory that the loop changes: it goes in order, or by parts."""
    y = x.copy()
    for i in range(x.shape[0]):
        t = y[i] * a[i]
        y[i] = t * t
    return y * t


@pytest.mark.parametrize("function", [read_behind, read_behind_downwards, none_to_read, written_there])
def test_names_that_are_read_behind(function: Callable[..., Any]) -> None:
    text = is_right(function, X, A)
    assert function is written_there or ("fetch(" not in text and not loops_of_one_thread(text))


def in_order_beside_a_kernel(x, a):
    s = 0.5
    for i in range(x.shape[0]):
        for j in range(3):
            s = np.sin(s * x[i]) + a[j]
    return s * np.cos(x)


def test_what_one_thread_goes_through_is_said() -> None:
    """The sweep is affine, and goes in parts."""
    line = in_order_beside_a_kernel.__code__.co_firstlineno + 2
    told = loops_of_one_thread(is_right(in_order_beside_a_kernel, X, A))
    assert len(told) == 2 and all(f"the loop of line {line} depend on each other" in one for one in told)


# ----------------------------------------------------------------------------------------------- searches and halves

ROUNDED = np.round(X, 1)  # of which several are as good


def last_greatest(x, a):
    best, k = -1.0, 0
    for i in range(x.shape[0]):
        if x[i] >= best:
            best = x[i]
            k = i
    return best * a * (k + 1)


def last_least_of_a_table(x, a):
    best, row, column = 0.3, -1, -1
    for i in range(7):
        for j in range(10):
            if x[10 * i + j] * 0.5 <= best:
                best, row, column = x[10 * i + j] * 0.5, i, j
    return best * a + row * column


def none_is_as_good(x, a):
    best, k = 9.0, 5
    for i in range(x.shape[0]):
        if x[i] >= best:
            best, k = x[i], i
    return best * x * a[k]


@pytest.mark.parametrize("function", [last_greatest, last_least_of_a_table, none_is_as_good])
def test_the_last_that_is_as_good(function: Callable[..., Any]) -> None:
    f, x = grad(function, target="cuda"), ROUNDED.copy()
    for entry in (X, x, np.where(x > 1.0, np.nan, x), np.where(x > 0.5, -0.0, 0.0)):
        np.testing.assert_allclose(f(entry, A), function(entry, A), rtol=1e-13)
        got, want = (g.backward(entry, A, v=A) for g in (f, grad(function, jit=False)))
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    assert not loops_of_one_thread(is_right(function, X, A))


# --------------------------------------------------------------------------------- ranges by an index that is two up


def above_the_plane(x):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(i, x.shape[2]):
                y[i, j, k] = x[i, j, k] * x[i, j, 0]
    return y


def below_the_plane(x):
    y = np.zeros(x.shape[:2])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(i + 1):
                y[i, j] += x[i, j, k] * x[j, i, 0]
    return y


def by_tiles(x, h):
    n = x.shape[1]
    y = np.zeros(x.shape)
    for p in range(x.shape[0]):
        for a in range(0, n, h):
            for i in range(a, min(a + h, n)):
                for b in range(0, n, h):
                    for j in range(b, min(b + h, n)):
                        y[p, i, j] += x[p, i, j] * x[p, j, i]
    return y


@pytest.mark.parametrize("function, more", [(above_the_plane, ()), (below_the_plane, ()), (by_tiles, (2,))])
def test_ranges_by_an_outer_index(function: Callable[..., Any], more: tuple[int, ...]) -> None:
    """The host knows nothing of the indices of a grid when it asks how long its axes are."""
    assert not loops_of_one_thread(is_right(function, RNG.uniform(size=(3, 3, 3)), *more))


# ------------------------------------------------------------------------------------------ what a thread has by itself


def forward_of_many(start, step, series):
    """The likelihood of each of some series: its state is an array, which the next one takes the place of."""
    n, steps = series.shape
    k = start.shape[0]
    y = np.zeros(n)
    for s in range(n):
        state = np.zeros(k)
        for j in range(k):
            state[j] = start[j] * series[s, 0]
        for t in range(1, steps):
            new = np.zeros(k)
            for j in range(k):
                for i in range(k):
                    new[j] += np.exp(-state[i] * step[i, j]) * series[s, t]
            state = new
        for j in range(k):
            y[s] += state[j]
    return y


def test_states_that_are_kept_row_by_row() -> None:
    text = is_right(forward_of_many, X[:3], RNG.uniform(size=(3, 3)), RNG.uniform(size=(4, 5)))
    assert "for t in" not in text.rpartition("def ")[2].replace("\n    ", "\n"), "the host goes through the steps"
    assert len(re.findall(r"^    forward_of_many\w*_s\[", text, re.MULTILINE)) == 2  # one kernel in either function


def moved(u, by):
    """From four neighbours, those that are there: a product of theirs is kept for the way back."""
    h, w = u.shape
    y = np.zeros(by.shape)
    for p in range(by.shape[0]):
        a = int(np.floor(by[p]))
        for i in range(2):
            for j in range(2):
                if 0 <= a + i < h and 0 <= a + j < w:
                    y[p] += np.sin((1 - abs(by[p] - a - i)) * (1 - 0.5 * j)) * u[a + i, a + j]
    return y


def test_what_is_kept_under_a_condition() -> None:
    is_right(moved, RNG.uniform(size=(4, 5)), np.array([-0.6, 0.3, 1.4, 2.7, 3.2, 4.4, -2.5]))


# --------------------------------------------------------------------------------------------- steps that a table has


def streamed(f, omega, steps):
    """A lattice Boltzmann step that passes on what it makes."""
    along = np.array([0, 1, 0, -1, 0, 2])
    across = np.array([0, 0, 1, 0, -1, -1])
    weight = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    n, m = f.shape[1:]
    f = f.copy()
    for _ in range(steps):
        g = np.zeros(f.shape)
        for i in range(n):
            for j in range(m):
                density = 0.0
                speed = 0.0
                for k in range(6):
                    density += f[k, i, j]
                    speed += along[k] * f[k, i, j]
                for k in range(6):
                    made = weight[k] * (density + along[k] * speed * speed)
                    g[k, (i + across[k]) % n, (j + along[k]) % m] = f[k, i, j] + omega * (made - f[k, i, j])
        f = g
    return f


@pytest.mark.parametrize("shape", [(4, 5), (1, 3), (3, 2), (2, 1)])
def test_steps_in_a_table(shape: tuple[int, int]) -> None:
    text = is_right(streamed, RNG.uniform(0.5, 1.0, (6, *shape)), 0.7, 2)
    assert not loops_of_one_thread(text) and "atomic.add" not in text


def passed_on(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in range(n):
        y[(i + 1) % n] = np.sin(x[i])
    return y * x


def passed_on_by_all(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in range(n):
        for k in range(-1, 2):
            y[(i + k) % n] = np.sin(x[i] * (k + 2))
    return y * x


def changed_table(x):
    step = np.array([1, 1])
    y = np.zeros(x.shape)
    z = np.zeros(x.shape)
    for i in range(x.shape[0]):
        y[(i + step[0]) % x.shape[0]] = x[i] ** 2
    step[0] = 2
    for i in range(x.shape[0]):
        z[(i + step[0]) % x.shape[0]] = y[i] * step[1]
    return z * x


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("function", [passed_on, passed_on_by_all, changed_table])
def test_steps_around_an_axis(function: Callable[..., Any], n: int) -> None:
    """One step takes every element to another one; of several, the last is the one that stays."""
    text = is_right(function, X[:n])
    assert bool(loops_of_one_thread(text)) == (function is passed_on_by_all)


def by_given_tables(f, along, across):
    n, m = f.shape[1:]
    g = np.zeros(f.shape)
    for i in range(n):
        for j in range(m):
            density = 0.0
            for k in range(3):
                density += f[k, i, j]
            for k in range(3):
                row = (i + across[k]) % n
                g[k, row, (j + along[k]) % m] = np.sin(f[k, i, j]) * density
    return g


@pytest.mark.parametrize("shape", [(4, 5), (1, 3), (3, 2)])
def test_steps_that_only_a_run_knows(shape: tuple[int, int]) -> None:
    text = is_right(by_given_tables, RNG.uniform(size=(3, *shape)), np.array([0, 1, -7]), np.array([2, -1, 0]))
    assert not loops_of_one_thread(text) and "atomic.add" not in text
    assert "for i in" not in text.rpartition("def ")[2] and "for j in" not in text.rpartition("def ")[2]


def by_all_steps(x, step):
    n = x.shape[0]
    y = np.zeros(n)
    for i in range(n):
        for k in range(2):
            y[(i + step[k]) % n] = np.sin(x[i] * (k + 2))
    return y * x


def steps_that_change(x, step):
    n = x.shape[0]
    y, step = np.zeros(n), step.copy()
    for i in range(n):
        step[0] += i
        y[(i + step[0]) % n] = np.sin(x[i])
    return y * x


def twice_around(x, step):
    n = x.shape[0]
    y = np.zeros(n)
    for i in range(2 * n):
        y[(i + step[0]) % n] = np.sin(x[i % n] * (i + 1))
    return y * x


@pytest.mark.parametrize("function", [by_all_steps, steps_that_change, twice_around])
def test_steps_that_meet(function: Callable[..., Any]) -> None:
    assert loops_of_one_thread(is_right(function, X[:7], np.array([1, -1])))
