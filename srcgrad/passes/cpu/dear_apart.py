"""What is dear to compute in a loop is computed apart from what is looked up for it, and from the sums that it goes to.

    for i in range(n):                         for i in range(n):
        t = exp(x[k[i]])                           x_here[i] = x[k[i]]
        y[k[i]] += t                           for i in range(n):
        s += log(t)                    →           t = exp(x_here[i])
                                                   aside[i] = t
                                                   aside_1[i] = log(t)
                                               for i in range(n):
                                                   y[k[i]] += aside[i]
                                                   s += aside_1[i]

The loop on the left does not vectorise: an index that is looked up may be out of bounds, two additions that go through
one vector register may be to one element, and those to a sum in the user's order wait for each other.  The loop in the
middle does.  For `set_aside`, which goes by strips of a few iterations, for which there is memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...analysis.added_ahead import is_of_numbers
from ...analysis.effects import Access, effects, sums_in_order
from ...analysis.lengths import lengths_of
from ...analysis.meetings import runs_along
from ...ir.expressions import LAZY, Call, Const, Expr, Load, Var
from ...ir.info import roots_of
from ...ir.names import Names
from ...ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt, Store
from ...ir.walk import (
    children,
    expressions,
    loads,
    made_for,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    variables,
)
from ...rules.costs import is_dear, may_raise

Memory = Callable[[Var | Load], Load]  # of an iteration, for what it looks up, or adds to a place
NEUTRAL = -0.0  # no sum changes by it: 0.0 would make 0.0 of -0.0


@dataclass(frozen=True)
class Parts:
    """The bodies of three loops that are one; the first and the last may be empty."""

    ahead: Block
    dear: Block
    behind: Block


class DearApart:
    """Answers about the loops of one function."""

    def __init__(self, function: Function) -> None:
        self.names, self.roots = function.info.names, roots_of(function)
        self.given = {param.name for param in function.params}
        self.lengths = lengths_of(function)

    def parts(self, loop: For, memory: Memory) -> Parts | None:
        """The body of a loop in parts, if it computes something dear, and something else that has to wait its turn."""
        if not any(map(is_dear, statements(loop.body))) or self.is_window(loop):
            return None
        lookups, waits = self.lookups(loop), self.waits(loop)
        ahead, behind = self.indices(loop, lookups), self.indices(loop, waits)
        if not (lookups or waits) or ahead is None or behind is None or not _fills_vectors(loop, lookups, waits):
            return None
        if self.is_seen_to_fail(loop, lookups, waits):
            return None
        here = {load: memory(load) for load in lookups}
        for load, there in here.items():
            reader = next(s for s in statements(loop.body) if any(load in loads(expr) for expr in expressions(s)))
            ahead += tuple(made_for(reader, [Store(there.array, there.index, load, checked=False)]))
        loop = replace(loop, body=rewrite_block(loop.body, lambda stmt: (_with(stmt, here),)))
        waits, behind = self.waits(loop), self.indices(loop, self.waits(loop)) or ()
        adding = _Additions(set(waits), self.names, memory)
        dear = adding.without(loop.body, Counter(), always=True)
        dear = (*adding.ahead, *_needed(dear, {*ahead, *behind}), *adding.last)
        return Parts(ahead, dear, (*behind, *adding.behind))

    def is_window(self, loop: For) -> bool:
        """Does it begin and end elsewhere each time, as what is short does?"""
        return not (self.lengths.is_known_ahead(loop.start) or self.lengths.is_known_ahead(loop.stop))

    def is_seen_to_fail(self, loop: For, lookups: list[Load], waits: list[Var | Load]) -> bool:
        """Would an error of the three loops be another one, or leave the caller's arrays in another state?"""
        targets = [stmt.target for stmt in statements(loop.body) if isinstance(stmt, AddTo)]
        failing = dict.fromkeys(place for place in targets if isinstance(place, Load) and _is_checked(place))
        if _may_fail(_without(loop, lookups)):  # and not only by an index
            looked_up = failing or any(_is_checked(e) for stmt in statements(loop.body) for e in expressions(stmt))
            return bool(looked_up or self.written(loop) & self.given)
        given = self.written(loop) & self.given
        apart = {self.root(place) for place in failing} | given
        return bool(given) and (
            any(map(_is_checked, lookups)) or bool(failing and (len(apart) > 1 or not failing.keys() <= set(waits)))
        )

    def lookups(self, loop: For) -> list[Load]:
        """Elements that every iteration reads, of arrays that it leaves alone, and that are not side by side."""
        written = self.written(loop)
        found = (load for stmt in loop.body for expr in expressions(stmt) for load in _looked_up(expr, loop))
        return [load for load in dict.fromkeys(found) if self.root(load) not in written]

    def waits(self, loop: For) -> list[Var | Load]:
        """Sums in the user's order, and elements to which any iteration may add, and none does anything else."""
        inside, sums = effects(loop.body), sums_in_order(loop.body)
        otherwise = {self.root(access) for access in inside.accesses if not access.adds}
        adds: dict[str, list[AddTo]] = {}
        for stmt in statements(loop.body):
            if isinstance(stmt, AddTo):
                name = stmt.target.name if isinstance(stmt.target, Var) else self.root(stmt.target)
                adds.setdefault(name, []).append(stmt)
        out: list[Var | Load] = []
        for name, found in adds.items():
            of_sum = all(add.target in sums and not add.reorder for add in found)
            shared = name not in otherwise and any(_is_anywhere(add.target, loop) for add in found)
            if (of_sum or (shared and all(add in loop.body for add in found))) and all(map(_is_real, found)):
                out += dict.fromkeys(add.target for add in found)
        return out

    def indices(self, loop: For, places: Iterable[Var | Load]) -> Block | None:
        """What an iteration computes of the indices of these elements; None where that can't be done apart."""
        written, changed = self.written(loop), effects(loop.body).writes
        parts = [part for place in places if isinstance(place, Load) for part in place.index]
        wanted = {var for part in parts for var in variables(part)}
        out: list[Assign] = []
        for stmt in reversed(loop.body):
            if isinstance(stmt, Assign) and stmt.var in wanted:
                out.insert(0, stmt)
                wanted |= variables(stmt.value)
        others = effects(stmt for stmt in loop.body if stmt not in out).writes
        if others & wanted or Counter(stmt.var for stmt in out) != Counter(wanted & changed) or any(map(is_dear, out)):
            return None
        read = {self.root(load) for expr in (*parts, *(stmt.value for stmt in out)) for load in loads(expr)}
        return None if read & written else tuple(out)

    def written(self, loop: For) -> set[str]:
        return {self.root(access) for access in effects(loop.body).accesses if access.writes}

    def root(self, place: Load | Access) -> str:
        return self.roots.get(place.array.name, place.array.name)


