"""What generated code calls, where an adjoint is differentiated itself: its routines, without their factors.

A routine that has no composition here is read as it stands in `srcgrad.runtime`.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from srcgrad import runtime
from srcgrad.rules.compositions.registry import routine_means
from srcgrad.runtime import lapack

# ------------------------------------------------------------------------- solves: what stands for the factors is `a`


@routine_means(runtime.solve)
def solve(x, lu, pivots, a, b):
    real(a)
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
    real(a)
    b_b += summed(np.linalg.solve(turned(a), x_b), b_b)


@routine_means(runtime.solve_again_to_matrix)
def solve_again_to_matrix(a_b, a, x, x_b):
    real(a)
    a_b -= summed(np.linalg.solve(turned(a), x_b) @ turned(x), a_b)


@routine_means(runtime.inv)
def inv(out, a):
    real(a)
    out[...] = np.linalg.inv(a)


@routine_means(runtime.inv_adjoint)
def inv_adjoint(a_b, out, out_b):
    a_b -= summed(turned(out) @ out_b @ turned(out), a_b)


@routine_means(runtime.det)
def det(out, a):
    real(a)
    out[...] = np.linalg.det(a)


@routine_means(runtime.det_adjoint)
def det_adjoint(a_b, a, out, out_b):
    a_b += summed((out_b * out)[..., np.newaxis, np.newaxis] * turned(np.linalg.inv(a)), a_b)


@routine_means(runtime.slogdet)
def slogdet(logarithm, sign, a):
    real(a)
    signs, logarithms = np.linalg.slogdet(a)
    sign[...] = signs
    logarithm[...] = logarithms


@routine_means(runtime.slogdet_adjoint)
def slogdet_adjoint(a_b, a, sign, logarithm_b):
    a_b += summed(logarithm_b[..., np.newaxis, np.newaxis] * turned(np.linalg.inv(a)), a_b)


@routine_means(lapack.solve_triangle)
def solve_triangle(x, a, lower, transposed, unit):
    x[...] = scipy.linalg.solve_triangular(a, x, int(transposed), bool(lower), bool(unit))


def turned(a):
    return np.swapaxes(a, -1, -2)


def summed(share, total):
    """Over a stack of which all is one matrix's, and the axis that a single matrix does not have"""
    if share.ndim > total.ndim:
        share = share.sum(axis=0)
    elif total.ndim == 3 and total.shape[0] == 1:
        share = share.sum(axis=0, keepdims=True)
    return share


def real(a):
    if np.iscomplexobj(a):
        raise NotImplementedError("the derivative of a function of complex matrices can't be differentiated again")


# ------------------------------------------------------------------------------------------------------------- kept


@routine_means(runtime.make_room)
def make_room(buffer, top, size):
    """An array that got longer in a loop would be another array"""
    if top + size > buffer[0].size:
        raise NotImplementedError(
            "a loop of unknown length keeps too many values where its derivative is differentiated itself"
        )
    return top + size
