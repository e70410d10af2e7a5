"""What iterations add to their neighbours' elements, and is dear to compute again, they keep: the neighbours fetch it.

    for i in range(n):                            for i in range(n):
        b = max(x[i], x[i + 1], …)                    b = max(x[i], x[i + 1], …)
        x_b[i] += f(b, …)                  →          kept[i] = f(b, …)
        x_b[i + 1] += g(b, …)                         kept_1[i] = g(b, …)
        …                                         for i in range(n):
                                                      x_b[i] += kept[i]
                                                      x_b[i + 1] += kept_1[i]

Where all of that is made of a few numbers, these are kept: which of the elements is the greatest, and what it gets.
The second loop is for `gather`.  (What is cheap is computed by each neighbour, which takes no memory.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...analysis.additions import DEAREST, FLAT, adds_to, cost_of
from ...analysis.first_taken import with_first_taken
from ...analysis.neighbours import Neighbours
from ...analysis.nests import Memory, element_of_each, nest_of
from ...analysis.straight import Straight, straight
from ...ir import affine
from ...ir.expressions import BOOL, Array, Call, Dim, Expr, Load, Var, both
from ...ir.names import Names
from ...ir.nodes import AddTo, Alloc, Assign, Block, For, Function, If, Stmt, Store
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    numbers_set,
    statements,
    substitute,
    substituted,
    sure_loads,
    variables,
    with_blocks,
)
from ..gather import adds_around
from .gather_sums import around

MOST_KEPT = 9  # numbers of an iteration
DEAREST_TOGETHER = 160  # additions that all neighbours of an iteration may do again
ANY = 1 << 30


def keep_for_neighbours(function: Function) -> Function:
    names, memory = function.info.names, Memory(function)
    free = {loop.index for loop in statements(function.body) if isinstance(loop, For) and not loop.ordered}

    def changed(block: Block) -> Block:
        return tuple(out for stmt in block for out in of_one(stmt))

    def of_one(stmt: Stmt) -> Block:
        nest = nest_of(stmt, (*FLAT, If))
        if nest is None:
            own = isinstance(stmt, For) and not stmt.ordered  # a thread's
            return (stmt,) if own else (with_blocks(stmt, tuple(map(changed, blocks(stmt)))),)
        loops, body = nest
        if not adds_around(body) or not all(affine.same(loop.step, affine.ONE) for loop in loops):
            return (stmt,)
        body = with_first_taken(body, names)
        said = straight(body, names, memory.may_be_one) if any(isinstance(s, If) for s in body) else None
        if said is None and any(isinstance(s, If) for s in body):
            return (stmt,)
        plain = body if said is None else said.body
        out = _Nest(loops, plain, names, memory, free, said).apart()
        return (stmt,) if out is None else out

    return replace(function, body=changed(function.body))


@dataclass(frozen=True)
class _Apart:
    """Memory for what is kept, what fetches it, and what stands in the place of additions."""

    allocated: list[Stmt]
    fetched: list[Stmt]
    instead: dict[int, Block]


class _Nest:
    """Loops over a straight body; `said`: what it was before it was said without branches."""

    def __init__(
        self,
        loops: tuple[For, ...],
        body: Block,
        names: Names,
        memory: Memory,
        free: set[Var],
        said: Straight | None,
    ) -> None:
        self.loops, self.body, self.names, self.memory, self.free, self.said = loops, body, names, memory, free, said

    def apart(self) -> Block | None:
        """The loops that take the place of the nest; None where nothing is kept."""
        out = _Apart([], [], {})
        for array in dict.fromkeys(s.target.array for s in self.body if _is_added(s)):  # type: ignore[attr-defined]
            added = {k: s for k, s in enumerate(self.body) if adds_to(s, array) and isinstance(s, AddTo)}
            each = self.costs(array)
            if sum(each) > DEAREST_TOGETHER and self.keep_numbers(added, out):
                continue
            if max(each, default=0) > DEAREST:
                self.keep_sums(added, out)
        if not out.fetched:
            return None
        body = tuple(made for k, stmt in enumerate(self.body) for made in out.instead.get(k, self.as_it_was(stmt)))
        return (*out.allocated, around(self.loops, body), around(self.loops, tuple(out.fetched)))

    def keep_numbers(self, added: Mapping[int, AddTo], out: _Apart) -> bool:
        """Those that all additions are made of, if they are few, and known ahead of the first one."""
        questions = self.questions()
        said = {k: replace(stmt, value=substitute(stmt.value, questions)) for k, stmt in added.items()}
        values = [stmt.value for stmt in said.values()]
        numbers = {v for value in values for v in variables(value)} - {loop.index for loop in self.loops}
        later = numbers_set(self.body[min(added) :])
        if any(map(loads, values)) or numbers & later or len(numbers) >= len(added):
            return False
        instead: list[Stmt] = []
        names: dict[Expr, Expr] = {}
        for number in sorted(numbers, key=lambda var: var.name):
            place = self.place_for(number.name, number.dtype, out)
            instead.append(_stored(place, number, added[min(added)]))
            names[number] = Var(self.names.fresh(number.name), number.dtype)
            out.fetched.append(Assign(names[number], place))  # type: ignore[arg-type]
        for k, stmt in said.items():
            out.fetched.extend(substituted(self.where_it_is(stmt, added[k]), names))
        out.instead.update(dict.fromkeys(added, ()))
        out.instead[min(added)] = tuple(instead)
        return True

    def questions(self) -> dict[Expr, Expr]:
        """What is asked of numbers that stay what they are, by its name."""
        often = Counter(var for stmt in self.body for var in numbers_set((stmt,)))
        return {
            s.var: s.value
            for s in self.body
            if isinstance(s, Assign) and isinstance(s.value, Call) and s.value.op == "eq" and not loads(s.value)
            if often[s.var] == 1 and all(often[var] <= 1 for var in variables(s.value))
        }

    def keep_sums(self, added: Mapping[int, AddTo], out: _Apart) -> bool:
        """What is added to each of the elements."""
        targets = {k: _normal(stmt.target) for k, stmt in added.items()}  # type: ignore[arg-type]
        if len(set(targets.values())) > MOST_KEPT:
            return False
        places: dict[Load, Load] = {}
        for k, stmt in added.items():
            target = targets[k]
            if target in places:
                out.instead[k] = (replace(stmt, target=places[target]),)
                continue
            places[target] = self.place_for(target.array.name, target.dtype, out)
            out.instead[k] = (_stored(places[target], stmt.value, stmt),)
            out.fetched.extend(self.where_it_is(AddTo(target, places[target], reorder=True), stmt))
        return True

    def as_it_was(self, stmt: Stmt) -> Block:
        return (stmt,) if self.said is None else self.said.in_branches((stmt,))

    def where_it_is(self, addition: AddTo, origin: Stmt) -> Block:
        """What stood in a branch may be added to what is not there, in iterations that do not take it."""
        target = addition.target
        assert isinstance(target, Load)
        if self.said is None or origin not in self.said.of_branches or self.is_read_anyway(target):
            return (addition,)
        is_there: Expr | None = None
        for axis, part in enumerate(target.index):
            is_there = both(is_there, Call("le", (affine.ZERO, part), BOOL))
            is_there = both(is_there, Call("lt", (part, Dim(target.array.name, axis)), BOOL))
        return (addition,) if is_there is None else (If(is_there, (addition,)),)

    def is_read_anyway(self, target: Load) -> bool:
        """Does every iteration read an element of as large an array in this place?"""
        flat = (stmt for stmt in self.body if isinstance(stmt, FLAT))
        read = {load for stmt in flat for expr in expressions(stmt) for load in sure_loads(expr)}
        return any(
            len(load.index) == len(target.index)
            and all(map(affine.same, load.index, target.index))
            and all(map(affine.same, load.array.dims, target.array.dims))
            for load in read
        )

    def costs(self, array: Array) -> list[int]:
        """Of what neighbours would compute again; none where they could not have it."""
        sums = Neighbours(self.loops, self.body, self.memory, ANY, False, True, self.free).sums(array, self.body)
        parts = [part for parts in sums for part in parts]
        ahead = [[self.body[k] for k in part.slice] for part in parts]
        return [
            cost_of(block, self.body[part.position].value)  # type: ignore[attr-defined]
            for block, part in zip(ahead, parts, strict=True)
        ]

    def place_for(self, name: str, dtype: np.dtype, out: _Apart) -> Load:
        place = element_of_each(self.loops, name, dtype, self.names)
        out.allocated.append(Alloc(place.array, place.array.dims, span=self.loops[0].span))
        return place


def _normal(target: Load) -> Load:
    return replace(target, index=tuple(map(affine.normal, target.index)))


def _is_added(stmt: Stmt) -> bool:
    return isinstance(stmt, AddTo) and isinstance(stmt.target, Load)


def _stored(place: Load, value: Expr, like: Stmt) -> Store:
    return Store(place.array, place.index, value, checked=False, natural=True, span=like.span)


__all__ = ["keep_for_neighbours"]
