"""Functions that make, turn, cut and join arrays: bad arguments, and which memory is which."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from support import from_arrow, from_text

import srcgrad
from srcgrad import grad
from srcgrad.testing import check_grad

X = np.arange(12.0).reshape(3, 4) + 1.0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x -> np.fliplr(x[0])", ValueError),
        ("x -> np.rot90(x, axes=(0, 0))", ValueError),
        ("x -> np.moveaxis(x, (0, 1), (0, 0))", ValueError),
        ("x -> np.moveaxis(x, 0, 2)", ValueError),
        ("x -> np.expand_dims(x, (0, 0))", ValueError),
        ("x -> np.transpose(x, (0,))", ValueError),
        ("x -> np.roll(x, 1, axis=2)", ValueError),
        ("x -> np.repeat(x[0], -1)", ValueError),
        ("x -> np.repeat(x[0], [1, 2])", ValueError),
        ("x -> np.pad(x, -1)", ValueError),
        ("x -> np.pad(x, 1, mode='other')", ValueError),
        ("x -> np.pad(x, ((1, 1), (1, 1), (1, 1)))", ValueError),
        ("x -> np.broadcast_to(x[0], (2, 3))", ValueError),
        ("x -> np.split(x, 2)[0]", ValueError),
        ("x -> np.split(x, 0)[0]", ValueError),
        ("x -> np.pad(x[:, :0], ((0, 0), (0, 1)), mode='reflect')", ValueError),
        ("x -> np.partition(x[0].copy(), np.array([1, 4]))", ValueError),
        ("x -> x.copy().partition(3, axis=0)", ValueError),
        ("x -> np.delete(x[0], 7)", IndexError),
        ("x -> np.insert(x[0], -9, 1.0)", IndexError),
        ("x -> np.take(x, 12)", IndexError),
        ("x -> np.choose([0, 3, 0, 0], [x[0], x[1]])", ValueError),
        ("x -> np.concatenate([x, x], dtype=int)", TypeError),
        ("x -> np.block([x, [x]])", ValueError),
        ("x -> np.select([x > 1], [x, x])", ValueError),
        ("x -> np.geomspace(0.0, x[0, 0], 3)", ValueError),
        ("x -> np.squeeze(x[:1] if len(x) > 5 else x[:, :1])", ValueError),
        ("x -> np.unstack(x)", NotImplementedError),
    ],
)
def test_bad_arguments(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        grad(from_arrow(text), jit=False)(X)


WRITES = """import numpy as np


def f(x):
    {}
    z[0] = 7.0
    return x * 2.0
