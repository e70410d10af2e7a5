"""`backward` in what is differentiated itself: edges, ways to call it, and what is refused.  (The rest: the corpus.)"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from support import random_like

from srcgrad import UnsupportedError, grad, rule, stop_gradient
from srcgrad.errors import ArgumentError, BroadcastError, CotangentShapeError
from srcgrad.testing import check_grad

plain = partial(grad, jit=False)
X = np.array([0.3, -0.5, 0.8])
POWERS = np.array([1.0, 2.0, 0.5])


@plain
def roots(x, w):
    return np.sum(np.sqrt(x) * w)


@plain
def hidden_by_a_mask(x):
    r = np.where(x > 0.5, np.log(np.abs(x - 0.5) + 1e-30), 0.0)
    return np.sum(r * r)


def test_the_slope_by_a_cotangent_that_is_zero() -> None:
    """`g / x if g != 0 else 0` has the slope 1 / x by g, at zero too."""
    of_w = plain(lambda w, x: np.sum(roots.backward(x, w)[0] * x), wrt="w")
    assert of_w.backward(np.zeros(3), np.array([1.0, 4.0, 9.0])).tolist() == [0.5, 1.0, 1.5]


def test_the_value_where_nothing_meets_infinity_is_that_of_backward() -> None:
    x, w = np.array([0.0, 1.0]), np.array([0.0, 2.0])
    inside = plain(lambda x, w: roots.backward(x, w))
    for got, want in zip(inside(x, w), roots.backward(x, w), strict=True):
        assert got.tolist() == want.tolist()
    masked = plain(lambda x: hidden_by_a_mask.backward(x))
    assert np.array_equal(masked(X), hidden_by_a_mask.backward(X))


def test_at_a_kink_it_is_the_slope_of_the_subgradient() -> None:
    largest = plain(lambda x: np.max(x) ** 2)
    inside = plain(lambda x: np.sum(largest.backward(x)))
    assert inside.backward(np.array([1.0, 3.0, 3.0])).tolist() == [0.0, 1.0, 1.0]


def test_what_is_a_constant_to_the_user_stays_one() -> None:
    """But not what is one in the first derivative alone: the mean in a variance, whose own share cancels there."""
    weighed = plain(lambda x: np.sum(stop_gradient(np.exp(x)) * x * x))
    inside = plain(lambda x: np.sum(weighed.backward(x)))
    np.testing.assert_allclose(inside.backward(X), 2 * np.exp(X), rtol=1e-14)
    spread = plain(lambda x: np.var(x))
    along = plain(lambda x, w: np.sum(spread.backward(x) * w), wrt="x")
    np.testing.assert_allclose(along.backward(X, X), 2 * (X - np.mean(X)) / X.size, rtol=1e-13)


def lost_roots(x, r, y):
    """Stored first, left out by a choice: of its infinite slope nothing is left, in any derivative."""
    d = np.where(x > 0.1, r, 2 * x)
    return d * d + np.clip(r, 0.5, 2.0) * x * x + np.where(x > 0.1, x * y, 0.0)


# fmt: off
SMOOTH = {  # functions without a kink where a partial, or what is made of it, is said by cases
    "a zero factor": (lambda x: np.prod(x) * x[0], [1.0, 0.0, -2.0]),
    "two zero factors": (lambda x: np.prod(x), [0.0, 0.0, 3.0]),
    "zero factors of rows": (lambda x: np.sum(np.prod(np.outer(x, x + 1.0), axis=1)), [1.0, 0.0, -2.0]),
    "logaddexp of a tie": (lambda x: np.logaddexp(x[0], x[1]) * x[2], [1.0, 1.0, 2.0]),
    "logaddexp2 of a tie": (lambda x: np.logaddexp2(x[0], x[1]) * x[2], [1.0, 1.0, 2.0]),
    "softplus": (lambda x: np.sum(np.logaddexp(0.0, x)), [0.0, 0.0, 2.0]),
    "logaddexp of infinity": (lambda x: np.logaddexp(-np.inf, x[0]) * x[1], [1.0, 2.0, 3.0]),
    "logaddexp, far apart": (lambda x: np.logaddexp(x[0], x[1]) * np.logaddexp(x[1], x[0]), [1000.0, 2.0, 3.0]),
    "xlogy": (lambda x: scipy.special.xlogy(x[0], x[1]) * x[2], [0.0, 2.0, -0.3]),
    "xlog1py": (lambda x: scipy.special.xlog1py(x[0], x[1]) * x[2], [0.0, 2.0, -0.3]),
    "exponential": (lambda x: np.sum(scipy.stats.gamma.logpdf(x[1:], x[0])), [1.0, 1.5, 0.4]),
    "spence": (lambda x: np.sum(scipy.special.spence(x)), [1.0, 1.1, 0.4]),
    "exprel": (lambda x: np.sum(scipy.special.exprel(x)), [0.0, 0.0005, 1.0]),
    "inv_boxcox": (lambda x: scipy.special.inv_boxcox(x[0], x[1]) * x[2], [1.0, 0.0, 0.4]),
    "polynomials": (lambda x: np.sum(scipy.special.eval_legendre(3, x) * scipy.special.eval_chebyt(4, x)
                                     + scipy.special.eval_laguerre(4, x)), [0.5, 0.0, 0.4]),
    "sinc": (lambda x: np.sum(np.sinc(x)), [0.0, 1.0, 0.3]),
    "a power of 0": (lambda x: x[0] ** x[1] * x[2], [2.0, 0.0, -0.2]),
    "logistic": (lambda x: np.sum(scipy.stats.logistic.logpdf(x, -3.0, 2.0)), [0.0, -3.0, 400.0]),
    "squares of kinks": (lambda x: np.hypot(x, 2 * x) ** 2 @ (np.square(np.abs(x)) + np.abs(x + 1j * x) ** 2 + 1),
                         [0.0, 0.0, 2.0]),
    "roots that lost": (lambda x: np.sum(lost_roots(x, np.sqrt(np.abs(x)), np.log(x))), [0.0, 0.0, 0.7]),
    "powers": (lambda x: np.sum(x ** np.arange(3)) + np.sum(x**3.0) + np.sum(x**2) * x[0], [0.0, 0.0, 0.0]),
}
# fmt: on


@pytest.mark.parametrize("name", SMOOTH)
def test_where_a_partial_is_said_by_cases(name: str) -> None:
    function, x = SMOOTH[name]
    f = plain(function)
    check_grad(plain(lambda x: f.backward(x)), np.array(x), rtol=1e-6)


A, B = np.array([[0.3, -0.5, 0.8], [0.1, 0.9, 0.2], [-0.7, 0.4, 0.6]]), np.diag([1.0, 2.0, 4.0])
Z = A + 1j * A[::-1] + B
# fmt: off
MATRICES = {
    "vectors where nothing comes in": (lambda a: np.sum(np.linalg.eigh((a + a.T) / 2)[1] ** 2 * A), B),
    "singular vectors where nothing comes in": (lambda a: np.sum(np.linalg.svd(a)[0] ** 2 * A), B),
    "complex vectors where nothing comes in": (lambda a: np.sum((np.linalg.eig(a)[1] ** 2).real * A), B + 1j * B**2),
    "complex vectors": (lambda a: np.sum(np.abs(np.linalg.eig(a)[1]) ** 2 * A), Z),
    "complex solve": (lambda a: np.linalg.solve(a, A) ** 2, Z),
    "complex det and inv": (lambda a: np.linalg.det(a) * np.linalg.inv(a), Z),
    "complex slogdet": (lambda a: np.linalg.slogdet(a), Z),
    "expm": (lambda a: scipy.linalg.expm(a), 3 * A),
    "lu": (lambda a: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), A) * scipy.linalg.lu_factor(a)[0], A),
    "a stack of eigh": (lambda a: np.linalg.eigh(np.stack((a + a.T, a @ a.T))[:, np.newaxis])[1] ** 2, A),
    "a stack of cholesky": (lambda a: np.linalg.cholesky(np.stack((a @ a.T, B))), A),
    "a stack of pinv": (lambda a: np.linalg.pinv(np.stack((a[:, :2], B[:, :2]))), A),
}
# fmt: on


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str) -> None:
    function, a = MATRICES[name]
    f = plain(function)
    check_grad(plain(lambda a, v: f.backward(a, v)), a, random_like(np.random.default_rng(5), function(a)), rtol=1e-6)


@plain
def powers(x, *more, k=2, **named):
    return np.sum(POWERS * x**k) * more[0] ** 2 + named["a"] ** 3


@plain(static="count")
def repeated(x, count):
    for _ in range(count):
        x = x * np.sin(x)
    return np.sum(x)


@plain
def along(x, axis=0):
    return np.sum(x**3, axis=axis)


@plain
def named(x):
    return {"sum": x.sum() ** 2, "product": np.prod(x)}


@plain
def with_options(x, options={"scale": 3.0}, more=(2.0, X)):
    return np.sum(x**3 * more[1]) * options["scale"] * more[0]


@plain
def of_v(x, v):
    return np.sum(x**3 * v)


class Spring:
    def __init__(self) -> None:
        self.stiffness = 2.0

    @plain
    def energy(self, x):
        return np.sum(x**3) * self.stiffness

    @plain
    def force(self, x):
        return self.energy.backward(x) * x


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: powers.backward(x, x[0], a=x[1])[1][0] * x[2], X),
        (lambda x: powers.backward(x, x[0], k=3, a=x[1])[0], X),
        (lambda x: repeated.backward(x, 3) ** 2, X),
        (lambda x: along.backward(x * x, 1, np.ones(3) * x[0]) * x, np.outer(X, X + 1)),
        (lambda x: along.backward(x, v=x[0]), np.outer(X, X + 1)),
        (lambda x: named.backward(x, {"sum": 1.0, "product": x[0]}) ** 2, X),
        (lambda x: of_v.backward(x, x, cotangent=2.0)[0], X),
        (lambda x: with_options.backward(x)[0], X),
        (lambda x: grad(of_v, wrt="x", jit=False).backward(x, x), X),
        (lambda x: Spring().force(x), X),
        (lambda x: [named.value_and_backward(x, {"sum": x[0], "product": 1.0})[0]["sum"], x[1]], X),
    ],
)
def test_ways_to_call(function: Any, x: np.ndarray) -> None:
    spring = Spring()
    check_grad(spring.force if "Spring" in function.__code__.co_names else plain(function), x)


def with_a_text(x):
    return x[0] * x[1], "small" if x[0] < 1.0 else "large"


def with_numbers_in_a_text(x):
    return x[0] * x[1], f"{x[0]:.2f}"


def by_its_text(function):
    def inner(x):
        (y, text), slopes = grad(function, jit=False).value_and_backward(x, v=(1.0, None))
        return y * slopes[0] if text in ("small", "0.50") else slopes[1]

    return inner


@pytest.mark.parametrize("first", [0.5, 1.5])
def test_a_text_by_the_path_beside_a_derivative(first: float) -> None:
    x = np.array([first, 0.7])
    function = by_its_text(with_a_text)
    assert plain(function)(x) == function(x)
    check_grad(plain(function), x)


def test_a_text_with_numbers_is_not_known_beside_a_derivative() -> None:
    """It was taken to differ from every other."""
    with pytest.raises(UnsupportedError, match="text is a text with numbers"):
        plain(by_its_text(with_numbers_in_a_text))(np.array([0.5, 0.7]))


def test_what_it_reads_from_outside_is_read_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = plain(lambda x: np.sum(powers.backward(x, 1.0, a=0.0)[0]))
    before = inside.backward(X)
    monkeypatch.setitem(globals(), "POWERS", 2 * POWERS)
    assert np.allclose(inside.backward(X), 2 * before)


@rule(partials=lambda x, out: 1.0 - out * out)
def bent(x):
    return math.tanh(x)


@plain
def all_bent(x):
    return np.sum(bent(x))


@plain
def tree(x, n):
    return x if n <= 0 else tree(x * x, n - 1) * np.sin(tree(x, n - 2) if n > 1 else x)


@plain
def derivative(x, n):
    return derivative.backward(x, n - 1) if n else x**6


@plain
def noise(x):
    return np.sum(x * np.random.normal(size=3))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: np.sum(all_bent.backward(x)), "derivative of all_bent can't be differentiated"),
        (lambda x: np.sum(noise.backward(x)), "derivative of noise can't be differentiated"),
        (lambda x: np.sum(tree.backward(x, int(x[0]), x)), "derivative of tree can't be differentiated"),
        (lambda x: derivative.backward(x[0], int(x[1])), "derivative of derivative is made of itself, without end"),
        (lambda x: named.vjp(x)[0], r"\.vjp in a function"),
    ],
)
def test_refused_at_the_users_line(function: Any, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words) as caught:
        plain(function).backward(X)
    assert caught.value.span is not None and caught.value.span.file == __file__


@plain
def counts(x, i):
    return np.bincount(i, weights=x) ** 2


def test_the_smallest_integer() -> None:
    """-9223372036854775808 is minus a number that is none of int64's."""
    check_grad(plain(lambda x, i, v: counts.backward(x, i, v)), X, np.array([0, 2, 2]), X)


