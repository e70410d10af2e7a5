"""What generated code calls, where an adjoint is differentiated itself: its routines, without their factors.

A routine that has no composition here is read as it stands in `srcgrad.runtime`.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from srcgrad import runtime
from srcgrad.rules.compositions.registry import routine_means
from srcgrad.runtime import decompositions, lapack

# ------------------------------------------------------------------------- solves: what stands for the factors is `a`


@routine_means(runtime.solve)
def solve(x, lu, pivots, a, b):
    lu[...] = a
    x[...] = np.linalg.solve(a, b)


@routine_means(runtime.solve_to_right)
def solve_to_right(b_b, lu, pivots, x_b):
    b_b += summed(np.linalg.solve(turned(lu), x_b), b_b)


@routine_means(runtime.solve_to_matrix)
def solve_to_matrix(a_b, lu, pivots, x, x_b):
    a_b -= summed(np.linalg.solve(turned(lu), x_b) @ turned(x), a_b)


@routine_means(runtime.solve_again_to_right)
def solve_again_to_right(b_b, a, x_b):
    b_b += summed(np.linalg.solve(turned(a), x_b), b_b)


@routine_means(runtime.solve_again_to_matrix)
def solve_again_to_matrix(a_b, a, x, x_b):
    a_b -= summed(np.linalg.solve(turned(a), x_b) @ turned(x), a_b)


@routine_means(runtime.solve_adjoint)
def solve_adjoint(a_b, b_b, lu, pivots, x, x_b):
    share = np.linalg.solve(turned(lu), x_b)
    b_b += summed(share, b_b)
    a_b -= summed(share @ turned(x), a_b)


@routine_means(runtime.solve_again_adjoint)
def solve_again_adjoint(a_b, b_b, a, x, x_b):
    share = np.linalg.solve(turned(a), x_b)
    b_b += summed(share, b_b)
    a_b -= summed(share @ turned(x), a_b)


@routine_means(runtime.inv)
def inv(out, a):
    out[...] = np.linalg.inv(a)


@routine_means(runtime.inv_adjoint)
def inv_adjoint(a_b, out, out_b):
    a_b -= summed(turned(out) @ out_b @ turned(out), a_b)


@routine_means(runtime.det)
def det(out, a):
    out[...] = np.linalg.det(a)


@routine_means(runtime.det_adjoint)
def det_adjoint(a_b, a, out, out_b):
    a_b += summed((out_b * out)[..., np.newaxis, np.newaxis] * turned(np.linalg.inv(a)), a_b)


@routine_means(runtime.slogdet)
def slogdet(logarithm, sign, a):
    signs, logarithms = np.linalg.slogdet(a)
    sign[...] = signs
    logarithm[...] = logarithms


@routine_means(runtime.slogdet_adjoint)
def slogdet_adjoint(a_b, a, sign, logarithm_b):
    a_b += summed(logarithm_b[..., np.newaxis, np.newaxis] * turned(np.linalg.inv(a)), a_b)


@routine_means(runtime.slogdet_sign_adjoint)
def slogdet_sign_adjoint(a_b, a, sign, sign_b):
    along = sign_b * sign
    turning = (along - np.conj(along)) / 2
    a_b += summed(turning[..., np.newaxis, np.newaxis] * turned(np.linalg.inv(a)), a_b)


@routine_means(lapack.solve_triangle)
def solve_triangle(x, a, lower, transposed, unit):
    x[...] = scipy.linalg.solve_triangular(a, x, int(transposed), bool(lower), bool(unit))


# ---------------------------------------------------------------------------------------------------- factorisations


@routine_means(decompositions.divided)
def divided(x, y, counts):
    """What does not come in has the slope of what does"""
    return runtime.unless_zero(1.0 if counts else 0.0, x / y)


@routine_means(decompositions.lu_factor)
def lu_factor(lu, pivots, a):
    factors, places = scipy.linalg.lu_factor(a)
    lu[...] = factors
    pivots[...] = places


@routine_means(decompositions._add_similar)
def add_similar(a_b, v, x):
    a_b += np.linalg.solve(turned(v), turned(x))


@routine_means(lapack.factorise)
def factorise(lu, pivots, a):
    lu[...] = a
    return 0


@routine_means(lapack.solve_factorised)
def solve_factorised(x, lu, pivots, b, transposed):
    x[...] = np.linalg.solve(turned(lu) if transposed else lu, b)


def turned(a):
    return np.swapaxes(a, -1, -2)


def summed(share, total):
    """Over a stack of which all is one matrix's, and the axis that a single matrix does not have"""
    if share.ndim > total.ndim:
        share = share.sum(axis=0)
    elif total.ndim == 3 and total.shape[0] == 1:
        share = share.sum(axis=0, keepdims=True)
    return share


# ------------------------------------------------------------------------------------------------------------- kept


@routine_means(runtime.make_room)
def make_room(buffer, top, size):
    """An array that got longer in a loop would be another array"""
    if top + size > buffer[0].size:
        raise NotImplementedError(
            "a loop of unknown length keeps too many values where its derivative is differentiated itself"
        )
    return top + size
