"""Of the numbers that a loop passes on, those that need no others are passed on by a loop of their own, ahead of it.

    for i in range(n):                       for i in range(n):
        s = s + r[i]                             s_at[i] = s1
        peak = max(peak, s)          →           s1 = s1 + r[i]
        fall = max(fall, peak - s)           for i in range(n):
                                                 s = s_at[i]
                                                 s = s + r[i]
                                                 peak = max(peak, s)
                                                 fall = max(fall, peak - s)

Each of the two may be gone over in parts, where both together could not: a sum is affine, and a greatest so far is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...analysis.affine_steps import slice_of
from ...analysis.effects import effects
from ...ir.expressions import Array, Load, Var
from ...ir.names import Names
from ...ir.nodes import Alloc, Assign, Block, For, Store
from ...ir.walk import substituted


@dataclass(frozen=True)
class SplitLoop:
    """The two loops, what goes ahead of both, and what goes behind them."""

    ahead: Block
    first: For
    second: For
    behind: Block


def split_carried(loop: For, carried: tuple[Var, ...], names: Names) -> SplitLoop | None:
    """A loop from 0 on by ones, split; None where each of its numbers needs all others."""
    slices = {v: slice_of(loop.body, {v}) for v in carried}
    needs = {v: {v, *(w for w in carried if w in effects(slices[v]).reads)} for v in carried}
    own = min(needs.values(), key=len)
    if len(own) == len(carried):
        return None
    mine = sorted(own, key=lambda v: v.name)
    at = {v: Array(names.fresh(f"{v.name}_at"), v.dtype, (loop.stop,)) for v in mine}
    renamed = {v: Var(names.fresh(v.name), v.dtype) for v in mine}
    kept = tuple(Store(at[v], (loop.index,), v, checked=False, natural=True) for v in mine)
    first = substituted((*kept, *slice_of(loop.body, own)), renamed)
    taken = tuple(Assign(v, Load(at[v], (loop.index,), checked=False, natural=True)) for v in mine)
    return SplitLoop(
        (*(Alloc(array, array.dims) for array in at.values()), *(Assign(renamed[v], v) for v in mine)),
        replace(loop, body=first),
        replace(loop, body=(*taken, *loop.body)),
        tuple(Assign(v, renamed[v]) for v in mine),
    )


__all__ = ["SplitLoop", "split_carried"]
