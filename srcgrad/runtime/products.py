"""Matrix products of generated code, and of stacks of matrices: each works in plain Python and compiled.

    matmul(out, x, y)           out = x @ y
    add_matmul_nt(out, x, y)    out += x @ y.T

`t` says that an operand is taken with its matrices transposed.  Operands are matrices each of whose rows is contiguous,
or contiguous stacks of matrices with three axes, of which one of length 1 serves all (as an operand), or takes the sum
over all (as the result).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from srcgrad.runtime.blas import blas_product, blas_product_or_sum
from srcgrad.runtime.linked import linked, linked_dispatcher, overload
from srcgrad.runtime.memory import without_owner
from srcgrad.runtime.stand_ins import STAND_INS

SMALL = 300  # multiplications in a product of two matrices, below which BLAS spends its time on getting started


def _product(turn_x: bool, turn_y: bool, adds: bool) -> Callable[[Any, Any, Any], None]:
    """The routine for matrices and stacks."""

    def product(out: Any, x: Any, y: Any) -> None:
        result = np.matmul(x.swapaxes(-1, -2) if turn_x else x, y.swapaxes(-1, -2) if turn_y else y)
        if out.ndim == 3 and len(out) == 1:
            result = result.sum(axis=0, keepdims=True)
        out[...] = out + result if adds else result

    by_intrinsic(product, _intrinsic(turn_x, turn_y, adds))
    return product


def by_intrinsic(function: Any, compiled: Any) -> None:
    """Compiled, the function is this intrinsic, here and in generated code."""
    STAND_INS[function] = compiled

    @overload(function)
    def call(out, x, y):  # no types: Numba compares signatures
        return lambda out, x, y: compiled(out, x, y)


def _intrinsic(turn_x: bool, turn_y: bool, adds: bool) -> Any:
    matrices = blas_product(turn_x, turn_y, adds)
    stacks = _stacks(turn_x, turn_y, adds)

    def product(typing_context, out, x, y):  # no types: Numba compares signatures
        if out.ndim == 2:
            return matrices._defn(typing_context, out, x, y)
        called = types.Dispatcher(stacks(out.layout == "C"))
        signature = called.get_call_type(typing_context, (out, x, y), {})

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.get_function(called, signature)(builder, args)

        return signature, generate

    return intrinsic(product)


def _stacks(turn_x: bool, turn_y: bool, adds: bool) -> Callable[[bool], Any]:
    """The routine for stacks: for results that lie in one piece, and for others."""
    ranges = {"i": "out.shape[1]", "j": "out.shape[2]", "k": "length"}
    order = "ijk" if turn_y else "kij" if turn_x else "ikj"
    loops = {
        name: f"{index} in range({ranges[index]})"
        for name, index in zip(("outer", "middle", "inner"), order, strict=True)
    }
    texts = {
        "length": 1 if turn_x else 2,
        "count": 0 if adds else "len(out)",  # of matrices to be cleared where there is nothing to add
        "is_first": "False" if adds else "b == 0 or len(out) > 1",
        "left": "x[q, k, i]" if turn_x else "x[q, i, k]",
        "right": "y[r, j, k]" if turn_y else "y[r, k, j]",
        **loops,
    }
    routines = {"multiply": blas_product(turn_x, turn_y), "multiply_or_add": blas_product_or_sum(turn_x, turn_y)}

    @functools.cache
    def made(in_one_piece: bool) -> Any:
        namespace = {"np": np, "SMALL": SMALL, "set_to_zero": set_to_zero, **routines}
        exec(_STACKS.format(large=_IN_ONE_PIECE if in_one_piece else _IN_PARTS, **texts), namespace)
        return linked_dispatcher(namespace["product"])

    return made


@linked
def set_to_zero(stack: Any, p: int) -> None:
    """stack[p] = 0, of which Numba makes ten times as much code."""
    for i in range(stack.shape[1]):
        for j in range(stack.shape[2]):
            stack[p, i, j] = 0


_STACKS = """
def product(out, x, y):
    length = x.shape[{length}]
    count = len(out) if len(out) > 1 else len(x) if len(x) > 1 else len(y)
    if len(x) * len(y) * length == 0:
        for p in range({count}):
            set_to_zero(out, p)
        return
    if out.size == 0:
        return
    is_small = out.shape[1] * out.shape[2] * length <= SMALL
    for b in range(count):
        p, q, r = b if len(out) > 1 else 0, b if len(x) > 1 else 0, b if len(y) > 1 else 0
        is_first = {is_first}
        if is_small:
            if is_first:
                set_to_zero(out, p)
            for {outer}:
                for {middle}:
                    for {inner}:
                        out[p, i, j] += {left} * {right}
        else:
{large}
"""

_IN_ONE_PIECE = """
            multiply_or_add(out[p], x[q], y[r], not is_first)
