"""One of two numbers, without a branch."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

from srcgrad.runtime.linked import linked, overload
from srcgrad.runtime.stand_ins import STAND_INS

__all__ = ["choose", "either", "unless_zero"]


def choose(condition: Any, x: Any, y: Any) -> Any:
    """x if condition else y, of numbers that are both there: a select.  LLVM moves what one side alone needs into a
    branch otherwise, the loads too, and then gathers the parts of complex numbers one by one."""
    return x if condition else y


def either(condition: Any, x: Any, y: Any) -> Any:
    """The same of real numbers that are added up.  LLVM joins branches on one condition otherwise, of several sums, and
    does not see any more that they are sums."""
    return x if condition else y


@linked
def unless_zero(g: Any, x: Any) -> Any:
    """x, or nothing where the cotangent g is zero: in adjoints that are differentiated themselves."""
    return x if g != 0 else type(x)(0)


@overload(choose)
def _choose(condition, x, y):  # no types: Numba compares signatures
    def chosen(condition, x, y):
        return _select(condition, x, y)

    return chosen


@intrinsic
def _select(typing_context, condition, x, y):
    kind = typing_context.unify_types(x, y)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        holds = context.cast(builder, args[0], condition, types.boolean)
        left, right = (context.cast(builder, v, t, kind) for v, t in zip(args[1:], (x, y), strict=True))
        if not isinstance(kind, types.Complex):
            return builder.select(holds, left, right)
        parts = [context.make_complex(builder, kind, value=value) for value in (left, right)]
        out = context.make_complex(builder, kind)
        out.real, out.imag = (builder.select(holds, *(getattr(z, name) for z in parts)) for name in ("real", "imag"))
        return out._getvalue()

    return kind(condition, x, y), generate


STAND_INS[either] = _select
