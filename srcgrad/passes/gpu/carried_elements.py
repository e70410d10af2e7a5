"""Elements that iterations pass on to the next ones are numbers, and each iteration stores the element of its own.

    for i in range(1, n):                         y_before = y[0]
        y[i] = a * y[i - 1] + x[i]        →       for i in range(1, n):
                                                      own = a * y_before + x[i]
                                                      y[i] = own
                                                      y_before = own

    for i in range(n - 1, 0, -1):                 y_b_handed = 0.0
        g = y_b[i]                                for i in range(n - 1, 0, -1):
        y_b[i] = 0.0                      →           own = y_b[i] + y_b_handed
        x_b[i] = g                                    g = own
        y_b[i - 1] += g * a                           own = 0.0
                                                      x_b[i] = g
                                                      y_b_handed = g * a
                                                      y_b[i] = own
                                                  y_b[0] += y_b_handed

The store of what nobody reads any more goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...analysis.effects import effects, touched
from ...ir import affine
from ...ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var, select
from ...ir.names import Names
from ...ir.nodes import AddTo, Assign, Block, Comment, For, If, Stmt, Store
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    statements,
    substitute,
    substituted,
    sure_loads,
    variables,
    with_blocks,
    written_place,
)

FARTHEST = 4  # iterations that an element is passed on
SIMPLE = (AddTo, Assign, Comment, For, If, Store)


def carried_elements(loop: For, memory: dict[str, str], names: Names, is_dead: Callable[[Array], bool]) -> Carried:
    """The loop with numbers in the place of elements, as far as that can be.

    `memory`: which memory each array is a handle on.  `is_dead`: does nobody read the array behind the loop?
    """
    carried = Carried((), loop, ())
    if isinstance(loop.step, Const) and all(isinstance(s, SIMPLE) for s in statements(loop.body)):
        for array in dict.fromkeys(place.array for s in statements(loop.body) if (place := written_place(s))):
            found = _Row.of(array, carried.loop, memory)
            if found is not None:
                ahead, changed, behind = found.carried(names, is_dead(array))
                carried = Carried((*carried.ahead, *ahead), changed, (*carried.behind, *behind))
    return carried


@dataclass(frozen=True)
class Carried:
    """A loop, and what goes ahead of it and behind it."""

    ahead: Block
    loop: For
    behind: Block


@dataclass(frozen=True)
class _Row:
    """The elements of an array that a loop goes along, told by how many iterations they lie ahead of `own`.

    An iteration writes no other element than `own` and reads those behind it; or reads no other than `own`, and adds to
    those ahead of it.
    """

    loop: For
    own: Load
    offsets: frozenset[int]

    @classmethod
    def of(cls, array: Array, loop: For, memory: dict[str, str]) -> _Row | None:
        inside = statements(loop.body)
        same = memory.get(array.name)
        names = set().union(*map(touched, inside))
        if same is None or any(name != array.name and memory.get(name, same) == same for name in names):
            return None
        writers = [s for s in inside if (place := written_place(s)) and place.array == array]
        if any(s.value.dtype != array.dtype for s in writers):  # type: ignore[attr-defined]
            return None
        stored = [place for s in writers if isinstance(s, Store) and (place := written_place(s))]
        added = [place for s in writers if isinstance(s, AddTo) and (place := written_place(s))]
        read = [load for s in inside for e in expressions(s) for load in loads(e) if load.array == array]
        straight = [s for s in loop.body if not blocks(s)]
        sure = {load for s in straight for e in expressions(s) for load in sure_loads(e)}
        sure |= {place for s in straight if (place := written_place(s))}
        every = dict.fromkeys((*read, *stored, *added))
        changed = effects(loop.body).writes
        if any(place.checked for place in every):
            return None
        for own in dict.fromkeys((*stored, *added, *read)):
            ahead = {place: _iterations_ahead(place, own, loop, changed) for place in every}
            known = {place: count for place, count in ahead.items() if count is not None}
            if len(known) < len(ahead):
                return None
            at_own = lambda places, known=known: all(known[place] == 0 for place in places)
            is_read_behind = at_own((*stored, *added)) and max(known.values()) == 0
            is_added_ahead = at_own((*stored, *read)) and min(known.values()) == 0
            if is_read_behind or is_added_ahead:
                farthest = max(known, key=lambda place: abs(known[place]))
                edge = {place for place, count in known.items() if count == known[farthest]}
                others = frozenset(count for count in known.values() if count)
                is_there = edge & sure and any(known[place] == 0 for place in sure & known.keys())
                return cls(loop, own, others) if 0 < abs(known[farthest]) <= FARTHEST and is_there else None
        return None

    def carried(self, names: Names, is_dead: bool) -> tuple[Block, For, Block]:
        array, dtype = self.own.array, self.own.array.dtype
        zero = Const(dtype.type(0).item(), dtype)
        is_ahead = max(self.offsets) > 0
        own = Var(names.fresh(f"{array.name}_own"), dtype)
        farthest = max(map(abs, self.offsets))
        word = "handed" if is_ahead else "before"
        passed = [Var(names.fresh(f"{array.name}_{word}"), dtype) for _ in range(farthest)]
        changed = effects(self.loop.body).writes
        offset = lambda place: _iterations_ahead(place, self.own, self.loop, changed)
        number = lambda place: own if not (o := offset(place)) else passed[abs(o) - 1]
        known = lambda e: number(e) if isinstance(e, Load) and e.array == array else e

        def change(stmt: Stmt) -> Stmt:
            if blocks(stmt):
                stmt = with_blocks(stmt, tuple(tuple(map(change, block)) for block in blocks(stmt)))
            if isinstance(stmt, Store) and stmt.array == array:
                stmt = Assign(own, stmt.value, span=stmt.span)
            return map_expressions(stmt, lambda expr: rewrite(expr, known))

        body = tuple(map(change, self.loop.body))
        shifted = tuple(Assign(here, there) for here, there in zip(passed, (*passed[1:], zero), strict=True))
        start: Expr = Call("add", (self.own, passed[0]), dtype) if is_ahead else self.own
        head: Block = (Assign(own, start), *(shifted if is_ahead else ()))
        if not is_ahead:
            shifted = tuple(Assign(v, other) for v, other in reversed([*zip(passed, (own, *passed), strict=False)]))
        tail: Block = () if is_dead else (Store(array, self.own.index, own, checked=False, natural=self.own.natural),)
        settled = _settled((*head, *body, *tail, *(() if is_ahead else shifted)), own)
        loop = replace(self.loop, body=_as_one(settled, own, passed[0]))
        if is_ahead:
            ahead: Block = tuple(Assign(v, zero) for v in passed)
            added = tuple(AddTo(self.moved(k + 1, _last(self.loop)), v, reorder=True) for k, v in enumerate(passed))
            return ahead, loop, () if is_dead else (If(_runs(self.loop), added),)
        first = [self.moved(-k - 1, self.loop.start) for k in range(farthest)]
        return tuple(Assign(v, select(_runs(self.loop), e, zero)) for v, e in zip(passed, first, strict=True)), loop, ()

    def moved(self, offset: int, at: Expr) -> Load:
        """The element so many iterations ahead of the own one of the iteration with this index."""
        there = affine.add(at, affine.mul(affine.integer(offset), self.loop.step))
        index = tuple(affine.normal(substitute(part, {self.loop.index: there})) for part in self.own.index)
        return replace(self.own, index=index)


def _settled(body: Block, own: Var) -> Block:
    """Nothing is set that is set again before it is read, or is not read at all, nor added to what was just set."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Var):
            zero = next((k for k, s in enumerate(out) if s == Assign(stmt.target, _zero(stmt.target))), None)
            read = any(stmt.target in _mentioned(s) for s in (out[zero + 1 :] if zero is not None else ()))
            if zero is not None and not read and stmt.target not in variables(stmt.value):
                out.pop(zero)
                stmt = Assign(stmt.target, stmt.value, span=stmt.span)
            elif out and isinstance(start := out[-1], Assign) and start.var == stmt.target:
                added = substitute(stmt.value, {start.var: start.value})
                if isinstance(start.value, Load) or added == stmt.value:
                    out.pop()
                    stmt = Assign(start.var, start.value + added, span=stmt.span)
        out.append(stmt)
    return tuple(s for k, s in enumerate(out) if not _is_lost(s, out[k + 1 :], own))


