"""Checks that never fail go, and so do those that were made before; branches that are always taken are no branches.

    if n > n: raise BoundsError(...)
    if m > n: raise BoundsError(...)               if m > n: raise BoundsError(...)
    for i in range(n):                      →      for i in range(n):
        if m > n: raise BoundsError(...)               s += w[i]
        if 0 <= 3:
            s += w[i]

Behind all passes that make checks, loops and names of lengths, which make them one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, reduce

from ..ir.expressions import BOOL, Call, Const, Dim, Expr, Load, Var, either
from ..ir.nodes import Assign, Block, Comment, For, Function, If, Raise, Stmt, Store
from ..ir.walk import (
    blocks,
    loads,
    map_expressions,
    rewrite,
    statements,
    subexpressions,
    targets,
    variables,
    with_blocks,
)
from .repeats import changed_by
from .reverse_mode.simplify import settled

Key = Var | str


def settle_checks(function: Function) -> Function:
    return replace(function, body=_Settler(function).block(function.body, {}))


class _Settler:
    def __init__(self, function: Function) -> None:
        self.sets = Counter(target for stmt in statements(function.body) for target in targets(stmt))

    def block(self, block: Block, passed: Mapping[Expr, frozenset[Key]]) -> Block:
        """`passed`: what has been found not to be so, with the variables and the memory that it speaks of."""
        here, out = dict(passed), list[Stmt]()
        for stmt in block:
            for new in self.settled(map_expressions(stmt, _with_what_is_known), here):
                if out and _says_nothing_new(out[-1], new):
                    continue
                if here:
                    names, memory = changed_by(new, {})
                    changed = names | memory
                    here = {known: keys for known, keys in here.items() if keys.isdisjoint(changed)}
                out.append(self.with_inner(new, here))
                if _is_check(new):
                    parts = _parts(new.condition)  # type: ignore[attr-defined]
                    here |= {part: _keys(part) for part in parts if not loads(part)}
        return tuple(out)

    def with_inner(self, stmt: Stmt, here: Mapping[Expr, frozenset[Key]]) -> Stmt:
        return with_blocks(stmt, tuple(self.block(b, here) for b in blocks(stmt))) if blocks(stmt) else stmt

    def settled(self, stmt: Stmt, passed: Mapping[Expr, frozenset[Key]]) -> Block:
        match stmt:
            case If(condition=Const(value=holds), then=then, orelse=orelse):
                taken, other = (then, orelse) if holds else (orelse, then)
                return self.block(taken, passed) if self.is_dispensable(other) else (stmt,)
            case If(condition=condition) if _is_check(stmt) and passed:
                left = [part for part in _parts(condition) if part not in passed]
                return (replace(stmt, condition=reduce(either, left)),) if left else ()
            case For(start=start, stop=stop, body=body) if all(isinstance(s, Comment) for s in body):
                return (stmt,) if loads(start) or loads(stop) else ()
        return (stmt,)

    def is_dispensable(self, block: Block) -> bool:
        """Is nothing made there that nobody else makes?  (What reads it would not know the name.)"""
        made = Counter(target for stmt in statements(block) for target in targets(stmt))
        return all(times < self.sets[target] for target, times in made.items())


def _keys(expr: Expr) -> frozenset[Key]:
    return variables(expr) | {part.array for part in subexpressions(expr) if isinstance(part, Dim)}


def _is_check(stmt: Stmt) -> bool:
    return isinstance(stmt, If) and len(stmt.then) == 1 and isinstance(stmt.then[0], Raise) and not stmt.orelse


def _parts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Call(op="or", args=args):
            for arg in args:
                yield from _parts(arg)
        case _:
            yield condition


@lru_cache(maxsize=65536)
def _with_what_is_known(expr: Expr) -> Expr:
    if any(part.dtype == BOOL for part in subexpressions(expr)):
        return rewrite(expr, settled)
    return expr


def _says_nothing_new(before: Stmt, stmt: Stmt) -> bool:
    """Does it put back what was just read from there, or read what was just put there?"""
    match before, stmt:
        case (Assign(var=var, value=Load() as place), Store(array=array, index=index, value=value)):
            pass
        case (Store(array=array, index=index, value=value), Assign(var=var, value=Load() as place)):
            pass
        case _:
            return False
    is_there = (place.array.name, place.index, var) == (array.name, index, value)
    return is_there and var.dtype == array.dtype and not any(loads(i) or var in variables(i) for i in index)


__all__ = ["settle_checks"]
