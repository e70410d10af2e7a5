"""What iterations add to an element that other loops choose as well is summed up by whoever has the element.

    for k in range(m):                            for k in range(m):
        for i in range(n):                            for i in range(n):
            g = y_b[i]                                    w_b[k] += y_b[i] * x[i + k]
            w_b[k] += g * x[i + k]        →       for i in range(n + m - 1):
            x_b[i + k] += g * w[k]                    total = 0.0
                                                      for k in range(max(0, i - n + 1), min(m, i + 1)):
                                                          total += y_b[i - k] * w[k]
                                                      x_b[i] += total

Left as it is where a thread adds up along a loop anyway (`thread_sums`, for one loop of a nest), and where there are
fewer elements than each would have summands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...analysis.additions import (
    FLAT,
    adds_to,
    cost_of,
    live,
    needed_for,
    normal_everywhere,
    order_of,
    touched_beside,
)
from ...analysis.nests import Memory, nest_of, with_nests
from ...ir import affine
from ...ir.expressions import BOOL, Array, Call, Const, Dim, Expr, Load, Var, all_of, both
from ...ir.names import Names
from ...ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt
from ...ir.walk import (
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    rewrite_block,
    statements,
    substitute,
    variables,
)

MOST_AXES = 3  # of a grid
DEAREST_OF_ALL = 100  # additions that are done once more, where all threads would add to what others do
Index = tuple[Expr, ...]
FEW = 64  # summands that any thread may add up


def gather_sums(function: Function) -> Function:
    names, memory = function.info.names, Memory(function)

    def change(stmt: Stmt, values: Mapping[Var, Expr]) -> Block | None:
        nest = nest_of(stmt, FLAT)
        return None if nest is None else Sums(*nest, names, memory).apart(stmt)

    return replace(function, body=with_nests(function.body, change))


@dataclass(frozen=True)
class _Window:
    """Of a loop: its iterations that add to one element at all."""

    start: Expr
    stop: Expr


@dataclass(frozen=True)
class _Sum:
    """What iterations add to the elements of an array that an index chooses: where in the body, and what that needs."""

    array: Array
    index: Index
    added: tuple[int, ...]
    needed: frozenset[int]


@dataclass(frozen=True)
class Plan:
    """For each axis of the array the loop over its elements, and what that loop's index was there.

    `there`: the indices of the iterations that add to an element.  `inner`: the loops over those, `windows` what they
    go over where that depends on the element.
    """

    outer: tuple[For, ...]
    there: Mapping[Var, Expr] = field(hash=False)
    inner: tuple[For, ...]
    windows: Mapping[Var, _Window] = field(hash=False)


class Sums:
    """Loops right within each other over a body, of which the order does not matter."""

    def __init__(self, loops: tuple[For, ...], body: Block, names: Names, memory: Memory) -> None:
        self.loops, self.body, self.names, self.memory = loops, body, names, memory
        self.by_index = {loop.index: loop for loop in loops}

    def apart(self, stmt: Stmt) -> Block | None:
        """The loops in the place of the nest; None where all stays as it is."""
        found: dict[tuple[int, Plan], list[_Sum]] = {}
        for array, places in self.every_time().items():
            when = order_of(array, self.body, self.memory)
            sums = [(self.by_elements(index), self.sum_of(array, index)) for index in places]
            if when is None or any(plan is None or one is None for plan, one in sums):
                continue
            for plan, one in sums:
                found.setdefault((when, plan), []).append(one)  # type: ignore[arg-type]
        if not found:
            return None
        gone = {position for sums in found.values() for one in sums for position in one.added}
        kept = live(tuple(s for position, s in enumerate(self.body) if position not in gone))
        made = {
            when: [self.gathered(sums, plan) for (at, plan), sums in found.items() if at == when] for when in (-1, 1)
        }
        out = (*made[-1], *((around(self.loops, kept),) if kept else ()), *made[1])
        pays = all_of(dict.fromkeys(is_worth_it(plan) for _, plan in found))
        return out if pays is None else (If(pays, out, (stmt,)),)

    def targets(self) -> list[Load]:
        return [s.target for s in statements(self.body) if isinstance(s, AddTo) and isinstance(s.target, Load)]

    def every_time(self) -> dict[Array, list[Index]]:
        """Arrays to elements of which each iteration would add, so no thread keeps the sum to itself; and to which."""
        added = self.targets()
        used = [set().union(*map(variables, target.index)) for target in added]
        on_grid = [loop.index for loop in self.loops[-MOST_AXES:]]
        free = [[index for index in on_grid if index not in own] for own in used]
        axis = max(on_grid, key=lambda index: sum(index in own for own in free))
        arrays = dict.fromkeys(t.array for t, own in zip(added, free, strict=True) if axis not in own)
        places = {array: [tuple(map(affine.normal, t.index)) for t in added if t.array == array] for array in arrays}
        return {array: list(dict.fromkeys(each)) for array, each in places.items()}

    # --------------------------------------------------------------------------------------------------- the plan

    def sum_of(self, array: Array, index: Index) -> _Sum | None:
        """What is added to an element; None where that is not to be had elsewhere."""
        if any(self.memory.may_be_one(name, array.name) for s in self.body for name in touched_beside(s, array)):
            return None
        added = [position for position, stmt in enumerate(self.body) if _is_added_at(stmt, array, index)]
        needed = set[int]()
        for position in added:
            stmt = self.body[position]
            assert isinstance(stmt, AddTo) and isinstance(stmt.target, Load)
            own = needed_for(stmt, self.body[:position])
            if stmt.target.checked or own is None:
                return None
            if cost_of([self.body[k] for k in own], stmt.value) > DEAREST_OF_ALL:
                return None
            needed |= own
        return _Sum(array, index, tuple(added), frozenset(needed))

    def by_elements(self, index: Index) -> Plan | None:
        """How to go over the elements; None where that can't be, or gains nothing."""
        parts = [affine.affine(part) for part in index]
        found = [{term: count for term, count in terms if term in self.by_index} for terms, _ in parts]
        axes = [next(iter(own), None) and self.lead(own, found) for own in found]
        leads = [lead for lead in axes if lead is not None]
        fixed = numbers_set(self.body)
        for (terms, _), own, lead in zip(parts, found, axes, strict=True):
            others = [term for term, _ in terms if term not in own]
            if any(loads(term) or variables(term) & (fixed | {*self.by_index}) for term in others):
                return None
            if own and (lead is None or any(term in leads and term != lead for term in own)):
                return None
        inner = tuple(replace(loop, body=()) for loop in self.loops if loop.index not in leads)
        if not inner or not leads:
            return None
        outer: list[For] = []
        there: dict[Var, Expr] = {}
        windows: dict[Var, _Window] = {}
        if any(variables(bound) & self.by_index.keys() for loop in inner for bound in (loop.start, loop.stop)):
            return None
        for part, own, lead in zip(index, found, axes, strict=True):
            if lead is None:
                continue
            rest = affine.sub(part, lead)
            loop = self.by_index[lead]
            there[lead] = affine.sub(lead, rest)
            moving = {var: count for var, count in own.items() if var != lead}
            low, high = affine.add(loop.start, rest), affine.add(loop.stop, rest)
            edge = self.edge_of(loop)
            if edge is not None:
                var, is_start = edge
                if moving or var in leads:
                    return None
                other = self.by_index[var]
                last = affine.sub(other.stop, affine.ONE)
                low, high = substitute(low, {var: other.start}), substitute(high, {var: last})
                beside = affine.sub(there[lead], affine.sub(loop.start if is_start else loop.stop, var))
                end = affine.add(beside, affine.ONE)
                window = windows.get(var, _Window(other.start, other.stop))
                windows[var] = (
                    replace(window, stop=affine.minimum(window.stop, end))
                    if is_start
                    else replace(window, start=affine.maximum(window.start, end))
                )
            elif variables(loop.start) & self.by_index.keys() or variables(loop.stop) & self.by_index.keys():
                return None
            for var, count in moving.items():
                ends = self.by_index[var].start, affine.sub(self.by_index[var].stop, affine.ONE)
                least, most = ends if count > 0 else ends[::-1]
                low, high = substitute(low, {var: least}), substitute(high, {var: most})
            outer.append(replace(loop, start=affine.normal(low), stop=affine.normal(high), body=()))
            innermost = next((each for each in reversed(inner) if each.index in moving), None)
            if innermost is not None:
                var = innermost.index
                last_window = windows.get(var, _Window(innermost.start, innermost.stop))
                windows[var] = _window(last_window, loop, there[lead], var, -moving[var])
        whole = [loop for loop in inner if loop.index not in windows and not isinstance(trips(loop), Const)]
        return Plan(tuple(outer), there, inner, windows) if len(whole) <= len(outer) else None

    def edge_of(self, loop: For) -> tuple[Var, bool] | None:
        """Of a triangle: the index that a loop starts at, or (else) ends at, or so far from it, and which."""
        for bound, other, is_start in ((loop.start, loop.stop, True), (loop.stop, loop.start, False)):
            terms = dict(affine.affine(bound)[0])
            own = [term for term in terms if variables(term) & self.by_index.keys()]
            if len(own) == 1 and own[0] in self.by_index and terms[own[0]] == 1:
                return None if variables(other) & self.by_index.keys() else (own[0], is_start)
        return None

    def lead(self, own: dict[Var, int], found: list[dict[Var, int]]) -> Var | None:
        """The loop that goes along an axis: a long one, if there is one; the others go over what meets in its place."""
        once = [loop for loop in self.loops if own.get(loop.index) == 1 and sum(loop.index in f for f in found) == 1]
        long = [loop for loop in once if not isinstance(trips(loop), Const)]
        return (long or once)[-1].index if once else None

    # -------------------------------------------------------------------------------------------------- the loops

    def gathered(self, sums: Sequence[_Sum], plan: Plan) -> Stmt:
        """One loop for sums of which the elements are gone over in the same way."""
        totals = {
            position: Var(self.names.fresh("total"), one.array.dtype) for one in sums for position in one.added[:1]
        }
        into = {position: totals[one.added[0]] for one in sums for position in one.added}
        own: list[Stmt] = []
        for position in sorted(into.keys() | set[int]().union(*(one.needed for one in sums))):
            stmt = self.body[position]
            own.append(replace(stmt, target=into[position]) if position in into else stmt)  # type: ignore[call-arg]
        firsts = {total: self.body[position] for position, total in totals.items()}
        return self.in_loops(plan, tuple(own), firsts)

    def in_loops(self, plan: Plan, own: Block, firsts: Mapping[Var, Stmt], may_branch: bool = False) -> Stmt:
        """Loops over elements, and in them over what is added to each in `own`, of which `firsts` are additions to it.

        `may_branch`: it may be a branch that keeps iterations from adding to what is not there.
        """
        here = lambda expr: rewrite(substitute(expr, plan.there), normal_everywhere)
        own = rewrite_block(own, lambda stmt: (map_expressions(stmt, here),))
        is_shared = can_be_shared(plan, own)
        inner = [replace(loop, ordered=not (is_shared and _is_long(loop))) for loop in plan.inner]
        for k, loop in enumerate(inner):
            if window := plan.windows.get(loop.index):
                inner[k] = replace(loop, start=window.start, stop=window.stop, ordered=True)
        starts = tuple(Assign(total, Const(0, total.dtype)) for total in firsts)
        ends: list[Stmt] = []
        places: list[Load] = []
        for total, first in firsts.items():
            places.append(map_expressions(first, here).target)  # type: ignore[attr-defined]
            add: Stmt = AddTo(places[-1], total, reorder=True, span=first.span, label=first.label)
            is_there = self.is_there(places[-1], plan) if may_branch else None
            ends.append(add if is_there is None else If(is_there, (add,)))
        body = around(plan.outer, (*starts, around(inner, own), *ends))
        return self.where_it_runs(body, places, plan)

    def where_it_runs(self, stmt: Stmt, places: Iterable[Load], plan: Plan) -> Stmt:
        """Where no iteration ran, nothing may be there to be added to."""
        if not all(is_low and is_high for place in places for is_low, is_high in _ends(place, plan)):
            some = (each for each in self.loops if not affine.is_at_least(trips(each), 1))
            runs = all_of(Call("lt", (each.start, each.stop), BOOL) for each in some if self.edge_of(each) is None)
            return stmt if runs is None else If(runs, (stmt,))
        return stmt

    def is_there(self, place: Load, plan: Plan) -> Expr | None:
        """Is there such an element?  A branch may be what keeps iterations from adding to one that is not."""
        out: Expr | None = None
        for axis, (is_low, is_high) in enumerate(_ends(place, plan)):
            if not is_low:
                out = both(out, Call("le", (affine.ZERO, place.index[axis]), BOOL))
            if not is_high:
                out = both(out, Call("lt", (place.index[axis], Dim(place.array.name, axis)), BOOL))
        return out


