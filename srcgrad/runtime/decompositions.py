"""Linear algebra for one matrix or a stack of them, and the adjoints.

Outputs come first.  `x_b` is the cotangent of `x`; an adjoint adds to its first argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from srcgrad.runtime.lapack import factorise, solve_factorised, solve_triangle
from srcgrad.runtime.stacks import on_stacks

# ------------------------------------------------------------------------------------------------------- solves


@on_stacks("MMVMM")
def solve(x: Any, lu: Any, pivots: Any, a: Any, b: Any) -> None:
    """x such that a @ x = b, and the factors of `a`"""
    if factorise(lu, pivots, a) > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    if x.size:
        solve_factorised(x, lu, pivots, b, False)


@on_stacks("MMVM")
def solve_to_right(b_b: Any, lu: Any, pivots: Any, x_b: Any) -> None:
    """b_b += inv(a).T @ x_b"""
    if x_b.size:
        share = np.empty(x_b.shape, x_b.dtype)
        solve_factorised(share, lu, pivots, x_b, True)
        b_b += share


@on_stacks("MMVMM")
def solve_to_matrix(a_b: Any, lu: Any, pivots: Any, x: Any, x_b: Any) -> None:
    """a_b -= inv(a).T @ x_b @ x.T"""
    if x_b.size:
        share = np.empty(x_b.shape, x_b.dtype)
        solve_factorised(share, lu, pivots, x_b, True)
        _subtract_outer(a_b, share, x)


@register_jitable
def _subtract_outer(a_b: Any, u: Any, v: Any) -> None:
    """a_b -= u @ v.T"""
    if u.shape[1] == 1:
        for i in range(u.shape[0]):
            for j in range(v.shape[0]):
                a_b[i, j] -= u[i, 0] * v[j, 0]
    else:
        a_b -= np.dot(u, v.T)


@on_stacks("MMM___")
def solve_triangular(x: Any, a: Any, b: Any, lower: Any, transposed: Any, unit: Any) -> None:
    """x such that a @ x = b (or a.T @ x = b), with one triangle of `a`"""
    if not unit:
        for i in range(a.shape[0]):
            if a[i, i] == 0:
                raise np.linalg.LinAlgError("A singular matrix detected.")
    x[...] = b
    solve_triangle(x, a, lower, transposed, unit)


@on_stacks("MMM___")
def triangular_to_right(b_b: Any, a: Any, x_b: Any, lower: Any, transposed: Any, unit: Any) -> None:
    share = x_b.copy()
    solve_triangle(share, a, lower, not transposed, unit)
    b_b += share


@on_stacks("MMMM___")
def triangular_to_matrix(a_b: Any, a: Any, x: Any, x_b: Any, lower: Any, transposed: Any, unit: Any) -> None:
    share = x_b.copy()
    solve_triangle(share, a, lower, not transposed, unit)
    whole = np.dot(x, share.T) if transposed else np.dot(share, x.T)
    skipped = 1 if unit else 0
    for i in range(a.shape[0]):
        if lower:
            a_b[i, : i + 1 - skipped] -= whole[i, : i + 1 - skipped]
        else:
            a_b[i, i + skipped :] -= whole[i, i + skipped :]


# ------------------------------------------------------------------------------------------- inverse, determinant


@on_stacks("MM")
def inv(out: Any, a: Any) -> None:
    if a.size:
        out[...] = np.linalg.inv(a)


@on_stacks("MMM")
def inv_adjoint(a_b: Any, out: Any, out_b: Any) -> None:
    a_b -= np.dot(np.dot(out.T, out_b), out.T)


@on_stacks("SM")
def det(out: Any, a: Any) -> None:
    out[0] = np.linalg.det(a) if a.size else 1.0


@on_stacks("SSM")
def slogdet(logarithm: Any, sign: Any, a: Any) -> None:
    sign[0], logarithm[0] = 1.0, 0.0
    if a.size:
        found = np.linalg.slogdet(a)
        sign[0], logarithm[0] = found[0], found[1]


@on_stacks("MMSS")
def det_adjoint(a_b: Any, a: Any, out: Any, out_b: Any) -> None:
    """out_b times the cofactors of `a`, which a singular matrix has too"""
    if a.size and out_b[0] != 0:
        if out[0] != 0:
            a_b += (out_b[0] * out[0]) * np.linalg.inv(a).T
        else:
            a_b += out_b[0] * _cofactors(a)


@on_stacks("MMSS")
def slogdet_adjoint(a_b: Any, a: Any, sign: Any, logarithm_b: Any) -> None:
    if a.size and logarithm_b[0] != 0:
        if sign[0] != 0:
            a_b += logarithm_b[0] * np.linalg.inv(a).T
        else:  # the slope diverges wherever the determinant has one
            a_b += np.divide(logarithm_b[0] * _cofactors(a), np.zeros_like(a))


@register_jitable
def _cofactors(a: Any) -> Any:
    u, s, vt = np.linalg.svd(a)
    products = np.ones_like(s)
    for i in range(s.size):
        for j in range(s.size):
            if i != j:
                products[i] *= s[j]
    orientation = np.round(np.linalg.det(u) * np.linalg.det(vt))
    return np.dot(u * (products * orientation), vt)


@on_stacks("MM_")
def pinv(out: Any, a: Any, rcond: Any) -> None:
    if a.size:
        out[...] = np.linalg.pinv(a, rcond)


@on_stacks("MMMM")
def pinv_adjoint(a_b: Any, a: Any, out: Any, out_b: Any) -> None:
    """Golub and Pereyra's formula: as long as the rank stays"""
    if a.size:
        turned = np.ascontiguousarray(out_b.T)
        once = np.dot(turned, out)
        a_b -= np.dot(np.dot(out.T, out_b), out.T)
        a_b += np.dot(once - np.dot(a, np.dot(out, once)), out.T)
        again = np.dot(out, turned)
        a_b += np.dot(out.T, again - np.dot(np.dot(again, out), a))


