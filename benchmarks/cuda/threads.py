"""Loops that each thread runs for itself: trajectories by Runge-Kutta, iterations that end when they do, mixtures."""

import numpy as np

from benchmarks.cuda.program import OTHER, THREAD, DeviceProgram, on_device
from benchmarks.programs import PROGRAMS as KNOWN
from benchmarks.programs.libraries import jnp, lax, torch
from benchmarks.programs.program import Size

# ---- trajectories of Lorenz' system, from many starts, each with a rho of its own


def lorenz(x, y, z, rho):
    return 10.0 * (y - x), x * (rho - z) - y, x * y - 8.0 / 3.0 * z


def rk4_ensemble(xs, ys, zs, rhos, dt, steps):
    out = np.empty_like(xs)
    for i in range(xs.size):
        x, y, z, rho = xs[i], ys[i], zs[i], rhos[i]
        for _ in range(steps):
            x1, y1, z1 = lorenz(x, y, z, rho)
            x2, y2, z2 = lorenz(x + 0.5 * dt * x1, y + 0.5 * dt * y1, z + 0.5 * dt * z1, rho)
            x3, y3, z3 = lorenz(x + 0.5 * dt * x2, y + 0.5 * dt * y2, z + 0.5 * dt * z2, rho)
            x4, y4, z4 = lorenz(x + dt * x3, y + dt * y3, z + dt * z3, rho)
            x += dt / 6.0 * (x1 + 2.0 * x2 + 2.0 * x3 + x4)
            y += dt / 6.0 * (y1 + 2.0 * y2 + 2.0 * y3 + y4)
            z += dt / 6.0 * (z1 + 2.0 * z2 + 2.0 * z3 + z4)
        out[i] = x * x + y * y + z * z
    return out


def rk4_step(x, y, z, rho, dt):
    """All trajectories at once: the same text for PyTorch and JAX."""
    x1, y1, z1 = lorenz(x, y, z, rho)
    x2, y2, z2 = lorenz(x + 0.5 * dt * x1, y + 0.5 * dt * y1, z + 0.5 * dt * z1, rho)
    x3, y3, z3 = lorenz(x + 0.5 * dt * x2, y + 0.5 * dt * y2, z + 0.5 * dt * z2, rho)
    x4, y4, z4 = lorenz(x + dt * x3, y + dt * y3, z + dt * z3, rho)
    return (
        x + dt / 6.0 * (x1 + 2.0 * x2 + 2.0 * x3 + x4),
        y + dt / 6.0 * (y1 + 2.0 * y2 + 2.0 * y3 + y4),
        z + dt / 6.0 * (z1 + 2.0 * z2 + 2.0 * z3 + z4),
    )


def rk4_by(step):
    def rk4_torch(x, y, z, rho, dt, steps):
        for _ in range(steps):
            x, y, z = step(x, y, z, rho, dt)
        return x * x + y * y + z * z

    return rk4_torch


def rk4_jax(x, y, z, rho, dt, steps):
    x, y, z = lax.scan(lambda state, _: (rk4_step(*state, rho, dt), None), (x, y, z), length=steps)[0]
    return x * x + y * y + z * z


def starts(rng, trajectories, steps):
    state = [rng.normal(size=trajectories) for _ in range(3)]
    return *state, rng.uniform(20.0, 30.0, trajectories), 0.01, steps


# ---- z ← z² + c until it escapes


def escape(real, imaginary, most):
    out = np.empty_like(real)
    for i in range(real.size):
        x, y, k = 0.0 * real[i], 0.0 * imaginary[i], 0
        while k < most and x * x + y * y < 4.0:
            x, y = x * x - y * y + real[i], 2.0 * x * y + imaginary[i]
            k += 1
        out[i] = x * x + y * y
    return out


def escape_step(x, y, real, imaginary, where):
    """As many rounds for all: who has escaped stays where it is."""
    goes_on = x * x + y * y < 4.0
    return where(goes_on, x * x - y * y + real, x), where(goes_on, 2.0 * x * y + imaginary, y)


def escape_by(step):
    def escape_torch(real, imaginary, most):
        x, y = 0.0 * real, 0.0 * imaginary
        for _ in range(most):
            x, y = step(x, y, real, imaginary)
        return x * x + y * y

    return escape_torch


def escape_step_torch(x, y, real, imaginary):
    return escape_step(x, y, real, imaginary, torch.where)


def escape_jax(real, imaginary, most):
    step = lambda state, _: (escape_step(*state, real, imaginary, jnp.where), None)
    x, y = lax.scan(step, (0.0 * real, 0.0 * imaginary), length=most)[0]
    return x * x + y * y


def points(rng, n, most):
    """Half of them never escape.  Those that take more than ten rounds, or escape by a hair, tell rounding from
    rounding: they are taken out."""
    radius = np.where(rng.uniform(size=n) < 0.5, rng.uniform(0.0, 0.2, n), rng.uniform(1.0, 2.0, n))
    c = radius * np.exp(1j * rng.uniform(0.0, 2.0 * np.pi, n))
    z, hair = np.zeros(n, np.complex128), np.zeros(n, bool)
    for _ in range(10):
        size = z.real**2 + z.imag**2
        hair |= abs(size - 4.0) < 1e-2
        z = np.where(size < 4.0, z * z + c, z)
    c[hair | ((radius > 0.2) & (abs(z) < 2.1))] = 0.1 + 0.1j
    return c.real.copy(), c.imag.copy(), most


MIXTURES = Size(10_000, 10, 25), Size(100_000, 10, 25)
# fmt: off
PROGRAMS = (
    DeviceProgram("rk4_ensemble", THREAD, rk4_ensemble, starts, ("xs", "ys", "zs", "rhos"), (3, 4),
                  (Size(100_000, 100),), jax=rk4_jax, torch=rk4_by(rk4_step),
                  torch_compiled=lambda: rk4_by(torch.compile(rk4_step)), shape=lambda xs, *_: xs.shape),
    DeviceProgram("escape", THREAD, escape, points, ("real", "imaginary"), (6, 12), (Size(1_000_000, 100),),
                  jax=escape_jax, torch=escape_by(escape_step_torch),
                  torch_compiled=lambda: escape_by(torch.compile(escape_step_torch)),
                  shape=lambda real, *_: real.shape),
    on_device(KNOWN["gmm_loops"], OTHER, *MIXTURES, dtypes=("float64",)),
    on_device(KNOWN["gmm_numpy"], OTHER, *MIXTURES, dtypes=("float64",)),
    on_device(KNOWN["mlp"], OTHER, Size(256, 784, 256, 10), Size(8_192, 784, 1_024, 10)),
)
# fmt: on
