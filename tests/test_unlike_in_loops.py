"""Objects in loops: attributes that become something else, placeholders, and whole numbers that stay what they are."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from support import assert_same_kind, check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

DATA = np.array([0.3, -0.4, 0.9])


class Tracker:
    """As filters are written: what was measured last is kept, and is of another kind by then."""

    def __init__(self, x: Any, order: int) -> None:
        self.order = order
        self.x = np.array([x, 1.0, 0.5])[: order + 1]
        self.count = 0
        self.residual = np.zeros(order + 1)
        self.z = np.array([[None] * order]).T
        self.last: Any = 0
        self.pair: Any = None

    def step(self, z: Any) -> None:
        self.count += 1
        if self.order == 0:
            self.residual = z - self.x  # an array: not of a shape with the others
            self.x[0] += self.residual[0] / self.count
        else:
            self.residual = z - self.x[0]
            self.x[0] += 0.3 * self.residual
            self.x[1] += self.x[0] * self.residual / self.count
        self.z = copy.deepcopy(z)
        self.last = np.array([z, z])
        self.pair = [z, z]


def tracked(x, data):
    tracker = Tracker(x, 2)
    for z in data:
        tracker.step(z)
    return tracker.x * tracker.count


def of_order_zero(x, data):
    tracker = Tracker(x, 0)
    for z in data:
        tracker.step(z)
    return tracker.x


def a_name_that_nobody_reads(x, data):
    step: Any = np.zeros(2)
    for z in data:
        if z > 0.8:
            break
        step = x * z
        x = x + np.sin(step)
    return x


def read_where_it_is_new(x, data):
    before: Any = None
    for z in data:
        before = [x, z]
        x = x * before[1] + np.exp(before[0])
    return x


def placeholders(x, data):
    tracker = copy.deepcopy(Tracker(x, 1))
    if x > 9.0:
        tracker.z = np.array([None, None])
    tracker.step(data[0])
    if tracker.order > 5:
        tracker.z = np.array([[None]])
    return tracker.x


def as_column(z: Any, n: int) -> Any:
    z = np.atleast_2d(z)
    if z.shape[1] == n:
        z = z.T
    if z.shape != (n, 1) or z.ndim != 2 or len(z) != n:
        raise ValueError(f"z of shape {z.shape}")
    return z


def placeholders_of_a_shape(x, data):
    z = as_column(np.array([None] * 2), 2)
    kept = [copy.deepcopy(z), np.copy(z.T), z[:, 0].copy(), z.reshape(1, 2), z[0, 0]]
    for value in data:
        z = as_column(np.array([value, x]), 2)
        x = x + np.sum(z)
    return x * kept[0].size * kept[1].shape[1] * kept[2].ndim * (kept[4] is None) * np.ndim(kept[3])


def last_in_the_next_iteration(x, data):
    tracker = Tracker(x, 2)
    for z in data:
        x = x + np.sum(tracker.last)
        tracker.step(z)
    return x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        tracked,
        of_order_zero,
        a_name_that_nobody_reads,
        read_where_it_is_new,
        placeholders,
        placeholders_of_a_shape,
        last_in_the_next_iteration,
    ],  # fmt: skip
    ids=lambda f: f.__name__,
)
def test_what_nobody_reads_may_be_anything(f: Any, jit: bool) -> None:
    g = grad(f, jit=jit)
    check_value_and_grad(g, 1.5, DATA, rtol=1e-13)


def test_a_number_that_stays_decides_ahead_of_time() -> None:
    source = grad(tracked, jit=False).source(1.5, DATA)
    assert "order_" not in source and " == 0" not in source


def residual_behind(x, data):
    tracker = Tracker(x, 2)
    for z in data:
        tracker.step(z)
    return tracker.residual


def pair_behind(x, data):
    tracker = Tracker(x, 2)
    for z in data:
        tracker.step(z)
    return tracker.x if tracker.pair is None else tracker.x * 2.0


def fewer_axes(x, data):
    path = np.outer(data, data) * x
    for _ in data:
        path = np.atleast_2d(path)[0] * x
    return path


def a_placeholder(x, data):
    return np.sum(Tracker(x, 2).z)


def compared_placeholder(x, data):
    return x if np.array([None]) == data[0] else 2.0 * x


def true_placeholder(x, data):
    return x if np.array([None]) else 2.0 * x


def item_of_a_placeholder(x, data):
    k = 0 if x > 0 else 1
    return np.array([None, None])[k]


def written_placeholder(x, data):
    tracker = Tracker(x, 2)
    tracker.z[0, 0] = x
    return x


def returned_placeholder(x, data):
    return Tracker(x, 2).z


UNLIKE = "is of another kind at the end of the loop than at its beginning"


@pytest.mark.parametrize(
    ("f", "message", "line"),
    [
        (residual_behind, f"tracker.residual {UNLIKE}", "tracker.residual"),
        (pair_behind, "tracker.pair is None at one end of the loop", "tracker.pair is None"),
        (fewer_axes, "path changes its number of axes", "np.atleast_2d"),
        (a_placeholder, "is an array of None", "np.sum"),
        (compared_placeholder, "is an array of None", "np.array"),
        (true_placeholder, "is an array of None", "np.array"),
        (item_of_a_placeholder, "is an array of None", "[k]"),
        (written_placeholder, "is an array of None", "tracker.z"),
        (returned_placeholder, "is an array of None", ""),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_reading_it_is_refused_where_it_is_read(f: Any, message: str, line: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as found:
        grad(f, jit=False)(1.5, DATA)
    assert line in str(found.value)


# What NumPy computes of an array without axes is a number: such a name goes round the loop as a number.


def from_asarray(x, n):
    y = np.asarray(x[0])
    for i in range(n):
        y = 0.5 * y + np.sin(y) * x[i]
    return y


def newton(x, n):
    y = np.array(2.0)
    for _ in range(10 * n):
        step = (y**3 - x[0]) / (3.0 * y**2)
        y = y - step
        if np.all(np.abs(step) < 1e-14):
            break
    return y


def until_no_mask(x, n):
    y = x[0]
    mask = np.ones_like(y, dtype=bool)
    while mask.sum():
        before = y
        y = mask * (x[1] + 0.1 * n * np.cos(y)) + ~mask * before
        mask = abs(y - before) > 1e-9
    return y * x[2]


def added_in_place(x, n):
    y = np.array(x[0])
    for i in range(n):
        y += x[i]
        y = y * x[1]
    return y


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("f", [from_asarray, newton, until_no_mask, added_in_place], ids=lambda f: f.__name__)
def test_an_array_without_axes_becomes_a_number(f: Any, n: int) -> None:
    g = grad(f, wrt="x", jit=False)
    np.testing.assert_allclose(g(DATA, n), f(DATA, n), rtol=1e-12)
    if f is not until_no_mask:  # where it stops it has not quite converged
        check_grad(g, DATA, n)


def test_an_array_without_axes_that_is_written_elsewhere() -> None:
    def written(x, n):
        y = np.array(x[0])
        z = y
        for _ in range(n):
            z += 1.0
            y = y * x[1]
        return y + z

    def seen_through_a_view(x, n):
        x = x[:1]
        y = x.reshape(())
        for _ in range(n):
            x[0] += 1.0
            y = y * 2.0
        return y + x

    for f in (written, seen_through_a_view):
        with pytest.raises(UnsupportedError, match="y is of another kind at the end of the loop"):
            grad(f, wrt="x", jit=False)(DATA, 3)


# --------------------------------------------------------------------------------------- parts that are called alike


class Part:
    def __init__(self, m: Any, n: Any) -> None:
        self.m, self.n = m, n


class Pair:
    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b = Part(w, 7), Part(b, 0)


def dicts_in_a_dict(w, b):
    state = {"w": {"m": w, "n": 7}, "b": {"m": b, "n": 0}}
    for v in b:
        state["w"]["m"] = 0.9 * state["w"]["m"]
        state["w"]["n"] = 3 * state["w"]["n"] // 2
        if v > 0.1:
            state["b"]["m"] = state["b"]["m"] * v
            state["b"]["n"] += v
    return state["w"]["m"], state["b"]["m"], state["w"]["n"], state["b"]["n"], b[state["w"]["n"] - 22]


def objects_in_an_object(w, b):
    pair = Pair(w, b)

    def step(part, to):
        part.m = part.m * to
        part.n = part.n * 2 if to == 2 else part.n + to

    k = 0
    while k < b.size:
        step(pair.w, 2)
        step(pair.b, b[k])
        k += 1
    return pair.w.m, pair.b.m, pair.w.n, pair.b.n


def lists_in_a_dict(w, b):
    state = {"w": [w, 7, None], "b": [b, 0, 1]}
    for v in b:
        state["w"][0], state["b"][0] = 2.0 * state["w"][0], v * state["b"][0]
        state["w"][1] += 1
        state["b"][1] += v
        state["w"][2] = v if state["w"][2] is None else v * state["w"][2]
        state["b"][2] += 1
    return state["w"][0], state["b"][0], state["w"][1], state["b"][1], state["w"][2], state["b"][2]


def names_like_parts(w, b):
    s = {"m": w, "n": 7}
    t = (w, 7)
    s_m, s_n, t_0, t_1, s_0, s_1 = b, 0, b, 0, b, 0
    for v in b:
        s["m"], s["n"], t = 2.0 * s["m"], s["n"] + 1, (3.0 * t[0], t[1] + 1)
        s_m, s_n, t_0, t_1, s_0, s_1 = v * s_m, s_n + v, v * t_0, t_1 + v, 2.0 * s_0, s_1 + v
    return s["m"], s["n"], t, s_m, s_n, t_0, t_1, s_0, s_1


@pytest.mark.parametrize("to", [np.float64, np.float32])
@pytest.mark.parametrize(
    "f", [dicts_in_a_dict, objects_in_an_object, lists_in_a_dict, names_like_parts], ids=lambda f: f.__name__
)
def test_parts_have_types_and_shapes_of_their_own(f: Any, to: Any) -> None:
    args = np.arange(6, dtype=to).reshape(3, 2), DATA.astype(to)
    g = grad(f, jit=False)
    assert_same_kind(g(*args), f(*args), f.__name__)
    check_value_and_grad(g, *args, rtol=1e-6)
