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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ...analysis.additions import (
    DEAREST,
    FLAT,
    adds_to,
    cost_of,
    live,
    needed_for,
    normal_there,
    order_of,
    touched_beside,
)
from ...analysis.nests import Memory, nest_of, with_nests
from ...ir import affine
from ...ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var, all_of
from ...ir.names import Names
from ...ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt
from ...ir.walk import loads, map_expressions, numbers_set, rewrite, substitute, variables

MOST_AXES = 3  # of a grid
FEW = 64  # summands that any thread may add up


def gather_sums(function: Function) -> Function:
    names, memory = function.info.names, Memory(function)

    def change(stmt: Stmt, values: Mapping[Var, Expr]) -> Block | None:
        nest = nest_of(stmt, FLAT)
        return None if nest is None else _Nest(*nest, names, memory).apart(stmt)

    return replace(function, body=with_nests(function.body, change))


@dataclass(frozen=True)
class _Window:
    """Of a loop: its iterations that add to one element at all."""

    start: Expr
    stop: Expr


@dataclass(frozen=True)
class _Plan:
    """For each axis of the array the loop over its elements, and what that loop's index was there.

    `there`: the indices of the iterations that add to an element.  `inner`: the loops over those, `windows` what they
    go over where that depends on the element.
    """

    outer: tuple[For, ...]
    there: dict[Var, Expr]
    inner: tuple[For, ...]
    windows: dict[Var, _Window]


