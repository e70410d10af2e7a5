"""What is made element by element of an array that nobody needs any more is made in that array's own memory.

y_b = empty(n)                               x_b = empty(n)
…                                            …
x_b = empty(n)                          →
for i in range(n): x_b[i] = 2.0 * y_b[i]     for i in range(n): x_b[i] = 2.0 * x_b[i]
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from ..ir.expressions import Array, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, Block, For, Function, Stmt, Store, leaves
from ..ir.rename import rename_arrays
from ..ir.walk import expressions, rewrite_block, statements, subexpressions
from .effects import effects, names_used
from .signs import Signs, signs_of


def take_over(function: Function) -> Function:
    signs = signs_of(function)
    while (pair := _pair(function, signs)) is not None:
        old, new = pair
        body: list[Stmt] = []
        for stmt in function.body:
            if not (isinstance(stmt, Alloc) and stmt.array == new):
                renamed = rename_arrays(stmt, {old.name: new})
                body.extend((stmt,) if renamed is stmt else rewrite_block((renamed,), _without_copies_of_itself))
        function = replace(function, body=tuple(body))
    return function


def _pair(function: Function, signs: Signs) -> tuple[Array, Array] | None:
    """An array that is not needed any more where another one is made of it."""
    made = Counter(stmt.array.name for stmt in statements(function.body) if isinstance(stmt, Alloc))
    allocs = {s.array.name: s for s in function.body if isinstance(s, Alloc) and made[s.array.name] == 1}
    seen = [effects((stmt,)) for stmt in function.body]
    views = {name for one in seen for view in one.views.values() for name in (view.array.name, view.base.name)}
    fixed = views.union(*(one.shapes for one in seen))  # nor one whose lengths are asked for
    handed = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    touched = [names_used(stmt) if not isinstance(stmt, Alloc) else frozenset() for stmt in function.body]
    last = {name: k for k, names in enumerate(touched) for name in names}
    first = {name: k for k, names in reversed(list(enumerate(touched))) for name in names}
    for name, alloc in allocs.items():
        at = first.get(name)
        if at is None or alloc.fill is not None or name in fixed:
            continue
        for other in sorted(touched[at] - {name}):
            old = allocs.get(other)
            if old is None or last[other] > at or other in fixed or other in handed:
                continue
            same = (old.dims, old.array.dtype) == (alloc.dims, alloc.array.dtype)
            if same and _is_by_element(function.body[at], alloc.array, old.array, signs):
                return old.array, alloc.array
    return None


def _is_by_element(stmt: Stmt, new: Array, old: Array, signs: Signs) -> bool:
    """Has each iteration of a nest an element of both to itself, and is the old one not touched after the new one?"""
    loops: dict[Var, For] = {}
    inner: Block = (stmt,)
    while len(inner) == 1 and isinstance(inner[0], For):
        loops[inner[0].index] = inner[0]
        inner = inner[0].body
    if not all(isinstance(s, (Assign, Store, AddTo)) for s in inner):
        return False
    seen = [effects((s,)) for s in inner]
    if any(index in part.writes for part in seen for index in loops):
        return False
    places = {a.index for part in seen for a in part.accesses if a.array.name in (new.name, old.name)}
    if len(places) != 1 or len(loops) != new.ndim or set(*places) != set(loops):
        return False
    place: tuple[Any, ...] = next(iter(places))
    if not all(signs.is_apart(at, new, axis, loops[at]) for axis, at in enumerate(place)):
        return False
    first = next(k for k, part in enumerate(seen) if new.name in part.names())
    reads_new = isinstance(inner[first], AddTo) or any(load.array == new for load in _loads(inner[first]))
    return not reads_new and not any(old.name in part.names() for part in seen[first + 1 :])


def _loads(stmt: Stmt) -> list[Load]:
    return [n for expr in expressions(stmt) for n in subexpressions(expr) if isinstance(n, Load)]


def _without_copies_of_itself(stmt: Stmt) -> Block:
    if isinstance(stmt, Store) and isinstance(stmt.value, Load):
        if (stmt.array, stmt.index) == (stmt.value.array, stmt.value.index):
            return ()
    return () if isinstance(stmt, For) and not stmt.body else (stmt,)


__all__ = ["take_over"]
