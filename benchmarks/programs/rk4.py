"""Lorenz 96 by the classical Runge-Kutta scheme, its state rebound at each step."""

import numpy as np

from benchmarks.programs.libraries import anp, jnp, lax, torch
from benchmarks.programs.program import LOOPS, Program, Size, by_hand, by_hand_sums


def lorenz96(x, force):
    d = x.copy()
    for i in range(x.size):
        d[i] = (x[(i + 1) % x.size] - x[i - 2]) * x[i - 1] - x[i] + force
    return d


def rk4(x, force, dt, steps):
    for _ in range(steps):
        k1 = lorenz96(x, force)
        k2 = lorenz96(x + 0.5 * dt * k1, force)
        k3 = lorenz96(x + 0.5 * dt * k2, force)
        k4 = lorenz96(x + dt * k3, force)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return x


def data(rng, n, steps):
    return 8.0 + 0.1 * rng.normal(size=n), 8.0, 1e-3, steps


# ---- by hand: the state of each step is kept, the stages are computed again


@by_hand
def slope(x, force, d):
    n = x.size
    d[0] = (x[1] - x[n - 2]) * x[n - 1] - x[0] + force
    d[1] = (x[2] - x[n - 1]) * x[0] - x[1] + force
    for i in range(2, n - 1):
        d[i] = (x[i + 1] - x[i - 2]) * x[i - 1] - x[i] + force
    d[n - 1] = (x[0] - x[n - 3]) * x[n - 2] - x[n - 1] + force


@by_hand_sums
def slope_adjoint(x, d_b, x_b):
    """x_b = J(x)^T d_b, gathered so that it vectorises; returns the force's part."""
    n = x.size
    for i in range(2, n - 2):
        x_b[i] = x[i - 2] * d_b[i - 1] + (x[i + 2] - x[i - 1]) * d_b[i + 1] - d_b[i] - x[i + 1] * d_b[i + 2]
    for i in (0, 1, n - 2, n - 1):
        ahead, far = (i + 1) % n, (i + 2) % n
        x_b[i] = x[i - 2] * d_b[i - 1] + (x[far] - x[i - 1]) * d_b[ahead] - d_b[i] - x[ahead] * d_b[far]
    force_b = 0.0
    for i in range(n):
        force_b += d_b[i]
    return force_b


@by_hand
def rk4_adjoint(x, force, dt, steps, v):
    n = x.size
    k1, k2, k3, k4 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    x2, x3, x4 = np.empty(n), np.empty(n), np.empty(n)
    states = np.empty((steps + 1, n))
    states[0] = x
    for s in range(steps):
        now, then = states[s], states[s + 1]
        slope(now, force, k1)
        for i in range(n):
            x2[i] = now[i] + 0.5 * dt * k1[i]
        slope(x2, force, k2)
        for i in range(n):
            x3[i] = now[i] + 0.5 * dt * k2[i]
        slope(x3, force, k3)
        for i in range(n):
            x4[i] = now[i] + dt * k3[i]
        slope(x4, force, k4)
        for i in range(n):
            then[i] = now[i] + dt / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
    x_b, force_b = v.copy(), 0.0
    back, k_b = np.empty(n), np.empty(n)
    for s in range(steps - 1, -1, -1):
        now = states[s]
        slope(now, force, k1)
        for i in range(n):
            x2[i] = now[i] + 0.5 * dt * k1[i]
        slope(x2, force, k2)
        for i in range(n):
            x3[i] = now[i] + 0.5 * dt * k2[i]
        slope(x3, force, k3)
        for i in range(n):
            x4[i] = now[i] + dt * k3[i]
            k_b[i] = dt / 6.0 * x_b[i]
            k1[i] = dt / 6.0 * x_b[i]  # from here on k1 is its own adjoint
            k2[i] = dt / 3.0 * x_b[i]
        force_b += slope_adjoint(x4, k_b, back)
        for i in range(n):
            k_b[i] = 2.0 * k1[i] + dt * back[i]
            x_b[i] += back[i]
        force_b += slope_adjoint(x3, k_b, back)
        for i in range(n):
            k_b[i] = k2[i] + 0.5 * dt * back[i]
            x_b[i] += back[i]
        force_b += slope_adjoint(x2, k_b, back)
        for i in range(n):
            k_b[i] = k1[i] + 0.5 * dt * back[i]
            x_b[i] += back[i]
        force_b += slope_adjoint(now, k_b, back)
        for i in range(n):
            x_b[i] += back[i]
    return x_b, force_b


# ---- the peers: the ring is a roll


def rk4_jax(x, force, dt, steps):
    def slope(x):
        return (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + force

    def step(x, _):
        k1 = slope(x)
        k2 = slope(x + 0.5 * dt * k1)
        k3 = slope(x + 0.5 * dt * k2)
        k4 = slope(x + dt * k3)
        return x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return lax.scan(step, x, length=steps)[0]


def rk4_torch(x, force, dt, steps):
    def slope(x):
        return (torch.roll(x, -1) - torch.roll(x, 2)) * torch.roll(x, 1) - x + force

    for _ in range(steps):
        k1 = slope(x)
        k2 = slope(x + 0.5 * dt * k1)
        k3 = slope(x + 0.5 * dt * k2)
        k4 = slope(x + dt * k3)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return x


def rk4_autograd(x, force, dt, steps):
    def slope(x):
        return (anp.roll(x, -1) - anp.roll(x, 2)) * anp.roll(x, 1) - x + force

    for _ in range(steps):
        k1 = slope(x)
        k2 = slope(x + 0.5 * dt * k1)
        k3 = slope(x + 0.5 * dt * k2)
        k4 = slope(x + dt * k3)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return x


# fmt: off
PROGRAMS = (
    Program("rk4", LOOPS, rk4, data, ("x", "force"), (5, 3), (Size(100, 1_000),),
            rk4_adjoint, rk4_jax, rk4_torch, rk4_autograd, shape=lambda x, *_: x.shape),
)
# fmt: on
