"""A loop that asks at every index whether it is at an end of its range goes over the ends apart.

    for i in range(n):                 for i in range(0, min(1, n)): y[i] = x[(i + 1) % n] - x[i - 1]
        y[i] = x[(i + 1) % n]    →     for i in range(1, n - 1): y[i] = x[i + 1] - x[i - 1]
               - x[i - 1]              for i in range(max(n - 1, 1), n): y[i] = x[(i + 1) % n] - x[i - 1]

In the middle nothing goes around an end, nothing is counted from it, and a branch like `if i > 0` is none: that loop
vectorises.  The iterations come in the order that they had.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..analysis.effects import effects
from ..analysis.grids import is_parallel
from ..analysis.lengths import lengths_by_name
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Expr, Load, Var, compare, less
from ..ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Raise, Stmt, Store
from ..ir.walk import (
    blocks,
    children,
    expressions,
    loads,
    map_expressions,
    rebuild,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    substituted,
    variables,
    with_blocks,
)
from .prove_bounds import prove_bounds
from .reverse_mode.simplify import simpler

SIMPLE = (AddTo, Assign, Comment, If, Raise, Store)
FAR = 8  # indices from an end: an offset beyond is no neighbour
LONG = 40  # statements: such a body is not worth having three times
SHORT = 16  # iterations
WRITTEN_OUT = 2  # iterations at an end
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}  # y op x, for x op y
CHOICES = ("select", "and", "or", "not")

Ends = tuple[int, int, Expr]


def split_ends(function: Function) -> Function:
    """The function with such loops in parts, and their accesses proved anew: in the middle they are inside."""
    names = lengths_by_name(function)
    body = rewrite_block(function.body, lambda stmt: _split(stmt, names))
    return prove_bounds(replace(function, body=body)) if body != function.body else function


def split_ends_in_order(function: Function) -> Function:
    """The same, on a GPU, of loops that pass on elements: what is left in the middle can be gone over in parts.

    The few iterations at the ends are written out: each is little for one thread, and a loop over them no more.
    """
    names = lengths_by_name(function)

    def block(stmts: Block) -> Block:
        out: list[Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, For) and stmt.ordered and _passes_on(stmt):
                out += _with_ends_written_out(stmt, names)
                continue
            if blocks(stmt) and not is_parallel(stmt):
                stmt = with_blocks(stmt, tuple(map(block, blocks(stmt))))
            out.append(stmt)
        return tuple(out)

    return replace(function, body=block(function.body))


def _passes_on(loop: For) -> bool:
    """Does it read arrays that it writes?"""
    accesses = effects(loop.body).accesses
    return bool({a.array.name for a in accesses if a.writes} & {a.array.name for a in accesses if not a.writes})


def _with_ends_written_out(loop: For, names: Mapping[Expr, Expr]) -> Block:
    if not _is_simple(loop):
        return (loop,)
    upward, whole, first, last = _ends_of(loop, names)
    if not 0 < first + last or max(first, last) > WRITTEN_OUT:
        return (loop,)
    begin, end = affine.add(whole.low, affine.integer(first)), affine.sub(whole.high, affine.integer(last))
    lowest = [affine.add(whole.low, affine.integer(k)) for k in range(first)]
    highest = [affine.add(end, affine.integer(k)) for k in range(last)]
    ahead = [If(less(place, whole.high), whole.at(place, loop.body)) for place in lowest]
    behind = [If(compare("ge", place, begin), whole.at(place, loop.body)) for place in highest]
    middle = _over(replace(loop, body=_in_the_middle(loop.body, whole)), begin, end, upward)
    return (*ahead, middle, *behind) if upward else (*behind[::-1], middle, *ahead[::-1])


@dataclass(frozen=True)
class _Range:
    """The indices low … high - 1, and how many of them are near the ends."""

    index: Var
    low: Expr
    high: Expr
    names: Mapping[Expr, Expr]
    first: int = 0
    last: int = 0

    def gap(self, x: Expr, y: Expr) -> int | None:
        return affine.difference(substitute(x, self.names), substitute(y, self.names))

    def ends(self, expr: Expr) -> Ends | None:
        """How many indices there are at either end where it is not what it is in the middle, and what it is there."""
        match expr:
            case Call(op="wrap_low" | "wrap_high" | "mod", args=(x, n)) if expr.dtype == INT64:
                found = self.of_place(x, n)
            case Call(op=op, args=(x, y)) if op in MIRRORED and x.dtype == y.dtype == INT64:
                found = self.of_comparison(op, x, y)
            case _:
                return None
        return found if found is not None and max(found[:2]) <= FAR and not loads(expr) else None

    def of_place(self, x: Expr, n: Expr) -> Ends | None:
        step, room = self.gap(x, self.index), self.gap(n, self.high)
        least = self.least(step)
        if step is None or room is None or least is None or room < 0:
            return None
        return least, max(step - room, 0), affine.normal(x)

    def of_comparison(self, op: str, x: Expr, y: Expr) -> Ends | None:
        step = self.gap(x, self.index)
        if step is None:
            op, x, y = MIRRORED[op], y, x
            step = self.gap(x, self.index)
        if step is None:
            return None
        bound = affine.sub(y, affine.integer(step))  # index op bound
        above = self.gap(bound, self.low)
        if above is not None and above <= FAR:
            return max(above + (op in ("le", "gt", "eq", "ne")), 0), 0, Const(op in ("gt", "ge", "ne"), BOOL)
        below = self.gap(self.high, bound)
        if below is not None and below <= FAR:
            return 0, max(below - (op in ("le", "gt")), 0), Const(op in ("lt", "le", "ne"), BOOL)
        return None

    def at(self, place: Expr, body: Block) -> Block:
        """The body at one index, without the branches that are not taken there."""

        def decided(expr: Expr) -> Expr:
            match expr:
                case Call(op=op, args=(x, y)) if op in MIRRORED and x.dtype == y.dtype == INT64:
                    gap = self.gap(x, y)
                    return expr if gap is None else Const(getattr(operator, op)(gap, 0), BOOL)
                case Call(op=op) if op in CHOICES:
                    return simpler(expr)
            return expr

        return _chosen(substituted(body, {self.index: place}), lambda expr: rewrite(expr, decided))

    def least(self, step: int | None) -> int | None:
        """How many indices from the first one on are less than nothing when they have been moved by a step."""
        start = affine.difference(self.low, affine.ZERO)
        return None if step is None or start is None else max(-step - start, 0)


def _ends_of(loop: For, names: Mapping[Expr, Expr]) -> tuple[bool, _Range, int, int]:
    """Does it go upwards, over which indices, and how many of these are near either end?"""
    upward = affine.same(loop.step, affine.ONE)
    low, high = (
        (loop.start, loop.stop) if upward else (affine.add(loop.stop, affine.ONE), affine.add(loop.start, affine.ONE))
    )
    whole = _Range(loop.index, low, high, names)
    ends = [*_asked(loop, whole)]
    first, last = (max((end[k] for end in ends), default=0) for k in (0, 1))
    return upward, whole, first, last


def _split(loop: Stmt, names: Mapping[Expr, Expr]) -> Block:
    if not isinstance(loop, For) or not _is_simple(loop):
        return (loop,)
    upward, whole, first, last = _ends_of(loop, names)
    low, high = whole.low, whole.high
    if not first and not last:
        return (loop,)
    begin, end = affine.add(low, affine.integer(first)), affine.sub(high, affine.integer(last))
    middle = replace(loop, body=_in_the_middle(loop.body, whole))
    at_an_end = replace(loop, few=True)
    parts = [
        (at_an_end, low, affine.minimum(begin, high)) if first else None,
        (middle, begin, end),
        (at_an_end, affine.maximum(end, begin), high) if last else None,
    ]
    found = [part for part in parts if part is not None]
    return tuple(_over(*part, upward=upward) for part in (found if upward else reversed(found)))


def _over(loop: For, low: Expr, high: Expr, upward: bool) -> For:
    if upward:
        return replace(loop, start=low, stop=high)
    return replace(loop, start=affine.sub(high, affine.ONE), stop=affine.sub(low, affine.ONE))


def _is_simple(loop: For) -> bool:
    inside = statements(loop.body)
    count = affine.difference(loop.stop, loop.start)
    ends = variables(loop.start) | variables(loop.stop)
    return (
        (affine.same(loop.step, affine.ONE) or affine.same(loop.step, affine.integer(-1)))
        and not (loop.few or loop.vector or loop.masked)
        and (count is None or abs(count) >= SHORT)
        and len(inside) <= LONG
        and all(isinstance(stmt, SIMPLE) for stmt in inside)
        and not loads(loop.start)
        and not loads(loop.stop)
        and not ends & (effects(loop.body).writes | {loop.index})
    )


def _asked(loop: For, whole: _Range) -> Iterator[tuple[int, int]]:
    """The ends of all places in the body."""
    changed = effects(loop.body).writes
    for stmt in statements(loop.body):
        for expr in expressions(stmt):
            for node in subexpressions(expr):
                found = whole.ends(node)
                if found is not None and not variables(node) & changed:
                    yield found[:2]
                if isinstance(node, Load) and node.checked and not node.natural:
                    yield from _from_the_end(node.index, whole)
        if isinstance(stmt, Store) and stmt.checked and not stmt.natural:
            yield from _from_the_end(stmt.index, whole)
        if (
            isinstance(stmt, AddTo)
            and isinstance(stmt.target, Load)
            and stmt.target.checked
            and not stmt.target.natural
        ):
            yield from _from_the_end(stmt.target.index, whole)


def _from_the_end(index: tuple[Expr, ...], whole: _Range) -> Iterator[tuple[int, int]]:
    for part in index:
        count = whole.least(whole.gap(part, whole.index))
        if count and count <= FAR:
            yield count, 0


def _in_the_middle(body: Block, whole: _Range) -> Block:
    """The body without its ends."""
    changed = effects(body).writes

    def said(expr: Expr) -> Expr:
        found = whole.ends(expr) if not variables(expr) & changed else None
        if found is not None:
            return found[2]
        parts = tuple(map(said, children(expr)))  # (nobody asked what they come to together)
        new = rebuild(expr, parts) if parts else expr
        return simpler(new) if isinstance(new, Call) and new.op in CHOICES else new

    return _chosen(body, said)


def _chosen(body: Block, said: Callable[[Expr], Expr]) -> Block:
    """The body with its expressions said anew, and without the branches that are not taken then."""

    def chosen(stmt: Stmt) -> Block:
        stmt = map_expressions(stmt, said)
        if isinstance(stmt, If) and isinstance(stmt.condition, Const):
            return stmt.then if stmt.condition.value else stmt.orelse
        return (stmt,)

    return rewrite_block(body, chosen)


__all__ = ["split_ends", "split_ends_in_order"]
