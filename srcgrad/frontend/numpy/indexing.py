"""Subscripts: ints, slices, None, `...`, integer arrays and boolean masks, read and written.

x[1:, None]   →   x[#0 + 1]  under dims (max(n - 1, 0), 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ShapeError, UnsupportedError, place
from ...ir import affine
from ...ir.nodes import BOOL, INT64, AddTo, Axis, Call, Const, Expr, If, Library, Load, Raise, Stmt, Store, is_inexact
from ...ir.walk import is_constant, loads, subexpressions, substitute
from ..arithmetic import broadcast, cast, element_under, elementwise, imaginary_part, real_part, shape_text
from ..builder import Builder
from ..values import ArrayValue, Scalar, Static, TupleValue, constant, remap, whole


@dataclass(frozen=True)
class Slice:
    start: Any
    stop: Any
    step: Any


def slice_value(builder: Builder, value: Any) -> Any:
    """A Python slice object of the user's program as a `Slice` of values."""
    if isinstance(value, Static) and isinstance(value.value, slice):
        parts = value.value
        return Slice(*(None if p is None else constant(p) for p in (parts.start, parts.stop, parts.step)))
    return value


# ---------------------------------------------------------------------------------------------------- slices


def normalize(builder: Builder, part: Slice, length: Expr) -> tuple[Expr, Expr, Expr]:
    """(start, step, length) of a slice of an axis, clipped as Python clips."""
    step = affine.ONE if part.step is None else _integer(builder, part.step)
    if not isinstance(step, Const):
        return _run_time_step(builder, part, step, length)
    stride = int(step.value)
    if stride == 0:
        builder.refuse("slice step cannot be zero", error=UnsupportedError)
    if stride > 0:
        start = _clip(builder, part.start, length, affine.ZERO, from_below=True)
        stop = _clip(builder, part.stop, length, length, from_below=False)
        count = affine.sub(stop, start)
    else:
        last = affine.sub(length, affine.ONE)
        start = last if part.start is None else _clip_down(builder, part.start, length)
        stop = affine.integer(-1) if part.stop is None else _clip_down(builder, part.stop, length)
        count = affine.sub(start, stop)
    if abs(stride) > 1:
        count = affine.floordiv(affine.add(count, affine.integer(abs(stride) - 1)), abs(stride))
    if not builder.is_at_least(count, 0):
        count = affine.maximum(count, affine.ZERO)
    return start, step, count


def _clip(builder: Builder, bound: Any, length: Expr, default: Expr, from_below: bool) -> Expr:
    """A bound of an upward slice.  A start past the end needs no clipping: the length is then 0."""
    if bound is None:
        return default
    expr = _integer(builder, bound)
    if isinstance(expr, Const) and expr.value < 0:
        moved = affine.add(length, expr)
        return affine.maximum(moved, affine.ZERO) if from_below and not builder.is_at_least(moved, 0) else moved
    if builder.is_at_least(expr, 0):
        return expr if from_below else affine.minimum(expr, length)
    expr = builder.capture(expr, "k")
    wrapped = Call("select", (_negative(expr), affine.add(expr, length), expr), INT64)
    low = Call("maximum", (wrapped, affine.ZERO), INT64)
    return builder.capture(low if from_below else Call("minimum", (low, length), INT64), "k")


def _clip_down(builder: Builder, bound: Any, length: Expr) -> Expr:
    expr = _integer(builder, bound)
    last = affine.sub(length, affine.ONE)
    if isinstance(expr, Const):
        moved = affine.add(length, expr) if expr.value < 0 else expr
        return affine.maximum(moved, affine.integer(-1)) if expr.value < 0 else affine.minimum(moved, last)
    expr = builder.capture(expr, "k")
    wrapped = Call("select", (_negative(expr), affine.add(expr, length), expr), INT64)
    return builder.capture(Call("minimum", (Call("maximum", (wrapped, affine.integer(-1)), INT64), last), INT64), "k")


def _run_time_step(builder: Builder, part: Slice, step: Expr, length: Expr) -> tuple[Expr, Expr, Expr]:
    step = builder.capture(step, "step")
    upward = Call("gt", (step, affine.ZERO), BOOL)
    up = [_clip(builder, part.start, length, affine.ZERO, False), _clip(builder, part.stop, length, length, False)]
    last = affine.sub(length, affine.ONE)
    down = [
        last if part.start is None else _clip_down(builder, part.start, length),
        affine.integer(-1) if part.stop is None else _clip_down(builder, part.stop, length),
    ]
    start = builder.capture(Call("select", (upward, up[0], down[0]), INT64), "start")
    stop = builder.capture(Call("select", (upward, up[1], down[1]), INT64), "stop")
    size = Call("abs", (step,), INT64)
    gap = Call("select", (upward, affine.sub(stop, start), affine.sub(start, stop)), INT64)
    count = Call("floordiv", (affine.sub(affine.add(gap, size), affine.ONE), size), INT64)
    return start, step, builder.capture(affine.maximum(count, affine.ZERO), "n")


