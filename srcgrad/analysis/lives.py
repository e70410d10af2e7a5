"""How long what a variable is lives: who sets it, and who reads it first."""

from __future__ import annotations

from ..ir.expressions import Var
from ..ir.nodes import AddTo, Assign, For, If, Invoke, Pop, Rule, Stmt, While
from ..ir.walk import blocks, expressions, remembered, variables
from .effects import effects


def is_private(var: Var, block: tuple[Stmt, ...]) -> bool:
    """Does every run of the block set the variable before it reads it?"""
    for stmt in block:
        if var not in _touched(stmt):
            continue
        if isinstance(stmt, While) and stmt.trip == var:  # which is set before the condition is asked
            return var not in effects(stmt.body).writes
        if any(var in variables(e) for e in expressions(stmt)):
            return False
        if isinstance(stmt, AddTo) and stmt.target == var:
            return False
        if _sets(stmt, var):
            return True
        if isinstance(stmt, Rule):
            if var in stmt.outputs:
                return not any(var in variables(e) for e in stmt.inputs)
            if not (is_private(var, stmt.forward) and is_private(var, stmt.adjoint)):
                return False
            continue
        if isinstance(stmt, For) and stmt.index == var:
            if var in effects(stmt.body).writes:
                return False
            continue
        if not all(is_private(var, inner) for inner in blocks(stmt)):
            return False
        if is_set(var, (stmt,)):
            return True
    return True


@remembered
def _touched(stmt: Stmt) -> frozenset[Var]:
    seen = effects((stmt,))
    return frozenset(seen.reads) | frozenset(seen.writes)


def _sets(stmt: Stmt, var: Var) -> bool:
    match stmt:
        case Assign(var=target) | Pop(target=target) | While(trip=target):
            return target == var
        case Invoke(outs=outs):
            return var in outs
    return False


def is_set(var: Var, block: tuple[Stmt, ...]) -> bool:
    """Does every run of the block set the variable?"""
    for stmt in block:
        if _sets(stmt, var):
            return True
        if isinstance(stmt, If) and is_set(var, stmt.then) and is_set(var, stmt.orelse):
            return True
    return False


def is_dead(var: Var, later: tuple[tuple[Stmt, ...], ...], is_result: bool) -> bool:
    """Does nobody read what the variable is now?  `later`: the blocks that run from here on, in their order."""
    for block in later:
        if not is_private(var, block):
            return False
        if is_set(var, block):
            return True
    return not is_result


__all__ = ["is_dead", "is_private", "is_set"]
