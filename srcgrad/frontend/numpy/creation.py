"""Arrays made from nothing, from shapes, and from nested lists of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from ...errors import ArgumentError, place
from ...ir import affine
from ...ir.expressions import BOOL, FLOAT64, INT64, Array, Axis, Call, Const, Expr, Var
from ...ir.nodes import If, Raise, Store
from ...ir.types import DictKind, RecordKind, ScalarType
from ...rules import compositions
from .. import optional
from ..arguments import SUPPORTED
from ..arithmetic import cast
from ..array_values import ArrayValue, computed, whole
from ..broadcasting import element_that_fits
from ..builder import Builder
from ..joined_numbers import are_joined
from ..types_that_decide import of_one_type, types_of_array
from ..values import Items, Scalar, Static, TupleValue


def dtype_of(builder: Builder, value: Any, default: np.dtype | None) -> np.dtype:
    """A `dtype=` argument."""
    if value is None or (isinstance(value, Static) and value.value is None):
        assert default is not None
        return default
    if not isinstance(value, Static):
        return builder.refuse("dtype must be known when the function is compiled", error=ArgumentError)
    try:
        dtype = np.dtype(value.value)
    except TypeError:
        return builder.refuse(f"{value.value!r} is not a dtype", error=ArgumentError)
    if dtype not in SUPPORTED:
        return builder.refuse(
            f"arrays of dtype {dtype} are not supported", "use float32, float64, a complex or an integer type, or bool"
        )
    return dtype


def refuse_to_drop(builder: Builder, value: Any, dtype: np.dtype | None) -> None:
    """NumPy's functions do not drop imaginary parts: only `astype`, and writes to real memory, do."""
    if dtype is not None and value.dtype.kind == "c" and dtype.kind in "fiu":
        builder.refuse(
            f"this does not take {value.dtype} as {dtype}", "take the real part:  z.real", error=ArgumentError
        )


def as_number(value: Any) -> Any:
    """An array without axes as a number; anything else as it is."""
    return Scalar(value.element) if isinstance(value, ArrayValue) and value.ndim == 0 else value


def shape_of(builder: Builder, value: Any) -> tuple[Expr, ...]:
    """A `shape` argument: an integer or a tuple of them."""
    if isinstance(value, Items) or (isinstance(value, ArrayValue) and value.ndim == 1):
        builder.refuse(
            "how many axes an array has is only known at run time", "name what it depends on in  @grad(static=...)"
        )
    items = value.items if isinstance(value, TupleValue) else (value,)
    dims = []
    for item in items:
        item = as_number(item)
        if not isinstance(item, Scalar) or item.dtype.kind not in "iub":
            builder.refuse("a shape must be an integer or a tuple of integers", error=ArgumentError)
        dims.append(builder.pin(cast(item.expr, INT64)))
    return tuple(dims)


def filled(builder: Builder, shape: Any, fill: Any, dtype: np.dtype | None) -> ArrayValue:
    dims = shape_of(builder, shape)
    if isinstance(fill, TupleValue):
        fill = array_of(builder, fill, None)
    target = dtype or (INT64 if isinstance(fill, Scalar) and fill.weak and fill.dtype.kind == "i" else fill.dtype)
    element = cast(element_that_fits(builder, fill, dims), target)
    if isinstance(element, Const):
        return ArrayValue(dims, element, in_order=True)
    if isinstance(fill, ArrayValue):
        value, own = ArrayValue(dims, element), builder.allocate("t", target, dims)
        builder.check_fresh(element)
        builder.each(dims, lambda index: Store(own, index, value.at(index)))
        return whole(own)
    return ArrayValue(dims, builder.capture(element, "fill"), in_order=True)


def empty(builder: Builder, shape: Any, dtype: np.dtype) -> ArrayValue:
    return whole(builder.allocate("t", dtype, shape_of(builder, shape)))


def refuse_unknown_axis(builder: Builder, axis: Any, what: str) -> NoReturn:
    """An axis that only a run knows."""
    called = axis.expr.name if isinstance(axis, Scalar) and isinstance(axis.expr, Var) else None
    if called in builder.parameters:
        builder.refuse(what, f"say that it is known:  @grad(static=({called!r},)), or give it a default")
    builder.refuse(what, "as the index of a loop it is known where the bounds of that are:  for axis in range(2)")


