"""Routines on whole arrays of a device, by the names and with the arguments that they have on the host.

In Numba's simulator they are those of the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from srcgrad.rules.device import LIBRARY
from srcgrad.runtime.device_arrays import reshaped, subscript, transposed
from srcgrad.runtime.gpu.device_blas import (
    cholesky_factor,
    factorise,
    gemm,
    len_of,
    solve_factorised,
    solve_triangle,
    watch,
)
from srcgrad.runtime.gpu.device_call import SIMULATED
from srcgrad.runtime.gpu.device_kernels import (
    add_scaled,
    add_to_lower,
    add_triangle,
    add_turned,
    determinants,
    keep_lower,
    logarithms_of_determinants,
    mirror_lower,
    note_zeros,
    search,
    set_identity,
    set_positions,
)
from srcgrad.runtime.gpu.device_memory import copied, copy_into, empty, own, zeros
from srcgrad.runtime.stacks import AXES

ROUTINES: dict[str, Callable[..., None]] = {}

# -------------------------------------------------------------------------------------------------------- products


def _product(name: str, turn_x: bool, turn_y: bool, beta: float) -> None:
    ROUTINES[name] = lambda out, x, y: gemm(out, x, y, turn_x, turn_y, beta)


for _letters, _turns in (("", (False, False)), ("_nt", (False, True)), ("_tn", (True, False)), ("_tt", (True, True))):
    _product(f"matmul{_letters}", *_turns, 0.0)
    _product(f"add_matmul{_letters}", *_turns, 1.0)


def _column(x: Any) -> Any:
    return subscript(x, (0, x.shape[0]), None)


def _of_vectors(name: str, turned: bool, beta: float) -> None:
    ROUTINES[name] = lambda out, x, y: gemm(_column(out), x, _column(y), turned, False, beta)


for _name, _beta in (("matvec", 0.0), ("add_matvec", 1.0)):
    _of_vectors(_name, False, _beta)
    _of_vectors(f"{_name}_t", True, _beta)


def _of_all_pairs(name: str, beta: float) -> None:
    ROUTINES[name] = lambda out, x, y: gemm(out, _column(x), _column(y), False, True, beta)


_of_all_pairs("outer", 0.0)
_of_all_pairs("add_outer", 1.0)

# ---------------------------------------------------------------------------------------------- factors and solves


def routine(kinds: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Arrays of any number of axes as stacks in C order; what was written to a copy is copied back.

    One letter for each argument, as for `on_stacks`; the arguments ahead of the bar are written.
    """
    written = kinds.index("|")
    letters = kinds.replace("|", "")

    def decorate(one: Callable[..., None]) -> Callable[..., None]:
        def on_arrays(*arrays: Any) -> None:
            given = [_stack(x, letter) for x, letter in zip(arrays, letters, strict=True)]
            one(*(stack for stack, _ in given))
            for array, (_, copy) in list(zip(arrays, given, strict=True))[:written]:
                if copy is not None:
                    copy_into(array, copy)

        ROUTINES[one.__name__[1:]] = on_arrays
        return on_arrays

    return decorate


def _stack(x: Any, letter: str) -> tuple[Any, Any]:
    """The stack, and the copy where it is one."""
    if letter not in AXES:
        return x, None
    copy = None if x.is_c_contiguous() else copied(x)
    whole = x if copy is None else copy
    ahead = x.ndim - AXES[letter]
    core = tuple(x.shape[ahead:])
    return reshaped(whole, (int(np.prod(x.shape[:ahead], dtype=np.int64)), *core)), copy


def _like(x: Any) -> Any:
    return empty(tuple(x.shape), x.dtype)


def _times(x: Any, y: Any, turn_x: bool = False, turn_y: bool = False) -> Any:
    rows, columns = x.shape[2 if turn_x else 1], y.shape[1 if turn_y else 2]
    out = empty((len_of(x), rows, columns), x.dtype)
    gemm(out, x, y, turn_x, turn_y)
    return out


@routine("MMV|MM")
def _solve(x: Any, lu: Any, pivots: Any, a: Any, b: Any) -> None:
    factorise(lu, pivots, a, "Singular matrix")
    solve_factorised(x, lu, pivots, b, False)


@routine("M|MVM")
def _solve_to_right(b_b: Any, lu: Any, pivots: Any, x_b: Any) -> None:
    share = _like(x_b)
    solve_factorised(share, lu, pivots, x_b, True)
    add_scaled(b_b, share, 1.0)


@routine("M|MVMM")
def _solve_to_matrix(a_b: Any, lu: Any, pivots: Any, x: Any, x_b: Any) -> None:
    share = _like(x_b)
    solve_factorised(share, lu, pivots, x_b, True)
    gemm(a_b, share, x, False, True, 1.0, -1.0)


@routine("MM|MVMM")
def _solve_adjoint(a_b: Any, b_b: Any, lu: Any, pivots: Any, x: Any, x_b: Any) -> None:
    share = _like(x_b)
    solve_factorised(share, lu, pivots, x_b, True)
    add_scaled(b_b, share, 1.0)
    gemm(a_b, share, x, False, True, 1.0, -1.0)


def _factors(a: Any) -> tuple[Any, Any]:
    lu, pivots = _like(a), empty((len_of(a), a.shape[1]), np.int32)
    factorise(lu, pivots, a)
    return lu, pivots


@routine("M|MM")
def _solve_again_to_right(b_b: Any, a: Any, x_b: Any) -> None:
    share = _like(x_b)
    solve_factorised(share, *_factors(a), x_b, True)
    add_scaled(b_b, share, 1.0)


@routine("M|MMM")
def _solve_again_to_matrix(a_b: Any, a: Any, x: Any, x_b: Any) -> None:
    share = _like(x_b)
    solve_factorised(share, *_factors(a), x_b, True)
    gemm(a_b, share, x, False, True, 1.0, -1.0)


