"""What people come with: models, solvers, simulations, losses."""

import math

import numpy as np

from .registry import ONLY64, case, integers, number, positive, program, real


@program(case(real(6), 0.1, 5), case(real(6), number(0.1), 4))
def heat(u, alpha, steps):
    """An explicit heat equation, in place, with a copy for the old values."""
    u = u.copy()
    for _ in range(steps):
        old = u.copy()
        for i in range(1, len(u) - 1):
            u[i] = old[i] + alpha * (old[i - 1] - 2 * old[i] + old[i + 1])
    return u


@program(case(real(6), 0.1, 4), writes=("u",))
def heat_by_slices(u, alpha, steps):
    for _ in range(steps):
        u[1:-1] += alpha * (u[:-2] - 2 * u[1:-1] + u[2:])


@program(case(real(5, 5), 0.1, 3))
def heat_two_dimensions(u, alpha, steps):
    u = u.copy()
    un = u.copy()
    for _ in range(steps):
        un[1:-1, 1:-1] = u[1:-1, 1:-1] + alpha * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u, un = un, u
    return u


@program(case(positive(8), 0.3, 5))
def burgers(u, dt, steps):
    u = u.copy()
    for _ in range(steps):
        un = u.copy()
        for i in range(1, len(u)):
            u[i] = un[i] - dt * un[i] * (un[i] - un[i - 1])
        u[0] = un[0] - dt * un[0] * (un[0] - un[-1])
    return u


def oscillators(x, k):
    return np.sin(x) - k * x


@program(case(real(4), positive(4), 0.1, 5), case(real(4), 0.7, 0.1, 3), compiled=True)
def rk4(x, k, h, steps):
    for _ in range(steps):
        k1 = oscillators(x, k)
        k2 = oscillators(x + 0.5 * h * k1, k)
        k3 = oscillators(x + 0.5 * h * k2, k)
        k4 = oscillators(x + h * k3, k)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


@program(case(0.5, 0.1, 1.2, 0.05, 10))
def leapfrog(x, v, k, dt, n):
    for _ in range(n):
        v = v - 0.5 * dt * k * np.sin(x)
        x = x + dt * v
        v = v - 0.5 * dt * k * np.sin(x)
    return x, v


@program(case(real(3, 2), real(3, 2), positive(3), 0.05, 3))
def n_body(x, v, m, dt, steps):
    x = x.copy()
    v = v.copy()
    n = len(m)
    for _ in range(steps):
        a = np.zeros_like(x)
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = x[j] - x[i]
                    r2 = (d * d).sum() + 0.5
                    a[i] += m[j] * d / (r2 * np.sqrt(r2))
        v += dt * a
        x += dt * v
    return x


@program(
    case(real(4), real(5, 4), np.array([1.0, 0.0, 1.0, 1.0, 0.0]), wrt="w", dtypes=ONLY64),
    case(real(4), real(5, 4), positive(5)),
)
def logistic_regression(w, x, y):
    z = x @ w
    return np.mean(np.log(1 + np.exp(-z * (2 * y - 1)))) + 0.1 * (w * w).sum()


@program(case(real(4), real(5, 4), positive(5), 3))
def gradient_descent(w, x, y, steps):
    """The derivative of a training run."""
    for _ in range(steps):
        r = x @ w - y
        w = w - 0.1 * (x.T @ r) / len(y)
    return w


@program(case(real(5, 3), real(3, 4), real(4), real(4, 2), real(2)), compiled=True)
def perceptron(x, w1, b1, w2, b2):
    h = np.tanh(x @ w1 + b1)
    y = np.maximum(h @ w2 + b2, 0.0)
    return (y**2).sum(axis=1).mean()


@program(case(real(3, 4), ((real(4, 5), real(5)), (real(5, 2), real(2)))))
def layers(x, params):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return x


@program(
    case(100.0, 95.0, 0.02, 0.3, 1.5, dtypes=ONLY64),
    case(number(1.0), number(0.9), number(0.02), number(0.3), number(1.5)),
)
def black_scholes(s, k, r, sigma, t):
    d1 = (np.log(s / k) + (r + 0.5 * sigma * sigma) * t) / (sigma * np.sqrt(t))
    d2 = d1 - sigma * np.sqrt(t)
    n1 = 0.5 * (1 + math.erf(d1 / math.sqrt(2.0)))
    n2 = 0.5 * (1 + math.erf(d2 / math.sqrt(2.0)))
    return s * n1 - k * np.exp(-r * t) * n2


