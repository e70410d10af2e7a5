"""Which iterations add to whose elements: how far away from each other those are, and what is computed for them.

u_b[i + 2] += g           two parts: the neighbour two behind, and the iteration's own element
u_b[i] += 3.0 * g
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.expressions import Array, Call, Const, Expr, Load, Var
from ..ir.nodes import AddTo, Block, For, Stmt
from ..ir.walk import loads, numbers_set, variables
from ..ir.wraps import step_of
from .additions import adds_to, cost_of, needed_for, touched_beside
from .divided_once import divided_once
from .nests import Memory
from .offsets import Offset, in_strides

LARGEST_STRIDE = 8  # each remainder by it is a sum of its own
Remainders = tuple[int, ...]
Around = tuple[Call | None, ...]  # along each loop: the place, where it goes around the ends of an axis


@dataclass(frozen=True)
class Part:
    """One addition to a neighbour: where in the body it is, what is computed for it, and how far the neighbour is.

    Along each loop, in strides of the index; `remainder`: by the stride, what is left.
    """

    offset: Offset
    around: Around
    position: int
    slice: frozenset[int]
    remainder: Remainders

    @property
    def to(self) -> tuple[Offset, Around]:
        return self.offset, self.around


class Neighbours:
    """Loops over a straight body, whose iterations may add to their neighbours' elements.

    `dearest`: additions that may be done again for a neighbour.  `ours_alone`: sums of the user's keep their order.
    `on_a_gpu`: also of indices such as 2 * i + 1, and i + w.  `free`: indices of loops that run in any order, with
    these or around them.
    """

    def __init__(
        self,
        loops: tuple[For, ...],
        body: Block,
        memory: Memory,
        dearest: int,
        ours_alone: bool,
        on_a_gpu: bool,
        free: Set[Var],
    ) -> None:
        self.loops, self.body, self.memory, self.dearest = loops, body, memory, dearest
        self.ours_alone, self.on_a_gpu, self.free = ours_alone, on_a_gpu, free
        self.indices = tuple(loop.index for loop in loops)

    def sums(self, array: Array, body: Block) -> list[list[Part]]:
        """The additions to an array by those that may meet, where they do: one iteration's with its neighbours'."""
        parts = self.parts(array, body)
        by_remainder: dict[Remainders, list[Part]] = {}
        for part in parts or ():
            by_remainder.setdefault(part.remainder, []).append(part)
        goes_around = parts is not None and any(any(part.around) for part in parts)
        return [sum_ for sum_ in by_remainder.values() if goes_around or len({part.to for part in sum_}) > 1]

    def parts(self, array: Array, body: Block) -> list[Part] | None:
        """The additions to an array; None where they are not those of neighbours, or not to be had elsewhere."""
        parts: list[Part] = []
        first: tuple[Expr, ...] | None = None
        for position, stmt in enumerate(body):
            if any(self.memory.may_be_one(name, array.name) for name in touched_beside(stmt, array)):
                return None
            if not adds_to(stmt, array):
                continue
            assert isinstance(stmt, AddTo) and isinstance(stmt.target, Load)
            if stmt.target.checked or (self.ours_alone and not stmt.reorder):
                return None
            index, around = self.unwrapped(stmt.target)
            first = first or index
            offset = self.offset(index, first)
            needed = needed_for(stmt, body[:position])
            if offset is None or needed is None:
                return None
            parts.append(Part(offset, around, position, needed, ()))
        base = self.offset(first, None) if first is not None else None
        if base is None:
            return None
        strides = self.strides(first)  # type: ignore[arg-type]
        parts = [self.in_strides(part, base, strides) for part in parts]
        if not all(self.is_along(part, strides) for part in parts):
            return None
        said, _ = self.divided_once(parts, body)
        if any(cost_of([said[k] for k in part.slice], said[part.position].value) > self.dearest for part in parts):  # type: ignore[attr-defined]
            return None
        goes_around = [any(along) for along in zip(*(part.around for part in parts), strict=True)]
        near = affine.ZERO
        if any(goes and apart != near for part in parts for goes, apart in zip(goes_around, part.offset, strict=True)):
            return None
        return parts

    def divided_once(self, parts: list[Part], body: Block) -> tuple[dict[int, Stmt], Expr | None]:
        """The statements without a divisor that all additions have in common, if their sum is ours, and the divisor."""
        places = [sorted({*part.slice, part.position}) for part in parts]
        added = [tuple(body[k] for k in own) for own in places]
        is_ours = all(body[part.position].reorder for part in parts)  # type: ignore[attr-defined]
        found = divided_once(added, {*self.indices, *numbers_set(body)}) if is_ours and parts else None
        blocks, divisor = found or (added, None)
        return {
            k: stmt for own, block in zip(places, blocks, strict=True) for k, stmt in zip(own, block, strict=True)
        }, divisor

    def in_strides(self, part: Part, base: Offset, strides: Remainders) -> Part:
        """Of a part so far from the first one, which is at `base`."""
        by = [in_strides(affine.add(a, b), stride) for a, b, stride in zip(part.offset, base, strides, strict=True)]
        return replace(part, offset=tuple(far for far, _ in by), remainder=tuple(left for _, left in by))

    def is_along(self, part: Part, strides: Remainders) -> bool:
        """Is the neighbour that of an iteration so far away: none that are two by two is a number of them away."""
        return all(isinstance(far, Const) or stride == 1 for far, stride in zip(part.offset, strides, strict=True))

    def strides(self, index: tuple[Expr, ...]) -> Remainders:
        """How far the elements of two iterations next to each other are from each other, along each loop."""
        counts = {term: count for part in index for term, count in affine.affine(part)[0]}
        return tuple(counts[own] for own in self.indices)

    def unwrapped(self, target: Load) -> tuple[tuple[Expr, ...], Around]:
        """The index without going around the ends of axes, and where it goes around them."""
        around: dict[Var, Call] = {}
        index = list(target.index)
        for axis, part in enumerate(target.index):
            for loop in self.loops:
                if loop.index not in around and self.goes_around(part, loop):
                    around[loop.index], index[axis] = part, loop.index  # type: ignore[assignment]
        return tuple(index), tuple(around.get(index) for index in self.indices)

    def goes_around(self, part: Expr, loop: For) -> bool:
        """Is it a fixed step from the index of a loop over all that it goes around, or the same loop from its end?"""
        if is_mirrored(part, loop):
            return not loads(part) and not variables(part) & ({*self.indices, *numbers_set(self.body)} - {loop.index})
        step = step_of(part, loop.index)
        if step is None or loads(step) or variables(step) & {*self.indices, *numbers_set(self.body)}:
            return False
        return affine.same(loop.start, affine.ZERO) and affine.same(loop.stop, part.args[1])  # type: ignore[attr-defined]

    def offset(self, index: tuple[Expr, ...], other: tuple[Expr, ...] | None) -> Offset | None:
        """How far an element is from another one, or from the iteration itself, along each loop."""
        found: dict[Var, Expr] = {}
        for axis, part in enumerate(index):
            terms, _ = affine.affine(part)
            own = [term for term, _ in terms if term in self.indices]
            if other is not None:
                apart = affine.sub(part, other[axis])
                if not self.is_fixed(apart) or (apart != affine.ZERO and len(own) != 1):
                    return None
                if own:
                    found[own[0]] = apart
                continue
            if any(
                loads(term) or (variables(term) & set(self.indices) and term not in self.indices) for term, _ in terms
            ):
                return None
            if len(own) > 1 or (own and own[0] in found):
                return None
            if own and not 1 <= dict(terms)[own[0]] <= (LARGEST_STRIDE if self.on_a_gpu else 1):
                return None
            if own:
                found[own[0]] = affine.sub(part, affine.mul(affine.integer(dict(terms)[own[0]]), own[0]))
                if not self.is_fixed(found[own[0]]):
                    return None
            elif any(variables(term) & numbers_set(self.body) for term, _ in terms):
                return None
        if set(found) != set(self.indices):
            return None
        return tuple(found[index] for index in self.indices)

    def is_fixed(self, apart: Expr) -> bool:
        """Is it a number; on a GPU any that is the same in all iterations?"""
        if isinstance(apart, Const):
            return True
        changing = {*self.indices, *self.free, *numbers_set(self.body)}
        return self.on_a_gpu and not (loads(apart) or variables(apart) & changing)


def is_mirrored(part: Expr, loop: For) -> bool:
    """Does it go through what the loop goes through, from the end: n - 1 - i for i in range(n)?"""
    return affine.same(affine.add(part, loop.index), affine.sub(affine.add(loop.start, loop.stop), affine.ONE))


__all__ = ["Around", "Neighbours", "Part"]
