"""`while` loops that iterations go through together, each for as many rounds as it needs.

    while abs(step) > tiny:          goes[lane] = abs(step[lane]) > tiny, for all; count those that go
        step = …              →      while count > 0:
        x -= step                        step[lane] = …; x[lane] -= step[lane]   (where goes[lane]: all compute it)
                                         goes[lane] = goes[lane] and abs(step[lane]) > tiny; count again

What a round pushes for the way back has a row for each round.  On the way back who was out of the loop by then waits.
Iterations that are left over, and go one by one, keep theirs in the same memory, one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...analysis.varying import Differs, Varying
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Dim, Expr, Load, Var, integer, select
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Grow, If, Pop, Push, Raise, Stack, Stmt, Store, While
from ...ir.walk import blocks, statements, with_blocks
from ..reverse_mode.edits import renamed
from .groups import Group
from .own_rows import Loops

ROWS = 64  # of what rounds push, that there is room for at first
Masked = Callable[[Expr, "list[Stmt]", Loops], "list[Group]"]


class Rounds:
    """The `while` loops of one loop.  `masked` makes groups in which some iterations are out of the loop."""

    def __init__(self, names: Any, varying: Varying, lane: Var, width: int, masked: Masked) -> None:
        self.names, self.varying, self.lane, self.width, self.masked = names, varying, lane, width, masked
        self.made: dict[Var, Var] = {}  # how many rounds are made for all, by trip counts
        self.kept: dict[Var, dict[Stack, Array]] = {}  # for what they push: rounds, values of a round, iterations
        self.done, self.offered = (Var(names.fresh(name), INT64) for name in ("done", "offered"))

    def kept_arrays(self) -> list[Array]:
        return [array for kept in self.kept.values() for array in kept.values()]

    def together(self, loop: While, around: Loops) -> Block:
        """Rounds of a `while` loop for all that are in it, until none is; what they push has a row for each round."""
        goes, count = Var(self.names.fresh("goes"), BOOL), Var(self.names.fresh("count"), INT64)
        rounds = Var(self.names.fresh("rounds"), INT64)
        self.varying.names.add(goes.name)
        kept: dict[Stack, Array] = {}
        ahead: Block = ()
        if pushed := Counter(stmt.stack for stmt in loop.body if isinstance(stmt, Push)):
            if around or AddTo(loop.trip, affine.ONE) not in loop.body[-1:]:
                raise Differs
            for stack, count_of_values in pushed.items():
                dims = integer(ROWS), integer(count_of_values), integer(self.width)
                kept[stack] = Array(self.names.fresh(f"{stack.name}_lanes"), stack.dtype, dims)
            self.kept[loop.trip] = kept
            ahead = (_with_room(kept, rounds),)
        computed = _stored(self._of_a_round(loop.body), kept, rounds, self.lane)
        counted = AddTo(count, select(goes, affine.ONE, affine.ZERO), reorder=True)
        zero = Assign(count, affine.ZERO)
        all_of_them = replace(loop, trip=rounds, condition=Call("gt", (count, affine.ZERO), BOOL), body=())
        inner = (*around, all_of_them)
        self.masked(goes, [Assign(goes, loop.condition)], inner)  # (who is out asks too)
        body = (
            AddTo(self.done, count),
            AddTo(self.offered, integer(self.width)),
            *ahead,
            *self.masked(goes, computed, inner),
            zero,
            Group((Assign(goes, Call("bitand", (goes, loop.condition), BOOL)), counted)),
            AddTo(rounds, affine.ONE),
        )
        self.made[loop.trip] = rounds
        first = Group((Assign(goes, loop.condition), counted))
        return (Assign(rounds, affine.ZERO), zero, first, replace(all_of_them, body=body))

    def back(self, loop: For, around: Loops) -> Block:
        """The same rounds, the last one first: who was out of the loop by then waits."""
        if around or loop.index not in self.made or not self.varying.is_counted_once(loop.index):
            raise Differs
        index = Var(self.names.fresh("turn"), INT64)
        body = self._of_a_round(tuple(renamed(stmt, {loop.index.name: index.name}) for stmt in loop.body))
        kept = self.kept.get(loop.index, {})
        popped = Counter(stmt.stack for stmt in body if isinstance(stmt, Pop))
        is_first = all(isinstance(stmt, Pop) for stmt in body[: popped.total()])
        if not is_first or popped != {stack: _values(array) for stack, array in kept.items()}:
            raise Differs
        computed = _fetched(body, kept, index, self.lane)
        start = affine.sub(self.made[loop.index], affine.ONE)
        back = replace(loop, index=index, start=start, body=())
        is_in = Call("lt", (index, loop.index), BOOL)
        return (replace(back, body=tuple(self.masked(is_in, computed, (back,)))),)

    def one_by_one(self, block: Block) -> Block:
        """The loops of an iteration that is left over."""
        return tuple(map(self._of_one, block))

    def _of_one(self, stmt: Stmt) -> Stmt:
        match stmt:
            case While(trip=trip, body=body) if trip in self.kept:
                ahead, row, place = self._place_of(trip)
                kept = self.kept[trip]
                return replace(stmt, body=(*ahead, _with_room(kept, row), *_stored(body, kept, row, place)))
            case For(index=index, body=body) if index in self.kept:
                ahead, row, place = self._place_of(index)
                return replace(stmt, body=(*ahead, *_fetched(body, self.kept[index], row, place)))
        return with_blocks(stmt, tuple(map(self.one_by_one, blocks(stmt)))) if blocks(stmt) else stmt

    def _place_of(self, trip: Var) -> tuple[Block, Var, Var]:
        row, place = Var(self.names.fresh("row"), INT64), Var(self.names.fresh("place"), INT64)
        down = Call("rshift", (trip, integer(self.width.bit_length() - 1)), INT64)
        return (Assign(row, down), Assign(place, Call("bitand", (trip, integer(self.width - 1)), INT64))), row, place

    def _of_a_round(self, body: Block) -> Block:
        """The statements, if each is of one number or element, or a choice between numbers."""
        for stmt in body:
            inside = statements((stmt,))
            is_choice = isinstance(stmt, If) and not any(
                isinstance(s, (Store, Push, Pop)) or (isinstance(s, AddTo) and isinstance(s.target, Load))
                for s in inside
            )
            has_sums = isinstance(stmt, If) and any(map(self.varying.is_shared_sum, inside))
            is_one = isinstance(stmt, (Assign, AddTo, Store, Push, Pop, Comment)) or (is_choice and not has_sums)
            if not is_one or any(isinstance(s, (For, While, Raise)) for s in inside):
                raise Differs
        return tuple(stmt for stmt in body if not isinstance(stmt, Comment))


def _values(kept: Array) -> int:
    """How many a round pushes."""
    return int(kept.dims[1].value)  # type: ignore[attr-defined]


def _with_room(kept: dict[Stack, Array], row: Var) -> Stmt:
    is_full = Call("le", (Dim(next(iter(kept.values())).name, 0), row), BOOL)
    return If(is_full, tuple(Grow(array, affine.add(row, affine.ONE)) for array in kept.values()))


def _stored(body: Block, kept: dict[Stack, Array], row: Var, place: Var) -> list[Stmt]:
    """What is pushed goes where it is kept."""
    out: list[Stmt] = []
    pushed: Counter[Stack] = Counter()
    for stmt in body:
        if isinstance(stmt, Push):
            if isinstance(stmt.value, Array):
                raise Differs
            at = row, integer(pushed[stmt.stack]), place
            pushed[stmt.stack] += 1
            stmt = Store(kept[stmt.stack], at, stmt.value, checked=False, span=stmt.span)
        out.append(stmt)
    return out


def _fetched(body: Block, kept: dict[Stack, Array], row: Var, place: Var) -> list[Stmt]:
    """What is popped is read where it was kept: the last one first."""
    out: list[Stmt] = []
    left = {stack: _values(array) for stack, array in kept.items()}
    for stmt in body:
        if isinstance(stmt, Pop):
            if not isinstance(stmt.target, Var):
                raise Differs
            left[stmt.stack] -= 1
            at = row, integer(left[stmt.stack]), place
            stmt = Assign(stmt.target, Load(kept[stmt.stack], at, checked=False), span=stmt.span)
        out.append(stmt)
    return out


__all__ = ["Rounds"]
