"""What Numba's `np.linalg` lacks, and products that compile fast: LAPACK and BLAS as SciPy brings them.

All matrices are C-ordered, and LAPACK reads them by columns: what it sees is the transpose.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from srcgrad.runtime.linked import linked, overload

LETTERS = {types.float32: "s", types.float64: "d", types.complex64: "c", types.complex128: "z"}


def _external(module: str, routine: str, letter: str, count: int) -> Any:
    """A routine by a name of its own, so that machine code that was stored finds it in the next process."""
    name = f"srcgrad_{letter}{routine}"
    llvm.add_symbol(name, get_cython_function_address(f"scipy.linalg.cython_{module}", letter + routine))
    return types.ExternalFunction(name, types.void(*(types.voidptr,) * count))


_GETRF = {dtype: _external("lapack", "getrf", letter, 6) for dtype, letter in LETTERS.items()}
_GETRI = {dtype: _external("lapack", "getri", letter, 7) for dtype, letter in LETTERS.items()}
_GESVD = {
    dtype: _external("lapack", "gesvd", letter, 15 if letter in "cz" else 14) for dtype, letter in LETTERS.items()
}
_GEMM = {dtype: _external("blas", "gemm", letter, 13) for dtype, letter in LETTERS.items()}
_TRSM = {dtype: _external("blas", "trsm", letter, 11) for dtype, letter in LETTERS.items()}
_INTEGER = np.dtype(ctypes.c_int)
BLOCK = 32  # columns that LAPACK works on at a time
_A, _L, _N, _R, _T, _U = b"ALNRTU"  # numbers: Numba takes a fifth of a second to compile `ord`


@linked
def _needed_until_here(x: Any) -> Any:
    """Numba frees an array after its last use, and to take its address is a use."""
    return x[0]


def _address_of(kind: types.Type | None) -> Any:
    """An intrinsic: where a number is held on the machine's stack, as C has it (LAPACK takes addresses)."""

    def address(typing_context, number):  # no types: Numba compares signatures
        held = kind or types.unliteral(number)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            room = cgutils.alloca_once(builder, context.get_value_type(held))
            builder.store(context.cast(builder, args[0], signature.args[0], held), room)
            return builder.bitcast(room, cgutils.voidptr_t)

        return types.voidptr(types.unliteral(number)), generate

    return intrinsic(address)


_number, _integer, _letter = _address_of(None), _address_of(types.intc), _address_of(types.uint8)


@intrinsic
def _integer_at(typing_context, address):
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.bitcast(args[0], cgutils.int32_t.as_pointer()))

    return types.intc(address), generate


def factorise(lu: Any, pivots: Any, a: Any) -> Any:
    """lu, pivots = the factors of a.T, as LAPACK has them; 0, or the number of the first pivot that is 0."""
    if not a.size:  # of which LAPACK complains on the terminal
        return 0
    (getrf,) = get_lapack_funcs(("getrf",), (a,))
    factors, pivots[:], info = getrf(a.T)
    lu[...] = factors.T
    pivots += 1
    return info


def solve_factorised(x: Any, lu: Any, pivots: Any, b: Any, transposed: Any) -> None:
    """x such that a @ x = b (or a.T @ x = b)"""
    (getrs,) = get_lapack_funcs(("getrs",), (lu,))
    x[...] = getrs(lu.T, pivots - 1, b, trans=0 if transposed else 1)[0]


def inverse(a: Any) -> Any:
    return np.linalg.inv(a)


def determinant(a: Any) -> Any:
    return np.linalg.det(a)


def sign_and_logarithm(a: Any) -> Any:
    """Of the determinant."""
    return np.linalg.slogdet(a)


def singular_vectors(u: Any, s: Any, vt: Any, a: Any) -> None:
    """u, s, vt = the singular value decomposition of a square matrix"""
    u[...], s[...], vt[...] = np.linalg.svd(a)


