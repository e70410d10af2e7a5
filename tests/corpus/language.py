"""Statements and built-in functions that people write around numeric code."""

# ruff: noqa: B007, C400, C419, SIM105, SIM108, PLW0602, E721

import functools
import math
from contextlib import nullcontext

import numpy as np

from .registry import ONLY64, case, positive, program, real

try:
    import math as maybe
except ImportError:
    maybe = None
FACTOR = 3


def twice(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        y = function(*args, **kwargs)
        return y * 2

    return wrapped


@twice
def doubled_norm(x):
    return (x * x).sum()


@functools.lru_cache
def coefficients(n):
    return [1.0 / (k + 1) for k in range(n)]


@program(case(real(3)))
def decorators(x):
    c = coefficients(3)
    return sum(ci * x[i] for i, ci in enumerate(c)) * doubled_norm(x)


@program(case(positive(3)), compiled=True)
def contexts(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = 1 / x
    with nullcontext(x[0]) as first:
        if first > 5:
            return y.sum()
        y = y * first
    return y.sum()


class Scaled:
    def __init__(self, model, by):
        self.model, self.by = model, by

    def __enter__(self):
        self.before = self.model["k"]
        self.model["k"] = self.before * self.by
        return self.model

    def __exit__(self, exc_type, exc, trace):
        self.model["k"] = self.before


@program(case(positive(3)), case(positive(3, high=0.6)), compiled=True)
def own_contexts(x):
    model, total = {"k": x[0]}, 0.0
    for v in x:
        with np.errstate(all="ignore"), Scaled(model, v), Scaled(model, 2.0):
            total += model["k"] * v
            if total > 2.0:
                break
        total *= model["k"]
    try:
        with Scaled(model, x[1]) as scaled:
            if total < 3.0:
                return total * scaled["k"]
    finally:
        model["k"] *= 2.0
    return total * model["k"]


@program(case(real(4)))
def finally_runs(x):
    s = x[0]
    try:
        for i in range(len(x)):
            if x[i] > 5.0:
                return s
            if i == 2:
                break
            s = s * x[i]
        return s * 2 + x[3]
    finally:
        s = s * 3


@program(case(real(3)), case(real(3), k=0), case(real(3), k=5))
def matches(x, k=2):
    match k:
        case 0:
            return x.sum()
        case 1 | 2:
            s = x[0]
        case _:
            s = x[1]
    match (len(x), "a"):
        case (7, "b"):
            s = s * 2
        case (int(), "a") if s > 0:
            s = s * 3
        case (n, _):
            s = s * n
    return s * x[2]


@program(case(real(4)))
def names(x):
    global FACTOR
    a, *b = x[0], x[1], x[2]
    del a
    c: float = b[0] * b[1] * FACTOR
    if (n := len(x)) > 3:
        c = c * n
    return c


@program(case(real(4)))
def any_and_all(x):
    s = x[0]
    if any(v > 2 for v in x):
        s += x[0]
    if all([v > -2 for v in x]):
        s += x[1]
    if any((x[0] > 5, x[1] > -5)):
        s += x[2]
    return s


@program(case(positive(4), dtypes=ONLY64))
def functions_of_math(x):
    s = math.prod([x[0], x[1], 2]) + math.dist((x[0], x[1]), (1.0, 2.5)) + math.hypot(x[0], x[1], x[2])
    return s + math.fsum([x[0], x[1]]) + sum([x[0], x[1]], 10.0) + (1.0 if math.isclose(x[0], x[0]) else 2.0)


@program(case(real(4)))
def built_in_functions(x):
    q, r = divmod(7, 2)
    s = round(2.6) * x[0] + r * x[1] + min(x[0], x[1], x[2]) * max([x[0], x[3]]) + max(x) * q
    s += min(x[i] for i in range(3)) + sorted((3, 1, 2))[0] * x[2] + max((1, -5), key=abs) * x[3]
    return s + sum(filter(None, [2.0, 0.0])) * x[0] + list(map(lambda t: t * t, [x[0], x[1]]))[1]


@program(case(real(4)))
def questions_about_types(x):
    assert x.dtype.kind == "f", f"bad {x.dtype}"
    assert x.ndim == 1 and isinstance(x, np.ndarray) and np.isscalar(2.0) and np.iterable(x)
    z = 1.0
    if x.dtype in (np.float32, np.float64) and x.dtype != "int64" and np.issubdtype(x.dtype, np.floating):
        z = z * 2
    if hasattr(x, "shape") and callable(np.sin) and type(x) is np.ndarray and x.dtype != object:
        z = z * 3
    return x.sum() * z + np.finfo(x.dtype).eps


@program(case(real(4)))
def texts(x):
    if len(x) < 3:
        raise ValueError(f"need {3:d} got {len(x)!r:>3}" + "-" * 3)
    return x.sum() * len("abc".upper())


@program(case(real(3)))
def chained(x):
    s = x[0] ** 2 if -2 < x[0] < 1 < x[1] + 5 else x[1]
    for _ in range(3):
        pass
    else:
        s = s * 2
    return s
