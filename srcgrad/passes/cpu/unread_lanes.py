"""What a group of iterations leaves in memory for no later group is not left there.

for lane in range(8):                        for lane in range(8):
    g = g_lanes[lane]                            g = g_lanes[lane]
    t = kept[turn, lane]                         t = kept[turn, lane]
    g = t * g                       →            g = t * g
    g_lanes[lane] = g                            g_lanes[lane] = g
    t_lanes[lane] = t
"""

from __future__ import annotations

from ...ir.expressions import Var
from ...ir.nodes import AddTo, Block, For, If, Stmt, Store, While
from ...ir.walk import blocks, expressions, loads, statements, with_blocks


def without_unread(block: Block, lane: Var, names: frozenset[str]) -> tuple[Block, frozenset[str]]:
    """The block, and which of these arrays, with one element for each lane, it still has."""
    cleaned, _ = _Cleaner(lane, names).block(block, frozenset())
    stored = {stmt.array.name for stmt in statements(cleaned) if isinstance(stmt, Store)}
    return cleaned, names & stored


class _Cleaner:
    def __init__(self, lane: Var, names: frozenset[str]) -> None:
        self.lane, self.names = lane, names

    def block(self, block: Block, live: frozenset[str]) -> tuple[Block, frozenset[str]]:
        """What is left of it where `live` are read after it, and what is read from its begin on."""
        out: list[Stmt] = []
        for stmt in reversed(block):
            if isinstance(stmt, Store) and stmt.array.name in self.names:
                if stmt.array.name not in live:
                    continue
                live -= {stmt.array.name}  # where it keeps what it had, it reads it
            elif isinstance(stmt, For) and stmt.index == self.lane:
                body, live = self.block(stmt.body, live)
                stmt = with_blocks(stmt, (body,))
            elif isinstance(stmt, (For, While)):
                live |= {name for inner in statements(stmt.body) for name in self.read(inner) - _stored(inner)}
                stmt = with_blocks(stmt, (self.block(stmt.body, live)[0],))
            elif isinstance(stmt, If):
                parts = [self.block(part, live) for part in blocks(stmt)]
                stmt = with_blocks(stmt, tuple(part for part, _ in parts))
                live = live.union(*(before for _, before in parts))
            live |= self.read(stmt)
            out.append(stmt)
        return tuple(reversed(out)), live

    def read(self, stmt: Stmt) -> frozenset[str]:
        """What the statement itself reads."""
        found = {load.array.name for expr in expressions(stmt) for load in loads(expr)}
        if isinstance(stmt, AddTo):
            found |= {load.array.name for load in loads(stmt.target)}
        return self.names & found


def _stored(stmt: Stmt) -> frozenset[str]:
    return frozenset({stmt.array.name}) if isinstance(stmt, Store) else frozenset()


__all__ = ["without_unread"]
