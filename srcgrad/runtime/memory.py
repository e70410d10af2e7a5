"""Memory of arrays that are gone serves the next ones: fresh pages cost more than the arithmetic on them.

The operating system hands out memory in pages that it clears, one by one, when they are first touched.  So what a large
array leaves behind is held, up to a limit, until an array of about its size is made: by the next call, as a rule, for
the values that it keeps, and for its results where the caller has dropped those of the call before.

    numpy.empty(...) in generated code   →   srcgrad_owned(size)
                                         →   NRT_MemInfo_alloc_external(size, &srcgrad_allocator), of what is large

What is new and large is asked for in huge pages where the system gives them on request (Linux), as NumPy does for
its own arrays: 512 pages are cleared at once, and found by one entry of the processor's table.

A stack that has to grow takes the largest block that is held: as a rule that is where it ended in the call before.  One
that is long already grows where it is: the system moves its pages, if need be, instead of us what is on them.

Numba counts references as ever; only where memory comes from and goes to is ours.  Any thread may take and give: a slot
is emptied and filled by one atomic instruction.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.runtime import _nrt_python
from numba.np.arrayobj import get_itemsize

from srcgrad.runtime.described import Described, described

SLOTS = 32
LEAST = 1 << 18  # bytes; below that malloc has pages at hand
LINE = 64  # bytes that the processor fetches at a time: no vector of 64 lies in two of them
HUGE = 1 << 22  # bytes; smaller blocks may have no whole huge page in them
HEADER = 128
SIZE, BYTES, NOTHING = ir.IntType(64), ir.IntType(8).as_pointer(), ir.VoidType()
ALLOCATOR, ALLOCATE = "srcgrad_allocator", "srcgrad_allocate_external"
ROOMY_ALLOCATOR = "srcgrad_roomy_allocator"  # whose blocks may be much larger than was asked for
EXTEND, OWNED = "srcgrad_extend", "srcgrad_owned"
LONG = 1 << 25  # bytes; from here on pages are moved, not copied (glibc's malloc asks the system for each such block)
REFERENCES, DATA, EXTERNAL_ALLOCATOR = 0, 3, 5  # words of Numba's MemInfo, see nrt.cpp


def most_held() -> int:
    """A sixteenth of the machine's memory, and a gigabyte at most."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        machine = 1 << 32
    return min(machine // 16, 1 << 30)


def _of_the_system(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """A function of the C library, by its address in this process."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    return _at(builder, address, result, *arguments)


def _at(builder: Any, address: int | None, result: Any, *arguments: Any) -> Any:
    """The function at an address of this process."""
    return builder.inttoptr(ir.Constant(SIZE, address), ir.FunctionType(result, arguments).as_pointer())


class _Code:
    """The functions of the allocator, in LLVM's terms: those that Numba calls, and `srcgrad_release` for Python."""

    def __init__(self, most: int) -> None:
        self.module = ir.Module("srcgrad_memory")
        self.slots = self._variable(ir.ArrayType(SIZE, SLOTS), "slots")
        self.held = self._variable(SIZE, "held")
        self.most = most
        self.release = self._function("srcgrad_release", SIZE, ())
        self.take = self._function("srcgrad_take", BYTES, (SIZE, BYTES))
        self.take_largest = self._function("srcgrad_take_largest", BYTES, (SIZE, BYTES))
        self.give = self._function("srcgrad_give", NOTHING, (BYTES, BYTES))
        self.extend = self._function(EXTEND, BYTES, (BYTES, SIZE))
        self._write_release()
        self._write_take()
        self._write_take_largest()
        self._write_give()
        no_realloc = ir.Constant(BYTES, None)
        for name, take in ((ALLOCATOR, self.take), (ROOMY_ALLOCATOR, self.take_largest)):
            parts = [take.bitcast(BYTES), no_realloc, self.give.bitcast(BYTES), no_realloc]
            allocator = self._variable(ir.LiteralStructType([BYTES] * 4), name)
            allocator.initializer = ir.Constant(allocator.value_type, parts)
        self._write_extend()
        self._write_owned(self._function(OWNED, BYTES, (SIZE,)))

    def _variable(self, kind: Any, name: str) -> ir.GlobalVariable:
        variable = ir.GlobalVariable(self.module, kind, name)
        variable.initializer = ir.Constant(kind, None)
        return variable

    def _function(self, name: str, result: Any, arguments: tuple[Any, ...]) -> ir.Function:
        return ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def _outside(self, builder: Any, helper: str, result: Any, *arguments: Any) -> Any:
        """A function of Numba's runtime, by its address in this process."""
        return _at(builder, _nrt_python.c_helpers[helper], result, *arguments)

    def _slot(self, builder: Any, number: Any) -> Any:
        return builder.gep(self.slots, [ir.Constant(SIZE, 0), number])

    def _each_slot(self, builder: Any) -> Any:
        return cgutils.for_range(builder, ir.Constant(SIZE, SLOTS), intp=SIZE)

    def _header(self, builder: Any, block: Any, offset: int) -> Any:
        address = builder.sub(builder.ptrtoint(block, SIZE), ir.Constant(SIZE, offset))
        return builder.inttoptr(address, SIZE.as_pointer())

    def _capacity(self, builder: Any, block: Any) -> Any:
        return builder.load(self._header(builder, block, 8))

    def _emptied(self, builder: Any, slot: Any) -> Any:
        """What is in the slot, which nobody else has from now on."""
        return builder.atomic_rmw("xchg", slot, ir.Constant(SIZE, 0), "acq_rel")

    def _filled(self, builder: Any, slot: Any, block: Any) -> Any:
        """Could the block be put into the slot?"""
        address = builder.ptrtoint(block, SIZE)
        return builder.extract_value(builder.cmpxchg(slot, ir.Constant(SIZE, 0), address, "acq_rel", "monotonic"), 1)

    def _count(self, builder: Any, operation: str, block: Any) -> Any:
        return builder.atomic_rmw(operation, self.held, self._capacity(builder, block), "monotonic")

    def _free(self, builder: Any, block: Any) -> None:
        base = builder.load(self._header(builder, block, 16))
        builder.call(self._outside(builder, "Free", NOTHING, BYTES), [builder.inttoptr(base, BYTES)])

    def _write_release(self) -> None:
        """Free all that is held.  The bytes that were."""
        builder = ir.IRBuilder(self.release.append_basic_block())
        before = builder.atomic_rmw("add", self.held, ir.Constant(SIZE, 0), "monotonic")
        with self._each_slot(builder) as loop:
            address = self._emptied(builder, self._slot(builder, loop.index))
            with builder.if_then(cgutils.is_not_null(builder, address)):
                block = builder.inttoptr(address, BYTES)
                self._count(builder, "sub", block)
                self._free(builder, block)
        builder.ret(before)

    def _write_take(self) -> None:
        """A block of at least so many bytes: one that is held, if it is not much larger, or a new one."""
        builder = ir.IRBuilder(self.take.append_basic_block())
        size = self.take.args[0]
        most = builder.add(size, builder.lshr(size, ir.Constant(SIZE, 2)))
        with self._each_slot(builder) as loop:
            slot = self._slot(builder, loop.index)
            address = self._emptied(builder, slot)
            with builder.if_then(cgutils.is_not_null(builder, address)):
                block = builder.inttoptr(address, BYTES)
                capacity = self._capacity(builder, block)
                fits = builder.and_(
                    builder.icmp_unsigned(">=", capacity, size), builder.icmp_unsigned("<=", capacity, most)
                )
                with builder.if_then(fits):
                    self._count(builder, "sub", block)
                    builder.ret(block)
                self._put_back(builder, slot, block)
        allocate = self._outside(builder, "Allocate", BYTES, SIZE)
        fresh = builder.call(allocate, [builder.add(size, ir.Constant(SIZE, HEADER))])
        with builder.if_then(cgutils.is_null(builder, fresh)):
            builder.ret(fresh)
        base = builder.ptrtoint(fresh, SIZE)
        self._ask_for_huge_pages(builder, base, size)
        builder.ret(self._with_header(builder, base, size))

    def _start(self, builder: Any, base: Any) -> Any:
        """Where a block begins in what the system gave: at a multiple of 64, behind its header."""
        return builder.and_(builder.add(base, ir.Constant(SIZE, HEADER)), ir.Constant(SIZE, -64))

    def _with_header(self, builder: Any, base: Any, size: Any) -> Any:
        block = builder.inttoptr(self._start(builder, base), BYTES)
        builder.store(base, self._header(builder, block, 16))
        builder.store(size, self._header(builder, block, 8))
        return block

    def _write_extend(self) -> None:
        """Room for so many bytes in a block that is in use.  It may move; null if it stays as it is.

        A block begins with Numba's MemInfo.  Only an array that nobody else refers to is moved.
        """
        builder = ir.IRBuilder(self.extend.append_basic_block())
        if os.name != "posix":  # where each library may have a C library of its own
            builder.ret(ir.Constant(BYTES, None))
            return
        block, size = self.extend.args
        words = lambda pointer: builder.bitcast(pointer, SIZE.as_pointer())
        word = lambda pointer, number: builder.gep(words(pointer), [ir.Constant(SIZE, number)])
        allocator = builder.load(word(block, EXTERNAL_ALLOCATOR))
        ours = [builder.ptrtoint(self.module.get_global(name), SIZE) for name in (ALLOCATOR, ROOMY_ALLOCATOR)]
        is_ours = builder.or_(*(builder.icmp_unsigned("==", allocator, one) for one in ours))
        is_alone = builder.icmp_unsigned("==", builder.load(word(block, REFERENCES)), ir.Constant(SIZE, 1))
        with builder.if_then(builder.not_(builder.and_(is_ours, is_alone))):
            builder.ret(ir.Constant(BYTES, None))
        before, used = builder.load(self._header(builder, block, 16)), self._capacity(builder, block)
        at = builder.sub(builder.ptrtoint(block, SIZE), before)
        reallocate = _of_the_system(builder, "realloc", BYTES, BYTES, SIZE)  # Numba's Allocate is its malloc
        whole = builder.add(size, ir.Constant(SIZE, HEADER))
        moved = builder.call(reallocate, [builder.inttoptr(before, BYTES), whole])
        with builder.if_then(cgutils.is_null(builder, moved)):
            builder.ret(moved)
        base = builder.ptrtoint(moved, SIZE)
        self._ask_for_huge_pages(builder, base, size)
        arrived, start = builder.add(base, at), self._start(builder, base)
        with builder.if_then(builder.icmp_unsigned("!=", arrived, start), likely=False):
            kind = ir.FunctionType(NOTHING, (BYTES, BYTES, SIZE, ir.IntType(1)))
            move = cgutils.get_or_insert_function(self.module, kind, "llvm.memmove.p0i8.p0i8.i64")
            places = [builder.inttoptr(address, BYTES) for address in (start, arrived)]
            builder.call(move, [*places, used, cgutils.false_bit])
        block = self._with_header(builder, base, size)
        distance = builder.sub(builder.ptrtoint(block, SIZE), builder.add(before, at))
        data = word(block, DATA)
        builder.store(builder.add(builder.load(data), distance), data)
        builder.ret(block)

    def _ask_for_huge_pages(self, builder: Any, base: Any, size: Any) -> None:
        if not hasattr(mmap, "MADV_HUGEPAGE") or os.environ.get("NUMPY_MADVISE_HUGEPAGE") == "0":
            return
        with builder.if_then(builder.icmp_unsigned(">=", size, ir.Constant(SIZE, HUGE))):
            advice, page = ir.IntType(32), mmap.PAGESIZE
            advise = _of_the_system(builder, "madvise", advice, SIZE, SIZE, advice)
            first = builder.and_(base, ir.Constant(SIZE, -page))  # the whole mapping: a part could not be moved later
            end = builder.add(builder.add(base, size), ir.Constant(SIZE, HEADER))
            builder.call(advise, [first, builder.sub(end, first), ir.Constant(advice, mmap.MADV_HUGEPAGE)])

    def _put_back(self, builder: Any, slot: Any, block: Any) -> None:
        with builder.if_then(builder.not_(self._filled(builder, slot, block))):  # it was wanted in between
            self._count(builder, "sub", block)
            self._free(builder, block)

    def _write_take_largest(self) -> None:
        """The largest block that is held, if it has so many bytes, or a new one."""
        builder = ir.IRBuilder(self.take_largest.append_basic_block())
        size = self.take_largest.args[0]
        best = cgutils.alloca_once_value(builder, ir.Constant(BYTES, None))
        with self._each_slot(builder) as loop:
            slot = self._slot(builder, loop.index)
            address = self._emptied(builder, slot)
            with builder.if_then(cgutils.is_not_null(builder, address)):
                block, before = builder.inttoptr(address, BYTES), builder.load(best)
                least = cgutils.alloca_once_value(builder, size)
                with builder.if_then(cgutils.is_not_null(builder, before)):
                    builder.store(builder.add(self._capacity(builder, before), ir.Constant(SIZE, 1)), least)
                is_better = builder.icmp_unsigned(">=", self._capacity(builder, block), builder.load(least))
                with builder.if_else(is_better) as (then, otherwise):
                    with then:
                        builder.store(block, best)
                        with builder.if_then(cgutils.is_not_null(builder, before)):
                            self._put_back(builder, slot, before)
                    with otherwise:
                        self._put_back(builder, slot, block)
        block = builder.load(best)
        with builder.if_then(cgutils.is_not_null(builder, block)):
            self._count(builder, "sub", block)
            builder.ret(block)
        builder.ret(builder.call(self.take, self.take_largest.args))

    def _write_owned(self, owned: Any) -> None:
        """Numba's MemInfo of so many bytes, of our own allocator if they are many; null where there is no room.

        Code that is compiled calls this, and has no part of it: an array is made on every other line of an adjoint.
        """
        builder = ir.IRBuilder(owned.append_basic_block())
        [size] = owned.args
        with builder.if_then(builder.icmp_unsigned(">=", size, ir.Constant(SIZE, LEAST)), likely=False):
            allocate = _at(builder, _allocate_external, BYTES, SIZE, BYTES)
            allocator = self.module.get_global(ALLOCATOR).bitcast(BYTES)
            builder.ret(builder.call(allocate, [builder.add(size, ir.Constant(SIZE, LINE)), allocator]))
        alignment = ir.IntType(32)
        allocate = self._outside(builder, "MemInfo_alloc_aligned", BYTES, SIZE, alignment)
        builder.ret(builder.call(allocate, [size, ir.Constant(alignment, LINE)]))

    def _write_give(self) -> None:
        """Hold the block; where that is too much, what was held before goes."""
        builder = ir.IRBuilder(self.give.append_basic_block())
        block = self.give.args[0]
        capacity = self._capacity(builder, block)
        most = ir.Constant(SIZE, self.most)
        with builder.if_then(builder.icmp_unsigned(">", capacity, most)):
            self._free(builder, block)
            builder.ret_void()
        before = self._count(builder, "add", block)
        with builder.if_then(builder.icmp_unsigned(">", builder.add(before, capacity), most)):
            builder.call(self.release, [])
        with self._each_slot(builder) as loop:
            with builder.if_then(self._filled(builder, self._slot(builder, loop.index), block)):
                builder.ret_void()
        builder.call(self.release, [])  # the slots are full of other sizes
        with builder.if_then(self._filled(builder, self._slot(builder, ir.Constant(SIZE, 0)), block)):
            builder.ret_void()
        self._count(builder, "sub", block)
        self._free(builder, block)
        builder.ret_void()


def _compiled(code: _Code) -> tuple[int, int, int, int, int]:
    """Where the allocators and the functions are.  They stay to the end: arrays may be freed after all else."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(code.module)), target)
    engine.finalize_object()
    usual, roomy = (engine.get_global_value_address(name) for name in (ALLOCATOR, ROOMY_ALLOCATOR))
    extend, owned, release = (engine.get_function_address(name) for name in (EXTEND, OWNED, "srcgrad_release"))
    engine.detach()
    return usual, roomy, extend, owned, release


_numba = ctypes.CFUNCTYPE(ctypes.c_void_p)(_nrt_python.c_helpers["get_api"])()  # NRT_api_functions, see nrt_external.h
_allocate_external = ctypes.cast(_numba, ctypes.POINTER(ctypes.c_void_p))[1]
_allocator, _roomy_allocator, _extend, _owned, _release_held = _compiled(_Code(most_held()))
llvm.add_symbol(ROOMY_ALLOCATOR, _roomy_allocator)
llvm.add_symbol(EXTEND, _extend)
llvm.add_symbol(OWNED, _owned)
llvm.add_symbol(ALLOCATE, _allocate_external)
_release = ctypes.CFUNCTYPE(ctypes.c_int64)(_release_held)


def release_memory() -> int:
    """Give memory that srcgrad holds for later calls back to the system.

    Arrays that are in use are not touched.

    Returns
    -------
    int
        The number of bytes that were held.

    Examples
    --------
    >>> import srcgrad
    >>> _ = srcgrad.release_memory()
    >>> srcgrad.release_memory()
    0
    """
    return int(_release())


# ----------------------------------------------------------------------------------------------------- in Numba's terms


def empty(context: Any, builder: Any, kind: types.Array, shape: Any) -> Any:
    """A C-contiguous array of these lengths, none of which is negative, with memory of its own."""
    item_size = context.get_constant(types.intp, get_itemsize(context, kind))
    size, too_large = item_size, cgutils.false_bit
    strides: list[Any] = []
    for length in reversed(shape):
        strides.insert(0, size)
        product = builder.smul_with_overflow(size, length)
        size = builder.extract_value(product, 0)
        too_large = builder.or_(too_large, builder.extract_value(product, 1))
    with builder.if_then(too_large, likely=False):
        words = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
        context.call_conv.return_user_exc(builder, ValueError, (words,))
    owned = cgutils.get_or_insert_function(builder.module, ir.FunctionType(BYTES, [SIZE]), OWNED)
    owned.return_value.add_attribute("noalias")
    owner = builder.call(owned, [size])
    _check_memory(context, builder, owner)
    return _array_in(context, builder, kind, shape, strides, owner, _aligned_data(context, builder, owner))


def roomy(context: Any, builder: Any, kind: types.Array, least: Any) -> Any:
    """A vector of at least so many elements; of as many as there is room for."""
    item_size = context.get_constant(types.intp, get_itemsize(context, kind))
    owner, data, room = _roomy_memory(context, builder, builder.mul(item_size, least))
    return _array_in(context, builder, kind, [builder.udiv(room, item_size)], [item_size], owner, data)


def extended(context: Any, builder: Any, kind: types.Array, array: Any, least: Any) -> Any:
    """Has this vector got room for so many elements now, where it is or elsewhere?  If not it is as it was."""
    item_size = context.get_constant(types.intp, get_itemsize(context, kind))
    present, size = builder.mul(array.nitems, item_size), builder.mul(least, item_size)
    is_extended = cgutils.alloca_once_value(builder, cgutils.false_bit)
    with builder.if_then(builder.icmp_unsigned(">=", present, ir.Constant(SIZE, LONG)), likely=False):
        owner, data = array.meminfo, builder.ptrtoint(array.data, SIZE)
        offset = builder.sub(data, builder.ptrtoint(owner, SIZE))
        signature = ir.FunctionType(BYTES, [BYTES, SIZE])
        extend = cgutils.get_or_insert_function(builder.module, signature, EXTEND)
        moved = builder.call(extend, [owner, builder.add(offset, size)])
        with builder.if_then(cgutils.is_not_null(builder, moved)):
            array.meminfo = moved
            address = builder.add(builder.ptrtoint(moved, SIZE), offset)
            array.data = builder.inttoptr(address, array.data.type)
            array.nitems = least
            array.shape = cgutils.pack_array(builder, [least], ty=SIZE)
            builder.store(cgutils.true_bit, is_extended)
    return builder.load(is_extended)


def without_owner(context: Any, builder: Any, kind: types.Array, shape: Any, data: Any) -> Any:
    """An array, contiguous by rows, that somebody else holds."""
    strides = [context.get_constant(types.intp, get_itemsize(context, kind))]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    address = builder.ptrtoint(data, SIZE)
    return _array_in(context, builder, kind, shape, strides[: len(shape)], None, address)._getvalue()


def _array_in(
    context: Any, builder: Any, kind: types.Array, shape: Any, strides: Any, owner: Any, data: Any
) -> Described:
    start = builder.inttoptr(data, context.get_data_type(kind.dtype).as_pointer())
    return described(context, builder, kind, shape, strides, owner, start)


def _roomy_memory(context: Any, builder: Any, size: Any) -> tuple[Any, Any, Any]:
    """Numba's MemInfo, the aligned address of at least so many bytes that it owns, and how many these are."""
    found, room = cgutils.alloca_once(builder, cgutils.voidptr_t), cgutils.alloca_once_value(builder, size)
    large = builder.icmp_unsigned(">=", size, ir.Constant(SIZE, LEAST))
    with builder.if_else(large, likely=False) as (then, otherwise):
        with then:
            signature = ir.FunctionType(cgutils.voidptr_t, [SIZE, cgutils.voidptr_t])
            allocate = cgutils.get_or_insert_function(builder.module, signature, ALLOCATE)
            allocator = builder.module.globals.get(ROOMY_ALLOCATOR)
            if allocator is None:
                allocator = cgutils.add_global_variable(builder.module, cgutils.int8_t, ROOMY_ALLOCATOR)
            owner = builder.call(allocate, [builder.add(size, ir.Constant(SIZE, LINE)), allocator])
            _check_memory(context, builder, owner)
            builder.store(owner, found)
            start = builder.ptrtoint(owner, SIZE)  # MemInfo is where the block begins; its capacity is ahead of that
            capacity = builder.load(builder.inttoptr(builder.sub(start, ir.Constant(SIZE, 8)), SIZE.as_pointer()))
            end = builder.add(start, capacity)
            builder.store(builder.sub(end, _aligned_data(context, builder, owner)), room)
        with otherwise:
            builder.store(context.nrt.meminfo_alloc_aligned(builder, size, LINE), found)
    owner = builder.load(found)
    return owner, _aligned_data(context, builder, owner), builder.load(room)


def _check_memory(context: Any, builder: Any, owner: Any) -> None:
    with builder.if_then(cgutils.is_null(builder, owner), likely=False):
        context.call_conv.return_user_exc(builder, MemoryError, ("Allocation failed (probably too large).",))


def _aligned_data(context: Any, builder: Any, owner: Any) -> Any:
    address = builder.ptrtoint(context.nrt.meminfo_data(builder, owner), SIZE)
    return builder.and_(builder.add(address, ir.Constant(SIZE, LINE - 1)), ir.Constant(SIZE, -LINE))


__all__ = ["empty", "extended", "release_memory", "roomy", "without_owner"]
