"""SciPy's B-splines: sums of pieces of polynomials over knots, with the derivatives of coefficients and of knots."""

from __future__ import annotations

import numpy as np
import scipy.interpolate
from numpy.lib.array_utils import normalize_axis_index

from srcgrad.rules.compositions.registry import means, objects_mean
from srcgrad.rules.compositions.scipy.banded import solved
from srcgrad.rules.compositions.scipy.interpolation import placed


class Spline:
    """B-splines of the degree k over the knots t, times the coefficients c along the first axis."""

    def __init__(self, t, c, k, extrapolate=True, axis=0):
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis

    def __call__(self, x, nu=0, extrapolate=None):
        beyond = self.extrapolate if extrapolate is None else extrapolate
        x = np.asarray(x)
        p = np.ravel(x) * np.float64(1)
        first, last = self.base()
        if beyond == "periodic":
            p = first + (p - first) % (last - first)
        out = self.at(p, nu)
        if not beyond:
            is_outside = (p < first) | (p > last)
            out = np.where(is_outside if out.ndim == 1 else is_outside[:, None], np.nan, out)
        return placed(out, x.shape, self.c.shape[1:], self.axis)

    def base(self):
        return self.t[self.k], self.t[len(self.t) - self.k - 1]

    def at(self, p, nu):
        """De Boor's algorithm, whose first steps are differences for a derivative."""
        t, k = self.t, self.k
        c = self.c.reshape(len(self.c), -1) if self.c.ndim > 2 else self.c
        i = interval(t, k, p)
        if c.ndim > 1:
            p = p[:, None]
        d = [c[i - k + j] for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                low, high = t[i + j - k], t[i + j + 1 - r]
                if c.ndim > 1:
                    low, high = low[:, None], high[:, None]
                if r <= nu:
                    d[j] = (k + 1 - r) * (d[j] - d[j - 1]) / (high - low)
                else:
                    d[j] = d[j - 1] + (p - low) / (high - low) * (d[j] - d[j - 1])
        return np.zeros_like(d[k]) if nu > k else d[k]

    def derivative(self, nu=1):
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            n = len(t) - k - 1
            width = (t[k + 1 : n + k] - t[1:n]).reshape((-1,) + (1,) * (c.ndim - 1))
            t, c, k = t[1:-1], (c[1:n] - c[: n - 1]) * k / width, k - 1
        return Spline(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu=1):
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            n = len(t) - k - 1
            width = (t[k + 1 :] - t[:n]).reshape((-1,) + (1,) * (c.ndim - 1))
            c = np.cumsum(c[:n] * width, axis=0) / (k + 1)
            c = np.concatenate([np.zeros_like(c[:1]), c])
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        return Spline(t, c, k, False if self.extrapolate == "periodic" else self.extrapolate, self.axis)

    def integrate(self, a, b, extrapolate=None):
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if beyond == "periodic":
            raise NotImplementedError("integrals of what goes on periodically are not supported")
        whole = self.antiderivative()
        if not beyond:
            first, last = self.base()
            a, b = np.clip(a, first, last), np.clip(b, first, last)
        ends = whole.at(np.stack([np.asarray(a) * np.float64(1), np.asarray(b) * np.float64(1)]), 0)
        return np.asarray(ends[1] - ends[0]).reshape(self.c.shape[1:])


def interval(t, k, p):
    """The number of the knot below, of those between which there are polynomials."""
    return np.clip(np.searchsorted(t, p, "right") - 1, k, len(t) - k - 2)


def basis(t, k, p, nu):
    """The B-splines of the degree k that are not 0 at p, the first of them that of coefficient i - k, and i."""
    i = interval(t, k, p)
    values = [np.ones_like(p)]
    for d in range(1, k + 1):
        above = [values[r] / (t[i + r + 1] - t[i + r + 1 - d]) for r in range(d)]
        if d <= k - nu:
            rising = [(p - t[i + r + 1 - d]) * above[r] for r in range(d)]
            falling = [(t[i + r + 1] - p) * above[r] for r in range(d)]
        else:
            rising, falling = [d * one for one in above], [-d * one for one in above]
        between = [rising[r - 1] + falling[r] for r in range(1, d)]
        values = [falling[0], *between, rising[d - 1]]
    return values, i


@means(scipy.interpolate.BSpline)
def bspline(t, c, k, extrapolate=True, axis=0):
    t, c = np.asarray(t, dtype=np.float64), np.asarray(c)
    c = c.astype(np.complex128 if np.iscomplexobj(c) else np.float64)
    axis = normalize_axis_index(axis, c.ndim)
    if t.ndim != 1:
        raise ValueError("Knot vector must be one-dimensional.")
    if t.shape[0] < 2 * k + 2:
        raise ValueError("Need at least 2 (k + 1) knots")
    if np.any(t[1:] < t[:-1]):
        raise ValueError("Knots must be in a non-decreasing order.")
    c = np.moveaxis(c, axis, 0)
    if c.shape[0] < t.shape[0] - k - 1:
        raise ValueError("Knots, coefficients and degree are inconsistent.")
    return Spline(t, c, k, extrapolate, axis)


@means(scipy.interpolate.make_interp_spline)
def make_interp_spline(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    if isinstance(bc_type, str) and bc_type == "periodic":
        raise NotImplementedError("make_interp_spline with bc_type='periodic' is not supported")
    left, right = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    left, right = at_end(left), at_end(right)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y)
    axis = normalize_axis_index(axis, y.ndim)
    y = np.moveaxis(y.astype(np.complex128 if np.iscomplexobj(y) else np.float64), axis, 0)
    if x.ndim != 1 or x.shape[0] != y.shape[0]:
        raise ValueError("Shapes of x and y are incompatible")
    if np.any(x[1:] <= x[:-1]):
        raise ValueError("Expect x to be a 1D strictly increasing sequence.")
    if k < 2 and t is None:
        if left or right:
            raise ValueError("Too much info for k < 2: bc_type can only be None.")
        return Spline(np.concatenate([*[x[:1]] * k, x, x[-1:]]), y, k, True, axis)
    if t is not None:
        t = np.asarray(t, dtype=np.float64)
    elif left or right:
        t = np.concatenate([*[x[:1]] * k, x, *[x[-1:]] * k])
    else:
        inner = x[(k + 1) // 2 : -((k + 1) // 2)] if k % 2 else ((x[1:] + x[:-1]) / 2.0)[k // 2 : -(k // 2)]
        t = np.concatenate([*[x[:1]] * (k + 1), inner, *[x[-1:]] * (k + 1)])
    if t.shape[0] - k - 1 != x.shape[0] + len(left) + len(right):
        raise ValueError("The number of knots, points and derivatives at boundaries does not match")
    return Spline(t, interpolated(x, y, k, t, left, right), k, True, axis)


def at_end(given):
    """Derivatives that are given at an end: their orders and values."""
    if given is None:
        return []
    elif not isinstance(given, str):
        return list(given)
    elif given == "not-a-knot":
        return []
    elif given == "clamped":
        return [(1, 0.0)]
    elif given == "natural":
        return [(2, 0.0)]
    raise ValueError(f"Unknown boundary condition: {given}")


def interpolated(x, y, k, t, left, right):
    """Coefficients of the spline through these points, and with these derivatives at its ends."""
    n = t.shape[0] - k - 1
    band, goal = np.zeros((2 * k + 1, n)), np.zeros((n, *y.shape[1:]), y.dtype)
    before, behind = len(left), len(right)
    for row, (order, value) in enumerate(left):
        goal[row] = value
        place(band, t, k, x[:1], row, order)
    for row, (order, value) in enumerate(right):
        goal[n - behind + row] = value
        place(band, t, k, x[-1:], n - behind + row, order)
    goal[before : n - behind] = y
    place(band, t, k, x, before, 0)
    return solved(k, k, band, goal, False)


def place(band, t, k, p, first, nu):
    """Rows from the first on, of what is near the diagonal of a matrix: the B-splines' values at points."""
    values, i = basis(t, k, p, nu)
    for j in range(k + 1):
        band[k + first + np.arange(len(p)) - (i - k + j), i - k + j] = values[j]


# ------------------------------------------------------------------------------------------ as in FITPACK


class Fitted(Spline):
    """What UnivariateSpline makes: `ext` says what it is outside."""

    def __init__(self, t, c, k, ext=0):
        self.t, self.c, self.k, self.ext = t, c, k, ext
        self.axis, self.extrapolate = 0, True

    def __call__(self, x, nu=0, ext=None):
        return splev(x, (self.t, self.c, self.k), nu, self.ext if ext is None else number_of(ext))

    def derivative(self, n=1):
        of = Spline(self.t, self.c, self.k).derivative(n)
        return Fitted(of.t, of.c, of.k, 1 if self.ext == 3 else self.ext)

    def antiderivative(self, n=1):
        of = Spline(self.t, self.c, self.k).antiderivative(n)
        return Fitted(of.t, of.c, of.k, self.ext)

    def integral(self, a, b):
        return Spline(self.t, self.c, self.k).integrate(a, b, False)[()]


def number_of(ext):
    return ("extrapolate", "zeros", "raise", "const").index(ext) if isinstance(ext, str) else ext


@means(scipy.interpolate.splev)
def splev(x, tck, der=0, ext=0):
    of = as_spline(tck)
    x = np.asarray(x)
    p = np.ravel(x) * np.float64(1)
    first, last = of.base()
    is_outside = (p < first) | (p > last)
    if ext == 2 and np.any(is_outside):
        raise ValueError("Found x value not in the domain")
    out = of.at(np.clip(p, first, last) if ext == 3 else p, der)
    return (np.where(is_outside, 0.0, out) if ext == 1 else out).reshape(x.shape)


def as_spline(tck):
    if hasattr(tck, "integrate"):
        return tck
    t, c, k = tck
    return Spline(np.asarray(t), np.asarray(c), k)


@means(scipy.interpolate.splint)
def splint(a, b, tck, full_output=0):
    return as_spline(tck).integrate(a, b, False)[()]


@means(scipy.interpolate.splrep)
def splrep(x, y, w=None, xb=None, xe=None, k=3, task=0, s=None):
    if w is not None or xb is not None or xe is not None or task != 0 or not (s is None or s == 0):
        raise NotImplementedError("splrep with other arguments than x, y, k and s=0 is not supported")
    of = make_interp_spline(x, y, k)
    return of.t, np.concatenate([of.c, np.zeros(k + 1)]), k


@means(scipy.interpolate.bisplev)
def bisplev(x, y, tck, dx=0, dy=0):
    """A surface over a grid: products of B-splines along both axes; beyond its ends it is what it is there."""
    tx, ty, c, kx, ky = tck
    tx, ty = np.asarray(tx), np.asarray(ty)
    if np.ndim(x) > 1 or np.ndim(y) > 1:
        raise ValueError("First two entries should be rank-1 arrays.")
    p = np.clip(np.ravel(np.asarray(x)) * np.float64(1), tx[kx], tx[len(tx) - kx - 1])
    q = np.clip(np.ravel(np.asarray(y)) * np.float64(1), ty[ky], ty[len(ty) - ky - 1])
    if (np.ndim(x) == 1 and len(p) == 1) or (np.ndim(x) == 0 and np.ndim(y) == 1 and len(q) == 1):
        raise NotImplementedError("bisplev of arrays of length 1, of which SciPy makes numbers, is not supported")
    along_x, i = basis(tx, kx, p, dx)
    along_y, j = basis(ty, ky, q, dy)
    table = np.reshape(np.asarray(c), (len(tx) - kx - 1, len(ty) - ky - 1))
    out = np.zeros((len(p), len(q)))
    for r in range(kx + 1):
        for s in range(ky + 1):
            out += np.outer(along_x[r], along_y[s]) * table[(i - kx + r)[:, None], (j - ky + s)[None, :]]
    if np.ndim(x) == 1:
        return out
    return out[0] if np.ndim(y) == 1 else out[0, 0]


@means(scipy.interpolate.InterpolatedUnivariateSpline)
def interpolated_univariate_spline(x, y, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
    if w is not None or bbox[0] is not None or bbox[1] is not None:
        raise NotImplementedError("weights and ends of a spline are not supported")
    of = make_interp_spline(x, y, k)
    return Fitted(of.t, of.c, k, number_of(ext))


@objects_mean("t c k extrapolate axis", scipy.interpolate.BSpline)
def bspline_outside(t, c, k, extrapolate, axis):
    return Spline(t, c, k, extrapolate, axis)


@objects_mean(
    "_eval_args ext",
    scipy.interpolate.UnivariateSpline,
    scipy.interpolate.InterpolatedUnivariateSpline,
    scipy.interpolate.LSQUnivariateSpline,
)
def univariate_spline_outside(tck, ext):
    t, c, k = tck
    return Fitted(t, c, k, ext)