def _negative(expr: Expr) -> Expr:
    return Call("lt", (expr, affine.ZERO), BOOL)


def _integer(builder: Builder, value: Any) -> Expr:
    if isinstance(value, ArrayValue) and value.ndim == 0:
        value = Scalar(value.element)
    if not isinstance(value, Scalar) or value.dtype.kind not in "iu":
        builder.refuse("slice bounds and indices must be integers", error=UnsupportedError)
    return cast(value.expr, INT64)


# ------------------------------------------------------------------------------------------------- subscripts


def subscript(builder: Builder, value: ArrayValue, items: Sequence[Any]) -> ArrayValue:
    """`value[items]` as a function of its index; nothing is copied."""
    parts = _expand(builder, value, [_as_index(builder, item) for item in items])
    advanced = [p for p in parts if isinstance(p, ArrayValue)]
    spread_dims, spread = broadcast(builder, advanced) if advanced else ((), [])
    positions = [k for k, p in enumerate(parts) if isinstance(p, ArrayValue)]
    scalars = [k for k, p in enumerate(parts) if isinstance(p, Scalar)]
    together = sorted(positions + scalars) if positions else []
    adjacent = bool(together) and together == list(range(together[0], together[-1] + 1))
    dims: list[Expr] = []
    plan: list[tuple[Any, int]] = []  # (what, first axis of the result)
    if advanced and not adjacent:
        dims += spread_dims
    placed = bool(advanced) and not adjacent
    advanced_at = 0
    for part in parts:
        if isinstance(part, ArrayValue) or (isinstance(part, Scalar) and advanced):
            if not placed:
                advanced_at = len(dims)
                dims += spread_dims
                placed = True
            plan.append((part, -1))
        elif isinstance(part, Scalar):
            plan.append((part, -1))
        elif part is None:
            dims.append(affine.ONE)
        else:
            plan.append((part, len(dims)))
            dims.append(affine.ZERO)  # set below, where the axis is known
    index: list[Expr] = []
    elements = iter(spread)
    for axis, (part, at) in enumerate(plan):
        length = value.dims[axis]
        if isinstance(part, Slice):
            start, step, count = normalize(builder, part, length)
            dims[at] = count
            run = Axis(at) if is_constant(step, 1) else affine.mul(step, Axis(at))
            index.append(affine.add(start, run))
        elif isinstance(part, Scalar):
            index.append(_pick(builder, value, axis, part))
        else:
            shift = {k: Axis(k + advanced_at) for k in range(len(spread_dims))}
            element = cast(substitute(next(elements), shift), INT64)
            index.append(_wrapped(value, axis, element))
    return remap(value, tuple(dims), index)


def _as_index(builder: Builder, item: Any) -> Any:
    item = slice_value(builder, item)
    if isinstance(item, TupleValue):
        item = builder_array(builder, item)
    if isinstance(item, Static):
        if item.value is None or item.value is Ellipsis:
            return item.value
        builder.refuse(f"an array can't be indexed with {item.value!r}")
    if isinstance(item, ArrayValue):
        if item.dtype.kind not in "iub":
            builder.refuse("arrays used as indices must be of integer or boolean dtype", error=UnsupportedError)
        if item.ndim == 0 and item.dtype != BOOL:
            return Scalar(item.element)
        if item.dtype != BOOL and not isinstance(item.element, Load):
            return whole(builder.materialize(item, "index"))
    elif isinstance(item, Scalar) and item.dtype == BOOL:
        builder.refuse("indexing with a single bool is not supported")
    return item


def builder_array(builder: Builder, item: TupleValue) -> Any:
    from .creation import array_of

    return array_of(builder, item, None)


def _expand(builder: Builder, value: ArrayValue, items: list[Any]) -> list[Any]:
    """Write `...` and missing axes out; a mask becomes integer arrays of the positions where it holds."""
    out: list[Any] = []
    for item in items:
        if isinstance(item, ArrayValue) and item.dtype == BOOL:
            out += mask_positions(builder, item)
        else:
            out.append(item)
    used = sum(item is not None and item is not Ellipsis for item in out)
    missing = [Slice(None, None, None)] * (value.ndim - used)
    if used > value.ndim:
        builder.refuse(f"too many indices: the array has {value.ndim} axes, and {used} are indexed")
    if Ellipsis in [i for i in out if i is Ellipsis]:
        at = next(k for k, item in enumerate(out) if item is Ellipsis)
        return out[:at] + missing + out[at + 1 :]
    return out + missing


