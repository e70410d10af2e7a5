"""Memory of a device: arrays there, numbers in cells of their own, and copies.

x_b = empty((n,), np.float64)       of CUDA's own pool, in the order of the call's stream
s_cell = put(2.0, np.float64)       a number of the host's, on the device
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from numba import cuda

from srcgrad.runtime.gpu.device_blocks import MOST_FORMS, Block, Blocks
from srcgrad.runtime.gpu.device_call import SIMULATED, running
from srcgrad.runtime.gpu.launching import WORDS, head, number_of, words_of

ALIGNED = 256  # bytes: as the driver does


def empty(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array on the device, of whatever was there."""
    if SIMULATED:
        return cuda.device_array(shape, dtype)
    return pool.array(shape, np.dtype(dtype))


Forms = tuple[tuple[tuple[int, ...], Any], ...]  # of arrays: shapes and dtypes


class Pool:
    """Arrays in blocks of memory.  One, or a part of it, that somebody holds keeps its block."""

    def __init__(self) -> None:
        self.prepared: dict[int, Any] = {}  # devices
        self.blocks = Blocks()
        self.forms: dict[Any, Any] = {}
        self.groups: dict[Forms, Any] = {}

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        form = self.form_of(shape, dtype)
        return self.made(form, self.block(form[2]) if form[2] else None, 0)

    def arrays(self, forms: Forms) -> tuple[Block | None, list[Any]]:
        """Memory, and several arrays in it; each begins where a block of memory might."""
        group = self.groups.get(forms)
        if group is None:
            if len(self.groups) > MOST_FORMS:
                self.groups.clear()
            known = [self.form_of(shape, np.dtype(dtype)) for shape, dtype in forms]
            starts = [0, *accumulate(aligned(form[2]) for form in known)]
            group = self.groups[forms] = starts.pop(), [*zip(known, starts, strict=True)]
        size, places = group
        block = self.block(size) if size else None
        return block, [self.made(form, block, start) for form, start in places]

    def made(self, form: Any, block: Any, start: int) -> Any:
        """Like one of the same shape: Numba takes longer to make an array than to launch a kernel on it."""
        like, kind, size, memory, number, ahead, behind = form
        out = object.__new__(kind)
        known = out.__dict__
        known.update(like)
        if size and block is not None:
            owner = running.keeper, block  # the last goes first
            known["gpu_data"] = memory(None, block.pointer_to(start), size, owner=owner)
            known[WORDS] = number, (*ahead, block.address + start, *behind)
        known["stream"] = running.stream
        return out

    def form_of(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        form = self.forms.get((shape, dtype))
        if form is None:
            if len(self.forms) > MOST_FORMS:
                self.forms.clear()
            form = self.forms[shape, dtype] = self.form(shape, dtype)
        return form

    def form(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        from numba.cuda.cudadrv import driver
        from numba.cuda.cudadrv.devicearray import DeviceNDArray

        size, strides = dtype.itemsize, []
        for length in reversed(shape):
            strides.append(size)
            size *= int(length)
        nowhere = driver.MemoryPointer(None, driver.binding.CUdeviceptr(0), 0) if size else None
        first = DeviceNDArray(tuple(map(int, shape)), tuple(reversed(strides)), dtype, gpu_data=nowhere)
        number, like = number_of(first._numba_type_, first.shape), dict(first.__dict__)
        words = head(first.size, dtype), (*first.shape, *first.strides)
        return like, DeviceNDArray, size, driver.MemoryPointer, number, *words

    def block(self, size: int) -> Any:
        """Memory that is given back on the same stream once nobody holds it."""
        if running.device not in self.prepared:
            self.prepare(self.current())
        key = size, running.device, running.pointer
        block = Block(self.blocks.places.get(key) or self.blocks.places_for(key))
        if running.record is not None:
            running.record.note_block(block.address, size)
        return block

    def current(self) -> int:
        """The number of the current device: the driver says it sooner than Numba, once a thread has one."""
        if running.driver is None:
            from numba.cuda.cudadrv.driver import driver

            cuda.current_context()
            running.driver, running.is_alone = driver, len(cuda.gpus) < 2
        return int(running.driver.cuCtxGetDevice())

    def prepare(self, device: int) -> None:
        """What is freed stays in CUDA's pool, at synchronisations too: cuda-core sees to it."""
        from cuda.core import Device

        ours = Device(device)
        ours.set_current()
        self.prepared[device] = ours.memory_resource


pool = Pool()


def aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def form_of(array: Any) -> Any:
    """What `Pool.made` makes others like this array of; its own memory is not among that."""
    number, words = words_of(array)
    size = array.gpu_data.size if array.size else 0
    its_own = (WORDS, "gpu_data", "stream") if size else (WORDS, "stream")
    like = {name: value for name, value in array.__dict__.items() if name not in its_own}
    ahead = len(head(array.size, array.dtype))
    return like, type(array), size, type(array.gpu_data), number, words[:ahead], words[ahead + 1 :]


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    return zeros_together((shape, dtype))[0]


def together(*forms: tuple[tuple[int, ...], Any]) -> list[Any]:
    """Arrays in one piece of memory, of whatever was there."""
    return [empty(shape, dtype) for shape, dtype in forms] if SIMULATED else pool.arrays(forms)[1]


def zeros_together(*forms: tuple[tuple[int, ...], Any]) -> list[Any]:
    """Arrays of zeros in one piece of memory, which is cleared by one launch."""
    if SIMULATED:
        arrays = [empty(shape, dtype) for shape, dtype in forms]
        for array in arrays:
            array[...] = 0
        return arrays
    block, arrays = pool.arrays(forms)
    if block is not None:
        block.clear()
    return arrays


def own(array: Any, copy: bool) -> Any:
    """The array in C order; a copy of it where one is wanted."""
    if is_in_order(array) and (not copy or running.ours):
        return array
    return copied(array)


def is_in_order(array: Any) -> bool:
    """Is it contiguous, and can Numba copy it?  (Not along an axis of length 1 that goes downwards.)"""
    return array.is_c_contiguous() and all(stride >= 0 for stride in array.strides)


def copy_into(out: Any, array: Any) -> None:
    """All elements, whatever their order in memory."""
    if not out.size:
        return
    if is_in_order(array) and is_in_order(out):
        if running.record is not None:
            running.record.note_copy(out, array)
        out.copy_to_device(array, stream=running.stream)
        return
    from srcgrad.runtime.gpu.device_kernels import copy_elements

    copy_elements(out, array)


def copied(array: Any) -> Any:
    """A copy, in C order."""
    out = empty(tuple(array.shape), array.dtype)
    copy_into(out, array)
    return out


def to_host(array: Any) -> Any:
    """A copy, which is there when this returns: on a stream of the user's Numba would not wait for it."""
    if running.record is not None:
        running.record.is_whole = False  # what the host does with it depends on more than shapes
    out = array.copy_to_host(stream=running.stream)
    if running.pointer:
        running.stream.synchronize()
    return out


def cell(dtype: Any) -> Any:
    """Room for one number."""
    return empty((1,), dtype)


def put(value: Any, dtype: Any) -> Any:
    """A number of the host's, on the device."""
    from srcgrad.runtime.gpu.device_kernels import set_number

    out = cell(dtype)
    set_number(out, value)
    return out


__all__ = [
    "ALIGNED", "Pool", "aligned", "cell", "copied", "copy_into", "empty", "form_of", "is_in_order", "own", "pool",
    "put", "to_host", "together", "zeros", "zeros_together",
]  # fmt: skip
