"""The two tables of edge cases, row by row, with the figures in them.

What the derivative is at kinks, ties and singular points; what bad input gets, and when.  Most run as plain Python:
the generated source is the same text that is compiled; a sample of each table runs compiled as well.
"""

from __future__ import annotations

import collections
import importlib
import inspect
import math
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy import ndimage, special, stats
from scipy.spatial import distance
from support import from_arrow, from_text

from srcgrad import dispatch, grad
from srcgrad.backends import cpu
from srcgrad.backends.boxing import Promised
from srcgrad.errors import ArgumentError, SourceError, SrcgradError, UnsupportedError
from srcgrad.frontend.syntax import source
from srcgrad.recalled import Recalled
from srcgrad.testing import check_grad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INF, NAN = math.inf, math.nan


def cotangents(program: Any, *args: Any, jit: bool = False, **more: Any) -> list[Any]:
    """What backward says, with v of ones for an array, as nested lists; a list among `args` stands for an array."""
    function = from_arrow(program) if isinstance(program, str) else program
    args = tuple(np.array(a, np.float64) if isinstance(a, list) else a for a in args)
    v = np.ones_like(function(*args)) if np.ndim(function(*args)) else 1.0
    got = grad(function, jit=jit, **more).backward(*args, v)
    return [np.asarray(part).tolist() for part in got] if isinstance(got, tuple) else np.asarray(got).tolist()


def array(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float64)


# The first table: what the derivative is ----------------------------------------------------------------------------


def guarded_root(x):
    return np.where(x > 0, np.sqrt(x), 0)


def guarded_quotient(x):
    return np.where(x != 0, np.sin(x) / x, 1)


def guarded_by_if(x):
    if x > 0:
        return np.sqrt(x)
    return 0.0 * x


def masked_root(x):
    y = np.zeros(3)
    y[x > 0] = np.sqrt(x[x > 0])
    return y


# fmt: off
FIGURES = [
    # what                         program                                    arguments               cotangents
    ("abs",                       "x -> np.abs(x)",                    ([0, -2, 3],),         [0, -1, 1]),
    ("abs of a number",           "x -> abs(x)",                       (0.,),                 0),
    ("fabs",                      "x -> math.fabs(x)",                 (0.,),                 0),
    ("sqrt",                      "x -> np.sqrt(x)",                   ([0, 4],),             [INF, 0.25]),
    ("math.sqrt",                 "x -> math.sqrt(x)",                 (0.,),                 INF),
    ("x**0.5",                    "x -> x**0.5",                       ([0, 4],),             [INF, 0.25]),
    ("x**0.5 of -inf",            "x -> x**0.5",                       ([-INF, 4],),          [NAN, 0.25]),
    ("x[0]**0.5 of -inf",         "x -> x[0]**0.5",                    ([-INF, 4],),          [0, 0]),
    ("x**0",                      "x -> x**0",                         ([0, 4],),             [0, 0]),
    ("x**0.0",                    "x -> x**0.0",                       ([0, 4],),             [0, 0]),
    ("x**1.0",                    "x -> x**1.0",                       ([0, 4],),             [1, 1]),
    ("x**2 at -2",                "x -> x**2",                         ([-2, 0],),            [-4, 0]),
    ("x**y at (0, 0)",            "x, y -> x**y",                      (0., 0.),              [0, 0]),
    ("x**y at (0, 2)",            "x, y -> x**y",                      (0., 2.),              [0, 0]),
    ("(-2)**3.0",                 "x, y -> x**y",                      (-2., 3.),             [12, NAN]),
    ("maximum of a tie",          "x, y -> np.maximum(x, y)",          ([1], [1]),            [[.5], [.5]]),
    ("minimum of a tie",          "x, y -> np.minimum(x, y)",          ([1], [1]),            [[.5], [.5]]),
    ("maximum(x, 0) at 0",        "x -> np.maximum(x, 0)",             ([0, 1],),             [.5, 1]),
    ("max(x, y) of a tie",        "x, y -> max(x, y)",                 (1., 1.),              [.5, .5]),
    ("min(x, y) of a tie",        "x, y -> min(x, y)",                 (1., 1.),              [.5, .5]),
    ("clip at its bounds",        "x -> np.clip(x, 0, 1)",             ([0, 1, .5, 2],),      [1, 1, 1, 0]),
    ("x.clip at its bounds",      "x -> x.clip(0, 1)",                 ([0, 1, .5, -2],),     [1, 1, 1, 0]),
    ("fmax of a tie",             "x, y -> np.fmax(x, y)",             ([1], [1]),            [[.5], [.5]]),
    ("fmin of a tie",             "x, y -> np.fmin(x, y)",             ([1], [1]),            [[.5], [.5]]),
    ("max([1, 3, 3])",            "x -> np.max(x)",                    ([1, 3, 3],),          [0, .5, .5]),
    ("x.max()",                   "x -> x.max()",                      ([3, 3, 3],),          [1/3, 1/3, 1/3]),
    ("min([3, 1, 1])",            "x -> np.min(x)",                    ([3, 1, 1],),          [0, .5, .5]),
    ("max over axis 1", "x -> np.max(x, axis=1)", ([[1, 3, 3], [2, 1, 0]],), [[0, .5, .5], [1, 0, 0]]),
    ("min over axis 0",           "x -> x.min(axis=0)",                ([[1, 3], [1, 2]],),   [[.5, 0], [.5, 1]]),
    ("max over two axes", "x -> x.max(axis=(0, 1), keepdims=True)", ([[1, 3], [3, 2]],), [[0, .5], [.5, 0]]),
    ("where(x > 0, sqrt(x), 0)",  guarded_root,                        ([0, 4, -1],),         [0, .25, 0]),
    ("where(x != 0, sin(x)/x)",   guarded_quotient,                    ([0],),                [0]),
    ("if for where",              guarded_by_if,                       (0.,),                 0),
    ("mask for where",            masked_root,                         ([0, 4, -1],),         [0, .25, 0]),
    ("nansum of squares", "y, z -> np.nansum((z - y)**2)", ([.5, 2, 4], [1, NAN, 3]), [[-1, 0, 2], [1, 0, -2]]),
    ("norm at 0",                 "x -> np.linalg.norm(x)",            ([0, 0],),             [0, 0]),
    ("norm of a matrix at 0",     "x -> np.linalg.norm(x)",            ([[0, 0], [0, 0]],),   [[0, 0], [0, 0]]),
    ("norm over an axis at 0",    "x -> np.linalg.norm(x, axis=1)",    ([[0, 0], [3, 4]],),   [[0, 0], [.6, .8]]),
    ("norm in a loop at 0", "x -> sum([np.linalg.norm(r) for r in x])", ([[0, 0], [3, 4]],), [[0, 0], [.6, .8]]),
    ("norm of no axes",           "x -> np.linalg.norm(np.array(x))",  (-2.,),                -1),
    ("norm(x, 1)",                "x -> np.linalg.norm(x, 1)",         ([0, 1],),             [0, 1]),
    ("norm(x, 3) at 0",           "x -> np.linalg.norm(x, 3)",         ([0, 0],),             [0, 0]),
    ("minkowski of one point",    lambda x: distance.minkowski(x, np.ones(2), 3), ([1, 1],),  [0, 0]),
    ("mahalanobis of one point", lambda x: distance.mahalanobis(x, np.ones(2), np.eye(2)), ([1, 1],), [0, 0]),
    ("jensenshannon of one distribution", lambda x: distance.jensenshannon(x, x * 1.0), ([.5, .5],), [0, 0]),
    ("maximum_filter of a tie", lambda x: ndimage.maximum_filter(x, 3)[1], ([2, 2, 2],), [1 / 3, 1 / 3, 1 / 3]),
    ("norm(x, inf) of a tie",     "x -> np.linalg.norm(x, np.inf)",    ([2, -2, 1],),         [.5, -.5, 0]),
    ("sqrt(sum(x * x)) at 0",     "x -> np.sqrt(np.sum(x * x))",       ([0, 0],),             [NAN, NAN]),
    ("hypot(0, 0)",               "x, y -> np.hypot(x, y)",            (0., 0.),              [0, 0]),
    ("math.hypot(0, 0)",          "x, y -> math.hypot(x, y)",          (0., 0.),              [0, 0]),
    ("arctan2(0, 0)",             "y, x -> np.arctan2(y, x)",          (0., 0.),              [NAN, NAN]),
    ("prod([2, 0, 3])",           "x -> np.prod(x)",                   ([2, 0, 3],),          [0, 6, 0]),
    ("prod of two zeros",         "x -> x.prod()",                     ([2, 0, 0],),          [0, 0, 0]),
    ("prod over an axis",         "x -> np.prod(x, axis=0)",           ([[2, 1], [0, 5]],),   [[0, 5], [2, 1]]),
    ("product with a zero",       "x -> x[0] * x[1] * x[2]",           ([2, 0, 3],),          [0, 6, 0]),
    ("x // y",                    "x, y -> x // y",                    (7.5, 2.),             [0, 0]),
    ("floor",                     "x -> np.floor(x)",                  ([1.5],),              [0]),
    ("ceil",                      "x -> np.ceil(x)",                   ([1.5],),              [0]),
    ("round",                     "x -> np.round(x)",                  ([1.4],),              [0]),
    ("sign",                      "x -> np.sign(x)",                   ([1.5, 0],),           [0, 0]),
    ("comparisons",               "x -> (x > 1) * 1.0",                ([1.5, 0],),           [0, 0]),
    ("log(-1), log(0)",           "x -> np.log(x)",                    ([-1, 0],),            [NAN, INF]),
    ("unused argument", "x, w -> np.sin(x)", (0., [[1, 1, 1], [1, 1, 1]]), [1, [[0, 0, 0], [0, 0, 0]]]),
    ("1/(1 + exp(-x)) at -1000",  "x -> 1 / (1 + np.exp(-x))",         ([-1000],),            [NAN]),
    ("stable sigmoid at -1000",   "x -> 0.5 * (1 + np.tanh(0.5 * x))", ([-1000],),            [0]),
    ("sqrt(x)*sqrt(x)",           "x -> np.sqrt(x) * np.sqrt(x)",      ([0],),                [NAN]),
    ("exp(log(x))",               "x -> np.exp(np.log(x))",            ([0],),                [NAN]),
]
# fmt: on
COMPILED = {"sqrt", "x**y at (0, 0)", "max over axis 1", "where(x > 0, sqrt(x), 0)", "norm at 0", "prod([2, 0, 3])"}


