"""Elements of views are said as elements of the memory that the views are of; views that nobody needs are gone.

    row = u[k, ::2]
    s += row[i]         →      s += u[k, 2 * i]

A view stays where it is handed to somebody as a whole, and where what it was made with may have changed since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ..analysis.effects import effects
from ..analysis.lengths import Lengths, lengths_of
from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Dim, Expr, Load, Var
from ..ir.nodes import (
    AddTo,
    For,
    Function,
    NewAxis,
    Pick,
    Reshape,
    Run,
    Split,
    Stmt,
    Store,
    Subscript,
    Swap,
    Transpose,
    View,
    leaves,
    split_dims,
)
from ..ir.walk import arrays_read, expressions, loads, map_expressions, rewrite, rewrite_block, statements, targets


def resolve_views(function: Function) -> Function:
    views, lengths = stable_views(function), lengths_of(function)

    def resolved(stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = map_expressions(stmt, lambda expr: rewrite(expr, lambda e: _length(_of_base(e, views, lengths), views)))
        if isinstance(stmt, Store):
            place = _of_base(Load(stmt.array, stmt.index, stmt.checked, stmt.natural), views, lengths)
            assert isinstance(place, Load)
            return (replace(stmt, array=place.array, index=place.index),)
        return (stmt,)

    function = replace(function, body=rewrite_block(function.body, resolved))
    return _without_unneeded(function)


def _length(expr: Expr, views: dict[str, View]) -> Expr:
    """The length of an axis of a view, by what the view was made with."""
    while isinstance(expr, Dim) and expr.array in views:
        view = views[expr.array]
        match view.how:
            case Subscript(items=items):
                kept = [item for item in items if not isinstance(item, Pick)]
                item = kept[expr.axis]
                expr = item.length if isinstance(item, Run) else affine.ONE
            case Transpose(order=order):
                expr = view.base.dims[order[expr.axis]]
            case Reshape(dims=dims):
                expr = dims[expr.axis]
            case Split(axis=axis, dims=dims):
                expr = split_dims(view.base.dims, axis, dims)[expr.axis]
    return expr


def _without_unneeded(function: Function) -> Function:
    needed = _needed(function)
    is_idle = lambda stmt: isinstance(stmt, View) and stmt.array.name not in needed
    body = rewrite_block(function.body, lambda stmt: () if is_idle(stmt) else (stmt,))
    return function if body == function.body else _without_unneeded(replace(function, body=body))


def stable_views(function: Function) -> dict[str, View]:
    """Views that mean the same wherever they are known."""
    made: dict[str, list[View]] = {}
    sets: Counter[Var] = Counter(p for p in function.params if isinstance(p, Var))
    indices: set[Var] = set()
    moving: set[str] = set()
    for stmt in statements(function.body):
        if isinstance(stmt, View):
            made.setdefault(stmt.array.name, []).append(stmt)
        elif isinstance(stmt, For):
            indices.add(stmt.index)
        elif isinstance(stmt, Swap):
            moving |= {stmt.left.name, stmt.right.name}
        else:
            sets.update(v for v in targets(stmt) if isinstance(v, Var))
    out: dict[str, View] = {}
    for name, found in made.items():
        first = found[0]
        used = {v for expr in expressions(first) for v in effects((first,)).reads}
        fixed = all(sets[v] <= 1 and not (v in indices and sets[v]) for v in used)
        read = any(loads(expr) for expr in expressions(first))
        same = all(view.base == first.base and view.how == first.how for view in found)
        if fixed and same and not read and isinstance(first.how, (Subscript, Transpose, Reshape, Split)):
            out[name] = first
    if moving:
        out = {name: view for name, view in out.items() if not _root_names(view, made) & (moving | {name} & moving)}
    return out


def _root_names(view: View, made: dict[str, list[View]]) -> set[str]:
    names = {view.array.name, view.base.name}
    for inner in made.get(view.base.name, ()):
        names |= _root_names(inner, made)
    return names


def _of_base(expr: Expr, views: dict[str, View], lengths: Lengths) -> Expr:
    while isinstance(expr, Load) and expr.array.name in views and not expr.checked:
        view = views[expr.array.name]
        expr = replace(expr, array=view.base, index=index_in_base(view, expr.index, lengths))
    return expr


def index_in_base(view: View, index: tuple[Expr, ...], lengths: Lengths) -> tuple[Expr, ...]:
    match view.how:
        case Subscript(items=items):
            given = iter(index)
            out: list[Expr] = []
            for item in items:
                match item:
                    case Pick(index=at):
                        out.append(at)
                    case Run(start=start, step=step):
                        out.append(affine.add(start, affine.mul(step, next(given))))
                    case NewAxis():
                        next(given)
            return tuple(out)
        case Transpose(order=order):
            turned = dict(zip(order, index, strict=True))
            return tuple(turned[axis] for axis in range(len(order)))
        case Split(axis=axis, dims=dims):
            behind = axis + len(dims)
            return (*index[:axis], _raveled(index[axis:behind], dims), *index[behind:])
        case Reshape(dims=dims):
            whole = lengths.of(view.base)
            groups = _split(dims, whole, lengths.said)
            if groups is not None:
                return tuple(_raveled(index[group], dims[group]) for group in groups)
            merged = _merged(dims, whole, lengths.said)
            if merged is not None:
                return tuple(
                    at for part, group in zip(index, merged, strict=True) for at in _unraveled(part, whole[group])
                )
            return _unraveled(_raveled(index, dims), whole)
    raise AssertionError(f"not a view of all elements: {view}")


def _split(dims: tuple[Expr, ...], given: tuple[Expr, ...], said: Callable[[Expr], Expr]) -> list[slice] | None:
    """The axes that each given axis is split into, as (n, m) is by (n // 2, 2, m // 2, 2).

    None of them is longer by that; so where there is an element, and as many as before, each is as long as it was.
    """
    dims, given = tuple(map(said, dims)), tuple(map(said, given))
    groups: list[slice] = []
    first = 0
    for length in given:
        fits = (end for end in range(first + 1, len(dims) + 1) if _is_split(length, dims[first:end]))
        end = next(fits, None)
        if end is None:
            return None
        groups.append(slice(first, end))
        first = end
    return groups if first == len(dims) else None


def _merged(dims: tuple[Expr, ...], given: tuple[Expr, ...], said: Callable[[Expr], Expr]) -> list[slice] | None:
    """The given axes that each axis of the view is made of, as (2 * n, 2 * m) is of (n, 2, m, 2)."""
    dims, given = tuple(map(said, dims)), tuple(map(said, given))
    groups: list[slice] = []
    first = 0
    for length in dims:
        fits = (
            end for end in range(first + 1, len(given) + 1) if affine.same(affine.product(given[first:end]), length)
        )
        end = next(fits, None)
        if end is None:
            return None
        groups.append(slice(first, end))
        first = end
    return groups if first == len(given) else None


def _is_split(length: Expr, parts: tuple[Expr, ...]) -> bool:
    if affine.same(affine.product(parts), length):
        return True
    for position, part in enumerate(parts):
        match part:
            case Call(op="floordiv", args=(whole, by)) if affine.same(whole, length):
                return affine.same(affine.product((*parts[:position], *parts[position + 1 :])), by)
    return False


def _raveled(index: tuple[Expr, ...], dims: tuple[Expr, ...]) -> Expr:
    """The position of an element in C order."""
    at: Expr = affine.ZERO
    for part, dim in zip(index, dims, strict=True):
        at = affine.add(affine.mul(at, dim), part)
    return at


def _unraveled(at: Expr, dims: tuple[Expr, ...]) -> tuple[Expr, ...]:
    out: list[Expr] = []
    for dim in dims[:0:-1]:
        if isinstance(dim, Const) and dim.value == 1:
            out.append(affine.ZERO)
            continue
        out.append(Call("mod", (at, dim), INT64))
        at = Call("floordiv", (at, dim), INT64)
    return (at, *out[::-1]) if dims else ()


def _needed(function: Function) -> set[str]:
    """Handles that something other than the making of views uses."""
    out: set[str] = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    for stmt in statements(function.body):
        out |= {array.name for array in arrays_read(stmt)}
        if not isinstance(stmt, View):
            out |= {a.name for a in targets(stmt) if isinstance(a, Array)}
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
            out.add(stmt.target.array.name)
    return out


__all__ = ["index_in_base", "resolve_views", "stable_views"]
