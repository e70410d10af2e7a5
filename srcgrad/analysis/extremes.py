"""Loops that find the greatest or the least of some numbers, or whether any or all are true, and do nothing else.

    for i in range(n):
        t = abs(x[i])
        top = maximum(top, t)
        bottom = minimum(bottom, t)

Nobody sees the order of their iterations: what has been seen before changes nothing when it is seen again.
"""

from __future__ import annotations

from ..ir.expressions import Call, Expr, Var, is_inexact
from ..ir.nodes import Assign, Block, Comment, For
from ..ir.walk import variables
from .lives import is_private

PYTHONS = ("max", "min")  # of a nan and a number the first
IDEMPOTENT = ("maximum", "minimum", "or", "and", *PYTHONS)  # however often, and in whatever order

NEUTRAL = {"add": 0, "mul": 1}  # what changes nothing, where each part counts once

Extremes = tuple[tuple[Var, str], ...]  # numbers, each with the primitive that finds it


def extremes_of(loop: For, products: bool = False) -> Extremes:
    """The numbers that a loop finds, if beside that it does nothing but give names to numbers of an iteration.

    (`max(best, x)` leaves out what is nan, wherever that is; `max(x, best)` does not.)  `products`: or multiplies, of
    integers, which come out the same in any order, but each factor counts.
    """
    found: dict[Var, str] = {}
    read: set[Var] = set()
    names: set[Var] = set()
    for stmt in without_comments(loop.body):
        if not isinstance(stmt, Assign):
            return ()
        update = _update(stmt, (*IDEMPOTENT, "mul") if products else IDEMPOTENT)
        if update is None:
            names.add(stmt.var)
            read |= variables(stmt.value)
        elif stmt.var in found:
            return ()
        else:
            op, other = update
            found[stmt.var] = op
            read |= variables(other)
    if read & found.keys() or names & found.keys() or not all(is_private(name, loop.body) for name in names):
        return ()
    return tuple(found.items())


def extremes_of_nest(loop: For) -> Extremes:
    """The same of loops right within each other."""
    return extremes_of(nest(loop)[-1])


def nest(loop: For) -> tuple[For, ...]:
    """A loop, and those that are all that there is in the one around them."""
    inside = without_comments(loop.body)
    return (loop, *nest(inside[0])) if len(inside) == 1 and isinstance(inside[0], For) else (loop,)


def _update(stmt: Assign, ops: tuple[str, ...]) -> tuple[str, Expr] | None:
    """How a number becomes the greater or the less one of what it was and of something else."""
    match stmt:
        case Assign(var=var, value=Call(op=op, args=(x, y)) as value) if op in ops and var in (x, y):
            if op == "mul" and is_inexact(var.dtype):
                return None
            other = y if x == var else x
            loses_order = x != var and op in PYTHONS and is_inexact(y.dtype)
            if not loses_order and var not in variables(other) and value.dtype == other.dtype == var.dtype:
                return op, other
    return None


def numbers_of(loop: For) -> set[Var]:
    """What an iteration of such a loop has for itself."""
    found = dict(extremes_of(loop, products=True))
    return {loop.index, *(s.var for s in loop.body if isinstance(s, Assign) and s.var not in found)}


def without_comments(block: Block) -> Block:
    return tuple(s for s in block if not isinstance(s, Comment))


__all__ = [
    "NEUTRAL",
    "PYTHONS",
    "Extremes",
    "extremes_of",
    "extremes_of_nest",
    "nest",
    "numbers_of",
    "without_comments",
]
