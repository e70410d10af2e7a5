"""numba-cuda's own host code on a virtual GPU: what asks the driver for something is answered here.

install()  →  cuda.is_available(); arrays, streams and launches are Numba's own; memory is ours, and so is a launch
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import library
from .machine import Machine
from .memory import Arena, Fault
from .ptx import parse
from .steps import Counts

MEMORY = 256 << 20


@dataclass(frozen=True)
class Function:
    ptx: str
    name: str
    handle: int


class VirtualGPU:
    """One card: its memory, the kernels that were given to it, and what they did."""

    def __init__(self, cc: tuple[int, int], size: int = MEMORY) -> None:
        self.cc, self.memory = cc, Arena(size)
        self.machines: dict[str, Machine] = {}
        self.constants: dict[str, int] = {}
        self.launches = itertools.count(2, 2)  # odd numbers are those of the last block of a launch
        self.counts: Counts | None = None
        self.by_kernel: list[tuple[str, Counts]] = []
        self.lock = threading.RLock()
        self.functions: dict[int, Function] = {}

    def function(self, ptx: str, name: str) -> Function:
        """A kernel, which the driver would know by a number."""
        made = Function(ptx, name, len(self.functions) + 1)
        self.functions[made.handle] = made
        return made

    def machine(self, ptx: str, name: str) -> Machine:
        if ptx not in self.machines:
            kernel = parse(ptx)[name]
            own = {}
            for constant, held in kernel.constants.items():
                address = self.memory.allocate(len(held))
                self.memory.copy_in(address, np.frombuffer(held, np.uint8))
                own[constant] = address
            self.machines[ptx] = Machine(kernel, self.memory, own)
        return self.machines[ptx]

    def launch(self, stream: Any, config: Any, kernel: Function, *args: Any) -> None:
        """As Numba launches a kernel."""
        machine = self.machine(kernel.ptx, kernel.name)
        self.run(machine, three(config.grid), three(config.block), config.shmem_size, packed(machine, args))

    def launch_kernel(self, number: Any, *rest: Any) -> tuple[int]:
        """As the driver is asked to: a function, its grid and block, where the addresses of its arguments lie."""
        *shape, shared_bytes, stream, where, extra = rest
        kernel = self.functions[int(number)]
        machine = self.machine(kernel.ptx, kernel.name)
        params = machine.kernel.params.items()
        places = (ctypes.c_uint64 * len(params)).from_address(where)
        out = bytearray()
        for (name, bits), place in zip(params, places, strict=True):
            out += bytes(machine.offsets[name] - len(out))
            out += ctypes.string_at(place, bits // 8)
        self.run(machine, tuple(shape[:3]), tuple(shape[3:]), shared_bytes, bytes(out))
        return (0,)

    def run(self, machine: Machine, grid: Any, block: Any, shared_bytes: int, args: bytes) -> None:
        with self.lock:
            machine.counts = counts = Counts() if self.counts is not None else None
            machine.touched = [], []
            machine.run(next(self.launches), grid, block, shared_bytes, args)
            if counts is not None:
                counts.launches = 1
                read, written = (np.unique(np.concatenate(found)) if found else [] for found in machine.touched)
                counts.bytes_read, counts.bytes_written = 32 * len(read), 32 * len(written)
                self.by_kernel.append((machine.kernel.name, counts))


def three(shape: Any) -> tuple[int, int, int]:
    shape = shape if isinstance(shape, tuple) else (shape,)
    return (*shape, 1, 1)[:3]


def packed(machine: Machine, args: tuple[Any, ...]) -> bytes:
    out = bytearray()
    for (name, bits), arg in zip(machine.kernel.params.items(), args, strict=True):
        out += bytes(machine.offsets[name] - len(out))
        is_packed = isinstance(arg, ctypes._SimpleCData)
        given = bytes(arg) if is_packed else int(arg).to_bytes(bits // 8, "little", signed=True)
        assert len(given) == bits // 8, (name, arg)
        out += given
    return bytes(out)


class HostArrays:
    """Where Numba would make room for an array of the host that a kernel is given, to copy it there and back."""

    @staticmethod
    def allocate(size: int, stream: Any) -> Any:
        raise Fault("a kernel is given an array of the host")


@cache
def install(cc: tuple[int, int] = (9, 0)) -> VirtualGPU:
    """From now on Numba has this GPU; asked again, it is the same one."""
    from numba.cuda import codegen, dispatcher
    from numba.cuda.cudadrv import driver

    from srcgrad.runtime import device
    from srcgrad.runtime.gpu import device_blas, device_blocks, device_memory, launching

    gpu = VirtualGPU(cc)
    binding, numbers = driver.binding, itertools.count(100)

    def raw(address: Any, size: int) -> np.ndarray:
        return np.frombuffer((ctypes.c_char * size).from_address(int(address)), np.uint8)

    def clear(place: Any, value: int, size: int, stream: Any = None) -> None:
        gpu.memory.copy_in(int(place), np.full(size, value, np.uint8))

    def copy_in(target: Any, source: Any, size: int, stream: Any = None) -> None:
        gpu.memory.copy_in(int(target), raw(getattr(source, "value", source), size))

    def copy_out(target: Any, source: Any, size: int, stream: Any = None) -> None:
        raw(getattr(target, "value", target), size)[:] = gpu.memory.copy_out(int(source), size)

    def copy_within(target: Any, source: Any, size: int, stream: Any = None) -> None:
        gpu.memory.copy_within(int(target), int(source), size)

    answers = {
        "cuCtxGetCurrent": lambda: 1, "cuCtxGetDevice": lambda: 0, "cuDeviceGetCount": lambda: 1,
        "cuCtxPushCurrent": lambda handle: None, "cuCtxPopCurrent": lambda: 1, "cuCtxSynchronize": lambda: None,
        "cuDriverGetVersion": lambda: 13000, "cuMemGetInfo": lambda: (MEMORY, MEMORY),
        "cuMemAlloc": lambda size: binding.CUdeviceptr(gpu.memory.allocate(size)),
        "cuMemFree": lambda place: gpu.memory.free(int(place)),
        "cuMemcpyHtoD": copy_in, "cuMemcpyHtoDAsync": copy_in, "cuMemcpyDtoH": copy_out, "cuMemcpyDtoHAsync": copy_out,
        "cuMemcpyDtoD": copy_within, "cuMemcpyDtoDAsync": copy_within, "cuMemsetD8": clear, "cuMemsetD8Async": clear,
        "cuPointerGetAttribute": lambda kind, place: 0, "cuMemGetAddressRange": lambda place: (int(place), 0),
        "cuStreamCreate": lambda flags: binding.CUstream(next(numbers)), "cuStreamDestroy": lambda handle: None,
        "cuStreamSynchronize": lambda handle: None, "cuStreamWaitEvent": lambda *args: None,
        "cuEventCreate": lambda flags: next(numbers), "cuEventDestroy": lambda handle: None,
        "cuEventRecord": lambda *args: None, "cuEventSynchronize": lambda handle: None,
        "cuEventQuery": lambda handle: None,
    }  # fmt: skip
    direct = SimpleNamespace(
        CUfunction=int, CUstream=int, CUdeviceptr=binding.CUdeviceptr, cuLaunchKernel=gpu.launch_kernel,
        cuMemAllocAsync=lambda size, stream: (0, binding.CUdeviceptr(gpu.memory.allocate(size))),
        cuMemFreeAsync=lambda place, stream: gpu.memory.free(int(place)),
        cuMemsetD8Async=lambda place, value, size, stream: (clear(place, value, size) or 0,),
        cuMemcpyDtoDAsync=lambda out, place, size, stream: (copy_within(out, place, size) or 0,),
    )  # fmt: skip
    ours = driver.driver
    driver._logger = driver.make_logger()
    ours.is_initialized, ours.initialization_error = True, None
    for name, answer in answers.items():
        setattr(ours, name, answer)
    card = object.__new__(driver.Device)
    card.__dict__.update(id=0, compute_capability=cc, name="virtual", uuid="GPU-0", _dev=HostArrays)
    ours.devices[0] = card
    card.primary_context = driver.Context(weakref.proxy(card), 1)
    driver._to_core_stream = lambda stream: stream

    def get_cufunc(code: Any) -> Any:
        kernel = gpu.function(code.get_asm_str(), code._entry_name)
        return SimpleNamespace(kernel=kernel, module=SimpleNamespace(initialized=True))

    codegen.CUDACodeLibrary.get_cufunc = get_cufunc
    dispatcher.LaunchConfig = lambda grid, block, shmem_size, **others: SimpleNamespace(
        grid=grid, block=block, shmem_size=shmem_size
    )
    dispatcher.launch = gpu.launch
    launching.driver = device_blocks.driver = lambda: direct  # type: ignore[assignment]
    libraries = library.Library()
    library.notice.append(gpu.memory.filled)
    device_blas.bindings = lambda: (libraries, libraries)
    device.MOST_RESIDENT = 8  # so that threads do more than one iteration here too
    device_blocks.MOST_PLACES = 0  # what is freed is marked, and not used again soon
    device_memory.Pool.prepare = lambda pool, number: pool.prepared.setdefault(number)
    return gpu
