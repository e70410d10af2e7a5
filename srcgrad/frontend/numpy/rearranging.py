"""Functions that roll, cut and join arrays.

np.roll(x, s)         →   t = empty(n); for each i < n - s: t[i + s] = x[i]; for each i < s: t[i] = x[i + n - s]
                          for a GPU: for each i: x[wrap_low(i - s, n)]
a, b = np.split(x, 2) →   two views of x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError, ValueArgumentError, place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Axis, Call, Const, Expr, Var
from ...ir.nodes import If, Raise
from ...ir.types import ScalarType
from ...ir.walk import is_constant, substitute
from ...ir.wraps import wrap
from ...rules.compositions.shapes import copy_part
from ..arithmetic import cast, cast_value
from ..array_values import ArrayValue, remap, whole
from ..builder import Builder
from ..joined_numbers import several, types_of
from ..lists import list_types
from ..values import Items, Nested, Scalar, Static, TupleValue, static_int
from . import creation, flat, indexing, shapes
from .axes import at_least, axis_in, moveaxis, with_axes
from .table import absent, also_into, as_array, axis_number, dtype_or_none, flag, items_of, rule

# ------------------------------------------------------------------------------------------------------- rolling


@rule(np.roll)
def roll(build: Builder, a: Any, shift: Any, axis: Any = None) -> Any:
    value = as_array(build, a)
    if absent(axis):
        flat = shapes.ravel(build, value)
        rolled = roll(build, flat, shift, Scalar(affine.ZERO))
        return shapes.reshaped(build, rolled, value.dims)
    wanted = axis.items if isinstance(axis, TupleValue) else (axis,)
    shifts = shift.items if isinstance(shift, TupleValue) else (shift,)
    if isinstance(shift, ArrayValue) and shift.ndim == 1:
        shifts = _numbers(build, shift, len(wanted))
    if 1 not in (len(wanted), len(shifts)) and len(wanted) != len(shifts):
        build.refuse("'shift' and 'axis' should be scalars or 1D sequences of one length", error=ShapeError)
    count = max(len(wanted), len(shifts))
    totals: dict[int, Any] = {}
    for item, by in zip(wanted * (count // len(wanted)), shifts * (count // len(shifts)), strict=True):
        k = axis_in(build, item, value.ndim)
        totals[k] = by if k not in totals else Scalar(affine.add(_whole(build, totals[k]), _whole(build, by)))
    if build.wraps and value.dtype != BOOL:
        places = [_place(build, Axis(k), totals.get(k), length) for k, length in enumerate(value.dims)]
        return ArrayValue(value.dims, Call("pos", (remap(value, value.dims, places).element,), value.dtype))  # no view
    return _rolled(build, value, {k: _shift(build, by, value.dims[k]) for k, by in totals.items()})


def _numbers(build: Builder, shift: ArrayValue, count: int) -> tuple[Scalar, ...]:
    """The numbers of an array, one for each axis, or as many as there are known to be."""
    length = shift.dims[0]
    if isinstance(length, Const):
        count = length.value
    else:
        message = "'shift' and 'axis' should be scalars or 1D sequences of one length" + place(build.span)
        build.emit(If(Call("ne", (length, affine.integer(count)), BOOL), (Raise("RuntimeValueError", message),)))
    return tuple(Scalar(build.capture(shift.at((affine.integer(k),)), "shift")) for k in range(count))


def _place(build: Builder, axis: Axis, by: Any, length: Expr) -> Expr:
    """Where the element comes from that moves here."""
    if by is None:
        return axis
    amount = _whole(build, by)
    if affine.same(amount, affine.integer(-1)):
        return wrap("wrap_high", affine.add(axis, affine.ONE), length)
    shift = amount if affine.same(amount, affine.ONE) else _shift(build, by, length)
    return axis if affine.same(shift, affine.ZERO) else wrap("wrap_low", affine.sub(axis, shift), length)


def _whole(build: Builder, value: Any) -> Expr:
    if isinstance(value, ArrayValue) and value.ndim == 0:
        value = Scalar(value.element)
    if not isinstance(value, Scalar) or value.dtype.kind not in "iub":
        build.refuse("an array is rolled by an integer, or by one for each axis", error=ArgumentError)
    return cast(value.expr, INT64)


def _shift(build: Builder, by: Any, length: Expr) -> Expr:
    """How far the elements move up: at least 0, and less than the length."""
    amount = _whole(build, by)
    if isinstance(length, Const) and isinstance(amount, Const):
        return affine.integer(amount.value % max(length.value, 1))
    modulus = length if build.is_at_least(length, 1) else affine.maximum(length, affine.ONE)
    shift = build.variable("shift", Call("mod", (amount, modulus), INT64))
    build.pinned.add(shift)
    build.lower[shift] = 0
    return shift


def _rolled(build: Builder, value: ArrayValue, shifts: dict[int, Expr]) -> ArrayValue:
    """Every combination of lower and upper parts goes to its place in fresh memory."""
    out = build.allocate("t", value.dtype, value.dims)
    if not build.follows_order(value):
        build.uncertain.add(out.name)
    for parts in product(*(_halves(length, shifts.get(k)) for k, length in enumerate(value.dims))):
        dims = tuple(length for length, _, _ in parts)
        source = remap(value, dims, [affine.add(start, Axis(k)) for k, (_, start, _) in enumerate(parts)])
        target = [start for _, _, start in parts]
        creation.write_part(build, out, dims, source, lambda i, at=target: tuple(map(affine.add, at, i)))
    return whole(out)


def _halves(length: Expr, shift: Expr | None) -> list[tuple[Expr, Expr, Expr]]:
    """(length, start in the source, start in the result) of the parts of a rolled axis."""
    if shift is None or shift == affine.ZERO:
        return [(length, affine.ZERO, affine.ZERO)]
    rest = affine.sub(length, shift)
    return [(rest, affine.ZERO, shift), (shift, rest, affine.ZERO)]


# ------------------------------------------------------------------------------------------------------ splitting


def _cut(value: ArrayValue, axis: int, start: Expr, length: Expr) -> ArrayValue:
    index = [affine.add(start, Axis(k)) if k == axis else Axis(k) for k in range(value.ndim)]
    return remap(value, (*value.dims[:axis], length, *value.dims[axis + 1 :]), index)


@rule(copy_part)
def copy_part_(build: Builder, out: ArrayValue, at: Any, a: ArrayValue, start: Any, length: Any, axis: Any) -> Any:
    places = creation.shape_of(build, TupleValue((at, start, length)))
    number = axis_number(build, axis)
    if is_constant(places[2], 0):
        return Static(None)
    indexing.write(build, _cut(out, number, places[0], places[2]), _cut(a, number, places[1], places[2]))
    return Static(None)


def _sections(build: Builder, value: ArrayValue, count: int, axis: int, equal: bool) -> Any:
    """`count` parts; where they can't be equal, the first ones are longer by one."""
    if count <= 0:
        build.refuse("number sections must be larger than 0.", error=ShapeError)
    length, parts = value.dims[axis], affine.integer(count)
    each: Expr
    over: Expr
    if isinstance(length, Const):
        each, over = (affine.integer(n) for n in divmod(length.value, count))
    else:
        each = build.pin(Call("floordiv", (length, parts), INT64))
        over = Call("mod", (length, parts), INT64)
        build.lower[each] = 0
    if equal:
        if isinstance(over, Const) and over.value:
            build.refuse("array split does not result in an equal division", error=ShapeError)
        if not isinstance(over, Const):
            message = "array split does not result in an equal division"
            build.emit(If(Call("ne", (over, affine.ZERO), BOOL), (Raise("ValueError", message),)))
        over = affine.ZERO
    over = build.pin(over)
    out = []
    for k in range(count):
        start = affine.add(affine.mul(affine.integer(k), each), affine.minimum(affine.integer(k), over))
        end = affine.add(affine.mul(affine.integer(k + 1), each), affine.minimum(affine.integer(k + 1), over))
        start, end = (build.pin(e) for e in (start, end))
        out.append(_cut(value, axis, start, affine.sub(end, start)))
    return TupleValue(tuple(out), list)


