"""Accesses that are not proved to be inside are checked by statements of their own (for devices that check nothing).

    y = x[k]        →      if k < -n or k >= n: raise BoundsError(...)
                           y = x[k if k >= 0 else k + n]

What only one side of a choice reads is only checked where that side is taken.  Of x[k[i]] first k[i] is checked, and
the check of the other reads it as it is read later: no check reads outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce

from ...analysis.defined_indices import by_values
from ...analysis.effects import effects, values_behind, values_within
from ...analysis.lengths import lengths_of
from ...analysis.signs import positive_by_steps, signs_of
from ...errors import place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Dim, Expr, Load, Span, Var, both, either, negated
from ...ir.naturals import proved_by_bounds
from ...ir.nodes import (
    AddTo,
    Assign,
    Block,
    For,
    Function,
    If,
    NewAxis,
    Pick,
    Raise,
    Stmt,
    Store,
    Subscript,
    View,
    While,
)
from ...ir.walk import (
    blocks,
    children,
    expressions,
    loads,
    map_expressions,
    rewrite,
    statements,
    subexpressions,
    targets,
    variables,
    with_blocks,
)
from ...ir.wraps import is_wrap

Guarded = tuple[Expr | None, Load]  # under a condition


class _Known:
    """What is known of indices where a statement stands: how long arrays are, and the ranges of the loops around."""

    def __init__(self, function: Function) -> None:
        self.lengths, self.signs = lengths_of(function), signs_of(function)
        self.around: list[For] = []
        self.values: Mapping[Var, Expr] = {}  # what names are made of there: r is no more than k where r = k % h

    def of(self, array: Array) -> tuple[Expr, ...]:
        return self.lengths.of(array)

    def is_natural(self, expr: Expr) -> bool:
        """Provably >= 0."""
        match expr:
            case Call(op="minimum" | "min", args=args):
                return all(self.is_natural(arg) or self.is_natural_in_loops_of(expr, arg) for arg in args)
            case Call(op="maximum" | "max", args=args) if any(map(self.is_natural, args)):
                return True
        said = by_values(expr, self.values)
        return self.is_natural_as_it_is(expr) or (said != expr and self.is_natural_as_it_is(said))

    def is_natural_as_it_is(self, expr: Expr) -> bool:
        if loads(expr):
            return False
        ends = {loop: self.signs.ends(loop) for loop in self.around}
        bounds = {loop.index: known for loop, known in ends.items() if _is_steady(loop, known)}
        ranks = {index: rank for rank, index in enumerate(reversed(bounds))}  # the innermost first
        positive = positive_by_steps(self.around, self.signs)

        def bound(term: Expr, low: bool) -> Expr | None:
            if isinstance(term, Var) and term in bounds:
                return by_values(bounds[term][not low], self.values)
            return affine.ONE if low and term in positive else None

        return proved_by_bounds(
            expr,
            self.signs.is_natural,
            bound,
            lambda term: ranks.get(term, len(ranks)) if isinstance(term, Var) else len(ranks),
        )

    def is_natural_in_loops_of(self, place: Expr, end: Expr) -> bool:
        """Is it >= 0 where loops run that a place depends on: n - 1 of min(i + 1, n - 1), for i in range(n)?"""
        for loop in self.around:
            low, high = self.signs.ends(loop)
            if loop.index in variables(place) and _is_steady(loop, (low, high)):
                if self.is_natural(affine.sub(end, affine.sub(high, low))):
                    return True
        return False

    def is_below(self, part: Expr, length: Expr) -> bool:
        """Provably less than the length."""
        if is_wrap(part) and affine.same(part.args[1], length):  # type: ignore[attr-defined]
            return True
        if isinstance(length, Call) and length.op == "maximum":  # … of a number of iterations and 0, mostly
            return any(self.is_below(part, operand) for operand in length.args)
        match part:
            case Call(op="minimum" | "min", args=args) if any(self.is_below(arg, length) for arg in args):
                return True
            case Call(op="maximum" | "max", args=args):
                room = lambda arg: affine.sub(affine.sub(length, arg), affine.ONE)
                return all(self.is_below(arg, length) or self.is_natural_in_loops_of(part, room(arg)) for arg in args)
        return self.is_natural(affine.sub(affine.sub(length, part), affine.ONE))


def _is_steady(loop: For, ends: tuple[Expr, Expr]) -> bool:
    """Are the ends of the range in the loop what they were ahead of it?"""
    changed = effects(loop.body).writes | {loop.index}
    return not any(loads(end) or variables(end) & changed for end in ends)


def guard_accesses(function: Function) -> Function:
    names, known = function.info.names, _Known(function)

    def block(stmts: Block, asked: frozenset[Expr] = frozenset()) -> Block:
        """`asked`: what checks ahead of it have found not to be so."""
        out: list[Stmt] = []
        values = known.values
        for stmt in stmts:
            behind = values_behind(stmt, values)
            if isinstance(stmt, For):
                known.around.append(stmt)
            after = _unchanged(asked, stmt)
            if blocks(stmt):
                known.values = values_within(stmt, values)
                stmt = with_blocks(stmt, tuple(block(inner, after) for inner in blocks(stmt)))
            if isinstance(stmt, For):
                known.around.pop()
            known.values = values_within(stmt, values)  # of a condition that a loop asks again, too
            *checks, inside = guarded(stmt)
            values = behind
            for check in checks:
                if not (isinstance(check, If) and check.condition in asked):
                    out.append(check)
                if isinstance(check, If):
                    after |= _unchanged(frozenset({check.condition}), stmt)
            out.append(inside)
            asked = after
        return tuple(out)

    def guarded(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, While) and any(load.checked for _, load in _guarded(stmt.condition, None)):
            holds = Var(names.fresh(f"{stmt.trip.name}_goes_on"), BOOL)
            ask = guarded(Assign(holds, stmt.condition, span=stmt.span))
            return (*ask, replace(stmt, condition=holds, body=(*stmt.body, *ask)))
        places = [found for expr in expressions(stmt) for found in _guarded(expr, None)]
        if isinstance(stmt, Store):
            places.append((None, Load(stmt.array, stmt.index, stmt.checked, stmt.natural)))
        elif isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
            places.append((None, stmt.target))
        checks = _all_checks(places, known, stmt.span)
        inside = _inside(stmt, known)
        if isinstance(inside, View) and isinstance(inside.how, Subscript):
            picked, inside = _picked(inside, inside.how, known)
            checks = (*checks, *picked)
        return (*dict.fromkeys(checks), inside)

    return replace(function, body=block(function.body))


def _unchanged(asked: frozenset[Expr], stmt: Stmt) -> frozenset[Expr]:
    """Those conditions that are what they were when the statement has run."""
    if not asked:
        return asked
    inner = tuple(statements((stmt,)))
    changed = {target.name for s in inner for target in (*targets(s), *((s.array,) if isinstance(s, View) else ()))}
    stores = any(not isinstance(target, Var) for s in inner for target in targets(s))
    return frozenset(c for c in asked if not (stores and loads(c)) and not _names(c) & changed)


def _names(expr: Expr) -> set[str]:
    inside = tuple(subexpressions(expr))
    arrays = {node.array for node in inside if isinstance(node, Dim)}
    return (
        {var.name for var in variables(expr)} | arrays | {node.array.name for node in inside if isinstance(node, Load)}
    )


def _guarded(expr: Expr, under: Expr | None) -> Iterator[Guarded]:
    """The elements that an expression reads, each with the condition under which it does."""
    match expr:
        case Load():
            for part in expr.index:
                yield from _guarded(part, under)
            yield under, expr
        case Call(op="select", args=(condition, x, y)):
            yield from _guarded(condition, under)
            yield from _guarded(x, both(under, condition))
            yield from _guarded(y, both(under, negated(condition)))
        case Call(op="and" | "or" as op, args=(x, y)) if expr.dtype == BOOL:
            yield from _guarded(x, under)
            yield from _guarded(y, both(under, x if op == "and" else negated(x)))
        case _:
            for part in children(expr):
                yield from _guarded(part, under)


def _picked(view: View, how: Subscript, known: _Known) -> tuple[Block, View]:
    """The checks of the indices that a view picks, and the view with those that are not negative."""
    axes = [item for item in how.items if not isinstance(item, NewAxis)]
    found = zip(axes, known.of(view.base), strict=True)
    picks = [(item.index, dim, axis) for axis, (item, dim) in enumerate(found) if isinstance(item, Pick)]
    checks = [c for at, dim, axis in picks for c in _checks_of(None, at, dim, axis, False, known, view.span)]
    natural = iter([_natural(at, dim, known) for at, dim, _ in picks])
    items = tuple(Pick(next(natural)) if isinstance(item, Pick) else item for item in how.items)
    return tuple(checks), replace(view, how=Subscript(items))


def _all_checks(places: list[Guarded], known: _Known, span: Span | None) -> Block:
    return tuple(check for under, load in places if load.checked for check in _checks(under, load, known, span))


def _checks(under: Expr | None, load: Load, known: _Known, span: Span | None) -> Block:
    under = None if under is None else _within(under, known)
    parts = zip((_within(part, known) for part in load.index), known.of(load.array), strict=True)
    checks = (_checks_of(under, part, dim, axis, load.natural, known, span) for axis, (part, dim) in enumerate(parts))
    return tuple(check for found in checks for check in found)


def _checks_of(
    under: Expr | None, part: Expr, dim: Expr, axis: int, natural: bool, known: _Known, span: Span | None
) -> Block:
    wrong: list[Expr] = []
    if not natural and not known.is_natural(part):
        wrong.append(Call("lt", (affine.add(part, dim), affine.ZERO), BOOL))
    if not known.is_below(part, dim):
        wrong.append(Call("ge", (part, dim), BOOL))
    if not wrong:
        return ()
    message = f"index {{}} is out of bounds for axis {axis} with size {{}}" + place(span)
    return (
        If(both(under, reduce(either, wrong)), (Raise("BoundsError", message, (part, dim), span=span),), span=span),
    )


def _inside(stmt: Stmt, known: _Known) -> Stmt:
    """The statement with indices that are inside and not negative."""
    stmt = map_expressions(stmt, lambda expr: _within(expr, known))
    if isinstance(stmt, Store):
        own = _wrapped(Load(stmt.array, stmt.index, stmt.checked, stmt.natural), known)
        return replace(stmt, index=own.index, checked=False)
    return stmt


def _within(expr: Expr, known: _Known) -> Expr:
    """The expression, reading inside."""
    return rewrite(expr, lambda node: _wrapped(node, known) if isinstance(node, Load) else node)


def _wrapped(load: Load, known: _Known) -> Load:
    if not load.checked:
        return load
    if load.natural:
        return replace(load, checked=False)
    index = tuple(_natural(part, dim, known) for part, dim in zip(load.index, known.of(load.array), strict=True))
    return replace(load, index=index, checked=False)


def _natural(part: Expr, dim: Expr, known: _Known) -> Expr:
    if known.is_natural(part):
        return part
    return Call("select", (Call("lt", (part, affine.ZERO), BOOL), affine.add(part, dim), part), INT64)


__all__ = ["guard_accesses"]
