"""Straight-line programs: expressions, assignments, tuples, built-in functions, every spelling of elementwise math."""

# ruff: noqa: F841

import math

import numpy as np

from .registry import ONLY64, case, integers, number, positive, program, real, values


@program(
    case(1.3), case(number(0.7)), case(real()), case(real(5)), case(real(1, 1)), case(real(2, 3, 2)), compiled=True
)
def square(x):
    return x**2


@program(case(positive(4), positive(4)), case(number(0.8), 1.3), case(1.2, 0.7), case(positive(3, 1), positive(4)))
def powers(x, y):
    return x**3 - 2 * x**0.5 + x**-1.5 + 2.0**x + x**y + x**1 + x**0 + pow(x, 2) + 3**y


@program(case(positive(5), positive(5)), case(0.9, 1.7), case(number(0.9), number(1.7)))
def arithmetic(x, y):
    a = x + y * 2 - 3
    b = -x / (1 + y)
    c = +x - (y - x) * (x / y)
    return a * b - c / a + 1 / x


@program(case(values(3.7, -2.2, 5.1), values(1.3, 0.9, -1.7)), case(5.3, 1.7))
def remainders(x, y):
    return x % y + (x // y) * y + 0.5 * x


@program(case(real(4)), case(number(0.3)), case(real(2, 3, layout="F")))
def trigonometry(x):
    a = np.sin(x) + np.cos(x) * np.tan(x)
    b = np.arcsin(x * 0.9) + np.arccos(x * 0.9) * np.arctan(x)
    return a * b + np.arctan2(x, 1 + x * x) + np.hypot(x, 2.0) + np.deg2rad(x) - np.degrees(x) * 0.01 + np.sinc(x)


@program(case(positive(4, low=1.1)), case(number(1.4)))
def hyperbolic(x):
    a = np.sinh(x) - np.cosh(x) * np.tanh(x)
    return a + np.arcsinh(x) + np.arccosh(x) + np.arctanh(0.4 * x)


@program(case(positive(4)), case(number(1.4)), case(positive()))
def exponentials(x):
    a = np.exp(x) + np.expm1(x) - np.exp2(x)
    b = np.log(x) + np.log1p(x) * np.log2(x) - np.log10(x)
    return a * b + np.sqrt(x) + np.cbrt(x) - np.square(x) / np.reciprocal(x)


@program(case(positive(4), real(4)), case(0.7, 0.2))
def two_operands(x, y):
    a = np.power(x, y) + np.logaddexp(x, y) + np.hypot(x, y) - np.arctan2(y, x)
    b = np.add(x, y) * np.subtract(x, y) / np.multiply(x, 2.0) + np.divide(y, x)
    return a + np.true_divide(b, x) + np.negative(y) + np.maximum(x, y) * np.minimum(x, y) + np.copysign(x, y)


@program(case(0.7, 0.4, dtypes=ONLY64), case(number(0.7), number(0.4), dtypes=ONLY64), compiled=True)
def math_module(x, y):
    a = math.sin(x) * math.cos(y) + math.tan(x) + math.asin(y) + math.acos(y) + math.atan(x) + math.atan2(y, x)
    b = math.exp(x) + math.expm1(y) + math.log(x) + math.log1p(y) + math.log2(x) + math.log10(x) + math.sqrt(x)
    c = math.sinh(x) + math.cosh(y) + math.tanh(x) + math.asinh(x) + math.acosh(1 + x) + math.atanh(y)
    d = math.pow(x, y) + math.hypot(x, y) + math.fabs(x - 2) + math.erf(x) + math.erfc(y) + math.lgamma(x)
    return (
        a * b - c / d + math.floor(x) + math.pi * math.e * math.degrees(x) * 1e-3 + math.radians(y) + math.gamma(1 + x)
    )


@program(case(real(4)), case(0.6))
def smooth_parts(x):
    return np.abs(x) + abs(x) * np.fabs(x) + np.absolute(x) + np.sign(x) * x + np.floor(x) + np.ceil(x) * x


@program(case(1.7, -0.6, dtypes=ONLY64))
def built_in_functions(x, y):
    a = min(x, y) + 2 * max(x, y, 0.3) + abs(y) + float(x) * int(x) + round(x) * y + pow(x, 3)
    n = len((x, y, a))
    flag = bool(n)
    return a * n + sum((x, y, a)) + (x if flag else y)


@program(case(1.3, 0.4), case(number(1.3), number(0.4)), case(real(3), real(3)))
def tuples_and_chains(x, y):
    a, b = x * y, x + y
    (c, d), e = (a * b, a - b), b * b
    a, b = b, a
    p = q = a * c
    first, *rest = (d, e, p)
    pair = (p, q * b)
    return pair[0] * first + pair[-1] - rest[1] * rest[0]


@program(case(1.3, 0.4), case(number(1.3), number(0.4)), case(positive(3), real(3)))
def augmented(x, y):
    a = x * 1.0
    a += y
    a *= x
    a -= y * a
    a /= x + 2
    a **= 2
    return a


@program(case(real(3), positive(3)), case(0.3, 0.8))
def many_results(x, s):
    return np.sin(x) * s, (x / s, (x - s) ** 2), s


@program(case(real(4)), case(0.4), case(number(0.4)))
def identity(x):
    return x


@program(case(real(4)), case(0.4))
def the_same_twice(x):
    y = x * 3
    return y, y, x


@program(case(real(4), positive(2, 3)), case(0.4, 1.3))
def unused_argument(x, w):
    return np.sin(x)


@program(case(real(4)))
def independent_of_its_argument(x):
    return np.ones(3) * 2.0


@program(case(real(4)))
def rebound_argument(x):
    x = x * 2
    x = np.sin(x) + x
    x += 1
    return x * x


@program(case(real(3), 0.7), case(real(3), number(0.7)))
def awkward_names(x, x_b):
    """Names that generated code would like to use itself."""
    v = x * x_b
    i = v + x
    t = np.exp(i)
    y_b = t * v
    sum = y_b + i
    out = sum * x_b
    n = out - t
    return n


@program(case(real(2)), case(real(3, 2, layout="step"), dtypes=ONLY64))
def rosenbrock(x):
    a, b = x.T[0], x.T[1]
    return ((1 - a) ** 2 + 100 * (b - a**2) ** 2).sum()


@program(case(real(5)), case(real(2, 3)), case(real(2, 3, layout="F")), case(real(4, layout="reverse")), case(real(0)))
def methods(x):
    y = x.copy()
    a = y.sum() + x.mean() if x.size else y.sum()
    return a + (x * x).reshape(-1).sum() + x.T.ravel().dot(x.T.ravel()) + x.clip(-0.5, 0.5).sum() + x.flatten().sum()


@program(case(integers(1, 2, 3), real(3)), case(integers(4, 1, 7, dtype=np.int32), real(3)), case(3, number(0.6)))
def integer_argument(k, x):
    return k * x + x / k + k * 2 - x**k


@program(
    case(integers(1, 2, 3, dtype=np.int8), real(3)),
    case(integers(1, 2, 3, dtype=np.uint8), real(3)),
    case(np.array([True, False, True]), real(3)),
)
def small_integers(k, x):
    return (k + k) * x + (k * k) / 2 * x


@program(case(real(4)))
def promotion(x):
    """NEP 50: Python numbers take the array's dtype, NumPy scalars and arrays do not."""
    return x * 2.1, x * np.float64(2.1), x + np.arange(4), np.sqrt(2) * x, x / 3, x - 1


@program(case(number(0.8)))
def scalar_promotion(x):
    return x * 2.1, x * np.float64(2.1), x + 1, x / 3, x**2, np.exp(x), np.float32(1.5) * x, math.exp(x)


@program(case(real(4), dtypes=ONLY64), case(number(0.7), dtypes=ONLY64))
def through_float32(x):
    """A cast passes its cotangent on in the dtype of what was cast."""
    return (x * 2).astype(np.float64) + np.float64(1.5) * x


@program(case(positive(4)))
def sigmoid_forms(x):
    return 1 / (1 + np.exp(-x)), 0.5 * (1 + np.tanh(0.5 * x)), np.log(1 + np.exp(x)), np.logaddexp(0.0, x)


@program(case(positive(3), positive(3)), case(1.1, 0.6))
def shared_subexpressions(x, y):
    a = x * y
    b = a * a
    c = b * a + b
    d = c * c - a * b
    return d * c + np.exp(-d * d) * a
