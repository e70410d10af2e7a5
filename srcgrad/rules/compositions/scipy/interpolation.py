"""SciPy's interpolation in one dimension: polynomials between knots, with the derivatives of their coefficients."""

from __future__ import annotations

import numpy as np
import scipy.interpolate
from numpy.lib.array_utils import normalize_axis_index

from srcgrad.rules.compositions.registry import means, objects_mean
from srcgrad.rules.compositions.scipy.banded import solved


class Piecewise:
    """Polynomials between knots, the highest power first, each in the distance from the knot below."""

    def __init__(self, c, x, extrapolate, axis):
        self.c = c
        self.x = x
        self.extrapolate = True if extrapolate is None else extrapolate
        self.axis = axis

    def __call__(self, x, nu=0, extrapolate=None):
        beyond = self.extrapolate if extrapolate is None else extrapolate
        x = np.asarray(x)
        t = np.ravel(x) * np.float64(1)
        if beyond == "periodic":
            t = self.x[0] + (t - self.x[0]) % (self.x[-1] - self.x[0])
        out = self.at(t, nu)
        if not beyond:
            is_outside = (t < self.x[0]) | (t > self.x[-1])
            out = np.where(is_outside if self.c.ndim == 2 else is_outside[:, None], np.nan, out)
        return placed(out, x.shape, self.c.shape[2:], self.axis)

    def at(self, t, nu):
        k = np.clip(np.searchsorted(self.x, t, "right") - 1, 0, len(self.x) - 2)
        c = self.c.reshape((*self.c.shape[:2], -1)) if self.c.ndim > 3 else self.c
        distance = t - self.x[k] if c.ndim == 2 else (t - self.x[k])[:, None]
        degree = c.shape[0] - 1
        out = np.zeros_like(c[0][k])
        for power in range(degree, nu - 1, -1):
            factor = 1.0
            for j in range(nu):
                factor *= power - j
            out = out * distance + factor * c[degree - power][k]
        return out

    def derivative(self, nu=1):
        degree = self.c.shape[0] - 1
        rows = []
        for power in range(degree, nu - 1, -1):
            factor = 1.0
            for j in range(nu):
                factor *= power - j
            rows.append(factor * self.c[degree - power])
        if not rows:
            rows = [np.zeros_like(self.c[0])]
        return Piecewise(np.stack(rows), self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu=1):
        if nu != 1:
            return self.antiderivative().antiderivative(nu - 1)
        degree = self.c.shape[0] - 1
        rows = [self.c[j] / (degree + 1 - j) for j in range(degree + 1)]
        width = np.diff(self.x).reshape((-1,) + (1,) * (self.c.ndim - 2))
        over = rows[0] * width
        for j in range(1, degree + 1):
            over = (over + rows[j]) * width
        before = np.concatenate([np.zeros_like(over[:1]), np.cumsum(over[:-1], axis=0)])
        return Piecewise(np.stack([*rows, before]), self.x, self.extrapolate, self.axis)

    def integrate(self, a, b, extrapolate=None):
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if beyond == "periodic":
            raise NotImplementedError("integrals of what goes on periodically are not supported")
        whole = self.antiderivative()
        return np.asarray(whole(b, extrapolate=beyond) - whole(a, extrapolate=beyond))


@objects_mean(
    "c x extrapolate axis",
    scipy.interpolate.PPoly,
    scipy.interpolate.CubicHermiteSpline,
    scipy.interpolate.CubicSpline,
    scipy.interpolate.PchipInterpolator,
    scipy.interpolate.Akima1DInterpolator,
)
def piecewise_outside(c, x, extrapolate, axis):
    if x[-1] < x[0]:
        raise NotImplementedError("knots that decrease are not supported")
    return Piecewise(c, x, extrapolate, axis)


def placed(out, shape, rest, axis):
    """Values at points, one after the other, as an array with the axes of the points where the axis was."""
    out = out.reshape((*shape, *rest))
    if axis == 0:
        return out
    points = len(shape)
    others = tuple(range(points, out.ndim))
    return np.transpose(out, (*others[:axis], *range(points), *others[axis:]))