# ------------------------------------------------------------------------------------------------ factorisations


@on_stacks("MM")
def cholesky(out: Any, a: Any) -> None:
    """The lower factor, from the lower triangle"""
    if a.size:
        out[...] = np.linalg.cholesky(a)


@on_stacks("MMM")
def cholesky_adjoint(a_b: Any, out: Any, out_b: Any) -> None:
    """The symmetric part of inv(L).T @ Phi(L.T @ L_b) @ inv(L); Phi: the lower triangle, its diagonal halved"""
    if out.size:
        middle = np.dot(out.T, np.tril(out_b))
        for i in range(middle.shape[0]):
            middle[i, i] *= 0.5
            middle[i, i + 1 :] = 0
        solve_triangle(middle, out, True, True, False)
        middle = np.ascontiguousarray(middle.T)
        solve_triangle(middle, out, True, True, False)
        _add_symmetric_part(a_b, middle)


@register_jitable
def _add_symmetric_part(a_b: Any, x: Any) -> None:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            a_b[i, j] += (x[i, j] + x[j, i]) / 2


@on_stacks("MM")
def mirror(out: Any, a: Any) -> None:
    """The symmetric matrix with the lower triangle of `a`"""
    for i in range(a.shape[0]):
        for j in range(i + 1):
            out[i, j] = out[j, i] = a[i, j]


@on_stacks("MM")
def mirror_adjoint(a_b: Any, out_b: Any) -> None:
    _add_symmetric_part(a_b, out_b)


@on_stacks("MMM")
def qr(q: Any, r: Any, a: Any) -> None:
    if a.size:
        factors = np.linalg.qr(a)
        q[...] = factors[0]
        r[...] = factors[1]


@on_stacks("MMMM")
def qr_q_adjoint(a_b: Any, q: Any, r: Any, q_b: Any) -> None:
    if q.size:
        _add_qr_share(a_b, r, _of_orthogonal(q, q_b))


