"""Stencils whose adjoint adds to neighbours along a row fetch instead, so that the loop along the row vectorises.

    for i in range(n - 2):                        for side in range(2):               the two ends, with a look at each
        g = y_b[i] * w                                for i in …: …
        u_b[i + 2] += g                           for i in range(2, n - 2):           and all between, without
        u_b[i] += 3.0 * g              →              total = 0.0
                                                      g = y_b[i - 2] * w
                                                      total += g
                                                      g = y_b[i] * w
                                                      total += 3.0 * g
                                                      u_b[i] += total

An element that is added to in one iteration and again in the next is passed through memory: that is as slow as a chain
of additions, one at a time.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.offsets import Offset, least_of, most_of
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Expr, Load, Var, all_of
from ...ir.nodes import Assign, Block, For, Function, Stmt
from ...ir.walk import expressions, loads, statements
from ..gather import Gathering, Nest, gathered

FEWEST = 4  # neighbours: what two or three add is passed on in registers
DEAREST = 8  # additions: what is added again for every neighbour must be cheaper than what is gained


def gather_rows(function: Function) -> Function:
    return gathered(function, DEAREST, _along_rows, ours_alone=True)


def _along_rows(nest: Nest, found: Gathering) -> Block:
    """The loops over the elements, where neighbours of one row meet."""
    if len(found.offsets) < FEWEST or not _meet_in_a_row(found.offsets):
        return ()
    if not all(map(_is_proved, statements(found.whole))):
        return ()
    row, low, high = nest.loops[-1], found.low[-1], found.high[-1]
    first, last = affine.add(row.start, most_of(found.offsets)[-1]), affine.add(row.stop, least_of(found.offsets)[-1])
    first = affine.minimum(first, high)  # no iteration may run at all
    last = affine.maximum(first, last)  # a short row is all ends
    ahead: list[Stmt] = []
    named: dict[Expr, Var] = {}

    def known(conditions: tuple[Expr | None, ...]) -> tuple[Expr | None, ...]:
        """Whether there are iterations in a row beside this one is asked once per row."""
        beside = all_of(conditions[:-1])
        if beside is None:
            return conditions[-1:]
        if beside not in named:
            named[beside] = Var(nest.names.fresh("beside"), BOOL)
            ahead.append(Assign(named[beside], beside))
        return (named[beside], conditions[-1])

    guarded = found.guarded(known)
    if named:  # a row at the border is one end
        is_whole = all_of(named.values())
        assert is_whole is not None
        name = row.index.name
        begin, end = (Var(nest.names.fresh(f"{name}_{what}"), INT64) for what in ("first", "last"))
        ahead += [Assign(begin, _select(is_whole, first, high)), Assign(end, _select(is_whole, last, high))]
        first, last = begin, end
    side = Var(nest.names.index("side", frozenset(loop.index.name for loop in nest.loops)), INT64)
    is_first = affine.equals(side, affine.ZERO)
    ends = replace(row, start=_select(is_first, low, last), stop=_select(is_first, first, high), body=guarded)
    both = For(side, affine.ZERO, affine.integer(2), affine.ONE, (ends,))
    middle = replace(row, start=first, stop=last, body=found.whole)
    body: Block = (*ahead, both, middle)
    for loop, start, stop in reversed(list(zip(nest.loops[:-1], found.low, found.high, strict=False))):
        body = (replace(loop, start=start, stop=stop, body=body),)
    return body


def _meet_in_a_row(offsets: tuple[Offset, ...]) -> bool:
    """Do two that add to one element differ in their place along the row alone?"""
    return any(x[:-1] == y[:-1] and x[-1] != y[-1] for x in offsets for y in offsets)


def _is_proved(stmt: Stmt) -> bool:
    return not any(load.checked for expr in expressions(stmt) for load in loads(expr) if isinstance(load, Load))


def _select(condition: Expr, x: Expr, y: Expr) -> Expr:
    return Call("select", (condition, x, y), INT64)


__all__ = ["gather_rows"]
