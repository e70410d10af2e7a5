"""What the blocks of a kernel have added up, each for itself, becomes one number by a second launch.

    f_i[n](x, parts)             parts: a number for each block
    add_parts(parts, s, out)     out = s + the sum of them, in an order that is always the same

Of a greatest or the like, which each part has been joined with already, the cell that it began in is what holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from srcgrad.runtime.device import THREADS, on_grid, together

if TYPE_CHECKING:
    from srcgrad.runtime.device import Launch


class Sums:
    """What a launch adds up, where `held` says which of its sums begin in a cell: found out once."""

    def __init__(self, launch: Launch, held: tuple[bool, ...]) -> None:
        kernel, blocks = launch.kernel, launch.blocks
        self.dtypes = [np.dtype(dtype) for dtype in kernel.sums.values()]
        ops = [kernel.extremes.get(name) for name in kernel.sums]
        self.added = [k for k, op in enumerate(ops) if op is None]
        self.held, self.new = held, [k for k in self.added if not held[k]]
        self.room = *(((blocks,), dtype) for dtype in self.dtypes), *(((1,), self.dtypes[k]) for k in self.new)
        self.joined = [(k, joiner(self.dtypes[k], op)) for k, op in enumerate(ops) if op is not None]
        if self.added:
            self.adder = adder(tuple(self.dtypes[k] for k in self.added), tuple(held[k] for k in self.added))

    def launch(self, configured: Any, args: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
        """The cells of the sums; those that began in one have that one."""
        arrays = together(*self.room)
        parts, cells = arrays[: len(starts)], list(starts)
        for k, cell in zip(self.new, arrays[len(starts) :], strict=True):
            cells[k] = cell
        configured(*args, *parts)
        if self.added:
            given: list[Any] = []
            for k in self.added:
                given += (parts[k], starts[k] if self.held[k] else self.dtypes[k].type(starts[k]), cells[k])
            self.adder(*given)
        for k, join in self.joined:
            join(parts[k], cells[k])
        return cells


def adder(dtypes: tuple[np.dtype, ...], held: tuple[bool, ...]) -> Any:
    """Takes for each sum its parts, its start (a number, or the cell that is `held`) and the cell for it."""
    return on_grid(_adder(dtypes, held), len(dtypes), THREADS)


@cache
def _adder(dtypes: tuple[np.dtype, ...], held: tuple[bool, ...]) -> Any:
    """A block for each of the sums, written out: without a driver Numba compiles no kernel that calls a function."""
    lines = [f"def add_parts({', '.join(f'parts_{k}, start_{k}, out_{k}' for k in range(len(dtypes)))}):"]
    for k, (dtype, in_cell) in enumerate(zip(dtypes, held, strict=True)):
        start = f"start_{k}[0]" if in_cell else f"start_{k}"
        text = ADDING.format(k=k, dtype=dtype.name, start=start, threads=THREADS, half=THREADS // 2)
        lines += [f"    if cuda.blockIdx.x == {k}:", text]
    made: dict[str, Any] = {"cuda": cuda, "np": np}
    exec("\n".join(lines), made)
    return cuda.jit(made["add_parts"])


ADDING = """
        shared_{k} = cuda.shared.array({threads}, np.{dtype})
        member = cuda.threadIdx.x
        total_{k} = np.{dtype}(0)
        place = member
        while place < parts_{k}.shape[0]:
            total_{k} += parts_{k}[place]
            place += {threads}
        shared_{k}[member] = total_{k}
        half = {half}
        while half > 0:
            cuda.syncthreads()
            if member < half:
                shared_{k}[member] += shared_{k}[member + half]
            half >>= 1
        if member == 0:
            out_{k}[0] = {start} + shared_{k}[0]
"""
JOINED = {
    "maximum": "x if y < x or x != x else y",  # nan is the greatest, and the least
    "minimum": "x if x < y or x != x else y",
    "or": "x or y",
    "and": "x and y",
}


def joiner(dtype: np.dtype, op: str) -> Any:
    """Takes parts, and the cell for the greatest of them, or the like."""
    return on_grid(_joiner(dtype.name, op), 1, THREADS)


@cache
def _joiner(dtype: str, op: str) -> Any:
    """Written out for each of them: without a driver Numba compiles no kernel that calls a function."""
    text = JOINING.format(threads=THREADS, half=THREADS // 2, dtype=dtype, joined=JOINED[op])
    made: dict[str, Any] = {"cuda": cuda, "np": np}
    exec(text, made)
    return cuda.jit(made["join_parts"])


JOINING = """
def join_parts(parts, out):
    shared = cuda.shared.array({threads}, np.{dtype})
    member = cuda.threadIdx.x
    x = parts[0]
    k = member
    while k < parts.shape[0]:
        y = parts[k]
        x = {joined}
        k += {threads}
    shared[member] = x
    half = {half}
    while half > 0:
        cuda.syncthreads()
        if member < half:
            x, y = shared[member], shared[member + half]
            shared[member] = {joined}
        half >>= 1
    if member == 0:
        out[0] = shared[0]
"""


__all__ = ["Sums", "adder", "joiner"]
