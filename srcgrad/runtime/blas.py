"""Products by BLAS, straight from where they are wanted.

    multiply = blas_product(turn_x=True, adds=True)
    multiply(out, x, y)     out += x.T @ y, in compiled code; y is a matrix or a vector

Numba's `np.dot` compiles itself for every program anew, and has no way to add to what is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.linalg import (
    check_blas_return,
    ensure_blas,
    get_blas_kind,
    intp_t,
    ll_char,
    ll_void_p,
    make_constant_slot,
)

from srcgrad.runtime.described import Described

LARGEST = 2**31 - 1  # a length that BLAS can be told of
NO, TURNED = (ir.Constant(ll_char, ord(letter)) for letter in "nt")


@dataclass
class _Matrix:
    rows: Any
    columns: Any
    data: Any
    stride: Any  # between its rows or columns in memory
    by_rows: bool

    @property
    def turned(self) -> _Matrix:
        return _Matrix(self.columns, self.rows, self.data, self.stride, not self.by_rows)

    @property
    def how(self) -> Any:
        """To BLAS, which goes by columns, what lies by rows is turned: so it is told for the transposed product."""
        return NO if self.by_rows else TURNED


def blas_product(turn_x: bool = False, turn_y: bool = False, adds: bool = False) -> Any:
    """An intrinsic for operands of one dtype, of which `out` is none.

    Vectors are contiguous, matrices too, or each of their rows is; the latter is added to, but never overwritten.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _generate(context, builder, signature, args, turn_x, turn_y, adds)
        return context.get_dummy_value()

    def product(typing_context, out, x, y):  # no types: Numba compares signatures
        _refuse_others(out, x, y, adds)
        return types.none(out, x, y), generate

    return intrinsic(product)


