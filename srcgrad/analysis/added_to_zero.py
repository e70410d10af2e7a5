"""What is where something has been added to zero: that, but for -0.0, which added to 0.0 is 0.0.

    y = 0.0
    y += x        →      y = 0.0 + x            y += x * x       →     y = x * x

Nobody sees the zeros of a cotangent: sums that we made just take what is added.
"""

from __future__ import annotations

from math import copysign

from ..ir.expressions import Call, Const, Expr
from ..ir.nodes import AddTo


def is_zero(expr: Expr) -> bool:
    """Is it 0, and not -0.0?"""
    if not isinstance(expr, Const) or expr.value != 0:
        return False
    return all(copysign(1.0, part) > 0 for part in (complex(expr.value).real, complex(expr.value).imag))


def added_to_zero(add: AddTo) -> Expr:
    value = add.value
    if add.reorder or value.dtype.kind not in "fc" or not _may_be_minus_zero(value):
        return value
    return Call("add", (Const(value.dtype.type(0).item(), value.dtype), value), value.dtype)


def _may_be_minus_zero(expr: Expr) -> bool:
    if expr.dtype.kind == "c":
        return True
    match expr:
        case Const(value=value):
            return value == 0
        case Call(op="exp" | "exp2" | "cosh" | "abs" | "square"):
            return False
        case Call(op="mul", args=(x, y)) if x == y:
            return False
        case Call(op="pow", args=(_, Const(value=exponent))):
            return exponent % 2 != 0
        case Call(op="cast", args=(x,)):
            return x.dtype.kind == "f" and _may_be_minus_zero(x)
        case Call(op="add", args=(x, y)):
            return _may_be_minus_zero(x) and _may_be_minus_zero(y)
        case Call(op="select", args=(_, x, y)):
            return _may_be_minus_zero(x) or _may_be_minus_zero(y)
    return True


__all__ = ["added_to_zero", "is_zero"]
