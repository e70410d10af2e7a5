"""Numbers and arrays to which arrays were reduced, found again where nothing was written since.

(x - x.min()) / (x.max() - x.min())    →    bottom, top = …
                                            (x - bottom) / (top - bottom)
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir.expressions import Array, Dim, Expr, Load, Var
from ..ir.nodes import Stmt
from ..ir.walk import subexpressions


@dataclass(frozen=True)
class Reduction:
    """What is reduced, and how."""

    op: str
    dtype: np.dtype
    axes: tuple[int, ...]
    dims: tuple[Expr, ...]
    element: Expr

    @property
    def parts(self) -> set[Expr]:
        return {part for expr in (*self.dims, self.element) for part in subexpressions(expr)}


class ReducedBefore:
    """The numbers, each with the block that finds it: it is known there alone."""

    def __init__(self) -> None:
        self._found: dict[Reduction, tuple[Any, list[Stmt]]] = {}

    def get(self, what: Reduction, block: list[Stmt]) -> Var | Array | None:
        found, place = self._found.get(what, (None, None))
        return found if place is block else None

    def note(self, what: Reduction, found: Var | Array, block: list[Stmt], mutable: Set[Any]) -> None:
        """It is found, once for all if what it is made of stays what it is."""
        if mutable.isdisjoint(what.parts):
            self._found[what] = found, block

    def rename(self, old: Var | Array, new: Var | Array) -> None:
        """Another name for what was made last: the old one is free for something else."""
        current = {what: (new if found == old else found, block) for what, (found, block) in self._found.items()}
        self._found = {what: found for what, found in current.items() if not _is_made_of(what, old.name)}

    def clear(self) -> None:
        self._found.clear()


def _is_made_of(what: Reduction, name: str) -> bool:
    for part in what.parts:
        match part:
            case Var(name=own) | Load(array=Array(name=own)) | Dim(array=own) if own == name:
                return True
    return False


__all__ = ["ReducedBefore", "Reduction"]
