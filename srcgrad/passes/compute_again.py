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

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ..ir.expressions import LAZY, Array, Call, Expr, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, Block, For, Function, If, Pop, Push, Stmt, Store, While
from ..ir.walk import (
    blocks,
    children,
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    statements,
    subexpressions,
    substitute,
    targets,
    variables,
    with_blocks,
)
from ..rules.costs import cost, may_raise
from .info import memory_of
from .kept_numbers import Group, Kept, groups

KEEPING = 32  # additions that a store and a load of memory take: 100 on cards for computing centres, 20 on others
READING = 8


def compute_again(function: Function) -> Function:
    tried: set[str] = set()
    while True:
        group = next((g for g in groups(function) if not tried >= g.memory), None)
        if group is None:
            return function
        tried |= group.memory
        function = _Again(function, group).function()


# --------------------------------------------------------------------------------------------- what it is made of


class _Versions:
    """The values of the variables of one iteration, each under a name of its own, in the order in which it is made."""

    def __init__(self, body: Block, fixed: set[str]) -> None:
        self.fixed = fixed  # arrays that nobody writes to
        self.set_here = numbers_set(body)
        self.made: dict[Var, Expr] = {}
        self.now: dict[Var, Var] = {}
        self.at: dict[int, Var] = {}  # what is put into memory by each statement that does
        self.unknown = 0
        for stmt in body:
            self.take(stmt)

    def take(self, stmt: Stmt) -> None:
        match stmt:
            case Assign(var=var, value=value):
                self.now[var] = self.version(var, self.said(value))
            case AddTo(target=Var() as var, value=value):
                self.now[var] = self.version(var, self.said(Call("add", (var, value), var.dtype)))
            case Store(value=value) | Push(value=Expr() as value):
                said = self.said(value)
                self.at[id(stmt)] = said if isinstance(said, Var) else self.version(Var("t", value.dtype), said)
            case _:
                for var in numbers_set((stmt,)):  # there is nothing to make it of
                    self.unknown += 1
                    self.now[var] = Var(f"{var.name}#?{self.unknown}", var.dtype)

    def version(self, var: Var, value: Expr) -> Var:
        if isinstance(value, Var):
            return value
        new = Var(f"{var.name}#{len(self.made)}", var.dtype)
        self.made[new] = value
        return new

    def said(self, expr: Expr) -> Expr:
        return substitute(expr, {v: self.now.get(v, self.start(v)) for v in variables(expr)})

    def start(self, var: Var) -> Var:
        """What a variable that changes holds at the start of an iteration; others are what they are."""
        return Var(f"{var.name}#", var.dtype) if var in self.set_here else var

    def needed(self, wanted: list[Var], had: set[Var]) -> tuple[set[Var], set[Var]]:
        """What has to be made again for these, and what there is nothing to make it of."""
        made: set[Var] = set()
        missing: set[Var] = set()
        waiting = [v for v in wanted if v not in had]
        while waiting:
            var = waiting.pop()
            if var in made or var in had or "#" not in var.name:
                continue
            value = self.made.get(var)
            if value is None or not self.can_be_made_again(value):
                missing.add(var)
                continue
            made.add(var)
            missing |= {v for v in _deciders(value) if "#" in v.name and v not in had}
            waiting += variables(value)
        return made, missing

    def can_be_made_again(self, value: Expr) -> bool:
        is_fixed = all(load.array.name in self.fixed and not load.checked for load in loads(value))
        return is_fixed and not any(isinstance(node, Call) and may_raise(node) for node in subexpressions(value))

    def cost(self, made: set[Var], moving: frozenset[Var]) -> int:
        """In additions.  What comes out the same in all iterations is computed once."""
        waiting, total = [self.made[var] for var in made], 0
        while waiting:
            node = waiting.pop()
            if any("#" in v.name or v in moving for v in variables(node)):
                total += cost(node) if isinstance(node, Call) else READING if isinstance(node, Load) else 0
                waiting += children(node)
        return total


