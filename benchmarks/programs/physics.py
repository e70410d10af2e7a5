"""Bodies that attract each other, all pairs, by steps."""

import numpy as np

from benchmarks.programs.libraries import anp, jnp, lax, torch
from benchmarks.programs.program import LOOPS, Program, Size, by_hand

SOFT = 0.05


def n_body(x, v, m, dt, steps):
    x, v = x.copy(), v.copy()
    n = m.size
    for _ in range(steps):
        for i in range(n):
            for j in range(i):
                dx, dy, dz = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
                r2 = dx * dx + dy * dy + dz * dz + SOFT
                pull = dt / (r2 * np.sqrt(r2))
                v[i, 0] -= m[j] * pull * dx
                v[i, 1] -= m[j] * pull * dy
                v[i, 2] -= m[j] * pull * dz
                v[j, 0] += m[i] * pull * dx
                v[j, 1] += m[i] * pull * dy
                v[j, 2] += m[i] * pull * dz
        for i in range(n):
            for a in range(3):
                x[i, a] += dt * v[i, a]
    return x


def data(rng, bodies, steps):
    return rng.normal(size=(bodies, 3)), 0.1 * rng.normal(size=(bodies, 3)), rng.uniform(0.5, 1.0, bodies), 0.01, steps


@by_hand
def n_body_adjoint(x, v, m, dt, steps, seed):
    n = m.size
    xs = np.empty((steps + 1, n, 3))
    xs[0] = x
    v = v.copy()
    for s in range(steps):
        p = xs[s]
        for i in range(n):
            for j in range(i):
                dx, dy, dz = p[i, 0] - p[j, 0], p[i, 1] - p[j, 1], p[i, 2] - p[j, 2]
                r2 = dx * dx + dy * dy + dz * dz + SOFT
                pull = dt / (r2 * np.sqrt(r2))
                v[i, 0] -= m[j] * pull * dx
                v[i, 1] -= m[j] * pull * dy
                v[i, 2] -= m[j] * pull * dz
                v[j, 0] += m[i] * pull * dx
                v[j, 1] += m[i] * pull * dy
                v[j, 2] += m[i] * pull * dz
        for i in range(n):
            for a in range(3):
                xs[s + 1, i, a] = p[i, a] + dt * v[i, a]
    x_b, v_b, m_b = seed.copy(), np.zeros((n, 3)), np.zeros(n)
    for s in range(steps - 1, -1, -1):
        p = xs[s]
        for i in range(n):
            for a in range(3):
                v_b[i, a] += dt * x_b[i, a]
        for i in range(n):
            for j in range(i):
                dx, dy, dz = p[i, 0] - p[j, 0], p[i, 1] - p[j, 1], p[i, 2] - p[j, 2]
                r2 = dx * dx + dy * dy + dz * dz + SOFT
                pull = dt / (r2 * np.sqrt(r2))
                along_i = v_b[i, 0] * dx + v_b[i, 1] * dy + v_b[i, 2] * dz
                along_j = v_b[j, 0] * dx + v_b[j, 1] * dy + v_b[j, 2] * dz
                m_b[j] -= pull * along_i
                m_b[i] += pull * along_j
                g = -3.0 * pull / r2 * (m[i] * along_j - m[j] * along_i)
                gx = g * dx + pull * (m[i] * v_b[j, 0] - m[j] * v_b[i, 0])
                gy = g * dy + pull * (m[i] * v_b[j, 1] - m[j] * v_b[i, 1])
                gz = g * dz + pull * (m[i] * v_b[j, 2] - m[j] * v_b[i, 2])
                x_b[i, 0] += gx
                x_b[i, 1] += gy
                x_b[i, 2] += gz
                x_b[j, 0] -= gx
                x_b[j, 1] -= gy
                x_b[j, 2] -= gz
    return x_b, v_b, m_b


def n_body_jax(x, v, m, dt, steps):
    def step(state, _):
        x, v = state
        d = x[:, None, :] - x
        r2 = jnp.sum(d * d, axis=2) + SOFT
        pull = dt / (r2 * jnp.sqrt(r2))
        v = v - jnp.sum((m * pull)[:, :, None] * d, axis=1)
        return (x + dt * v, v), None

    return lax.scan(step, (x, v), length=steps)[0][0]


def n_body_torch(x, v, m, dt, steps):
    for _ in range(steps):
        d = x[:, None, :] - x
        r2 = torch.sum(d * d, dim=2) + SOFT
        pull = dt / (r2 * torch.sqrt(r2))
        v = v - torch.sum((m * pull)[:, :, None] * d, dim=1)
        x = x + dt * v
    return x


def n_body_autograd(x, v, m, dt, steps):
    for _ in range(steps):
        d = x[:, None, :] - x
        r2 = anp.sum(d * d, axis=2) + SOFT
        pull = dt / (r2 * anp.sqrt(r2))
        v = v - anp.sum((m * pull)[:, :, None] * d, axis=1)
        x = x + dt * v
    return x


# fmt: off
PROGRAMS = (
    Program("n_body", LOOPS, n_body, data, ("x", "v", "m"), (3, 2), (Size(50, 20),),
            n_body_adjoint, n_body_jax, n_body_torch, n_body_autograd, shape=lambda x, *_: x.shape),
)
# fmt: on
