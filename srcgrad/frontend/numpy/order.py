"""Sorting and searching: the order is found by a library call and carries no derivative; values are gathered by it.

np.sort(x)   →   order = empty(n, int64); argsort(order, x); t[i] = x[order[i]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import affine
from ...ir.expressions import BOOL, INT64, Axis, Expr, Load
from ...ir.nodes import Library
from ...rules.compositions.tables import places_in
from ..arithmetic import cast_value
from ..array_values import ArrayValue, whole
from ..builder import Builder
from ..values import Scalar, Static
from . import creation, indexing, reductions, shapes
from .table import absent, array_or_number, as_array, rule


def argsort_along(build: Builder, value: ArrayValue, axis: int) -> ArrayValue:
    """The stable order along an axis, nan last; in memory whose last axis it is."""
    reductions.refuse_complex(build, value)
    turned = shapes.moveaxis(build, value, axis, value.ndim - 1)
    if turned.dtype == BOOL:
        turned = cast_value(turned, np.dtype(np.int8))
    rows = build.in_order(turned, "t")
    order = build.allocate("order", INT64, rows.dims)
    build.emit(Library("argsort", order, (rows,)))
    return shapes.moveaxis(build, whole(order), value.ndim - 1, axis)


def _operand(build: Builder, a: Any, axis: Any) -> tuple[ArrayValue, int]:
    value = as_array(build, a)
    if absent(axis):
        return shapes.ravel(build, value), 0
    (number,) = reductions.axes_of(build, value, Scalar(affine.integer(axis)) if isinstance(axis, int) else axis)
    return value, number


def sort_along(build: Builder, value: ArrayValue, axis: int) -> ArrayValue:
    value = whole(build.stored(value))  # it is read twice
    order = argsort_along(build, value, axis)
    index: list[Expr] = [Axis(k) for k in range(value.ndim)]
    index[axis] = order.element
    return ArrayValue(value.dims, value.at(index))


@rule(np.sort)
def sort(build: Builder, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    _check_order(build, order)
    return shapes.copied(build, sort_along(build, *_operand(build, a, axis)))


@rule(method="sort")
def sort_in_place(
    build: Builder, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    _check_order(build, order)
    indexing.write(build, a, shapes.copied(build, sort_along(build, *_operand(build, a, axis))))
    return Static(None)


@rule(np.argsort, method="argsort")
def argsort(build: Builder, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    _check_order(build, order)
    return argsort_along(build, *_operand(build, a, axis))


def _check_order(build: Builder, order: Any) -> None:
    if not absent(order):
        build.refuse("order= names fields of structured arrays, which are not supported")


@rule(places_in)
def places_in_(build: Builder, a: Any, v: Any, side: Any, sorter: Any) -> Any:
    known = "left" if absent(side) else side.value
    if known not in ("left", "right"):
        build.refuse(f"search side must be 'left' or 'right' (got {known!r})")
    table, wanted = as_array(build, a), array_or_number(build, v)
    if not absent(sorter):
        order = as_array(build, sorter)
        creation.check_length(build, order.dims[0], table.dims[0])
        table = indexing.subscript(build, table, [order])
    is_number = isinstance(wanted, Scalar)
    points = ArrayValue((affine.ONE,), wanted.expr) if is_number else wanted
    reductions.refuse_complex(build, table)
    reductions.refuse_complex(build, points)
    common = np.result_type(table.dtype, points.dtype)
    held = build.in_order(cast_value(table, common))
    asked = build.in_order(cast_value(points, common))
    found = build.allocate("found", INT64, asked.dims)
    build.emit(Library(f"search_{known}", found, (held, asked)))
    return Scalar(Load(found, (affine.ZERO,))) if is_number else whole(found)
