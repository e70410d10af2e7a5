"""A counter that a loop steps by the same amount, or by its index, becomes an expression of the loop's index.

    for b in range(a + 1, d):                  for b in range(a + 1, d):
        s[b] += l[p] * x[a]            →           s[b] += l[p + (b - a - 1)] * x[a]
        p += 1                                 p += d - a - 1          (never less than 0 of them)

The loop is independent then, and its index affine: it vectorises, and no value of the counter is kept.  Around it
the counter grows by what an index says, as in all triangles that are packed row by row: there it is a square of that
index, and the loop around may be independent, too.

    for a in range(d):                         for a in range(d):
        f(p)                               →       f(p + a * (d - a) + (a * (a - 1) >> 1))
        p += d - a - 1                         p += d * (d - 1) >> 1

So is `i * (i + 1) // 2` of the user's own.  So with a number whose sign changes in every iteration: `sign = -sign` is
1.0 or -1.0, whichever the index says.  So with numbers of rows that take turns: `now = 1 - now`, and `now, then = then,
now`, are `t & 1` and `1 - (t & 1)`.  And with a counter in a `while` loop, by the number of its trips.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from ..analysis.effects import effects
from ..analysis.signs import extremes, signs_of
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Expr, Var, integer, select
from ..ir.naturals import proved_by_bounds
from ..ir.nodes import AddTo, Assign, Block, For, Function, Stmt, While
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    remembered,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    targets,
    variables,
    with_blocks,
)


def induction(function: Function) -> Function:
    fixed = frozenset(signs_of(function).fixed)
    body = _with_halves(function.body) if any(map(_halves, function.body)) else function.body
    return replace(function, body=_block(body, function.info.kind != "primal", fixed))


def _block(block: Block, counts_trips: bool, fixed: frozenset[Var], around: tuple[For, ...] = ()) -> Block:
    """`counts_trips`: of `while` loops, too, which the sweep goes back through by number; `fixed` never changes."""
    out: list[Stmt] = []
    for stmt in block:
        if blocks(stmt):
            inner = (*around, stmt) if isinstance(stmt, For) else around
            stmt = with_blocks(stmt, tuple(_block(b, counts_trips, fixed, inner) for b in blocks(stmt)))
        steps: list[Stmt] = []
        while isinstance(stmt, While) and counts_trips and (stepped := _stepped(stmt)):
            stmt, step = _by_trips(stmt, *stepped, known_value(out, stepped[1].target))
            steps.append(step)
        while isinstance(stmt, For):
            if found := _counter(stmt, out, fixed):
                stmt, step = _closed(stmt, *found, around)
            elif turned := _alternating(stmt, out):
                stmt, step = _by_parity(stmt, *turned)
            elif turns := _taking_turns(stmt, out):
                stmt, (*others, step) = _by_turns(stmt, turns)
                steps += others
            else:
                break
            steps.append(step)
        out += [stmt, *steps]
    return tuple(out)


def _counter(loop: For, ahead: list[Stmt], fixed: frozenset[Var]) -> tuple[int, AddTo, Expr] | None:
    """The place and the statement `p += c`, or c + k * index, of a counter that nothing else sets, and where it starts.

    A square of the index is computed again, or kept, wherever it is read: it has to start at what is always known.
    """
    if not isinstance(loop.step, Const) or abs(loop.step.value) != 1:
        return None
    changed = effects(loop.body).writes | {loop.index}
    for place, stmt in enumerate(loop.body):
        match stmt:
            case AddTo(target=Var(dtype=dtype) as var, value=value) if dtype == INT64:
                if variables(_steady(value, loop)) & changed:
                    continue
                if (variables(loop.start) | variables(loop.stop)) & changed:
                    continue
                if loads(value) or loads(loop.start) or loads(loop.stop):
                    continue
                others = (s for k, s in enumerate(loop.body) if k != place)
                if any(var in effects((s,)).writes for s in others):
                    continue
                if not _by_index(value, loop):
                    return place, stmt, known_value(ahead, var)
                start = known_value(ahead, var, fixed)
                if variables(start) <= fixed:
                    return place, stmt, start
    return None


def _by_index(amount: Expr, loop: For) -> int:
    """By how much the amount differs from that of the index before."""
    return dict(affine.affine(amount)[0]).get(loop.index, 0)


def _steady(amount: Expr, loop: For) -> Expr:
    """What of the amount does not follow the index of the loop."""
    return affine.sub(amount, affine.mul(integer(_by_index(amount, loop)), loop.index))


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


def known_value(ahead: list[Stmt], var: Any, fixed: frozenset[Var] = frozenset()) -> Expr:
    """What a counter is behind these statements, if the last that sets it says so: a number, or of what is `fixed`."""
    for stmt in reversed(ahead):
        if isinstance(stmt, Assign) and stmt.var == var and _is_fixed(stmt.value, fixed):
            return stmt.value
        if var in effects((stmt,)).writes:
            break
    return var


def _is_fixed(value: Expr, fixed: frozenset[Var]) -> bool:
    return isinstance(value, Const) or (bool(fixed) and variables(value) <= fixed and not loads(value))


def _closed(loop: For, place: int, stmt: AddTo, start: Expr, around: tuple[For, ...]) -> tuple[For, Stmt]:
    var, amount = stmt.target, stmt.value
    assert isinstance(var, Var)
    goes_up = loop.step.value > 0  # type: ignore[attr-defined]
    gone = affine.sub(loop.index, loop.start) if goes_up else affine.sub(loop.start, loop.index)
    trips = affine.sub(loop.stop, loop.start) if goes_up else affine.sub(loop.start, loop.stop)
    before = affine.add(start, _sum(loop, amount, gone, around))
    after = affine.add(before, amount)
    body = (*_with(loop.body[:place], var, before), *_with(loop.body[place + 1 :], var, after))
    trips = trips if _is_natural(trips, around) else affine.maximum(trips, affine.ZERO)
    total = _sum(loop, amount, trips, around)
    if isinstance(start, Const):
        return replace(loop, body=body), Assign(var, affine.add(start, total), span=stmt.span)
    return replace(loop, body=body), AddTo(var, total, span=stmt.span)


def _sum(loop: For, amount: Expr, count: Expr, around: tuple[For, ...]) -> Expr:
    """The amounts of so many iterations, from the first one on.

    If each is k more than the one before they are n times the first, and k n (n - 1) / 2 more.  Those that get less and
    are natural are n times the last, and as much more: nothing is subtracted, and the sum is seen to be natural, too.
    """
    by_index = _by_index(amount, loop)
    more = by_index * loop.step.value  # type: ignore[attr-defined]
    from_last = more < 0 and _is_natural(amount, (*around, loop))
    place = affine.add(loop.start, affine.mul(loop.step, affine.sub(count, affine.ONE))) if from_last else loop.start
    total = affine.mul(count, affine.add(_steady(amount, loop), affine.mul(integer(by_index), place)))
    if more:
        more = -more if from_last else more
        square = affine.mul(count, affine.sub(count, affine.ONE))
        if more % 2:
            square = Call("rshift", (square, affine.ONE), INT64)
        total = affine.add(total, affine.mul(integer(more if more % 2 else more // 2), square))
    return total


def _is_natural(count: Expr, around: tuple[For, ...]) -> bool:
    """Provably >= 0, where the loops around have a last index?"""
    bounds: dict[Expr, tuple[Expr, Expr]] = {}
    for loop in around:
        ends, changed = extremes(loop), effects(loop.body).writes
        if loop.index not in changed and not any(loads(end) or variables(end) & changed for end in ends):
            bounds[loop.index] = ends
    order = {loop.index: -depth for depth, loop in enumerate(around)}  # an inner one is told by an outer one
    return proved_by_bounds(
        count,
        lambda expr: affine.is_at_least(expr, 0),
        lambda term, low: bounds[term][not low] if term in bounds else None,
        lambda term: order.get(term, 1),  # type: ignore[call-overload]
    )


# --------------------------------------------------------------------------------- triangles by their closed form


def _with_halves(block: Block) -> Block:
    """With i * (i + 1) // 2 as counters have it, where i is an index: one of the two is even, and none is divided."""
    indices = {s.index for s in statements(block) if isinstance(s, For)}

    def shifted(expr: Expr) -> Expr:
        if isinstance(expr, Call) and _is_half(expr) and variables(expr) & indices:
            return Call("rshift", (expr.args[0], affine.ONE), INT64)
        return expr

    return rewrite_block(block, lambda s: (map_expressions(s, lambda expr: rewrite(expr, shifted)),))


