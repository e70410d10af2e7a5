"""x.flat: read and written by one index along its only axis.

x.flat[2:]   →   x[(#0 + 2) // n, (#0 + 2) % n]  under dims (max(m * n - 2, 0),)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import affine
from ...ir.expressions import INT64, Axis, Call, Expr
from ..array_values import ArrayValue, Flat, remap, whole
from ..builder import Builder
from ..values import TupleValue
from . import indexing


def elements(builder: Builder, value: ArrayValue) -> Flat:
    """x.flat: the elements in C order, in the memory of x."""
    size = builder.pin(affine.product(value.dims))
    if value.ndim == 1:
        return Flat(value.dims, value.element)
    handle = value.handle
    if handle is not None and handle.name in builder.contiguous:
        return Flat((size,), whole(builder.reshape(handle, (size,), "flat")).element)
    index: list[Expr] = []
    rest: Expr = Axis(0)
    for axis in reversed(range(value.ndim)):
        index.insert(0, Call("mod", (rest, value.dims[axis]), INT64) if axis else rest)
        rest = Call("floordiv", (rest, value.dims[axis]), INT64)
    return Flat((size,), remap(value, (size,), index).element)


def pick(builder: Builder, value: Flat, items: Sequence[Any]) -> ArrayValue:
    """x.flat[items], by one index along its only axis."""
    parts = [indexing.as_index(builder, item) for item in items]
    if len(parts) != 1 or parts[0] is None or isinstance(parts[0], indexing.Flag) or getattr(parts[0], "ndim", 0) > 1:
        builder.refuse("x.flat takes one integer, slice, or index array of one axis", "x.ravel()[…]")
    return indexing.subscript(builder, ArrayValue(value.dims, value.element), items)


def _memory(builder: Builder, target: Flat, items: Sequence[Any]) -> ArrayValue:
    """What x.flat[items] is of x, whose elements need not lie one behind the other."""
    value = ArrayValue(target.dims, target.element)
    if value.is_window:
        return pick(builder, target, items)
    part = pick(builder, Flat(target.dims, Axis(0)), items)
    return remap(value, part.dims, [part.element])


def write(builder: Builder, target: Flat, items: Sequence[Any], value: Any, op: str | None) -> None:
    """x.flat[items] = value: in C order, and from its start again where the value is shorter."""
    part = _memory(builder, target, items)
    if isinstance(value, TupleValue):
        value = indexing.builder_array(builder, value)
    if isinstance(value, ArrayValue) and op is None:
        value = elements(builder, value)
        (length,) = value.dims
        if not affine.same(length, affine.product(part.dims)):
            value = remap(value, part.dims, [Call("mod", (Axis(0), length), INT64)])
    indexing.write(builder, part, value, op=op)
