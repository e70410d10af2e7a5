"""Flow: incompressible, shallow, compressible, on a lattice; and what the wind carries."""

import numpy as np

from .registry import program, real


def pressure_source(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    for _ in range(nit):
        pn[:] = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


@program(
    lambda n: (
        3,
        4,
        real(n, n, low=-0.1, high=0.1),
        real(n, n, low=-0.1, high=0.1),
        0.01,
        2 / (n - 1),
        2 / (n - 1),
        real(n, n),
        1.0,
        0.1,
    ),
    small=6,
    large=100,
    writes=("u", "v", "p"),
    width=1e-3,
)
def flow_in_a_cavity(nt, nit, u, v, dt, dx, dy, p, rho, nu):
    """A lid drags the fluid below it; the pressure keeps it incompressible."""
    un = np.empty_like(u)
    vn = np.empty_like(v)
    b = np.zeros((u.shape[0], u.shape[1]), dtype=u.dtype)
    for _ in range(nt):
        un[:] = u.copy()
        vn[:] = v.copy()
        pressure_source(b, rho, dt, u, v, dx, dy)
        pressure_poisson(nit, p, dx, dy, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu
            * (
                dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
            )
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + nu
            * (
                dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1])
            )
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


@program(lambda n: (real(n, n, low=0.9, high=1.1), real(n, n), real(n, n), 0.05, 4), small=6, large=200)
def shallow_water(h, hu, hv, dt, steps):
    """Lax and Friedrichs on a torus."""
    g = 9.81
    h, hu, hv = h.copy(), hu.copy(), hv.copy()

    def neighbours(q):
        return 0.25 * (np.roll(q, 1, 0) + np.roll(q, -1, 0) + np.roll(q, 1, 1) + np.roll(q, -1, 1))

    def across(f, axis):
        return 0.5 * (np.roll(f, -1, axis=axis) - np.roll(f, 1, axis=axis))

    for _ in range(steps):
        u, v = hu / h, hv / h
        momentum_x = hu * u + 0.5 * g * h**2
        momentum_y = hv * v + 0.5 * g * h**2
        h, hu, hv = (
            neighbours(h) - dt * (across(hu, 0) + across(hv, 1)),
            neighbours(hu) - dt * (across(momentum_x, 0) + across(hu * v, 1)),
            neighbours(hv) - dt * (across(hv * u, 0) + across(momentum_y, 1)),
        )
    return np.mean(h * h) + np.mean(hu * hu + hv * hv)


@program(
    lambda n: (real(n, low=0.8, high=1.2), real(n), real(n, low=0.8, high=1.2), 0.02, 5),
    small=9,
    large=3000,
    width=1e-3,
)
def gas_in_a_tube(density, velocity, pressure, dt_over_dx, steps):
    """The Euler equations with the solver of Harten, Lax and van Leer."""
    gamma = 1.4
    n = density.shape[0]
    q = np.empty((3, n), dtype=density.dtype)
    q[0] = density
    q[1] = density * velocity
    q[2] = pressure / (gamma - 1.0) + 0.5 * density * velocity**2
    for _ in range(steps):
        rho = q[0]
        u = q[1] / rho
        p = (gamma - 1.0) * (q[2] - 0.5 * rho * u**2)
        c = np.sqrt(gamma * p / rho)
        flux = np.stack((q[1], q[1] * u + p, (q[2] + p) * u))
        left = np.minimum(u[:-1] - c[:-1], u[1:] - c[1:])
        right = np.maximum(u[:-1] + c[:-1], u[1:] + c[1:])
        middle = (right * flux[:, :-1] - left * flux[:, 1:] + left * right * (q[:, 1:] - q[:, :-1])) / (right - left)
        face = np.where(left > 0.0, flux[:, :-1], np.where(right < 0.0, flux[:, 1:], middle))
        q[:, 1:-1] -= dt_over_dx * (face[:, 1:] - face[:, :-1])
    return q


WEIGHTS = np.array([4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36])
DIRECTIONS = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])


@program(lambda n: (real(9, n, n, low=0.05, high=0.15), 0.6, 3), small=5, large=100)
def lattice_boltzmann(f, tau, steps):
    """Nine velocities; stream by rolling, relax to the local equilibrium."""
    f = f.copy()
    for _ in range(steps):
        for k in range(9):
            f[k] = np.roll(f[k], (DIRECTIONS[k, 0], DIRECTIONS[k, 1]), axis=(0, 1))
        rho = f.sum(axis=0)
        ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) / rho
        uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) / rho
        square = 1.5 * (ux**2 + uy**2)
        for k in range(9):
            along = 3.0 * (DIRECTIONS[k, 0] * ux + DIRECTIONS[k, 1] * uy)
            equilibrium = rho * WEIGHTS[k] * (1.0 + along + 0.5 * along**2 - square)
            f[k] += (equilibrium - f[k]) / tau
    return f


