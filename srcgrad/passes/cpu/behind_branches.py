"""What the branches of an iteration add to elements that other iterations add to as well is added behind them.

    for i in range(1, n):                       for i in range(1, n):
        g = f_b[i]                                  g = f_b[i]
        if w[i] >= 0.0:                             behind = 0.0
            u_b[i - 1] += g * w[i]                  behind_1 = 0.0
        else:                            →          if w[i] >= 0.0:
            u_b[i] += g * w[i]                          behind += g * w[i]
                                                    else:
                                                        behind_1 += g * w[i]
                                                    u_b[i - 1] += behind
                                                    u_b[i] += behind_1

Such elements can be handed over (`hand_over`, `set_aside`) where every iteration adds to them, and what branches choose
for a number is a choice to LLVM, and no branch.  An element must be there in every iteration: proved, not checked.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.added_ahead import Row, Rows, is_of_numbers, target
from ...analysis.effects import effects
from ...ir.expressions import Const, Expr, Load, Var
from ...ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt
from ...ir.walk import loads, rewrite_block, statements, variables
from ..prove_bounds import proved_where_they_are


def behind_branches(function: Function) -> Function:
    behind = _Behind(function)
    loops = [stmt for stmt in statements(function.body) if isinstance(stmt, For) and _may_be(stmt)]
    moved = {id(loop): new for loop in loops if (new := behind.moved(loop)) is not None}
    if not moved:
        return function
    tried = statements(proved_where_they_are(replace(function, body=_with(function.body, moved))).body)
    places = {stmt.value: stmt.target for stmt in tried if isinstance(stmt, AddTo) and stmt.value in behind.totals}
    sure = {key: new for key, loop in moved.items() if (new := _proved(loop, places)) is not None}
    return replace(function, body=_with(function.body, sure))


class _Behind:
    def __init__(self, function: Function) -> None:
        self.names, self.rows = function.info.names, Rows(function)
        self.totals: set[Expr] = set()

    def moved(self, loop: For) -> For | None:
        """The loop with its additions to neighbouring elements behind its branches, to be proved, if it has such."""
        branches = [stmt for stmt in loop.body if isinstance(stmt, If)]
        inside = {place for stmt in statements(tuple(branches)) if (place := target(stmt)) is not None}
        every = self.rows.of(loop)
        rows = [row for row in every if any(inside & set(places) for places in row.values())]
        if all(len(row) == 1 for row in every) or not rows or not all(_stay(row, loop) for row in rows):
            return None
        for places in (places for row in rows for places in row.values() if inside & set(places)):
            loop = self.behind(loop, places)
        return loop

    def behind(self, loop: For, places: list[Load]) -> For:
        total = Var(self.names.fresh("behind"), places[0].dtype)
        self.totals.add(total)

        def in_total(stmt: Stmt) -> Block:
            return (replace(stmt, target=total) if isinstance(stmt, AddTo) and stmt.target in places else stmt,)

        start = Assign(total, Const(total.dtype.type(0).item(), total.dtype))
        place = Load(places[0].array, places[0].index)  # what proved it may have been a condition
        return replace(loop, body=(start, *rewrite_block(loop.body, in_total), AddTo(place, total, reorder=True)))


def _may_be(loop: For) -> bool:
    adds = [stmt for stmt in statements(loop.body) if target(stmt) is not None]
    return any(isinstance(stmt, If) for stmt in loop.body) and len(adds) > 1 and is_of_numbers(loop)


def _stay(row: Row, loop: For) -> bool:
    """Does an iteration mean the same elements at its end?"""
    changed = effects(loop.body).writes
    index = [part for places in row.values() for place in places for part in place.index]
    return not any(loads(part) or variables(part) & changed for part in index)


def _proved(loop: For, places: dict[Expr, Var | Load]) -> For | None:
    """The loop with the places of its totals as they are proved, if they are."""
    out: list[Stmt] = []
    for stmt in loop.body:
        if isinstance(stmt, AddTo) and stmt.value in places:
            stmt = replace(stmt, target=places[stmt.value])
            if isinstance(stmt.target, Load) and stmt.target.checked:
                return None
        out.append(stmt)
    return replace(loop, body=tuple(out))


def _with(body: Block, loops: dict[int, For]) -> Block:
    return rewrite_block(body, lambda stmt: (loops.get(id(stmt), stmt),))


__all__ = ["behind_branches"]
