"""The distributions of scipy.stats with loc=0 and scale=1: their functions, inverses and moments."""

from __future__ import annotations

import numpy as np
import scipy.special


class Standard:
    """A distribution with loc=0 and scale=1, from `low` to `high`; what is not said follows from the rest."""

    shapes = ""
    low: int | None = None
    high: int | None = None

    @staticmethod
    def is_valid(*shapes):
        valid = True
        for shape in shapes:
            valid = valid & (shape > 0)
        return valid


class Normal(Standard):
    @staticmethod
    def cdf(y):
        return scipy.special.ndtr(y)

    @staticmethod
    def sf(y):
        return scipy.special.ndtr(-y)

    @staticmethod
    def logcdf(y):
        return scipy.special.log_ndtr(y)

    @staticmethod
    def logsf(y):
        return scipy.special.log_ndtr(-y)

    @staticmethod
    def ppf(q):
        return scipy.special.ndtri(q)

    @staticmethod
    def isf(q):
        return -scipy.special.ndtri(q)

    @staticmethod
    def moments():
        return 0.0, 1.0


class Uniform(Standard):
    low, high = 0, 1

    @staticmethod
    def cdf(y):
        return y

    @staticmethod
    def sf(y):
        return 1.0 - y

    @staticmethod
    def ppf(q):
        return q

    @staticmethod
    def isf(q):
        return 1.0 - q

    @staticmethod
    def moments():
        return 0.5, 1.0 / 12.0


class Exponential(Standard):
    low = 0

    @staticmethod
    def cdf(y):
        return -np.expm1(-y)

    @staticmethod
    def sf(y):
        return np.exp(-y)

    @staticmethod
    def logsf(y):
        return -y

    @staticmethod
    def ppf(q):
        return -np.log1p(-q)

    @staticmethod
    def isf(q):
        return -np.log(q)

    @staticmethod
    def moments():
        return 1.0, 1.0


class Logistic(Standard):
    @staticmethod
    def cdf(y):
        return scipy.special.expit(y)

    @staticmethod
    def sf(y):
        return scipy.special.expit(-y)

    @staticmethod
    def logcdf(y):
        return scipy.special.log_expit(y)

    @staticmethod
    def logsf(y):
        return scipy.special.log_expit(-y)

    @staticmethod
    def ppf(q):
        return scipy.special.logit(q)

    @staticmethod
    def isf(q):
        return -scipy.special.logit(q)

    @staticmethod
    def moments():
        return 0.0, np.pi**2 / 3.0


class Cauchy(Standard):
    @staticmethod
    def cdf(y):
        return np.arctan2(1.0, -y) / np.pi

    @staticmethod
    def sf(y):
        return np.arctan2(1.0, y) / np.pi

    @staticmethod
    def ppf(q):
        return np.where(q < 0.75, -1.0 / np.tan(np.pi * q), 1.0 / np.tan(np.pi * (1.0 - q)))

    @staticmethod
    def isf(q):
        return -Cauchy.ppf(q)

    @staticmethod
    def moments():
        return np.nan, np.nan


class Laplace(Standard):
    @staticmethod
    def cdf(y):
        half = 0.5 * np.exp(-np.abs(y))
        return np.where(y > 0, 1.0 - half, half)

    @staticmethod
    def sf(y):
        return Laplace.cdf(-y)

    @staticmethod
    def ppf(q):
        return np.where(q > 0.5, -np.log(2.0 * (1.0 - q)), np.log(2.0 * q))

    @staticmethod
    def isf(q):
        return -Laplace.ppf(q)

    @staticmethod
    def moments():
        return 0.0, 2.0


class Gumbel(Standard):
    @staticmethod
    def cdf(y):
        return np.exp(-np.exp(-y))

    @staticmethod
    def sf(y):
        return -np.expm1(-np.exp(-y))

    @staticmethod
    def logcdf(y):
        return -np.exp(-y)

    @staticmethod
    def ppf(q):
        return -np.log(-np.log(q))

    @staticmethod
    def isf(q):
        return -np.log(-np.log1p(-q))

    @staticmethod
    def moments():
        return np.euler_gamma, np.pi**2 / 6.0


