"""Subscripts: ints, slices, None, `...`, integer arrays and boolean masks, read and written.

x[1:, None]   →   x[#0 + 1]  under dims (max(n - 1, 0), 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ArgumentError, IndexArgumentError, ShapeError, place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Axis, Call, Const, Expr, Load, either, is_inexact
from ...ir.nodes import AddTo, If, Raise, Stmt, Store
from ...ir.walk import is_constant, loads, subexpressions, substitute, sure_loads
from ..arithmetic import cast, elementwise, imaginary_part, real_part
from ..array_values import ArrayValue, remap, run_of, whole
from ..broadcasting import broadcast, element_that_fits, element_under, misfit
from ..builder import Builder
from ..types_that_decide import check_index, check_write
from ..values import Range, Scalar, Slice, Static, TupleValue
from .creation import arange, array_of
from .masks import Positions, check_mask, mask_positions, spread_out
from .slices import as_integer, is_negative, normalize

# ------------------------------------------------------------------------------------------------- subscripts


@dataclass(frozen=True)
class Flag:
    """A single bool as an index: it takes no axis, and is an index array of length 1 or 0 beside the others."""

    count: Expr

    @property
    def places(self) -> ArrayValue:
        return ArrayValue((self.count,), affine.ZERO)


@dataclass(frozen=True)
class Distinct(ArrayValue):
    """Memory seen through a mask: no element twice."""


def subscript(builder: Builder, value: ArrayValue, items: Sequence[Any]) -> ArrayValue:
    """`value[items]` as a function of its index; nothing is copied."""
    parts = _expand(builder, value, [as_index(builder, item) for item in items])
    gathers = [k for k, part in enumerate(parts) if isinstance(part, (ArrayValue, Flag))]
    arrays = [part.places if isinstance(part, Flag) else part for part in (parts[k] for k in gathers)]
    spread_dims, spread = broadcast(builder, arrays) if arrays else ((), [])
    elements = dict(zip(gathers, spread, strict=True))
    together = [k for k, part in enumerate(parts) if gathers and (k in gathers or isinstance(part, Scalar))]
    adjacent = bool(together) and together[-1] - together[0] == len(together) - 1
    value = _with_own_bounds(builder, value, parts)
    dims: list[Expr] = list(spread_dims) if gathers and not adjacent else []
    gathered_at = 0  # NumPy's rule: in front, unless the index arrays and integers stand side by side
    index: list[Expr] = []
    for k, part in enumerate(parts):
        axis = len(index)
        if adjacent and k == together[0]:
            gathered_at = len(dims)
            dims += spread_dims
        if part is None:
            dims.append(affine.ONE)
        elif isinstance(part, Slice):
            start, step, count = normalize(builder, part, value.dims[axis])
            run = Axis(len(dims)) if is_constant(step, 1) else affine.mul(step, Axis(len(dims)))
            index.append(affine.add(start, run))
            dims.append(count)
        elif isinstance(part, Scalar):
            index.append(_pick(builder, value, axis, part))
        elif isinstance(part, ArrayValue):
            shift = {n: Axis(n + gathered_at) for n in range(len(spread_dims))}
            element = cast(substitute(elements[k], shift), INT64)
            index.append(element if isinstance(part, Positions) else _wrapped(builder, value, axis, element))
    out = remap(value, tuple(dims), index)
    is_distinct = value.is_window and all(isinstance(parts[k], (Positions, Flag)) for k in gathers)
    return Distinct(out.dims, out.element) if gathers and is_distinct else out


def as_index(builder: Builder, item: Any) -> Any:
    if isinstance(item, TupleValue):
        empty = not item.items and item.kind is list
        item = ArrayValue((affine.ZERO,), affine.ZERO) if empty else builder_array(builder, item)
    if isinstance(item, Range):
        item = arange_of(builder, item)
    if isinstance(item, Static):
        if item.value is None or item.value is Ellipsis:
            return item.value
        builder.refuse(f"an array can't be indexed with {item.value!r}")
    if isinstance(item, (Scalar, ArrayValue)):
        check_index(builder, item)
    if isinstance(item, ArrayValue):
        if item.dtype.kind not in "iub":
            builder.refuse("arrays used as indices must be of integer or boolean dtype", error=IndexArgumentError)
        if item.ndim == 0:
            item = Scalar(item.element)
        elif item.dtype != BOOL and not isinstance(item.element, Load) and not _is_plain_run(builder, item):
            return whole(builder.materialize(item, "index"))
    if isinstance(item, Scalar) and item.dtype == BOOL:
        return Flag(builder.pin(cast(item.expr, INT64)))
    return item


def _is_plain_run(builder: Builder, item: ArrayValue) -> bool:
    """np.arange(n) and the like: the index itself, which needs no memory."""
    return item.ndim == 1 and run_of(item.element) is not None and builder.is_at_least(item.element, 0)


def is_copied(items: Sequence[Any]) -> bool:
    """Does indexing with these copy, by NumPy's rules?"""
    arrays = any(isinstance(item, (ArrayValue, TupleValue, Range)) for item in items)
    return arrays or any(isinstance(item, Scalar) and item.dtype == BOOL for item in items)


