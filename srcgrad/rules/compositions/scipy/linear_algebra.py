"""SciPy's linear algebra.  What `overwrite_a` and `check_finite` ask for makes no difference here."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from srcgrad.rules.compositions.linear_algebra import square, svdvals, triangle, turned
from srcgrad.rules.compositions.registry import library, means

# ------------------------------------------------------------------------------------------------------- solves


def right_side(a, b):
    """The matrix, and the right-hand side with its shape checked."""
    a, b = square(a), np.asarray(b)
    if a.ndim != 2 or b.ndim > 2:
        raise NotImplementedError("stacks of matrices are not supported here: np.linalg.solve takes them")
    if a.shape[0] != b.shape[0]:
        raise ValueError("shapes of the matrix and of the right-hand side are incompatible")
    return a, b


@means(scipy.linalg.solve)
def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False):
    a, b = right_side(a, b)
    if assume_a in ("pos", "positive definite"):
        x = cho_solve(cho_factor(a, lower), b)
    elif assume_a in ("her", "hermitian"):
        x = np.linalg.solve(library("mirror", triangle(a, "L" if lower else "U")), b)
    elif assume_a in ("sym", "symmetric"):
        x = np.linalg.solve(symmetric(a if lower else turned(a)), b)
    elif assume_a in ("lower triangular", "upper triangular"):
        x = solve_triangular(a, b, int(transposed), assume_a == "lower triangular")
    elif transposed and np.iscomplexobj(a):
        raise NotImplementedError("scipy.linalg.solve can currently not solve a^T x = b for complex matrices")
    elif assume_a in (None, "gen", "general"):
        x = np.linalg.solve(turned(a) if transposed else a, b)
    else:
        raise NotImplementedError(f"solve with assume_a={assume_a!r} is not supported")
    return x


def symmetric(a):
    """With the lower triangle of `a`, and no conjugation"""
    if np.iscomplexobj(a):
        return library("mirror", a.real) + 1j * library("mirror", a.imag)
    return library("mirror", a)


@means(scipy.linalg.solve_triangular)
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    a, b = right_side(a, b)
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError("trans must be 0, 1, 2, 'N', 'T' or 'C'")
    if trans in (2, "C"):
        return adjoint_triangular(a, b, bool(lower), bool(unit_diagonal))
    return triangular(a, b, bool(lower), trans not in (0, "N"), bool(unit_diagonal))


def adjoint_triangular(a, b, lower, unit=False):
    """x such that a.T.conj() @ x = b"""
    if np.iscomplexobj(a):
        return np.conj(triangular(a, np.conj(b), lower, True, unit))
    return triangular(a, b, lower, True, unit)


def triangular(a, b, lower, transposed, unit):
    if b.ndim == 1:
        x = library("solve_triangular", a, b[:, None], lower, transposed, unit)[:, 0]
    else:
        x = library("solve_triangular", a, b, lower, transposed, unit)
    return x


@means(scipy.linalg.inv)
def inv(a, overwrite_a=False, check_finite=True):
    return np.linalg.inv(a)


@means(scipy.linalg.det)
def det(a, overwrite_a=False, check_finite=True):
    a = square(a)
    return library("det", np.asarray(a, dtype=np.complex128 if np.iscomplexobj(a) else np.float64))


@means(scipy.linalg.pinv)
def pinv(a, *, rtol=None, check_finite=True):
    return np.linalg.pinv(a, rtol=rtol)


@means(scipy.linalg.norm)
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    return np.linalg.norm(a, ord, axis, keepdims)


# ------------------------------------------------------------------------------------------------ factorisations


@means(scipy.linalg.cholesky)
def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    return np.linalg.cholesky(a, upper=not lower)


@means(scipy.linalg.cho_factor)
def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """What SciPy leaves in the other triangle is not meant to be read: here it is 0."""
    return np.linalg.cholesky(a, upper=not lower), bool(lower)


@means(scipy.linalg.cho_solve)
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    c, b = right_side(c, b)
    if lower:
        return adjoint_triangular(c, triangular(c, b, True, False, False), True)
    return triangular(c, adjoint_triangular(c, b, False), False, False, False)


@means(scipy.linalg.lu_factor)
def lu_factor(a, overwrite_a=False, check_finite=True):
    a = square(a)
    if a.ndim != 2:
        raise NotImplementedError("lu_factor of stacks of matrices is not supported")
    return library("lu_factor", a)


@means(scipy.linalg.lu_solve)
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    lu, piv = lu_and_piv
    lu, b = right_side(lu, b)
    rows = np.arange(piv.shape[0])
    for i in range(piv.shape[0]):
        other = rows[piv[i]]
        rows[piv[i]] = rows[i]
        rows[i] = other
    if trans == 0:
        x = triangular(lu, triangular(lu, b[rows], True, False, True), False, False, False)
    elif trans == 2 and np.iscomplexobj(lu):
        x = np.conj(lu_solve(lu_and_piv, np.conj(b), 1))
    else:
        y = triangular(lu, triangular(lu, b, False, True, False), True, True, True)
        x = np.empty_like(y)
        x[rows] = y
    return x


@means(scipy.linalg.qr)
def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    if pivoting:
        raise NotImplementedError("qr with pivoting=True is not supported")
    if mode not in ("full", "economic", "r"):
        raise NotImplementedError(f"qr with mode={mode!r} is not supported: 'full', 'economic' and 'r' are")
    a = np.asarray(a)
    if mode == "full" and a.shape[-2] > a.shape[-1]:
        raise NotImplementedError(
            "the full qr of more rows than columns has no derivative: its last columns are any basis of the rest",
            "scipy.linalg.qr(a, mode='economic'), or where only R is read:  (r,) = scipy.linalg.qr(a, mode='r')",
        )
    q, r = np.linalg.qr(a)
    if mode == "r":
        if a.ndim > 2:
            raise NotImplementedError("qr of stacks of matrices with mode='r' is not supported")
        return (np.concatenate([r, np.zeros_like(a)[r.shape[-2] :]]),)
    return q, r


# ------------------------------------------------------------------------------------ eigenvalues, singular values


@means(scipy.linalg.eigh)
def eigh(a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, check_finite=True):
    """Eigenvectors come with the signs that NumPy gives them."""
    if b is None:
        w, v = np.linalg.eigh(a, "L" if lower else "U")
    else:  # with b = c @ c.H: the eigenvectors of inv(c) @ a @ inv(c).H, times inv(c).H
        a = library("mirror", triangle(a, "L" if lower else "U"))
        c = np.linalg.cholesky(triangle(b, "L" if lower else "U"))
        half = triangular(c, a, True, False, False)
        w, y = np.linalg.eigh(triangular(c, np.conj(turned(half)), True, False, False))
        v = adjoint_triangular(c, y, True)
    return w if eigvals_only else (w, v)


@means(scipy.linalg.eigvalsh)
def eigvalsh(a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, check_finite=True):
    return eigh(a, b, lower=lower, eigvals_only=True)


@means(scipy.linalg.eig)
def eig(a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True):
    if b is not None or left:
        raise NotImplementedError("scipy.linalg.eig with `b` or left vectors is not supported")
    w, v = np.linalg.eig(a)
    return (w, v) if right else w


@means(scipy.linalg.eigvals)
def eigvals(a, *, overwrite_a=False, check_finite=True):
    return np.linalg.eigvals(a)


@means(scipy.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    if not compute_uv:
        return svdvals(a)
    u, s, vh = np.linalg.svd(a, full_matrices)
    return u, s, vh


@means(scipy.linalg.svdvals)
def svdvals_of(a, overwrite_a=False, check_finite=True):
    return svdvals(a)


@means(scipy.linalg.expm)
def expm(A):
    return library("expm", square(A))
