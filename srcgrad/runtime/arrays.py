"""Array helpers of generated code: each works in plain Python and compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from srcgrad.runtime import allocations
from srcgrad.runtime.allocations import STAND_INS
from srcgrad.runtime.linked import linked, overload


@linked
def trip_count(start: Any, stop: Any, step: Any) -> Any:
    """len(range(start, stop, step))"""
    if step > 0:
        return max(0, (stop - start + step - 1) // step)
    return max(0, (start - stop - step - 1) // -step)


@linked
def find_nonzero(positions: Any, mask: Any) -> None:
    """The positions, in C order, where a contiguous mask holds."""
    flat = mask.reshape(mask.size)
    k = 0
    for i in range(flat.size):
        if flat[i]:
            positions[k] = i
            k += 1


def copy_to(target: Any, source: Any) -> None:
    """target[...] = source, of one shape (what Numba makes of that statement takes a second to compile)."""
    if target.shape != source.shape:
        raise ValueError("arrays of two shapes")
    target[...] = source


def conform(x: Any, shape: Any) -> Any:
    """x where it has this shape, else a copy broadcast to it (or x where it does not fit: a guard then raises)."""
    return x if x.shape == shape or not fits(x.shape, shape) else np.broadcast_to(x, shape).copy()


def fits(lengths: Any, shape: Any) -> bool:
    """Is each length that of the shape, or 1?"""
    return all(n in (1, m) for n, m in zip(lengths, shape, strict=True))


def conform_zeros(x_b: Any, shape: Any) -> Any:
    """The shadow of `conform(x, shape)`: that of x where it is x, else zeros for `absorb` to sum up."""
    return x_b if x_b.shape == shape else np.zeros(shape, x_b.dtype)


def absorb(x_b: Any, out_b: Any) -> None:
    """x_b += out_b, summed over the axes where x has length 1; nothing where they are one array, or do not fit: then
    the guard stands in a loop that did not run."""
    if x_b.shape != out_b.shape and fits(x_b.shape, out_b.shape):
        stretched = tuple(k for k in range(x_b.ndim) if x_b.shape[k] != out_b.shape[k])
        x_b += out_b.sum(axis=stretched, keepdims=True)


def _nest(ndim: int, over: str, body: str) -> str:
    """Nested loops over all axes: compiled in a tenth of the time of Numba's broadcasting."""
    lines = [f"{'    ' * (k + 2)}for i{k} in range({over}.shape[{k}]):" for k in range(ndim)]
    return "\n".join([*lines, "    " * (ndim + 2) + body])


def _made(name: str, lines: str) -> Any:
    namespace: dict[str, Any] = {"np": np, "empty": STAND_INS[np.empty]}
    exec(lines, namespace)
    return namespace[name]


def _from(array: str, other: str, ndim: int) -> str:
    return ", ".join(f"i{k} if {array}.shape[{k}] == {other}.shape[{k}] else 0" for k in range(ndim))


@overload(copy_to)
def _copy_to(target, source):
    return lambda target, source: _copy(target, source)


@intrinsic
def _copy(typing_context, target, source):
    in_one_piece = target.layout == source.layout == "C" and target.dtype == source.dtype

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not in_one_piece:
            return context.compile_internal(builder, _by_elements(source), signature, args)
        to, given = (make_array(kind)(context, builder, v) for kind, v in zip(signature.args, args, strict=True))
        for n, m in zip(*(cgutils.unpack_tuple(builder, array.shape) for array in (to, given)), strict=True):
            with builder.if_then(builder.icmp_signed("!=", n, m), likely=False):
                context.call_conv.return_user_exc(builder, ValueError, ("arrays of two shapes",))
        cgutils.raw_memmove(builder, to.data, given.data, given.nitems, given.itemsize)
        return context.get_dummy_value()

    return types.none(target, source), generate


STAND_INS[copy_to] = _copy


@intrinsic(prefer_literal=True)
def _transpose(typing_context, array, axes):
    """The axes of an array in another order, which is known.  (Numba permutes lengths and strides as arrays.)"""
    order = [getattr(k, "literal_value", None) for k in axes]
    if None in order or not isinstance(array, types.Array):
        raise TypingError(f"no transpose of {array} by {axes}")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source = make_array(array)(context, builder, args[0])
        target = make_array(signature.return_type)(context, builder)
        lengths, strides = (
            [parts[k] for k in order]
            for parts in (cgutils.unpack_tuple(builder, part, array.ndim) for part in (source.shape, source.strides))
        )
        populate_array(target, source.data, lengths, strides, source.itemsize, source.meminfo, source.parent)
        return impl_ret_borrowed(context, builder, signature.return_type, target._getvalue())

    return array.copy(layout="A")(array, axes), generate


