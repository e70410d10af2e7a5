"""Functions inside of the function: decorators are called, defaults computed once, names are those of their scope."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.51, 1.2, -0.3, 0.7])


def thrice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return 3 * function(*args, **kwargs)

    return wrapper


def times(factor):
    return lambda function: lambda t: factor * function(t)


class Squared:
    def __init__(self, function):
        self.function = function

    def __call__(self, t):
        return self.function(t) ** 2


def decorated(x):
    @thrice
    def h(t):
        return t**2

    return h(x)


def decorated_twice(x):
    @times(x[1])
    @thrice
    def h(t):
        return t**2

    return h(x)


def decorated_by_a_class(x):
    @Squared
    def h(t):
        return np.sin(t)

    return h(x)


def decorated_by_a_partial(x):
    @functools.partial(lambda factor, function: lambda t: factor * function(t), 4.0)
    def h(t):
        return t**2

    return h(x)


def decorated_in_a_loop(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:

            @times(x[i])
            def h(t, c=2.0 * x[i]):
                return t**2 * c

            s += h(x[i])
    return s


def decorated_and_recursive(x):
    @thrice
    def power(n, t):
        return t if n == 0 else t * power(n - 1, t)

    return power(3, x)


def decorated_to_no_effect(x):
    @numba.njit(cache=True)
    def a(t):
        return t**2

    @functools.lru_cache(maxsize=8)
    def b(t):
        return t**3

    @functools.cache
    def c(t):
        return t**4

    @grad(wrt="t")
    def d(t):
        return t**5

    @staticmethod
    def e(t):
        return 2.0 * t

    return a(x) + b(x[0]) + c(x[1]) + d(x) + e(x)


def default_list(x):
    def running(v, seen=[]):  # noqa: B006
        seen.append(v)
        return sum(seen)

    return running(x[0]) + running(x[1]) * running(x[2])


def default_list_in_a_loop(x):
    def running(v, *, seen=[]):  # noqa: B006
        seen.append(v)
        return sum(seen)

    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += running(x[i]) * i
    return s


def default_dict(x):
    def running(v, state={"n": 0.0}):  # noqa: B006
        state["n"] += v
        return state["n"]

    s = 0.0
    for i in range(len(x)):
        s += running(x[i]) * i
    return s


def default_array(x):
    def running(v, memory=np.zeros(2)):  # noqa: B008
        memory += v
        return memory.sum()

    return running(x[0]) * running(x[1])


def default_of_an_array_that_is_written(x):
    w = x * 2

    def h(v, w=w):
        w[0] = v
        return w.sum()

    s = 0.0
    for i in range(3):
        s += h(s + x[i])
    return s + w.sum()


def default_of_a_number_that_goes_on(x):
    c, s = x[0], 0.0
    for _ in range(3):

        def h(t, c=c):
            return t * c

        c = c + 1
        s += h(c)
    return s


def default_of_a_number_ahead_of_the_loop(x):
    c, s = x[0] * 2, 0.0
    h = lambda t, c=c: t * c
    for _ in range(3):
        c = c + 1
        s += h(c)
    return s


def default_of_an_array_ahead_of_the_loop(x):
    w, s = x * 2, 0.0

    def h(t, w=w):
        return t * w.sum()

    for _ in range(3):
        w = w + 1
        s += h(w[0])
    return s


def default_of_arrays_that_change_places(x):
    u, un, s = x * 1, x * 2, 0.0

    def h(t, u=u):
        return t * u.sum()

    for _ in range(3):
        u, un = un, u
        s += h(u[0])
    return s


def number_of_a_call_that_has_ended(x):
    def make(c):
        return lambda t: t * c

    c, s = x[0] * 2, 0.0
    h = make(c)
    for _ in range(3):
        c = c + 1
        s += h(c)
    return s


def array_of_a_call_that_has_ended(x):
    def make(w):
        return lambda t: t * w.sum()

    w, s = x * 2, 0.0
    h = make(w)
    for _ in range(3):
        w = w + 1
        s += h(w[0])
    return s


def list_of_a_call_that_has_ended(x):
    def make():
        seen = []

        def running(v):
            seen.append(v)
            return sum(seen)

        return running

    running, s = make(), 0.0
    for i in range(3):
        s += running(x[i])
    return s + running(x[0])


RIGHT = [
    decorated, decorated_twice, decorated_by_a_class, decorated_by_a_partial, decorated_in_a_loop,
    decorated_and_recursive, decorated_to_no_effect,
    default_list, default_list_in_a_loop, default_dict, default_array, default_of_an_array_that_is_written,
    default_of_a_number_that_goes_on, default_of_a_number_ahead_of_the_loop, default_of_an_array_ahead_of_the_loop,
    default_of_arrays_that_change_places,
    number_of_a_call_that_has_ended, array_of_a_call_that_has_ended, list_of_a_call_that_has_ended,
]  # fmt: skip


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_as_in_python(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-15)


def test_compiled() -> None:
    for function in (decorated_in_a_loop, default_list_in_a_loop):
        f = grad(function)
        check_value_and_grad(f, X, rtol=1e-14)


def vectorized_by_numba(x):
    @numba.vectorize
    def h(t):
        return t**2

    return h(x)


def marked(function):
    function.is_marked = True
    return function


def with_an_attribute(x):
    @marked
    def h(t):
        return t**2

    return h(x)


def default_of_a_recursion(x):
    def collect(n, seen=[]):  # noqa: B006
        seen.append(x[0] * n)
        return sum(seen) if n <= 0 else collect(n - 1)

    return collect(int(x[1] * 3))


@pytest.mark.parametrize("function", [vectorized_by_numba, with_an_attribute, default_of_a_recursion])
def test_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        grad(function, jit=False)(X)
    assert "test_definitions.py" in str(caught.value) and "^" in str(caught.value)


def with_two(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(x, 2.0)

    return wrapper


def flagged(function):
    @functools.wraps(function)
    def wrapper(x, *, flag=False):
        return function(x) * (2.0 if flag else 1.0)

    return wrapper


def swapped(function):
    @functools.wraps(function)
    def wrapper(b, a=0.5):
        return function(a, b)

    return wrapper


@with_two
def scaled(x, n):
    return x * n


@flagged
def squared(x):
    return x * x


@swapped
def difference(a, b):
    return a - b * b


@thrice
def passed_on(x, n=2.0):
    return x**n


def renamed(function):
    def wrapper(*args, **kwargs):
        if "power" in kwargs:
            kwargs["n"] = kwargs.pop("power")
        return function(*args, **kwargs)

    return functools.wraps(function)(wrapper)


@renamed
def with_defaults(x, n=2.0, *, scale=3.0):
    return scale * x**n


@pytest.mark.parametrize(
    "call",
    [
        lambda x: passed_on(x),
        lambda x: with_defaults(x),
        lambda x: with_defaults(x, 3.0, scale=x[0]),
        lambda x: with_defaults(x, power=3.0),
    ],
)
def test_what_a_wrapper_passes_on_has_its_own_defaults(call: Callable[..., Any]) -> None:
    np.testing.assert_allclose(grad(call, jit=False)(X), call(X), rtol=1e-15)
    check_grad(grad(call, jit=False), X)


def test_a_wrapper_has_parameters_of_its_own() -> None:
    x = X.copy()
    for function, args, keywords in (
        (scaled, (x,), {}), (squared, (x,), {}), (squared, (x,), {"flag": True}), (difference, (x,), {}),
        (difference, (x, 2.0), {}), (difference, (), {"b": x, "a": 0.1}), (passed_on, (x,), {}),
        (passed_on, (x, 3.0), {}),
    ):  # fmt: skip
        found = grad(function, jit=False)(*args, **keywords)
        np.testing.assert_allclose(found, function(*args, **keywords), rtol=1e-15)
    check_grad(grad(scaled, jit=False), x)
    check_grad(grad(lambda x: squared(x, flag=True) + difference(b=x, a=1.0), jit=False), x)


# fmt: off
class Margins:
    def __init__(self, x):
# a comment may stand at the margin
        self.x = x

    def text(self):
        """As may
a part of a text
        """
        return self.x * self.x
# fmt: on


def test_text_at_the_margin_of_an_indented_function() -> None:
    f = grad(lambda x: Margins(x).text() * x, jit=False)
    assert f.backward(2.0) == 12.0


def a_function_beside_others(x, slope=np.cos, twice=True):
    def inner(v):
        return v**2

    if slope == True or inner == 1.0 or inner == "sin" or inner in (None, False):  # noqa: E712
        x = 10.0 * x
    if inner != True and slope != None and inner != slope and both_of != True:  # noqa: E711, E712
        x = 2.0 * x
    return inner(x) if inner == inner and twice == True else slope(x)  # noqa: E712, PLR0124


def both_of(x):
    return x


def test_functions_are_equal_to_themselves_alone() -> None:
    """`if jac == True` asks whether it was asked for, or given."""
    assert a_function_beside_others(1.5) == 9.0
    f = grad(a_function_beside_others, jit=False)
    assert f(1.5) == 9.0 and f.backward(1.5) == 12.0
    g = grad(lambda x: a_function_beside_others(x, lambda v: v**3), jit=False)
    assert g(1.5) == 9.0
