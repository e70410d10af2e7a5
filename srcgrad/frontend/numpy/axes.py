"""Views with other axes, and the elements in another order: transpose, moveaxis, expand_dims, reshape, ravel.

np.moveaxis(x, 0, -1)   →   x[#1, #0]  under dims (m, n)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...ir import affine
from ...ir.expressions import Axis, Const
from ..array_values import ArrayValue, remap, whole
from ..broadcasting import broadcast, common_dims, shown_as
from ..builder import Builder
from ..values import Scalar, TupleValue
from . import creation, shapes
from .table import absent, as_array, axis_number, dtype_or_none, flag, rule


def axis_in(builder: Builder, value: Any, ndim: int) -> int:
    """An axis of an array of `ndim` axes, counted from the front."""
    number = axis_number(builder, value)
    if not -ndim <= number < ndim:
        builder.refuse(f"axis {number} is out of bounds for array of dimension {ndim}", error=ShapeError)
    return number % ndim


def axes_in(builder: Builder, value: Any, ndim: int) -> tuple[int, ...]:
    """One axis, or a tuple of different ones, in the order in which they are named."""
    items = value.items if isinstance(value, TupleValue) else (value,)
    found = tuple(axis_in(builder, item, ndim) for item in items)
    if len(set(found)) < len(found):
        builder.refuse("repeated axis", error=ShapeError)
    return found


def with_axes(value: ArrayValue, places: Sequence[int]) -> ArrayValue:
    """The array with axes of length 1 at these places of the result."""
    dims = list(value.dims)
    for place in sorted(places):
        dims.insert(place, affine.ONE)
    return remap(value, tuple(dims), [Axis(k) for k in range(len(dims)) if k not in places])


@rule(np.transpose, np.permute_dims, method="transpose")
def transpose(build: Builder, a: Any, axes: Any = None) -> Any:
    value = as_array(build, a)
    if absent(axes):
        return shapes.transpose(build, value)
    if isinstance(axes, TupleValue) and len(axes.items) != value.ndim:
        build.refuse("axes don't match array", error=ShapeError)
    return shapes.transpose(build, value, axes_in(build, axes, value.ndim))


@rule(np.swapaxes, method="swapaxes")
def swapaxes(build: Builder, a: Any, axis1: Any, axis2: Any) -> Any:
    value = as_array(build, a)
    return shapes.swapaxes(build, value, *(axis_in(build, axis, value.ndim) for axis in (axis1, axis2)))


@rule(np.moveaxis)
def moveaxis(build: Builder, a: Any, source: Any, destination: Any) -> Any:
    value = as_array(build, a)
    sources, targets = axes_in(build, source, value.ndim), axes_in(build, destination, value.ndim)
    if len(sources) != len(targets):
        build.refuse("`source` and `destination` arguments must have the same number of elements", error=ShapeError)
    order = [k for k in range(value.ndim) if k not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return shapes.transpose(build, value, order)


@rule(np.rollaxis)
def rollaxis(build: Builder, a: Any, axis: Any, start: Any = 0) -> Any:
    value = as_array(build, a)
    moved = axis_in(build, axis, value.ndim)
    first = start if isinstance(start, int) else axis_number(build, start)
    if not -value.ndim <= first <= value.ndim:
        build.refuse(f"start {first} is out of bounds for an array of {value.ndim} axes", error=ShapeError)
    first += value.ndim if first < 0 else 0
    order = [k for k in range(value.ndim) if k != moved]
    order.insert(first - (moved < first), moved)
    return shapes.transpose(build, value, order)


@rule(np.expand_dims)
def expand_dims(build: Builder, a: Any, axis: Any) -> Any:
    value = as_array(build, a)
    count = len(axis.items) if isinstance(axis, TupleValue) else 1
    return with_axes(value, axes_in(build, axis, value.ndim + count))


@rule(np.squeeze, method="squeeze")
def squeeze(build: Builder, a: Any, axis: Any = None) -> Any:
    value = as_array(build, a)
    if absent(axis):
        return shapes.squeeze(build, value, axis)
    gone = axes_in(build, axis, value.ndim)
    for k in gone:
        if isinstance(value.dims[k], Const) and value.dims[k] != affine.ONE:
            build.refuse("cannot select an axis to squeeze out which has size not equal to one", error=ShapeError)
    return shapes.squeeze(build, value, TupleValue(tuple(Scalar(affine.integer(k)) for k in gone)))


def at_least(value: ArrayValue, ndim: int) -> ArrayValue:
    """np.atleast_1d and its like: a matrix is the first of many in three dimensions, a vector is in the middle."""
    missing = ndim - value.ndim
    if missing <= 0:
        return value
    places = {(3, 1): (0, 2), (3, 2): (2,)}.get((ndim, value.ndim), tuple(range(missing)))
    return with_axes(value, places)


def _at_least(ndim: int) -> Any:
    def handler(build: Builder, *arys: Any) -> Any:
        parts = tuple(at_least(as_array(build, item), ndim) for item in arys)
        return parts[0] if len(parts) == 1 else TupleValue(parts)

    return handler


rule(np.atleast_1d)(_at_least(1))
rule(np.atleast_2d)(_at_least(2))
rule(np.atleast_3d)(_at_least(3))


@rule(np.broadcast_arrays)
def broadcast_arrays(build: Builder, *args: Any) -> Any:
    parts = [as_array(build, item) for item in args]
    dims, elements = broadcast(build, parts)
    return TupleValue(tuple(shown_as(build, dims, element) for element in elements))


@rule(np.broadcast_shapes)
def broadcast_shapes(build: Builder, *args: Any) -> Any:
    dims = common_dims(build, [creation.shape_of(build, shape) for shape in args])
    return TupleValue(tuple(Scalar(dim, weak=True) for dim in dims))


# --------------------------------------------------------------------------------------------- elements in F order


def is_in_columns(build: Builder, value: ArrayValue, order: Any) -> bool:
    """Does `order` ask for the elements column by column?"""
    wanted = "C" if absent(order) else order.value
    if wanted in ("A", "K") and value.ndim > 1:
        is_known = value.is_window and not build.other_layouts and build.is_in_order(value.element.array)  # type: ignore
        if not is_known or not build.follows_order(value):
            build.refuse(f"order={wanted!r} depends on the order in memory, which is not known here", "order='C'")
    if wanted not in ("A", "C", "F", "K"):
        build.refuse(f"order must be one of 'C', 'F', 'A', or 'K' (got {wanted!r})", error=ArgumentError)
    return wanted == "F" and value.ndim > 0


@rule(np.reshape, method="reshape")
def reshape(build: Builder, a: Any, shape: Any, order: Any = None, *, copy: Any = None) -> Any:
    value = as_array(build, a)
    if not absent(copy) and flag(copy):
        value = shapes.copied(build, value)
    if not is_in_columns(build, value, order):
        return shapes.reshape(build, value, shape)
    items = shape.items if isinstance(shape, TupleValue) else (shape,)
    turned = shapes.reshape(build, shapes.transpose(build, value), TupleValue(tuple(reversed(items))))
    return shapes.transpose(build, turned)


@rule(np.ravel, method="ravel")
def ravel(build: Builder, a: Any, order: Any = None) -> Any:
    value = as_array(build, a)
    return shapes.in_one_piece(build, shapes.transpose(build, value) if is_in_columns(build, value, order) else value)


@rule(method="view")
def view(build: Builder, a: Any, dtype: Any = None, type: Any = None) -> Any:
    """The array under another name: with its elements as they are there is nothing else to it."""
    value = as_array(build, a)
    wanted = dtype_or_none(build, dtype)
    if not absent(type) or wanted not in (None, value.dtype):
        build.refuse("an array is seen as one of another kind", "convert it:  x.astype(dtype)")
    return value


@rule(method="flatten")
def flatten(build: Builder, a: Any, order: Any = None) -> Any:
    value = as_array(build, a)
    if is_in_columns(build, value, order):
        value = shapes.transpose(build, value)
    out = build.allocate("t", value.dtype, value.dims)
    creation.write_part(build, out, value.dims, value, lambda i: i)
    return shapes.ravel(build, whole(out))
