"""What the host's part of a program for a GPU calls: memory of the device, kernels, and numbers on their way back.

s_cell = f_i[n](x, n, y, s=0.0)     n threads; their sums, and then the sum of those, in a cell on the device
s = fetch(s_cell)                   the host waits for it
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numba import cuda
from numba.core import config

from srcgrad.errors import CompiledError
from srcgrad.rules.device import HOST_NAMES
from srcgrad.runtime.compiled_kernels import compiled_as_kernel
from srcgrad.runtime.errors import MoreRows
from srcgrad.runtime.launching import WORDS, Block, Configured, head, number_of, stream_of

SIMULATED = bool(config.ENABLE_CUDASIM)
THREADS = 8 if SIMULATED else 256  # of a block; in the simulator each is one of Python's
LANES = 8 if SIMULATED else 32  # threads that run a row together: a warp
MOST_BLOCKS = 3 if SIMULATED else 1 << 20  # of a launch: what more there is to do is done by the same threads
MOST_RESIDENT = 2 if SIMULATED else 2112  # blocks of threads with memory or sums of their own: 16 on a processor
MOST_OWN = 1 << 30  # bytes of one array of which each thread has a part: fewer threads run where each needs much
MOST_SHARED = 24 << 10  # bytes of a block's own sums: eight blocks then fit on a processor
ALIGNED = 256  # bytes: as the driver does
LEGACY = 1  # the default stream, as other libraries number it
FIRST_ROWS = 64  # of what threads keep where nobody knows ahead how much that is


@dataclass
class Running(threading.local):
    """What belongs to the call that a thread of the host is making."""

    stream: Any = 0
    pointer: int = 0  # the same as CUDA knows it
    keeper: Any = None  # whatever has to live as long as the stream is used
    ours: bool = False  # the arguments are copies that were made for this call
    rows: int = FIRST_ROWS  # of what threads of this program keep
    status: Any = None  # what kernels report, and what that means
    errors: tuple[tuple[type[Exception], str, int], ...] = ()
    launched: bool = False  # kernels that may report something, since the status was last looked at
    watched: list[tuple[Any, str]] = field(default_factory=list)  # what library routines report, and what that means
    driver: Any = None  # once this thread has a device
    device: int = 0  # its number, since the call began


running = Running()


def begin(ours: bool, rows: int) -> None:
    """A call begins."""
    running.ours, running.rows = ours, rows
    running.status, running.errors, running.launched = None, (), False
    running.watched.clear()
    if not SIMULATED:
        running.device = pool.current()


def check_watched() -> None:
    """Raise what a library routine reported: one wait at the end of a call, instead of one behind each routine."""
    error = _of_routines()
    if error is not None:
        raise error


def _of_routines() -> Exception | None:
    watched, running.watched = running.watched, []
    failed = (message for info, message in watched if (to_host(info) > 0).any())
    return next((np.linalg.LinAlgError(message) for message in failed), None)


# ---------------------------------------------------------------------------------------------------------- memory


def empty(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array on the device, of whatever was there."""
    if SIMULATED:
        return cuda.device_array(shape, dtype)
    return pool.array(shape, np.dtype(dtype))


Forms = tuple[tuple[tuple[int, ...], Any], ...]  # of arrays: shapes and dtypes


