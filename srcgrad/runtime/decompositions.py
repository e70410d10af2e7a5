"""Factorisations of one matrix or a stack of them, exponentials, and the adjoints.

Outputs come first.  `x_b` is the cotangent of `x`; an adjoint adds to its first argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgrad.runtime.lapack import (
    add_to,
    conjugated,
    copy_to,
    factorise,
    product,
    solve_factorised,
    solve_triangle,
    times_columns,
    turned,
)
from srcgrad.runtime.linked import linked
from srcgrad.runtime.stacks import on_stacks

# ------------------------------------------------------------------------------------------------ factorisations


@on_stacks("MM")
def cholesky(out: Any, a: Any) -> None:
    """The lower factor, from the lower triangle"""
    if a.size:
        copy_to(out, np.linalg.cholesky(a))


@on_stacks("SM")
def is_indefinite(out: Any, a: Any) -> None:
    """1 where `cholesky` raises an error"""
    out[0] = 0
    if a.size:
        try:
            np.linalg.cholesky(a)
        except Exception:
            out[0] = 1


@on_stacks("MMM")
def cholesky_adjoint(a_b: Any, out: Any, out_b: Any) -> None:
    """inv(L).T @ Phi(L.T @ L_b) @ inv(L).conj(), for what is read; Phi: the lower triangle, its diagonal halved"""
    if out.size:
        middle = product(out, _lower(out_b), True, False)
        for i in range(middle.shape[0]):
            middle[i, i] *= 0.5
        middle = _lower(middle)
        solve_triangle(middle, out, True, True, False)
        middle = turned(middle)
        solve_triangle(middle, conjugated(out), True, True, False)
        _add_to_lower(a_b, turned(middle), 1.0)


@linked
def _lower(x: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(min(i + 1, x.shape[1])):
            out[i, j] = x[i, j]
    return out


@linked
def _upper(x: Any, columns: Any) -> Any:
    """The upper triangle of the first columns of x"""
    out = np.zeros((x.shape[0], columns), x.dtype)
    for i in range(x.shape[0]):
        for j in range(i, columns):
            out[i, j] = x[i, j]
    return out


@linked
def _add_to_lower(a_b: Any, x: Any, factor: Any) -> None:
    """a_b += factor * the cotangent of a lower triangle, where x is that of the Hermitian matrix which it stands for.

    An element off the diagonal is read for its mirror image too; on the diagonal the real part alone is read.
    """
    for i in range(x.shape[0]):
        for j in range(i):
            a_b[i, j] += factor * (x[i, j] + conjugated(x[j, i]))
        a_b[i, i] += factor * x[i, i].real


@on_stacks("MM")
def mirror(out: Any, a: Any) -> None:
    """The Hermitian matrix with the lower triangle of `a`"""
    for i in range(a.shape[0]):
        for j in range(i):
            out[i, j] = a[i, j]
            out[j, i] = conjugated(a[i, j])
        out[i, i] = a[i, i].real


@on_stacks("MM")
def mirror_adjoint(a_b: Any, out_b: Any) -> None:
    _add_to_lower(a_b, out_b, 1.0)


@on_stacks("MMM")
def qr(q: Any, r: Any, a: Any) -> None:
    if a.size:
        factors = np.linalg.qr(a)
        copy_to(q, factors[0])
        copy_to(r, factors[1])


@on_stacks("MMMM")
def qr_q_adjoint(a_b: Any, q: Any, r: Any, q_b: Any) -> None:
    if q.size:
        if q.shape[0] > q.shape[1]:
            share, middle = q_b.copy(), product(q_b, q, True, False)
            _copy_down(middle)
            add_to(share, product(conjugated(q), middle, False, False), -1.0)
            _add_tall_share(a_b, r, share)
        else:
            middle = product(q, q_b, True, False)
            _turn(a_b, q, r, middle)
            _add_square_share(a_b, q, r, middle)


@on_stacks("MMMM")
def qr_r_adjoint(a_b: Any, q: Any, r: Any, r_b: Any) -> None:
    """Columns to the right of those that settle Q follow from them: V = Q.T.conj() @ A"""
    if q.size:
        if q.shape[0] > q.shape[1]:
            middle = _of_upper(r, r_b)
            _add_tall_share(a_b, r, product(conjugated(q), middle, False, False))
        else:
            k = q.shape[1] - 1
            v, v_b = turned(turned(r)[k:]), turned(turned(r_b)[k:])
            v_b[k, 0] = v_b[k, 0].real
            middle = conjugated(product(v, v_b, False, True))
            add_to(a_b[:, k:], product(conjugated(q), v_b, False, False), 1.0)
            _turn(a_b, q, r, middle)
            add_to(middle[:k, :k], _of_upper(turned(turned(r)[:k])[:k], turned(turned(r_b)[:k])[:k]), 1.0)
            _add_square_share(a_b, q, r, middle)


@linked
def _of_upper(r: Any, r_b: Any) -> Any:
    middle = product(_upper(r, r.shape[1]), _upper(r_b, r.shape[1]), False, True)
    _copy_down(middle)
    return middle


@linked
def _copy_down(x: Any) -> None:
    """The Hermitian matrix with the lower triangle of x, which becomes the upper one"""
    for i in range(x.shape[0]):
        for j in range(i):
            x[j, i] = x[i, j]
            x[i, j] = conjugated(x[i, j])
        x[i, i] = x[i, i].real


@linked
def _add_tall_share(a_b: Any, r: Any, share: Any) -> None:
    """a_b += share @ inv(r).T"""
    columns = turned(share)
    solve_triangle(columns, _upper(r, columns.shape[0]), False, False, False)
    for i in range(share.shape[0]):
        for j in range(share.shape[1]):
            a_b[i, j] += columns[j, i]


@linked
def _turn(a_b: Any, q: Any, r: Any, x: Any) -> None:
    """x = what turns the columns of a square Q, of x = Q.T @ q_b: a matrix below the diagonal.

    dQ = Q @ W with a skew Hermitian W, of which W @ R = Q.T.conj() @ dA says what is below the diagonal.  Its last row
    ends ahead of the diagonal, and so the last column of Q follows from the others: nothing is divided by the last
    pivot, which may be 0, but the phase of a complex column, which is such that the pivot is real.
    """
    k = q.shape[1] - 1
    turning = (x[k, k] - conjugated(x[k, k])) / 2
    phase = divided(turning, r[k, k].real, turning != 0)
    for i in range(q.shape[0]):
        a_b[i, k] += conjugated(q[i, k]) * phase
        x[i, k] += conjugated(r[i, k] * phase)
    for i in range(x.shape[0]):
        for j in range(i):
            x[i, j] -= conjugated(x[j, i])
            x[j, i] = 0
        x[i, i] = (x[i, i] - conjugated(x[i, i])) / 2


@linked
def _add_square_share(a_b: Any, q: Any, r: Any, x: Any) -> None:
    """a_b += conj(q) @ x @ inv(r).T, for all columns of the square but the last, which gets nothing"""
    k = q.shape[1] - 1
    columns = turned(x)[:k]
    solve_triangle(columns, _upper(r[:k], k), False, False, False)
    add_to(a_b[:, :k], product(conjugated(q), columns, False, True), 1.0)


@on_stacks("MVM")
def lu_factor(lu: Any, pivots: Any, a: Any) -> None:
    """The factors of `a` in one matrix, and the rows that changed places, counted from 0"""
    factors = np.empty(a.shape, a.dtype)
    factorise(factors, pivots, turned(a))
    copy_to(lu, turned(factors))
    for i in range(pivots.size):
        pivots[i] -= 1


@on_stacks("MMVM")
def lu_adjoint(a_b: Any, lu: Any, pivots: Any, lu_b: Any) -> None:
    """P.T @ inv(L).T @ X, with X @ U.T = strictly lower part of L.T @ L_b + upper part of U_b @ U.T.

    The last column of X is that of U_b, so nothing is divided by the last pivot, which may be 0.
    """
    if lu.size:
        k = lu.shape[0] - 1
        lower, lower_b, upper_b = _lower(lu), _lower(lu_b), _upper(lu_b, k + 1)
        for i in range(k + 1):
            lower[i, i] = 1
            lower_b[i, i] = 0
        share, below = upper_b.copy(), product(lower, lower_b, True, False)
        middle = product(turned(turned(upper_b)[:k]), _upper(lu[:k], k), False, True)
        for i in range(k + 1):
            for j in range(min(i, k)):
                middle[i, j] = below[i, j] - upper_b[i, k] * lu[j, k]
        columns = turned(middle)
        solve_triangle(columns, _upper(lu[:k], k), False, False, False)
        for i in range(k + 1):
            for j in range(k):
                share[i, j] = columns[j, i]
        solve_triangle(share, lu, True, True, True)
        for i in range(k, -1, -1):
            row = pivots[i]
            for j in range(k + 1):
                share[i, j], share[row, j] = share[row, j], share[i, j]
        add_to(a_b, share, 1.0)


# ------------------------------------------------------------------------------------- eigenvalues, singular values


@on_stacks("VMM")
def eigh(w: Any, v: Any, a: Any) -> None:
    """From the lower triangle"""
    if a.size:
        found = np.linalg.eigh(a)
        for i in range(w.size):
            w[i] = found[0][i]
        copy_to(v, found[1])


@on_stacks("MMV")
def eigenvalues_adjoint(a_b: Any, v: Any, w_b: Any) -> None:
    _add_to_lower(a_b, product(times_columns(conjugated(v), w_b), v, False, True), 1.0)


@on_stacks("MVMM")
def eigenvectors_adjoint(a_b: Any, w: Any, v: Any, v_b: Any) -> None:
    middle = product(v, v_b, True, False)
    _over_gaps(middle, w, False)
    _add_to_lower(a_b, product(product(conjugated(v), middle, False, False), v, False, True), 0.5)


@linked
def _over_gaps(x: Any, s: Any, squared: Any) -> None:
    """x = (x - x.T.conj()) / the gaps between s (or s * s); 0 where nothing comes in.

    Vectors that share one value have no derivative: what comes in there is divided by 0.  LAPACK finds values to within
    some roundings of the largest one: those that are closer are one, as quotients of what rounding left mean nothing.
    """
    same = np.finfo(s.dtype).eps * 0
    for value in s:
        same = max(same, 4 * np.finfo(s.dtype).eps * abs(value))
    for i in range(x.shape[0]):
        x[i, i] = 0
        for j in range(i):
            above, below = conjugated(x[j, i]), x[i, j]
            gap = s[j] - s[i] if abs(s[j] - s[i]) > same else s[j] * 0
            if squared:
                gap *= s[j] + s[i]
            share = divided(below - above, gap, above != 0 or below != 0)
            x[i, j] = share
            x[j, i] = conjugated(share)


@linked
def divided(x: Any, y: Any, counts: Any) -> Any:
    """x / y; nothing where nothing comes in"""
    return np.divide(x, y) if counts else x * 0


@on_stacks("VMM")
def eig(w: Any, v: Any, a: Any) -> None:
    """Of complex matrices: what there is of real ones may be real or complex"""
    if a.size:
        found = np.linalg.eig(a)
        for i in range(w.size):
            w[i] = found[0][i]
        copy_to(v, found[1])


@on_stacks("MMV")
def eig_values_adjoint(a_b: Any, v: Any, w_b: Any) -> None:
    _add_similar(a_b, v, times_columns(v, w_b))


@on_stacks("MVMM")
def eig_vectors_adjoint(a_b: Any, w: Any, v: Any, v_b: Any) -> None:
    """dv = v @ (F * P) + v * c with P = inv(v) @ da @ v; F: one over the gaps between the w.

    LAPACK has vectors of length 1 whose largest element is real, which is what c sees to.
    """
    share = v_b.copy()
    for j in range(w.size):
        along, largest = v[0, j] * 0, 0
        for i in range(w.size):
            along += v_b[i, j] * v[i, j]
            if abs(v[i, j]) > abs(v[largest, j]):
                largest = i
        for i in range(w.size):
            share[i, j] -= along.real * conjugated(v[i, j])
        share[largest, j] -= np.divide((along - conjugated(along)) / 2, v[largest, j])
    middle = product(v, share, True, False)
    for i in range(w.size):
        middle[i, i] = 0
        for j in range(w.size):
            if i != j:
                middle[i, j] = divided(middle[i, j], w[j] - w[i], middle[i, j] != 0)
    _add_similar(a_b, v, product(v, middle, False, True))


@linked
def _add_similar(a_b: Any, v: Any, x: Any) -> None:
    """a_b += inv(v).T @ x.T; 0 where nothing comes in"""
    if np.any(x != 0):
        factors, pivots, share = np.empty_like(v), np.empty(v.shape[0], np.intc), np.empty_like(v)
        factorise(factors, pivots, v)
        solve_factorised(share, factors, pivots, turned(x), True)
        add_to(a_b, share, 1.0)


@on_stacks("MVMM")
def svd(u: Any, s: Any, vt: Any, a: Any) -> None:
    if a.size:
        found = np.linalg.svd(a, False)
        copy_to(u, found[0])
        for i in range(s.size):
            s[i] = found[1][i]
        copy_to(vt, found[2])


@on_stacks("MMVMV")
def singular_values_adjoint(a_b: Any, u: Any, s: Any, vt: Any, s_b: Any) -> None:
    slope = s_b.copy()
    for i in range(s.size):
        if s[i] == 0:  # the kink of an absolute value
            slope[i] = 0
    add_to(a_b, product(times_columns(conjugated(u), slope), conjugated(vt), False, False), 1.0)


@on_stacks("MMVMM")
def left_vectors_adjoint(a_b: Any, u: Any, s: Any, vt: Any, u_b: Any) -> None:
    """The phases that LAPACK chooses are counted among the left vectors, as if the right ones kept theirs"""
    add_to(a_b, product(_share_of_vectors(u, s, u_b, True), conjugated(vt), False, False), 1.0)


@on_stacks("MMVMM")
def right_vectors_adjoint(a_b: Any, u: Any, s: Any, vt: Any, vt_b: Any) -> None:
    share = _share_of_vectors(conjugated(turned(vt)), s, conjugated(turned(vt_b)), False)
    add_to(a_b, product(conjugated(u), conjugated(share), False, True), 1.0)


@linked
def _share_of_vectors(u: Any, s: Any, u_b: Any, phases: Any) -> Any:
    """w @ (F * (M - M.T.conj())) * s + (u_b - w @ M) / s with M = u.T @ u_b and w = u.conj()

    F: one over the gaps between the s * s; with `phases`, its diagonal is one over twice the s * s.
    """
    inside = product(u, u_b, True, False)
    outside = product(conjugated(u), inside, False, False)
    turning = np.zeros(s.size, u.dtype)
    if phases:
        for i in range(s.size):
            turning[i] = (inside[i, i] - conjugated(inside[i, i])) / 2
    _over_gaps(inside, s, True)
    for i in range(s.size):
        inside[i, i] = divided(turning[i], s[i] * s[i], turning[i] != 0)
    share = times_columns(product(conjugated(u), inside, False, False), s)
    if u.shape[0] > u.shape[1]:
        for i in range(share.shape[0]):
            for j in range(share.shape[1]):
                share[i, j] += divided(u_b[i, j] - outside[i, j], s[j], u_b[i, j] != outside[i, j])
    return share


# --------------------------------------------------------------------------------------------------- exponential


@on_stacks("MM")
def expm(out: Any, a: Any) -> None:
    if a.size:
        copy_to(out, _expm(a))


@on_stacks("MMM")
def expm_adjoint(a_b: Any, a: Any, out_b: Any) -> None:
    """The derivative of the exponential of a.T in the direction out_b stands in that of a matrix of twice the size.

    It is linear in out_b, whose size must not count there: it is one of about 1, by a power of two.
    """
    n = a.shape[0]
    if n:
        largest = 0.0
        for i in range(n):
            for j in range(n):
                largest = max(largest, abs(out_b[i, j]))
        unit = np.float64(2.0 ** np.floor(np.log2(largest)) if 0.0 < largest < np.inf else 1.0)
        both = np.zeros((2 * n, 2 * n), a.dtype)
        for i in range(n):
            for j in range(n):
                both[i, j] = a[j, i]
                both[n + i, n + j] = a[j, i]
                both[i, n + j] = out_b[i, j] / unit
        add_to(a_b, _expm(both)[:n, n:], unit)


@linked
def _expm(a: Any) -> Any:
    """Scaling and squaring with Padé's approximant of degree 13 (Higham 2005), by Al-Mohy and Higham (2009)"""
    c = (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
    )  # fmt: skip
    n = a.shape[0]
    squarings = 0
    size = _norm(a)
    while DEGREE_13 < size < np.inf:
        size /= 2
        squarings += 1
    x = a * np.float64(0.5**squarings)
    x2 = product(x, x, False, False)
    x4 = product(x2, x2, False, False)
    x6 = product(x4, x2, False, False)
    if squarings > 0:
        fewer = _fewer_squarings(a, squarings, x4, x6)
        if fewer < squarings:
            squarings = fewer
            x = a * np.float64(0.5**squarings)
            x2 = product(x, x, False, False)
            x4 = product(x2, x2, False, False)
            x6 = product(x4, x2, False, False)
    odd = product(x6, _sum(x6, x4, x2, c[13], c[11], c[9], 0.0), False, False)
    add_to(odd, _sum(x6, x4, x2, c[7], c[5], c[3], c[1]), 1.0)
    odd = product(x, odd, False, False)
    even = product(x6, _sum(x6, x4, x2, c[12], c[10], c[8], 0.0), False, False)
    add_to(even, _sum(x6, x4, x2, c[6], c[4], c[2], c[0]), 1.0)
    above = even.copy()
    add_to(above, odd, 1.0)
    add_to(even, odd, -1.0)
    factors, pivots, out = np.empty_like(even), np.empty(n, np.intc), np.empty_like(even)
    factorise(factors, pivots, even)
    solve_factorised(out, factors, pivots, above, False)
    for _ in range(squarings):
        out = product(out, out, False, False)
    return out.astype(a.dtype)


