"""What decides something ahead of the sweep is not computed again in it, where it might come out otherwise.

    for i in range(n):                      for i in range(n):
        if exp(u[i]) > c:                       t = exp(u[i]) > c
            …                                   t_kept[i] = t
                                     →          if t:
    sweep for i:                                    …
        if old(exp(u[i]) > c):              sweep for i:
            …                                   if t_kept[i]:
                                                    …

In a loop that vectorises an exponential is another function than elsewhere, and may differ in the last digit; a GPU
rounds a product and a sum once where the compiler sees both.  A branch that was not taken before has kept nothing.
"""

from __future__ import annotations

from ..ir.expressions import Call, Expr, Old, Var
from ..ir.nodes import Block, For, If, Stmt
from ..ir.walk import expressions, is_constant, statements, subexpressions
from ..rules.costs import KERNELS
from .decisions import deciding
from .validity import Forward, Version

SUMS = ("add", "sub")
EXACT = ("neg", "abs", "maximum", "minimum", "max", "min", "select", "cast")


class Decided:
    """Answers about the labelled forward part.  `rounding`: that of `Info`."""

    def __init__(self, forward: Forward, body: Block, rounding: str) -> None:
        self.forward, self.rounding = forward, rounding
        inner = statements(body)
        self.names = deciding(body)
        self.asked = {expr for stmt in inner for expr in _asked(stmt)}

    def is_open(self, expr: Expr, at: int) -> bool:
        """Does the expression decide something, that it might decide otherwise another time?"""
        return expr in self.asked and not self.comes_out_the_same(expr, at)

    def is_open_in(self, name: str, made: Expr, at: int) -> bool:
        """Does the number or the array of this name, which is made of that?"""
        return name in self.names and not self.comes_out_the_same(made, at)

    def comes_out_the_same(self, expr: Expr, at: int) -> bool:
        """Every digit of it, wherever it is computed?  Of variables and elements that is asked for themselves."""
        if not isinstance(expr, Call):
            return True
        if expr.dtype.kind in "fc" and expr.op not in EXACT:
            if self.rounding == "free" or (expr.op in KERNELS and not _is_square(expr)):
                return False
            if self.rounding == "contracted" and expr.op in SUMS:
                return not any(self._is_computed(arg, at) for arg in expr.args)
        return all(self.comes_out_the_same(arg, at) for arg in expr.args)

    def _is_computed(self, expr: Expr, at: int) -> bool:
        """May it be a product that is rounded together with the sum that it is in?"""
        if not isinstance(expr, Var):
            return isinstance(expr, (Call, Old))
        place = self.forward.birth(expr, at)
        return place is not None and self.forward.definition(Version(expr, place)) is not None


def _is_square(call: Call) -> bool:
    return call.op == "pow" and is_constant(call.args[1], 2)


def _asked(stmt: Stmt) -> list[Expr]:
    """Conditions, and numbers that say which element or how often."""
    found = [*expressions(stmt)] if isinstance(stmt, (If, For)) else []
    for node in (node for expr in expressions(stmt) for node in subexpressions(expr) if isinstance(node, Call)):
        if node.op == "select":
            found.append(node.args[0])
        if node.dtype.kind in "iu" and any(part.dtype.kind == "f" for part in subexpressions(node)):
            found.append(node)
    return found


__all__ = ["Decided"]
