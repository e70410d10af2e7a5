"""Arrays that compiled code makes, by np.empty, np.zeros and copies: memory that was used before, if there is some."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.extending import intrinsic

from srcgrad.runtime.described import Described
from srcgrad.runtime.memory import empty
from srcgrad.runtime.stand_ins import STAND_INS


def _maker(is_cleared: bool) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lengths = _lengths(context, builder, signature.args[0], args[0])
        array = empty(context, builder, signature.return_type, lengths)
        if is_cleared:
            cgutils.memset(builder, array.data, builder.mul(array.itemsize, array.nitems), 0)
        return array._getvalue()

    def make(typing_context, shape, dtype=None):  # no types: Numba compares signatures
        kind = types.float64 if _is_float(dtype) else parse_dtype(dtype)
        ndim = parse_shape(shape)
        if kind is None or ndim is None:
            raise TypingError(f"no array of shape {shape} and dtype {dtype}")
        return types.Array(kind, ndim, "C")(shape, types.Omitted(None) if dtype is None else dtype), generate

    return intrinsic(make)


def _lengths(context: Any, builder: Any, kind: types.Type, shape: Any) -> list[Any]:
    """What a shape says, a number or a tuple; none of it is negative."""
    is_tuple = isinstance(kind, types.BaseTuple)
    given = zip(cgutils.unpack_tuple(builder, shape), kind, strict=True) if is_tuple else [(shape, kind)]
    lengths = [context.cast(builder, value, part, types.intp) for value, part in given]
    for length in lengths:
        with builder.if_then(builder.icmp_signed("<", length, length.type(0)), likely=False):
            context.call_conv.return_user_exc(builder, ValueError, ("negative dimensions not allowed",))
    return lengths


def _is_float(dtype: Any) -> bool:
    return dtype in (None, types.none) or (isinstance(dtype, types.Function) and dtype.typing_key is float)


def copied(context: Any, builder: Any, kind: types.Array, value: Any) -> Any:
    """A copy of an array that is contiguous by rows, as its type says."""
    source = Described(context, builder, kind, value)
    lengths = cgutils.unpack_tuple(builder, source.shape, kind.ndim)
    target = empty(context, builder, kind.copy(readonly=False), lengths)
    cgutils.raw_memcpy(builder, target.data, source.data, source.nitems, source.itemsize)
    return target._getvalue()


@intrinsic
def with_rows(typing_context, array, rows):
    """An array that is contiguous by rows, as it is where it has so many; else its contents in a longer one."""
    if not (isinstance(array, types.Array) and array.layout == "C"):
        raise TypingError(f"rows can't be added to {array}")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        present = Described(context, builder, array, args[0])
        wanted = context.cast(builder, args[1], rows, types.intp)
        count, *others = cgutils.unpack_tuple(builder, present.shape, array.ndim)
        with builder.if_else(builder.icmp_signed(">", wanted, count), likely=False) as (longer, enough):
            with longer:
                twice = builder.add(count, count)
                length = builder.select(builder.icmp_signed(">", wanted, twice), wanted, twice)
                grown = empty(context, builder, array, [length, *others])
                cgutils.raw_memcpy(builder, grown.data, present.data, present.nitems, present.itemsize)
                new, ended_longer = grown._getvalue(), builder.block
            with enough:
                context.nrt.incref(builder, array, args[0])
                ended_enough = builder.block
        result = builder.phi(args[0].type)
        result.add_incoming(new, ended_longer)
        result.add_incoming(args[0], ended_enough)
        return result

    return array(array, rows), generate


STAND_INS |= {np.empty: _maker(is_cleared=False), np.zeros: _maker(is_cleared=True)}

__all__ = ["STAND_INS", "copied", "with_rows"]