def knots(x, y, axis):
    """Points in order, and what is known at them, along the first axis."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y)
    axis = normalize_axis_index(axis, y.ndim)
    y = np.moveaxis(y.astype(np.complex128 if np.iscomplexobj(y) else np.float64), axis, 0)
    if x.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if x.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if x.shape[0] != y.shape[0]:
        raise ValueError("the length of `y` along `axis` doesn't match the length of `x`")
    if np.any(x[1:] <= x[:-1]):
        raise ValueError("`x` must be strictly increasing sequence.")
    return x, y, axis


def along_first(x, y):
    """The distances of the knots, for an array with more axes behind."""
    return np.diff(x).reshape((-1,) + (1,) * (y.ndim - 1))


def hermite(x, y, s, extrapolate, axis):
    """The cubic polynomials with values y and slopes s at the knots."""
    h = along_first(x, y)
    slope = np.diff(y, axis=0) / h
    bend = (s[:-1] + s[1:] - 2.0 * slope) / h
    return Piecewise(np.stack([bend / h, (slope - s[:-1]) / h - bend, s[:-1], y[:-1]]), x, extrapolate, axis)


@means(scipy.interpolate.CubicHermiteSpline)
def hermite_spline(x, y, dydx, axis=0, extrapolate=None):
    slopes = np.asarray(dydx)
    x, y, axis = knots(x, y, axis)
    s = np.moveaxis(slopes.astype(np.complex128 if np.iscomplexobj(slopes) else np.float64), axis, 0)
    if s.shape != y.shape:
        raise ValueError("The shapes of `y` and `dydx` must be identical.")
    return hermite(x, y, s, extrapolate, axis)


# ---------------------------------------------------------------------------------------------- cubic splines


@means(scipy.interpolate.CubicSpline)
def cubic_spline(x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
    x, y, axis = knots(x, y, axis)
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            raise NotImplementedError("CubicSpline with bc_type='periodic' is not supported")
        first, last = bc_type, bc_type
    else:
        first, last = bc_type
    return hermite(x, y, spline_slopes(x, y, end_of(first), end_of(last)), extrapolate, axis)


def end_of(kind):
    """The order of the derivative that is given at an end, and its value; 3: the third one has no jump beside it."""
    if not isinstance(kind, str):
        order, value = kind
        if order not in (1, 2):
            raise ValueError("The specified derivative order must be 1 or 2.")
        return order, value
    elif kind == "not-a-knot":
        return 3, 0.0
    elif kind == "clamped":
        return 1, 0.0
    elif kind == "natural":
        return 2, 0.0
    raise ValueError(f"bc_type={kind!r} is not allowed.")


def spline_slopes(x, y, first, last):
    """Slopes at the knots for which the second derivatives have no jumps."""
    n = x.shape[0]
    h = np.diff(x)
    wide = along_first(x, y)
    slope = np.diff(y, axis=0) / wide
    band, right = np.zeros((3, n)), np.zeros(y.shape, y.dtype)
    if n == 2:
        for end, (order, value) in ((0, first), (1, last)):
            if order == 2:
                band[1, end] = 2.0
                band[0 if end == 0 else 2, 1 - end] = 1.0
                right[end] = 3.0 * slope[0] + (1 if end else -1) * 0.5 * value * h[0]
            else:
                band[1, end] = 1.0
                right[end] = value if order == 1 else slope[0]
        return solved(1, 1, band, right, False)
    if n == 3 and first[0] == 3 and last[0] == 3:
        second = (slope[1] - slope[0]) / (x[2] - x[0])
        return np.stack([slope[0] - second * h[0], slope[0] + second * h[0], slope[1] + second * h[1]])
    band[1, 1 : n - 1] = 2.0 * (h[:-1] + h[1:])
    band[0, 2:] = h[:-1]
    band[2, : n - 2] = h[1:]
    right[1 : n - 1] = 3.0 * (wide[1:] * slope[:-1] + wide[:-1] * slope[1:])
    if first[0] == 3:
        gap = x[2] - x[0]
        band[1, 0] = h[1]
        band[0, 1] = gap
        right[0] = ((h[0] + 2.0 * gap) * h[1] * slope[0] + h[0] ** 2 * slope[1]) / gap
    elif first[0] == 1:
        band[1, 0] = 1.0
        right[0] = first[1]
    else:
        band[1, 0] = 2.0 * h[0]
        band[0, 1] = h[0]
        right[0] = 3.0 * (y[1] - y[0]) - 0.5 * first[1] * h[0] ** 2
    if last[0] == 3:
        gap = x[n - 1] - x[n - 3]
        band[1, n - 1] = h[n - 3]
        band[2, n - 2] = gap
        right[n - 1] = (h[n - 2] ** 2 * slope[n - 3] + (2.0 * gap + h[n - 2]) * h[n - 3] * slope[n - 2]) / gap
    elif last[0] == 1:
        band[1, n - 1] = 1.0
        right[n - 1] = last[1]
    else:
        band[1, n - 1] = 2.0 * h[n - 2]
        band[2, n - 2] = h[n - 2]
        right[n - 1] = 3.0 * (y[n - 1] - y[n - 2]) + 0.5 * last[1] * h[n - 2] ** 2
    return solved(1, 1, band, right, False)


# ------------------------------------------------------------------------------------------- monotone polynomials


@means(scipy.interpolate.PchipInterpolator)
def pchip(x, y, axis=0, extrapolate=None):
    x, y, axis = knots(x, y, axis)
    if np.iscomplexobj(y):
        raise ValueError("`PchipInterpolator` only works with real values for `y`.")
    return hermite(x, y, monotone_slopes(x, y), extrapolate, axis)


def monotone_slopes(x, y):
    """Slopes that leave what grows growing: weighted harmonic means, and 0 at an extremum."""
    n = x.shape[0]
    h = along_first(x, y)
    slope = np.diff(y, axis=0) / h
    out = np.zeros(y.shape, y.dtype)
    if n == 2:
        out[:] = slope[0]
        return out
    left, right = slope[:-1], slope[1:]
    is_flat = left * right <= 0
    before, behind = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    parts = before / np.where(is_flat, 1.0, left) + behind / np.where(is_flat, 1.0, right)
    out[1:-1] = np.where(is_flat, 0.0, (before + behind) / np.where(is_flat, 1.0, parts))
    out[0] = slope_at_end(h[0], h[1], slope[0], slope[1])
    out[n - 1] = slope_at_end(h[n - 2], h[n - 3], slope[n - 2], slope[n - 3])
    return out


def slope_at_end(near, far, slope, other):
    """Of the parabola through three points, unless that is not monotone."""
    d = ((2.0 * near + far) * slope - near * other) / (near + far)
    is_too_steep = (np.sign(slope) != np.sign(other)) & (np.abs(d) > 3.0 * np.abs(slope))
    return np.where(np.sign(d) != np.sign(slope), 0.0, np.where(is_too_steep, 3.0 * slope, d))


# ---------------------------------------------------------------------------------------------------- interp1d


class Table:
    """What scipy.interpolate.interp1d makes."""

    def __init__(self, x, y, kind, axis, is_strict, fill_value, spline=None):
        self.x, self.y, self.kind, self.axis = x, y, kind, axis
        self.is_strict, self.fill_value, self.spline = is_strict, fill_value, spline

    def __call__(self, x):
        x = np.asarray(x)
        t = np.ravel(x) * (
            np.float64(1) if self.y.ndim == 1 else np.float32(1)
        )  # SciPy's precision for rows of numbers
        if self.is_strict and np.any(t < self.x[0]):
            raise ValueError("A value in x_new is below the interpolation range.")
        if self.is_strict and np.any(t > self.x[-1]):
            raise ValueError("A value in x_new is above the interpolation range.")
        out = self.inside(t)
        if not (isinstance(self.fill_value, str) or self.is_strict):
            below, above = self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value, self.fill_value)
            t = t.reshape((-1,) + (1,) * (self.y.ndim - 1))
            out = np.where(t < self.x[0], below, np.where(t > self.x[-1], above, out))
        return placed(out, x.shape, self.y.shape[1:], self.axis)

    def inside(self, t):
        n = len(self.x)
        if self.kind == "spline":
            return self.spline(t).reshape((-1, *self.y.shape[1:]))
        elif self.kind == "cubic":
            return cubic_spline(self.x, self.y)(t)
        elif self.kind == "nearest":
            return self.y[np.clip(np.searchsorted((self.x[1:] + self.x[:-1]) / 2.0, t), 0, n - 1)]
        behind = (-1,) + (1,) * (self.y.ndim - 1)
        if self.kind == "previous":
            known = self.y[np.clip(np.searchsorted(self.x, t, "right") - 1, 0, n - 1)]
            return np.where((t < self.x[0]).reshape(behind), np.nan, known)
        elif self.kind == "next":
            known = self.y[np.clip(np.searchsorted(self.x, t), 0, n - 1)]
            return np.where((t > self.x[-1]).reshape(behind), np.nan, known)
        k = np.clip(np.searchsorted(self.x, t, "right"), 1, n - 1)  # at a knot the slope is the one to the right of it
        slope = (self.y[k] - self.y[k - 1]) / (self.x[k] - self.x[k - 1]).reshape(behind)
        return slope * (t - self.x[k - 1]).reshape(behind) + self.y[k - 1]


@means(scipy.interpolate.interp1d)
def interp1d(x, y, kind="linear", axis=-1, copy=True, bounds_error=None, fill_value=np.nan, assume_sorted=False):
    if kind not in ("linear", "slinear", "cubic", "nearest", "previous", "next"):
        raise NotImplementedError(f"interp1d of the kind {kind!r} is not supported")
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 1:
        raise ValueError("the x array must have exactly one dimension.")
    axis = normalize_axis_index(axis, y.ndim)
    y = np.moveaxis(y if np.issubdtype(y.dtype, np.inexact) else y.astype(np.float64), axis, 0)
    if x.shape[0] != y.shape[0]:
        raise ValueError("x and y arrays must be equal in length along interpolation axis.")
    if not assume_sorted:
        order = np.argsort(x, kind="mergesort")
        x, y = x[order], y[order]
    is_strict = not isinstance(fill_value, str) if bounds_error is None else bounds_error
    return Table(x, y, kind, axis, bool(is_strict), fill_value)


@objects_mean("x y _kind axis bounds_error _fill_value_orig _spline", scipy.interpolate.interp1d)
def interp1d_outside(x, y, kind, axis, is_strict, fill_value, spline):
    if kind not in ("linear", "spline", "nearest", "previous", "next"):
        raise NotImplementedError(f"interp1d of the kind {kind!r} is not supported")
    return Table(x, np.moveaxis(y, axis, 0), kind, axis, is_strict, fill_value, spline)
