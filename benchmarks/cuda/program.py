"""What a benchmark program on a GPU has beside what all have: the bytes that it must move, and a compiled step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from benchmarks.programs.program import Program, Size

# What a program is made of decides which bars it has to clear.
STREAM = "stream"  # elementwise work and stencils: as fast as memory is
REDUCTION = "reduction"
THREAD = "loop in a thread"
OTHER = "other"

DTYPES = ("float64", "float32")
RTOL = {"float64": 1e-8, "float32": 2e-3}  # of the largest element: sums come out in any order
SIZES = (100_000, 10_000_000)


@dataclass(frozen=True)
class DeviceProgram(Program):
    """`moved`: the bytes of all arrays that a gradient has to read and to write, by default each of them once.

    `torch_compiled` makes what PyTorch's users compile, where that is not the whole function.  `dtypes` are those in
    which the primal computes: some make arrays of float64 whatever they get.
    """

    moved: Callable[..., int] | None = None
    torch_compiled: Callable[[], Callable[..., Any]] | None = None
    dtypes: tuple[str, ...] = DTYPES

    def bytes_moved(self, arguments: tuple[Any, ...], v: Any) -> int:
        if self.moved is not None:
            return self.moved(*arguments)
        cotangents = sum(_bytes(arguments[i]) for i in self.positions)
        return sum(map(_bytes, arguments)) + _bytes(v) + cotangents


def on_device(program: Program, kind: str, *sizes: Size, **more: Any) -> DeviceProgram:
    """A program of the other benchmarks, at sizes for a GPU."""
    given = {field.name: getattr(program, field.name) for field in fields(program)}
    return DeviceProgram(**{**given, "kind": kind, "sizes": sizes, **more})


def in_dtype(value: Any, dtype: str) -> Any:
    """An argument in float64 or float32; integers stay what they are."""
    if isinstance(value, np.ndarray):
        return value.astype(dtype) if value.dtype.kind == "f" else value
    return np.dtype(dtype).type(value) if isinstance(value, float) else value


def _bytes(value: Any) -> int:
    return value.nbytes if isinstance(value, np.ndarray) and value.ndim else 0
