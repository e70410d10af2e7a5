"""`passes/name_joins.py`: which numbers that come out of a branch may have the name that they get behind it."""

from __future__ import annotations

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.testing import check_grad


def three_ways(x, y):
    if x > 1.0:
        s = x * y
    elif x > 0.0:
        s = x + y
    else:
        s = np.sin(y)
    return s * x


def two_numbers(x, y):
    if x > 1.0:
        s, t = x * y, y
    elif x > 0.0:
        s, t = y, x * x
    else:
        s, t = np.sin(y), x * y
    return s * t + s


def exchanged(x, y):
    s, t = x, y
    for _ in range(3):
        if x > 1.0:
            s, t = t * x, s
        elif x > 0.0:
            s, t = t, s + x
        else:
            s = t * s
    return s + 2.0 * t


def read_inside(x, y):
    s = y
    for k in range(4):
        if x > 1.0:
            if s > k:
                t = s * x
            else:
                t = s + x
            u = s * t
        else:
            t = y
            u = t * s
        s, y = t * 0.5, u
    return s * y


def read_twice(x, y):
    if x > 1.0:
        if y > 0.0:
            t = x * y
        else:
            t = y * y
        s = t
        r = t * s
    else:
        s = x
        r = y
    return s * r


def set_behind(x, y):
    s = x * y
    r = s
    if x > 0.5:
        if y > 0.5:
            t = s * s
        else:
            t = x
        r = s
        s = t
    return r * s


PLACES = [(x, y) for x in (1.7, 0.7, -0.3) for y in (1.3, 0.2, -0.4)]
PROGRAMS = [three_ways, two_numbers, exchanged, read_inside, read_twice, set_behind]


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_written(function, place):
    f = grad(function, jit=False)
    assert f(*place) == function(*place)
    check_grad(f, *place)


def test_one_name():
    text = grad(three_ways, jit=False).source(1.0, 2.0, kind="primal")
    assert "elif" in text
    assert text.count("s_4 = ") == 3
