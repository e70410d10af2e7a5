"""What scipy.stats says of a sample: means, moments, entropies, lines.  Values that are nan are not left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.special
import scipy.stats

from srcgrad.rules.compositions.registry import means


def sample(a, axis):
    """The array and the axis, with the array as one row where no axis is named."""
    a = np.asarray(a)
    return (np.ravel(a), 0) if axis is None else (a, axis)


def kept(out, axis, keepdims):
    return np.expand_dims(out, axis) if keepdims else out


@means(scipy.stats.gmean)
def gmean(a, axis=0, *, weights=None, keepdims=False):
    a, axis = sample(a, axis)
    weights = None if weights is None else np.asarray(weights)
    return np.exp(kept(np.average(np.log(a), axis=axis, weights=weights), axis, keepdims))


@means(scipy.stats.hmean)
def hmean(a, axis=0, *, weights=None, keepdims=False):
    a, axis = sample(a, axis)
    weights = None if weights is None else np.asarray(weights)
    return 1.0 / kept(np.average(1.0 / a, axis=axis, weights=weights), axis, keepdims)


@means(scipy.stats.zscore)
def zscore(a, axis=0, ddof=0):
    a = np.asarray(a)
    spread = np.std(a, axis=axis, ddof=ddof, keepdims=True)
    return (a - np.mean(a, axis=axis, keepdims=True)) / np.where(spread == 0, np.nan, spread)


@means(scipy.stats.zmap)
def zmap(scores, compare, axis=0, ddof=0):
    a, compare = np.asarray(scores), np.asarray(compare)
    spread = np.std(compare, axis=axis, ddof=ddof, keepdims=True)
    return (a - np.mean(compare, axis=axis, keepdims=True)) / spread


@means(scipy.stats.sem)
def sem(a, axis=0, ddof=1, *, keepdims=False):
    a, axis = sample(a, axis)
    return kept(np.std(a, axis=axis, ddof=ddof) / a.shape[axis] ** 0.5, axis, keepdims)


@means(scipy.stats.variation)
def variation(a, axis=0, ddof=0, *, keepdims=False):
    a, axis = sample(a, axis)
    return kept(np.std(a, axis=axis, ddof=ddof) / np.mean(a, axis=axis), axis, keepdims)


def central(a, order, axis):
    a = a * np.ones((), np.result_type(a.dtype, np.float32 if np.issubdtype(a.dtype, np.inexact) else np.float64))
    return np.mean((a - np.mean(a, axis=axis, keepdims=True)) ** order, axis=axis)


@means(scipy.stats.moment)
def moment(a, order=1, axis=0, *, keepdims=False):
    a, axis = sample(a, axis)
    return kept(central(a, order, axis), axis, keepdims)


@means(scipy.stats.skew)
def skew(a, axis=0, bias=True, *, keepdims=False):
    a, axis = sample(a, axis)
    n, second = a.shape[axis], central(a, 2, axis)
    out = central(a, 3, axis) / second**1.5
    if not bias and n > 2:
        out = ((n - 1.0) * n) ** 0.5 / (n - 2.0) * out
    return kept(out, axis, keepdims)


@means(scipy.stats.kurtosis)
def kurtosis(a, axis=0, fisher=True, bias=True, *, keepdims=False):
    a, axis = sample(a, axis)
    n, second = a.shape[axis], central(a, 2, axis)
    out = central(a, 4, axis) / second**2
    if not bias and n > 3:
        out = ((n**2 - 1.0) * out - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return kept(out - 3.0 if fisher else out, axis, keepdims)


@means(scipy.stats.iqr)
def iqr(x, axis=None, rng=(25, 75), scale=1.0, interpolation="linear", keepdims=False):
    if isinstance(scale, str):
        raise NotImplementedError("iqr with a scale by name is not supported")
    low = np.percentile(x, rng[0], axis=axis, method=interpolation, keepdims=keepdims)
    high = np.percentile(x, rng[1], axis=axis, method=interpolation, keepdims=keepdims)
    return (high - low) / scale


RELEASE = tuple(map(int, scipy.__version__.split(".")[:2]))
ENTROPY_IN_DOUBLE, LINES_IN_DOUBLE = RELEASE < (1, 16), RELEASE < (1, 18)  # whatever the arguments are


@means(scipy.stats.entropy)
def entropy(pk, qk=None, base=None, axis=0, *, keepdims=False):
    p = np.asarray(pk) * (np.float64(1) if ENTROPY_IN_DOUBLE else 1.0)
    p = p / np.sum(p, axis=axis, keepdims=True)
    if qk is None:
        each = scipy.special.entr(p)
    else:
        q = np.asarray(qk)
        each = scipy.special.rel_entr(p, q / np.sum(q, axis=axis, keepdims=True))
    out = np.sum(each, axis=axis, keepdims=keepdims)
    return out if base is None else out / float(np.log(base))


class Correlation(NamedTuple):
    statistic: float
    pvalue: float


@means(scipy.stats.pearsonr)
def pearsonr(x, y):
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 1 or y.ndim != 1:
        raise NotImplementedError("pearsonr of arrays with more axes is not supported")
    if x.shape[0] != y.shape[0]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    x, y = x - np.mean(x), y - np.mean(y)
    r = np.clip(np.sum(x / np.linalg.norm(x) * (y / np.linalg.norm(y))), -1.0, 1.0)
    half = x.shape[0] / 2.0 - 1.0
    return Correlation(r, 2.0 * scipy.special.betainc(half, half, (1.0 - np.abs(r)) / 2.0))


class Line(NamedTuple):
    slope: float
    intercept: float
    rvalue: float
    pvalue: float
    stderr: float


@means(scipy.stats.linregress)
def linregress(x, y):
    unit = np.float64(1) if LINES_IN_DOUBLE else 1.0
    x, y = np.asarray(x) * unit, np.asarray(y) * unit
    n = x.shape[0]
    x_mean, y_mean = np.mean(x), np.mean(y)
    xx, xy = np.mean((x - x_mean) ** 2), np.mean((x - x_mean) * (y - y_mean))
    yy = np.mean((y - y_mean) ** 2)
    r = np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0)
    slope = xy / xx
    error = np.sqrt((1.0 - r**2) * yy / xx / (n - 2.0))
    t = r * np.sqrt((n - 2.0) / ((1.0 - r + 1e-20) * (1.0 + r + 1e-20)))
    return Line(slope, y_mean - slope * x_mean, r, 2.0 * scipy.special.stdtr(n - 2.0, -np.abs(t)), error)