@pytest.mark.parametrize(("program", "args", "want"), [row[1:] for row in FIGURES], ids=[row[0] for row in FIGURES])
def test_figures(program: Any, args: tuple, want: Any) -> None:
    same_figures(cotangents(program, *args), want)


@pytest.mark.parametrize(
    ("program", "args", "want"),
    [row[1:] for row in FIGURES if row[0] in COMPILED],
    ids=[row[0] for row in FIGURES if row[0] in COMPILED],
)
def test_figures_compiled(program: Any, args: tuple, want: Any) -> None:
    same_figures(cotangents(program, *args, jit=True), want)


def same_figures(got: Any, want: Any) -> None:
    if isinstance(want, list) and any(isinstance(item, list) for item in want):
        for g, w in zip(got, want, strict=True):
            same_figures(g, w)
        return
    np.testing.assert_allclose(got, want, rtol=1e-15, atol=0)


def test_float32_figures() -> None:
    x = np.array([0.0, 4.0], np.float32)
    got = grad(lambda x: np.sqrt(x), jit=False).backward(x, np.array([0.0, 1.0], np.float32))
    assert got.tolist() == [0.0, 0.25]
    assert got.dtype == np.float32


def test_a_zero_of_v_is_a_structural_zero() -> None:
    """sqrt at 0 is inf, and 0 where the cotangent is 0: a one-hot v never poisons the other components."""
    roots = grad(lambda x: np.sqrt(x), jit=False)
    assert roots.backward(array(0.0, 4.0), array(0.0, 1.0)).tolist() == [0.0, 0.25]
    assert roots.backward(array(0.0, 4.0), array(1.0, 0.0)).tolist() == [INF, 0.0]
    powers = grad(lambda x: x**0.5, jit=False)
    assert powers.backward(array(0.0, 4.0), array(0.0, 1.0)).tolist() == [0.0, 0.25]
    for program in ("x -> 1 / x", "x -> np.reciprocal(x)", "x -> x**-1"):
        assert grad(from_arrow(program), jit=False).backward(array(0.0, 2.0), array(0.0, 1.0)).tolist() == [0.0, -0.25]
    steep = grad(lambda x: np.exp(x), jit=False)
    assert steep.backward(array(1000.0, 0.0), array(0.0, 1.0)).tolist() == [0.0, 1.0]
    logs = grad(lambda x: np.log(x), jit=False)
    assert logs.backward(array(0.0, 4.0), array(0.0, 1.0)).tolist() == [0.0, 0.25]


