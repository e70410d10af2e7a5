"""Pixels and rays."""

import numpy as np

from .registry import positive, program, real


@program(lambda n: (real(n, n), real(3, 3), real(2)), small=6, large=300)
def shift_and_blur(image, kernel, shift):
    """A shift by parts of a pixel, then a blur with mirrored edges."""
    n, m = image.shape
    y, x = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    fy = np.clip(y + 0.4 * shift[0] + 0.5, 0.0, n - 1.001)
    fx = np.clip(x + 0.4 * shift[1] + 0.5, 0.0, m - 1.001)
    iy = np.floor(fy).astype(int)
    ix = np.floor(fx).astype(int)
    wy, wx = fy - iy, fx - ix
    moved = (
        image[iy, ix] * (1 - wy) * (1 - wx)
        + image[iy + 1, ix] * wy * (1 - wx)
        + image[iy, ix + 1] * (1 - wy) * wx
        + image[iy + 1, ix + 1] * wy * wx
    )
    padded = np.pad(moved, 1, mode="reflect")
    blurred = np.zeros_like(moved)
    for i in range(3):
        for j in range(3):
            blurred += kernel[i, j] * padded[i : i + n, j : j + m]
    return blurred


@program(lambda n: (real(n, n, low=0.1, high=0.9), 0.02, 6), small=6, large=300)
def total_variation_denoising(noisy, rate, steps):
    """Descent on a smooth total variation, the gradient written by hand with differences."""
    u = noisy.copy()
    for _ in range(steps):
        dx = np.diff(u, axis=0, append=u[-1:, :])
        dy = np.diff(u, axis=1, append=u[:, -1:])
        norm = np.sqrt(dx**2 + dy**2 + 1e-2)
        px, py = dx / norm, dy / norm
        divergence = np.diff(px, axis=0, prepend=0.0) + np.diff(py, axis=1, prepend=0.0)
        u = u - rate * ((u - noisy) - 0.3 * divergence)
    return np.sum((u - noisy) ** 2), u


@program(lambda n: (real(n, 2, low=-0.9, high=0.9), real(3), 0.7, real(3, low=0.2, high=0.8)), small=7, large=5000)
def shaded_sphere(pixels, light, radius, colour):
    """Rays that hit a sphere are shaded, those that miss see the sky."""
    light = light / np.linalg.norm(light)
    squares = radius**2 - np.sum(pixels**2, axis=1)
    hit = squares > 0.0
    image = np.zeros((pixels.shape[0], 3), dtype=pixels.dtype)
    image[~hit] = 0.1 + 0.2 * pixels[~hit, 1:2]
    depth = np.sqrt(squares[hit])
    normals = np.concatenate((pixels[hit], depth[:, None]), axis=1) / radius
    brightness = np.maximum(normals @ light, 0.0)
    image[hit] = brightness[:, None] * colour + 0.05
    return image


@program(lambda n: (positive(n, n), real(5)), small=6, large=300)
def tone_curve(image, knots):
    """A curve through knots, then the contrast of blocks of four pixels."""
    positions = np.linspace(0.0, 2.0, 5)
    curve = np.cumsum(np.exp(0.3 * knots))
    mapped = np.interp(image, positions, curve / curve[-1])
    n, m = mapped.shape
    blocks = mapped.reshape(n // 2, 2, m // 2, 2).swapaxes(1, 2).reshape(-1, 4)
    contrast = blocks.max(axis=1) - blocks.min(axis=1)
    return mapped, np.mean(contrast)
