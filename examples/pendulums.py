"""The damping of many pendulums, each found from where it was last seen: a trajectory per thread of a GPU.

Newton's method, for all of them at once.  A pendulum's angle depends on its own damping alone, so one backward with
v = 1 gives every slope.  All arrays stay on the device from the first step to the last.
"""

import numpy as np
from numba import cuda
from numba.core import config

from srcgrad import grad

SIMULATED = bool(config.ENABLE_CUDASIM)
ON_A_GPU = SIMULATED or cuda.is_available()
TARGET = "cuda" if ON_A_GPU else "cpu"
PENDULUMS, STEPS = (12, 10) if SIMULATED else (100_000, 100) if ON_A_GPU else (2_000, 100)
END = 2.0


def pendulum(angle, speed, damping):
    return speed, -np.sin(angle) - damping * speed


@grad(wrt="damping", target=TARGET)
def swing(damping, start, dt, steps):
    """Where each pendulum is at the end, by the classical Runge-Kutta scheme."""
    seen = np.empty_like(start)
    for i in range(start.size):
        angle, speed, d = start[i], 0.0, damping[i]
        for _ in range(steps):
            a1, s1 = pendulum(angle, speed, d)
            a2, s2 = pendulum(angle + 0.5 * dt * a1, speed + 0.5 * dt * s1, d)
            a3, s3 = pendulum(angle + 0.5 * dt * a2, speed + 0.5 * dt * s2, d)
            a4, s4 = pendulum(angle + dt * a3, speed + dt * s3, d)
            angle += dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
            speed += dt / 6.0 * (s1 + 2.0 * s2 + 2.0 * s3 + s4)
        seen[i] = angle
    return seen


@grad(target=TARGET)
def improved(damping, angle, slope, seen):
    return damping - (angle - seen) / slope


@grad(target=TARGET)
def largest(angle, seen):
    return np.max(np.abs(angle - seen))


def main():
    if SIMULATED:
        print("In Numba's simulator of a GPU, with few pendulums and few steps.")
    elif ON_A_GPU:
        print(f"On a GPU: {cuda.get_current_device().name}.")
    else:
        print("There is no NVIDIA GPU here (or no driver, or no numba-cuda): the same functions run on the CPU.")
    put = cuda.to_device if ON_A_GPU else np.asarray
    rng = np.random.default_rng(0)
    true = rng.uniform(0.2, 0.8, PENDULUMS)
    start, v = put(rng.uniform(0.5, 1.5, PENDULUMS)), put(np.ones(PENDULUMS))
    seen = swing(put(true), start, END / STEPS, STEPS)

    damping = put(np.full(PENDULUMS, 0.5))
    for step in range(5):
        angle, slope = swing.value_and_backward(damping, start, END / STEPS, STEPS, v)
        off = on_host(largest(angle, seen))
        print(f"step {step}: the largest angle between what is computed and what was seen is {off:.1e}")
        damping = improved(damping, angle, slope, seen)
    error = np.abs(on_host(damping) - true).max()
    print(f"the damping of {PENDULUMS:,} pendulums, found to {error:.1e}")
    assert error < 1e-8


def on_host(value):
    return value.copy_to_host()[()] if hasattr(value, "copy_to_host") else value


if __name__ == "__main__":
    main()