def test_a_zero_of_v_in_loops() -> None:
    def loop(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = math.sqrt(x[i])
        return y

    assert grad(loop, jit=False).backward(array(0.0, 4.0), array(0.0, 1.0)).tolist() == [0.0, 0.25]
    assert grad(loop).backward(array(0.0, 4.0), array(0.0, 1.0)).tolist() == [0.0, 0.25]


def test_elements_never_read_are_structural_zeros() -> None:
    def picks_one(x):
        y = np.sqrt(x)
        return y[1]

    assert grad(picks_one, jit=False).backward(array(0.0, 4.0)).tolist() == [0.0, 0.25]

    def overwritten(x):
        y = np.sqrt(x)
        y[0] = 0.0
        return y.sum()

    assert grad(overwritten, jit=False).backward(array(0.0, 4.0)).tolist() == [0.0, 0.25]


def potential_of_inverse(mass, pos):
    d = pos - pos.T
    inverse = np.sqrt(d**2)
    inverse[inverse > 0] = 1.0 / inverse[inverse > 0]
    return np.sum(np.triu(-(mass * mass.T) * inverse, 1))


def potential_of_quotients(mass, pos):
    d = pos - pos.T
    r = np.sqrt(d**2)
    energies = -(mass * mass.T) / r
    return np.sum(np.triu(energies, 1))


def potential_with_a_filled_diagonal(mass, pos):
    d = pos - pos.T
    r = np.sqrt(d**2)
    energies = -0.5 * (mass * mass.T) / r
    np.fill_diagonal(energies, 0.0)
    return energies.sum()


def potential_by_steps(mass, pos):
    energy = 0.0
    for _ in range(2):
        energy += 0.5 * potential_of_inverse(mass, pos)
        pos = pos + 0.0 * mass / (1.0 + pos**2)
    return energy


POTENTIALS = (potential_of_inverse, potential_of_quotients, potential_with_a_filled_diagonal, potential_by_steps)


@pytest.mark.parametrize("program", POTENTIALS)
def test_bodies_at_distance_zero(program: Callable[..., Any]) -> None:
    """The diagonal's cotangent is a zero of structure, and stays one when masses multiply it."""
    mass, pos = np.array([[1.0], [2.0], [3.0]]), np.array([[0.1], [0.5], [1.2]])
    d = pos - pos.T
    np.fill_diagonal(d, 1.0)
    off = 1.0 - np.eye(3)
    by_pos = (mass * mass.T * off * np.sign(d) / d**2).sum(axis=1, keepdims=True)
    by_mass = -(mass.T * off / np.abs(d)).sum(axis=1, keepdims=True)
    got = grad(program, jit=False).backward(mass, pos)
    np.testing.assert_allclose(got[0], by_mass, rtol=1e-12)
    np.testing.assert_allclose(got[1], by_pos, rtol=1e-12)


def weighted_then_chosen(w, x):
    root = np.sqrt(x)
    weighted = w * root
    return np.sum(np.where(x > 0, weighted, 0.0))


def weighted_then_picked(w, x):
    root = np.sqrt(x)
    weighted = w * root
    return weighted[1]


def masked_by_a_product(w, x):
    root = np.sqrt(x)
    return np.sum(w * (x > 0) * root)


def clipped_from_below(w, x):
    root = np.sqrt(x)
    clipped = np.maximum(root, 1.0)
    return np.sum(w * clipped) - w[0]


def in_a_product_of_matrices(w, x):
    root = np.sqrt(np.stack((x, x)))
    root[:, 0] *= w[0] - 1.0
    return (root @ w)[0]


@pytest.mark.parametrize(
    "program",
    [weighted_then_chosen, weighted_then_picked, masked_by_a_product, clipped_from_below, in_a_product_of_matrices],
)
def test_structural_zeros_pass_smooth_partials(program: Callable[..., Any]) -> None:
    got = grad(program, jit=False).backward(array(1.0, 2.0), array(0.0, 4.0))
    assert got[1].tolist() == [0.0, 0.5]


def damped(x, limit):
    step = np.linalg.solve(np.diag(x), x - x)
    return np.sum(x + step * min(1.0, limit / np.max(np.abs(step))))


def clipped_by_the_norm(x, limit):
    longest = np.sqrt(np.sum((x - x) ** 2))
    scale = min(1.0, limit / longest)
    return np.sum(x + ((x - x) * scale) ** 2)


def clipped_one_by_one(x, limit):
    longest = np.sqrt(np.sum((x - x) ** 2))
    y = x.copy()
    for i in range(x.size):
        y[i] += ((x[i] - x[i]) * min(1.0, limit / longest)) ** 2
    return np.sum(y)


def clipped_rows(x, limit):
    lengths, y = np.sqrt((x - x) ** 2), np.sum(x)
    for i in range(x.size):
        for j in range(2):
            y += (j * (x[i] - x[i]) * min(1.0, limit / lengths[i])) ** 2
    return y


def clipped_at_a_neighbour(x, limit):
    y = np.sum(x)
    for i in range(x.size):
        length, k = np.sqrt((x[i] - x[i]) ** 2), (i * 3 + 1) % x.size
        y += ((x[i] - x[i]) * np.maximum(length, x[k])) ** 2
    return y + limit - limit


CLIPPED = [clipped_by_the_norm, clipped_one_by_one, clipped_rows, clipped_at_a_neighbour]


@pytest.mark.parametrize("program", [damped, *CLIPPED])
def test_what_lost_in_a_choice_passes_no_infinite_slope(program: Callable[..., Any]) -> None:
    """A step that has become zero is not shortened: 1 won over limit / 0, whatever the choice is multiplied by."""
    by_x, by_limit = grad(program, jit=False).backward(array(1.0, 2.0), 0.5)
    assert by_x.tolist() == [1.0, 1.0]
    assert by_limit == 0.0


@pytest.mark.parametrize("program", CLIPPED)
def test_what_lost_passes_none_in_a_function_that_is_differentiated(program: Callable[..., Any]) -> None:
    f = grad(program, jit=False)

    def slopes(x, limit):
        by_x, by_limit = f.backward(x, limit)
        return np.sum(by_x) + by_limit

    assert grad(slopes, jit=False)(array(1.0, 2.0), 0.5) == 2.0


def which_counts_differs(x):
    longest, y = np.sqrt(x[0]), 0.0
    for i in range(x.size):
        y += (x[i] - 1.0) * np.maximum(longest, x[i])
    return y


@pytest.mark.parametrize("x", [(4.0, 1.5, 3.0), (0.25, 2.0, -1.0), (0.25, -1.0, 2.0)])
def test_what_lost_in_one_iteration_counts_in_another(x: tuple[float, ...]) -> None:
    step = 1e-6
    up, down = which_counts_differs(array(x[0] + step, *x[1:])), which_counts_differs(array(x[0] - step, *x[1:]))
    got = grad(which_counts_differs, jit=False).backward(array(*x))[0]
    assert got == pytest.approx((up - down) / (2 * step), rel=1e-7)


def turns_by_its_own(x, m):
    d, y = np.sqrt(x * x), x
    for _ in range(3):
        m = (m + 1) % 3
        if m > 1:
            y += x * d * d
    return y


def turns_by_another(x, n):
    d, y = np.sqrt(x * x), x
    for _ in range(3):
        m = (n + 1) % 5
        n = (m * 2) % 3
        if n > 1:
            y += x * d * d
    return y


@pytest.mark.parametrize("program", [turns_by_its_own, turns_by_another])
def test_a_condition_by_a_number_that_is_made_of_itself(program: Callable[..., Any]) -> None:
    for start in range(5):
        up, down = program(0.7 + 1e-6, start), program(0.7 - 1e-6, start)
        assert grad(program, wrt="x", jit=False).backward(0.7, start) == pytest.approx((up - down) / 2e-6, rel=1e-7)


def test_a_factor_that_vanishes() -> None:
    """y = c(w) * sqrt(x) does not change with x where c is 0."""

    def f(w, x):
        c = w - 1.0
        root = np.sqrt(x)
        return np.sum(c * root)

    assert grad(f, jit=False).backward(array(1.0, 2.0), array(0.0, 4.0))[1].tolist() == [0.0, 0.25]


def two_names(x):
    c = np.sqrt(x)
    s = np.sqrt(x)
    return np.sum(c * s)


def squared_in_place(x):
    a = np.sqrt(x)
    a *= a
    return np.sum(a)


def squared_in_a_loop(x):
    a = np.sqrt(x)
    for i in range(len(x)):
        a[i] = a[i] * a[i]
    return a.sum()


def shifted_by_nothing(x):
    w = np.sqrt(x) + 0
    return np.sum(np.sqrt(x) * w)


def by_matrix_product(x):
    root = np.sqrt(x)
    return root @ root


def through_a_view(x):
    root = np.sqrt(x)
    same = root[:]
    return np.sum(root * same)


def undone_logarithm(x):
    t = np.log(x)
    return np.sum(np.exp(t))


def reciprocal_twice(x):
    t = 1 / x
    return np.sum(1 / t)


def signed_root(x):
    return np.sum(np.sign(x) * np.sqrt(np.abs(x)))


def cancels(x):
    s = np.sqrt(x)
    return np.sum(1 / (1 + s) + s)


def cancels_by_names(x):
    s = np.sqrt(x)
    same = s.copy()
    t = 1 / (1 + same)
    return np.sum(t) + np.sum(s)


def cancels_in_a_loop(x):
    s = np.sqrt(x)
    total = 0.0
    for i in range(x.size):
        for j in range(2):
            total += (1 - 2 * j) / (1.0 + j + (j + 1.0) ** 2 * s[i])
    return total


def cancels_as_scalars(x):
    total = 0.0
    for i in range(x.size):
        s = math.sqrt(x[i])
        t = 1 / (1 + s)
        total += t + s
    return total


def cancels_after_a_copy(x):
    r = np.sqrt(x)
    t = r * 1.0
    r[x >= 0] = 1 / (1 + r[x >= 0])
    return np.sum(r) + np.sum(t)


def cancels_with_a_power(x):
    s = 1 + np.sqrt(x)
    return np.sum(1 / s - 0.5 / s**2)


def matern(x):
    r = np.sqrt(x)
    return np.sum((1 + r) * np.exp(-r))


def cancels_in_the_imaginary_part(x):
    z = np.sqrt(x) + 1j
    t = 1 / z
    return np.sum(t.imag)


NOT_OF_STRUCTURE = (
    two_names, squared_in_place, squared_in_a_loop, shifted_by_nothing, by_matrix_product, through_a_view,
    undone_logarithm, reciprocal_twice, signed_root, cancels, cancels_by_names, cancels_in_a_loop, cancels_as_scalars,
    cancels_after_a_copy, cancels_with_a_power, matern,
    cancels_in_the_imaginary_part,
)  # fmt: skip


@pytest.mark.parametrize("program", NOT_OF_STRUCTURE)
def test_zeros_of_arithmetic(program: Callable[..., Any]) -> None:
    """Their slope is not 0 at 0: so it is nan, by whatever names."""
    assert np.isnan(grad(program, jit=False).backward(array(0.0, 0.0))).all()


STEPS = (
    "{a} * {b}", "{a} + {b}", "{a} - {b}", "{a} / (1 + {b})", "1 / (1 + {a})", "np.exp({a})", "2.0 * {a}", "{a}**2",
    "np.sqrt({a})", "{a}**1.5", "np.log(1 + {a})", "{a} * (w - 1.0)", "{a} / {b}", "1 / {a}", "np.tanh({a})",
)  # fmt: skip


def test_never_a_wrong_zero(tmp_path: Path) -> None:
    """Steps drawn at random: where the slope at 0 is finite, it is the slope close to 0."""
    rng = np.random.default_rng(7)
    text = "import numpy as np\n"
    for number in range(40):
        names, lines = ["x", "w", "s"], ["s = np.sqrt(x)"]
        for step in range(rng.integers(1, 6)):
            a, b = rng.choice(names, 2)
            names.append(f"t{step}")
            lines.append(f"t{step} = " + rng.choice(STEPS).format(a=a, b=b))
        lines.append("return " + " + ".join(rng.choice(names[2:], 2)))
        text += f"def f{number}(x, w):\n    " + "\n    ".join(lines) + "\n"
    path = tmp_path / "drawn.py"
    path.write_text(text)
    for name, function in runpy.run_path(str(path)).items():
        if name.startswith("f"):
            f = grad(function, jit=False, wrt="x")
            at_zero, close = (f.backward(np.float64(x), 1.0) for x in (0.0, 1e-14))
            if np.isfinite(at_zero):
                assert abs(close - at_zero) <= 1e-4 * (1 + abs(at_zero)), text.split(f"def {name}(")[1].split("def ")[0]


def test_quotient_guarded_elsewhere() -> None:
    """The other spellings of "a branch not taken contributes exactly zero"."""

    def expression(x):
        return math.sqrt(x) if x > 0 else 0.0

    assert grad(expression, jit=False).backward(0.0) == 0.0

    def both_sides(x):
        return np.where(x > 1, np.log(x), np.where(x > 0, x / x, 1.0 / x))

    got = grad(both_sides, jit=False).backward(array(0.0, 0.5, 2.0), array(0.0, 1.0, 1.0))
    assert got.tolist() == [0.0, 0.0, 0.5]


def test_only_the_branch_that_ran() -> None:
    def f(x):
        if x > 1:
            return x**2
        return x * 3

    assert grad(f, jit=False).backward(1.0) == 3.0
    assert grad(f, jit=False).backward(1.5) == 3.0
    assert grad(f, jit=False).backward(2.0) == 4.0


def test_the_power_of_an_inactive_exponent() -> None:
    """d/dy of (-2)**3.0 is nan, but only where y is active."""
    f = grad(lambda x, y: x**y, jit=False, wrt="x")
    assert f.backward(-2.0, 3.0) == 12.0


def integer_powers(x):
    return (
        x**-65, x**-64, x**-7, x**-3, x**-2, x**-1, x**0, x**1,
        x**2, x**3, x**4, x**5, x**6, x**7, x**8, x**31, x**63, x**64, x**65,
    )  # fmt: skip


def slopes_of_integer_powers(x):
    return (
        -65 * x**-66, -64 * x**-65, -7 * x**-8, -3 * x**-4, -2 * x**-3, -(x**-2), 0 * x, x**0,
        2 * x, 3 * x**2, 4 * x**3, 5 * x**4, 6 * x**5, 7 * x**6, 8 * x**7, 31 * x**30, 63 * x**62,
        64 * x**63, 65 * x**64,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_integer_powers_compiled(dtype: type) -> None:
    """Powers that are compiled as products, and those that are too high for that."""
    f = grad(integer_powers)
    exponents = [-65, -64, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 31, 63, 64, 65]
    close = {"rtol": 70 * np.finfo(dtype).eps, "atol": 0}
    for number in (0.0, -0.0, 1.0, -1.0, 0.5, -1.37, 1.93, -3.1, INF, -INF, NAN):
        x = dtype(number)
        powers, pullback = f.vjp(x)
        np.testing.assert_allclose(powers, integer_powers(x), **close)
        assert {type(power) for power in powers} == {dtype}
        if number != 0 and np.isfinite(number):  # elsewhere a cotangent of 0 meets an infinite slope
            slopes = [pullback(tuple(dtype(e == exponent) for e in exponents)) for exponent in exponents]
            np.testing.assert_allclose(slopes, slopes_of_integer_powers(x), **close)
    assert np.signbit([f(dtype(-0.0))[exponents.index(e)] for e in (-7, -3, -1, 1, 3, 5, 7, 31, 63)]).all()


def test_unused_argument_has_its_shape_and_dtype() -> None:
    f = grad(lambda x, w: np.sin(x), jit=False)
    _, w = f.backward(0.0, np.ones((2, 3), np.float32))
    assert w.shape == (2, 3)
    assert w.dtype == np.float32
    assert not w.any()


CAPTURED = np.array([1.0, 2.0])
SCALE = 2.0


def uses_a_global(x):
    return (x * CAPTURED).sum() * SCALE


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_captured_values_that_change(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(uses_a_global, jit=jit)
    x = array(1.0, 1.0)
    assert f(x) == 6.0
    assert f.backward(x).tolist() == [2.0, 4.0]
    monkeypatch.setitem(globals(), "CAPTURED", array(10.0, 20.0))
    assert f(x) == 60.0
    assert f.backward(x).tolist() == [20.0, 40.0]
    CAPTURED[0] = 5.0
    assert f.backward(x).tolist() == [10.0, 40.0]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert f.backward(x).tolist() == [15.0, 60.0]
    monkeypatch.setitem(globals(), "CAPTURED", np.array([[1.0, 1.0], [2.0, 2.0]]))  # another type
    assert f.backward(x).tolist() == [9.0, 9.0]


def test_captured_closure_values_that_change() -> None:
    def make():
        w = 2.0

        def f(x):
            return x * w

        def change(value):
            nonlocal w
            w = value

        return f, change

    f, change = make()
    g = grad(f, jit=False)
    assert g.backward(1.0) == 2.0
    change(5.0)
    assert g.backward(1.0) == 5.0


# The second table: what bad input gets -------------------------------------------------------------------------------


def doubled(x):
    return x * 2.0


def sum_with(x, w):
    return (x * w).sum()


def adds_into(out, x):
    out += x * 2.0


def fails(error: type[Exception], *texts: str) -> Any:
    """The error, with each of `texts` somewhere in it."""
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*{text})" for text in texts))


def test_v_left_out() -> None:
    with fails(TypeError, "v", r"\(3,\)"):
        grad(doubled, jit=False).backward(np.ones(3))
    with fails(TypeError, "v", "tuple"):
        grad(lambda x: (x, x), jit=False).backward(1.0)
    assert grad(doubled, jit=False).backward(1.0) == 2.0


def test_v_of_another_shape() -> None:
    with fails(ValueError, "3", "4"):
        grad(doubled, jit=False).backward(np.ones(3), np.ones(4))
    with fails(ValueError, "3", "1"):
        grad(doubled, jit=False).backward(np.ones(3), np.ones(1))
    with pytest.raises(ValueError):
        grad(doubled, jit=False).backward(np.ones(3), np.ones((3, 1)))
    with pytest.raises(ValueError):
        grad(doubled, jit=False).backward(np.ones(3), 1.0)
    with pytest.raises(ValueError):
        grad(doubled, jit=False).backward(1.0, np.ones(3))


def test_v_of_another_structure() -> None:
    pair = grad(lambda x: (x, x * 2), jit=False)
    assert pair.backward(1.0, (1.0, 1.0)) == 3.0
    with pytest.raises(ValueError):
        pair.backward(1.0, (1.0, 1.0, 1.0))
    with pytest.raises(ValueError):
        pair.backward(1.0, 1.0)
    with pytest.raises(ValueError):
        grad(doubled, jit=False).backward(1.0, (1.0,))


def test_v_of_another_shape_compiled() -> None:
    f = grad(doubled)
    with fails(ValueError, "3", "4"):
        f.backward(np.ones(3), np.ones(4))
    assert f.backward(np.ones(3), np.ones(3)).tolist() == [2, 2, 2]
    with fails(ValueError, "3", "4"):
        f.backward(np.ones(4), np.ones(3))


def test_complex_v() -> None:
    with fails(TypeError, "complex"):
        grad(doubled, jit=False).backward(np.ones(3), np.ones(3) * 1j)
    with fails(TypeError, "complex"):
        grad(doubled, jit=False).backward(1.0, 1j)


def test_integer_in_wrt() -> None:
    with fails(TypeError, "integer", "float"):
        grad(sum_with, wrt="w", jit=False).backward(np.ones(3), np.arange(3))
    with fails(TypeError, "float"):
        grad(sum_with, wrt=("x", "w"), jit=False).backward(np.ones(3), np.array([True, False, True]))
    with fails(TypeError, "float"):
        grad(sum_with, wrt=1, jit=False).backward(np.ones(3), 2)
    with pytest.raises(TypeError):
        grad(doubled, jit=False).backward(3)  # nothing to differentiate


def test_wrt_names_no_argument() -> None:
    with fails((TypeError, ValueError), "y"):
        grad(doubled, wrt="y", jit=False).backward(np.ones(3), np.ones(3))
    with fails((TypeError, ValueError, IndexError), "2"):
        grad(doubled, wrt=2, jit=False).backward(np.ones(3), np.ones(3))


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "bad",
    [
        [1.0, 2.0, 3.0],
        np.array([1.0, None, "x"], dtype=object),
        np.array(["a", "b", "c"]),
        np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]),
        np.zeros(3, dtype=[("a", float)]),
        None,
        np.matrix([[1.0, 2.0, 3.0]]),
        "text",
        {0.5: 1.0},
    ],
    ids=["list", "object", "string array", "masked", "structured", "None", "matrix", "string", "dict"],
)
@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_arguments_of_other_kinds(bad: Any, jit: bool) -> None:
    f = grad(sum_with, jit=jit)
    for entry in (f, f.backward, f.value_and_backward, f.vjp):
        with fails(TypeError, "x"):
            entry(bad, np.ones(3))


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_masked_arrays_after_plain_ones(jit: bool) -> None:
    """Numba accepts subclasses of ndarray once the plain type has compiled."""
    f = grad(sum_with, jit=jit)
    x, w = np.ones(3), np.arange(3.0)
    assert f(x, w) == 3.0
    assert f.backward(x, w)[0].tolist() == [0, 1, 2]
    masked = np.ma.masked_array(x, [False, True, False])
    for entry in (f, f.backward):
        with fails(TypeError, "x"):
            entry(masked, w)
        with fails(TypeError, "w"):
            entry(x, masked)
    matrix = np.matrix(np.ones((2, 2)))
    with fails(TypeError, "x"):
        f(matrix, np.ones((2, 2)))


