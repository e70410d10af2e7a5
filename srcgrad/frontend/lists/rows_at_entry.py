"""Arrays among the arguments, in the rows of one array that is made of them at the entry, once for all.

(Or ahead of the loops in the only branch that reads them.)

for t in range(n):        items = np.stack(P)
    v = P[a[t]] @ v  →    for t in range(n):
                              v = items[a[t]] @ v
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...ir.expressions import Array
from ...ir.nodes import Block, If, Stmt
from ...ir.walk import arrays_read, blocks, statements, targets, with_blocks
from ..array_values import ArrayValue, whole
from ..numpy.creation import stack

if TYPE_CHECKING:
    from ..builder import Builder
    from ..interpret import Interpreter


def rows_at_entry(interpreter: Interpreter, items: Sequence[ArrayValue]) -> ArrayValue | None:
    """Arrays of one shape in rows, where they are read in a loop, and nobody writes them (see `WrittenAfterAll`)."""
    build = interpreter.build
    handles = tuple(item.handle for item in items if item.handle is not None)
    is_early = len(handles) == len(items) and all(build.conforms_at_entry(handle, handle.dims) for handle in handles)
    if not is_early or not interpreter.loops or interpreter.instance is not None:
        return None
    if handles not in build.rows_at_entry:
        with build.in_prologue():
            build.rows_at_entry[handles] = stack(build, items, 0).element.array  # type: ignore[attr-defined]
    rows = build.rows_at_entry[handles]
    for handle in handles:
        build.twin(rows, handle)
    return whole(rows)


def where_read(build: Builder, prologue: Sequence[Stmt], block: Sequence[Stmt], results: Sequence[Any]) -> Block:
    """The program, which makes its rows outside of the loops that read them, but in the branch."""
    ahead, body = tuple(prologue), tuple(block)
    returned = {build.root(leaf) for leaf in results if isinstance(leaf, Array)}
    for rows in (rows for rows in build.rows_at_entry.values() if rows.name not in returned):
        making = tuple(stmt for stmt in ahead if any(_changes(inner, rows) for inner in statements((stmt,))))
        ahead = tuple(stmt for stmt in ahead if stmt not in making)
        body = _placed(body, rows, making)
    return (*ahead, *body)


def _placed(block: Block, rows: Array, making: Block) -> Block:
    at = [k for k, stmt in enumerate(block) if _concerns(stmt, rows)]
    if not at:
        return (*making, *block)
    first, stmt = at[0], block[at[0]]
    if isinstance(stmt, If) and len(at) == 1:
        sides = [any(_concerns(inner, rows) for inner in side) for side in blocks(stmt)]
        if sum(sides) == 1:
            placed = tuple(
                _placed(side, rows, making) if reads else side for side, reads in zip(blocks(stmt), sides, strict=True)
            )
            return (*block[:first], with_blocks(stmt, placed), *block[first + 1 :])
    return (*block[:first], *making, *block[first:])


def _concerns(stmt: Stmt, rows: Array) -> bool:
    return any(rows in arrays_read(inner) or _changes(inner, rows) for inner in statements((stmt,)))


def _changes(stmt: Stmt, rows: Array) -> bool:
    return rows in targets(stmt)
