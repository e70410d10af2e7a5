"""What is trained: logistic regression, a perceptron of three layers, an LSTM over a sequence, k-means."""

import numpy as np

from benchmarks.programs.libraries import anp, jax, jnp, lax, torch
from benchmarks.programs.program import ARRAYS, LOOPS, Program, Size, by_hand, by_hand_sums

# ---- logistic regression


def logistic_regression(w, b, x, y, penalty):
    z = x @ w + b
    return np.mean(np.logaddexp(0.0, z) - y * z) + 0.5 * penalty * np.sum(w * w)


def logistic_data(rng, rows, features):
    x = rng.normal(size=(rows, features))
    w = rng.normal(size=features) / np.sqrt(features)
    y = (x @ w + rng.normal(size=rows) > 0.0).astype(np.float64)
    return 0.5 * w, 0.1, x, y, 0.01


@by_hand_sums
def logistic_adjoint(w, b, x, y, penalty, v):
    rows, features = x.shape
    w_b, b_b = np.empty(features), 0.0
    for j in range(features):
        w_b[j] = v * penalty * w[j]
    for i in range(rows):  # each row is read once, and again while it is in the cache
        row = x[i]
        z = b
        for j in range(features):
            z += row[j] * w[j]
        g = v / rows * (1.0 / (1.0 + np.exp(-z)) - y[i])
        for j in range(features):
            w_b[j] += g * row[j]
        b_b += g
    return w_b, b_b


def logistic_jax(w, b, x, y, penalty):
    z = x @ w + b
    return jnp.mean(jnp.logaddexp(0.0, z) - y * z) + 0.5 * penalty * jnp.sum(w * w)


def logistic_torch(w, b, x, y, penalty):
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)
    return loss + 0.5 * penalty * torch.sum(w * w)


def logistic_autograd(w, b, x, y, penalty):
    z = anp.dot(x, w) + b
    return anp.mean(anp.logaddexp(0.0, z) - y * z) + 0.5 * penalty * anp.sum(w * w)


# ---- three layers


def mlp(w1, b1, w2, b2, w3, b3, x, targets):
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    z = h2 @ w3 + b3
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - np.sum(targets * z, axis=1))


def mlp_data(rng, batch, inputs, hidden, classes):
    def layer(n, m):
        return rng.normal(size=(n, m)) / np.sqrt(n), 0.1 * rng.normal(size=m)

    x = rng.normal(size=(batch, inputs))
    targets = np.eye(classes)[rng.integers(0, classes, batch)]
    return *layer(inputs, hidden), *layer(hidden, hidden), *layer(hidden, classes), x, targets


@by_hand
def dense_tanh(x, w, b):
    h = x @ w
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            h[i, j] = np.tanh(h[i, j] + b[j])
    return h


@by_hand
def tanh_adjoint(h, h_b):
    """h_b becomes the adjoint of what went into the tanh; returns its sum over the batch."""
    b_b = np.zeros(h.shape[1])
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            h_b[i, j] *= 1.0 - h[i, j] * h[i, j]
            b_b[j] += h_b[i, j]
    return b_b


@by_hand
def mlp_adjoint(w1, b1, w2, b2, w3, b3, x, targets, v):
    h1 = dense_tanh(x, w1, b1)
    h2 = dense_tanh(h1, w2, b2)
    z = h2 @ w3
    batch, classes = z.shape
    b3_b = np.zeros(classes)
    for i in range(batch):
        total = 0.0
        for j in range(classes):
            z[i, j] = np.exp(z[i, j] + b3[j])
            total += z[i, j]
        for j in range(classes):
            z[i, j] = v / batch * (z[i, j] / total - targets[i, j])  # from here on z is its own adjoint
            b3_b[j] += z[i, j]
    w3_b = h2.T @ z
    h2_b = z @ w3.T
    b2_b = tanh_adjoint(h2, h2_b)
    w2_b = h1.T @ h2_b
    h1_b = h2_b @ w2.T
    b1_b = tanh_adjoint(h1, h1_b)
    return x.T @ h1_b, b1_b, w2_b, b2_b, w3_b, b3_b


