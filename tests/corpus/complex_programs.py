"""Programs of complex numbers: series, transforms, waves, circuits, matrices, roots."""

import cmath
import math

import numpy as np

from .registry import ONLY64, case, complexes, number, positive, program, real


@program(case(complexes(4, size=0.6), 5), case(complexes(2, 3, size=0.6), 4), compiled=True)
def mandelbrot_series(c, steps):
    """How far the orbits of z -> z*z + c have gone."""
    z = np.zeros_like(c)
    for _ in range(steps):
        z = z * z + c
    return np.abs(z) ** 2


@program(case(complexes(8)), case(complexes(8, layout="step")), compiled=True)
def cooley_tukey(x):
    """An FFT by hand, in place: bit reversal, then butterflies."""
    x = x.copy()
    n = len(x)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            t = x[i]
            x[i] = x[j]
            x[j] = t
    length = 2
    while length <= n:
        turn = np.exp(-2j * np.pi / length)
        for start in range(0, n, length):
            w = 1.0 + 0.0j
            for k in range(length // 2):
                u = x[start + k]
                v = x[start + k + length // 2] * w
                x[start + k] = u + v
                x[start + k + length // 2] = u - v
                w = w * turn
        length *= 2
    return x


def recursive_fft(x):
    n = x.shape[0]
    if n == 1:
        return x.copy()
    even = recursive_fft(x[0::2])
    odd = recursive_fft(x[1::2])
    out = np.empty(n, x.dtype)
    for k in range(n // 2):
        t = np.exp(-2j * np.pi * k / n) * odd[k]
        out[k] = even[k] + t
        out[k + n // 2] = even[k] - t
    return out


@program(case(complexes(4)))
def by_halves(x):
    return np.abs(recursive_fft(x)).sum()


@program(case(complexes(8), positive(8), 0.05, 3))
def split_step(psi, v, dt, steps):
    """Schrödinger's equation: the potential in space, the kinetic energy in frequencies."""
    n = psi.size
    k = 2 * np.pi * np.fft.fftfreq(n, 0.5)
    half = np.exp(-0.5j * dt * v)
    turn = np.exp(-0.5j * dt * k**2)
    for _ in range(steps):
        psi = half * psi
        psi = np.fft.ifft(turn * np.fft.fft(psi))
        psi = half * psi
    return np.sum(np.abs(psi) ** 2 * v)


@program(case(complexes(4, 4, size=0.4), complexes(4)))
def eliminate(a, b):
    """Gauss's elimination, in place, without pivots: a is dominated by its diagonal."""
    a = a + 3.0 * np.eye(4)
    b = b.copy()
    n = b.size
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - a[i, i + 1 :] @ b[i + 1 :]) / a[i, i]
    return b


@program(case(complexes(4), complexes(3)))
def newton_root(coefficients, start):
    """A root of a polynomial from each start, by Newton's iteration and Horner's rule."""
    z = 2.0 * start
    for _ in range(4):
        p = np.ones_like(z)
        d = np.zeros_like(z)
        for c in coefficients:
            d = d * z + p
            p = p * z + c
        z = z - 0.5 * p / (d + 3.0)
    return z


@program(case(complexes(3, size=0.3), 30, dtypes=ONLY64), case(0.4 + 0.3j, 30, dtypes=ONLY64))
def until_it_leaves(c, limit):
    """A loop that the data ends."""
    total = 0.0
    z = 0.1 * c
    count = 0
    while np.max(np.abs(z)) < 1.5 and count < limit:
        z = z * z + c + 0.2
        total = total + np.sum(z.real - 0.3 * z.imag)
        count += 1
    return total


@program(case(positive(5), 2.0, 0.5, 0.3), case(positive(5), number(2.0), number(0.5), number(0.3)))
def impedance(omega, r, l, c):
    """A resonant circuit: gain and phase over the frequency."""
    z = r + 1j * omega * l + 1 / (1j * omega * c)
    transfer = r / z
    return 20 * np.log10(np.abs(transfer)), np.angle(transfer)


@program(case(real(6), real(6)))
def analytic_signal(x, y):
    """The envelope of a signal, by cutting negative frequencies away."""
    spectrum = np.fft.fft(x)
    spectrum[1 : len(x) // 2] *= 2
    spectrum[len(x) // 2 + 1 :] = 0
    return np.abs(np.fft.ifft(spectrum)) * y


@program(case(real(8), real(3)))
def filter_by_spectrum(x, h):
    """A convolution by real transforms."""
    n = len(x) + len(h) - 1
    return np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(h, n), n)


@program(case(real(4, 4), positive(4, 4)))
def poisson(u, f):
    """Poisson's equation on a torus."""
    kx = np.fft.fftfreq(4)[:, None]
    ky = np.fft.rfftfreq(4)[None, :]
    k2 = kx**2 + ky**2
    k2[0, 0] = 1.0
    fh = np.fft.rfft2(f) / k2
    fh[0, 0] = 0.0
    return np.sum(u * np.fft.irfft2(fh))


@program(case(complexes(3), complexes(3, 3), 0.1, 4))
def evolve(psi, h, dt, steps):
    """Runge and Kutta on i psi' = H psi, with a Hermitian H."""
    h = 0.5 * (h + h.conj().T)
    for _ in range(steps):
        k1 = -1j * (h @ psi)
        k2 = -1j * (h @ (psi + 0.5 * dt * k1))
        k3 = -1j * (h @ (psi + 0.5 * dt * k2))
        k4 = -1j * (h @ (psi + dt * k3))
        psi = psi + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.vdot(psi, h @ psi).real, psi


@program(case(complexes(4), complexes(4), 0.1, 3), writes=("z",), compiled=True)
def leapfrog_parts(z, f, dt, steps):
    """Position and momentum as the parts of complex numbers, written in place."""
    for _ in range(steps):
        z.real += dt * z.imag
        z.imag -= dt * (np.sin(z.real) + f.real)
        z *= np.exp(1j * dt * f.imag)


@program(case(complexes(4), positive(4)))
def vortices(z, gamma):
    """The velocities that point vortices give each other."""
    n = len(z)
    w = np.zeros(n, dtype=z.dtype)
    for i in range(n):
        for j in range(n):
            if i != j:
                w[i] += gamma[j] / (2j * math.pi * (z[i] - z[j]))
    return np.conj(w)


@program(case(0.3 + 0.4j, 1.2 - 0.5j, 0.7, dtypes=ONLY64))
def scalars(a, b, x):
    c = a * b + cmath.exp(1j * x) / (a - b)
    if abs(c) > 0.5:
        c = c.conjugate() * 2
    r, phi = cmath.polar(c)
    return r * x + phi, complex(r, x) ** 2


@program(case(complexes(5), number(0.2 - 0.3j)), case(complexes(5), 0.2 - 0.3j))
def mobius(z, a):
    w = (z - a) / (1 - np.conj(a) * z)
    return np.mean(w), np.max(np.abs(w)), (w.real**2).sum()


@program(case(complexes(3, 4), real(4)), case(complexes(3, 4, layout="F"), real(4)))
def beamform(x, weights):
    """Power of a weighted sum of channels, normalised."""
    covariance = x @ x.conj().T / x.shape[1]
    steering = np.exp(1j * weights[:3])
    power = (steering.conj() @ covariance @ steering).real
    return power / np.linalg.norm(covariance) + np.var(x)


@program(case(complexes(6), 1.5))
def phase_unwrapped(z, scale):
    """Phases made continuous by adding turns."""
    phase = np.angle(z)
    out = phase.copy()
    for i in range(1, len(z)):
        step = phase[i] - phase[i - 1]
        out[i] = out[i - 1] + step - 2 * np.pi * np.round(step / (2 * np.pi))
    return out * scale


@program(case(complexes(4), complexes(3)), compiled=True)
def mixed_precisions(z, w):
    """Real and complex numbers under one name, on one path or the other."""
    total = 0.0
    for i in range(len(w)):
        total = total + z[i] * w[i]
        if i == 1:
            total = total * total.conjugate()
    s = 1.0
    for i in range(len(z)):
        s *= abs(z[i])
    return total * s


@program(case(complexes(3, size=0.6), 4), case(complexes(2, 2, size=0.6), 3))
def real_at_first(c, steps):
    """Arrays that are real until the first iteration has run."""
    z = np.zeros(c.shape)
    power = np.ones(c.shape[0])
    for k in range(steps):
        z = z * z + c
        power = power * np.exp(1j * k * c.real.sum())
    return np.abs(z).sum() + power
