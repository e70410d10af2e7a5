"""A `while` loop that counts up to a number, or down to it, is a `for` loop.

    i = 0                              i = 0
    while i < n:                       for i_1 in range(i, n):
        s += x[i]               →          s += x[i_1]
        i += 1                         i = max(i, n)

It may be independent, then, and vectorise; its trip count is known ahead, and nothing of it is kept on a stack.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.effects import effects
from ..analysis.lengths import lengths_of
from ..errors import place as error_place
from ..ir import affine
from ..ir.expressions import INT64, Call, Dim, Expr, Var, compare
from ..ir.info import memory_of
from ..ir.nodes import AddTo, Assign, Block, External, For, Function, If, Invoke, Print, Raise, Stmt, While
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    variables,
    with_blocks,
)
from ..rules.costs import may_raise
from .induction import known_value

TURNED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge", "ne": "ne"}


def counted(function: Function) -> Function:
    return replace(function, body=_Counting(function).block(function.body))


class _Counting:
    def __init__(self, function: Function) -> None:
        self.names, self.memory, self.lengths = function.info.names, memory_of(function), lengths_of(function)
        self.read = frozenset().union(*(variables(e) for s in statements(function.body) for e in expressions(s)))

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if blocks(stmt):
                stmt = with_blocks(stmt, tuple(map(self.block, blocks(stmt))))
            may_count = isinstance(stmt, While) and stmt.trip not in self.read
            out += (may_count and self.loop(stmt, out)) or (stmt,)  # type: ignore[arg-type]
        return tuple(out)

    def loop(self, loop: While, ahead: list[Stmt]) -> Block | None:
        for var, op, end in _comparison(loop.condition):
            place, step = _step(loop.body, var)
            if not _goes(op, step, loop.body) or not _stays(end, var, loop.body, self.memory):
                continue
            stop = affine.add(end, affine.integer({"le": 1, "ge": -1}.get(op, 0)))
            ends: list[Stmt] = []
            start = self.steady(known_value(ahead, var), "start", ends)
            stop = self.steady(stop, "stop", ends)
            way = affine.sub(stop, start) if step > 0 else affine.sub(start, stop)
            if op == "ne" and not affine.is_at_least(way, 0):
                past = Raise("BoundsError", "the counter of the loop runs past its end" + error_place(loop.span))
                ends.append(If(compare("lt", way, 0), (past,), span=loop.span))
            index = Var(self.names.fresh(var.name), INT64)
            after = affine.add(index, affine.integer(step))
            body = (*_with(loop.body[:place], var, index), *_with(loop.body[place + 1 :], var, after))
            last = Assign(var, _last(start, stop, step), span=loop.body[place].span)
            return (*ends, For(index, start, stop, affine.integer(step), body, span=loop.span), last)
        return None

    def steady(self, end: Expr, wanted: str, ahead: list[Stmt]) -> Expr:
        """The end of a range, also for who asks when the loop is over."""
        if self.lengths.is_known(end):
            return end
        var = Var(self.names.fresh(wanted), INT64)
        ahead.append(Assign(var, end))
        return var


def _goes(op: str, step: int, body: Block) -> bool:
    """Does the counter step to the end, and does the loop, if it is there already, or steps the other way?"""
    if op == "ne":  # only an error ends it then, which has to be that of an index
        others = any(isinstance(stmt, (External, Invoke, Print, Raise)) for stmt in statements(body))
        nodes = (e for stmt in statements(body) for expr in expressions(stmt) for e in subexpressions(expr))
        return step in (1, -1) and not others and not any(isinstance(e, Call) and may_raise(e) for e in nodes)
    return step > 0 if op in ("lt", "le") else step < 0


def _comparison(condition: Expr) -> list[tuple[Var, str, Expr]]:
    """A comparison of integers, read from either side that is a variable."""
    if not (isinstance(condition, Call) and condition.op in TURNED):
        return []
    x, y = condition.args
    sides = [(x, condition.op, y), (y, TURNED[condition.op], x)] if x.dtype == y.dtype == INT64 else []
    return [(var, op, end) for var, op, end in sides if isinstance(var, Var)]


def _step(body: Block, var: Var) -> tuple[int, int]:
    """The place of `var += c` in the body, and c; 0 where something else is done to the variable."""
    places = [k for k, stmt in enumerate(body) if var in effects((stmt,)).writes]
    match [body[k] for k in places]:
        case [AddTo(value=value)]:
            return places[0], affine.difference(value, affine.ZERO) or 0
        case [Assign(value=value)]:
            return places[0], affine.difference(value, var) or 0
    return 0, 0


def _stays(end: Expr, var: Var, body: Block, memory: dict[str, str]) -> bool:
    """Is it the same number in every iteration?"""
    inside = effects(body)
    written = {memory.get(access.array.name, access.array.name) for access in inside.accesses if access.writes}
    read = {memory.get(load.array.name, load.array.name) for load in loads(end)}
    made = {*inside.views, *inside.allocated, *(access.array.name for access in inside.accesses if access.whole)}
    lengths = {node.array for node in subexpressions(end) if isinstance(node, Dim)}
    return not (variables(end) & (inside.writes | {var}) or read & written or lengths & made)


def _last(start: Expr, stop: Expr, step: int) -> Expr:
    """What the counter is when the loop has ended."""
    if step in (1, -1):
        return affine.maximum(start, stop) if step > 0 else affine.minimum(start, stop)
    way = affine.sub(stop, start) if step > 0 else affine.sub(start, stop)
    size = abs(step)
    trips = Call("floordiv", (affine.add(way, affine.integer(size - 1)), affine.integer(size)), INT64)
    return affine.add(start, affine.mul(affine.maximum(trips, affine.ZERO), affine.integer(step)))


def _with(block: Block, var: Var, value: Expr) -> Block:
    return rewrite_block(block, lambda stmt: (map_expressions(stmt, lambda expr: substitute(expr, {var: value})),))


__all__ = ["counted"]
