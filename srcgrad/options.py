"""What the user asks of `grad` that changes the generated source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Options:
    """What the user asked for, and what was found out since by trying."""

    wrt: Any = None
    fastmath: bool = False
    boundscheck: bool = True
    outputs: tuple[str, ...] | None = None
    parallel: bool = False
    target: str = "cpu"
    stretch: bool = False  # lengths that are not known to be equal may turn out as 1, to be broadcast
    cut: bool = False  # slices may end past the end of their axis, to be cut short
    granted: bool = True  # lengths that only a loop compares are equal, also where it does not run
    varying: frozenset[Any] = frozenset()  # places outside: whole numbers there, and numbers in lists, are handed in
    again: bool = False  # the adjoint is differentiated itself, where `backward` is called in such a function
