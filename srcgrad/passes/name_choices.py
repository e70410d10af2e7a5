"""What depends on a condition is computed ahead of an access that may fail.

y[i] = x[k if k < j else k + 1]        →      at = k if k < j else k + 1; y[i] = x[at]
x_b[at] += g if is_taken else 0.0      →      g_1 = g if is_taken else 0.0; x_b[at] += g_1

In Python's bytecode the array waits on the stack while the condition branches, and Numba counts a reference to it: an
atomic instruction for every element.  (Where no error can come in between, LLVM sees that the count is not needed.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..ir.expressions import Call, Expr, Load, Var
from ..ir.nodes import AddTo, Assign, Block, Function, Stmt, Store, While
from ..ir.walk import children, map_expressions, rebuild, rewrite_block, subexpressions
from .info import Info

CHOICES = ("select", "and", "or")  # branches, in Python's bytecode


def name_choices(function: Function) -> Function:
    """The function with a name for every choice inside an access that is not proved to be inside its array."""
    info: Info = function.info

    def change(stmt: Stmt) -> Block:
        ahead: list[Stmt] = []

        def named(expr: Expr, wanted: str) -> Expr:
            expr = in_accesses(expr)
            if not _has_choice(expr):
                return expr
            var = Var(info.names.fresh(wanted), expr.dtype)
            ahead.append(Assign(var, expr, span=stmt.span))
            return var

        def in_accesses(expr: Expr) -> Expr:
            """The expression with choices named in those of its accesses that are made in any case."""
            if isinstance(expr, Load) and expr.checked:
                return _with_index(expr, lambda part: named(part, "at"))
            parts = children(expr)
            sure = 1 if isinstance(expr, Call) and expr.op in CHOICES else len(parts)
            changed = tuple(in_accesses(part) if k < sure else part for k, part in enumerate(parts))
            return rebuild(expr, changed) if changed != parts else expr

        match stmt:
            case While():
                return (stmt,)  # its condition is asked in every iteration
            case Store(index=index, value=value, checked=True):
                stmt = replace(stmt, index=tuple(named(part, "at") for part in index), value=in_accesses(value))
            case AddTo(target=Load(checked=True) as target, value=value):
                place = _with_index(target, lambda part: named(part, "at"))
                stmt = replace(stmt, target=place, value=named(value, "g"))
            case _:
                stmt = map_expressions(stmt, in_accesses)
        return (*ahead, stmt)

    return replace(function, body=rewrite_block(function.body, change))


def _with_index(load: Load, rule: Callable[[Expr], Expr]) -> Load:
    index = tuple(map(rule, load.index))
    return replace(load, index=index) if index != load.index else load


def _has_choice(expr: Expr) -> bool:
    return any(isinstance(node, Call) and node.op in CHOICES for node in subexpressions(expr))


__all__ = ["name_choices"]
