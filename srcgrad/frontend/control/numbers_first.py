"""Names that are a number ahead of a loop and an array behind it: the number is spread over the array first.

s = 0.0                                s = zeros(m)
for i in range(n):              →      for i in range(n):
    s = s + x[:, i]                        s = s + x[:, i]

So it is where each iteration does nothing with the name but compute its next value, element by element, and where there
is an iteration at all.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import place
from ...ir.expressions import BOOL, Call, Const, Expr
from ...ir.nodes import If, Raise
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..syntax.syntax import walk
from ..values import Scalar

if TYPE_CHECKING:
    from ..builder import Builder

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)


def may_be_first(loop: ast.stmt) -> frozenset[str]:
    """The names of which a loop only computes the next value from the one before, in every iteration."""
    if not isinstance(loop, ast.For) or getattr(loop, "stop_flag", None) is not None:
        return frozenset()
    updates = [_update(stmt) for stmt in loop.body]
    names = [part.id for stmt in loop.body for part in walk(stmt) if isinstance(part, ast.Name)]
    found = {name for name, _ in updates if name}
    return frozenset(name for name in found if names.count(name) == sum(count for n, count in updates if n == name))


def _update(stmt: ast.stmt) -> tuple[str, int]:
    """(s, how often it is named) of s = s + … and s += …, where it is added, multiplied …, and nothing else."""
    match stmt:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as value) if _operands(value, name):
            return name, 1 + _operands(value, name)
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if isinstance(op, OPERATORS):
            return name, 1 + _operands(value, name)
    return "", 0


def _operands(expr: ast.expr, name: str) -> int:
    match expr:
        case ast.Name(id=found):
            return int(found == name)
        case ast.BinOp(left=x, op=op, right=y) if isinstance(op, OPERATORS):
            return _operands(x, name) + _operands(y, name)
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return _operands(x, name)
    return 0


def spread(build: Builder, name: str, value: Scalar, like: tuple[np.dtype, tuple[Expr, ...]], trips: Any) -> Any:
    """The array that the loop begins with."""
    dtype, dims = like
    never = Call("le", (trips, Const(0, trips.dtype)), BOOL)
    message = f"{name} is a number where this loop does not run, and an array where it does" + place(build.span)
    build.emit(If(never, (Raise("RuntimeShapeError", message),)))
    return whole(build.materialize(ArrayValue(dims, cast(value.expr, dtype)), name, copy=True))