def _ends(place: Load, plan: Plan) -> Iterator[tuple[bool, bool]]:
    """Of each axis of a place: are there surely such elements at the beginning of the loop along it, and at the end?"""
    loops = {loop.index: loop for loop in plan.outer}
    for axis, part in enumerate(place.index):
        along = loops.get(part)  # type: ignore[call-overload]
        assert along is not None or loops.keys().isdisjoint(variables(part)), place
        first, last = (along.start, affine.sub(along.stop, affine.ONE)) if along is not None else (part, part)
        room = affine.difference(place.array.dims[axis], affine.add(last, affine.ONE))
        yield affine.is_at_least(first, 0), room is not None and room >= 0


def can_be_shared(plan: Plan, own: Block) -> bool:
    """May the threads of a row go through what one element gets?  Not in a column: that is side by side for others."""
    if len(plan.outer) > 1:
        return False
    element, inner = plan.outer[0].index, {loop.index for loop in plan.inner}
    read = {load for stmt in statements(own) for expr in expressions(stmt) for load in loads(expr)}
    return not any(
        element in variables(load.index[-1]) and any(variables(part) & inner for part in load.index[:-1])
        for load in read
        if load.index
    )


def _is_long(loop: For) -> bool:
    count = trips(loop)
    return not (isinstance(count, Const) and count.value <= FEW)


