"""Bodies, molecules, quantum states, and the rates of chemistry."""

import numpy as np

from .registry import positive, program, real


def acceleration_of(pos, mass, g, softening):
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = g * (dx * inv_r3) @ mass
    ay = g * (dy * inv_r3) @ mass
    az = g * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def energy_of(pos, vel, mass, g):
    kinetic = 0.5 * np.sum(np.sum(mass * vel**2))
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r = np.sqrt(dx**2 + dy**2 + dz**2)
    inv_r[inv_r > 0] = 1.0 / inv_r[inv_r > 0]
    potential = g * np.sum(np.sum(np.triu(-(mass * mass.T) * inv_r, 1)))
    return kinetic, potential


@program(lambda n: (positive(n, 1), real(n, 3), real(n, 3), 3, 0.01, 1.0, 0.1), small=4, large=60)
def gravitating_bodies(mass, pos, vel, steps, dt, g, softening):
    """Leapfrog, with the energies along the way."""
    pos, vel = pos.copy(), vel.copy()
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration_of(pos, mass, g, softening)
    ke = np.ndarray(steps + 1, dtype=pos.dtype)
    pe = np.ndarray(steps + 1, dtype=pos.dtype)
    ke[0], pe[0] = energy_of(pos, vel, mass, g)
    for i in range(steps):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration_of(pos, mass, g, softening)
        vel += acc * dt / 2.0
        ke[i + 1], pe[i + 1] = energy_of(pos, vel, mass, g)
    return ke, pe


@program(lambda n: (real(n, 3, low=0.0, high=4.0), real(n, 3), 4.0, 0.005, 3), small=5, large=60, width=1e-4, loose=30)
def molecules_in_a_box(pos, vel, box, dt, steps):
    """Lennard-Jones, nearest images, a smooth cut."""
    pos, vel = pos.copy(), vel.copy()
    n = pos.shape[0]
    energies = []
    for _ in range(steps):
        force = np.zeros_like(pos)
        energy = 0.0
        for i in range(n - 1):
            d = pos[i + 1 :] - pos[i]
            d -= box * np.round(d / box)
            r2 = np.sum(d * d, axis=1) + 0.5
            near = r2 < 4.0
            inv6 = np.where(near, 1.0 / r2**3, 0.0)
            energy += np.sum(4.0 * inv6 * (inv6 - 1.0))
            pull = (24.0 * inv6 * (2.0 * inv6 - 1.0) / r2)[:, None] * d
            force[i] -= pull.sum(axis=0)
            force[i + 1 :] += pull
        vel += dt * force
        pos += dt * vel
        pos %= box
        energies.append(energy + 0.5 * np.sum(vel**2))
    return np.array(energies)


@program(lambda n: (real(4), 9.81, 0.01, n), small=12, large=3000)
def double_pendulum(state, g, dt, steps):
    """Runge and Kutta's fourth order; the path is kept."""

    def rate(s):
        a, b, wa, wb = s
        d = a - b
        den = 3.0 - np.cos(2.0 * d)
        da = (-3.0 * g * np.sin(a) - g * np.sin(a - 2.0 * b) - 2.0 * np.sin(d) * (wb**2 + wa**2 * np.cos(d))) / den
        db = 2.0 * np.sin(d) * (2.0 * wa**2 + 2.0 * g * np.cos(a) + wb**2 * np.cos(d)) / den
        return np.array([wa, wb, da, db])

    path = np.zeros((steps + 1, 4), dtype=state.dtype)
    path[0] = state
    for k in range(steps):
        s = path[k]
        k1 = rate(s)
        k2 = rate(s + 0.5 * dt * k1)
        k3 = rate(s + 0.5 * dt * k2)
        k4 = rate(s + dt * k3)
        path[k + 1] = s + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return path


@program(lambda n: (positive(3, low=0.2, high=0.8), positive(3, low=0.5, high=1.2), 0.6, 1e-4), small=1, large=1)
def stiff_chemistry(y0, rates, t_end, tolerance):
    """Robertson-like kinetics by an implicit step with Newton's method, and steps that adapt."""
    k1, k2, k3 = rates
    y = y0.copy()
    t, h = 0.0, 0.05
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        new = y.copy()
        for _ in range(6):
            a, b, c = new
            f = np.array([-k1 * a + k2 * b * c, k1 * a - k2 * b * c - k3 * b * b, k3 * b * b])
            jacobian = np.array(
                [[-k1, k2 * c, k2 * b], [k1, -k2 * c - 2.0 * k3 * b, -k2 * b], [0.0, 2.0 * k3 * b, 0.0]]
            )
            residual = new - y - h * f
            new = new - np.linalg.solve(np.eye(3) - h * jacobian, residual)
        y = new
        t += h
        if h < 0.2:
            h *= 1.3
    return y


@program(lambda n: (real(n, n), 0.4, 12), small=6, large=200)
def mean_field_of_spins(field, beta, steps):
    """A lattice of spins in the mean field of its neighbours."""
    m = 0.1 * np.ones_like(field)
    for _ in range(steps):
        around = np.roll(m, 1, 0) + np.roll(m, -1, 0) + np.roll(m, 1, 1) + np.roll(m, -1, 1)
        m = 0.5 * m + 0.5 * np.tanh(beta * (around + field))
    p = 0.5 * (1.0 + m)
    entropy = -np.sum(p * np.log(p) + (1.0 - p) * np.log(1.0 - p))
    return entropy, np.mean(m)


@program(lambda n: (real(n, 2), real(n, 2), real(n, low=0.3, high=1.0)), small=6, large=300)
def point_vortices(pos, target, strength):
    """Each vortex is carried by all others; how far are they from where they should be after some steps?"""
    p = pos
    for _ in range(3):
        dx = p[:, np.newaxis, 0] - p[np.newaxis, :, 0]
        dy = p[:, np.newaxis, 1] - p[np.newaxis, :, 1]
        r2 = dx**2 + dy**2 + 0.05
        u = -np.sum(strength * dy / r2, axis=1) / (2 * np.pi)
        v = np.sum(strength * dx / r2, axis=1) / (2 * np.pi)
        p = p + 0.05 * np.column_stack((u, v))
    return np.sum((p - target) ** 2)


@program(lambda n: (real(n, n), real(n, low=0.2, high=0.9), 4), small=4, large=40)
def self_consistent_field(kernel, occupation, rounds):
    """A toy of Hartree's equations: the density makes the potential, the potential makes the density."""
    n = kernel.shape[0]
    hop = np.diag(-np.ones(n - 1, dtype=kernel.dtype), 1)
    hop = hop + hop.T + np.diag(np.linspace(0.0, 2.0, n)).astype(kernel.dtype)
    repulsion = 0.1 * (kernel @ kernel.T)
    density = np.diag(occupation)
    for _ in range(rounds):
        fock = hop + np.diag(repulsion @ np.diag(density))
        energies, orbitals = np.linalg.eigh(fock)
        filling = 1.0 / (1.0 + np.exp(3.0 * (energies - np.mean(energies))))
        density = 0.5 * density + 0.5 * np.einsum("ik,k,jk->ij", orbitals, filling, orbitals)
    return np.trace(density @ hop), density
