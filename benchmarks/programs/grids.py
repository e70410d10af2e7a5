"""Grids that are written in place: Gauss-Seidel, heat in three dimensions; and a convolution as loops."""

import numpy as np

from benchmarks.programs.libraries import anp, jnp, lax, torch
from benchmarks.programs.program import LOOPS, Program, Size, by_hand, by_hand_sums

# ---- Gauss-Seidel: each element is written from neighbours of which two are new


def gauss_seidel(u, f, sweeps):
    for _ in range(sweeps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


def gauss_seidel_data(rng, n, sweeps):
    return *rng.normal(size=(2, n, n)).copy(), sweeps


@by_hand
def gauss_seidel_adjoint(u, f, sweeps, v):
    # linear: the sweeps need not be run forward
    u_b, f_b = v.copy(), np.zeros(f.shape)
    for _ in range(sweeps):
        for i in range(u.shape[0] - 2, 0, -1):
            for j in range(u.shape[1] - 2, 0, -1):
                g = 0.25 * u_b[i, j]
                u_b[i, j] = 0.0
                f_b[i, j] -= g
                u_b[i - 1, j] += g
                u_b[i + 1, j] += g
                u_b[i, j - 1] += g
                u_b[i, j + 1] += g
    return u_b, f_b


def gauss_seidel_jax(u, f, sweeps):
    # no writes: a scan over rows, and in it one along the row, which carries the neighbour on the left
    def sweep(u, _):
        def row(above, rows):
            here, below, f_row = rows

            def element(left, near):
                up, down, right, force = near
                new = 0.25 * (up + down + left + right - force)
                return new, new

            inside = (above[1:-1], below[1:-1], here[2:], f_row[1:-1])
            _, new = lax.scan(element, here[0], inside)
            here = jnp.concatenate((here[:1], new, here[-1:]))
            return here, here

        _, inside = lax.scan(row, u[0], (u[1:-1], u[2:], f[1:-1]))
        return jnp.concatenate((u[:1], inside, u[-1:])), None

    return lax.scan(sweep, u, length=sweeps)[0]


def gauss_seidel_jax_loops(u, f, sweeps):
    n, m = u.shape

    def element(j, i, u):
        return u.at[i, j].set(0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j]))

    def row(i, u):
        return lax.fori_loop(1, m - 1, lambda j, u: element(j, i, u), u)

    return lax.fori_loop(0, sweeps, lambda _, u: lax.fori_loop(1, n - 1, row, u), u)


def gauss_seidel_torch(u, f, sweeps):
    # written in place, u would be copied for each element on the way back: so lists of numbers
    grid, force = [list(row.unbind()) for row in u], [row.unbind() for row in f]
    for _ in range(sweeps):
        for i in range(1, len(grid) - 1):
            above, here, below = grid[i - 1], grid[i], grid[i + 1]
            for j in range(1, len(here) - 1):
                here[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1] - force[i][j])
    return torch.stack([torch.stack(row) for row in grid])


def gauss_seidel_autograd(u, f, sweeps):
    n, m = u.shape
    grid = [[u[i, j] for j in range(m)] for i in range(n)]
    force = [[f[i, j] for j in range(m)] for i in range(n)]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            above, here, below = grid[i - 1], grid[i], grid[i + 1]
            for j in range(1, m - 1):
                here[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1] - force[i][j])
    return anp.stack([anp.stack(row) for row in grid])


# ---- heat in three dimensions, by slices


def heat_3d(u, rate, steps):
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


def heat_3d_data(rng, n, steps):
    return rng.normal(size=(n, n, n)), 0.1, steps


@by_hand_sums
def heat_3d_adjoint(u, rate, steps, v):
    n, m, p = u.shape
    now, then = u.copy(), u.copy()
    changes = np.empty((steps, n - 2, m - 2, p - 2))
    for s in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, p - 1):
                    change = (
                        now[i + 1, j, k]
                        + now[i - 1, j, k]
                        + now[i, j + 1, k]
                        + now[i, j - 1, k]
                        + now[i, j, k + 1]
                        + now[i, j, k - 1]
                        - 6.0 * now[i, j, k]
                    )
                    changes[s, i - 1, j - 1, k - 1] = change
                    then[i, j, k] = now[i, j, k] + rate * change
        now, then = then, now
    u_b, rate_b = v.copy(), 0.0
    inner = np.zeros((n, m, p))  # what goes back through the stencil, zero at the border
    for s in range(steps - 1, -1, -1):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, p - 1):
                    rate_b += u_b[i, j, k] * changes[s, i - 1, j - 1, k - 1]
                    inner[i, j, k] = rate * u_b[i, j, k]
        for i in range(n):  # gathered, so that it vectorises; at the border only the neighbours inside
            for j in range(m):
                if 0 < i < n - 1 and 0 < j < m - 1:
                    u_b[i, j, 0] += inner[i, j, 1]
                    for k in range(1, p - 1):
                        u_b[i, j, k] += (
                            inner[i + 1, j, k]
                            + inner[i - 1, j, k]
                            + inner[i, j + 1, k]
                            + inner[i, j - 1, k]
                            + inner[i, j, k + 1]
                            + inner[i, j, k - 1]
                            - 6.0 * inner[i, j, k]
                        )
                    u_b[i, j, p - 1] += inner[i, j, p - 2]
                else:
                    for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                        if 0 < i + di < n - 1 and 0 < j + dj < m - 1:
                            for k in range(1, p - 1):
                                u_b[i, j, k] += inner[i + di, j + dj, k]
    return u_b, rate_b


