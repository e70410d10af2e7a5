"""A loop that only passes on a cotangent is left out where that cotangent is zero because a branch was not taken.

    distance_b = 0.0                        distance_b = 0.0
    if chosen: distance_b += nearest_b      if chosen: distance_b += nearest_b
    for a in range(m):                →     if distance_b != 0.0:
        c_b[a] -= distance_b * …                for a in range(m):
                                                    c_b[a] -= distance_b * …

Nothing times infinity is nothing here: a branch that was not taken contributes exactly zero.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import effects
from ...ir.expressions import BOOL, Call, Const, Expr, Var, is_inexact
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Rule, Stmt
from ...ir.walk import blocks, is_constant, map_expressions, rewrite, rewrite_block, with_blocks


def skip_zeros(function: Function) -> Function:
    return function if function.info.kind == "primal" else replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    zero: set[Var] = set()  # set to zero in this block
    perhaps: set[Var] = set()  # … and to something else in a branch only
    for stmt in block:
        if blocks(stmt) and not isinstance(stmt, Rule):
            stmt = with_blocks(stmt, tuple(_block(b) for b in blocks(stmt)))
        if isinstance(stmt, For):
            found = next((v for v in sorted(perhaps, key=lambda v: v.name) if _passes_on(stmt, v)), None)
            if found is not None:
                condition = Call("ne", (found, Const(found.dtype.type(0).item(), found.dtype)), BOOL)
                out.append(If(condition, _where_it_holds(stmt, condition)))
                continue
        written = effects((stmt,)).writes
        if isinstance(stmt, Assign) and is_inexact(stmt.var.dtype) and is_constant(stmt.value, 0.0):
            zero.add(stmt.var)
            perhaps.discard(stmt.var)
        elif isinstance(stmt, If):
            perhaps |= zero & written
        else:
            zero -= written
            perhaps -= written
        out.append(stmt)
    return tuple(out)


def _where_it_holds(stmt: Stmt, condition: Expr) -> Block:
    def change(expr: Expr) -> Expr:
        match expr:
            case Call(op="select", args=(asked, x, _)) if asked == condition:
                return x
        return expr

    return rewrite_block((stmt,), lambda inner: (map_expressions(inner, lambda e: rewrite(e, change)),))


def _passes_on(loop: For, cotangent: Var) -> bool:
    """Is all that the loop does to add multiples of the cotangent?"""
    inside = effects((loop,))
    if cotangent in inside.writes or inside.is_visible:
        return False
    return all_multiples(loop.body, {cotangent})


def all_multiples(block: Block, of: set[Var]) -> bool:
    for stmt in block:
        match stmt:
            case AddTo(value=value):
                if not is_multiple(value, of):
                    return False
            case Assign(var=var, value=value):
                if is_multiple(value, of):
                    of = of | {var}
                else:
                    return False
            case For(body=body):
                if not all_multiples(body, of):
                    return False
            case Comment():
                continue
            case _:
                return False
    return True


def is_multiple(expr: Expr, of: set[Var]) -> bool:
    match expr:
        case Var():
            return expr in of
        case Call(op="mul", args=(x, y)):
            return is_multiple(x, of) or is_multiple(y, of)
        case Call(op="div", args=(x, _)) | Call(op="neg" | "cast" | "real" | "imag" | "conj", args=(x,)):
            return is_multiple(x, of)
        case Call(op="add" | "sub" | "complex", args=(x, y)):
            return is_multiple(x, of) and is_multiple(y, of)
        case Call(op="select", args=(_, x, y)):
            return all(is_constant(side, 0.0) or is_multiple(side, of) for side in (x, y))
    return False


__all__ = ["all_multiples", "is_multiple", "skip_zeros"]
