"""Reshaping, transposing, joining and copying: views where NumPy makes views.

x.T            →  x[#1, #0] under dims (m, n): nothing is copied
x.reshape(-1)  →  a view of x where x is contiguous, else of a copy
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import reduce
from typing import Any

from ...errors import ArgumentError, ShapeError, ValueArgumentError, place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Axis, Call, Const, Expr, Load, both, either
from ...ir.nodes import If, Raise
from ...ir.walk import is_constant
from ..array_values import ArrayValue, axes, remap, run_of, whole
from ..broadcasting import check_fits, element_under, shape_text, shown_as
from ..builder import Builder
from ..values import Scalar, Static, TupleValue, static_int
from .creation import check_length, common_dtype, shape_of, write_part


def transpose(builder: Builder, value: ArrayValue, order: Sequence[int] | None = None) -> ArrayValue:
    ndim = value.ndim
    order = tuple(reversed(range(ndim))) if order is None else tuple(k % ndim for k in order)
    if sorted(order) != list(range(ndim)):
        builder.refuse(f"axes {tuple(order)} don't match an array of dimension {ndim}", error=ArgumentError)
    index: list[Expr] = [affine.ZERO] * ndim
    for at, axis in enumerate(order):
        index[axis] = Axis(at)
    return remap(value, tuple(value.dims[axis] for axis in order), index)


def swapaxes(builder: Builder, value: ArrayValue, first: int, second: int) -> ArrayValue:
    order = list(range(value.ndim))
    order[first], order[second] = order[second], order[first]
    return transpose(builder, value, order)


def moveaxis(builder: Builder, value: ArrayValue, source: int, target: int) -> ArrayValue:
    order = list(range(value.ndim))
    order.insert(target % value.ndim, order.pop(source))
    return transpose(builder, value, order)


def reshape(builder: Builder, value: ArrayValue, shape: Any, name: str = "t") -> ArrayValue:
    """The same elements in C order; one length may be -1."""
    size = affine.product(value.dims)
    items = shape.items if isinstance(shape, TupleValue) else (shape,)
    known = [item for item in items if static_int(item) != -1]
    if len(items) - len(known) > 1:
        builder.refuse("can only specify one unknown dimension", error=ArgumentError)
    dims = list(shape_of(builder, TupleValue(tuple(known))))
    if len(known) < len(items):
        at = next(k for k, item in enumerate(items) if static_int(item) == -1)
        dims.insert(at, _rest(builder, size, tuple(dims), value))
    _check_size(builder, value, size, tuple(dims))
    return reshaped(builder, value, tuple(dims), name)


def reshaped(builder: Builder, value: ArrayValue, dims: tuple[Expr, ...], name: str = "t") -> ArrayValue:
    if len(dims) == value.ndim and all(map(affine.same, dims, value.dims)):
        return value
    kept = [k for k, d in enumerate(value.dims) if not is_constant(d, 1)]
    wanted = [k for k, d in enumerate(dims) if not is_constant(d, 1)]
    alike = len(kept) == len(wanted) and all(
        affine.same(value.dims[a], dims[b]) for a, b in zip(kept, wanted, strict=False)
    )
    if alike:  # only axes of length 1 come or go
        index: list[Expr] = [affine.ZERO] * value.ndim
        for a, b in zip(kept, wanted, strict=False):
            index[a] = Axis(b)
        return remap(value, dims, index)
    if value.has_run_time_step:
        value = whole(builder.stored(value, name))
    split = _as_split(builder, value, dims, name)
    if split is not None:
        return split
    memory = value.element.array if value.is_window else None  # type: ignore[attr-defined]
    if memory is not None and not builder.is_in_order(memory):  # a view or a copy in NumPy: we have a copy
        copy = builder.materialize(value, name, copy=True)
        builder.uncertain.discard(copy.name)
        builder.twin_if(copy, memory, _where_a_view(builder, value, dims))
        return whole(builder.reshape(copy, dims, name))
    base = builder.in_order(value, name)
    if value.is_window:
        assert isinstance(value.element, Load)
        if builder.root(base) != builder.root(value.element.array):
            builder.twin_if(base, value.element.array, _where_a_view(builder, value, dims))
    elif value.is_view_to_numpy:
        builder.twin(base, value.element.array)  # type: ignore[attr-defined]
    return whole(builder.reshape(base, dims, name))


def _as_split(builder: Builder, value: ArrayValue, dims: tuple[Expr, ...], name: str) -> ArrayValue | None:
    """A view of what is not contiguous, or may not be in NumPy, by taking one axis apart: all others stay as they are.

    Where there are as many elements as before, it is as long as its parts together.
    """
    if not value.is_window or not dims:
        return None
    ahead = _as_before(value.dims[:-1], dims)
    behind = _as_before(value.dims[:ahead:-1], dims[:ahead:-1])
    parts = dims[ahead : len(dims) - behind]
    if ahead + behind != value.ndim - 1 or not parts:
        return None
    array = builder.stored(value, name)
    if array.name in builder.contiguous:
        return whole(builder.reshape(array, dims, name))
    if len(parts) == 1:  # of one axis, as long as it is
        return remap(value, dims, axes(value.ndim))
    return whole(builder.split(array, ahead, parts, name))


def _as_before(given: tuple[Expr, ...], dims: tuple[Expr, ...]) -> int:
    """How many lengths are what they were, from the first on?"""
    pairs = itertools.takewhile(lambda pair: affine.same(*pair), zip(given, dims, strict=False))
    return sum(1 for _ in pairs)


def _where_a_view(builder: Builder, value: ArrayValue, dims: tuple[Expr, ...]) -> Expr | None:
    """Of which lengths a part of an array, that we copy to reshape it, is a view in NumPy; None where we can't say.

    An axis of length 1 is in any order: A.T.ravel() is a view of A where A has one row, as A[:, :m].ravel() is where
    A has m columns.  And an axis can be taken apart wherever it is: A.T.reshape(3, 2, 2) is a view of 4 by 3 elements.
    """
    assert isinstance(value.element, Load)
    array = value.element.array
    places = [part.number if isinstance(part, Axis) else -1 for part in value.element.index]
    while array.name in builder.transposed:
        array, order = builder.transposed[array.name]
        places = [places[order.index(k)] for k in range(len(order))]
    lengths = value.dims
    axes = [k for k in range(value.ndim) if k in places or not is_constant(lengths[k], 1)]
    is_turned = array.name in builder.contiguous and builder.is_in_order(array) and sorted(places) == axes
    if builder.other_layouts or not is_turned or (len(dims) > 1 and len(axes) > 2):
        return None
    turned = [(k, l) for l in axes for k in axes if k < l and places.index(k) > places.index(l)]
    in_order = _all_of([_any_of([_equal(lengths[k], affine.ONE), _equal(lengths[l], affine.ONE)]) for k, l in turned])
    apart = [_equal(affine.product(dims[:k]), lengths[axes[0]]) for k in range(1, len(dims))]
    return _any_of([in_order, *apart])


def _equal(x: Expr, y: Expr) -> Expr:
    gap = affine.difference(x, y)
    return affine.equals(x, y) if gap is None else Const(gap == 0, BOOL)


def _any_of(conditions: list[Expr]) -> Expr:
    unknown = [c for c in conditions if not isinstance(c, Const)]
    is_sure = any(c.value for c in conditions if isinstance(c, Const))
    return Const(is_sure, BOOL) if is_sure or not unknown else reduce(either, unknown)


def _all_of(conditions: list[Expr]) -> Expr:
    unknown = [c for c in conditions if not isinstance(c, Const)]
    is_sure = all(c.value for c in conditions if isinstance(c, Const))
    return reduce(both, unknown) if is_sure and unknown else Const(is_sure, BOOL)


def _rest(builder: Builder, size: Expr, dims: tuple[Expr, ...], value: ArrayValue) -> Expr:
    """The length that -1 stands for."""
    others = affine.product(dims)
    if is_constant(others, 1):
        return size
    if isinstance(others, Const) and isinstance(size, Const):
        if others.value == 0 or size.value % others.value:
            builder.refuse(
                f"cannot reshape array of shape {shape_text(value.dims)} into {shape_text(dims)}", error=ShapeError
            )
        return affine.integer(size.value // others.value)
    lengths = list(value.dims)  # dims that are lengths of the array itself cancel
    for dim in (dim for dim in dims if not is_constant(dim, 1)):
        for length in lengths:
            if affine.same(dim, length):
                lengths.remove(length)
                break
        else:
            if not isinstance(others, Const):
                message = "cannot reshape array: of no elements, -1 stands for no length" + place(builder.span)
                builder.emit(If(affine.equals(others, affine.ZERO), (Raise("ValueError", message),)))
            return builder.pin(Call("floordiv", (size, others), INT64))
    return affine.product(tuple(lengths))


def _check_size(builder: Builder, value: ArrayValue, size: Expr, dims: tuple[Expr, ...]) -> None:
    gap = affine.difference(size, affine.product(dims))
    if gap == 0 or sorted(map(repr, value.dims)) == sorted(map(repr, dims)):
        return
    if gap is not None:
        texts = f"{shape_text(value.dims)} into shape {shape_text(dims)}"
        builder.refuse(f"cannot reshape array of shape {texts}", error=ShapeError)
    wrong = Call("ne", (size, affine.product(dims)), BOOL)
    builder.emit(If(wrong, (Raise("ValueError", "cannot reshape array: the number of elements differs"),)))


def squeeze(builder: Builder, value: ArrayValue, axis: Any) -> Any:
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        gone = [k for k, d in enumerate(value.dims) if is_constant(d, 1)]
        for k, length in enumerate(value.dims):  # what may be 1 is taken for longer
            if not isinstance(length, Const):
                message = "squeeze needs axis={} here: this length of {} is only known at run time" + place(
                    builder.span
                )
                single = affine.equals(length, affine.ONE)
                builder.emit(If(single, (Raise("RuntimeShapeError", message, (affine.integer(k), length)),)))
    else:
        items = axis.items if isinstance(axis, TupleValue) else (axis,)
        gone = [static_int(item) % value.ndim for item in items]  # type: ignore[operator]
        for k in gone:
            check_length(builder, value.dims[k], affine.ONE)
    kept = [k for k in range(value.ndim) if k not in gone]
    index: list[Expr] = [affine.ZERO] * value.ndim
    for at, axis_number in enumerate(kept):
        index[axis_number] = Axis(at)
    return remap(value, tuple(value.dims[k] for k in kept), index)


def concatenate(builder: Builder, parts: Sequence[Any], axis: Any) -> ArrayValue:
    if isinstance(axis, Static) and axis.value is None:
        parts, axis = [ravel(builder, part) for part in parts], Scalar(affine.ZERO)
    number = static_int(axis)
    assert number is not None
    parts = list(parts)
    if any(not isinstance(p, ArrayValue) or p.ndim == 0 for p in parts):
        builder.refuse("zero-dimensional arrays cannot be concatenated", error=ArgumentError)
    ndim = parts[0].ndim
    if any(part.ndim != ndim for part in parts) or not -ndim <= number < ndim:
        builder.refuse("all the input arrays must have the same number of dimensions", error=ArgumentError)
    number %= ndim
    for part in parts[1:]:
        for k in range(ndim):
            if k != number:
                check_length(builder, parts[0].dims[k], part.dims[k])
    total: Expr = affine.ZERO
    starts = []
    for part in parts:
        starts.append(total)
        total = affine.add(total, part.dims[number])
    dims = parts[0].dims
    out = builder.allocate("t", common_dtype(parts), (*dims[:number], total, *dims[number + 1 :]))
    if ndim > 1 and not all(builder.follows_order(part) for part in parts):
        builder.uncertain.add(out.name)
    for part, start in zip(parts, starts, strict=False):
        place = lambda i, at=start: (*i[:number], affine.add(at, i[number]), *i[number + 1 :])
        write_part(builder, out, part.dims, part, place)
    return whole(out)


def ravel(builder: Builder, value: Any, name: str = "t") -> ArrayValue:
    if isinstance(value, Scalar):
        value = ArrayValue((), builder.capture(value.expr) if isinstance(value.expr, Load) else value.expr)
    return reshaped(builder, value, (builder.pin(affine.product(value.dims)),), name)


def in_one_piece(builder: Builder, value: ArrayValue) -> ArrayValue:
    """np.ravel, where a write to one may be seen in the other: a copy of what does not lie side by side."""
    if isinstance(value, ArrayValue) and value.has_run_time_step:
        value = whole(builder.stored(value))
    out = value if isinstance(value, ArrayValue) and value.ndim == 1 else ravel(builder, value)
    if builder.in_composition or not (value.is_window and out.is_window):
        return out
    assert isinstance(value.element, Load) and isinstance(out.element, Load)
    if out.element.array != value.element.array:
        return out  # a copy, or a view that reshape made of what is in order
    array = builder.view(out)
    return whole(array) if array.name in builder.contiguous and builder.is_in_order(array) else in_c_order(builder, out)


def broadcast_to(builder: Builder, value: Any, shape: Any) -> ArrayValue:
    dims = shape_of(builder, shape)
    if isinstance(value, ArrayValue):
        check_fits(builder, value.dims, dims, stretch=True)
    return shown_as(builder, dims, element_under(builder, value, dims))


def only_element(builder: Builder, value: ArrayValue, message: str, *helps: str) -> Scalar:
    """The number that an array of one element holds; where only a run tells how many there are, it is asked then."""
    others = [length for length in value.dims if not is_constant(length, 1)]
    if any(isinstance(length, Const) for length in others):
        builder.refuse(
            f"{message}, and this one has the shape {shape_text(value.dims)}", *helps, error=ValueArgumentError
        )
    if others:
        size = affine.product(tuple(others))
        raised = Raise("RuntimeValueError", f"{message}, and this one has {{}}" + place(builder.span), (size,))
        builder.emit(If(Call("ne", (size, affine.ONE), BOOL), (raised,)))
    builder.check_fresh(value.element)
    return Scalar(value.at([affine.ZERO] * value.ndim))


def flip(value: ArrayValue, axes: Sequence[int]) -> ArrayValue:
    index = [
        affine.sub(affine.sub(dim, affine.ONE), Axis(k)) if k in axes else Axis(k) for k, dim in enumerate(value.dims)
    ]
    return remap(value, value.dims, index)


def in_c_order(builder: Builder, value: ArrayValue, name: str = "t") -> ArrayValue:
    """np.ascontiguousarray: the array itself where it is in order already, else a copy."""
    handle = value.handle
    if handle is not None and handle.name in builder.contiguous and builder.is_in_order(handle):
        if not builder.other_layouts:
            return value
        copy = builder.materialize(value, name, copy=True)
        builder.twin(copy, handle)  # the argument itself, or a copy of it
        return whole(copy)
    copy = builder.materialize(value, name, copy=True)
    if value.is_window:  # it may be in order after all
        where = _where_in_one_piece(builder, value)
        builder.twin_if(copy, value.element.array, where)  # type: ignore[attr-defined]
    builder.uncertain.discard(copy.name)
    return whole(copy)


def _where_in_one_piece(builder: Builder, value: ArrayValue) -> Expr | None:
    """Of which lengths a part of an array lies in one piece; None where we can't say."""
    assert isinstance(value.element, Load)
    array, index = value.element.array, value.element.index
    moving = [k for k, part in enumerate(index) if run_of(part) is not None]
    if value.ndim == 1 and len(moving) == 1 and array.name in builder.contiguous and builder.is_in_order(array):
        _, _, step = run_of(index[moving[0]]) or (None, None, None)
        if isinstance(step, Const):
            beside = _equal(affine.product(array.dims[moving[0] + 1 :]), affine.ONE)
            alone = _equal(value.dims[0], affine.ONE)
            return alone if step.value != 1 else _any_of([alone, beside])
    return _where_a_view(builder, value, (affine.product(value.dims),))


def copied(builder: Builder, value: ArrayValue, name: str = "t") -> ArrayValue:
    return whole(builder.materialize(value, name, copy=True))
