"""Arrays that the sweep can fill again as the forward part did in the same iteration: cheaper than to keep them.

for t in range(steps):                           sweep for t:
    for i in range(1, n): k[i] = x[i] * y[i - 1]     for i in range(1, n): k_then[i] = x[i] * y_kept[t, i - 1]
    for i in range(1, n): z[i] = y[i] + k[i]         for i in range(1, n): z_then[i] = y_kept[t, i] + k_then[i]
    … g(z) …                                         … z_then …
    y = …

What such an array is made of is still there, is kept anyway because the sweep itself reads it, or is filled again too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...analysis.costs import DIVISIONS, KEEP_BESIDE, KEEP_IN_LOOP, Costs
from ...analysis.decided_once import Decided
from ...analysis.overwritten import Box, covers, end_of
from ...analysis.validity import Forward, Place
from ...ir import affine
from ...ir.expressions import INT64, Array, Call, Expr, Load, Old, OldArray, Var
from ...ir.info import elementwise
from ...ir.names import Names
from ...ir.nodes import AddTo, Alloc, Assign, Block, CopyTo, For, Invoke, Library, Stmt, Store, View
from ...ir.walk import (
    children,
    expressions,
    loads,
    map_expressions,
    rebuild,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    variables,
)
from ...rules.costs import cost


@dataclass(frozen=True)
class Refill:
    """The statements of one block that fill an array, from nothing or from one number; what else they do is left out.

    `reads`: what they read of other arrays, each with the statement that reads it.
    """

    array: Array
    place: Place
    start: Expr | None
    stmts: Block
    reads: tuple[tuple[Load, int], ...]

    @property
    def assigned(self) -> set[Var]:
        return {stmt.var for stmt in statements(self.stmts) if isinstance(stmt, Assign)}

    @property
    def used(self) -> set[Var]:
        return set().union(*(variables(expr) for stmt in statements(self.stmts) for expr in expressions(stmt)))

    @property
    def cost(self) -> float:
        """What an element costs at most, in additions: it is set by one of the loops, and changed by others."""
        sets, changes = [0.0], 0.0
        for stmt in self.stmts:
            if isinstance(stmt, For):
                own, is_change = self._cost_of(stmt)
                changes += own if is_change else 0.0
                sets += () if is_change else (own,)
        return max(sets) + changes

    def _cost_of(self, loop: For) -> tuple[float, bool]:
        """The cost of an iteration, and whether it needs what is in the array already."""
        inner = [stmt for stmt in statements((loop,)) if not isinstance(stmt, For)]
        nodes = [node for stmt in inner for expr in expressions(stmt) for node in subexpressions(expr)]
        adds = sum(isinstance(stmt, AddTo) for stmt in inner)
        calls = (node for node in nodes if isinstance(node, Call) and node.dtype != INT64)  # indices are counted along
        is_change = adds > 0 or any(isinstance(node, Load) and node.array == self.array for node in nodes)
        return adds + sum(map(cost, calls)), is_change


class _NoRefillError(Exception):
    """It can't be cut out of what stands around it."""