@remembered
def _halves(stmt: Stmt) -> bool:
    parts = (part for expr in expressions(stmt) for part in subexpressions(expr))
    return any(map(_is_half, parts)) or any(_halves(inner) for block in blocks(stmt) for inner in block)


def _is_half(expr: Expr) -> bool:
    match expr:
        case Call(op="floordiv", args=(Call(op="mul", args=(x, y)), Const(value=2)), dtype=dtype) if dtype == INT64:
            return affine.difference(x, y) in (1, -1)
    return False


# ---------------------------------------------------------------------------------------------- changes of the sign


def _alternating(loop: For, ahead: list[Stmt]) -> tuple[int, Var, Const] | None:
    """The place of a statement `s = -s`, the variable, and the number that it starts with."""
    if not _counts_up(loop):
        return None
    for place, stmt in enumerate(loop.body):
        if isinstance(stmt, Assign) and stmt.value == Call("neg", (stmt.var,), stmt.var.dtype):
            start = known_value(ahead, stmt.var)
            others = (*loop.body[:place], *loop.body[place + 1 :])
            if isinstance(start, Const) and start.dtype == stmt.var.dtype and stmt.var not in effects(others).writes:
                return place, stmt.var, start
    return None


def _counts_up(loop: For) -> bool:
    """Does it go by ones, between bounds that it leaves alone?"""
    bounds = (loop.start, loop.stop)
    changed = effects(loop.body).writes | {loop.index}
    return loop.step == affine.ONE and not any(loads(bound) or variables(bound) & changed for bound in bounds)


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


