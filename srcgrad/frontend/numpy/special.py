"""Functions of numbers that are neither ufuncs of one result nor said in simpler ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from ...ir.expressions import FLOAT64, Call
from ..arithmetic import cast_value, elementwise
from ..array_values import ArrayValue
from ..builder import Builder
from ..values import Scalar, TupleValue
from .creation import refuse_to_drop
from .table import absent, also_into, array_or_number, rule

INT32 = np.dtype(np.int32)


@rule(scipy.special.zeta)
def zeta(build: Builder, x: Any, q: Any = None, out: Any = None) -> Any:
    if absent(q):
        return build.refuse("scipy.special.zeta of one argument is not supported", "where x > 1:  zeta(x, 1.0)")
    return also_into(
        build, out, elementwise(build, "zeta", (array_or_number(build, x), array_or_number(build, q))), core=0
    )


@rule(np.frexp, math.frexp)
def frexp(build: Builder, x: Any) -> Any:
    """The mantissa, x / 2**e, carries the derivative."""
    x = array_or_number(build, x)
    refuse_to_drop(build, x, FLOAT64)
    x = x if x.dtype.kind == "f" else cast_value(x, FLOAT64)
    exponent = _map(x, lambda element: Call("exponent", (element,), INT32))
    minus = elementwise(build, "neg", (exponent,))
    return TupleValue((elementwise(build, "ldexp", (x, minus)), exponent))


def _map(value: Any, change: Any) -> Any:
    if isinstance(value, Scalar):
        return Scalar(change(value.expr))
    return ArrayValue(value.dims, change(value.element))