def builder_array(builder: Builder, item: TupleValue) -> Any:
    return array_of(builder, item, None)


def arange_of(builder: Builder, item: Range) -> ArrayValue:
    return arange(builder, [Scalar(part) for part in (item.start, item.stop, item.step)], INT64)


def _expand(builder: Builder, value: ArrayValue, items: list[Any]) -> list[Any]:
    """Write `...` and missing axes out; a mask becomes integer arrays of the positions where it holds."""
    taken = [0 if item is None or item is Ellipsis or isinstance(item, Flag) else axes_taken(item) for item in items]
    used = sum(taken)
    if used > value.ndim:
        builder.refuse(
            f"too many indices: the array has {value.ndim} axes, and {used} are indexed", error=IndexArgumentError
        )
    gaps = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(gaps) > 1:
        builder.refuse("an index can only have a single ellipsis ('...')", error=IndexArgumentError)
    out: list[Any] = []
    missing = [Slice(None, None, None)] * (value.ndim - used)
    axis = 0
    for item, count in zip(items, taken, strict=True):
        if item is Ellipsis:
            out += missing
            axis += len(missing)
        elif isinstance(item, ArrayValue) and item.dtype == BOOL:
            check_mask(builder, item, value, axis)
            out += mask_positions(builder, item)
        else:
            out.append(item)
        axis += count
    return out if gaps else out + missing


def axes_taken(item: Any) -> int:
    """How many axes of the array an index uses up."""
    return item.ndim if isinstance(item, ArrayValue) and item.dtype == BOOL else 1


def _with_own_bounds(builder: Builder, value: ArrayValue, parts: list[Any]) -> ArrayValue:
    """What index arrays pick from must end where it ends: a part of an array becomes an array of its own, by a view."""
    axis = 0
    for part in parts:
        is_array = isinstance(part, ArrayValue) and not isinstance(part, Positions)
        if is_array and not _reads_whole_axis(value, axis):
            if value.is_window:
                return whole(builder.view(value))
            return value if value.has_run_time_step else whole(builder.materialize(value))
        axis += part is not None and not isinstance(part, Flag)
    return value


def _reads_whole_axis(value: ArrayValue, axis: int) -> bool:
    """Do all elements that are read along this axis lie along a whole axis of theirs, and is one read for certain?"""
    if not any(Axis(axis) in load.index for load in sure_loads(value.element)):
        return False  # np.ones(n), what is stretched, the side of a choice: nothing there would check an index
    for load in loads(value.element):
        for part, length in zip(load.index, load.array.dims, strict=False):
            if part == Axis(axis):
                if not affine.same(length, value.dims[axis]):
                    return False
            elif Axis(axis) in subexpressions(part):
                return False
    return True


def _is_whole_axis(value: ArrayValue, axis: int) -> bool:
    """Do all elements read this axis with an index that Python's own rules then check and wrap?"""
    return isinstance(value.element, Load) and _reads_whole_axis(value, axis)


def _pick(builder: Builder, value: ArrayValue, axis: int, part: Scalar) -> Expr:
    length = value.dims[axis]
    expr = as_integer(builder, part)
    if isinstance(expr, Const) and isinstance(length, Const) and not -length.value <= expr.value < length.value:
        builder.refuse(
            f"index {expr.value} is out of bounds for axis {axis} with size {length.value}", error=IndexArgumentError
        )
    if isinstance(expr, Const) and expr.value < 0:
        moved = affine.add(length, expr)
        is_checked_later = _is_whole_axis(value, axis) and not builder.would_catch(IndexError)
        if expr.value != -1 or not is_checked_later:  # n - 1 of an empty axis is caught as it is
            _check_bounds(builder, moved, length)
        return moved
    if _is_whole_axis(value, axis) and not builder.would_catch(IndexError):
        return expr
    if not builder.is_at_least(expr, 0):
        expr = builder.capture(expr, "k")
        expr = builder.capture(Call("select", (is_negative(expr), affine.add(expr, length), expr), INT64), "k")
    _check_bounds(builder, expr, length)
    return expr


