"""Arrays on a device that are other handles on the same memory, and arrays of other libraries.

u_row = subscript(u_kept, sweep)                     u_kept[sweep]
t = subscript(x, (1, n - 2), None, (9, 5, -2))       x[1 : n - 1, None, 9::-2][..., :5]
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba import cuda

from srcgrad.runtime.arrays import fits
from srcgrad.runtime.gpu.device_call import LEGACY, SIMULATED, running
from srcgrad.runtime.gpu.device_memory import copy_into, empty, zeros


def subscript(base: Any, *items: Any) -> Any:
    """A part: for each axis an index, or where a run begins, its length and its step; None is an axis of length 1."""
    offset = axis = 0
    shape, strides = [], []
    size = base.dtype.itemsize
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        stride = base.strides[axis] // size
        axis += 1
        if isinstance(item, tuple):
            start, length, *step = item
            shape.append(max(0, int(length)))
            strides.append(stride * int(step[0]) if step else stride)
            offset += int(start) * stride
        else:
            offset += int(item) * stride
    shape += base.shape[axis:]
    strides += [s // size for s in base.strides[axis:]]
    return part(base, offset, tuple(shape), tuple(strides))


def transposed(base: Any, order: tuple[int, ...]) -> Any:
    size = base.dtype.itemsize
    return part(base, 0, tuple(base.shape[k] for k in order), tuple(base.strides[k] // size for k in order))


def reshaped(base: Any, shape: tuple[int, ...]) -> Any:
    """The elements in C order; the base is contiguous."""
    return part(base, 0, tuple(map(int, shape)), in_order(shape))


def with_split_axis(base: Any, axis: int, lengths: tuple[int, ...]) -> Any:
    """The axis as several, in C order."""
    size = base.dtype.itemsize
    strides = [stride // size for stride in base.strides]
    shape = (*base.shape[:axis], *map(int, lengths), *base.shape[axis + 1 :])
    inner = (strides[axis] * stride for stride in in_order(lengths))
    return part(base, 0, shape, (*strides[:axis], *inner, *strides[axis + 1 :]))


def in_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array in C order."""
    strides, stride = [], 1
    for length in reversed(shape):
        strides.append(stride)
        stride *= int(length)
    return tuple(reversed(strides))


