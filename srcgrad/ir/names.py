"""Names for generated code: the user's own, as long as nothing else has them."""

from __future__ import annotations

import keyword
import re

from .. import runtime
from .expressions import INT64, Expr, Var

RESERVED = (
    frozenset(keyword.kwlist)
    | frozenset(runtime.__all__)
    | {"np", "special", "user", "prange", "range", "print", "len", "min", "max", "abs", "int", "float", "bool"}
)


class Names:
    """Names for generated code: the user's own, with a number where one is taken.

    The index of a loop is used again by later loops, but never for anything else.
    """

    def __init__(self) -> None:
        self.taken: set[str] = set(RESERVED)
        self.indices: set[str] = set()
        self.active: set[str] = set()  # indices of the loops around
        self.users: set[str] = set()  # what the user calls other things
        self.wanted: dict[str, str] = {}  # what would have been the name of what has a number behind it
        self.lengths: dict[Expr, str] = {}  # what the user calls what a slice leaves of an axis

    def fresh(self, wanted: str) -> str:
        wanted = wanted.lstrip(".")
        if not wanted.isidentifier():  # what a part is called:  s['n']
            wanted = re.sub(r"\W+", "_", re.sub(r"\W+$", "", wanted))
        name, count = wanted, 0
        while name in self.taken or f"{name}_b" in self.taken or self.is_cotangent(name):
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        if count:
            self.wanted[name] = wanted
        return name

    def index(self, wanted: str, around: frozenset[str] | None = None) -> str:
        """A name for the index of a loop, until `release`."""
        held = self.active if around is None else around
        wanted = wanted.lstrip(".")
        name, count = wanted, 0
        while name in held or name in self.users or self.is_of_another_kind(name) or self.is_cotangent(name):
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        self.indices.add(name)
        if around is None:
            self.active.add(name)
        return name

    def is_of_another_kind(self, name: str) -> bool:
        return name in self.taken and name not in self.indices

    def is_cotangent(self, name: str) -> bool:
        """Is it what the cotangent of something is called, or would be?"""
        return name.endswith("_b") and name[:-2] in self.taken

    def free_indices(self, count: int, around: frozenset[str]) -> tuple[Var, ...]:
        """Names for the loops of a nest: those of other loops, but for the loops around it."""
        names: list[str] = []
        for letter in "ijklmnpq"[:count]:
            names.append(self.index(letter, around | frozenset(names)))
        return tuple(Var(name, INT64) for name in names)

    def release(self, *names: str) -> None:
        self.active -= set(names)

    def save(self) -> tuple[set[str], ...]:
        return set(self.taken), set(self.indices), set(self.active), set(self.users)

    def restore(self, saved: tuple[set[str], ...]) -> None:
        self.taken, self.indices, self.active, self.users = map(set, saved)
