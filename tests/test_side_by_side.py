"""Independent iterations that go through inner loops together: which do, and that nobody can tell."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from corpus import FLOAT32, FLOAT64, PROGRAMS, named
from racing import pieces_at_once
from support import check_value_and_grad, fresh, leaves

from srcgrad import BoundsError, dispatch, grad
from srcgrad.passes import order
from srcgrad.passes.cpu import side_by_side
from srcgrad.recalled import Recalled
from srcgrad.testing import check_grad

# What goes together: the primal, and backward.
TOGETHER = {
    "ensembles.radial_functions": (True, True),
    "ensembles.trajectories": (True, True),
    "ensembles.all_pairs": (True, True),
    "ensembles.triangles": (False, True),  # the sum is the user's, and in an inner loop
    "ensembles.nearest": (True, True),
    "ensembles.scattered": (True, False),
    "ensembles.smeared": (False, True),
    "ensembles.on_conditions": (True, False),
    "ensembles.in_a_loop": (True, False),
    "ensembles.rows_in_other_layouts": (True, True),
    "ensembles.roots_by_newton": (True, True),
    "ensembles.escape": (True, True),
    "ensembles.two_searches": (True, True),
    "ensembles.searches_in_a_loop": (True, False),  # what the inner loop keeps belongs to a round of the outer one
    "ensembles.search_beside_a_shorter_array": (True, True),
    "searches.nearest_of_all": (True, True),
    "searches.viterbi": (True, True),
}
LOOPS = [p.name for p in PROGRAMS if p.family in ("ensembles", "loops", "searches", "scratch", "stages", "elimination")]


def is_together(text: str) -> bool:
    return "iterations side by side" in text


def told(name: str, dtype: np.dtype = FLOAT64, **options: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    program = named(name)
    args, keywords = program.arguments(0, dtype)
    return grad(program.function, wrt=program.cases[0].wrt, jit=False, **program.options, **options), args, keywords


@pytest.mark.parametrize("name", TOGETHER)
def test_which_go_together(name: str) -> None:
    f, args, keywords = told(name)
    found = tuple(is_together(f.source(*args, kind=kind, **keywords)) for kind in ("primal", "backward"))
    assert found == TOGETHER[name]


@pytest.mark.parametrize(
    ("name", "width"),
    [
        (n, width)
        for k, n in enumerate(LOOPS)
        for width in ((4, 8 if k % 2 else 2) if n in TOGETHER else (4,) * (k % 4 == 1))  # of others every fourth
    ],
)
def test_the_same_as_without(monkeypatch: Any, name: str, width: int) -> None:
    """Values to the last bit: what an iteration computes, and the order of the user's own sums, stay what they are."""
    monkeypatch.setattr(side_by_side, "WIDTH", width)
    found = []
    for left_out in (set(), {"side_by_side"}):
        monkeypatch.setattr(order, "_left_out", left_out)
        f, args, keywords = told(name)
        if width == 4:
            value = f(*fresh(args), **keywords)
            gradient = None if isinstance(value, tuple) else f.backward(*fresh(args), value, **keywords)
        else:
            value, pullback = f.vjp(*fresh(args), **keywords)
            gradient = None if isinstance(value, tuple) else pullback(value)
        found.append((value, gradient))
    for got, want in zip(leaves(found[0][0]), leaves(found[1][0]), strict=True):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(leaves(found[0][1]), leaves(found[1][1]), strict=True):
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32])
def test_ends_of_the_range(dtype: np.dtype) -> None:
    """Fewer iterations than a register holds, as many, and one more."""
    program = named("ensembles.radial_functions").function
    rng = np.random.default_rng(0)
    f, b = grad(program, jit=False), dtype.type(0.7)
    for count in (0, 1, 7, 8, 9, 24):
        x, centers, w = (rng.normal(size=shape).astype(dtype) for shape in ((count, 3), (4, 3), (4,)))
        np.testing.assert_allclose(f(x, centers, w, b), program(x, centers, w, b), rtol=1e-6)
        if dtype == FLOAT64:
            check_grad(f, x, centers, w, 0.7)
    assert is_together(f.source(x, centers, w, b))


