"""Numbers that go round a loop: so many times, or until the data say stop."""

import math

import numpy as np

from benchmarks.programs.libraries import anp, jnp, lax, torch
from benchmarks.programs.program import LOOPS, Program, Size, by_hand

# ---- a recurrence


def recurrence(x, r, h, n):
    for _ in range(n):
        x = x + h * r * math.sin(x) * (1.0 - x)
    return x


def recurrence_data(rng, n):
    return 0.3, 1.7, 1.0 / n, n


@by_hand
def recurrence_adjoint(x, r, h, n, v):
    xs, sines = np.empty(n), np.empty(n)
    for k in range(n):
        xs[k], sines[k] = x, math.sin(x)
        x += h * r * sines[k] * (1.0 - x)
    r_b = 0.0
    for k in range(n - 1, -1, -1):
        x, s = xs[k], sines[k]
        r_b += v * h * s * (1.0 - x)
        v += v * h * r * (math.cos(x) * (1.0 - x) - s)
    return v, r_b


def recurrence_jax(x, r, h, n):
    return lax.fori_loop(0, n, lambda _, x: x + h * r * jnp.sin(x) * (1.0 - x), x)


def recurrence_torch(x, r, h, n):
    for _ in range(n):
        x = x + h * r * torch.sin(x) * (1.0 - x)
    return x


def recurrence_autograd(x, r, h, n):
    for _ in range(n):
        x = x + h * r * anp.sin(x) * (1.0 - x)
    return x


# ---- an integrator that chooses its steps: how many there are is known when it arrives


def adaptive(x, rate, most, bound):
    t = 0.0
    while t < 1.0:
        slope = math.cos(3.0 * t) - rate * x * x
        h = min(most / (1.0 + abs(slope)), 1.0 - t)
        x = x + h * slope
        t = t + h
    return x


def adaptive_data(rng, steps):
    return 0.5, 1.3, 1.0 / steps, 3 * steps


@by_hand
def adaptive_adjoint(x, rate, most, bound, v):
    xs, ts = np.empty(64), np.empty(64)
    n, t = 0, 0.0
    while t < 1.0:
        if n == xs.size:
            more, later = np.empty(2 * n), np.empty(2 * n)
            more[:n], later[:n] = xs, ts
            xs, ts = more, later
        xs[n], ts[n] = x, t
        n += 1
        slope = math.cos(3.0 * t) - rate * x * x
        h = min(most / (1.0 + abs(slope)), 1.0 - t)
        x += h * slope
        t += h
    t_b, rate_b = 0.0, 0.0
    for k in range(n - 1, -1, -1):
        x, t = xs[k], ts[k]
        slope = math.cos(3.0 * t) - rate * x * x
        short = most / (1.0 + abs(slope))
        h = min(short, 1.0 - t)
        h_b = v * slope + t_b
        slope_b = v * h
        if short < 1.0 - t:
            slope_b -= h_b * short / (1.0 + abs(slope)) * np.sign(slope)
        else:
            t_b -= h_b
        t_b -= slope_b * 3.0 * math.sin(3.0 * t)
        rate_b -= slope_b * x * x
        v -= slope_b * rate * 2.0 * x
    return v, rate_b


def adaptive_jax(x, rate, most, bound):
    # a while_loop has no reverse mode: as many steps as there may be, and those after the last do nothing
    def step(state):
        x, t = state
        slope = jnp.cos(3.0 * t) - rate * x * x
        h = jnp.minimum(most / (1.0 + jnp.abs(slope)), 1.0 - t)
        return x + h * slope, t + h

    def perhaps(state, _):
        return lax.cond(state[1] < 1.0, step, lambda state: state, state), None

    return lax.scan(perhaps, (x, jnp.zeros_like(x)), length=bound)[0][0]