DEGREE_13 = 5.371920351148152  # up to this norm the approximant is as good as exact


@linked
def _fewer_squarings(a: Any, squarings: int, x4: Any, x6: Any) -> int:
    """How often to square, by the norms of powers of x = a / 2**squarings: those of a non-normal matrix may be small.

    Squaring more often than that loses what is small beside the largest entries.
    """
    d6, d8 = _norm(x6) ** (1 / 6), _norm(product(x4, x4, False, False)) ** (1 / 8)
    d10 = _norm(product(x4, x6, False, False)) ** (1 / 10)
    size = min(max(d6, d8), max(d8, d10))
    fewer = 0
    if size > 0:
        fewer = max(squarings + int(np.ceil(np.log2(size / DEGREE_13))), 0)
    while fewer < squarings and not _rounds_well(a, np.float64(0.5**fewer)):
        fewer += 1
    return fewer


@linked
def _rounds_well(a: Any, scale: float) -> bool:
    """Is the 27th power of abs(a * scale) small enough for rounding to do no harm?"""
    n = a.shape[0]
    sums = np.ones(n)
    for _ in range(27):
        new = np.zeros(n)
        for i in range(n):
            for j in range(n):
                new[j] += sums[i] * abs(a[i, j]) * scale
        sums = new
    share = np.max(sums) / (_norm(a) * scale) / 1.1325e35  # binomial(26, 13) * 27!
    return bool(share <= 2.0**-53)


@linked
def _norm(a: Any) -> float:
    """The largest sum of absolute values of a column"""
    largest = 0.0
    for j in range(a.shape[1]):
        total = 0.0
        for i in range(a.shape[0]):
            total += abs(a[i, j])
        largest = max(largest, total)
    return largest


@linked
def _sum(x: Any, y: Any, z: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """a * x + b * y + c * z + d * one"""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = a * x[i, j] + b * y[i, j] + c * z[i, j] + (d if i == j else 0.0)
    return out


__all__ = [
    "cholesky",
    "cholesky_adjoint",
    "eig",
    "eig_values_adjoint",
    "eig_vectors_adjoint",
    "eigenvalues_adjoint",
    "eigenvectors_adjoint",
    "eigh",
    "is_indefinite",
    "expm",
    "expm_adjoint",
    "left_vectors_adjoint",
    "lu_adjoint",
    "lu_factor",
    "mirror",
    "mirror_adjoint",
    "qr",
    "qr_q_adjoint",
    "qr_r_adjoint",
    "right_vectors_adjoint",
    "singular_values_adjoint",
    "svd",
]
