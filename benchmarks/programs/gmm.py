"""The log likelihood of a Gaussian mixture, its inverse covariances given by triangular factors; two ways to write it.

`factors[j]` holds the logarithms of component j's diagonal, then what is below it, column by column.
"""

import numpy as np

from benchmarks.programs.libraries import anp, jax, jnp, torch
from benchmarks.programs.program import ARRAYS, LOOPS, Program, Size, by_hand_sums


def gmm_loops(alphas, means, factors, x):
    n, d = x.shape
    k = alphas.size
    diagonals, logs = np.empty((k, d)), np.zeros(k)
    for j in range(k):
        for a in range(d):
            diagonals[j, a] = np.exp(factors[j, a])
            logs[j] += factors[j, a]
    centered, scaled, terms = np.empty(d), np.empty(d), np.empty(k)
    total = 0.0
    for i in range(n):
        for j in range(k):
            for a in range(d):
                centered[a] = x[i, a] - means[j, a]
                scaled[a] = diagonals[j, a] * centered[a]
            p = d
            for a in range(d):
                for c in range(a + 1, d):
                    scaled[c] += factors[j, p] * centered[a]
                    p += 1
            squares = 0.0
            for a in range(d):
                squares += scaled[a] * scaled[a]
            terms[j] = alphas[j] + logs[j] - 0.5 * squares
        top = terms[0]
        for j in range(1, k):
            top = max(top, terms[j])
        weight = 0.0
        for j in range(k):
            weight += np.exp(terms[j] - top)
        total += top + np.log(weight)
    weight = 0.0
    for j in range(k):
        weight += np.exp(alphas[j])
    return total - n * np.log(weight)


def gmm_numpy(alphas, means, factors, x):
    n, d = x.shape
    k = alphas.size
    terms = np.empty((n, k))
    for j in range(k):
        q = np.zeros((d, d))
        p = d
        for a in range(d):
            q[a, a] = np.exp(factors[j, a])
            q[a + 1 :, a] = factors[j, p : p + d - 1 - a]
            p += d - 1 - a
        y = (x - means[j]) @ q.T
        terms[:, j] = alphas[j] + np.sum(factors[j, :d]) - 0.5 * np.sum(y * y, axis=1)
    top = np.max(terms)
    return n * top + np.sum(np.log(np.sum(np.exp(terms - top), axis=1))) - n * np.log(np.sum(np.exp(alphas)))


def data(rng, n, d, k):
    factors = 0.3 * rng.normal(size=(k, d * (d + 1) // 2))
    return rng.normal(size=k), rng.normal(size=(k, d)), factors, rng.normal(size=(n, d))


@by_hand_sums
def gmm_adjoint(alphas, means, factors, x, v):
    n, d = x.shape
    k = alphas.size
    diagonals, heads = np.empty((k, d)), alphas.copy()
    for j in range(k):
        for a in range(d):
            diagonals[j, a] = np.exp(factors[j, a])
            heads[j] += factors[j, a]
    alphas_b, means_b, factors_b = np.zeros(k), np.zeros((k, d)), np.zeros(factors.shape)
    centered, scaled, terms, back = np.empty((k, d)), np.empty((k, d)), np.empty(k), np.empty(d)
    for i in range(n):
        top = -np.inf
        for j in range(k):
            e, s = centered[j], scaled[j]
            for a in range(d):
                e[a] = x[i, a] - means[j, a]
                s[a] = diagonals[j, a] * e[a]
            p = d
            for a in range(d - 1):
                w = d - 1 - a
                column, below, t = factors[j, p : p + w], s[a + 1 : d], e[a]
                for c in range(w):
                    below[c] += column[c] * t
                p += w
            squares = 0.0
            for a in range(d):
                squares += s[a] * s[a]
            terms[j] = heads[j] - 0.5 * squares
            top = max(top, terms[j])
        weight = 0.0
        for j in range(k):
            terms[j] = np.exp(terms[j] - top)
            weight += terms[j]
        for j in range(k):  # the reverse of this point, while its rows are in the cache
            g = v * terms[j] / weight
            alphas_b[j] += g
            e, s = centered[j], scaled[j]
            for a in range(d):
                s[a] *= -g  # from here on s is its own adjoint
                back[a] = s[a] * diagonals[j, a]
                factors_b[j, a] += s[a] * e[a] * diagonals[j, a] + g
            p = d
            for a in range(d - 1):
                w = d - 1 - a
                column, column_b, below = factors[j, p : p + w], factors_b[j, p : p + w], s[a + 1 : d]
                t, t_b = e[a], 0.0
                for c in range(w):
                    t_b += column[c] * below[c]
                    column_b[c] += t * below[c]
                back[a] += t_b
                p += w
            for a in range(d):
                means_b[j, a] -= back[a]
    weight = 0.0
    for j in range(k):
        weight += np.exp(alphas[j])
    for j in range(k):
        alphas_b[j] -= v * n * np.exp(alphas[j]) / weight
    return alphas_b, means_b, factors_b


def below(d):
    """Where the factors below the diagonal stand, column by column."""
    columns, rows = np.triu_indices(d, 1)
    return rows, columns


def gmm_jax(alphas, means, factors, x):
    n, d = x.shape
    logs = factors[:, :d]
    rows, columns = below(d)
    q = jax.vmap(jnp.diag)(jnp.exp(logs)).at[:, rows, columns].set(factors[:, d:])
    y = jnp.einsum("kab,nkb->nka", q, x[:, None, :] - means)
    terms = alphas + jnp.sum(logs, axis=1) - 0.5 * jnp.sum(y * y, axis=2)
    return jnp.sum(jax.nn.logsumexp(terms, axis=1)) - n * jax.nn.logsumexp(alphas)


def gmm_torch(alphas, means, factors, x):
    n, d = x.shape
    logs = factors[:, :d]
    q = torch.diag_embed(torch.exp(logs))
    rows, columns = below(d)
    q[:, rows, columns] = factors[:, d:]
    y = torch.matmul((x - means[:, None, :]), q.mT)  # component by component
    terms = (alphas + torch.sum(logs, dim=1))[:, None] - 0.5 * torch.sum(y * y, dim=2)
    return torch.sum(torch.logsumexp(terms, dim=0)) - n * torch.logsumexp(alphas, dim=0)


def gmm_autograd(alphas, means, factors, x):
    n, d = x.shape
    k = alphas.size
    logs = factors[:, :d]
    rows, columns = below(d)
    place = np.zeros((d * (d - 1) // 2, d * d))  # autograd has no writes: a matrix puts the factors in their places
    place[np.arange(len(rows)), rows * d + columns] = 1.0
    q = anp.reshape(anp.dot(factors[:, d:], place), (k, d, d)) + anp.exp(logs)[:, :, None] * np.eye(d)
    y = anp.matmul(x - means[:, None, :], anp.swapaxes(q, 1, 2))
    terms = (alphas + anp.sum(logs, axis=1))[:, None] - 0.5 * anp.sum(y * y, axis=2)
    top = anp.max(terms)
    return n * top + anp.sum(anp.log(anp.sum(anp.exp(terms - top), axis=0))) - n * anp.log(anp.sum(anp.exp(alphas)))


# fmt: off
PROGRAMS = tuple(
    Program(name, kind, primal, data, ("alphas", "means", "factors"), (6, 3, 2),
            (Size(1_000, 10, 25), Size(1_000, 64, 25)), gmm_adjoint, gmm_jax, gmm_torch, gmm_autograd)
    for name, kind, primal in (("gmm_loops", LOOPS, gmm_loops), ("gmm_numpy", ARRAYS, gmm_numpy))
)
# fmt: on
