"""cuBLAS and cuSOLVER on C-ordered arrays of a device, by the bindings of nvmath-python.

The libraries read memory by columns: of a C-ordered matrix they see the transpose, so what is asked for is always the
transposed equation.  Stacks of matrices have three axes; one of length 1 serves all of another's.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from srcgrad.errors import DeviceError
from srcgrad.runtime.device_arrays import address, reshaped, subscript, transposed
from srcgrad.runtime.gpu.device_call import running
from srcgrad.runtime.gpu.device_kernels import add_parts, set_places, set_range
from srcgrad.runtime.gpu.device_memory import copied, copy_into, empty, zeros

LETTERS = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
KEPT, TURNED = 0, 1  # operations on an operand
RIGHT = 1  # sides
LOWER, UPPER = 0, 1  # triangles


@cache
def bindings() -> tuple[Any, Any]:
    """cuBLAS and cuSOLVER."""
    try:
        from nvmath.bindings import cublas, cusolverDn
    except ImportError:
        raise DeviceError(
            "matrix products and solves on a GPU need nvmath-python, which is not installed",
            help=("pip install 'srcgrad[cuda]'",),
        ) from None
    return cublas, cusolverDn


class Handles(threading.local):
    """Of the libraries: a thread of the host has its own, for each device."""

    def __init__(self) -> None:
        self.made: dict[Any, int] = {}
        self.streams: dict[int, int] = {}  # that each handle is on

    def of(self, library: Any) -> int:
        """The handle, on the stream of this call."""
        key = library, running.device
        handle = self.made.get(key)
        if handle is None:
            handle = self.made[key] = library.create()
        if self.streams.get(handle) != running.pointer:
            library.set_stream(handle, running.pointer)
            self.streams[handle] = running.pointer
        return handle


handles = Handles()


def _blas(routine: str, dtype: Any, *args: Any) -> Any:
    """A routine of cuBLAS for this dtype: `gemm` is `sgemm` or `dgemm`."""
    library = bindings()[0]
    call = getattr(library, LETTERS[dtype] + routine)
    if running.record is not None:
        running.record.note_routine(lambda *given: call(handles.of(library), *given), args, ADDRESSES.get(routine))
    return call(handles.of(library), *args)


ADDRESSES = {"gemm": (6, 8, 11), "gemm_strided_batched": (6, 9, 13)}  # which of their arguments are


def _solver(routine: str, dtype: Any, *args: Any) -> Any:
    library = bindings()[1]
    if running.record is not None:
        running.record.is_whole = False
    return getattr(library, LETTERS[dtype] + routine)(handles.of(library), *args)


@cache
def _factor(value: float, dtype: Any) -> int:
    """Where a number is that the libraries look for in the memory of the host."""
    made = np.array(value, dtype)
    FACTORS.append(made)
    return int(made.ctypes.data)


FACTORS: list[Any] = []  # they stay where they are


class Operand(NamedTuple):
    """Matrices as the libraries are told of them; `turned`: memory holds them by columns."""

    array: Any
    leading: int
    stride: int
    turned: bool


def operand(array: Any) -> Operand:
    """A matrix, or a stack of them, as it lies in memory if one of its axes is contiguous, or else a copy."""
    if array.ndim == 2 and array.is_c_contiguous():
        return Operand(array, max(1, array.shape[1]), 0, False)
    size = array.dtype.itemsize
    rows, columns = array.shape[array.ndim - 2 :]
    *outer, down, along = (stride // size for stride in array.strides)
    apart = outer[0] if outer and array.shape[0] > 1 else 0
    if apart >= 0:
        if (along == 1 or columns == 1) and (down >= columns or rows == 1):
            return Operand(array, max(1, columns, down if rows > 1 else 1), apart, False)
        if (down == 1 or rows == 1) and (along >= rows or columns == 1):
            return Operand(array, max(1, rows, along if columns > 1 else 1), apart, True)
    return operand(copied(array))


def gemm(out: Any, x: Any, y: Any, turn_x: bool, turn_y: bool, beta: float = 0.0, alpha: float = 1.0) -> None:
    """out = alpha * x @ y + beta * out, of matrices or of stacks, each operand transposed first where it says so."""
    if not out.size:
        return
    if out.ndim == 3 and len_of(out) == 1 and max(len_of(x), len_of(y)) > 1:
        _sum_of_products(out, x, y, turn_x, turn_y, beta, alpha)
        return
    made = operand(out)
    if made.turned or made.array is not out:
        whole = copied(out)
        gemm(whole, x, y, turn_x, turn_y, beta, alpha)
        copy_into(out, whole)
        return
    rows, columns = out.shape[out.ndim - 2 :]
    length = x.shape[x.ndim - 2 if turn_x else x.ndim - 1]
    if not length:
        x, y = (zeros(tuple(max(1, n) for n in a.shape), a.dtype) for a in (x, y))
        length = 1
    left, right = operand(x), operand(y)
    factors = _factor(alpha, out.dtype), _factor(beta, out.dtype)
    how = (TURNED if turn_y != right.turned else KEPT), (TURNED if turn_x != left.turned else KEPT)
    places = address(right.array), address(left.array)
    pieces = 1
    if out.ndim == 3 and turn_x and not (turn_y or left.turned or right.turned):
        pieces = _pieces(len_of(out) * -(-rows // TILE) * -(-columns // TILE), length)
    if pieces > 1:
        _sum_of_pieces(out, made, left, right, pieces, length, beta, alpha)
    elif out.ndim == 2 or len_of(out) == 1:
        _blas(
            "gemm", out.dtype, *how, columns, rows, length, factors[0], places[0], right.leading, places[1],
            left.leading, factors[1], address(out), made.leading,
        )  # fmt: skip
    else:
        _blas(
            "gemm_strided_batched", out.dtype, *how, columns, rows, length, factors[0], places[0], right.leading,
            right.stride, places[1], left.leading, left.stride, factors[1], address(out), made.leading, made.stride,
            len_of(out),
        )  # fmt: skip


TILE = 32  # rows and columns of a product for a block of threads
TILES = 256  # that keep a GPU busy
LONG = 2048  # terms of a sum that are worth a block


def _pieces(tiles: int, length: int) -> int:
    """In how many pieces sums of this length are taken, so that there is work for all of a GPU."""
    return max(1, min(TILES // tiles, length // LONG))


def _sum_of_pieces(
    out: Any, made: Operand, x: Operand, y: Operand, pieces: int, length: int, beta: float, alpha: float
) -> None:
    """out = alpha * x.T @ y + beta * out, of few matrices with few elements: the library gives a block to each of them.

    (25 products of 100,000 rows of ten by ten took 780 µs on an H200, and one after the other 560 µs.)
    """
    count, rows, columns = out.shape
    own, size = length // pieces, out.dtype.itemsize
    parts = empty((pieces, count, rows, columns), out.dtype)
    result = Operand(parts, columns, rows * columns, False)
    at = []
    for one, piece in ((y, own * y.leading), (x, own * x.leading), (result, count * rows * columns)):
        at.append(empty((pieces * count,), np.int64))
        set_places(at[-1], address(one.array), count, one.stride * size, piece * size)
    factors = _factor(alpha, out.dtype), _factor(0.0, out.dtype), _factor(1.0, out.dtype)
    sizes = columns, rows
    _blas(
        "gemm_batched", out.dtype, KEPT, TURNED, *sizes, own, factors[0], address(at[0]), y.leading, address(at[1]),
        x.leading, factors[1], address(at[2]), columns, pieces * count,
    )  # fmt: skip
    add_parts(out, parts, beta)
    done = own * pieces
    if done < length:
        places = (address(one.array) + done * one.leading * size for one in (y, x))
        _blas(
            "gemm_strided_batched", out.dtype, KEPT, TURNED, *sizes, length - done, factors[0], next(places), y.leading,
            y.stride, next(places), x.leading, x.stride, factors[2], address(out), made.leading, made.stride, count,
        )  # fmt: skip


def len_of(array: Any) -> int:
    return int(array.shape[0])


def _sum_of_products(out: Any, x: Any, y: Any, turn_x: bool, turn_y: bool, beta: float, alpha: float) -> None:
    """The sum over a stack: one product where all rows are those of one long matrix, else one after the other."""
    count = max(len_of(x), len_of(y))
    (result,) = _items(out, 1)
    if turn_x and not turn_y and len_of(x) == len_of(y) and x.is_c_contiguous() and y.is_c_contiguous():
        long_x, long_y = (reshaped(a, (a.shape[0] * a.shape[1], a.shape[2])) for a in (x, y))
        gemm(result, long_x, long_y, True, False, beta, alpha)
        return
    for one, other in zip(_items(x, count), _items(y, count), strict=True):
        gemm(result, one, other, turn_x, turn_y, beta, alpha)
        beta = 1.0


def _items(stack: Any, count: int) -> list[Any]:
    return [subscript(stack, min(k, len_of(stack) - 1)) for k in range(count)]


# ---------------------------------------------------------------------------------------------- factors and solves
# Everything below is of stacks in C order.


def places(stack: Any) -> Any:
    """Where the matrices of a stack lie, on the device."""
    out = empty((len_of(stack),), np.int64)
    set_range(out, address(stack), stack.strides[0])
    return out


def watch(info: Any, message: str) -> None:
    """What a routine reports is looked at when the call is over: that needs the host to wait."""
    running.watched.append((info, message))


def factorise(lu: Any, pivots: Any, a: Any, message: str = "") -> None:
    """lu, pivots = the factors of the transposes of `a`"""
    copy_into(lu, a)
    count, n = len_of(a), a.shape[1]
    if not lu.size:
        return
    info = zeros((count,), np.int32)
    if count == 1:
        size = _solver("getrf_buffer_size", lu.dtype, n, n, address(lu), n)
        space = empty((max(1, size),), lu.dtype)
        _solver("getrf", lu.dtype, n, n, address(lu), n, address(space), address(pivots), address(info))
    else:
        matrices = places(lu)
        _blas("getrf_batched", lu.dtype, n, address(matrices), n, address(pivots), address(info), count)
    if message:
        watch(info, message)


def solve_factorised(x: Any, lu: Any, pivots: Any, b: Any, turned: bool) -> None:
    """x such that a @ x = b (or a.T @ x = b)"""
    if not x.size:
        return
    count, n, width = b.shape
    columns = copied(transposed(b, (0, 2, 1)))
    how = KEPT if turned else TURNED
    if count == 1:
        info = zeros((1,), np.int32)
        _solver("getrs", lu.dtype, how, n, width, address(lu), n, address(pivots), address(columns), n, address(info))
    else:
        matrices, sides = places(lu), places(columns)
        info = np.zeros(1, np.int32)  # about the arguments: in the memory of the host
        _blas(
            "getrs_batched", lu.dtype, how, n, width, address(matrices), n, address(pivots), address(sides), n,
            info.ctypes.data, count,
        )  # fmt: skip
    copy_into(x, transposed(columns, (0, 2, 1)))


def solve_triangle(x: Any, a: Any, lower: bool, turned: bool, unit: bool) -> None:
    """x = the solution of a @ y = x (or a.T @ y = x), with the one triangle of a"""
    if not x.size:
        return
    count, n, width = x.shape
    how = RIGHT, (UPPER if lower else LOWER), (TURNED if turned else KEPT), int(unit)
    one = _factor(1.0, x.dtype)
    if count == 1:
        _blas("trsm", x.dtype, *how, width, n, one, address(a), n, address(x), width)
    else:
        matrices, sides = places(a), places(x)
        _blas("trsm_batched", x.dtype, *how, width, n, one, address(matrices), n, address(sides), width, count)


def cholesky_factor(out: Any, message: str) -> None:
    """The lower triangle of `out` becomes its factor."""
    count, n = len_of(out), out.shape[1]
    if not out.size:
        return
    info = zeros((count,), np.int32)
    if count == 1:
        size = _solver("potrf_buffer_size", out.dtype, UPPER, n, address(out), n)
        space = empty((max(1, size),), out.dtype)
        _solver("potrf", out.dtype, UPPER, n, address(out), n, address(space), size, address(info))
    else:
        matrices = places(out)
        _solver("potrf_batched", out.dtype, UPPER, n, address(matrices), n, address(info), count)
    watch(info, message)


__all__ = [
    "bindings", "cholesky_factor", "factorise", "gemm", "len_of", "solve_factorised", "solve_triangle",
    "watch",
]  # fmt: skip