@plain
def cubes(x, w, *, p=3):
    return x**p * w


def test_the_bound_method_is_a_function_too() -> None:
    total = plain(lambda x: np.sum(x**3))
    of_total = plain(total.backward)
    assert of_total(X).tolist() == total.backward(X).tolist()
    np.testing.assert_allclose(of_total.backward(X, POWERS), 6 * X * POWERS, rtol=1e-15)
    np.testing.assert_allclose(plain(total.value_and_backward).backward(X, (1.0, POWERS)), 3 * X**2 + 6 * X * POWERS)
    weighed = plain(cubes.backward, wrt=("w", "v"))
    of_w, of_v = weighed.backward(X, POWERS, (X, np.zeros(3)), v=POWERS)
    np.testing.assert_allclose(of_w, X * POWERS * 3 * X**2, rtol=1e-14)
    np.testing.assert_allclose(of_v, X * POWERS * 3 * X**2, rtol=1e-14)
    with pytest.raises(UnsupportedError, match=r"cubes.vjp can't be differentiated(?s:.*)grad\(cubes.backward\)"):
        grad(cubes.vjp)


def test_the_bound_method_that_is_machine_code_by_now() -> None:
    cube = grad(lambda x: x**3)
    assert cube.backward(2.0) == 12.0
    twice = grad(cube.backward)
    assert (twice(2.0), twice.backward(2.0), plain(twice.backward).backward(2.0)) == (12.0, 12.0, 6.0)