def _check_bounds(builder: Builder, expr: Expr, length: Expr) -> None:
    """An index of a window must not reach the memory around it."""
    gap = affine.difference(length, expr)
    if gap is not None and gap > 0 and builder.is_at_least(expr, 0):
        return
    outside = either(is_negative(expr), Call("ge", (expr, length), BOOL))
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


def _wrapped(builder: Builder, value: ArrayValue, axis: int, element: Expr) -> Expr:
    if _is_whole_axis(value, axis) or builder.is_at_least(element, 0):
        return element
    return Call("select", (is_negative(element), affine.add(element, value.dims[axis]), element), INT64)


# --------------------------------------------------------------------------------------------------- writing


def memory_of(builder: Builder, value: Any) -> ArrayValue:
    """What is about to be written to must be memory: NumPy makes a copy of x[index] and of x * 2."""
    seen = value
    if isinstance(value, ArrayValue) and is_part(value):
        seen = ArrayValue(value.dims, value.element.args[0])  # type: ignore[attr-defined]
    if isinstance(seen, ArrayValue) and (seen.is_window or seen.has_run_time_step):
        return value
    return builder.refuse("only memory can be written to: this expression is a copy, and the write would be lost")


def is_part(value: ArrayValue) -> bool:
    return isinstance(value.element, Call) and value.element.op in ("real", "imag")


def write(builder: Builder, target: ArrayValue, value: Any, *, op: str | None = None) -> None:
    """`target = value`, or `target op= value`, where the target is memory."""
    if is_part(target):
        target, value, op = *_with_part(builder, target, value, op), None
    if not isinstance(target.element, Load):
        memory_of(builder, target)
    assert isinstance(target.element, Load)
    array = target.element.array
    given = builder_array(builder, value) if isinstance(value, TupleValue) else value
    check_write(builder, array, given, op, of_a_view=bool(target.dims) and target.is_window)
    is_distinct = isinstance(target, Distinct)
    target = _with_own_indices(builder, target)
    index, dims = target.element.index, target.dims  # type: ignore[attr-defined]
    if isinstance(value, (ArrayValue, Scalar)):
        builder.check_fresh(value.element if isinstance(value, ArrayValue) else value.expr)
    builder.note_write(array)
    if op is not None:
        value = _updated(builder, target, value, op)
    elif isinstance(value, ArrayValue):
        value = _without_leading_ones(builder, value, dims)
    element = value.value if isinstance(value, AddTo) else cast(_element(builder, value, dims), array.dtype)

    def body(at: tuple[Expr, ...]) -> Stmt:
        places = tuple(affine.normal(at_index(part, at)) for part in index)
        if isinstance(value, AddTo):
            return AddTo(Load(array, places), at_index(element, at))
        return Store(array, places, at_index(element, at))

    others = [load for load in loads(element) if load != target.element]
    apart = is_distinct and not any(builder.root(load.array) == builder.root(array) for load in others)
    if dims:
        builder.each(dims, body, running=apart and op is not None)  # each on its own: no temporary
    else:
        builder.emit(body(()))


def _with_part(builder: Builder, target: ArrayValue, value: Any, op: str | None) -> tuple[ArrayValue, Any]:
    """`z.real[i] = x` as a write of z[i]: it keeps its other part."""
    assert isinstance(target.element, Call)
    (element,) = target.element.args
    if op is not None:
        value = _updated(builder, target, value, op)
    elif isinstance(value, ArrayValue):
        value = _without_leading_ones(builder, value, target.dims)
    new = cast(_element(builder, value, target.dims), target.dtype)
    parts = (new, imaginary_part(element)) if target.element.op == "real" else (real_part(element), new)
    return ArrayValue(target.dims, element), ArrayValue(target.dims, Call("complex", parts, element.dtype))


def _with_own_indices(builder: Builder, target: ArrayValue) -> ArrayValue:
    """`k[k] = 0`: indices that are read from what is written are copied first."""
    assert isinstance(target.element, Load)
    array, index = target.element.array, list(target.element.index)
    for axis, part in enumerate(index):
        if any(builder.root(load.array) == builder.root(array) for load in loads(part)):
            held = builder.materialize(ArrayValue(target.dims, part), "index", copy=True)
            index[axis] = whole(held).element
    return ArrayValue(target.dims, Load(array, tuple(index)))


