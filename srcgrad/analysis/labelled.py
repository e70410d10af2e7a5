"""The labelled forward part: what stands where and changes what, where values are born, and how integers compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Expr, Var
from ..ir.naturals import proved_by_bounds
from ..ir.nodes import Alloc, Assign, Block, For, Grow, If, Invoke, Rule, Stmt, View, While
from ..ir.walk import blocks, loads, statements, targets, variables
from .rows import row_lengths
from .signs import Signs, extremes

END = 1_000_000_000  # the label of the end of the forward part
ROOT = (-1, 0)
Key = tuple[int, int]


@dataclass(frozen=True)
class Place:
    """A point in a block: just after the statement `label`, or the block's entry (None)."""

    block: Key
    label: int | None


@dataclass(frozen=True)
class Version:
    """The value of a variable from one place on."""

    var: Var
    place: Place


class Labelled:
    def __init__(self, body: Block, roots: dict[str, str], signs: Signs) -> None:
        self.roots, self.signs = roots, signs
        self.statement: dict[int, Stmt] = {}
        self.blocks: dict[Key, Block] = {ROOT: body}
        self.position: dict[int, tuple[Key, int]] = {}
        self.views: dict[str, tuple[View, Key]] = {}
        self.writers: dict[str, list[Stmt]] = {}
        self.allocs: dict[str, list[Stmt]] = {}
        self.changed: dict[int, frozenset[str]] = {}
        self.growing: set[str] = set()  # lists whose memory grows
        self.assigned: dict[Expr, list[Assign]] = {}
        self._index(body, ROOT)
        self.settings: dict[str, int] = {}  # how often, and those in loops twice over
        for stmt in self.statement.values():
            again = 2 if self.loops_around(self.position[stmt.label][0]) or isinstance(stmt, (For, While)) else 1
            for item in _set_by(stmt):
                self.settings[item.name] = self.settings.get(item.name, 0) + again

    def _index(self, block: Block, key: Key) -> frozenset[str]:
        self.blocks[key] = block
        every: set[str] = set()
        for number, stmt in enumerate(block):
            self.statement[stmt.label] = stmt
            self.position[stmt.label] = (key, number)
            names = set()
            for item in targets(stmt):
                if isinstance(stmt, Grow):
                    self.growing.add(stmt.array.name)  # what is in it stays
                elif isinstance(item, Array):
                    names.add(self.roots.get(item.name, item.name))
                    is_new = isinstance(stmt, Alloc) or (isinstance(stmt, Invoke) and item in stmt.outs)
                    kind = self.allocs if is_new else self.writers
                    kind.setdefault(self.roots.get(item.name, item.name), []).append(stmt)
                elif isinstance(item, Var):
                    names.add(item.name)
            if isinstance(stmt, View):
                self.views[stmt.array.name] = (stmt, key)
            if isinstance(stmt, Assign) and isinstance(stmt.value, Call):
                self.assigned.setdefault(stmt.value, []).append(stmt)
            if not isinstance(stmt, Rule):
                for branch, inner in enumerate(blocks(stmt)):
                    names |= self._index(inner, (stmt.label, branch))
            self.changed[stmt.label] = frozenset(names)
            every |= names
        return frozenset(every)

    # ------------------------------------------------------------------------------------------------------ structure

    def block_of(self, at: int) -> Key:
        return ROOT if at == END else self.position[at][0]

    def place_in_block(self, at: int) -> tuple[Key, int]:
        return (ROOT, len(self.blocks[ROOT])) if at == END else self.position[at]

    def label_after(self, place: Place) -> int:
        """The statement that follows a place (END where there is none)."""
        block = self.blocks[place.block]
        number = 0 if place.label is None else self.position[place.label][1] + 1
        if number < len(block):
            return block[number].label
        return END if place.block == ROOT else block[-1].label

    def loops_around(self, key: Key) -> list[For | While]:
        """The loops around a block, outermost first."""
        out: list[For | While] = []
        while key != ROOT:
            owner = self.statement[key[0]]
            if isinstance(owner, (For, While)):
                out.insert(0, owner)
            key = self.position[key[0]][0]
        return out

    def path(self, at: int) -> list[tuple[Key, int]]:
        """(block, position) from the outermost block down to a statement."""
        out: list[tuple[Key, int]] = []
        key, number = self.place_in_block(at)
        while True:
            out.insert(0, (key, number))
            if key == ROOT:
                return out
            key, number = self.position[key[0]]

    def common(self, writer: int, at: int) -> tuple[list[For | While], bool]:
        """The loops around both, and whether the writer comes at or after `at` within one iteration of them."""
        path_w, path_a = self.path(writer), self.path(at)
        shared = 0
        while shared < min(len(path_w), len(path_a)) and path_w[shared][0] == path_a[shared][0]:
            if path_w[shared][1] != path_a[shared][1]:
                break
            shared += 1
        loops = self.loops_around(self._common_block(path_w, path_a))
        if shared == min(len(path_w), len(path_a)):
            return loops, True  # the statement itself, or inside it
        (key_w, number_w), (key_a, number_a) = path_w[shared], path_a[shared]
        if key_w != key_a:  # the two branches of one if
            return loops, False
        return loops, number_w >= number_a

    def _common_block(self, x: list[tuple[Key, int]], y: list[tuple[Key, int]]) -> Key:
        last = ROOT
        for (key_x, number_x), (key_y, number_y) in zip(x, y, strict=False):
            if key_x != key_y:
                break
            last = key_x
            if number_x != number_y:
                break
        return last

    def birth(self, var: Var, at: int) -> Place | None:
        """Where the value that `var` has just before `at` comes from; None for the index of a loop around it."""
        key, number = self.place_in_block(at)
        while True:
            block = self.blocks[key]
            for stmt in reversed(block[:number]):
                if var.name in self.changed[stmt.label]:
                    return Place(key, stmt.label)
            if key == ROOT:
                return Place(ROOT, None)
            owner = self.statement[key[0]]
            if isinstance(owner, For) and owner.index.name == var.name:
                return None
            if isinstance(owner, While) and owner.trip.name == var.name:
                return None
            if isinstance(owner, (For, While)) and var.name in self.changed[owner.label]:
                return Place(key, None)
            key, number = self.position[owner.label]

    # ------------------------------------------------------------------------------------------------------- integers

    def is_steady(self, term: Expr) -> bool:
        """Has the term one value throughout: a length, or what is set at most once, outside all loops?"""
        return not loads(term) and all(self.settings.get(v.name, 0) <= 1 for v in variables(term))

    def is_at_most(self, expr: Expr, bound: int, at: int) -> bool:
        if self.never_negative(affine.sub(affine.integer(bound), expr), at):
            return True
        if bound != -1 or not self.never_negative(affine.mul(affine.integer(-1), expr), at):
            return False
        zero = [affine.sub(x, y) for x, y in self.unequal(at)]
        return any(affine.same(expr, gap) or affine.difference(affine.add(expr, gap), affine.ZERO) == 0 for gap in zero)

    def unequal(self, at: int) -> Iterator[tuple[Expr, Expr]]:
        """Integers that differ where `at` runs: by the branches that it is in."""
        key = self.block_of(at)
        while key != ROOT:
            owner = self.statement[key[0]]
            if isinstance(owner, If):
                match owner.condition, key[1]:
                    case (Call(op="ne", args=(x, y)), 0) | (Call(op="eq", args=(x, y)), 1):
                        reads = variables(x) | variables(y)
                        if x.dtype == y.dtype == INT64 and all(
                            self.birth(v, owner.label) == self.birth(v, at) for v in reads
                        ):
                            yield x, y
            key = self.position[owner.label][0]

    def never_negative(self, expr: Expr, at: int) -> bool:
        """Provably >= 0 just before `at`: with the bounds of the loops around it in place of their indices."""
        loops = {index_of(loop): loop for loop in self.loops_around(self.block_of(at))}
        depth: dict[Any, int] = {index: k for k, index in enumerate(reversed(loops))}  # the innermost first
        return proved_by_bounds(
            expr,
            self.signs.is_natural,
            lambda term, low: self.bound(term, loops, low, at),
            lambda term: depth.get(term, len(depth)),
        )

    def bound(self, term: Expr, loops: dict[Any, For | While], lower: bool, at: int) -> Expr | None:
        """The least or greatest value of a loop index, or what a variable was set to in this very iteration."""
        if term in loops:
            loop = loops[term]
            if isinstance(loop, While):
                return affine.ZERO if lower else None
            if not isinstance(loop.step, Const):
                return None
            if loop.step.value > 0:
                extreme = loop.start if lower else affine.sub(loop.stop, affine.ONE)
            else:
                extreme = affine.add(loop.stop, affine.ONE) if lower else loop.start
            changed = any(v.name in self.changed[loop.label] for v in variables(extreme))
            return None if changed or loads(extreme) else extreme
        if not isinstance(term, Var) or term.dtype != INT64 or at == END:
            return None
        place = self.birth(term, at)
        made = self.statement.get(place.label) if place is not None and place.label is not None else None
        if isinstance(made, (For, If)):
            return self.bound_after(made, term, lower, at)
        if not isinstance(made, Assign) or made.var != term or loads(made.value):
            return None
        return self.still_means(made.value, made.label, at) if term not in variables(made.value) else None

    def still_means(self, expr: Expr | None, before: int, at: int) -> Expr | None:
        """The expression, if its variables are at `at` what they were before."""
        is_same = expr is not None and all(self.birth(v, before) == self.birth(v, at) for v in variables(expr))
        return expr if is_same else None

    def bound_after(self, owner: For | If, var: Var, lower: bool, at: int) -> Expr | None:
        """What a variable is at least (at most) that a loop or a branch may have set: the search for a pivot."""
        loops = {index_of(loop): loop for loop in self.loops_around(self.block_of(owner.label))}
        ends: list[Expr | None] = [self.still_means(self.bound(var, loops, lower, owner.label), owner.label, at)]
        for stmt in statements((owner,)):
            if var not in targets(stmt):
                continue
            if not isinstance(stmt, Assign) or loads(stmt.value):
                return None
            inner = {index_of(loop): loop for loop in self.loops_around(self.block_of(stmt.label))}
            is_index = stmt.value in inner and stmt.value not in loops
            end = self.bound(stmt.value, inner, lower, stmt.label) if is_index else stmt.value
            ends.append(self.still_means(end, stmt.label, at))
        known = [end for end in ends if end is not None]
        sign = 1 if lower else -1
        for end in known if len(known) == len(ends) else ():
            gaps = [affine.difference(other, end) for other in known]
            if all(gap is not None and sign * gap >= 0 for gap in gaps):
                return end
        return None

    # ----------------------------------------------------------------------------------------------------- rectangles

    def rectangle(self, loops: Sequence[For | While]) -> tuple[Expr, ...] | None:
        """The trip counts of nested loops, if all are known ahead of the outermost one."""
        shape: list[Expr] = []
        uneven = 0
        inner: dict[Var, tuple[Expr, Expr]] = {}  # the extremes of the indices of loops further out
        for loop in loops:
            if isinstance(loop, While):
                return None
            trips = self.most_trips(loop, inner)
            uneven += trips != self.trips(loop)
            if uneven > 2:  # a small part of the box would be used
                return None
            if not all(self.is_known_ahead(e, loops) for e in (trips, loop.step)):
                return None
            shape.append(trips)
            if isinstance(loop.step, Const):
                low, high = extremes(loop)
                inner[loop.index] = self.extreme(low, inner, False), self.extreme(high, inner, True)
        return tuple(shape)

    def shape_over(self, over: list[For | While], loops: list[For | While]) -> tuple[Expr, ...] | None:
        """The trip counts of some of these loops, known ahead of all of them."""
        box = self.rectangle(loops)
        if box is not None:
            return tuple(trips for loop, trips in zip(loops, box, strict=True) if loop in over)
        shape = self.rectangle(over) if len(over) < len(loops) else None
        if shape is None or not all(self.is_known_ahead(trips, loops) for trips in shape):
            return None
        return row_lengths(shape)

    def nest_run_again(self, key: Key) -> list[For]:
        """Of the loops around a block, the innermost ones that run over a rectangle, all of it, nobody knows how often.

        None where an independent loop is around: its iterations have stacks of their own (on threads, in lanes).
        """
        loops = self.loops_around(key)
        found: list[For] = []
        while key != ROOT:
            owner = self.statement[key[0]]
            if not isinstance(owner, For) or self.rectangle([owner, *found]) is None:
                break
            found, key = [owner, *found], self.block_of(owner.label)
        outer = loops[: len(loops) - len(found)]
        is_one_at_a_time = all(isinstance(loop, While) or loop.ordered for loop in outer)
        return found if is_one_at_a_time and self.rectangle(loops) is None else []

    def most_trips(self, loop: For, outer: dict[Var, tuple[Expr, Expr]]) -> Expr:
        """How often a loop runs at most, whatever the indices of the loops around it: a triangle kept in a square."""
        trips = self.trips(loop)
        if not (variables(trips) & set(outer)) or not isinstance(loop.step, Const) or abs(loop.step.value) != 1:
            return trips
        low, high = extremes(loop)
        count = affine.add(affine.sub(high, low), affine.ONE)
        return affine.maximum(self.extreme(count, outer, True), affine.ZERO)

    def extreme(self, expr: Expr, outer: dict[Var, tuple[Expr, Expr]], highest: bool) -> Expr:
        terms, constant = affine.affine(expr)
        out: Expr = affine.integer(constant)
        for term, count in terms:
            if term in outer:
                term = outer[term][(count > 0) == highest]
            out = affine.add(out, affine.mul(affine.integer(count), term))
        return out

    def trips(self, loop: For) -> Expr:
        """How often a loop runs."""
        start, stop, step = loop.start, loop.stop, loop.step
        if affine.same(step, affine.ONE):
            count = affine.sub(stop, start)
        elif affine.same(step, affine.integer(-1)):
            count = affine.sub(start, stop)
        else:
            return Call("trip_count", (start, stop, step), INT64)
        return count if self.never_negative(count, loop.label) else affine.maximum(count, affine.ZERO)

    def is_known_ahead(self, expr: Expr, loops: Sequence[For | While]) -> bool:
        """Has the expression one value from before the outermost loop to its end?"""
        if not loops:
            return True
        outer = loops[0].label
        if loads(expr):
            return False
        return not any(v.name in self.changed[outer] for v in variables(expr))


def _set_by(stmt: Stmt) -> Iterator[Var]:
    if isinstance(stmt, Rule):
        yield from (item for item in stmt.outputs if isinstance(item, Var))
    for item in targets(stmt):
        if isinstance(item, Var):
            yield item


def index_of(loop: Stmt) -> Var | None:
    return loop.index if isinstance(loop, For) else loop.trip if isinstance(loop, While) else None


__all__ = ["END", "ROOT", "Key", "Labelled", "Place", "Version", "index_of"]