def solve_triangle(x: Any, a: Any, lower: Any, transposed: Any, unit: Any) -> None:
    """x = the solution of a @ y = x (or a.T @ y = x), with the one triangle of a"""
    (trsm,) = get_blas_funcs(("trsm",), (a,))
    if x.size:
        x[...] = trsm(1.0, a.T, x.T, side=1, lower=not lower, trans_a=bool(transposed), diag=bool(unit)).T


def product(x: Any, y: Any, turn_x: Any, turn_y: Any) -> Any:
    """x @ y, each of them transposed first where it says so"""
    return np.dot(x.T if turn_x else x, y.T if turn_y else y)


@overload(product)
def _product(x, y, turn_x, turn_y):  # no types: Numba compares signatures
    gemm = _GEMM[x.dtype]

    def product(x, y, turn_x, turn_y):
        rows, along = (x.shape[1], x.shape[0]) if turn_x else (x.shape[0], x.shape[1])
        columns = y.shape[0] if turn_y else y.shape[1]
        out = np.empty((rows, columns), x.dtype)
        if out.size == 0 or along == 0:
            out[:] = 0
            return out
        n = _integer(columns)
        gemm(
            _letter(_T if turn_y else _N), _letter(_T if turn_x else _N), n, _integer(rows), _integer(along),
            _number(x.dtype.type(1)), y.ctypes, _integer(y.shape[1]), x.ctypes, _integer(x.shape[1]),
            _number(x.dtype.type(0)), out.ctypes, n,
        )  # fmt: skip
        return out

    return product


def conjugated(x: Any) -> Any:
    """np.conj(x); of a real array, itself"""
    return np.conj(x) if np.iscomplexobj(x) else x


@overload(conjugated)
def _conjugated(x):
    if isinstance(x.dtype if isinstance(x, types.Array) else x, types.Complex):
        return lambda x: np.conj(x)
    return lambda x: x


@linked
def turned(x: Any) -> Any:
    """x.T in C order"""
    out = np.empty((x.shape[1], x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j, i] = x[i, j]
    return out


@linked
def copy_to(x: Any, y: Any) -> None:
    """x[...] = y"""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = y[i, j]


@linked
def add_to(x: Any, y: Any, factor: Any) -> None:
    """x += factor * y"""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] += factor * y[i, j]


@linked
def times_columns(x: Any, factors: Any) -> Any:
    """x * factors"""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * factors[j]
    return out


@overload(factorise)
def _factorise(lu, pivots, a):
    getrf = _GETRF[a.dtype]

    def factorise(lu, pivots, a):
        copy_to(lu, a)
        n, info = _integer(a.shape[0]), _integer(0)
        getrf(n, n, lu.ctypes, _integer(max(1, a.shape[0])), pivots.ctypes, info)
        return _integer_at(info)

    return factorise


@overload(solve_factorised)
def _solve_factorised(x, lu, pivots, b, transposed):
    if x.layout != "C":

        def through_a_copy(x, lu, pivots, b, transposed):
            found = np.empty(x.shape, x.dtype)
            solve_factorised(found, lu, pivots, b, transposed)
            copy_to(x, found)

        return through_a_copy

    def in_place(x, lu, pivots, b, transposed):
        """By BLAS: LAPACK's `getrs` wakes all threads of OpenBLAS for the smallest matrix, and waits for them."""
        n = b.shape[0]
        copy_to(x, b)
        if transposed:
            for k in range(n):
                _exchange_rows(x, k, pivots[k] - 1)
            _solve_on_right(x, lu, False, True, True)
            _solve_on_right(x, lu, True, True, False)
        else:
            _solve_on_right(x, lu, True, False, False)
            _solve_on_right(x, lu, False, False, True)
            for k in range(n - 1, -1, -1):
                _exchange_rows(x, k, pivots[k] - 1)

    return in_place


@linked
def _exchange_rows(x: Any, i: Any, k: Any) -> None:
    if i != k:
        for j in range(x.shape[1]):
            x[i, j], x[k, j] = x[k, j], x[i, j]


