"""A search that begins with the element before those of its loop: what was found is one element, whichever it is.

    best, last = x[4 * i], 0                        best, last = x[4 * i], 0
    for j in range(1, 4):                           for j in range(1, 4):
        if x[4 * i + j] > best: …; last = j             if x[4 * i + j] > best: …; last = j
    if last >= 1:                           →       x_b[4 * i + last] += best_b
        x_b[4 * i + last] += best_b
        best_b = 0.0
    x_b[4 * i] += best_b

No processor guesses whether any of the others was better: of windows of four, that branch took as long as all the rest.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ...ir import affine
from ...ir.expressions import Expr, Load, Var
from ...ir.nodes import AddTo, Assign, Block, Comment, Function, If, Stmt
from ...ir.walk import blocks, expressions, is_constant, statements, substitute, variables, with_blocks


def first_among_them(function: Function, last: Var, is_any: Expr, before: Expr) -> Function:
    """The function with one addition for both; `last` is `before` where the condition `is_any` does not hold."""

    def change(block: Block) -> Block:
        out = [with_blocks(stmt, tuple(map(change, blocks(stmt)))) for stmt in block]
        said = [k for k, stmt in enumerate(out) if not isinstance(stmt, Comment)]
        for k, behind in pairwise(said):
            joined = _joined(out[k], out[behind])
            if joined:
                out[k : behind + 1] = [*joined, *out[k + 1 : behind]]
                break
        return tuple(out)

    def _joined(branch: Stmt, first: Stmt) -> Block:
        if not (isinstance(branch, If) and branch.condition == is_any and isinstance(first, AddTo)):
            return ()
        cotangent, target = first.value, first.target
        place = _passed_on(branch, cotangent, function) if isinstance(cotangent, Var) else None
        if place is None or not isinstance(target, Load) or place.array != target.array:
            return ()
        there = [substitute(part, {last: before}) for part in place.index]
        if not all(map(affine.same, there, target.index)):
            return ()
        spent = tuple(s for s in branch.then if isinstance(s, Assign) and s.var == cotangent)
        return replace(first, target=place), replace(branch, then=spent)

    return replace(function, body=change(function.body))


def _passed_on(branch: If, cotangent: Var, function: Function) -> Load | None:
    """The element that gets all of the cotangent, where the branch does nothing else but to end it."""
    said = [stmt for stmt in branch.then if not isinstance(stmt, Comment)]
    names = {cotangent}
    place = None
    for stmt in said:
        match stmt:
            case Assign(var=var, value=value) if var == cotangent and is_constant(value, 0.0):
                names.discard(cotangent)
            case Assign(var=var, value=Var() as value) if value in names and _is_read_in(branch, var, function):
                names.add(var)
            case AddTo(target=Load() as target, value=Var() as value) if value in names and place is None:
                place = target
            case _:
                return None
    return place if cotangent not in names and not branch.orelse else None


def _is_read_in(branch: If, var: Var, function: Function) -> bool:
    """Is it read in this branch alone?"""

    def reads(stmts: list[Stmt]) -> int:
        return sum(var in variables(e) for stmt in stmts for e in expressions(stmt))

    return reads(statements(function.body)) == reads(statements(branch.then))


__all__ = ["first_among_them"]
