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
"""

from __future__ import annotations

from dataclasses import replace

from ..ir import affine
from ..ir.expressions import INT64, Array, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, Block, For, Function, Parallel, Stmt, Store, While
from ..ir.walk import blocks, expressions, variables, with_blocks
from ..rules.costs import additions
from .added_ahead import Row, Rows, at_the_end, may_be
from .effects import effects

SHORT = 16  # iterations: so few make no vectors worth the while
STRIP = 256  # iterations: what is set aside stays in the first cache
EACH = 12  # additions that an iteration has to do for each array of strips but the first, so that vectors are worth it


def set_aside(function: Function) -> Function:
    return replace(function, body=_Aside(function).outermost(function.body))


class _Aside:
    def __init__(self, function: Function) -> None:
        self.names, self.rows = function.info.names, Rows(function)
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
            if isinstance(stmt, For) and may_be(stmt):
                out.append(self.by_strips(stmt))
            elif isinstance(stmt, Parallel):  # each piece has memory of its own
                out.append(self.inside(stmt))
            else:
                out.append(with_blocks(stmt, tuple(map(self.block, blocks(stmt)))) if blocks(stmt) else stmt)
        return tuple(out)

    def by_strips(self, loop: For) -> For:
        rows = [row for row in self.rows.of(loop) if _is_far(row)] if _is_long(loop) and _is_along_rows(loop) else []
        strips = sum(len(_aside(row)) for row in rows)
        if not strips or _work(loop) < EACH * (strips - 1):
            return loop
        first, last = (Var(self.names.fresh(name), INT64) for name in ("first", "last"))
        behind: list[Stmt] = []
        inner = loop
        for row in rows:
            for ahead in _aside(row):
                aside = self.strip_of(row[ahead][0])
                inner, value = at_the_end(inner, row[ahead], self.names, "ahead")
                at = (affine.sub(loop.index, first),)
                inner = replace(inner, body=(*inner.body, Store(aside, at, value, checked=False)))
                add = AddTo(row[ahead][0], Load(aside, at, checked=False), reorder=True)
                behind.append(replace(loop, start=first, stop=last, body=(add,)))
        length = affine.integer(STRIP)
        end = Assign(last, affine.minimum(affine.add(first, length), loop.stop))
        strip = (end, replace(inner, start=first, stop=last), *behind)
        return For(first, loop.start, loop.stop, length, strip, span=loop.span)

    def strip_of(self, place: Load) -> Array:
        """Memory for what the iterations of a strip add to an element."""
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
