"""What holds at a place of a program: the loops around it, values of variables, what branches have found, shapes.

if i >= 1:      →   i - 1 >= 0 is a fact in the branch, for as long as i is what it was
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import is_
from typing import Any

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Dim, Expr, Var
from ..ir.nodes import (
    Alloc,
    Assign,
    Conform,
    External,
    For,
    Grow,
    Invoke,
    NewAxis,
    OwnCopy,
    Pick,
    Pop,
    Print,
    Raise,
    Reshape,
    Seal,
    Split,
    Stmt,
    Subscript,
    Swap,
    Transpose,
    View,
    split_dims,
)
from ..ir.walk import loads, statements, subexpressions, targets, variables, with_fields
from .lengths import Equal, parts_of
from .signs import the_other_way_round

Fact = tuple[tuple[Expr, ...], Expr]  # where those are >= 1, this is >= 0


@dataclass
class Loop:
    """A loop around an access: the extremes of its index, and how often it runs (where that is positive)."""

    stmt: For
    low: Expr
    high: Expr
    trips: Expr
    exact: bool  # both extremes are reached
    changed: frozenset[Var]
    guards: list[tuple[tuple[Expr, ...], Expr, Expr]] = field(default_factory=list)
    silent: bool = True  # nothing in it raises or prints: a check may come first
    ahead: Any = None  # the scope right ahead of it, where a check of it would stand


LAYERS = 8  # of facts that came one after the other, until they are put in one


class FactsByTerms:
    """Facts in the names of `equal`, by what an expression has to have in it to follow from them; more than `below`."""

    def __init__(self, facts: Iterable[Fact], equal: Equal, below: FactsByTerms | None = None) -> None:
        self.layers: tuple[FactsByTerms, ...] = (self,) if below is None else (self, *below.layers)
        self.by_term: dict[Expr, dict[int, list[Fact]]] = {}
        self.by_first_positive: dict[Expr | None, list[Fact]] = {}
        self.mentioned: set[Expr] = set()
        for fact in dict.fromkeys((conditions, equal.named(known)) for conditions, known in facts):
            self.mentioned |= parts_of(fact[1])
            terms, _ = affine.affine(fact[1])
            for term, count in terms:
                self.by_term.setdefault(term, {}).setdefault(count, []).append(fact)
            first = next((term for term, count in terms if count > 0), None)
            self.by_first_positive.setdefault(first, []).append(fact)

    def mention(self, length: Expr) -> bool:
        return any(length in layer.mentioned for layer in self.layers)

    def that_take_away(self, term: Expr, count: int, is_natural: bool) -> list[Fact]:
        """Those that leave nothing of so many of a term, or as many as may be there where the term is not negative."""
        found = [layer.by_term[term] for layer in self.layers if term in layer.by_term]
        if not is_natural:
            return [fact for facts in found for fact in facts.get(count, ())]
        return [fact for facts in found for often in facts if often <= count for fact in facts[often]]

    def with_no_more_than(self, terms: affine.Terms) -> list[Fact]:
        """Those that may add nothing to these terms: what they add would have to be taken away again."""
        firsts = (None, *(term for term, _ in terms))
        return [fact for layer in self.layers for first in firsts for fact in layer.by_first_positive.get(first, ())]


class SpokenOf:
    """Variables that something was ever said by: the values of others, ranges, shapes, and facts."""

    def __init__(self) -> None:
        self.in_values: set[Var] = set()
        self.in_ranges: set[Var] = set()
        self.in_shapes: set[Var] = set()
        self.in_facts: set[Var] = set()


@dataclass
class Scope:
    """What holds at a place: loops around it, values of variables, and expressions that are not negative."""

    loops: tuple[Loop, ...] = ()
    ahead: int = 0  # loops from here on run all the way down to this place, unconditionally
    values: dict[Var, Expr] = field(default_factory=dict)
    ranges: dict[Var, tuple[Expr, Expr]] = field(default_factory=dict)  # the least and the greatest that others may be
    facts: list[Fact] = field(default_factory=list)
    shapes: dict[str, tuple[Expr, ...]] = field(default_factory=dict)  # as long as they are what they were when made
    equal: Equal = field(default_factory=Equal)
    spoken_of: SpokenOf = field(default_factory=SpokenOf)  # here or in a copy
    sorted_facts: tuple[FactsByTerms, int, int, int] | None = (
        None  # of so many facts, loops, and lengths with two names
    )
    proofs: dict[Expr, bool] = field(default_factory=dict)  # of what is known here, by the names in `proved_in`
    proved_in: Any = None

    @staticmethod
    def at_entry(shapes: dict[str, tuple[Expr, ...]]) -> Scope:
        out = Scope()
        for array, dims in shapes.items():
            out.has_shape(array, dims)
        return out

    def copy(self, **changes: Any) -> Scope:
        own: dict[str, Any] = {"values": dict(self.values), "facts": list(self.facts), "shapes": dict(self.shapes)}
        own["ranges"] = dict(self.ranges)
        if "equal" not in changes:
            own["equal"] = self.equal.copy()
        if "loops" in changes:
            own["proofs"] = {}
        return with_fields(self, own | changes)

    def proofs_with(self, *others: Any) -> dict[Expr, bool]:
        """What has turned out to be a natural number here, or not: as long as nothing else is known, and these stay."""
        now = self.equal.names, *others
        if self.proved_in is None or not all(map(is_, self.proved_in, now)):
            self.proofs, self.proved_in = {}, now
        return self.proofs

    def is_now(self, var: Var, value: Expr) -> None:
        self.proofs = {}
        self.values[var] = value
        self.spoken_of.in_values |= {var, *variables(value)}

    def is_between(self, var: Var, low: Expr, high: Expr) -> None:
        self.proofs = {}
        self.ranges[var] = low, high
        self.spoken_of.in_ranges |= {var, *variables(low), *variables(high)}

    def has_shape(self, array: str, dims: tuple[Expr, ...]) -> None:
        self.shapes[array] = dims
        self.spoken_of.in_shapes.update(*map(variables, dims))

    def hold(self, facts: Iterable[Fact]) -> None:
        for conditions, known in facts:
            self.proofs = {}
            self.facts += [(conditions, part) for part in (known, *_without_greatest(known))]
            self.spoken_of.in_facts.update(variables(known), *map(variables, conditions))

    def facts_by_terms(self) -> FactsByTerms:
        """The facts, and that the loops around make a trip at least."""
        below, counted, loops, names = self.sorted_facts or (None, 0, 0, 0)
        united = [*islice(self.equal.same_as, names, None)] if names < len(self.equal.same_as) else []
        if below is not None and (len(below.layers) == LAYERS or any(map(below.mention, united))):
            below, counted, loops = None, 0, 0
        new = self.facts[counted:]
        for loop in self.loops[loops:]:
            if not variables(loop.trips) & loop.changed:
                new.append(((), affine.sub(loop.trips, affine.ONE)))
        table = FactsByTerms(new, self.equal, below) if new or below is None else below
        self.sorted_facts = table, len(self.facts), len(self.loops), len(self.equal.same_as)
        return table

    def forget_arrays(self, stmt: Stmt) -> None:
        """What is made inside a statement has another shape after it, perhaps."""
        exchanged: list[Swap] = []
        for inner in statements((stmt,)):
            if isinstance(inner, Swap):
                exchanged.append(inner)
            for name in arrays_made(inner):
                self.shapes.pop(name, None)
        while lost := [swap for swap in exchanged if self.may_change_shape(swap)]:
            exchanged = [swap for swap in exchanged if swap not in lost]
            for swap in lost:
                self.shapes.pop(swap.left.name, None)
                self.shapes.pop(swap.right.name, None)

    def may_change_shape(self, swap: Swap) -> bool:
        """Could what is exchanged be of two shapes?"""
        left, right = self.shapes.get(swap.left.name), self.shapes.get(swap.right.name)
        return left is None or right is None or not all(map(affine.same, left, right))

    def forget(self, names: frozenset[Var] | set[Var]) -> None:
        """These variables have new values."""
        spoken_of, before = self.spoken_of, (len(self.values), len(self.ranges), self.facts)
        if not spoken_of.in_values.isdisjoint(names):
            for var in [v for v, value in self.values.items() if v in names or not names.isdisjoint(variables(value))]:
                del self.values[var]
        if not spoken_of.in_ranges.isdisjoint(names):
            for var in [v for v, ends in self.ranges.items() if v in names or reads_any(ends, names)]:
                del self.ranges[var]
        if not spoken_of.in_shapes.isdisjoint(names):
            for array in [a for a, dims in self.shapes.items() if reads_any(dims, names)]:
                del self.shapes[array]
        if not spoken_of.in_facts.isdisjoint(names):
            left = [fact for fact in self.facts if not reads_any((*fact[0], fact[1]), names)]
            if len(left) < len(self.facts):
                self.facts, self.sorted_facts = left, None
        if before[:2] != (len(self.values), len(self.ranges)) or before[2] is not self.facts:
            self.proofs = {}


def reads_any(exprs: tuple[Expr, ...], names: frozenset[Var] | set[Var]) -> bool:
    for expr in exprs:
        if not names.isdisjoint(variables(expr)):
            return True
    return False


def names_in(expr: Expr) -> set[str]:
    return {v.name for v in variables(expr)} | {node.array for node in subexpressions(expr) if isinstance(node, Dim)}


def own_dims(array: Array) -> tuple[Expr, ...]:
    return tuple(Dim(array.name, axis) for axis in range(array.ndim))


def view_dims(how: Any, base: tuple[Expr, ...] | None) -> tuple[Expr, ...] | None:
    match how:
        case Reshape(dims=dims) | Conform(dims=dims):
            return dims
        case Transpose(order=order) if base is not None:
            return tuple(base[k] for k in order)
        case Split(axis=axis, dims=dims) if base is not None:
            return split_dims(base, axis, dims)
        case Subscript(items=items):
            return tuple(
                affine.ONE if isinstance(item, NewAxis) else item.length for item in items if not isinstance(item, Pick)
            )
    return None


def to_the_end(stmt: For) -> For:
    """range(maximum(n - 2, 0)) is range(n - 2): a loop that runs has n > 2."""
    match stmt:
        case For(start=Const(value=0), stop=Call(op="maximum", args=(end, Const(value=0))), step=Const(value=1)):
            return with_fields(stmt, {"stop": end})
    return stmt


def loop_of(stmt: For, quiet: frozenset[str]) -> Loop:
    there = the_other_way_round(stmt) or stmt
    step = int(there.step.value) if isinstance(there.step, Const) else 0
    inner = tuple(statements(stmt.body))
    changed = frozenset(changed_by(stmt))
    silent = not any(isinstance(s, Raise) and s.error != "LinAlgError" for s in inner)
    silent &= not any(isinstance(s, Print) or (isinstance(s, Invoke) and s.callee not in quiet) for s in inner)
    if step >= 0:
        low, high, trips = there.start, affine.sub(there.stop, affine.ONE), affine.sub(there.stop, there.start)
    else:
        low, high, trips = affine.add(there.stop, affine.ONE), there.start, affine.sub(there.start, there.stop)
    if step == 0:  # direction not known
        low = high = trips = stmt.index
    return Loop(stmt, low, high, trips, abs(step) == 1, changed, silent=silent)


def noted_in(loop: For) -> Iterator[Var]:
    """The variables that it sets to nothing but its index: the last iteration that had something to note."""
    noted: dict[Var, bool] = {}
    for stmt in statements(loop.body):
        for var in made_by(stmt):
            is_index = isinstance(stmt, Assign) and stmt.value == loop.index and var != loop.index
            noted[var] = noted.get(var, True) and is_index
    return (var for var, is_index in noted.items() if is_index and loop.index not in noted)


def changed_by(stmt: Stmt) -> set[Var]:
    return {var for inner in statements((stmt,)) for var in made_by(inner)}


def made_by(stmt: Stmt) -> Iterator[Var]:
    for item in targets(stmt):
        if isinstance(item, Var):
            yield item


def arrays_made(stmt: Stmt) -> Iterator[str]:
    match stmt:
        case View(array=array):
            yield array.name
        case Alloc(array=array) | OwnCopy(array=array) | Seal(array=array) | Grow(array=array):
            yield array.name
        case Pop(target=Array(name=name)) | External(out=Array(name=name)):
            yield name


def known_of(condition: Expr, holds: bool) -> Iterator[Expr]:
    """Expressions that are >= 0 where a condition holds (or does not)."""
    match condition:
        case Call(op="not", args=(x,)):
            yield from known_of(x, not holds)
        case Call(op="and", args=args) if holds:
            for arg in args:
                yield from known_of(arg, True)
        case Call(op="or", args=args) if not holds:
            for arg in args:
                yield from known_of(arg, False)
        case Call(op=op, args=(x, y)) if x.dtype == y.dtype == INT64 and not loads(condition):
            swap = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
            op = op if holds else swap.get(op, "")
            if op in ("ge", "eq"):
                yield affine.sub(x, y)
            if op in ("le", "eq"):
                yield affine.sub(y, x)
            if op == "gt":
                yield affine.sub(affine.sub(x, y), affine.ONE)
            if op == "lt":
                yield affine.sub(affine.sub(y, x), affine.ONE)


def _without_greatest(known: Expr) -> Iterator[Expr]:
    """What is not less than the greater of two is not less than either: n >= max(k - 1, 0) says n >= k - 1."""
    for term, count in affine.affine(known)[0]:
        match term:
            case Call(op="maximum", args=(x, y)) if count == -1:
                rest = affine.add(known, term)
                yield from (affine.sub(rest, x), affine.sub(rest, y))


def known_where(condition: Expr) -> Iterator[tuple[tuple[Expr, ...], Expr]]:
    """Expressions that are >= 0 where a condition does not hold, if those with them are >= 1."""
    match condition:
        case Call(op="and", args=(Call(op="gt", args=(x, y)), rest)) if x.dtype == y.dtype == INT64:
            for conditions, known in known_where(rest):
                yield (affine.sub(x, y), *conditions), known
        case Call(op="or", args=args):
            for arg in args:
                yield from known_where(arg)
        case _:
            yield from (((), known) for known in known_of(condition, False))


def is_all_known(condition: Expr, holds: bool) -> bool:
    """Does a condition hold (or not) exactly where all that `known_of` says of it is so?

    Otherwise what an iteration accesses can't be told ahead of the loop.
    """
    match condition:
        case Call(op="not", args=(x,)):
            return is_all_known(x, not holds)
        case Call(op="and", args=args) if holds:
            return all(is_all_known(arg, True) for arg in args)
        case Call(op="or", args=args) if not holds:
            return all(is_all_known(arg, False) for arg in args)
    return any(known_of(condition, holds))
