"""Launches of compiled kernels, as directly as Python comes to the driver.

What is the same each time is found once, for the types of the arguments.

launch = Configured(code, (4,), (256,), stream=0, shared_bytes=0)
launch(x, 2.0)     the numbers that a kernel takes for them are packed, and the driver is given where they lie

Numba finds out anew at each launch what kind of a thing every argument is: that takes the host ten times as long as the
launch itself.  Of an array a kernel takes seven numbers and more (`words`), which are remembered with it.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import cache
from math import prod
from threading import Lock
from typing import Any

import numpy as np
from numba.core import types

from srcgrad.runtime.gpu.device_call import running

NUMBERS = frozenset((int, float, bool, *np.sctypeDict.values()))
LONGEST = 1 << 27  # elements of arrays, and of axes, that kernels go over by numbers of 32 bits
LONG = 1 << 32  # more than there are types of arrays
WORDS = "_srcgrad_words"  # where an array remembers its type, by number, and what kernels take for it
LASTING = "_srcgrad_lasting"  # … that it is there for ever, whoever uses it

_numbers: dict[Any, int] = {}  # of the types of arrays
_codes = {  # how a number is packed: every argument begins at a multiple of eight bytes
    types.int8: "b7x", types.int16: "h6x", types.int32: "i4x", types.int64: "q",
    types.uint8: "B7x", types.uint16: "H6x", types.uint32: "I4x", types.uint64: "Q",
    types.float16: "e6x", types.float32: "f4x", types.float64: "d", types.boolean: "?7x",
}  # fmt: skip


def number_of(kind: types.Array, shape: tuple[int, ...]) -> int:
    """One number for each type of an array, and another one where it is long: quicker to compare than the type."""
    number = _numbers.setdefault(kind, len(_numbers))
    return LONG + number if max(prod(shape), *shape, 0) > LONGEST else number


def words_of(array: Any) -> tuple[int, tuple[int, ...]]:
    """The number of its type, and what kernels take for it."""
    known = vars(array).get(WORDS)
    if known is None:
        where = array.device_ctypes_pointer.value or 0
        words = (*head(array.size, array.dtype), where, *array.shape, *array.strides)
        known = vars(array)[WORDS] = number_of(array._numba_type_, array.shape), words
    return known


def head(size: int, dtype: np.dtype) -> tuple[int, int, int, int]:
    """What goes ahead of where the elements lie; nothing counts references on a device."""
    return 0, 0, size, dtype.itemsize


class Configured:
    """A compiled kernel on a grid, on a stream of one device."""

    def __init__(
        self,
        code: Any,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        pointer: int,
        shared_bytes: int,
        for_long: Callable[[], Any] | None = None,
    ) -> None:
        self.code, self.for_long = code, for_long
        self.shape = (*grid, 1, 1)[:3] + (*block, 1, 1)[:3] + (shared_bytes,)
        self.pointer = pointer
        self.prepared: dict[tuple[Any, ...], Prepared] = {}

    def __call__(self, *args: Any) -> None:
        kinds: list[Any] = []
        values: list[Any] = []
        for arg in args:
            kind = type(arg)
            if kind in NUMBERS:
                kinds.append(kind)
                values.append(arg)
            else:
                number, words = arg.__dict__.get(WORDS) or words_of(arg)
                kinds.append(number)
                values += words
        key = tuple(kinds)
        prepared = self.prepared.get(key)
        if prepared is None:
            is_long = any(type(kind) is int and kind >= LONG for kind in kinds)
            code = self.for_long() if self.for_long and is_long else self.code
            prepared = self.prepared[key] = Prepared(code, args, self.pointer)
        if running.record is not None:
            running.record.note_launch(prepared, self.shape, args, values)
        prepared.launch(self.shape, values)


class Prepared:
    """A kernel for arguments of certain types, with room for what they are packed into."""

    def __init__(self, code: Any, args: tuple[Any, ...], pointer: int) -> None:
        kinds = tuple(map(code.typeof_pyval, args))
        kernel = code.overloads.get(kinds) or code.compile(kinds)
        function = kernel._codelibrary.get_cufunc()
        packing = "".join(_packing(kind) for kind in kernel.argument_types)
        self.pack = struct.Struct("=" + packing).pack_into
        self.room = ctypes.create_string_buffer(struct.calcsize("=" + packing))
        places = range(ctypes.addressof(self.room), ctypes.addressof(self.room) + len(self.room), 8)
        self.places = (ctypes.c_void_p * len(places))(*places)
        self.where = ctypes.addressof(self.places)
        self.kernel = function  # whose module stays loaded
        self.call = driver().cuLaunchKernel
        self.function, self.stream = driver().CUfunction(int(function.kernel.handle)), stream_of(pointer)
        self.lock = Lock()  # of the room: the driver reads it before it returns, while other threads may run

    def launch(self, shape: tuple[int, ...], values: list[Any]) -> None:
        with self.lock:
            self.pack(self.room, 0, *values)
            (error,) = self.call(self.function, *shape, self.stream, self.where, 0)
        if error:
            check("cuLaunchKernel", error)


def _packing(kind: Any) -> str:
    return f"{5 + 2 * kind.ndim}q" if isinstance(kind, types.Array) else _codes[kind]


@cache
def driver() -> Any:
    """CUDA's, as Python has it."""
    from numba.cuda.cudadrv.driver import binding

    return binding


def stream_of(pointer: int) -> Any:
    return driver().CUstream(pointer)


def check(name: str, error: Any) -> None:
    """Raise what the driver answered, as Numba does."""
    from numba.cuda.cudadrv.driver import driver as checking

    checking._check_cuda_python_error(name, (error,))


__all__ = ["LASTING", "WORDS", "Configured", "check", "driver", "head", "number_of", "stream_of", "words_of"]
