"""Distribution functions of scipy.stats, their inverses and the first moments, from those with loc=0 and scale=1."""

from __future__ import annotations

import numpy as np
import scipy.stats

from srcgrad.rules.compositions.registry import COMPOSITIONS
from srcgrad.rules.compositions.scipy.distributions import standard, where
from srcgrad.rules.compositions.scipy.standard_distributions import STANDARD


def parameters(names, args, kwargs):
    """The shapes as numbers of double precision, loc and scale."""
    given = {"loc": 0, "scale": 1}
    for name, value in zip((*names.split(), "loc", "scale"), args, strict=False):
        given[name] = value
    for name, value in kwargs.items():
        given[name] = value
    return [given[name] * np.float64(1) for name in names.split()], given["loc"], given["scale"]


def says(distribution, of):
    """The functions of a distribution are those of `of` at (x - loc) / scale, and 0 or 1 beyond its ends."""
    low, high = of.low, of.high

    def level(x, args, kwargs, function, below, above):
        shapes, loc, scale = parameters(of.shapes, args, kwargs)
        y = standard(x, loc, scale)
        is_below = False if low is None else y <= low
        is_above = False if high is None else y >= high
        inside = (
            y if low is None else np.where(is_below | is_above, (low + high) / 2 if high is not None else low + 1.0, y)
        )
        out = np.where(is_below, below, np.where(is_above, above, function(inside, *shapes)))
        return where(of.is_valid(scale, *shapes), out, np.nan)

    def at(q, args, kwargs, function):
        shapes, loc, scale = parameters(of.shapes, args, kwargs)
        q = np.asarray(q)[()] * np.float64(1)
        is_level = (q >= 0) & (q <= 1)
        out = function(np.where(is_level, q, 0.5), *shapes) * scale + loc
        return where(of.is_valid(scale, *shapes) & is_level, out, np.nan)

    def cdf(x, *args, **kwargs):
        return level(x, args, kwargs, of.cdf, 0.0, 1.0)

    def sf(x, *args, **kwargs):
        return level(x, args, kwargs, of.sf, 1.0, 0.0)

    def logcdf(x, *args, **kwargs):
        if hasattr(of, "logcdf"):
            return level(x, args, kwargs, of.logcdf, -np.inf, 0.0)
        return np.log(cdf(x, *args, **kwargs))

    def logsf(x, *args, **kwargs):
        if hasattr(of, "logsf"):
            return level(x, args, kwargs, of.logsf, 0.0, -np.inf)
        return np.log(sf(x, *args, **kwargs))

    def ppf(q, *args, **kwargs):
        return at(q, args, kwargs, of.ppf)

    def isf(q, *args, **kwargs):
        return at(q, args, kwargs, of.isf)

    def median(*args, **kwargs):
        return ppf(0.5, *args, **kwargs)

    def mean(*args, **kwargs):
        shapes, loc, scale = parameters(of.shapes, args, kwargs)
        return where(of.is_valid(scale, *shapes), of.moments(*shapes)[0] * scale + loc, np.nan)

    def var(*args, **kwargs):
        shapes, _, scale = parameters(of.shapes, args, kwargs)
        return where(of.is_valid(scale, *shapes), of.moments(*shapes)[1] * scale * scale, np.nan)

    def std(*args, **kwargs):
        return np.sqrt(var(*args, **kwargs))

    for function in (cdf, sf, logcdf, logsf, mean, var, std, *((ppf, isf, median) if hasattr(of, "ppf") else ())):
        COMPOSITIONS.setdefault(getattr(distribution, function.__name__), function)


for name, of in STANDARD.items():
    says(getattr(scipy.stats, name), of)
