"""Densities of scipy.stats, in float64 as SciPy has them.

Where a scale or a shape is none (`scale <= 0`), they are nan; outside of the support the logarithm is -inf.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.special
import scipy.stats

from srcgrad.rules.compositions.registry import Composition, means

LOG_ROOT_2_PI = 0.5 * np.log(2 * np.pi)
SMALLEST_WIDTH = 1e6 * np.finfo(float).eps  # of the largest eigenvalue of a covariance: what is smaller is taken for 0


def density(distribution, log_name="logpdf", name="pdf"):
    """The function below is the logarithm of this density; the density itself is its exponential."""

    def register(log_density: Composition) -> Composition:
        def exponential(*args, **kwargs):
            return np.exp(log_density(*args, **kwargs))

        means(getattr(distribution, log_name))(log_density)
        means(getattr(distribution, name))(exponential)
        return log_density

    return register


def standard(x, loc, scale):
    return (np.asarray(x)[()] - loc) / (scale * np.float64(1))


def where(condition, x, y):
    return np.asarray(np.where(condition, x, y))[()]


def scaled(is_outside, log_density, scale, is_valid=True):
    """The logarithm of the density of loc + scale * y.  A y that is nan is not outside: its density is nan too."""
    log_scale = np.log(np.where(scale > 0, scale, 1.0))
    return where(is_valid & (scale > 0), np.where(is_outside, -np.inf, log_density - log_scale), np.nan)


@density(scipy.stats.norm)
def norm(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled(False, -0.5 * y * y - LOG_ROOT_2_PI, scale)


@density(scipy.stats.t)
def t(x, df, loc=0, scale=1):
    y = standard(x, loc, scale)
    half = np.where(df > 0, df, 1.0) / 2
    constant = scipy.special.gammaln(half + 0.5) - scipy.special.gammaln(half) - 0.5 * np.log(2 * np.pi * half)
    return scaled(False, constant - (half + 0.5) * np.log1p(y * y / (2 * half)), scale, df > 0)


@density(scipy.stats.cauchy)
def cauchy(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled(False, -np.log(np.pi) - np.log1p(y * y), scale)


@density(scipy.stats.laplace)
def laplace(x, loc=0, scale=1):
    return scaled(False, -np.log(2.0) - np.abs(standard(x, loc, scale)), scale)


@density(scipy.stats.logistic)
def logistic(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled(False, scipy.special.log_expit(y) + scipy.special.log_expit(-y), scale)


@density(scipy.stats.uniform)
def uniform(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled((y < 0) | (y > 1), np.where(np.isnan(y), np.nan, 0.0), scale)


@density(scipy.stats.expon)
def expon(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled(y < 0, -y, scale)


@density(scipy.stats.gamma)
def gamma(x, a, loc=0, scale=1):
    y = standard(x, loc, scale)
    inside = np.where(y < 0, 1.0, y)
    shape = np.where(a > 0, a, 1.0)
    log_density = scipy.special.xlogy(shape - 1, inside) - inside - scipy.special.gammaln(shape)
    return scaled(y < 0, log_density, scale, a > 0)


@density(scipy.stats.beta)
def beta(x, a, b, loc=0, scale=1):
    y = standard(x, loc, scale)
    is_outside = (y < 0) | (y > 1)
    inside = np.where(is_outside, 0.5, y)
    first, second = np.where(a > 0, a, 1.0), np.where(b > 0, b, 1.0)
    powers = scipy.special.xlogy(first - 1, inside) + scipy.special.xlog1py(second - 1, -inside)
    return scaled(is_outside, powers - scipy.special.betaln(first, second), scale, (a > 0) & (b > 0))


@density(scipy.stats.lognorm)
def lognorm(x, s, loc=0, scale=1):
    y = standard(x, loc, scale)
    log_inside = np.log(np.where(y <= 0, 1.0, y))
    shape = np.where(s > 0, s, 1.0)
    return scaled(y <= 0, -0.5 * (log_inside / shape) ** 2 - np.log(shape) - LOG_ROOT_2_PI - log_inside, scale, s > 0)


@density(scipy.stats.poisson, "logpmf", "pmf")
def poisson(k, mu, loc=0):
    k = (np.asarray(k)[()] - loc) * np.float64(1)
    is_outside = (k < 0) | (np.floor(k) < k)
    count, mean = np.where(is_outside, 0.0, k), np.where(mu >= 0, mu, 1.0)
    log_mass = scipy.special.xlogy(count, mean) - scipy.special.gammaln(count + 1) - mean
    return scaled(is_outside, log_mass, 1, mu >= 0)


def singular_normal(apart, cov):
    """Of a covariance that may have a smaller rank: the density on the plane that all points are on."""
    widths, axes = np.linalg.eigh(cov)
    least = SMALLEST_WIDTH * np.max(np.abs(widths))
    if np.min(widths) < -least:
        raise ValueError("the covariance has to be symmetric and positive semidefinite")
    has_width = widths > least
    is_off = np.linalg.norm(apart @ np.where(has_width, 0.0, axes), axis=1) >= 1e3 * least
    precision = np.linalg.pinv(cov, rcond=SMALLEST_WIDTH, hermitian=True)
    squares = np.sum(apart @ precision * apart, axis=1)
    logs = np.sum(np.log(np.where(has_width, widths, 1.0))) + 2.0 * np.sum(has_width) * LOG_ROOT_2_PI
    return np.where(is_off & ~np.all(has_width), -np.inf, -0.5 * (squares + logs))


@density(scipy.stats.multivariate_normal)
def multivariate_normal(x, mean=None, cov=1, allow_singular=False):
    """A vector x is one point, or numbers where neither the mean nor the covariance has an axis."""
    x, cov = np.asarray(x), np.asarray(cov) * np.float64(1)
    are_numbers = x.ndim < 2 and cov.ndim == 0 and (mean is None or np.ndim(mean) == 0)
    if mean is None:
        mean = np.zeros(1 if are_numbers else len(cov) if cov.ndim > 0 else x.shape[-1])
    mean = np.atleast_1d(np.asarray(mean))
    n = len(mean)
    if cov.ndim < 2:
        if cov.ndim == 1 and len(cov) != n:
            raise ValueError("the lengths of the points, of the mean and of the covariance differ")
        cov = cov * np.eye(n)
    points = x.reshape(-1, 1) if are_numbers else x.reshape(-1, x.shape[-1])
    if cov.shape[0] != n or cov.shape[1] != n or points.shape[1] != n:
        raise ValueError("the lengths of the points, of the mean and of the covariance differ")
    if allow_singular:
        log_density = singular_normal(points - mean, cov)
    else:
        lower = np.linalg.cholesky(cov)
        apart = scipy.linalg.solve_triangular(lower, (points - mean).T, lower=True)
        log_density = -0.5 * np.sum(apart**2, axis=0) - np.sum(np.log(np.diag(lower))) - n * LOG_ROOT_2_PI
    if are_numbers:
        return log_density.reshape(x.shape)[()]
    return log_density.reshape(x.shape[:-1])[()]


@density(scipy.stats.weibull_min)
def weibull_min(x, c, loc=0, scale=1):
    y = standard(x, loc, scale)
    inside, shape = np.where(y < 0, 1.0, y), np.where(c > 0, c, 1.0)
    return scaled(y < 0, np.log(shape) + scipy.special.xlogy(shape - 1, inside) - inside**shape, scale, c > 0)


@density(scipy.stats.pareto)
def pareto(x, b, loc=0, scale=1):
    y = standard(x, loc, scale)
    shape = np.where(b > 0, b, 1.0)
    return scaled(y < 1, np.log(shape) - (shape + 1) * np.log(np.where(y < 1, 1.0, y)), scale, b > 0)


@density(scipy.stats.chi2)
def chi2(x, df, loc=0, scale=1):
    y = standard(x, loc, scale)
    inside, half = np.where(y < 0, 1.0, y), np.where(df > 0, df, 1.0) / 2
    log_density = scipy.special.xlogy(half - 1, inside) - inside / 2 - scipy.special.gammaln(half) - half * np.log(2.0)
    return scaled(y < 0, log_density, scale, df > 0)


@density(scipy.stats.invgamma)
def invgamma(x, a, loc=0, scale=1):
    y = standard(x, loc, scale)
    inside, shape = np.where(y <= 0, 1.0, y), np.where(a > 0, a, 1.0)
    return scaled(y <= 0, -(shape + 1) * np.log(inside) - scipy.special.gammaln(shape) - 1.0 / inside, scale, a > 0)


@density(scipy.stats.halfnorm)
def halfnorm(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled(y < 0, 0.5 * np.log(2 / np.pi) - 0.5 * y * y, scale)


@density(scipy.stats.halfcauchy)
def halfcauchy(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled(y < 0, np.log(2 / np.pi) - np.log1p(y * y), scale)


@density(scipy.stats.rayleigh)
def rayleigh(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    is_outside = (y < 0) | (y == np.inf)
    return scaled(is_outside, np.log(np.where(is_outside, 1.0, y)) - 0.5 * y * y, scale)


@density(scipy.stats.gumbel_r)
def gumbel_r(x, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled(False, -y - np.exp(-y), scale)


@density(scipy.stats.skewnorm)
def skewnorm(x, a, loc=0, scale=1):
    y = standard(x, loc, scale)
    return scaled(False, np.log(2.0) - 0.5 * y * y - LOG_ROOT_2_PI + scipy.special.log_ndtr(a * y), scale)


@density(scipy.stats.truncnorm)
def truncnorm(x, a, b, loc=0, scale=1):
    y = standard(x, loc, scale)
    low, high = np.where(a > 0, -b, a), np.where(a > 0, -a, b)  # below 0, if it may be
    more, less = scipy.special.log_ndtr(high * np.float64(1)), scipy.special.log_ndtr(low * np.float64(1))
    mass = more + np.log1p(-np.exp(less - more))
    return scaled((y < a) | (y > b), -0.5 * y * y - LOG_ROOT_2_PI - mass, scale, a < b)


def counted(k, loc, low, high):
    """Counts, and where they are none of the distribution's."""
    k = (np.asarray(k)[()] - loc) * np.float64(1)
    is_outside = (k < low) | (k > high) | (np.floor(k) < k)
    return np.where(is_outside, low, k), is_outside