STAND_INS[np.transpose] = _transpose


def _by_elements(source: Any) -> Any:
    here = ", ".join(f"i{k}" for k in range(source.ndim))
    other = " or ".join(f"target.shape[{k}] != source.shape[{k}]" for k in range(source.ndim))
    check = f"    if {other}:\n        raise ValueError('arrays of two shapes')"
    body = _nest(source.ndim, "source", f"target[{here}] = source[{here}]").replace("\n    ", "\n").removeprefix("    ")
    return _made("copy_to", f"def copy_to(target, source):\n{check}\n{body}\n")


@overload(conform)
def _conform(x, shape):  # no types: Numba compares signatures
    plain = x if x.layout == "C" else None
    odd = " or ".join(f"x.shape[{k}] != 1 and x.shape[{k}] != shape[{k}]" for k in range(x.ndim))  # it does not fit
    same = "x" if plain else "x.copy()"
    head = f"def conform(x, shape):\n    if x.shape == shape or {odd}:\n        return {same}"
    here = ", ".join(f"i{k}" for k in range(x.ndim))
    body = _nest(x.ndim, "out", f"out[{here}] = x[{_from('x', 'out', x.ndim)}]")
    return _made("conform", f"{head}\n    else:\n        out = empty(shape, x.dtype)\n{body}\n        return out\n")


@overload(conform_zeros)
def _conform_zeros(x_b, shape):
    zeros = STAND_INS[np.zeros]

    def conform_zeros(x_b, shape):
        if x_b.shape == shape:
            return x_b
        return zeros(shape, x_b.dtype)

    return conform_zeros


@overload(absorb)
def _absorb(x_b, out_b):
    here = ", ".join(f"i{k}" for k in range(x_b.ndim))
    body = _nest(x_b.ndim, "out_b", f"x_b[{_from('x_b', 'out_b', x_b.ndim)}] += out_b[{here}]")
    fit = " and ".join(f"(x_b.shape[{k}] == 1 or x_b.shape[{k}] == out_b.shape[{k}])" for k in range(x_b.ndim))
    return _made("absorb", f"def absorb(x_b, out_b):\n    if x_b.shape != out_b.shape and {fit}:\n{body}\n")


def with_rows(array: Any, rows: Any) -> Any:
    """The array, or where it has fewer rows than this, a longer one that begins with it.  (Compiled: `allocations`.)"""
    if rows <= array.shape[0]:
        return array
    out = np.empty((max(rows, 2 * array.shape[0]),) + array.shape[1:], array.dtype)
    copy_to(out[: array.shape[0]], array)
    return out


STAND_INS[with_rows] = allocations.with_rows


def push(buffer: Any, top: Any, *values: Any) -> Any:
    """Keep values; the new top.  (How it is compiled is in `lent`.)"""
    end = make_room(buffer, top, len(values))
    buffer[0][top:end] = values
    return end


def make_room(buffer: Any, top: Any, size: Any) -> Any:
    """Have so many more elements; the new top."""
    end = top + size
    if end > buffer[0].size:
        grown = np.empty(2 * end, buffer[0].dtype)
        grown[:top] = buffer[0][:top]
        buffer[0] = grown
    return end


def push_array(buffer: Any, top: Any, values: Any) -> Any:
    """Keep the elements of an array; the new top."""
    end = make_room(buffer, top, values.size)
    kept_array(buffer, top, values.shape)[...] = values
    return end


def kept_array(buffer: Any, start: Any, shape: Any) -> Any:
    """The elements from `start` on, as an array of this shape.  (How it is compiled is in `lent`.)"""
    return buffer[0][start : start + math.prod(shape)].reshape(shape)


__all__ = [
    "absorb",
    "conform",
    "conform_zeros",
    "copy_to",
    "find_nonzero",
    "kept_array",
    "make_room",
    "push",
    "push_array",
    "trip_count",
    "with_rows",
]