@overload(inverse)
def _inverse(a):
    getri = _GETRI[a.dtype]

    def inverse(a):
        n = a.shape[0]
        out, pivots = np.empty((n, n), a.dtype), np.empty(n, _INTEGER)
        if factorise(out, pivots, a) > 0:
            raise np.linalg.LinAlgError("Singular matrix")
        room, order = np.empty(BLOCK * n, a.dtype), _integer(n)
        getri(order, out.ctypes, order, pivots.ctypes, room.ctypes, _integer(room.size), _integer(0))
        _needed_until_here(pivots)
        _needed_until_here(room)
        return out

    return inverse


@overload(determinant)
def _determinant(a):
    def determinant(a):
        lu, pivots = np.empty(a.shape, a.dtype), np.empty(a.shape[0], _INTEGER)
        factorise(lu, pivots, a)
        out = lu[0, 0] if pivots[0] == 1 else -lu[0, 0]
        for k in range(1, a.shape[0]):
            out *= lu[k, k] if pivots[k] == k + 1 else -lu[k, k]
        return out

    return determinant


@overload(sign_and_logarithm)
def _sign_and_logarithm(a):
    def sign_and_logarithm(a):
        lu, pivots = np.empty(a.shape, a.dtype), np.empty(a.shape[0], _INTEGER)
        if factorise(lu, pivots, a) > 0:
            return lu.dtype.type(0), -np.inf
        sign, logarithm = lu.dtype.type(1), 0.0
        for k in range(a.shape[0]):
            size = abs(lu[k, k])
            logarithm += np.log(size)
            sign *= lu[k, k] / size if pivots[k] == k + 1 else -lu[k, k] / size
        return sign, logarithm

    return sign_and_logarithm


@overload(singular_vectors)
def _singular_vectors(u, s, vt, a):
    gesvd, is_complex = _GESVD[a.dtype], isinstance(a.dtype, types.Complex)

    def singular_vectors(u, s, vt, a):
        n, order, all_of_them = a.shape[0], _integer(a.shape[0]), _letter(_A)
        rest, room, more_room = np.empty((n, n), a.dtype), np.empty((5 + BLOCK) * n, a.dtype), np.empty(5 * n, s.dtype)
        copy_to(rest, a)
        size, info = _integer(room.size), _integer(0)
        if is_complex:
            gesvd(
                all_of_them, all_of_them, order, order, rest.ctypes, order, s.ctypes, vt.ctypes, order, u.ctypes, order,
                room.ctypes, size, more_room.ctypes, info,
            )  # fmt: skip
        else:
            gesvd(
                all_of_them, all_of_them, order, order, rest.ctypes, order, s.ctypes, vt.ctypes, order, u.ctypes, order,
                room.ctypes, size, info,
            )  # fmt: skip
        _needed_until_here(rest)
        _needed_until_here(room)
        _needed_until_here(more_room)
        if _integer_at(info) != 0:
            raise np.linalg.LinAlgError("SVD did not converge")

    return singular_vectors


@overload(solve_triangle)
def _solve_triangle(x, a, lower, transposed, unit):
    return lambda x, a, lower, transposed, unit: _solve_on_right(x, a, lower, transposed, unit)


def _solve_on_right(x: Any, a: Any, upper: Any, transposed: Any, unit: Any) -> None:
    """x = the solution of y @ a = x, or y @ a.T = x, of what BLAS sees: x.T and the one triangle of a.T"""


@overload(_solve_on_right)
def _compiled_solve_on_right(x, a, upper, transposed, unit):
    trsm = _TRSM[a.dtype]

    def solve_on_right(x, a, upper, transposed, unit):
        if x.size == 0:
            return
        columns, order = _integer(x.shape[1]), _integer(x.shape[0])
        trsm(
            _letter(_R), _letter(_U if upper else _L), _letter(_T if transposed else _N), _letter(_U if unit else _N),
            columns, order, _number(a.dtype.type(1)), a.ctypes, order, x.ctypes, columns,
        )  # fmt: skip

    return solve_on_right
