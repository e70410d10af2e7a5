"""Systems of equations, inverses and determinants, of one matrix or a stack of them, and the adjoints.

Outputs come first.  `x_b` is the cotangent of `x`; an adjoint adds to its first argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgrad.runtime.lapack import (
    add_to,
    conjugated,
    copy_to,
    determinant,
    factorise,
    inverse,
    product,
    sign_and_logarithm,
    singular_vectors,
    solve_factorised,
    solve_triangle,
    times_columns,
    turned,
)
from srcgrad.runtime.linked import linked
from srcgrad.runtime.stacks import on_stacks

# ------------------------------------------------------------------------------------------------------- solves


@on_stacks("MMVMM")
def solve(x: Any, lu: Any, pivots: Any, a: Any, b: Any) -> None:
    """x such that a @ x = b, and the factors of `a`"""
    if factorise(lu, pivots, a) > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    if x.size:
        solve_factorised(x, lu, pivots, b, False)


@on_stacks("SM")
def is_singular(out: Any, a: Any) -> None:
    """1 where `solve` and `inv` raise an error"""
    lu, pivots = np.empty_like(a), np.empty(a.shape[0], np.intc)
    out[0] = 1 if a.size and factorise(lu, pivots, a) > 0 else 0


@on_stacks("MMVM")
def solve_to_right(b_b: Any, lu: Any, pivots: Any, x_b: Any) -> None:
    """b_b += inv(a).T @ x_b"""
    if x_b.size:
        _add_to_right(b_b, lu, pivots, x_b)


@linked
def _add_to_right(b_b: Any, lu: Any, pivots: Any, x_b: Any) -> Any:
    share = np.empty(x_b.shape, x_b.dtype)
    solve_factorised(share, lu, pivots, x_b, True)
    add_to(b_b, share, 1.0)
    return share


@on_stacks("MMM")
def solve_again_to_right(b_b: Any, a: Any, x_b: Any) -> None:
    """The same with factors made anew, where keeping those of every iteration would take much memory"""
    lu, pivots = np.empty_like(a), np.empty(a.shape[0], np.intc)
    factorise(lu, pivots, a)
    if x_b.size:
        _add_to_right(b_b, lu, pivots, x_b)


@on_stacks("MMMM")
def solve_again_to_matrix(a_b: Any, a: Any, x: Any, x_b: Any) -> None:
    lu, pivots = np.empty_like(a), np.empty(a.shape[0], np.intc)
    factorise(lu, pivots, a)
    if x_b.size:
        _add_to_matrix(a_b, lu, pivots, x, x_b)


@on_stacks("MMVMM")
def solve_to_matrix(a_b: Any, lu: Any, pivots: Any, x: Any, x_b: Any) -> None:
    """a_b -= inv(a).T @ x_b @ x.T"""
    if x_b.size:
        _add_to_matrix(a_b, lu, pivots, x, x_b)


@on_stacks("MMMVMM")
def solve_adjoint(a_b: Any, b_b: Any, lu: Any, pivots: Any, x: Any, x_b: Any) -> None:
    """Both, with one solution"""
    if x_b.size:
        _subtract_outer(a_b, _add_to_right(b_b, lu, pivots, x_b), x)


@on_stacks("MMMMM")
def solve_again_adjoint(a_b: Any, b_b: Any, a: Any, x: Any, x_b: Any) -> None:
    lu, pivots = np.empty_like(a), np.empty(a.shape[0], np.intc)
    factorise(lu, pivots, a)
    if x_b.size:
        _subtract_outer(a_b, _add_to_right(b_b, lu, pivots, x_b), x)


@linked
def _add_to_matrix(a_b: Any, lu: Any, pivots: Any, x: Any, x_b: Any) -> None:
    share = np.empty(x_b.shape, x_b.dtype)
    solve_factorised(share, lu, pivots, x_b, True)
    _subtract_outer(a_b, share, x)


@linked
def _subtract_outer(a_b: Any, share: Any, x: Any) -> None:
    """a_b -= share @ x.T"""
    if x.shape[1] == 1:
        for i in range(a_b.shape[0]):
            for j in range(a_b.shape[1]):
                a_b[i, j] -= share[i, 0] * x[j, 0]
    else:
        add_to(a_b, product(share, x, False, True), -1.0)


@on_stacks("MMM___")
def solve_triangular(x: Any, a: Any, b: Any, lower: Any, transposed: Any, unit: Any) -> None:
    """x such that a @ x = b (or a.T @ x = b), with one triangle of `a`"""
    if not unit:
        for i in range(a.shape[0]):
            if a[i, i] == 0:
                raise np.linalg.LinAlgError("A singular matrix detected.")
    copy_to(x, b)
    solve_triangle(x, a, lower, transposed, unit)


@on_stacks("MMM___")
def triangular_to_right(b_b: Any, a: Any, x_b: Any, lower: Any, transposed: Any, unit: Any) -> None:
    share = x_b.copy()
    solve_triangle(share, a, lower, not transposed, unit)
    add_to(b_b, share, 1.0)


@on_stacks("MMMM___")
def triangular_to_matrix(a_b: Any, a: Any, x: Any, x_b: Any, lower: Any, transposed: Any, unit: Any) -> None:
    share = x_b.copy()
    solve_triangle(share, a, lower, not transposed, unit)
    _subtract_triangle(a_b, share, x, lower, transposed, unit)


@on_stacks("MMMMM___")
def triangular_adjoint(a_b: Any, b_b: Any, a: Any, x: Any, x_b: Any, lower: Any, transposed: Any, unit: Any) -> None:
    """Both, with one solution"""
    share = x_b.copy()
    solve_triangle(share, a, lower, not transposed, unit)
    add_to(b_b, share, 1.0)
    _subtract_triangle(a_b, share, x, lower, transposed, unit)


@linked
def _subtract_triangle(a_b: Any, share: Any, x: Any, lower: Any, transposed: Any, unit: Any) -> None:
    whole = product(x, share, False, True) if transposed else product(share, x, False, True)
    skipped = 1 if unit else 0
    for i in range(a_b.shape[0]):
        first, last = (0, i + 1 - skipped) if lower else (i + skipped, a_b.shape[0])
        for j in range(first, last):
            a_b[i, j] -= whole[i, j]


# ------------------------------------------------------------------------------------------- inverse, determinant


@on_stacks("MM")
def inv(out: Any, a: Any) -> None:
    if a.size:
        copy_to(out, inverse(a))


@on_stacks("MMM")
def inv_adjoint(a_b: Any, out: Any, out_b: Any) -> None:
    add_to(a_b, product(product(out, out_b, True, False), out, False, True), -1.0)


@on_stacks("SM")
def det(out: Any, a: Any) -> None:
    out[0] = determinant(a) if a.size else 1.0


@on_stacks("SSM")
def slogdet(logarithm: Any, sign: Any, a: Any) -> None:
    sign[0], logarithm[0] = 1.0, 0.0
    if a.size:
        sign[0], logarithm[0] = sign_and_logarithm(a)


@on_stacks("MMSS")
def det_adjoint(a_b: Any, a: Any, out: Any, out_b: Any) -> None:
    """out_b times the cofactors of `a`, which a singular matrix has too"""
    if a.size and out_b[0] != 0:
        if out[0] != 0:
            add_to(a_b, inverse(a).T, out_b[0] * out[0])
        else:
            add_to(a_b, _cofactors(a), out_b[0])


@on_stacks("MMSS")
def slogdet_adjoint(a_b: Any, a: Any, sign: Any, logarithm_b: Any) -> None:
    if a.size and logarithm_b[0] != 0:
        if sign[0] != 0:
            add_to(a_b, inverse(a).T, logarithm_b[0])
        else:  # the slope diverges wherever the determinant has one
            slopes = _cofactors(a)
            for i in range(a.shape[0]):
                for j in range(a.shape[1]):
                    a_b[i, j] += logarithm_b[0] * np.divide(slopes[i, j], sign[0])


@on_stacks("MMSS")
def slogdet_sign_adjoint(a_b: Any, a: Any, sign: Any, sign_b: Any) -> None:
    """The sign of a complex determinant turns as its logarithm's imaginary part grows"""
    if a.size and sign[0] != 0:
        along = sign_b[0] * sign[0]
        turning = (along - conjugated(along)) / 2
        if turning != 0:
            add_to(a_b, inverse(a).T, turning)


