"""`where=` and `initial=` of reductions: what is left out counts as the reduction's identity.

np.max(x, where=m, initial=0.0)   →   maximum(max of select(m, x, -inf), 0.0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...ir.expressions import INT64, Const, is_inexact
from ..arithmetic import cast_value, elementwise, is_out_of_bounds
from ..array_values import ArrayValue
from ..broadcasting import check_fits
from ..builder import Builder
from ..values import Scalar, TupleValue
from . import reductions
from .creation import refuse_to_drop
from .table import TABLE, absent, array_or_number, as_array, flag


def reduced(
    build: Builder,
    kernel: Callable[..., Any],
    combine: str,
    a: Any,
    axis: Any,
    keepdims: bool,
    initial: Any = None,
    where: Any = None,
    **more: Any,
) -> Any:
    """A reduction by `combine` of the elements that `where` names, and `initial`."""
    value = as_array(build, a)
    if combine in ("maximum", "minimum"):
        reductions.refuse_complex(build, value)
    neutral = identity(combine, value.dtype)
    if not everywhere(where):
        if combine in ("maximum", "minimum") and absent(initial):
            build.refuse(
                f"reduction operation '{combine}' does not have an identity, "
                "so to use a where mask one has to specify 'initial'",
                error=ArgumentError,
            )
        value = selected(build, value, where, neutral)
    if absent(initial):
        return kernel(build, value, axis, keepdims, **more)
    if combine in ("maximum", "minimum"):
        more["start"] = neutral
    result = kernel(build, value, axis, keepdims, **more)
    return elementwise(build, combine, (result, _converted(build, array_or_number(build, initial), result.dtype)))


def _converted(build: Builder, initial: Any, dtype: np.dtype) -> Any:
    """`initial` in the dtype of the reduction: of integers, 0.1 is 0."""
    refuse_to_drop(build, initial, dtype)
    if is_out_of_bounds(initial, dtype):
        build.refuse(f"Python integer {initial.value} out of bounds for {dtype}", error=ArgumentError)
    return cast_value(initial, dtype)


def everywhere(where: Any) -> bool:
    return absent(where) or where is True or (isinstance(where, Scalar) and where.is_constant and flag(where.value))


def selected(build: Builder, value: ArrayValue, where: Any, other: Const) -> ArrayValue:
    condition = array_or_number(build, where)
    if isinstance(condition, ArrayValue):
        check_fits(build, condition.dims, value.dims)
    return as_array(build, TABLE[np.where](build, condition, value, Scalar(other)))


def mean(build: Builder, a: Any, axis: Any, keepdims: bool, where: Any, dtype: np.dtype | None) -> Any:
    """np.mean of the elements that `where` names."""
    value = as_array(build, a)
    if everywhere(where):
        return reductions.mean(build, value, axis, keepdims, dtype)
    out = dtype or (value.dtype if is_inexact(value.dtype) else np.dtype(np.float64))
    shape = TupleValue(tuple(Scalar(dim, weak=True) for dim in value.dims))
    named = TABLE[np.broadcast_to](build, array_or_number(build, where), shape)
    count = reductions.total(build, cast_value(named, INT64), axis, keepdims)
    kept = selected(build, value, where, identity("add", value.dtype))
    return elementwise(build, "div", (reductions.total(build, kept, axis, keepdims, out), cast_value(count, out)))


def identity(combine: str, dtype: np.dtype) -> Const:
    match combine:
        case "add" | "or":
            number: Any = 0
        case "mul" | "and":
            number = 1
        case _ if dtype.kind == "f":
            number = -np.inf if combine == "maximum" else np.inf
        case _ if dtype.kind == "b":
            number = combine == "minimum"
        case _:
            number = getattr(np.iinfo(dtype), "min" if combine == "maximum" else "max")
    return Const(dtype.type(number).item(), dtype)