def test_calls_that_do_not_fit() -> None:
    with pytest.raises(ArgumentError, match="of_v.backward: too many positional arguments"):
        plain(lambda x: of_v.backward(x, x, x, x)[0])(X)
    with pytest.raises(ArgumentError, match="v is needed"):
        plain(lambda x: along.backward(x))(np.outer(X, X))
    with pytest.raises(CotangentShapeError, match=r"v has shape \(2,\)"):
        plain(lambda x: along.backward(x, v=x[0, :2]))(np.outer(X, X))


@plain
def halved(x, least):
    while x > least:
        x = x - 0.01 * np.sin(x)
    return x


def test_a_loop_of_unknown_length() -> None:
    check_grad(plain(lambda x: halved.backward(x, 1.0)[0] ** 2), 2.5)
    with pytest.raises(NotImplementedError, match="keeps too many values"):
        plain(lambda x: halved.backward(x, 1e-30)[0])(2.5)


@plain
def in_place_beside_lengths(x, y):
    x, y = x.copy(), y.copy()
    x -= y * y
    return np.sum(x * x * y)


@plain
def table_of(x, y, columns):
    return np.sum(np.broadcast_to(columns, (2, 3)) * np.sin(x * y) ** 2)


def test_lengths_of_one_are_stretched() -> None:
    """An array that is stretched, or not, was two arrays or one: a silent wrong Hessian, once."""
    inside = plain(lambda x, y, unused: in_place_beside_lengths.backward(x, y)[0])
    for y in (X + 1, X[:1], np.ones(1)):
        check_grad(inside, X, y, np.ones(1))
    row, column = X[np.newaxis], X[:2, np.newaxis]
    for args in ((row, column, X), (column, row, X[:1]), (np.outer(X[:2], X), column, X)):
        check_grad(plain(lambda *args: table_of.backward(*args)), *args)
    third = plain(lambda x, y: np.sum(along.backward(x * y, v=(x * y)[0])))
    check_grad(plain(lambda x, y: third.backward(x, y)), row, column)
    with pytest.raises(BroadcastError, match="lengths 3 and 2 do not broadcast together"):
        inside(X, X[:2], np.ones(1))


@plain
def of_the_least(x):
    least = x[0]
    for i in range(1, len(x)):
        if x[i] < least:
            least = x[i]
    return np.sin(least)


def test_a_search_whose_choices_the_pullback_needs() -> None:
    """What each iteration chose is handed over to it: it can't be left out for the last that chose."""
    f, x = plain(lambda x: of_the_least.backward(x)), np.array([1.0, 0.5, 2.0])
    y, pullback = f.vjp(x)
    np.testing.assert_allclose(y, [0.0, np.cos(0.5), 0.0])
    np.testing.assert_allclose(pullback(np.ones(3)), [0.0, -np.sin(0.5), 0.0])
    check_grad(f, x)