def _is_lost(stmt: Stmt, later: list[Stmt], own: Var) -> bool:
    if not isinstance(stmt, Assign) or stmt.var != own:
        return False
    then = next((s for s in later if own in _mentioned(s)), None)
    return then is None or (isinstance(then, Assign) and then.var == own and own not in variables(then.value))


def _as_one(body: Block, own: Var, passed: Var) -> Block:
    """The own element by the name of what is passed on, where that is what becomes of it, and of nothing else."""
    first = next((k for k, s in enumerate(body) if own in _mentioned(s)), 0)
    last = next((k for k, s in enumerate(body) if s == Assign(passed, own)), 0)
    behind, apart = body[last + 1 :], (*body[first + 1 : last], *body[last + 1 :])
    is_set_first = isinstance(body[first], Assign) and first < last
    if not is_set_first or any(passed in _mentioned(s) for s in apart) or own in effects(behind).writes:
        return body
    return substituted((*body[:last], *behind), {own: passed})


def _zero(var: Var) -> Const:
    return Const(var.dtype.type(0).item(), var.dtype)


def _mentioned(stmt: Stmt) -> set[Var]:
    seen = effects((stmt,))
    return seen.reads | seen.writes


def _is_of(place: object, array: Array) -> bool:
    return isinstance(place, Load) and place.array == array


def _iterations_ahead(place: Load, own: Load, loop: For, changed: set[Var]) -> int | None:
    """After how many iterations an element is the own one; None where that is not known."""
    found: int | None = None
    for part, other in zip(place.index, own.index, strict=True):
        apart = affine.difference(part, other)
        terms = dict(affine.affine(other)[0])
        others = [term for term in terms if term != loop.index]
        if apart is None or any(loads(t) or variables(t) & (changed | {loop.index}) for t in others):
            return None
        along = terms.get(loop.index, 0) * int(loop.step.value)  # type: ignore[attr-defined]
        if not along:
            if apart:
                return None
        elif found is not None or apart % along:
            return None
        else:
            found = apart // along
    return found


def _runs(loop: For) -> Expr:
    up = int(loop.step.value) > 0  # type: ignore[attr-defined]
    return Call("lt", (loop.start, loop.stop) if up else (loop.stop, loop.start), BOOL)


def _last(loop: For) -> Expr:
    """The last index, if there is one."""
    step = int(loop.step.value)  # type: ignore[attr-defined]
    room = affine.sub(loop.stop, loop.start) if step > 0 else affine.sub(loop.start, loop.stop)
    more = affine.floordiv(affine.sub(room, affine.ONE), abs(step))
    return affine.add(loop.start, affine.mul(loop.step, more))


__all__ = ["Carried", "carried_elements"]