@linked
def _cofactors(a: Any) -> Any:
    u, vt, s = np.empty_like(a), np.empty_like(a), np.empty(a.shape[0], a.real.dtype)
    singular_vectors(u, s, vt, a)
    products = np.empty_like(s)
    for i in range(s.size):
        products[i] = 1
        for j in range(s.size):
            if i != j:
                products[i] *= s[j]
    orientation = determinant(u) * determinant(vt)  # of absolute value 1
    scaled = times_columns(conjugated(u), products)
    add_to(scaled, scaled, orientation - 1)
    return product(scaled, conjugated(vt), False, False)


@on_stacks("MM_")
def pinv(out: Any, a: Any, rcond: Any) -> None:
    if a.size:
        copy_to(out, np.linalg.pinv(a, rcond))


@on_stacks("MMMM")
def pinv_adjoint(a_b: Any, a: Any, out: Any, out_b: Any) -> None:
    """Golub and Pereyra's formula: as long as the rank stays"""
    if a.shape[0] >= a.shape[1]:
        _add_slopes_of_pinv(a_b, a, out, out_b)
    else:  # pinv(a).T == pinv(a.T)
        share = np.zeros((a.shape[1], a.shape[0]), a.dtype)
        _add_slopes_of_pinv(share, turned(a), turned(out), turned(out_b))
        add_to(a_b, share.T, 1.0)


@linked
def _add_slopes_of_pinv(a_b: Any, a: Any, out: Any, out_b: Any) -> None:
    """Of a tall matrix: every product has the shorter side, so that the longer one counts once"""
    if a.size:
        w, right = conjugated(out), product(out, out_b, False, True)
        rest = product(out, w, False, True)
        add_to(a_b, product(out, right, True, True), -1.0)
        share = product(out_b, rest, True, False)
        add_to(share, product(a, product(right, rest, False, False), False, False), -1.0)
        add_to(share, product(w, right, True, False), 1.0)
        add_to(share, product(w, product(right, product(out, a, False, False), False, False), True, False), -1.0)
        add_to(a_b, conjugated(share), 1.0)


__all__ = [
    "det",
    "det_adjoint",
    "inv",
    "inv_adjoint",
    "is_singular",
    "pinv",
    "pinv_adjoint",
    "slogdet",
    "slogdet_adjoint",
    "slogdet_sign_adjoint",
    "solve",
    "solve_adjoint",
    "solve_again_adjoint",
    "solve_again_to_matrix",
    "solve_again_to_right",
    "solve_to_matrix",
    "solve_to_right",
    "solve_triangular",
    "triangular_adjoint",
    "triangular_to_matrix",
    "triangular_to_right",
]
