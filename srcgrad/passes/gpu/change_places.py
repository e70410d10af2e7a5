"""A cotangent that moves on to the step before, on a GPU, is not copied and cleared: two arrays change places.

for i in range(n):                           u_b, t_b = t_b, u_b
    t_b[i] = u_b[i]                          for p in range(n):
    u_b[i] = 0.0                   →             total = …  (of t_b)
for p in range(n):                               u_b[p] = total
    total = …  (of t_b)
    u_b[p] += total
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ...analysis.effects import names_used
from ...analysis.grids import Memory, covers, nest_of, on_host, stored, sweep_of, within
from ...ir.expressions import Array, Const, Load
from ...ir.nodes import Block, For, Function, Stmt, Store, Swap


def change_places(function: Function) -> Function:
    return _Moved(function).function()


class _Moved(Memory):
    def function(self) -> Function:
        return replace(self.whole, body=on_host(self.whole.body, self.turned))

    def turned(self, stmt: Stmt, out: list[Stmt]) -> Block | None:
        sweep = sweep_of(stmt)
        if sweep is None or not self.is_exchanged(sweep.place.array, out):
            return None
        return (within(sweep.loops, (*sweep.body, stored(sweep, sweep.place.array, sweep.add.value))),)

    def is_exchanged(self, array: Array, out: list[Stmt]) -> bool:
        """Was what is in an array moved, in what last had to do with it?  Then the two arrays change places there."""
        at = next((k for k in reversed(range(len(out))) if array.name in names_used(out[k])), None)
        nest = None if at is None else nest_of(out[at])
        if at is None or nest is None or not covers(nest[0], array):
            return False
        copy, rest = self.moved(*nest, array)
        if copy is None:
            return False
        out[at : at + 1] = [*([within(nest[0], rest)] if rest else []), Swap(array, copy)]
        return True

    def moved(self, loops: tuple[For, ...], body: Block, array: Array) -> tuple[Array | None, Block]:
        """Where all elements go before they are cleared, and what is done beside that."""
        own = tuple(loop.index for loop in loops)
        for copy, zero in pairwise(body):
            match copy, zero:
                case (
                    Store(array=other, index=to, value=Load(array=read, index=at)),
                    Store(array=cleared, index=there, value=Const(value=value)),
                ) if read.name == cleared.name == array.name and to == at == there == own and not value:
                    rest = tuple(s for s in body if s is not copy and s is not zero)
                    seen = frozenset().union(*map(names_used, rest))
                    if not seen & {array.name, other.name} and self.are_alike(loops, array, other):
                        return other, rest
        return None, body

    def are_alike(self, loops: tuple[For, ...], array: Array, other: Array) -> bool:
        alone = self.made(array.name) is not None and self.made(other.name) is not None
        return alone and array.dtype == other.dtype and covers(loops, other)


__all__ = ["change_places"]
