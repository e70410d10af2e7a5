"""Steps in stages, as of Runge and Kutta: the sweep fills again what a stage fills, where that gives the same."""

import numpy as np

from .registry import case, positive, program, real


def slope(x, y, out):
    out[0] = x[0]
    for i in range(1, x.size):
        out[i] = x[i] * y[i - 1]


@program(case(real(5), 3), case(real(2), 2), case(real(5), 0))
def chain_of_stages(x, steps):
    """Each stage is filled in two parts, and read by the next one."""
    y, k1, k2, k3 = np.zeros(x.size), np.empty(x.size), np.empty(x.size), np.empty(x.size)
    for _ in range(steps):
        slope(x, y, k1)
        slope(x, y + 0.3 * k1, k2)
        slope(x, y + 0.6 * k2, k3)
        y += 0.1 * (k1 + 2.0 * k2 + k3)
    return y


@program(case(real(5), 3))
def one_buffer_for_all_stages(x, steps):
    y, k = x.copy(), np.empty(x.size)
    total = np.zeros(x.size)
    for _ in range(steps):
        slope(x, y, k)
        total = total + k * y
        slope(x, y + 0.3 * k * k, k)
        y = y + 0.1 * k * total
    return y + total


@program(case(real(7), real(), 3), case(real(2), real(), 2), compiled=True)
def fluxes(start, viscosity, steps):
    """What flows through each face, the outer ones told apart; the state is kept once, though two read it."""
    u = start.copy()
    n = len(u)
    f = np.empty(n + 1)
    for _ in range(steps):
        f[0] = 0.5 * u[0] ** 2
        f[n] = 0.5 * u[n - 1] ** 2
        for i in range(1, n):
            f[i] = 0.25 * (u[i] ** 2 + u[i - 1] ** 2) - viscosity * (u[i] - u[i - 1])
        for i in range(n):
            u[i] = u[i] - 0.1 * (f[i + 1] - f[i]) * u[i]
    return u


@program(case(real(6), 3), case(real(1), 2))
def rolled(start, steps):
    u = start
    for _ in range(steps):
        k = u * (np.roll(u, 1) - np.roll(u, -1))
        middle = u + 0.2 * k
        u = u + 0.4 * middle * (np.roll(middle, 2) - np.roll(middle, -1))
    return u


@program(case(real(7), 3))
def copies_with_another_inside(start, steps):
    u = start
    for _ in range(steps):
        w = u.copy()
        w[1:-1] = u[1:-1] - 0.1 * (u[2:] - u[:-2])
        z = w.copy()
        z[1:-1] = w[1:-1] * (1 - 0.1 * (w[2:] - w[:-2])) + u[1:-1] ** 2 * 0.1
        u = 0.5 * (z + w * z)
    return u


