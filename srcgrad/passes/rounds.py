"""`while` loops that iterations go through together, each for as many rounds as it needs.

    while abs(step) > tiny:          goes[lane] = abs(step[lane]) > tiny, for all; count those that go
        step = …              →      while count > 0:
        x -= step                        step[lane] = …; x[lane] -= step[lane]   (where goes[lane]: all compute it)
                                         goes[lane] = goes[lane] and abs(step[lane]) > tiny; count again

What a round pushes for the way back has a row for each round.  On the way back who was out of the loop by then waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Array, Call, Dim, Expr, Load, Var, integer, select
from ..ir.nodes import (
    AddTo,
    Assign,
    Block,
    Comment,
    For,
    Grow,
    If,
    Pop,
    Push,
    Raise,
    Stack,
    Stmt,
    Store,
    While,
)
from ..ir.walk import statements
from .edits import renamed
from .groups import Group
from .own_rows import Loops
from .varying import Differs, Varying

ROWS = 64  # of what rounds push, that there is room for at first
Masked = Callable[[Expr, "list[Stmt]", Loops], "list[Group]"]


class Rounds:
    """The `while` loops of one loop.  `masked` makes groups in which some iterations are out of the loop."""

    def __init__(self, names: Any, varying: Varying, lane: Var, width: int, masked: Masked) -> None:
        self.names, self.varying, self.lane, self.width, self.masked = names, varying, lane, width, masked
        self.made: dict[Var, Var] = {}  # how many rounds are made for all, by trip counts
        self.kept: dict[Var, list[tuple[Stack, Array]]] = {}  # what they push
        self.done, self.offered = (Var(names.fresh(name), INT64) for name in ("done", "offered"))

    def kept_arrays(self) -> list[Array]:
        return [array for kept in self.kept.values() for _, array in kept]

    def together(self, loop: While, around: Loops) -> Block:
        """Rounds of a `while` loop for all that are in it, until none is; what they push has a row for each round."""
        goes, count = Var(self.names.fresh("goes"), BOOL), Var(self.names.fresh("count"), INT64)
        rounds = Var(self.names.fresh("rounds"), INT64)
        self.varying.names.add(goes.name)
        pushed = [stmt for stmt in loop.body if isinstance(stmt, Push)]
        ahead: Block = ()
        if pushed:
            if around:
                raise Differs
            dims = integer(ROWS), integer(self.width)
            stacks = [stmt.stack for stmt in pushed]
            kept = [Array(self.names.fresh(f"{stack.name}_lanes"), stack.dtype, dims) for stack in stacks]
            self.kept[loop.trip] = [*zip(stacks, kept, strict=True)]
            is_full = Call("le", (Dim(kept[0].name, 0), rounds), BOOL)
            ahead = (If(is_full, tuple(Grow(rows, affine.add(rounds, affine.ONE)) for rows in kept)),)
        computed: list[Stmt] = []
        rows = (array for _, array in self.kept.get(loop.trip, ()))
        for stmt in self._of_a_round(loop.body):
            if isinstance(stmt, Push):
                if isinstance(stmt.value, Array):
                    raise Differs
                stmt = Store(next(rows), (rounds, self.lane), stmt.value, checked=False)
            computed.append(stmt)
        counted = AddTo(count, select(goes, affine.ONE, affine.ZERO), reorder=True)
        zero = Assign(count, affine.ZERO)
        all_of_them = replace(loop, trip=rounds, condition=Call("gt", (count, affine.ZERO), BOOL), body=())
        inner = (*around, all_of_them)
        body = (
            AddTo(self.done, count),
            AddTo(self.offered, integer(self.width)),
            *ahead,
            *self.masked(goes, computed, inner),
            zero,
            *self.masked(goes, [Assign(goes, loop.condition)], inner),
            Group((counted,)),
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
        popped = [stmt for stmt in body if isinstance(stmt, Pop)]
        kept = [*self.kept.get(loop.index, ())]
        if list(body[: len(popped)]) != popped or len(popped) != len(kept):
            raise Differs
        computed: list[Stmt] = []
        for stmt in popped:
            last = max((k for k, (stack, _) in enumerate(kept) if stack == stmt.stack), default=None)
            if last is None or not isinstance(stmt.target, Var):
                raise Differs
            _, rows = kept.pop(last)
            computed.append(Assign(stmt.target, Load(rows, (index, self.lane), checked=False)))
        computed += body[len(popped) :]
        start = affine.sub(self.made[loop.index], affine.ONE)
        back = replace(loop, index=index, start=start, body=())
        is_in = Call("lt", (index, loop.index), BOOL)
        return (replace(back, body=tuple(self.masked(is_in, computed, (back,)))),)

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


__all__ = ["Rounds"]
