"""What primitives cost, in additions."""

from __future__ import annotations

from ..ir.expressions import Call, Const, Expr, Load, whole_exponent
from ..ir.nodes import Stmt
from ..ir.walk import expressions, remembered, subexpressions
from .scalar import PRIMITIVES

DEAR = 12
KERNELS = frozenset(
    (
        "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "sin", "cos", "tan", "tanh",
        "sinh", "cosh", "arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh", "cbrt", "hypot",
        "pow", "erf", "erfc",
    )
)  # fmt: skip  # `runtime.vector_math` has these, for loops that vectorise; elsewhere the C library's are quicker
ONE_BY_ONE = frozenset(("exp", "exp2", "expm1", "sinh", "cosh"))  # but for these, where the next one need not wait
ARITHMETIC = frozenset(("modulus", "phase", "per_square"))  # written out, by `runtime.complex_numbers` and `special`


def cost(call: Call) -> int:
    """What an application of a primitive costs, in additions."""
    if call.op == "pow" and isinstance(call.args[1], Const) and call.args[1].value in (2, 3, 4):
        return 2  # products
    if call.op in ("mod", "floordiv") and call.dtype.kind in "iu" and isinstance(call.args[1], Const):
        return 2  # a product and shifts
    if call.op == "pow" and call.dtype.kind == "f" and whole_exponent(call) is not None:
        return 10  # several
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


@remembered
def dear_calls(stmt: Stmt) -> tuple[Call, ...]:
    """What a statement computes that takes vector registers to be fast: an exponential, and not a quotient."""
    nodes = (node for expr in expressions(stmt) for node in subexpressions(expr))
    return tuple(node for node in nodes if isinstance(node, Call) and node.op in PRIMITIVES and cost(node) >= DEAR)


def may_raise(call: Call) -> bool:
    """At poles, as `math.gamma`; integers divided by zero, or to a negative power; what is the user's own."""
    of_integers = call.dtype.kind in "iu" and call.op in ("pow", "floordiv", "mod", "fmod")
    return call.op.startswith("user.") or call.op in ("gamma", "lgamma") or of_integers


def may_fail(expr: Expr) -> bool:
    """Is there something in it to be found out of bounds, or not to be computed?"""
    parts = subexpressions(expr)
    return any(part.checked if isinstance(part, Load) else isinstance(part, Call) and may_raise(part) for part in parts)


def is_dear(stmt: Stmt) -> bool:
    return bool(dear_calls(stmt))


@remembered
def stays_scalar(stmt: Stmt) -> bool:
    """Does it compute something that no vector register helps with, so that LLVM leaves the loop around it alone?"""
    return any(call.dtype.kind == "f" and call.op not in KERNELS | ARITHMETIC for call in dear_calls(stmt))
