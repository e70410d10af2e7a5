"""What an iteration adds to elements two and more ahead is set aside for a strip of iterations, so that it vectorises.

                                            for first in range(0, n, 256):
    for j in range(n):                          last = min(first + 256, n)
        g = y_b[j] * exp(x[j])                  for j in range(first, last):
        x_b[j] -= g                  →              g = y_b[j] * exp(x[j])
        x_b[j + 2] += g                             x_b[j] -= g
                                                    aside[j - first] = g
                                                for j in range(first, last):
                                                    x_b[j + 2] += aside[j - first]

An element that is added to in one iteration and again two later is passed through memory, or through two registers of
which LLVM follows only one.  What goes to the very next one is left to `hand_over`, within each strip.

So is what is dear to compute, and added to a sum of the user's, or to an element that is looked up (`dear_apart`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ...analysis.added_ahead import SIMPLE, Row, Rows, at_the_end, may_be
from ...analysis.effects import effects
from ...ir import affine
from ...ir.expressions import INT64, Array, Load, Var
from ...ir.nodes import AddTo, Alloc, Assign, Block, For, Function, If, Parallel, Stmt, Store, While
from ...ir.walk import blocks, expressions, statements, variables, with_blocks
from ...rules.costs import additions
from .dear_apart import DearApart, Parts

INNERMOST = (*SIMPLE, If)  # what loops that are not around others are of
SHORT = 16  # iterations: so few make no vectors worth the while
STRIP = 256  # iterations: what is set aside stays in the first cache
EACH = 12  # additions that an iteration has to do for each array of strips but the first, so that vectors are worth it


def set_aside(function: Function) -> Function:
    return replace(function, body=_Aside(function).outermost(function.body))


class _Aside:
    def __init__(self, function: Function) -> None:
        self.names, self.rows, self.apart = function.info.names, Rows(function), DearApart(function)
        self.memory: list[Alloc] = []

    def outermost(self, block: Block) -> Block:
        """A block that no loop is around, with the memory for its loops ahead of these."""
        out: list[Stmt] = []
        for stmt in block:
            outer, self.memory = self.memory, []
            changed = self.block((stmt,)) if isinstance(stmt, (For, While)) else (self.inside(stmt),)
            out += (*self.memory, *changed)
            self.memory = outer
        return tuple(out)

    def inside(self, stmt: Stmt) -> Stmt:
        return with_blocks(stmt, tuple(map(self.outermost, blocks(stmt)))) if blocks(stmt) else stmt

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and all(isinstance(inner, INNERMOST) for inner in statements(stmt.body)):
                out.append(self.by_strips(stmt) if _is_long(stmt) else stmt)
            elif isinstance(stmt, For) and stmt.few:
                out.append(stmt)
            elif isinstance(stmt, Parallel):  # each piece has memory of its own
                out.append(self.inside(stmt))
            else:
                out.append(with_blocks(stmt, tuple(map(self.block, blocks(stmt)))) if blocks(stmt) else stmt)
        return tuple(out)

    def by_strips(self, loop: For) -> For:
        end = cache(lambda name: Var(self.names.fresh(name), INT64))  # a name is used up for a strip alone

        def memory(place: Var | Load) -> Load:
            return Load(self.strip_of(place), (affine.sub(loop.index, end("first")),), checked=False)

        parts = self.apart.parts(loop, memory) or Parts((), loop.body, ())
        inner = replace(loop, body=parts.dear)
        behind = [parts.behind]
        for row in self.far(inner):
            for ahead in _aside(row):
                left = memory(row[ahead][0])
                inner, value = at_the_end(inner, row[ahead], self.names, "ahead")
                inner = replace(inner, body=(*inner.body, Store(left.array, left.index, value, checked=False)))
                behind.append((AddTo(row[ahead][0], left, reorder=True),))
        bodies = [body for body in (parts.ahead, inner.body, *behind) if body]
        if len(bodies) < 2:
            return loop
        length, first, last = affine.integer(STRIP), end("first"), end("last")
        ends = Assign(last, affine.minimum(affine.add(first, length), loop.stop))
        strip = (ends, *(replace(inner, start=first, stop=last, body=body) for body in bodies))
        return For(first, loop.start, loop.stop, length, strip, span=loop.span)

    def far(self, loop: For) -> list[Row]:
        """The rows with elements to set aside, if that is worth it."""
        rows = [row for row in self.rows.of(loop) if _is_far(row)] if may_be(loop) and _is_along_rows(loop) else []
        return rows if _work(loop) >= EACH * (sum(len(_aside(row)) for row in rows) - 1) else []

    def strip_of(self, place: Var | Load) -> Array:
        """Memory for what the iterations of a strip add to a place, or look up there."""
        dims = (affine.integer(STRIP),)
        array = Array(self.names.fresh("aside"), place.dtype, dims)
        self.memory.append(Alloc(array, dims))
        return array


def _is_long(loop: For) -> bool:
    trips = affine.difference(loop.stop, loop.start)
    return trips is None or trips >= SHORT


def _is_along_rows(loop: For) -> bool:
    """Do neighbouring iterations write neighbouring elements?  What lies rows apart fills no vector register."""
    written = [access for access in effects(loop.body).accesses if access.writes]
    return not any(part is None or loop.index in variables(part) for access in written for part in access.index[:-1])


def _aside(row: Row) -> list[int]:
    """Which elements of a row are not added to at once: all but the first, and the next one, which is handed over."""
    first, *others = sorted(row)
    return others[1:] if others[0] == first + 1 else others


def _work(loop: For) -> int:
    return sum(additions(expr) for stmt in loop.body for expr in expressions(stmt))


def _is_far(row: Row) -> bool:
    """Does an iteration add to elements of the row of which registers can't hand over all?"""
    return len(row) > 1 and (len(row) > 2 or max(row) - min(row) > 1)


__all__ = ["set_aside"]
