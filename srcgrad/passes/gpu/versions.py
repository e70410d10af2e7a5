"""What the numbers of one iteration of a loop are made of, so that they can be made again.

h = x + 0.5 * dt * (a - x)           h#0 = x# + 0.5 * dt * (a - x#)        (x# is what x holds at the start)
x += dt * (a - h) * h         →      x#1 = x# + dt * (a - h#0) * h#0
"""

from __future__ import annotations

from collections import Counter

from ...analysis.decisions import deciders
from ...ir.expressions import Array, Call, Expr, Load, Var
from ...ir.info import memory_of
from ...ir.nodes import AddTo, Assign, Block, Function, Push, Stmt, Store
from ...ir.walk import children, loads, numbers_set, statements, subexpressions, substitute, targets, variables
from ...rules.costs import cost, may_raise
from ..reverse_mode.kept_numbers import Group

KEEPING = 32  # additions that a store and a load of memory take: 100 on cards for computing centres, 20 on others
READING = 8


class Versions:
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

    def end(self, start: Var) -> Var:
        """What the variable holds at the end of the iteration."""
        var = Var(start.name.removesuffix("#"), start.dtype)
        return self.now.get(var, start)

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
            missing |= {v for v in deciders(value) if "#" in v.name and v not in had}
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


class Surroundings:
    """What stays as it is from an iteration of the forward loop to that of the sweep."""

    def __init__(self, function: Function, group: Group) -> None:
        self.params = {p.name for p in function.params}
        self.indices = group.indices
        changed = [target for stmt in statements(function.body) for target in targets(stmt)]
        memory = memory_of(function)
        written = {memory.get(target.name, target.name) for target in changed if isinstance(target, Array)}
        given = {p.name for p in function.params if isinstance(p, Array)}
        self.fixed = {name for name in given if memory.get(name, name) not in written}
        self.set_where = Counter(target for target in changed if isinstance(target, Var))
        self.set_ahead = Counter(target for stmt in statements(group.ahead) for target in targets(stmt))

    def stay(self, var: Var) -> bool:
        """Has a number that an iteration of the forward loop reads the same value in that of the sweep?"""
        if var in self.indices:
            return True
        if self.set_where[var] == 0:
            return var.name in self.params
        return self.set_where[var] == self.set_ahead[var]


__all__ = ["KEEPING", "Surroundings", "Versions"]