class HalfNormal(Standard):
    low = 0

    @staticmethod
    def cdf(y):
        return scipy.special.erf(y / np.sqrt(2.0))

    @staticmethod
    def sf(y):
        return 2.0 * scipy.special.ndtr(-y)

    @staticmethod
    def ppf(q):
        return scipy.special.ndtri((1.0 + q) / 2.0)

    @staticmethod
    def isf(q):
        return -scipy.special.ndtri(q / 2.0)

    @staticmethod
    def moments():
        return np.sqrt(2.0 / np.pi), 1.0 - 2.0 / np.pi


class HalfCauchy(Standard):
    low = 0

    @staticmethod
    def cdf(y):
        return 2.0 / np.pi * np.arctan(y)

    @staticmethod
    def sf(y):
        return 2.0 / np.pi * np.arctan2(1.0, y)

    @staticmethod
    def ppf(q):
        return np.where(q < 0.5, np.tan(np.pi / 2.0 * q), 1.0 / np.tan(np.pi / 2.0 * (1.0 - q)))

    @staticmethod
    def isf(q):
        return 1.0 / np.tan(np.pi / 2.0 * q)

    @staticmethod
    def moments():
        return np.inf, np.inf


class Rayleigh(Standard):
    low = 0

    @staticmethod
    def cdf(y):
        return -np.expm1(-0.5 * y * y)

    @staticmethod
    def sf(y):
        return np.exp(-0.5 * y * y)

    @staticmethod
    def logsf(y):
        return -0.5 * y * y

    @staticmethod
    def ppf(q):
        return np.sqrt(-2.0 * np.log1p(-q))

    @staticmethod
    def isf(q):
        return np.sqrt(-2.0 * np.log(q))

    @staticmethod
    def moments():
        return np.sqrt(np.pi / 2.0), (4.0 - np.pi) / 2.0


class Student(Standard):
    shapes = "df"

    @staticmethod
    def cdf(y, df):
        return scipy.special.stdtr(df, y)

    @staticmethod
    def sf(y, df):
        return scipy.special.stdtr(df, -y)

    @staticmethod
    def moments(df):
        var = np.where(df > 2, df / np.where(df > 2, df - 2.0, 1.0), np.where(df > 1, np.inf, np.nan))
        return np.where(df > 1, 0.0, np.inf), var


class Gamma(Standard):
    shapes, low = "a", 0

    @staticmethod
    def cdf(y, a):
        return scipy.special.gammainc(a, y)

    @staticmethod
    def sf(y, a):
        return scipy.special.gammaincc(a, y)

    @staticmethod
    def ppf(q, a):
        return scipy.special.gammaincinv(a, q)

    @staticmethod
    def isf(q, a):
        return scipy.special.gammainccinv(a, q)

    @staticmethod
    def moments(a):
        return a, a


class ChiSquared(Standard):
    shapes, low = "df", 0

    @staticmethod
    def cdf(y, df):
        return scipy.special.gammainc(df / 2.0, y / 2.0)

    @staticmethod
    def sf(y, df):
        return scipy.special.gammaincc(df / 2.0, y / 2.0)

    @staticmethod
    def ppf(q, df):
        return 2.0 * scipy.special.gammaincinv(df / 2.0, q)

    @staticmethod
    def isf(q, df):
        return 2.0 * scipy.special.gammainccinv(df / 2.0, q)

    @staticmethod
    def moments(df):
        return df, 2.0 * df


