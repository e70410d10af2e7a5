"""An element that every iteration of a loop adds to is a scalar while the loop runs.

    for j in range(k + 1, n):                  total = 0.0
        g = -x_b[i, j]                         for j in range(k + 1, n):
        x_b[i, k] += g * x[k, j]        →          g = -x_b[i, j]
        x_b[k, j] += g * x[i, k]                   total += g * x[k, j]
                                                   x_b[k, j] += g * x[i, k]
                                               x_b[i, k] += total

LLVM does the same, except where the loop touches other elements of that memory: it can not tell them apart.  What it
only adds to may even be the same (`x_b[i] += g; x_b[j] -= g`, i and j of one range): nobody looks in between.
Only sums that are ours are taken so: the user's own are added up in the order that is written.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.effects import Access, effects
from ..analysis.ranges import Ranges
from ..analysis.signs import extremes, signs_of
from ..ir.expressions import BOOL, LAZY, Call, Const, Load, Var
from ..ir.info import roots_of
from ..ir.nodes import AddTo, Assign, Block, For, Function, If, Rule, Stmt, While
from ..ir.walk import blocks, expressions, loads, rewrite_block, statements, subexpressions, variables, with_blocks


def registers(function: Function) -> Function:
    return replace(function, body=_Registers(function).block(function.body, ()))


class _Registers:
    def __init__(self, function: Function) -> None:
        self.roots, self.signs, self.names = roots_of(function), signs_of(function), function.info.names

    def block(self, block: Block, around: tuple[For, ...]) -> Block:
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            if blocks(stmt) and not isinstance(stmt, Rule):
                inner = (*around, stmt) if isinstance(stmt, For) else around
                stmt = with_blocks(stmt, tuple(self.block(b, inner) for b in blocks(stmt)))
            if isinstance(stmt, For) and not any(isinstance(s, (For, While)) for s in statements(stmt.body)):
                out += self.summed(stmt, around, (*block[:position], *block[position + 1 :]))
            else:
                out.append(stmt)
        return tuple(out)

    def summed(self, loop: For, around: tuple[For, ...], others: Block) -> list[Stmt]:
        """`others`: what stands beside the loop in its block."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        if_it_runs: list[Stmt] = []
        places = self.sums(loop, around)
        beside = {load for stmt in others for load in _elements(stmt)} if places else set()
        for place in places:
            total = Var(self.names.fresh("total"), place.dtype)

            def in_register(stmt: Stmt, place: Load = place, total: Var = total) -> tuple[Stmt, ...]:
                return (replace(stmt, target=total) if isinstance(stmt, AddTo) and stmt.target == place else stmt,)

            loop = replace(loop, body=rewrite_block(loop.body, in_register))
            before.append(Assign(total, Const(place.dtype.type(0).item(), place.dtype)))
            (after if place in beside else if_it_runs).append(AddTo(place, total, reorder=True))
        if if_it_runs:  # a loop that does not run touches nothing
            low, high = extremes(loop)
            after.append(If(Call("le", (low, high), BOOL), tuple(if_it_runs)))
        return [*before, loop, *after]

    def sums(self, loop: For, around: tuple[For, ...]) -> list[Load]:
        """Elements that the loop only adds to, beside others of the same memory that are never the same."""
        inside = effects(loop.body)
        changed = inside.writes | {loop.index}
        additions: dict[Load, bool] = {}
        for stmt in statements(loop.body):
            if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
                additions[stmt.target] = additions.get(stmt.target, True) and stmt.reorder
        ends = extremes(loop)
        if inside.views or any(variables(end) & changed or loads(end) for end in ends):
            return []  # whether it has run is not known after the loop
        every_time = {stmt.target for stmt in loop.body if isinstance(stmt, AddTo)}
        out = []
        for place, is_ours in additions.items():
            if not is_ours or place not in every_time or any(variables(i) & changed or loads(i) for i in place.index):
                continue
            here = Access(place.array, place.index, True, adds=True)
            near = [a for a in inside.accesses if self.root(a) == self.root(here)]
            others = [a for a in near if not (a.adds and (a.array, a.index) == (here.array, here.index))]
            ranges = Ranges(around, loop, self.signs)
            only_added = lambda a: a.adds and a.ours  # nobody looks before the loop is over
            if others and all(
                only_added(a) or (ranges.never_meet(here, a) and ranges.never_meet(a, here)) for a in others
            ):
                out.append(place)
        return out

    def root(self, access: Access) -> str:
        return self.roots.get(access.array.name, access.array.name)


def _elements(stmt: Stmt) -> list[Load]:
    """The elements that a statement touches wherever its block is run."""
    if blocks(stmt):
        return []
    sure = (e for e in expressions(stmt) if not any(isinstance(n, Call) and n.op in LAZY for n in subexpressions(e)))
    return [load for expr in sure for load in loads(expr)]


__all__ = ["registers"]
