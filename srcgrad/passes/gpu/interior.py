"""In the interior of a grid nobody asks, on a GPU: a thread looks once whether all neighbours are there.

    for i in range(n):                               for i in range(n):
        for j in range(m):                               for j in range(m):
            total = 0.0                                      if 2 <= i and i < n - 2 and 2 <= j and j < m - 2:
            if 2 <= i and 1 <= j and j < m - 1:                  total = 0.0
                total += y_b[i - 1, j]                           total += y_b[i - 1, j]
            if i < n - 2 and 1 <= j and j < m - 1:     →         total += y_b[i + 1, j]
                total += y_b[i + 1, j]                           total += y_b[i, j - 1]
            if 1 <= i and i < n - 1 and 2 <= j:                  …
                total += y_b[i, j - 1]                       else:
            …                                                    …as it was

The threads of a warp at the ends of a row go both ways, one after the other.  For all others nothing hangs on anything:
a compiler sees that what is below one element is the next one, and reads it once.  Of a grid of three axes and more,
whose rows are a few warps, the last index is left alone: all threads of a warp go the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.effects import effects
from ...analysis.grids import nest_of, within
from ...ir import affine
from ...ir.expressions import INT64, Call, Expr, all_of, negated
from ...ir.info import memory_of
from ...ir.nodes import Block, For, Function, If, Stmt, While
from ...ir.walk import blocks, loads, statements, variables, with_blocks
from ..reverse_mode.join_branches import Roots, joined

LONG_ROWS = 2  # axes: of a grid of that many, rows are so long that hardly any warp is at an end of one
TIMES = 2  # as many questions there have to be as are asked instead
COMPARISONS = ("le", "lt", "ge", "gt")


def interior(function: Function) -> Function:
    roots = memory_of(function)

    def changed(stmt: Stmt) -> Stmt:
        nest = nest_of(stmt)
        if nest is not None:
            return within(nest[0], asked_once(*nest, roots))
        return with_blocks(stmt, tuple(tuple(map(changed, block)) for block in blocks(stmt)))

    return replace(function, body=tuple(map(changed, function.body)))


def asked_once(loops: tuple[For, ...], block: Block, roots: Roots) -> Block:
    """The body of a nest, for an element inside and for one at an end."""
    return _Body(block, loops if len(loops) <= LONG_ROWS else loops[:-1], loops).split(roots)


class _Body:
    """What a nest does for an element."""

    def __init__(self, block: Block, asked: tuple[For, ...], loops: tuple[For, ...]) -> None:
        self.block = block
        self.indices = {loop.index for loop in asked}
        self.unlike = {loop.index for loop in loops} - self.indices | set(effects(block).writes)

    def split(self, roots: Roots) -> Block:
        """In two, where that saves enough."""
        asked = [part for guard in _guards(self.block) for part in _asked(guard.condition) if self.is_of_place(part)]
        strictest: dict[object, tuple[int, Expr]] = {}
        for part in asked:
            terms, room = affine.affine(_room(part))
            if terms not in strictest or room < strictest[terms][0]:
                strictest[terms] = room, part
        inside = all_of(part for _, part in strictest.values())
        if inside is None or len(asked) < TIMES * len(strictest):
            return self.block
        if any(isinstance(s, (For, While)) for s in statements(self.block)):  # which take longer than a few questions
            return self.block
        return (If(inside, joined(self.unasked(self.block), roots, in_iteration=True), self.block),)

    def is_of_place(self, part: Expr) -> bool:
        """A comparison of indices with what stays as it is?"""
        names = variables(part)
        if not isinstance(part, Call) or part.op not in COMPARISONS or not names & self.indices:
            return False
        return all(x.dtype == INT64 for x in part.args) and not (names & self.unlike or loads(part))

    def unasked(self, block: Block) -> Block:
        """The body, where all such comparisons hold."""
        out: list[Stmt] = []
        for stmt in block:
            if not isinstance(stmt, If) or stmt.orelse:
                out.append(stmt)
                continue
            left = all_of(part for part in _asked(stmt.condition) if not self.is_of_place(part))
            if _is_negated(stmt.condition):
                out += (replace(stmt, condition=negated(left)),) if left is not None else ()
                continue
            then = self.unasked(stmt.then)
            out += then if left is None else (replace(stmt, condition=left, then=then),)
        return tuple(out)


def _guards(block: Block) -> Iterator[If]:
    for stmt in block:
        if isinstance(stmt, If) and not stmt.orelse:
            yield stmt
            yield from _guards(stmt.then)


def parts_of(condition: Expr) -> list[Expr]:
    """What has to hold together."""
    if isinstance(condition, Call) and condition.op == "and":
        return [part for arg in condition.args for part in parts_of(arg)]
    return [condition]


def _asked(condition: Expr) -> list[Expr]:
    """Whether it is one that has to hold, or one that must not."""
    return parts_of(condition.args[0] if _is_negated(condition) else condition)  # type: ignore[attr-defined]


def _is_negated(condition: Expr) -> bool:
    return isinstance(condition, Call) and condition.op == "not"


def _room(comparison: Expr) -> Expr:
    """What is at least 0 where the comparison holds."""
    assert isinstance(comparison, Call)
    x, y = comparison.args
    less, more = (x, y) if comparison.op in ("le", "lt") else (y, x)
    return affine.sub(affine.sub(more, less), affine.integer(comparison.op in ("lt", "gt")))


__all__ = ["COMPARISONS", "asked_once", "interior", "parts_of"]