"""


@pytest.mark.parametrize(
    ("made", "is_view"),
    [
        ("z = np.flip(x, 0)", True),
        ("z = np.rot90(x, 4)", True),
        ("z = np.rot90(x, 3)", True),
        ("z = np.atleast_3d(x)", True),
        ("z = np.moveaxis(x, 0, 1)", True),
        ("z = np.permute_dims(x, (1, 0))", True),
        ("z = np.split(x, 3)[1]", True),
        ("z = np.array_split(x, 2, axis=1)[1]", True),
        ("z = np.expand_dims(x, (0, 1))", True),
        ("z = np.asarray(x)", True),
        ("z = np.meshgrid(x, copy=False)[0]", True),
        ("z = np.meshgrid(x)[0]", False),
        ("z = np.triu(x)", False),
        ("z = np.roll(x, 0)", False),
        ("z = np.repeat(x, 1)", False),
        ("z = np.tile(x, 1)", False),
        ("z = np.pad(x, 0)", False),
        ("z = np.delete(x, 0)", False),
        ("z = np.append(x, 1.0)", False),
        ("z = np.linalg.matrix_power(x[:, :3], 1)", True),
        ("z = np.vstack([x])", False),
        ("z = np.block(x)", False),
        ("z = np.block([x])", False),
        ("z = np.array(x, ndmin=3)", False),
        ("z = np.take(x, 0, axis=0)", False),
        ("z = np.take(x, range(2), axis=0)", False),
        ("z = np.take(x, np.arange(2), axis=0)", False),
        ("z = np.choose(np.zeros(4, int), [x])", False),
        ("z = np.apply_along_axis(lambda v: v, 0, x)", False),
    ],
)
def test_writes_reach_what_is_a_view(made: str, is_view: bool) -> None:
    f = from_text(WRITES.format(made), "f")
    want = f(X.copy())
    assert np.array_equal(want, 2.0 * X) != is_view
    np.testing.assert_array_equal(grad(f, jit=False)(X.copy()), want)


@pytest.mark.parametrize(
    "made", ["np.diag(x)", "np.broadcast_to(x, (2, 3, 4))", "np.broadcast_arrays(x, np.ones((2, 3, 4)))[0]"]
)
def test_what_numpy_shares_and_we_copy_is_not_read_after_a_write(made: str) -> None:
    text = f"import numpy as np\n\n\ndef f(x):\n    z = {made}\n    x[0, 0] = 5.0\n    return z * 2.0\n"
    with pytest.raises(srcgrad.UnsupportedError, match="may or may not be the array"):
        grad(from_text(text, "f"), jit=False)(X.copy())


def gradient(text: str, *args: Any) -> Any:
    return grad(from_arrow(text), jit=False).backward(*args)


def test_what_is_not_chosen_has_no_gradient() -> None:
    x = np.array([0.0, 4.0])
    got = gradient("x -> np.sum(np.select([x > 0], [np.sqrt(x)], 0.0))", x)
    np.testing.assert_allclose(got, [0.0, 0.25])
    got = gradient("x -> np.sum(np.triu(np.sqrt(x[:, None] * np.ones(2)), 1))", x)
    np.testing.assert_allclose(got, [np.inf, 0.0])
    got = gradient("x -> np.sum(np.piecewise(x, [x > 0], [lambda v: np.sqrt(v), 1.0]))", x)
    np.testing.assert_allclose(got, [0.0, 0.25])


def test_lengths_that_are_zero() -> None:
    none = np.zeros(0)
    assert gradient("x -> np.sum(np.roll(x, 3))", none).shape == (0,)
    assert gradient("x -> np.sum(np.tile(x, (2, 3)))", none).shape == (0,)
    assert gradient("x -> np.sum(np.diag(x, 1))", none).shape == (0,)
    np.testing.assert_array_equal(gradient("x -> np.sum(np.repeat(x, 0)) + x[0]", np.ones(2)), [1.0, 0.0])
    np.testing.assert_array_equal(gradient("x -> np.sum(np.diag(x, 9))", X), np.zeros((3, 4)))


@pytest.mark.parametrize(
    "text",
    [
        "x, i -> x[np.linspace(-2, 2, 4, dtype=int)]",
        "x, i -> x[0] * np.pad(i, 2, 'linear_ramp', end_values=-4)",
        "x, i -> x[0] * np.pad(i, 2, 'mean')",
        "x, i -> x[0] * np.pad(i, (1, 2), 'maximum')",
        "x, i -> x[0] * np.linspace(i, 5, 4, dtype=int)",
    ],
)
def test_whole_numbers_are_rounded_as_numpy_rounds(text: str) -> None:
    f = from_arrow(text)
    args = (X[0], np.array([-3, 2, 0]))
    np.testing.assert_allclose(grad(f, jit=False)(*args), f(*args))


def lengths_in_a_circle(x, y, a, n, m):
    u, w, s = x.copy(), np.empty(n), 0.3
    w[:] = y
    b = np.zeros((n, n))
    for t in range(m):
        for j in range(t, n):
            for k in range(j + 1, n, 2):
                if a[k - 1, k] > 0.3:
                    s = s * 0.5 + w[:k] @ x[:k]
                    if k != j:
                        u[:] += np.sin(u * x)
                    a[k, j - 1] = np.sin(a[(j + 1) % n, j + 1]) * np.tanh(u[j])
                b = np.sin(a * b + s)
    return (b * b).sum() + (u * w).sum()


def test_rebound_in_nested_loops() -> None:
    """One loop hands the length of b to the next and gets it back: it is the same length."""
    random = np.random.default_rng(0)
    args = (random.normal(size=4), random.normal(size=4), random.normal(size=(4, 4)), 4, 2)
    f = grad(lengths_in_a_circle, wrt=("x", "y", "a"), jit=False)
    np.testing.assert_allclose(f(*copy.deepcopy(args)), lengths_in_a_circle(*copy.deepcopy(args)), rtol=1e-13)
    check_grad(f, *args)


def joined_in_turns(steps: int) -> Any:
    def f(x: Any, y: Any) -> Any:
        for _ in range(2):
            for _ in range(steps):
                y, x = x, y
                x = np.concatenate([y[3:], x[:3]])
                y[3] = 0.5
        return (x * x).sum()

    return f


def test_lengths_made_of_each_other_do_not_double() -> None:
    """Each array is as long as parts of the two before it: written out, the lengths would grow as Fibonacci numbers."""
    x, y = np.arange(5.0) + 1.0, np.arange(7.0) + 0.25  # (the other kinds take them to be as long as each other)
    few, many = (grad(joined_in_turns(steps), jit=False) for steps in (4, 8))
    texts = [f.source(x, y, kind="primal") for f in (few, many)]
    assert len(texts[1]) < 3 * len(texts[0])
    assert many(x.copy(), y.copy()) == joined_in_turns(8)(x.copy(), y.copy())
    check_grad(many, x, y[:5])