def _is_whole_axis(value: ArrayValue, axis: int) -> bool:
    """Do all elements read this axis with an index that Python's own rules then check and wrap?"""
    for load in loads(value.element):
        for part, length in zip(load.index, load.array.dims, strict=False):
            if part == Axis(axis):
                if not affine.same(length, value.dims[axis]):
                    return False
            elif Axis(axis) in subexpressions(part):
                return False
    return isinstance(value.element, Load)


def _pick(builder: Builder, value: ArrayValue, axis: int, part: Scalar) -> Expr:
    length = value.dims[axis]
    expr = _integer(builder, part)
    if isinstance(expr, Const) and isinstance(length, Const) and not -length.value <= expr.value < length.value:
        builder.refuse(
            f"index {expr.value} is out of bounds for axis {axis} with size {length.value}", error=_IndexError
        )
    if isinstance(expr, Const) and expr.value < 0:
        moved = affine.add(length, expr)
        if expr.value != -1 or not _is_whole_axis(value, axis):  # n - 1 of an empty axis is caught as it is
            _check_bounds(builder, moved, length)
        return moved
    if _is_whole_axis(value, axis):
        return expr
    if not builder.is_at_least(expr, 0):
        expr = builder.capture(expr, "k")
        expr = builder.capture(Call("select", (_negative(expr), affine.add(expr, length), expr), INT64), "k")
    _check_bounds(builder, expr, length)
    return expr


def _check_bounds(builder: Builder, expr: Expr, length: Expr) -> None:
    """An index of a window must not reach the memory around it."""
    gap = affine.difference(length, expr)
    if gap is not None and gap > 0 and builder.is_at_least(expr, 0):
        return
    outside = Call("or", (_negative(expr), Call("ge", (expr, length), BOOL)), BOOL)
    builder.emit(
        If(
            outside,
            (
                Raise(
                    "BoundsError",
                    "index {} is out of bounds for axis of length {}" + place(builder.span),
                    (expr, length),
                ),
            ),
        )
    )


def _wrapped(value: ArrayValue, axis: int, element: Expr) -> Expr:
    if _is_whole_axis(value, axis):
        return element
    return Call("select", (_negative(element), affine.add(element, value.dims[axis]), element), INT64)


class _IndexError(UnsupportedError, IndexError):
    """An index that is out of range whatever the data."""


# ------------------------------------------------------------------------------------------------------ masks


def mask_positions(builder: Builder, mask: ArrayValue) -> list[ArrayValue]:
    """One integer array per axis of the mask: where it holds, in C order."""
    if mask.element in builder.masks:
        return builder.masks[mask.element]
    held = builder.in_order(mask, "mask")
    known = whole(held)
    count = builder.sum(known.dims, lambda index: cast(known.at(index), INT64), INT64)
    builder.mutable.discard(count)
    positions = builder.allocate("positions", INT64, (count,))
    builder.emit(Library("find_nonzero", positions, (held,)))
    flat = Load(positions, (Axis(0),))
    out: list[ArrayValue] = []
    below: Expr = affine.ONE
    for axis in reversed(range(mask.ndim)):
        part = flat if is_constant(below, 1) else Call("floordiv", (flat, below), INT64)
        if axis:
            part = Call("mod", (part, mask.dims[axis]), INT64)
            below = affine.mul(below, mask.dims[axis])
        out.insert(0, ArrayValue((count,), part))
    builder.masks[mask.element] = out
    return out


# --------------------------------------------------------------------------------------------------- writing


def write(builder: Builder, target: ArrayValue, value: Any, *, op: str | None = None) -> None:
    """`target = value`, or `target op= value`, where the target is memory."""
    if isinstance(target.element, Call) and target.element.op in ("real", "imag"):
        target, value, op = *_with_part(builder, target, value, op), None
    if not isinstance(target.element, Load):
        builder.refuse("only memory can be written to: this expression is a copy, and the write would be lost")
    array, index = target.element.array, target.element.index
    builder.note_write(array)
    dims = target.dims
    if isinstance(value, ArrayValue) and value.ndim > len(dims):
        lead = value.ndim - len(dims)
        value = remap(value, value.dims[lead:], [affine.ZERO] * lead + [Axis(k) for k in range(len(dims))])
    if op is not None:
        value = _updated(builder, target, value, op)
    if isinstance(value, AddTo):
        pass
    element = value.value if isinstance(value, AddTo) else cast(_element(builder, value, dims), array.dtype)

    def body(at: tuple[Expr, ...]) -> Stmt:
        places = tuple(affine.normal(_at(part, at)) for part in index)
        if isinstance(value, AddTo):
            return AddTo(Load(array, places), _at(element, at))
        return Store(array, places, _at(element, at))

    if dims:
        builder.each(dims, body)
    else:
        builder.emit(body(()))