def test_missing_and_extra_arguments() -> None:
    f = grad(sum_with, jit=False)
    for entry in (f, f.backward):
        with fails(TypeError, "w"):
            entry(np.ones(3))
    with pytest.raises(TypeError):
        f(np.ones(3), np.ones(3), np.ones(3))
    with pytest.raises(TypeError):
        f.backward(np.ones(3), np.ones(3), 1.0, 1.0)
    with fails(TypeError, "z"):
        f.backward(np.ones(3), np.ones(3), z=1.0)
    with pytest.raises(TypeError):
        f.backward(np.ones(3), np.ones(3), 1.0, v=1.0)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_overlapping_arguments(jit: bool) -> None:
    f = grad(adds_into, jit=jit)
    x = np.arange(6.0)
    for entry in (f, lambda *a: f.backward(*a, np.ones(3))):
        for pair in ((x[:3], x[:3]), (x[:3], x[2:5]), (x[::2], x[2:5]), (x[:3], x[2::-1])):
            with fails(ValueError, "out", "x"):
                entry(*pair)
    assert np.array_equal(x, np.arange(6.0))
    f(x[::2], x[1::2])  # interleaved, but no element is shared
    assert x.tolist() == [2, 1, 8, 3, 14, 5]
    assert [c.tolist() for c in f.backward(x[::2], x[1::2], np.ones(3))] == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize("jit", [False, True])
