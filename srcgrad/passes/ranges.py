"""Two indices that no two iterations of a loop give the same value, by the ranges of the loops around them.

for k in range(n):
    for i in range(k + 1, n):
        for j in range(k + 1, n):       a[i, j] is written, a[k, j] only read: i > k, so no iteration
            a[i, j] -= a[i, k] * a[k, j]            writes what another one reads
"""

from __future__ import annotations

from ..ir import affine
from ..ir.expressions import Expr, Var
from ..ir.nodes import For
from ..ir.walk import loads, statements, substitute, variables
from .effects import Access, effects
from .signs import Signs, extremes


class Ranges:
    """The ranges of the loops around a loop, of its own index, and of the indices inside it."""

    def __init__(self, around: tuple[For, ...], loop: For, signs: Signs) -> None:
        self.signs = signs
        inside = effects(loop.body)
        varies = inside.writes | {loop.index}
        unsteady = varies - inside.indices - {loop.index}
        nest = [*around, loop, *(s for s in statements(loop.body) if isinstance(s, For))]
        bounds: dict[Var, tuple[Expr, Expr] | None] = {}  # the innermost index first; None: not known
        for inner in reversed(nest):
            changed = effects(inner.body).writes | (set() if inner in around else unsteady)
            ends: tuple[Expr, Expr] = extremes(inner)
            is_known = inner.index not in changed | variables(ends[0]) and not any(
                loads(end) or variables(end) & changed for end in ends
            )
            bounds[inner.index] = ends if is_known and bounds.get(inner.index, ends) == ends else None
        self.other = {var: Var(f"{var.name}'", var.dtype) for var in varies}  # what it is in another iteration
        self.bounds: dict[Expr, tuple[Expr, Expr]] = {}
        self.rank: dict[Expr, int] = {}
        for rank, (index, known) in enumerate(bounds.items()):
            if known is not None:
                low, high = (substitute(end, dict(self.other)) for end in known)
                self.bounds |= {index: known, self.other.get(index, index): (low, high) if index in varies else known}
                self.rank |= {index: rank, self.other.get(index, index): rank}

    def never_meet(self, a: Access, b: Access) -> bool:
        """Do the accesses, of whatever two iterations, mean different elements?"""
        if a.array != b.array:
            return False
        return any(
            p is not None and q is not None and self.never_equal(p, q) for p, q in zip(a.index, b.index, strict=True)
        )

    def never_equal(self, p: Expr, q: Expr) -> bool:
        if loads(p) or loads(q):
            return False
        if not (self.signs.never_negative or (self.is_natural(p) and self.is_natural(q))):
            return False  # x[-1] is x[n - 1]
        p = affine.normal(substitute(p, dict(self.other)))
        lead = affine.sub(p, q)
        return any(self.is_natural(affine.sub(gap, affine.ONE)) for gap in (lead, affine.sub(affine.ZERO, lead)))

    def is_natural(self, expr: Expr) -> bool:
        """Provably >= 0, wherever in the loop it is computed."""
        return affine.proved_by_bounds(
            expr,
            self.signs.is_natural,
            lambda term, low: self.bounds[term][not low] if term in self.bounds else None,
            lambda term: self.rank.get(term, len(self.rank)),
        )


__all__ = ["Ranges"]
