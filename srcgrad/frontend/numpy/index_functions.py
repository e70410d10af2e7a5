"""Functions that make indices of conditions, and functions that write by index one element after the other.

np.nonzero(m)          →   count = how many hold; positions = int64[count]; find_nonzero(positions, m)
np.add.at(x, k, y)     →   for each i:  x[k[i]] += y[i]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ValueArgumentError
from ...ir.expressions import BOOL, Call, Expr, Load, is_inexact
from ...ir.nodes import AddTo, Stmt, Store
from ...ir.walk import loads
from ...rules.names import FUNCTIONS
from ..arithmetic import cast, cast_value, elementwise
from ..array_values import ArrayValue, whole
from ..broadcasting import element_that_fits
from ..builder import Builder
from ..types_that_decide import check_write
from ..values import Scalar, Slice, Static, TupleValue
from . import indexing
from .creation import refuse_to_drop
from .masks import mask_positions
from .table import Handler, absent, array_or_number, as_array, rule


@rule(slice)
def slice_(build: Builder, *bounds: Any) -> Any:
    start, stop, step = {1: (None, *bounds, None), 2: (*bounds, None)}.get(len(bounds), bounds)
    return Slice(*(None if absent(part) else part for part in (start, stop, step)))


@rule(np.nonzero, method="nonzero")
def nonzero(build: Builder, a: Any) -> Any:
    value = as_array(build, a)
    if value.ndim == 0:
        return build.refuse("calling nonzero on 0d arrays is not allowed", "np.atleast_1d(x)", error=ValueArgumentError)
    return TupleValue(mask_positions(build, cast_value(value, BOOL)))


def _accumulating(ufunc: Any, op: str) -> Handler:
    def at(build: Builder, a: Any, indices: Any, b: Any = None) -> Any:
        items = list(indices.items) if isinstance(indices, TupleValue) and indices.kind is tuple else [indices]
        target = indexing.subscript(build, indexing.memory_of(build, a), items)
        if not isinstance(target.element, Load):
            build.refuse(f"np.{ufunc.__name__}.at on a part of complex numbers is not supported", "z[k] += x")
        array, index = target.element.array, target.element.index
        operands = [_steady(build, array_or_number(build, b), array)] if ufunc.nin == 2 else []
        for operand in operands:
            check_write(build, array, operand, op)
            build.check_fresh(operand.element if isinstance(operand, ArrayValue) else operand.expr)
        build.note_write(array)
        for operand in operands:
            refuse_to_drop(build, operand, array.dtype)
        elements = [element_that_fits(build, operand, target.dims) for operand in operands]

        def body(places: tuple[Expr, ...]) -> Stmt:
            place = Load(array, tuple(indexing.at_index(part, places) for part in index))
            now = [Scalar(indexing.at_index(element, places)) for element in elements]
            if op in ("add", "sub") and is_inexact(array.dtype):
                value = cast(now[0].expr, array.dtype)
                return AddTo(place, value if op == "add" else Call("neg", (value,), array.dtype))
            return Store(array, place.index, cast(elementwise(build, op, (Scalar(place), *now)).expr, array.dtype))

        if target.dims:
            build.each(target.dims, body, running=True)
        else:
            build.emit(body(()))
        return Static(None)

    return at


def _steady(build: Builder, value: Any, array: Any) -> Any:
    """The operand as it is before anything is written."""
    element = value.element if isinstance(value, ArrayValue) else value.expr
    if not any(build.root(load.array) == build.root(array) for load in loads(element)):
        return value
    if isinstance(value, ArrayValue):
        return whole(build.materialize(value, copy=True))
    return replace(value, expr=build.capture(element))


for _ufunc, _op in FUNCTIONS.items():
    if isinstance(_ufunc, np.ufunc) and _ufunc.nout == 1:
        rule(_ufunc.at)(_accumulating(_ufunc, _op))
