"""Functions that pick elements by conditions or by positions.

np.select([a, b], [x, y])           →   select(a[#0], x[#0], select(b[#0], y[#0], 0.0))
np.take_along_axis(x, i, axis=1)    →   x[#0, i[#0, #1]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Axis, Call, Expr, Load, either
from ...ir.nodes import If, Raise
from ..arithmetic import cast, cast_value
from ..array_values import ArrayValue, remap, whole
from ..broadcasting import broadcast, common_dims, element_under
from ..builder import Builder
from ..values import Range, Scalar
from . import indexing, reductions, shapes
from .axes import axis_in
from .table import absent, also_into, array_or_number, as_array, items_of, kind_of, rule


@rule(np.select)
def select(build: Builder, condlist: Any, choicelist: Any, default: Any = None) -> Any:
    conditions, choices = items_of(build, condlist), items_of(build, choicelist)
    if len(conditions) != len(choices):
        build.refuse("list of cases must be same length as list of conditions", error=ShapeError)
    otherwise = Scalar(affine.ZERO, weak=True) if default is None else default
    values = [array_or_number(build, v) for v in (*choices, otherwise)]
    dtype = np.result_type(*(kind_of(v) for v in values))
    tests = [array_or_number(build, c) for c in conditions]
    if any(test.dtype != BOOL for test in tests):
        build.refuse("the conditions of np.select must be of bool dtype", error=ArgumentError)
    return _first_of(build, tests, [cast_value(v, dtype) for v in values], dtype)


def _first_of(build: Builder, tests: list[Any], values: list[Any], dtype: np.dtype) -> Any:
    """The value whose test is the first that holds, else the last."""
    dims, elements = broadcast(build, [*tests, *values])
    out = elements[-1]
    if not tests:
        return shapes.copied(build, ArrayValue(dims, out))
    for test, value in reversed(list(zip(elements, elements[len(tests) : -1], strict=False))):
        out = Call("select", (test, value, out), dtype)
    return ArrayValue(dims, out, in_order=build.leave_order([*tests, *values]))


def from_the_front(build: Builder, value: Any, length: Expr, mode: Any) -> Any:
    """Positions in an axis by `mode`: "raise" leaves them to the bounds check, "wrap" and "clip" bring them inside."""
    how = "raise" if absent(mode) else mode.value
    if how not in ("raise", "wrap", "clip"):
        build.refuse(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {how!r})", error=ShapeError)
    if value.dtype.kind not in "iub":
        build.refuse("positions must be integers", error=ArgumentError)

    def inside(index: Expr) -> Expr:
        index = cast(index, INT64)
        if how == "wrap":
            return Call("mod", (index, length), INT64)
        if how == "clip":
            low = Call("maximum", (index, affine.ZERO), INT64)
            return Call("minimum", (low, affine.sub(length, affine.ONE)), INT64)
        return index

    if isinstance(value, Scalar):
        return Scalar(inside(value.expr))
    return ArrayValue(value.dims, inside(value.element))


@rule(np.take, method="take")
def take(build: Builder, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = None) -> Any:
    value = as_array(build, a)
    places = indexing.arange_of(build, indices) if isinstance(indices, Range) else array_or_number(build, indices)
    value = shapes.ravel(build, value) if absent(axis) else value
    number = 0 if absent(axis) else axis_in(build, axis, value.ndim)
    places = from_the_front(build, places, value.dims[number], mode)
    everything = [indexing.Slice(None, None, None)] * number
    taken: Any = indexing.subscript(build, value, [*everything, places])
    if taken.ndim == 0:
        taken = Scalar(taken.element)
    elif isinstance(places, Scalar) or taken.is_window:
        taken = shapes.copied(build, taken)
    return also_into(build, out, taken)


@rule(np.take_along_axis)
def take_along_axis(build: Builder, arr: Any, indices: Any, axis: Any = -1) -> Any:
    value, places = as_array(build, arr), as_array(build, indices)
    if absent(axis):
        value, number = shapes.ravel(build, value), 0
    else:
        number = axis_in(build, axis if not isinstance(axis, int) else Scalar(affine.integer(axis)), value.ndim)
    if places.ndim != value.ndim:
        build.refuse("`indices` and `arr` must have the same number of dimensions", error=ShapeError)
    if places.dtype.kind not in "iu":
        build.refuse("`indices` must be an integer array", error=ArgumentError)
    around = (*value.dims[:number], affine.ONE, *value.dims[number + 1 :])
    dims = common_dims(build, [places.dims, around])
    held = places if isinstance(places.element, Load) else whole(build.materialize(places, "index"))
    at = cast(element_under(build, held, dims), INT64)
    around = (*dims[:number], value.dims[number], *dims[number + 1 :])
    index: list[Expr] = [Axis(k) for k in range(value.ndim)]
    index[number] = indexing._wrapped(build, value, number, at)
    return remap(ArrayValue(around, element_under(build, value, around)), dims, index)


@rule(np.choose, method="choose")
def choose(build: Builder, a: Any, choices: Any, out: Any = None, mode: Any = None) -> Any:
    which = as_array(build, a)
    held = whole(build.materialize(which, "choice")) if not isinstance(which.element, Load) else which
    count = choices.dims[0] if isinstance(choices, ArrayValue) else affine.integer(len(items_of(build, choices)))
    if absent(mode) or mode.value == "raise":
        outside = _is_no_choice(held, count)
        found = reductions.logical(build, outside, op="or").expr if held.ndim else outside.element
        build.emit(If(found, (Raise("ValueError", "invalid entry in choice array"),)))
    inside = from_the_front(build, held, count, mode)
    if isinstance(choices, ArrayValue):
        return also_into(build, out, _chosen_rows(build, inside, choices))
    parts = [array_or_number(build, part) for part in choices.items]
    tests = [ArrayValue(held.dims, affine.equals(inside.element, affine.integer(k))) for k in range(len(parts) - 1)]
    dtype = np.result_type(*map(kind_of, parts))
    return also_into(build, out, _first_of(build, tests, [cast_value(p, dtype) for p in parts], dtype))


def _chosen_rows(build: Builder, which: ArrayValue, choices: ArrayValue) -> ArrayValue:
    """choices[which[i], i], broadcast"""
    dims = common_dims(build, [which.dims, choices.dims[1:]])
    at = element_under(build, which, dims)
    lead = len(dims) - choices.ndim + 1
    rest = [affine.ZERO if d == affine.ONE else Axis(lead + k) for k, d in enumerate(choices.dims[1:])]
    return remap(choices, dims, [at, *rest])


def _is_no_choice(value: ArrayValue, count: Expr) -> ArrayValue:
    """Is an element no number of one of `count` things?"""
    below = Call("lt", (cast(value.element, INT64), affine.ZERO), BOOL)
    above = Call("ge", (cast(value.element, INT64), count), BOOL)
    return ArrayValue(value.dims, either(below, above))
