"""Polynomials as objects: np.poly1d, with the highest power first, and np.polynomial.Polynomial, with the lowest."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import means, objects_mean


class Falling:
    """What np.poly1d makes: how many of its coefficients begin the row with zeros is not known ahead of time."""

    def __init__(self, row):
        self.row = row

    def __call__(self, x):
        return np.polyval(self.row, x)

    def deriv(self, m=1):
        return Falling(np.polyder(self.row, m))

    def integ(self, m=1):
        of = self.row
        for _ in range(m):
            of = np.polyint(of)
        return Falling(of)


class Trimmed(Falling):
    def __init__(self, row):
        self.row = self.coeffs = self.coef = self.c = row


@means(np.poly1d)
def poly1d(c_or_r, r=False):
    return Falling(np.poly(c_or_r) if r else np.atleast_1d(np.asarray(c_or_r)))


@objects_mean("coeffs", np.poly1d)
def poly1d_outside(coeffs):
    return Trimmed(coeffs)


class Rising:
    """What np.polynomial.Polynomial makes: powers of offset + rate * x."""

    def __init__(self, coef, offset, rate):
        self.coef, self.offset, self.rate = coef, offset, rate

    def __call__(self, arg):
        return np.polynomial.polynomial.polyval(self.offset + self.rate * np.asarray(arg), self.coef)[()]

    def deriv(self, m=1):
        of = self.coef
        for _ in range(m):
            of = of[1:] * np.arange(1, len(of)) * self.rate if len(of) > 1 else of * 0.0
        return Rising(of, self.offset, self.rate)


@means(np.polynomial.Polynomial)
def polynomial(coef):
    return Rising(np.asarray(coef) * np.float64(1), 0.0, 1.0)


@objects_mean("coef domain window", np.polynomial.Polynomial)
def polynomial_outside(coef, domain, window):
    rate = (window[1] - window[0]) / (domain[1] - domain[0])
    return Rising(coef * np.float64(1), window[0] - rate * domain[0], rate)
