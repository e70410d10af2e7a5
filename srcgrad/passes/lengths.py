"""How long arrays are, said by what is there when the program runs.

A handle says its lengths by numbers that were known where it was made, some of which are gone since, or are others by
now: then the array itself is asked.
"""

from __future__ import annotations

from collections import Counter

from ..ir.expressions import Array, Dim, Expr, Var
from ..ir.nodes import Alloc, For, Function, View
from ..ir.walk import loads, statements, subexpressions, written


class Lengths:
    def __init__(self, function: Function) -> None:
        self.sets: Counter[Var] = Counter(p for p in function.params if isinstance(p, Var))
        self.indices: set[Var] = set()
        self.arrays = {p.name for p in function.params if isinstance(p, Array)}
        for stmt in statements(function.body):
            if isinstance(stmt, For):
                self.indices.add(stmt.index)
            elif isinstance(stmt, (Alloc, View)):
                self.arrays.add(stmt.array.name)
            else:
                target = written(stmt)
                self.sets.update(v for v in (target if isinstance(target, tuple) else (target,)) if isinstance(v, Var))

    def of(self, array: Array) -> tuple[Expr, ...]:
        return tuple(d if self.is_known(d) else Dim(array.name, axis) for axis, d in enumerate(array.dims))

    def is_known(self, length: Expr) -> bool:
        if loads(length):
            return False
        for part in subexpressions(length):
            if isinstance(part, Dim) and part.array not in self.arrays:
                return False
            if isinstance(part, Var) and self.sets[part] + (part in self.indices) != 1:
                return False
        return True


__all__ = ["Lengths"]
