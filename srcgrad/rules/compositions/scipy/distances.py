"""SciPy's distances between vectors, and between the rows of matrices."""

from __future__ import annotations

import math

import numpy as np
import scipy
import scipy.spatial
import scipy.spatial.distance as distance
import scipy.special

from srcgrad.rules.compositions.registry import means

BLAS_GIVES_FLOATS = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18)  # Python's, of arrays of float32 too

EUCLIDEAN = ("euclidean", "euclid", "eu", "e")
SQUARED = ("sqeuclidean", "sqe", "sqeuclid")
MANHATTAN = ("cityblock", "cblock", "cb", "c")
CHEBYSHEV = ("chebyshev", "chebychev", "cheby", "cheb", "ch")
MINKOWSKI = ("minkowski", "mi", "m", "pnorm")
COSINE, CORRELATION = ("cosine", "cos"), ("correlation", "co")
STANDARDISED = ("seuclidean", "se", "s")
MAHALANOBIS = ("mahalanobis", "mahal", "mah")
JENSEN_SHANNON = ("jensenshannon", "js")
METRICS = (
    *EUCLIDEAN, *SQUARED, *MANHATTAN, *CHEBYSHEV, *MINKOWSKI, *COSINE, *CORRELATION, *STANDARDISED, *MAHALANOBIS,
    *JENSEN_SHANNON, "braycurtis", "canberra",
)  # fmt: skip

# ----------------------------------------------------------------------------------------------- two vectors


def vector(u, dtype=None):
    u = np.asarray(u, dtype=dtype)
    if u.ndim != 1:
        raise ValueError("Input vector should be 1-D.")
    return u


def weights(w):
    w = vector(w, np.float64)
    if np.any(w < 0):
        raise ValueError("Input weights should be all non-negative")
    return w


@means(distance.minkowski)
def minkowski(u, v, p=2, w=None):
    if p <= 0:
        raise ValueError("p must be greater than 0")
    gap = vector(u) - vector(v)
    if w is not None:
        w = weights(w)
        gap = (w if p == 1 else np.sqrt(w) if p == 2 else w != 0 if p == np.inf else w ** (1 / p)) * gap
    if p == 2:
        is_blas = BLAS_GIVES_FLOATS and np.issubdtype(gap.dtype, np.inexact)
        return float(np.linalg.norm(gap)) if is_blas else np.linalg.norm(gap)
    elif p == 1:
        return np.linalg.norm(gap, 1)
    elif p == np.inf:
        return np.linalg.norm(gap, np.inf)
    total = np.sum(np.abs(gap) ** p)
    return 0.0 if total == 0 else total ** (1 / p)


@means(distance.euclidean)
def euclidean(u, v, w=None):
    return minkowski(u, v, 2, w)


@means(distance.sqeuclidean)
def sqeuclidean(u, v, w=None):
    u, v = vector(inexact(u)), vector(inexact(v))
    return np.dot(u - v, u - v if w is None else weights(w) * (u - v))


def inexact(u):
    u = np.asarray(u)
    return u if np.issubdtype(u.dtype, np.inexact) else u.astype(np.float64)


@means(distance.cityblock)
def cityblock(u, v, w=None):
    gap = abs(vector(u) - vector(v))
    return np.sum(gap) if w is None else np.sum(weights(w) * gap)


@means(distance.chebyshev)
def chebyshev(u, v, w=None):
    gap = abs(vector(u) - vector(v))
    return np.max(gap) if w is None else np.max((weights(w) > 0) * gap)


@means(distance.correlation)
def correlation(u, v, w=None, centered=True):
    u, v = vector(u), vector(v)
    if w is not None:
        w = weights(w)
        w = w / np.sum(w)
    if centered:
        u = u - (np.mean(u) if w is None else np.dot(u, w))
        v = v - (np.mean(v) if w is None else np.dot(v, w))
    uw, vw = (u, v) if w is None else (u * w, v * w)
    return np.clip(1.0 - np.dot(u, vw) / math.sqrt(np.dot(u, uw) * np.dot(v, vw)), 0.0, 2.0)