def test_an_argument_that_overlaps_itself(jit: bool) -> None:
    def scaled(a):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] *= 2.0
        return a.sum()

    strided = np.lib.stride_tricks.as_strided
    f, memory = grad(scaled, jit=jit, cache=False), np.ones(12)
    for fine in (np.ones((3, 2)), np.ones((6, 4))[::2, ::-2], np.ones((3, 2)).T, strided(memory, (2, 3), (8, 24))):
        for _ in range(3):
            f(fine)
        f.backward(fine, 1.0)
    for bad in (strided(memory, (3, 2), (8, 8)), strided(memory, (2, 2), (16, 16)), strided(memory, (2, 2), (0, 8))):
        for call in (lambda bad=bad: f(bad), lambda bad=bad: f.backward(bad, 1.0)):
            for _ in range(2):
                with pytest.raises(ValueError, match="elements of argument a share memory, and the function writes"):
                    call()


def test_overlap_without_a_write_is_fine() -> None:
    x = np.arange(3.0)
    a, b = grad(sum_with, jit=False).backward(x, x)
    assert a.tolist() == b.tolist() == [0, 1, 2]


def test_deep_recursion() -> None:
    def down(x, n):
        if n <= 0:
            return x
        return down(x * 1.5, n - 1) + x

    with pytest.raises((RecursionError, UnsupportedError)):
        grad(down, jit=False).backward(1.0, 10**6)


