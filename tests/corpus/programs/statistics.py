"""Likelihoods, clusters, regressions, prices: statistics and finance."""

import numpy as np
from scipy.special import erf, gammaln, logsumexp

from .registry import positive, program, real


@program(lambda n: (real(n, 3), real(4, 3), real(4, 3, low=-0.3, high=0.3), real(4)), small=6, large=2000)
def gaussian_mixture(x, means, log_scales, logits):
    """The log likelihood of a mixture with diagonal covariances."""
    log_weights = logits - logsumexp(logits)
    z = (x[:, None, :] - means[None, :, :]) * np.exp(-log_scales)
    log_density = -0.5 * np.sum(z**2 + np.log(2.0 * np.pi), axis=2) - np.sum(log_scales, axis=1)
    return np.sum(logsumexp(log_weights + log_density, axis=1))


@program(lambda n: (real(n, 2), real(3, 2), 3), small=8, large=3000)
def expectation_maximisation(x, means, rounds):
    """Soft clusters of equal widths."""
    k = means.shape[0]
    weights = np.full(k, 1.0 / k, dtype=x.dtype)
    variance = 0.5
    for _ in range(rounds):
        distance = np.sum((x[:, np.newaxis, :] - means) ** 2, axis=-1)
        log_r = np.log(weights) - 0.5 * distance / variance
        log_r -= log_r.max(axis=1, keepdims=True)
        r = np.exp(log_r)
        r /= r.sum(axis=1, keepdims=True)
        counts = r.sum(axis=0)
        means = (r.T @ x) / counts[:, None]
        weights = counts / len(x)
        variance = np.sum(r * np.sum((x[:, np.newaxis, :] - means) ** 2, axis=-1)) / (2 * len(x))
    return means, weights, variance


@program(lambda n: (real(n, 2), real(n), 0.8, 1.1, 0.3), small=6, large=300)
def gaussian_process(x, y, length, amplitude, noise):
    """Minus the log marginal likelihood, by a Cholesky factor."""
    n = len(y)
    squares = np.sum(x**2, axis=1)
    distance = squares[:, None] + squares[None, :] - 2.0 * x @ x.T
    k = amplitude**2 * np.exp(-0.5 * distance / length**2) + noise**2 * np.eye(n, dtype=x.dtype)
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(factor))) + 0.5 * n * np.log(2.0 * np.pi)


@program(lambda n: (real(n, 4), real(n), 0.3), small=7, large=2000)
def ridge_regression_left_out(x, y, penalty):
    """The error of leaving one out, in closed form."""
    gram = x.T @ x + penalty * np.eye(x.shape[1], dtype=x.dtype)
    hat = x @ np.linalg.inv(gram) @ x.T
    residual = y - hat @ y
    return np.mean((residual / (1.0 - np.diagonal(hat))) ** 2)


@program(lambda n: (real(n, 4), 2), small=7, large=500)
def principal_components(data, count):
    """What the first components explain, and what is left when they are taken away."""
    centred = data - data.mean(axis=0)
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    explained = s**2 / np.sum(s**2)
    low_rank = (u[:, :count] * s[:count]) @ vt[:count]
    return explained, np.sum((centred - low_rank) ** 2)


@program(lambda n: (positive(n), positive(n), positive(n), positive(n, low=0.2, high=0.6), 0.03), small=6, large=100000)
def european_options(spot, strike, time, volatility, rate):
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / (volatility * np.sqrt(time))
    d2 = d1 - volatility * np.sqrt(time)
    call = spot * 0.5 * (1 + erf(d1 / np.sqrt(2))) - strike * np.exp(-rate * time) * 0.5 * (1 + erf(d2 / np.sqrt(2)))
    put = call - spot + strike * np.exp(-rate * time)
    return call, put


