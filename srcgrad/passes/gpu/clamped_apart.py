"""What an index that is held inside an array leads to twice is added apart from all the rest (on a GPU).

    for i in range(n):                                      for i in range(n):
        x_b[min(max(i - 2, 0), n - 1)] += v[i]      →           if 0 <= i - 2 and i - 2 <= n - 1:
                                                                    x_b[i - 2] += v[i]
                                                            for i in range(n):
                                                                if not (0 <= i - 2 and i - 2 <= n - 1):
                                                                    x_b[min(max(i - 2, 0), n - 1)] += v[i]

The first loop is for `gather`: in the interior, neighbours fetch what they get.  The few at the ends add
atomically.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from ...analysis.additions import FLAT
from ...analysis.effects import effects
from ...analysis.nests import Memory, element_of_each
from ...analysis.slices import (
    Kept,
    Slice,
    Way,
    addition_of,
    head_of,
    slice_of,
    stores,
    ways_to_additions,
    with_changes,
)
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Expr, Load, both, either, negated
from ...ir.names import Names
from ...ir.nodes import AddTo, Block, For, Function, If, Stmt
from ...ir.walk import blocks, loads, numbers_set, rewrite_block, statements, variables, with_blocks
from .gather_sums import around

KINDS = (*FLAT, For, If)
MOST_KEPT = 4  # numbers of an iteration
LOW, HIGH = ("maximum", "max"), ("minimum", "min")


def clamped_apart(function: Function) -> Function:
    names, memory = function.info.names, Memory(function)

    def changed(block: Block) -> Block:
        return tuple(made for stmt in block for made in of_one(stmt))

    def of_one(stmt: Stmt) -> Block:
        if not isinstance(stmt, For) or stmt.ordered:
            return (with_blocks(stmt, tuple(map(changed, blocks(stmt)))),)
        if not all(isinstance(inner, KINDS) for inner in statements((stmt,))):
            return (stmt,)
        return _Nest(stmt, names, memory).apart()

    return replace(function, body=changed(function.body))


class _Nest:
    def __init__(self, nest: For, names: Names, memory: Memory) -> None:
        self.nest, self.names, self.memory = nest, names, memory
        self.accesses = effects((nest,)).accesses
        self.changing = numbers_set((nest,))
        self.written = {access.array.name for access in self.accesses if access.writes}

    def apart(self) -> Block:
        """The nest, with what is at the ends apart."""
        by_block: dict[tuple[int, Array], list[Way]] = {}
        for way in ways_to_additions((self.nest,)):
            by_block.setdefault((id(way[-1].block), addition_of(way).target.array), []).append(way)  # type: ignore[union-attr]
        inside: dict[int, Block] = {}
        kept: list[Kept] = []
        ends: list[Stmt] = []
        for (_, array), ways in by_block.items():
            clamped = [way for way in ways if self.held(addition_of(way)) is not None]
            found = self.sliced(clamped) if clamped and self.memory.is_only_added_to(array, self.accesses) else None
            if found is not None:
                inside |= {id(addition_of(way)): self.in_the_interior(addition_of(way)) for way in clamped}
                ends.append(self.at_the_ends(found))
                kept += found.kept
        if not ends:
            return (self.nest,)
        allocated, stored = stores(kept, self.nest.span)
        return (*allocated, *with_changes((self.nest,), inside, stored), *ends)

    def sliced(self, ways: Sequence[Way]) -> Slice | None:
        """What is computed for such additions of one block; None where that is not to be had by itself."""
        may_be_read = lambda load: not any(self.memory.may_be_one(load.array.name, name) for name in self.written)
        head = head_of(self.nest)
        place_for = lambda var: element_of_each(head, var.name, var.dtype, self.names)
        found = slice_of(ways, head, may_be_read, place_for, self.names)
        if found is None or found.asked or len(found.kept) > MOST_KEPT:
            return None
        indices = {loop.index for loop in found.loops}
        ends = [end for loop in found.loops for end in (loop.start, loop.stop, loop.step)]
        is_known = not any(loads(end) or variables(end) & self.changing for end in ends)
        own = [part for way in ways for part in addition_of(way).target.index]  # type: ignore[union-attr]
        return found if is_known and all(variables(part) & self.changing <= indices for part in own) else None

    def held(self, addition: AddTo) -> tuple[tuple[Expr, ...], Expr] | None:
        """The index of an addition without what holds it inside an array, and where that changes nothing."""
        assert isinstance(addition.target, Load)
        free: list[Expr] = []
        inside: Expr | None = None
        for part in addition.target.index:
            bottom = self.without_ends(part)
            while isinstance(part, Call) and part.op in (*LOW, *HIGH) and part.dtype == INT64:
                op, (x, y) = part.op, part.args
                part, end = (x, y) if variables(x) & self.changing else (y, x)
                if loads(end) or variables(end) & self.changing:
                    return None
                inside = both(inside, Call("le", (end, bottom) if op in LOW else (bottom, end), BOOL))
            free.append(part)
        return None if inside is None else (tuple(free), inside)

    def without_ends(self, part: Expr) -> Expr:
        while isinstance(part, Call) and part.op in (*LOW, *HIGH) and part.dtype == INT64:
            x, y = part.args
            part = x if variables(x) & self.changing else y
        return part

    def in_the_interior(self, addition: AddTo) -> Block:
        free, inside = self.held(addition)  # type: ignore[misc]
        assert isinstance(addition.target, Load)
        place = replace(addition.target, index=free)
        return (If(inside, (replace(addition, target=place),), span=addition.span),)

    def at_the_ends(self, found: Slice) -> Stmt:
        """A loop over all, of which those do something that are at an end."""
        outside: list[Expr] = []

        def change(stmt: Stmt) -> Block:
            known = self.held(stmt) if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) else None
            if known is None:
                return (stmt,)
            outside.append(negated(known[1]))
            return (If(outside[-1], (stmt,), span=stmt.span),)

        several = rewrite_block(found.body, change)
        body = found.body if len(outside) == 1 else several
        inner = [replace(loop, ordered=isinstance(affine.sub(loop.stop, loop.start), Const)) for loop in found.loops]
        return around(inner, (If(reduce(either, dict.fromkeys(outside)), body),))


__all__ = ["clamped_apart"]
