"""Arrays of zeros are made one behind the other, where that is possible: a GPU clears their memory by one launch.

    s = zeros(m)                        s, variance = zeros(m), zeros(m)
    for i in range(n): …                for i in range(n): …
    variance = zeros(m)          →      for i in range(n): …
    for i in range(n): …

What is handed back to the user, or kept for the way back, is memory of its own: it would keep the rest.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import names_used
from ...ir import affine
from ...ir.expressions import Array, Dim, Expr
from ...ir.nodes import Alloc, Block, Function, Kernel, Push, Raise, Seal, Stmt, Swap, leaves
from ...ir.walk import blocks, loads, numbers_set, statements, subexpressions, targets, variables, with_blocks


def clear_together(function: Function) -> Function:
    lasting = that_last(function)

    def block_of(block: Block) -> Block:
        out: list[Stmt] = []
        first: int | None = None  # behind the first array of zeros
        for stmt in block:
            if isinstance(stmt, Kernel) or not blocks(stmt):
                inner = stmt
            else:
                inner = with_blocks(stmt, tuple(map(block_of, blocks(stmt))))
            if not is_cleared(stmt, lasting):
                out.append(inner)
            elif first is not None and _may_be_ahead(stmt, out[first:]):
                out.insert(first, stmt)
                first += 1
            else:
                out.append(stmt)
                first = len(out)
        return tuple(out)

    return replace(function, body=block_of(function.body))


def that_last(function: Function) -> frozenset[str]:
    """Arrays that are there when those that were made with them are not needed any more."""
    names = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    for stmt in statements(function.body):
        match stmt:
            case Push(value=Array(name=name)) | Seal(array=Array(name=name)):
                names.add(name)
            case Swap(left=left, right=right):
                names |= {left.name, right.name}
    return frozenset(names)


def is_cleared(stmt: Stmt, lasting: frozenset[str]) -> bool:
    """Does it make an array of zeros that is gone as soon as others are?"""
    return isinstance(stmt, Alloc) and stmt.fill is not None and stmt.on is None and stmt.array.name not in lasting


def _may_be_ahead(made: Stmt, between: list[Stmt]) -> bool:
    """May the array be made before these statements?"""
    assert isinstance(made, Alloc)
    if any(made.array.name in names_used(stmt) for stmt in between) or any(map(loads, made.dims)):
        return False
    may_fail = any(isinstance(stmt, Raise) for stmt in statements(tuple(between)))
    if may_fail and not all(affine.is_at_least(dim, 0) for dim in made.dims):
        return False  # what is wrong with a length is said before
    needed = frozenset[Expr]().union(*map(variables, made.dims))
    asked = {node.array for dim in made.dims for node in subexpressions(dim) if isinstance(node, Dim)}
    there = {item.name for stmt in statements(tuple(between)) for item in targets(stmt) if isinstance(item, Array)}
    return not needed & numbers_set(tuple(between)) and not asked & there


__all__ = ["clear_together", "is_cleared", "that_last"]