class Refills:
    """Which arrays are filled again.  `demanded`: what the sweep reads of the forward part, and from which place on."""

    def __init__(self, forward: Forward, costs: Costs, decided: Decided, names: Names, sweep: Block) -> None:
        self.forward, self.costs, self.decided, self.names = forward, costs, decided, names
        self.demanded: set[tuple[str, Place | None]] = set()
        self.snapshots: dict[tuple[str, Place | None], None] = {}  # of these, in order, what is kept as a whole
        self.plans: dict[tuple[str, Place], tuple[Refill, ...] | None] = {}
        self.note_demands(sweep)

    def note_demands(self, sweep: Block) -> None:
        for stmt in statements(sweep):
            read = (node for e in expressions(stmt) for node in subexpressions(e) if isinstance(node, Old))
            for load, at in ((load, old.at) for old in read for load in loads(old.expr)):
                born = self.born(load.array, at)
                self.demanded.add((load.array.name, born))
                if self.forward.element_is_valid(load, at) or self.forward.element_is_valid_within(load, at):
                    continue
                place = self.forward.snapshot_place(load, at)
                if place is not None:
                    self.demanded.add((load.array.name, place))
                    self.snapshots[load.array.name, place] = None
            if isinstance(stmt, (Library, Invoke)):
                olds = [(a.array, a.at) for a in stmt.args if isinstance(a, OldArray)]
                wholes = [(a.name, self.born(a, at)) for a, at in olds if a.name == self.forward.root(a)]
                self.demanded |= set(wholes)
                self.snapshots |= dict.fromkeys(wholes)

    def snapshots_of(self, array: Array) -> list[Place]:
        """From where on the array is kept as a whole."""
        places = (place for name, place in self.snapshots if name == array.name and place is not None)
        return [place for place in places if self.plan(array, place) is None]

    def born(self, array: Array, at: int) -> Place | None:
        return self.forward.birth(Var(self.forward.root(array)), at)

    def plan(self, array: Array, place: Place | None) -> tuple[Refill, ...] | None:
        """What is to be filled, one after the other, to have the array as it is from that place on."""
        if place is None or place.label is None or not self.forward.loops_around(place.block):
            return None
        if (array.name, place) not in self.plans:
            self.plans[array.name, place] = None  # (nothing is made of itself)
            self.plans[array.name, place] = self._plan(array, place)
        return self.plans[array.name, place]

    def _plan(self, array: Array, place: Place) -> tuple[Refill, ...] | None:
        own = self.cut_out(array, place)
        if own is None or any(self.is_open(stmt, array) for stmt in statements(own.stmts)):
            return None
        around = {key for key, _ in self.forward.path(own.stmts[0].label)}
        steps: dict[tuple[str, Place], Refill] = {}
        beside = False
        for load, at in own.reads:
            if self.forward.element_is_valid(load, at):
                continue
            born = self.born(load.array, at)
            if born is None or born.block not in around or load.array.name == array.name:
                return None
            made = self.plan(load.array, born)
            if made is not None:
                steps |= {(one.array.name, one.place): one for one in made}
            elif (load.array.name, born) not in self.demanded:
                return None
            elif not (self.forward.element_is_valid_within(load, at) or (load.array.name, born) in self.snapshots):
                return None
            beside |= made is None
        limit = KEEP_BESIDE if beside or steps else KEEP_IN_LOOP
        for key, one in tuple(steps.items()):
            others = [load for step in steps.values() for load, _ in step.reads]
            if key not in self.demanded and all(load.array != one.array for load in others):
                merged = self.merged(own, one)
                if merged is not None:
                    own = merged
                    del steps[key]
        helpers = [one for key, one in steps.items() if key not in self.demanded]
        if own.cost + sum(one.cost for one in helpers) > limit:
            return None
        return (*steps.values(), own)

    def is_open(self, stmt: Stmt, array: Array) -> bool:
        """Might what the array decides be decided otherwise when it is filled again?"""
        values = [stmt.value] if isinstance(stmt, (AddTo, Assign, Store)) else []
        is_sum = isinstance(stmt, AddTo) and stmt.reorder and array.name in self.decided.names
        return is_sum or any(self.decided.is_open_in(array.name, value, stmt.label) for value in values)

    # ---------------------------------------------------------------------------------------------------- cutting

    def cut_out(self, array: Array, place: Place) -> Refill | None:
        """The shortest run of statements up to a place that sets every element of the array before anybody reads it."""
        forward = self.forward
        if array.name != forward.root(array) or place.label is None:
            return None
        key, last = forward.position[place.label]
        found: list[Stmt] = []
        needed: set[Var] = set()
        handed: dict[int, Var] = {}
        left_out: set[str] = set()  # handles that the forward part makes on the way
        try:
            for stmt in reversed(forward.blocks[key][: last + 1]):
                if isinstance(stmt, Alloc) and stmt.array == array:
                    is_clean = stmt.fill is not None and found and not handed
                    return self.refill(array, place, stmt.fill, found, needed, left_out) if is_clean else None
                before = len(found)
                self.cut(stmt, array, found, needed, handed)
                left_out |= {s.array.name for s in statements((stmt,)) if isinstance(s, View)}
                if len(found) > before:
                    tuple(self.regions(found[0], {}))  # each element is set where it can be told
                if not handed and self.is_filled(array, found):
                    return self.refill(array, place, None, found, needed, left_out)
        except _NoRefillError:
            pass
        return None

    def refill(
        self,
        array: Array,
        place: Place,
        start: Expr | None,
        stmts: list[Stmt],
        needed: set[Var],
        left_out: set[str],
    ) -> Refill | None:
        """`needed`: variables that are read before any of the statements sets them, if one does; `left_out`: arrays
        that would be others by the time of the sweep."""
        reads: list[tuple[Load, int]] = []
        needs: list[tuple[Var, int]] = []
        inner = statements(tuple(stmts))
        own = {s.index if isinstance(s, For) else s.var for s in inner if isinstance(s, (For, Assign))}
        if own & needed:
            return None
        for stmt in inner:
            for expr in expressions(stmt):
                reads += ((load, stmt.label) for load in loads(expr) if load.array.name != array.name)
                needs += ((var, stmt.label) for var in variables(expr) - own)
        if any(self.costs.cost(var, at) > 1 for var, at in needs):
            return None
        if any(load.array.name in left_out for load, _ in reads):
            return None
        calls = (n for s in inner for e in expressions(s) for n in subexpressions(e) if isinstance(n, Call))
        if any(call.dtype == INT64 and call.op in DIVISIONS for call in calls):
            return None  # it does not vectorise
        if not all(self.costs.is_free(v, stmts[0].label) for v in set().union(*map(variables, array.dims))):
            return None
        return Refill(array, place, start, tuple(stmts), tuple(reads))

    def cut(self, stmt: Stmt, array: Array, out: list[Stmt], needed: set[Var], handed: dict[int, Var]) -> None:
        """Put ahead of `out` what of a statement sets elements of the array, or what is wanted of it by then.

        That is the `needed` variables, and elements that it hands over to a later statement of its block: `handed` has
        the numbers that they become, by the statement that makes them.
        """
        changed = self.forward.changed[stmt.label]
        match stmt:
            case Store(array=target) | AddTo(target=Load(array=target)) if target.name == array.name:
                own: Stmt = stmt
            case Assign(var=var) if var in needed:
                own = stmt
                needed.discard(var)
            case Store(value=value) if stmt.label in handed:
                own = Assign(handed.pop(stmt.label), value, label=stmt.label)
            case CopyTo(target=target, source=source) if target.name == array.name and source.dtype == array.dtype:
                out.insert(0, self.copied(array, source, stmt.label))
                return
            case For() if array.name in changed:
                body: list[Stmt] = []
                inner: set[Var] = set()
                theirs: dict[int, Var] = {}
                for part in reversed(stmt.body):
                    self.cut(part, array, body, inner, theirs)
                if theirs:
                    raise _NoRefillError
                inner -= {stmt.index}
                carried = {v.name for v in inner | needed} & changed  # from one iteration to the next, or to later ones
                if carried or any(loads(e) for e in (stmt.start, stmt.stop)):
                    raise _NoRefillError
                needed |= inner | variables(stmt.start) | variables(stmt.stop)
                out.insert(0, replace(stmt, body=tuple(body)))
                return
            case _:
                if array.name in changed or {v.name for v in needed} & changed:
                    raise _NoRefillError
                return
        own = self.with_numbers(own, array, handed)
        needed |= set().union(*map(variables, expressions(own))) - set(handed.values())
        out.insert(0, own)

    def copied(self, array: Array, source: Array, label: int) -> Stmt:
        """A copy as loops that do it."""
        if self.forward.root(source) == array.name or not array.ndim:
            raise _NoRefillError
        loops = self.forward.loops_around(self.forward.block_of(label))
        around = frozenset((loop.index if isinstance(loop, For) else loop.trip).name for loop in loops)
        nest = elementwise(array, array.dims, lambda i: Load(source, i), self.names, around)
        return rewrite_block((nest,), lambda s: (replace(s, label=label),))[0]

    def with_numbers(self, stmt: Stmt, array: Array, handed: dict[int, Var]) -> Stmt:
        """The statement, with numbers for elements of other arrays that an earlier one of its block has just set."""

        def number(expr: Expr) -> Expr:
            if not isinstance(expr, Load) or self.forward.root(expr.array) == array.name:
                return expr
            born = self.born(expr.array, stmt.label)
            if born is None or born.label is None or born.block != self.forward.block_of(stmt.label):
                return expr
            maker = self.forward.statement[born.label]
            steady = all(self.costs.is_free(v, stmt.label) for v in set().union(*map(variables, expr.index)))
            if isinstance(maker, Store) and maker.array == expr.array and maker.index == expr.index and steady:
                return handed.setdefault(maker.label, Var(self.names.fresh(f"{expr.array.name}_now"), expr.dtype))
            return expr

        return replace(stmt, value=rewrite(stmt.value, number)) if isinstance(stmt, (Assign, Store, AddTo)) else stmt

    # ---------------------------------------------------------------------------------------------------- merging

    def merged(self, own: Refill, helper: Refill) -> Refill | None:
        """One refill of two, where each element needs just the one of the helper that has its own index.

        for i in range(1, n): k[i] = x[i] * y[i - 1]
        for i in range(n):    z[i] = y[i] + k[i]         →  for i in range(1, n): z[i] = y[i] + x[i] * y[i - 1]
        """
        is_of = lambda load, at: load.array == helper.array and self.born(load.array, at) == helper.place
        if any(load.array == own.array for load, _ in helper.reads) or helper.start is not None:
            return None
        if any(load.array == helper.array and not is_of(load, at) for load, at in own.reads):
            return None
        if own.assigned & helper.used or helper.assigned & own.used:
            return None
        stmts: list[Stmt] = []
        for stmt in own.stmts:
            asked = {load for s in statements((stmt,)) for e in expressions(s) for load in loads(e)}
            asked = {load for load in asked if load.array == helper.array}
            if not asked:
                stmts.append(stmt)
                continue
            if not (isinstance(stmt, For) and _sets_by_index(stmt, own.array) and own.array.dims == helper.array.dims):
                return None
            is_whole = affine.same(stmt.start, affine.ZERO) and _reaches(stmt.stop, helper.array.dims[0])
            if not is_whole or asked != {Load(helper.array, (stmt.index,))}:
                return None
            for part in helper.stmts:
                piece = self.piece(stmt, part, helper.array)
                if piece is None:
                    return None
                stmts += piece
        reads = [(load, at) for load, at in own.reads if load.array != helper.array]
        return replace(own, stmts=tuple(stmts), reads=(*helper.reads, *reads))

    def piece(self, loop: For, part: Stmt, array: Array) -> Block | None:
        """The iterations of a loop for those elements that a part of a helper makes, together with it."""
        number = Var(self.names.fresh(f"{array.name}_now"), array.dtype)
        values: dict[Expr, Expr] = {Load(array, (loop.index,)): number}
        if isinstance(part, Store):
            (at,) = part.index
            if not affine.is_at_least(at, 0) and affine.difference(at, array.dims[0]) != -1:
                return None  # it may be counted from the end
            values[loop.index] = at
            return (Assign(number, part.value, label=part.label), *(_with(s, values) for s in loop.body))
        if not (isinstance(part, For) and part.index == loop.index and _sets_by_index(part, array)):
            return None
        *before, last = part.body
        assert isinstance(last, Store)
        body = (*before, Assign(number, last.value, label=last.label), *(_with(s, values) for s in loop.body))
        return (replace(part, body=body),)

    # --------------------------------------------------------------------------------------------------- coverage

    def is_filled(self, array: Array, stmts: list[Stmt]) -> bool:
        """Is every element set, and none read before?"""
        regions: list[Box] = []
        births: dict[Var, Place | None] = {}
        for stmt in stmts:
            inner = statements((stmt,))
            reads = any(load.array.name == array.name for s in inner for e in expressions(s) for load in loads(e))
            if (reads or any(isinstance(s, AddTo) for s in inner)) and not covers(regions, array.dims):
                return False
            for region, at in self.regions(stmt, {}):
                regions.append(region)
                for var in set().union(*(variables(end) for ends in region for end in ends)):
                    if births.setdefault(var, self.forward.birth(var, at)) != self.forward.birth(var, at):
                        raise _NoRefillError  # it is another number by now
        return covers(regions, array.dims)

    def regions(self, stmt: Stmt, ranges: dict[Var, tuple[Expr, Expr]]) -> Iterator[tuple[Box, int]]:
        match stmt:
            case For(index=index, start=start, stop=stop, step=step, body=body):
                if affine.same(step, affine.integer(-1)):
                    start, stop = affine.add(stop, affine.ONE), affine.add(start, affine.ONE)
                elif step != affine.ONE:
                    raise _NoRefillError
                if (variables(start) | variables(stop)) & set(ranges):
                    raise _NoRefillError
                for inner in body:
                    yield from self.regions(inner, ranges | {index: (start, end_of(stop, start))})
            case Store(index=parts) | AddTo(target=Load(index=parts)):
                yield _region(parts, ranges), stmt.label