@on_stacks("MMMM")
def qr_r_adjoint(a_b: Any, q: Any, r: Any, r_b: Any) -> None:
    """Columns on the right of a wide matrix follow from those on the left: Y = Q @ V"""
    if q.size:
        p = q.shape[1]
        upper, upper_b = r[:, :p].copy(), np.triu(r_b[:, :p])
        share = np.dot(q, _copied_down(np.dot(upper, upper_b.T)))
        if r.shape[1] > p:
            v, v_b = r[:, p:].copy(), r_b[:, p:].copy()
            share += _of_orthogonal(q, np.dot(q, np.dot(v, v_b.T)))
            a_b[:, p:] += np.dot(q, v_b)
        _add_qr_share(a_b, r, share)


@register_jitable
def _of_orthogonal(q: Any, q_b: Any) -> Any:
    return q_b - np.dot(q, _copied_down(np.dot(q_b.T, q)))


@register_jitable
def _copied_down(x: Any) -> Any:
    """The symmetric matrix with the lower triangle of x"""
    for i in range(x.shape[0]):
        for j in range(i):
            x[j, i] = x[i, j]
    return x


@register_jitable
def _add_qr_share(a_b: Any, r: Any, share: Any) -> None:
    """a_b += share @ inv(r).T, for the columns that r is square in"""
    p = share.shape[1]
    turned = np.ascontiguousarray(share.T)
    solve_triangle(turned, r[:, :p].copy(), False, False, False)
    a_b[:, :p] += turned.T


@on_stacks("MVM")
def lu_factor(lu: Any, pivots: Any, a: Any) -> None:
    """The factors of `a` in one matrix, and the rows that changed places, counted from 0"""
    factorise(lu, pivots, np.ascontiguousarray(a.T))
    lu[...] = lu.T.copy()
    pivots -= 1


@on_stacks("MMVM")
def lu_adjoint(a_b: Any, lu: Any, pivots: Any, lu_b: Any) -> None:
    """P.T @ inv(L).T @ (strictly lower part of L.T @ L_b, upper part of U_b @ U.T) @ inv(U).T"""
    lower, upper = np.tril(lu, -1), np.triu(lu)
    for i in range(lower.shape[0]):
        lower[i, i] = 1
    middle = np.tril(np.dot(lower.T, np.tril(lu_b, -1)), -1) + np.triu(np.dot(np.triu(lu_b), upper.T))
    solve_triangle(middle, lu, True, True, True)
    turned = np.ascontiguousarray(middle.T)
    solve_triangle(turned, lu, False, False, False)
    share = np.ascontiguousarray(turned.T)
    for i in range(pivots.size - 1, -1, -1):
        k = pivots[i]
        if k != i:
            row = share[i].copy()
            share[i] = share[k]
            share[k] = row
    a_b += share


# ------------------------------------------------------------------------------------- eigenvalues, singular values


@on_stacks("VMM")
def eigh(w: Any, v: Any, a: Any) -> None:
    """From the lower triangle"""
    if a.size:
        found = np.linalg.eigh(a)
        w[...] = found[0]
        v[...] = found[1]


@on_stacks("MMV")
def eigenvalues_adjoint(a_b: Any, v: Any, w_b: Any) -> None:
    if v.size:
        a_b += np.dot(v * w_b, v.T)


@on_stacks("MVMM")
def eigenvectors_adjoint(a_b: Any, w: Any, v: Any, v_b: Any) -> None:
    if v.size:
        middle = np.dot(v.T, v_b)
        _over_gaps(middle, w, False)
        a_b += 0.5 * np.dot(np.dot(v, middle), v.T)


@register_jitable
def _over_gaps(x: Any, s: Any, squared: Any) -> None:
    """x = (x - x.T) / the gaps between s (or s * s); 0 where nothing comes in.

    Vectors that share one value have no derivative: what comes in there is divided by 0.
    """
    for i in range(x.shape[0]):
        x[i, i] = 0
        for j in range(i):
            above, below = x[j, i], x[i, j]
            if above != 0 or below != 0:
                gap = s[j] - s[i]
                if squared:
                    gap *= s[j] + s[i]
                share = np.divide(below - above, gap)
                x[i, j] = share
                x[j, i] = share


