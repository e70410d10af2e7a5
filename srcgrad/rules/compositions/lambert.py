"""Lambert's W: the numbers w with w * exp(w) = z, by branches.

From a first guess near the branch point (a series), near 0, or far away (logarithms), by Halley's steps.

R. Corless, G. Gonnet, D. Hare, D. Jeffrey and D. Knuth, On the Lambert W function (1996), (4.18), (4.22), (5.9).
"""

from __future__ import annotations

import numpy as np
import scipy.special

from srcgrad.rules.compositions.registry import means
from srcgrad.rules.user import stop_gradient

STEEPEST = 1e308  # in the place of the slope at the branch point


@means(scipy.special.lambertw)
def lambertw(z, k=0, tol=1e-8):
    z = np.asarray(z) * np.complex128(1)
    flat = np.ravel(z)
    out = np.zeros(len(flat), np.complex128)
    for i in range(len(flat)):
        there = stop_gradient(flat[i])
        w = stop_gradient(branch(there, k))
        rate = np.exp(w) * (1.0 + w)
        slope = STEEPEST if rate == 0 else 1.0 / rate if there != 0 else 1.0 + 0.0 * w
        out[i] = w + (flat[i] - there) * slope
    return out.reshape(z.shape)[()]


def branch(z, k):
    if np.isnan(z.real) or np.isnan(z.imag):
        return z
    if np.isinf(z.real) or np.isinf(z.imag):
        return z + 2.0j * np.pi * k if z.real > 0 else -z + (2.0 * k + 1.0) * 1.0j * np.pi
    if z == 0:
        return z if k == 0 else np.complex128(-np.inf)
    w = guess(z, k)
    for _ in range(100):
        if w.real >= 0:  # divided by exp(w), which may be large
            away = w - z * np.exp(-w)
            step = away / (w + 1.0 - (w + 2.0) * away / (2.0 * w + 2.0)) if w != -1 else 0.0 * w
        else:
            power = np.exp(w)
            away = w * power - z
            step = away / (power * (w + 1.0) - (w + 2.0) * away / (2.0 * w + 2.0)) if w != -1 else 0.0 * w
        w = w - step
        if abs(step) <= 1e-15 * abs(w):
            break
    return w


def guess(z, k):
    to_branch_point = np.e * z + 1.0
    upper = z.imag >= 0
    is_near = abs(to_branch_point) < (1.6 if k == 0 and z.real < -0.2 else 0.3)
    if is_near and (k == 0 or (k == -1 and upper) or (k == 1 and not upper)):
        p = np.sqrt(2.0 * to_branch_point)
        p = p if k == 0 else -p
        return -1.0 + p * (1.0 + p * (-1.0 / 3.0 + p * (11.0 / 72.0)))
    if k == 0 and abs(z) < 2.0 and z.real > -0.8:
        return np.log(1.0 + z)
    if k == -1 and z.imag == 0 and z.real < 0 and z.real > -0.36:
        far = np.log(-z)
        return far - np.log(-far)
    far = np.log(z) + 2.0j * np.pi * k
    return far - np.log(far)