def _sets_by_index(loop: For, array: Array) -> bool:
    """Does iteration i do nothing but set element i, of what is not in the array?"""
    *before, last = loop.body
    reads = (load for stmt in loop.body for expr in expressions(stmt) for load in loads(expr))
    is_straight = all(isinstance(stmt, Assign) for stmt in before) and all(load.array != array for load in reads)
    return loop.step == affine.ONE and is_straight and isinstance(last, Store) and last.index == (loop.index,)


def _with(stmt: Stmt, values: dict[Expr, Expr]) -> Stmt:
    def swap(expr: Expr) -> Expr:
        parts = children(expr)
        return values[expr] if expr in values else rebuild(expr, tuple(map(swap, parts))) if parts else expr

    return map_expressions(stmt, swap)


def _region(parts: tuple[Expr, ...], ranges: dict[Var, tuple[Expr, Expr]]) -> Box:
    """Where a store goes, in the course of the loops around it."""
    out: list[tuple[Expr, Expr]] = []
    left = set(ranges)
    for part in parts:
        own = variables(part) & left
        if len(own) > 1 or loads(part) or variables(part) & (set(ranges) - left):
            raise _NoRefillError
        if not own:
            out.append((part, affine.add(part, affine.ONE)))
            continue
        (index,) = own
        offset = affine.sub(part, index)
        start, stop = ranges[index]
        if index in variables(offset):
            raise _NoRefillError
        left.discard(index)
        out.append((affine.add(start, offset), affine.add(stop, offset)))
    if left:  # elements are set over and over: each costs more than it seems
        raise _NoRefillError
    return tuple(out)


def _reaches(high: Expr, dim: Expr) -> bool:
    return affine.same(high, dim) or affine.same(affine.maximum(high, affine.ZERO), dim)


__all__ = ["Refill", "Refills"]
