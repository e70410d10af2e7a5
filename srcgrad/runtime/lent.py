"""Arrays and stacks that a function and all its activations share, handed over as one reference.

lending(f, (x, tape), n, top)      f(lent, n, top), where `x, tape = borrow(lent)`

Compiled, `lent` is an address.  The caller holds on to what it lends; so what is borrowed counts no references.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic, models, register_model
from numba.cpython.listobj import ListInstance

from srcgrad.runtime.arrays import copy_to, kept_array, make_room, push, push_array
from srcgrad.runtime.linked import linked, overload
from srcgrad.runtime.memory import extended, roomy, without_owner
from srcgrad.runtime.stand_ins import STAND_INS


def lending(function: Any, things: tuple[Any, ...], *args: Any) -> Any:
    """Call the function with these things lent."""
    return function(things, *args)


def borrow(lent: Any) -> Any:
    """What was lent."""
    return lent


class Lent(types.Type):
    """The address of a tuple."""

    def __init__(self, things: types.BaseTuple) -> None:
        self.things = things
        super().__init__(name=f"Lent({things})")


class Shelf(types.Type):
    """The address of the one array in a list: a stack, whose buffer is replaced when it is full."""

    def __init__(self, array: types.Array) -> None:
        self.array = array
        super().__init__(name=f"Shelf({array})")


class Page(types.Type):
    """What is on a shelf now, to be read where it is known to be written."""

    def __init__(self, array: types.Array) -> None:
        self.array = array
        super().__init__(name=f"Page({array})")


class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


register_model(Lent)(_Address)
register_model(Shelf)(_Address)
register_model(Page)(_Address)


@intrinsic
def _lend(typing_context, things):
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = cgutils.alloca_once_value(builder, args[0])
        return builder.bitcast(place, ir.IntType(8).as_pointer())

    return Lent(things)(things), generate


@intrinsic
def _borrow(typing_context, lent):
    borrowed = types.Tuple([Shelf(kind.dtype) if isinstance(kind, types.List) else kind for kind in lent.things])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(args[0], context.get_value_type(lent.things).as_pointer())
        whole = builder.load(place)
        parts = []
        for position, kind in enumerate(lent.things):
            part = builder.extract_value(whole, position)
            parts.append(_without_owner(context, builder, kind, part))
        return context.make_tuple(builder, borrowed, parts)

    return borrowed(lent), generate


def _place_in_list(context: Any, builder: Any, kind: types.List, value: Any) -> Any:
    items = ListInstance(context, builder, kind, value)
    return builder.bitcast(items._gep(context.get_constant(types.intp, 0)), ir.IntType(8).as_pointer())


@intrinsic
def _shelf(typing_context, stack):
    """The shelf that a list of one array is.  It is there as long as the list."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _place_in_list(context, builder, stack, args[0])

    return Shelf(stack.dtype)(stack), generate


def _without_owner(context: Any, builder: Any, kind: types.Type, value: Any) -> Any:
    if isinstance(kind, types.List):
        return _place_in_list(context, builder, kind, value)
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    return value


@intrinsic
def _on_shelf(typing_context, shelf):
    """The array as it is now, without a reference to it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(args[0], context.get_data_type(shelf.array).as_pointer())
        value = context.unpack_value(builder, shelf.array, place)
        return _without_owner(context, builder, shelf.array, value)

    return shelf.array(shelf), generate


@intrinsic
def _replace(typing_context, shelf, array):
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(args[0], context.get_data_type(shelf.array).as_pointer())
        before = context.unpack_value(builder, shelf.array, place)
        context.nrt.incref(builder, shelf.array, args[1])
        context.pack_value(builder, shelf.array, args[1], place)
        context.nrt.decref(builder, shelf.array, before)
        return context.get_dummy_value()

    return types.none(shelf, shelf.array), generate


@intrinsic
def _fresh(typing_context, length, like):
    """A vector of at least that length, of the type of another, in memory that was used before if there is some."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        length = context.cast(builder, args[0], signature.args[0], types.intp)
        return roomy(context, builder, like, length)._getvalue()

    return like(length, like), generate


@intrinsic
def _extended(typing_context, shelf, length):
    """Has the array on the shelf got so much room where it is, or where the system moved it?"""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(args[0], context.get_data_type(shelf.array).as_pointer())
        array = context.make_array(shelf.array)(context, builder, ref=place)
        length = context.cast(builder, args[1], signature.args[1], types.intp)
        return extended(context, builder, shelf.array, array, length)

    return types.boolean(shelf, length), generate


def _shelf_of(buffer: Any) -> Shelf:
    return Shelf(buffer.dtype) if isinstance(buffer, types.List) else buffer


def _address(context: Any, builder: Any, kind: Any, buffer: Any) -> Any:
    """The address of the one array in a list: buffer[0] would count references."""
    return buffer if isinstance(kind, Shelf) else _place_in_list(context, builder, kind, buffer)


