"""Cholesky and LU as loops, and a determinant by minors, which calls itself."""

import math

import numpy as np

from benchmarks.programs.libraries import anp, jnp, lax, torch
from benchmarks.programs.program import LOOPS, Program, Size, by_hand, by_hand_sums


def square_shape(a):
    return a.shape


def positive_definite(rng, n):
    b = rng.normal(size=(n, n))
    return (b @ b.T / n + np.eye(n),)


# ---- Cholesky


def cholesky(a):
    n = a.shape[0]
    l = np.zeros((n, n))
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= l[j, k] * l[j, k]
        l[j, j] = math.sqrt(s)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= l[i, k] * l[j, k]
            l[i, j] = s / l[j, j]
    return l


@by_hand  # by rows; in the order in which the user's sums are written
def cholesky_by_rows(a):
    n = a.shape[0]
    l = np.zeros((n, n))
    for j in range(n):
        row = l[j, :j]
        s = a[j, j]
        for k in range(j):
            s -= row[k] * row[k]
        l[j, j] = math.sqrt(s)
        for i in range(j + 1, n):
            other = l[i, :j]
            s = a[i, j]
            for k in range(j):
                s -= other[k] * row[k]
            l[i, j] = s / l[j, j]
    return l


@by_hand_sums
def cholesky_reverse(l, v):
    n = l.shape[0]
    l_b, a_b = v.copy(), np.zeros((n, n))
    for j in range(n - 1, -1, -1):  # all that is read of l is still there
        row, row_b = l[j, :j], l_b[j, :j]
        for i in range(n - 1, j, -1):
            other, other_b = l[i, :j], l_b[i, :j]
            g = l_b[i, j] / l[j, j]
            l_b[j, j] -= g * l[i, j]
            a_b[i, j] = g
            for k in range(j):
                other_b[k] -= g * row[k]
                row_b[k] -= g * other[k]
        g = 0.5 * l_b[j, j] / l[j, j]
        a_b[j, j] = g
        for k in range(j):
            row_b[k] -= 2.0 * g * row[k]
    return a_b


@by_hand
def cholesky_adjoint(a, v):
    return cholesky_reverse(cholesky_by_rows(a), v)


def cholesky_jax(a):
    n = a.shape[0]
    rows = jnp.arange(n)

    def column(j, l):  # what is not there yet is zero, and adds nothing
        s = a[:, j] - l @ l[j]
        return l.at[:, j].set(jnp.where(rows >= j, s, 0.0) / jnp.sqrt(s[j]))

    return lax.fori_loop(0, n, column, jnp.zeros_like(a))


def cholesky_torch(a):
    n = a.shape[0]
    columns = []
    for j in range(n):
        s = a[j:, j]
        if columns:
            before = torch.stack([column[j:] for column in columns], dim=1)
            s = s - before @ before[0]
        columns.append(torch.nn.functional.pad(s / torch.sqrt(s[0]), (j, 0)))
    return torch.stack(columns, dim=1)


def cholesky_autograd(a):
    n = a.shape[0]
    columns = []
    for j in range(n):
        s = a[j:, j]
        if columns:
            before = anp.stack([column[j:] for column in columns], axis=1)
            s = s - anp.dot(before, before[0])
        columns.append(anp.concatenate((np.zeros(j), s / anp.sqrt(s[0]))))
    return anp.stack(columns, axis=1)


# ---- LU without pivots: L below the diagonal, U on and above it


