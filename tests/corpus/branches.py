"""Branches: statements and expressions that choose, short circuits, and values that only one side defines."""

import numpy as np

from .registry import case, number, positive, program, real, values


@program(case(1.4), case(0.3), case(-0.8), case(number(-0.8)), compiled=True)
def piecewise(x):
    if x > 1:
        y = x**3
    elif x > 0:
        y = np.sin(x)
    else:
        y = -x * np.exp(x)
    return y * x


@program(case(0.3), case(-0.3))
def without_else(x):
    y = x * x
    if x > 0:
        y = y * x + 1
    return y


@program(case(0.3, 0.8), case(0.8, 0.3), case(-0.2, 0.3))
def nested(x, y):
    if x < y:
        if x < 0:
            z = x * y
        else:
            z = x / y
    else:
        z = y - x
        if z < -0.4:
            z *= 2
    return z + x


@program(case(0.3), case(1.3), case(2.3))
def chained_comparison(x):
    y = x if 0 < x < 1 else (x**2 if 1 <= x <= 2 else np.sqrt(x))
    if 1 < x < 2 != 5:
        y += 3 * x
    return y


@program(case(0.3, 0.9), case(0.9, 0.3), case(-0.9, -0.3))
def logic(x, y):
    if x > 0 and y > x:
        return x * y
    if not (x > 0 or y > 0):
        return x - y * y
    return y / x


@program(case(real(4), 2), case(real(4), 4), case(real(4), 0))
def short_circuit(x, i):
    """The right side would be out of range where the left side says no."""
    s = x.sum()
    if i < len(x) and x[i] ** 2 >= 0:
        s = s * x[i]
    if i == 0 or x[i - 1] ** 2 < -1:
        s = s + 1
    return s * s


@program(case(0.4), case(-0.4), case(number(0.4)))
def conditional_expression(x):
    return (np.exp(x) if x > 0 else x**3) * (2 if x < 0 else x)


@program(case(0.4), case(-0.4))
def early_return(x):
    if x < 0:
        return x * x
    y = np.log1p(x)
    return y * x


@program(case(0.4, True), case(0.4, False))
def flag(x, deep):
    y = x
    if deep:
        y = np.tanh(y)
    return y * 2 if not deep else y * y


@program(case(0.4, 0), case(0.4, 1), case(0.4, 7))
def integer_switch(x, kind):
    match_zero = kind == 0
    if match_zero:
        return np.sin(x)
    elif kind in (1, 2):
        return np.cos(x)
    return x


@program(case(real(6)), case(real(2, 3)), case(real(0)))
def where_and_masks(x):
    a = np.where(x > 0.2, np.sin(x), x * x)
    b = np.where((x > -0.5) & ~(x > 0.5), x, 0.0)
    c = np.where((x < -0.3) | (x >= 0.4), 1.0, x)
    return a * b + c


@program(case(values(0.5, 4.0, -1.0)), case(values(-0.5, -0.1)))
def guarded_by_where(x):
    """A branch not taken contributes exactly zero."""
    safe = np.where(x > 0, x, 1.0)
    return np.where(x > 0, np.sqrt(safe), 0.0) + np.where(x != 0, np.sin(safe) / safe, 1.0)


@program(case(real(5), 0.1), case(real(5), number(0.1)))
def clipped(x, low):
    return np.clip(x, low, 0.5) + np.maximum(x, low) * np.minimum(x, 0.7) + x.clip(-0.2, 0.2)


@program(case(real(3, 4)))
def branch_on_a_sum(x):
    y = x * 2
    if y.sum() > 100:
        y = y * 100
    elif np.any(x > 5):
        y = y - 1
    elif np.all(x < 5):
        y = y * y
    return y


@program(case(real(4), real(4)))
def arrays_from_both_sides(x, y):
    if x[0] > y[0]:
        z = x * y
    else:
        z = y
    return z + x


@program(case(0.7, 0.2), case(0.2, 0.7))
def swapped_by_condition(x, y):
    if x < y:
        x, y = y, x
    return x**2 / y


@program(case(values(0.2, -0.4, 1.2, 0.8, -1.1)), compiled=True)
def branch_in_a_loop(x):
    s = 1.0
    for xi in x:
        if xi < 0:
            s = s * xi
        elif xi > 1:
            s = np.tanh(s) + xi
        else:
            s = np.exp(-s * xi)
    return s


@program(case(positive(3)), case(values(-0.5, 0.1, 0.2)))
def only_one_side_defines(x):
    if x[0] > 0:
        k = x[1] * 3
    else:
        k = 0.0
    for xi in x:
        if xi > 0.15:
            t = xi * k
            k = t + 1
    return k * x[2]


@program(case(0.5), case(1.5))
def boolean_variables(x):
    big = x > 1
    even = int(x * 10) % 2 == 0
    both = big and even
    y = x * 2 if both or big else x / 2
    return y + (x if big else 0.0) + big * x


@program(case(0.5), case(-1.5))
def unreached_side(x):
    """The side that does not run has no derivative at this point."""
    if x > 0:
        return np.sqrt(x)
    return x * x


@program(case(real(4), number(0.5)), case(real(4), number(-0.5)), compiled=True)
def jumps_in_a_loop_in_a_branch(x, s):
    t = s
    if s > 0:
        for i in range(len(x)):
            if x[i] > 0.6:
                break
            if i == 1:
                continue
            t = t * x[i] + np.sin(t)
    else:
        i = 0
        while i < len(x):
            i += 1
            if x[i - 1] * t > 0.2:
                continue
            t += x[i - 1] ** 2
    return t


@program(case(real(4), number(0.5)), case(real(4), number(-0.5)), case(real(4), number(0.1)))
def returns_in_a_loop_in_a_branch(x, s):
    if s > 0:
        for i in range(len(x)):
            if x[i] * s > 0.3:
                return x[i] * s
        if s > 0.3:
            return s * x.sum()
    for xi in x:
        if xi > 0.8:
            break
        s = s * np.cos(xi)
    return s


@program(case(real(4), number(0.5)), case(real(4), number(-0.5)))
def array_returned_from_a_loop(x, s):
    for i in range(len(x)):
        if x[i] > s:
            return x * x[i]
        x = x * np.cos(s)
    return x + s


@program(case(0.7, 1), case(number(-0.4), 0), case(real(3), 1), compiled=True)
def one_value_by_two_names(x, which):
    if which > 0:
        y = np.sum(x * 3)
        r = y
    else:
        r = np.sum(x * 5)
        y = r
    return r * y


@program(case(0.7, 1), case(number(-0.4), 0), case(real(3), 1))
def one_value_twice_in_a_tuple(x, which):
    if which > 0:
        y = x * 3
        pair = y, y
    else:
        y = np.sin(x)
        pair = y, y * 2
    return pair[0] * pair[1]


@program(case(real(4), 0), case(real(4), 1), case(real(4), 2))
def pair_from_some_paths(x, which):
    """On one path the pair is never bound: there is nothing to hand on there."""
    if which == 0:
        pair = x[1:3] * 5.0, np.sum(x), None
    elif which == 2:
        pair = x[1:3] * 2.0, np.prod(x), None
    else:
        return x[1:3] * 3.0 + np.max(x)
    return pair[0] * pair[1]


@program(case(real(5), 0), case(real(5), 1), case(real(5), 2))
def list_from_some_paths(x, which):
    if which == 0:
        found = [y * 2.0 for y in x]
    elif which == 2:
        found = [y * y for y in x[1:]]
    else:
        return x[0]
    return found[-1] * found[0]