def picks(x, i):
    return x[i] * 2.0


def picks_many(x, i):
    return (x[i] ** 2).sum()


def writes_at(x, i):
    y = x * 2.0
    y[i] = x[0]
    return y.sum()


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_index_out_of_range(jit: bool) -> None:
    x = np.ones(3)
    for function in (picks, writes_at):
        f = grad(function, jit=jit)
        for i in (3, -4, 10**9):
            with pytest.raises(IndexError):
                f(x, i)
            with pytest.raises(IndexError):
                f.backward(x, i)
        assert np.isfinite(f.backward(x, -3)).all()
    f = grad(picks_many, jit=jit)
    for index in (np.array([0, 3]), np.array([-4])):
        with pytest.raises(IndexError):
            f(x, index)
        with pytest.raises(IndexError):
            f.backward(x, index)
    assert f.backward(x, np.array([-3, 2])).tolist() == [2, 0, 2]


def all_but_the_index(x, i):
    return (x**2).sum()


def test_what_is_proved_of_one_program_says_nothing_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba may hold on to a type for as long as it likes, and has one object for all types that are equal."""
    held = []
    monkeypatch.setattr(cpu, "Promised", lambda *parts: held.append(Promised(*parts)) or held[-1])
    x = np.ones(3)
    for function in (all_but_the_index, picks_many):
        f = grad(function, cache=False)
        f.backward(x, np.array([-3, 2]))
    assert f.backward(x, np.array([-3, 2])).tolist() == [2, 0, 2]
    with pytest.raises(IndexError):
        f.backward(x, np.array([-4]))


def test_index_out_of_range_in_loops_and_literals() -> None:
    def loop(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * x[i + 1]
        return s

    def literal(x):
        return x[5] * 2.0

    for function in (loop, literal):
        f = grad(function, jit=False)
        with pytest.raises(IndexError):
            f(np.ones(3))
        with pytest.raises(IndexError):
            f.backward(np.ones(3))


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_shapes_that_do_not_broadcast(jit: bool) -> None:
    f = grad(sum_with, jit=jit)
    for entry in (f, f.backward):
        with fails(ValueError, "3", "4"):
            entry(np.ones(3), np.ones(4))
    line = inspect.getsourcelines(sum_with)[1] + 1
    with fails(ValueError, f"line {line}", r"x \* w"):
        f.backward(np.ones(3), np.ones(4))
    assert f.backward(np.ones(3), np.ones(3))[1].tolist() == [1.0, 1.0, 1.0]
    assert f.backward(np.ones(3), np.ones(1))[1].tolist() == [3.0]
    with fails(ValueError, "3", "4"):
        f.backward(np.ones(3), np.ones(4))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda a, b: a @ b, (np.ones((2, 3)), np.ones((2, 3)))),
        (lambda a, b: np.dot(a, b), (np.ones(3), np.ones(4))),
        (lambda a, b: np.concatenate((a, b), axis=1), (np.ones((2, 3)), np.ones((3, 3)))),
        (lambda a, b: np.stack((a, b)), (np.ones(3), np.ones(4))),
        (lambda a, b: a.reshape(4, 2) * b, (np.ones(9), 2.0)),
        (lambda a, b: np.where(a > 0, a, b), (np.ones(3), np.ones(2))),
    ],
    ids=["matmul", "dot", "concatenate", "stack", "reshape", "where"],
)
def test_shapes_that_do_not_fit(function: Callable[..., Any], args: tuple) -> None:
    with pytest.raises(ValueError):
        function(*args)
    with pytest.raises(ValueError):
        grad(function, jit=False)(*args)
    with pytest.raises(ValueError):
        grad(function, jit=False).backward(*args, np.ones(1))


def test_a_slice_write_that_does_not_fit() -> None:
    def f(x, y):
        z = x * 1.0
        z[1:] = y
        return z.sum()

    with pytest.raises(ValueError):
        grad(f, jit=False).backward(np.ones(4), np.ones(4))
    assert grad(f, jit=False).backward(np.ones(4), np.ones(3))[1].tolist() == [1, 1, 1]


def test_no_source() -> None:
    namespace: dict[str, Any] = {}
    exec("def made(x):\n    return x * 2.0\n", namespace)
    for function in (namespace["made"], len, math.sin, np.add):
        with fails(SourceError, "source|Python"):
            grad(function, jit=False).backward(1.0)


def test_source_that_is_not_where_it_should_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never the text of another function: of the module that runs the code, or of a file that has changed."""
    module = tmp_path / "a_module_that_makes_code.py"
    made = "\n\ndef mine(x):\n    return x * x\n"
    module.write_text(
        f"TEXT = {made!r}\n\ndef other(x):\n    return 1000.0 * x\n\nexec(compile(TEXT, 'made.py', 'exec'))\n"
    )
    monkeypatch.setattr(dispatch, "RECALLED", Recalled())
    monkeypatch.syspath_prepend(tmp_path)
    names = importlib.import_module(module.stem)
    assert grad(names.other, jit=False).backward(3.0) == 1000.0
    with fails(SourceError, "source of mine can't be read"):
        grad(names.mine, jit=False).backward(3.0)
    module.write_text(module.read_text().replace("def other", "def another"))
    assert grad(names.other, jit=False).backward(3.0) == 1000.0  # what was generated before is of what runs
    monkeypatch.setattr(dispatch, "RECALLED", Recalled())
    with fails(SourceError, "source of other is not where it was, in line 3 of .*a_module_that_makes_code.py"):
        grad(names.other, jit=False).backward(3.0)


