"""Calls: other functions, closures, globals, tuples as arguments and results, and what runs only for its effect."""

# ruff: noqa: E731

import math

import numpy as np
from numba import njit
from numpy import exp, sin
from numpy import linalg as la

from srcgrad import grad

from .registry import ONLY64, case, number, positive, program, real

SCALE = 1.5
PAIR = (0.5, (2.0, -1.0))
TABLE = np.array([0.2, 0.4, 0.8])


def helper(x, y=2.0, *, scale=1.0):
    return np.sin(x * y) * scale


@njit
def compiled_helper(x, k):
    total = 0.0
    for i in range(k):
        total += x**i
    return total


@grad
def differentiated_helper(x):
    return x * np.tanh(x)


@program(case(0.7), case(number(0.7)), case(real(3)))
def defaults_and_keywords(x):
    return helper(x) + helper(x, 3.0) * helper(x, y=x) + helper(y=x, x=2.0, scale=x)


@program(case(0.7), case(number(0.7), dtypes=ONLY64), compiled=True)
def calls_njit(x):
    return compiled_helper(x, 4) * compiled_helper(x * x, 2)


@program(case(0.7), case(real(3)))
def calls_grad(x):
    return differentiated_helper(x) + differentiated_helper(x * 2) * x


@program(case(0.7), case(real(3)))
def nested_function(x):
    c = x * 2

    def inner(y, z=3.0):
        w = y * c
        return w + z

    return inner(x) * inner(c, z=x)


@program(case(0.7), case(real(3)))
def lambdas(x):
    f = lambda y: y * y + x
    g = lambda y, k=2: f(y) * k
    return f(x) + g(f(x)) * g(x, 3)


@program(case(0.7), case(real(3)))
def function_as_argument(x):
    return twice(np.sin, x) + twice(helper, x) + twice(lambda y: y * x, x)


def twice(f, x):
    return f(f(x))


def make_closure():
    weight = 1.7
    offsets = np.array([0.1, 0.2, 0.3])

    def closure(x):
        return np.cos(x * weight) + offsets * x

    return closure


closure = program(case(real(3)), case(number(0.4)))(make_closure())


@program(case(real(3)), case(number(0.4)))
def global_values(x):
    a, (b, c) = PAIR
    return x * SCALE + a * x**2 + (b * c) * TABLE * x + PAIR[1][0]


@program(case(positive(3)))
def imported_names(x):
    return exp(-x) * sin(x) + la.norm(x) + math.pi


@program(case(0.4, 2.0), case(0.4), case(0.4, scale=0.3))
def default_argument(x, y=3.0, scale=1.0):
    return x * y * scale


@program(case((0.4, 1.2), 0.7), case((number(0.4), number(1.2)), number(0.7)), case((real(3), real(3)), 0.7))
def tuple_argument(pair, s):
    a, b = pair
    return a * b * s + pair[0] ** 2


@program(case((real(2, 3), (real(3), 0.4))))
def nested_tuple_argument(params):
    w, (b, s) = params
    return np.tanh(w * s + b)


@program(case(0.4, 1.2), case(real(2), real(2)))
def tuple_results(x, y):
    (s, d), p = sum_and_difference(x, y), x * y
    return s * d, (p, s)


def sum_and_difference(x, y):
    return x + y, x - y


@program(case(real(3), 4), case(real(3), 1))
def tuple_carried(x, n):
    state = (x, x * 2)
    for _ in range(n):
        state = step(state)
    return state[0] * state[1]


def step(state):
    x, v = state
    return x + 0.1 * v, v - 0.1 * np.sin(x)


@program(case(real(4), real(4)))
def callee_writes(x, y):
    z = x * 1.0
    add_into(z, y)
    add_into(z, x * y)
    return z * z


def add_into(target, source):
    for i in range(len(target)):
        target[i] += source[i] * target[i]


@program(case(real(3, 4)))
def callee_writes_a_view(a):
    b = a * 1.0
    for i in range(1, 3):
        add_into(b[i], a[i - 1])
    return b


@program(case(0.4), case(2.4), case(-0.4))
def callee_returns_early(x):
    return soft_threshold(x, 1.0) * x + soft_threshold(x * 3, 1.0)


def soft_threshold(x, k):
    if x > k:
        return x * x - k
    if x < -k:
        return x + k
    return x**3


@program(case(real(5)))
def callee_in_a_loop(x):
    s = 0.0
    for xi in x:
        s += first_above(xi * 2, 0.8) * s + xi
    return s


def first_above(x, bound):
    n = 0
    while n < 5:
        if x > bound:
            return x * (n + 1)
        x = x * 1.3 + 0.2
        n += 1
    return x


@program(case(0.7), case(number(0.7)))
def asserts(x):
    assert x > 0
    assert x < 10, "too large"
    if x > 5:
        raise ValueError("x must be at most 5")
    return np.sqrt(x)


@program(case(0.7))
def prints(x):
    y = x * x
    print("y is", y > 0)
    return y * y


@program(case(0.7, 1.1))
def shadowed_builtins(x, y):
    max = x * y
    return max + min(x, y)


@program(case(real(4)))
def docstring_and_annotations(x: np.ndarray) -> np.ndarray:
    """A docstring."""
    y: np.ndarray = x * 2
    s: float
    s = 3.0
    pass
    return y * s


@program(case(real(3), real(3), 0.2))
def callback_with_captured_arrays(x, w, h):
    def slope(y):
        return -w * y + np.sin(y)

    for _ in range(3):
        k1 = slope(x)
        k2 = slope(x + 0.5 * h * k1)
        x = x + h * k2
    return x


@program(case(0.6))
def captured_name_rebound_later(x):
    """A closure sees the value that its name has when it is called."""
    c = x
    f = lambda y: y * c
    a = f(2.0)
    c = x * x
    return a + f(3.0)


@program(case(0.6, 3))
def recursion_unrolled(x, n):
    return power(x, 3) + n


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


@program(case(real(3, 4)))
def callee_writes_what_its_other_argument_reads(a):
    b = a * 1.0
    for row in b:
        add_into(row, b[-1] * 1.0)
    add_into(b[0], b[0])
    return b.sum(0)
