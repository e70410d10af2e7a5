"""Memory that knows who may use it, what was written, and which threads touched an element with nothing between them.

Of an element the last read, write and atomic update are remembered: by which thread of which launch, in which stretch
between barriers.  Two touches by different threads, one of them a write, are in order only if a barrier lies between
them that both took part in: of their warp, or of their block.  Nothing orders blocks of one launch.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
FREE, HANDED_OUT, WRITTEN = range(3)
SOON = 16 << 20  # bytes: then what was freed is used again
GUARD = 256  # bytes between two allocations
ALONE, WARP, BLOCK, GRID = range(4)  # who touched it since the last order among them: a thread, or several of these


class Fault(Exception):
    """What a GPU may get away with, and must not be given."""


@dataclass
class Who:
    """The threads that run an instruction."""

    launch: int
    thread: np.ndarray  # of the grid
    warp: np.ndarray
    block: np.ndarray
    warp_time: np.ndarray  # how many barriers of the warp, and of the block, they have passed
    block_time: np.ndarray
    warps_in: np.ndarray  # of every thread of the grid: its warp and its block
    blocks_in: np.ndarray

    def some(self, chosen: np.ndarray) -> Who:
        own = (self.thread, self.warp, self.block, self.warp_time, self.block_time)
        return Who(self.launch, *(a[chosen] for a in own), self.warps_in, self.blocks_in)

    def distance(self, other: np.ndarray) -> np.ndarray:
        """ALONE where the other thread is the same, or what both belong to."""
        near = np.where(self.blocks_in[other] == self.block, BLOCK, GRID)
        near[self.warps_in[other] == self.warp] = WARP
        near[other == self.thread] = ALONE
        return near


class Touches:
    """Of each element the last touch of one kind."""

    def __init__(self, size: int) -> None:
        self.stamp = np.zeros(size, np.int64)  # launch << 32 | thread
        self.time = np.zeros(size, np.int64)  # block_time << 32 | warp_time
        self.spread = np.zeros(size, np.int8)
        self.launch = 0  # the last one with such a touch

    def before(self, at: np.ndarray, who: Who) -> tuple[np.ndarray, np.ndarray] | None:
        """Which elements others have touched in this launch, with no order since; and how far those are spread."""
        if self.launch != who.launch:
            return None
        stamp = self.stamp[at]
        current = stamp >> 32 == who.launch
        if not current.any():
            return None
        time = self.time[at]
        spread = np.maximum(self.spread[at], who.distance(np.where(current, stamp & 0xFFFFFFFF, who.thread)))
        after_block, after_warp = who.block_time > time >> 32, who.warp_time > time & 0xFFFFFFFF
        ordered = (spread <= BLOCK) & after_block | (spread <= WARP) & after_warp
        return current & (spread > ALONE) & ~ordered, np.where(current & ~ordered, spread, ALONE)

    def note(self, at: np.ndarray, who: Who, before: tuple[np.ndarray, np.ndarray] | None) -> None:
        self.launch = who.launch
        self.stamp[at] = who.launch << 32 | who.thread
        self.time[at] = who.block_time << 32 | who.warp_time
        self.spread[at] = ALONE
        last = self.stamp[at] & 0xFFFFFFFF  # of several that touch one element here, the last
        if before is not None or (last != who.thread).any():
            spread = ALONE if before is None else before[1]
            np.maximum.at(self.spread, at, np.maximum(spread, who.distance(last)).astype(np.int8))


class Memory:
    def __init__(self, name: str, size: int, base: int | None = None, watched: bool = True) -> None:
        self.name, self.size = name, -(-size // 8) * 8
        held = np.zeros(self.size + GUARD, np.uint8)
        start = -held.ctypes.data % GUARD
        self.bytes = held[start : start + self.size]
        self.base = self.bytes.ctypes.data if base is None else base
        self.views = {n: self.bytes.view(kind) for n, kind in UNSIGNED.items()}
        self.state = np.zeros(self.size, np.uint8)
        if base is not None:
            self.state[:] = HANDED_OUT
        self.kinds = {kind: Touches(self.size) for kind in ("read", "write", "atomic", "flag")} if watched else {}

    def places(self, address: np.ndarray, size: int, what: str) -> np.ndarray:
        at = (address - np.uint64(self.base)).view(np.int64)
        if (at % size).any():
            raise Fault(f"misaligned: {what}")
        if at.min() < 0 or at.max() + size > self.size or (self.state[at] == FREE).any():
            raise Fault(f"outside of what is allocated in {self.name} memory: {what}")
        return at

    def load(self, address: np.ndarray, size: int, who: Who, what: str) -> np.ndarray:
        at = self.places(address, size, what)
        if (self.state[at + (size - 1)] != WRITTEN).any():
            raise Fault(f"nobody has written what is read: {what}")
        self.touch("read", at, who, ("write", "atomic"), what)
        return self.views[size][at // size]

    def store(self, address: np.ndarray, values: Any, size: int, who: Who, what: str) -> None:
        at = self.places(address, size, what)
        self.touch("write", at, who, ("read", "write", "atomic", "flag"), what)
        self.views[size][at // size] = values
        self.written(at, size)

    def update(self, address: np.ndarray, size: int, who: Who, what: str, is_flag: bool) -> np.ndarray:
        """Where an atomic operation finds its elements.  Flags may be read at any time: both values make sense then."""
        at = self.places(address, size, what)
        if (self.state[at] != WRITTEN).any():
            raise Fault(f"nobody has written what is added to: {what}")
        self.touch(*(("flag", at, who, ("write",)) if is_flag else ("atomic", at, who, ("read", "write"))), what)
        return at // size

    def written(self, at: np.ndarray, size: int) -> None:
        for k in range(size):
            self.state[at + k] = WRITTEN

    def touch(self, kind: str, at: np.ndarray, who: Who, against: tuple[str, ...], what: str) -> None:
        if not self.kinds:
            return
        for other in against:
            found = self.kinds[other].before(at, who) if other != kind else None
            if found is not None:
                self.refuse(found[0], who, at, other, what)
        own = self.kinds[kind].before(at, who)
        if kind in against and own is not None:
            self.refuse(own[0], who, at, kind, what)
        self.kinds[kind].note(at, who, own)
        if kind in against:
            several = self.kinds[kind].spread[at] > ALONE
            self.refuse(several, who, at, kind, what)

    def refuse(self, found: np.ndarray, who: Who, at: np.ndarray, other: str, what: str) -> None:
        if found.any():
            k = int(np.flatnonzero(found)[0])
            before = int(self.kinds[other].stamp[at[k]] & 0xFFFFFFFF)
            raise Fault(
                f"a race in {self.name} memory: thread {who.thread[k]} meets a {other} by thread {before}, "
                f"with no barrier between them: {what}"
            )


class Arena(Memory):
    """The memory of the device: what is freed is not handed out again before some other memory was."""

    def __init__(self, size: int) -> None:
        super().__init__("global", size)
        self.next = 0
        self.held: dict[int, int] = {}
        self.lock = threading.RLock()  # memory may be freed at any time

    def allocate(self, size: int) -> int:
        with self.lock:
            return self._allocated(size)

    def _allocated(self, size: int) -> int:
        wanted = -(-max(size, 1) // GUARD) * GUARD + GUARD
        self.next = 0 if self.next > SOON else self.next
        for start in (self.next, 0):
            while start + wanted <= self.size:
                taken = np.flatnonzero(self.state[start : start + wanted])
                if not taken.size:
                    self.next = start + wanted
                    self.held[start] = size
                    self.state[start : start + size] = HANDED_OUT
                    self.bytes[start : start + size] = 0xFF  # nan
                    return self.base + start
                start = -(-(start + int(taken[-1]) + 1) // GUARD) * GUARD + GUARD
        raise MemoryError(f"{size} bytes of a virtual GPU")

    def free(self, address: int) -> None:
        start = address - self.base
        with self.lock:
            size = self.held.pop(start, None)
            if size is None:
                raise Fault("what is freed was not allocated")
            self.state[start : start + size] = FREE

    def copy_in(self, address: int, data: np.ndarray) -> None:
        start = self.span(address, data.size)
        self.bytes[start : start + data.size] = data
        self.state[start : start + data.size] = WRITTEN

    def copy_out(self, address: int, size: int) -> np.ndarray:
        start = self.span(address, size)
        return self.bytes[start : start + size]

    def copy_within(self, target: int, source: int, size: int) -> None:
        to, of = self.span(target, size), self.span(source, size)
        self.bytes[to : to + size] = self.bytes[of : of + size]
        self.state[to : to + size] = self.state[of : of + size]

    def filled(self, address: int, size: int) -> None:
        """A library has been given this memory: nobody can tell what it writes."""
        if 0 <= address - self.base < self.size:
            start = self.span(address, size)
            self.state[start : start + size] = WRITTEN

    def span(self, address: int, size: int) -> int:
        start = address - self.base
        if start < 0 or start + size > self.size or (self.state[start : start + size] == FREE).any():
            raise Fault("a copy beyond what is allocated")
        return start
