"""What the host's part of a program for a GPU calls: memory of the device, kernels, and numbers on their way back.

s_cell = f_i[n](x, n, y, s=0.0)     n threads; their sums, and then the sum of those, in a cell on the device
s = fetch(s_cell)                   the host waits for it
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np
from numba import cuda

from srcgrad.errors import CompiledError
from srcgrad.runtime.errors import MoreRows
from srcgrad.runtime.gpu.compiled_kernels import compiled_as_kernel
from srcgrad.runtime.gpu.device_call import SIMULATED, running
from srcgrad.runtime.gpu.device_memory import cell, copied, empty, own, pool, put, to_host, zeros, zeros_together
from srcgrad.runtime.gpu.launching import LONGEST, Configured

THREADS = 8 if SIMULATED else 256  # of a block; in the simulator each is one of Python's
LANES = 8 if SIMULATED else 32  # threads that run a row together: a warp
MOST_BLOCKS = 3 if SIMULATED else 1 << 20  # of a launch: what more there is to do is done by the same threads
MOST_RESIDENT = 2 if SIMULATED else 2112  # blocks of threads with memory or sums of their own: 16 on a processor
MOST_OWN = 1 << 30  # bytes of one array of which each thread has a part: fewer threads run where each needs much
MOST_SHARED = 24 << 10  # bytes of a block's own sums: eight blocks then fit on a processor


def begin(ours: bool, rows: int) -> None:
    """A call begins."""
    running.ours, running.rows = ours, rows
    running.status, running.errors, running.launched = None, (), False
    running.watched.clear()
    if not (SIMULATED or running.is_alone):
        running.device = pool.current()


def check_watched() -> None:
    """Raise what a library routine reported: one wait at the end of a call, instead of one behind each routine."""
    error = _of_routines() if running.watched else None
    if error is not None:
        raise error


def _of_routines() -> Exception | None:
    watched, running.watched = running.watched, []
    failed = (message for info, message in watched if (to_host(info) > 0).any())
    return next((np.linalg.LinAlgError(message) for message in failed), None)


# --------------------------------------------------------------------------------------------------------- kernels


def on_grid(
    code: Any,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    shared_bytes: int = 0,
    for_long: Callable[[], Any] | None = None,
) -> Any:
    """Compiled code with what it is launched by, on the stream of this call; what makes another one for long arrays."""
    return _on_grid(code, grid, block, shared_bytes, for_long, running.pointer, running.device)


@lru_cache(1000)
def _on_grid(code: Any, grid: Any, block: Any, shared_bytes: int, for_long: Any, pointer: int, device: int) -> Any:
    if SIMULATED:
        return copy(code)[grid, block, 0, shared_bytes]  # the simulator's own would remember the last grid alone
    grid, block = (shape if isinstance(shape, tuple) else (shape,) for shape in (grid, block))
    return Configured(code, grid, block, pointer, shared_bytes, for_long)


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
        self.goes_round = bool(sums or shared or resident)  # its threads add up for as long as they can
        self.resident = bool(by_rows) or self.goes_round  # there are no more blocks than run at one time
        self.sums = {name: kind[0] if isinstance(kind, tuple) else kind for name, kind in sums.items()}
        self.extremes = {name: kind[1] for name, kind in sums.items() if isinstance(kind, tuple)}
        names = function.__code__.co_varnames
        self.shared = [names.index(name) for name in shared]  # arguments of which blocks have sums of their own
        self.may_stop = "status" in names  # its threads look at it, or report there
        self.fastmath = False
        self.key = ""  # what tells apart what is compiled
        self.kept: Callable[[str], Any] | None = None  # by a key: where machine code is kept
        self.launches: dict[Any, Launch] = {}

    @cached_property
    def compiled(self) -> Any:
        return self._compiled(is_narrow=True)

    @cached_property
    def compiled_for_long(self) -> Any:
        """The same for arrays and axes that are longer than `LONGEST`."""
        return self._compiled(is_narrow=False)

    def for_long(self) -> Any:
        return self.compiled_for_long

    def _compiled(self, is_narrow: bool) -> Any:
        key = self.key if is_narrow else f"{self.key} for long arrays"
        if key in _compiled:  # of another module
            return _compiled[key]
        made = cuda.jit(self.function, fastmath=self.fastmath)
        if self.kept is not None:
            made._cache = self.kept(key)
        if not SIMULATED:
            made.compile = self._compiling(made.compile, is_narrow)
        return _compiled.setdefault(key, made) if self.key else made

    def _compiling(self, compile_for: Callable[[Any], Any], is_narrow: bool) -> Callable[[Any], Any]:
        def compiling(signature: Any) -> Any:
            with compiled_as_kernel(self.function, is_narrow, self.goes_round):
                return compile_for(signature)

        return compiling

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


MOST_TURNS = 4  # of a thread along the outermost of three axes
MOST_LAUNCHES = 1000  # forms of one kernel that are remembered


class Launch:
    """A kernel for ranges of these lengths, innermost last, along which threads of one block lie."""

    def __init__(self, kernel: Kernel, lengths: tuple[int, ...]) -> None:
        self.kernel, self.lengths = kernel, tuple(map(int, lengths))  # CUDA takes no integers of NumPy's
        self.is_idle = any(length <= 0 for length in self.lengths) and not kernel.sums
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
            turns = max(1, min(MOST_TURNS, prod(grid) // (2 * MOST_RESIDENT)))
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
        is_long = any(length > LONGEST for length in self.lengths)
        code = self.kernel.compiled_for_long if is_long else self.kernel.compiled
        self.configured = on_grid(code, self.grid, self.block, shared_bytes, self.kernel.for_long)

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
        held = tuple(map(_is_cell, values))
        sums = self.sums.get(held)
        if sums is None:
            from srcgrad.runtime.gpu.device_sums import Sums

            sums = self.sums[held] = Sums(self, held)
        cells = sums.launch(self.configured, args, values)
        return cells[0] if len(cells) == 1 else cells


def _with_few_idle(length: int, wide: int) -> int:
    """So many threads beside each other, or fewer (a warp at least), that hardly any lie beyond the end of a row."""
    widths = [wide] + [w for w in (128, 64, 32) if w < wide]
    lanes = {w: -(-length // w) * w for w in widths}
    return next(w for w in widths if 16 * lanes[w] <= 17 * min(lanes.values()))


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
    record, running.record = running.record, None
    if record is not None:
        record.note_finish(status)
    error = _of_kernels(status)
    running.record = record
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


def fetch(place: Any) -> Any:
    """A number of the device's, once all that was launched before is done.

    The host decides by it: so it looks first whether a kernel has stopped, which has left numbers of nobody's.
    """
    finish(running.status)
    return to_host(place)[0]


# What generated modules import, and the rest of the runtime
__all__ = [
    "cell", "copied", "empty", "fetch", "finish", "kernel", "new_status", "own", "put", "room", "scratch",
    "stack", "zeros", "zeros_together",
]  # fmt: skip
