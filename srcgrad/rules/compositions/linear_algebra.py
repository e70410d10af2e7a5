"""Solves, determinants, factorisations, eigenvalues and singular values."""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError

from srcgrad.rules.compositions.registry import is_constant, library, means, unusable
from srcgrad.rules.compositions.small_matrices import COLUMNS, inexact, is_small, small_det, small_slogdet, small_solve

EigResult = type(np.linalg.eig(np.ones((1, 1))))
EighResult = type(np.linalg.eigh(np.ones((1, 1))))
QRResult = type(np.linalg.qr(np.ones((1, 1))))
SlogdetResult = type(np.linalg.slogdet(np.ones((1, 1))))
SVDResult = type(np.linalg.svd(np.ones((1, 1))))


def matrices(a):
    a = np.asarray(a)
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    return a


def square(a):
    a = matrices(a)
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return a


def turned(a):
    return np.swapaxes(a, -1, -2)


# ------------------------------------------------------------------------------------------------------- solves


@means(np.linalg.solve)
def solve(a, b):
    a, b = square(a), np.asarray(b)
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("solve: the lengths of the matrix and of the right-hand side differ")
    if b.ndim == 1:
        return solved(a, b[:, None])[..., 0]
    return solved(a, b)


def solved(a, b):
    if is_small(a) and is_constant(b.shape[-1]) and b.shape[-1] <= COLUMNS:
        return small_solve(*inexact(a, b))
    return library("solve", a, b)


@means(np.linalg.inv)
def inv(a):
    a = square(a)
    if is_small(a):
        (a,) = inexact(a)
        return small_solve(a, np.eye(a.shape[-1], dtype=a.dtype))
    return library("inv", a)


@means(np.linalg.det)
def det(a):
    a = square(a)
    return small_det(*inexact(a)) if is_small(a) else library("det", a)


@means(np.linalg.slogdet)
def slogdet(a):
    a = square(a)
    if is_small(a) and not np.iscomplexobj(a):
        return SlogdetResult(*small_slogdet(*inexact(a)))
    logarithm, sign = library("slogdet", a)
    return SlogdetResult(sign, logarithm)


@means(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, *, rtol=-1.0):
    a = matrices(a)
    if hermitian:
        a = library("mirror", square(a))
    if rcond is None:
        if rtol is None:
            rcond = max(a.shape[-2], a.shape[-1]) * np.finfo(np.result_type(a.dtype, np.float32)).eps
        elif rtol == -1.0:
            rcond = 1e-15
        else:
            rcond = rtol
    return library("pinv", a, float(rcond))


