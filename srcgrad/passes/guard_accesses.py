"""Accesses that are not proved to be inside are checked by statements of their own (for devices that check nothing).

    y = x[k]        →      if k < -n or k >= n: raise BoundsError(...)
                           y = x[k if k >= 0 else k + n]

What only one side of a choice reads is only checked where that side is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..errors import place
from ..ir import affine
from ..ir.nodes import (
    BOOL,
    INT64,
    AddTo,
    Array,
    Assign,
    Block,
    Call,
    Expr,
    Function,
    If,
    Load,
    NewAxis,
    Pick,
    Raise,
    Span,
    Stmt,
    Store,
    Subscript,
    Var,
    View,
    While,
)
from ..ir.walk import children, expressions, map_expressions, rewrite, rewrite_block
from .lengths import Lengths

Guarded = tuple[Expr | None, Load]  # under a condition


def guard_accesses(function: Function) -> Function:
    names, lengths = function.info.names, Lengths(function)

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
        if isinstance(stmt, View) and isinstance(stmt.how, Subscript):
            picks = _picks(stmt.base, stmt.how, lengths)
            checks = [check for at, dim, axis in picks for check in _checks_of(None, at, dim, axis, False, stmt.span)]
            items = iter([_natural(at, dim) for at, dim, _ in picks])
            how = tuple(Pick(next(items)) if isinstance(item, Pick) else item for item in stmt.how.items)
            return (*checks, replace(stmt, how=Subscript(how)))
        checks = [check for under, load in places if load.checked for check in _checks(under, load, lengths, stmt.span)]
        return (*dict.fromkeys(checks), _inside(stmt, lengths))

    return replace(function, body=rewrite_block(function.body, guarded))


def _guarded(expr: Expr, under: Expr | None) -> Iterator[Guarded]:
    """The elements that an expression reads, each with the condition under which it does."""
    match expr:
        case Load():
            yield under, expr
            for part in expr.index:
                yield from _guarded(part, under)
        case Call(op="select", args=(condition, x, y)):
            yield from _guarded(condition, under)
            yield from _guarded(x, _and(under, condition))
            yield from _guarded(y, _and(under, Call("not", (condition,), BOOL)))
        case Call(op="and" | "or" as op, args=(x, y)) if expr.dtype == BOOL:
            yield from _guarded(x, under)
            yield from _guarded(y, _and(under, x if op == "and" else Call("not", (x,), BOOL)))
        case _:
            for part in children(expr):
                yield from _guarded(part, under)


def _and(x: Expr | None, y: Expr) -> Expr:
    return y if x is None else Call("and", (x, y), BOOL)


def _picks(base: Array, how: Subscript, lengths: Lengths) -> list[tuple[Expr, Expr, int]]:
    """The indices that a view picks, each with the length of its axis and the number of that."""
    axes = [item for item in how.items if not isinstance(item, NewAxis)]
    found = zip(axes, lengths.of(base), strict=True)
    return [(item.index, dim, axis) for axis, (item, dim) in enumerate(found) if isinstance(item, Pick)]


def _checks(under: Expr | None, load: Load, lengths: Lengths, span: Span | None) -> Block:
    parts = zip(load.index, lengths.of(load.array), strict=True)
    checks = (_checks_of(under, part, dim, axis, load.natural, span) for axis, (part, dim) in enumerate(parts))
    return tuple(check for found in checks for check in found)


def _checks_of(under: Expr | None, part: Expr, dim: Expr, axis: int, natural: bool, span: Span | None) -> Block:
    wrong: Expr = Call("ge", (part, dim), BOOL)
    if not natural and not affine.is_at_least(part, 0):
        below = Call("lt", (affine.add(part, dim), affine.ZERO), BOOL)
        wrong = Call("or", (below, wrong), BOOL)
    message = f"index {{}} is out of bounds for axis {axis} with size {{}}" + place(span)
    wrong = wrong if under is None else Call("and", (under, wrong), BOOL)
    return (If(wrong, (Raise("BoundsError", message, (part, dim), span=span),), span=span),)


def _inside(stmt: Stmt, lengths: Lengths) -> Stmt:
    """The statement with indices that are inside and not negative."""
    wrap = lambda node: _wrapped(node, lengths) if isinstance(node, Load) else node
    stmt = map_expressions(stmt, lambda expr: rewrite(expr, wrap))
    if isinstance(stmt, Store):
        own = _wrapped(Load(stmt.array, stmt.index, stmt.checked, stmt.natural), lengths)
        return replace(stmt, index=own.index, checked=False)
    return stmt


def _wrapped(load: Load, lengths: Lengths) -> Load:
    if not load.checked:
        return load
    if load.natural:
        return replace(load, checked=False)
    index = tuple(_natural(part, dim) for part, dim in zip(load.index, lengths.of(load.array), strict=True))
    return replace(load, index=index, checked=False)


def _natural(part: Expr, dim: Expr) -> Expr:
    if affine.is_at_least(part, 0):
        return part
    return Call("select", (Call("lt", (part, affine.ZERO), BOOL), affine.add(part, dim), part), INT64)


__all__ = ["guard_accesses"]
