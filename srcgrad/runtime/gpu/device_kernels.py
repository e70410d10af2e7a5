"""Kernels that are the same for all programs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from srcgrad.runtime import device_math
from srcgrad.runtime.device import MOST_BLOCKS, THREADS, on_grid
from srcgrad.runtime.gpu.device_memory import empty


def copy_elements(out: Any, array: Any) -> None:
    """out[...] = array, of any strides."""
    _launch(_by_elements(f"copy_{out.ndim}", out.ndim, (), "out[{i}] = x[{i}]"), out, array)


def add_over_stretched(out: Any, array: Any) -> None:
    """out += array, summed over the axes along which `out` has length 1: a thread for each element of `out`."""
    stretched = tuple(n == 1 and m != 1 for n, m in zip(out.shape, array.shape, strict=True))
    text = "".join("s" if along else "n" for along in stretched)
    axes = [axis for axis, along in enumerate(stretched) if along]
    lines = ["total = out[{i}]"]
    for depth, axis in enumerate(axes):
        lines.append("    " * depth + f"for k{axis} in range(x.shape[{axis}]):")
    here = ", ".join(f"k{axis}" if along else f"i{axis}" for axis, along in enumerate(stretched))
    lines += ["    " * len(axes) + f"total += x[{here}]", "out[{i}] = total"]
    _launch(_by_elements(f"add_over_{text}", out.ndim, (), "\n".join(lines)), out, array)


def set_positions(out: Any, mask: Any) -> None:
    """out = the positions where the mask holds: pieces of it are counted, and each begins where those before it end."""
    if not out.size:
        return
    places = empty((-(-mask.size // PIECE),), np.int64)
    count = "total = 0\nfor k in range(i0 * piece, min((i0 + 1) * piece, x.size)):\n    total += x[k]\nout[i0] = total"
    _launch(_by_elements("count", 1, ("piece",), count), places, mask, PIECE)
    on_grid(_running_total(), 1, THREADS)(places)
    note = (
        "place = out[i0]\nfor k in range(i0 * piece, min((i0 + 1) * piece, x.size)):\n"
        "    if x[k]:\n        positions[place] = k\n        place += 1"
    )
    _launch(_by_elements("note", 1, ("positions", "piece"), note), places, mask, out, PIECE)


PIECE = 16  # elements of a mask for a thread


@cache
def _running_total() -> Any:
    def running_total(values):
        """Each value becomes the sum of those before it."""
        shared = cuda.shared.array(THREADS, np.int64)
        member = cuda.threadIdx.x
        piece = (values.shape[0] + THREADS - 1) // THREADS
        first, last = member * piece, min((member + 1) * piece, values.shape[0])
        total = 0
        for k in range(first, last):
            total += values[k]
        shared[member] = total
        cuda.syncthreads()
        if member == 0:
            ahead = 0
            for k in range(THREADS):
                own = shared[k]
                shared[k] = ahead
                ahead += own
        cuda.syncthreads()
        ahead = shared[member]
        for k in range(first, last):
            own = values[k]
            values[k] = ahead
            ahead += own

    return cuda.jit(running_total)


def search(out: Any, table: Any, x: Any, right: bool) -> None:
    """out = how many of the sorted table are less than x, or at most x: nan is beyond all numbers."""
    body = (
        "low, high, value = 0, table.shape[0], x[i0]\nwhile low < high:\n    middle = (low + high) >> 1\n"
        "    other = table[middle]\n    is_below = other < value or (value != value and other == other)\n"
        "    is_above = value < other or (other != other and value == value)\n"
        "    if is_below or (right and not is_above):\n        low = middle + 1\n    else:\n        high = middle\n"
        "out[i0] = low"
    )
    _launch(_by_elements("search", 1, ("table", "right"), body), out, x, table, right)


def set_number(out: Any, value: Any) -> None:
    """out[0] = value: a copy from the host would wait for all that was launched before."""
    on_grid(_setter(), 1, 1)(out, out.dtype.type(value))


@cache
def _setter() -> Any:
    def set_number(out, value):
        out[0] = value

    return cuda.jit(set_number)


def set_range(out: Any, first: int, step: int) -> None:
    """out[k] = first + k * step"""
    _launch(_by_elements("set_range", 1, ("step",), "out[i0] = x + i0 * step"), out, np.int64(first), np.int64(step))


def set_places(out: Any, first: int, count: int, step: int, outer: int) -> None:
    """out[k] = first + k % count * step + k // count * outer"""
    code = _by_elements(
        "set_places", 1, ("count", "step", "outer"), "out[i0] = x + i0 % count * step + i0 // count * outer"
    )
    _launch(code, out, np.int64(first), int(count), int(step), int(outer))


# Of stacks of matrices: k is the matrix, i and j are its rows and columns.


def add_scaled(out: Any, x: Any, factor: float) -> None:
    """out += factor * x"""
    code = _by_elements("add_scaled", 3, ("factor",), "out[{i}] += factor * x[{i}]")
    _launch(code, out, x, out.dtype.type(factor))


def add_parts(out: Any, parts: Any, factor: float) -> None:
    """out = factor * out + the sum of the parts, along their first axis; what was there may be nothing where it is 0"""
    body = (
        "total = factor * out[{i}] if factor != 0 else factor\n"
        "for part in range(x.shape[0]):\n    total += x[part, {i}]\nout[{i}] = total"
    )
    _launch(_by_elements("add_parts", 3, ("factor",), body), out, parts, out.dtype.type(factor))


