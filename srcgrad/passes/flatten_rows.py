"""A row of an array, used element by element, is no view: its elements are elements of the array.

    away = rows[k, :]                       away[a] = …      →      rows[k, a] = …

A view costs a reference count wherever it is made, and nothing is won by it.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.effects import Access, effects, touched
from ..ir.expressions import Array, Expr, Load, Var
from ..ir.nodes import Block, For, Function, Pick, Rule, Run, Stmt, Store, Subscript, View, leaves
from ..ir.walk import blocks, map_expressions, rewrite, rewrite_block, statements, variables, with_blocks


def flatten_rows(function: Function) -> Function:
    handed = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    uses: dict[str, int] = {}
    for stmt in statements(function.body):
        for name in touched(stmt):
            uses[name] = uses.get(name, 0) + 1
    found: dict[str, int] = {}
    _count(function.body, frozenset(), found, handed)
    flat = {name for name, count in found.items() if count == uses.get(name)}
    return replace(function, body=_flattened(function.body, flat)) if flat else function


def _count(block: Block, indices: frozenset[Var], found: dict[str, int], handed: set[str]) -> None:
    """How many of the statements that name a row come after it in its own block, and read or write its elements."""
    for position, stmt in enumerate(block):
        if isinstance(stmt, View):
            name = stmt.array.name
            region = _region(block, position)
            seen = effects(region)
            whole = any(a.whole for a in seen.accesses if a.array.name == name)
            based = any(view.base.name == name for view in seen.views.values()) or name in seen.shapes
            if whole or based or name in handed or not _is_row(stmt, indices):
                found[name] = -(10**9)
            else:
                found[name] = found.get(name, 0) + 1 + sum(name in touched(s) for s in statements(region))
        if not isinstance(stmt, Rule):
            inner = indices | {stmt.index} if isinstance(stmt, For) else indices
            for part in blocks(stmt):
                _count(part, inner, found, handed)


def _region(block: Block, position: int) -> Block:
    """What follows a view in its block, until it is made anew."""
    name = block[position].array.name  # type: ignore[attr-defined]
    rest = block[position + 1 :]
    until = next((k for k, s in enumerate(rest) if isinstance(s, View) and s.array.name == name), len(rest))
    return rest[:until]


def _is_row(view: View, indices: frozenset[Var]) -> bool:
    """Indices of loops around it along some axes, all of the others."""
    if not isinstance(view.how, Subscript):
        return False
    for item in view.how.items:
        match item:
            case Pick(index=index) if variables(index) <= indices:
                continue
            case Run(whole=True):
                continue
            case _:
                return False
    return any(isinstance(item, Pick) for item in view.how.items)


def _flattened(block: Block, flat: set[str]) -> Block:
    out: list[Stmt] = list(block)
    position = 0
    while position < len(out):
        stmt = out[position]
        if isinstance(stmt, View) and stmt.array.name in flat:
            region = _region(tuple(out), position)
            out[position : position + 1 + len(region)] = _direct(region, stmt)
        else:
            position += 1
    return tuple(
        with_blocks(s, tuple(_flattened(b, flat) for b in blocks(s))) if blocks(s) and not isinstance(s, Rule) else s
        for s in out
    )


def _direct(block: Block, view: View) -> Block:
    """The block with accesses of the view as accesses of its base."""

    def place(load: Load) -> Load:
        found = Access(load.array, load.index, False).through({view.array.name: view})
        return Load(found.array, found.index)  # type: ignore[arg-type]

    def read(node: Expr) -> Expr:
        return place(node) if isinstance(node, Load) and node.array.name == view.array.name else node

    def change(stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = map_expressions(stmt, lambda e: rewrite(e, read))
        if isinstance(stmt, Store) and stmt.array.name == view.array.name:
            target = place(Load(stmt.array, stmt.index))
            stmt = replace(stmt, array=target.array, index=target.index)
        return (stmt,)

    return rewrite_block(block, change)


__all__ = ["flatten_rows"]
