"""Which of the statements of one block can't change places: a set of them is one integer, a bit for each.

`commutes` tells of two statements.  Passes that look for a place among hundreds ask it of every pair again and again,
so it is asked once of those that have a name in common, and remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir.nodes import Stmt
from .effects import commutes, effects


class Conflicts:
    """Statements, each with the set of those that it can't change places with; to be asked about one block alone."""

    def __init__(self, roots: Mapping[str, str]) -> None:
        self.roots = roots
        self.known: dict[int, tuple[int, Stmt]] = {}  # by identity, which lasts as long as the statement is held here
        self.order: list[Stmt] = []
        self.against: list[int] = []  # for each, those in its way
        self.touching: dict[Any, int] = {}  # for each variable, memory and name of an array, the set that has it

    def number(self, stmt: Stmt) -> int:
        """Which bit is the statement's."""
        found = self.known.get(id(stmt))
        return self._entered(stmt) if found is None else found[0]

    def of(self, stmt: Stmt) -> int:
        """Those that the statement can't change places with, of all that have been asked about so far."""
        return self.against[self.number(stmt)]

    def _entered(self, stmt: Stmt) -> int:
        own = effects((stmt,))
        number, own_bit = len(self.order), 1 << len(self.order)
        self.known[id(stmt)] = number, stmt
        near = 0
        visible = {"visible"} if own.is_visible else set()
        for name in {*own.reads, *own.writes, *own.memory_by(self.roots)[1], *own.names(), *own.shapes, *visible}:
            near |= self.touching.get(name, 0)
            self.touching[name] = self.touching.get(name, 0) | own_bit
        against = 0
        for other in _members(near):
            if not commutes(own, effects((self.order[other],)), self.roots):
                against |= 1 << other
                self.against[other] |= own_bit
        self.order.append(stmt)
        self.against.append(against)
        return number


def _members(chosen: int) -> list[int]:
    found = []
    while chosen:
        lowest = chosen & -chosen
        found.append(lowest.bit_length() - 1)
        chosen ^= lowest
    return found


__all__ = ["Conflicts"]