@program(lambda n: (real(n, n, 4), real(n, n, 4, low=0.01, high=0.05)), small=8, large=60, width=1e-4)
def horizontal_diffusion(field, coefficient):
    """Fourth order, with fluxes that never steepen a gradient."""
    laplacian = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    res = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    flux_x = np.where((res * (field[2:-1, 2:-2] - field[1:-2, 2:-2])) > 0, 0, res)
    res = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    flux_y = np.where((res * (field[2:-2, 2:-1] - field[2:-2, 1:-2])) > 0, 0, res)
    return field[2:-2, 2:-2] - coefficient[2:-2, 2:-2] * (
        flux_x[1:, :] - flux_x[:-1, :] + flux_y[:, 1:] - flux_y[:, :-1]
    )


@program(
    lambda n: (real(n, n, 6), real(n + 1, n, 6), real(n, n, 6), real(n, n, 6), real(n, n, 6), 0.3),
    small=3,
    large=40,
    writes=("utens_stage",),
)
def vertical_advection(utens_stage, wcon, u_stage, u_pos, utens, dtr_stage):
    """Implicit in the vertical: a tridiagonal solve in every column, all columns at once."""
    levels = u_stage.shape[2]
    ccol = np.empty_like(utens_stage)
    dcol = np.empty_like(utens_stage)
    data_col = np.empty_like(utens_stage[:, :, 0])
    for k in range(levels):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        if k < levels - 1:
            gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        if k == 0:
            cs = gcv * 0.4
            ccol[:, :, k] = gcv * 0.6
            bcol = dtr_stage + 2.0 - ccol[:, :, k]
            correction = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
            dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
            divided = 1.0 / bcol
            ccol[:, :, k] = ccol[:, :, k] * divided
            dcol[:, :, k] = dcol[:, :, k] * divided
        elif k < levels - 1:
            as_ = gav * 0.4
            cs = gcv * 0.4
            acol = gav * 0.6
            ccol[:, :, k] = gcv * 0.6
            bcol = dtr_stage + 2.0 - acol - ccol[:, :, k]
            correction = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (
                u_stage[:, :, k + 1] - u_stage[:, :, k]
            )
            dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
            divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
            ccol[:, :, k] = ccol[:, :, k] * divided
            dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
        else:
            as_ = gav * 0.4
            acol = gav * 0.6
            bcol = dtr_stage + 2.0 - acol
            correction = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
            dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
            divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
            dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(levels - 1, -1, -1):
        if k == levels - 1:
            datacol = dcol[:, :, k]
        else:
            datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


@program(lambda n: (real(n, low=0.2, high=1.2), real(n + 1, low=-0.4, high=0.4), 5), small=9, large=3000, width=1e-3)
def tracer_with_limited_slopes(q, courant, steps):
    """Van Leer's scheme: second order where the tracer is smooth, upwind where it is not."""
    for _ in range(steps):
        forward = np.empty_like(q)
        backward = np.empty_like(q)
        forward[:-1] = q[1:] - q[:-1]
        forward[-1] = q[0] - q[-1]
        backward[1:] = forward[:-1]
        backward[0] = forward[-1]
        product = forward * backward
        slope = np.where(product > 0.0, 2.0 * product / np.where(product > 0.0, forward + backward, 1.0), 0.0)
        flux = np.zeros_like(courant)
        c = courant[1:-1]
        from_left = q[:-1] + 0.5 * (1.0 - c) * slope[:-1]
        from_right = q[1:] - 0.5 * (1.0 + c) * slope[1:]
        flux[1:-1] = np.where(c > 0.0, c * from_left, c * from_right)
        q = q - (flux[1:] - flux[:-1])
    return q


@program(
    lambda n: (
        real(n, 5, low=0.5, high=1.5),
        real(n, 5, low=0.0, high=0.3),
        real(n, 5, low=0.0, high=0.3),
        real(n, 5, low=0.4, high=0.9),
        3,
    ),
    small=4,
    large=2000,
)
def warm_rain(vapour, cloud, rain, saturation, steps):
    """Kessler's microphysics: vapour condenses, droplets collect, rain falls through the levels and evaporates."""
    vapour, cloud, rain = vapour.copy(), cloud.copy(), rain.copy()
    for _ in range(steps):
        autoconversion = 0.1 * np.maximum(cloud - 0.05, 0.0)
        collection = 0.3 * cloud * rain**0.875
        converted = np.minimum(autoconversion + collection, cloud)
        cloud -= converted
        rain += converted
        excess = vapour - saturation
        condensed = np.where(excess > 0, excess, np.maximum(excess, -cloud)) / (1.0 + 0.2 * saturation)
        vapour -= condensed
        cloud += condensed
        deficit = np.maximum(saturation - vapour, 0.0)
        evaporated = np.minimum(0.05 * deficit * np.sqrt(rain), rain)
        vapour += evaporated
        rain -= evaporated
        speed = 0.4 * rain**0.1346
        falling = speed * rain
        rain[:, :-1] += falling[:, 1:] - falling[:, :-1]
        rain[:, -1] -= falling[:, -1]
    return vapour, cloud, rain