class InverseGamma(Standard):
    shapes, low = "a", 0

    @staticmethod
    def cdf(y, a):
        return scipy.special.gammaincc(a, 1.0 / y)

    @staticmethod
    def sf(y, a):
        return scipy.special.gammainc(a, 1.0 / y)

    @staticmethod
    def ppf(q, a):
        return 1.0 / scipy.special.gammainccinv(a, q)

    @staticmethod
    def isf(q, a):
        return 1.0 / scipy.special.gammaincinv(a, q)

    @staticmethod
    def moments(a):
        mean = np.where(a > 1, 1.0 / np.where(a > 1, a - 1.0, 1.0), np.inf)
        return mean, np.where(a > 2, mean**2 / np.where(a > 2, a - 2.0, 1.0), np.inf)


class Beta(Standard):
    shapes, low, high = "a b", 0, 1

    @staticmethod
    def cdf(y, a, b):
        return scipy.special.betainc(a, b, y)

    @staticmethod
    def sf(y, a, b):
        return scipy.special.betainc(b, a, 1.0 - y)

    @staticmethod
    def ppf(q, a, b):
        return scipy.special.betaincinv(a, b, q)

    @staticmethod
    def isf(q, a, b):
        return 1.0 - scipy.special.betaincinv(b, a, q)

    @staticmethod
    def moments(a, b):
        return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1.0))


class LogNormal(Standard):
    shapes, low = "s", 0

    @staticmethod
    def cdf(y, s):
        return scipy.special.ndtr(np.log(y) / s)

    @staticmethod
    def sf(y, s):
        return scipy.special.ndtr(-np.log(y) / s)

    @staticmethod
    def logcdf(y, s):
        return scipy.special.log_ndtr(np.log(y) / s)

    @staticmethod
    def logsf(y, s):
        return scipy.special.log_ndtr(-np.log(y) / s)

    @staticmethod
    def ppf(q, s):
        return np.exp(s * scipy.special.ndtri(q))

    @staticmethod
    def isf(q, s):
        return np.exp(-s * scipy.special.ndtri(q))

    @staticmethod
    def moments(s):
        return np.exp(s * s / 2.0), np.expm1(s * s) * np.exp(s * s)


class Weibull(Standard):
    shapes, low = "c", 0

    @staticmethod
    def cdf(y, c):
        return -np.expm1(-(y**c))

    @staticmethod
    def sf(y, c):
        return np.exp(-(y**c))

    @staticmethod
    def logsf(y, c):
        return -(y**c)

    @staticmethod
    def ppf(q, c):
        return (-np.log1p(-q)) ** (1.0 / c)

    @staticmethod
    def isf(q, c):
        return (-np.log(q)) ** (1.0 / c)

    @staticmethod
    def moments(c):
        mean = scipy.special.gamma(1.0 + 1.0 / c)
        return mean, scipy.special.gamma(1.0 + 2.0 / c) - mean**2


class Pareto(Standard):
    shapes, low = "b", 1

    @staticmethod
    def cdf(y, b):
        return -np.expm1(-b * np.log(y))

    @staticmethod
    def sf(y, b):
        return y**-b

    @staticmethod
    def logsf(y, b):
        return -b * np.log(y)

    @staticmethod
    def ppf(q, b):
        return (1.0 - q) ** (-1.0 / b)

    @staticmethod
    def isf(q, b):
        return q ** (-1.0 / b)

    @staticmethod
    def moments(b):
        mean = np.where(b > 1, b / np.where(b > 1, b - 1.0, 1.0), np.inf)
        return mean, np.where(b > 2, mean / (np.where(b > 1, b - 1.0, 1.0) * np.where(b > 2, b - 2.0, 1.0)), np.inf)


STANDARD = {
    "norm": Normal, "uniform": Uniform, "expon": Exponential, "logistic": Logistic, "cauchy": Cauchy,
    "laplace": Laplace, "gumbel_r": Gumbel, "halfnorm": HalfNormal, "halfcauchy": HalfCauchy, "rayleigh": Rayleigh,
    "t": Student, "gamma": Gamma, "chi2": ChiSquared, "invgamma": InverseGamma, "beta": Beta,
    "lognorm": LogNormal, "weibull_min": Weibull, "pareto": Pareto,
}  # fmt: skip
