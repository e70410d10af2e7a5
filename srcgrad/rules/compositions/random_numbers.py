"""Distributions of random numbers, said in what is drawn: a derivative goes to where they are and how wide."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import draws


@draws("rand")
def rand(rng, *shape):
    return rng.random(shape if len(shape) > 0 else None)


@draws("randn")
def randn(rng, *shape):
    return rng.standard_normal(shape if len(shape) > 0 else None)


@draws("random_sample", "ranf", "sample")
def random_sample(rng, size=None):
    return rng.random(size)


@draws("uniform")
def uniform(rng, low=0.0, high=1.0, size=None):
    low, high = real(low), real(high)
    return low + (high - low) * rng.random(common_size(low, high, size))


@draws("normal")
def normal(rng, loc=0.0, scale=1.0, size=None):
    loc, scale = real(loc), real(scale)
    refuse_negative(scale, "scale")
    return loc + scale * rng.standard_normal(common_size(loc, scale, size))


@draws("lognormal")
def lognormal(rng, mean=0.0, sigma=1.0, size=None):
    mean, sigma = real(mean), real(sigma)
    refuse_negative(sigma, "sigma")
    drawn = mean + sigma * rng.standard_normal(common_size(mean, sigma, size))
    return np.exp(drawn) if np.ndim(drawn) > 0 else float(np.exp(drawn))


@draws("laplace")
def laplace(rng, loc=0.0, scale=1.0, size=None):
    loc, scale = real(loc), real(scale)
    refuse_negative(scale, "scale")
    return loc + scale * rng.standard_laplace(common_size(loc, scale, size))


@draws("logistic")
def logistic(rng, loc=0.0, scale=1.0, size=None):
    loc, scale = real(loc), real(scale)
    refuse_negative(scale, "scale")
    return loc + scale * rng.standard_logistic(common_size(loc, scale, size))


@draws("gumbel")
def gumbel(rng, loc=0.0, scale=1.0, size=None):
    loc, scale = real(loc), real(scale)
    refuse_negative(scale, "scale")
    return loc + scale * rng.standard_gumbel(common_size(loc, scale, size))


@draws("exponential")
def exponential(rng, scale=1.0, size=None):
    scale = real(scale)
    refuse_negative(scale, "scale")
    return scale * rng.standard_exponential(common_size(scale, scale, size))


@draws("rayleigh")
def rayleigh(rng, scale=1.0, size=None):
    scale = real(scale)
    refuse_negative(scale, "scale")
    return scale * rng.standard_rayleigh(common_size(scale, scale, size))


@draws("gamma")
def gamma(rng, shape, scale=1.0, size=None):
    scale = real(scale)
    refuse_negative(scale, "scale")
    return scale * rng.drawn_gamma(shape, common_size(scale, scale, size))


@draws("standard_gamma")
def standard_gamma(rng, shape, size=None):
    return rng.drawn_gamma(shape, size)


@draws("standard_t")
def standard_t(rng, df, size=None):
    return rng.drawn_t(df, size)


@draws("weibull")
def weibull(rng, a, size=None):
    return rng.drawn_weibull(a, size)


@draws("chisquare")
def chisquare(rng, df, size=None):
    return rng.drawn_chisquare(df, size)


@draws("beta")
def beta(rng, a, b, size=None):
    return rng.drawn_beta(a, b, size)


@draws("poisson")
def poisson(rng, lam=1.0, size=None):
    return rng.drawn_poisson(lam, size)


@draws("geometric")
def geometric(rng, p, size=None):
    return rng.drawn_geometric(p, size)


@draws("binomial")
def binomial(rng, n, p, size=None):
    return rng.drawn_binomial(n, p, size)


@draws("randint")
def randint(rng, low, high=None, size=None):
    return rng.drawn_whole_numbers(0 if high is None else low, low if high is None else high, size)


@draws("integers")
def integers(rng, low, high=None, size=None, *, endpoint=False):
    first, last = (0, low) if high is None else (low, high)
    drawn = rng.drawn_whole_numbers(first, last + 1 if endpoint else last, size)
    return drawn if np.ndim(drawn) > 0 else np.int64(drawn)


@draws("permutation")
def permutation(rng, x):
    return rng.shuffled(x) if np.ndim(x) == 0 else np.asarray(x)[rng.shuffled(len(x))]


@draws("shuffle")
def shuffle(rng, x):
    x[...] = x[rng.shuffled(len(x))]


@draws("choice")
def choice(rng, a, size=None, replace=True, p=None):
    n = a if np.ndim(a) == 0 else len(a)
    if p is None:
        found = rng.chosen(n, size, replace)
    else:
        if not replace:
            raise ValueError("with p, only choices with replacement are supported")
        until = np.cumsum(p)
        found = np.searchsorted(until / until[-1], rng.random(size), side="right")
    if np.ndim(a) == 0:
        return found if np.ndim(found) > 0 else int(found)
    return np.asarray(a)[found]


def real(x):
    return np.asarray(x, dtype=float) if np.ndim(x) > 0 else float(x)


def refuse_negative(x, name):
    if np.ndim(x) == 0:
        if x < 0.0:
            raise ValueError(name + " < 0")
    elif np.any(x < 0.0):
        raise ValueError(name + " < 0")


def common_size(x, y, size):
    if size is not None:
        return size
    shape = np.shape(x + y)
    return shape if len(shape) > 0 else None