def heat_3d_jax(u, rate, steps):
    def step(u, _):
        change = (
            u[2:, 1:-1, 1:-1]
            + u[:-2, 1:-1, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:]
            + u[1:-1, 1:-1, :-2]
            - 6.0 * u[1:-1, 1:-1, 1:-1]
        )
        return u.at[1:-1, 1:-1, 1:-1].add(rate * change), None

    return lax.scan(step, u, length=steps)[0]


def heat_3d_torch(u, rate, steps):
    u = u.clone()
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
    return u


def heat_3d_autograd(u, rate, steps):
    for _ in range(steps):
        change = (
            u[2:, 1:-1, 1:-1]
            + u[:-2, 1:-1, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:]
            + u[1:-1, 1:-1, :-2]
            - 6.0 * u[1:-1, 1:-1, 1:-1]
        )
        u = u + anp.pad(rate * change, ((1, 1), (1, 1), (1, 1)), "constant")
    return u


# ---- convolution


def convolution(image, kernel):
    n, m = image.shape
    p, q = kernel.shape
    out = np.zeros((n - p + 1, m - q + 1))
    for i in range(n - p + 1):
        for j in range(m - q + 1):
            for a in range(p):
                for b in range(q):
                    out[i, j] += image[i + a, j + b] * kernel[a, b]
    return out


def convolution_data(rng, n, kernel):
    return rng.normal(size=(n, n)), rng.normal(size=(kernel, kernel))


@by_hand_sums
def convolution_adjoint(image, kernel, v):
    image_b, kernel_b = np.zeros(image.shape), np.zeros(kernel.shape)
    width = v.shape[1]
    for i in range(v.shape[0]):
        g = v[i]
        for a in range(kernel.shape[0]):
            for b in range(kernel.shape[1]):  # along the row, so that it vectorises
                row, row_b = image[i + a, b : b + width], image_b[i + a, b : b + width]
                weight, weight_b = kernel[a, b], 0.0
                for j in range(width):
                    weight_b += g[j] * row[j]
                    row_b[j] += g[j] * weight
                kernel_b[a, b] += weight_b
    return image_b, kernel_b


def convolution_jax(image, kernel):
    return lax.conv_general_dilated(image[None, None], kernel[None, None], (1, 1), "VALID")[0, 0]


def convolution_torch(image, kernel):
    return torch.nn.functional.conv2d(image[None, None], kernel[None, None])[0, 0]


def convolution_autograd(image, kernel):
    h, w = image.shape[0] - kernel.shape[0] + 1, image.shape[1] - kernel.shape[1] + 1
    out = 0.0
    for a in range(kernel.shape[0]):
        for b in range(kernel.shape[1]):
            out = out + image[a : a + h, b : b + w] * kernel[a, b]
    return out


MINUTES = "minutes, and gigabytes of tape"
# fmt: off
PROGRAMS = (
    Program("gauss_seidel", LOOPS, gauss_seidel, gauss_seidel_data, ("u", "f"), (5, 2),
            (Size(66, 10), Size(514, 10, jax_loops="minutes", torch=MINUTES, autograd=MINUTES)),
            gauss_seidel_adjoint, gauss_seidel_jax, gauss_seidel_torch, gauss_seidel_autograd,
            jax_loops=gauss_seidel_jax_loops,
            shape=lambda u, f, sweeps: u.shape, writes="u"),
    Program("heat_3d", LOOPS, heat_3d, heat_3d_data, ("u", "rate"), (5, 2), (Size(64, 10),),
            heat_3d_adjoint, heat_3d_jax, heat_3d_torch, heat_3d_autograd,
            shape=lambda u, rate, steps: u.shape, writes="u"),
    Program("convolution", LOOPS, convolution, convolution_data, ("image", "kernel"), (6, 3), (Size(256, 5),),
            convolution_adjoint, convolution_jax, convolution_torch, convolution_autograd,
            shape=lambda image, kernel: tuple(a - b + 1 for a, b in zip(image.shape, kernel.shape, strict=True))),
)
# fmt: on