@on_stacks("MVMM")
def svd(u: Any, s: Any, vt: Any, a: Any) -> None:
    if a.size:
        found = np.linalg.svd(a, False)
        u[...] = found[0]
        s[...] = found[1]
        vt[...] = found[2]


@on_stacks("MMVMV")
def singular_values_adjoint(a_b: Any, u: Any, s: Any, vt: Any, s_b: Any) -> None:
    if s.size:
        slope = s_b.copy()
        for i in range(s.size):
            if s[i] == 0:  # the kink of an absolute value
                slope[i] = 0
        a_b += np.dot(u * slope, vt)


@on_stacks("MMVMM")
def left_vectors_adjoint(a_b: Any, u: Any, s: Any, vt: Any, u_b: Any) -> None:
    if s.size:
        a_b += np.dot(_share_of_vectors(u, s, u_b), vt)


@on_stacks("MMVMM")
def right_vectors_adjoint(a_b: Any, u: Any, s: Any, vt: Any, vt_b: Any) -> None:
    if s.size:
        a_b += np.dot(u, _share_of_vectors(np.ascontiguousarray(vt.T), s, np.ascontiguousarray(vt_b.T)).T)


@register_jitable
def _share_of_vectors(u: Any, s: Any, u_b: Any) -> Any:
    """u @ (F * (M - M.T)) * s + (u_b - u @ M) / s with M = u.T @ u_b; F: one over the gaps between the s * s"""
    inside = np.dot(u.T, u_b)
    outside = u_b - np.dot(u, inside) if u.shape[0] > u.shape[1] else np.zeros_like(u_b)
    _over_gaps(inside, s, True)
    share = np.dot(u, inside) * s
    if u.shape[0] > u.shape[1]:
        share += np.divide(outside, s)
    return share


# --------------------------------------------------------------------------------------------------- exponential


@on_stacks("MM")
def expm(out: Any, a: Any) -> None:
    if a.size:
        out[...] = _expm(a)


@on_stacks("MMM")
def expm_adjoint(a_b: Any, a: Any, out_b: Any) -> None:
    """The derivative of the exponential of a.T in the direction out_b stands in that of a matrix of twice the size."""
    n = a.shape[0]
    if n:
        both = np.zeros((2 * n, 2 * n), a.dtype)
        both[:n, :n] = a.T
        both[n:, n:] = a.T
        both[:n, n:] = out_b
        a_b += _expm(both)[:n, n:]


@register_jitable
def _expm(a: Any) -> Any:
    """Scaling and squaring with Padé's approximant of degree 13 (Higham 2005)"""
    c = (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
    )  # fmt: skip
    size = np.max(np.sum(np.abs(a), axis=0))
    squarings = 0
    while size > 5.371920351148152 and squarings < 1100:
        size /= 2
        squarings += 1
    x = (a * 0.5**squarings).astype(np.float64)
    one = np.eye(x.shape[0])
    x2 = np.dot(x, x)
    x4 = np.dot(x2, x2)
    x6 = np.dot(x4, x2)
    odd = np.dot(x6, c[13] * x6 + c[11] * x4 + c[9] * x2) + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one
    odd = np.dot(x, odd)
    even = np.dot(x6, c[12] * x6 + c[10] * x4 + c[8] * x2) + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one
    out = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        out = np.dot(out, out)
    return out.astype(a.dtype)


__all__ = [
    "cholesky",
    "cholesky_adjoint",
    "det",
    "det_adjoint",
    "eigenvalues_adjoint",
    "eigenvectors_adjoint",
    "eigh",
    "expm",
    "expm_adjoint",
    "inv",
    "inv_adjoint",
    "left_vectors_adjoint",
    "lu_adjoint",
    "lu_factor",
    "mirror",
    "mirror_adjoint",
    "pinv",
    "pinv_adjoint",
    "qr",
    "qr_q_adjoint",
    "qr_r_adjoint",
    "right_vectors_adjoint",
    "singular_values_adjoint",
    "slogdet",
    "slogdet_adjoint",
    "solve",
    "solve_to_matrix",
    "solve_to_right",
    "solve_triangular",
    "svd",
    "triangular_to_matrix",
    "triangular_to_right",
]
