"""Chains and powers of matrices."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import constant_integer, is_constant, means


@means(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return np.dot(arrays[0], arrays[1], out=out)
    if np.ndim(arrays[-1]) == 1 and np.ndim(arrays[0]) != 1:
        return np.dot(arrays[0], multi_dot(arrays[1:]), out=out)
    if len(arrays) == 3 and np.ndim(arrays[0]) == 2:
        return _chain_of_three(arrays[0], arrays[1], arrays[2], out)
    return multi_dot((np.dot(arrays[0], arrays[1]), *arrays[2:]), out=out)


def _chain_of_three(a, b, c, out):
    from_the_left = a.shape[0] * b.shape[1] * (a.shape[1] + c.shape[1])
    if from_the_left < a.shape[1] * c.shape[1] * (a.shape[0] + b.shape[1]):
        result = np.dot(np.dot(a, b), c)
    else:
        result = np.dot(a, np.dot(b, c))
    if out is None:
        return result
    np.copyto(out, result)
    return out


@means(np.linalg.matrix_power)
def matrix_power(a, n):
    a = np.asarray(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError("the array must be at least two-dimensional")
    if a.shape[-2] != a.shape[-1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if a.dtype.kind in "fc" and isinstance(n, (int, np.integer)) and not is_constant(n):  # (integers to -1 are floats)
        return _power_known_in_the_run(a, n)
    n = constant_integer(n, "the exponent")
    if n == 0:
        return np.zeros_like(a) + np.eye(a.shape[-1], a.shape[-2], dtype=a.dtype)
    if n < 0:
        return _power(np.linalg.inv(a), -n)
    return _power(a, n)


def _power_known_in_the_run(a, n):
    if n == 1:  # the matrix itself, to write to as well
        return a
    square = np.linalg.inv(a) if n < 0 else a
    left = abs(n)
    result = np.zeros_like(a) + np.eye(a.shape[-1], a.shape[-2], dtype=a.dtype)
    while left > 0:
        if left % 2 == 1:
            result = result @ square
        left = left // 2
        if left > 0:
            square = square @ square
    return result


def _power(a, n):
    if n == 1:
        return a
    half = _power(a, n // 2) if n > 3 else a
    square = half @ half
    return square if n % 2 == 0 else square @ a