def part(base: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """What begins `offset` elements behind the first one of `base`, with strides in elements."""
    size = base.dtype.itemsize
    if 0 in shape:
        return empty(shape, base.dtype)
    in_bytes = tuple(size * stride for stride in strides)
    return handle(base, address(base) + int(offset) * size, shape, in_bytes, base.dtype)


def address(array: Any) -> int:
    """Where the first element of an array lies."""
    return array._ary.ctypes.data if SIMULATED else array.device_ctypes_pointer.value


def handle(owner: Any, where: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
    """An array of memory that is there as long as its owner."""
    if SIMULATED:
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

        return FakeCUDAArray(np.asarray(Memory(owner, where, shape, strides, dtype)))
    like, kind, extent, driver = _form(shape, strides, dtype)
    out = object.__new__(kind)
    out.__dict__.update(like)
    out.gpu_data = driver.MemoryPointer(None, driver.binding.CUdeviceptr(where), extent, owner=owner)
    out.stream = running.stream
    return out


@lru_cache(1000)
def _form(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
    """What all handles of one form have in common: Numba's own constructor takes as long as a launch."""
    from numba.cuda.cudadrv import driver
    from numba.cuda.cudadrv.devicearray import DeviceNDArray

    extent = dtype.itemsize + sum((n - 1) * abs(stride) for n, stride in zip(shape, strides, strict=True))
    nowhere = driver.MemoryPointer(None, driver.binding.CUdeviceptr(0), extent)
    first = DeviceNDArray(shape, strides, dtype, gpu_data=nowhere)
    first._numba_type_  # noqa: B018 (it is remembered)
    return dict(first.__dict__), DeviceNDArray, extent, driver


class Memory:
    """What NumPy makes an array of."""

    def __init__(self, owner: Any, where: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (where, False), "shape": shape, "strides": strides, "typestr": dtype.str, "version": 3,
        }  # fmt: skip


# ------------------------------------------------------------------------------------------------- broadcasting


def conform(array: Any, shape: tuple[int, ...]) -> Any:
    """The array where it has this shape, else a copy broadcast to it; itself where it does not fit (a guard raises)."""
    shape = tuple(map(int, shape))
    if tuple(array.shape) == shape or not fits(array.shape, shape):
        return array
    from srcgrad.runtime.gpu.device_kernels import copy_elements

    out = empty(shape, array.dtype)
    if out.size:
        copy_elements(out, spread(array, shape))
    return out


def spread(array: Any, shape: tuple[int, ...]) -> Any:
    """Axes of length 1 as long as is asked for, without a copy."""
    size = array.dtype.itemsize
    lengths = zip(array.shape, shape, array.strides, strict=True)
    return part(array, 0, shape, tuple(0 if n == 1 and m != 1 else stride // size for n, m, stride in lengths))


def conform_zeros(array_b: Any, shape: tuple[int, ...]) -> Any:
    """The shadow of `conform(array, shape)`."""
    shape = tuple(map(int, shape))
    return array_b if tuple(array_b.shape) == shape else zeros(shape, array_b.dtype)


def absorb(array_b: Any, out_b: Any) -> None:
    """array_b += out_b, summed over the axes where it has length 1; nothing where they are one array, or do not fit."""
    lengths, shape = tuple(array_b.shape), tuple(out_b.shape)
    if lengths != shape and out_b.size and fits(lengths, shape):
        from srcgrad.runtime.gpu.device_kernels import add_over_stretched

        add_over_stretched(array_b, out_b)


# ---------------------------------------------------------------------------------------------------- what is kept


def keep_array(buffer: list[Any], top: int, array: Any) -> int:
    """Keep the elements of an array behind those that are there: the new top.  The host waits for nothing."""
    end = top + int(array.size)
    if end > buffer[0].size:
        grown = empty((2 * end,), buffer[0].dtype)
        copy_into(kept_array([grown], 0, (top,)), kept_array(buffer, 0, (top,)))
        buffer[0] = grown
    copy_into(kept_array(buffer, top, array.shape), array)
    return end


def kept_array(buffer: list[Any], top: int, shape: tuple[int, ...]) -> Any:
    """What was kept from there on: the same memory."""
    return part(buffer[0], top, tuple(map(int, shape)), in_order(shape))


# ---------------------------------------------------------------------------------------------- other libraries


@cache
def device_count() -> int:
    """How many GPUs there are; none where nobody can tell, which is said when something is to run."""
    return 1 if SIMULATED else len(cuda.gpus) if cuda.is_available() else 0


def current_device() -> int:
    return cuda.get_current_device().id


def device_of(value: Any) -> int | None:
    """The number of the GPU that an array lies on; None where it has no elements."""
    ask = getattr(value, "__dlpack_device__", None)
    if ask is not None:
        return int(ask()[1])
    from numba.cuda.cudadrv.driver import binding, driver

    where = value.__cuda_array_interface__["data"][0]
    ordinal = binding.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(driver.cuPointerGetAttribute(ordinal, binding.CUdeviceptr(where))) if where else None


def of_dlpack(value: Any) -> Any:
    """What another library has on the device, by way of DLPack: our stream waits for what its own still does to it."""
    from cuda.core.utils import StridedMemoryView

    view = StridedMemoryView.from_dlpack(value, stream_ptr=running.pointer or LEGACY)
    dtype = np.dtype(view.dtype)
    shape = tuple(view.shape)
    if 0 in shape:
        return empty(shape, dtype)
    strides = tuple(dtype.itemsize * s for s in (view.strides or in_order(shape)))
    out = handle(view, view.ptr, shape, strides, dtype)
    out.is_read_only = bool(view.readonly)
    return out


def of_interface(value: Any, described: dict[str, Any]) -> Any:
    """What another library has on the device, by its `__cuda_array_interface__`.  Its stream is waited for."""
    stream = described.get("stream")
    is_ours = (stream or LEGACY) == (running.pointer or LEGACY)
    out = cuda.from_cuda_array_interface(described, owner=value, sync=stream is not None and not is_ours)
    out.is_read_only = bool(described["data"][1])
    return out


def is_aligned(array: Any) -> bool:
    """A device reads no number from an address that its size does not divide."""
    steps = [stride for length, stride in zip(array.shape, array.strides, strict=True) if length > 1]
    return not array.size or not any(place % array.dtype.itemsize for place in (address(array), *steps))


__all__ = [
    "Memory", "absorb", "address", "conform", "conform_zeros", "current_device", "device_count", "device_of", "handle",
    "in_order", "is_aligned", "keep_array", "kept_array", "of_dlpack", "of_interface", "part", "reshaped", "spread",
    "subscript", "transposed", "with_split_axis",
]  # fmt: skip