@routine("MM|MMM")
def _solve_again_adjoint(a_b: Any, b_b: Any, a: Any, x: Any, x_b: Any) -> None:
    share = _like(x_b)
    solve_factorised(share, *_factors(a), x_b, True)
    add_scaled(b_b, share, 1.0)
    gemm(a_b, share, x, False, True, 1.0, -1.0)


@routine("M|MM___")
def _solve_triangular(x: Any, a: Any, b: Any, lower: Any, turned: Any, unit: Any) -> None:
    if not unit:
        info = zeros((len_of(a),), np.int32)
        note_zeros(info, a)
        watch(info, "A singular matrix detected.")
    copy_into(x, b)
    solve_triangle(x, a, lower, turned, unit)


@routine("M|MM___")
def _triangular_to_right(b_b: Any, a: Any, x_b: Any, lower: Any, turned: Any, unit: Any) -> None:
    share = copied(x_b)
    solve_triangle(share, a, lower, not turned, unit)
    add_scaled(b_b, share, 1.0)


@routine("M|MMM___")
def _triangular_to_matrix(a_b: Any, a: Any, x: Any, x_b: Any, lower: Any, turned: Any, unit: Any) -> None:
    share = copied(x_b)
    solve_triangle(share, a, lower, not turned, unit)
    _subtract_triangle(a_b, share, x, lower, turned, unit)


@routine("MM|MMM___")
def _triangular_adjoint(a_b: Any, b_b: Any, a: Any, x: Any, x_b: Any, lower: Any, turned: Any, unit: Any) -> None:
    share = copied(x_b)
    solve_triangle(share, a, lower, not turned, unit)
    add_scaled(b_b, share, 1.0)
    _subtract_triangle(a_b, share, x, lower, turned, unit)


def _subtract_triangle(a_b: Any, share: Any, x: Any, lower: Any, turned: Any, unit: Any) -> None:
    whole = _times(x, share, turn_y=True) if turned else _times(share, x, turn_y=True)
    add_triangle(a_b, whole, -1.0, lower, 1 if unit else 0)


# --------------------------------------------------------------------------------------------- inverse, determinant


def _inverse(a: Any, message: str = "") -> Any:
    one, out = _like(a), _like(a)
    set_identity(one)
    lu, pivots = _like(a), empty((len_of(a), a.shape[1]), np.int32)
    factorise(lu, pivots, a, message)
    solve_factorised(out, lu, pivots, one, False)
    return out


@routine("M|M")
def _inv(out: Any, a: Any) -> None:
    copy_into(out, _inverse(a, "Singular matrix"))


@routine("M|MM")
def _inv_adjoint(a_b: Any, out: Any, out_b: Any) -> None:
    gemm(a_b, _times(out, out_b, turn_x=True), out, False, True, 1.0, -1.0)


@routine("S|M")
def _det(out: Any, a: Any) -> None:
    determinants(out, *_factors(a))


@routine("SS|M")
def _slogdet(logarithm: Any, sign: Any, a: Any) -> None:
    logarithms_of_determinants(logarithm, sign, *_factors(a))


@routine("M|MSS")
def _det_adjoint(a_b: Any, a: Any, out: Any, out_b: Any) -> None:
    """out_b times the cofactors of `a`; nan where it is singular"""
    add_turned(a_b, _inverse(a), out_b, out, True)


@routine("M|MSS")
def _slogdet_adjoint(a_b: Any, a: Any, sign: Any, logarithm_b: Any) -> None:
    """nan where `a` is singular"""
    add_turned(a_b, _inverse(a), logarithm_b, sign, False)


# --------------------------------------------------------------------------------------------------------- Cholesky


@routine("M|M")
def _cholesky(out: Any, a: Any) -> None:
    copy_into(out, a)
    cholesky_factor(out, "Matrix is not positive definite")
    keep_lower(out, out, 1.0)


@routine("M|MM")
def _cholesky_adjoint(a_b: Any, out: Any, out_b: Any) -> None:
    """As in `decompositions`"""
    below = _like(out_b)
    keep_lower(below, out_b, 1.0)
    middle = _times(out, below, turn_x=True)
    keep_lower(middle, middle, 0.5)
    solve_triangle(middle, out, True, True, False)
    middle = copied(transposed(middle, (0, 2, 1)))
    solve_triangle(middle, out, True, True, False)
    add_to_lower(a_b, middle)


@routine("M|M")
def _mirror(out: Any, a: Any) -> None:
    mirror_lower(out, a)


@routine("M|M")
def _mirror_adjoint(a_b: Any, out_b: Any) -> None:
    add_to_lower(a_b, out_b)


# ------------------------------------------------------------------------------------------------------------ masks


def _find_nonzero(positions: Any, mask: Any) -> None:
    set_positions(positions, reshaped(mask, (mask.size,)))


ROUTINES["find_nonzero"] = _find_nonzero


def _search(found: Any, table: Any, x: Any, right: bool) -> None:
    search(reshaped(found, (found.size,)), table, reshaped(own(x, False), (x.size,)), right)


ROUTINES["search_left"] = partial(_search, right=False)
ROUTINES["search_right"] = partial(_search, right=True)

# ----------------------------------------------------------------------------------------------------- the simulator


@cache
def _simulated(name: str) -> Callable[..., None]:
    from srcgrad import runtime

    on_the_host = getattr(runtime, name)

    def run(*args: Any) -> None:
        on_the_host(*(getattr(arg, "_ary", arg) for arg in args))

    return run


def __getattr__(name: str) -> Any:
    if name not in LIBRARY:
        raise AttributeError(name)
    return _simulated(name) if SIMULATED else ROUTINES[name]
