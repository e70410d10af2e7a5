"""A shadow that is set back to zero and never looked at again need not be; a copy that nobody writes is its source.

g = e_b[j]                        g = e_b[j]            y_b = v.copy()
e_b[j] = 0.0              →       …                     … y_b[i] …              →       … v[i] …
…
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..ir.expressions import Array, Const
from ..ir.nodes import Alloc, Block, CopyTo, For, Function, If, Rule, Stmt, Store, leaves
from ..ir.rename import rename_arrays
from ..ir.walk import blocks, statements, with_blocks
from .effects import Access, Effects, effects, meet_in_one_iteration
from .signs import Signs


def dead_stores(function: Function) -> Function:
    if function.info.kind == "primal":
        return function
    handed = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    every = effects(function.body)
    seen_as_views = {name for view in every.views.values() for name in (view.array.name, view.base.name)}
    made: dict[str, int] = {}
    for stmt in statements(function.body):
        if isinstance(stmt, Alloc):
            made[stmt.array.name] = made.get(stmt.array.name, 0) + 1
    local = {name for name, count in made.items() if count == 1} - handed - seen_as_views
    function = replace(function, body=_Cleaner(local, Signs(function)).block(function.body, [], []))
    return _without_copies(function, local)


class _Cleaner:
    def __init__(self, local: set[str], signs: Signs) -> None:
        self.local, self.signs = local, signs

    def block(self, block: Block, after: list[Iterable[Stmt]], around: list[For]) -> Block:
        """`after`: what runs after this block, for each block around it; `around`: the loops that it is in."""
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            rest = block[position + 1 :]
            if isinstance(stmt, Store) and self.is_dead(stmt, [rest, *after], around):
                continue
            if isinstance(stmt, (For, If)):
                inner = [*around, stmt] if isinstance(stmt, For) else around
                stmt = with_blocks(stmt, tuple(self.block(b, [rest, *after], inner) for b in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    def is_dead(self, store: Store, after: list[Iterable[Stmt]], around: list[For]) -> bool:
        name = store.array.name
        if name not in self.local or not isinstance(store.value, Const):
            return False
        own = Access(store.array, store.index, True)
        if any(not _are_apart(own, read) for rest in after for read in _reads(effects(rest), name)):
            return False
        for loop in around:
            inside = effects(loop.body)
            changed = inside.writes - {loop.index}
            for read in _reads(inside, name):
                if not (_are_apart(own, read) or meet_in_one_iteration(own, read, loop, changed, self.signs)):
                    return False
        return True


def _are_apart(a: Access, b: Access) -> bool:
    """Two accesses of one array that never meet: at different places along some axis."""
    for p, q in zip(a.index, b.index, strict=True):
        if isinstance(p, Const) and isinstance(q, Const) and p.value != q.value and min(p.value, q.value) >= 0:
            return True
    return False


def _reads(seen: Effects, name: str) -> list[Access]:
    """Whatever lets the contents be seen: reads, and additions to what is there."""
    return [a for a in seen.accesses if a.array.name == name and (not a.writes or a.adds or a.whole)]


def _without_copies(function: Function, local: set[str]) -> Function:
    """y_b = v.copy(), which is only read, is v."""
    every = effects(function.body)
    params = {p.name: p for p in function.params if isinstance(p, Array)}
    written = {a.array.name for a in every.accesses if a.writes and not a.whole}
    whole: dict[str, int] = {}
    for access in every.accesses:
        if access.whole and access.writes:
            whole[access.array.name] = whole.get(access.array.name, 0) + 1
    names: dict[str, Array] = {}
    for stmt in function.body:
        if isinstance(stmt, CopyTo) and stmt.target.name in local and stmt.source.name in params:
            once = whole.get(stmt.target.name) == 2 and stmt.target.name not in written  # allocated, and copied to
            if once and not whole.get(stmt.source.name) and stmt.source.name not in written:
                names[stmt.target.name] = stmt.source
    if not names:
        return function
    gone = lambda s: isinstance(s, (Alloc, CopyTo)) and (s.array if isinstance(s, Alloc) else s.target).name in names
    body = (s for s in function.body if not gone(s))
    return replace(function, body=tuple(_renamed(s, names) for s in body))


def _renamed(stmt: Stmt, names: dict[str, Array]) -> Stmt:
    if blocks(stmt) and not isinstance(stmt, Rule):
        stmt = with_blocks(stmt, tuple(tuple(_renamed(s, names) for s in b) for b in blocks(stmt)))
    return rename_arrays(stmt, names)


__all__ = ["dead_stores"]
