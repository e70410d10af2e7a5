"""Polynomials as objects: np.poly1d, with the highest power first, and np.polynomial.Polynomial, with the lowest."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import means, objects_mean


class Falling:
    """What np.poly1d makes: how many of its coefficients begin the row with zeros is not known ahead of time."""

    def __init__(self, row):
        self.row = row

    @property
    def coeffs(self):
        return self.row[zeros_ahead(self.row) :]

    @property
    def c(self):
        return self.coeffs

    @property
    def coef(self):
        return self.coeffs

    @property
    def coefficients(self):
        return self.coeffs

    @property
    def order(self):
        return len(self.coeffs) - 1

    @property
    def o(self):
        return len(self.coeffs) - 1

    def __len__(self):
        return len(self.coeffs) - 1

    def __iter__(self):
        return iter(self.coeffs)

    def __getitem__(self, power):
        n = len(self.row)
        return self.row[n - 1 - power] if 0 <= power < n else self.row[0] * 0

    def __call__(self, x):
        if isinstance(x, Falling):
            n = (len(self.row) - 1) * (len(x.row) - 1) + 1
            rising = np.zeros(n, np.result_type(self.row, x.row))
            for number in self.row:
                rising = np.convolve(rising, x.row[::-1])[:n]
                rising[0] += number
            return Falling(rising[::-1])
        return np.polyval(self.row, x)

    def deriv(self, m=1):
        return Falling(np.polyder(self.row, m))

    def integ(self, m=1, k=0):
        of, constants = self.row, np.atleast_1d(k) * np.ones(m)
        for number in range(m):
            of = np.polyint(of)
            of = np.concatenate([of[:-1], constants[number : number + 1]])
        return Falling(of)

    def __neg__(self):
        return Falling(-self.row)

    def __pos__(self):
        return self

    def __add__(self, other):
        return Falling(np.polyadd(self.row, falling(other)))

    def __sub__(self, other):
        return Falling(np.polysub(self.row, falling(other)))

    def __mul__(self, other):
        return Falling(self.row * other if np.isscalar(other) else np.polymul(self.row, falling(other)))

    def __truediv__(self, other):
        if not np.isscalar(other):
            raise NotImplementedError("a quotient of two polynomials", "the values:  p(x) / q(x)")
        return Falling(self.row / other)

    def __pow__(self, n):
        out = np.ones(1)
        for _ in range(n):
            out = np.polymul(self.row, out)
        return Falling(out)

    def __radd__(self, other):  # (numbers of NumPy's make an array of it)
        return Falling(np.polyadd(falling(other), self.row))

    def __rsub__(self, other):
        return Falling(np.polysub(falling(other), self.row))

    def __rmul__(self, other):
        return self * other


class Trimmed(Falling):
    @property
    def coeffs(self):
        return self.row


def zeros_ahead(row):
    """How many of the coefficients are left out: all of them never are."""
    return int(np.argmax(row != 0.0)) if np.any(row != 0.0) else len(row) - 1


def falling(value):
    return value.row if isinstance(value, Falling) else np.atleast_1d(np.asarray(value))


@means(np.poly1d)
def poly1d(c_or_r, r=False, variable=None):
    if isinstance(c_or_r, Falling):
        return c_or_r
    return Falling(np.poly(c_or_r) if r else np.atleast_1d(np.asarray(c_or_r)))


@objects_mean("coeffs", np.poly1d)
def poly1d_outside(coeffs):
    return Trimmed(coeffs)


class Rising:
    """What np.polynomial.Polynomial makes: powers of offset + rate * x."""

    __array_ufunc__ = None

    def __init__(self, row, offset, rate):
        self.row, self.offset, self.rate = row, offset, rate

    @property
    def coef(self):
        return self.row

    def degree(self):
        return len(self.coef) - 1

    def __len__(self):
        return len(self.coef)

    def __call__(self, arg):
        return np.polynomial.polynomial.polyval(self.offset + self.rate * np.asarray(arg), self.row)[()]

    def deriv(self, m=1):
        of = self.row
        for _ in range(m):
            of = of[1:] * np.arange(1, len(of)) * self.rate if len(of) > 1 else of * 0.0
        return Rising(of, self.offset, self.rate)

    def integ(self, m=1, k=(), lbnd=0.0):
        of, constants, start = self.row, np.zeros(m), self.offset + self.rate * lbnd if lbnd else 0.0
        if len(k) > 0:
            constants[: len(k)] = k
        for number in range(m):
            of = np.concatenate([np.zeros(1), of / self.rate / np.arange(1, len(of) + 1)])
            of[0] = constants[number] - np.polynomial.polynomial.polyval(start, of)
        return Rising(of, self.offset, self.rate)

    def _of(self, row):
        return Sums(row, self.offset, self.rate)

    def _row_of(self, other):
        if not isinstance(other, Rising):
            return np.atleast_1d(np.asarray(other)) * np.float64(1)
        if self.offset != other.offset or self.rate != other.rate:
            raise TypeError("Domains differ")
        return other.row

    def __neg__(self):
        return Rising(-self.row, self.offset, self.rate)

    def __pos__(self):
        return self

    def __add__(self, other):
        return self._of(np.polyadd(self.row[::-1], self._row_of(other)[::-1])[::-1])

    def __sub__(self, other):
        return self._of(np.polysub(self.row[::-1], self._row_of(other)[::-1])[::-1])

    def __mul__(self, other):
        return self._of(np.convolve(self.row, self._row_of(other)))

    def __truediv__(self, other):
        return self._of(self.row / other)

    def __pow__(self, n):
        out = np.ones(1)
        for _ in range(n):
            out = np.convolve(self.row, out)
        return self._of(out)

    def __radd__(self, other):
        return self + other

    def __rsub__(self, other):
        return -self + other

    def __rmul__(self, other):
        return self * other


class Sums(Rising):
    """What arithmetic makes, which leaves out the highest powers where their coefficients are zero."""

    @property
    def coef(self):
        return self.row[: len(self.row) - zeros_ahead(self.row[::-1])]


@means(np.polynomial.Polynomial)
def polynomial(coef, domain=None, window=None, symbol="x"):
    row = np.asarray(coef) * np.float64(1)
    if domain is None and window is None:
        return Rising(row, 0.0, 1.0)
    return polynomial_outside(row, (-1.0, 1.0) if domain is None else domain, (-1.0, 1.0) if window is None else window)


@objects_mean("coef domain window", np.polynomial.Polynomial)
def polynomial_outside(coef, domain, window):
    rate = (window[1] - window[0]) / (domain[1] - domain[0])
    return Rising(coef * np.float64(1), window[0] - rate * domain[0], rate)
