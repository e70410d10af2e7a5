"""A rod's conductivity, found from what three snapshots of its temperature say.

The solver is written as one writes it: an in-place stencil, two buffers that change places at each step, a branch that
looks at the snapshots as they come by.  Nothing is rewritten for differentiation.
"""

import numpy as np
from scipy.optimize import minimize

from srcgrad import grad

POINTS, STEPS, EVERY = 40, 600, 200


def step(u, k, new):
    """One explicit step of du/dt = d/dx (k du/dx), with the ends held, written into `new`."""
    new[0] = u[0]
    new[-1] = u[-1]
    for i in range(1, u.size - 1):
        new[i] = u[i] + k[i] * (u[i + 1] - u[i]) - k[i - 1] * (u[i] - u[i - 1])


@grad(wrt="k")
def misfit(k, start, snapshots, steps, every):
    u = start.copy()
    new = np.empty_like(u)
    loss = 0.0
    for t in range(steps):
        step(u, k, new)
        u, new = new, u
        if (t + 1) % every == 0:
            r = u - snapshots[t // every]
            loss += np.sum(r * r)
    return loss


def measure(k, start):
    """The snapshots that a rod of conductivity k gives."""
    u, new, snapshots = start.copy(), np.empty_like(start), []
    for t in range(STEPS):
        step(u, k, new)
        u, new = new, u
        if (t + 1) % EVERY == 0:
            snapshots.append(u.copy())
    return np.array(snapshots)


def bars(k):
    return "".join(" ▁▂▃▄▅▆▇█"[round(8 * value / 0.45)] for value in k)


def main():
    x = np.linspace(0.0, 1.0, POINTS)
    between = 0.5 * (x[1:] + x[:-1])
    true = 0.25 + 0.15 * np.tanh(12 * (between - 0.5))
    start = np.sin(np.pi * x) + 0.5 * np.sin(3 * np.pi * x) + x
    snapshots = measure(true, start)

    guess = np.full(POINTS - 1, 0.25)
    found = minimize(
        misfit.value_and_backward,
        guess,
        args=(start, snapshots, STEPS, EVERY),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.02, 0.45)] * guess.size,
        options={"maxiter": 2000, "maxfun": 4000, "ftol": 1e-16, "gtol": 1e-10},
    )
    error = np.abs(found.x - true).max()

    print(f"conductivity along the rod   {bars(true)}")
    print(f"first guess                  {bars(guess)}")
    print(f"found after {found.nfev:4} gradients   {bars(found.x)}")
    print(f"misfit {misfit(guess, start, snapshots, STEPS, EVERY):.2e} -> {found.fun:.2e}, largest error {error:.1e}")

    direction, h = np.cos(7 * between), 1e-5
    gradient = misfit.backward(guess, start, snapshots, STEPS, EVERY)
    plain = misfit.py_func
    rise = (
        plain(guess + h * direction, start, snapshots, STEPS, EVERY)
        - plain(guess - h * direction, start, snapshots, STEPS, EVERY)
    ) / (2 * h)
    print(f"gradient along a direction   {gradient @ direction:.8f}, by differences {rise:.8f}")
    assert np.isclose(gradient @ direction, rise, rtol=1e-6)
    assert error < 0.01


if __name__ == "__main__":
    main()