def test_source_that_is_not_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was edited and not imported again has the names that it had, and other formulas."""
    module = tmp_path / "an_edited_module.py"
    text = """\
class Scaled:
    __by = 2.0

    def of(self, x):
        return self.__by * x


def powers(x, *, n=3, more=lambda x: x):
    \"\"\"A function of that name is what it calls.\"\"\"
    inner = lambda y: y * x
    return more(x) if n == 1 else inner(powers(x, n=n - 1)) if n in {2, 3} else sum([x for _ in range(n)])


def around(k):
    def made(x):
        return made_of(x) * k

    return made


made = around(4.0)
made_of = lambda x: x * x
"""
    module.write_text(text)
    monkeypatch.setattr(dispatch, "RECALLED", Recalled())
    monkeypatch.syspath_prepend(tmp_path)
    names = importlib.import_module(module.stem)
    slopes = {names.Scaled().of: 2.0, names.powers: 27.0, names.made: 24.0, names.made_of: 6.0}
    for function, slope in slopes.items():
        assert grad(function, wrt="x", jit=False).backward(3.0) == slope
    edited = text.replace("self.__by * x", "self.__by + x").replace("- 1)) if", "- 2)) if")
    module.write_text(edited.replace(") * k", ") - k").replace("x: x * x", "x: x * x * x"))
    assert grad(names.made_of, wrt="x", jit=False).backward(3.0) == 6.0  # what was generated before is of what runs
    monkeypatch.setattr(dispatch, "RECALLED", Recalled())
    for function in slopes:
        with fails(SourceError, "source of .*, at line .* of .*an_edited_module.py, is not what runs"):
            grad(function, wrt="x", jit=False).backward(3.0)


def test_source_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "a_module_that_stays.py"
    module.write_text("def twice(x):\n    return 2.0 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = importlib.import_module(module.stem)
    first = source.read(names.twice)
    assert source.read(names.twice) is first
    module.write_text("# as it was\n" + module.read_text())
    again = source.read(importlib.reload(names).twice)
    assert again.line == 2 and source.read(names.twice) is again


def wound_up(x, q):
    k, s = q[0], 0.0
    for i in range(len(x)):
        k = q[i] + k
        s += x[i] * k
    k = q[1]
    return s * k


def wound_down(x, q):
    k, s = q[0], 0.0
    for i in range(len(x)):
        k -= q[i]
        s += x[i] * k
    return s


def of_powers(x, q):
    return np.sum(x * np.sign(q) * q**2) + x[0] * q[0] ** 3 + x[1] * np.sum(np.power(q, 2)) + x[2] * (q**2 > 50).sum()


@pytest.mark.parametrize(
    ("kind", "jit"),
    [*((k, False) for k in ("int8", "uint8", "int16", "int32", "uint32", "uint64")), ("int8", True), ("uint32", True)],
)
def test_small_integers_wrap_around_as_numpys_do(kind: str, jit: bool) -> None:
    x, last = np.linspace(0.5, 1.5, 5), np.iinfo(kind).max
    q = np.array([last - 5, 100, 50, 7, 9], kind)
    for f in (wound_up, wound_down, of_powers):
        with np.errstate(over="ignore"):
            derived, want = grad(f, wrt="x", jit=jit), f(x, q)
            value, x_b = derived.value_and_backward(x, q) if jit else (derived(x, q), derived.backward(x, q))
            np.testing.assert_allclose(value, want, rtol=1e-13)
            np.testing.assert_allclose(x_b @ x, want, rtol=1e-12)  # f is linear in x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("kind", ["uint8", "int8", "bool"])
def test_what_numpy_computes_in_half_precision(kind: str, jit: bool) -> None:
    k, x = np.array([1, 0, 1], kind), np.array([0.5, 1.5, 2.5])
    for call in ("np.sqrt(k)", "np.exp(k[1])", "np.fabs(k)", "np.arctan2(k, True)"):
        f = grad(from_arrow(f"k, x -> np.sum({call} * x)"), jit=jit)
        with fails(UnsupportedError, r"NumPy computes \w+ of [\w ]+ in float16, which is not supported"):
            f.backward(k, x)
    f = from_arrow("k, x -> np.sum(np.sqrt(k.astype(float)) * x)")
    np.testing.assert_array_equal(grad(f, jit=jit).backward(k, x), k)


@pytest.mark.parametrize("jit", [False, True])
def test_a_mask_squared_is_as_wide_as_numpys(jit: bool) -> None:
    m, x = np.array([True, False, True]), np.array([0.5, 1.5, 2.5])
    f = grad(from_arrow("m, x -> (m**2, m**3, m**True, (m**2 + m**2).sum(), m[0] ** 2, (m**2 * x).sum())"), jit=jit)
    for got, want in zip(f(m, x), f.py_func(m, x), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    check_grad(grad(from_arrow("m, x -> ((m**2 - 0.5) * x**2).sum()"), jit=jit), m, x)


def test_pythons_max_of_an_array_with_nan() -> None:
    for f in (from_arrow("x -> max(x)"), from_arrow("x -> min(x)")):
        for x in ([np.nan, 1.0], [1.0, np.nan]):
            assert np.isnan(grad(f, jit=False)(np.array(x)))


def test_numpys_numbers_that_are_made_of_pythons() -> None:
    """They are as wide as they are, beside small ones; bools are rounded in half precision."""
    k, n, x = np.array([200, 100, 3], np.uint8), 3, np.array([1.0, 2.0, 3.0])
    for call in ("np.round(n)", "np.around(n, 2)", "np.copy(n)"):
        f = from_arrow(f"k, n, x -> np.sum(k * {call} * x)")
        assert grad(f, jit=False)(k, n, x) == f(k, n, x) == 1227.0
        np.testing.assert_array_equal(grad(f, jit=False).backward(k, n, x), [600.0, 300.0, 9.0])
    with fails(UnsupportedError, "NumPy computes round of bool in float16, which is not supported"):
        grad(from_arrow("k, x -> np.round(k > 5) * x"), jit=False)(k, x)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int64"])
def test_integers_that_a_dtype_does_not_have(kind: str) -> None:
    """Compared, they are what they are, as in NumPy; computed with, an error; clipped to, no bound."""
    x = np.array([np.iinfo(kind).min, 3, np.iinfo(kind).max], kind)
    y = np.array([1.5, 2.5, 3.5])
    for number in (-1, 300, -(2**31) - 1, 70_000):
        f = from_text(COMPARED.format(number), "f")
        derived = grad(f, wrt="y", jit=False)
        np.testing.assert_array_equal(derived(x, y, number), f(x, y, number))
        np.testing.assert_array_equal(derived.backward(x, y, number, v=np.ones(3)), f(x, np.ones(3), number))
        clipped, added = (from_text(text.format(number), "f") for text in (CLIPPED, ADDED))
        try:
            want = added(x, y)
        except OverflowError as problem:
            with pytest.raises(ArgumentError, match=str(problem)):
                grad(added, jit=False)(x, y)
        else:
            np.testing.assert_array_equal(grad(added, jit=False)(x, y), want)
        np.testing.assert_array_equal(grad(clipped, jit=False)(x, y), clipped(x, y))


COMPARED = """
def f(x, y, n):
    return (x > {0}) * y + 2 * (n >= x) * y + 4 * (x == {0}) * y + 8 * (x[1] < {0}) * y
