"""States that a sweep will read back are made where they are kept, on a GPU: nothing is copied for that.

    kept = empty((steps, n))                     kept = empty((steps + 1, n))
    for s in range(steps):                       kept[0] = now
        kept[s] = now                            for s in range(steps):
        for i in range(1, n - 1):                    for i in range(n):
            then[i] = f(now[i - 1], …)     →             if 1 <= i < n - 1:
        now, then = then, now                                kept[s + 1, i] = f(kept[s, i - 1], …)
                                                         else:
                                                             kept[s + 1, i] = kept[s - 1, i] if s > 0 else then[i]

One kernel makes the next state of the last one, be that in place, in the other one of two arrays, or in a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...analysis.effects import effects, names_used
from ...analysis.grids import Memory, covers, in_box, nest_of, within
from ...analysis.lives import is_dead
from ...analysis.signs import signs_of
from ...analysis.silent import is_for_the_next
from ...ir import affine
from ...ir.expressions import Array, Call, Dim, Expr, Load, Var, less
from ...ir.info import roots_of
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    CopyTo,
    For,
    Function,
    If,
    OwnCopy,
    Pick,
    Run,
    Stmt,
    Store,
    Subscript,
    Swap,
    View,
    leaves,
)
from ...ir.rename import rename_arrays, rename_in_results
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    variables,
    with_blocks,
)

BY_ELEMENT = (AddTo, Assign, If, Store)


def states_in_rows(function: Function) -> Function:
    for position, stmt in enumerate(function.body):
        if isinstance(stmt, For) and stmt.ordered and affine.same(stmt.step, affine.ONE):
            changed = _Loop(function, position, stmt).changed()
            if changed is not None:
                return states_in_rows(changed)
    return function


@dataclass(frozen=True)
class State:
    """What an array has in it when an iteration begins, kept in a row of another one.

    `row` is the handle on that; `arrays` are itself and those with which it is exchanged.
    """

    array: Array
    kept: Alloc
    row: Array
    arrays: frozenset[str]

    @property
    def rows(self) -> Array:
        """The array with a row for each state, the last one too."""
        number, *dims = self.kept.array.dims
        return Array(self.kept.array.name, self.array.dtype, (affine.add(number, affine.ONE), *dims))


class _NotSo(Exception):
    """The loop does something else with its states than we know."""


class _Loop(Memory):
    """A loop of the host, and what it keeps of each of its iterations."""

    def __init__(self, function: Function, position: int, loop: For) -> None:
        super().__init__(function)
        self.ahead, self.loop = function.body[:position], replace(loop, body=tuple(map(_as_copy, loop.body)))
        self.later = function.body[position + 1 :]
        self.step = affine.sub(loop.index, loop.start)
        self.signs = signs_of(function)
        self.results = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}

    def changed(self) -> Function | None:
        made = (self.state(k, s) for k, s in enumerate(self.loop.body) if isinstance(s, View))
        states = [state for state in made if state is not None]
        while states:
            try:
                return self.in_rows(states)
            except _NotSo:
                states.pop()
        return None

    # ------------------------------------------------------------------------------------------------ what there is

    def state(self, at: int, view: View) -> State | None:
        """The state of which the statement at this place makes the row, and the next one copies it there."""
        copy = self.loop.body[at + 1] if at + 1 < len(self.loop.body) else None
        if not isinstance(copy, CopyTo) or copy.target != view.array or not self.is_row(view):
            return None
        kept = next((s for s in self.ahead if isinstance(s, Alloc) and s.array == view.base), None)
        runs = affine.maximum(affine.sub(self.loop.stop, self.loop.start), affine.ZERO)
        array = copy.source
        if kept is None or kept.fill is not None or not affine.same(kept.dims[0], runs):
            return None
        if array.dtype != kept.array.dtype:
            return None
        arrays = {array.name}
        for stmt in self.loop.body:
            names = _whole(stmt) if isinstance(stmt, (CopyTo, Swap)) and stmt is not copy else set()
            arrays |= names if array.name in names else set()
        if self.is_read_only(kept.array.name, view, copy) and all(map(self.is_local, arrays)):
            return State(array, kept, view.array, frozenset(arrays))
        return None

    def is_row(self, view: View) -> bool:
        """Is it all of the row of this iteration?"""
        if not isinstance(view.how, Subscript):
            return False
        first, *others = view.how.items
        runs = [item for item in others if isinstance(item, Run)]
        whole = all(affine.same(run.start, affine.ZERO) and affine.same(run.step, affine.ONE) for run in runs)
        same = len(runs) == len(others) and all(map(affine.same, (run.length for run in runs), view.base.dims[1:]))
        return whole and same and isinstance(first, Pick) and affine.same(first.index, self.step)

    def is_local(self, name: str) -> bool:
        """Is it memory that is made once, ahead of the loop, and of which nobody has another handle?"""
        made = [s for s in self.uses[name] if isinstance(s, (Alloc, OwnCopy)) and s.array.name == name]
        others = [s for s in self.uses[name] if s not in made and not _asks_lengths(s, name)]
        plain = all(isinstance(s, (*BY_ELEMENT, CopyTo, For, Swap)) for s in others)
        return len(made) == 1 and made[0] in self.ahead and getattr(made[0], "copy", True) and plain

    def is_read_only(self, name: str, *but: Stmt) -> bool:
        """Does nobody set the rows but those statements, use them as one, or ask how many there are?"""
        for stmt in statements(self.whole.body):
            asked = (e for x in expressions(stmt) for e in subexpressions(x) if isinstance(e, Dim))
            if any(e.array == name and not e.axis for e in asked):
                return False
            is_known = stmt in but or (isinstance(stmt, Alloc) and stmt.array.name == name)
            if not is_known and (name in _whole(stmt) or name in _set(stmt)):
                return False
        return True

    def is_set_ahead(self, name: str) -> bool:
        """Is there anything in it when the loop begins?"""
        made = next(s for s in self.ahead if isinstance(s, (Alloc, OwnCopy)) and s.array.name == name)
        is_filled = not isinstance(made, Alloc) or made.fill is not None
        return is_filled or any(name in _set(s) for s in self.ahead if s is not made)

    def is_used_later(self, name: str) -> bool:
        return name in self.results or any(name in names_used(s) for s in self.later)

    def outlives(self, row: str) -> bool:
        """Does somebody use the handle after the loop, but for loops that make it anew?"""
        makes = lambda s: any(isinstance(inner, View) and inner.array.name == row for inner in statements((s,)))
        return row in self.results or any(row in names_used(s) and not makes(s) for s in self.later)

    # ------------------------------------------------------------------------------------------- what becomes of it

    def in_rows(self, states: list[State]) -> Function:
        state_of = {name: state for state in states for name in state.arrays}
        if sum(len(state.arrays) for state in states) != len(state_of) or not self.is_fixed((self.loop,)):
            raise _NotSo
        left = self.walked(states, state_of, {})[1]  # where an iteration leaves them is where the next one finds them
        body, _ = self.walked(states, state_of, left)
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        for state in states:
            others = state.arrays - {state.array.name}
            if left[state.array.name] != 1 or any(map(self.is_used_later, others)) or self.outlives(state.row.name):
                raise _NotSo
            ahead += self.handed(state, affine.ZERO, lambda array, row: CopyTo(row, array))
            if self.is_used_later(state.array.name):
                behind += self.handed(state, state.kept.dims[0], CopyTo)
        larger = {state.rows.name: state.rows for state in states}
        loop = replace(self.loop, body=body)
        if not behind and self.is_for_the_next(loop, larger):
            loop = replace(loop, stop=affine.sub(loop.stop, affine.ONE))
        whole = (*self.ahead, *ahead, loop, *behind, *self.later)
        renamed = (rename_arrays(stmt, larger) for stmt in whole)
        sized = (
            replace(s, dims=s.array.dims) if isinstance(s, Alloc) and s.array.name in larger else s for s in renamed
        )
        return replace(self.whole, body=tuple(sized), results=rename_in_results(self.whole.results, larger))

    def is_for_the_next(self, loop: For, rows: dict[str, Array]) -> bool:
        """Does an iteration do nothing but to make the next state?  Then nobody looks at what the last one makes."""
        places = [place for stmt in statements(loop.body) if (place := _place_of(stmt)) and place.array.name in rows]
        if not all(affine.same(place.index[0], affine.add(self.step, affine.ONE)) for place in places):
            return False
        results = {v.name for leaf in leaves(self.whole.results) if isinstance(leaf, Expr) for v in variables(leaf)}
        roots = roots_of(self.whole)
        needed = {name for name, uses in self.uses.items() if uses} | self.results
        needed |= {roots.get(name, name) for name in needed}
        is_used = lambda stmt: is_for_the_next(stmt, self.later, needed - set(rows), results, roots)
        return is_dead(loop.index, (self.later,), loop.index.name in results) and all(map(is_used, loop.body))

    def handed(self, state: State, row: Expr, copied: Callable[[Array, Array], Stmt]) -> list[Stmt]:
        """The state, copied from a row or into one, and the handle on that."""
        handle = Array(self.names.fresh(state.row.name), state.array.dtype, state.row.dims)
        runs = tuple(Run(affine.ZERO, affine.ONE, dim, whole=True) for dim in state.kept.dims[1:])
        return [View(handle, state.rows, Subscript((Pick(row), *runs))), copied(state.array, handle)]

    def from_row(self, copy: CopyTo, state: State, lay: int) -> list[Stmt]:
        """The copy, of a row instead of the array that had the state."""
        view, _ = self.handed(state, affine.add(self.step, affine.integer(lay)), CopyTo)
        assert isinstance(view, View)
        return [view, replace(copy, source=view.array)]

    def walked(
        self, states: list[State], state_of: dict[str, State], before: dict[str, int]
    ) -> tuple[Block, dict[str, int]]:
        """The body with its states in rows, and where they lie in the end: 0, in this iteration's row, or 1, the next.

        `before`: where the iteration before has left them.
        """
        at = {state.array.name: 0 for state in states}
        out: list[Stmt] = []
        made: set[State] = set()
        rows = {state.row.name: state for state in states}
        kept: set[State] = set()
        for stmt in self.loop.body:
            used = names_used(stmt)
            here = {state_of[name] for name in used if name in state_of}
            if used & set(rows):
                made_row = isinstance(stmt, View) and stmt.array.name in rows
                if isinstance(stmt, CopyTo) and stmt.source.name in rows and stmt.target.name not in state_of:
                    out += self.from_row(stmt, rows[stmt.source.name], 0)
                elif made_row or (isinstance(stmt, CopyTo) and stmt.target.name in rows):
                    kept |= {rows[name] for name in used & set(rows)}
                else:
                    raise _NotSo
                continue
            if isinstance(stmt, Swap) and here:
                left, right = stmt.left.name, stmt.right.name
                if left not in at or right not in at:
                    raise _NotSo
                at[left], at[right] = at[right], at[left]
            elif isinstance(stmt, CopyTo) and stmt.source.name in at and stmt.target.name not in state_of:
                out += self.from_row(stmt, state_of[stmt.source.name], at[stmt.source.name])
            elif isinstance(stmt, CopyTo) and here:
                if stmt.source.name not in at or state_of.get(stmt.target.name) != state_of[stmt.source.name]:
                    raise _NotSo
                at[stmt.target.name] = at[stmt.source.name]
            elif (changed := _set(stmt) & set(state_of)) and all(
                at.get(name) == (1 if state_of[name] in kept else 0) for name in changed
            ):
                if any(_share_row(state_of[name], name, at, before, here <= kept) for name in changed):
                    raise _NotSo
                out.append(_set_in_row(stmt, state_of, at, self.step))
            elif changed and not here <= kept:
                raise _NotSo
            elif changed:
                step = _Step(self, stmt, state_of, at, before)
                if made & step.states:
                    raise _NotSo
                made |= step.states
                out.append(step.made())
            else:
                out.append(_reading(stmt, state_of, at, self.step))
        return tuple(out), at


def _share_row(state: State, name: str, at: dict[str, int], before: dict[str, int], is_kept: bool) -> bool:
    """Has another array, a copy of this one, its elements in the same row, and would be changed with it?"""
    others = state.arrays - {name}
    return any(at.get(x) == at[name] or (x not in at and not is_kept and before.get(x) == 1) for x in others)


class _Step:
    """Independent loops that set elements of the next states."""

    def __init__(
        self, around: _Loop, stmt: Stmt, state_of: dict[str, State], at: dict[str, int], before: dict[str, int]
    ) -> None:
        nest = nest_of(stmt)
        if nest is None or not all(isinstance(s, BY_ELEMENT) for s in statements(nest[1])):
            raise _NotSo
        self.around, (self.loops, self.body) = around, nest
        self.row, self.state_of, self.at, self.before = around.step, state_of, at, before
        self.stores = {name: k for k, s in enumerate(self.body) for name in _set(s) if name in state_of}
        self.lay = {name: at.get(name) for name in self.stores}  # where it was
        places = [s for s in self.body if _set(s) & set(state_of)]
        self.arrays = {_place(s).array.name: _place(s).array for s in places}
        self.states = {state_of[name] for name in self.stores}
        if len(places) != len(self.stores) or len(self.states) != len(places) or not around.is_fixed(self.loops):
            raise _NotSo
        found = {_place(s).index for s in places}
        dims = {state.kept.dims[1:] for state in self.states}
        if len(found) != 1 or len(dims) != 1:
            raise _NotSo
        (self.place,), (self.dims,) = found, dims
        if len(self.place) != len(self.loops):
            raise _NotSo
        self.shifts = [affine.sub(part, loop.index) for part, loop in zip(self.place, self.loops, strict=True)]
        first = [affine.add(loop.start, shift) for loop, shift in zip(self.loops, self.shifts, strict=True)]
        fixed = not any(variables(shift) or loads(shift) for shift in self.shifts)
        if not (fixed and all(map(around.signs.is_natural, first))):  # element -1 is the last one
            raise _NotSo

    def made(self) -> Stmt:
        """The loops over all elements: what the step leaves alone is as it was."""
        pairs = list(zip(self.loops, self.shifts, strict=True))
        full = tuple(
            replace(loop, start=affine.ZERO, stop=dim, body=()) for loop, dim in zip(self.loops, self.dims, strict=True)
        )
        inside = in_box(full, [(affine.add(x.start, shift), affine.add(x.stop, shift)) for x, shift in pairs])
        back = {loop.index: affine.sub(loop.index, shift) for loop, shift in pairs}
        change = lambda e: rewrite(substitute(e, back), lambda n: affine.normal(n) if isinstance(n, Call) else n)
        step = rewrite_block(self.in_rows(), lambda s: (map_expressions(s, change),))
        if inside is None:
            return within(full, step)
        around = tuple(s for name in self.stores for s in self.as_it_was(name, tuple(x.index for x in full)))
        return within(full, (If(inside, step, around),))

    def in_rows(self) -> Block:
        """The body, which reads this row and sets the next one."""
        out: list[Stmt] = []
        made: set[str] = set()
        for k, stmt in enumerate(self.body):
            if any(load.index != self.place for name in made for load in _elements(stmt, name)):
                raise _NotSo
            set_here = {name for name, stored in self.stores.items() if stored == k}
            stmt = self.set_in_row(stmt) if set_here else _reading(stmt, self.state_of, self.at, self.row)
            self.at.update(dict.fromkeys(set_here, 1))
            made |= set_here
            out.append(stmt)
        return tuple(out)

    def set_in_row(self, stmt: Stmt) -> Stmt:
        assert isinstance(stmt, (AddTo, Store))
        place = _place(stmt)
        value = place + stmt.value if isinstance(stmt, AddTo) else stmt.value
        rows = self.state_of[place.array.name].rows
        there = Store(rows, (self.next, *self.place), value, checked=False, span=stmt.span)
        return _reading(there, self.state_of, self.at, self.row)

    @property
    def next(self) -> Expr:
        return affine.add(self.row, affine.ONE)

    def as_it_was(self, name: str, indices: tuple[Var, ...]) -> Block:
        """The next row has of these elements what the array has had."""
        rows, lay = self.state_of[name].rows, self.lay[name]
        kept = lambda value: Store(rows, (self.next, *indices), value, checked=False)
        in_row = lambda row: kept(Load(rows, (row, *indices), checked=False))
        if lay is not None:
            return (in_row(affine.add(self.row, affine.integer(lay))),)
        before = in_row(affine.add(self.row, affine.integer(self.before.get(name, 0) - 1)))
        if not self.around.is_set_ahead(name):
            return (If(less(affine.ZERO, self.row), (before,)),)
        at_first = kept(Load(self.arrays[name], indices, checked=False))
        return (If(affine.equals(self.row, affine.ZERO), (at_first,), (before,)),)


def _set_in_row(stmt: Stmt, state_of: dict[str, State], at: dict[str, int], step: Expr) -> Stmt:
    """What changes elements of states that are in the next row already, or of this row before it is kept."""
    row = lambda name: affine.add(step, affine.integer(at[name]))

    def set_there(inner: Stmt) -> Block:
        if isinstance(inner, Store) and (name := inner.array.name) in state_of:
            return (replace(inner, array=state_of[name].rows, index=(row(name), *inner.index)),)
        target = inner.target if isinstance(inner, AddTo) else None
        if isinstance(inner, AddTo) and isinstance(target, Load) and (name := target.array.name) in state_of:
            return (
                replace(inner, target=replace(target, array=state_of[name].rows, index=(row(name), *target.index))),
            )
        return (inner,)

    (stmt,) = rewrite_block((stmt,), set_there)
    return _reading(stmt, state_of, at, step)


def _reading(stmt: Stmt, state_of: dict[str, State], at: dict[str, int], step: Expr) -> Stmt:
    """The statement, which reads rows instead of the arrays that had the states."""
    if not names_used(stmt) & set(state_of):
        return stmt

    def read(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array.name in state_of:
            if expr.array.name not in at:
                raise _NotSo
            row = affine.add(step, affine.integer(at[expr.array.name]))
            return Load(state_of[expr.array.name].rows, (row, *expr.index), expr.checked, expr.natural)
        return expr

    (read_there,) = rewrite_block((stmt,), lambda s: (map_expressions(s, lambda e: rewrite(e, read)),))
    if names_used(read_there) & set(state_of):
        raise _NotSo
    return read_there


def _elements(stmt: Stmt, name: str) -> list[Load]:
    found = (load for s in statements((stmt,)) for e in expressions(s) for load in loads(e))
    return [load for load in found if load.array.name == name]


def _place(stmt: Stmt) -> Load:
    place = _place_of(stmt)
    if place is None:
        raise _NotSo
    return place


def _place_of(stmt: Stmt) -> Load | None:
    match stmt:
        case Store(array=array, index=index):
            return Load(array, index)
        case AddTo(target=Load() as target):
            return target
    return None


def _as_copy(stmt: Stmt) -> Stmt:
    """Loops that copy all elements of an array into another one, as one statement."""
    loops, body = nest_of(stmt) or ((), ())
    indices = tuple(loop.index for loop in loops)
    match body:
        case (Store(array=target, index=there, value=Load(array=source, index=here), span=span),):
            if there == here == indices and covers(loops, target) and covers(loops, source):
                return CopyTo(target, source, span=span)
    return stmt


def _asks_lengths(stmt: Stmt, name: str) -> bool:
    """Does a statement itself have to do with no more of an array than how long it is?"""
    seen = effects((stmt if not blocks(stmt) else with_blocks(stmt, tuple(() for _ in blocks(stmt))),))
    return name in seen.shapes and name not in seen.names()


def _set(stmt: Stmt) -> set[str]:
    return {access.array.name for access in effects((stmt,)).accesses if access.writes}


def _whole(stmt: Stmt) -> set[str]:
    return {access.array.name for access in effects((stmt,)).accesses if access.whole}


__all__ = ["states_in_rows"]
