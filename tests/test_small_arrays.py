"""Arrays of a few elements: which become numbers, and which stay.  (That all are right, the corpus tests.)"""

from __future__ import annotations

import numpy as np
import pytest
from corpus import FLOAT64, named
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.testing import check_grad

NUMBERS = (
    "rotated", "lorenz", "partly_filled", "one_in_each_row", "through_views", "until_large", "window",
    "extremes_with_constants", "written_before_it_is_added_to", "called_with_small_arrays",
)  # fmt: skip
ARRAYS = ("known_at_run_time", "seen_as_a_whole")


def text(name: str, kind: str) -> str:
    program = named(f"small.{name}")
    args, _ = program.arguments(0, FLOAT64)
    return grad(program.function).source(*args, kind=kind)


@pytest.mark.parametrize("name", NUMBERS)
def test_become_numbers(name: str) -> None:
    primal = text(name, "primal").replace("out = np.zeros(3)", "")
    assert "np.zeros" not in primal and "np.empty(3)" not in primal, primal
    assert " in range(3)" not in primal, primal


@pytest.mark.parametrize("name", ARRAYS)
def test_stay(name: str) -> None:
    assert "np.empty(3)" in text(name, "primal")


def test_what_an_iteration_sets_is_its_own_where_the_loop_is_written_out() -> None:
    """A name for all would be carried from one loop over elements to the next, and so would its cotangent."""
    reverse = text("runge_kutta_by_a_tableau", "backward").partition("# reverse sweep")[2]
    assert reverse.count("for i in ") == 1 and "k_b = 0.0" not in reverse
    assert text("rows_of_a_loop_in_a_loop", "backward").count("    for ") == 1


def test_the_adjoint_of_a_stack_is_numbers() -> None:
    source = text("stacked_powers", "backward")
    assert "np.zeros" not in source and "for " not in source, source


def test_an_element_that_is_not_there_is_the_users_error() -> None:
    @grad
    def f(x, n):
        t = np.array([x, 2 * x])
        s = 0.0
        for i in range(n):
            s += t[i]
        return s

    @grad
    def g(x):
        t = np.array([x, 2 * x])
        s = 0.0
        for i in range(3):
            s += t[i]
        return s

    assert f(1.0, 2) == 3.0
    with pytest.raises(IndexError):
        f(1.0, 3)
    for _ in range(2):
        with pytest.raises(IndexError):
            g(1.0)
        with pytest.raises(IndexError):
            g.backward(1.0)


def test_an_element_that_is_not_there_is_missed_even_where_nobody_asks() -> None:
    @grad
    def f(x):
        t = np.zeros(2)
        t[0] = x[10]
        t[0] = x[0]
        return t[0] + t[1]

    assert f(np.ones(11)) == 1.0
    with pytest.raises(IndexError):
        f(np.ones(3))
    with pytest.raises(IndexError):
        f.backward(np.ones(3))


def test_loops_that_would_be_too_long_stay() -> None:
    @grad
    def f(x):
        t = np.zeros(3)
        for i in range(3):
            t[i] = x[i]
        for k in range(1000):
            t[k % 3] *= 0.9
        return t[0] + t[1] * t[2]

    assert "for k in range(1000)" in f.source(np.ones(3), kind="primal")


def test_an_index_that_divides_by_zero_on_a_path_not_taken() -> None:
    @grad(jit=False)
    def f(x):
        t = np.array([x, x * x, np.sin(x)])
        s = 0.0
        for i in range(3):
            if i > 0:
                s += t[2 % i] + t[2 // i]
        return s

    check_grad(f, 0.8)


def test_an_array_that_is_printed_with_one_of_its_elements(capsys: pytest.CaptureFixture[str]) -> None:
    @grad(jit=False)
    def f(x):
        t = np.array([1.0, x])
        print(t, t[0])
        return t[0] * t[1]

    assert f(2.0) == 2.0
    assert capsys.readouterr().out == "[1. 2.] 1.0\n"
    assert f.backward(2.0) == 1.0


def distance(x, p):
    d = x.T @ p @ x
    if d > 2.0 and not d > 50.0:
        x = x * 2.0
    while x[:1].T @ x[:1] < 4.0:
        x = x * 1.5
    return (x if x.T @ x > 3.0 else 2.0 * x) * bool(d)


@pytest.mark.parametrize("jit", [False, True])
def test_truth_of_an_array_of_one_element(jit: bool) -> None:
    f, x = grad(distance, jit=jit), np.array([[1.1], [0.7]])
    for scale in (1.0, 2.0, 9.0):
        np.testing.assert_allclose(f(x, scale * np.eye(2)), distance(x, scale * np.eye(2)), rtol=1e-14)
        check_grad(f, x, scale * np.eye(2))
    with pytest.raises(ValueError, match="only an array of one element has a truth value, and this one has 4"):
        f(np.ones((2, 2)), np.eye(2))
    with pytest.raises(ValueError, match=r"this one has the shape \(3,\)"):
        grad(lambda x: x if np.zeros(3) else 2 * x, jit=False)(1.0)


@pytest.mark.parametrize("jit", [False, True])
def test_item_of_more_than_one_element(jit: bool) -> None:
    f = grad(lambda x: 2.0 * x.item(), jit=jit)
    assert f(np.array([[1.5]])) == 3.0
    assert f.backward(np.array([[1.5]])).tolist() == [[2.0]]
    for x in (np.ones(2), np.ones((2, 0))):
        with pytest.raises(ValueError, match="only an array of one element can be made a number"):
            f(x)


def test_arrays_without_axes_are_numbers() -> None:
    """One in each iteration would be a block of memory in each iteration."""

    def in_iterations(x):
        out = np.empty(len(x))
        for i in range(len(x)):
            v = np.array(x[i] * 2.0)
            v += x[i]
            v[()] = v * x[i]
            v[...] = v + 1.0
            out[i] = v * np.asarray(v + 1.0)
        return out

    def added_to(x):
        s = np.zeros(())
        for i in range(len(x)):
            s += x[i] * x[i]
        return np.sin(x) * s

    def handed_on(x):
        s = np.array(x[0])
        t = s
        t += x[1]
        return s

    x = np.array([0.3, -0.4, 0.5])
    for f in (in_iterations, added_to, handed_on):
        for kind in ("primal", "backward"):
            source = grad(f).source(x, kind=kind)
            assert f is handed_on or ("np.empty(())" not in source and "np.zeros(())" not in source), source
        np.testing.assert_allclose(grad(f, jit=False)(x), f(x), rtol=1e-14)
        check_grad(grad(f, jit=False), x)


def assembled(elements, angles, w):
    k = np.zeros((w.shape[0], w.shape[0]))
    for (i, j), angle in zip(elements, angles, strict=True):
        c, s = np.cos(angle), np.sin(angle)
        d = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        k[np.ix_(d, d)] += np.array([[c * c, c * s, -c, -s], [c * s, s * s, -s, c], [-c, -s, c, 0.5], [-s, c, 0.5, s]])
    return np.sum(w * k**2)


def test_the_matrix_of_an_element_is_numbers() -> None:
    """It has more than a few elements, but each of its indices is written out."""
    elements = np.array([[0, 1], [1, 2], [0, 2], [1, 1]])
    a = (elements, np.array([0.3, 0.7, 1.1, 1.9]), np.random.default_rng(0).normal(size=(6, 6)))
    f = grad(assembled, jit=False)
    assert "np.empty((4, 4))" not in f.source(*a)
    check_value_and_grad(f, *a)