def array_of(builder: Builder, value: Any, dtype: np.dtype | None) -> Any:
    """np.array of a nested list of values."""
    if isinstance(value, (Scalar, ArrayValue)):
        refuse_to_drop(builder, value, dtype)
    if isinstance(value, Scalar):
        types = frozenset[ScalarType]() if dtype else types_of_array(builder, [value])
        return ArrayValue((), cast(value.expr, dtype or value.dtype), types=types)
    if isinstance(value, ArrayValue):
        if dtype is not None and dtype == value.dtype and are_joined(builder, [value]):
            return of_one_type(builder, value)
        return computed(value, cast(value.element, dtype)) if dtype else value
    if isinstance(value, Static) and value.value is None and dtype is not None and dtype.kind in "fc":  # no number
        return ArrayValue((), cast(Const(np.nan), dtype))
    if not isinstance(value, TupleValue):
        builder.refuse_unusable(value)
        return builder.refuse("np.array needs numbers, arrays, or nested lists of them", error=ArgumentError)
    if optional.is_optional(value):
        return array_of(builder, optional.unless_none(builder, value, optional.IN_NUMPY), dtype)
    if isinstance(value.kind, (DictKind, RecordKind)):
        what = (
            f"a {value.kind.cls.__name__}"
            if isinstance(value.kind, DictKind)
            else f"an object ({value.kind.cls.__name__})"
        )
        return builder.refuse(f"NumPy's array of {what} is not one of numbers", "compute with its items")
    if not value.items:
        return ArrayValue((affine.ZERO,), Const(0.0, dtype or FLOAT64))
    parts = [array_of(builder, item, None) for item in value.items]
    made = stack(builder, parts, 0, dtype or common_dtype(parts, value))
    if dtype is None:
        builder.note_types(made.element.array, types_of_array(builder, parts))  # type: ignore[attr-defined]
    return made


def common_dtype(parts: Sequence[Any], value: TupleValue | None = None) -> np.dtype:
    """The dtype of an array made of these; Python numbers give way to NumPy values only in arithmetic, not here."""
    return np.result_type(*(part.dtype for part in parts))


def stack(builder: Builder, parts: Sequence[Any], axis: int, dtype: np.dtype | None = None) -> ArrayValue:
    """np.stack"""
    parts = [part if isinstance(part, ArrayValue) else ArrayValue((), part.expr) for part in parts]
    dims = check_alike(builder, parts)
    for part in parts:
        refuse_to_drop(builder, part, dtype)
    ndim = len(dims) + 1
    if not -ndim <= axis < ndim:
        builder.refuse(f"axis {axis} is out of bounds for an array of dimension {ndim}", error=ArgumentError)
    axis %= ndim
    dtype = dtype or common_dtype(parts)
    out = builder.allocate("t", dtype, (*dims[:axis], affine.integer(len(parts)), *dims[axis:]))
    if not all(builder.follows_order(part) for part in parts):
        builder.uncertain.add(out.name)
    for number, part in enumerate(parts):
        place = affine.integer(number)
        write_part(builder, out, dims, part, lambda i, at=place: (*i[:axis], at, *i[axis:]))
    return whole(out)


SCIPYS_OWN_ORDER = ("scipy.linalg", "scipy.signal", "scipy.ndimage", "scipy.interpolate", "scipy.spatial")


def in_order_of(build: Builder, target: Any, made: Any, args: list[Any]) -> Any:
    """What a function makes lies in memory as its arguments do, or as the function likes it."""
    if target in compositions.IN_ANY_ORDER or (getattr(target, "__module__", None) or "").startswith(SCIPYS_OWN_ORDER):
        return in_any_order(build, made)
    arrays = (arg for arg in args if isinstance(arg, ArrayValue) and arg.ndim > 1)
    if not all(build.follows_order(array) for array in arrays):
        for value in made.items if isinstance(made, TupleValue) else (made,):
            if isinstance(value, ArrayValue) and value.handle is not None:  # (arithmetic says it by what it reads)
                _forget_order(build, value.handle)
    return made


def in_any_order(builder: Builder, value: Any) -> Any:
    """The arrays are in an order in memory that is for NumPy or SciPy to say."""
    if isinstance(value, TupleValue):
        return replace(value, items=tuple(in_any_order(builder, item) for item in value.items))
    if not isinstance(value, ArrayValue) or value.ndim < 2:
        return value
    memory = builder.materialize(value, copy=value.handle is None)
    _forget_order(builder, memory)
    return whole(memory)


def _forget_order(builder: Builder, memory: Array) -> None:
    if memory.ndim > 1 and builder.root(memory) not in builder.parameters:
        builder.uncertain.add(memory.name)


def check_alike(builder: Builder, parts: Sequence[ArrayValue]) -> tuple[Expr, ...]:
    """The one shape that all parts have."""
    dims = parts[0].dims
    for part in parts[1:]:
        if part.ndim != len(dims):
            builder.refuse("all input arrays must have the same shape", error=ArgumentError)
        for x, y in zip(dims, part.dims, strict=False):
            check_length(builder, x, y)
    return dims


