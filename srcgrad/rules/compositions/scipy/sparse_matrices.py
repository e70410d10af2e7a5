"""Matrices of `scipy.sparse` that were made outside: what is stored is handed in, and may change between calls.

A derivative is that of the loops over what is stored.  Products alone, of formats that say where each number stands.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from srcgrad.rules.compositions.registry import means, objects_mean


@means(scipy.sparse.issparse)
def issparse(x):
    return isinstance(x, (scipy.sparse.sparray, scipy.sparse.spmatrix))


class Sparse:
    """`start` says where those of each row are, or of each column, or `row` and `column` where each one is."""

    __array_priority__ = 10.1  # NumPy's arrays ask it first

    def __init__(self, shape, data, is_matrix):
        self.shape, self.data, self.is_matrix = shape, data, is_matrix

    def turned(self):
        raise NotImplementedError

    def with_data(self, data):
        raise NotImplementedError

    def times(self, x, out):
        raise NotImplementedError

    @property
    def ndim(self):
        return 2

    @property
    def dtype(self):
        return self.data.dtype

    @property
    def T(self):
        return self.turned()

    def transpose(self):
        return self.turned()

    def __matmul__(self, x):
        x = np.asarray(x)
        if x.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if x.shape[0] != self.shape[1]:
            raise ValueError("dimension mismatch")
        return self.times(x, np.zeros((self.shape[0], *x.shape[1:]), np.result_type(self.data.dtype, x.dtype)))

    def __rmatmul__(self, x):
        x = np.asarray(x)
        return self.turned() @ x if x.ndim == 1 else (self.turned() @ x.T).T

    def dot(self, x):
        return self @ x

    def toarray(self):
        return self @ np.eye(self.shape[1], dtype=self.data.dtype)

    def __mul__(self, x):
        if np.ndim(x) == 0:
            return self.with_data(self.data * x)
        if not self.is_matrix:
            raise NotImplementedError("products of each element of a sparse array are not supported")
        return self @ x

    def __rmul__(self, x):
        if np.ndim(x) == 0:
            return self.with_data(self.data * x)
        if not self.is_matrix:
            raise NotImplementedError("products of each element of a sparse array are not supported")
        return x @ self

    def __truediv__(self, x):
        return self.with_data(self.data * (1 / x))

    def __neg__(self):
        return self.with_data(-self.data)


class ByRows(Sparse):
    def __init__(self, data, indices, start, shape, is_matrix):
        super().__init__(shape, data, is_matrix)
        self.indices, self.start = indices, start

    def turned(self):
        return ByColumns(self.data, self.indices, self.start, (self.shape[1], self.shape[0]), self.is_matrix)

    def with_data(self, data):
        return ByRows(data, self.indices, self.start, self.shape, self.is_matrix)

    def times(self, x, out):
        for i in range(self.shape[0]):
            for k in range(self.start[i], self.start[i + 1]):
                out[i] += self.data[k] * x[self.indices[k]]
        return out


class ByColumns(Sparse):
    def __init__(self, data, indices, start, shape, is_matrix):
        super().__init__(shape, data, is_matrix)
        self.indices, self.start = indices, start

    def turned(self):
        return ByRows(self.data, self.indices, self.start, (self.shape[1], self.shape[0]), self.is_matrix)

    def with_data(self, data):
        return ByColumns(data, self.indices, self.start, self.shape, self.is_matrix)

    def times(self, x, out):
        for j in range(self.shape[1]):
            for k in range(self.start[j], self.start[j + 1]):
                out[self.indices[k]] += self.data[k] * x[j]
        return out


class ByPlaces(Sparse):
    def __init__(self, data, row, column, shape, is_matrix):
        super().__init__(shape, data, is_matrix)
        self.row, self.column = row, column

    def turned(self):
        return ByPlaces(self.data, self.column, self.row, (self.shape[1], self.shape[0]), self.is_matrix)

    def with_data(self, data):
        return ByPlaces(data, self.row, self.column, self.shape, self.is_matrix)

    def times(self, x, out):
        for k in range(len(self.data)):
            out[self.row[k]] += self.data[k] * x[self.column[k]]
        return out


class ByDiagonals(Sparse):
    """Column j of the diagonal d is in column j of the matrix, in row j - d; turned, that is row j and column j - d."""

    def __init__(self, data, offsets, shape, is_matrix, is_turned):
        super().__init__(shape, data, is_matrix)
        self.offsets, self.is_turned = offsets, is_turned

    def turned(self):
        shape = self.shape[1], self.shape[0]
        return ByDiagonals(self.data, self.offsets, shape, self.is_matrix, not self.is_turned)

    def with_data(self, data):
        return ByDiagonals(data, self.offsets, self.shape, self.is_matrix, self.is_turned)

    def times(self, x, out):
        rows, columns = (self.shape[1], self.shape[0]) if self.is_turned else self.shape
        for d in range(len(self.offsets)):
            first = max(self.offsets[d], 0)
            for j in range(first, min(rows + self.offsets[d], columns, self.data.shape[1])):
                if self.is_turned:
                    out[j] += self.data[d, j] * x[j - self.offsets[d]]
                else:
                    out[j - self.offsets[d]] += self.data[d, j] * x[j]
        return out


@objects_mean("data indices indptr shape", scipy.sparse.csr_array)
def csr_array_outside(data, indices, indptr, shape):
    return ByRows(data, indices, indptr, shape, False)


@objects_mean("data indices indptr shape", scipy.sparse.csr_matrix)
def csr_matrix_outside(data, indices, indptr, shape):
    return ByRows(data, indices, indptr, shape, True)


@objects_mean("data indices indptr shape", scipy.sparse.csc_array)
def csc_array_outside(data, indices, indptr, shape):
    return ByColumns(data, indices, indptr, shape, False)


@objects_mean("data indices indptr shape", scipy.sparse.csc_matrix)
def csc_matrix_outside(data, indices, indptr, shape):
    return ByColumns(data, indices, indptr, shape, True)


@objects_mean("data row col shape", scipy.sparse.coo_array)
def coo_array_outside(data, row, col, shape):
    return ByPlaces(data, row, col, shape, False)


@objects_mean("data row col shape", scipy.sparse.coo_matrix)
def coo_matrix_outside(data, row, col, shape):
    return ByPlaces(data, row, col, shape, True)


@objects_mean("data offsets shape", scipy.sparse.dia_array)
def dia_array_outside(data, offsets, shape):
    return ByDiagonals(data, offsets, shape, False, False)


@objects_mean("data offsets shape", scipy.sparse.dia_matrix)
def dia_matrix_outside(data, offsets, shape):
    return ByDiagonals(data, offsets, shape, True, False)
