"""What searches for the best element have in common: when one is better, and who reads what they set."""

from __future__ import annotations

from collections import Counter

from ..ir.expressions import BOOL, Call, Expr, Var, both, either, negated
from ..ir.nodes import Function, leaves
from ..ir.walk import expressions, statements, variables

EXTREME = {"gt": "maximum", "lt": "minimum", "ge": "maximum", "le": "minimum"}
KEEP_LAST = ("ge", "le")  # of those that are as good


def reads_of(function: Function) -> Counter[Var]:
    """How often variables are read."""
    read = Counter(v for s in statements(function.body) for expr in expressions(s) for v in variables(expr))
    for leaf in leaves(function.results):
        read.update(variables(leaf) if isinstance(leaf, Expr) else ())
    return read


def is_better(better: str, x: Expr, y: Expr, sees_nan: bool) -> Expr:
    """x > y, or whatever is better; `sees_nan`: nan is better than any number."""
    found = Call(better, (x, y), BOOL)
    return either(found, both(is_nan(x), negated(is_nan(y)))) if sees_nan else found


def is_nan(x: Expr) -> Expr:
    return Call("ne", (x, x), BOOL)


__all__ = ["EXTREME", "KEEP_LAST", "is_better", "is_nan", "reads_of"]
