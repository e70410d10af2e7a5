"""Statements that iterations run together, between the loops that they go through together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis.varying import elements
from ...ir.expressions import Expr, Load, Var
from ...ir.nodes import Block, For, Stmt, While
from ...ir.walk import blocks, statements
from .own_rows import Loops


@dataclass(frozen=True)
class Group(Stmt):
    """Statements that every iteration runs before the next group begins.

    `in_turn`: one iteration after the other.  `totals`: numbers in which the group adds up what belongs to an element;
    `rare`: … if there is such an element: where nothing was added, it may be out of bounds.
    `mask`: who is still in the loop; all run the statements, and the others forget what came of it.
    """

    body: Block
    in_turn: bool = False
    totals: tuple[tuple[Var, Load], ...] = ()
    rare: tuple[tuple[Var, Load], ...] = ()
    mask: Expr | None = None

    def places(self) -> list[Load]:
        return [place for stmt in statements(self.body) for place in elements(stmt)]


def depth_of(block: Block) -> int:
    """How many loops are within each other."""
    inner = ((depth_of(part), isinstance(stmt, (For, While))) for stmt in block for part in blocks(stmt))
    return max((depth + is_loop for depth, is_loop in inner), default=0)


def nests(block: Block, around: Loops) -> Iterator[tuple[Group, Loops]]:
    for stmt in block:
        if isinstance(stmt, Group):
            yield stmt, around
        inner = (*around, stmt) if isinstance(stmt, (For, While)) else around
        for part in blocks(stmt):
            yield from nests(part, inner)


__all__ = ["Group", "depth_of", "nests"]
