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

from ..analysis.effects import effects, names_used
from ..analysis.signs import Signs, signs_of
from ..ir.expressions import Array, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, Block, For, Function, Stmt, Store, leaves
from ..ir.rename import rename_arrays
from ..ir.walk import expressions, rewrite_block, statements, subexpressions, with_fields


def take_over(function: Function) -> Function:
    return replace(function, body=_TakeOver(function).block())


class _TakeOver:
    def __init__(self, function: Function) -> None:
        made = Counter(stmt.array.name for stmt in statements(function.body) if isinstance(stmt, Alloc))
        self.body: list[Stmt | None] = list(function.body)  # None: gone
        self.allocs: dict[str, tuple[int, Alloc]] = {}  # where each array is made that is made once
        self.touching: dict[str, list[int]] = {}  # and where else something is done with it
        for k, stmt in enumerate(function.body):
            if isinstance(stmt, Alloc) and made[stmt.array.name] == 1:
                self.allocs[stmt.array.name] = k, stmt
            for name in names_used(stmt) if not isinstance(stmt, Alloc) else ():
                self.touching.setdefault(name, []).append(k)
        seen = [effects((stmt,)) for stmt in function.body]
        views = {name for one in seen for view in one.views.values() for name in (view.array.name, view.base.name)}
        self.fixed = views.union(*(one.shapes for one in seen))  # nor one whose lengths are asked for
        self.handed = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
        self.signs = signs_of(function)

    def block(self) -> Block:
        for position, alloc in enumerate(self.body):  # as they are by then
            if isinstance(alloc, Alloc) and alloc.array.name in self.allocs:
                old = self.not_needed_behind(alloc)
                if old is not None:
                    self.body[position] = None
                    self.rename(old, alloc)
        return tuple(stmt for stmt in self.body if stmt is not None)

    def not_needed_behind(self, alloc: Alloc) -> Alloc | None:
        """Of an array that is not needed any more where this one is made of it."""
        name = alloc.array.name
        places = self.touching.get(name)
        stmt = self.body[places[0]] if places else None
        if places is None or stmt is None or alloc.fill is not None or name in self.fixed:
            return None
        for other in sorted(names_used(stmt) - {name}):
            _, old = self.allocs.get(other, (0, None))
            if old is None or self.touching[other][-1] > places[0] or other in self.fixed or other in self.handed:
                continue
            same = (old.dims, old.array.dtype) == (alloc.dims, alloc.array.dtype)
            if same and _is_by_element(stmt, alloc.array, old.array, self.signs):
                return old
        return None

    def rename(self, old: Alloc, alloc: Alloc) -> None:
        """Both are the newer array, made where the older one is."""
        name, new = old.array.name, alloc.array
        position, _ = self.allocs.pop(name)
        self.body[position] = made = with_fields(old, {"array": new})
        self.allocs[new.name] = position, made
        places = self.touching.pop(name)
        for k in places:
            stmt = self.body[k]
            left = rewrite_block((rename_arrays(stmt, {name: new}),), _without_copies_of_itself) if stmt else ()
            self.body[k] = left[0] if left else None
        both = sorted({*self.touching[new.name], *places})
        self.touching[new.name] = [k for k in both if (stmt := self.body[k]) and new.name in names_used(stmt)]


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
