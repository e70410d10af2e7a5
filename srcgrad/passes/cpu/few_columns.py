"""Rows of two, three or four elements have loops of their own, which LLVM writes out: then there is no inner loop.

    for i in range(n):                            for i in range(n):
        for j in range(m):                            if m == 2:
            y[i, j] = x[i, j] * w[j]      →               for j in range(2): …
                                                      elif m == 3:
                                                          …
                                                      else:
                                                          for j in range(m): …

Into a loop of two elements and out of it takes longer than what it does.  The conditions are the same for all rows, so
LLVM makes a loop over rows for each outcome, and elements of several rows fill its vector registers.  Where something
dear is computed, `flatten_nests` and `masked_rows` know better; four rows at a time (`jam`) are fast as they are.  Each
of the nests takes a tenth of a second more to compile, so those inside of other loops, which are many, are left.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import effects
from ...analysis.lengths import steps_by_one, trips
from ...analysis.signs import Signs, signs_of
from ...ir import affine
from ...ir.expressions import Dim, compare, integer
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store, While
from ...ir.walk import blocks, loads, variables, with_blocks
from ...rules.costs import dear_calls

FEW = (2, 3, 4)  # elements
SMALL = 6  # statements: LLVM makes versions of small loops only
SIMPLE = (AddTo, Assign, Comment, Store)


def few_columns(function: Function) -> Function:
    return replace(function, body=_block(function.body, signs_of(function)))


def _block(block: Block, signs: Signs) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, For) and (row := _inner_loop(stmt)) and _is_of_columns(row, signs):
            stmt = replace(stmt, body=tuple(_versions(part) if part is row else part for part in stmt.body))
        elif blocks(stmt) and not isinstance(stmt, (For, While)):
            stmt = with_blocks(stmt, tuple(_block(part, signs) for part in blocks(stmt)))
        out.append(stmt)
    return tuple(out)


def _inner_loop(loop: For) -> For | None:
    """The only loop inside it, if that does little, and runs equally often for each row of many."""
    inner = [stmt for stmt in loop.body if isinstance(stmt, For)]
    if len(inner) != 1 or loop.few or not steps_by_one(loop):
        return None
    if not all(isinstance(stmt, (*SIMPLE, For)) for stmt in loop.body):
        return None
    (row,) = inner
    changed = effects(loop.body).writes | {loop.index}
    is_small = len(row.body) <= SMALL and all(isinstance(s, SIMPLE) and not dear_calls(s) for s in row.body)
    is_steady = not any(variables(end) & changed or loads(end) for end in (row.start, row.stop))
    return row if is_small and is_steady and affine.same(row.step, affine.ONE) and not row.vector else None


def _is_of_columns(row: For, signs: Signs) -> bool:
    """Does it run along an axis of an array that is not the first, and may well be short?"""
    length = trips(row)
    known = signs.lengths.get(length, length)  # type: ignore[call-overload]
    return isinstance(known, Dim) and known.axis > 0


def _versions(row: For) -> Stmt:
    out: Stmt = row
    for length in reversed(FEW):
        short = replace(row, stop=affine.add(row.start, integer(length)))
        out = If(compare("eq", trips(row), integer(length)), (short,), (out,), span=row.span)
    return out


__all__ = ["few_columns"]
