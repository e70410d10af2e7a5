"""On a GPU, a loop that passes numbers on is gone over in parts, all at one time, where one can say what a part makes.

That is so where what comes out is affine in what went in (`affine_in_parts`), and where one number is shifted, and held
between bounds (`clipped_in_parts`).

The loop over the parts is short, but not short enough for one thread: it is gone over in parts itself, groups of them.
So all of it is five kernels, of which the first and the last go over the arguments.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.affine_steps import NotAffine, affine_steps
from ...analysis.effects import effects, touched
from ...analysis.extremes import extremes_of_nest
from ...analysis.grids import is_parallel
from ...analysis.lengths import steps_by_one, trips
from ...analysis.lives import is_dead
from ...analysis.sharing import Sharing
from ...ir import affine
from ...ir.expressions import INT64, Array, Call, Const, Expr, Var
from ...ir.info import OUTSIDE, memory_of
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store, While, leaves
from ...ir.walk import blocks, expressions, loads, statements, substituted, variables, with_blocks, written_place
from .affine_in_parts import AffineInParts
from .carried_elements import Carried, carried_elements
from .clipped_in_parts import ClippedInParts, clipped_steps
from .in_parts import LoopInParts
from .offload import is_filling
from .split_carried import split_carried

IN_PARTS = ((65536, 32), (256, 32))  # at most so many parts, of at least so many iterations; and groups of parts
FEWEST = 256  # iterations that are worth it
IN_A_PART = (AddTo, Assign, Comment, For, If, Store, While)


def scans(function: Function) -> Function:
    found = _Scans(function)
    body = found.block(function.body, ())
    if found.goes_in_order and not found.has_kernels:
        return function  # most likely the way back alone would be in parts, which pays nobody
    return replace(function, body=body)


class _Scans:
    def __init__(self, function: Function) -> None:
        self.whole, self.names, self.memory = function, function.info.names, memory_of(function)
        self.goes_in_order = False  # some loop, of which nothing becomes a kernel
        self.has_kernels = False  # others than for parts of a loop that is in no other one
        self.results = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
        numbers = (variables(leaf) for leaf in leaves(function.results) if isinstance(leaf, Expr))
        self.handed_back = {var.name for found in numbers for var in found}

    def block(self, block: Block, later: tuple[Block, ...]) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            rest = (block[position + 1 :], *later)
            scanned = self.scanned(stmt, rest) if isinstance(stmt, For) and not is_parallel(stmt) else None
            if scanned is not None:
                out += scanned
                continue
            if blocks(stmt) and not is_parallel(stmt):
                behind = ((stmt,), *rest) if isinstance(stmt, (For, While)) else rest
                stmt = with_blocks(stmt, tuple(self.block(inner, behind) for inner in blocks(stmt)))
            if isinstance(stmt, (For, While)):
                parallel = [each for each in statements((stmt,)) if is_parallel(each)]
                is_together = isinstance(stmt, For) and bool(extremes_of_nest(stmt))  # by all threads
                self.goes_in_order |= not parallel and not is_together
                self.has_kernels |= is_together or any(not is_filling(_innermost(each)) for each in parallel)
            out.append(stmt)
        return tuple(out)

    def scanned(self, loop: For, later: tuple[Block, ...]) -> Block | None:
        inside = statements(loop.body)
        if not isinstance(loop.step, Const) or not all(isinstance(s, IN_A_PART) for s in inside):
            return None
        if any(map(is_parallel, inside)) or not _goes_along_memory(loop) or extremes_of_nest(loop):
            return None
        saved = self.names.save()
        made = self.in_parts(loop, later)
        if made is None:
            self.names.restore(saved)
        return made

    def in_parts(self, loop: For, later: tuple[Block, ...]) -> Block | None:
        carried = carried_elements(loop, self.memory, self.names, lambda array: self.is_dead(array, later))
        steps = affine_steps(carried.loop, self.memory, self.names)
        trips = _trips(loop)
        fixed = variables(trips) | variables(loop.start)
        set_there = effects(carried.loop.body)
        private = {loop.index, *set_there.writes} - set_there.sums - {*(steps.carried if steps else ())}
        behind = (carried.behind, *later)
        if not all(is_dead(var, behind, var.name in self.handed_back) for var in private):
            return None
        if steps is None or loads(trips) or loads(loop.start) or fixed & effects(carried.loop.body).writes:
            return None
        if isinstance(trips, Const) and trips.value < FEWEST:
            return None
        count, number = (Var(self.names.fresh(word), INT64) for word in ("trips", "number"))
        at = {loop.index: affine.add(loop.start, affine.mul(loop.step, number))}
        body = substituted(carried.loop.body, at)
        steps = replace(steps, needed=substituted(steps.needed, at))
        numbered = For(number, affine.ZERO, count, affine.ONE, body, span=loop.span)
        scan: LoopInParts
        try:
            scan = AffineInParts(self.names, numbered, steps.carried, steps, steps.needed, _is_seen(carried.loop))
            made = scan.made(IN_PARTS)
        except NotAffine:
            clipped = clipped_steps(steps)
            if clipped is None:
                return self.one_after_the_other(carried, count, trips, numbered, steps.carried, behind)
            scan = ClippedInParts(self.names, numbered, steps.carried, clipped, steps.needed, _is_seen(carried.loop))
            made = scan.made(IN_PARTS)
        out = (*carried.ahead, Assign(count, trips), *made, *carried.behind)
        together = replace(self.whole, body=(*self.whole.body, *out))  # what is known of all numbers, the new ones too
        sharing = Sharing(together, never_negative=True, atomically=True)
        if any(sharing.of(each, behind) is None for each in scan.parallel):
            return None
        return out

    def one_after_the_other(
        self, carried: Carried, count: Var, trips: Expr, loop: For, numbers: tuple[Var, ...], later: tuple[Block, ...]
    ) -> Block | None:
        """A loop that passes on numbers of several kinds, as two."""
        split = split_carried(loop, numbers, self.names)
        if split is None:
            return None
        ahead = (*carried.ahead, Assign(count, trips), *split.ahead)
        before = self.whole, self.memory
        self.whole = replace(self.whole, body=(*self.whole.body, *ahead, split.first, split.second, *split.behind))
        self.memory = memory_of(self.whole)
        behind = (split.behind, *later)
        first = self.in_parts(split.first, ((split.second,), *behind))
        second = (split.second,) if extremes_of_nest(split.second) else self.in_parts(split.second, behind)
        self.whole, self.memory = before
        if first is None or second is None:
            return None
        return (*ahead, *first, *second, *split.behind, *carried.behind)

    def is_dead(self, array: Array, later: tuple[Block, ...]) -> bool:
        memory = self.memory.get(array.name, OUTSIDE)
        if memory == OUTSIDE or memory in {self.memory.get(name) for name in self.results}:
            return False
        mine = {name for name, other in self.memory.items() if other == memory}
        return not any(mine & touched(s) for block in later for s in statements(block))


def _trips(loop: For) -> Expr:
    if not steps_by_one(loop):
        return Call("trip_count", (loop.start, loop.stop, loop.step), INT64)
    count = trips(loop)
    return count if affine.is_at_least(count, 0) else affine.maximum(count, affine.ZERO)


def _goes_along_memory(loop: For) -> bool:
    """Does each iteration have to do with elements of its own?"""
    return any(
        loop.index in variables(part)
        for stmt in statements(loop.body)
        for place in (*(load for e in expressions(stmt) for load in loads(e)), written_place(stmt))
        if place is not None
        for part in place.index
    )


def _innermost(loop: Stmt) -> Block:
    return tuple(stmt for stmt in statements((loop,)) if not isinstance(stmt, (Comment, For)))


def _is_seen(loop: For) -> bool:
    """Does the loop more than to set numbers?"""
    return bool(effects(loop.body).sums) or any(written_place(s) is not None for s in statements(loop.body))


__all__ = ["scans"]
