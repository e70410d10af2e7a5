"""Densities and distribution functions of scipy.stats, in float64 as SciPy has them.

Where a scale or a shape is none (`scale <= 0`), they are nan; outside of the support the logarithm is -inf.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.special
import scipy.stats

from srcgrad.rules.compositions.registry import Composition, means, objects_mean

LOG_ROOT_2_PI = 0.5 * np.log(2 * np.pi)


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


@means(scipy.stats.norm.cdf)
def norm_cdf(x, loc=0, scale=1):
    return where(scale > 0, scipy.special.ndtr(standard(x, loc, scale)), np.nan)


@means(scipy.stats.norm.logcdf)
def norm_logcdf(x, loc=0, scale=1):
    return where(scale > 0, scipy.special.log_ndtr(standard(x, loc, scale)), np.nan)


@means(scipy.stats.norm.sf)
def norm_sf(x, loc=0, scale=1):
    return where(scale > 0, scipy.special.ndtr(-standard(x, loc, scale)), np.nan)


@means(scipy.stats.norm.logsf)
def norm_logsf(x, loc=0, scale=1):
    return where(scale > 0, scipy.special.log_ndtr(-standard(x, loc, scale)), np.nan)


@means(scipy.stats.norm.ppf)
def norm_ppf(q, loc=0, scale=1):
    return where(scale > 0, scipy.special.ndtri(np.asarray(q)[()] * np.float64(1)) * scale + loc, np.nan)


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


@density(scipy.stats.multivariate_normal)
def multivariate_normal(x, mean=None, cov=1, allow_singular=False):
    """A vector x is one point, or numbers where neither the mean nor the covariance has an axis."""
    if allow_singular:
        raise NotImplementedError("allow_singular=True is not supported")
    x, cov = np.asarray(x), np.asarray(cov) * np.float64(1)
    are_numbers = x.ndim < 2 and cov.ndim == 0 and (mean is None or np.ndim(mean) == 0)
    if mean is None:
        mean = np.zeros(1 if are_numbers else len(cov) if cov.ndim > 0 else x.shape[-1])
    mean = np.atleast_1d(np.asarray(mean))
    n = len(mean)
    if cov.ndim < 2:
        cov = cov * np.eye(n)
    points = x.reshape(-1, 1) if are_numbers else x.reshape(-1, x.shape[-1])
    if cov.shape[0] != n or cov.shape[1] != n or points.shape[1] != n:
        raise ValueError("the lengths of the points, of the mean and of the covariance differ")
    lower = np.linalg.cholesky(cov)
    apart = scipy.linalg.solve_triangular(lower, (points - mean).T, lower=True)
    log_density = -0.5 * np.sum(apart**2, axis=0) - np.sum(np.log(np.diag(lower))) - n * LOG_ROOT_2_PI
    if are_numbers:
        return log_density.reshape(x.shape)[()]
    return log_density.reshape(x.shape[:-1])[()]


class Frozen:
    """norm(loc, scale): what its methods are given first is what the distribution's own are given first."""

    def __init__(self, distribution, args, kwargs):
        self.distribution, self.args, self.kwargs = distribution, args, kwargs

    def pdf(self, x):
        return self.distribution.pdf(x, *self.args, **self.kwargs)

    def logpdf(self, x):
        return self.distribution.logpdf(x, *self.args, **self.kwargs)

    def pmf(self, k):
        return self.distribution.pmf(k, *self.args, **self.kwargs)

    def logpmf(self, k):
        return self.distribution.logpmf(k, *self.args, **self.kwargs)

    def cdf(self, x):
        return self.distribution.cdf(x, *self.args, **self.kwargs)

    def logcdf(self, x):
        return self.distribution.logcdf(x, *self.args, **self.kwargs)

    def sf(self, x):
        return self.distribution.sf(x, *self.args, **self.kwargs)

    def logsf(self, x):
        return self.distribution.logsf(x, *self.args, **self.kwargs)

    def ppf(self, q):
        return self.distribution.ppf(q, *self.args, **self.kwargs)

    def isf(self, q):
        return self.distribution.isf(q, *self.args, **self.kwargs)

    def mean(self):
        return self.distribution.mean(*self.args, **self.kwargs)

    def median(self):
        return self.distribution.median(*self.args, **self.kwargs)

    def var(self):
        return self.distribution.var(*self.args, **self.kwargs)

    def std(self):
        return self.distribution.std(*self.args, **self.kwargs)

    def entropy(self):
        return self.distribution.entropy(*self.args, **self.kwargs)

    def stats(self, moments="mv"):
        return self.distribution.stats(*self.args, moments=moments, **self.kwargs)

    def moment(self, order):
        return self.distribution.moment(order, *self.args, **self.kwargs)

    def support(self):
        return self.distribution.support(*self.args, **self.kwargs)

    def interval(self, confidence=None):
        return self.distribution.interval(confidence, *self.args, **self.kwargs)

    def rvs(self, *size, **options):
        return self.distribution.rvs(*self.args, *size, **options, **self.kwargs)


def can_be_frozen(distribution):
    def frozen(*args, **kwargs):
        return Frozen(distribution, args, kwargs)

    means(distribution)(frozen)


NAMES = "norm t cauchy laplace logistic uniform expon gamma beta lognorm poisson multivariate_normal".split()
for name in NAMES:
    can_be_frozen(getattr(scipy.stats, name))
DISTRIBUTIONS = {type(distribution): distribution for distribution in (getattr(scipy.stats, name) for name in NAMES)}


@objects_mean("dist args kwds", *map(type, (scipy.stats.norm(), scipy.stats.poisson(1))))
def frozen_outside(dist, args, kwds):
    return Frozen(DISTRIBUTIONS.get(type(dist), dist), args, kwds)


@objects_mean("mean cov allow_singular", type(scipy.stats.multivariate_normal()))
def frozen_normal_outside(mean, cov, allow_singular):
    return Frozen(scipy.stats.multivariate_normal, (mean, cov, allow_singular), {})