@program(case(real(3, 3), real(3), 4, dtypes=ONLY64))
def power_iteration(a, x, n):
    m = a @ a.T + np.eye(3)
    for _ in range(n):
        x = m @ x
        x = x / np.linalg.norm(x)
    return x @ m @ x


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@program(case(real(3), real(2), real(2), real(8, 3), real(8, 2), real(8)), compiled=True)
def lstm_cell(x, h, c, w, u, b):
    z = w @ x + u @ h + b
    i, f, o, g = sigmoid(z[:2]), sigmoid(z[2:4]), sigmoid(z[4:6]), np.tanh(z[6:])
    c = f * c + i * g
    return o * np.tanh(c), c


@program(case(real(4, 3), real(2), real(2), real(8, 3), real(8, 2), real(8)))
def lstm_over_time(xs, h, c, w, u, b):
    for x in xs:
        h, c = lstm_cell(x, h, c, w, u, b)
    return h


@program(case(real(6, 2), real(3, 2)))
def soft_k_means(x, centres):
    d = ((x[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    e = np.exp(-4 * (d - d.min(axis=1, keepdims=True)))
    a = e / e.sum(axis=1, keepdims=True)
    return (a.T @ x) / a.sum(axis=0)[:, None]


@program(case(real(6, 2), real(3, 2)))
def k_means_loss(x, centres):
    total = 0.0
    for p in x:
        best = 1e30
        for c in centres:
            d = ((p - c) ** 2).sum()
            if d < best:
                best = d
        total += best
    return total


@program(case(real(5), real(5, 2), real(2), positive(2)), case(real(5), real(5, 2), real(2), number(0.7)))
def gaussian_mixture_term(alpha, x, mu, s):
    q = ((x - mu) ** 2 / s).sum(axis=1)
    m = (alpha - 0.5 * q).max()
    return m + np.log(np.exp(alpha - 0.5 * q - m).sum())


@program(case(positive(5), positive(5)), case(positive(5, layout="reverse"), positive(5)))
def lotka_volterra(x, y):
    for _ in range(4):
        dx = x * (1.0 - 0.5 * y)
        dy = y * (0.3 * x - 0.8)
        x, y = x + 0.05 * dx, y + 0.05 * dy
    return (x + y).sum()


@program(case(real(4), 0.3, 6, dtypes=ONLY64))
def adam(x, rate, steps):
    m = np.zeros_like(x)
    v = np.zeros_like(x)
    for t in range(1, steps + 1):
        g = 2 * x + np.sin(x)
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        x = x - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-3)
    return x


@program(case(real(6), real(3)))
def convolution(x, k):
    y = np.zeros(len(x) - len(k) + 1)
    for i in range(len(y)):
        for j in range(len(k)):
            y[i] += x[i + j] * k[len(k) - 1 - j]
    return y


@program(case(positive(3, 3), positive(3), integers(0, 2, 1, 1)))
def hidden_markov(a, start, seen):
    alpha = start / start.sum()
    t = a / a.sum(axis=1, keepdims=True)
    log_likelihood = 0.0
    for s in seen:
        alpha = (alpha @ t) * t[:, s]
        total = alpha.sum()
        log_likelihood += np.log(total)
        alpha = alpha / total
    return log_likelihood


@program(case(positive(5), 0.5), case(positive(5), number(0.5)))
def tridiagonal(d, off):
    """Thomas's algorithm."""
    n = len(d)
    b = d + 2.0
    x = np.ones(n)
    c = np.zeros(n)
    c[0] = off / b[0]
    x[0] = x[0] / b[0]
    for i in range(1, n):
        m = b[i] - off * c[i - 1]
        c[i] = off / m
        x[i] = (x[i] - off * x[i - 1]) / m
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x


@program(case(real(3, 3), real(3)))
def conjugate_gradients(m, b):
    a = m @ m.T + np.eye(3)
    x = np.zeros(3)
    r = b - a @ x
    p = r.copy()
    for _ in range(2):
        ap = a @ p
        rr = r @ r
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        p = r + (r @ r) / rr * p
    return x


@program(case(real(4, 3), positive(4), real(3)))
def weighted_least_squares(x, w, beta):
    r = x @ beta - x.sum(axis=1)
    return 0.5 * (w * r * r).sum() / w.sum()


@program(case(0.8, 0.5), case(2.0, 0.9))
def kepler(mean, e):
    """Eccentric anomaly by Newton's iteration until it stands still."""
    x = mean
    for _ in range(30):
        d = (x - e * np.sin(x) - mean) / (1 - e * np.cos(x))
        x = x - d
        if abs(d) < 1e-6:
            break
    return x


@program(case(positive(4), 10))
def softened_sort_loss(x, n):
    """Repeated averaging of neighbours with a data-dependent weight."""
    y = x.copy()
    for k in range(n):
        i = k % (len(y) - 1)
        w = 1 / (1 + np.exp(3 * (y[i] - y[i + 1])))
        a, b = y[i], y[i + 1]
        y[i] = w * a + (1 - w) * b
        y[i + 1] = w * b + (1 - w) * a
    return (y * np.arange(len(y))).sum()