@pytest.mark.parametrize(
    "name", ["radial_functions", "all_pairs", "nearest", "trajectories", "roots_by_newton", "two_searches"]
)
def test_on_threads(monkeypatch: Any, name: str) -> None:
    """Iterations of a piece go together: in pieces that take turns, the same comes out."""
    monkeypatch.setattr(side_by_side, "WIDTH", 2)
    serial, args, _ = told(f"ensembles.{name}")
    v = np.ones_like(serial(*args))
    expected = serial(*args), serial.backward(*args, v)
    with pieces_at_once(len(name)) as counts:
        f, *_ = told(f"ensembles.{name}", parallel=True)
        found = f(*args), f.backward(*args, v)
    assert max(counts) > 1
    for got, want in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert is_together(f.source(*args, v, kind="backward"))


@pytest.mark.parametrize("name", ["roots_by_newton", "escape", "two_searches"])
def test_one_by_one_after_all(monkeypatch: Any, name: str) -> None:
    """Where most have left a `while` loop long before the last, what follows goes one by one."""
    f, args, _ = told(f"ensembles.{name}")
    want = f(*args), f.backward(*args, np.ones_like(f(*args)))
    for worth in (0, 1000):
        monkeypatch.setattr(side_by_side, "WORTH", worth)
        monkeypatch.setattr(side_by_side, "WIDTH", 4)
        monkeypatch.setattr(dispatch, "RECALLED", Recalled())
        g, *_ = told(f"ensembles.{name}")
        found = g(*args), g.backward(*args, np.ones_like(want[0]))
        np.testing.assert_array_equal(found[0], want[0])
        for got, expected in zip(leaves(found[1]), leaves(want[1]), strict=True):
            if expected is not None:
                np.testing.assert_allclose(got, expected, rtol=1e-11)


def test_many_rounds() -> None:
    """More than there is room for at first, in the rounds and in the iteration that is left over."""
    program = named("ensembles.escape").function
    x, y = np.linspace(-0.5, 0.2, 17), np.linspace(-0.1, 0.1, 17)
    for jit in (False, True):
        f = grad(program, jit=jit)
        assert f(x, y, 600) == program(x, y, 600)
        check_grad(f, x, y, 600)


