"""Waves and complex amplitudes: transforms by hand and by library, oscillators, fields."""

import numpy as np

from .registry import complexes, program, real


@program(lambda n: (complexes(2**n),), small=3, large=14)
def fourier_transform_by_hand(x):
    """Cooley and Tukey, from the bottom up."""
    n = x.shape[0]
    stages = int(np.log2(n) + 0.5)
    y = x.copy()
    half = 1
    for _ in range(stages):
        y = y.reshape(2, n // 2)
        k = np.arange(n // 2) % half
        twiddled = np.exp(-1j * np.pi * k / half) * y[1]
        even = (y[0] + twiddled).reshape(-1, half)
        odd = (y[0] - twiddled).reshape(-1, half)
        y = np.concatenate((even, odd), axis=1).reshape(-1)
        half *= 2
    return y


@program(lambda n: (complexes(n), real(n), 0.02, 6), small=8, large=4096)
def quantum_wave_packet(psi, potential, dt, steps):
    """Schrödinger's equation, half steps in space and whole ones in momentum."""
    n = psi.shape[0]
    k = 2.0 * np.pi * np.fft.fftfreq(n, d=0.5)
    kinetic = np.exp(-0.5j * dt * k**2)
    half = np.exp(-0.5j * dt * potential)
    for _ in range(steps):
        psi = half * np.fft.ifft(kinetic * np.fft.fft(half * psi))
    density = np.abs(psi) ** 2
    return density, np.sum(density * potential)


@program(lambda n: (real(n), 0.05, 0.01, 5), small=8, large=4096)
def viscous_waves(u, viscosity, dt, steps):
    """Burgers' equation in Fourier space, without the modes that would be folded back."""
    n = u.shape[0]
    k = np.fft.rfftfreq(n, 1.0 / n)
    keep = k < n / 3
    u_hat = np.fft.rfft(u)
    for _ in range(steps):
        square = np.fft.rfft(np.fft.irfft(u_hat, n) ** 2)
        u_hat = (u_hat - dt * 0.5j * k * np.where(keep, square, 0)) / (1.0 + dt * viscosity * k**2)
    return np.fft.irfft(u_hat, n)


@program(lambda n: (real(n, n), real(n, n)), small=5, large=256)
def correlation_of_images(image, template):
    """Phase and strength through two-dimensional transforms."""
    a = np.fft.fft2(image)
    b = np.fft.fft2(template)
    cross = a * np.conj(b)
    shift = np.fft.ifft2(cross / (np.abs(cross) + 0.5)).real
    return shift, np.sum(np.abs(a) ** 2) / image.size


@program(lambda n: (real(n, n, low=-1.5, high=0.5), real(n, n), 5), small=4, large=200, width=1e-4)
def smooth_escape(re, im, steps):
    """How fast do points leave: a potential outside Mandelbrot's set."""
    c = re + 1j * im
    z = np.zeros_like(c)
    potential = np.zeros(re.shape, dtype=re.dtype)
    for _ in range(steps):
        inside = np.abs(z) < 10.0
        z = np.where(inside, z * z + c, z)
        potential += np.where(inside, np.log1p(np.abs(z) ** 2), 0.0)
    return potential / steps


@program(lambda n: (complexes(2, 3, n, n), complexes(2, 2, n, n), real(3)), small=2, large=16)
def scattering_self_energies(green, phonon, weights):
    """Sums over momenta and energies of products of small matrices."""
    momenta, energies, n, _ = green.shape
    sigma = np.zeros_like(green)
    for k in range(momenta):
        for e in range(energies):
            for q in range(phonon.shape[0]):
                for w in range(phonon.shape[1]):
                    if e - w >= 0:
                        sigma[k, e] += weights[w] * (green[k, e - w] @ phonon[q, w])
    return sigma


@program(lambda n: (complexes(n, n), complexes(n)), small=4, large=60)
def complex_elimination(m, rhs):
    """Gauss in place, without pivots, on a matrix with a strong diagonal."""
    n = m.shape[0]
    a = m + 3.0 * n * np.eye(n)
    b = rhs.copy()
    for k in range(n):
        b[k] /= a[k, k]
        a[k, k:] /= a[k, k]
        for i in range(k + 1, n):
            b[i] -= a[i, k] * b[k]
            a[i, k:] -= a[i, k] * a[k, k:]
    for k in range(n - 1, -1, -1):
        for i in range(k):
            b[i] -= a[i, k] * b[k]
    return b


@program(lambda n: (complexes(4, n), real(n, low=0.2, high=0.8)), small=5, large=2000)
def layers_of_glass(index, wavelength):
    """Light through a stack of films, by matrices; what passes and what comes back."""
    m11 = np.ones_like(index[0])
    m12 = np.zeros_like(index[0])
    m21 = np.zeros_like(index[0])
    m22 = np.ones_like(index[0])
    for layer in range(index.shape[0]):
        n = index[layer]
        phase = 2.0 * np.pi * n * 0.1 / wavelength
        c, s = np.cos(phase), np.sin(phase)
        a, b = m11 * c + m12 * (1j * n * s), m11 * (1j * s / n) + m12 * c
        d, e = m21 * c + m22 * (1j * n * s), m21 * (1j * s / n) + m22 * c
        m11, m12, m21, m22 = a, b, d, e
    denominator = m11 + m12 + m21 + m22
    reflected = np.abs((m11 + m12 - m21 - m22) / denominator) ** 2
    passed = np.abs(2.0 / denominator) ** 2
    return reflected, passed


@program(lambda n: (real(n), real(n), 0.5, 2), small=9, large=10000)
def damped_response(signal, noise, tau, order):
    """A filter in frequency, given as a transfer function, and the power that passes it."""
    n = signal.shape[0]
    frequency = np.fft.rfftfreq(n)
    transfer = 1.0 / (1.0 + 2j * np.pi * frequency * tau) ** order
    filtered = np.fft.irfft(np.fft.rfft(signal + 0.1 * noise) * transfer, n)
    power = np.real(np.fft.rfft(filtered) * np.conj(np.fft.rfft(filtered))) / n
    return filtered, np.sum(power * frequency)
