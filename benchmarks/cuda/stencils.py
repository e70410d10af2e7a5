"""Heat in one, two and three dimensions, in place by slices and as loops over two buffers; and Burgers' equation.

Heat is linear: its sweep reads nothing of the forward one.  Burgers' equation is not: every step's state is kept.
"""

import numpy as np

from benchmarks.cuda.program import STREAM, DeviceProgram
from benchmarks.programs.libraries import jnp, lax, torch
from benchmarks.programs.program import Size

STEPS = 10

# ---- in place


def heat_1d_slices(u, rate, steps):
    for _ in range(steps):
        u[1:-1] += rate * (u[2:] + u[:-2] - 2.0 * u[1:-1])


def heat_2d_slices(u, rate, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += rate * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])


def heat_3d_slices(u, rate, steps):
    for _ in range(steps):
        u[1:-1, 1:-1, 1:-1] += rate * (
            u[2:, 1:-1, 1:-1]
            + u[:-2, 1:-1, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:]
            + u[1:-1, 1:-1, :-2]
            - 6.0 * u[1:-1, 1:-1, 1:-1]
        )


# ---- two buffers


def heat_1d_buffers(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            then[i] = now[i] + rate * (now[i + 1] + now[i - 1] - 2.0 * now[i])
        now, then = then, now
    return now


def heat_2d_buffers(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                near = now[i + 1, j] + now[i - 1, j] + now[i, j + 1] + now[i, j - 1]
                then[i, j] = now[i, j] + rate * (near - 4.0 * now[i, j])
        now, then = then, now
    return now


def heat_3d_buffers(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                for k in range(1, u.shape[2] - 1):
                    near = now[i + 1, j, k] + now[i - 1, j, k] + now[i, j + 1, k] + now[i, j - 1, k]
                    near += now[i, j, k + 1] + now[i, j, k - 1]
                    then[i, j, k] = now[i, j, k] + rate * (near - 6.0 * now[i, j, k])
        now, then = then, now
    return now


def burgers(u, rate, steps):
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            slope = now[i + 1] - now[i - 1]
            then[i] = now[i] - rate * now[i] * slope + rate * (now[i + 1] + now[i - 1] - 2.0 * now[i])
        now, then = then, now
    return now


# ---- the peers: one text for any number of dimensions


def inside(u):
    return (slice(1, -1),) * u.ndim


def change(u):
    """What flows in from the neighbours."""
    middle = inside(u)
    out = -2.0 * u.ndim * u[middle]
    for axis in range(u.ndim):
        for there in (slice(2, None), slice(None, -2)):
            out = out + u[(*middle[:axis], there, *middle[axis + 1 :])]
    return out


def heat_step_torch(u, rate):
    u = u.clone()
    u[inside(u)] += rate * change(u)
    return u


def heat_torch(u, rate, steps):
    for _ in range(steps):
        u = heat_step_torch(u, rate)
    return u


def heat_jax(u, rate, steps):
    def step(u, _):
        return u.at[inside(u)].add(rate * change(u)), None

    return lax.scan(step, u, length=steps)[0]


def burgers_inside(u, rate):
    here = u[1:-1]
    return here - rate * here * (u[2:] - u[:-2]) + rate * (u[2:] + u[:-2] - 2.0 * here)


def burgers_torch(u, rate, steps):
    for _ in range(steps):
        u = torch.cat((u[:1], burgers_inside(u, rate), u[-1:]))
    return u


def burgers_jax(u, rate, steps):
    def step(u, _):
        return jnp.concatenate((u[:1], burgers_inside(u, rate), u[-1:])), None

    return lax.scan(step, u, length=steps)[0]


# ---- data


def rod(rng, n, steps):
    return rng.normal(size=n), 0.1, steps


def plate(rng, n, steps):
    return rng.normal(size=(n, n)), 0.1, steps


def block(rng, n, steps):
    return rng.normal(size=(n, n, n)), 0.1, steps


def wave(rng, n, steps):
    return np.sin(np.linspace(0.0, 20.0, n)) + 0.1 * rng.normal(size=n), 0.1, steps


def sizes(*lengths):
    return tuple(Size(n, STEPS) for n in lengths)


def read_and_written(u, rate, steps):
    """The cotangent of the state, at every step."""
    return 2 * steps * u.nbytes


def with_states(u, rate, steps):
    """Forward, a state is read and the next one written; back, the state beside the cotangent."""
    return 5 * steps * u.nbytes


def heat(name, primal, data, lengths, tiny, **more):
    return DeviceProgram(name, STREAM, primal, data, ("u",), (tiny, 2), sizes(*lengths), jax=heat_jax, torch=heat_torch,
                         shape=lambda u, *_: u.shape, moved=read_and_written, **more)  # fmt: skip


LENGTHS = {1: (100_000, 10_000_000), 2: (316, 3_162), 3: (46, 215)}
# fmt: off
PROGRAMS = (
    heat("heat_1d_slices", heat_1d_slices, rod, LENGTHS[1], 6, writes="u"),
    heat("heat_2d_slices", heat_2d_slices, plate, LENGTHS[2], 4, writes="u"),
    heat("heat_3d_slices", heat_3d_slices, block, LENGTHS[3], 4, writes="u"),
    heat("heat_1d_buffers", heat_1d_buffers, rod, LENGTHS[1], 6),
    heat("heat_2d_buffers", heat_2d_buffers, plate, LENGTHS[2], 4),
    heat("heat_3d_buffers", heat_3d_buffers, block, LENGTHS[3], 4),
    DeviceProgram("burgers", STREAM, burgers, wave, ("u",), (6, 2), sizes(*LENGTHS[1]),
                  jax=burgers_jax, torch=burgers_torch, shape=lambda u, *_: u.shape, moved=with_states),
)
# fmt: on
