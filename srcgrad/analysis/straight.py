"""An iteration that branches, said without branches around what it computes and adds; only what it stores stays in one.

    if mask[i]:                       chosen = mask[i]
        g = y_b[i]                    g = y_b[i] if chosen else 0.0
        y_b[i] = 0.0                  before = y_b[i]
        u_b[i + 1] += g        →      if chosen: y_b[i] = 0.0
    h = y_b[i]                        u_b[i + 1] += g if chosen else 0.0
    y_b[i] = 0.0                      h = 0.0 if chosen else before
    u_b[i] += h                       y_b[i] = 0.0
                                      u_b[i] += h

Then what is added is a number that can be computed elsewhere: of the memory as it was ahead of the iteration, because
what the iteration has stored it does not read back.  The side of a choice that is not taken is not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ..ir import affine
from ..ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var, both, negated, select
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, Comment, If, Stmt, Store
from ..ir.walk import expressions, loads, map_expressions, rewrite, statements, variables
from .known_here import known_of

Place = tuple[str, tuple[Expr, ...]]


def straight(body: Block, names: Names, may_be_one: Callable[[str, str], bool]) -> Straight | None:
    """None where something else than numbers, sums and elements is in a branch, or a number is from elsewhere."""
    made = Straight(body, names, may_be_one)
    return made if made.block(body, None) else None


class Straight:
    """The statements, and of additions with a choice in them what stood in the branch."""

    def __init__(self, body: Block, names: Names, may_be_one: Callable[[str, str], bool]) -> None:
        self.names, self.may_be_one = names, may_be_one
        self.assigned = {stmt.var for stmt in statements(body) if isinstance(stmt, Assign)}
        self.set: set[Var] = set()
        self.stored: dict[Place, Expr] = {}
        self.first: dict[Place, Stmt] = {}  # what stores there first
        self.is_sure = True  # does every iteration come here?
        self.facts: tuple[Expr, ...] = ()  # what is not negative here
        self.out: list[Stmt] = []
        self.of_branches: dict[Stmt, If] = {}

    @property
    def body(self) -> Block:
        return tuple(self.out)

    def in_branches(self, block: Block) -> Block:
        """Additions that nobody needs without their branch are in it again."""
        return tuple(self.of_branches.get(stmt, stmt) for stmt in block)

    def block(self, block: Block, condition: Expr | None) -> bool:
        return all(self.statement(stmt, condition) for stmt in block)

    def branch(self, block: Block, condition: Expr, facts: Iterable[Expr]) -> bool:
        before = self.facts
        self.facts = (*before, *(fact for fact in facts if not loads(fact)))
        done = self.block(block, condition)
        self.facts = tuple(fact for fact in before if fact in self.facts)
        return done

    def statement(self, stmt: Stmt, condition: Expr | None) -> bool:
        self.is_sure = condition is None
        known: Callable[[Expr], Expr] = lambda expr: rewrite(expr, self.as_known)
        if isinstance(stmt, AddTo):
            target = stmt.target
            if isinstance(target, Load):
                target = replace(target, index=tuple(map(known, target.index)))
            stmt = replace(stmt, target=target, value=known(stmt.value))
        else:
            stmt = map_expressions(stmt, known)
        read = {v for expr in expressions(stmt) for v in variables(expr)}
        read |= {stmt.target} if isinstance(stmt, AddTo) and isinstance(stmt.target, Var) else set()
        if read & self.assigned - self.set:
            return False  # it is what another iteration, or whoever is ahead of the loop, has left
        match stmt:
            case Comment():
                return True
            case If(test, then, orelse):
                chosen = self.named("chosen", test if condition is None else both(condition, test))
                if not self.branch(then, chosen, known_of(test, True)):
                    return False
                other = negated(chosen) if condition is None else both(condition, negated(chosen))
                return not orelse or self.branch(orelse, self.named("chosen", other), known_of(test, False))
            case Assign(var, value):
                otherwise = var if var in self.set else _zero(var)
                self.out.append(stmt if condition is None else replace(stmt, value=select(condition, value, otherwise)))
                self.set.add(var)
                self.forget_numbers(var)
            case AddTo(Load(array, index) as target, value) if self.is_a_number(target, condition):
                return self.statement(Store(array, index, self.stored[array.name, index] + value, target.checked), None)
            case AddTo(target, value):
                if isinstance(target, Var):
                    self.forget_numbers(target)
                else:
                    self.forget_elements(target)
                added = stmt
                if condition is not None:
                    added = replace(stmt, value=select(condition, value, _zero(value)))
                    self.of_branches[added] = If(condition, (stmt,))
                self.out.append(added)
            case Store(array, index, value):
                number = value if condition is None else select(condition, value, _zero(value))
                now = value if isinstance(value, Const) else self.named(f"{array.name}_now", number)
                store: Stmt = replace(stmt, value=now)
                store = store if condition is None else If(condition, (store,))
                place = Load(array, index, checked=stmt.checked)
                before = self.stored.get((array.name, index), place)
                if before is place:
                    self.first[array.name, index] = store
                self.forget_elements(place)
                if not any(map(loads, index)):
                    self.stored[array.name, index] = now if condition is None else select(condition, now, before)
                self.out.append(store)
            case _:
                return False
        return True

    def is_a_number(self, place: Load, condition: Expr | None) -> bool:
        """Is what is stored there known, whatever was there before?"""
        value = self.stored.get((place.array.name, place.index))
        return condition is None and value is not None and not loads(value)

    def named(self, name: str, value: Expr) -> Var:
        var = Var(self.names.fresh(name), value.dtype)
        self.out.append(Assign(var, value))
        self.set.add(var)
        return var

    def as_known(self, expr: Expr) -> Expr:
        match expr:
            case Load():
                return self.as_stored(expr)
            case Call(op="wrap_low", args=(index, _)):
                beyond = (affine.difference(index, fact) for fact in self.facts)
                return index if any(apart is not None and apart >= 0 for apart in beyond) else expr
        return expr

    def as_stored(self, expr: Load) -> Expr:
        place = expr.array.name, expr.index
        if place not in self.stored:
            return expr
        if self.is_sure and loads(self.stored[place]):  # what was there before is read ahead of what changes it
            before = Var(self.names.fresh(f"{expr.array.name}_before"), expr.dtype)
            position = next(k for k, stmt in enumerate(self.out) if stmt is self.first[place])
            self.out.insert(position, Assign(before, expr))
            self.set.add(before)
            self.stored[place] = rewrite(self.stored[place], lambda part: before if isinstance(part, Load) else part)
        return self.stored[place]

    def forget_numbers(self, var: Var) -> None:
        self.facts = tuple(fact for fact in self.facts if var not in variables(fact))
        for name, index in list(self.stored):
            if any(var in variables(part) for part in (*index, self.stored[name, index])):
                del self.stored[name, index]

    def forget_elements(self, place: Load) -> None:
        """What may be the element that is stored or added to now."""
        for name, index in list(self.stored):
            read = loads(self.stored[name, index])
            held = [Load(place.array, index)] if name == place.array.name else []
            others = {name, *(load.array.name for load in read)} - {place.array.name}
            may_be_other = any(self.may_be_one(other, place.array.name) for other in others)
            if may_be_other or any(not _is_elsewhere(one, place) for one in held):
                del self.stored[name, index]


def _is_elsewhere(x: Load, y: Load) -> bool:
    return any(affine.difference(i, j) not in (None, 0) for i, j in zip(x.index, y.index, strict=True))


def _zero(like: Expr) -> Const:
    return Const(like.dtype.type(0).item(), BOOL if like.dtype == BOOL else like.dtype)


def arrays_written(stmt: Stmt) -> set[str]:
    """By a statement, or in its branch."""
    out: set[str] = set()
    for inner in statements((stmt,)):
        match inner:
            case Store(array=Array(name=name)) | AddTo(target=Load(array=Array(name=name))):
                out.add(name)
    return out


__all__ = ["Straight", "arrays_written", "straight"]
