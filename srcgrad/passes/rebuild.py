"""Arrays that the sweep can fill again as the forward part did: cheaper than to keep them.

for j in range(n):                           sweep for j:
    for i in range(m): t[i] = x[i] * w[j]        for i in range(m): t_then[i] = x[i] * w[j]
    … g(t) …                                     … t_then …
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import affine
from ..ir.expressions import Array, Call, Const, Expr, Var
from ..ir.nodes import For, Stmt, Store
from ..ir.walk import loads, subexpressions, variables
from ..rules.scalar import cost


@dataclass(frozen=True)
class Fill:
    """A nest of loops that stores every element of an array, each once, and does nothing else."""

    nest: For
    store: Store
    indices: tuple[Var, ...]

    @property
    def outside(self) -> set[Var]:
        """The variables that its values and its ranges are made of, beside its own indices."""
        loop: Stmt = self.nest
        found = set(variables(self.store.value))
        while isinstance(loop, For):
            found |= variables(loop.start) | variables(loop.stop)
            (loop,) = loop.body
        return set(found) - set(self.indices)

    @property
    def cost(self) -> float:
        """What an element costs, in additions."""
        calls = (node for node in subexpressions(self.store.value) if isinstance(node, Call))
        return sum(map(cost, calls))


def fill_of(stmt: Stmt | None, array: Array, dims: tuple[Expr, ...]) -> Fill | None:
    """The statement as one that fills the array, if it is one."""
    ranges: dict[Var, tuple[Expr, Expr]] = {}
    nest, loop = stmt, stmt
    while isinstance(loop, For):
        if len(loop.body) != 1 or loop.step != affine.ONE or loads(loop.start) or loads(loop.stop):
            return None
        ranges[loop.index] = loop.start, loop.stop
        (loop,) = loop.body
    if not isinstance(nest, For) or not isinstance(loop, Store) or loop.array != array:
        return None
    if any(load.array.name == array.name for load in loads(loop.value)) or len(ranges) != array.ndim:
        return None
    met: set[Var] = set()
    for part, dim in zip(loop.index, dims, strict=True):
        index = next((v for v in variables(part) if v in ranges), None)
        if index is None or index in met or not _covers(part, index, ranges[index], dim):
            return None
        met.add(index)
    if any(variables(end) & set(ranges) for ends in ranges.values() for end in ends):
        return None
    return Fill(nest, loop, tuple(ranges))


def _covers(part: Expr, index: Var, ends: tuple[Expr, Expr], dim: Expr) -> bool:
    """Does index + c run from 0 up to the length?"""
    offset = affine.sub(part, index)
    if not isinstance(offset, Const):
        return False
    first, end = (affine.add(bound, offset) for bound in ends)
    return affine.same(first, affine.ZERO) and any(
        affine.same(length, dim) for length in (end, affine.maximum(end, affine.ZERO))
    )


__all__ = ["Fill", "fill_of"]