def check_length(builder: Builder, x: Expr, y: Expr) -> None:
    gap = affine.difference(x, y)
    if gap == 0:
        return
    key = frozenset((x, y))
    if key in builder.checked_lengths:
        return
    if builder.is_top_level:
        builder.checked_lengths.add(key)
    if gap is not None:
        builder.refuse("all input arrays must have the same shape", error=ArgumentError)
    message = "lengths {} and {} must be equal" + place(builder.span)
    builder.emit(If(Call("ne", (x, y), BOOL), (Raise("RuntimeShapeError", message, (x, y)),)))


def write_part(builder: Builder, out: Any, dims: tuple[Expr, ...], part: ArrayValue, index: Any) -> None:
    builder.check_fresh(part.element)
    store = lambda i: Store(out, index(i), cast(part.at(i), out.dtype))
    if dims:
        builder.each(dims, store)
    else:
        builder.emit(store(()))


def arange(builder: Builder, args: Sequence[Scalar], dtype: np.dtype | None) -> ArrayValue:
    zero, one = Scalar(affine.ZERO, weak=True), Scalar(affine.ONE, weak=True)
    start, stop, step = {1: (zero, *args, one), 2: (*args, one), 3: tuple(args)}[len(args)]
    common = dtype or np.result_type(*(a.dtype for a in (start, stop, step)), INT64)
    if common.kind == "c":
        builder.refuse("np.arange of complex numbers is not supported", "start + step * np.arange(n)")
    if all(a.dtype.kind in "iub" for a in (start, stop, step)):
        low, high, by = (cast(a.expr, INT64) for a in (start, stop, step))
        count = affine.sub(high, low)
        if not affine.same(by, affine.ONE):
            if isinstance(by, Const) and by.value != 0:
                width, stride = count if by.value > 0 else affine.sub(low, high), abs(int(by.value))
                count = affine.floordiv(affine.add(width, affine.integer(stride - 1)), stride)
            else:
                trips = Call("trip_count", (low, high, by), INT64)
                count = builder.pin(builder.capture(trips, "n"))
        if not builder.is_at_least(count, 0):
            count = affine.maximum(count, affine.ZERO)
        return ArrayValue((builder.pin(count),), cast(affine.add(low, affine.mul(by, Axis(0))), common))
    low, high, by = (cast(a.expr, FLOAT64) for a in (start, stop, step))
    span = Call("ceil", (Call("div", (Call("sub", (high, low), FLOAT64), by), FLOAT64),), FLOAT64)
    count = builder.pin(builder.capture(affine.maximum(Call("cast", (span,), INT64), affine.ZERO), "n"))
    element = Call("add", (low, Call("mul", (by, Call("cast", (Axis(0),), FLOAT64)), FLOAT64)), FLOAT64)
    return ArrayValue((count,), cast(element, common))


def linspace(builder: Builder, start: Any, stop: Any, num: Any, endpoint: bool, dtype: np.dtype | None) -> ArrayValue:
    common = np.result_type(*(v.dtype.type(0).item() if v.weak else v.dtype for v in (start, stop)), 0.0)
    (count,) = shape_of(builder, num)
    low, high = cast(start.expr, common), cast(stop.expr, common)
    gaps = affine.sub(count, affine.ONE) if endpoint else count
    gap_count = cast(affine.maximum(gaps, affine.ONE), common)
    step = builder.capture(Call("div", (Call("sub", (high, low), common), gap_count), common), "step")
    at = cast(Axis(0), common)
    element: Expr = Call("add", (Call("mul", (at, step), common), low), common)
    if endpoint:  # the last point is exactly the end
        last = Call(
            "and", (affine.equals(Axis(0), affine.sub(count, affine.ONE)), Call("gt", (count, affine.ONE), BOOL)), BOOL
        )
        element = Call("select", (last, high, element), common)
    return to_dtype(ArrayValue((count,), element), dtype)


def to_dtype(line: ArrayValue, dtype: np.dtype | None) -> ArrayValue:
    """np.linspace rounds down where whole numbers are wanted."""
    if dtype is None:
        return line
    element = Call("floor", (line.element,), line.dtype) if dtype.kind in "iu" else line.element
    return ArrayValue(line.dims, cast(element, dtype))


def eye(builder: Builder, rows: Any, columns: Any, shift: Expr, dtype: np.dtype) -> ArrayValue:
    dims = shape_of(builder, TupleValue((rows, columns)))
    on = affine.equals(affine.add(Axis(0), shift), Axis(1))
    one, zero = Const(dtype.type(1).item(), dtype), Const(dtype.type(0).item(), dtype)
    return ArrayValue(dims, Call("select", (on, one, zero), dtype), in_order=True)