# ------------------------------------------------------------------------------------------- numbers that take turns

Turns = dict[
    Var, tuple[int, int, int]
]  # the place where each is set, and what it is in even iterations, and in odd ones


def _taking_turns(loop: For, ahead: list[Stmt]) -> Turns:
    """A whole number that becomes a known one less itself, or two that change places, from known ones."""
    if not _counts_up(loop):
        return {}
    times = Counter(target for stmt in statements(loop.body) for target in targets(stmt))
    places: dict[Var, int] = {}
    made: dict[Any, Expr] = {}  # what each is at the end of an iteration, by what all are at its beginning
    for place, stmt in enumerate(loop.body):
        match stmt:
            case Assign(var=Var(dtype=dtype) as var, value=value) if dtype == INT64 and times[var] == 1:
                if not loads(value):
                    places[var], made[var] = place, affine.normal(substitute(value, made))
    start = {var: value for var in made if isinstance(value := known_value(ahead, var), Const)}
    for var in start:
        terms, constant = affine.affine(made[var])
        if terms == ((var, -1),):
            return {var: (places[var], int(start[var].value), constant - int(start[var].value))}
        other = made[var]
        if isinstance(other, Var) and other != var and other in start and made[other] == var:
            first, second = int(start[var].value), int(start[other].value)
            return {var: (places[var], first, second), other: (places[other], second, first)}
    return {}


def _by_turns(loop: For, turns: Turns) -> tuple[For, list[Stmt]]:
    gone = affine.sub(loop.index, loop.start)
    trips = affine.maximum(affine.sub(loop.stop, loop.start), affine.ZERO)
    set_there = {place for place, _, _ in turns.values()}
    body = [(place, stmt) for place, stmt in enumerate(loop.body) if place not in set_there]
    behind: list[Stmt] = []
    for var, (place, first, second) in turns.items():
        at = lambda turn, first=first, second=second: affine.add(
            integer(first), affine.mul(integer(second - first), Call("bitand", (turn, affine.ONE), INT64))
        )
        before, after = at(gone), at(affine.add(gone, affine.ONE))
        body = [(k, _with((stmt,), var, before if k < place else after)[0]) for k, stmt in body]
        behind.append(Assign(var, at(trips), span=loop.body[place].span))
    return replace(loop, body=tuple(stmt for _, stmt in body)), behind


def _with(block: Block, var: Var, value: Expr) -> Block:
    change = lambda e: substitute(e, {var: value})
    return rewrite_block(block, lambda s: (map_expressions(s, change),))


__all__ = ["induction", "known_value"]
