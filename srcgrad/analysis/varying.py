"""What differs between iterations of a loop that go through it together, and what is the same for all.

for i in range(n):
    p = 0                          the same for all: a number, once for all of them
    for a in range(d):             the same for all, so that they go through the loop together
        s[a] = w[p] * x[i, a]      differs: x[i, a], and what is made of it
        p += 1
    if s[0] > 0.0:                 differs: under it, and in loops whose ends differ, they go one by one
        for b in range(i): …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir import affine
from ..ir.expressions import Array, Expr, Load, Var
from ..ir.nodes import AddTo, Assign, Block, Comment, For, If, Pop, Raise, Stmt, Store, While
from ..ir.walk import blocks, expressions, loads, statements, variables
from .sharing import Shared


class Differs(Exception):
    """Iterations of this loop had better go one by one."""


class Varying:
    """Answers about the statements of one loop; `names` are the numbers and the scratch that differ."""

    def __init__(self, loop: For, shared: Shared, roots: dict[str, str]) -> None:
        self.loop, self.roots = loop, roots
        self.sums = {var.name for var in shared.sums}
        self.added = {array.name for array in shared.partial} | shared.near  # memory into which all iterations add
        self.scratch = {made.array.name: made for made in shared.scratch}
        self.trips = {stmt.trip for stmt in statements(loop.body) if isinstance(stmt, While)}
        self.names = {loop.index.name}
        while self._spread(loop.body, False):
            pass
        self._check_errors()
        self._check_order()

    def root(self, array: Array) -> str:
        return self.roots.get(array.name, array.name)

    def varies(self, *exprs: Expr) -> bool:
        return any(
            any(var.name in self.names for var in variables(expr))
            or any(load.array.name in self.names for load in loads(expr))
            for expr in exprs
        )

    def _spread(self, block: Block, apart: bool) -> bool:
        """Note what is found to differ; `apart`: not all iterations are here at one time."""
        before = len(self.names)
        for stmt in block:
            match stmt:
                case Assign(var=var, value=value) | AddTo(target=Var() as var, value=value):
                    if var.name not in self.sums and (apart or self.varies(value)):
                        self.names.add(var.name)
                case (
                    Store(array=array, index=index, value=value)
                    | AddTo(target=Load(array=array, index=index), value=value)
                ):
                    if array.name in self.scratch and (apart or self.varies(value, *index)):
                        self.names.add(array.name)
                case For(start=start, stop=stop, step=step, body=body):
                    self._spread(body, apart or self.varies(start, stop, step))
                case While(body=body):
                    self._spread(body, True)
                case Pop(target=Var(name=name)):
                    self.names.add(name)
                case If(condition=condition, then=then, orelse=orelse):
                    inner = apart or self.varies(condition)
                    self._spread(then, inner)
                    self._spread(orelse, inner)
        return len(self.names) > before

    # ----------------------------------------------------------------------------------------------- statements

    def is_in_turn(self, stmt: Stmt) -> bool:
        """Do iterations go different ways through this statement, in more than what they compute?"""
        match stmt:
            case For():
                return self.varies(stmt.start, stmt.stop, stmt.step) and not self.is_way_back(stmt)
            case If(condition=condition):
                inside = statements((stmt,))
                shared = [s for s in inside if isinstance(s, AddTo) and self.is_shared_sum(s)]
                hard = any(isinstance(s, (For, While, Raise)) for s in inside)
                hard = hard or not all(self.goes_together(s, inside) for s in shared)
                return self.varies(condition) and hard
            case Raise(values=values):
                return self.varies(*values)
        return False

    def is_way_back(self, loop: For) -> bool:
        """Does it go through the rounds of a `while` loop once more, the last one first?"""
        last, down = affine.sub(loop.index, affine.ONE), affine.integer(-1)
        ends = ((loop.start, last), (loop.stop, down), (loop.step, down))
        return loop.index in self.trips and all(affine.same(end, wanted) for end, wanted in ends)

    def is_counted_once(self, trip: Var) -> bool:
        """Is this the trip count of one loop, and set for no other?"""
        inside = statements(self.loop.body)
        loops = [stmt for stmt in inside if isinstance(stmt, While) and stmt.trip == trip]
        made = [
            s
            for s in inside
            if (isinstance(s, Assign) and s.var == trip) or (isinstance(s, AddTo) and s.target == trip)
        ]
        return len(loops) == 1 and len(made) == 2 and made[1] in loops[0].body

    def is_same_for_all(self, stmt: Stmt) -> bool:
        """Is it enough to run this statement once?"""
        match stmt:
            case Assign(var=var) | AddTo(target=Var() as var):
                return var.name not in self.sums and var.name not in self.names
            case Store(array=array) | AddTo(target=Load(array=array)):
                return array.name in self.scratch and array.name not in self.names
            case If(condition=condition, then=then, orelse=orelse):
                return not self.varies(condition) and all(map(self.is_same_for_all, (*then, *orelse)))
            case For(start=start, stop=stop, step=step, body=body):
                return not self.varies(start, stop, step) and all(map(self.is_same_for_all, body))
            case Raise(values=values):
                return not self.varies(*values)
        return isinstance(stmt, Comment)

    def is_shared_sum(self, stmt: Stmt) -> bool:
        """Does it add to what other iterations add to as well?"""
        match stmt:
            case AddTo(target=Var(name=name)):
                return name in self.sums
            case AddTo(target=Load(array=array)):
                return self.root(array) in self.added or array.name in self.added
        return False

    def goes_together(self, stmt: AddTo, group: Iterable[Stmt]) -> bool:
        """May a group of statements add at one time: to one number or element, or to elements side by side?"""
        if not stmt.reorder or isinstance(stmt.target, Var) or not self.varies(*stmt.target.index):
            return stmt.reorder
        memory = self.root(stmt.target.array)
        each = [s.target for s in group if isinstance(s, AddTo) and isinstance(s.target, Load)]
        own = [place for place in each if self.root(place.array) == memory and self._is_own(place)]
        return self._is_own(stmt.target) and all(place == stmt.target for place in own)

    def _is_own(self, place: Load) -> bool:
        """Is it the next element in each next iteration, whatever else is the same?"""
        *others, last = place.index
        return not self.varies(*others) and not self.varies(affine.sub(last, self.loop.index))

    def sums_into(self, target: Var | Load) -> list[AddTo]:
        """All that is added to this number, or to this memory."""
        memory = lambda place: place.name if isinstance(place, Var) else self.root(place.array)
        sums = (s for s in statements(self.loop.body) if isinstance(s, AddTo) and self.is_shared_sum(s))
        return [stmt for stmt in sums if memory(stmt.target) == memory(target)]

    # ---------------------------------------------------------------------------------------------------- order

    def _check_order(self) -> None:
        """The user's own sums are taken in the user's order: one addition of each iteration, outside inner loops."""
        outside = set(map(id, self._outside(self.loop.body)))
        for stmt in statements(self.loop.body):
            if isinstance(stmt, AddTo) and self.is_shared_sum(stmt) and not stmt.reorder:
                if id(stmt) not in outside or len(self.sums_into(stmt.target)) > 1:
                    raise Differs

    def _outside(self, block: Block) -> Iterator[Stmt]:
        """The statements that are in none of the loops that iterations go through together."""
        for stmt in block:
            yield stmt
            if self.is_in_turn(stmt):
                yield from statements((stmt,))
            elif isinstance(stmt, If):
                yield from self._outside((*stmt.then, *stmt.orelse))

    def _check_errors(self) -> None:
        """The first iteration that fails has to be the first to say so, unless all would say the same."""
        raised = {stmt.error for stmt in statements(self.loop.body) if isinstance(stmt, Raise)}
        if raised - {"BoundsError"} and any(map(self._may_fail_alone, self.loop.body)):
            raise Differs

    def _may_fail_alone(self, stmt: Stmt) -> bool:
        if self.is_in_turn(stmt):
            return any(isinstance(s, Raise) for s in statements((stmt,)))
        return any(self._may_fail_alone(inner) for part in blocks(stmt) for inner in part)


def elements(stmt: Stmt) -> list[Load]:
    """The elements that a statement reads or writes itself."""
    found = [load for expr in expressions(stmt) for load in loads(expr)]
    if isinstance(stmt, Store):
        found.append(Load(stmt.array, stmt.index, stmt.checked))
    if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
        found.append(stmt.target)
    return found


def moves_along(load: Load, loop: For | While) -> bool:
    """Is it another element in every iteration of a loop?"""
    index = loop.index if isinstance(loop, For) else loop.trip
    return any(index in variables(part) for part in load.index)


__all__ = ["Differs", "Varying", "elements", "moves_along"]
