"""A loop in order around independent loops goes inside of them, where no iteration of theirs reads what others write.

    for i in range(m):                              for j in range(n):           (independent: a thread for each)
        for j in range(n):               →              for i in range(m):
            top[j] = max(top[j], x[i, j])                   top[j] = max(top[j], x[i, j])

The host would launch a kernel for every i.  What has to be proved is what `interchange` proves of a loop that it moves:
any two accesses that meet in one element, of which one writes, meet in one iteration of each independent loop.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.lives import is_dead
from ...ir.expressions import Expr
from ...ir.nodes import Block, Comment, For, Function, Rule, Stmt, leaves
from ...ir.walk import blocks, with_blocks
from ..interchange import Mover


def keep_threads(function: Function) -> Function:
    mover = Mover(function)
    results = {leaf for leaf in leaves(function.results) if isinstance(leaf, Expr)}

    def block(stmts: Block, later: tuple[Block, ...]) -> Block:
        return tuple(statement(stmt, (stmts[k + 1 :], *later)) for k, stmt in enumerate(stmts))

    def statement(stmt: Stmt, later: tuple[Block, ...]) -> Stmt:
        if (isinstance(stmt, For) and not stmt.ordered) or isinstance(stmt, Rule):
            return stmt
        if isinstance(stmt, For):
            nest, body = _independent(stmt)
            indices = [loop.index for loop in (stmt, *nest)]
            if nest and all(is_dead(i, later, i in results) for i in indices) and mover.can_turn(stmt, nest, body):
                return _around(nest, (replace(stmt, body=body),))
        behind = ((stmt,), *later) if isinstance(stmt, For) else later
        return with_blocks(stmt, tuple(block(b, behind) for b in blocks(stmt))) if blocks(stmt) else stmt

    return replace(function, body=block(function.body, ()))


def _independent(loop: For) -> tuple[list[For], Block]:
    """The independent loops right within a loop and within each other, and what is in the innermost."""
    nest: list[For] = []
    body = loop.body
    while len(inside := [s for s in body if not isinstance(s, Comment)]) == 1:
        if not isinstance(inside[0], For) or inside[0].ordered:
            break
        nest.append(inside[0])
        body = inside[0].body
    return nest, body


def _around(nest: list[For], body: Block) -> Stmt:
    for loop in reversed(nest):
        body = (replace(loop, body=body),)
    return body[0]


__all__ = ["keep_threads"]
