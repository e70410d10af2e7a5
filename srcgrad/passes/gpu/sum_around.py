"""What has just been cleared is not read to be added: a sum of it and of another array is the other one, but around it.

    for i in range(1, n - 1):                    for i in range(n):
        then_b[i] = 0.0                              u_b[i] = now_b[i]
    for i in range(n):                     →     for i in range(n):
        u_b[i] = then_b[i]                           if not 1 <= i < n - 1:
        u_b[i] += now_b[i]                               u_b[i] += then_b[i]

Then `take_over` can have the sum in the other one's memory.  `alternate` leaves such clearing behind.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import names_used
from ...analysis.grids import Memory, clearing_of, covers, in_box, nest_of, within
from ...ir.expressions import Array, Load, negated
from ...ir.nodes import AddTo, Block, For, Function, If, Stmt, Store


def sum_around(function: Function) -> Function:
    memory, body = _Sums(function), function.body
    for at in range(len(body)):
        found = memory.summed(at)
        if found is not None:
            end, block = found
            return sum_around(replace(function, body=(*body[:at], *body[at + 1 : end], *block, *body[end + 1 :])))
    return function


class _Sums(Memory):
    def summed(self, at: int) -> tuple[int, Block] | None:
        """Where the sum is made of what the statement at `at` clears; and what takes the place of both."""
        body = self.whole.body
        nest = nest_of(body[at])
        if nest is None or len(nest[1]) != 1 or not isinstance(nest[1][0], Store):
            return None
        cleared = nest[1][0].array
        clearing = clearing_of(body[at], cleared.name)
        if clearing is None or cleared.name in self.outside or self.made(cleared.name) is None:
            return None
        later = [k for k in range(at + 1, len(body)) if cleared.name in names_used(body[k])]
        if len(later) != 1 or not self.is_fixed(clearing[0]):
            return None
        block = _around(body[later[0]], cleared, clearing[0])
        return None if block is None else (later[0], block)


def _around(stmt: Stmt, cleared: Array, box: tuple[For, ...]) -> Block | None:
    """Loops that add up two arrays, one of which is zero in a box, as a copy of the other one and a sum around it."""
    loops, inner = nest_of(stmt) or ((), ())
    if len(inner) != 2:
        return None
    first, add = inner
    if not isinstance(first, Store) or not isinstance(add, AddTo) or not isinstance(add.target, Load):
        return None
    x, y, out = first.value, add.value, first.array
    if not isinstance(x, Load) or not isinstance(y, Load) or add.target.array != out or not covers(loops, out):
        return None
    indices = tuple(loop.index for loop in loops)
    other, zero = (y, x) if x.array.name == cleared.name else (x, y)
    if not (first.index == add.target.index == x.index == y.index == indices) or zero.array.name != cleared.name:
        return None
    if len({out.name, other.array.name, cleared.name}) != 3:
        return None
    inside = in_box(loops, [(part.start, part.stop) for part in box])
    copied = within(loops, (replace(first, value=other),))
    added = () if inside is None else (If(negated(inside), (AddTo(add.target, zero),)),)
    return (copied, within(loops, added)) if added else (copied,)


__all__ = ["sum_around"]