"""
CLIPPED = """
import numpy as np
def f(x, y):
    return np.clip(x, min(-1, {0}), max(60, {0})) * y
"""
ADDED = """
def f(x, y):
    return (x + {0}) * y
"""


def test_max_of_nothing() -> None:
    with pytest.raises(ValueError):
        grad(lambda x: x.max(), jit=False).backward(np.zeros(0))


def test_errors_of_ours_are_srcgrad_errors() -> None:
    with pytest.raises(SrcgradError):
        grad(doubled, jit=False).backward(np.ones(3))


def test_the_users_own_exceptions() -> None:
    class TooLarge(Exception):
        pass

    def f(x):
        if x > 2:
            raise TooLarge("x is too large")
        assert x != 1, "not one"
        return x * x

    g = grad(f, jit=False)
    assert g.backward(2.0) == 4.0
    for entry in (g, g.backward):
        with pytest.raises(TooLarge, match="x is too large"):
            entry(3.0)
        with pytest.raises(AssertionError, match="not one"):
            entry(1.0)


def test_the_users_own_exceptions_compiled() -> None:
    def f(x):
        if x > 2:
            raise ValueError("x is too large")
        assert x != 1, "not one"
        return x * x

    g = grad(f)
    assert g.backward(2.0) == 4.0
    for entry in (g, g.backward):
        with pytest.raises(ValueError, match="x is too large"):
            entry(3.0)
        with pytest.raises(AssertionError, match="not one"):
            entry(1.0)


def test_nothing_is_changed_where_an_error_comes_first() -> None:
    def f(out, x):
        out[:] = x
        out[0] = x[7]

    out = np.zeros(3)
    with pytest.raises(IndexError):
        grad(f, jit=False).backward(out, np.ones(3), np.ones(3))
    assert not out.any()


def test_scores_that_begin_at_minus_infinity() -> None:
    """A forward recursion over log probabilities, in which a state cannot be reached yet: a tie of two -inf."""

    def forward(scores):
        alpha = np.full(3, -np.inf)
        alpha[0] = scores[0, 0]
        for t in range(1, scores.shape[0]):
            for s in range(2, 0, -1):
                alpha[s] = np.logaddexp(alpha[s], alpha[s - 1]) + scores[t, s]
            alpha[0] += scores[t, 0]
        return np.logaddexp(alpha[1], alpha[2])

    scores = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    check_grad(grad(forward, jit=False), scores)
    check_grad(grad(forward), scores)


@pytest.mark.parametrize("x, y, slope", [(1.0, 0.1, -9.0), (7.5, -2.0, 3.0), (-3.0, 2.0, 1.0), (3.0, np.inf, 0.0)])
def test_the_slope_of_a_remainder_by_the_divisor(x: float, y: float, slope: float) -> None:
    """As often as y fits: 1.0 / 0.1 is 10, rounded, but 0.1 fits 9 times."""
    assert grad(lambda x, y: np.fmod(x, y), jit=False).backward(x, y) == (1.0, slope)


@pytest.mark.parametrize(
    "name, shapes", [("uniform", ()), ("expon", ()), ("gamma", (2,)), ("beta", (2, 3)), ("lognorm", (1,))]
)
def test_the_density_of_nan_is_nan(name: str, shapes: tuple[float, ...]) -> None:
    """It is not outside of the support, where the density is 0."""
    density = getattr(stats, name).pdf
    x = np.array([NAN, -1.0, 0.5])
    np.testing.assert_allclose(grad(lambda x: density(x, *shapes), jit=False)(x), density(x, *shapes))


def test_softmax_of_infinity() -> None:
    x = np.array([INF, 0.5, -INF])
    np.testing.assert_equal(grad(lambda x: special.log_softmax(x), jit=False)(x), special.log_softmax(x))
    np.testing.assert_equal(grad(lambda x: special.logsumexp(x, b=2.0), jit=False)(x), INF)


# ---------------------------------------------------------------------------- distributions, at and beyond their ends

SHAPES = {"df": 3.5, "a": 1.7, "b": 2.6, "s": 0.6, "c": 1.4}
POINTS = np.array([-np.inf, -1.0, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 7.0, np.inf, np.nan])
LEVELS = np.array([-0.1, 0.0, 1e-9, 0.3, 0.5, 0.9999, 1.0, 1.1, np.nan])


@pytest.mark.filterwarnings("ignore")
def test_distributions_at_their_ends() -> None:
    """What stands for SciPy's functions is Python: run as such, it gives what SciPy does."""
    from srcgrad.rules.compositions import composition_of

    for name in scipy.stats._continuous_distns._distn_names:
        distribution = getattr(scipy.stats, name)
        shapes = [SHAPES[shape] for shape in (distribution.shapes or "").split(", ") if shape in SHAPES]
        for method in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "mean", "var", "std", "median"):
            function = getattr(distribution, method)
            composition = composition_of(function)
            if composition is None or name == "truncnorm":
                continue
            x = [] if method in ("mean", "var", "std", "median") else [LEVELS if method in ("ppf", "isf") else POINTS]
            for scale in (2.0, -1.0):
                args = (*x, *shapes, 0.5, scale)
                np.testing.assert_allclose(
                    composition(*args), function(*args), rtol=1e-9, atol=1e-12, err_msg=f"{name}.{method}, {scale}"
                )


def residual(u, a):
    return u**3 + u - a


def bisected(a):
    lo, hi = 0.0, 1.0 + a
    while hi - lo > 1e-12:
        mid = 0.5 * (lo + hi)
        if residual(mid, a) > 0.0:
            hi = mid
        else:
            lo = mid
    return lo


def bisected_and_polished(a):
    u = bisected(a)
    return u - residual(u, a) / (3.0 * u**2 + 1.0)


def test_a_root_found_by_bisection_has_the_derivative_of_the_bracket() -> None:
    """The root of u**3 + u = 2 is 1, a third of the bracket."""
    assert grad(bisected, jit=False).backward(2.0) == pytest.approx(1 / 3, rel=1e-9)
    assert grad(bisected_and_polished, jit=False).backward(2.0) == pytest.approx(0.25, rel=1e-9)
