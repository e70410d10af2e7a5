"""An instruction, as a function of the registers of all threads that run it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arithmetic import DTYPES, PLAIN, PRODUCTS, compared, converted, reciprocal_by_its_upper_half, rounded_towards
from .memory import UNSIGNED, Arena, Fault, Memory, Who
from .ptx import Instruction, Kernel, Unknown
from .run import LOCAL, SHARED, WARP, Lanes, Run, of

Step = Callable[[Run, Lanes], None]


@dataclass
class Counts:
    """What a launch did: instructions of warps by their kind, and sectors of 32 bytes that warps asked for."""

    instructions: dict[str, int] = field(default_factory=dict)
    loaded: int = 0  # sectors
    stored: int = 0
    bytes_read: int = 0  # each sector of memory once
    bytes_written: int = 0
    atomics: int = 0
    launches: int = 0


class Steps:
    """Of one kernel."""

    def __init__(self, kernel: Kernel, memory: Arena, constants: dict[str, int]) -> None:
        self.kernel, self.memory, self.constants = kernel, memory, constants
        self.index = {name: k for k, name in enumerate(kernel.registers)}
        sizes = kernel.registers.values()
        self.kinds = [np.dtype(bool) if bits == 1 else np.dtype(UNSIGNED[bits // 8]) for bits in sizes]
        self.offsets: dict[str, int] = {}
        offset = 0
        for name, bits in kernel.params.items():
            size = bits // 8
            offset = -(-offset // size) * size
            self.offsets[name] = offset
            offset += size
        self.counts: Counts | None = None
        self.touched: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])

    def guard(self, run: Run, text: Instruction, lanes: Lanes) -> np.ndarray:
        assert text.guard is not None
        name, negated = text.guard
        value = run.registers[self.index[name]]
        value = value if lanes is None else value[lanes]
        return ~value if negated else value

    def step(self, text: Instruction) -> Step:
        made = getattr(self, f"_{text.parts[0]}", self._plain)(text)
        if text.guard is None:
            return made

        def guarded(run: Run, lanes: Lanes) -> None:
            holds = self.guard(run, text, lanes)
            if holds.any():
                made(run, np.flatnonzero(holds) if lanes is None else lanes[holds])

        return guarded

    def reader(self, name: str, dtype: np.dtype) -> Callable[[Run, Lanes], Any]:
        """What gives an operand's values."""
        if name in self.index:
            k = self.index[name]
            if self.kinds[k].itemsize != dtype.itemsize:
                if self.kinds[k].itemsize < dtype.itemsize:
                    raise Unknown(f"{name} as {dtype}")
                return lambda run, lanes: of(run.registers[k], lanes).astype(f"u{dtype.itemsize}").view(dtype)
            return lambda run, lanes: of(run.registers[k], lanes).view(dtype)
        if name.startswith("%"):
            return lambda run, lanes: of(run.specials[name], lanes)
        if name.startswith("!"):
            inner = self.reader(name[1:], dtype)
            return lambda run, lanes: ~inner(run, lanes)
        value = self._constant(name, dtype)
        return lambda run, lanes: value

    def _constant(self, name: str, dtype: np.dtype) -> Any:
        if re.fullmatch(r"0[df][0-9A-Fa-f]+", name):
            bits = np.array(int(name[2:], 16), f"u{4 if name[1] == 'f' else 8}")
            return bits.view(f"f{bits.itemsize}").astype(dtype)[()]
        if name in self.constants:
            return np.uint64(self.constants[name]).view(dtype)
        if name in self.kernel.places:
            space, start = self.kernel.places[name]
            start = self.kernel.static_bytes if space == "dynamic" else start
            return np.array(start, f"u{dtype.itemsize}").view(dtype)[()]
        number = int(name.rstrip("U"), 0)
        if dtype.kind == "b":
            return np.bool_(number)
        return np.array(number % (1 << 8 * dtype.itemsize), f"u{dtype.itemsize}").view(dtype)[()]

    def writer(self, name: str) -> Callable[[Run, Lanes, Any], None]:
        if name == "_":
            return lambda run, lanes, value: None
        k = self.index[name]
        kind = self.kinds[k]

        def write(run: Run, lanes: Lanes, value: Any) -> None:
            value = np.asarray(value)
            if value.dtype.itemsize == kind.itemsize:
                value = value.view(kind) if value.ndim else value.reshape(1).view(kind)[0]
            else:  # a narrower number in a wider register
                value = value.view(f"u{value.dtype.itemsize}").astype(kind)
            run.registers[k][... if lanes is None else lanes] = value

        return write

    # ------------------------------------------------------------------------------------------------- numbers

    def _plain(self, text: Instruction) -> Step:
        parts = text.parts
        name, kind = parts[0], DTYPES.get(parts[-1])
        if name not in PLAIN or kind is None:
            raise Unknown(str(text))
        if "cc" in parts or name in ("addc", "subc", "madc"):
            return self._carried(text)
        compute = PLAIN[name]
        for direction in {"rz", "rm", "rp", "sat"} & set(parts[1:]):
            if direction == "sat" or kind != np.float32:
                raise Unknown(str(text))
            compute = rounded_towards(compute, direction)
        if parts[:2] == ("rcp", "approx") and parts[-1] == "f64":
            compute = reciprocal_by_its_upper_half
        kinds = [kind] * (len(text.operands) - 1)
        if name in ("shl", "shr"):
            kinds[1] = DTYPES["u32"]
        elif name in ("bfi", "bfe"):
            kinds[-2:] = [DTYPES["u32"]] * 2
        write = self.writer(text.operands[0])
        reads = [self.reader(operand, k) for operand, k in zip(text.operands[1:], kinds, strict=True)]
        return lambda run, lanes: write(run, lanes, compute(*[read(run, lanes) for read in reads]))

    def _carried(self, text: Instruction) -> Step:
        """With a carry: 32-bit words of a longer number."""
        parts, kind = text.parts, np.dtype(np.uint32)
        if parts[-1] != "u32":
            raise Unknown(str(text))
        write = self.writer(text.operands[0])
        reads = [self.reader(operand, kind) for operand in text.operands[1:]]
        takes, gives, half, one = parts[0].endswith("c"), "cc" in parts, np.uint64(32), np.uint64(1)

        def step(run: Run, lanes: Lanes) -> None:
            values = [np.asarray(read(run, lanes)).astype(np.uint64) for read in reads]
            carry = of(run.carry, lanes) if takes else np.uint64(0)
            if parts[0].startswith("sub"):
                total = values[0] - values[1] - carry
                out = total >> half & one
            else:
                if parts[0].startswith("mad"):
                    product = values[0] * values[1]
                    values = [product >> half if "hi" in parts else product & np.uint64(0xFFFFFFFF), values[2]]
                total = values[0] + values[1] + carry
                out = total >> half
            write(run, lanes, total.astype(np.uint32))
            if gives:
                run.carry[... if lanes is None else lanes] = out

        return step

    _addc = _subc = _madc = _carried

    def _mul(self, text: Instruction) -> Step:
        if text.parts[-1].startswith("f"):
            return self._plain(text)
        compute, kind = PRODUCTS[text.parts[1]], DTYPES[text.parts[-1]]
        write = self.writer(text.operands[0])
        one, two = (self.reader(operand, kind) for operand in text.operands[1:])
        return lambda run, lanes: write(run, lanes, compute(one(run, lanes), two(run, lanes)))

    def _mad(self, text: Instruction) -> Step:
        if "cc" in text.parts:
            return self._carried(text)
        if text.parts[-1].startswith("f"):
            raise Unknown(str(text))
        compute, kind = PRODUCTS[text.parts[1]], DTYPES[text.parts[-1]]
        total = np.dtype(f"{kind.kind}{2 * kind.itemsize}") if text.parts[1] == "wide" else kind
        write = self.writer(text.operands[0])
        one, two, three = (self.reader(x, k) for x, k in zip(text.operands[1:], (kind, kind, total), strict=True))
        return lambda run, lanes: write(run, lanes, compute(one(run, lanes), two(run, lanes)) + three(run, lanes))

    def _cvt(self, text: Instruction) -> Step:
        compute, to, of = converted(text.parts)
        write, read = self.writer(text.operands[0]), self.reader(text.operands[1], DTYPES[of])
        return lambda run, lanes: write(run, lanes, compute(read(run, lanes)))

    def _setp(self, text: Instruction) -> Step:
        *words, kind = text.parts[1:]
        dtype = DTYPES[kind]
        words = [word for word in words if word != "ftz"]
        compute = compared(words[0], dtype.kind == "f")
        names = text.operands[0].split("|")
        writes = [self.writer(name) for name in names]
        one, two = (self.reader(operand, dtype) for operand in text.operands[1:3])
        other = self.reader(text.operands[3], DTYPES["pred"]) if len(words) > 1 else None
        if other is None:
            if len(names) > 1:
                raise Unknown(str(text))
            return lambda run, lanes: writes[0](run, lanes, compute(one(run, lanes), two(run, lanes)))
        join = PLAIN[words[1]]

        def step(run: Run, lanes: Lanes) -> None:
            holds, more = compute(one(run, lanes), two(run, lanes)), other(run, lanes)
            writes[0](run, lanes, join(holds, more))
            if len(writes) > 1:
                writes[1](run, lanes, join(~holds, more))

        return step

    def _selp(self, text: Instruction) -> Step:
        kind = DTYPES[text.parts[-1]]
        write = self.writer(text.operands[0])
        one, two = (self.reader(operand, kind) for operand in text.operands[1:3])
        which = self.reader(text.operands[3], DTYPES["pred"])
        return lambda run, lanes: write(run, lanes, np.where(which(run, lanes), one(run, lanes), two(run, lanes)))

    def _mov(self, text: Instruction) -> Step:
        to, of = text.operands
        kind = DTYPES[text.parts[-1]]
        if to.startswith("{"):
            names = [name.strip() for name in to.strip("{}").split(",")]
            size = kind.itemsize // len(names)
            read, writes = self.reader(of, np.dtype(f"u{kind.itemsize}")), [self.writer(name) for name in names]

            def take_apart(run: Run, lanes: Lanes) -> None:
                value = read(run, lanes)
                for k, write in enumerate(writes):
                    part = value >> value.dtype.type(8 * size * k)
                    write(run, lanes, part.astype(f"u{size}"))

            return take_apart
        write = self.writer(to)
        if of.startswith("{"):
            names = [name.strip() for name in of.strip("{}").split(",")]
            size = kind.itemsize // len(names)
            reads = [self.reader(name, np.dtype(f"u{size}")) for name in names]

            def put_together(run: Run, lanes: Lanes) -> None:
                total: Any = np.array(0, f"u{kind.itemsize}")
                for k, read in enumerate(reads):
                    part = np.asarray(read(run, lanes)).astype(total.dtype)
                    total = total | part << total.dtype.type(8 * size * k)
                write(run, lanes, total)

            return put_together
        read = self.reader(of, kind)
        return lambda run, lanes: write(run, lanes, read(run, lanes))

    # ------------------------------------------------------------------------------------------------- memory

    def _cvta(self, text: Instruction) -> Step:
        write, read = self.writer(text.operands[0]), self.reader(text.operands[1], DTYPES["u64"])
        window = np.uint64({"global": 0, "shared": SHARED, "local": LOCAL}[text.parts[-2]])
        if "to" in text.parts:
            return lambda run, lanes: write(run, lanes, read(run, lanes) - window)
        return lambda run, lanes: write(run, lanes, read(run, lanes) + window)

    def _address(self, operand: str) -> Callable[[Run, Lanes], np.ndarray]:
        base, _, offset = operand.strip("[]").partition("+")
        more = np.int64(int(offset or 0)).view(np.uint64)
        size = self.kinds[self.index[base]].itemsize if base in self.index else 8
        read = self.reader(base, np.dtype(f"u{size}"))

        def address(run: Run, lanes: Lanes) -> np.ndarray:
            value = np.asarray(read(run, lanes)).astype(np.uint64) + more
            count = run.threads if lanes is None else len(lanes)
            return np.broadcast_to(value, (count,))

        return address

    def _accesses(self, text: Instruction) -> tuple[str, list[np.dtype], str, list[str]]:
        """The memory, the types of the numbers, the address and the registers."""
        space = next((part for part in text.parts if part in ("global", "shared", "local", "param")), "generic")
        count = 2 if "v2" in text.parts else 4 if "v4" in text.parts else 1
        place, given = (text.operands[1], text.operands[0]) if text.parts[0] == "ld" else text.operands
        names = [name.strip() for name in given.strip("{}").split(",")]
        assert len(names) == count, text
        return space, [DTYPES[text.parts[-1]]] * count, place, names

    def _memory(self, space: str, run: Run, lanes: Lanes, address: np.ndarray) -> list[tuple[Memory, Any, np.ndarray]]:
        """(memory, which of the threads, where in it)."""
        if space == "generic":
            kinds = address >> np.uint64(56)
            named = enumerate(("global", "shared", "local"))
            found = [(name, kinds == k) for k, name in named if (kinds == k).any()]
            if not found:
                raise Fault("an address that is none")
        else:
            found = [(space, np.ones(len(address), bool))]
        out: list[tuple[Memory, Any, np.ndarray]] = []
        for name, which in found:
            chosen = (run.everyone if lanes is None else lanes)[which]
            at = address[which]
            if name == "global":
                out.append((self.memory, which, at))
                continue
            own, window, size = (
                (run.own_block, SHARED, run.shared_size) if name == "shared" else (run.everyone, LOCAL, run.local_size)
            )
            inner = at - np.uint64(window) if space == "generic" else at
            if (inner >= size).any():
                raise Fault(f"beyond the {name} memory of {'a block' if name == 'shared' else 'a thread'}")
            where = inner + own[chosen].astype(np.uint64) * np.uint64(size) + np.uint64(window)
            out.append((run.shared if name == "shared" else run.local, which, where))
        return out

    def _ld(self, text: Instruction) -> Step:
        space, kinds, place, names = self._accesses(text)
        if space == "param":
            return self._from_param(place.strip("[]"), kinds, names)
        address, writes, what = self._address(place), [self.writer(name) for name in names], str(text)
        size = kinds[0].itemsize
        # of narrow numbers the sign goes on in a wider register
        larger = [max(size, self.kinds[self.index[name]].itemsize) if name != "_" else size for name in names]

        def step(run: Run, lanes: Lanes) -> None:
            where, who = address(run, lanes), run.who(lanes)
            for memory, which, at in self._memory(space, run, lanes, where):
                chosen = lanes if which.all() else those_in(run, lanes, which)
                those = who.some(which)
                if self.counts is not None and memory is self.memory:
                    self._count_sectors(those, at, size * len(writes), False)
                for k, write in enumerate(writes):
                    value = memory.load(at + np.uint64(k * size), size, those, what).view(kinds[k])
                    wide = np.dtype(f"{kinds[k].kind}{larger[k]}")
                    write(run, chosen, value if wide == kinds[k] else value.astype(wide))

        return step

    def _st(self, text: Instruction) -> Step:
        space, kinds, place, names = self._accesses(text)
        if space == "param":
            return self._to_param(place.strip("[]"), kinds, names)
        address, what, size = self._address(place), str(text), kinds[0].itemsize
        reads = [self.reader(name, np.dtype(f"u{size}")) for name in names]
        if kinds[0].kind == "f":
            reads = [self.reader(name, kinds[0]) for name in names]

        def step(run: Run, lanes: Lanes) -> None:
            where, who = address(run, lanes), run.who(lanes)
            for memory, which, at in self._memory(space, run, lanes, where):
                those = who.some(which)
                if self.counts is not None and memory is self.memory:
                    self._count_sectors(those, at, size * len(reads), True)
                if memory is self.memory:
                    run.fenced[those_in(run, lanes, which)] = False
                for k, read in enumerate(reads):
                    value = np.broadcast_to(read(run, lanes), which.shape)[which]
                    bits = np.ascontiguousarray(value).view(UNSIGNED[size])
                    memory.store(at + np.uint64(k * size), bits, size, those, what)

        return step

    def _count_sectors(self, who: Who, address: np.ndarray, size: int, is_store: bool) -> None:
        assert self.counts is not None
        sectors = np.concatenate([address >> np.uint64(5), (address + np.uint64(size - 1)) >> np.uint64(5)])
        warps = np.concatenate([who.warp, who.warp]).astype(np.uint64)
        asked = len(np.unique(warps << np.uint64(44) ^ sectors))
        if is_store:
            self.counts.stored += asked
        else:
            self.counts.loaded += asked
        self.touched[is_store].append(np.unique(sectors))

    def _slot(self, name: str, size: int) -> str:
        """A parameter of a call, which is a register here."""
        base, _, offset = name.partition("+")
        slot = f"{base}+{int(offset or 0)}"
        if slot not in self.index:
            self.index[slot] = len(self.kinds)
            self.kinds.append(np.dtype(UNSIGNED[size]))
        assert self.kinds[self.index[slot]].itemsize == size, name
        return slot

    def _from_param(self, name: str, kinds: list[np.dtype], names: list[str]) -> Step:
        base, _, offset = name.partition("+")
        if base not in self.offsets:
            size = kinds[0].itemsize
            if len(names) > 1:
                raise Unknown(f"several parts of {name}")
            write, read = self.writer(names[0]), self.reader(self._slot(name, size), np.dtype(UNSIGNED[size]))
            return lambda run, lanes: write(run, lanes, read(run, lanes))
        start = self.offsets[base] + int(offset or 0)
        writes = [self.writer(name) for name in names]

        def step(run: Run, lanes: Lanes) -> None:
            for k, (write, kind) in enumerate(zip(writes, kinds, strict=True)):
                write(run, lanes, np.frombuffer(run.params, kind, 1, start + k * kind.itemsize)[0])

        return step

    def _to_param(self, name: str, kinds: list[np.dtype], names: list[str]) -> Step:
        if len(names) > 1:
            raise Unknown(f"several parts of {name}")
        write, read = self.writer(self._slot(name, kinds[0].itemsize)), self.reader(names[0], kinds[0])
        return lambda run, lanes: write(run, lanes, read(run, lanes))

    def _atom(self, text: Instruction) -> Step:
        parts = text.parts
        space = next((part for part in parts if part in ("global", "shared")), "generic")
        kind, op = DTYPES[parts[-1]], next(part for part in parts if part in ATOMIC)
        to, place, *given = text.operands if parts[0] == "atom" else ["_", *text.operands]
        address, write = self._address(place), self.writer(to)
        reads, what, compute = [self.reader(name, kind) for name in given], str(text), ATOMIC[op]

        def step(run: Run, lanes: Lanes) -> None:
            where, who = address(run, lanes), run.who(lanes)
            values = [np.broadcast_to(read(run, lanes), where.shape) for read in reads]
            for memory, which, at in self._memory(space, run, lanes, where):
                places = memory.update(at, kind.itemsize, who.some(which), what, op == "cas")
                held = memory.views[kind.itemsize].view(kind)
                before = np.empty(len(places), kind)
                for k, (place, *each) in enumerate(zip(places, *(value[which] for value in values), strict=True)):
                    before[k] = held[place]
                    held[place] = compute(held[place], *each)
                if self.counts is not None and memory is self.memory:
                    self.counts.atomics += len(places)
                if op == "inc":
                    self._count_blocks(run, those_in(run, lanes, which), before, values[0][which])
                write(run, lanes if which.all() else those_in(run, lanes, which), before)

        return step

    _red = _atom

    def _count_blocks(self, run: Run, counting: np.ndarray, before: np.ndarray, limit: np.ndarray) -> None:
        """Blocks say that they are done; what the last one does comes behind all that others did."""
        if not run.fenced[counting].all():
            raise Fault("a block says that it is done, and has written something with no fence behind it")
        if (before == limit).any():
            run.machine.launch |= 1

    # -------------------------------------------------------------------------------------------------- warps

    def _shfl(self, text: Instruction) -> Step:
        _, sync, mode, kind = text.parts
        to, *given = text.operands
        names = to.split("|")
        write, holds = self.writer(names[0]), self.writer(names[1]) if len(names) > 1 else None
        k = self.index[given[0]]
        offset, clamp, mask = (self.reader(name, DTYPES["u32"]) for name in given[1:])
        assert sync == "sync" and kind == "b32"

        def step(run: Run, lanes: Lanes) -> None:
            every = run.everyone if lanes is None else lanes
            if (np.broadcast_to(mask(run, lanes), every.shape) != 0xFFFFFFFF).any():
                raise Unknown("a shuffle within a part of a warp")
            if (run.warp_sizes[run.warp[every]] != WARP).any():
                raise Fault("a shuffle in a warp of fewer than 32 threads")
            lane = run.lane[every]
            by = np.asarray(offset(run, lanes)).astype(np.int64) & 31
            limits = np.asarray(clamp(run, lanes)).astype(np.int64)
            segment, bound = limits >> 8 & 31, limits & 31
            least, most = lane & segment, (lane & segment) | (bound & ~segment)
            if mode == "up":
                source, inside = lane - by, lane - by >= most
            elif mode == "down":
                source, inside = lane + by, lane + by <= most
            elif mode == "bfly":
                source, inside = lane ^ by, (lane ^ by) <= most
            else:
                source = least | (by & ~segment)
                inside = source <= most
            value = run.registers[k][run.warp_start[every] + np.where(inside, source, lane)]
            write(run, lanes, value)
            if holds is not None:
                holds(run, lanes, inside)

        return step

    def _bar(self, text: Instruction) -> Step:
        if text.parts[:3] != ("bar", "warp", "sync") or text.operands != ["-1"]:
            raise Unknown(str(text))
        return lambda run, lanes: None

    def _membar(self, text: Instruction) -> Step:
        def step(run: Run, lanes: Lanes) -> None:
            run.fenced[run.everyone if lanes is None else lanes] = True

        return step

    _fence = _membar


def those_in(run: Run, lanes: Lanes, which: np.ndarray) -> np.ndarray:
    return (run.everyone if lanes is None else lanes)[which]


ATOMIC: dict[str, Callable[..., Any]] = {
    "add": lambda old, new: old + new,
    "min": lambda old, new: min(old, new),
    "max": lambda old, new: max(old, new),
    "inc": lambda old, limit: old + 1 if old < limit else 0,
    "exch": lambda old, new: new,
    "cas": lambda old, expected, new: new if old == expected else old,
    "or": lambda old, new: old | new,
    "and": lambda old, new: old & new,
}
