"""Calls of what users say about derivatives: `stop_gradient`, and functions with a rule of their own."""

from __future__ import annotations

from typing import Any

from ..ir.nodes import Call
from ..rules.user import stop_gradient
from .builder import Builder
from .numpy.table import rule
from .values import ArrayValue, Scalar, TupleValue


@rule(stop_gradient)
def stopped(build: Builder, x: Any) -> Any:
    match x:
        case TupleValue(items=items):
            return TupleValue(tuple(stopped(build, item) for item in items), x.kind)
        case Scalar(expr=expr) if x.dtype.kind == "f" and not x.is_constant:
            return Scalar(Call("stop_gradient", (expr,), x.dtype), x.weak)
        case ArrayValue(dims=dims, element=element):
            return ArrayValue(dims, Call("stop_gradient", (element,), x.dtype))
    return x