def mlp_jax(w1, b1, w2, b2, w3, b3, x, targets):
    h1 = jnp.tanh(x @ w1 + b1)
    h2 = jnp.tanh(h1 @ w2 + b2)
    z = h2 @ w3 + b3
    return jnp.mean(jax.nn.logsumexp(z, axis=1) - jnp.sum(targets * z, axis=1))


def mlp_torch(w1, b1, w2, b2, w3, b3, x, targets):
    h1 = torch.tanh(torch.addmm(b1, x, w1))
    h2 = torch.tanh(torch.addmm(b2, h1, w2))
    return torch.nn.functional.cross_entropy(torch.addmm(b3, h2, w3), targets)


def mlp_autograd(w1, b1, w2, b2, w3, b3, x, targets):
    h1 = anp.tanh(anp.dot(x, w1) + b1)
    h2 = anp.tanh(anp.dot(h1, w2) + b2)
    z = anp.dot(h2, w3) + b3
    return anp.mean(anp.log(anp.sum(anp.exp(z), axis=1)) - anp.sum(targets * z, axis=1))


# ---- an LSTM cell along a sequence


def lstm(wx, wh, b, xs, h, c):
    n = h.shape[1]
    for t in range(xs.shape[0]):
        z = xs[t] @ wx + h @ wh + b
        forget = 1.0 / (1.0 + np.exp(-z[:, :n]))
        take = 1.0 / (1.0 + np.exp(-z[:, n : 2 * n]))
        show = 1.0 / (1.0 + np.exp(-z[:, 2 * n : 3 * n]))
        c = forget * c + take * np.tanh(z[:, 3 * n :])
        h = show * np.tanh(c)
    return h


def lstm_data(rng, steps, batch, inputs, hidden):
    wx = rng.normal(size=(inputs, 4 * hidden)) / np.sqrt(inputs)
    wh = rng.normal(size=(hidden, 4 * hidden)) / np.sqrt(hidden)
    h, c = rng.normal(size=(2, batch, hidden))
    return wx, wh, 0.1 * rng.normal(size=4 * hidden), rng.normal(size=(steps, batch, inputs)), h.copy(), c.copy()


@by_hand
def lstm_adjoint(wx, wh, b, xs, h, c, v):
    steps, batch, n = xs.shape[0], h.shape[0], h.shape[1]
    gates = np.empty((steps, batch, 4 * n))
    hs, cs = np.empty((steps + 1, batch, n)), np.empty((steps + 1, batch, n))
    tanhs = np.empty((steps, batch, n))
    hs[0], cs[0] = h, c
    for t in range(steps):
        z, z_h = xs[t] @ wx, hs[t] @ wh
        for i in range(batch):
            for j in range(3 * n):
                gates[t, i, j] = 1.0 / (1.0 + np.exp(-(z[i, j] + z_h[i, j] + b[j])))
            for j in range(3 * n, 4 * n):
                gates[t, i, j] = np.tanh(z[i, j] + z_h[i, j] + b[j])
            g = gates[t, i]
            for j in range(n):
                cs[t + 1, i, j] = g[j] * cs[t, i, j] + g[n + j] * g[3 * n + j]
                tanhs[t, i, j] = np.tanh(cs[t + 1, i, j])
                hs[t + 1, i, j] = g[2 * n + j] * tanhs[t, i, j]
    h_b, c_b = v, np.zeros((batch, n))
    z_b = np.empty((batch, 4 * n))
    wx_b, wh_b, b_b = np.zeros(wx.shape), np.zeros(wh.shape), np.zeros(b.shape)
    for t in range(steps - 1, -1, -1):
        for i in range(batch):
            g = gates[t, i]
            for j in range(n):
                tanh_c, forget, take, show, new = tanhs[t, i, j], g[j], g[n + j], g[2 * n + j], g[3 * n + j]
                down = c_b[i, j] + h_b[i, j] * show * (1.0 - tanh_c * tanh_c)
                z_b[i, j] = down * cs[t, i, j] * forget * (1.0 - forget)
                z_b[i, n + j] = down * new * take * (1.0 - take)
                z_b[i, 2 * n + j] = h_b[i, j] * tanh_c * show * (1.0 - show)
                z_b[i, 3 * n + j] = down * take * (1.0 - new * new)
                c_b[i, j] = down * forget
            for j in range(4 * n):
                b_b[j] += z_b[i, j]
        wx_b += xs[t].T @ z_b
        wh_b += hs[t].T @ z_b
        h_b = z_b @ wh.T
    return wx_b, wh_b, b_b


