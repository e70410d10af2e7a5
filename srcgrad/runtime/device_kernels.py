"""Kernels that are the same for all programs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from srcgrad.runtime.device import SIMULATED, THREADS, cell, running


def add_up(start: Any, parts: Any) -> Any:
    """start + the sum of the parts, in an order that is always the same.  `start` is a number, or a cell."""
    if hasattr(start, "copy_to_host"):
        _adder(parts.dtype.name, True)[1, THREADS, running.stream](parts, start, start)
        return start
    out = cell(parts.dtype)
    _adder(parts.dtype.name, False)[1, THREADS, running.stream](parts, parts.dtype.type(start), out)
    return out


@cache
def _adder(dtype: str, from_cell: bool) -> Any:
    kind = getattr(np, dtype)

    def add_parts(parts, start, out):
        shared = cuda.shared.array(THREADS, kind)
        member = cuda.threadIdx.x
        total = kind(0)
        k = member
        while k < parts.shape[0]:
            total += parts[k]
            k += THREADS
        shared[member] = total
        half = THREADS // 2
        while half > 0:
            cuda.syncthreads()
            if member < half:
                shared[member] += shared[member + half]
            half >>= 1
        if member == 0:
            out[0] = (start[0] if from_cell else start) + shared[0]

    return cuda.jit(add_parts)


def copy_elements(out: Any, array: Any) -> None:
    """out[...] = array, of up to any number of axes and any strides."""
    if SIMULATED:
        out.copy_to_device(np.ascontiguousarray(array.copy_to_host()))
        return
    blocks = -(-out.size // THREADS)
    _copier(array.ndim)[blocks, THREADS, running.stream](out.ravel(), array)


@cache
def _copier(ndim: int) -> Any:
    """Written out for each number of axes: a kernel knows no tuples of run-time length."""
    lines = ["def copy(out, array):", "    at = cuda.grid(1)", "    if at < out.size:", "        rest = at"]
    for axis in reversed(range(ndim)):
        lines += [f"        i{axis} = rest % array.shape[{axis}]", f"        rest //= array.shape[{axis}]"]
    lines += [f"        out[at] = array[{', '.join(f'i{axis}' for axis in range(ndim))}]"]
    made: dict[str, Any] = {"cuda": cuda}
    exec("\n".join(lines), made)
    return cuda.jit(made["copy"])


__all__ = ["add_up", "copy_elements"]
