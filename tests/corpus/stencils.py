"""Stencils, whose adjoints add to neighbours: of many shapes, down to grids that are all border."""

from __future__ import annotations

import numpy as np

from .registry import case, number, program, real


@program(
    case(real(6, 7), number(0.2)),
    case(real(3, 3), number(0.2)),
    case(real(2, 5), number(0.2)),
    case(real(4, 3), number(0.2)),
    case(real(5, 1), number(0.2)),
)
def five_points(u, rate):
    for _ in range(2):
        u[1:-1, 1:-1] += rate * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return u


@program(case(real(5, 8)), case(real(5, 5)), case(real(6, 4)))
def far_along_the_row(u):
    """Neighbours up to four apart: a short row has no middle."""
    return u[:, :-4] - 2.0 * u[:, 1:-3] + 3.0 * u[:, 2:-2] + u[:, 3:-1] * 0.5 - u[:, 4:]


@program(case(real(4, 5, 6), real(4, 5, 6)), case(real(3, 3, 3), real(3, 3, 3)))
def two_fields(u, w):
    new = np.zeros_like(u)
    c = u[1:-1, 1:-1, 1:-1]
    new[1:-1, 1:-1, 1:-1] = (
        0.3 * (u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1])
        + 0.2 * (w[1:-1, 2:, 1:-1] - w[1:-1, :-2, 1:-1])
        + 0.1 * (u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] + w[1:-1, 1:-1, 2:] - 3.0 * w[1:-1, 1:-1, :-2])
        - c
    )
    return new


@program(case(real(6, 6), real(6, 6)), case(real(4, 3), real(4, 3)))
def staggered(p, v):
    """Loops of the user's own, over a range that does not begin at 0, and neighbours on one side."""
    n, m = p.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = v[i, j] * (p[i, j] + p[i, j + 1] + p[i + 1, j] + p[i + 1, j + 1] + p[i - 1, j - 1])
    return out


@program(case(real(9), 3), case(real(9), 0), case(real(4), 1))
def part_of_the_row(x, n):
    """How far the loop goes is known at the call."""
    y = np.zeros(x.size)
    for i in range(n):
        y[i] = x[i] + 2.0 * x[i + 1] - x[i + 2] + 0.5 * x[i + 3]
    return y


@program(case(real(7, 6)), case(real(3, 4)))
def two_buffers(u):
    new = u.copy()
    for _ in range(3):
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) + 0.1 * u[2:, 2:]
        u, new = new, u
    return u


@program(case(real(7), 0.1, 4), case(real(7), 0.1, 0), case(real(2), 0.1, 3), compiled=True)
def burgers(start, h, steps):
    """What is kept for the way back is what the step reads: the array may change meanwhile."""
    u = start.copy()
    for _ in range(steps):
        u[1:-1] -= h * u[1:-1] * (u[2:] - u[:-2])
    return u


@program(case(real(5, 6), real(5, 6), 3), case(real(5, 6), real(5, 6), 1))
def two_fields_in_place(a, b, steps):
    u, w = a.copy(), b.copy()
    for _ in range(steps):
        change = 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[1:-1, 1:-1] += change * w[1:-1, 1:-1]
        w[1:-1, 1:-1] *= 1 - 0.1 * u[1:-1, 1:-1] ** 2
    return u * w


@program(case(real(8), 3), case(real(8), 2))
def border_first(start, steps):
    """The array changes between what is kept and what is read."""
    u = start.copy()
    for _ in range(steps):
        u[0] = u[1] * u[-2]
        change = np.sin(u[2:] * u[:-2])
        u[-1] = u[0] * 0.5
        u[1:-1] += change * u[-1]
    return u


@program(case(real(8), 3))
def through_a_row(start, steps):
    """It changes under another name."""
    u = np.stack((start, start * 2))
    top = u[0]
    for _ in range(steps):
        change = u[0, 2:] * u[1, :-2]
        top[1:-1] += change
        u[1, 1:-1] += change * top[1:-1]
    return u
