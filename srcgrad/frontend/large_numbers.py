"""Whole numbers of any size that Python makes a quotient of: they are floats from the start.

    x**n / math.factorial(n)                 n! has more than 64 bits from n = 21 on, and as a float is rounded
    1 / (2**n * math.factorial(n) ** 2)      its factors, too, beside numbers of Python's

Beside arrays of small integers, which wrap around, and with a name of their own they stay whole numbers.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..ir.expressions import is_inexact
from ..rules.compositions.python import AS_FLOATS
from .values import Scalar, Static

if TYPE_CHECKING:
    from .interpret import Interpreter


def note_factors(interpreter: Interpreter, node: ast.BinOp) -> None:
    """Mark the calls that are operands of this quotient, or their factors."""
    for operand in (node.left, node.right):
        for part in factors(operand):
            part.is_float = is_of_numbers(interpreter, operand)  # type: ignore[attr-defined]


def factors(node: ast.expr) -> list[ast.Call]:
    match node:
        case ast.Call():
            return [node]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*factors(left), *factors(right)]
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant()) | ast.UnaryOp(op=ast.USub(), operand=base):
            return factors(base)
    return []


def is_of_numbers(interpreter: Interpreter, node: ast.expr) -> bool:
    """Are all that it is made of, beside those calls, numbers of Python's?"""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float))
        case ast.Name(id=name):
            value = interpreter.env.get(name)
            return isinstance(value, Scalar) and (value.weak or is_inexact(value.dtype))
        case ast.BinOp(left=left, right=right):
            return is_of_numbers(interpreter, left) and is_of_numbers(interpreter, right)
        case ast.UnaryOp(operand=operand):
            return is_of_numbers(interpreter, operand)
        case ast.Call(func=ast.Name() | ast.Attribute(value=ast.Name())):
            return True
    return False


def as_float(node: ast.Call, function: Any) -> Any:
    """The function whose float is wanted, where the call has been marked."""
    if not getattr(node, "is_float", False) or not isinstance(function, Static):
        return function
    return next((Static(floats) for whole, floats in AS_FLOATS.items() if function.value is whole), function)


__all__ = ["as_float", "note_factors"]