def test_room(monkeypatch: Any) -> None:
    """Where memory with one more axis would be too much, iterations go one by one."""
    f, args, _ = told("ensembles.trajectories")
    v = np.ones((17, 2))
    want = f.backward(*args, v)
    monkeypatch.setattr(side_by_side, "ROOM", 64)
    short, *_ = told("ensembles.trajectories")
    assert "<= 64" in short.source(*args, v, kind="backward")
    for got, expected in zip(leaves(short.backward(*args, v)), leaves(want), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_memory_of_an_outer_loop_is_made_once() -> None:
    f, args, _ = told("ensembles.in_a_loop")
    text = f.source(*args, kind="primal")
    assert text.index("row_lanes = ") < text.index("for t in range")


def first_that_is_wrong(x, w, limit):
    total = 0.0
    for i in range(len(x)):
        s = 0.0
        for j in range(len(w)):
            s += np.sin(x[i] * w[j])
        if s > limit:
            raise ValueError("too large")
        if x[i] < 0.0:
            raise ArithmeticError("negative")
        total += s
    return total


def test_the_first_error_is_raised() -> None:
    f = grad(first_that_is_wrong, jit=False)
    x, w = np.linspace(0.1, 0.9, 16), np.ones(3)
    x[3], x[5] = 2.0, -1.0
    assert not is_together(f.source(x, w, 2.5, kind="primal"))
    for call in (first_that_is_wrong, f, f.backward):
        with pytest.raises(ValueError, match="too large"):
            call(x, w, 2.5)


def rows_past_the_end(x, w, n):
    total = 0.0
    for i in range(n):
        s = 0.0
        for j in range(len(w)):
            for a in range(x.shape[1]):
                s += w[j] * x[i, a]
        total += s * s
    return total


def test_past_the_end() -> None:
    """An index out of range is an error, but not where the loop that would use it does not run."""
    for jit in (False, True):
        f = grad(rows_past_the_end, jit=jit)
        x = np.ones((9, 2))
        assert is_together(f.source(x, np.ones(2), 9))
        assert f(x, np.zeros(0), 30) == 0.0
        np.testing.assert_array_equal(f.backward(x, np.zeros(0), 30)[0], np.zeros((9, 2)))
        for call in (f, f.backward):
            with pytest.raises((BoundsError, IndexError)):
                call(x, np.ones(2), 30)


def elementwise_rows(x, w):
    y = np.empty(x.shape)
    for i in range(x.shape[0]):
        for a in range(x.shape[1]):
            y[i, a] = np.sin(x[i, a]) * w[a]
    return y


def vectors_in_steps(x, steps):
    y = x.copy()
    for i in range(y.shape[0]):
        for _ in range(steps):
            for a in range(y.shape[1]):
                y[i, a] = 0.5 * y[i, a] + 1.0
    return y


@pytest.mark.parametrize(("function", "other"), [(elementwise_rows, np.ones(5)), (vectors_in_steps, 3)])
def test_what_vectorises_along_rows_stays(function: Any, other: Any) -> None:
    """Eight rows at a time would reach eight places in memory, where one row is read as it lies."""
    f = grad(function)
    assert not any(is_together(f.source(np.ones((20, 5)), other, kind=kind)) for kind in ("primal", "backward"))


def convolved(x, w):
    k, n = w.shape[0], x.shape[1] - w.shape[0] + 1
    y = np.empty((x.shape[0], n, w.shape[2]))
    for i in range(n):
        y[:, i] = np.sum(x[:, i : i + k, :, None] * w, axis=(1, 2))
    return y


def test_rows_of_which_a_window_is_read_are_not_copied_for_it() -> None:
    """For each window, all of x of eight samples: more copies than products, and the image's length times too many."""
    f = grad(convolved, jit=False)
    rng = np.random.default_rng(0)
    (fits,) = re.findall(
        r"(?<= fits = ).*(?:\n  .*)*?(?=\n    \w)", f.source(rng.normal(size=(9, 6, 2)), rng.normal(size=(3, 2, 4)))
    )
    for length, window, is_worth in ((40, 3, False), (6, 5, True)):
        x, w = rng.normal(size=(9, length, 2)), rng.normal(size=(window, 2, 4))
        known = {"np": np, "x": x, "w": w, "x_b": x, "k": window}
        assert bool(eval(" ".join(fits.split()).replace(". ", "."), known)) == is_worth
        check_value_and_grad(f, x, w, rtol=1e-7)


def test_compiled_into_vectors() -> None:
    """The innermost loop over iterations is vector instructions, and no loop of its own."""
    from srcgrad.backends import cpu

    program = named("ensembles.radial_functions").function
    rng = np.random.default_rng(0)
    x, centers, w = rng.normal(size=(40, 6)), rng.normal(size=(8, 6)), rng.normal(size=8)
    f = grad(program, cache=False)
    check_grad(f, x, centers, w, 0.7)
    assert f(x, centers, w, 0.7) == pytest.approx(program(x, centers, w, 0.7), rel=1e-12)
    f(x, centers, w, 0.7)
    (text,) = cpu._keep_alive[-1].inspect_llvm().values()
    found = re.findall(r"fmul (?:\w+ )*<(\d+) x double>", text)
    assert found and max(map(int, found)) >= 2


def weighed_by_likeness(x):
    out = np.zeros_like(x)
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            s, t = 0.0, 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    g = np.exp(-((x[i + a, j + b] - x[i, j]) ** 2))
                    s += g * x[i + a, j + b]
                    t += g
            out[i, j] = s / t
    return out


def test_neighbours_in_a_row_are_not_copied_beside_each_other() -> None:
    """x[i, j] is read for every a and b: they lie side by side as it is."""
    f = grad(weighed_by_likeness, jit=False)
    x = np.random.default_rng(0).normal(size=(21, 23))
    source = f.source(x, kind="primal")
    assert "8 iterations side by side" in source and "x_lanes" not in source and "fits" not in source, source
    np.testing.assert_allclose(f(x), weighed_by_likeness(x), rtol=1e-12)


def test_what_is_added_to_neighbours_in_a_row_lies_side_by_side() -> None:
    """x_b[i + a, j + b] of eight j are eight elements, which are not those of the next b."""
    x = np.random.default_rng(0).normal(size=(12, 23))
    v = np.cos(np.arange(x.size)).reshape(x.shape)
    f = grad(weighed_by_likeness, jit=False)
    source = f.source(x, v)
    assert re.search(r"x_b\[i \+ a, j \+ b \+ lane\w*\] \+=|x_b\[a \+ i, b \+ j \+ lane\w*\] \+=", source), source
    found = f.backward(x, v)
    with order.without("side_by_side"):
        np.testing.assert_allclose(found, grad(weighed_by_likeness, jit=False).backward(x, v), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(grad(weighed_by_likeness).backward(x, v), found, rtol=1e-11, atol=1e-13)


def all_but_itself(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                d = x[i] - x[j]
                out[i] += w[j] * d / (abs(d) + 0.1) ** 3
    return out


def those_that_are_there(x, w):
    """An element that all iterations leave out may not be there."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(2 * len(x)):
            if i + 2 * j < len(w):
                out[i] += w[j] * np.sin(x[i] * w[j])
            if x[i] > 0.9:
                out[i] += w[0] * x[i]
    return out


def to_each_and_to_all(x, w):
    """Of one array, an element of each iteration's own, and one that all of them share."""
    s = 0.0
    for i in range(len(x)):
        for j in range(3):
            if x[i] > w[j]:
                s += x[i] * x[j] * np.cos(w[i] * x[i])
    return s


@pytest.mark.parametrize("f", [all_but_itself, those_that_are_there, to_each_and_to_all], ids=lambda f: f.__name__)
def test_sums_in_branches(monkeypatch: Any, f: Any) -> None:
    for n in (1, 3, 8, 19):
        x, w = np.random.default_rng(n).uniform(size=(2, n))
        x, w = (np.resize(x, 3 + n), np.resize(w, 3 + n)) if f is to_each_and_to_all else (x, w)
        g = grad(f, jit=False)
        v = np.cos(np.arange(len(x))) if f is not to_each_and_to_all else 1.0
        found = g.value_and_backward(x, w, v)
        np.testing.assert_allclose(found[0], f(x, w), rtol=1e-12)
        with order.without("side_by_side"):
            wanted = grad(f, jit=False).backward(x, w, v)
        for got, right in zip(found[1], wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-12, atol=1e-13)
    assert is_together(g.source(x, w)), g.source(x, w)
    for got, right in zip(grad(f).backward(x, w, v), found[1], strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-11, atol=1e-12)


def test_a_short_array_is_an_error_as_ever() -> None:
    x = np.arange(9.0)
    with pytest.raises(IndexError):
        grad(all_but_itself)(x, x[:5])
    assert grad(all_but_itself)(x[:1], x[:0]) == 0.0  # nobody asks for w[0]


def with_a_row_of_zeros(x):
    e = np.zeros((len(x), len(x)))
    x[1:-1] = np.sin(x[1:-1]) + e[0, 1:-1]
    return x


def test_a_loop_inside_that_is_the_same_for_all_iterations() -> None:
    """It adds up nothing: no loop is left in the iteration whose work could be done together."""
    f, x = grad(with_a_row_of_zeros, jit=False), np.linspace(0.1, 0.9, 5)
    np.testing.assert_array_equal(f(x.copy()), with_a_row_of_zeros(x.copy()))
    np.testing.assert_allclose(f.backward(x, np.ones(5)), [1.0, *np.cos(x[1:-1]), 1.0])