def adaptive_torch(x, rate, most, bound):
    t = torch.zeros((), dtype=torch.float64)
    while t < 1.0:
        slope = torch.cos(3.0 * t) - rate * x * x
        h = torch.minimum(most / (1.0 + torch.abs(slope)), 1.0 - t)
        x = x + h * slope
        t = t + h
    return x


def adaptive_autograd(x, rate, most, bound):
    t = 0.0
    while t < 1.0:
        slope = anp.cos(3.0 * t) - rate * x * x
        h = anp.minimum(most / (1.0 + anp.abs(slope)), 1.0 - t)
        x = x + h * slope
        t = t + h
    return x


# ---- many short while loops: Newton's method for Kepler's equation, once per orbit


def kepler(mean, eccentricity):
    total = 0.0
    for k in range(mean.size):
        x = mean[k]
        step = 1.0
        while abs(step) > 1e-9:
            step = (x - eccentricity * math.sin(x) - mean[k]) / (1.0 - eccentricity * math.cos(x))
            x -= step
        total += math.cos(x) * mean[k]
    return total


def kepler_data(rng, orbits):
    return rng.uniform(0.0, 2.0 * np.pi, orbits), 0.4


@by_hand
def kepler_adjoint(mean, eccentricity, v):
    mean_b, eccentricity_b = np.empty_like(mean), 0.0
    xs = np.empty(100)  # Newton's method takes four or five
    for k in range(mean.size):
        x, n, step = mean[k], 0, 1.0
        while abs(step) > 1e-9:
            xs[n] = x
            n += 1
            step = (x - eccentricity * math.sin(x) - mean[k]) / (1.0 - eccentricity * math.cos(x))
            x -= step
        x_b, m_b = -v * math.sin(x) * mean[k], v * math.cos(x)
        for i in range(n - 1, -1, -1):
            s, c = math.sin(xs[i]), math.cos(xs[i])
            below = 1.0 / (1.0 - eccentricity * c)
            step = (xs[i] - eccentricity * s - mean[k]) * below
            g = -x_b * below
            m_b -= g
            eccentricity_b += g * (step * c - s)
            x_b += g * (1.0 - eccentricity * c - step * eccentricity * s)
        mean_b[k] = m_b + x_b
    return mean_b, eccentricity_b


def kepler_jax(mean, eccentricity):
    # all orbits at once, as often as the slowest of them may need
    def newton(x, _):
        step = (x - eccentricity * jnp.sin(x) - mean) / (1.0 - eccentricity * jnp.cos(x))
        return x - step, None

    x, _ = lax.scan(newton, mean, length=7)
    return jnp.vdot(jnp.cos(x), mean)


def kepler_torch(mean, eccentricity):
    x = mean
    while True:
        step = (x - eccentricity * torch.sin(x) - mean) / (1.0 - eccentricity * torch.cos(x))
        x = x - step
        if step.abs().max() <= 1e-9:
            return torch.dot(torch.cos(x), mean)


def kepler_autograd(mean, eccentricity):
    x = mean
    while True:
        step = (x - eccentricity * anp.sin(x) - mean) / (1.0 - eccentricity * anp.cos(x))
        x = x - step
        if anp.max(anp.abs(step)) <= 1e-9:
            return anp.dot(anp.cos(x), mean)


# fmt: off
PROGRAMS = (
    Program("recurrence", LOOPS, recurrence, recurrence_data, ("x", "r"), (7,), (Size(10_000),),
            recurrence_adjoint, recurrence_jax, recurrence_torch, recurrence_autograd),
    Program("adaptive", LOOPS, adaptive, adaptive_data, ("x", "rate"), (9,), (Size(5_000),),
            adaptive_adjoint, adaptive_jax, adaptive_torch, adaptive_autograd),
    Program("kepler", LOOPS, kepler, kepler_data, ("mean", "eccentricity"), (5,), (Size(10_000),),
            kepler_adjoint, kepler_jax, kepler_torch, kepler_autograd),
)
# fmt: on
