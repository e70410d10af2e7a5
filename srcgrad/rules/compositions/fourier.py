"""The frequencies of Fourier transforms."""

from __future__ import annotations

import numpy as np
import scipy.fft

from srcgrad.rules.compositions.registry import means


@means(np.fft.fftfreq, scipy.fft.fftfreq)
def fftfreq(n, d=1.0):
    return np.where(np.arange(n) < (n + 1) // 2, np.arange(n), np.arange(n) - n) * (1.0 / (n * d))


@means(np.fft.rfftfreq, scipy.fft.rfftfreq)
def rfftfreq(n, d=1.0):
    return np.arange(n // 2 + 1) * (1.0 / (n * d))
