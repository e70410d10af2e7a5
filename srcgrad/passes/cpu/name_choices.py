"""What depends on a condition is computed ahead of an access that may fail.

y[i] = x[k if k < j else k + 1]        →      at = k if k < j else k + 1; y[i] = x[at]
x_b[at] += g if is_taken else 0.0      →      g_1 = g if is_taken else 0.0; x_b[at] += g_1

In Python's bytecode the array waits on the stack while the condition branches, and Numba counts a reference to it: an
atomic instruction for every element.  (Where no error can come in between, LLVM sees that the count is not needed.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.expressions import Call, Expr, Load, Var
from ...ir.info import Info
from ...ir.nodes import AddTo, Assign, Block, Function, Stmt, Store, While
from ...ir.walk import children, expressions, map_expressions, rebuild, remembered, rewrite_block, statements

CHOICES = ("select", "and", "or")  # branches, in Python's bytecode


def name_choices(function: Function) -> Function:
    """The function with a name for every choice inside an access that is not proved to be inside its array."""
    info: Info = function.info
    if not any(_has_choice(expr) for stmt in statements(function.body) for expr in expressions(stmt)):
        return function
    return replace(function, body=rewrite_block(function.body, lambda stmt: _Ahead(stmt, info).then()))


class _Ahead:
    """A statement, and what is computed ahead of it."""

    def __init__(self, stmt: Stmt, info: Info) -> None:
        self.stmt, self.names = stmt, info.names
        self.ahead: list[Stmt] = []

    def then(self) -> Block:
        stmt = self.stmt
        match stmt:
            case While():
                return (stmt,)  # its condition is asked in every iteration
            case Store(index=index, value=value, checked=True):
                new = (tuple(map(self.place, index)), self.in_accesses(value))
                stmt = stmt if new == (index, value) else replace(stmt, index=new[0], value=new[1])
            case AddTo(target=Load(checked=True) as target, value=value):
                place, value = _with_index(target, self.place), self.named(value, "g")
                stmt = stmt if (place, value) == (target, stmt.value) else replace(stmt, target=place, value=value)
            case _:
                stmt = map_expressions(stmt, self.in_accesses)
        return (*self.ahead, stmt)

    def place(self, expr: Expr) -> Expr:
        return self.named(expr, "at")

    def named(self, expr: Expr, wanted: str) -> Expr:
        expr = self.in_accesses(expr)
        if not _has_choice(expr):
            return expr
        var = Var(self.names.fresh(wanted), expr.dtype)
        self.ahead.append(Assign(var, expr, span=self.stmt.span))
        return var

    def in_accesses(self, expr: Expr) -> Expr:
        """The expression with choices named in those of its accesses that are made in any case."""
        if isinstance(expr, Load) and expr.checked:
            return _with_index(expr, self.place)
        parts = children(expr)
        sure = 1 if isinstance(expr, Call) and expr.op in CHOICES else len(parts)
        changed = tuple(self.in_accesses(part) if k < sure else part for k, part in enumerate(parts))
        return rebuild(expr, changed) if changed != parts else expr


def _with_index(load: Load, rule: Callable[[Expr], Expr]) -> Load:
    index = tuple(map(rule, load.index))
    return replace(load, index=index) if index != load.index else load


@remembered
def _has_choice(expr: Expr) -> bool:
    return (isinstance(expr, Call) and expr.op in CHOICES) or any(map(_has_choice, children(expr)))


__all__ = ["name_choices"]
