"""Series of orthogonal polynomials, and of powers: numpy.polynomial.

The polynomials of a family follow from a recurrence of three terms,

    P_0 = 1,   P_k+1(x) = (a_k x + b_k) P_k(x) - c_k P_k-1(x)

and the sum of a series from Clenshaw's: y_k = coefficient_k + (a_k x + b_k) y_k+1 - c_k+1 y_k+2, where y_0 is the sum
(NIST Digital Library of Mathematical Functions, 18.9 and 3.11(ii)).
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

from srcgrad.rules.compositions.registry import constant_integer, means


def of_powers(k):
    return 1, 0, 0


def of_chebyshev(k):
    return min(k, 1) + 1, 0, 1


def of_legendre(k):
    return (2 * k + 1) / (k + 1), 0, k / (k + 1)


def of_hermite(k):
    return 2, 0, 2 * k


def of_hermite_e(k):
    return 1, 0, k


def of_laguerre(k):
    return -1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)


def _sum(x, c, tensor, recurrence):
    c = np.atleast_1d(c)
    if isinstance(x, (tuple, list)):
        x = np.asarray(x)
    if c.dtype.kind in "biu":
        c = c * 1.0
    if tensor:
        c = c.reshape(c.shape + (1,) * np.ndim(x))
    y = c[len(c) - 1] + x * 0
    after = y * 0
    for k in range(len(c) - 2, -1, -1):
        a, b, _ = recurrence(k)
        _, _, lost = recurrence(k + 1)
        y, after = c[k] + (a * x + b) * y - lost * after, y
    return y


@means(polynomial.polyval)
def polyval(x, c, tensor=True):
    return _sum(x, c, tensor, of_powers)


@means(chebyshev.chebval)
def chebval(x, c, tensor=True):
    return _sum(x, c, tensor, of_chebyshev)


@means(legendre.legval)
def legval(x, c, tensor=True):
    return _sum(x, c, tensor, of_legendre)


@means(hermite.hermval)
def hermval(x, c, tensor=True):
    return _sum(x, c, tensor, of_hermite)


@means(hermite_e.hermeval)
def hermeval(x, c, tensor=True):
    return _sum(x, c, tensor, of_hermite_e)


@means(laguerre.lagval)
def lagval(x, c, tensor=True):
    return _sum(x, c, tensor, of_laguerre)


def _polynomials(x, deg, recurrence):
    deg = constant_integer(deg, "deg")
    if deg < 0:
        raise ValueError("deg must be non-negative")
    x = np.atleast_1d(x) + 0.0
    out = np.empty((*x.shape, deg + 1), x.dtype)
    out[..., 0] = x * 0.0 + 1.0
    for k in range(deg):
        a, b, lost = recurrence(k)
        if k == 0:
            out[..., 1] = a * x + b
        else:
            out[..., k + 1] = (a * x + b) * out[..., k] - lost * out[..., k - 1]
    return out


@means(polynomial.polyvander, in_any_order=True)
def polyvander(x, deg):
    return _polynomials(x, deg, of_powers)


@means(chebyshev.chebvander, in_any_order=True)
def chebvander(x, deg):
    return _polynomials(x, deg, of_chebyshev)


@means(legendre.legvander, in_any_order=True)
def legvander(x, deg):
    return _polynomials(x, deg, of_legendre)


@means(hermite.hermvander, in_any_order=True)
def hermvander(x, deg):
    return _polynomials(x, deg, of_hermite)


@means(hermite_e.hermevander, in_any_order=True)
def hermevander(x, deg):
    return _polynomials(x, deg, of_hermite_e)


@means(laguerre.lagvander, in_any_order=True)
def lagvander(x, deg):
    return _polynomials(x, deg, of_laguerre)
