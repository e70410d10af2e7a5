"""What a thread keeps for its way back, it computes again where arithmetic is cheaper than memory.

    for t in range(n):                   for t in range(n):
        x_kept[t] = x                        x_kept[t] = x
        h = x + 0.5 * dt * (a - x)           h = x + 0.5 * dt * (a - x)
        h_kept[t] = h                        x += dt * (a - h) * h
        x += dt * (a - h) * h      →     …
    …                                    for t in range(n - 1, -1, -1):
    for t in range(n - 1, -1, -1):           x_1 = x_kept[t]
        x_1 = x_kept[t]                      h = x_1 + 0.5 * dt * (a - x_1)
        h = h_kept[t]                        …
        …

Of a step of Runge and Kutta the state at its start is kept, and not its stages.  Where a state is not kept, and would
spare more than itself, it is kept for them.  Only floats that decide nothing are computed again: a branch must not find
another answer on the way back, by rounding, than it had found before.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.decisions import deciding
from ...ir.expressions import Array, Expr, Load, Var
from ...ir.nodes import Alloc, Assign, Block, For, Function, Pop, Push, Stmt, Store
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    statements,
    substitute,
    variables,
    with_blocks,
)
from ..reverse_mode.kept_numbers import Group, Kept, groups
from .versions import KEEPING, Surroundings, Versions


def compute_again(function: Function) -> Function:
    tried: set[str] = set()
    while True:
        group = next((g for g in groups(function) if not tried >= g.memory), None)
        if group is None:
            return function
        tried |= group.memory
        function = _Again(function, group).function()


class _Again:
    def __init__(self, function: Function, group: Group) -> None:
        self.whole, self.group, self.names = function, group, function.info.names
        self.around = Surroundings(function, group)
        self.values = Versions(group.body, self.around.fixed)
        self.moving = frozenset(loop.index for loop in group.loops if isinstance(loop, For))

    def function(self) -> Function:
        in_order = isinstance(self.group.kept[0].put, Push)
        ranges = () if in_order else [expr for loop in self.group.loops for expr in expressions(loop)]
        if any(map(loads, ranges)) or not all(self.around.stay(v) for expr in ranges for v in variables(expr)):
            return self.whole
        movable = [one for one in self.group.kept if self.comes_first(one)]
        if in_order and len(movable) < len(self.group.kept):
            return self.whole
        decides = deciding(self.group.sweep.body)
        wanted = [one for one in movable if one.dtype.kind == "f" and not decides & {one.var.name, *_array(one)}]
        wanted = [one for one in wanted if self.is_local(one.var)]
        best = self.chosen(movable, wanted, ())
        states = self.states(movable, wanted)
        if states:
            best = max(best, self.chosen(movable, wanted, states), key=lambda choice: choice[0])
        gain, gone, added = best
        return self.changed(movable, gone, added) if gain > 0 else self.whole

    def version_of(self, one: Kept) -> Var:
        return self.values.at[id(one.put)]

    # ------------------------------------------------------------------------------------------ what may be left out

    def comes_first(self, one: Kept) -> bool:
        """May the number be had at the top of the sweep's block as well?"""
        if one.had is None:
            return True
        for stmt in self.group.sweep.body:
            if stmt is one.had:
                return True
            inner = statements((stmt,))
            used = {v for s in inner for e in expressions(s) for v in variables(e)}
            if one.var in used | numbers_set((stmt,)):
                return False
        return False

    def is_local(self, var: Var) -> bool:
        """Is it read in the two loops alone?"""
        inside = {id(s) for s in statements((*self.group.loops[-1:], *self.group.sweep.body))}
        others = (s for s in statements(self.whole.body) if id(s) not in inside)
        return not any(var in variables(expr) for stmt in others for expr in expressions(stmt))

    def is_had(self, made: set[Var], missing: set[Var]) -> bool:
        read = made.union(*(variables(self.values.made[m]) for m in made))
        return not missing and all(self.around.stay(v) for v in read if "#" not in v.name)

    def states(self, movable: list[Kept], wanted: list[Kept]) -> tuple[Var, ...]:
        """What variables hold at the start of an iteration, and what is kept is made of, without being kept itself."""
        had = {self.version_of(one) for one in movable if one not in wanted}
        _, missing = self.values.needed([self.version_of(one) for one in wanted], had)
        had |= {self.version_of(one) for one in movable}
        states = [v for v in missing - had if v.name.endswith("#") and v.dtype.kind == "f"]
        if isinstance(self.group.kept[0].put, Push):
            states = [v for v in states if v.dtype == self.group.kept[0].dtype]
        return tuple(sorted(states, key=lambda v: v.name))

    def chosen(
        self, movable: list[Kept], wanted: list[Kept], states: tuple[Var, ...]
    ) -> tuple[float, list[Kept], tuple[Var, ...]]:
        """How many additions are gained, by computing again which of them, with these states kept besides."""
        had = {self.version_of(one) for one in movable} | set(states)
        gone: list[Kept] = []
        for one in reversed(wanted):
            version = self.version_of(one)
            others = [other for other in movable if other not in gone and other is not one]
            left = {self.version_of(other) for other in others} | set(states)
            made, missing = self.values.needed([self.version_of(g) for g in (*gone, one)], left)
            fixed = "#" in version.name or self.around.stay(version)
            if (
                fixed
                and self.is_had(made, missing)
                and self.values.cost(made, self.moving) <= KEEPING * (len(gone) + 1)
            ):
                gone.append(one)
                had = left
        made, _ = self.values.needed([self.version_of(g) for g in gone], had)
        read = {v for m in made for v in variables(self.values.made[m])} | {self.version_of(g) for g in gone}
        added = tuple(state for state in states if state in read)
        return KEEPING * (len(gone) - len(added)) - self.values.cost(made, self.moving), gone, added

    # -------------------------------------------------------------------------------------------------- the new text

    def changed(self, movable: list[Kept], gone: list[Kept], added: tuple[Var, ...]) -> Function:
        left = [one for one in movable if one not in gone]
        had = {self.version_of(one) for one in left} | set(added)
        made, _ = self.values.needed([self.version_of(g) for g in gone], had)
        read = {v for m in made for v in variables(self.values.made[m])} | {self.version_of(g) for g in gone}
        if isinstance(gone[0].put, Store):
            left = [one for one in left if self.version_of(one) in read]
        called = {one: self.fresh(one) for one in (*left, *gone)}
        names = {self.version_of(one): called[one] for one in reversed(left)}
        top: list[Stmt] = [one.had or Assign(called[one], one.load) for one in reversed(left)]  # type: ignore[arg-type]
        allocs: list[Stmt] = []
        puts: list[Stmt] = []
        for state in added:
            names[state] = Var(self.names.fresh(state.name.removesuffix("#")), state.dtype)
            alloc, put, have = self.state(Var(state.name.removesuffix("#"), state.dtype), names[state], gone[0])
            allocs += alloc
            puts.append(put)
            top.insert(len(left), have)
        own = {self.version_of(one): called[one] for one in reversed(gone)}
        for version in self.values.made:
            if version in made:
                names[version] = own.get(version) or Var(self.names.fresh(version.name.split("#")[0]), version.dtype)
                top.append(Assign(names[version], substitute(self.values.made[version], names)))
        top += [Assign(called[g], now) for g in gone if (now := names.get(v := self.version_of(g), v)) != called[g]]
        dropped = (
            {id(one.put) for one in gone} | {id(one.alloc) for one in gone} | {id(one.had) for one in (*left, *gone)}
        )
        ahead = {id(self.group.loops[-1]): puts, id(self.group.sweep): top}
        by_name: dict[Expr, Expr] = {one.load: var for one, var in called.items() if one.load and not one.had}

        def turned(stmt: Stmt) -> Block:
            if id(stmt) in dropped:
                return tuple(allocs) if stmt is gone[0].alloc else ()
            stmt = map_expressions(stmt, lambda expr: rewrite(expr, lambda node: by_name.get(node, node)))
            parts = tuple(tuple(s for inner in block for s in turned(inner)) for block in blocks(stmt))
            return (with_blocks(stmt, ((*ahead.get(id(stmt), ()), *parts[0]), *parts[1:])) if parts else stmt,)

        return replace(self.whole, body=tuple(s for stmt in self.whole.body for s in turned(stmt)))

    def fresh(self, one: Kept) -> Var:
        """The number's name in the sweep."""
        return one.var if one.had else Var(self.names.fresh(one.var.name.split("_kept")[0].rstrip("?")), one.dtype)

    def state(self, var: Var, then: Var, like: Kept) -> tuple[list[Stmt], Stmt, Stmt]:
        """What makes room for a state, as for something that was kept; what keeps it; and what has it again."""
        if isinstance(like.put, Push):
            return [], Push(like.put.stack, var), Pop(then, like.put.stack)
        assert like.alloc is not None
        array = Array(self.names.fresh(f"{var.name}_kept"), var.dtype, like.alloc.array.dims)
        had = Assign(then, Load(array, like.put.index, checked=False))
        return [Alloc(array, like.alloc.dims)], Store(array, like.put.index, var, checked=False), had


def _array(one: Kept) -> tuple[str, ...]:
    return (one.put.array.name,) if isinstance(one.put, Store) else ()


__all__ = ["compute_again"]
