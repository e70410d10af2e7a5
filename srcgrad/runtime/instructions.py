"""Operators on two numbers of one type that are one instruction each, on a CPU as on a GPU.

a * b + c      Numba looks up each operator among all its types, and twice more for operands that are constants:
               products and sums, comparisons

LLVM would come to the same; of long functions, the search for operators was the most part of compiling.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba.core import types

ORDERED = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "=="}
OF_FLOATS = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul"}
OF_INTEGERS = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}


def kind_of_both(signature: Any) -> Any:
    """The type of two operands that have the same; None for all others."""
    kinds = {*signature.args}
    return kinds.pop() if len(signature.args) == 2 and len(kinds) == 1 else None


def instruction(op: Any, signature: Any, flags: tuple[str, ...] = ()) -> Callable[[Any, Any, Any], Any] | None:
    """What makes one instruction of an operator on two numbers of one type; None for all others.

    `flags`: of arithmetic on whole numbers.
    """
    kind, result = kind_of_both(signature), signature.return_type
    if isinstance(kind, types.Float):
        if op in OF_FLOATS and result == kind:
            return lambda builder, x, y: getattr(builder, OF_FLOATS[op])(x, y)
        if op in ORDERED and result == types.boolean:
            return lambda builder, x, y: builder.fcmp_ordered(ORDERED[op], x, y)
    elif kind == types.int64:
        if op in OF_INTEGERS and result == kind:
            return lambda builder, x, y: getattr(builder, OF_INTEGERS[op])(x, y, flags=flags)
        if op in ORDERED and result == types.boolean:
            return lambda builder, x, y: builder.icmp_signed(ORDERED[op], x, y)
    return None


__all__ = ["instruction", "kind_of_both"]
