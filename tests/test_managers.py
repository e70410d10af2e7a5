"""`with` of objects of one's own: what `__enter__` and `__exit__` do, and where they can't be left to do it."""

from __future__ import annotations

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad

X = np.array([0.4, 1.3, 0.9])


class Weighed:
    def __init__(self, factor):
        self.factor, self.seen = factor, 0.0

    def __enter__(self):
        self.seen += self.factor
        return self

    def __exit__(self, exc_type, exc, trace):
        self.seen *= 2.0


def itself_in_a_loop(x):
    total = 0.0
    for v in x:
        with Weighed(v) as w:
            total += w.seen * w.factor
    return total


def left_by_every_way(x):
    w = Weighed(x[0])
    for k in range(3):
        with w as inner:
            if x[k] > 1.0:
                continue
            inner.factor *= x[k]
            if inner.factor > 5.0:
                break
    with w:
        return np.sum(x) * w.seen


def two_at_once(x):
    with Weighed(x[1]) as a, Weighed(a.seen * x[2]) as b:
        y = a.seen * b.seen
    return y + a.seen * b.seen


@pytest.mark.parametrize("function", [itself_in_a_loop, left_by_every_way, two_at_once])
def test_as_in_python(function):
    check_value_and_grad(grad(function, jit=False), X, rtol=1e-14)


def test_compiled():
    check_value_and_grad(grad(left_by_every_way), X, rtol=1e-14, at_once=True)


class Quiet(Weighed):
    def __exit__(self, exc_type, exc, trace):
        return self.seen > 0.0


class QuietInOneLine(Weighed):
    __exit__ = lambda self, exc_type, exc, trace: True


class QuietAsGenerators(Weighed):
    def __exit__(self, exc_type, exc, trace):
        yield


@pytest.mark.parametrize("kind", [Quiet, QuietInOneLine, QuietAsGenerators])
def test_exceptions_that_may_not_come_out_are_refused(kind):
    def f(x):
        with kind(x[0]):
            if x[1] > 0.0:
                raise ValueError("too large")
        return x[2]

    with pytest.raises(UnsupportedError, match="may keep an exception"):
        grad(f, jit=False).backward(X)
