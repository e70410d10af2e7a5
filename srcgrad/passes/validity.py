"""What is still true of the forward part when the sweep runs: births of versions, and what may overwrite what.

Two accesses of one memory are told apart by their indices: `A[i - 1]` read at iteration i is not written at any later
iteration by `A[i]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Expr, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, Block, For, Grow, If, Invoke, Rule, Stmt, Store, Swap, View, While
from ..ir.walk import blocks, loads, subexpressions, substitute, variables, written
from .reverse import END
from .signs import extremes

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


class Forward:
    """Facts about the labelled forward part."""

    def __init__(self, body: Block, roots: dict[str, str]) -> None:
        self.roots = roots
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
        self._valid: dict[Any, bool] = {}
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
            target = written(stmt)
            for item in target if isinstance(target, tuple) else (target,):
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

    # ------------------------------------------------------------------------------------------ structure

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

    # --------------------------------------------------------------------------------------------- scalars

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

    def is_valid(self, version: Version) -> bool:
        """Does the variable still hold this version when the forward part has ended?"""
        key, label = version.place.block, version.place.label
        name = version.var.name
        while True:
            number = 0 if label is None else self.position[label][1] + 1
            if any(name in self.changed[s.label] for s in self.blocks[key][number:]):
                return False
            if key == ROOT:
                return True
            owner = self.statement[key[0]]
            if isinstance(owner, (For, While)):
                return False
            key, label = self.position[owner.label][0], owner.label

    def definition(self, version: Version) -> Assign | None:
        """The assignment that made a version, if it was one."""
        if version.place.label is None:
            return None
        stmt = self.statement[version.place.label]
        if isinstance(stmt, Assign) and not any(
            isinstance(n, Var) and n == stmt.var for n in subexpressions(stmt.value)
        ):
            return stmt
        return None

    # ---------------------------------------------------------------------------------------------- memory

    def root(self, array: Array) -> str:
        return self.roots.get(array.name, array.name)

    def view_of(self, array: Array) -> tuple[View, Key] | None:
        return self.views.get(array.name)

    def lives_on(self, array: Array) -> bool:
        """Is the memory one and the same throughout (not allocated anew in every iteration)?"""
        return not any(self.loops_around(self.position[s.label][0]) for s in self.allocs.get(self.root(array), []))

    def alloc_of(self, array: Array) -> Alloc | None:
        """The one statement that makes the memory, if it is known how much ahead of the loops around it."""
        made = self.allocs.get(self.root(array), [])
        if (
            len(made) != 1
            or not isinstance(made[0], Alloc)
            or any(isinstance(w, Swap) for w in self.writers.get(self.root(array), []))
        ):
            return None
        loops = self.loops_around(self.position[made[0].label][0])
        if not loops or self.rectangle(loops) is None:
            return None
        known = all(self.is_known_ahead(dim, loops) for dim in made[0].dims)
        return made[0] if known else None

    def element_is_valid_within(self, load: Load, at: int) -> bool:
        """Would the memory hold the value, if every iteration around its allocation had memory of its own?"""
        made = self.alloc_of(load.array)
        if made is None:
            return False
        depth = len(self.loops_around(self.position[made.label][0]))
        inner = len(self.loops_around(self.block_of(at))) - depth
        if inner < load.array.ndim:  # few elements are wanted of it: they are kept alone
            return False
        writers = self.writers.get(self.root(load.array), [])
        return not any(self.may_overwrite(w, load, at, depth=depth) for w in writers)

    def array_is_valid_within(self, array: Array, at: int) -> bool:
        made = self.alloc_of(array)
        if made is None:
            return False
        depth = len(self.loops_around(self.position[made.label][0]))
        for writer in self.writers.get(self.root(array), []):
            loops, textual = self.common(writer.label, at)
            if textual or len(loops) != depth:
                return False
        return True

    def snapshot_place(self, array: Array, at: int) -> Place | None:
        """Where the whole array can be kept, to be read many times: it stays as it is from there to `at`.

        None where it changes too often for that: within the loops that run over its elements.
        """
        if not self.lives_on(array):
            return None
        place = self.birth(Var(self.root(array)), at)
        if array.name != self.root(array):
            place = self.view_place(array, place)
        if place is None:
            return None
        around, here = len(self.loops_around(place.block)), len(self.loops_around(self.block_of(at)))
        return place if here - around >= array.ndim else None

    def view_place(self, array: Array, birth: Place | None) -> Place | None:
        """Just after a view of another length in every iteration is made, if its memory is not written in between."""
        view, key = self.views.get(array.name, (None, ROOT))
        loops = self.loops_around(key)
        if view is None or all(self.is_known_ahead(dim, loops) for dim in array.dims):
            return None
        return Place(key, view.label) if self.birth(Var(self.root(array)), view.label) == birth else None

    def element_is_valid(self, load: Load, at: int, written_here: bool = False) -> bool:
        """Does the memory still hold, after the forward part, what it held just before `at` (or just after it)?"""
        key = (load, at, written_here)
        if key not in self._valid:
            self._valid[key] = self._element_is_valid(load, at, written_here)
        return self._valid[key]

    def _element_is_valid(self, load: Load, at: int, written_here: bool) -> bool:
        if not self.lives_on(load.array):
            return False
        for writer in self.writers.get(self.root(load.array), []):
            if self.may_overwrite(writer, load, at, written_here):
                return False
        return True

    def array_is_valid(self, array: Array, at: int) -> bool:
        if not self.lives_on(array):
            return False
        return not any(self.can_follow(w, at) for w in self.writers.get(self.root(array), []))

    def can_follow(self, writer: Stmt, at: int) -> bool:
        """Can the writer run at or after this run of `at`?"""
        loops, textual = self.common(writer.label, at)
        return textual or bool(loops)

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

    def path(self, at: int) -> list[tuple[Key, int]]:
        """(block, position) from the outermost block down to a statement."""
        out: list[tuple[Key, int]] = []
        key, number = self.place_in_block(at)
        while True:
            out.insert(0, (key, number))
            if key == ROOT:
                return out
            key, number = self.position[key[0]]

    def may_overwrite(self, writer: Stmt, load: Load, at: int, written_here: bool = False, depth: int = 0) -> bool:
        """`depth`: so many loops around both have memory of their own in every iteration."""
        loops, textual = self.common(writer.label, at)
        if len(loops) < depth:
            return True
        loops = loops[depth:]
        if written_here and writer.label == at:
            textual = False
        if not textual and not loops:
            return False
        place = _place_of(writer)
        if place is None or place.array.name != load.array.name:
            return True
        gaps = self.gaps(place.index, load.index, loops, writer.label, at)
        if gaps is None:  # never the same element
            return False
        for loop in loops:
            bounds = gaps.get(loop.label, ())
            if any(self.is_at_most(gap, -1, at) for gap in bounds):
                return False  # the writer met this element in an earlier iteration
            if not any(self.is_at_most(gap, 0, at) for gap in bounds):
                return True
        return textual

    def gaps(
        self, write: tuple[Expr, ...], read: tuple[Expr, ...], loops: list[For | While], writer: int, at: int
    ) -> dict[int, list[Expr]] | None:
        """Upper bounds, for each common loop, on how many iterations after the read the writer meets the same element.

        They are expressions of the read's indices; None where the two never meet.  The writer's indices follow from
        the equality of the elements; where one is an index of an inner loop, that loop's range bounds the outer ones:
        `for k: for i in range(k + 1, n): a[i, j] = …` writes a[3, j] at k <= 2 only.
        """
        own = self.loops_around(self.block_of(writer))
        found: dict[Var, Expr] = {}  # the writer's indices, said in those of the read
        for w, r in zip(write, read, strict=False):
            if not (self.never_negative(w, writer) and self.never_negative(r, at)):
                continue  # x[-1] is x[n - 1]: two indices may differ and mean one element
            (terms, constant), (terms_r, constant_r) = affine.affine(w), affine.affine(r)
            moving = [(t, c) for t, c in terms if not self.is_steady(t)]
            if not moving:
                if terms == terms_r and constant != constant_r:
                    return None
                continue
            if len(moving) > 1 or loads(r):
                continue
            ((term, count),) = moving
            steady = tuple(t for t in terms if t not in moving)
            if not isinstance(term, Var) or all(_index_of(loop) != term for loop in own):
                continue
            if abs(count) == 1:
                value = affine.mul(affine.integer(count), affine.sub(r, affine.from_affine(steady, constant)))
            elif any(_index_of(loop) == term for loop in loops) and terms == terms_r:
                if (constant_r - constant) % count:
                    return None
                value = affine.add(term, affine.integer((constant_r - constant) // count))
            else:
                continue
            if term in found and self.differ(found[term], value, at):
                return None
            found.setdefault(term, value)
        if self.is_outside(found, own, at):
            return None
        out: dict[int, list[Expr]] = {}
        for loop in loops:
            index = _index_of(loop)
            step = 1 if isinstance(loop, While) else loop.step.value if isinstance(loop.step, Const) else None
            if step is None or index is None:
                continue
            if index in found:
                gap = affine.difference(found[index], index)
                if gap is not None and gap % step and isinstance(loop, For) and self.is_steady(loop.start):
                    return None  # (it is stepped through in the same places each time)
            bounds = [found[index]] if index in found else self.upper_bounds(index, found, own, step)
            out[loop.label] = [affine.mul(affine.integer(1 if step > 0 else -1), affine.sub(b, index)) for b in bounds]
        return out

    def differ(self, x: Expr, y: Expr, at: int) -> bool:
        """Provably never the same number where `at` runs: i and k under `for k in range(j): … for i in range(j, n)`."""
        return any(self.is_at_most(affine.sub(a, b), -1, at) for a, b in ((x, y), (y, x)))

    def is_outside(self, found: dict[Var, Expr], own: list[For | While], at: int) -> bool:
        """Is one of the writer's indices, as it would have to be, outside the range of its loop?"""
        for loop in own:
            index = _index_of(loop)
            if index not in found or not isinstance(loop, For) or not isinstance(loop.step, Const):
                continue
            low, high = extremes(loop)
            for end, sign in ((low, 1), (high, -1)):
                if all(self.is_steady(v) or v in found for v in variables(end)) and not loads(end):
                    room = affine.sub(found[index], affine.normal(substitute(end, found)))
                    if self.is_at_most(affine.mul(affine.integer(sign), room), -1, at):
                        return True
        return False

    def upper_bounds(self, index: Var, found: dict[Var, Expr], own: list[For | While], step: int) -> list[Expr]:
        """What the writer's index of a common loop is at most (at least, where the loop goes down)."""
        out: list[Expr] = []
        for loop in own:
            inner = _index_of(loop)
            if inner not in found or not isinstance(loop, For) or not isinstance(loop.step, Const):
                continue
            low, high = extremes(loop)
            for end, sign in ((low, 1), (high, -1)):  # sign * (found - end) >= 0
                terms, _ = affine.affine(end)
                count = sum(c for t, c in terms if t == index)
                known = all(t == index or self.is_steady(t) for t, _ in terms)
                if known and abs(count) == 1 and sign * count * step > 0:
                    rest = affine.sub(end, affine.mul(affine.integer(count), index))
                    out.append(affine.mul(affine.integer(count), affine.sub(found[inner], rest)))
        return out

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
        loops = {_index_of(loop): loop for loop in self.loops_around(self.block_of(at))}
        depth: dict[Any, int] = {index: k for k, index in enumerate(reversed(loops))}  # the innermost first
        return affine.proved_by_bounds(
            expr,
            lambda e: affine.is_at_least(e, 0),
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
        if not isinstance(made, Assign) or made.var != term or loads(made.value):
            return None
        same = all(self.birth(v, made.label) == self.birth(v, at) for v in variables(made.value))
        return made.value if same and term not in variables(made.value) else None

    # ------------------------------------------------------------------------------------------- rectangles

    def rectangle(self, loops: list[For | While]) -> tuple[Expr, ...] | None:
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

    def is_known_ahead(self, expr: Expr, loops: list[For | While]) -> bool:
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
    target = written(stmt)
    for item in target if isinstance(target, tuple) else (target,):
        if isinstance(item, Var):
            yield item


def _place_of(stmt: Stmt) -> Load | None:
    match stmt:
        case Store(array=array, index=index):
            return Load(array, index)
        case AddTo(target=Load() as place):
            return place
    return None


def _index_of(loop: Stmt) -> Var | None:
    return loop.index if isinstance(loop, For) else loop.trip if isinstance(loop, While) else None
