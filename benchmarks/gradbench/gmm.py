"""gmm: the log posterior of a Gaussian mixture, with a Wishart prior on its precisions.

The precision of component k is Q^T Q with Q lower triangular: exp(q[k]) is its diagonal, l[k] what is below that,
column by column.
"""

import math

import numpy as np

from srcgrad import grad


def logsumexp(x):
    highest = np.max(x)
    return math.log(np.sum(np.exp(x - highest))) + highest


@grad(wrt=("alpha", "mu", "q", "l"))
def posterior(alpha, mu, q, l, x, gamma, m):
    n, d = x.shape
    components = alpha.size
    diagonal = np.exp(q)
    sums = np.sum(q, axis=1)
    total = 0.0
    term = np.empty(components)
    away, scaled = np.empty(d), np.empty(d)
    for i in range(n):
        for k in range(components):
            for a in range(d):
                away[a] = x[i, a] - mu[k, a]
                scaled[a] = diagonal[k, a] * away[a]
            p = 0
            for a in range(d):
                for b in range(a + 1, d):
                    scaled[b] += l[k, p] * away[a]
                    p += 1
            term[k] = alpha[k] + sums[k] - 0.5 * np.sum(scaled * scaled)
        total += logsumexp(term)
    total -= n * logsumexp(alpha) + 0.5 * n * d * math.log(2.0 * math.pi)
    return total + log_wishart(diagonal, sums, l, gamma, m)


def log_wishart(diagonal, sums, l, gamma, m):
    components, d = diagonal.shape
    freedom = d + m + 1
    normalizer = freedom * d * (math.log(gamma) - 0.5 * math.log(2.0)) - 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(1, d + 1):
        normalizer -= math.lgamma(0.5 * freedom + 0.5 * (1 - j))
    squares = np.sum(diagonal * diagonal) + np.sum(l * l)
    return components * normalizer - 0.5 * gamma * gamma * squares + m * np.sum(sums)


def prepare(given):
    arrays = (np.array(given[name]) for name in ("alpha", "mu", "q", "l", "x"))
    return *arrays, float(given["gamma"]), given["m"]


def named(cotangents):
    return {name: cotangent.tolist() for name, cotangent in zip(("alpha", "mu", "q", "l"), cotangents, strict=True)}


EXAMPLE = {
    "d": 2,
    "k": 2,
    "n": 3,
    "alpha": [0.1, -0.2],
    "mu": [[0.5, 0.1], [0.3, 0.9]],
    "q": [[0.2, -0.1], [0.4, 0.3]],
    "l": [[0.7], [-0.6]],
    "x": [[1.0, 0.5], [-0.4, 0.2], [0.3, -1.1]],
    "gamma": 1.0,
    "m": 0,
}
FUNCTIONS = {
    "objective": (prepare, posterior, float),
    "jacobian": (prepare, posterior.backward, named),
}
