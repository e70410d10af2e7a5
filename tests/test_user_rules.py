"""Derivatives that users give: `rule`, and that they take away: `stop_gradient`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
import scipy.special

from srcgrad import ArgumentError, OptionError, UnsupportedError, check_grad, grad, rule, stop_gradient

X = np.array([0.3, -0.5, 0.2])
A = np.arange(9.0).reshape(3, 3) / 10

# ------------------------------------------------------------------------------------------- functions of numbers


@rule(partials=lambda x, out: 1.0 - out * out)
def squash(x):
    return math.tanh(x)


@rule(partials=(lambda x, y: y, lambda x, y, out: out / y))
@numba.njit
def area(x, y=2.0):
    return x * y


power = rule(lambda n, x: x**n, partials=(None, lambda n, x: n * x ** (n - 1)), name="power")
zetac = rule(
    scipy.special.zetac,
    partials=lambda x: (scipy.special.zetac(x + 1e-5) - scipy.special.zetac(x - 1e-5)) / 2e-5,
)
wrong = rule(lambda x: x * x, partials=lambda x: 3 * x, name="wrong")


def on_numbers(x):
    s = squash(0.5)
    for i in range(len(x)):
        s = area(s, y=squash(x[i] * s)) + area(x[i])
    return s + (power(3, x[:, None]) * zetac(x + 3.0)).sum()


def test_partials() -> None:
    check_grad(grad(on_numbers, jit=False), X)
    assert math.isclose(grad(on_numbers, jit=False)(X), on_numbers(X), rel_tol=1e-14)


def test_partials_in_loops_that_overwrite() -> None:
    def f(x):
        y = x.copy()
        for _ in range(4):
            y[1:] = squash(y[:-1] * 0.9) + y[1:]
            y *= squash(y)
        return y

    check_grad(grad(f, jit=False), X)


def test_they_read_as_calls_of_the_users_function() -> None:
    text = grad(lambda x: squash(x), jit=False).source(0.5)
    assert "result = user.squash(x)" in text and "x_b = user.squash_by_x(x, result)" in text


def test_dtypes_are_those_of_a_sum() -> None:
    for x in (np.float32(0.5), np.float64(0.5), 0.5, 1, X.astype(np.float32), np.arange(3)):
        found, plain = grad(lambda x: squash(x) * 2, jit=False)(x), squash(x) * 2
        assert np.asarray(found).dtype == np.asarray(plain).dtype
        np.testing.assert_allclose(found, plain, rtol=1e-6)
    assert grad(lambda x: squash(x).sum(), jit=False).backward(X.astype(np.float32)).dtype == np.float32


def test_a_rule_called_outside_is_the_function() -> None:
    assert squash(0.5) == math.tanh(0.5)
    np.testing.assert_array_equal(squash(X), [math.tanh(x) for x in X])
    assert area(2.0) == 4.0
    with pytest.raises(TypeError, match="takes the arguments x, y"):
        area(1.0, 2.0, 3.0)


def test_a_wrong_rule_is_found() -> None:
    with pytest.raises(AssertionError, match=r"(?s)with respect to x is wrong.*worst element x\[1\]"):
        check_grad(grad(lambda y, x: y * wrong(x).sum(), jit=False), 2.0, X)


# -------------------------------------------------------------------------------------------- functions of arrays


def product_vjp(v, out, a, b):
    return np.outer(v, b), a.T @ v


@rule(vjp=product_vjp, result=lambda a, b: np.empty(a.shape[0]))
def product(a, b):
    return a @ b


@rule(vjp=lambda v, out, x, s: (v * 2 * x * s, v * out / s), result=float)
def size(x, s=1.0):
    return (x * x).sum() * s


@rule(vjp=lambda v, out, x: np.array([float(str(2 * a * b)) for a, b in zip(v, x, strict=True)]), result="x")
def in_python(x):
    return np.array([float(str(a * a)) for a in x])


@rule(vjp=lambda v, out, x, n: (n * v, None), result="x")
def times(x, n):
    return n * x


def on_arrays(a, x):
    y = times(x, 3)
    for _ in range(2):
        y = product(a, y * y) + in_python(y) * size(y)
    if y[0] > -100.0:
        y = in_python(y + x)
    return size(y, s=y[0] + 2.0) + size(x.copy()[::-1], 0.5)


def test_vjp() -> None:
    check_grad(grad(on_arrays, jit=False), A, X)
    assert math.isclose(grad(on_arrays, jit=False)(A, X), on_arrays(A, X), rel_tol=1e-14)


def test_only_arguments_with_a_derivative_get_one() -> None:
    check_grad(grad(lambda a, x: product(a, x), wrt="x", jit=False), A, X)


def test_single_precision() -> None:
    f = grad(lambda x: times(x, 2), jit=False)
    assert f(X.astype(np.float32)).dtype == np.float32
    check_grad(f, X.astype(np.float32))


def test_vjp_of_an_expression_that_is_overwritten() -> None:
    def f(a, x):
        y = product(a, x)
        y *= y
        x = x * 2.0
        y[1:] = product(a[1:], x)
        return y

    check_grad(grad(f, jit=False), A, X)


def test_compiled() -> None:
    """Both kinds in one program; the second time they come from other objects of the same names."""
    check_grad(grad(lambda a, x: area(squash(x[0])) + size(in_python(product(a, x)))), A, X)

    def other(slope: float) -> Any:
        own = rule(lambda x: slope * x, partials=lambda x: slope, name="own")
        return grad(lambda x: own(x))

    first, second = other(2.0), other(3.0)
    assert (first.backward(1.0), second.backward(1.0)) == (2.0, 3.0)
    assert [grad(f.py_func, jit=False)(1.0) for f in (second, first)] == [3.0, 2.0]


@pytest.mark.parametrize("jit", [False, True])
def test_cotangents_in_another_order_and_none_at_all(jit: bool) -> None:
    turned = rule(
        lambda x, ones, w: x.T * w[0],
        vjp=lambda v, out, x, ones, w: (v.T * w[0], None, np.array([np.sum(v.T * x), 0.0])),
        result=lambda x, ones, w: np.empty((x.shape[1], x.shape[0])),
        name="turned",
    )
    f, x, w = grad(lambda x, ones, w: turned(x, ones, w) * 2.0, jit=jit), A[:2], np.array([0.5, 3.0])
    value, (x_b, ones_b, w_b) = f.value_and_backward(x, np.ones((2, 2)), w, 0.5 * A[:, :2])
    np.testing.assert_array_equal(value, x.T)
    np.testing.assert_array_equal(x_b, A[:, :2].T * 0.5)
    np.testing.assert_array_equal(ones_b, np.zeros((2, 2)))
    np.testing.assert_allclose(w_b, [np.sum(A[:, :2].T * x), 0.0])


# --------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("jit", [False, True])
def test_wrong_shapes(jit: bool) -> None:
    long = rule(lambda x: np.append(x, 1.0), vjp=lambda v, out, x: v[:-1], result="x", name="long")
    with pytest.raises(ValueError, match="long gave a result of (another )?shape"):
        grad(lambda x: long(x), jit=jit)(X)
    short = rule(lambda x: x * 1.0, vjp=lambda v, out, x: v[:-1], result="x", name="short")
    with pytest.raises(ValueError, match="vjp of short gave a cotangent of (another )?shape.* for x"):
        grad(lambda x: short(x).sum(), jit=jit).backward(X)
    few = rule(lambda x, y: x * y, vjp=lambda v, out, x, y: v * y, result="x", name="few")
    with pytest.raises(ArgumentError, match="vjp of few gave 1 cotangents for 2 arguments"):
        grad(lambda x: few(x, x).sum(), jit=jit).backward(X)


def test_wrong_rules() -> None:
    with pytest.raises(OptionError, match="partials= .* or vjp="):
        rule(math.sin)
    with pytest.raises(OptionError, match="goes with vjp="):
        rule(lambda x: x, vjp=lambda v, out, x: v)
    with pytest.raises(OptionError, match="has 1 arguments, and its rule 2 partials"):
        rule(lambda x: x, partials=(None, None), name="f")
    with pytest.raises(OptionError, match="result='y' is no argument of f"):
        rule(lambda x: x, vjp=lambda v, out, x: v, result="y", name="f")
    with pytest.raises(OptionError, match="functions, numbers or None"):
        rule(lambda x: x, partials="x", name="f")


def test_wrong_calls() -> None:
    with pytest.raises(ArgumentError, match="takes the arguments x, n"):
        grad(lambda x: times(x), jit=False)(X)
    with pytest.raises(ArgumentError, match="the argument x of times is neither a number nor an array"):
        grad(lambda x: times(None, 2), jit=False)(X)
    odd = rule(lambda x: x, vjp=lambda v, out, x: v, result=lambda x: x.sum(), name="odd")
    with pytest.raises(ArgumentError, match="result= of odd gives no array"):
        grad(lambda x: odd(x), jit=False)(X)


# -------------------------------------------------------------------------------------------------- stop_gradient


class Pair(NamedTuple):
    first: Any
    second: Any


def test_stop_gradient() -> None:
    f = grad(lambda x, y: stop_gradient(x) * x + stop_gradient(y).sum() * x * y, jit=False)
    x, y = 3.0, np.array([1.0, 2.0])
    x_b, y_b = f.backward(x, y, np.ones(2))
    assert x_b == 2 * 3.0 + 3.0 * 3.0
    np.testing.assert_array_equal(y_b, [9.0, 9.0])
    np.testing.assert_array_equal(f(x, y), f.py_func(x, y))


def test_stop_gradient_of_tuples() -> None:
    def f(p):
        held = stop_gradient(p)
        first, (a, b) = stop_gradient((p.first, [p.second, 2]))
        return held.first * p.second + first * a * b

    found = grad(f, jit=False).backward(Pair(2.0, 5.0))
    assert tuple(found) == (0.0, 2.0)
    assert f(Pair(2.0, 5.0)) == grad(f, jit=False)(Pair(2.0, 5.0)) == 30.0
    assert isinstance(stop_gradient(Pair(1.0, 2.0)), Pair)


def test_what_stop_gradient_gives_is_a_copy() -> None:
    def f(x):
        y = stop_gradient(x)
        y[0] = 7.0
        x = x * 1.0
        return (x * y).sum()

    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(grad(f, jit=False).backward(x), [7.0, 3.0])
    assert f(x.copy()) == grad(f, jit=False)(x) == 2 * 7 + 3 * 3
    assert x[0] == 2.0


def test_a_derivative_that_nobody_knows() -> None:
    f = grad(lambda a, x: scipy.special.gammainc(a, x), jit=False)
    with pytest.raises(UnsupportedError, match="gammainc has no derivative rule for its first argument"):
        f.backward(1.5, 0.5)
    g = grad(lambda a, x: scipy.special.gammainc(stop_gradient(a), x), jit=False)
    assert g.backward(1.5, 0.5)[0] == 0.0
