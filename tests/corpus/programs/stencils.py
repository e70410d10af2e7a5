"""Grids that are swept over and over: heat, waves, electromagnetic fields, diffusion of images."""

import numpy as np

from .registry import program, real


@program(lambda n: (real(n), real(n), 2 * n), small=8, large=4000, writes=("a", "b"))
def jacobi_in_one_dimension(a, b, steps):
    """Two arrays take turns."""
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


@program(lambda n: (real(n, n), real(n, n), 4), small=7, large=300, writes=("a", "b"))
def jacobi_in_two_dimensions(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


@program(lambda n: (4, n, real(n, n)), small=6, large=120, writes=("a",))
def gauss_seidel_in_place(steps, n, a):
    """Rows vectorised as far as the dependences let them, as one writes it in NumPy."""
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0


@program(lambda n: (3, real(n, n, n), real(n, n, n)), small=5, large=40, writes=("a", "b"))
def heat_in_three_dimensions(steps, a, b):
    for _ in range(1, steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = (
            0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
            + b[1:-1, 1:-1, 1:-1]
        )


@program(lambda n: (4, real(n, n), real(n, n), real(n, n), real(4)), small=6, large=250, writes=("ex", "ey", "hz"))
def maxwell_in_two_dimensions(steps, ex, ey, hz, fict):
    """The Yee scheme with a source on one edge."""
    for t in range(steps):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@program(lambda n: (3, n, real(n, n)), small=6, large=120, writes=("u",))
def alternating_directions(steps, n, u):
    """Implicit half steps along the columns, then along the rows: a tridiagonal solve each, for all lines at once."""
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    dx, dt = 1.0 / n, 1.0 / steps
    mul1 = 2.0 * dt / (dx * dx) * 0.05
    mul2 = 1.0 * dt / (dx * dx) * 0.05
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for _ in range(1, steps + 1):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (-d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]) / (
                a * p[1:-1, j - 1] + b
            )
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (-a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]) / (
                d * p[1:-1, j - 1] + e
            )
        u[1:-1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


@program(lambda n: (real(n, n), real(n, n), real(n, n, low=0.3, high=0.6), 5), small=7, large=250)
def waves_with_open_edges(u, before, speed, steps):
    """Leapfrog with rotating buffers; what reaches an edge leaves."""
    now = u.copy()
    old = before.copy()
    c2 = speed**2
    for _ in range(steps):
        new = np.zeros_like(now)
        laplacian = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * now[1:-1, 1:-1]
        new[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - old[1:-1, 1:-1] + c2[1:-1, 1:-1] * laplacian
        k = (speed[0] - 1.0) / (speed[0] + 1.0)
        new[0] = now[1] + k * (new[1] - now[0])
        new[-1] = now[-2] + k * (new[-2] - now[-1])
        new[:, 0] = now[:, 1] + k * (new[:, 1] - now[:, 0])
        new[:, -1] = now[:, -2] + k * (new[:, -2] - now[:, -1])
        old, now = now, new
    return np.sum(now**2) + np.sum((now - old) ** 2)


@program(lambda n: (real(n, n), 4, 0.7, 0.2), small=6, large=250)
def diffusion_of_an_image(image, steps, kappa, gamma):
    """Perona and Malik: smooth what is smooth, keep the edges."""
    out = image.copy()
    for _ in range(steps):
        north = np.roll(out, 1, axis=0) - out
        south = np.roll(out, -1, axis=0) - out
        east = np.roll(out, -1, axis=1) - out
        west = np.roll(out, 1, axis=1) - out
        flux = 0.0
        for difference in (north, south, east, west):
            flux = flux + np.exp(-((difference / kappa) ** 2)) * difference
        out = out + gamma * flux
    return out


@program(lambda n: (real(n, n, low=0.4, high=0.9), real(n, n, low=0.1, high=0.4), 5), small=6, large=250)
def spots_and_stripes(u, v, steps):
    """Gray and Scott's reaction and diffusion, periodic."""

    def laplacian(z):
        return np.roll(z, 1, axis=0) + np.roll(z, -1, axis=0) + np.roll(z, 1, axis=1) + np.roll(z, -1, axis=1) - 4.0 * z

    du, dv, feed, kill, dt = 0.16, 0.08, 0.035, 0.065, 1.0
    for _ in range(steps):
        uvv = u * v * v
        u = u + dt * (du * laplacian(u) - uvv + feed * (1.0 - u))
        v = v + dt * (dv * laplacian(v) + uvv - (feed + kill) * v)
    return u, v


@program(lambda n: (real(n, n, low=0.1, high=0.9), 0.25), small=7, large=200, writes=())
def recursive_filter_of_an_image(image, alpha):
    """Deriche's edge filter: four passes of a second-order recursion."""
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (1.0 + alpha * np.exp(-alpha) * 2.0 - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    y1 = np.empty_like(image)
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, image.shape[1]):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(image)
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * image[:, -1]
    for j in range(image.shape[1] - 3, -1, -1):
        y2[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    out = y1 + y2
    y1[0, :] = a5 * out[0, :]
    y1[1, :] = a5 * out[1, :] + a6 * out[0, :] + b1 * y1[0, :]
    for i in range(2, image.shape[0]):
        y1[i, :] = a5 * out[i, :] + a6 * out[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * out[-1, :]
    for i in range(image.shape[0] - 3, -1, -1):
        y2[i, :] = a7 * out[i + 1, :] + a8 * out[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    return y1 + y2