@means(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    a, b = matrices(a), np.asarray(b)
    if a.ndim != 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if a.shape[0] != b.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    m, n = a.shape
    a = np.asarray(a, np.result_type(a.dtype, b.dtype))  # so that the singular values are as exact as b
    s = svdvals(a)
    if rcond is None:
        rcond = max(m, n) * np.finfo(s.dtype).eps
    elif rcond < 0:
        rcond = np.finfo(s.dtype).eps
    rank = np.int32(np.sum(s > rcond * s[0]))
    x = np.matmul(library("pinv", a, float(rcond)), b)
    columns = 1 if b.ndim == 1 else b.shape[1]
    count = columns if rank == n and m > n else 0  # NumPy leaves them out elsewhere
    rest = b - np.matmul(a, x)
    squares = np.sum(rest.real**2 + rest.imag**2 if np.iscomplexobj(rest) else rest**2, axis=0, keepdims=b.ndim == 1)
    return x, squares[:count], rank, s


# ------------------------------------------------------------------------------------------------ factorisations


@means(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    a = square(a)
    if upper:
        return np.conj(turned(library("cholesky", np.conj(turned(a)))))
    return library("cholesky", a)


@means(np.linalg.qr)
def qr(a, mode="reduced"):
    a = matrices(a)
    if mode == "complete" and a.shape[-2] > a.shape[-1]:
        raise NotImplementedError(
            "the complete qr of more rows than columns has no derivative: its last columns are any basis of the rest",
            "np.linalg.qr(a), or where only R is read:  np.linalg.qr(a, mode='r')",
        )
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr with mode={mode!r} has no derivative: 'reduced' and 'r' have")
    q, r = library("qr", a)
    return r if mode == "r" else QRResult(q, r)


# ------------------------------------------------------------------------------------ eigenvalues, singular values


OF_A_REAL_MATRIX = "is real or complex, which depends on the data: it comes from the eigenvalues of a real matrix"
AS_COMPLEX = (
    "take those of the matrix as a complex one:  np.linalg.eig(a.astype(complex))",
    "or, where it is symmetric:  np.linalg.eigh(a)",
)


@means(np.linalg.eig)
def eig(a):
    a = square(a)
    if not np.iscomplexobj(a):
        return EigResult(unusable(OF_A_REAL_MATRIX, *AS_COMPLEX), unusable(OF_A_REAL_MATRIX, *AS_COMPLEX))
    w, v = library("eig", a)
    return EigResult(w, v)


@means(np.linalg.eigvals)
def eigvals(a):
    return np.linalg.eig(a)[0]


@means(np.linalg.eigh)
def eigh(a, UPLO="L"):
    w, v = library("eigh", triangle(a, UPLO))
    return EighResult(w, v)


@means(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    return library("eigh", triangle(a, UPLO))[0]


def triangle(a, UPLO):
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return square(a) if UPLO in ("L", "l") else np.conj(turned(square(a)))


@means(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    a = matrices(a)
    if hermitian:
        u, s, vh = svd_by_eigh(a)
        return SVDResult(u, s, vh) if compute_uv else s
    if not compute_uv:
        return library("svd", a)[1]
    if full_matrices and a.shape[-2] != a.shape[-1]:
        raise NotImplementedError("svd of a matrix that is not square has a derivative with full_matrices=False")
    u, s, vh = library("svd", a)
    return SVDResult(u, s, vh)


def svd_by_eigh(a):
    w, v = np.linalg.eigh(a)
    order = np.flip(np.argsort(np.abs(w), axis=-1), axis=-1)
    w = np.take_along_axis(w, order, axis=-1)
    u = np.take_along_axis(v, order[..., None, :], axis=-1)
    return u, np.abs(w), np.conj(turned(u * np.sign(w)[..., None, :]))


@means(np.linalg.svdvals)
def svdvals(x, /):
    return library("svd", matrices(x))[1]


@means(np.linalg.matrix_rank)
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    A = np.asarray(A)
    if A.ndim < 2:
        return int(not np.all(A == 0))
    s = np.linalg.svd(A, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(A.shape[-2], A.shape[-1]) * np.finfo(s.dtype).eps
        tol = np.max(s, axis=-1, keepdims=True, initial=0) * np.asarray(rtol)[..., None]
    else:
        tol = np.asarray(tol)[..., None]
    return np.sum(s > tol, axis=-1)


COMPLEX_CONDITIONS = np.linalg.cond(np.eye(1, dtype=np.complex128), 1).dtype.kind == "c"  # in older releases of NumPy


@means(np.linalg.cond)
def cond(x, p=None):
    """Infinite for a singular matrix, of which there is no inverse to take the norm of, and for zeros."""
    x = matrices(x)
    if p is None or p == 2 or p == -2:
        s = library("svd", x)[1]
        ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        return np.where(s[..., 0] == 0, 1.0 / s[..., 0], ratio)
    size, is_regular = np.linalg.norm(x, p, axis=(-2, -1)), np.linalg.slogdet(x)[0] != 0
    inverse = inv(np.where(np.asarray(is_regular)[..., None, None], x, np.eye(x.shape[-1], dtype=x.dtype)))
    reach = np.where(is_regular, np.linalg.norm(inverse, p, axis=(-2, -1)), np.inf)
    found = np.where(size == 0, 1.0 / size, size * reach)
    return found.astype(x.dtype) if COMPLEX_CONDITIONS else found
