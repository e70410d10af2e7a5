"""On a GPU, a loop that passes numbers on is gone over in parts, all at one time, where they are affine in each other.

    for i in range(n):              for part: b[part], m[part] = …      what the part makes of s = 0, and of s alone
        s = a * s + x[i]     →      for part: s_start[part] = s; s = m[part] * s + b[part]
        y[i] = sin(s)               for part: s = s_start[part]; …      the loop, over the part

The loop over the parts is short, but not short enough for one thread: it is gone over in parts itself, groups of them.
So all of it is five kernels, of which the first and the last go over the arguments.

Where s cancels, or is no number, what the part makes of it is found by going through the part: a thread does that by
itself.  Sums, and products of factors alone, need nothing of the kind.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

from ..ir import affine
from ..ir.expressions import BOOL, FLOAT32, INT64, Array, Call, Const, Expr, Load, Var, both, either, negated
from ..ir.names import Names
from ..ir.nodes import AddTo, Alloc, Assign, Block, Comment, For, Function, If, Stmt, Store, While, leaves
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    numbers_set,
    statements,
    substituted,
    variables,
    with_blocks,
    written_place,
)
from .affine_steps import AffineSteps, Image, NotAffine, Start, affine_steps
from .alternate import is_parallel
from .carried_elements import carried_elements
from .effects import effects, is_dead, touched
from .info import OUTSIDE, memory_of
from .lengths import steps_by_one, trips
from .offload import is_filling
from .sharing import Sharing

IN_PARTS = ((65536, 32), (256, 32))  # at most so many parts, of at least so many iterations; and groups of parts
FEWEST = 256  # iterations that are worth it
DIGITS = 1024.0  # a sum that is less than what it is the sum of, by more than this, has lost too many
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
                self.goes_in_order |= not parallel
                self.has_kernels |= any(not is_filling(_innermost(each)) for each in parallel)
            out.append(stmt)
        return tuple(out)

    def scanned(self, loop: For, later: tuple[Block, ...]) -> Block | None:
        inside = statements(loop.body)
        if not isinstance(loop.step, Const) or not all(isinstance(s, IN_A_PART) for s in inside):
            return None
        if any(map(is_parallel, inside)) or not _goes_along_memory(loop):
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
        try:
            scan = _Scan(self.names, numbered, steps, steps.needed, _is_seen(carried.loop))
            made = scan.made(IN_PARTS)
        except NotAffine:
            return None
        out = (*carried.ahead, Assign(count, trips), *made, *carried.behind)
        together = replace(self.whole, body=(*self.whole.body, *out))  # what is known of all numbers, the new ones too
        sharing = Sharing(together, never_negative=True, atomically=True)
        if any(sharing.of(each, behind) is None for each in scan.parallel):
            return None
        return out

    def is_dead(self, array: Array, later: tuple[Block, ...]) -> bool:
        memory = self.memory.get(array.name, OUTSIDE)
        if memory == OUTSIDE or memory in {self.memory.get(name) for name in self.results}:
            return False
        mine = {name for name, other in self.memory.items() if other == memory}
        return not any(mine & touched(s) for block in later for s in statements(block))


@dataclass(frozen=True)
class _Maps:
    """s → M s + b of every part of a loop, as arrays with one element for each.

    `columns`: of what is made of which number (None: it stays what it was).  What has no array is zero in all parts.
    """

    columns: Mapping[tuple[Var, Var], Array | None]
    terms: Mapping[Var, Array]

    @property
    def arrays(self) -> tuple[Array, ...]:
        return (*(a for a in self.columns.values() if a is not None), *self.terms.values())


class _Scan:
    """A loop from 0 on by ones, and how it passes numbers on.

    `plainly`: by statements that are affine.  `advance`: by those that find it, however that has to be done.
    `is_seen`: has the loop more to do than to pass numbers on?  `parallel`: the loops over parts, once they are made.
    """

    def __init__(self, names: Names, loop: For, plainly: AffineSteps, advance: Block, is_seen: bool) -> None:
        self.names, self.loop, self.plainly, self.advance, self.is_seen = names, loop, plainly, advance, is_seen
        self.carried = plainly.carried
        self.part, self.size, self.parts = (Var(names.fresh(w), INT64) for w in ("part", "part_size", "parts"))
        self.parallel: list[For] = []

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
        maps, found = self.found()
        plainly, advance = self.composed(maps)
        starts = {v: self.of_parts(f"{v.name}_start", v) for v in self.carried} if self.is_seen else {}
        stored = tuple(Store(start, (self.part,), v, checked=False, natural=True) for v, start in starts.items())
        over_parts = self.over_parts((*stored, *advance), ordered=True)
        middle: Block = (over_parts,)
        if deeper:
            scan = _Scan(self.names, over_parts, plainly, advance, self.is_seen)
            middle = scan.made(tuple(deeper))
            self.parallel += scan.parallel
        allocated = tuple(Alloc(array, array.dims) for array in (*maps.arrays, *starts.values()))
        return (*counted, *allocated, found, *middle, *(self.gone_over(starts) if self.is_seen else ()))

    # ------------------------------------------------------------------------------------------------- loops over parts

    def over_parts(self, body: Block, ordered: bool = False) -> For:
        loop = For(self.part, affine.ZERO, self.parts, affine.ONE, body, ordered, span=self.loop.span)
        if not ordered:
            self.parallel.append(loop)
        return loop

    def within(self, body: Block) -> For:
        """The body, of the loop, for the iterations of a part."""
        first = affine.mul(self.part, self.size)
        stop = affine.minimum(self.size, affine.sub(self.loop.stop, first))
        turn = Var(self.names.fresh("turn"), INT64)
        here = substituted(body, {self.loop.index: affine.add(first, turn)})
        return For(turn, affine.ZERO, stop, affine.ONE, here, span=self.loop.span)

    def of_parts(self, name: str, like: Var) -> Array:
        return Array(self.names.fresh(name), like.dtype, (self.parts,))

    def of_this_part(self, array: Array) -> Load:
        return Load(array, (self.part,), checked=False, natural=True)

    def gone_over(self, starts: Mapping[Var, Array]) -> Block:
        """The loop itself, by parts."""
        own = {v: Var(self.names.fresh(v.name), v.dtype) for v in self.carried}
        first = tuple(Assign(own[v], self.of_this_part(start)) for v, start in starts.items())
        return (self.over_parts((*first, self.within(substituted(self.loop.body, own)))),)

    # ------------------------------------------------------------------------------------------------- what parts make

    def found(self) -> tuple[_Maps, For]:
        """What each part makes of what it is given, and the loop that finds it."""
        columns = [Start({v: _number(v, 1)}, False) for v in self.carried]
        body, (base, *images) = self.plainly.of([Start({}, True), *columns], self.names)
        if self.advance != self.plainly.needed:  # what is made of zeros is found with more care
            body, images = self.plainly.of(columns, self.names)
            more, base = self.from_zeros(base)
            body = (*body, *more)
        maps = _Maps(
            {
                (v, of): None if v in image.constant else self.of_parts(_column_name(v, of), v)
                for of, image in zip(self.carried, images, strict=True)
                for v in image.called
                if v == of or v not in image.constant
            },
            {v: self.of_parts(f"{v.name}_term", v) for v in base.called if v not in base.constant},
        )
        made_of_others = [key for key, made in maps.columns.items() if made is not None]
        if any(v.dtype.kind != "f" or v.dtype != of.dtype for v, of in made_of_others):
            raise NotAffine  # whole numbers are counted, and no more
        stored = [(made, base.called[v]) for v, made in maps.terms.items()]
        by_column = dict(zip(self.carried, images, strict=True))
        stored += [(made, by_column[of].called[v]) for (v, of), made in maps.columns.items() if made is not None]
        last = tuple(Store(made, (self.part,), value, checked=False, natural=True) for made, value in stored)
        used = set().union(*(effects((s,)).reads for s in (*body, *last)))
        first = {image.called[v]: value for image in (base, *images) for v, value in image.first.items()}
        ahead = tuple(Assign(name, value) for name, value in first.items() if name in used)
        return maps, self.over_parts((*ahead, self.within(body), *last))

    def from_zeros(self, base: Image) -> tuple[Block, Image]:
        """What `advance` makes of zeros; `base`: which numbers these are no zeros afterwards."""
        if not base.called:
            return (), base
        own = {v: Var(self.names.fresh(v.name), v.dtype) for v in self.carried}
        inside = {v: Var(self.names.fresh(v.name), v.dtype) for v in numbers_set(self.advance) - {*self.carried}}
        more = substituted(self.advance, {**own, **inside})
        return more, Image(own, {v: _number(v, 0) for v in own}, frozenset(own.keys() - base.called.keys()))

    def composed(self, maps: _Maps) -> tuple[AffineSteps, Block]:
        """What the numbers passed on are behind a part: plainly, and with care."""
        plainly: list[Stmt] = []
        taken: list[Stmt] = []
        suspect: Expr | None = None
        for v in self.carried:
            columns = [(of, maps.columns[v, of]) for of in self.carried if (v, of) in maps.columns]
            parts: list[Expr] = []
            products: list[tuple[Var, Var]] = []
            for of, column in columns:
                if column is not None:
                    products.append((Var(self.names.fresh(f"{v.name}_more"), v.dtype), of))
                    plainly.append(Assign(products[-1][0], self.of_this_part(column) * of))
                parts.append(of if column is None else products[-1][0])
            parts += [self.of_this_part(maps.terms[v])] if v in maps.terms else []
            if parts and parts[0] == v and len(columns) == 1:
                taken += [AddTo(v, part) for part in parts[1:]]
                continue
            then = Var(self.names.fresh(f"{v.name}_then"), v.dtype)
            plainly.append(Assign(then, reduce(operator.add, parts) if parts else _number(v, 0)))
            taken.append(Assign(v, then))
            for product, of in products:
                suspect = either(suspect, negated(_is_trusted(then, product, of)))
        depends = frozenset({*self.carried, *numbers_set(tuple(plainly))})
        steps = AffineSteps(self.carried, (*plainly, *taken), depends)
        if suspect is None:
            return steps, steps.needed
        return steps, (*plainly, If(suspect, (self.within(self.advance),), tuple(taken)))


def _is_trusted(total: Expr, product: Expr, of: Expr) -> Expr:
    """Has a sum that a product is part of kept its digits, and the product itself?"""
    size = lambda x: Call("abs", (x,), x.dtype)
    least = 1e-30 if total.dtype == FLOAT32 else 1e-290  # what is less may be half of a number, or none
    at_least = lambda x: Call("ge", (size(total), x), BOOL)
    is_finite = Call("eq", (total - total, _number(total, 0)), BOOL)
    return both(both(is_finite, at_least(size(product) / DIGITS)), at_least(size(of) * least))


def _number(like: Expr, value: int) -> Const:
    return Const(like.dtype.type(value).item(), like.dtype)


def _column_name(var: Var, of: Var) -> str:
    return f"{var.name}_factor" if var == of else f"{var.name}_by_{of.name}"


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
