"""`grad` of functions that are defined where they are differentiated: what they read around them goes along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.errors import SrcgradError
from srcgrad.testing import check_grad

A = np.random.default_rng(3).normal(size=(4, 4))
X, W = np.array([0.3, -0.2, 0.5, 0.9]), np.array([1.0, 0.4, -0.3, 0.2])


def hessian_times_vector(w, d):
    return grad(lambda u: np.sum(np.tanh(A @ u) * d) ** 2, jit=False).backward(w)


def steps_that_are_taken(w, a):
    def loss(u):
        return np.sum((u - a) ** 2 * np.exp(u)) + count * u[0] ** 3

    count = 2.0
    for _ in range(2):
        w = w - 0.01 * grad(loss, jit=False).backward(w)
    return w @ w


def decorated(x, a):
    k = 3

    def power(t):
        return t**k

    @grad(jit=False)
    def energy(q, scale=2.0):
        return np.sum(power(q) * a) * scale

    y, (e, s) = energy.value_and_backward(x)
    return e * y + s + energy(x)


def by_one_of_two(x, a):
    @grad(wrt="q", jit=False)
    def energy(q, p):
        return np.sum(q**3 * p) * a[0]

    return energy.backward(x, a) + a


def of_arrays(x, a):
    f = grad(lambda q, p: q**2 * p * a[1], jit=False)
    g, h = f.backward(x, x, v=a)
    return g * h


def made(c, table):
    def of_what_is_around_it_all(x, a):
        b = x * 2
        return grad(lambda t: np.sum(np.sin(t * c) * b + table @ t), jit=False).backward(a)

    return of_what_is_around_it_all


def one_in_each_iteration(x, a):
    import numpy as xp

    r = 0.0
    for i in range(3):

        def f(t):
            return xp.sin(t * a[i]) * t

        r += grad(f, jit=False).backward(x[i]) ** 2
    return r


def product_with(f, x, d):
    return grad(lambda u: np.sum(grad(f, jit=False).backward(u) * d), jit=False).backward(x)


def handed_on(x, a):
    f = lambda t: np.sum(np.sin(t) * a * t)
    return product_with(f, x, a)


def by_another_name(x, a):
    def cube(t):
        return t**3 * a

    g = cube
    return grad(lambda t: np.sum(g(t) * x), jit=False).backward(a)


def read_when_it_is_called(x, a):
    s = 1.0
    f = lambda t: np.sum(t**2) * s
    s = x[0] * 3
    return grad(f, jit=False).backward(a)


def argument_and_read(x, a):
    return grad(lambda t: np.sum(t * x * np.exp(x)), jit=False).backward(x)


def with_lists(x, a):
    ws, names = [x * 2, a], {"k": x[0], "m": a}
    f = lambda t: np.sum(ws[0] * t**2) * names["k"] + names["m"] @ t
    return grad(f, jit=False).backward(a)


def with_options(x, a):
    def f(t, p=2.0, *, q=1.5):
        return np.sum((t * t + 1) ** p * q * x)

    r, _, _ = grad(f, jit=False).backward(a)
    s, u, w = grad(f, jit=False).backward(a, 3.0, q=x[1])
    return r * s + u * w


def newton(x, a):
    u = np.ones(4)
    for _ in range(2):
        f, d = grad(lambda t: t**3 + (x + 2) * t - a, jit=False).value_and_backward(u, np.ones(4))
        u = u - f / d
    return u


def recursive_beside_it(x, a):
    def f(t, k):
        return t if k == 0 else f(t * t, k - 1)

    return grad(lambda t: np.sum(f(t, 2) * a), jit=False).backward(x)


def written_in_it(x, a):
    held = np.zeros(4)

    def f(t):
        held[:] = t * a
        return np.sum(held**2)

    return grad(f, jit=False).backward(x) + held


def beside_integers(x, a):
    k, n, places = 3, int(2.5 * x[3]), np.array([0, 2, 2, 1])
    g, h = grad(lambda t, m, u: np.sum(t[places] ** k * u) * m * n, jit=False).backward(x, n, a)
    y, slope = grad(lambda t: np.sum(t * places * a), jit=False).value_and_backward(x)
    return g * h + y * slope


FUNCTIONS = [
    hessian_times_vector,
    steps_that_are_taken,
    decorated,
    by_one_of_two,
    of_arrays,
    made(1.5, np.arange(4.0)),
    one_in_each_iteration,
    handed_on,
    by_another_name,
    read_when_it_is_called,
    argument_and_read,
    with_lists,
    with_options,
    newton,
    recursive_beside_it,
    written_in_it,
    beside_integers,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_value_and_gradient(function: Any) -> None:
    f = grad(function, jit=False)
    value = f(X, W)
    np.testing.assert_allclose(value, function(X, W), rtol=1e-12, atol=1e-14)
    assert type(value) is type(function(X, W))
    check_grad(f, X, W)


def test_compiled() -> None:
    check_grad(grad(steps_that_are_taken), X, W)


def by_itself(x):
    def f(t):
        return np.sum(t) if t.size < 2 else f(t[1:]) * x[0]

    return grad(f, jit=False).backward(x)


def by_a_condition(x):
    f = (lambda t: np.sum(t**3)) if x[0] > 0 else (lambda t: np.sum(t**2))
    return grad(f, jit=False).backward(x)


def by_what_is_not_there(x):
    return grad(lambda t: np.sum(t * nowhere), jit=False).backward(x)  # noqa: F821


def by_what_has_no_rule(x):
    f = lambda t: np.sum(np.unwrap(t * x))
    return grad(f, jit=False).backward(x)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (by_itself, "grad of a function that calls f"),
        (by_a_condition, "grad of this"),
        (by_what_is_not_there, "nowhere"),
        (lambda x: grad(lambda k: k * x, jit=False).backward(2, x), "none of the arguments is a float"),
        (lambda x: grad(lambda t: t @ x, jit=False).vjp(x)[0], r"\.vjp in a function"),
        (lambda x: grad(lambda t: t @ x, jit=False).jacobian(x), "no attribute 'jacobian'"),
    ],
)
def test_refused_at_the_users_line(function: Any, words: str) -> None:
    with pytest.raises(SrcgradError, match=words) as caught:
        grad(function, jit=False).backward(X)
    assert isinstance(caught.value, (UnsupportedError, NameError, TypeError))
    assert caught.value.span is not None and caught.value.span.file == __file__


# ---------------------------------------------------------------------------------- functions that SciPy calls


class Curve:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def at(self, t, a):
        return np.exp(self.rate * t) - a


CURVE = Curve(0.5)


def cube_less(t, a, b):
    return t**3 * b - a


def roots_between(x, a):
    first = scipy.optimize.brentq(lambda t: np.sum(x * x * np.exp(t) * a) - 2.0, -9.0, 5.0)
    second = scipy.optimize.bisect(cube_less, 0.0, 3.0, args=(x[0], a[0])) * scipy.optimize.brentq(
        CURVE.at, -9, 9, a[0]
    )
    found = scipy.optimize.root_scalar(cube_less, (x[3], a[1]), bracket=[0.0, 3.0], method="brenth")
    return first * second + (found.root if found.converged else 0.0)


def roots_near(x, a):
    out = np.zeros(4)
    for i in range(2):
        out[i] = scipy.optimize.newton(lambda t: t**2 - x[2] - i, 1.0, fprime=lambda t: 2 * t)
    out[2] = scipy.optimize.newton(cube_less, x[2], args=(x[3], a[1]), x1=0.7)
    out[3] = scipy.optimize.root_scalar(cube_less, (x[3], a[1]), x0=1.0).root
    return out


def integral_above(x, a):
    return scipy.integrate.quad(lambda t, b: abs(t - 0.4) * np.exp(-x[2] * t * t) * b, np.inf, x[0], args=(a[1],))[0]


def integral_between(x, a):
    value, error = scipy.integrate.quad(lambda t: np.sum(np.cos(t * x)), x[1], a[0])
    return value


@pytest.mark.parametrize(
    ("function", "jit"),
    [(roots_between, False), (roots_near, True), (integral_above, False), (integral_between, False)],
)
def test_functions_that_scipy_calls(function: Any, jit: bool) -> None:
    f = grad(function, jit=jit)
    check_value_and_grad(f, X, W, rtol=1e-13)


HARD = (
    lambda t: 1.0 / np.sqrt(t),
    lambda t: np.log(t) * t**0.3,
    lambda t: abs(np.sin(9.0 * t) - 0.3),
    lambda t: float(t > 0.3),
    lambda t: 1.0 / (1e-4 + (t - 0.37) ** 2),
    lambda t: np.sin(1.0 / t),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", HARD)
def test_integrals_are_as_near_as_scipys(f: Any) -> None:
    """Both say how far off they may be: SciPy extrapolates where halving intervals gets nowhere."""
    from srcgrad.rules.compositions.scipy.quad import adaptive

    got, error = adaptive(f, (), 0.0, 1.0, 0.0, 1.0, 21, 1.49e-8, 1.49e-8, 50)
    want, other = scipy.integrate.quad(f, 0.0, 1.0)
    assert abs(got - want) <= error + other + 1e-14
    assert error < 1e-7 or other > 1e-8


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: scipy.optimize.brentq(lambda t: t**2 + x[0], 0, 1), ValueError, "must have different signs"),
        (lambda x: scipy.optimize.newton(lambda t: t**2 + x[0], 1.0), RuntimeError, "Failed to converge after 50"),
        (lambda x: grad(_root).backward(x), UnsupportedError, "can't be differentiated itself"),
        (lambda x: scipy.integrate.quad(np.cos, 0, x[0] * np.inf)[0], NotImplementedError, "must be a constant"),
    ],
)
def test_roots_that_are_none(function: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        grad(function, jit=False)(X)


def _root(x):
    return scipy.optimize.brentq(lambda t: t**3 - x[0], 0.0, 1.0)