def _array_at(context: Any, builder: Any, shelf: Shelf, address: Any) -> Any:
    place = builder.bitcast(address, context.get_data_type(shelf.array).as_pointer())
    return context.make_array(shelf.array)(context, builder, ref=place)


def _with_room(context: Any, builder: Any, shelf: Shelf, address: Any, end: Any) -> Any:
    """The array with room up to the end: growing is a call, and not for callers to inline."""
    array = _array_at(context, builder, shelf, address)
    with cgutils.if_unlikely(builder, builder.icmp_signed(">", end, array.nitems)):
        context.compile_internal(builder, _grow, types.none(shelf, types.intp), (address, end))
    return array


@intrinsic
def _push(typing_context, buffer, top, *values):
    shelf = _shelf_of(buffer)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = cgutils.unpack_tuple(builder, args[2])
        top = context.cast(builder, args[1], signature.args[1], types.intp)
        end = builder.add(top, context.get_constant(types.intp, len(values)))
        address = _address(context, builder, signature.args[0], args[0])
        data = builder.load(_with_room(context, builder, shelf, address, end)._get_ptr_by_name("data"))
        for k, (kind, value) in enumerate(zip(signature.args[2], values, strict=True)):
            item = builder.gep(data, [builder.add(top, context.get_constant(types.intp, k))])
            value = context.cast(builder, value, kind, shelf.array.dtype)
            context.pack_value(builder, shelf.array.dtype, value, item)
        return end

    return types.intp(buffer, top, types.StarArgTuple(values)), generate


@intrinsic
def _make_room(typing_context, buffer, top, size):
    shelf = _shelf_of(buffer)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        top, size = (context.cast(builder, args[k], signature.args[k], types.intp) for k in (1, 2))
        end = builder.add(top, size)
        _with_room(context, builder, shelf, _address(context, builder, signature.args[0], args[0]), end)
        return end

    return types.intp(buffer, top, size), generate


@intrinsic
def _kept_array(typing_context, buffer, start, shape):
    """It counts no reference: the stack holds what is on it, and is there until the last of it has been taken off."""
    shelf = _shelf_of(buffer)
    kind = shelf.array.copy(ndim=len(shape), layout="C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = _array_at(context, builder, shelf, _address(context, builder, signature.args[0], args[0]))
        start = context.cast(builder, args[1], signature.args[1], types.intp)
        given = zip(cgutils.unpack_tuple(builder, args[2]), signature.args[2], strict=True)
        lengths = [context.cast(builder, length, its, types.intp) for length, its in given]
        data = builder.gep(builder.load(array._get_ptr_by_name("data")), [start])
        return without_owner(context, builder, kind, lengths, data)

    return kind(buffer, start, shape), generate


STAND_INS |= {push: _push, make_room: _make_room, kept_array: _kept_array}


@linked
def _grow(buffer, end):
    full = _on_shelf(buffer)
    # pages that are never touched cost nothing; min and max are functions that Numba compiles for each program
    length = 8 * end if end < 1 << 15 else 1 << 18 if end < 1 << 17 else 2 * end
    if _extended(buffer, length):
        return
    grown = _fresh(length, full)
    for i in range(full.size):  # a statement on slices takes Numba two seconds to compile
        grown[i] = full[i]
    _replace(buffer, grown)


@overload(make_room)
def _make_room_elsewhere(buffer, top, size):
    return lambda buffer, top, size: _make_room(buffer, top, size)


@overload(push_array)
def _push_array(buffer, top, values):
    if not isinstance(buffer, Shelf):
        return lambda buffer, top, values: push_array(_shelf(buffer), top, values)

    def on_shelf(buffer, top, values):
        end = make_room(buffer, top, values.size)
        copy_to(_on_shelf(buffer)[top:end].reshape(values.shape), values)
        return end

    return on_shelf


@overload(push)
def _push_elsewhere(buffer, top, *values):
    return lambda buffer, top, *values: _push(buffer, top, *values)


@overload(lending)
def _lending(function, things, *args):
    def lending(function, things, *args):
        return function(_lend(things), *args)

    return lending


@overload(borrow)
def _borrowing(lent):
    return lambda lent: _borrow(lent)


@intrinsic
def _page(typing_context, shelf):
    return Page(shelf.array)(shelf), lambda context, builder, signature, args: args[0]


@intrinsic
def _read(typing_context, page, position):
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(args[0], context.get_data_type(page.array).as_pointer())
        array = context.make_array(page.array)(context, builder, ref=place)
        item = builder.gep(builder.load(array._get_ptr_by_name("data")), [args[1]])
        return context.unpack_value(builder, page.array.dtype, item)

    return page.array.dtype(page, types.intp), generate


@overload(operator.getitem)
def _get(shelf, position):
    if isinstance(shelf, Shelf):
        return lambda shelf, position: _page(shelf)
    if isinstance(shelf, Page) and isinstance(position, types.SliceType):
        return lambda shelf, position: _on_shelf(shelf)[position]
    if isinstance(shelf, Page):
        return lambda shelf, position: _read(shelf, position)
    return None


__all__ = ["borrow", "lending"]
