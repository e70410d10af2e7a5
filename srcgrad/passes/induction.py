"""A counter that a loop steps by the same amount becomes an expression of the loop's index.

    for b in range(a + 1, d):                  for b in range(a + 1, d):
        s[b] += l[p] * x[a]            →           s[b] += l[p + (b - a - 1)] * x[a]
        p += 1                                 p += d - a - 1          (never less than 0 of them)

The loop is independent then, and its index affine: it vectorises, and no value of the counter is kept.  So with a
number whose sign changes in every iteration: `sign = -sign` is 1.0 or -1.0, whichever the index says.  And with a
counter in a `while` loop, by the number of its trips.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Expr, Var, select
from ..ir.nodes import AddTo, Assign, Block, For, Function, Stmt, While
from ..ir.walk import blocks, loads, map_expressions, rewrite_block, subexpressions, substitute, variables, with_blocks
from .effects import effects


def induction(function: Function) -> Function:
    return replace(function, body=_block(function.body, function.info.kind != "primal"))


def _block(block: Block, counts_trips: bool) -> Block:
    """`counts_trips`: of `while` loops, too, which the sweep goes back through by number."""
    out: list[Stmt] = []
    for stmt in block:
        if blocks(stmt):
            stmt = with_blocks(stmt, tuple(_block(b, counts_trips) for b in blocks(stmt)))
        steps: list[Stmt] = []
        while isinstance(stmt, While) and counts_trips and (stepped := _stepped(stmt)):
            stmt, step = _by_trips(stmt, *stepped, known_value(out, stepped[1].target))
            steps.append(step)
        while isinstance(stmt, For):
            if found := _counter(stmt):
                stmt, step = _closed(stmt, *found, known_value(out, found[1].target))
            elif turned := _alternating(stmt, out):
                stmt, step = _by_parity(stmt, *turned)
            else:
                break
            steps.append(step)
        out += [stmt, *steps]
    return tuple(out)


def _counter(loop: For) -> tuple[int, AddTo] | None:
    """The place and the statement `p += c` of a counter that nothing else in the body sets."""
    if not isinstance(loop.step, Const) or abs(loop.step.value) != 1:
        return None
    changed = effects(loop.body).writes | {loop.index}
    for place, stmt in enumerate(loop.body):
        match stmt:
            case AddTo(target=Var(dtype=dtype) as var, value=value) if dtype == INT64:
                if variables(value) & changed or (variables(loop.start) | variables(loop.stop)) & changed:
                    continue
                if loads(value) or loads(loop.start) or loads(loop.stop):
                    continue
                others = (s for k, s in enumerate(loop.body) if k != place)
                if not any(var in effects((s,)).writes for s in others):
                    return place, stmt
    return None


def _stepped(loop: While) -> tuple[int, AddTo] | None:
    """The same in a loop of which nobody knows ahead how often it runs."""
    changed = effects(loop.body).writes | {loop.trip}
    past = _run_past(loop.condition)
    for place, stmt in enumerate(loop.body):
        match stmt:
            case AddTo(target=Var(dtype=dtype) as var, value=value) if dtype == INT64 and var not in past:
                others = (*loop.body[:place], *loop.body[place + 1 :])
                if not (variables(value) & changed or loads(value)) and var not in effects(others).writes:
                    return place, stmt
    return None


def _run_past(condition: Expr) -> set[Var]:
    """What may run past the number that it is compared with: such a loop ends by an error, if at all."""
    found = (e for e in subexpressions(condition) if isinstance(e, Call) and e.op in ("eq", "ne"))
    return {var for e in found for var in variables(e)}


def _by_trips(loop: While, place: int, stmt: AddTo, start: Expr) -> tuple[While, Stmt]:
    var, amount = stmt.target, stmt.value
    assert isinstance(var, Var)
    gone = affine.mul(loop.trip, amount)
    before = affine.add(start, gone)
    body = (*_with(loop.body[:place], var, before), *_with(loop.body[place + 1 :], var, affine.add(before, amount)))
    loop = replace(loop, condition=substitute(loop.condition, {var: before}), body=body)
    if isinstance(start, Const):
        return loop, Assign(var, before, span=stmt.span)
    return loop, AddTo(var, gone, span=stmt.span)


def known_value(ahead: list[Stmt], var: Any) -> Expr:
    """What a counter is after these statements: a number, where the last of them that sets it says so."""
    for stmt in reversed(ahead):
        if isinstance(stmt, Assign) and stmt.var == var and isinstance(stmt.value, Const):
            return stmt.value
        if var in effects((stmt,)).writes:
            break
    return var


def _closed(loop: For, place: int, stmt: AddTo, start: Expr) -> tuple[For, Stmt]:
    var, amount = stmt.target, stmt.value
    assert isinstance(var, Var)
    gone = affine.sub(loop.index, loop.start) if loop.step.value > 0 else affine.sub(loop.start, loop.index)  # type: ignore[attr-defined]
    trips = affine.sub(loop.stop, loop.start) if loop.step.value > 0 else affine.sub(loop.start, loop.stop)  # type: ignore[attr-defined]
    before = affine.add(start, affine.mul(gone, amount))
    after = affine.add(before, amount)
    body = (*_with(loop.body[:place], var, before), *_with(loop.body[place + 1 :], var, after))
    total = affine.mul(trips if affine.is_at_least(trips, 0) else affine.maximum(trips, affine.ZERO), amount)
    if isinstance(start, Const):
        return replace(loop, body=body), Assign(var, affine.add(start, total), span=stmt.span)
    return replace(loop, body=body), AddTo(var, total, span=stmt.span)


# ---------------------------------------------------------------------------------------------- changes of the sign


def _alternating(loop: For, ahead: list[Stmt]) -> tuple[int, Var, Const] | None:
    """The place of a statement `s = -s`, the variable, and the number that it starts with."""
    if loop.step != affine.ONE or loads(loop.start) or loads(loop.stop):
        return None
    changed = effects(loop.body).writes | {loop.index}
    if (variables(loop.start) | variables(loop.stop)) & changed:
        return None
    for place, stmt in enumerate(loop.body):
        if isinstance(stmt, Assign) and stmt.value == Call("neg", (stmt.var,), stmt.var.dtype):
            start = known_value(ahead, stmt.var)
            others = (*loop.body[:place], *loop.body[place + 1 :])
            if isinstance(start, Const) and start.dtype == stmt.var.dtype and stmt.var not in effects(others).writes:
                return place, stmt.var, start
    return None


def _by_parity(loop: For, place: int, var: Var, start: Const) -> tuple[For, Stmt]:
    gone = affine.sub(loop.index, loop.start)
    trips = affine.maximum(affine.sub(loop.stop, loop.start), affine.ZERO)
    before, after = _signed(start, gone), _signed(start, affine.add(gone, affine.ONE))
    body = (*_with(loop.body[:place], var, before), *_with(loop.body[place + 1 :], var, after))
    return replace(loop, body=body), Assign(var, _signed(start, trips), span=loop.body[place].span)


def _signed(start: Const, turns: Expr) -> Expr:
    """The number after so many changes of its sign."""
    is_even = Call("eq", (Call("bitand", (turns, affine.ONE), INT64), affine.ZERO), BOOL)
    return select(is_even, start, Const(-start.value, start.dtype))


def _with(block: Block, var: Var, value: Expr) -> Block:
    change = lambda e: substitute(e, {var: value})
    return rewrite_block(block, lambda s: (map_expressions(s, change),))


__all__ = ["induction", "known_value"]
