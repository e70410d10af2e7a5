"""Run in Numba's simulator: handles on parts of the memory of arrays, and copies, as NumPy has them."""

import numpy as np
from numba import cuda

from srcgrad.runtime.device import fetch
from srcgrad.runtime.device_arrays import (
    absorb,
    conform,
    conform_zeros,
    part,
    reshaped,
    subscript,
    transposed,
    with_split_axis,
)
from srcgrad.runtime.gpu.device_memory import copy_into, empty, put

whole = np.arange(120.0).reshape(4, 5, 6)
given = cuda.to_device(whole)


def same(array, expected):
    assert tuple(array.shape) == expected.shape and array.dtype == expected.dtype
    np.testing.assert_array_equal(array.copy_to_host(), expected)


same(subscript(given, 2), whole[2])
same(subscript(given, 2, 3), whole[2, 3])
same(subscript(given, 2, 3, 4), np.array(whole[2, 3, 4]))
same(subscript(given, (1, 2), None, 3, (5, 3, -2)), whole[1:3, None, 3, 5::-2])
same(subscript(given, None, (0, 4), (4, 5, -1)), whole[None, :, ::-1])
same(subscript(given, (0, 0)), whole[:0])
same(subscript(given, (0, -3)), whole[:0])
same(transposed(given, (2, 0, 1)), whole.transpose(2, 0, 1))
same(reshaped(given, (20, 6)), whole.reshape(20, 6))
same(reshaped(subscript(given, 3), (30,)), whole[3].reshape(30))
same(with_split_axis(subscript(given, (3, 4, -1), 2), 0, (2, 2)), whole[::-1, 2].reshape(2, 2, 6))
same(subscript(subscript(given, (3, 4, -1)), (0, 2, 2), 1), whole[::-1][0:4:2, 1])  # parts of parts
same(part(given, 7, (2, 3), (30, -1)), np.array([[7.0, 6.0, 5.0], [37.0, 36.0, 35.0]]))

# A part is the same memory, and keeps it.
small = cuda.to_device(np.zeros((3, 3)))
turned = transposed(subscript(small, (0, 2)), (1, 0))
copy_into(turned, cuda.to_device(np.arange(6.0).reshape(3, 2)))
same(small, np.array([[0.0, 2, 4], [1, 3, 5], [0, 0, 0]]))
del small
same(turned, np.arange(6.0).reshape(3, 2))
out = empty((3, 2), np.float64)
copy_into(out, turned)
same(out, np.arange(6.0).reshape(3, 2))

# Lengths of 1 where others are longer.
row = cuda.to_device(np.array([[1.0, 2.0, 3.0]]))
assert conform(row, (1, 3)) is row and conform_zeros(row, (1, 3)) is row
assert conform(row, (1, 4)) is row
same(conform(row, (2, 3)), np.array([[1.0, 2, 3], [1, 2, 3]]))
same(conform(row, (0, 3)), np.empty((0, 3)))
same(conform_zeros(row, (2, 3)), np.zeros((2, 3)))
absorb(row, cuda.to_device(np.array([[10.0, 20, 30], [1, 2, 3]])))
same(row, np.array([[12.0, 24, 36]]))
absorb(row, row)
one = cuda.to_device(np.ones((1, 2, 1)))
absorb(one, cuda.to_device(np.ones((3, 2, 4))))
same(one, np.full((1, 2, 1), 13.0))

assert fetch(put(3, np.float32)) == 3.0
