"""Arrays that are another length in every iteration of a loop."""

import numpy as np

from .registry import ONLY64, case, number, positive, program, real


@program(case(real(6), 0.1), case(real(1), 0.1), case(real(6, layout="step"), number(-0.2)))
def shorter_by_one(x, c):
    """Backwards through a lattice."""
    values = x * 1.0
    for _ in range(len(x) - 1):
        values = np.maximum(0.4 * values[:-1] + np.sin(values[1:]), c)
    return values


@program(case(real(8)), case(real(1)), case(real(16, layout="reverse")))
def by_halves(x):
    while x.shape[0] > 1:
        x = np.sin(x[::2] * x[1::2])
    return x[0]


@program(case(real(7)), case(real(8)), case(real(1)))
def pairs_and_what_is_left(x):
    while x.size > 1:
        n = x.size // 2
        x = np.concatenate((x[:n] * x[n : 2 * n], x[2 * n :]))
    return x


@program(case(real(8, 16)), case(real(2, 2), dtypes=ONLY64), case(real(16, 8, layout="F")))
def coarser_grids(u):
    total = 0.0
    while len(u) > 2 and u.shape[1] > 2:
        total += np.sum(u**2)
        u = 0.25 * (u[::2, ::2] * u[1::2, ::2]) + u[1::2, 1::2]
    return total, u


@program(case(real(6, 3), real(3, 3)), case(real(1, 3), real(3, 3)))
def fewer_rows(x, w):
    while len(x) > 1:
        x = np.tanh(x[1:] @ w + x[:-1])
    return x


@program(case(real(7), 3), case(real(7), 0), case(real(7), 20))
def while_it_is_large(x, n):
    """The test has statements of its own."""
    while np.sum(np.abs(x)) > 0.1 and x.size > 1:
        x = 0.5 * (x[1:] + x[:-1]) ** 2 if n else x[1:]
    return x


@program(case(real(6), 4), case(real(6), 0, dtypes=ONLY64))
def without_its_last(x, n):
    s = 0.0
    for _ in range(n):
        s = s * 0.9 + x[-1] ** 2
        x = x[:-1]
    return s, x


@program(case(real(6), 4), case(real(6), 0, dtypes=ONLY64))
def without_its_first(x, n):
    s = 0.0
    for _ in range(n):
        s = s * 0.9 + x[0] ** 2
        x = x[1:]
    return s, x


@program(case(real(3), 5), case(real(3), 0), compiled=True)
def longer_by_one(x, n):
    path = x[:1] * 1.0
    for i in range(n):
        path = np.append(path, np.sin(path[-1]) * x[i % 3])
    return path


@program(case(real(3), 4), case(real(3), 0), case(real(0), 3))
def longer_by_an_array(x, n):
    y = x
    for i in range(n):
        y = np.concatenate((np.sin(y), x * i))
    return y


@program(case(real(5, low=0.4, high=1.0), 3), case(real(5), 3), case(real(5), 0))
def shorter_or_not(x, n):
    for _ in range(n):
        if x[0] > 0.5:
            x = x[1:] * 1.5
        else:
            x = x * 1.2
    return x


@program(case(real(7)), case(real(1)))
def two_that_trade(x):
    y = x * 2.0
    for _ in range(len(x) - 1):
        x, y = y[1:] * 1.1, x[:-1] + y[:-1] ** 2
    return x, y


@program(case(real(6), 4), case(real(6), 0))
def written_in_place(x, n):
    x = x.copy()
    for i in range(n):
        x = x[:-1] * 1.1
        x[0] += x[-1] ** 2
        x *= x[0]
    return x


@program(case(real(6), 5, 0.3), case(real(6), 5, 9.0), case(real(6), 5, -9.0))
def until_it_is_small(x, n, bound):
    for _ in range(n):
        x = np.sin(x[1:] - x[:-1])
        if x[0] < bound:
            break
    return x


@program(case(real(6)), case(real(2)))
def triangles_in_a_loop(x):
    """A loop that makes an array shorter, in a loop that makes another one shorter."""
    total = 0.0
    while len(x) > 1:
        y = x
        while len(y) > 2:
            y = y[1:] * y[:-1] + x[0]
        total = total + np.sum(y**2)
        x = 0.5 * x[1:] + 0.3 * x[:-1] ** 2
    return total


@program(case(real(9)), case(real(1), dtypes=ONLY64))
def another_name_for_the_old(x):
    total = 0.0
    while len(x) > 1:
        old = x
        x = np.cos(x[::2])
        total += np.sum(old[: len(x)] * x)
        x = x[: len(x) - 1] if len(x) % 2 else x
        if len(x) == 0:
            break
    return total


def smoothed(x):
    while x.shape[0] > 3:
        x = 0.25 * x[:-2] + 0.5 * np.sin(x[1:-1]) + 0.25 * x[2:]
    return x


@program(case(real(9)), case(real(3)), case(real(10)))
def in_a_function(x):
    y = smoothed(x)
    return y @ y * x[0]


@program(case(real(5), 4), case(real(5), 0, dtypes=ONLY64))
def in_a_tuple(x, n):
    state = (x * 2.0, 1.0)
    for _ in range(n):
        values, factor = state
        state = (values[1:] * values[:-1], factor * values[0])
    return state


@program(case(real(6), 4), case(real(6), 0))
def as_many_as_the_iteration_says(x, n):
    y = x
    for i in range(n):
        y = np.sin(x[: n - i] * y[0])
    return y


@program(case(positive(20)), case(positive(32)))
def in_a_short_loop(x):
    for _ in range(4):
        x = np.sqrt(x[::2] * x[::2])[: x.size // 2] + 0.1 * x[: x.size // 2]
    return x


@program(case(real(40)))
def in_a_loop_of_known_length(x):
    for _ in range(30):
        x = x[1:] * 0.9 + 0.1 * x[:-1] ** 2
    return x