def lu(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@by_hand_sums
def lu_adjoint(a, v):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        row = a[k, k + 1 :]
        for i in range(k + 1, n):
            other = a[i, k + 1 :]
            a[i, k] /= a[k, k]
            factor = a[i, k]
            for j in range(n - k - 1):
                other[j] -= factor * row[j]
    a_b = v.copy()
    for k in range(n - 1, -1, -1):  # column and row k have not changed since
        row, row_b = a[k, k + 1 :], a_b[k, k + 1 :]
        pivot_b = 0.0
        for i in range(n - 1, k, -1):
            other_b = a_b[i, k + 1 :]
            factor, factor_b = a[i, k], a_b[i, k]
            for j in range(n - k - 1):
                factor_b -= other_b[j] * row[j]
                row_b[j] -= other_b[j] * factor
            a_b[i, k] = factor_b / a[k, k]
            pivot_b -= a_b[i, k] * factor
        a_b[k, k] += pivot_b
    return a_b


def lu_jax(a):
    n = a.shape[0]
    index = jnp.arange(n)

    def eliminate(k, a):
        factor = jnp.where(index > k, a[:, k] / a[k, k], 0.0)
        a = a - jnp.outer(factor, jnp.where(index > k, a[k], 0.0))
        return a.at[:, k].set(jnp.where(index > k, factor, a[:, k]))

    return lax.fori_loop(0, n, eliminate, a)


def lu_torch(a):
    n = a.shape[0]
    rest, rows, columns = a, [], []
    for k in range(n):
        factor = rest[1:, 0] / rest[0, 0]
        rows.append(torch.nn.functional.pad(rest[0], (k, 0)))
        columns.append(torch.nn.functional.pad(factor, (k + 1, 0)))
        rest = rest[1:, 1:] - torch.outer(factor, rest[0, 1:])
    return torch.stack(rows) + torch.stack(columns, dim=1)


def lu_autograd(a):
    n = a.shape[0]
    rest, rows, columns = a, [], []
    for k in range(n):
        factor = rest[1:, 0] / rest[0, 0]
        rows.append(anp.concatenate((np.zeros(k), rest[0])))
        columns.append(anp.concatenate((np.zeros(k + 1), factor)))
        rest = rest[1:, 1:] - anp.outer(factor, rest[0, 1:])
    return anp.stack(rows) + anp.stack(columns, axis=1)


# ---- a determinant by minors along the first row


def determinant(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total, sign = 0.0, 1.0
    for j in range(n):
        minor = np.empty((n - 1, n - 1))
        for i in range(1, n):
            for k in range(n - 1):
                minor[i - 1, k] = a[i, k if k < j else k + 1]
        total += sign * a[0, j] * determinant(minor)
        sign = -sign
    return total


@by_hand
def determinant_and_gradient(a, a_b):
    """Overwrites a_b; one recursion gives both."""
    n = a.shape[0]
    if n == 1:
        a_b[0, 0] = 1.0
        return a[0, 0]
    a_b[:] = 0.0
    minor, minor_b = np.empty((n - 1, n - 1)), np.empty((n - 1, n - 1))
    total, sign = 0.0, 1.0
    for j in range(n):
        for i in range(1, n):
            for k in range(n - 1):
                minor[i - 1, k] = a[i, k if k < j else k + 1]
        value = determinant_and_gradient(minor, minor_b)
        total += sign * a[0, j] * value
        a_b[0, j] = sign * value
        for i in range(1, n):
            for k in range(n - 1):
                a_b[i, k if k < j else k + 1] += sign * a[0, j] * minor_b[i - 1, k]
        sign = -sign
    return total


@by_hand
def determinant_adjoint(a, v):
    a_b = np.empty(a.shape)
    determinant_and_gradient(a, a_b)
    return v * a_b


def determinant_peer(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total, sign = 0.0, 1.0
    for j in range(n):
        keep = [k for k in range(n) if k != j]
        total = total + sign * a[0, j] * determinant_peer(a[1:][:, keep])
        sign = -sign
    return total


def determinant_jax(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    keep = np.array([[k for k in range(n) if k != j] for j in range(n)])
    minors = jnp.stack([determinant_jax(a[1:, keep[j]]) for j in range(n)])
    return jnp.sum(jnp.where(np.arange(n) % 2 == 0, 1.0, -1.0) * a[0] * minors)


# fmt: off
PROGRAMS = (
    Program("cholesky", LOOPS, cholesky, positive_definite, ("a",), (4,), (Size(100),),
            cholesky_adjoint, cholesky_jax, cholesky_torch, cholesky_autograd, shape=square_shape),
    Program("lu", LOOPS, lu, positive_definite, ("a",), (4,), (Size(100),),
            lu_adjoint, lu_jax, lu_torch, lu_autograd, shape=square_shape),
    Program("determinant", LOOPS, determinant, positive_definite, ("a",), (4,), (Size(6),),
            determinant_adjoint, determinant_jax, determinant_peer, determinant_peer),
)
# fmt: on