def _without_leading_ones(builder: Builder, value: ArrayValue, dims: tuple[Expr, ...]) -> ArrayValue:
    """x[:] = y of more axes than x: those in front must be of length 1."""
    lead = value.ndim - len(dims)
    for length in value.dims[: max(lead, 0)]:
        if is_constant(length, 1):
            continue
        if isinstance(length, Const):
            builder.refuse(misfit(value.dims, dims), error=ShapeError)
        message = "an axis of length {} does not fit into one of length {}" + place(builder.span)
        raised = Raise("BroadcastError", message, (length, affine.ONE))
        builder.emit(If(Call("ne", (length, affine.ONE), BOOL), (raised,)))
    if lead <= 0:
        return value
    return remap(value, value.dims[lead:], [affine.ZERO] * lead + [Axis(k) for k in range(len(dims))])


def at_index(expr: Expr, index: tuple[Expr, ...]) -> Expr:
    return substitute(expr, dict(enumerate(index)))


def _element(builder: Builder, value: Any, dims: tuple[Expr, ...]) -> Expr:
    if isinstance(value, TupleValue):
        value = builder_array(builder, value)
    if not isinstance(value, (Scalar, ArrayValue)):
        return builder.refuse("only numbers and arrays can be stored in an array")
    return element_that_fits(builder, value, dims)


def _updated(builder: Builder, target: ArrayValue, value: Any, op: str) -> Any:
    """The right side of an augmented write; a sum in the array's own dtype stays an accumulation."""
    current: Any = target if target.dims else Scalar(target.element)
    if isinstance(value, TupleValue):
        value = builder_array(builder, value)
    new = elementwise(builder, op, (current, value), python=True)
    dtype = target.dtype
    if isinstance(new, ArrayValue) and new.ndim > target.ndim:
        builder.refuse(misfit(new.dims, target.dims), error=ShapeError)
    if target.dims and not np.can_cast(new.dtype, dtype, "same_kind"):
        builder.refuse(
            f"a result of dtype {new.dtype} can't be stored in an array of {dtype} in place",
            "use a float array",
            error=ArgumentError,
        )
    plain = isinstance(new.expr if isinstance(new, Scalar) else new.element, Call) and new.dtype == dtype
    is_apart = target.is_window or builder.has_steps_up(target)
    if op in ("add", "sub") and (is_inexact(dtype) or dtype == INT64) and plain and is_apart:
        dims = target.dims
        same = new.dims == dims if isinstance(new, ArrayValue) else not dims
        if same:
            assert isinstance(target.element, Load)  # it is a window
            added = cast(_element(builder, value, dims), dtype)
            return AddTo(target.element, added if op == "add" else Call("neg", (added,), dtype))
    return new


def masked_write(builder: Builder, target: ArrayValue, mask: ArrayValue, value: Any, op: str | None) -> bool:
    """`x[mask] = number`, or `= y[mask] * 2`, as a loop with a condition; False where the general way is needed."""
    if mask.ndim != target.ndim or not isinstance(target.element, Load):
        return False
    array, index = target.element.array, target.element.index
    if isinstance(value, ArrayValue):
        value = spread_out(builder, value, mask)
        others = [load for load in loads(value.element) if load != target.element] if value is not None else []
        if value is None or any(builder.root(load.array) == builder.root(array) for load in others):
            return False
    elif not isinstance(value, Scalar):
        return False
    check_write(builder, array, value, op)
    check_mask(builder, mask, target, 0)
    if isinstance(value, Scalar) and loads(value.expr):  # the right side comes first: it may be about to change
        value = Scalar(builder.variable("t", value.expr), value.weak)
    overlaps = any(builder.root(load.array) == builder.root(array) for load in loads(mask.element))
    is_ready = isinstance(mask.element, Load) and not overlaps
    held = mask if is_ready else whole(builder.materialize(mask, "mask", copy=True))
    condition = element_under(builder, held, target.dims)
    builder.check_fresh(condition)
    builder.note_write(array)
    new = _updated(builder, target, value, op) if op else value

    def body(at: tuple[Expr, ...]) -> Stmt:
        places = tuple(at_index(part, at) for part in index)
        if isinstance(new, AddTo):
            inner: Stmt = AddTo(Load(array, places), at_index(new.value, at))
        else:
            element = new.expr if isinstance(new, Scalar) else new.element
            inner = Store(array, places, at_index(cast(element, array.dtype), at))
        return If(at_index(condition, at), (inner,))

    builder.each(target.dims, body)
    return True
