"""An index that is the same in all iterations of a loop is checked ahead of it, and counted from the front.

    for k in range(d):                 if d > 0 and (u < -n or u >= n): raise BoundsError(...)
        s += P[u, k] * w[k]     →      u_here = u + n if u < 0 else u
                                       for k in range(d):
                                           s += P[u_here, k] * w[k]

It is looked up, mostly: the row of a matrix.  A check in every iteration stops vectorisation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce

from ..analysis.effects import effects
from ..analysis.known_here import arrays_made
from ..analysis.lengths import lengths_of, steps_by_one
from ..analysis.meetings import runs_along
from ..errors import place
from ..ir import affine
from ..ir.expressions import INT64, Expr, Load, Var, both, compare, either, less, select
from ..ir.info import roots_of
from ..ir.nodes import AddTo, Assign, Block, For, Function, If, Invoke, Print, Raise, Rule, Stmt, Store
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    sure_loads,
    variables,
    with_blocks,
)
from .prove_bounds import prove_bounds

Choice = tuple[Expr, Expr]  # the length of an axis, and what chooses a place along it


def check_rows(function: Function, quiet: frozenset[str] = frozenset()) -> Function:
    if not function.info.boundscheck:
        return function
    checker = _Checker(function)
    body = checker.block(function.body)
    return prove_bounds(replace(function, body=body), quiet) if checker.found else function


class _Checker:
    def __init__(self, function: Function) -> None:
        self.names, self.roots = function.info.names, roots_of(function)
        self.lengths = lengths_of(function)
        self.found = False

    def block(self, block: Block, around: tuple[For, ...] = ()) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if blocks(stmt) and not isinstance(stmt, Rule):
                loops = (*around, stmt) if isinstance(stmt, For) else around
                stmt = with_blocks(stmt, tuple(self.block(b, loops) for b in blocks(stmt)))
            out += self.checked_ahead(stmt, around) if isinstance(stmt, For) else [stmt]
        return tuple(out)

    def checked_ahead(self, loop: For, around: tuple[For, ...]) -> list[Stmt]:
        if not _may_stop_early(loop):
            return [loop]
        whole, same = loop, self.looked_up_again(loop)
        loop = replace(loop, body=tuple(stmt for stmt in loop.body if stmt not in same)) if same else loop
        outer = {each.index: each for each in around}
        chosen = dict.fromkeys(choice for choice in self.chosen(loop) if not self.is_inside(*choice, outer))
        if not chosen:
            return [whole]
        self.found = True
        forwards = affine.same(loop.step, affine.ONE)
        runs = compare("gt", *((loop.stop, loop.start) if forwards else (loop.start, loop.stop)))
        lookups: list[Stmt] = [replace(stmt, value=select(runs, stmt.value, 0)) for stmt in same]
        rows: dict[Choice, Var] = {}
        outside: list[Expr] = []
        inside: list[Stmt] = []
        held: dict[Expr, Var] = {}
        for length, part in chosen:
            if isinstance(part, Load) and part not in held:
                held[part] = Var(self.names.fresh(f"{part.array.name}_here"), INT64)
                lookups.append(Assign(held[part], select(runs, part, 0)))
            there = part if isinstance(part, Var) else held[part]
            row = rows[length, part] = Var(self.names.fresh(f"{there.name}_inside"), INT64)
            inside.append(Assign(row, select(less(there, 0), there + length, there)))
            outside.append(either(less(there, -length), compare("ge", there, length)))
        any_outside = reduce(either, outside)
        message = "an index in the loop is out of bounds" + place(loop.span)
        guard = If(both(runs, any_outside), (Raise("BoundsError", message),), span=loop.span)
        body = rewrite_block(loop.body, lambda stmt: (self.with_rows(stmt, rows),))
        return [*lookups, guard, *inside, replace(loop, body=body)]

    def is_inside(self, length: Expr, part: Expr, outer: Mapping[Var, For]) -> bool:
        """Is it the index of a loop around that does not leave the axis?"""
        if not isinstance(part, Var) or part not in outer or not steps_by_one(outer[part]):
            return False
        start, stop = outer[part].start, outer[part].stop
        if not affine.same(outer[part].step, affine.ONE):
            start, stop = affine.add(stop, affine.ONE), affine.add(start, affine.ONE)
        stop, length = (affine.maximum(self.lengths.said(end), affine.ZERO) for end in (stop, length))
        return affine.is_at_least(start, 0) and affine.is_at_least(affine.sub(length, stop), 0)

    def looked_up_again(self, loop: For) -> list[Assign]:
        """Statements that look up one and the same index in every iteration."""
        changed, written = effects(loop.body).writes | {loop.index}, self.written(loop)
        return [
            stmt
            for stmt in loop.body
            if isinstance(stmt, Assign) and stmt.var.dtype == INT64 and self.lengths.sets[stmt.var] == 1
            if isinstance(stmt.value, Load) and not variables(stmt.value) & changed
            if not any(load.checked or self.root(load.array.name) in written for load in loads(stmt.value))
        ]

    def chosen(self, loop: For) -> Iterator[Choice]:
        """What chooses the row that every iteration reads or writes, at another place along it."""
        changed, written = effects(loop.body).writes | {loop.index}, self.written(loop)
        made = {name for stmt in statements(loop.body) for name in arrays_made(stmt)}
        for load in (load for stmt in loop.body for load in _sure_accesses(stmt)):
            varying = [part for part in load.index if variables(part) & changed]
            along = bool(varying) and all(runs_along(part, loop.index, changed) for part in varying)
            if load.checked and along and load.array.name not in made:
                for length, part in zip(self.lengths.of(load.array), load.index, strict=True):
                    looked_up = isinstance(part, Load) and not any(x.checked for x in loads(part))
                    steady = not any(self.root(x.array.name) in written for x in loads(part))
                    chooses = part not in varying and (isinstance(part, Var) or looked_up) and part.dtype == INT64
                    if chooses and steady and not variables(length) & changed:
                        yield length, part

    def written(self, loop: For) -> set[str]:
        return {self.root(access.array.name) for access in effects(loop.body).accesses if access.writes}

    def with_rows(self, stmt: Stmt, rows: dict[Choice, Var]) -> Stmt:
        """A statement with the rows that it goes to counted from the front."""

        def at(place: Load) -> Load:
            choices = zip(self.lengths.of(place.array), place.index, strict=True)
            return replace(place, index=tuple(rows.get(choice, choice[1]) for choice in choices))

        stmt = map_expressions(stmt, lambda expr: rewrite(expr, lambda e: at(e) if isinstance(e, Load) else e))
        if isinstance(stmt, Store):
            return replace(stmt, index=at(Load(stmt.array, stmt.index)).index)
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
            return replace(stmt, target=at(stmt.target))
        return stmt

    def root(self, name: str) -> str:
        return self.roots.get(name, name)


def _may_stop_early(loop: For) -> bool:
    """May an error of any of its iterations come ahead of them all, and can it be told whether there are any?"""
    silent = not any(isinstance(stmt, (Raise, Print, Invoke)) for stmt in statements(loop.body))
    by_one = affine.same(loop.step, affine.ONE) or affine.same(loop.step, affine.integer(-1))
    return silent and by_one and not (loads(loop.start) or loads(loop.stop))


def _sure_accesses(stmt: Stmt) -> Iterator[Load]:
    """The elements that a statement reads or writes whenever it is come to."""
    if not isinstance(stmt, (Assign, AddTo, Store, If)):
        return
    for expr in expressions(stmt):
        yield from sure_loads(expr)
    if isinstance(stmt, Store):
        yield Load(stmt.array, stmt.index, stmt.checked, stmt.natural)
    elif isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
        yield stmt.target


__all__ = ["check_rows"]
