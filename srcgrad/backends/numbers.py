"""Arithmetic of numbers as one instruction each, and NumPy's functions of numbers without the loops of arrays.

n // 2         Numba asks whether 2 is 0, and which of the signs differ, with memory for two results
x / y          Numba asks whether y is 0, though nothing follows from it: a division, and the block goes on
np.exp(x)      Numba makes a loop of one round around it, with memory for its result: what stands in the loop

LLVM would come to the same, later.  (Products, sums and comparisons: `runtime/instructions.py`.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite.ir import Constant
from numba.core import types
from numba.core.typing import signature as signature_of
from numba.np.npyimpl import _ufunc_db_function

from srcgrad.backends.variables import VariableLower
from srcgrad.runtime.instructions import instruction, kind_of_both

FLOORED: dict[Callable[..., Any], Callable[[Any, Any, Any], Any]] = {
    operator.floordiv: lambda builder, x, y: builder.add(builder.sdiv(x, y), _is_rest_below(builder, x, y)),
    operator.mod: lambda builder, x, y: builder.add(builder.srem(x, y), builder.and_(_is_rest_below(builder, x, y), y)),
}  # where the divisor is a positive constant


class NumberLower(VariableLower):
    """Lowering of one function: its arithmetic."""

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        signature = self.fndesc.calltypes[expr]
        make = instruction(op, signature) or _quotient(op, signature)
        if make is None:
            return super().lower_binop(resty, expr, op)
        left, right = (
            self.context.cast(self.builder, self.loadvar(side.name), self.typeof(side.name), kind)
            for side, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        )
        if op in FLOORED and not _is_positive(right):
            return super().lower_binop(resty, expr, op)
        return self.context.cast(self.builder, make(self.builder, left, right), signature.return_type, resty)

    def _lower_call_normal(self, function: Any, expr: Any, signature: Any) -> Any:
        ufunc = getattr(function, "typing_key", None)
        if not isinstance(ufunc, np.ufunc) or not _is_of_numbers(ufunc, signature):
            return super()._lower_call_normal(function, expr, signature)
        values = self.fold_call_args(function, signature, expr.args, expr.vararg, expr.kws)
        kinds = signature_of(signature.return_type, *signature.args)
        return _kernel(ufunc)(self.context, self.builder, kinds).generate(*values)


def _quotient(op: Any, signature: Any) -> Callable[[Any, Any, Any], Any] | None:
    """What divides two numbers of one type."""
    kind = kind_of_both(signature)
    if kind is None or signature.return_type != kind:
        return None
    if isinstance(kind, types.Float) and op is operator.truediv:
        return lambda builder, x, y: builder.fdiv(x, y)
    return FLOORED.get(op) if kind == types.int64 else None


def _is_positive(value: Any) -> bool:
    return isinstance(value, Constant) and isinstance(value.constant, int) and value.constant > 0


def _is_rest_below(builder: Any, x: Any, y: Any) -> Any:
    """-1 where what is left of x is negative, as of negative numbers in C; else 0."""
    return builder.sext(builder.icmp_signed("<", builder.srem(x, y), x.type(0)), x.type)


def _is_of_numbers(ufunc: np.ufunc, signature: Any) -> bool:
    """Not of whole numbers: of lengths, LLVM knows too much then, and loops over them took 4 % longer."""
    kinds = (signature.return_type, *signature.args)
    is_whole = ufunc.nout == 1 and len(kinds) == ufunc.nargs
    return is_whole and all(isinstance(kind, (types.Float, types.Complex)) for kind in kinds)


_kernel = cache(_ufunc_db_function)

__all__ = ["NumberLower"]
