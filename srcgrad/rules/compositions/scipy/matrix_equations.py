"""SciPy's linear equations for matrices, by the equations for their elements: n * m of them for a result of n by m.

A X + X B = Q      →      (kron(A, I) + kron(I, B.T)) vec(X) = vec(Q), row by row

SciPy takes the Schur forms of A and B, which is less work for large matrices.

At the solution of a Riccati equation the feedback K is the best one, so X does not move by way of it: with K as it is,
X is the solution of a linear equation, and its derivative by A, B, Q, R and S is that of this equation.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from srcgrad.rules.compositions.linear_algebra import square
from srcgrad.rules.compositions.registry import means, only_once
from srcgrad.rules.user import stop_gradient


@means(scipy.linalg.solve_sylvester)
def solve_sylvester(a, b, q):
    a, b, q = square(a), square(b), np.asarray(q)
    left, right = np.eye(len(a), dtype=a.dtype), np.eye(len(b), dtype=b.dtype)
    return solved(np.kron(a, right) + np.kron(left, b.T), q, len(a), len(b))


@means(scipy.linalg.solve_continuous_lyapunov, scipy.linalg.solve_lyapunov)
def solve_continuous_lyapunov(a, q):
    a = square(a)
    return solve_sylvester(a, np.conj(a).T, q)


@means(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a, q, method=None):
    if method is not None and method not in ("direct", "bilinear"):
        raise ValueError(f"Unknown solver {method}")
    a, q = square(a), np.asarray(q)
    return solved(np.eye(len(a) ** 2) - np.kron(a, np.conj(a)), q, len(a), len(a))


def solved(equations, q, n, m):
    if q.shape != (n, m):
        raise ValueError("the shape of q is not that of the result")
    return np.reshape(np.linalg.solve(equations, np.ravel(q)), (n, m))


@means(scipy.linalg.solve_discrete_are)
def solve_discrete_are(a, b, q, r, e=None, s=None, balanced=True):
    only_once("scipy.linalg.solve_discrete_are")
    if e is not None:
        e = square(e)
        x = solve_discrete_are(np.linalg.solve(e, a), np.linalg.solve(e, b), q, r, None, s)
        return np.linalg.solve(e.T, np.linalg.solve(e.T, x.T).T)
    a, b, q, r, s = riccati_arguments(a, b, q, r, s)
    k = discrete_feedback(*[stop_gradient(m) for m in (a, b, q, r, s)])
    return solve_discrete_lyapunov((a - b @ k).T, cost(q, r, s, k))


@means(scipy.linalg.solve_continuous_are)
def solve_continuous_are(a, b, q, r, e=None, s=None, balanced=True):
    only_once("scipy.linalg.solve_continuous_are")
    if e is not None:
        e = square(e)
        x = solve_continuous_are(np.linalg.solve(e, a), np.linalg.solve(e, b), q, r, None, s)
        return np.linalg.solve(e.T, np.linalg.solve(e.T, x.T).T)
    a, b, q, r, s = riccati_arguments(a, b, q, r, s)
    k = continuous_feedback(*[stop_gradient(m) for m in (a, b, q, r, s)])
    return solve_continuous_lyapunov((a - b @ k).T, -cost(q, r, s, k))


def riccati_arguments(a, b, q, r, s):
    a, b, q, r = square(a), np.asarray(b), square(q), square(r)
    if b.ndim != 2 or b.shape[0] != len(a) or len(q) != len(a) or len(r) != b.shape[1]:
        raise ValueError("the shapes of the matrices do not fit")
    s = np.zeros(b.shape) if s is None else np.asarray(s)
    if s.shape != b.shape:
        raise ValueError("s has not the shape of b")
    if np.iscomplexobj(a) or np.iscomplexobj(b) or np.iscomplexobj(q) or np.iscomplexobj(r) or np.iscomplexobj(s):
        raise NotImplementedError("Riccati equations of complex matrices are not supported")
    return a.astype(float), b.astype(float), q.astype(float), r.astype(float), s.astype(float)


def cost(q, r, s, k):
    """Of a state, where the feedback is k."""
    return q + k.T @ r @ k - s @ k - k.T @ s.T


def discrete_feedback(a, b, q, r, s):
    """By doubling: each step goes twice as far ahead.  See Chu, Fan, Lin and Wang, Int. J. Control 77 (2004)."""
    one = np.eye(len(a))
    f = a - b @ np.linalg.solve(r, s.T)
    g, x = b @ np.linalg.solve(r, b.T), q - s @ np.linalg.solve(r, s.T)
    steps, change = 0, np.inf
    while change > 1e-15 * np.sum(np.abs(x)) and steps < 60:
        w = np.linalg.solve(one + g @ x, np.concatenate((f, g), axis=1))
        more = f.T @ x @ w[:, : len(a)]
        g = g + f @ w[:, len(a) :] @ f.T
        f = f @ w[:, : len(a)]
        x = x + more
        change = np.sum(np.abs(more))
        steps += 1
    if not (change <= 1e-9 * np.sum(np.abs(x)) and np.sum(np.abs(f)) < 1.0):  # f: so many steps, which die away
        raise np.linalg.LinAlgError("Failed to find a finite solution.")
    return np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a + s.T)


def continuous_feedback(a, b, q, r, s):
    """By the sign of the Hamiltonian matrix: what it maps to -1 is stable.  See Roberts, Int. J. Control 32 (1980)."""
    n = len(a)
    f = a - b @ np.linalg.solve(r, s.T)
    g, c = b @ np.linalg.solve(r, b.T), q - s @ np.linalg.solve(r, s.T)
    z = sign(np.concatenate((np.concatenate((f, -g), axis=1), np.concatenate((-c, -f.T), axis=1))))
    z = z + np.eye(2 * n)
    x = -np.linalg.lstsq(z[:, n:], z[:, :n])[0]
    k = np.linalg.solve(r, 0.5 * b.T @ (x + x.T) + s.T)
    if not np.sum(np.abs(sign(a - b @ k) + np.eye(n))) < 1e-6:  # stable
        raise np.linalg.LinAlgError("Failed to find a finite solution.")
    return k


def sign(z):
    """By Newton's method, with the steps scaled.  No eigenvalue is on the imaginary axis."""
    steps, change = 0, np.inf
    while change > 1e-13 * np.sum(np.abs(z)) and steps < 100:
        inverse = np.linalg.inv(z)
        scale = np.sqrt(np.sqrt(np.sum(inverse**2) / np.sum(z**2)))
        new = 0.5 * (scale * z + inverse / scale)
        change = np.sum(np.abs(new - z))
        z = new
        steps += 1
    if not change <= 1e-7 * np.sum(np.abs(z)):
        raise np.linalg.LinAlgError("Failed to find a finite solution.")
    return z
