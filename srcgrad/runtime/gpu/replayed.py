"""A host's part that is not run again: what it gave to the driver is given once more, with other addresses.

first call         the host's part checks, computes lengths, asks for memory, launches kernels
second call        so it does, and that is written down
from then on       memory, addresses, launches

For arrays of the same types, shapes and strides, and for the same numbers, a host's part that waits for nothing does
the same: there is nothing else that it decides by.  Of all that it computes, a list of launches is left.  Their
arguments are packed; the driver is told where each lies, and all addresses lie together, where a call writes its own.
"""

from __future__ import annotations

import builtins
import ctypes
import dis
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from threading import Lock
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from srcgrad.runtime import device, device_arrays
from srcgrad.runtime.device_library import ROUTINES
from srcgrad.runtime.gpu import device_memory, launching
from srcgrad.runtime.gpu.device_call import running
from srcgrad.runtime.gpu.device_memory import aligned, form_of, pool
from srcgrad.runtime.gpu.launching import LASTING, NUMBERS, WORDS, Prepared, check, words_of

MOST_KEYS = 256  # of one program, that are remembered
MOST_STEPS = 2_000  # of a call that is: each takes a kilobyte of the host's memory
MOST_TOGETHER = 20_000  # of one program
AHEAD = 4  # words of an array ahead of its address

# fmt: off
PRODUCTS = "matmul", "matmul_nt", "matmul_tn", "matmul_tt", "matvec", "matvec_t", "outer"
ALLOWED = frozenset((
    device.cell, device.copied, device.empty, device.finish, device.new_status, device.own, device.put, device.scratch,
    device.zeros, device.zeros_together, device_arrays.absorb, device_arrays.conform, device_arrays.conform_zeros,
    device_arrays.reshaped, device_arrays.subscript, device_arrays.transposed, device_arrays.with_split_axis,
    device_memory.together,
    *(ROUTINES[f"{add}{product}"] for add in ("", "add_") for product in PRODUCTS),
    abs, bool, float, int, len, max, min, range,
))
ATTRIBUTES = frozenset((
    "shape", "by_one", "append", "pop", "maximum", "minimum", "sqrt", "exp", "log", "sin", "cos", "tanh",
    "bool", "int32", "int64", "float32", "float64", "complex64", "complex128",
))
# fmt: on


REAL = NUMBERS - {np.complex64, np.complex128, np.clongdouble}  # complex ones have two signs of zero


def is_array(value: Any) -> bool:
    return getattr(value, "__cuda_ndarray__", False) is True


def repeats_itself(host: FunctionType) -> bool:
    """Does it make the same of the same types, shapes and numbers, and wait for nothing?  By all that it names."""
    return all(map(_is_allowed, _named(host.__code__, host.__globals__)))


def _named(code: CodeType, scope: dict[str, Any]) -> Iterator[Any]:
    """What the code names: objects, and attributes as text."""
    for line in dis.get_instructions(code):
        if line.opname == "LOAD_GLOBAL":
            yield scope.get(line.argval, vars(builtins).get(line.argval))
        elif line.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            yield str(line.argval)
        elif line.opcode in dis.hasname:
            yield None  # an import, or something that others see
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _named(constant, scope)


def _is_allowed(named: Any) -> bool:
    if isinstance(named, str):
        return named in ATTRIBUTES
    if isinstance(named, device.Kernel) or (isinstance(named, type) and issubclass(named, Exception)):
        return True
    return named is np or (callable(named) and named in ALLOWED)