def blas_product_or_sum(turn_x: bool = False, turn_y: bool = False) -> Any:
    """The same with a fourth operand, which says whether it adds; no operand is empty."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, none = (context.get_constant(signature.args[0].dtype, value) for value in (1.0, 0.0))
        _generate(context, builder, signature, args[:3], turn_x, turn_y, True, builder.select(args[3], one, none))
        return context.get_dummy_value()

    def product(typing_context, out, x, y, adds):  # no types: Numba compares signatures
        _refuse_others(out, x, y, False)
        return types.none(out, x, y, types.boolean), generate

    return intrinsic(product)


def _refuse_others(out: Any, x: Any, y: Any, adds: bool) -> None:
    kinds = {kind.dtype for kind in (out, x, y)}
    vectors = any(kind.ndim == 1 and kind.layout != "C" for kind in (out, y))
    is_fine = out.layout == "C" or (out.layout == "A" and adds)
    if len(kinds) > 1 or vectors or not is_fine or (x.ndim, y.ndim, out.ndim) not in ((2, 1, 1), (2, 2, 2)):
        raise TypingError(f"no product of {x} and {y} in {out}")


def _generate(
    context: Any,
    builder: Any,
    signature: Any,
    args: Any,
    turn_x: bool,
    turn_y: bool,
    adds: bool,
    beta: ir.Value | None = None,
) -> None:
    ensure_blas()
    kinds = signature.args
    call = _Call(context, builder, kinds[0].dtype, adds, beta)
    out, x, y = (Described(context, builder, kind, v) for kind, v in zip(kinds, args, strict=False))
    left = call.matrix(kinds[1], x, turn_x)
    if kinds[2].ndim == 1:
        call.matrix_with_vector(out, left, y)
    else:
        right = call.matrix(kinds[2], y, turn_y)
        call.matrix_with_matrix(out, call.matrix(kinds[0], out), left, right)


class _Call:
    def __init__(self, context: Any, builder: Any, dtype: types.Type, adds: bool, beta: ir.Value | None) -> None:
        self.context, self.builder, self.adds = context, builder, adds
        self.kind = ir.Constant(ll_char, ord(get_blas_kind(dtype)))
        self.alpha = make_constant_slot(context, builder, dtype, 1.0)
        if beta is None:
            self.beta = make_constant_slot(context, builder, dtype, 1.0 if adds else 0.0)
        else:
            self.beta = cgutils.alloca_once_value(builder, beta)

    def matrix(self, kind: types.Array, array: Any, is_turned: bool = False) -> _Matrix:
        rows, columns = cgutils.unpack_tuple(self.builder, array.shape)
        stride = {"C": columns, "F": rows}.get(kind.layout)
        if stride is None:
            down, along = cgutils.unpack_tuple(self.builder, array.strides)
            self._check_rows(along, array.itemsize, columns)
            stride = self.builder.sdiv(down, array.itemsize)
        matrix = _Matrix(rows, columns, array.data, stride, kind.layout != "F")
        return matrix.turned if is_turned else matrix

    def matrix_with_vector(self, out: Any, x: _Matrix, y: Any) -> None:
        (length,), (known,) = (cgutils.unpack_tuple(self.builder, array.shape) for array in (out, y))
        self._check((length, x.rows), (known, x.columns))
        with self._unless_empty(out, x.rows, x.columns):
            self._gemv(x, y.data, out.data)

    def matrix_with_matrix(self, memory: Any, out: _Matrix, x: _Matrix, y: _Matrix) -> None:
        self._check((out.rows, x.rows), (out.columns, y.columns), (x.columns, y.rows))
        with self._unless_empty(memory, out.rows, out.columns, x.columns):
            with self.builder.if_else(self._are_columns(out, y)) as (then, otherwise):
                with then:
                    self._gemv(x, y.data, out.data)
                with otherwise, self.builder.if_else(self._are_columns(out.turned, x.turned)) as (then, otherwise):
                    with then:
                        self._gemv(y.turned, x.data, out.data)
                    with otherwise:
                        self._gemm(x, y, out)

    def _are_columns(self, *matrices: _Matrix) -> Any:
        """Is each a single column, in one piece?"""
        one = self.context.get_constant(types.intp, 1)
        ones = [length for m in matrices for length in ((m.columns, m.stride) if m.by_rows else (m.columns,))]
        found = [self.builder.icmp_signed("==", length, one) for length in ones]
        return reduce(self.builder.and_, found)

    def _check(self, *pairs: tuple[Any, Any]) -> None:
        for a, b in pairs:
            differ = self.builder.icmp_signed("!=", a, b)
            with self.builder.if_then(differ, likely=False):
                words = "incompatible array sizes for a matrix product"
                self.context.call_conv.return_user_exc(self.builder, ValueError, (words,))
            too_large = self.builder.icmp_signed(">", a, self.context.get_constant(types.intp, LARGEST))
            with self.builder.if_then(too_large, likely=False):
                words = "array size too large to fit in C int"
                self.context.call_conv.return_user_exc(self.builder, OverflowError, (words,))

    def _check_rows(self, along: Any, itemsize: Any, columns: Any) -> None:
        apart = self.builder.icmp_signed("!=", along, itemsize)
        several = self.builder.icmp_signed(">", columns, self.context.get_constant(types.intp, 1))
        with self.builder.if_then(self.builder.and_(apart, several), likely=False):
            words = "the rows of an operand of a matrix product do not lie in one piece each"
            self.context.call_conv.return_user_exc(self.builder, ValueError, (words,))

    def _unless_empty(self, out: Any, *lengths: Any) -> Any:
        """Where there is nothing to be multiplied, the sum of nothing is zero."""
        none = self.context.get_constant(types.intp, 0)
        is_empty = cgutils.false_bit
        for length in lengths:
            is_empty = self.builder.or_(is_empty, self.builder.icmp_signed("==", length, none))
        if not self.adds:
            with self.builder.if_then(is_empty, likely=False):
                cgutils.memset(self.builder, out.data, self.builder.mul(out.itemsize, out.nitems), 0)
        return self.builder.if_then(self.builder.not_(is_empty), likely=True)

    def _gemv(self, x: _Matrix, y: Any, out: Any) -> None:
        how = TURNED if x.by_rows else NO
        m, n = (x.columns, x.rows) if x.by_rows else (x.rows, x.columns)
        self._run("numba_xxgemv", self.kind, how, m, n, self.alpha, x.data, x.stride, y, self.beta, out)

    def _gemm(self, x: _Matrix, y: _Matrix, out: _Matrix) -> None:
        """out.T = y.T @ x.T: by columns, that is out by rows."""
        lengths = y.columns, x.rows, x.columns
        operands = y.data, y.stride, x.data, x.stride
        self._run(
            "numba_xxgemm", self.kind, y.how, x.how, *lengths, self.alpha, *operands, self.beta, out.data, out.stride
        )  # fmt: skip

    def _run(self, name: str, *given: Any) -> None:
        """Numba's way into SciPy's BLAS; increments between the elements of a vector are 1."""
        values = [self.builder.bitcast(v, ll_void_p) if isinstance(v.type, ir.PointerType) else v for v in given]
        kind = ir.FunctionType(ir.IntType(32), [v.type for v in values])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        check_blas_return(self.context, self.builder, self.builder.call(function, values))


assert intp_t.width == 64, "lengths are passed as they are"

__all__ = ["blas_product"]