@program(lambda n: (1.0, 1.1, 0.04, 0.3, 1.0, n), small=8, large=400)
def american_option_on_a_lattice(spot, strike, rate, volatility, time, steps):
    """Backwards through a binomial tree; at each node the right to exercise."""
    dt = time / steps
    up = np.exp(volatility * np.sqrt(dt))
    down = 1.0 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    prices = spot * up ** np.arange(steps, -steps - 1, -2, dtype=float)
    values = np.maximum(strike - prices, 0.0)
    for i in range(steps - 1, -1, -1):
        prices = spot * up ** np.arange(i, -i - 1, -2, dtype=float)
        values = np.maximum(discount * (p * values[: i + 1] + (1.0 - p) * values[1 : i + 2]), strike - prices)
    return values[0]


@program(lambda n: (real(3, 3), real(3), real(3, 4), np.arange(n) % 4), small=7, large=2000)
def hidden_markov_chain(transition_logits, start_logits, emission_logits, observed):
    """The forward algorithm in logarithms."""
    log_a = transition_logits - logsumexp(transition_logits, axis=1, keepdims=True)
    log_b = emission_logits - logsumexp(emission_logits, axis=1, keepdims=True)
    alpha = start_logits - logsumexp(start_logits) + log_b[:, observed[0]]
    for t in range(1, len(observed)):
        alpha = logsumexp(alpha[:, None] + log_a, axis=0) + log_b[:, observed[t]]
    return logsumexp(alpha)


@program(lambda n: (real(n, 3), np.arange(n) % 5, real(3), 1.3), small=8, large=5000)
def negative_binomial_regression(x, counts, beta, shape):
    mu = np.exp(x @ beta)
    log_likelihood = (
        gammaln(counts + shape)
        - gammaln(shape)
        - gammaln(counts + 1.0)
        + shape * np.log(shape / (shape + mu))
        + counts * np.log(mu / (shape + mu))
    )
    return -np.sum(log_likelihood)


@program(lambda n: (real(n), 0.05, 0.1, 0.8), small=10, large=5000)
def volatility_that_clusters(returns, omega, alpha, beta):
    """A GARCH(1, 1) likelihood."""
    variance = np.zeros_like(returns)
    variance[0] = np.var(returns)
    for t in range(1, len(returns)):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi * variance) + returns**2 / variance)


@program(lambda n: (real(n, low=0.1, high=0.9), real(n), real(n, low=0.2, high=1.0)), small=9, large=20000)
def azimuthal_averages(radius, brightness, weights):
    """Weighted means of what lies between one radius and the next."""
    edges = np.linspace(0.0, 1.0, 6)
    place = np.clip(np.searchsorted(edges, radius, side="right") - 1, 0, 4)
    total = np.bincount(place, weights=weights * brightness, minlength=5)
    mass = np.bincount(place, weights=weights, minlength=5)
    return np.where(mass > 0.0, total / np.where(mass > 0.0, mass, 1.0), 0.0)


@program(lambda n: (real(n), 5), small=11, large=20000)
def robust_scale(x, window):
    """Median and mean absolute deviation, then a running mean of what is left after clipping."""
    middle = np.median(x)
    scale = np.median(np.abs(x - middle)) + 0.1
    z = np.clip((x - middle) / scale, -2.0, 2.0)
    kernel = np.ones(window) / window
    smooth = np.convolve(z, kernel, mode="valid")
    return smooth, np.percentile(z, 30)


@program(lambda n: (real(4, n), real(4)), small=9, large=20000, width=1e-4)
def quadrature_and_interpolation(curves, at):
    """Areas under sampled curves, and their values between the samples."""
    x = np.linspace(0.0, 1.0, curves.shape[1])
    areas = np.trapezoid(curves, x, axis=1)
    between = np.array([np.interp(0.5 + 0.4 * at[k], x, curves[k]) for k in range(4)])
    slopes = np.gradient(curves, x, axis=1)
    return areas, between, np.sum(slopes**2, axis=1)
