"""How far iterations that go side by side reach along the axes of arrays, as it can be known ahead of their loop.

for i in range(n): for k in range(m): s += w[i, k]        to n along the first axis, to m along the second
"""

from __future__ import annotations

from ..ir import affine
from ..ir.expressions import Array, Const, Dim, Expr, Load
from ..ir.nodes import For
from ..ir.walk import is_constant, loads, statements, subexpressions, targets, variables
from .effects import effects
from .varying import Varying


class Reach:
    """What is asked of lengths ahead of the loop, so that no access in it needs a check."""

    def __init__(self, varying: Varying, is_natural: bool) -> None:
        self.loop, self.scratch, self.is_natural = varying.loop, varying.scratch, is_natural
        self.inside: set[tuple[Array, int, Expr]] = set()  # arrays, axes, and how long they have to be

    def is_sure(self, place: Load) -> bool:
        """Is it known to be inside its array, or can it be known ahead of the loop?"""
        if not place.checked:
            return True
        ends = [self.end_of(part) for part in place.index]
        if None in ends or place.array.name in self.scratch:
            return False
        self.inside |= {(place.array, axis, end) for axis, end in enumerate(ends) if end is not None}
        return True

    def end_of(self, part: Expr) -> Expr | None:
        """Beyond which length no iteration of the loop goes along this axis; None where that is not known."""
        if isinstance(part, Const) and part.value >= 0:
            return affine.add(part, affine.ONE)
        if part == self.loop.index:
            return self.loop.stop if self.is_natural else None
        return self.end_of_inner(part)

    def end_of_inner(self, index: Expr) -> Expr | None:
        """The same of the index of loops inside, where it is known ahead of the one around."""
        inside = [s for s in statements(self.loop.body) if index in targets(s)]
        loops = [s for s in inside if isinstance(s, For) and is_constant(s.step, 1) and s.stop == inside[0].stop]  # type: ignore[attr-defined]
        if not inside or len(loops) < len(inside) or not all(affine.is_at_least(s.start, 0) for s in loops):
            return None
        stop, changed = loops[0].stop, effects(self.loop.body)
        lengths = {node.array for node in subexpressions(stop) if isinstance(node, Dim)}
        moves = variables(stop) & (changed.writes | {self.loop.index}) or lengths & changed.allocated
        return None if moves or loads(stop) else stop


__all__ = ["Reach"]
