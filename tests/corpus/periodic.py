"""Grids without ends: neighbours of the first element are at the last one."""

from __future__ import annotations

import numpy as np

from .registry import FLOAT64, case, number, positive, program, real

WIDE = (FLOAT64,)
STEPS = (
    case(real(6), real(6), 2),
    case(real(1), real(1), 1, dtypes=WIDE),
    case(real(2), real(2), -7, dtypes=WIDE),
    case(real(0), real(0), 1, dtypes=WIDE),
)


@program(*STEPS)
def ring_by_steps(u, w, k):
    y = np.zeros_like(u)
    for t in range(2):
        u = u + 0.1 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1)) * np.roll(w, k)
        y += np.roll(u, k) * u
    return y


@program(*STEPS)
def ring_by_remainders(u, w, k):
    n = u.shape[0]
    y = np.empty_like(u)
    for i in range(n):
        ahead = (i + 1) % n
        y[i] = u[ahead] * u[(i - 1) % n] - w[i] * u[(i + k) % n]
    return y


@program(*STEPS)
def ring_from_the_end(u, w, k):
    n = u.shape[0]
    now, then = u.copy(), np.zeros_like(u)
    for t in range(3):
        for i in range(n):
            then[i] = now[i] + 0.1 * now[i - 1] * now[i] - 0.2 * now[(i + t) % n]
        now, then = then, now
    return now * then + w


@program(*STEPS)
def ring_in_place(u, w, k):
    y = u * w
    y += np.roll(y, 1)
    y[:] = np.roll(y, k) * y
    return y * np.roll(y[::-1], -k)


@program(*STEPS)
def added_to_the_next(u, w, k):
    n = u.shape[0]
    y = np.zeros_like(u)
    for i in range(n):
        y[(i + 1) % n] += u[i] * w[i]
        y[i] += u[i] ** 2
    return y


@program(case(real(6), real(6)))
def advected_in_order(u, w):
    """Each element is made of the one before it, which has just been made, but for the first one."""
    n = u.shape[0]
    y = u * w
    for i in range(n):
        y[i] = y[i - 1] * 0.5 + u[(i + 1) % n]
    return y


@program(case(real(7), positive(7), 3), case(real(3), positive(3), 1, dtypes=WIDE))
def lorenz_96(x, force, steps):
    n = x.shape[0]
    for _ in range(steps):
        d = np.empty_like(x)
        for i in range(n):
            d[i] = (x[(i + 1) % n] - x[(i - 2) % n]) * x[i - 1] - x[i] + force[i]
        x = x + 0.05 * d
    return x


@program(case(real(5, 4), real(5, 4), 2), case(real(1, 3), real(1, 3), 1, dtypes=WIDE))
def reaction_on_a_torus(u, v, steps):
    for _ in range(steps):
        du = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u
        dv = np.roll(v, (1, -1), (0, 1)) + np.roll(v, (-1, 1), (0, 1)) - 2.0 * v
        rate = u * v * v
        u, v = u + 0.2 * du - rate + 0.03 * (1.0 - u), v + 0.1 * dv + rate - 0.09 * v
    return u * v


@program(case(real(4, 5), real(4, 5), number(0.3)), case(real(1, 2), real(1, 2), number(0.3), dtypes=WIDE))
def energy_of_a_lattice(spins, coupling, field):
    n, m = spins.shape
    energy = 0.0
    for i in range(n):
        for j in range(m):
            around = spins[(i + 1) % n, j] + spins[i, (j + 1) % m] + spins[i - 1, j - 1]
            energy -= spins[i, j] * (around * coupling[i, j] + field)
    return energy


@program(case(real(5, 4), real(5, 4), 3), case(real(2, 3), real(2, 3), -1, dtypes=WIDE))
def rolled_as_one_row(u, w, k):
    return np.roll(u, k) * w + np.roll(np.roll(w, 2, 0), k, 1) * u


@program(case(real(5)), case(real(2)), case(real(1)), case(real(0)), compiled=True)
def sums_of_neighbours_on_a_ring(u):
    n = u.size
    out = np.zeros(n)
    for i in range(n):
        for k in range(-1, 2):
            out[i] += u[(i + k) % n] ** 2
    return out


@program(case(real(4, 5)), case(real(2, 3)), case(real(1, 2)), compiled=True)
def life_on_a_torus(u):
    """Which neighbours count is known, once the loops over them are written out."""
    n, m = u.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    if not (a == 0 and b == 0):
                        s += u[(i + a) % n, (j + b) % m]
            out[i, j] = np.sin(s) * u[i, j]
    return out