class Pool:
    """Arrays in memory that CUDA hands out, and takes back, in the order of a stream.

    That is the device's own pool (`cuMemAllocAsync`): what is freed is reused at once by what is asked for later on the
    same stream, and nothing waits.  An array, or a part of it, that somebody holds keeps its memory.
    """

    def __init__(self) -> None:
        self.prepared: dict[int, Any] = {}  # devices
        self.streams: dict[int, Any] = {}
        self.forms: dict[Any, Any] = {}
        self.groups: dict[Forms, Any] = {}

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        form = self.form_of(shape, dtype)
        return self.made(form, self.block(form[2]) if form[2] else None, 0)

    def arrays(self, forms: Forms) -> tuple[Block | None, list[Any]]:
        """Memory, and several arrays in it; each begins where a block of memory might."""
        group = self.groups.get(forms)
        if group is None:
            if len(self.groups) > MOST_LAUNCHES:
                self.groups.clear()
            known = [self.form_of(shape, np.dtype(dtype)) for shape, dtype in forms]
            starts = [0, *accumulate(-(-form[2] // ALIGNED) * ALIGNED for form in known)]
            group = self.groups[forms] = starts.pop(), [*zip(known, starts, strict=True)]
        size, places = group
        block = self.block(size) if size else None
        return block, [self.made(form, block, start) for form, start in places]

    def made(self, form: Any, block: Block | None, start: int) -> Any:
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
            if len(self.forms) > MOST_LAUNCHES:
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
        number, like = number_of(first._numba_type_), dict(first.__dict__)
        words = head(first.size, dtype), (*first.shape, *first.strides)
        return like, DeviceNDArray, size, driver.MemoryPointer, number, *words

    def block(self, size: int) -> Any:
        """Memory that is given back on the same stream once nobody holds it."""
        if running.device not in self.prepared:
            self.prepare(self.current())
        stream = self.streams.get(running.pointer)
        if stream is None:
            stream = self.streams[running.pointer] = stream_of(running.pointer)
        return Block(size, stream)

    def current(self) -> int:
        """The number of the current device: the driver says it sooner than Numba, once a thread has one."""
        if running.driver is None:
            from numba.cuda.cudadrv.driver import driver

            cuda.current_context()
            running.driver = driver
        return int(running.driver.cuCtxGetDevice())

    def prepare(self, device: int) -> None:
        """What is freed stays in CUDA's pool, at synchronisations too: cuda-core sees to it."""
        from cuda.core import Device

        ours = Device(device)
        ours.set_current()
        self.prepared[device] = ours.memory_resource


pool = Pool()


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    out = empty(shape, dtype)
    if out.size:
        _clear(out)
    return out


def together(*forms: tuple[tuple[int, ...], Any]) -> list[Any]:
    """Arrays in one piece of memory, of whatever was there."""
    return [empty(shape, dtype) for shape, dtype in forms] if SIMULATED else pool.arrays(forms)[1]


def zeros_together(*forms: tuple[tuple[int, ...], Any]) -> list[Any]:
    """Arrays of zeros in one piece of memory, which is cleared by one launch."""
    if SIMULATED:
        return [zeros(shape, dtype) for shape, dtype in forms]
    block, arrays = pool.arrays(forms)
    if block is not None:
        _clear(pool.made(pool.form_of((block.size,), np.dtype(np.uint8)), block, 0))
    return arrays


def _clear(array: Any) -> None:
    if SIMULATED:
        array[...] = 0
    else:
        cuda.driver.device_memset(array, 0, array.nbytes, stream=running.stream)


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
        out.copy_to_device(array, stream=running.stream)
        return
    from srcgrad.runtime.device_kernels import copy_elements

    copy_elements(out, array)


def copied(array: Any) -> Any:
    """A copy, in C order."""
    out = empty(tuple(array.shape), array.dtype)
    copy_into(out, array)
    return out


def to_host(array: Any) -> Any:
    """A copy, which is there when this returns: on a stream of the user's Numba would not wait for it."""
    out = array.copy_to_host(stream=running.stream)
    if running.pointer:
        running.stream.synchronize()
    return out


def cell(dtype: Any) -> Any:
    """Room for one number."""
    return empty((1,), dtype)


def put(value: Any, dtype: Any) -> Any:
    """A number of the host's, on the device."""
    from srcgrad.runtime.device_kernels import set_number

    out = cell(dtype)
    set_number(out, value)
    return out


def fetch(place: Any) -> Any:
    """A number of the device's, once all that was launched before is done.

    The host decides by it: so it looks first whether a kernel has stopped, which has left numbers of nobody's.
    """
    finish(running.status)
    return to_host(place)[0]


# --------------------------------------------------------------------------------------------------------- kernels


def on_grid(code: Any, grid: int | tuple[int, ...], block: int | tuple[int, ...], shared_bytes: int = 0) -> Any:
    """Compiled code with what it is launched by, on the stream of this call."""
    return _on_grid(code, grid, block, shared_bytes, running.pointer, running.device)


@lru_cache(1000)
def _on_grid(code: Any, grid: Any, block: Any, shared_bytes: int, pointer: int, device: int) -> Any:
    if SIMULATED:
        return copy(code)[grid, block, 0, shared_bytes]  # the simulator's own would remember the last grid alone
    grid, block = (shape if isinstance(shape, tuple) else (shape,) for shape in (grid, block))
    return Configured(code, grid, block, pointer, shared_bytes)


_compiled: dict[str, Any] = {}  # kernels, by their keys


class Kernel:
    """A kernel by the number of its iterations: `f_i[n, m](x, y)`."""

    def __init__(
        self,
        function: Callable[..., Any],
        sums: dict[str, Any],
        shared: tuple[str, ...] = (),
        by_rows: str = "",
        turns: int = 1,
        resident: bool = False,
    ) -> None:
        self.function, self.by_rows, self.turns = function, by_rows, turns
        self.resident = bool(by_rows or sums or shared or resident)  # there are no more blocks than run at one time
        self.sums = {name: kind[0] if isinstance(kind, tuple) else kind for name, kind in sums.items()}
        self.extremes = {name: kind[1] for name, kind in sums.items() if isinstance(kind, tuple)}
        names = function.__code__.co_varnames
        self.shared = [names.index(name) for name in shared]  # arguments of which blocks have sums of their own
        self.may_stop = "status" in names  # its threads look at it, or report there
        self.fastmath = False
        self.key = ""  # what tells apart what is compiled
        self.cache: Any = None  # where its machine code is kept
        self.launches: dict[Any, Launch] = {}

    @cached_property
    def compiled(self) -> Any:
        if self.key in _compiled:  # of another module
            return _compiled[self.key]
        made = cuda.jit(self.function, fastmath=self.fastmath)
        if self.cache is not None:
            made._cache = self.cache
        if not SIMULATED:
            made.compile = _compiling(made.compile, self.function)
        return _compiled.setdefault(self.key, made) if self.key else made

    def __getitem__(self, lengths: int | tuple[int, ...]) -> Launch:
        key = lengths, running.pointer, running.device
        launch = self.launches.get(key)
        if launch is None:
            if len(self.launches) > MOST_LAUNCHES:
                self.launches.clear()
            launch = self.launches[key] = Launch(self, lengths if isinstance(lengths, tuple) else (lengths,))
        return launch

    @property
    def by_one(self) -> Launch:
        """The kernel by one thread."""
        return self[()]


def _compiling(compile_for: Callable[[Any], Any], function: Callable[..., Any]) -> Callable[[Any], Any]:
    def compiling(signature: Any) -> Any:
        with compiled_as_kernel(function):
            return compile_for(signature)

    return compiling


MOST_TURNS = 4  # of a thread along the outermost of three axes
MOST_LAUNCHES = 1000  # forms of one kernel that are remembered


class Launch:
    """A kernel for ranges of these lengths, innermost last, along which threads of one block lie."""

    def __init__(self, kernel: Kernel, lengths: tuple[int, ...]) -> None:
        self.kernel, self.lengths = kernel, tuple(map(int, lengths))  # CUDA takes no integers of NumPy's
        self.is_idle = any(length <= 0 for length in self.lengths)
        self.sums: dict[tuple[bool, ...], Any] = {}  # what becomes of what blocks have added up
        lanes = {"warp": LANES, "block": THREADS}.get(kernel.by_rows)
        self.block = (lanes, THREADS // lanes) if lanes else self._block()
        self.grid = self._grid(MOST_RESIDENT if kernel.resident else (1 << 31) - 1)
        self.configure(0)

    def _block(self) -> tuple[int, ...]:
        block, left = [], THREADS
        for axis, length in enumerate(reversed(self.lengths)):
            wide = 1
            while wide < min(-(-length // self.in_turns(axis)), left, 64 if axis == 2 else left):
                wide *= 2
            if axis == 0 and len(self.lengths) > 1 and wide > 32:
                wide = _with_few_idle(length, wide)
            block.append(wide)
            left //= wide
        if block:
            block[0] *= left  # sums count on the number of threads of a block
        return tuple(block) or (1,)

    def in_turns(self, axis: int) -> int:
        """How many iterations along an axis, counted from the innermost, a thread runs."""
        return self.kernel.turns if axis == len(self.lengths) - 1 else 1

    def _grid(self, most: int) -> tuple[int, ...]:
        """So many blocks at most."""
        if self.kernel.by_rows:
            return max(1, min(-(-self.lengths[0] // self.block[1]), most)), 1
        grid = []
        for axis, (length, wide) in enumerate(zip(reversed(self.lengths), self.block, strict=False)):
            limit = most if axis == 0 else min(most, 65535)
            blocks = max(1, min(-(-length // (wide * self.in_turns(axis))), limit))
            grid.append(blocks)
            most = max(1, most // blocks)
        if len(grid) == 3:  # finding out where it is takes a thread as long as half an element: once for a few
            turns = max(1, min(MOST_TURNS, prod(grid) // (4 * MOST_RESIDENT)))
            grid[2] = -(-grid[2] // turns)
        return tuple(grid) or (1,)

    def owners(self, size: int) -> int:
        """How many threads, or rows, have so many bytes of their own: as many as run at one time, if there is room."""
        in_block = self.block[1] if self.kernel.by_rows else prod(self.block)
        most = max(1, min(MOST_RESIDENT, MOST_OWN // max(1, size * in_block)))
        if self.blocks > most:  # (never back to more of them: another array of the same launch has room for these)
            self.grid = self._grid(most)
            self.configure(0)
        return self.blocks * in_block

    def configure(self, shared_bytes: int) -> None:
        self.shared_bytes = shared_bytes
        self.sums.clear()  # there may be other blocks
        self.configured = on_grid(self.kernel.compiled, self.grid, self.block, shared_bytes)

    def fit(self, args: tuple[Any, ...]) -> None:
        """Room for the sums of a block, where they are few."""
        wanted = sum(args[k].nbytes for k in self.kernel.shared)
        wanted = wanted if wanted <= MOST_SHARED else 0
        if wanted != self.shared_bytes:
            self.configure(wanted)

    @property
    def blocks(self) -> int:
        return prod(self.grid)

    def __call__(self, *args: Any, **starts: Any) -> Any:
        if self.kernel.shared and not self.is_idle:
            self.fit(args)
        running.launched |= self.kernel.may_stop and not self.is_idle
        if not starts:
            if not self.is_idle:
                self.configured(*args)
            return None
        values = tuple(starts.values())
        if self.is_idle:
            cells = list(map(_started, values, self.kernel.sums.values()))
        else:
            held = tuple(map(_is_cell, values))
            sums = self.sums.get(held)
            if sums is None:
                from srcgrad.runtime.device_sums import Sums

                sums = self.sums[held] = Sums(self, held)
            cells = sums.launch(self.configured, args, values)
        return cells[0] if len(cells) == 1 else cells


def _with_few_idle(length: int, wide: int) -> int:
    """So many threads beside each other, or fewer (a warp at least), that hardly any lie beyond the end of a row."""
    widths = [wide] + [w for w in (128, 64, 32) if w < wide]
    lanes = {w: -(-length // w) * w for w in widths}
    return next(w for w in widths if 16 * lanes[w] <= 17 * min(lanes.values()))


def _started(start: Any, dtype: Any) -> Any:
    return start if _is_cell(start) else put(start, dtype)


def _is_cell(start: Any) -> bool:
    return hasattr(start, "copy_to_host")


def kernel(
    *function: Callable[..., Any],
    block_sums: tuple[str, ...] = (),
    by_rows: str = "",
    turns: int = 1,
    resident: bool = False,
    **sums: Any,
) -> Any:
    """`@kernel`, or `@kernel(s=np.float64)` for one whose threads add up s, `(np.float64, 'maximum')` for the greatest.

    `block_sums`: arguments that many threads add to.  `by_rows`: a warp, or a block, runs each iteration.  `turns`: how
    many iterations a thread runs, of rows where there are rows.  `resident`: threads add up for as long as they can.
    """
    if function:
        return Kernel(function[0], {})
    return lambda wrapped: Kernel(wrapped, sums, block_sums, by_rows, turns, resident)


def scratch(launch: Launch, dims: tuple[int, ...], dtype: Any) -> Any:
    """An array for each thread of a launch: neighbours in a warp lie beside each other; or for each row."""
    owners = launch.owners(prod(map(int, dims)) * np.dtype(dtype).itemsize)
    return empty((owners, *dims) if launch.kernel.by_rows else (*dims, owners), dtype)


def room() -> int:
    """How many values of each thread there is room for."""
    return running.rows


def stack(launch: Launch, dtype: Any) -> Any:
    """Room for what each thread keeps."""
    return scratch(launch, (running.rows,), dtype)


# ---------------------------------------------------------------------------------------------------------- status


def new_status(errors: tuple[tuple[type[Exception], str, int], ...]) -> Any:
    """What kernels report: the number of an error, how many rows they had need of, and the numbers of the error.

    Of each error: its kind, its message, and how many numbers belong to that.
    """
    running.errors = errors
    running.status = zeros((2 + max([count for _, _, count in errors], default=0),), np.int64)
    return running.status


def finish(status: Any) -> None:
    """Raise what a kernel reported."""
    error = _of_kernels(status)
    if error is not None:
        raise error


def reported() -> Exception | None:
    """What a kernel, or a library routine, has reported that nobody has looked at."""
    return _of_kernels(running.status) or _of_routines()


def _of_kernels(status: Any) -> Exception | None:
    if not running.launched:
        return None
    running.launched = False
    code, rows, *numbers = to_host(status).tolist()
    error, message, count = running.errors[code - 1] if code else (None, "", 0)
    if error is MoreRows:
        rows = max(rows, numbers[0])
    if rows:  # first: threads that had no room for what they kept may have found other errors in what they read
        running.rows = max(2 * running.rows, 1 << int(rows).bit_length())
        return MoreRows()
    if error is None:
        return None
    return error(message, *numbers[:count]) if issubclass(error, CompiledError) else error(message)


__all__ = list(HOST_NAMES)