def _is_added_at(stmt: Stmt, array: Array, index: Index) -> bool:
    return adds_to(stmt, array) and _normal(stmt.target.index) == index  # type: ignore[attr-defined]


def _normal(index: Index) -> Index:
    return tuple(map(affine.normal, index))


def trips(loop: For) -> Expr:
    return affine.sub(loop.stop, loop.start)


def around(loops: Iterable[For], body: Block) -> Stmt:
    for loop in reversed(tuple(loops)):
        body = (replace(loop, body=body),)
    return body[0]


def _window(window: _Window, loop: For, there: Expr, var: Var, count: int) -> _Window:
    """The iterations of `var` for which `there`, a sum with so many times `var`, is an iteration of the loop."""
    rest = affine.sub(there, affine.mul(affine.integer(count), var))
    if count > 0:  # start <= rest + count * var < stop
        up = lambda bound: affine.floordiv(affine.add(affine.sub(bound, rest), affine.integer(count - 1)), count)
        first, end = up(loop.start), up(loop.stop)
    else:
        down = lambda bound: affine.add(affine.floordiv(affine.sub(rest, bound), -count), affine.ONE)
        first, end = down(loop.stop), down(loop.start)
    return _Window(affine.maximum(window.start, first), affine.minimum(window.stop, end))


def is_worth_it(plan: Plan) -> Expr | None:
    """Are there as many elements as each has summands, at least?  None: always."""
    summands = affine.product(tuple(trips(loop) for loop in plan.inner if loop.index not in plan.windows))
    if isinstance(summands, Const) and summands.value <= FEW:
        return None
    elements = affine.product(tuple(map(trips, plan.outer)))
    return None if affine.same(summands, elements) else Call("le", (summands, elements), BOOL)


__all__ = ["DEAREST_OF_ALL", "Plan", "Sums", "around", "can_be_shared", "gather_sums", "is_worth_it", "trips"]
