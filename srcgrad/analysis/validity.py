"""What is still true of the forward part when the sweep runs: births of versions, and what may overwrite what.

Two accesses of one memory are told apart by their indices: `A[i - 1]` read at iteration i is not written at any later
iteration by `A[i]`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import affine
from ..ir.expressions import Array, Call, Const, Dim, Expr, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, Block, For, Stmt, Store, Swap, View, While
from ..ir.walk import expressions, loads, statements, subexpressions, substitute, targets, variables
from .labelled import END, ROOT, Key, Labelled, Place, Version, index_of
from .signs import Signs, extremes


class Forward(Labelled):
    """Answers about the labelled forward part."""

    def __init__(self, body: Block, roots: dict[str, str], signs: Signs) -> None:
        super().__init__(body, roots, signs)
        self._valid: dict[tuple[Load, int, bool], bool] = {}
        self._small: dict[str, frozenset[int]] = {}

    # -------------------------------------------------------------------------------------------------------- scalars

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

    # --------------------------------------------------------------------------------------------------------- memory

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

    def element_is_valid_within(self, load: Load, at: int, written_here: bool = False) -> bool:
        """Would the memory hold the value, if every iteration around its allocation had memory of its own?"""
        made = self.alloc_of(load.array)
        if made is None:
            return False
        depth = len(self.loops_around(self.position[made.label][0]))
        inner = len(self.loops_around(self.block_of(at))) - depth
        if inner < load.array.ndim:  # few elements are wanted of it: they are kept alone
            return False
        writers = self.writers.get(self.root(load.array), [])
        return not any(self.may_overwrite(w, load, at, written_here, depth) for w in writers)

    def goes_over_within(self, load: Load, at: int) -> bool:
        """Do the loops from its allocation on come to about all of its elements?"""
        made = self.alloc_of(load.array)
        assert made is not None
        depth, loops = len(self.loops_around(self.position[made.label][0])), self.loops_around(self.block_of(at))
        return self.go_over(load, loops[:depth], loops[depth:])

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

    def snapshot_place(self, load: Load, at: int) -> Place | None:
        """Where the whole array can be kept, to be read many times: ahead of the read or behind it, unchanged between.

        None where it changes too often for that: within the loops that run over its elements.
        """
        return self.place_ahead(load, at) or self.place_behind(load, at)

    def place_ahead(self, load: Load, at: int) -> Place | None:
        array = load.array
        place = self.birth(Var(self.root(array)), at)
        if array.name != self.root(array):
            place = self.view_place(array, place)
        if place is None:
            return None
        around, loops = len(self.loops_around(place.block)), self.loops_around(self.block_of(at))
        outer, inner = loops[:around], loops[around:]
        if not self.lives_on(array) and not self.nest_run_again(self.block_of(at)):
            in_turn = all(isinstance(loop, While) or loop.ordered for loop in outer)
            if not in_turn or len(inner) <= array.ndim:  # (no more values than elements: each has a place)
                return None
        return place if self.go_over(load, outer, inner) else None

    def place_behind(self, load: Load, at: int) -> Place | None:
        """Just after a nest that leaves its elements alone once it has read them, and that runs nobody knows how often.

        There memory has to grow; elsewhere each of its iterations has a place of its own for what it reads.
        """
        nest = self.nest_run_again(self.block_of(at))
        loops = self.loops_around(self.block_of(at))
        if not nest:
            return None
        array, first = load.array, nest[0].label
        outer = loops[: len(loops) - len(nest)]
        if array.name != self.root(array) or array.name in self.growing or not self.run_over(array, outer, list(nest)):
            return None
        inside = lambda stmt: any(key[0] == first for key, _ in self.path(stmt.label))
        writers = [stmt for stmt in self.writers.get(array.name, []) if inside(stmt)]
        if any(map(inside, self.allocs.get(array.name, []))):
            return None
        if any(self.may_overwrite(stmt, load, at, depth=len(outer)) for stmt in writers):
            return None
        return Place(self.block_of(first), first)

    def place_ahead_of_writes(self, load: Load, at: int) -> Place | None:
        """Ahead of a loop that writes elements only when they have been read, and reads more values than there are.

        `for i: for k: s += b[i + k + 1] …; b[i] = s`: all that is read is what the array was ahead of the loop.
        """
        array, loops = load.array, self.loops_around(self.block_of(at))
        if array.name != self.root(array) or array.name in self.growing:
            return None
        for depth, loop in enumerate(loops[: max(len(loops) - array.ndim, 0)]):
            inside = lambda stmt, label=loop.label: any(key[0] == label for key, _ in self.path(stmt.label))
            writers = [stmt for stmt in self.writers.get(array.name, []) if inside(stmt)]
            is_made_there = any(map(inside, self.allocs.get(array.name, [])))
            if is_made_there or not self.go_over(load, loops[:depth], loops[depth:]):
                continue
            if not any(self.may_have_written(stmt, load, at, depth) for stmt in writers):
                return Place(self.block_of(loop.label), -loop.label)
        return None

    def may_have_written(self, writer: Stmt, load: Load, at: int, depth: int) -> bool:
        """Can it have met the element ahead of the read, in the same iteration of the `depth` outer loops?"""
        loops, textual = self.common(writer.label, at)
        place = _place_of(writer)
        if place is None or place.array.name != load.array.name:
            return True
        meeting = self.meeting(place.index, load.index, loops[depth:], writer.label, at)
        if meeting is None:
            return False
        found, _ = meeting
        for loop in loops[depth:]:
            index = index_of(loop)
            if not isinstance(loop, For) or not isinstance(loop.step, Const) or index not in found:
                return True
            gap = affine.mul(affine.integer(1 if loop.step.value > 0 else -1), affine.sub(found[index], index))
            if self.is_at_most(affine.sub(affine.ZERO, gap), -1, at):
                return False  # it comes to the element in a later iteration
            if affine.difference(found[index], index) != 0:
                return True
        return not textual

    def go_over(self, load: Load, outer: list[For | While], inner: list[For | While]) -> bool:
        """Do the inner loops read about as many elements as the array has?  They do if they run over its axes.

        They don't where they are too few, or of a known length while the array is not; nor, as far as one can tell,
        where they read another part of it in each iteration of the outer ones: y[n - k] for the last k of a filter.
        """
        if self.run_over(load.array, outer, inner, self.small_axes(load.array)):
            return True
        unknown = [loop for loop in inner if isinstance(loop, While) or not isinstance(self.trips(loop), Const)]
        long = [dim for dim in load.array.dims if not isinstance(dim, Const)]
        if len(inner) < load.array.ndim or len(unknown) < len(long):
            return False
        return not outer or not any(self.moves(part, outer, inner, set()) for part in load.index)

    def small_axes(self, array: Array) -> frozenset[int]:
        """Axes of which each place has a number in the program, 0 to 3 say, and is one of a loop of so many: q[3, i, j]
        beside `for c in range(4): q[c, i, j] += …`.  That loop says how long the axis is, as far as one can tell.
        """
        if array.name not in self._small:
            axes = range(array.ndim) if array.ndim > 1 else ()
            self._small[array.name] = frozenset(axis for axis in axes if self._is_small(array.name, axis))
        return self._small[array.name]

    def _is_small(self, name: str, axis: int) -> bool:
        named: set[int] = set()
        counts: set[int] = set()
        for stmt in self.statement.values():
            if isinstance(stmt, View) and stmt.base.name == name:
                return False
            places = [load for expr in expressions(stmt) for load in loads(expr)] + [_place_of(stmt)]
            for index in (place.index[axis] for place in places if place is not None and place.array.name == name):
                if isinstance(index, Const):
                    named.add(index.value)
                elif isinstance(index, Var) and (count := self._count_of(index, stmt)) is not None:
                    counts.add(count)
                else:
                    return False
        return len(counts) == 1 and named == set(range(*counts))

    def _count_of(self, index: Var, stmt: Stmt) -> int | None:
        """How many numbers from 0 on the index of a loop around is, where the program says so."""
        around = self.loops_around(self.block_of(stmt.label))
        loop = next((loop for loop in around if isinstance(loop, For) and loop.index == index), None)
        trips = self.trips(loop) if loop is not None and affine.same(loop.start, affine.ZERO) else None
        return trips.value if isinstance(trips, Const) else None

    def run_over(
        self, array: Array, outer: list[For | While], inner: list[For | While], small: frozenset[int] = frozenset()
    ) -> bool:
        """Is each axis as long as one of the loops, or longer by the indices of outer ones, as in an elimination?

        Or as long as that gets in the outer ones: `for k in range(n): for i in range(k)`.
        """
        left = [loop for loop in inner if isinstance(loop, For)]
        most = {loop.index: extremes(loop)[1] for loop in outer if isinstance(loop, For)}
        for axis, dim in enumerate(array.dims):
            if axis in small:
                continue
            found = next((loop for loop in left if self._is_as_long(loop, dim, most)), None)
            if found is None:
                return False
            left.remove(found)
        return True

    def _is_as_long(self, loop: For, dim: Expr, most: dict[Var, Expr]) -> bool:
        """`most`: what the indices of outer loops are at most."""
        count = self.trips(loop)
        if isinstance(count, Call) and count.op == "maximum":
            count = count.args[0]
        longest = affine.normal(substitute(count, most))
        return any(self._differ_little(dim, length, set(most)) for length in (count, longest))

    def _differ_little(self, dim: Expr, count: Expr, indices: set[Var]) -> bool:
        parts = set(subexpressions(affine.normal(affine.sub(dim, count)))) - indices
        lengths = [part for part in parts if isinstance(part, Dim)]
        is_square = len(lengths) == 2 and lengths[0].array == lengths[1].array  # as far as one can tell
        return all(isinstance(part, (Const, Call, Dim)) for part in parts) and (not lengths or is_square)

    def moves(self, index: Expr, outer: list[For | While], inner: list[For | While], seen: set[Var]) -> bool:
        """Does what the inner loops make of an index depend on the iteration of the outer ones?"""
        for var in variables(index) - seen:
            seen.add(var)
            over = [loop for loop in inner if isinstance(loop, For) and loop.index == var]
            if over:
                parts: list[Expr] = [over[0].start, over[0].stop, over[0].step]
            elif var.name not in self.changed[outer[0].label]:
                continue
            elif not any(var in targets(stmt) for stmt in statements((inner[0],))):
                return True
            else:
                writers = [stmt for stmt in statements((outer[0],)) if var in targets(stmt)]
                if not all(isinstance(stmt, (Assign, AddTo)) for stmt in writers):
                    return True
                parts = [part for stmt in writers for part in expressions(stmt)]
            if any(self.moves(part, outer, inner, seen) for part in parts):
                return True
        return False

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

    def is_as_it_was(self, load: Load, at: int, place: Place) -> bool:
        """Does the element hold, just before `at`, what it held at a place of a block around it?

        What stands in between leaves the array alone, and the loops around `at` set each element in its own iteration.
        """
        numbers = dict(self.path(at))
        if place.block not in numbers:
            return False
        last = numbers[place.block]
        first = 0 if place.label is None else self.position[place.label][1] + 1
        block, root = self.blocks[place.block], self.root(load.array)
        if not first <= last < len(block) or any(root in self.changed[stmt.label] for stmt in block[first:last]):
            return False
        inner = self.loops_around(self.block_of(at))[len(self.loops_around(place.block)) :]
        own = {loop.index for loop in inner if isinstance(loop, For)} & set(load.index)
        used = set().union(*map(variables, load.index))
        if len(own) < len(inner) or not all(v in own or self.is_steady(v) for v in used):
            return False
        if not all(self.never_negative(index, at) for index in own):
            return False  # y[-1] is the last one too: it is met twice
        for writer in self.writers.get(root, []):
            if block[last].label not in {key[0] for key, _ in self.path(writer.label)} | {writer.label}:
                continue
            loops, follows = self.common(writer.label, at)
            goes = _place_of(writer)
            if goes is None or goes.array != load.array or not follows:
                return False
            places = [x for x, y in zip(goes.index, load.index, strict=True) if x == y]
            around_both = loops[len(self.loops_around(place.block)) :]
            if any(isinstance(loop, While) or loop.index not in places for loop in around_both):
                return False
        return True

    def can_follow(self, writer: Stmt, at: int) -> bool:
        """Can the writer run at or after this run of `at`?"""
        loops, textual = self.common(writer.label, at)
        return textual or bool(loops)

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
        meeting = self.meeting(write, read, loops, writer, at)
        if meeting is None:
            return None
        found, most = meeting
        own = self.loops_around(self.block_of(writer))
        out: dict[int, list[Expr]] = {}
        for loop in loops:
            index = index_of(loop)
            step = 1 if isinstance(loop, While) else loop.step.value if isinstance(loop.step, Const) else None
            if step is None or index is None:
                continue
            if index in found:
                gap = affine.difference(found[index], index)
                if gap is not None and gap % step and isinstance(loop, For) and self.is_steady(loop.start):
                    return None  # (it is stepped through in the same places each time)
            bounds = [found[index]] if index in found else self.upper_bounds(index, found, own, step)
            bounds += most.get(index, []) if step > 0 else []
            out[loop.label] = [affine.mul(affine.integer(1 if step > 0 else -1), affine.sub(b, index)) for b in bounds]
        return out

    def meeting(
        self, write: tuple[Expr, ...], read: tuple[Expr, ...], loops: list[For | While], writer: int, at: int
    ) -> tuple[dict[Var, Expr], dict[Var, list[Expr]]] | None:
        """The indices with which the writer meets the element that is read: what they are, and are at most.

        They are expressions of the read's indices; None where the two never meet.
        """
        own = self.loops_around(self.block_of(writer))
        found: dict[Var, Expr] = {}  # the writer's indices, said in those of the read
        most: dict[Var, list[Expr]] = {}  # what they are at most
        for w, r in zip(write, read, strict=False):
            if not (self.never_negative(w, writer) and self.never_negative(r, at)):
                continue  # x[-1] is x[n - 1]: two indices may differ and mean one element
            (terms, constant), (terms_r, constant_r) = affine.affine(w), affine.affine(r)
            moving = [(t, c) for t, c in terms if not self.is_steady(t)]
            if not moving:
                if terms == terms_r and constant != constant_r:
                    return None
                continue
            if loads(r):
                continue
            for var, bound in self.from_below(w, r, loops, writer):
                most.setdefault(var, []).append(bound)
            if len(moving) > 1:
                continue
            ((term, count),) = moving
            steady = tuple(t for t in terms if t not in moving)
            if not isinstance(term, Var) or all(index_of(loop) != term for loop in own):
                continue
            if abs(count) == 1:
                value = affine.mul(affine.integer(count), affine.sub(r, affine.from_affine(steady, constant)))
            elif any(index_of(loop) == term for loop in loops) and terms == terms_r:
                if (constant_r - constant) % count:
                    return None
                value = affine.add(term, affine.integer((constant_r - constant) // count))
            else:
                continue
            if term in found and self.differ(found[term], value, at):
                return None
            found.setdefault(term, value)
        return None if self.is_outside(found, own, at) else (found, most)

    def from_below(self, write: Expr, read: Expr, loops: list[For | While], writer: int) -> Iterator[tuple[Var, Expr]]:
        """What an index of a common loop is at most: k <= r - 1 where w[k + at + 1] is written, and w[r] is read."""
        if isinstance(write, Var):
            write = self.bound(write, {}, True, writer) or write
        terms, constant = affine.affine(write)
        for loop in loops:
            index = index_of(loop)
            if index is None or dict(terms).get(index) != 1:
                continue
            rest = tuple(item for item in terms if item[0] != index)
            if self.never_negative(affine.from_affine(rest, 0), writer):
                yield index, affine.sub(read, affine.integer(constant))
            elif self.never_negative(affine.from_affine(rest, constant), writer):
                yield index, read

    def differ(self, x: Expr, y: Expr, at: int) -> bool:
        """Provably never the same number where `at` runs: i and k under `for k in range(j): … for i in range(j, n)`."""
        return any(self.is_at_most(affine.sub(a, b), -1, at) for a, b in ((x, y), (y, x)))

    def is_outside(self, found: dict[Var, Expr], own: list[For | While], at: int) -> bool:
        """Is one of the writer's indices, as it would have to be, outside the range of its loop?"""
        for loop in own:
            index = index_of(loop)
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
            inner = index_of(loop)
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


def _place_of(stmt: Stmt) -> Load | None:
    match stmt:
        case Store(array=array, index=index):
            return Load(array, index)
        case AddTo(target=Load() as place):
            return place
    return None


__all__ = ["END", "ROOT", "Forward", "Place", "Version"]
