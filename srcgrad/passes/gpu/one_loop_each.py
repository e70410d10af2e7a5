"""On a GPU, what a loop looks for beside all else that it does is looked for in a loop of its own.

    for i in range(n):                      for i in range(n): s += x[i] * x[i]
        s += x[i] * x[i]                    for i in range(n):
        if x[i] > top:            →             if x[i] > top:
            top = x[i]                              top = x[i]
            k = i                                   k = i

All threads add up together, and all look for what is greatest together: but a loop that does both was one thread's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...analysis.effects import Effects, effects
from ...analysis.extremes import extremes_of_nest, without_comments
from ...analysis.grids import is_parallel
from ...analysis.lives import is_dead, is_private
from ...analysis.searches import reads_of
from ...ir.expressions import Const, Expr, Var
from ...ir.info import roots_of
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store, While, leaves
from ...ir.walk import (
    blocks,
    loads,
    map_expressions,
    rewrite_block,
    statements,
    substitute,
    targets,
    variables,
    with_blocks,
)
from ..find_independent import find_independent
from .searches_in_two import search_in

SIMPLE = (AddTo, Assign, Comment, For, If, Store)


def one_loop_each(function: Function) -> Function:
    parting = _Parting(function)
    body = parting.block(function.body, ())
    return find_independent(replace(function, body=body)) if parting.has_found else function


class _Parting:
    def __init__(self, function: Function) -> None:
        self.roots, self.read = roots_of(function), reads_of(function)
        numbers = (variables(leaf) for leaf in leaves(function.results) if isinstance(leaf, Expr))
        self.handed_back = {var for found in numbers for var in found}
        self.has_found = False

    def block(self, block: Block, later: tuple[Block, ...]) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            if is_parallel(stmt) or not blocks(stmt):
                out.append(stmt)
                continue
            rest = (block[position + 1 :], *later)
            behind = ((stmt,), *rest) if isinstance(stmt, (For, While)) else rest
            stmt = with_blocks(stmt, tuple(self.block(part, behind) for part in blocks(stmt)))
            out += (isinstance(stmt, For) and self.parted(stmt, rest)) or (stmt,)
        return tuple(out)

    def parted(self, loop: For, later: tuple[Block, ...]) -> Block:
        """The loop without what it looks for, and a loop for each of that; nothing where that is all, or none."""
        if not _may_be_parted(loop) or self.is_search(loop):
            return ()
        own = self.of_an_iteration(loop, later)
        others = [stmt for stmt in without_comments(loop.body) if not _is_own(stmt, own)]
        said = [_said_by(stmt, own) for stmt in others]
        groups = self.groups(said)
        loops = [replace(loop, body=tuple(said[k] for k in group)) for group in groups]
        found = [self.is_search(one) for one in loops]
        if not any(found) or len(groups) == 1:
            return ()
        self.has_found = True
        taken = {id(others[k]) for group, is_one in zip(groups, found, strict=True) if is_one for k in group}
        left = tuple(stmt for stmt in loop.body if id(stmt) not in taken)
        searches = tuple(one for one, is_one in zip(loops, found, strict=True) if is_one)
        return (*(() if all(found) else (replace(loop, body=left),)), *searches)

    def is_search(self, loop: For) -> bool:
        return bool(extremes_of_nest(loop)) or search_in(loop, self.read) is not None

    def of_an_iteration(self, loop: For, later: tuple[Block, ...]) -> dict[Var, Expr]:
        """Names of numbers that an iteration makes of what no iteration changes, and what they are made of."""
        inside = effects(loop.body)
        written, _ = inside.memory_by(self.roots)
        times = Counter(target for stmt in statements(loop.body) for target in targets(stmt))
        made: dict[Var, Expr] = {}
        for stmt in loop.body:
            if not isinstance(stmt, Assign) or times[stmt.var] > 1 or not is_private(stmt.var, loop.body):
                continue
            value = substitute(stmt.value, made)
            read = {self.roots.get(load.array.name, load.array.name) for load in loads(value)}
            is_steady = not (read & written or variables(value) & (inside.writes - {loop.index}))
            if is_steady and is_dead(stmt.var, ((loop,), *later), stmt.var in self.handed_back):
                made[stmt.var] = value
        return made

    def groups(self, stmts: list[Stmt]) -> list[list[int]]:
        """Statements by number, each with all that it shares something with that one of them changes."""
        seen = [effects((stmt,)) for stmt in stmts]
        out: list[list[int]] = []
        for k, own in enumerate(seen):
            near = [group for group in out if any(self.meet(own, seen[other]) for other in group)]
            out = [group for group in out if group not in near]
            out.append([*sorted(other for group in near for other in group), k])
        return out

    def meet(self, one: Effects, other: Effects) -> bool:
        numbers = (one.writes & (other.reads | other.writes)) | (other.writes & one.reads)
        written, touched = one.memory_by(self.roots)
        others, all_others = other.memory_by(self.roots)
        return bool(numbers or written & all_others or others & touched)


def _may_be_parted(loop: For) -> bool:
    inside = effects(loop.body)
    bounds = (loop.start, loop.stop, loop.step)
    return (
        isinstance(loop.step, Const)
        and len(without_comments(loop.body)) > 1
        and all(isinstance(stmt, SIMPLE) for stmt in statements(loop.body))
        and not any(loads(bound) or variables(bound) & (inside.writes | {loop.index}) for bound in bounds)
        and loop.index not in inside.writes
    )


def _is_own(stmt: Stmt, own: dict[Var, Expr]) -> bool:
    return isinstance(stmt, Assign) and stmt.var in own


def _said_by(stmt: Stmt, own: dict[Var, Expr]) -> Stmt:
    """The statement by what names stand for."""
    (changed,) = rewrite_block((stmt,), lambda inner: (map_expressions(inner, lambda e: substitute(e, own)),))
    return changed


__all__ = ["one_loop_each"]
