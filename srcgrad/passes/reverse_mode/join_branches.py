"""Two branches of one loop by the same condition are one: what the first of them computes, the second need not keep.

    for i in range(n):                         for i in range(n):
        if x[i] > 0:                               if x[i] > 0:
            t = exp(x[i])                              t = exp(x[i])
            s += t                                     s += t
        if x[i] > 0:                     →             x_b[i] = t
            x_b[i] = t                             else:
        else:                                          x_b[i] = 0.0
            x_b[i] = 0.0

The forward and the reverse part of an iteration branch the same way, and LLVM vectorises the loop on the right alone.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import effects
from ...analysis.meetings import commutes
from ...ir.expressions import Call, Load
from ...ir.info import memory_of
from ...ir.nodes import AddTo, Block, Comment, For, Function, If, Stmt, Store
from ...ir.walk import blocks, expressions, loads, statements, subexpressions, variables, with_blocks
from ...rules.costs import may_raise
from ..repeats import changed_by

Roots = dict[str, str]


def join_branches(function: Function) -> Function:
    return replace(function, body=joined(function.body, memory_of(function)))


def joined(block: Block, roots: Roots, in_iteration: bool = False) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if blocks(stmt):
            inside = (isinstance(stmt, For) and not stmt.ordered) or (in_iteration and isinstance(stmt, If))
            stmt = with_blocks(stmt, tuple(joined(part, roots, inside) for part in blocks(stmt)))
        if not (in_iteration and isinstance(stmt, If) and _join(out, stmt, roots)):
            out.append(stmt)
    return tuple(out)


def _join(out: list[Stmt], second: If, roots: Roots) -> bool:
    """Make the branch one with an earlier one, if nothing between them is in the way."""
    for at in reversed(range(len(out))):
        first = out[at]
        if isinstance(first, If) and first.condition == second.condition:
            between = [stmt for stmt in out[at + 1 :] if not isinstance(stmt, Comment)]
            if _stays_the_same(second, out[at:], roots):
                both = replace(first, then=first.then + second.then, orelse=first.orelse + second.orelse)
                if _changes_places(second, between, roots):
                    out[at] = both
                    return True
                if _changes_places(first, between, roots):
                    out[at:] = [*out[at + 1 :], both]
                    return True
            return False
    return False


def _stays_the_same(branch: If, before: list[Stmt], roots: Roots) -> bool:
    """Do the statements leave the condition alone?"""
    read = {roots.get(load.array.name, load.array.name) for load in loads(branch.condition)}
    for stmt in before:
        changed, memory = changed_by(stmt, roots)
        if changed & variables(branch.condition) or memory & read:
            return False
    return True


def _changes_places(branch: If, others: list[Stmt], roots: Roots) -> bool:
    own, theirs = effects((branch,)), [effects((stmt,)) for stmt in others]
    if not others:
        return True
    if own.is_visible or (any(seen.is_visible for seen in theirs) and _may_fail(branch)):
        return False
    return all(commutes(own, seen, roots) for seen in theirs)


def _may_fail(branch: If) -> bool:
    """May it raise, by an index or by what it computes?"""
    for stmt in statements((branch,)):
        places = (stmt.target,) if isinstance(stmt, AddTo) else ()
        nodes = [node for expr in (*expressions(stmt), *places) for node in subexpressions(expr)]
        checked = any(isinstance(node, Load) and node.checked for node in nodes)
        if checked or (isinstance(stmt, Store) and stmt.checked):
            return True
        if any(isinstance(node, Call) and may_raise(node) for node in nodes):
            return True
    return False


__all__ = ["join_branches"]