@means(distance.cosine)
def cosine(u, v, w=None):
    return correlation(u, v, w, False)


@means(distance.braycurtis)
def braycurtis(u, v, w=None):
    u, v = vector(u), vector(v, np.float64)
    gap, size = abs(u - v), abs(u + v)
    if w is not None:
        w = weights(w)
        gap, size = w * gap, w * size
    return np.sum(gap) / np.sum(size)


@means(distance.canberra)
def canberra(u, v, w=None):
    u, v = vector(u), vector(v, np.float64)
    size = abs(u) + abs(v)
    parts = np.where(size == 0, 0.0, abs(u - v) / np.where(size == 0, 1.0, size))
    return np.sum(parts) if w is None else np.sum(weights(w) * parts)


@means(distance.mahalanobis)
def mahalanobis(u, v, VI):
    gap = vector(u) - vector(v)
    square = np.dot(np.dot(gap, np.atleast_2d(VI)), gap)
    return 0.0 if square == 0 else np.sqrt(square)


@means(distance.seuclidean)
def seuclidean(u, v, V):
    V = vector(V, np.float64)
    if V.shape[0] != np.shape(u)[0] or V.shape[0] != np.shape(v)[0]:
        raise TypeError("V must be a 1-D array of the same dimension as u and v.")
    return euclidean(u, v, 1 / V)


@means(distance.jensenshannon)
def jensenshannon(p, q, base=None, *, axis=0, keepdims=False):
    p, q = np.asarray(p), np.asarray(q)
    p, q = p / np.sum(p, axis=axis, keepdims=True), q / np.sum(q, axis=axis, keepdims=True)
    m = (p + q) / 2.0
    left = np.sum(scipy.special.rel_entr(p, m), axis=axis, keepdims=keepdims)
    right = np.sum(scipy.special.rel_entr(q, m), axis=axis, keepdims=keepdims)
    divergence = left + right
    if base is not None:
        divergence /= np.log(base)
    return np.asarray(np.where(divergence == 0, 0.0, np.sqrt(divergence / 2.0)))[()]


# ---------------------------------------------------------------------------------------------- rows of matrices


def known(metric):
    """The metric, its name in small letters."""
    if not isinstance(metric, str):
        return metric
    name = metric.lower()
    if name not in METRICS:
        raise NotImplementedError(f"the distance {metric!r} is not supported")
    return name


def between(u, v, metric, p, w, V, VI):
    """The distance of two rows."""
    if not isinstance(metric, str):
        return metric(u, v)
    elif metric in EUCLIDEAN:
        return euclidean(u, v, w)
    elif metric in SQUARED:
        return sqeuclidean(u, v, w)
    elif metric in MANHATTAN:
        return cityblock(u, v, w)
    elif metric in CHEBYSHEV:
        return chebyshev(u, v, w)
    elif metric in MINKOWSKI:
        return minkowski(u, v, p, w)
    elif metric in COSINE:
        return correlation(u, v, w, False)
    elif metric in CORRELATION:
        return correlation(u, v, w)
    elif metric == "braycurtis":
        return braycurtis(u, v, w)
    elif metric == "canberra":
        return canberra(u, v, w)
    elif metric in STANDARDISED:
        return seuclidean(u, v, V)
    elif metric in MAHALANOBIS:
        return mahalanobis(u, v, VI)
    return jensenshannon(u, v)


def rows_of(x, name):
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"{name} must be a 2-dimensional array.")
    return x


