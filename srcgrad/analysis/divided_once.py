"""What neighbours add to an element, all of it divided by one number, is divided when it has been added up.

    total = 0.0                              total = 0.0
    g = y_b[p - 2] / h                       g = y_b[p - 2]
    total += g                      →        total += g
    g = y_b[p] / h                           g = y_b[p]
    total -= 2.0 * g                         total -= 2.0 * g
    u_b[p] += total                          u_b[p] += total / h

A sum of ours may be rounded in this order, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..ir.expressions import Call, Const, Expr, Var, compare, select
from ..ir.nodes import AddTo, Assign, Block, Stmt
from ..ir.walk import is_constant, loads, subexpressions, variables


def divided_once(blocks: Sequence[Block], changing: set[Var]) -> tuple[list[Block], Expr] | None:
    """The blocks without the divisor that all additions to elements have in common, and the divisor.

    `changing`: variables that are not the same for all elements.
    """
    for divisor in dict.fromkeys(_divisors(blocks[0], changing)):
        found = [_Without(divisor).block(block) for block in blocks]
        if None not in found:
            return found, divisor  # type: ignore[return-value]
    return None


def _divisors(block: Block, changing: set[Var]) -> Iterable[Expr]:
    for stmt in block:
        for node in subexpressions(stmt.value) if isinstance(stmt, (Assign, AddTo)) else ():
            if isinstance(node, Call) and node.op == "div" and node.dtype.kind == "f":
                if not variables(node.args[1]) & changing and not loads(node.args[1]):
                    yield node.args[1]


def quotient(total: Var, divisor: Expr) -> Expr:
    """What was added up, divided: where it is zero, zero (as a cotangent of zero is passed on), by whatever it is."""
    divided = Call("div", (total, divisor), total.dtype)
    if isinstance(divisor, Const):
        return divided
    return select(compare("ne", total, Const(0.0, total.dtype)), divided, 0.0)


class _Without:
    """One factor 1 / divisor taken out of each addition, which has to be a multiple of it."""

    def __init__(self, divisor: Expr) -> None:
        self.divisor = divisor
        self.larger: set[Var] = set()  # variables that are not divided any more
        self.values: dict[Var, Expr] = {}  # what they were

    def block(self, block: Block) -> Block | None:
        out = tuple(map(self.statement, block))
        return None if None in out else out  # type: ignore[return-value]

    def statement(self, stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, (Assign, AddTo)):
            return None
        target = stmt.var if isinstance(stmt, Assign) else stmt.target
        value = self.multiple(stmt.value)
        if isinstance(stmt, Assign) and value is not None:
            self.larger.add(stmt.var)
            self.values[stmt.var] = stmt.value
        elif isinstance(target, Var) and target not in self.larger:
            return stmt if self.is_as_it_was(stmt.value) else None
        return None if value is None else replace(stmt, value=value)

    def multiple(self, expr: Expr) -> Expr | None:
        """The divisor times the expression."""
        if isinstance(expr, Var):
            return expr if expr in self.larger else None
        if not isinstance(expr, Call):
            return None
        x, y = (*expr.args, None, None)[:2]
        if expr.op == "div" and y == self.divisor and self.is_as_it_was(x):
            return x
        if expr.op == "select":  # `g / h if g != 0.0 else 0.0`
            return self.multiple_unless(expr)
        ways: list[tuple[Expr | None, ...]] = []
        if expr.op == "neg" or (expr.op == "div" and self.is_as_it_was(y)):
            ways = [(self.multiple(x), *expr.args[1:])]  # type: ignore[arg-type]
        elif expr.op == "mul":
            ways += [(self.multiple(x), y)] if self.is_as_it_was(y) else []  # type: ignore[arg-type]
            ways += [(x, self.multiple(y))] if self.is_as_it_was(x) else []  # type: ignore[arg-type]
        elif expr.op in ("add", "sub"):
            ways = [(self.multiple(x), self.multiple(y))]  # type: ignore[arg-type]
        args = next((parts for parts in ways if None not in parts), None)
        return None if args is None else Call(expr.op, args, expr.dtype)  # type: ignore[arg-type]

    def multiple_unless(self, expr: Call) -> Expr | None:
        """Of a number that is zero unless a condition holds; of one that is zero by itself where it is said to be."""
        condition, x, y = expr.args
        larger = self.multiple(x)
        if larger is None or not is_constant(y, 0) or not self.is_as_it_was(condition):
            return None
        match condition:
            case Call(op="ne", args=(Var() as number, Const(value=0))) if self.is_times(x, number):
                return larger
        return Call("select", (condition, larger, y), expr.dtype)

    def is_times(self, expr: Expr, number: Var) -> bool:
        """Is it the number times constants, divided by the divisor?"""
        match expr:
            case Var():
                return expr == number or (expr in self.values and self.is_times(self.values[expr], number))
            case Call(op="neg", args=(x,)):
                return self.is_times(x, number)
            case Call(op="mul" | "div", args=(x, Const())):
                return self.is_times(x, number)
            case Call(op="mul", args=(Const(), x)):
                return self.is_times(x, number)
            case Call(op="div", args=(x, y)):
                return y == self.divisor and self.is_times(x, number)
        return False

    def is_as_it_was(self, expr: Expr | None) -> bool:
        return expr is not None and not variables(expr) & self.larger


__all__ = ["divided_once", "quotient"]
