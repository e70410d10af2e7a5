"""What is still true of the forward part when the sweep runs: births of versions, and what may overwrite what.

Two accesses of one memory are told apart by their indices: `A[i - 1]` read at iteration i is not written at any later
iteration by `A[i]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ir import affine
from ..ir.nodes import (
    INT64,
    AddTo,
    Alloc,
    Array,
    Assign,
    Block,
    Call,
    Const,
    Dim,
    Expr,
    For,
    Load,
    Rule,
    Stmt,
    Store,
    Swap,
    Var,
    View,
    While,
)
from ..ir.walk import blocks, loads, subexpressions, variables, written
from .reverse import END

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
        self._index(body, ROOT)
        self._valid: dict[Any, bool] = {}
        self.indices: set[Var] = set()
        values: dict[Var, list[Expr | None]] = {}
        for stmt in self.statement.values():
            if isinstance(stmt, (For, While)):
                self.indices.add(_index_of(stmt))  # type: ignore[arg-type]
            elif isinstance(stmt, Assign):
                values.setdefault(stmt.var, []).append(stmt.value)
            elif isinstance(stmt, AddTo) and isinstance(stmt.target, Var):
                values.setdefault(stmt.target, []).append(None)
        self.assigned_once = {v: e[0] for v, e in values.items() if len(e) == 1 and e[0] is not None}

    def _index(self, block: Block, key: Key) -> frozenset[str]:
        self.blocks[key] = block
        every: set[str] = set()
        for number, stmt in enumerate(block):
            self.statement[stmt.label] = stmt
            self.position[stmt.label] = (key, number)
            names = set()
            target = written(stmt)
            for item in target if isinstance(target, tuple) else (target,):
                if isinstance(item, Array):
                    names.add(self.roots.get(item.name, item.name))
                    kind = self.allocs if isinstance(stmt, Alloc) else self.writers
                    kind.setdefault(self.roots.get(item.name, item.name), []).append(stmt)
                elif isinstance(item, Var):
                    names.add(item.name)
            if isinstance(stmt, View):
                self.views[stmt.array.name] = (stmt, key)
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
        if len(made) != 1 or any(isinstance(w, Swap) for w in self.writers.get(self.root(array), [])):
            return None
        loops = self.loops_around(self.position[made[0].label][0])
        if not loops or self.rectangle(loops) is None:
            return None
        known = all(self.is_known_ahead(dim, loops) for dim in made[0].dims)  # type: ignore[attr-defined]
        return made[0] if known else None  # type: ignore[return-value]

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
        distances = self.distances(place.index, load.index, loops, writer.label, at)
        if distances is None:  # never the same element
            return False
        for loop in loops:
            distance = distances.get(loop.label)
            if distance is None or distance > 0:
                return True
            if distance < 0:
                return False
        return textual

    def distances(
        self, write: tuple[Expr, ...], read: tuple[Expr, ...], loops: list[For | While], writer: int, at: int
    ) -> dict[int, int] | None:
        """How many iterations after the read each loop must be for both to meet in one element; None if they can't."""
        out: dict[int, int] = {}
        for w, r in zip(write, read, strict=False):
            if not (self.never_negative(w, writer) and self.never_negative(r, at)):
                continue  # x[-1] is x[n - 1]: two indices may differ and mean one element
            (terms_w, constant_w), (terms_r, constant_r) = affine.affine(w), affine.affine(r)
            moving_w = self.moving(terms_w, loops)
            moving_r = self.moving(terms_r, loops)
            fixed_w = tuple(t for t in terms_w if t not in moving_w)
            fixed_r = tuple(t for t in terms_r if t not in moving_r)
            if fixed_w != fixed_r or len(moving_w) > 1 or moving_w != moving_r:
                continue
            gap = constant_r - constant_w  # count * (i_write - i_read) == gap
            if not moving_w:
                if gap != 0:
                    return None
                continue
            ((term, count),) = moving_w
            loop = next((x for x in loops if _index_of(x) == term), None)
            if loop is None:
                continue
            stride = loop.step.value if isinstance(loop, For) and isinstance(loop.step, Const) else None
            if isinstance(loop, While):
                stride = 1
            if gap == 0:
                distance: int | None = 0
            elif stride is None:
                continue
            elif gap % (count * stride):
                return None
            else:
                distance = gap // (count * stride)
            if loop.label in out and out[loop.label] != distance:
                return None
            out[loop.label] = distance  # type: ignore[assignment]
        return out

    def never_negative(self, index: Expr, at: int) -> bool:
        """Provably >= 0: with the bounds of the loops around `at` in place of their indices."""
        loops = {_index_of(loop): loop for loop in self.loops_around(self.block_of(at))}
        for _ in range(12):
            terms, constant = affine.affine(index)
            if constant >= 0 and all(c > 0 and affine.is_at_least(t, 0) for t, c in terms):
                return True
            for term, count in terms:
                bound = self.bound(term, loops, lower=count > 0)
                if bound is not None:
                    rest = affine.from_affine(tuple(x for x in terms if x[0] != term), constant)
                    index = affine.add(rest, affine.mul(affine.integer(count), bound))
                    break
            else:
                return False
        return False

    def bound(self, term: Expr, loops: dict[Any, For | While], lower: bool) -> Expr | None:
        """The least or greatest value of a loop index, or what a variable set once was set to."""
        if term in loops:
            loop = loops[term]
            if isinstance(loop, While):
                return affine.ZERO if lower else None
            if not isinstance(loop.step, Const):
                return None
            if loop.step.value > 0:
                return loop.start if lower else affine.sub(loop.stop, affine.ONE)
            return affine.add(loop.stop, affine.ONE) if lower else loop.start
        made = self.assigned_once.get(term)  # type: ignore[call-overload]
        return made if made is not None and made.dtype == INT64 and not loads(made) else None

    def moving(self, terms: tuple[tuple[Expr, int], ...], loops: list[For | While]) -> tuple[tuple[Expr, int], ...]:
        """The terms that can differ between two iterations of the common loops, or between two runs inside them."""
        out = []
        for term, count in terms:
            if isinstance(term, Dim):
                continue
            if not isinstance(term, Var) or self.is_changed_within(term, loops):
                out.append((term, count))
        return tuple(out)

    def is_changed_within(self, var: Var, loops: list[For | While]) -> bool:
        outer = loops[0].label if loops else None
        if outer is None:
            # not in a common loop: an index of a loop that is not shared, or a variable assigned more than once
            return sum(var.name in self.changed[s.label] for s in self.blocks[ROOT]) > 1 or self.is_index(var)
        return var.name in self.changed[outer] or self.is_index(var)

    def is_index(self, var: Var) -> bool:
        return var in self.indices

    # ------------------------------------------------------------------------------------------- rectangles

    def rectangle(self, loops: list[For | While]) -> tuple[Expr, ...] | None:
        """The trip counts of nested loops, if all are known ahead of the outermost one."""
        shape = []
        for loop in loops:
            if isinstance(loop, While):
                return None
            if not all(self.is_known_ahead(e, loops) for e in (loop.start, loop.stop, loop.step)):
                return None
            shape.append(self.trips(loop))
        return tuple(shape)

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


def _place_of(stmt: Stmt) -> Load | None:
    match stmt:
        case Store(array=array, index=index):
            return Load(array, index)
        case AddTo(target=Load() as place):
            return place
    return None


def _index_of(loop: Stmt) -> Var | None:
    return loop.index if isinstance(loop, For) else loop.trip if isinstance(loop, While) else None
