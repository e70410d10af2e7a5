"""What primitives cost, in additions."""

from __future__ import annotations

from ..ir.expressions import Call, Const, Expr, Load
from ..ir.nodes import Stmt
from ..ir.walk import expressions, subexpressions
from .scalar import PRIMITIVES

DEAR = 12


def cost(call: Call) -> int:
    """What an application of a primitive costs, in additions."""
    if call.op == "pow" and isinstance(call.args[1], Const) and call.args[1].value in (2, 3, 4):
        return 2  # products
    plain = PRIMITIVES[call.op].cost if call.op in PRIMITIVES else 4
    return 3 * plain if call.dtype.kind == "c" else plain


def additions(expr: Expr) -> int:
    """What an expression costs in a loop, in additions; indices are free."""
    match expr:
        case Load():
            return 1
        case Call(op=op, args=args):
            own = 0 if op == "cast" else PRIMITIVES[op].cost if op in PRIMITIVES else 1
            return own + sum(map(additions, args))
    return 0


def dear_calls(stmt: Stmt) -> list[Call]:
    """What a statement computes that takes vector registers to be fast: an exponential, and not a quotient."""
    nodes = (node for expr in expressions(stmt) for node in subexpressions(expr))
    return [node for node in nodes if isinstance(node, Call) and node.op in PRIMITIVES and cost(node) >= DEAR]


def is_dear(stmt: Stmt) -> bool:
    return bool(dear_calls(stmt))
