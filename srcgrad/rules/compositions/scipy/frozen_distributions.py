"""Distributions of scipy.stats whose parameters are given ahead, in the function or outside of it."""

from __future__ import annotations

import numpy as np
import scipy.stats

from srcgrad.rules.compositions.registry import means, objects_mean
from srcgrad.rules.compositions.scipy.standard_distributions import STANDARD


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


class FrozenNormal:
    """multivariate_normal(mean, cov): these are arrays here, and no methods."""

    def __init__(self, mean=None, cov=1, allow_singular=False):
        self.given = (mean, cov, allow_singular)
        cov = np.asarray(cov) * np.float64(1)
        if mean is None:
            mean = np.zeros(len(cov) if cov.ndim > 0 else 1)
        self.mean = np.atleast_1d(np.asarray(mean) * np.float64(1))
        self.cov = cov if cov.ndim == 2 else cov * np.eye(len(self.mean))
        self.allow_singular = allow_singular

    @property
    def dim(self):
        return len(self.mean)

    def pdf(self, x):
        return scipy.stats.multivariate_normal.pdf(x, *self.given)

    def logpdf(self, x):
        return scipy.stats.multivariate_normal.logpdf(x, *self.given)

    def cdf(self, x):
        return scipy.stats.multivariate_normal.cdf(x, *self.given)

    def logcdf(self, x):
        return scipy.stats.multivariate_normal.logcdf(x, *self.given)

    def entropy(self):
        return scipy.stats.multivariate_normal.entropy(*self.given)

    def rvs(self, *size, **options):
        return scipy.stats.multivariate_normal.rvs(*self.given, *size, **options)


def can_be_frozen(distribution):
    def frozen(*args, **kwargs):
        return Frozen(distribution, args, kwargs)

    means(distribution)(frozen)


NAMES = [*STANDARD, *"skewnorm truncnorm poisson binom bernoulli geom nbinom dirichlet".split()]
for name in NAMES:
    can_be_frozen(getattr(scipy.stats, name))
DISTRIBUTIONS = {type(distribution): distribution for distribution in (getattr(scipy.stats, name) for name in NAMES)}


@objects_mean("dist args kwds", *map(type, (scipy.stats.norm(), scipy.stats.poisson(1))))
def frozen_outside(dist, args, kwds):
    return Frozen(DISTRIBUTIONS.get(type(dist), dist), args, kwds)


@means(scipy.stats.multivariate_normal)
def frozen_normal(mean=None, cov=1, allow_singular=False):
    return FrozenNormal(mean, cov, allow_singular)


@objects_mean("mean cov allow_singular", type(scipy.stats.multivariate_normal()))
def frozen_normal_outside(mean, cov, allow_singular):
    return FrozenNormal(mean, cov, allow_singular)


@objects_mean("alpha", type(scipy.stats.dirichlet(np.ones(2))))
def frozen_dirichlet_outside(alpha):
    return Frozen(scipy.stats.dirichlet, (alpha,), {})