class Replays:
    """What the host's part of a program was found to do, by what it was called with."""

    def __init__(self) -> None:
        self.found: dict[Any, Replay | None] = {}
        self.seen: set[Any] = set()

    def results(self, values: Sequence[Any], run: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """What `run(values)` returns: device arrays, and numbers of the host's."""
        key = self.key(values)
        replay = self.found.get(key)
        if replay is not None:
            results = replay(values)
            return run(values) if results is None else results
        if key in self.found or not self.came_before(key):
            return run(values)
        record = Record(values)
        if record.shares_memory:
            return run(values)
        running.record = record
        try:
            results = run(values)
        finally:
            running.record = None
        self.remember(key, record.replay(results))
        return results

    def remember(self, key: Any, replay: Replay | None) -> None:
        steps = [len(each.steps) for each in (replay, *self.found.values()) if each is not None]
        if sum(steps) > MOST_TOGETHER:
            self.found.clear()
        self.found[key] = replay

    def key(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """All that the host's part may decide by."""
        if not running.is_alone:
            running.device = pool.current()
        key: list[Any] = [running.pointer, running.device]
        for value in values:
            kind = type(value)
            if kind in REAL:
                key += (kind, value or str(value))  # 0.0 is not -0.0
            elif is_array(value):
                number, _ = value.__dict__.get(WORDS) or words_of(value)
                key += (number, value.shape, value.strides)
            else:
                key += (kind, repr(value))
        return tuple(key)

    def came_before(self, key: Any) -> bool:
        """The first time nothing is written down: the same numbers may never come again."""
        if key in self.seen:
            return True
        if len(self.seen) >= MOST_KEYS:
            self.seen.clear()
            self.found.clear()
        self.seen.add(key)
        return False


class Place(NamedTuple):
    """Where something lies: in which of the pieces of memory, and how far behind its beginning."""

    source: int  # the arrays that were handed in, and then what was asked for
    offset: int


class Addresses(NamedTuple):
    """Where addresses are written that differ from call to call."""

    where: int
    slots: list[int]  # by the number that each has in the record

    def at(self, slot: int) -> int:
        return self.where + 8 * self.slots[slot]


class Step(NamedTuple):
    """What the driver, or a library, is asked for: with the addresses in some slots, or with these arguments."""

    call: Callable[..., Any]
    addresses: tuple[int, ...]
    arguments: tuple[Any, ...]
    held: Any = None


class Record:
    """What the host's part of a program asks the driver for, while it runs."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self.arrays = [k for k, value in enumerate(values) if is_array(value)]
        extents = [(source, _extent(values[k])) for source, k in enumerate(self.arrays) if values[k].size]
        self.extents = [(begin, end, source) for source, (begin, end) in extents]
        self.shares_memory = _overlap(self.extents)  # nobody could say which of two arrays an address is in
        self.is_whole = True
        self.sizes: list[int] = []  # of memory that was asked for
        self.blocks: dict[int, int] = {}  # which of it somebody holds: by its address
        self.events: list[tuple[int, bool]] = []  # which of it was asked for, or given back
        self.slots: dict[Place, int] = {}  # addresses that differ from call to call
        self.steps: list[Callable[[Addresses], Step]] = []
        self.status: Any = None  # that the host looks at in the end
        self.errors = running.errors

    # ------------------------------------------------------------------------------------------ while it runs

    def note_block(self, address: int, size: int) -> None:
        self.blocks[address] = len(self.sizes)
        self.events.append((len(self.sizes), True))
        self.sizes.append(size)

    def note_given_back(self, address: int) -> None:
        block = self.blocks.pop(address, None)
        if block is not None:
            self.events.append((block, False))

    def note_launch(self, prepared: Prepared, shape: tuple[int, ...], args: Sequence[Any], values: list[Any]) -> None:
        if not self.may_go_on():
            return
        room = ctypes.create_string_buffer(len(prepared.room))
        prepared.pack(room, 0, *values)
        slots: dict[int, int] = {}  # of words that are addresses
        position = 0
        for arg in args:
            if type(arg) in NUMBERS:
                position += 1
                continue
            words = words_of(arg)[1]
            slot = self.slot(words[AHEAD]) if arg.size else None
            if slot is not None:
                slots[position + AHEAD] = slot
            else:
                self.is_whole &= not arg.size or LASTING in vars(arg)
            position += len(words)
        lasting = [arg for arg in args if type(arg) not in NUMBERS and LASTING in vars(arg)]

        def step(addresses: Addresses) -> Step:
            first = ctypes.addressof(room)
            places = [addresses.at(slots[k]) if k in slots else first + 8 * k for k in range(len(room) // 8)]
            pointers = (ctypes.c_void_p * len(places))(*places)
            given = prepared.function, *shape, prepared.stream, ctypes.addressof(pointers), 0
            return Step(prepared.call, (), given, (prepared.kernel, room, pointers, lasting))

        self.steps.append(step)

    def may_go_on(self) -> bool:
        """Is it still to be written down?  What kernels report, the host looks at last of all."""
        self.is_whole &= self.status is None and len(self.steps) < MOST_STEPS
        return self.is_whole

    def note_clear(self, address: int, size: int, stream: Any) -> None:
        driver = launching.driver()
        self.note(lambda place: driver.cuMemsetD8Async(driver.CUdeviceptr(place), 0, size, stream), (address,))

    def note_copy(self, out: Any, array: Any) -> None:
        driver, size, stream = launching.driver(), array.nbytes, launching.stream_of(running.pointer)

        def copy(*places: int) -> Any:
            return driver.cuMemcpyDtoDAsync(*map(driver.CUdeviceptr, places), size, stream)

        self.note(copy, (words_of(out)[1][AHEAD], words_of(array)[1][AHEAD]))

    def note_routine(
        self, routine: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...] | None
    ) -> None:
        """One of a library's; the positions of addresses among its arguments are None where nobody knows them."""
        if positions is None:
            self.is_whole = False
            return

        def call(*places: int) -> tuple[int]:
            given = list(args)
            for position, place in zip(positions, places, strict=True):
                given[position] = place
            routine(*given)
            return (0,)

        self.note(call, tuple(args[position] for position in positions))

    def note(self, call: Callable[..., Any], addresses: tuple[int, ...]) -> None:
        slots = [slot for address in addresses if (slot := self.slot(address)) is not None]
        self.is_whole &= len(slots) == len(addresses)
        if self.may_go_on():
            self.steps.append(lambda addresses: Step(call, tuple(addresses.slots[slot] for slot in slots), ()))

    def note_finish(self, status: Any) -> None:
        self.is_whole &= self.status is None
        self.status, self.errors = status, running.errors

    def slot(self, address: int) -> int | None:
        """Where this address is written; None of memory that was there before and is no argument."""
        place = self.place(address)
        return None if place is None else self.slots.setdefault(place, len(self.slots))

    def place(self, address: int) -> Place | None:
        block = self.blocks.get(address)
        if block is not None:
            return Place(len(self.arrays) + block, 0)
        for begin, block in self.blocks.items():
            if begin <= address < begin + self.sizes[block]:
                return Place(len(self.arrays) + block, address - begin)
        for begin, end, source in self.extents:
            if begin <= address < end:
                return Place(source, address - words_of(self.values[self.arrays[source]])[1][AHEAD])
        return None

    # ------------------------------------------------------------------------------------------ in the end

    def replay(self, results: Sequence[Any]) -> Replay | None:
        makers = [self.maker(result) for result in results]
        status = None if self.status is None else self.maker(self.status)
        return Replay(self, makers, status) if self.is_whole and not running.launched else None

    def maker(self, result: Any) -> Maker:
        """How a result is made."""
        if not getattr(result, "__cuda_ndarray__", False):
            return Maker(None, None, result)
        given = [source for source, k in enumerate(self.arrays) if self.values[k] is result]
        if given:
            return Maker(Place(given[0], 0), None, None)
        if not result.size:
            return Maker(None, form_of(result), None)
        place = self.place(words_of(result)[1][AHEAD])
        self.is_whole &= place is not None
        return Maker(place, form_of(result), None)


class Maker(NamedTuple):
    """What becomes of a result: memory in a certain form; without a form, an argument; without a place, the same."""

    place: Place | None
    form: Any
    constant: Any


class Replay:
    """A call that is given to the driver as it was, for other arrays of the same shapes."""

    def __init__(self, record: Record, makers: list[Maker], status: Maker | None) -> None:
        self.arrays = record.arrays
        count = len(self.arrays)
        kept = dict.fromkeys(m.place.source - count for m in makers if m.place and m.place.source >= count)
        offsets, together = arranged([event for event in record.events if event[0] not in kept], record.sizes)
        self.sizes = [record.sizes[block] for block in kept] + [together] * bool(together)
        moved = {source: Place(source, 0) for source in range(count)}
        moved |= {count + block: Place(count + k, 0) for k, block in enumerate(kept)}
        moved |= {count + block: Place(count + len(kept), offset) for block, offset in offsets.items()}
        wanted = [Place(moved[source].source, moved[source].offset + offset) for source, offset in record.slots]
        self.slots = list(dict.fromkeys(wanted))
        self.pack = struct.Struct(f"={len(self.slots)}Q").pack_into
        self.room = ctypes.create_string_buffer(8 * max(1, len(self.slots)))
        numbers = {place: k for k, place in enumerate(self.slots)}
        addresses = Addresses(ctypes.addressof(self.room), [numbers[place] for place in wanted])
        self.steps = [step(addresses) for step in record.steps]
        self.makers = [self.moved(maker, moved) for maker in makers]
        self.status = status and self.moved(status, moved)
        self.errors = record.errors
        self.lock = Lock()  # of the room: the driver reads it before it returns, while other threads may run

    @staticmethod
    def moved(maker: Maker, moved: dict[int, Place]) -> Maker:
        if maker.place is None:
            return maker
        source, offset = moved[maker.place.source]
        return maker._replace(place=Place(source, offset + maker.place.offset))

    def __call__(self, values: Sequence[Any]) -> list[Any] | None:
        """The results; None where there is no memory for that, of which the host's part may want less at one time."""
        bases = [(values[k].__dict__.get(WORDS) or words_of(values[k]))[1][AHEAD] for k in self.arrays]
        try:
            blocks = [pool.block(size) for size in self.sizes]
        except MemoryError:
            return None
        bases += [block.address for block in blocks]
        addresses = [bases[source] + offset for source, offset in self.slots]
        with self.lock:
            self.pack(self.room, 0, *addresses)
            for call, slots, arguments, _ in self.steps:
                (error,) = call(*[addresses[slot] for slot in slots]) if slots else call(*arguments)
                if error:
                    check(call.__name__, error)
        if self.status is not None:
            running.errors, running.launched = self.errors, True
            device.finish(self.made(self.status, values, blocks))
        return [self.made(maker, values, blocks) for maker in self.makers]

    def made(self, maker: Maker, values: Sequence[Any], blocks: list[Any]) -> Any:
        place, form, constant = maker
        if place is None:
            return constant if form is None else pool.made(form, None, 0)
        source, offset = place
        count = len(self.arrays)
        if source >= count:
            return pool.made(form, blocks[source - count], offset)
        array = values[self.arrays[source]]
        return array if form is None else pool.made(form, Given(array), offset)


def arranged(events: Sequence[tuple[int, bool]], sizes: Sequence[int]) -> tuple[dict[int, int], int]:
    """Where blocks lie in one piece of memory, of which some is used again, and how long that is.

    `events`: which block is asked for, or (False) given back.
    """
    offsets: dict[int, int] = {}
    holes: list[tuple[int, int]] = [(0, 1 << 62)]  # where there is room: begins and ends, in order
    end = 0
    for block, is_asked_for in events:
        size = aligned(sizes[block])
        if is_asked_for:
            k = next(k for k, (begin, stop) in enumerate(holes) if stop - begin >= size)
            begin, stop = holes[k]
            holes[k : k + 1] = [(begin + size, stop)] if begin + size < stop else []
            offsets[block], end = begin, max(end, begin + size)
        else:
            begin = offsets[block]
            holes = _joined(sorted([*holes, (begin, begin + size)]))
    return offsets, end


def _joined(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out = holes[:1]
    for begin, stop in holes[1:]:
        if begin == out[-1][1]:
            out[-1] = out[-1][0], stop
        else:
            out.append((begin, stop))
    return out


class Given:
    """The memory of an array that was handed in, as a block is."""

    def __init__(self, array: Any) -> None:
        self.array, self.address = array, words_of(array)[1][AHEAD]

    def pointer_to(self, start: int) -> Any:
        return launching.driver().CUdeviceptr(self.address + start)


def _extent(array: Any) -> tuple[int, int]:
    """The addresses that an array goes over: the first one, and the one behind the last."""
    steps = [(length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
    first = words_of(array)[1][AHEAD]
    return first + sum(s for s in steps if s < 0), first + sum(s for s in steps if s > 0) + array.dtype.itemsize


def _overlap(extents: Sequence[tuple[int, int, int]]) -> bool:
    ordered = sorted(extents)
    return any(one[1] > other[0] for one, other in pairwise(ordered))


__all__ = ["Record", "Replay", "Replays", "arranged", "repeats_itself"]
