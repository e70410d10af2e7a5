"""What the functions of `statistics` mean: Python rounds once, at the end; here it is as NumPy sums."""

from __future__ import annotations

import math
import statistics

import numpy as np

from srcgrad.rules.compositions.registry import python_means


def at_least(data, count):
    x = np.asarray(data)
    if x.ndim != 1:
        raise TypeError("statistics takes numbers, one after the other")
    if x.size < count:
        raise statistics.StatisticsError("more data points are needed")
    return x


def of_the_type_of(data, number):
    """A number of Python's where those in the list are: it takes the dtype of an array that it meets."""
    return float(number) if type(sum(data)) in (int, float) else number


@python_means(statistics.mean)
def mean(data):
    x = at_least(data, 1)
    return of_the_type_of(data, np.sum(x) / x.size)


@python_means(statistics.fmean)
def fmean(data, weights=None):
    x = at_least(data, 1)
    if weights is None:
        return float(np.sum(x) / x.size)
    w = np.asarray(weights)
    if w.size != x.size:
        raise statistics.StatisticsError("data and weights must be the same length")
    return float(np.sum(x * w) / np.sum(w))


@python_means(statistics.geometric_mean)
def geometric_mean(data):
    x = at_least(data, 1)
    return float(np.exp(np.sum(np.log(x)) / x.size))


@python_means(statistics.harmonic_mean)
def harmonic_mean(data, weights=None):
    x = at_least(data, 1)
    if weights is None:
        return of_the_type_of(data, x.size / np.sum(1.0 / x))
    w = np.asarray(weights)
    return of_the_type_of(data, np.sum(w) / np.sum(w / x))


@python_means(statistics.median)
def median(data):
    return of_the_type_of(data, np.median(at_least(data, 1)))


@python_means(statistics.pvariance)
def pvariance(data, mu=None):
    x = at_least(data, 1)
    center = np.sum(x) / x.size if mu is None else mu
    return of_the_type_of(data, np.sum((x - center) ** 2) / x.size)


@python_means(statistics.variance)
def variance(data, xbar=None):
    x = at_least(data, 2)
    center = np.sum(x) / x.size if xbar is None else xbar
    return of_the_type_of(data, np.sum((x - center) ** 2) / (x.size - 1))


@python_means(statistics.pstdev)
def pstdev(data, mu=None):
    return float(np.std(at_least(data, 1))) if mu is None else math.sqrt(pvariance(data, mu))


@python_means(statistics.stdev)
def stdev(data, xbar=None):
    return float(np.std(at_least(data, 2), ddof=1)) if xbar is None else math.sqrt(variance(data, xbar))


@python_means(statistics.covariance)
def covariance(x, y):
    p, q = at_least(x, 2), at_least(y, 2)
    if p.size != q.size:
        raise statistics.StatisticsError("covariance requires that both inputs have same number of data points")
    return float(np.sum((p - np.sum(p) / p.size) * (q - np.sum(q) / q.size)) / (p.size - 1))


@python_means(statistics.correlation)
def correlation(x, y):
    p, q = at_least(x, 2), at_least(y, 2)
    if p.size != q.size:
        raise statistics.StatisticsError("correlation requires that both inputs have same number of data points")
    u, w = p - np.sum(p) / p.size, q - np.sum(q) / q.size
    return float(np.sum(u * w) / math.sqrt(np.sum(u * u) * np.sum(w * w)))