@dataclass
class _Additions:
    """What is added, taken out of an iteration: what that needs ahead of it and at its end, and what is left to add."""

    waits: set[Var | Load]
    names: Names
    memory: Memory
    ahead: list[Stmt] = field(default_factory=list)
    last: list[Stmt] = field(default_factory=list)
    behind: list[Stmt] = field(default_factory=list)
    sometimes: dict[tuple[Var | Load, int], Var] = field(default_factory=dict)

    def without(self, block: Block, so_far: Counter[Var | Load], always: bool = False) -> Block:
        """The block, with what it adds left in memory.  `so_far`: how often the iteration has added to a place."""
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case AddTo(target=place) if place in self.waits:
                    out.append(self.left(stmt) if always else self.noted(stmt, so_far[place]))
                    so_far[place] += 1
                case If(condition=condition, then=then, orelse=orelse):
                    in_else = Counter(so_far)
                    out.append(If(condition, self.without(then, so_far), self.without(orelse, in_else)))
                    so_far |= in_else  # the larger of the two numbers
                case _:
                    out.append(stmt)
        return tuple(out)

    def left(self, add: AddTo) -> Stmt:
        there = self.memory(add.target)
        self.behind.append(replace(add, value=there))
        return Store(there.array, there.index, add.value, checked=False)

    def noted(self, add: AddTo, number: int) -> Stmt:
        """In a branch: what an iteration adds that may not come to adding."""
        if (add.target, number) not in self.sometimes:
            var = self.sometimes[add.target, number] = Var(self.names.fresh("ahead"), add.target.dtype)
            self.ahead.append(Assign(var, Const(NEUTRAL, var.dtype)))
            self.last.append(self.left(replace(add, value=var)))
        return Assign(self.sometimes[add.target, number], add.value)


