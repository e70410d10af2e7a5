"""Array statements → loops.  The right side comes first: where it reads what the loop writes, it goes to a temporary.

each i < n - 1:  x[i + 1] = x[i]        t = empty(n - 1)
                                   →    for i in range(n - 1): t[i] = x[i]
                                        for i in range(n - 1): x[i + 1] = t[i]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..analysis.signs import signs_of
from ..ir import affine
from ..ir.expressions import Array, Expr, Load, Var
from ..ir.info import Info, roots_of
from ..ir.nodes import (
    AddTo,
    Alloc,
    Block,
    For,
    ForEach,
    Function,
    If,
    NewAxis,
    Rule,
    Run,
    Spread,
    Stmt,
    Store,
    Subscript,
    View,
)
from ..ir.walk import (
    expressions,
    is_constant,
    loads,
    made_for,
    map_expressions,
    rewrite_block,
    statements,
    substitute,
    variables,
)


def lower_arrays(function: Function) -> Function:
    return replace(function, body=_lowered(function.body, roots_of(function), function))


def _lowered(block: Block, roots: dict[str, str], function: Function) -> Block:
    def lower(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Rule):
            return (replace(stmt, adjoint=_lowered(stmt.adjoint, roots, function)),)
        if isinstance(stmt, ForEach):
            return _loops(stmt, roots, function)
        if isinstance(stmt, View) and isinstance(stmt.how, Subscript):
            return (replace(stmt, how=_with_whole_axes(stmt.how, stmt.base)),)
        return (stmt,)

    return rewrite_block(block, lower)


def _with_whole_axes(how: Subscript, base: Array) -> Subscript:
    """The items, with those that take an axis as it is marked so."""
    axes = iter(base.dims)
    items: list[Any] = []
    for item in how.items:
        dim = None if isinstance(item, NewAxis) else next(axes)
        if isinstance(item, Run) and dim is not None and affine.same(item.step, affine.ONE):
            item = replace(item, whole=affine.same(item.start, affine.ZERO) and affine.same(item.length, dim))
        items.append(item)
    return Subscript(tuple(items))


def _loops(stmt: ForEach, roots: dict[str, str], function: Function) -> Block:
    body = stmt.body
    if (
        not stmt.running
        and len(body) == 1
        and isinstance(body[0], (Store, AddTo))
        and _reads_what_it_writes(body[0], stmt, roots, function)
    ):
        return _by_way_of_temporary(stmt, body[0], function.info)
    return (_nest(stmt.indices, stmt.dims, body, stmt),)


def _nest(indices: tuple[Var, ...], dims: tuple[Expr, ...], body: Block, origin: ForEach) -> Stmt:
    """The loops, outermost first; an axis of length 1 needs none."""
    fixed = {index: affine.ZERO for index, dim in zip(indices, dims, strict=False) if is_constant(dim, 1)}
    if fixed:
        body = _with_indices(body, fixed)
    ordered = not all(_is_unordered(s, indices) for s in statements(body)) or (origin.running and _reads_on(body))
    body = tuple(made_for(origin, body))
    for index, dim in reversed(list(zip(indices, dims, strict=False))):
        if index not in fixed:
            body = (For(index, affine.ZERO, dim, affine.ONE, body, ordered, span=origin.span),)
    if len(body) == 1:
        return body[0]
    return If(_true(), body, span=origin.span)


def _true() -> Expr:
    from ..ir.expressions import BOOL, Const

    return Const(True, BOOL)


def _with_indices(body: Block, fixed: Mapping[Var, Expr]) -> Block:
    def change(expr: Expr) -> Expr:
        return affine.normal(substitute(expr, dict(fixed)))

    return rewrite_block(body, lambda s: (map_expressions(s, change),))


def _is_unordered(stmt: Stmt, indices: tuple[Var, ...]) -> bool:
    match stmt:
        case Store(index=index):
            return is_injective(index, indices)
        case AddTo() | If() | Spread():
            return True
    return False


def _reads_on(body: Block) -> bool:
    """Does a running loop read another element of what it writes?"""
    places = {Load(s.array, s.index) for s in statements(body) if isinstance(s, Store)}
    places |= {s.target for s in statements(body) if isinstance(s, AddTo) and isinstance(s.target, Load)}
    read = {load for s in statements(body) for e in expressions(s) for load in loads(e)}
    return any(load.array == place.array and load.index != place.index for place in places for load in read)


def is_injective(index: tuple[Expr, ...], over: tuple[Var, ...]) -> bool:
    """Do different values of these variables give different elements?  (Each runs along an axis of its own.)"""
    found: set[Var] = set()
    for part in index:
        here = variables(part) & set(over)
        if len(here) == 1 and not loads(part):
            (var,) = here
            terms, _ = affine.affine(part)
            if any(term == var for term, _ in terms) and sum(var in variables(t) for t, _ in terms) == 1:
                found.add(var)
    return found == set(over)


def _reads_what_it_writes(inner: Store | AddTo, stmt: ForEach, roots: dict[str, str], function: Function) -> bool:
    place = Load(inner.array, inner.index) if isinstance(inner, Store) else inner.target
    if isinstance(place, Var):
        return False
    root = roots.get(place.array.name, place.array.name)
    moving = tuple(v for v, dim in zip(stmt.indices, stmt.dims, strict=False) if not is_constant(dim, 1))
    exact = is_injective(place.index, moving)
    read = [load for expr in expressions(inner) for load in loads(expr)]
    clashes = [load for load in read if roots.get(load.array.name, load.array.name) == root]
    return any((load != place or not exact) and not _is_elsewhere(load, place, stmt, function) for load in clashes)


def _is_elsewhere(load: Load, place: Load, stmt: ForEach, function: Function) -> bool:
    """Is what is read never written, in any of the iterations: a[i + k + 1, k] beside a[i + k + 1, j + k + 1]?

    Along some axis one of them stays the same, and the other is always ahead.
    """
    if load.array.name != place.array.name:
        return False
    inside, signs = set(stmt.indices), signs_of(function)
    for pair in zip(load.index, place.index, strict=True):
        for low, high in (pair, pair[::-1]):
            if variables(low) & inside or loads(low) or not signs.is_natural(low):
                continue  # (x[-1] is x[n - 1])
            terms, constant = affine.affine(affine.sub(high, low))
            if constant > 0 and all(c > 0 and (t in inside or signs.is_natural(t)) for t, c in terms):
                return True
    return False


def _by_way_of_temporary(stmt: ForEach, inner: Store | AddTo, info: Info) -> Block:
    dtype = inner.value.dtype
    temporary = Array(info.names.fresh("t"), dtype, stmt.dims)
    held = Load(temporary, tuple(stmt.indices))
    store = Store(temporary, tuple(stmt.indices), inner.value, span=stmt.span)
    return (
        Alloc(temporary, stmt.dims, span=stmt.span),
        _nest(stmt.indices, stmt.dims, (store,), stmt),
        _nest(stmt.indices, stmt.dims, (replace(inner, value=held),), stmt),
    )