@density(scipy.stats.binom, "logpmf", "pmf")
def binom(k, n, p, loc=0):
    k, is_outside = counted(k, loc, 0.0, n)
    of = scipy.special.gammaln(n + 1.0) - scipy.special.gammaln(k + 1.0) - scipy.special.gammaln(n - k + 1.0)
    rate = np.where((p >= 0) & (p <= 1), p, 0.5)
    log_mass = of + scipy.special.xlogy(k, rate) + scipy.special.xlog1py(n - k, -rate)
    return scaled(is_outside, log_mass, 1, (p >= 0) & (p <= 1) & (n >= 0))


@density(scipy.stats.bernoulli, "logpmf", "pmf")
def bernoulli(k, p, loc=0):
    return binom(k, 1, p, loc)


@density(scipy.stats.geom, "logpmf", "pmf")
def geom(k, p, loc=0):
    k, is_outside = counted(k, loc, 1.0, np.inf)
    rate = np.where((p > 0) & (p <= 1), p, 0.5)
    return scaled(is_outside, scipy.special.xlog1py(k - 1.0, -rate) + np.log(rate), 1, (p > 0) & (p <= 1))


@density(scipy.stats.nbinom, "logpmf", "pmf")
def nbinom(k, n, p, loc=0):
    k, is_outside = counted(k, loc, 0.0, np.inf)
    rate, size = np.where((p > 0) & (p <= 1), p, 0.5), np.where(n > 0, n, 1.0)
    of = scipy.special.gammaln(size + k) - scipy.special.gammaln(k + 1.0) - scipy.special.gammaln(size)
    log_mass = of + size * np.log(rate) + scipy.special.xlog1py(k, -rate)
    return scaled(is_outside, log_mass, 1, (p > 0) & (p <= 1) & (n > 0))


@density(scipy.stats.dirichlet)
def dirichlet(x, alpha):
    x, alpha = np.asarray(x), np.asarray(alpha)
    if x.shape[0] != alpha.shape[0]:
        raise ValueError("Vector 'x' must have the same number of entries as 'alpha'")
    if np.any(alpha <= 0):
        raise ValueError("All parameters must be greater than 0")
    if np.any(x < 0) or np.any(np.abs(np.sum(x, axis=0) - 1.0) > 1e-9):
        raise ValueError("The input vector 'x' must lie within the normal simplex")
    constant = scipy.special.gammaln(np.sum(alpha)) - np.sum(scipy.special.gammaln(alpha))
    return constant + np.sum(scipy.special.xlogy(alpha - 1.0, x.T), axis=-1)
