"""Inner loops that may be short have a version that fills its last vector register partly.

    for i in range(n):                            for i in range(n):
        for j in range(m):                  →         # the same loop twice: …
            y[i, j] = x[i, j] ** p[i]                 if m < 16:
                                                          for j in range(m): …     (lanes behind the end are masked)
                                                      else:
                                                          for j in range(m): …

LLVM takes what does not fill a register one by one: of rows of five that is everything, and a power or a sine costs ten
times as much then (an exponential does not, where it is all that there is).  With masks a long loop is slower by a
fifth, and much slower where it writes more than a cache holds: so there are both, for loops in other loops.  Strips of
rows, and what else was made long enough, have lengths that change on the way or are products, and stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.lengths import Lengths, lengths_of, steps_by_one, trips
from ...ir.expressions import Call, Const, Load, Var, compare, integer
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store, While
from ...ir.walk import blocks, statements, variables, with_blocks
from ...rules.costs import dear_calls

LONG = 16  # iterations: of so many, what does not fill a register is little
LANES = 8  # of the widest registers; of more of them in narrower ones


def masked_rows(function: Function) -> Function:
    return replace(function, body=_block(function.body, lengths_of(function), False))


def _block(block: Block, lengths: Lengths, is_inside: bool) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, For) and is_inside and _is_dear(stmt) and lengths.is_known_ahead(trips(stmt)):
            out += _versions(stmt)
            continue
        if blocks(stmt):
            inside = is_inside or isinstance(stmt, (For, While))
            stmt = with_blocks(stmt, tuple(_block(part, lengths, inside) for part in blocks(stmt)))
        out.append(stmt)
    return tuple(out)


def _is_dear(loop: For) -> bool:
    """Is it one along rows that vectorises, over what takes vectors to be fast?"""
    body = tuple(statements(loop.body))
    simple = all(isinstance(s, (AddTo, Assign, Comment, If, Store)) for s in body)
    in_any_order = all(s.reorder for s in body if isinstance(s, AddTo) and isinstance(s.target, Var))
    written = [s for s in body if isinstance(s, Store) or (isinstance(s, AddTo) and isinstance(s.target, Load))]
    places = [s.index if isinstance(s, Store) else s.target.index for s in written]  # type: ignore[union-attr]
    along_rows = all(loop.index not in variables(part) for place in places for part in place[:-1])
    if (
        loop.ordered
        or loop.vector
        or loop.few
        or not steps_by_one(loop)
        or not (simple and in_any_order and along_rows)
    ):
        return False
    dear = [call.op for stmt in body for call in dear_calls(stmt)]
    return dear not in ([], ["exp"], ["exp2"])


def _versions(loop: For) -> Block:
    runs = trips(loop)
    if isinstance(runs, Const):
        return (replace(loop, masked=runs.value < LONG and bool(runs.value % LANES)),)
    if isinstance(runs, Call) and runs.op == "mul":
        return (loop,)
    both = If(compare("lt", runs, integer(LONG)), (replace(loop, masked=True),), (loop,), span=loop.span)
    return Comment("the same loop twice: a short one is compiled for vector registers that it fills partly"), both


__all__ = ["masked_rows"]
