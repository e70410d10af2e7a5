"""Arrays that a loop fills anew in every iteration, and reads in its reverse: filled again where that is right."""

import numpy as np

from .registry import case, positive, program, real


@program(case(real(5), real(3)), case(real(1), real(1)), case(real(5), real(0)), compiled=True)
def filled_in_every_iteration(x, w):
    """What is read of t in the sweep is made of x and w, which stay as they are."""
    t = np.empty(len(x))
    s = 0.3
    for j in range(len(w)):
        for i in range(len(x)):
            t[i] = x[i] * w[j]
        for i in range(len(x)):
            s = 0.5 * np.sin(s * t[i]) + t[i] * t[len(x) - 1 - i]
    return s


@program(case(real(4), real(3)), compiled=True)
def filled_from_what_changes(x, w):
    """x is not what it was when t was filled."""
    t = np.empty(len(x))
    s = 0.3
    for j in range(len(w)):
        for i in range(len(x)):
            t[i] = x[i] * w[j]
        for i in range(len(x)):
            s = 0.5 * np.sin(s * t[i]) + t[i] * t[0]
            x[i] = x[i] * s
    return x + s


@program(case(real(4), real(3)))
def filled_but_for_the_first(x, w):
    """t[0] is what the iteration before has left."""
    t = np.ones(len(x))
    s = 0.3
    for j in range(len(w)):
        for i in range(1, len(x)):
            t[i] = x[i] * w[j]
        for i in range(len(x)):
            s = 0.5 * np.sin(s * t[i]) + t[i] * t[0]
        t[0] = s
    return s


@program(case(real(4), real(3)))
def filled_and_then_touched(x, w):
    t = np.ones(len(x))
    s = 0.3
    for j in range(len(w)):
        for i in range(len(x)):
            t[i] = x[i] * w[j]
        if w[j] > 0.0:
            t[1] = s * t[2]
        for i in range(len(x)):
            s = 0.5 * np.sin(s * t[i]) + t[i] * t[0]
    return s


@program(case(real(3), real(2), positive(3)), compiled=True)
def filled_by_columns(x, w, y):
    """In a nest, with another order of its axes."""
    t = np.empty((len(w), len(x)))
    s = 0.3
    for j in range(len(y)):
        for i in range(len(x)):
            for k in range(len(w)):
                t[k, i] = x[i] * w[k] - y[j]
        for i in range(len(x)):
            for k in range(len(w)):
                s = 0.5 * np.sin(s * t[k, i]) + 0.1 * t[k, i] * t[0, 0]
    return s


@program(case(real(4), real(3)))
def filled_from_itself(x, w):
    t = x * 2.0
    s = 0.3
    for j in range(len(w)):
        for i in range(len(x)):
            t[i] = t[i] * w[j]
        for i in range(len(x)):
            s = 0.5 * np.sin(s * t[i]) + t[i] * t[0]
    return s


@program(case(real(4), real(3)))
def filled_up_to_where_it_goes(x, w):
    """The end of the range is another one in every iteration."""
    t = np.ones(len(x))
    s = 0.3
    for j in range(len(w)):
        for i in range(j + 1):
            t[i] = x[i] * w[j]
        for i in range(len(x)):
            s = 0.5 * np.sin(s * t[i]) + t[i] * t[0]
    return s
