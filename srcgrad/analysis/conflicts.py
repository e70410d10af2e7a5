"""Which of the statements of one block can't change places: a set of them is one integer, a bit for each.

`commutes` tells of two statements.  Passes that look for a place among hundreds ask it of every pair again and again,
so what one of two sets and the other reads is looked up by its name, for all of them at once; of the others `commutes`
is asked once, if they have a name in common that one of them changes, and remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from ..ir.nodes import Stmt
from .effects import effects
from .meetings import commutes


class Conflicts:
    """Statements, each with the set of those that it can't change places with; to be asked about one block alone."""

    def __init__(self, roots: Mapping[str, str]) -> None:
        self.roots = roots
        self.known: dict[int, tuple[int, Stmt]] = {}  # by identity, which lasts as long as the statement is held here
        self.order: list[Stmt] = []
        self.against: list[int] = []  # for each, those in its way
        self.visible = 0  # those that print or raise
        self.scalars, self.memory, self.unsure = _ByName(), _ByName(), _ByName()

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
        written, touched = own.memory_by(self.roots)
        otherwise = {self.roots.get(a.array.name, a.array.name) for a in own.accesses if not (a.adds and a.ours)}
        against = self.visible if own.is_visible else 0
        against |= self.scalars.entered(own_bit, own.reads | own.writes, own.writes, own.ours | own.indices)
        against |= self.memory.entered(own_bit, touched, written, touched - otherwise)
        unsure = {*own.ours, *own.views, *own.allocated}
        bases = {self.roots.get(view.base.name, view.base.name) for view in own.views.values()}
        names = {*unsure, *own.reads, *own.writes, *own.names(), *own.shapes, *bases}
        near = self.unsure.entered(own_bit, names, unsure, frozenset())
        for other in _members(near & ~against):
            if not commutes(own, effects((self.order[other],)), self.roots):
                against |= 1 << other
        for other in _members(against):
            self.against[other] |= own_bit
        self.visible |= own_bit if own.is_visible else 0
        self.order.append(stmt)
        self.against.append(against)
        return number


class _ByName:
    """The statements that touch a name; `free`: those that only add to it, say, and are not in each other's way."""

    def __init__(self) -> None:
        self.touching: dict[Any, int] = {}
        self.changing: dict[Any, int] = {}
        self.bound: dict[Any, int] = {}  # those that touch it and are not free

    def entered(self, bit: int, touched: Set[Any], changed: Set[Any], free: Set[Any]) -> int:
        """Enter a statement; returns those of which it, or which of it, changes a name that is not free for both."""
        out = 0
        for name in touched:
            is_free = name in free
            if not is_free:
                out |= self.changing.get(name, 0)
                self.bound[name] = self.bound.get(name, 0) | bit
            if name in changed:
                out |= (self.bound if is_free else self.touching).get(name, 0)
                self.changing[name] = self.changing.get(name, 0) | bit
            self.touching[name] = self.touching.get(name, 0) | bit
        return out & ~bit


def _members(chosen: int) -> list[int]:
    found = []
    while chosen:
        lowest = chosen & -chosen
        found.append(lowest.bit_length() - 1)
        chosen ^= lowest
    return found


__all__ = ["Conflicts"]