def lstm_jax(wx, wh, b, xs, h, c):
    def cell(state, x):
        h, c = state
        forget, take, show, new = jnp.split(x @ wx + h @ wh + b, 4, axis=1)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(take) * jnp.tanh(new)
        return (jax.nn.sigmoid(show) * jnp.tanh(c), c), None

    return lax.scan(cell, (h, c), xs)[0][0]


def lstm_torch(wx, wh, b, xs, h, c):
    for x in xs:
        forget, take, show, new = torch.chunk(torch.addmm(b, x, wx) + h @ wh, 4, dim=1)
        c = torch.sigmoid(forget) * c + torch.sigmoid(take) * torch.tanh(new)
        h = torch.sigmoid(show) * torch.tanh(c)
    return h


def lstm_autograd(wx, wh, b, xs, h, c):
    n = h.shape[1]
    for x in xs:
        z = anp.dot(x, wx) + anp.dot(h, wh) + b
        gates = 1.0 / (1.0 + anp.exp(-z[:, : 3 * n]))
        c = gates[:, :n] * c + gates[:, n : 2 * n] * anp.tanh(z[:, 3 * n :])
        h = gates[:, 2 * n :] * anp.tanh(c)
    return h


# ---- k-means: the sum of the squared distances to the nearest centroid


def kmeans(centroids, points):
    total = 0.0
    for i in range(points.shape[0]):
        nearest = np.inf
        for j in range(centroids.shape[0]):
            distance = 0.0
            for a in range(points.shape[1]):
                distance += (points[i, a] - centroids[j, a]) ** 2
            if distance < nearest:
                nearest = distance
        total += nearest
    return total


def kmeans_data(rng, points, centroids, dimensions):
    return rng.normal(size=(centroids, dimensions)), rng.normal(size=(points, dimensions))


@by_hand  # the order of the user's sum is kept: it decides which centroid is nearest
def kmeans_adjoint(centroids, points, v):
    centroids_b = np.zeros(centroids.shape)
    for i in range(points.shape[0]):
        nearest, at = np.inf, 0
        for j in range(centroids.shape[0]):
            distance = 0.0
            for a in range(points.shape[1]):
                distance += (points[i, a] - centroids[j, a]) ** 2
            if distance < nearest:
                nearest, at = distance, j
        for a in range(points.shape[1]):
            centroids_b[at, a] += 2.0 * v * (centroids[at, a] - points[i, a])
    return centroids_b


def kmeans_jax(centroids, points):
    return jnp.sum(jnp.min(jnp.sum((points[:, None, :] - centroids) ** 2, axis=2), axis=1))


def kmeans_torch(centroids, points):
    return torch.sum(torch.amin(torch.sum((points[:, None, :] - centroids) ** 2, dim=2), dim=1))


def kmeans_autograd(centroids, points):
    return anp.sum(anp.min(anp.sum((points[:, None, :] - centroids) ** 2, axis=2), axis=1))


# fmt: off
PROGRAMS = (
    Program("logistic_regression", ARRAYS, logistic_regression, logistic_data, ("w", "b"), (7, 3),
            (Size(10_000, 100),), logistic_adjoint, logistic_jax, logistic_torch, logistic_autograd),
    Program("mlp", ARRAYS, mlp, mlp_data, ("w1", "b1", "w2", "b2", "w3", "b3"), (4, 5, 3, 2),
            (Size(256, 784, 256, 10),), mlp_adjoint, mlp_jax, mlp_torch, mlp_autograd),
    Program("lstm", ARRAYS, lstm, lstm_data, ("wx", "wh", "b"), (3, 2, 4, 3), (Size(20, 16, 32, 64),),
            lstm_adjoint, lstm_jax, lstm_torch, lstm_autograd, shape=lambda wx, wh, b, xs, h, c: h.shape),
    Program("kmeans", LOOPS, kmeans, kmeans_data, ("centroids",), (9, 3, 2), (Size(10_000, 10, 8),),
            kmeans_adjoint, kmeans_jax, kmeans_torch, kmeans_autograd),
)
# fmt: on