class _Again:
    def __init__(self, function: Function, group: Group) -> None:
        self.whole, self.group, self.names = function, group, function.info.names
        changed = [target for stmt in statements(function.body) for target in targets(stmt)]
        memory = memory_of(function)
        written = {memory.get(target.name, target.name) for target in changed if isinstance(target, Array)}
        given = {p.name for p in function.params if isinstance(p, Array)}
        fixed = {name for name in given if memory.get(name, name) not in written}
        self.values = _Versions(group.body, fixed)
        self.moving = frozenset(loop.index for loop in group.loops if isinstance(loop, For))
        self.set_where = Counter(target for target in changed if isinstance(target, Var))
        self.set_ahead = Counter(target for stmt in statements(group.ahead) for target in targets(stmt))

    def function(self) -> Function:
        in_order = isinstance(self.group.kept[0].put, Push)
        ranges = () if in_order else [expr for loop in self.group.loops for expr in expressions(loop)]
        if any(map(loads, ranges)) or not all(self.stays(v) for expr in ranges for v in variables(expr)):
            return self.whole
        movable = [one for one in self.group.kept if self.comes_first(one)]
        if in_order and len(movable) < len(self.group.kept):
            return self.whole
        deciding = self.deciding()
        wanted = [one for one in movable if one.dtype.kind == "f" and not deciding & {one.var.name, *_array(one)}]
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

    def deciding(self) -> set[str]:
        """The numbers and arrays of the sweep's block that say what runs, and which elements are meant."""
        inner = statements(self.group.sweep.body)
        deciding: set[str] = set()
        for stmt in inner:
            if isinstance(stmt, (For, While, If)):
                deciding |= _read_by(expressions(stmt))
            nodes = [node for expr in expressions(stmt) for node in subexpressions(expr)]
            lazy = (node for node in nodes if isinstance(node, Call) and node.op in LAZY)
            deciding |= _read_by(node.args[0] for node in lazy if any(map(loads, node.args[1:])))
            places = [node for node in nodes if isinstance(node, Load)]
            if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
                places.append(stmt.target)
            deciding |= _read_by(i for place in places for i in place.index)
            deciding |= _read_by(stmt.index) if isinstance(stmt, Store) else set()
        while True:
            makers = [s for s in inner if any(target.name in deciding for target in targets(s))]
            more = _read_by(expr for stmt in makers for expr in expressions(stmt))
            if more <= deciding:
                return deciding
            deciding |= more

    def is_local(self, var: Var) -> bool:
        """Is it read in the two loops alone?"""
        inside = {id(s) for s in statements((*self.group.loops[-1:], *self.group.sweep.body))}
        others = (s for s in statements(self.whole.body) if id(s) not in inside)
        return not any(var in variables(expr) for stmt in others for expr in expressions(stmt))

    def stays(self, var: Var) -> bool:
        """Has a number that an iteration of the forward loop reads the same value in that of the sweep?"""
        if var in self.group.indices:
            return True
        if self.set_where[var] == 0:
            return any(p.name == var.name for p in self.whole.params)
        return self.set_where[var] == self.set_ahead[var]

    def is_had(self, made: set[Var], missing: set[Var]) -> bool:
        read = made.union(*(variables(self.values.made[m]) for m in made))
        return not missing and all(self.stays(v) for v in read if "#" not in v.name)

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
            fixed = "#" in version.name or self.stays(version)
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


def _deciders(value: Expr) -> set[Var]:
    """The floats that say which whole number, and so which element, this is: rounding might make another one of it."""
    nodes = [node for node in subexpressions(value) if isinstance(node, Call)]
    whole = {v for node in nodes if node.dtype.kind in "iu" for v in variables(node) if v.dtype.kind == "f"}
    asked = [node.args[0] for node in nodes if node.op in LAZY and any(map(loads, node.args[1:]))]
    return whole | {v for expr in asked for v in variables(expr) if v.dtype.kind in "fb"}


def _array(one: Kept) -> tuple[str, ...]:
    return (one.put.array.name,) if isinstance(one.put, Store) else ()


def _read_by(exprs: Iterable[Expr]) -> set[str]:
    nodes = [node for expr in exprs for node in subexpressions(expr)]
    read = {node.array.name for node in nodes if isinstance(node, Load)}
    return read | {node.name for node in nodes if isinstance(node, Var)}


__all__ = ["compute_again"]