def _split(build: Builder, ary: Any, where: Any, axis: int, equal: bool) -> Any:
    value = as_array(build, ary)
    count = static_int(where)
    if count is not None:
        return _sections(build, value, count, axis, equal)
    if isinstance(where, ArrayValue) and where.ndim == 1 and isinstance(where.dims[0], Const):
        where = TupleValue(tuple(Scalar(where.at((affine.integer(k),))) for k in range(where.dims[0].value)))
    if not isinstance(where, TupleValue):
        build.refuse("into how many parts an array is split must be known", "x[:k], x[k:]")
    bounds = [None, *where.items, None]
    everything = [indexing.Slice(None, None, None)] * axis
    parts = [
        indexing.subscript(build, value, [*everything, indexing.Slice(low, high, None)])
        for low, high in pairwise(bounds)
    ]
    return TupleValue(tuple(parts), list)


@rule(np.split)
def split(build: Builder, ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    value = as_array(build, ary)
    number = 0 if isinstance(axis, int) else axis_in(build, axis, value.ndim)
    return _split(build, value, indices_or_sections, number, True)


@rule(np.array_split)
def array_split(build: Builder, ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    value = as_array(build, ary)
    number = 0 if isinstance(axis, int) else axis_in(build, axis, value.ndim)
    return _split(build, value, indices_or_sections, number, False)


@rule(np.hsplit)
def hsplit(build: Builder, ary: Any, indices_or_sections: Any) -> Any:
    value = as_array(build, ary)
    if value.ndim == 0:
        build.refuse("hsplit only works on arrays of 1 or more dimensions", error=ShapeError)
    return _split(build, value, indices_or_sections, int(value.ndim > 1), True)


@rule(np.vsplit)
def vsplit(build: Builder, ary: Any, indices_or_sections: Any) -> Any:
    value = as_array(build, ary)
    if value.ndim < 2:
        build.refuse("vsplit only works on arrays of 2 or more dimensions", error=ShapeError)
    return _split(build, value, indices_or_sections, 0, True)


@rule(np.dsplit)
def dsplit(build: Builder, ary: Any, indices_or_sections: Any) -> Any:
    value = as_array(build, ary)
    if value.ndim < 3:
        build.refuse("dsplit only works on arrays of 3 or more dimensions", error=ShapeError)
    return _split(build, value, indices_or_sections, 2, True)


@rule(np.unstack)
def unstack(build: Builder, x: Any, /, *, axis: Any = 0) -> Any:
    value = as_array(build, x)
    number = 0 if isinstance(axis, int) else axis_in(build, axis, value.ndim)
    length = value.dims[number]
    if not isinstance(length, Const):
        build.refuse("into how many arrays this is taken apart is only known at run time", "for row in x: …")
    everything = [indexing.Slice(None, None, None)] * number
    picks = [Scalar(affine.integer(k)) for k in range(length.value)]
    return TupleValue(tuple(indexing.subscript(build, value, [*everything, pick]) for pick in picks))


# -------------------------------------------------------------------------------------------------------- joining


def joined(
    build: Builder, parts: Sequence[Any], axis: int | None, dtype: Any = None, out: Any = None, casting: Any = None
) -> Any:
    """np.concatenate of arrays that are ready for it."""
    parts = _cast_parts(build, parts, dtype, casting)
    number = Static(None) if axis is None else Scalar(affine.integer(axis), True)
    return also_into(build, out, shapes.concatenate(build, parts, number))


def _cast_parts(build: Builder, parts: Sequence[Any], dtype: Any, casting: Any) -> Sequence[Any]:
    wanted = dtype_or_none(build, dtype)
    if wanted is None:
        return parts
    common = creation.common_dtype(parts)
    rule_of_casting: Any = "same_kind" if absent(casting) else casting.value
    if not np.can_cast(common, wanted, rule_of_casting):
        build.refuse(
            f"Cannot cast array data from {common!r} to {wanted!r} according to the rule {rule_of_casting!r}",
            error=ArgumentError,
        )
    return [cast_value(part, wanted) for part in parts]


@dataclass(frozen=True)
class Rows:
    """The rows of an array, as many as there are at run time: `part` is the one with the number in `index`."""

    count: Expr
    part: ArrayValue
    index: Var

    @property
    def array(self) -> ArrayValue:
        shift = {k: Axis(k + 1) for k in range(self.part.ndim)}
        return ArrayValue((self.count, *self.part.dims), substitute(self.part.element, shift | {self.index: Axis(0)}))


def rows_of(arrays: Any) -> Rows | None:
    if not isinstance(arrays, ArrayValue) or not arrays.ndim or isinstance(arrays.dims[0], Const):
        return None
    index = Var(".row", INT64)
    inner = [index, *(Axis(k) for k in range(arrays.ndim - 1))]
    return Rows(arrays.dims[0], remap(arrays, arrays.dims[1:], inner), index)


def rows_joined(build: Builder, rows: Rows, axis: int, dtype: Any = None, casting: Any = None) -> ArrayValue:
    """np.concatenate of rows.

    m rows of (n, k), along axis 1   →   (m, n, k)   →   (n, m, k)   →   (n, m * k)
    """
    if not rows.part.ndim:
        build.refuse("zero-dimensional arrays cannot be concatenated", error=ArgumentError)
    axis = axis_in(build, Scalar(affine.integer(axis)), rows.part.ndim)
    _check_any(build, rows.count)
    array = _cast_parts(build, [rows.array], dtype, casting)[0]
    copy = build.materialize(shapes.moveaxis(build, array, 0, axis), copy=True)
    build.uncertain.discard(copy.name)  # in C order, as we have it
    length = build.pin(affine.mul(copy.dims[axis], copy.dims[axis + 1]))
    out = shapes.reshaped(build, whole(copy), (*copy.dims[:axis], length, *copy.dims[axis + 2 :]))
    if not build.follows_order(array):
        build.uncertain.add(copy.name)
    return out


def _check_any(build: Builder, count: Expr) -> None:
    if not build.is_at_least(count, 1):
        message = "need at least one array to concatenate" + place(build.span)
        build.emit(If(Call("lt", (count, affine.ONE), BOOL), (Raise("RuntimeValueError", message),)))


@rule(np.concatenate)
def concatenate(
    build: Builder, arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    number = axis if isinstance(axis, int) else None if absent(axis) else axis_number(build, axis)
    if number is None and isinstance(arrays, ArrayValue):
        arrays, number = TupleValue((shapes.ravel(build, arrays),)), 0
    rows = rows_of(arrays)
    if rows is not None:
        return also_into(build, out, rows_joined(build, rows, number or 0, dtype, casting))
    return joined(build, _parts(build, arrays), number, dtype, out, casting)


@rule(np.stack)
def stack(
    build: Builder, arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    number = 0 if isinstance(axis, int) else axis_number(build, axis)
    if isinstance(arrays, ArrayValue) and absent(dtype):
        moved = moveaxis(build, arrays, Scalar(affine.ZERO), Scalar(affine.integer(number))) if number else arrays
        return also_into(build, out, shapes.copied(build, moved))
    parts = [as_array(build, item) for item in items_of(build, arrays)]
    return also_into(build, out, creation.stack(build, parts, number, dtype_or_none(build, dtype)))


def _parts(build: Builder, arrays: Any) -> list[ArrayValue]:
    """The arrays that a joining function is handed; the rows of one array count as such."""
    if isinstance(arrays, ArrayValue) and arrays.ndim and isinstance(arrays.dims[0], Const):
        picks = [Scalar(affine.integer(k)) for k in range(arrays.dims[0].value)]
        arrays = TupleValue(tuple(indexing.subscript(build, arrays, [pick]) for pick in picks))
    return [as_array(build, item) for item in items_of(build, arrays)]


def _stacked(
    build: Builder,
    arrays: Any,
    prepared: Callable[[ArrayValue], ArrayValue],
    axis: Callable[[ArrayValue], int],
    dtype: Any = None,
    casting: Any = None,
) -> Any:
    """Arrays joined along an axis, each of them prepared for it."""
    rows = rows_of(arrays)
    if rows is not None:
        rows = replace(rows, part=prepared(rows.part))
        return rows_joined(build, rows, axis(rows.part), dtype, casting)
    parts = [prepared(part) for part in _parts(build, arrays)]
    return joined(build, parts, axis(parts[0]), dtype, None, casting)


@rule(np.vstack, getattr(np, "row_stack", np.vstack))  # row_stack: until NumPy 2.5
def vstack(build: Builder, tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
    return _stacked(build, tup, lambda part: at_least(part, 2), lambda part: 0, dtype, casting)


@rule(np.hstack)
def hstack(build: Builder, tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
    return _stacked(build, tup, lambda part: at_least(part, 1), lambda part: min(part.ndim - 1, 1), dtype, casting)


@rule(np.dstack)
def dstack(build: Builder, tup: Any) -> Any:
    return _stacked(build, tup, lambda part: at_least(part, 3), lambda part: 2)


@rule(np.column_stack)
def column_stack(build: Builder, tup: Any) -> Any:
    def as_columns(part: ArrayValue) -> ArrayValue:
        return with_axes(at_least(part, 1), (1,)) if part.ndim < 2 else part

    return _stacked(build, tup, as_columns, lambda part: 1)


# --------------------------------------------------------------------------------------------------------- others


@rule(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    build: Builder, x: Any, window_shape: Any, axis: Any = None, *, subok: Any = None, writeable: Any = None
) -> Any:
    """Windows over the axes, at the end of the result: x[i + k] at (i, k)."""
    value = as_array(build, x)
    if any(option is not None and flag(option) for option in (subok, writeable)):
        build.refuse("windows that can be written to, or that are of a subclass", "copy them, and write to the copy")
    sizes = creation.shape_of(build, window_shape)
    numbers = range(value.ndim) if absent(axis) else _named_axes(build, axis, value.ndim)
    if len(numbers) != len(sizes):
        build.refuse("window_shape must have as many lengths as there are axes to window", error=ShapeError)
    lengths, index = list(value.dims), list[Expr](Axis(k) for k in range(value.ndim))
    for place_of_window, (number, size) in enumerate(zip(numbers, sizes, strict=True), value.ndim):
        _check_window(build, lengths[number], size)
        lengths[number] = build.pin(affine.add(affine.sub(lengths[number], size), affine.ONE))
        index[number] = affine.add(index[number], Axis(place_of_window))
        build.lower |= {lengths[number]: 0} if isinstance(lengths[number], Var) else {}
    return remap(value, (*lengths, *sizes), index)


def _named_axes(build: Builder, axis: Any, ndim: int) -> list[int]:
    return [axis_in(build, item, ndim) for item in (axis.items if isinstance(axis, TupleValue) else (axis,))]


def _check_window(build: Builder, length: Expr, size: Expr) -> None:
    room = affine.sub(length, size)
    for bound, message in (
        (room, "window shape cannot be larger than input array shape"),
        (size, "window_shape cannot contain negative values"),
    ):
        if isinstance(bound, Const) and bound.value < 0:
            build.refuse(message, error=ValueArgumentError)
        if not build.is_at_least(bound, 0):
            error = Raise("RuntimeValueError", message + place(build.span))
            build.emit(If(Call("lt", (bound, affine.ZERO), BOOL), (error,)))


PYTHONS_WIDE = {"f": np.float64, "c": np.complex128, "i": np.int64, "u": np.int64, "b": np.bool_}


@rule(method="tolist")
def tolist(build: Builder, a: Any) -> Any:
    """x.tolist(): a list of Python's numbers, or of lists of them."""
    wide = PYTHONS_WIDE[a.dtype.kind]
    types = frozenset(ScalarType(np.dtype(PYTHONS_WIDE[kind.dtype.kind]), weak=True) for kind in types_of(build, a))
    if isinstance(a, Scalar) or not a.ndim:
        types = several(types) if len({kind.dtype for kind in types}) > 1 else frozenset()
        return Scalar(cast(a.expr if isinstance(a, Scalar) else a.element, np.dtype(wide)), weak=True, types=types)
    rows = build.materialize(cast_value(a, np.dtype(wide)), "items", copy=True)
    inner = None
    for _ in range(a.ndim - 1):
        inner = Nested(inner)
    list_types.note_numbers(build, rows, inner, types)
    return Items(rows, rows.dims[0], rows.dims[0], True, inner, object())


@rule(method="item")
def item(build: Builder, a: Any, *args: Any) -> Any:
    """x.item(): one of its numbers, as Python has it."""
    index = list(args[0].items if args and isinstance(args[0], TupleValue) else args)
    if isinstance(a, Scalar):
        return tolist(build, a)
    if not index:
        return tolist(build, shapes.only_element(build, a, "only an array of one element can be made a number"))
    one = flat.pick(build, flat.elements(build, a), index) if len(index) == 1 else indexing.subscript(build, a, index)
    return tolist(build, Scalar(one.element))


@rule(np.block)
def block(build: Builder, arrays: Any) -> Any:
    """The innermost lists are joined along the last axis, those around them along the one before it."""
    depth = _depth(build, arrays)
    leaves = [as_array(build, leaf) for leaf in _leaves(arrays)]
    ndim = max(depth, *(leaf.ndim for leaf in leaves))

    def build_block(part: Any, level: int) -> ArrayValue:
        if not _is_list(part):
            value = as_array(build, part)
            return with_axes(value, tuple(range(ndim - value.ndim)))
        inner = [build_block(item, level + 1) for item in part.items]
        return inner[0] if len(inner) == 1 else joined(build, inner, ndim - depth + level)

    value = build_block(arrays, 0)
    return value if value.handle is not None and len(leaves) > 1 else shapes.copied(build, value)


def _is_list(part: Any) -> bool:
    return isinstance(part, TupleValue) and part.kind is list


def _leaves(part: Any) -> list[Any]:
    return [leaf for item in part.items for leaf in _leaves(item)] if _is_list(part) else [part]


def _depth(build: Builder, part: Any) -> int:
    if not _is_list(part):
        return 0
    depths = {_depth(build, item) for item in part.items}
    if len(depths) != 1:
        build.refuse("List depths are mismatched, or a list is empty", error=ShapeError)
    return depths.pop() + 1
