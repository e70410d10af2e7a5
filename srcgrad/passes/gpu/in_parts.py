"""A loop that passes numbers on, gone over in parts at one time.  What a part makes of them, its kinds say.

for i in range(n): …      →      for part: what it makes of whatever s may be at first
                                 for part: s_start[part] = s; s = …          (in parts itself, while that is long)
                                 for part: s = s_start[part]; …              the loop, over the part
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Generic, TypeVar

from ...ir import affine
from ...ir.expressions import INT64, Array, Call, Const, Expr, Load, Span, Var
from ...ir.names import Names
from ...ir.nodes import Alloc, Assign, Block, For, Store
from ...ir.walk import substituted

Steps = TypeVar("Steps")  # how an iteration passes numbers on
Made = TypeVar("Made")  # what parts make of them


class LoopInParts(ABC, Generic[Steps, Made]):
    """A loop from 0 on by ones, and how it passes numbers on.

    `plainly`: by statements of a kind of which several are one of this kind.  `advance`: by those that find it, however
    that has to be done.  `is_seen`: has the loop more to do than to pass numbers on?  `parallel`: the loops over parts,
    once they are made.
    """

    def __init__(
        self, names: Names, loop: For, carried: tuple[Var, ...], plainly: Steps, advance: Block, is_seen: bool
    ) -> None:
        self.names, self.loop, self.plainly, self.advance, self.is_seen = names, loop, plainly, advance, is_seen
        self.carried = carried
        self.part, self.size, self.parts = (Var(names.fresh(w), INT64) for w in ("part", "part_size", "parts"))
        self.parallel: list[For] = []

    @abstractmethod
    def found(self) -> tuple[Made, tuple[Array, ...], For]:
        """What each part makes of what it is given, the arrays that this is in, and the loop that finds it."""

    @abstractmethod
    def composed(self, made: Made) -> tuple[Steps, Block]:
        """What the numbers passed on are behind a part: plainly, and with care."""

    def made(self, sizes: tuple[tuple[int, int], ...]) -> Block:
        """What takes the place of the loop; `sizes`: at most so many parts, of at least so many iterations.

        Raises
        ------
        NotAffine
        """
        (most, least), *deeper = sizes
        trips = self.loop.stop
        rounded = affine.floordiv(affine.add(trips, affine.integer(most - 1)), most)
        above = affine.sub(affine.add(trips, self.size), affine.ONE)
        counted: Block = (
            Assign(self.size, affine.maximum(rounded, affine.integer(least))),
            Assign(self.parts, Call("floordiv", (above, self.size), INT64)),
        )
        made, arrays, found = self.found()
        plainly, advance = self.composed(made)
        starts = {v: self.of_parts(f"{v.name}_start", v) for v in self.carried} if self.is_seen else {}
        stored = tuple(Store(start, (self.part,), v, checked=False, natural=True) for v, start in starts.items())
        over_parts = self.over_parts((*stored, *advance), ordered=True)
        middle: Block = (over_parts,)
        if deeper:
            parts = type(self)(self.names, over_parts, self.carried, plainly, advance, self.is_seen)
            middle = parts.made(tuple(deeper))
            self.parallel += parts.parallel
        allocated = tuple(Alloc(array, array.dims) for array in (*arrays, *starts.values()))
        return (*counted, *allocated, found, *middle, *(self.gone_over(starts) if self.is_seen else ()))

    @property
    def place(self) -> Span | None:
        """Of loops that are not the user's own."""
        return None if self.loop.span is None else replace(self.loop.span, derived=True)

    def over_parts(self, body: Block, ordered: bool = False) -> For:
        loop = For(self.part, affine.ZERO, self.parts, affine.ONE, body, ordered, span=self.place)
        if not ordered:
            self.parallel.append(loop)
        return loop

    def within(self, body: Block) -> For:
        """The body, of the loop, for the iterations of a part."""
        first = affine.mul(self.part, self.size)
        stop = affine.minimum(self.size, affine.sub(self.loop.stop, first))
        turn = Var(self.names.fresh("turn"), INT64)
        here = substituted(body, {self.loop.index: affine.add(first, turn)})
        return For(turn, affine.ZERO, stop, affine.ONE, here, span=self.place)

    def of_parts(self, name: str, like: Var) -> Array:
        return Array(self.names.fresh(name), like.dtype, (self.parts,))

    def of_this_part(self, array: Array) -> Load:
        return Load(array, (self.part,), checked=False, natural=True)

    def gone_over(self, starts: Mapping[Var, Array]) -> Block:
        """The loop itself, by parts."""
        own = {v: Var(self.names.fresh(v.name), v.dtype) for v in self.carried}
        first = tuple(Assign(own[v], self.of_this_part(start)) for v, start in starts.items())
        return (self.over_parts((*first, self.within(substituted(self.loop.body, own)))),)


def number(like: Expr, value: float) -> Const:
    return Const(like.dtype.type(value).item(), like.dtype)


__all__ = ["LoopInParts", "number"]
