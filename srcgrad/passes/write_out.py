"""Loops of a few iterations, written out: those over the neighbours of a place on a ring, and those that add up.

    for i in range(n):                          for i in range(n):
        for k in range(-1, 2):                      o[i] += x[(i - 1) % n]
            o[i] += x[(i + k) % n]      →           o[i] += x[i % n]
                                                    o[i] += x[(i + 1) % n]

A step that is known is a step of the index (see `periodic`): nothing is divided, and the reverse can be turned round.

    for i in range(n):                          for i in range(n):
        for a in range(2):                          for k in range(m):
            for k in range(m):                          s[i, k] += x[2 * i, 2 * k]
                for b in range(2):          →           s[i, k] += x[2 * i, 2 * k + 1]
                    s[i, k] += x[2 * i + a, 2 * k + b]  …

Then the sum is a number of the two loops that are left (the mean of each two by two numbers).

            for a in range(2):                              if x[2 * i, 2 * k] > m: m = x[2 * i, 2 * k]
                for b in range(2):                          if x[2 * i, 2 * k + 1] > m: m = x[2 * i, 2 * k + 1]
                    if x[2 * i + a, 2 * k + b] > m: …  →    …
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..analysis.effects import SIMPLE
from ..analysis.lives import is_private
from ..ir import affine
from ..ir.expressions import INT64, Call, Const, Expr, Load, Var
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, For, Function, If, Rule, Stmt, Store, leaves
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    mentioned,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    variables,
    with_fields,
)

FEW = 9  # iterations of a loop that is written out
LONG = 48  # statements that a loop is written out to
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def write_out(function: Function) -> Function:
    """The function with loops over neighbours on a ring written out."""
    return replace(function, body=WrittenOut(function, SIMPLE, _steps_around).block(function.body))


def write_out_sums(function: Function) -> Function:
    """And those that add up: a GPU goes through the others at one time, and no thread waits for another one's sum.

    And those that look for the best in a window of its own, or of a few elements: which of them it was is a branch
    then, and no number that only a run knows, so threads are apart, and no place is asked whether it is there.
    """
    sizes: dict[Var, int] = {}
    _note_sizes(function.body, 1, sizes)
    wanted = lambda loop: _steps_around(loop) or _adds_up(loop) or _looks_for_the_best(loop, sizes)
    return replace(function, body=WrittenOut(function, SIMPLE, wanted).block(function.body))


def _adds_up(loop: For) -> bool:
    """Does it do nothing but add numbers of one array to elements that loops around choose?"""
    inside = statements(loop.body)
    own = {loop.index, *(stmt.index for stmt in inside if isinstance(stmt, For))}
    added = [stmt for stmt in inside if not isinstance(stmt, For)]
    return bool(added) and all(_is_added(stmt, loop.index, own) for stmt in added)


def _looks_for_the_best(loop: For, sizes: Mapping[Var, int]) -> bool:
    """Does it choose among elements of a window: x[2 * i + k], of which i is of a loop around?"""
    inside = statements(loop.body)
    if not all(isinstance(stmt, (Assign, For, If, Store)) for stmt in inside):
        return False
    places = [part for stmt in inside for part in _indices(stmt) if loop.index in variables(part)]
    chosen = {var for stmt in inside for var in _chosen(stmt)}
    is_small = sizes.get(loop.index, LONG) <= FEW
    in_windows = bool(places) and all(_moves_on(part, loop, is_small) for part in places)
    return in_windows and any(not is_private(var, loop.body) for var in chosen)


def _moves_on(part: Expr, loop: For, may_overlap: bool) -> bool:
    """Is it a place in a window that other loops choose, and that ends ahead of the next one?"""
    steps = [abs(count) for term, count in affine.affine(part)[0] if loop.index not in variables(term)]
    within = [affine.affine(substitute(part, {loop.index: affine.integer(trip)})) for trip in trips_of(loop) or ()]
    others = {terms for terms, _ in within}
    width = max(constant for _, constant in within) - min(constant for _, constant in within) if within else 0
    return bool(steps) and len(others) == 1 and (may_overlap or width < min(steps))


def _note_sizes(block: Block, around: int, sizes: dict[Var, int]) -> int:
    """Note by each index how many elements its loop goes through, with those around it and in it that are short."""
    most = around
    for stmt in block:
        here = around * len(trips_of(stmt) or (0,)) if isinstance(stmt, For) else around
        inside = max((_note_sizes(part, here, sizes) for part in blocks(stmt)), default=here)
        if isinstance(stmt, For):
            sizes[stmt.index] = max(sizes.get(stmt.index, 0), inside)
        most = max(most, inside)
    return most


def _chosen(stmt: Stmt) -> Iterator[Var]:
    """What a statement may leave as it is."""
    match stmt:
        case Assign(var=var, value=Call(op="max" | "min" | "maximum" | "minimum", args=args)) if var in args:
            yield var
        case If(then=then, orelse=()):
            yield from (inner.var for inner in then if isinstance(inner, Assign))


def _is_added(stmt: Stmt, index: Var, own: set[Var]) -> bool:
    if not isinstance(stmt, AddTo) or not isinstance(stmt.target, Load):
        return False
    chosen_by = set().union(*map(variables, stmt.target.index))
    summed = {load for load in loads(stmt.value) if any(index in variables(part) for part in load.index)}
    return index not in chosen_by and bool(chosen_by - own) and len(summed) == 1  # (a product of matrices has two)


def _steps_around(loop: For) -> bool:
    """Is its index a part of what is divided for a place: x[(i + k) % n], of which i is the index of another loop?"""
    inside = statements(loop.body)
    places = [part for stmt in inside for part in _indices(stmt)]
    named = {var for part in places for var in variables(part)}
    places += [stmt.value for stmt in inside if isinstance(stmt, Assign) and stmt.var in named]
    for expr in (part for place in places for part in subexpressions(place)):
        if isinstance(expr, Call) and expr.op == "mod" and expr.dtype == INT64 and not isinstance(expr.args[1], Const):
            terms = dict(affine.affine(expr.args[0])[0])
            if loop.index in terms and len(terms) > 1:
                return True
    return False


def _indices(stmt: Stmt) -> list[Expr]:
    """The indices of the elements that a statement touches."""
    found = [part for expr in expressions(stmt) for load in loads(expr) for part in load.index]
    match stmt:
        case Store(index=index) | AddTo(target=Load(index=index)):
            found += index
    return found


class WrittenOut:
    """Loops whose iterations are few, and of which `wanted` says so, in a program of these kinds of statements."""

    def __init__(self, function: Function, kinds: tuple[type, ...], wanted: Callable[[For], bool]) -> None:
        self.names: Names = function.info.names
        self.kinds, self.wanted = kinds, wanted
        self.mentions = Counter(var for stmt in with_adjoints(function.body) for var in mentioned(stmt))
        self.mentions.update(variables_of(function.results))

    def block(self, block: Block) -> Block:
        return rewritten(block, lambda stmt: self.opened(stmt) if isinstance(stmt, For) else (stmt,))

    def opened(self, loop: For) -> Block:
        trips, inside = trips_of(loop), statements(loop.body)
        if (
            trips is None
            or len(trips) * len(inside) > LONG
            or not all(isinstance(stmt, self.kinds) for stmt in inside)
            or not self.wanted(loop)
        ):
            return (loop,)
        private = self.private(loop)
        out: list[Stmt] = []
        for trip in trips:
            values: dict[Var, Expr] = {loop.index: Const(trip, INT64)}
            values |= {var: Var(self.names.fresh(var.name), var.dtype) for var in private}
            # passes tell statements apart: what does not change is another object in each iteration, too
            one = lambda stmt, values=values: settled(with_fields(_with_values(stmt, values), {}))
            body = rewrite_block(loop.body, one)
            self.mentions.update(var for stmt in statements(body) for var in mentioned(stmt) if var in values.values())
            out += self.block(body)
        return tuple(out) if len(statements(tuple(out))) <= LONG else (loop,)

    def private(self, loop: For) -> set[Var]:
        """Variables that every iteration sets before it reads them, and that nobody else knows."""
        return {var for inner in (loop, *statements(loop.body)) for block in blocks(inner) for var in self.own(block)}

    def own(self, block: Block) -> set[Var]:
        """Variables that the block sets before it reads them, and that are in no other."""
        here = Counter(var for stmt in statements(block) for var in mentioned(stmt))
        before: set[Var] = set()
        out: set[Var] = set()
        for stmt in block:
            if isinstance(stmt, Assign) and stmt.var not in before | variables(stmt.value):
                if here[stmt.var] == self.mentions[stmt.var]:
                    out.add(stmt.var)
            before.update(var for inner in statements((stmt,)) for var in mentioned(inner))
        return out


def trips_of(loop: For) -> range | None:
    """The values of the index, where they are known and few."""
    match loop.start, loop.stop, loop.step:
        case Const(value=start), Const(value=stop), Const(value=step):
            trips = range(start, stop, step)
            return trips if len(trips) <= FEW else None
    return None


def _with_values(stmt: Stmt, values: dict[Var, Expr]) -> Stmt:
    if isinstance(stmt, Assign) and isinstance(own := values.get(stmt.var), Var):
        stmt = replace(stmt, var=own)
    return map_expressions(stmt, lambda expr: substitute(expr, values))


def settled(stmt: Stmt) -> Block:
    """The statement, or the branch that the numbers of an iteration choose."""
    chosen = _decided(stmt.condition) if isinstance(stmt, If) else None
    if chosen is None:
        return (stmt,)
    assert isinstance(stmt, If)
    return stmt.then if chosen else stmt.orelse


def _decided(condition: Expr) -> bool | None:
    """What comes out, where constants alone decide."""
    match condition:
        case Const(value=value):
            return bool(value)
        case Call(op="not", args=(inner,)):
            known = _decided(inner)
            return None if known is None else not known
        case Call(op="and" | "or" as op, args=args):
            parts = [_decided(arg) for arg in args]
            if (op == "or") in parts:
                return op == "or"
            return None if None in parts else op == "and"
        case Call(op=op, args=(Const(value=int(x)), Const(value=int(y)))) if op in COMPARISONS:
            return COMPARISONS[op](x, y)
    return None


def variables_of(results: Any) -> set[Var]:
    return {var for leaf in leaves(results) if isinstance(leaf, Expr) for var in variables(leaf)}


def with_adjoints(block: Block) -> Iterator[Stmt]:
    """Every statement, those of given adjoints too."""
    for stmt in statements(block):
        yield stmt
        if isinstance(stmt, Rule):
            yield from with_adjoints(stmt.adjoint)


def rewritten(block: Block, change: Callable[[Stmt], Block]) -> Block:
    """The block with every statement changed, those of given adjoints too."""

    def with_adjoint(stmt: Stmt) -> Block:
        return change(replace(stmt, adjoint=rewritten(stmt.adjoint, change)) if isinstance(stmt, Rule) else stmt)

    return rewrite_block(block, with_adjoint)


__all__ = [
    "COMPARISONS", "FEW", "LONG", "WrittenOut",
    "rewritten", "settled", "trips_of", "variables_of", "with_adjoints", "write_out",
]  # fmt: skip
