"""What has just been kept is read where it was kept, so that the array itself may change in the same loop.

    row = kept[s]; row[:] = u                    row = kept[s]; row[:] = u
    for i: t[i] = u[i - 1] + u[i + 1]      →     for i: u[i] += row[i - 1] + row[i + 1]
    for i: u[i] += t[i]

This pass changes the reads of the first loop; then `fuse` can make one of the two, and t shrinks to a number.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import Effects, effects
from ...ir.expressions import Array, Expr, Load
from ...ir.info import roots_of
from ...ir.nodes import Block, CopyTo, For, Function, Stmt
from ...ir.walk import blocks, expressions, loads, map_expressions, rewrite, rewrite_block, statements, with_blocks


def read_copies(function: Function) -> Function:
    roots = roots_of(function)
    return replace(function, body=_block(function.body, roots))


def _block(block: Block, roots: dict[str, str]) -> Block:
    out = [with_blocks(s, tuple(_block(part, roots) for part in blocks(s))) if blocks(s) else s for s in block]
    for k, stmt in enumerate(out):
        if isinstance(stmt, CopyTo) and roots.get(stmt.target.name, stmt.target.name) != _root(stmt.source, roots):
            _read_copy(out, k, stmt, roots)
    return tuple(out)


def _read_copy(block: list[Stmt], at: int, copy: CopyTo, roots: dict[str, str]) -> None:
    """Change what is read between the copy and the loop that changes the array, if such a loop follows."""
    readers: list[int] = []
    for k in range(at + 1, len(block)):
        stmt, seen = block[k], effects((block[k],))
        written = {_root(access.array, roots) for access in seen.accesses if access.writes}
        if _root(copy.target, roots) in written or copy.target.name in seen.views:
            return
        if _root(copy.source, roots) in written:
            changed = readers and isinstance(stmt, For) and not stmt.ordered and _meets(seen, block, readers, roots)
            for reader in readers if changed else ():
                block[reader] = _from_copy(block[reader], copy)
            return
        if isinstance(stmt, For) and not stmt.ordered and _reads_elements(stmt, copy.source):
            readers.append(k)


def _meets(seen: Effects, block: list[Stmt], readers: list[int], roots: dict[str, str]) -> bool:
    """Does the loop read what the readers make?"""
    made = {_root(a.array, roots) for k in readers for a in effects((block[k],)).accesses if a.writes}
    return any(_root(access.array, roots) in made for access in seen.accesses if not access.writes)


def _reads_elements(loop: For, array: Array) -> bool:
    found = (load.array for stmt in statements((loop,)) for expr in expressions(stmt) for load in loads(expr))
    return any(read.name == array.name for read in found)


def _from_copy(loop: Stmt, copy: CopyTo) -> Stmt:
    def read(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array.name == copy.source.name:
            return replace(expr, array=copy.target)
        return expr

    (changed,) = rewrite_block((loop,), lambda stmt: (map_expressions(stmt, lambda expr: rewrite(expr, read)),))
    return changed


def _root(array: Array, roots: dict[str, str]) -> str:
    return roots.get(array.name, array.name)


__all__ = ["read_copies"]
