"""An array that every step makes of the same things is made once, ahead of the loop.

    for t in range(steps):                               k = float64[n, n] of nothing
        k = float64[n, n] of nothing                     for i, j: k[i, j] = beta * c[i, j]
        for i, j: k[i, j] = beta * c[i, j]      →        for t in range(steps):
        matmul(y, k, x)                                      matmul(y, k, x)

The sweep kept one for every step, and took apart what came back to each.  Only what can't fail moves: the loop might
not run.  Iterations in any order keep their own: they would all have to add to the cotangent of the one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..analysis.effects import effects
from ..analysis.lengths import Lengths, lengths_of
from ..analysis.rows import row_lengths
from ..ir import affine
from ..ir.expressions import Array, Dim, Expr, Load, Var
from ..ir.info import roots_of
from ..ir.nodes import AddTo, Alloc, Assign, Block, Comment, For, Function, Rule, Stmt, Store, While, leaves
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    mentioned,
    statements,
    subexpressions,
    targets,
    variables,
    with_blocks,
    written_place,
)


def hoist_arrays(function: Function) -> Function:
    loops = [stmt for stmt in statements(function.body) if isinstance(stmt, (For, While)) and _is_in_order(stmt)]
    if not any(isinstance(stmt, Alloc) for loop in loops for stmt in loop.body):
        return function
    return replace(function, body=_Hoister(function).block(function.body))


def _is_in_order(loop: For | While) -> bool:
    return isinstance(loop, While) or loop.ordered


class _Hoister:
    def __init__(self, function: Function) -> None:
        self.roots, self.lengths = roots_of(function), lengths_of(function)
        every = statements(function.body)
        self.speak_of: Counter[Var] = Counter(var for stmt in every for var in mentioned(stmt))
        changes = ((stmt, item) for stmt in every for item in targets(stmt) if isinstance(item, Array))
        self.changes: Counter[str] = Counter(self.root(item) for _, item in changes)
        self.handed_out = {self.root(leaf) for leaf in leaves(function.results) if isinstance(leaf, Array)}

    def root(self, array: Array) -> str:
        return self.roots.get(array.name, array.name)

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if blocks(stmt) and not isinstance(stmt, Rule):
                stmt = with_blocks(stmt, tuple(map(self.block, blocks(stmt))))
            if isinstance(stmt, (For, While)) and _is_in_order(stmt):
                ahead, stmt = self.out_of(stmt)
                out += ahead
            out.append(stmt)
        return tuple(out)

    def out_of(self, loop: For | While) -> tuple[list[Stmt], For | While]:
        ahead: list[Stmt] = []
        while (found := self.made_anew(loop)) is not None:
            made, filled = found
            ahead += [replace(made, dims=row_lengths(made.dims)), filled]
            loop = replace(loop, body=tuple(s for s in loop.body if s is not made and s is not filled))
        return ahead, loop

    def made_anew(self, loop: For | While) -> tuple[Alloc, For] | None:
        """The memory, and the one loop that fills it."""
        for at, made in enumerate(loop.body):
            if isinstance(made, Alloc) and made.on is None and made.array.name not in self.handed_out:
                behind = (s for s in loop.body[at + 1 :] if made.array.name in effects((s,)).names())
                filled = next(behind, None)
                if isinstance(filled, For) and self.is_the_same(made, filled, loop):
                    return made, filled
        return None

    def is_the_same(self, made: Alloc, filled: For, loop: For | While) -> bool:
        """Is the array the same in every iteration, and can nothing go wrong in making it?"""
        inside = statements((filled,))
        if not all(isinstance(s, (AddTo, Assign, Comment, For, Store)) for s in inside):
            return False
        own = {item for s in inside for item in targets(s) if isinstance(item, Var)}
        spoken_of = Counter(var for s in inside for var in mentioned(s))
        indices = {s.index for s in inside if isinstance(s, For)}
        if any(self.speak_of[var] != spoken_of[var] for var in own - indices):
            return False  # somebody else reads it
        changes = [s for s in inside if any(isinstance(item, Array) for item in targets(s))]
        if len(changes) + 1 != self.changes[made.array.name]:
            return False
        seen, around = effects((filled,)), effects((loop,))
        read = [*(e for s in inside for e in expressions(s)), *made.dims]
        changing = around.writes - own
        if any(variables(e) & changing for e in read) or any(loads(e) for e in made.dims):
            return False
        if not any(loads(e) for e in read):
            return False  # of numbers alone: whoever reads it has them as soon
        written = around.memory_by(self.roots)[0]
        named = {access.array.name for access in seen.accesses} | seen.shapes | _asked(made.dims)
        if (named - {made.array.name}) & (around.views.keys() | around.allocated):
            return False
        if any(self.roots.get(name, name) in written for name in named - {made.array.name}):
            return False
        loops = {s.index: s for s in inside if isinstance(s, For)}
        places = [load for e in read for load in loads(e)] + [p for s in inside if (p := written_place(s)) is not None]
        if any(self.root(place.array) != made.array.name for place in places[len(places) - len(changes) :]):
            return False
        return all(_is_inside(place, loops, self.lengths) for place in places)


def _asked(dims: tuple[Expr, ...]) -> set[str]:
    return {part.array for dim in dims for part in subexpressions(dim) if isinstance(part, Dim)}


def _is_inside(place: Load, loops: dict[Var, For], lengths: Lengths) -> bool:
    """Is the element there, as the index runs over just this axis?"""
    for part, dim in zip(place.index, lengths.of(place.array), strict=True):
        loop = loops.get(part) if isinstance(part, Var) else None
        if loop is None or loop.step != affine.ONE or not affine.is_at_least(loop.start, 0):
            return False
        if not affine.is_at_least(affine.sub(lengths.said(dim), lengths.said(loop.stop)), 0):
            return False
    return True
