"""Blocks of a device's memory, each in the order of a stream: what comes later there may have the same memory.

CUDA's own pool hands them out and takes them back (`cuMemAllocAsync`), and nothing waits for that; but it takes the
driver as long as to launch a kernel.  So a few of each size are kept at hand, where the stream is there for ever.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from srcgrad.runtime.gpu.device_call import LEGACY, running
from srcgrad.runtime.gpu.launching import check, driver, stream_of

PER_THREAD = "CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM"  # where it is set, stream 0 is another one for each thread


def default_streams(environment: Mapping[str, str]) -> tuple[int, ...]:
    """Those that nobody destroys, and all threads mean: another may get the number of one that is still at work."""
    return (LEGACY,) if environment.get(PER_THREAD, "0") not in ("", "0") else (0, LEGACY)


DEFAULT = default_streams(os.environ)
MOST_PLACES = 8  # of one size
MOST_BYTES = 128 << 20  # of one size: who writes more than that takes longer than the driver
MOST_TOGETHER = 2 << 30  # bytes of all sizes
MOST_FORMS = 1000  # that are remembered


class Places:
    """Memory of one size on one stream, that nobody holds."""

    def __init__(self, size: int, pointer: int, blocks: Blocks) -> None:
        self.size, self.stream, self.blocks = size, stream_of(pointer), blocks
        self.allocate, self.release = driver().cuMemAllocAsync, driver().cuMemFreeAsync
        self.most = min(MOST_PLACES, MOST_BYTES // size) if pointer in DEFAULT else 0
        self.free: list[tuple[Any, int]] = []

    def new(self) -> tuple[Any, int]:
        error, pointer = self.allocate(self.size, self.stream)
        if error:
            self.blocks.give_back()
            error, pointer = self.allocate(self.size, self.stream)
        if error:
            raise MemoryError(f"{self.size:,} bytes of a GPU: {error.name}") from None
        return pointer, int(pointer)

    def give_back(self) -> None:
        """All of it; and what is still held, once it is not."""
        self.most = 0
        with suppress(IndexError):  # none is left, or another thread was quicker
            while True:
                self.release(self.free.pop()[0], self.stream)


class Block:
    """A piece of memory, for as long as anybody holds it."""

    __slots__ = ("address", "places", "pointer")

    def __init__(self, places: Places) -> None:
        self.places, self.pointer = places, None
        try:
            self.pointer, self.address = places.free.pop() if places.free else places.new()
        except IndexError:  # another thread was quicker
            self.pointer, self.address = places.new()

    def pointer_to(self, start: int) -> Any:
        return driver().CUdeviceptr(self.address + start) if start else self.pointer

    def clear(self) -> None:
        places = self.places
        if running.record is not None:
            running.record.note_clear(self.address, places.size, places.stream)
        (error,) = driver().cuMemsetD8Async(self.pointer, 0, places.size, places.stream)
        if error:
            check("cuMemsetD8Async", error)

    def __del__(self) -> None:
        if self.pointer is None:
            return
        places = self.places
        if running.record is not None:
            running.record.note_given_back(self.address)
        if len(places.free) < places.most:
            places.free.append((self.pointer, self.address))
        else:
            places.release(self.pointer, places.stream)


class Blocks:
    """Those of all devices and streams: `places` by size, device and the address of a stream."""

    def __init__(self) -> None:
        self.places: dict[tuple[int, int, int], Places] = {}
        self.together = 0  # bytes that may be kept

    def places_for(self, key: tuple[int, int, int]) -> Places:
        size, _, pointer = key
        places = Places(size, pointer, self)
        self.together += places.most * size
        if self.together > MOST_TOGETHER or len(self.places) > MOST_FORMS:
            self.give_back()
        return self.places.setdefault(key, places)

    def give_back(self) -> None:
        """What nobody holds."""
        self.together = 0
        for key in list(self.places):
            places = self.places.pop(key, None)
            if places is not None:
                places.give_back()


__all__ = ["DEFAULT", "MOST_FORMS", "PER_THREAD", "Block", "Blocks", "default_streams"]
