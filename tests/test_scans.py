"""Loops that pass numbers on, gone over in parts: the same values and gradients as one iteration after the other.

What a GPU runs is run as plain Python here, with parts and groups as small as on a GPU, but for the kernels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import leaves, slope

from srcgrad import dispatch, grad
from srcgrad.passes import order
from srcgrad.passes.find_independent import independent_as_they_are
from srcgrad.passes.gpu.scans import scans
from srcgrad.recalled import Recalled

LENGTHS = (0, 1, 2, 3, 33, 500, 3000)  # parts of 32 are passed by one element, and groups of 32 parts by 64 of them

# ------------------------------------------------------------------------------------------------------- programs


def running_sum(x, a):
    return np.cumsum(a * x)


def running_product(x, a):
    return np.cumprod(1.0 + 0.01 * a * x)


def product_with_zeros(x, a):
    return np.prod(a + 0.5 * x) * np.prod(np.where(x > 0.99, 0.0, 1.0 + 0.001 * x))


def sine_of_sums(x, a):
    y, s = np.empty_like(x), a
    for i in range(len(x)):
        s += x[i] * x[i]
        y[i] = np.sin(s)
    return y


def smoothed(x, a):
    y, s = np.empty_like(x), 0.5
    for i in range(len(x)):
        s = a * s + (1.0 - a) * x[i]
        y[i] = s * s
    return y


def smoothed_in_an_array(x, a):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + (1.0 - a) * x[i] * x[i - 1]
    return y


def in_place(x, a):
    for i in range(1, len(x)):
        x[i] += a * x[i - 1]
    return x


def in_place_downwards(x, a):
    for i in range(len(x) - 2, -1, -1):
        x[i] = x[i] - a * x[i + 1] / (1.0 + x[i])
    return x


def filter_of_two(x, a):
    y = np.zeros_like(x)
    for i in range(2, len(x)):
        y[i] = x[i] + 0.5 * x[i - 1] + a * y[i - 1] - 0.3 * y[i - 2]
    return y


def filter_by_states(x, a):
    y, one, two = np.zeros_like(x), 0.0, 0.1
    for i in range(len(x)):
        out = x[i] + one
        one = 0.3 * x[i] - a * out + two
        two = 0.2 * x[i] - 0.1 * out
        y[i] = out * out
    return y


def advantages(x, a):
    n = len(x)
    out, last = np.zeros_like(x), 0.0
    for t in range(n - 2, -1, -1):
        goes_on = 1.0 if x[t] < 0.9 else 0.0
        last = x[t] + a * x[t + 1] * goes_on - x[t] * x[t] + 0.95 * a * goes_on * last
        out[t] = last
    return out


def by_branches(x, a):
    y, s = np.zeros_like(x), 0.1
    for i in range(len(x)):
        if x[i] > 0.5:
            s = s * a + x[i]
        elif x[i] > 0.2:
            s = 0.3 * x[i]
        y[i] = s * s
    return y


def last_one(x, a):
    s = 0.0
    for i in range(len(x)):
        s = a * s + x[i] ** 2
    return s


def every_second(x, a):
    y, s = np.zeros_like(x), 0.2
    for i in range(0, len(x), 2):
        s = a * s + x[i] ** 2
        y[i] = s
    return y


def level_and_trend(x, a):
    y, level, trend = np.zeros_like(x), 0.5, 0.1
    for i in range(1, len(x)):
        new = 0.3 * x[i] + 0.7 * (level + trend)
        trend = a * (new - level) + (1.0 - a) * trend
        level = new
        y[i] = level + trend
    return y


def wealth(x, a):
    w = a
    for i in range(len(x)):
        w = w * (1.0 + 0.01 * x[i]) + 0.1
    return np.log(w)


def window_of_three(x, a):
    y, s = np.zeros_like(x), 0.0
    c = np.array([0.5, 0.25, 0.125])
    for i in range(2, len(x)):
        s = a * s
        for k in range(3):
            s += c[k] * x[i - k]
        y[i] = s
    return y


def counted(x, a):
    y, k = np.zeros_like(x), 0
    for i in range(len(x)):
        if x[i] > 0.5:
            k += 1
        y[i] = k * a * x[i]
    return y


def changing_places(x, a):
    y, s, t = np.zeros_like(x), 0.3, 0.7
    for i in range(len(x)):
        s, t = t, s
        s = s * a + x[i]
        y[i] = t * s
    return y


def by_other_names(x, a):
    y, s, t = np.zeros_like(x), 0.3, 0.1
    for i in range(len(x)):
        u = s
        w = u
        s = 0.2 * x[i] * t
        if x[i] > 0.3:
            t = w
        s += u * 0.5
        y[i] = w + a * t
    return y


def set_to_an_element(x, a):
    y, s = np.zeros_like(x), a
    for i in range(len(x)):
        u, t = x[i], s
        s = u
        u = 3.0 * x[i] * u
        s = s * 0.1 + u + 0.5 * t
        y[i] = s
    return y


def three_at_a_time(x, a):
    y, p, q, r = np.zeros_like(x), 0.0, 1.0, 0.5
    for i in range(len(x)):
        p, q, r = q * a, r, p * 0.2 + x[i]
        y[i] = q + r * p
    return y


def there_and_back(x, a):
    n = len(x)
    d = np.zeros_like(x)
    for i in range(1, n):
        d[i] = (x[i] - a * d[i - 1]) / (2.0 + x[i])
    for i in range(n - 2, -1, -1):
        d[i] -= 0.3 * x[i] * d[i + 1]
    return d


def added_to_itself(x, a):
    y, z, s = np.zeros_like(x), np.zeros_like(x), 1.0
    for i in range(1, len(x)):
        z[i] = s
        y[i] = a * y[i - 1] + x[i]
        s = 0.0
        s += a * s + x[i]
    return y + z


def set_in_branches(x, a):
    y, t, s = np.zeros_like(x), 0.1, a
    for i in range(len(x)):
        if x[i] > 0.4:
            t = 2.0 + x[i]
        s = 0.5 * s
        y[i] = t * x[i] + s
    return y


def read_further_on(x, a):
    s = 0.0
    for i in range(len(x) - 1):
        s = 0.5 * s + a * x[i]
        x[i + 1] = s * x[i + 1]
    return x


def steps_of_scans(x, a):
    for _ in range(3):
        s = 0.0
        for i in range(len(x)):
            s = a * s + np.sin(x[i])
            x[i] = 0.5 * s
    return x


# Those whose parts multiply by much, or by little: what comes of that must be found by going through a part.


def exact_as_it_stands(x, a):
    y, s = np.zeros_like(x), 1.0
    for i in range(len(x)):
        s = 2.0 * s - 1.0  # is 1 for ever; 2 ** 32 times 1 less 2 ** 32 - 1 is, too, but not of 2 ** 3000
        y[i] = s * a * x[i]
    return y


def decaying_to_nothing(x, a):
    y, s = np.zeros_like(x), 1.0
    for i in range(len(x)):
        s = 1e-3 * s + (a * x[i] if i % 300 == 299 else 0.0)
        y[i] = s
    return y


def up_and_down(x, a):
    y, s = np.zeros_like(x), 1.0
    for i in range(len(x)):
        s = s * (1e25 if (i // 12) % 2 == 0 else 1e-25)  # within a part as far as 1e300, within two no further
        y[i] = s * a * x[i]
    return y


def over_the_top(x, a):
    s = a
    for i in range(len(x)):
        s = s * (0.0 if i == 0 else 1e20 if i < 400 else x[i])
    return s


def set_anew(x, a):
    y, s = np.zeros_like(x), 1.0
    for i in range(len(x)):
        s = 1.0 + 0.1 * x[i] if i % 40 == 39 else 10.0 * s - 10.0 + a * x[i]
        y[i] = s * 1e-9
    return y


PROGRAMS = [f for f in list(globals().values()) if inspect.isfunction(f) and f.__module__ == __name__]
IN_PARTS = (independent_as_they_are, scans)
NOT_SMOOTH = (set_in_branches, product_with_zeros, advantages, by_branches, by_other_names, counted)
EXTREME = (over_the_top, up_and_down, set_anew)  # whose differences are lost


def arguments(n: int) -> tuple[np.ndarray, float, np.random.Generator]:
    rng = np.random.default_rng(n)
    return rng.uniform(0.1, 1.0, n), 0.8, rng


@pytest.fixture
def made_in_parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], Any]:
    """`grad` with `scans` among the passes of a CPU."""
    monkeypatch.setattr(order, "ON_ONE_THREAD", IN_PARTS)
    return lambda function: grad(function, jit=False)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_parts_come_to_the_same(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for passes in ((), IN_PARTS):
        monkeypatch.setattr(dispatch, "RECALLED", Recalled())
        monkeypatch.setattr(order, "ON_ONE_THREAD", passes)
        f, here = grad(function, jit=False), []
        for n in LENGTHS:
            x, a, rng = arguments(n)
            shape = np.shape(function(x.copy(), a))
            here += leaves(f.value_and_backward(x.copy(), a, v=rng.normal(size=shape)))
        found.append(here)
        assert ("part_size" in f.source(x, a)) == (passes != ())
    for got, want in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * np.abs(want).max(initial=1e-290))


@pytest.mark.parametrize(
    "function",
    [f for f in PROGRAMS if f not in (*NOT_SMOOTH, *EXTREME)],
    ids=lambda function: function.__name__,
)
def test_gradients_are_those_of_differences(function: Callable[..., Any], made_in_parts: Any) -> None:
    f = made_in_parts(function)
    for n in (500, 2100):
        x, a, rng = arguments(n)
        v, along = rng.normal(size=np.shape(function(x.copy(), a))), rng.normal(size=n)
        x_b, a_b = f.backward(x.copy(), a, v=v)
        want, error = slope(lambda h: float(np.sum(v * function(x + h * along, a + h))), width=1e-3)  # noqa: B023
        assert abs(x_b @ along + a_b - want) <= 1e-7 * (1.0 + abs(want)) + 10 * error


@pytest.mark.parametrize("function", [running_sum, sine_of_sums, counted], ids=lambda function: function.__name__)
def test_sums_are_not_looked_at_twice(function: Callable[..., Any], made_in_parts: Any) -> None:
    """What a part adds is a number, and it can not go wrong more than any sum does."""
    text = made_in_parts(function).source(*arguments(8)[:2])
    assert "_term" in text
    assert "_factor" not in text


def nonlinear(x):
    y, s = np.zeros_like(x), 0.3
    for i in range(len(x)):
        s = 3.7 * s * (1.0 - s) + 0.01 * x[i]
        y[i] = s
    return y


def chosen_by_itself(x):
    y, s = np.zeros_like(x), 0.0
    for i in range(len(x)):
        s = s + x[i] if s < 10.0 else 0.0
        y[i] = s
    return y


def product_of_two(x):
    s = 0.3
    for i in range(len(x) - 1):
        s = 0.5 * s + x[i]
        x[i + 1] = s * x[i]
    return x


def short(x):
    y, s = np.zeros(8), 0.0
    for i in range(8):
        s = 0.5 * s + x[i]
        y[i] = s
    return y


def written_ahead(x):
    s, k = 0.0, np.arange(len(x))[::-1]
    y = np.zeros(len(x))
    for i in range(len(x)):
        s = 0.5 * s + y[i]
        y[k[i]] = x[i] + s
    return y


def read_behind_the_loop(x):
    s, t = 0.0, 1.0
    for i in range(len(x)):
        s = 0.8 * s + x[i]
        t = s * s
    return s + t


def chosen_behind_the_loop(x):
    s, is_large = 0.0, False
    for i in range(len(x)):
        s = 0.8 * s + x[i]
        is_large = x[i] > 0.9
    return s if is_large else 3.0 * s


@pytest.mark.parametrize(
    "function",
    [
        nonlinear,
        chosen_by_itself,
        product_of_two,
        short,
        written_ahead,
        read_behind_the_loop,
        chosen_behind_the_loop,
    ],
    ids=lambda function: function.__name__,
)
def test_what_is_not_affine_or_has_other_ties_stays_in_order(function: Callable[..., Any], made_in_parts: Any) -> None:
    f, x = made_in_parts(function), np.linspace(0.1, 1.0, 300)
    assert "part_size" not in f.source(x, kind="primal")
    np.testing.assert_allclose(f(x.copy()), function(x.copy()), rtol=1e-13)


def test_a_gradient_may_be_affine_where_the_value_is_not(made_in_parts: Any) -> None:
    """The sweep back is linear, whatever the loop is.  It is in parts where other parts of the function are kernels."""
    x, v = np.linspace(0.1, 0.9, 2000), np.cos(np.arange(2000.0))
    for recurrence in (nonlinear, chosen_by_itself):

        def beside_others(x, recurrence=recurrence):
            return np.exp(-recurrence(x)) * x

        f = made_in_parts(beside_others)
        assert "part_size" in f.source(x, recurrence)
        assert "part_size" not in made_in_parts(recurrence).source(x)
        want = grad(beside_others, jit=False, parallel=True).backward(x, recurrence, v=v)
        np.testing.assert_allclose(f.backward(x, recurrence, v=v), want, rtol=1e-9, atol=1e-12)


def test_a_number_of_another_width_goes_along(made_in_parts: Any) -> None:
    x = np.linspace(0.1, 1.0, 300, dtype=np.float32)
    f = made_in_parts(set_in_branches)
    np.testing.assert_allclose(f(x, 0.5), set_in_branches(x, 0.5), rtol=1e-5)
    assert "t_by_s" not in f.source(x.astype(float), 0.5, kind="primal")