def keep_lower(out: Any, x: Any, diagonal: float) -> None:
    """out = the lower triangle of x, with its diagonal scaled"""
    body = "out[{i}] = x[{i}] if i2 < i1 else diagonal * x[{i}] if i2 == i1 else zero"
    code = _by_elements("keep_lower", 3, ("diagonal", "zero"), body)
    _launch(code, out, x, out.dtype.type(diagonal), out.dtype.type(0))


def add_triangle(out: Any, x: Any, factor: float, lower: bool, skipped: int) -> None:
    """out += factor * one triangle of x, without its outermost `skipped` diagonals"""
    body = "if (i2 <= i1 - skipped if lower else i2 >= i1 + skipped):\n    out[{i}] += factor * x[{i}]"
    code = _by_elements("add_triangle", 3, ("factor", "lower", "skipped"), body)
    _launch(code, out, x, out.dtype.type(factor), bool(lower), int(skipped))


def add_to_lower(out: Any, x: Any) -> None:
    """out += the cotangent of a lower triangle, where x is that of the symmetric matrix which it stands for"""
    body = "if i1 >= i2:\n    out[{i}] += x[{i}] + x[i0, i2, i1] if i1 > i2 else x[{i}]"
    _launch(_by_elements("add_to_lower", 3, (), body), out, x)


def add_turned(out: Any, x: Any, factors: Any, sizes: Any, is_scaled: bool) -> None:
    """out += factor * x.T, by the size of each matrix where it is scaled; nan where that is 0"""
    body = (
        "if factors[i0] != 0:\n    factor = factors[i0] * sizes[i0] if is_scaled else factors[i0]\n"
        "    out[{i}] += factor * x[i0, i2, i1] if sizes[i0] != 0 else nan"
    )
    code = _by_elements("add_turned", 3, ("factors", "sizes", "is_scaled", "nan"), body)
    _launch(code, out, x, factors, sizes, is_scaled, out.dtype.type(np.nan))


def mirror_lower(out: Any, x: Any) -> None:
    """out = the symmetric matrix with the lower triangle of x"""
    _launch(_by_elements("mirror", 3, (), "out[{i}] = x[i0, max(i1, i2), min(i1, i2)]"), out, x)


def set_identity(out: Any) -> None:
    body = "out[{i}] = one if i1 == i2 else zero"
    code = _by_elements("identity", 3, ("one", "zero"), body)
    _launch(code, out, out, out.dtype.type(1), out.dtype.type(0))


def note_zeros(info: Any, matrices: Any) -> None:
    """info[k] = 1 where there is a zero on the diagonal of a matrix"""
    body = "for j in range(x.shape[1]):\n    if x[i0, j, j] == 0:\n        out[i0] = 1"
    _launch(_by_elements("note_zeros", 1, (), body), info, matrices)


def determinants(out: Any, lu: Any, pivots: Any) -> None:
    """out[k] = the product of the diagonal of a matrix; each row that changed places turns the sign"""
    body = (
        "total = one\nfor j in range(x.shape[1]):\n    total *= x[i0, j, j]\n"
        "    total = -total if pivots[i0, j] != j + 1 else total\nout[i0] = total"
    )
    _launch(_by_elements("determinants", 1, ("pivots", "one"), body), out, lu, pivots, out.dtype.type(1))


def logarithms_of_determinants(out: Any, signs: Any, lu: Any, pivots: Any) -> None:
    body = (
        "total = zero\nsign = zero + 1\nfor j in range(x.shape[1]):\n    factor = x[i0, j, j]\n"
        "    sign = -sign if (factor < 0) != (pivots[i0, j] != j + 1) else sign\n"
        "    sign = sign if factor != 0 else zero\n"
        "    total += log(abs(factor)) if factor != 0 else minus_infinity\n"
        "out[i0] = total\nsigns[i0] = sign"
    )
    code = _by_elements("logarithms", 1, ("signs", "pivots", "zero", "minus_infinity"), body)
    number = out.dtype.type
    _launch(code, out, lu, signs, pivots, number(0), number(-np.inf))


def _launch(code: Any, out: Any, *args: Any) -> None:
    if out.size:
        on_grid(code, min(-(-out.size // THREADS), MOST_BLOCKS), THREADS)(out, *args)


@cache
def _by_elements(name: str, ndim: int, more: tuple[str, ...], body: str) -> Any:
    """A kernel for every element of `out`, its place in i0, i1 …: written out for each number of axes."""
    index = ", ".join(f"i{axis}" for axis in range(ndim)) or "()"
    lines = [f"def {name}({', '.join(('out', 'x', *more))}):", "    at = cuda.grid(1)", "    while at < out.size:"]
    lines.append("        rest = at")
    for axis in reversed(range(ndim)):
        lines += [f"        i{axis} = rest % out.shape[{axis}]", f"        rest //= out.shape[{axis}]"]
    lines += [f"        {line}" for line in body.format(i=index).splitlines()]
    lines.append("        at += cuda.gridsize(1)")
    made: dict[str, Any] = {"cuda": cuda, "log": device_math.log}
    exec("\n".join(lines), made)
    return cuda.jit(made[name])


__all__ = [
    "add_over_stretched", "add_parts", "add_scaled", "add_to_lower", "add_triangle", "add_turned",
    "copy_elements", "determinants", "keep_lower", "logarithms_of_determinants", "mirror_lower", "note_zeros",
    "search", "set_identity", "set_number", "set_places", "set_positions", "set_range",
]  # fmt: skip
