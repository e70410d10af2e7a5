"""SciPy in the place of cuBLAS and cuSOLVER: it gets what the libraries would, on memory that the host can read.

Addresses, leading dimensions, flags, matrices by columns.
"""

import ctypes

import numpy as np
import scipy.linalg

TYPES = {"s": np.float32, "d": np.float64}


notice = []  # functions that are told which memory a routine uses


def memory(address, count, dtype):
    for told in notice:
        told(address, count * np.dtype(dtype).itemsize)
    held = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(held, dtype)


def by_columns(address, rows, columns, leading, dtype):
    assert leading >= max(1, rows)
    size = leading * (columns - 1) + rows
    flat = memory(address, size, dtype)
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (flat.itemsize, leading * flat.itemsize))


class Library:
    """Routines by their letters: `dgemm` is `gemm` in float64."""

    __name__ = "scipy"

    def create(self):
        return 7

    def set_stream(self, handle, pointer):
        assert handle == 7

    def __getattr__(self, name):
        if name[1:] not in vars(Library):
            raise AttributeError(name)
        dtype = TYPES[name[0]]
        return lambda handle, *args: vars(Library)[name[1:]](dtype, *args)

    def gemm(dtype, turn_a, turn_b, m, n, k, alpha, a, leading_a, b, leading_b, beta, c, leading_c):
        left = by_columns(a, *((k, m) if turn_a else (m, k)), leading_a, dtype)
        right = by_columns(b, *((n, k) if turn_b else (k, n)), leading_b, dtype)
        out = by_columns(c, m, n, leading_c, dtype)
        product = memory(alpha, 1, dtype)[0] * ((left.T if turn_a else left) @ (right.T if turn_b else right))
        scale = memory(beta, 1, dtype)[0]
        out[...] = product + scale * out if scale else product

    def gemm_strided_batched(
        dtype, turn_a, turn_b, m, n, k, alpha, a, lead_a, step_a, b, lead_b, step_b, beta, c, lead_c, step_c, count
    ):
        size = np.dtype(dtype).itemsize
        for i in range(count):
            Library.gemm(
                dtype, turn_a, turn_b, m, n, k, alpha, a + i * step_a * size, lead_a, b + i * step_b * size, lead_b,
                beta, c + i * step_c * size, lead_c,
            )  # fmt: skip

    def gemm_batched(dtype, turn_a, turn_b, m, n, k, alpha, a, lead_a, b, lead_b, beta, c, lead_c, count):
        places = (memory(at, count, np.int64) for at in (a, b, c))
        for left, right, out in zip(*places, strict=True):
            Library.gemm(
                dtype, turn_a, turn_b, m, n, k, alpha, int(left), lead_a, int(right), lead_b, beta, int(out), lead_c
            )

    def getrf_buffer_size(dtype, m, n, a, leading):
        return 0

    def getrf(dtype, m, n, a, leading, space, pivots, info):
        matrix = by_columns(a, m, n, leading, dtype)
        (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (matrix,))
        factors, found, memory(info, 1, np.int32)[0] = getrf(matrix)
        matrix[...] = factors
        memory(pivots, n, np.int32)[:] = found + 1

    def getrf_batched(dtype, n, matrices, leading, pivots, info, count):
        for i, a in enumerate(memory(matrices, count, np.int64)):
            Library.getrf(dtype, n, n, int(a), leading, None, pivots + 4 * n * i, info + 4 * i)

    def getrs(dtype, turn, n, width, a, leading, pivots, b, leading_b, info):
        matrix, sides = by_columns(a, n, n, leading, dtype), by_columns(b, n, width, leading_b, dtype)
        (getrs,) = scipy.linalg.get_lapack_funcs(("getrs",), (matrix,))
        sides[...] = getrs(matrix, memory(pivots, n, np.int32) - 1, sides, trans=turn)[0]
        memory(info, 1, np.int32)[0] = 0

    def getrs_batched(dtype, turn, n, width, matrices, leading, pivots, sides, leading_b, info, count):
        pairs = zip(memory(matrices, count, np.int64), memory(sides, count, np.int64))
        for i, (a, b) in enumerate(pairs):
            Library.getrs(dtype, turn, n, width, int(a), leading, pivots + 4 * n * i, int(b), leading_b, info)

    def trsm(dtype, side, triangle, turn, unit, m, n, alpha, a, leading, b, leading_b):
        matrix, sides = by_columns(a, n, n, leading, dtype), by_columns(b, m, n, leading_b, dtype)
        (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (matrix,))
        assert side == 1 and memory(alpha, 1, dtype)[0] == 1
        sides[...] = trsm(1.0, matrix, sides, side=1, lower=not triangle, trans_a=turn, diag=unit)

    def trsm_batched(dtype, side, triangle, turn, unit, m, n, alpha, matrices, leading, sides, leading_b, count):
        for a, b in zip(memory(matrices, count, np.int64), memory(sides, count, np.int64)):
            Library.trsm(dtype, side, triangle, turn, unit, m, n, alpha, int(a), leading, int(b), leading_b)

    def potrf_buffer_size(dtype, triangle, n, a, leading):
        return 3

    def potrf(dtype, triangle, n, a, leading, space, size, info):
        matrix = by_columns(a, n, n, leading, dtype)
        (potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (matrix,))
        matrix[...], memory(info, 1, np.int32)[0] = potrf(matrix, lower=not triangle, clean=0)

    def potrf_batched(dtype, triangle, n, matrices, leading, info, count):
        for i, a in enumerate(memory(matrices, count, np.int64)):
            Library.potrf(dtype, triangle, n, int(a), leading, None, 0, info + 4 * i)