"""

_IN_PARTS = """
            part = np.empty(out.shape[1:], out.dtype)
            multiply(part, x[q], y[r])
            if is_first:
                set_to_zero(out, p)
            for i in range(out.shape[1]):
                for j in range(out.shape[2]):
                    out[p, i, j] += part[i, j]
"""


# fmt: off
matmul,    add_matmul    = (_product(False, False, adds) for adds in (False, True))
matmul_nt, add_matmul_nt = (_product(False, True,  adds) for adds in (False, True))
matmul_tn, add_matmul_tn = (_product(True,  False, adds) for adds in (False, True))
matmul_tt, add_matmul_tt = (_product(True,  True,  adds) for adds in (False, True))
# fmt: on


def matvec(out: Any, x: Any, y: Any) -> None:
    """out = x @ y"""
    np.matmul(x, y, out)


def add_matvec(out: Any, x: Any, y: Any) -> None:
    """out += x @ y"""
    out += x @ y


def matvec_t(out: Any, x: Any, y: Any) -> None:
    """out = x.T @ y"""
    np.matmul(x.T, y, out)


def add_matvec_t(out: Any, x: Any, y: Any) -> None:
    """out += x.T @ y"""
    out += x.T @ y


by_intrinsic(matvec, blas_product())
by_intrinsic(add_matvec, blas_product(adds=True))
by_intrinsic(matvec_t, blas_product(turn_x=True))
by_intrinsic(add_matvec_t, blas_product(turn_x=True, adds=True))


def row_of(matrix: Any, i: int) -> Any:
    """The row, which is contiguous: Numba knows that only of matrices that are."""
    return matrix[i]


@intrinsic
def _row_of(typing_context, matrix, i):
    row = types.Array(matrix.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = make_array(matrix)(context, builder, args[0])
        _, columns = cgutils.unpack_tuple(builder, array.shape)
        down, _ = cgutils.unpack_tuple(builder, array.strides)
        data = cgutils.pointer_add(builder, array.data, builder.mul(args[1], down))
        return without_owner(context, builder, row, [columns], data)

    return row(matrix, types.intp), generate


STAND_INS[row_of] = _row_of


@linked
def outer(out: Any, x: Any, y: Any) -> None:
    """out = x[:, None] * y"""
    for i in range(x.size):
        for j in range(y.size):
            out[i, j] = x[i] * y[j]


@linked
def add_outer(out: Any, x: Any, y: Any) -> None:
    """out += x[:, None] * y"""
    for i in range(x.size):
        row = row_of(out, i)
        for j in range(y.size):
            row[j] += x[i] * y[j]


__all__ = [
    "add_matmul",
    "add_matmul_nt",
    "add_matmul_tn",
    "add_matmul_tt",
    "add_matvec",
    "add_matvec_t",
    "add_outer",
    "matmul",
    "matmul_nt",
    "matmul_tn",
    "matmul_tt",
    "matvec",
    "matvec_t",
    "outer",
]
