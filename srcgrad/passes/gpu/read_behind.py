"""On a GPU, what a loop sets anew in each iteration, and somebody reads behind it, is computed there once more.

    for i in range(n):                     for i in range(n):
        t = 2 * x[i]                           t_here = 2 * x[i]
        y[i] = t * t            →              y[i] = t_here * t_here
    return y * t                           if 0 < n:
                                               t = 2 * x[n - 1]
                                           return y * t

The iterations are independent then.  That is for what numbers make, and memory that the loop leaves alone.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from ...analysis.effects import effects
from ...analysis.lives import is_dead, is_private
from ...ir import affine
from ...ir.expressions import Const, Expr, Var, less
from ...ir.info import roots_of
from ...ir.nodes import Assign, Block, For, Function, If, Stmt, While, leaves
from ...ir.walk import (
    blocks,
    loads,
    map_expressions,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    targets,
    variables,
    with_blocks,
)

MOST = 64  # nodes of what is computed once more


def read_behind(function: Function) -> Function:
    return replace(function, body=_Reading(function).block(function.body, ()))


class _Reading:
    def __init__(self, function: Function) -> None:
        self.names, self.roots = function.info.names, roots_of(function)
        numbers = (variables(leaf) for leaf in leaves(function.results) if isinstance(leaf, Expr))
        self.handed_back = {var for found in numbers for var in found}

    def block(self, block: Block, later: tuple[Block, ...]) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            rest = (block[position + 1 :], *later)
            if blocks(stmt):
                behind = ((stmt,), *rest) if isinstance(stmt, (For, While)) else rest
                stmt = with_blocks(stmt, tuple(self.block(part, behind) for part in blocks(stmt)))
            out += (isinstance(stmt, For) and self.parted(stmt, rest)) or (stmt,)
        return tuple(out)

    def parted(self, loop: For, later: tuple[Block, ...]) -> Block:
        """The loop with names of its own for all that is read behind it, and what that is; nothing where that is none,
        or where the loop passes something on."""
        inside = effects(loop.body)
        set_there = sorted(inside.writes - inside.sums - inside.indices - {loop.index}, key=lambda var: var.name)
        if not set_there or not all(is_private(var, loop.body) for var in set_there):
            return ()
        read = [v for v in set_there if not is_dead(v, later, v in self.handed_back)]
        if not read or not isinstance(loop.step, Const) or abs(loop.step.value) != 1:
            return ()
        ends = variables(loop.start) | variables(loop.stop)
        if ends & inside.writes or loads(loop.start) or loads(loop.stop):
            return ()
        last = affine.sub(loop.stop, loop.step)
        values = {var: value for var in read if (value := self.value_at(var, loop, last)) is not None}
        if len(values) < len(read) or any(_sets_otherwise(stmt, values) for stmt in statements(loop.body)):
            return ()
        own = {var: Var(self.names.fresh(f"{var.name}_here"), var.dtype) for var in read}
        runs = less(loop.start, loop.stop) if loop.step.value > 0 else less(loop.stop, loop.start)
        again = tuple(Assign(var, value, span=loop.span) for var, value in values.items())
        of_host = tuple(stmt for stmt in again if not loads(stmt.value))  # whether a name is bound, it need not fetch
        of_device = tuple(stmt for stmt in again if loads(stmt.value))
        behind = tuple(If(runs, part, span=loop.span) for part in (of_host, of_device) if part)
        return (replace(loop, body=_renamed(loop.body, own)), *behind)

    def value_at(self, var: Var, loop: For, index: Expr) -> Expr | None:
        """What the variable is behind an iteration, of what the loop leaves alone."""
        inside = effects(loop.body)
        written, _ = inside.memory_by(self.roots)
        value: Expr = var
        for stmt in reversed(loop.body):
            if isinstance(stmt, Assign):
                value = substitute(value, {stmt.var: stmt.value})
            elif variables(value) & effects((stmt,)).writes or sum(1 for _ in subexpressions(value)) > MOST:
                return None
        touched = {self.roots.get(load.array.name, load.array.name) for load in loads(value)}
        if touched & written or variables(value) & (inside.writes - {loop.index}):
            return None
        return substitute(value, {loop.index: index})


def _sets_otherwise(stmt: Stmt, names: Container[Var]) -> bool:
    return not isinstance(stmt, Assign) and any(isinstance(x, Var) and x in names for x in targets(stmt))


def _renamed(block: Block, own: dict[Var, Var]) -> Block:
    def change(stmt: Stmt) -> Block:
        stmt = map_expressions(stmt, lambda expr: substitute(expr, own))
        return (replace(stmt, var=own.get(stmt.var, stmt.var)) if isinstance(stmt, Assign) else stmt,)

    return rewrite_block(block, change)


__all__ = ["read_behind"]
