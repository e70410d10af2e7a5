"""What iterations add to an element whose index is a quotient of theirs, by any number, is one sum (on a GPU).

    for i in range(n):                      for p in range((n + f - 1) // f):
        x_b[i // f] += 2.0 * v[i]     →         total = 0.0
                                                for i in range(f * p, min(n, f * p + f)):
                                                    total += 2.0 * v[i]
                                                x_b[p] += total

A thread has a row of iterations then, or a warp or a block, as of other sums along rows.  Where f is a number of the
text, and small, they are written out instead (`by_quotients`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import reduce

from ...analysis.additions import FLAT
from ...analysis.effects import effects
from ...analysis.nests import Memory, nest_of, with_nests
from ...analysis.signs import Signs, signs_of
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Expr, Load, Var, both, either
from ...ir.names import Names
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt
from ...ir.walk import (
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    rewrite_block,
    statements,
    sure_loads,
    variables,
)

LONG_ROW = 2048  # iterations that a block goes through sooner than others have added atomically
MANY_ROWS = 128  # that keep a GPU busy, however long they are
LONG_SUM = 256  # iterations that one thread goes through


def sums_of_groups(function: Function) -> Function:
    names, signs, memory = function.info.names, signs_of(function), Memory(function)

    def change(stmt: Stmt, values: Mapping[Var, Expr]) -> Block | None:
        nest = nest_of(stmt, (*FLAT, If))
        return None if nest is None else _Nest(*nest, names, signs, memory).in_groups(stmt)

    return replace(function, body=with_nests(function.body, change))


class _Nest:
    def __init__(self, loops: tuple[For, ...], body: Block, names: Names, signs: Signs, memory: Memory) -> None:
        self.loops, self.body, self.names, self.signs, self.memory = loops, body, names, signs, memory

    def in_groups(self, stmt: Stmt) -> Block | None:
        found = {loop.index: by for loop in self.loops if (by := self.divisor(loop)) is not None}
        arrays = self.sums(found)
        if not arrays:
            return None
        around = frozenset(loop.index.name for loop in self.loops)
        groups = {i: Var(self.names.index(f"{i.name}_group", around), INT64) for i in found}
        outer: list[For] = []
        inner: list[For] = []
        for loop in self.loops:
            if (by := found.get(loop.index)) is None:
                outer.append(loop)
                continue
            group = groups[loop.index]
            end = Call("floordiv", (affine.sub(affine.add(loop.stop, by), affine.ONE), by), INT64)
            first = affine.normal(Call("mul", (by, group), INT64))
            outer.append(replace(loop, index=group, stop=end))
            inner.append(replace(loop, start=first, stop=affine.minimum(loop.stop, affine.add(first, by))))
        totals = {array: Var(self.names.fresh("total"), array.dtype) for array in arrays}
        body = rewrite_block(self.body, lambda s: (self.said(s, found, groups, totals),))
        places = {array: self.place(array, found, groups) for array in arrays}
        ahead, body = self.read_ahead(body, {loop.index for loop in inner}, places.values())
        starts = (*(Assign(total, Const(0, total.dtype)) for total in totals.values()), *ahead)
        for loop in reversed(inner):
            body = (replace(loop, body=body),)
        ends = tuple(AddTo(places[array], total, reorder=True) for array, total in totals.items())
        body = (*starts, *body, *ends)
        for loop in reversed(outer):
            body = (replace(loop, body=body),)
        asked = [*self.asked(found, len(outer))]
        return (If(reduce(both, asked), body, (stmt,)),) if asked else body

    def asked(self, found: Mapping[Var, Expr], axes: int) -> Iterator[Expr]:
        """What has to hold for there to be groups, and enough of them for all threads."""
        for by in dict.fromkeys(found.values()):
            if not self.signs.is_natural(affine.sub(by, affine.ONE)):
                yield Call("ge", (by, affine.ONE), BOOL)
        size = affine.product(tuple(found.values()))
        short: Expr = Call("le", (size, affine.integer(LONG_ROW if axes == 1 else LONG_SUM)), BOOL)
        if isinstance(size, Const) and size.value <= (LONG_ROW if axes == 1 else LONG_SUM):
            return
        if axes == 1:
            (loop,) = (each for each in self.loops if each.index in found)
            many: Expr = Call("le", (affine.mul(affine.integer(MANY_ROWS), size), loop.stop), BOOL)
            short = many if isinstance(size, Const) else either(short, many)
        yield short

    def read_ahead(self, body: Block, indices: Set[Var], places: Iterable[Load]) -> tuple[Block, Block]:
        """What all iterations of a group read, by a name; there is one at least that does.

        `places`: what is added to in the end.  Of an array as long as that there is such an element, for any choice.
        """
        there = {(place.array.dims, place.index) for place in places}
        changing = numbers_set(body) | indices
        written = {access.array.name for access in effects(body).accesses if access.writes}
        names: dict[Expr, Var] = {}
        for stmt in body:
            if not isinstance(stmt, (If, Comment)):
                sure = {load for expr in expressions(stmt) for load in sure_loads(expr)}
                for load in dict.fromkeys(load for expr in expressions(stmt) for load in loads(expr)):
                    if load not in sure and (load.array.dims, load.index) not in there:
                        continue
                    steady = not any(variables(part) & changing or loads(part) for part in load.index)
                    if steady and not any(self.memory.may_be_one(load.array.name, name) for name in written):
                        names[load] = names.get(load) or Var(self.names.fresh(f"{load.array.name}_here"), load.dtype)
        said = lambda expr: rewrite(expr, lambda node: names.get(node, node))
        ahead = tuple(Assign(name, load) for load, name in names.items())
        return ahead, rewrite_block(body, lambda stmt: (map_expressions(stmt, said),))

    def divisor(self, loop: For) -> Expr | None:
        """By what the index is divided, and nothing else, wherever it chooses an element that is added to."""
        if not affine.same(loop.start, affine.ZERO):
            return None
        found: set[Expr] = set()
        for stmt in statements(self.body):
            if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
                for part in stmt.target.index:
                    match part:
                        case Call(op="floordiv", args=(x, by)) if x == loop.index and self.is_steady(by):
                            found.add(by)
        return found.pop() if len(found) == 1 else None

    def is_steady(self, by: Expr) -> bool:
        changed = numbers_set(self.body) | {loop.index for loop in self.loops}
        return not (loads(by) or variables(by) & changed) and not (isinstance(by, Const) and by.value < 2)

    def sums(self, found: Mapping[Var, Expr]) -> list[Array]:
        """The arrays of which one element is added to by all iterations of a group, and by no others."""
        if not found:
            return []
        added: dict[Array, set[tuple[Expr, ...]]] = {}
        for stmt in statements(self.body):
            if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
                added.setdefault(stmt.target.array, set()).add(stmt.target.index)
        surely = {s.target.array for s in self.body if isinstance(s, AddTo) and isinstance(s.target, Load)}
        rest = {loop.index for loop in self.loops} - found.keys()
        out: list[Array] = []
        for array, places in added.items():
            own = [self.chosen_by(part, found) for place in places for part in place]
            if len(places) == 1 and array in surely and None not in own and set(own) >= {*found, *rest}:
                if not self.is_touched_beside(array):
                    out.append(array)
        return out

    def is_touched_beside(self, array: Array) -> bool:
        """Is it read or set, by whatever name, or added to elsewhere?"""
        others = (access for access in effects(self.body).accesses if not (access.adds and access.array == array))
        return any(self.memory.may_be_one(access.array.name, array.name) for access in others)

    def chosen_by(self, part: Expr, found: Mapping[Var, Expr]) -> Var | None:
        """The index of the loop that chooses an element along an axis: i // f, or i of a loop that stays as it is."""
        match part:
            case Call(op="floordiv", args=(Var() as x, by)) if found.get(x) == by:
                return x
            case Var() if part not in found and any(part == loop.index for loop in self.loops):
                return part
        return None

    def place(self, array: Array, found: Mapping[Var, Expr], groups: Mapping[Var, Var]) -> Load:
        first = next(
            s.target
            for s in self.body
            if isinstance(s, AddTo) and isinstance(s.target, Load) and s.target.array == array
        )
        return replace(first, index=tuple(_by_groups(part, found, groups) for part in first.index))

    def said(
        self, stmt: Stmt, found: Mapping[Var, Expr], groups: Mapping[Var, Var], totals: Mapping[Array, Var]
    ) -> Stmt:
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and stmt.target.array in totals:
            stmt = replace(stmt, target=totals[stmt.target.array], reorder=True)
        return map_expressions(stmt, lambda expr: _by_groups(expr, found, groups))


def _by_groups(expr: Expr, found: Mapping[Var, Expr], groups: Mapping[Var, Var]) -> Expr:
    """What the index is divided by gives the group, and what is left the place in it."""

    def said(node: Expr) -> Expr:
        match node:
            case Call(op="floordiv", args=(Var() as x, by)) if found.get(x) == by:
                return groups[x]
            case Call(op="mod", args=(Var() as x, by)) if found.get(x) == by:
                return affine.sub(x, affine.normal(Call("mul", (by, groups[x]), INT64)))
        return node

    return rewrite(expr, said)


__all__ = ["sums_of_groups"]