@program(case(real(4, 5), 3))
def grid_with_another_inside(start, steps):
    u = start
    for _ in range(steps):
        w = u.copy()
        w[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u = w + 0.1 * w * w * (1 - w) + 0.01 * u * w
    return u


@program(case(real(5), 4))
def stale_first_element(x, steps):
    """k[0] is what the second stage of the step before has left."""
    k, y = np.full(x.size, 0.5), x.copy()
    for _ in range(steps):
        for i in range(1, x.size):
            k[i] = y[i - 1] * x[i]
        z = y + 0.1 * k * k
        for i in range(x.size - 1):
            k[i] = z[i + 1] * x[i]
        y = y + 0.2 * k * z
    return y


@program(case(real(5), 4))
def one_branch_fills_all(x, steps):
    y, w = x.copy(), np.zeros(x.size)
    for t in range(steps):
        if t % 2 == 0:
            for i in range(x.size):
                w[i] = y[i] * y[i]
        else:
            for i in range(x.size - 1):
                w[i] = y[i + 1] * y[i]
        y = y + 0.1 * w * np.sin(w)
    return y


@program(case(real(5), 4))
def numbers_that_change_with_the_steps(x, steps):
    y, t, sign = x.copy(), 0.1, 1.0
    for _ in range(steps):
        w = np.empty(x.size)
        w[0] = y[-1] * t
        w[-1] = y[0] * sign
        for i in range(1, x.size - 1):
            w[i] = y[i + 1] * sign + y[i - 1] * t
        y = y + 0.1 * w * w * y
        t += 0.25
        sign = -sign
    return y


@program(case(real(5), 3))
def summed_up_and_then_squared(x, steps):
    """An array that starts at zero, is added to, and changed in its place."""
    y = x.copy()
    for _ in range(steps):
        w = np.zeros(x.size)
        w += 0.5 * y
        w[1:] += y[:-1] * x[1:]
        w *= w
        y = y + 0.1 * w * np.roll(w, 1) * y
    return y


@program(case(real(4), 3))
def elements_set_twice(x, steps):
    y, w = x.copy(), np.empty(x.size)
    for _ in range(steps):
        for i in range(x.size):
            w[i] = 2.0 * y[i]
        w[1] = y[0] * y[2]
        for i in range(x.size):
            y[i] = y[i] + 0.1 * w[i] * w[i - 1] * y[i]
    return y


@program(case(real(4), 3))
def changed_between_stages(x, steps):
    """The state is not what it was when w was filled."""
    y, w, z = x.copy(), np.empty(x.size), np.empty(x.size)
    for _ in range(steps):
        for i in range(x.size):
            w[i] = 0.5 * y[i] * x[i]
        for i in range(1, x.size):
            y[i] = y[i] * y[i - 1] + w[i]
        for i in range(x.size):
            z[i] = w[i - 1] * y[i]
        y = y + 0.1 * w * z * y
    return y


@program(case(real(4), 4.0), case(real(4), 0.0))
def until_it_is_long(x, bound):
    """As many steps as the data decide."""
    y, k = x.copy(), np.empty_like(x)
    while np.sum(y * y) < bound:
        slope(x, y, k)
        z = 1.2 * y + 0.1 * k * k + 0.1
        slope(z, y, k)
        y = y + 0.1 * z * np.sqrt(z * z + 1.0) + 0.01 * k
    return y


@program(case(real(4), 2))
def steps_within_steps(x, steps):
    y, k = x.copy(), np.empty(x.size)
    for _ in range(steps):
        for _ in range(steps):
            slope(x, y, k)
            z = y + 0.1 * k * y
            y = y + 0.1 * z * z * k
        y = y * (1.0 + 0.1 * y)
    return y


@program(case(real(5), 3))
def down_from_the_end(x, steps):
    y, k = x.copy(), np.empty(x.size)
    for _ in range(steps):
        k[x.size - 1] = y[0]
        for i in range(x.size - 2, -1, -1):
            k[i] = y[i + 1] * x[i]
        for i in range(x.size):
            y[i] = y[i] + 0.1 * k[i] * k[i - 1] * y[i]
    return y


def mixed(y, z):
    """The step at which all the following end: it needs the neighbours of what a stage made."""
    for i in range(1, y.size - 1):
        y[i] += 0.1 * z[i - 1] * z[i + 1] * y[i + 1]


@program(case(real(6), 3), compiled=True)
def both_buffers_used_again(x, steps):
    """What the second stage puts into z is made of what the first one has left there."""
    y, k, z = 0.5 * x, np.empty(x.size), np.empty(x.size)
    for _ in range(steps):
        slope(x, y, k)
        for i in range(x.size):
            z[i] = y[i] + 0.1 * k[i]
        slope(x, z, k)
        for i in range(x.size):
            z[i] = y[i] + 0.2 * k[i]
        mixed(y, z)
    return y


@program(case(real(6), 3))
def one_row_for_each_stage(x, steps):
    """Both rows are made of k, which is another one for each."""
    y, k, z = x.copy(), np.empty(x.size), np.empty((2, x.size))
    for _ in range(steps):
        slope(x, y, k)
        for i in range(x.size):
            z[0, i] = y[i] + k[i]
        slope(y, x, k)
        for i in range(x.size):
            z[1, i] = y[i] + k[i]
        for i in range(1, x.size - 1):
            y[i] += 0.1 * z[0, i - 1] * z[1, i + 1] * z[0, i + 1]
    return y


@program(case(real(5), 3))
def set_and_then_scaled(x, steps):
    y, z = 0.5 * x, np.empty(x.size)
    for _ in range(steps):
        for i in range(x.size):
            z[i] = 0.0
        for i in range(x.size):
            z[i] = x[i] * y[i]
            z[i] = z[i] * y[i] + 1.0
        mixed(y, z)
    return y


@program(case(real(5), 3))
def handed_on_twice(x, steps):
    y, k, z, w = 0.5 * x, np.empty(x.size), np.empty(x.size), np.zeros(x.size)
    for _ in range(steps):
        for i in range(x.size):
            k[i] = x[i] * y[i]
            w[i] = k[i] + 1.0
            k[i] = w[i] * k[i]
            z[i] = y[i] + k[i] * w[i]
        for i in range(1, x.size - 1):
            y[i] += 0.1 * z[i - 1] * z[i + 1] * w[i - 1] * k[i + 1]
    return y


@program(case(real(6), 3))
def number_of_the_step_before(x, steps):
    """The first elements are made with the s that the step before has left."""
    y, z, s = 0.5 * x, np.empty(x.size), 0.3
    for _ in range(steps):
        for i in range(3):
            z[i] = s * x[i] * y[i]
        for i in range(3, x.size):
            s = y[i] * y[i]
            z[i] = s * x[i]
        mixed(y, z)
    return y


@program(case(real(6), 3))
def neighbour_set_on_the_way(x, steps):
    y, k, z = 0.5 * x, np.empty(x.size), np.empty(x.size)
    for _ in range(steps):
        k[0] = y[0]
        for i in range(1, x.size):
            k[i - 1] = 5.0 * y[i]
            k[i] = x[i] * y[i]
        for i in range(x.size):
            z[i] = y[i] + k[i]
        mixed(y, z)
    return y


@program(case(real(6), 3))
def two_elements_an_iteration(x, steps):
    y, k, z = 0.5 * x, np.empty(x.size), np.empty(x.size + 1)
    for _ in range(steps):
        slope(x, y, k)
        z[0] = 0.0
        for i in range(x.size):
            z[i + 1] = y[i] + k[i]
            z[i] = 2.0 * y[i] + k[i]
        mixed(y, z)
    return y


@program(case(real(6), 2, 3), case(real(6), -1, 3), case(real(6), -3, 2))
def element_counted_from_the_end(x, j, steps):
    y, k, z = 0.5 * x, np.zeros(x.size), np.empty(x.size + 1)
    for _ in range(steps):
        for i in range(j):
            k[i] = x[i] * y[i]
        for i in range(j + 1, x.size):
            k[i] = x[i] + y[i]
        k[j] = 3.0 * y[j]
        z[x.size] = 2.0 * y[0]
        for i in range(x.size):
            z[i] = 2.0 * y[i] + k[i]
        for i in range(1, x.size - 1):
            y[i] += 0.1 * z[i - 1] * z[i + 1] * z[i + 2]
    return y


@program(case(real(5), real(4, 4), 3))
def view_in_a_product(x, a, steps):
    y, z = 0.5 * x, np.empty(x.size - 1)
    for _ in range(steps):
        rest = y[1:]
        w = a @ rest
        for i in range(x.size - 1):
            z[i] = rest[i] * x[i]
        for i in range(x.size - 1):
            y[i + 1] = rest[i] + 0.01 * z[i] * z[i] * w[i] * rest[i]
        y[0] = y[0] * y[1]
    return y


@program(case(real(6), 3))
def copy_of_what_is_filled(x, steps):
    y, k, z = 0.5 * x, np.empty(x.size), np.empty(x.size)
    for _ in range(steps):
        z[:] = x[0]
        k[:] = z
        for i in range(x.size):
            k[i] = k[i] * y[i]
        z = k.copy()
        z[2] = y[1]
        for i in range(1, x.size - 1):
            y[i] += 0.1 * k[i - 1] * z[i + 1] * z[i - 1]
    return y


@program(case(positive(3), 1), case(positive(1), 1), case(positive(5), 2), compiled=True)
def last_element_met_twice(x, steps):
    """y[-1] is y[n - 1]: what it was, when it is met again, no snapshot of y has."""
    y, z = 0.5 * x, np.empty(x.size)
    for _ in range(steps):
        for i in range(1, x.size):
            z[i] = y[i - 1] * y[i] * x[i]
        z[0] = y[0]
        for i in range(-1, x.size):
            y[i] = y[i] * z[i] * y[i]
    return y
