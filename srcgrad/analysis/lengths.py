"""How long arrays are, said by what is there when the program runs.

A handle says its lengths by numbers that were known where it was made, some of which are gone since, or are others by
now: then the array itself is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import overload

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Dim, Expr, Var
from ..ir.nodes import (
    Alloc,
    Assign,
    Block,
    External,
    For,
    Function,
    Grow,
    If,
    Invoke,
    OwnCopy,
    Pop,
    Raise,
    Reshape,
    Seal,
    Stmt,
    Swap,
    Unseal,
    View,
    While,
)
from ..ir.walk import blocks, loads, remembered, rewrite, statements, subexpressions, substitute, targets, variables
from .effects import effects


class Lengths:
    def __init__(self, function: Function) -> None:
        self.sets: Counter[Var] = Counter(p for p in function.params if isinstance(p, Var))
        self.indices: set[Var] = set()
        self.arrays = {p.name for p in function.params if isinstance(p, Array)}
        self.asked_for: dict[str, tuple[Expr, ...]] = {}
        self.names: dict[Var, Expr] = {}  # of lengths: n = x.shape[0]
        for stmt in statements(function.body):
            if isinstance(stmt, For):
                self.indices.add(stmt.index)
            elif isinstance(stmt, (Alloc, View)):
                self.arrays.add(stmt.array.name)
                if isinstance(stmt, Alloc):
                    self.asked_for[stmt.array.name] = stmt.dims
            else:
                if isinstance(stmt, Assign) and isinstance(stmt.value, Dim):
                    self.names[stmt.var] = stmt.value
                for target in targets(stmt):
                    if isinstance(target, Var):
                        self.sets[target] += 1
        self.moving = self.indices.union(*(effects((loop,)).writes for loop in _outermost_loops(function.body)))
        self.made = Counter(p.name for p in function.params if isinstance(p, Array))
        others = (stmt for stmt in statements(function.body) if not isinstance(stmt, OwnCopy))
        self.made.update(array.name for stmt in others for array in _made(stmt))

    def of(self, array: Array) -> tuple[Expr, ...]:
        dims = array.dims
        if self.made[array.name] == 1:  # of memory that has left a loop, handles still say what is known in the loop
            dims = self.asked_for.get(array.name, dims)
        return tuple(d if self.is_known(d) else Dim(array.name, axis) for axis, d in enumerate(dims))

    def said(self, length: Expr) -> Expr:
        """The length by those of arrays that it is made of."""
        known = {var: dim for var, dim in self.names.items() if self.stays(var) and self.stays(dim)}
        return affine.normal(substitute(length, known))

    def is_known(self, length: Expr) -> bool:
        if loads(length):
            return False
        for part in subexpressions(length):
            if isinstance(part, Dim) and part.array not in self.arrays:
                return False
            if isinstance(part, Var) and self.sets[part] + (part in self.indices) != 1:
                return False
        return True

    def stays(self, length: Expr) -> bool:
        """Is it known, and nothing that an array made later, with the same name, could change?"""
        asked = (part.array for part in subexpressions(length) if isinstance(part, Dim))
        return self.is_known(length) and all(self.made[name] == 1 for name in asked)

    def is_known_ahead(self, length: Expr) -> bool:
        """Is it known, and the same, ahead of all loops around?"""
        return self.is_known(length) and not self.moving & variables(length)


@remembered
def lengths_of(function: Function) -> Lengths:
    return Lengths(function)


def _outermost_loops(block: Block) -> Iterator[Stmt]:
    for stmt in block:
        if isinstance(stmt, (For, While)):
            yield stmt
        else:
            for part in blocks(stmt):
                yield from _outermost_loops(part)


class Equal:
    """Lengths that are known to be equal.  They go by the one that comes first in `first`, if any is there."""

    def __init__(self, first: Mapping[Expr, int] = MappingProxyType({})) -> None:
        self.first = first
        self.same_as: dict[Expr, Expr] = {}
        self.names: dict[Expr, Expr] = {}  # what `named` has answered, while `same_as` is as it is
        self.where: list[tuple[tuple[Expr, ...], Expr, Expr]] = []  # what is equal in loops that run so often

    def copy(self) -> Equal:
        out = Equal(self.first)
        out.same_as, out.where, out.names = dict(self.same_as), list(self.where), self.names
        return out

    def within(self, stmt: Stmt) -> Equal:
        """What is known in a statement: of a loop, that it runs."""
        out = self.copy()
        if isinstance(stmt, For) and self.where and steps_by_one(stmt):
            runs = trips(stmt)
            out.where = []
            for conditions, x, y in self.where:
                others = tuple(c for c in conditions if not affine.same(c, runs))
                if others:
                    out.where.append((others, x, y))
                else:
                    out.unite(x, y)
        return out

    def one_of(self, length: Expr) -> Expr:
        """The same for all that are equal."""
        length = affine.normal(length)
        while length in self.same_as:
            length = self.same_as[length]
        return length

    @overload
    def named(self, expr: Expr) -> Expr: ...

    @overload
    def named(self, expr: None) -> None: ...

    def named(self, expr: Expr | None) -> Expr | None:
        """The expression with lengths that are equal by one name."""
        if expr is None or not self.same_as:
            return expr
        if self.same_as.keys().isdisjoint(parts_of(expr)):
            return expr
        if expr not in self.names:
            to_one = lambda part: self.one_of(part) if part.dtype == INT64 and part in self.same_as else part
            self.names[expr] = rewrite(expr, to_one)
        return self.names[expr]

    def learn(self, stmt: Stmt, lengths: Lengths) -> None:
        """What holds after a check, or a length got a name."""
        found: Iterable[tuple[tuple[Expr, ...], Expr, Expr]] = ()
        match stmt:
            case If(condition=condition, then=(*_, Raise()), orelse=()):
                found = _differing(condition)
            case Assign(var=var, value=value) if var.dtype == value.dtype == INT64:
                found = (((), var, value),)
        for conditions, x, y in found:
            if not all(map(lengths.stays, (*conditions, x, y))):
                continue
            if conditions:
                self.where.append((conditions, x, y))
            else:
                self.unite(x, y)

    def unite(self, x: Expr, y: Expr) -> None:
        x, y = self.one_of(x), self.one_of(y)
        if x != y:
            x, y = sorted((x, y), key=self.rank)
            if self._is_made_of(x, y):  # len(a) - len(b) // 2 is no name for len(b)
                x, y = y, x
            if not self._is_made_of(x, y):
                self.same_as[y] = x
                self.names = {}

    def _is_made_of(self, length: Expr, part: Expr) -> bool:
        """Who names one length, and then what that is made of, comes to an end: would the other one come up there?"""
        waiting, seen = [length], {length}
        while waiting:
            for inner in parts_of(waiting.pop()):
                if inner == part:
                    return True
                found = self.one_of(inner) if inner.dtype == INT64 else inner
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
        return False

    def rank(self, length: Expr) -> tuple[int, int]:
        """Which one of several that are equal is the best to go by: of lengths of arrays, what loops have by then."""
        of_arrays = 1 if not variables(length) else 2 if isinstance(length, Var) else 3
        return 0 if isinstance(length, Const) else of_arrays, self.first.get(length, len(self.first))


@lru_cache(maxsize=65536)
def parts_of(expr: Expr) -> frozenset[Expr]:
    """The expression and all in it."""
    return frozenset(subexpressions(expr))


def steps_by_one(loop: For) -> bool:
    return isinstance(loop.step, Const) and loop.step.value in (1, -1)


def trips(loop: For) -> Expr:
    """How often a loop by single steps runs, where that is positive."""
    if affine.same(loop.step, affine.integer(-1)):
        return affine.sub(loop.start, loop.stop)
    return affine.sub(loop.stop, loop.start)


def _differing(condition: Expr) -> Iterator[tuple[tuple[Expr, ...], Expr, Expr]]:
    """What is equal where a condition does not hold, if these numbers are positive."""
    match condition:
        case Call(op="or", args=args):
            for arg in args:
                yield from _differing(arg)
        case Call(op="and", args=(Call(op="gt", args=(x, y)), *rest)) if x.dtype == y.dtype == INT64:
            for part in rest if len(rest) == 1 else ():
                for conditions, left, right in _differing(part):
                    yield (affine.sub(x, y), *conditions), left, right
        case Call(op="ne", args=(x, y)) if x.dtype == y.dtype == INT64:
            yield (), x, y


def in_order(function: Function) -> tuple[set[str], set[str]]:
    """Names of arrays in C order that are the same arrays wherever they are, and of those that could be put in order.

    The latter are cotangents, which may come in any order.
    """
    params = [p.name for p in function.params if isinstance(p, Array)]
    extra = function.info.extra
    kinds = [] if function.info.kind == "callee" else extra.get("arguments", ())
    found = {p.name for p, kind in zip(function.params, kinds, strict=False) if getattr(kind, "layout", "") == "C"}
    made = Counter(params)
    for stmt, is_inside in _nested(function.body):
        match stmt:
            case OwnCopy(array=array) if array.name in params and not is_inside:
                found.add(array.name)
            case Alloc(array=array) | View(array=array, how=Reshape()):
                made[array.name] += 1 + is_inside
                found.add(array.name)
            case _:
                made.update(2 * [array.name for array in _made(stmt)])
    cotangents = {p.name for p in extra.get("seed_params", ()) if isinstance(p, Array)} & found
    lasting = {name for name in found if made[name] == 1}
    return lasting, lasting & cotangents


def _made(stmt: Stmt) -> list[Array]:
    """The arrays whose names stand for other memory after a statement."""
    match stmt:
        case Alloc(array=array) | View(array=array) | OwnCopy(array=array) | Grow(array=array) | Seal(array=array):
            return [array]
        case Swap(left=left, right=right):
            return [left, right]
        case Pop() | External() | Invoke() | Unseal():
            return [out for out in targets(stmt) if isinstance(out, Array)]
    return []


def _nested(block: Block, is_inside: bool = False) -> Iterator[tuple[Stmt, bool]]:
    """All statements, and whether they are in a loop or a branch."""
    for stmt in block:
        yield stmt, is_inside
        for part in blocks(stmt):
            yield from _nested(part, is_inside or isinstance(stmt, (For, If, While)))


def lengths_by_name(function: Function) -> dict[Expr, Expr]:
    """The names of lengths of arguments: set once, before all else that might want them."""
    made = lengths_of(function).made
    params = {p.name for p in function.params if isinstance(p, Array) and made[p.name] == 1}
    sets: dict[Var, int] = {}
    for stmt in statements(function.body):
        for var in targets(stmt):
            if isinstance(var, Var):
                sets[var] = sets.get(var, 0) + 1
    return {
        stmt.var: stmt.value
        for stmt in function.body
        if isinstance(stmt, Assign)
        and sets[stmt.var] == 1
        and isinstance(stmt.value, Dim)
        and stmt.value.array in params
    }


__all__ = ["Equal", "Lengths", "in_order", "lengths_by_name", "lengths_of", "steps_by_one", "trips"]