def _looked_up(expr: Expr, loop: For) -> Iterator[Load]:
    """What an expression is sure to read of elements that LLVM does not read several of at a time."""
    if isinstance(expr, Load) and (expr.checked or _is_anyones(expr, loop)):
        yield expr
        return
    parts = children(expr)
    for part in parts[:1] if isinstance(expr, Call) and expr.op in LAZY else parts:
        yield from _looked_up(part, loop)


def _is_anyones(place: Load, loop: For) -> bool:
    """Is it now this element and now that, in no order that the index of the loop gives away?"""
    changed = effects(loop.body).writes
    varies = any(loads(part) or variables(part) & (changed | {loop.index}) for part in place.index)
    return varies and not any(runs_along(part, loop.index, changed) for part in place.index)


def _is_anywhere(place: Var | Load, loop: For) -> bool:
    """May other iterations touch this, as far as its index tells?"""
    changed = effects(loop.body).writes
    return isinstance(place, Load) and not any(runs_along(part, loop.index, changed) for part in place.index)


def _is_real(add: AddTo) -> bool:
    return add.target.dtype.kind == "f" and add.value.dtype == add.target.dtype


def _is_checked(expr: Expr) -> bool:
    """May an index in it be out of bounds?"""
    return any(load.checked for load in loads(expr))


def _may_fail(loop: For) -> bool:
    """May what it computes raise, but for the indices of its accesses?"""
    nodes = (node for stmt in statements(loop.body) for expr in expressions(stmt) for node in subexpressions(expr))
    return any(isinstance(node, Call) and may_raise(node) for node in nodes)


def _fills_vectors(loop: For, lookups: list[Load], waits: list[Var | Load]) -> bool:
    """Does the loop vectorise without what is looked up, and without the additions to these places?"""

    def left(stmt: Stmt) -> Stmt:
        return (
            Assign(Var("left", stmt.value.dtype), stmt.value)
            if isinstance(stmt, AddTo) and stmt.target in waits
            else stmt
        )

    body = rewrite_block(_without(loop, lookups).body, lambda stmt: (left(stmt),))
    stores = (stmt for stmt in statements(body) if isinstance(stmt, (AddTo, Store)))
    waiting = sums_in_order(body) or any(_is_anywhere(_place(stmt), loop) for stmt in stores)
    return not waiting and is_of_numbers(replace(loop, body=body))


def _without(loop: For, lookups: list[Load]) -> For:
    """The loop with numbers for what is looked up."""
    known = {load: Const(load.dtype.type(0).item(), load.dtype) for load in lookups}
    return replace(loop, body=rewrite_block(loop.body, lambda stmt: (_with(stmt, known),)))


def _place(stmt: AddTo | Store) -> Var | Load:
    return stmt.target if isinstance(stmt, AddTo) else Load(stmt.array, stmt.index)


def _with(stmt: Stmt, values: Mapping[Load, Expr]) -> Stmt:
    change = lambda node: values.get(node, node) if isinstance(node, Load) else node
    return map_expressions(stmt, lambda expr: rewrite(expr, change))


def _needed(block: Block, elsewhere: set[Stmt]) -> Block:
    """The block without what is computed elsewhere, and was only for that."""
    kept = list(block)
    for stmt in block[::-1]:
        if stmt in elsewhere and isinstance(stmt, Assign):
            if not any(stmt.var in variables(e) for other in statements(tuple(kept)) for e in expressions(other)):
                kept.remove(stmt)
    return tuple(kept)


__all__ = ["DearApart", "Memory", "Parts"]
