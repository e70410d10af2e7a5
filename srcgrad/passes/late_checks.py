"""Does a function compare lengths after it has written what its caller sees?

    x[0] += 1
    if x.shape[0] != w.shape[0]: raise BroadcastError      →      True: it must not be tried a second time

Code that takes lengths to be equal is tried first, and other code where it raises.
"""

from __future__ import annotations

from ..analysis.effects import effects
from ..ir.expressions import Array
from ..ir.info import roots_of
from ..ir.nodes import Block, For, Function, Invoke, Print, Raise, Stmt, While
from ..ir.walk import blocks, statements

TRIED_AGAIN = frozenset(
    ("BroadcastError", "CotangentShapeError", "IdleLoopError", "RuntimeShapeError", "ShortAxisError")
)


def compares_late(function: Function, written: frozenset[str]) -> bool:
    """`written`: the names of arguments whose memory is the caller's."""
    raising = {callee.name for callee in function.callees if _raises(callee.body)}
    return _Walk(roots_of(function), written, raising).is_late(function.body, False)[0]


class _Walk:
    def __init__(self, roots: dict[str, str], seen_by_caller: frozenset[str], raising: set[str]) -> None:
        self.roots, self.seen_by_caller, self.raising = roots, seen_by_caller, raising

    def is_late(self, block: Block, wrote: bool) -> tuple[bool, bool]:
        """Is there a comparison after a write; and has there been a write by the end?"""
        for stmt in block:
            before, compares = wrote, isinstance(stmt, Raise) and stmt.error in TRIED_AGAIN
            if blocks(stmt):
                again = isinstance(stmt, (For, While)) and self.writes(stmt)  # by the iteration before
                parts = [self.is_late(part, wrote or again) for part in blocks(stmt)]
                compares, wrote = any(late for late, _ in parts), wrote or any(found for _, found in parts)
                if compares:
                    return True, True
                continue
            wrote = wrote or self.writes(stmt)
            if isinstance(stmt, Invoke) and stmt.callee in self.raising and wrote:
                return True, True
            if compares and before:
                return True, True
        return False, wrote

    def writes(self, stmt: Stmt) -> bool:
        if isinstance(stmt, Print) and stmt.by != "note_arrays":
            return True  # it is seen too
        touched = (access.array for access in effects((stmt,)).accesses if access.writes)
        return any(isinstance(a, Array) and self.roots.get(a.name, a.name) in self.seen_by_caller for a in touched)


def _raises(block: Block) -> bool:
    return any(isinstance(stmt, Raise) and stmt.error in TRIED_AGAIN for stmt in statements(block))


__all__ = ["compares_late"]
