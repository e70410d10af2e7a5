"""Loops over the rows of a compressed sparse matrix: whatever belongs to a row is the row's own, if rows are in order.

    for i in range(n):
        for p in range(starts[i], starts[i + 1]):
            values_b[p] += …                         apart, if 0 <= starts[0] <= starts[1] <= …

Whether they are is seen when the program runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Expr, Load, Var
from ..ir.nodes import Assign, Block, For
from ..ir.walk import blocks, statements, targets, with_blocks
from .effects import effects


@dataclass(frozen=True)
class Rows:
    """Row i is range(starts[i + ahead], starts[i + ahead + 1])."""

    starts: Array
    ahead: int


def rows_of(root: str, loop: For, roots: Mapping[str, str]) -> Rows | None:
    """The rows, where no iteration touches this memory but in its own; None where that can't be told."""
    if not (isinstance(loop.step, Const) and loop.step.value in (1, -1)):
        return None
    found = list(_row_loops(loop))
    rows = {rows for _, rows in found}
    inside = effects(loop.body)
    if len(rows) != 1 or loop.index in inside.otherwise:
        return None
    (row,) = rows
    pointers = roots.get(row.starts.name, row.starts.name)
    changed = {roots.get(access.array.name, access.array.name) for access in inside.accesses if access.writes}
    if pointers in changed or row.starts.name in {*inside.views, *inside.allocated}:
        return None
    loops = [inner for inner, _ in found]
    if root in _touched(_without(loop.body, loops), roots):
        return None
    axes: set[int] = set()
    for inner in loops:
        seen = effects(inner.body)
        for access in seen.accesses:
            if roots.get(access.array.name, access.array.name) == root:
                if access.array.name != root or inner.index in seen.writes or inner.index not in access.index:
                    return None
                axes.add(access.index.index(inner.index))
    return row if len(axes) == 1 else None


def _row_loops(loop: For) -> Iterator[tuple[For, Rows]]:
    """The loops over rows, with what says where the rows begin."""
    sets = Counter(target for stmt in statements(loop.body) for target in targets(stmt))
    known: dict[Expr, Expr] = {}
    for stmt in loop.body:
        yield from _row_loops_in((stmt,), loop, known)
        if isinstance(stmt, Assign) and sets[stmt.var] == 1:
            known[stmt.var] = _as_stored(stmt.value, known)


def _row_loops_in(block: Block, loop: For, known: Mapping[Expr, Expr]) -> Iterator[tuple[For, Rows]]:
    for stmt in block:
        row = _row(stmt, loop.index, known) if isinstance(stmt, For) else None
        if isinstance(stmt, For) and row is not None:
            yield stmt, row
        else:
            for inner in blocks(stmt):
                yield from _row_loops_in(inner, loop, known)


def _row(inner: For, index: Var, known: Mapping[Expr, Expr]) -> Rows | None:
    start, stop = (_as_stored(end, known) for end in (inner.start, inner.stop))
    if not (isinstance(start, Load) and isinstance(stop, Load) and start.array == stop.array and start.array.ndim == 1):
        return None
    ahead, to_next = affine.difference(start.index[0], index), affine.difference(stop.index[0], start.index[0])
    if ahead is None or to_next != 1 or not affine.same(inner.step, affine.ONE):
        return None
    return Rows(start.array, ahead)


def _as_stored(expr: Expr, known: Mapping[Expr, Expr]) -> Expr:
    """What a variable is known to be, without the cast to int64; of unsigned numbers that may change the order."""
    match expr:
        case Call(op="cast", args=(stored,)) if expr.dtype == INT64 and stored.dtype.kind == "i":
            return _as_stored(stored, known)
    return known.get(expr, expr)


def _without(block: Block, loops: list[For]) -> Block:
    kept = (stmt for stmt in block if not any(stmt is one for one in loops))
    return tuple(with_blocks(s, tuple(_without(b, loops) for b in blocks(s))) if blocks(s) else s for s in kept)


def _touched(block: Block, roots: Mapping[str, str]) -> set[str]:
    return {roots.get(access.array.name, access.array.name) for access in effects(block).accesses}


__all__ = ["Rows", "rows_of"]