def spread(metric, V, VI, rows):
    """What the metric divides by: of all rows, where it is not given."""
    if isinstance(metric, str) and metric in STANDARDISED and V is None:
        V = np.var(rows, axis=0, ddof=1)
    if isinstance(metric, str) and metric in MAHALANOBIS and VI is None:
        if rows.shape[0] <= rows.shape[1]:
            raise ValueError("The number of observations is too small; the covariance matrix is singular.")
        VI = np.linalg.inv(np.cov(rows.T)).T
    return V, VI


def check_weights(w, rows):
    if w is not None and len(w) != rows.shape[1]:
        raise ValueError("Weights must have same size as input vector.")


@means(distance.cdist)
def cdist(XA, XB, metric="euclidean", *, p=2, w=None, V=None, VI=None):
    XA, XB = rows_of(XA, "XA"), rows_of(XB, "XB")
    if XA.shape[1] != XB.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    metric = known(metric)
    check_weights(w, XA)
    V, VI = spread(metric, V, VI, np.concatenate((XA, XB)))
    out = np.empty((XA.shape[0], XB.shape[0]))
    for i in range(XA.shape[0]):
        for j in range(XB.shape[0]):
            out[i, j] = between(XA[i], XB[j], metric, p, w, V, VI)
    return out


@means(distance.pdist)
def pdist(X, metric="euclidean", *, p=2, w=None, V=None, VI=None):
    X = rows_of(X, "X")
    metric, m = known(metric), X.shape[0]
    check_weights(w, X)
    V, VI = spread(metric, V, VI, X)
    out = np.empty(m * (m - 1) // 2)
    for i in range(m):
        for j in range(i + 1, m):
            out[m * i - i * (i + 1) // 2 + j - i - 1] = between(X[i], X[j], metric, p, w, V, VI)
    return out


@means(scipy.spatial.minkowski_distance_p)
def minkowski_distance_p(x, y, p=2.0):
    gap = np.abs(np.asarray(y, dtype=np.float64) - np.asarray(x, dtype=np.float64))
    if p == np.inf:
        return np.max(gap, axis=-1)
    return np.sum(gap if p == 1 else gap**p, axis=-1)


@means(scipy.spatial.minkowski_distance)
def minkowski_distance(x, y, p=2.0):
    powers = minkowski_distance_p(x, y, p)
    if p == np.inf or p == 1:
        return powers
    return np.asarray(np.where(powers == 0, 0.0, powers ** (1.0 / p)))[()]


@means(scipy.spatial.distance_matrix)
def distance_matrix(x, y, p=2.0, threshold=1000000):
    x, y = rows_of(x, "x"), rows_of(y, "y")
    if x.shape[1] != y.shape[1]:
        raise ValueError("x and y must have vectors of one length")
    return minkowski_distance(x[:, None, :], y[None, :, :], p)


@means(distance.squareform)
def squareform(X, force="no", checks=True):
    X = np.asarray(X)
    if (force == "tovector" and X.ndim != 2) or (force == "tomatrix" and X.ndim != 1):
        raise ValueError(f"squareform with force={force!r} takes another number of axes")
    if X.ndim == 1:
        n = math.ceil(math.sqrt(X.shape[0] * 2))
        if n * (n - 1) != X.shape[0] * 2:
            raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2.")
        square = np.zeros((max(n, 1), max(n, 1)), X.dtype)
        for i in range(n):
            for j in range(i + 1, n):
                square[i, j] = X[n * i - i * (i + 1) // 2 + j - i - 1]
                square[j, i] = X[n * i - i * (i + 1) // 2 + j - i - 1]
        return square
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError("The matrix argument must be square.")
    m = X.shape[0]
    if checks and (np.any(X != X.T) or np.any(np.diagonal(X) != 0)):
        raise ValueError("Distance matrix 'X' must be symmetric, and its diagonal must be zero.")
    out = np.empty(m * (m - 1) // 2, X.dtype)
    for i in range(m):
        for j in range(i + 1, m):
            out[m * i - i * (i + 1) // 2 + j - i - 1] = X[i, j]
    return out