class _Nest:
    def __init__(self, loops: tuple[For, ...], body: Block, names: Names, memory: Memory) -> None:
        self.loops, self.body, self.names, self.memory = loops, body, names, memory
        self.by_index = {loop.index: loop for loop in loops}

    def apart(self, stmt: Stmt) -> Block | None:
        """The loops in the place of the nest; None where all stays as it is."""
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        body, pays = self.body, None
        for array in self.every_time():
            plan = self.plan(array, body)
            when = order_of(array, body, self.memory)
            if plan is None or when is None:
                continue
            (ahead if when < 0 else behind).append(self.gathered(array, plan, body))
            pays = all_of((pays, _pays(plan)))
            body = tuple(s for s in body if not adds_to(s, array))
        if body == self.body:
            return None
        kept = live(body)
        out = (*ahead, *((_around(self.loops, kept),) if kept else ()), *behind)
        return out if pays is None else (If(pays, out, (stmt,)),)

    def every_time(self) -> list[Array]:
        """Arrays that each iteration would add to: no thread keeps the sum to itself."""
        added = [s.target for s in self.body if isinstance(s, AddTo) and isinstance(s.target, Load)]
        used = [set().union(*map(variables, target.index)) for target in added]
        on_grid = [loop.index for loop in self.loops[-MOST_AXES:]]
        free = [[index for index in on_grid if index not in own] for own in used]
        axis = max(on_grid, key=lambda index: sum(index in own for own in free))
        return list(dict.fromkeys(t.array for t, own in zip(added, free, strict=True) if axis not in own))

    # --------------------------------------------------------------------------------------------------- the plan

    def plan(self, array: Array, body: Block) -> _Plan | None:
        """How to go over its elements; None where that can't be, or gains nothing."""
        index: tuple[Expr, ...] | None = None
        for position, stmt in enumerate(body):
            if any(self.memory.may_be_one(name, array.name) for name in touched_beside(stmt, array)):
                return None
            if not adds_to(stmt, array):
                continue
            assert isinstance(stmt, AddTo) and isinstance(stmt.target, Load)
            own = tuple(map(affine.normal, stmt.target.index))
            needed = needed_for(stmt, body[:position])
            if stmt.target.checked or needed is None or own != (index or own):
                return None
            if cost_of([body[k] for k in needed], stmt.value) > DEAREST:
                return None
            index = own
        return None if index is None else self.by_elements(index)

    def by_elements(self, index: tuple[Expr, ...]) -> _Plan | None:
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
        inner = tuple(loop for loop in self.loops if loop.index not in leads)
        if not inner or not leads:
            return None
        outer: list[For] = []
        there: dict[Var, Expr] = {}
        windows: dict[Var, _Window] = {}
        for part, own, lead in zip(index, found, axes, strict=True):
            if lead is None:
                continue
            rest = affine.sub(part, lead)
            loop = self.by_index[lead]
            moving = {var: count for var, count in own.items() if var != lead}
            low, high = affine.add(loop.start, rest), affine.add(loop.stop, rest)
            for var, count in moving.items():
                ends = self.by_index[var].start, affine.sub(self.by_index[var].stop, affine.ONE)
                least, most = ends if count > 0 else ends[::-1]
                low, high = substitute(low, {var: least}), substitute(high, {var: most})
            outer.append(replace(loop, start=affine.normal(low), stop=affine.normal(high)))
            there[lead] = affine.sub(lead, rest)
            innermost = next((each for each in reversed(inner) if each.index in moving), None)
            if innermost is not None:
                var = innermost.index
                last = windows.get(var, _Window(innermost.start, innermost.stop))
                windows[var] = _window(last, loop, there[lead], var, -moving[var])
        whole = [loop for loop in inner if loop.index not in windows and not isinstance(_trips(loop), Const)]
        return _Plan(tuple(outer), there, inner, windows) if len(whole) <= len(outer) else None

    def lead(self, own: dict[Var, int], found: list[dict[Var, int]]) -> Var | None:
        """The loop that goes along an axis: a long one, if there is one; the others go over what meets in its place."""
        once = [loop for loop in self.loops if own.get(loop.index) == 1 and sum(loop.index in f for f in found) == 1]
        long = [loop for loop in once if not isinstance(_trips(loop), Const)]
        return (long or once)[-1].index if once else None

    # -------------------------------------------------------------------------------------------------- the loops

    def gathered(self, array: Array, plan: _Plan, body: Block) -> Stmt:
        added = [position for position, stmt in enumerate(body) if adds_to(stmt, array)]
        needed = set().union(*(needed_for(body[k], body[:k]) or () for k in added))  # type: ignore[arg-type]
        here = lambda expr: rewrite(substitute(expr, plan.there), normal_there)
        total = Var(self.names.fresh("total"), array.dtype)
        own: list[Stmt] = []
        for position in sorted({*added, *needed}):
            stmt = map_expressions(body[position], here)
            own.append(replace(stmt, target=total) if isinstance(stmt, AddTo) and position in added else stmt)
        inner = [replace(loop, ordered=True) for loop in plan.inner]
        for k, loop in enumerate(inner):
            if window := plan.windows.get(loop.index):
                inner[k] = replace(loop, start=window.start, stop=window.stop)
        first = body[added[0]]
        place = map_expressions(first, here).target  # type: ignore[attr-defined]
        add = AddTo(place, total, reorder=True, span=first.span, label=first.label)
        start = Assign(total, Const(0, array.dtype))
        return self.where_it_runs(_around(plan.outer, (start, _around(inner, tuple(own)), add)), place, plan)

    def where_it_runs(self, stmt: Stmt, place: Load, plan: _Plan) -> Stmt:
        """Where no iteration ran, nothing may be there to be added to."""
        for loop in plan.outer:
            axis = next(n for n, part in enumerate(place.index) if loop.index in variables(part))
            room, first = (
                affine.difference(place.array.dims[axis], loop.stop),
                affine.difference(loop.start, affine.ZERO),
            )
            if room is None or room < 0 or first is None or first < 0:
                some = (each for each in self.loops if not affine.is_at_least(_trips(each), 1))
                runs = all_of(Call("lt", (each.start, each.stop), BOOL) for each in some)
                return stmt if runs is None else If(runs, (stmt,))
        return stmt


def _trips(loop: For) -> Expr:
    return affine.sub(loop.stop, loop.start)


def _around(loops: Iterable[For], body: Block) -> Stmt:
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


def _pays(plan: _Plan) -> Expr | None:
    """Are there as many elements as each has summands, at least?  None: always."""
    summands = affine.product(tuple(_trips(loop) for loop in plan.inner if loop.index not in plan.windows))
    if isinstance(summands, Const) and summands.value <= FEW:
        return None
    return Call("le", (summands, affine.product(tuple(map(_trips, plan.outer)))), BOOL)


__all__ = ["gather_sums"]
