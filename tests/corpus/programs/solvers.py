"""Linear algebra written out: factorisations, Krylov spaces, recursions, filters."""

import numpy as np

from .registry import program, real


@program(lambda n: (real(n, n), real(n), 6), small=5, large=300)
def conjugate_gradients(a, b, steps):
    """On the normal equations, so that any matrix will do."""
    m = a.T @ a + np.eye(a.shape[0], dtype=a.dtype)
    x = np.zeros_like(b)
    r = b - m @ x
    p = r.copy()
    rs = np.dot(r, r)
    for _ in range(steps):
        if rs < 1e-6:
            break
        mp = m @ p
        alpha = rs / (p @ mp)
        x = x + alpha * p
        r = r - alpha * mp
        rs_new = np.dot(r, r)
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x


@program(lambda n: (real(n + 2, n),), small=4, large=60)
def gram_schmidt(a):
    a = a.copy()
    q = np.zeros_like(a)
    r = np.zeros((a.shape[1], a.shape[1]), dtype=a.dtype)
    for k in range(a.shape[1]):
        nrm = np.dot(a[:, k], a[:, k])
        r[k, k] = np.sqrt(nrm)
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


@program(lambda n: (real(n, n), n), small=4, large=80)
def lu_with_slices(b, n):
    a = b @ b.T + n * np.eye(n, dtype=b.dtype)
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


@program(lambda n: (real(n, n), n), small=4, large=80)
def cholesky_with_slices(b, n):
    a = b @ b.T + n * np.eye(n, dtype=b.dtype)
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.tril(a)


@program(lambda n: (real(n, n), real(n)), small=4, large=80)
def lu_solve_with_pivots(m, rhs):
    """Partial pivoting: rows change places."""
    a = m.copy()
    b = rhs.copy()
    n = a.shape[0]
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros_like(b)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@program(lambda n: (real(n, low=-0.3, high=0.3),), small=6, large=500)
def levinson_and_durbin(r):
    """A Toeplitz system by recursion."""
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@program(lambda n: (1.5, 1.2, real(n, n), real(n), real(n), real(n), real(n), real(n), real(n)), small=5, large=400)
def rank_two_update_and_products(alpha, beta, a, u1, v1, u2, v2, y, z):
    a = a + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * y @ a + z
    w = alpha * a @ x
    return a, x, w


@program(lambda n: (real(n + 3, n), 0.1), small=4, large=120)
def correlations(data, eps):
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev = np.where(stddev <= eps, 1.0, stddev)
    data = data - mean
    data = data / (np.sqrt(1.0 * data.shape[0]) * stddev)
    corr = np.eye(data.shape[1], dtype=data.dtype)
    for i in range(data.shape[1] - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


@program(lambda n: (real(n, n, low=0.2, high=5.0),), small=5, large=120)
def shortest_paths(lengths):
    """Floyd and Warshall."""
    path = lengths.copy()
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return path


@program(lambda n: (real(n, n), real(n), 5), small=5, large=200)
def lanczos(b, start, steps):
    """The tridiagonal matrix of a symmetric one, and its vectors."""
    a = b + b.T
    n = a.shape[0]
    alphas = []
    betas = []
    v = start / np.linalg.norm(start)
    previous = np.zeros(n, dtype=a.dtype)
    beta = 0.0
    for _ in range(steps):
        w = a @ v - beta * previous
        alpha = np.dot(w, v)
        w = w - alpha * v
        beta = np.linalg.norm(w)
        previous = v
        v = w / beta
        alphas.append(alpha)
        betas.append(beta)
    return np.array(alphas), np.array(betas)


@program(lambda n: (real(n, 2), real(4, low=0.1, high=0.4), 0.1, 0.05, 0.3), small=5, large=500)
def kalman_filter(measured, state, dt, process, noise):
    """Position and velocity in the plane from noisy positions; minus the log likelihood."""
    f = np.array([[1.0, 0.0, dt, 0.0], [0.0, 1.0, 0.0, dt], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    h = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    q = process * np.eye(4)
    r = noise * np.eye(2)
    x = state
    p = np.eye(4)
    loss = 0.0
    for t in range(measured.shape[0]):
        x = f @ x
        p = f @ p @ f.T + q
        innovation = measured[t] - h @ x
        s = h @ p @ h.T + r
        gain = p @ h.T @ np.linalg.inv(s)
        x = x + gain @ innovation
        p = (np.eye(4) - gain @ h) @ p
        loss += 0.5 * (innovation @ np.linalg.solve(s, innovation) + np.log(np.linalg.det(s)))
    return loss


@program(
    lambda n: (real(n, low=0.1, high=0.9), real(n), real(2 * n, low=0.05, high=0.95)), small=6, large=500, width=1e-3
)
def natural_cubic_spline(steps, y, at):
    """Knots of any spacing; the second derivatives by Thomas' algorithm; evaluated where it is asked for."""
    x = np.cumsum(steps)
    x = (x - x[0]) / (x[-1] - x[0])
    n = x.shape[0]
    h = np.diff(x)
    slope = np.diff(y) / h
    diagonal = 2.0 * (h[:-1] + h[1:])
    right = 6.0 * np.diff(slope)
    for i in range(1, n - 2):
        w = h[i] / diagonal[i - 1]
        diagonal[i] -= w * h[i]
        right[i] -= w * right[i - 1]
    m = np.zeros_like(y)
    for i in range(n - 3, -1, -1):
        m[i + 1] = (right[i] - h[i + 1] * m[i + 2]) / diagonal[i]
    k = np.clip(np.searchsorted(x, at) - 1, 0, n - 2)
    left, rest = x[k + 1] - at, at - x[k]
    return (
        m[k] * left**3 / (6.0 * h[k])
        + m[k + 1] * rest**3 / (6.0 * h[k])
        + (y[k] / h[k] - m[k] * h[k] / 6.0) * left
        + (y[k + 1] / h[k] - m[k + 1] * h[k] / 6.0) * rest
    )


@program(lambda n: (real(n, n, low=0.1, high=1.0), 0.85, 8), small=6, large=300)
def page_rank(links, damping, steps):
    n = links.shape[0]
    np.fill_diagonal(links, 0.0)
    out = links / links.sum(axis=1, keepdims=True)
    rank = np.full(n, 1.0 / n, dtype=links.dtype)
    for _ in range(steps):
        rank = damping * (out.T @ rank) + (1.0 - damping) / n
    return rank


def sparse(n):
    rng = np.random.default_rng(n)
    counts = rng.integers(1, 4, n)
    return np.concatenate(([0], np.cumsum(counts))), rng.integers(0, n, counts.sum())


@program(lambda n: (*sparse(n), real(len(sparse(n)[1])), real(n), 3), small=6, large=3000)
def sparse_power_iteration(rows, columns, values, x, steps):
    """Compressed rows, as pointers into columns and values."""
    for _ in range(steps):
        y = np.empty(rows.size - 1, values.dtype)
        for i in range(rows.size - 1):
            cols = columns[rows[i] : rows[i + 1]]
            vals = values[rows[i] : rows[i + 1]]
            y[i] = vals @ x[cols]
        x = y / np.sqrt(np.sum(y * y) + 0.1) + 0.5 * x
    return x
