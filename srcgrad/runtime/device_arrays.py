"""Arrays on a device that are other handles on the same memory, and arrays of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from srcgrad.runtime.device import SIMULATED


def part(base: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The elements of `base` from `offset` on, with other strides (both in elements)."""
    size = base.dtype.itemsize
    if SIMULATED:
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

        flat = base._ary.reshape(-1)[offset:]
        return FakeCUDAArray(np.lib.stride_tricks.as_strided(flat, shape, tuple(size * s for s in strides)))
    from numba.cuda.cudadrv.devicearray import DeviceNDArray

    memory = base.gpu_data.view(offset * size)
    return DeviceNDArray(shape, tuple(size * s for s in strides), base.dtype, stream=base.stream, gpu_data=memory)


def of_dlpack(value: Any) -> Any:
    """What another library has on the device, by way of DLPack."""
    from cuda.core.utils import StridedMemoryView

    view = StridedMemoryView.from_dlpack(value, stream_ptr=-1)
    strides = view.strides and tuple(view.dtype.itemsize * s for s in view.strides)
    described = {"shape": view.shape, "strides": strides, "typestr": view.dtype.str, "data": (view.ptr, view.readonly)}
    return cuda.from_cuda_array_interface({**described, "version": 3}, owner=value)


__all__ = ["of_dlpack", "part"]