def _with_part(builder: Builder, target: ArrayValue, value: Any, op: str | None) -> tuple[ArrayValue, Any]:
    """`z.real[i] = x` as a write of z[i]: it keeps its other part."""
    assert isinstance(target.element, Call)
    (element,) = target.element.args
    if op is not None:
        value = _updated(builder, target, value, op)
    new = cast(_element(builder, value, target.dims), target.dtype)
    parts = (new, imaginary_part(element)) if target.element.op == "real" else (real_part(element), new)
    return ArrayValue(target.dims, element), ArrayValue(target.dims, Call("complex", parts, element.dtype))


def _at(expr: Expr, index: tuple[Expr, ...]) -> Expr:
    return substitute(expr, dict(enumerate(index)))


def _element(builder: Builder, value: Any, dims: tuple[Expr, ...]) -> Expr:
    if isinstance(value, TupleValue):
        value = builder_array(builder, value)
    if isinstance(value, Scalar):
        return value.expr
    if not isinstance(value, ArrayValue):
        return builder.refuse("only numbers and arrays can be stored in an array")
    for axis in range(value.ndim):
        length, wanted = value.dims[value.ndim - 1 - axis], dims[len(dims) - 1 - axis]
        if affine.same(length, wanted) or is_constant(length, 1):
            continue
        if isinstance(length, Const) and isinstance(wanted, Const):
            builder.refuse(
                f"could not broadcast an array of shape {shape_text(value.dims)} into shape {shape_text(dims)}",
                error=ShapeError,
            )
        fits = Call("or", (affine.equals(length, wanted), affine.equals(length, affine.ONE)), BOOL)
        message = "an axis of length {} does not fit into one of length {}" + place(builder.span)
        builder.emit(If(Call("not", (fits,), BOOL), (Raise("BroadcastError", message, (length, wanted)),)))
    return element_under(builder, value, dims)


def _updated(builder: Builder, target: ArrayValue, value: Any, op: str) -> Any:
    """The right side of an augmented write; a sum in the array's own dtype stays an accumulation."""
    current: Any = target if target.dims else Scalar(target.element)
    if isinstance(value, TupleValue):
        value = builder_array(builder, value)
    new = elementwise(builder, op, (current, value), python=True)
    dtype = target.dtype
    if is_inexact(new.dtype) and not np.can_cast(new.dtype, dtype, "same_kind"):
        builder.refuse(
            f"a result of dtype {new.dtype} can't be stored in an array of {dtype} in place", "use a float array"
        )
    plain = isinstance(new.expr if isinstance(new, Scalar) else new.element, Call) and new.dtype == dtype
    if op in ("add", "sub") and is_inexact(dtype) and plain and target.is_window:
        dims = target.dims
        same = new.dims == dims if isinstance(new, ArrayValue) else not dims
        if same:
            assert isinstance(target.element, Load)  # it is a window
            added = cast(_element(builder, value, dims), dtype)
            return AddTo(target.element, added if op == "add" else Call("neg", (added,), dtype))
    return new


def masked_write(builder: Builder, target: ArrayValue, mask: ArrayValue, value: Any, op: str | None) -> bool:
    """`x[mask] = number` as a loop with a condition; False where the general way is needed."""
    if not isinstance(value, Scalar) or mask.ndim != target.ndim or not isinstance(target.element, Load):
        return False
    array, index = target.element.array, target.element.index
    if loads(value.expr):  # the right side comes first: it may be an element that is about to change
        value = Scalar(builder.variable("t", value.expr), value.weak)
    held = whole(builder.materialize(mask, "mask")) if not isinstance(mask.element, Load) else mask
    condition = element_under(builder, held, target.dims)
    builder.note_write(array)
    new = _updated(builder, target, value, op) if op else value

    def body(at: tuple[Expr, ...]) -> Stmt:
        places = tuple(_at(part, at) for part in index)
        if isinstance(new, AddTo):
            inner: Stmt = AddTo(Load(array, places), _at(new.value, at))
        else:
            element = new.expr if isinstance(new, Scalar) else new.element
            inner = Store(array, places, _at(cast(element, array.dtype), at))
        return If(_at(condition, at), (inner,))

    builder.each(target.dims, body)
    return True
