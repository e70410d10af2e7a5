"""Blocks that are left in the middle: a flag is set there, and what follows asks for it.

for i in range(n):            trip = 0
    s = s + x[i]              while trip < n and flag == 0:
    if s > 9: raise …    →        s = s + x[trip]
t = f(s)                          if s > 9: flag = 1
                              if flag == 0: t = f(s)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Expr, Var, both
from ...ir.nodes import Assign, Block, For, If, Stmt, While
from ...ir.walk import blocks, is_constant, statements, with_blocks

if TYPE_CHECKING:
    from ..builder import Builder

Leaves = Callable[
    [Stmt], Block
]  # what sets the flag in the place of a statement that leaves the block; nothing for others


def until_the_last(block: Block, leaves: Leaves) -> Block:
    """The statements as far as the last one that leaves the block."""
    last = max((k for k, stmt in enumerate(block) if _may_leave(stmt, leaves)), default=-1)
    if last < 0:
        return ()
    stmt = block[last]
    if isinstance(stmt, If):
        stmt = with_blocks(stmt, (until_the_last(stmt.then, leaves), until_the_last(stmt.orelse, leaves)))
    return (*block[:last], stmt)


def leaving(build: Builder, block: Block, leaves: Leaves, goes_on: Expr) -> Block:
    """The block as one that runs from its top to its end."""
    out: list[Stmt] = []
    for k, stmt in enumerate(block):
        if marks := leaves(stmt):
            return (*out, *marks)
        if not _may_leave(stmt, leaves):
            out.append(stmt)
            continue
        out.append(_inside(build, stmt, leaves, goes_on))
        rest = leaving(build, block[k + 1 :], leaves, goes_on)
        return (*out, If(goes_on, rest, span=stmt.span)) if rest else tuple(out)
    return tuple(out)


def _may_leave(stmt: Stmt, leaves: Leaves) -> bool:
    return any(leaves(inner) for inner in statements((stmt,)))


def _inside(build: Builder, stmt: Stmt, leaves: Leaves, goes_on: Expr) -> Stmt:
    match stmt:
        case If():
            return with_blocks(stmt, tuple(leaving(build, part, leaves, goes_on) for part in blocks(stmt)))
        case While(condition=condition, body=body):
            inner = leaving(build, body, leaves, goes_on)
            return While(stmt.trip, both(goes_on, condition), inner, span=stmt.span)
        case For():
            return _as_while(build, stmt, leaves, goes_on)
    build.span = stmt.span
    return build.refuse("an exception that is raised here can't be caught")


def _as_while(build: Builder, stmt: For, leaves: Leaves, goes_on: Expr) -> While:
    trip = Var(build.names.fresh("trip"), INT64)
    build.lower[trip] = 0
    if is_constant(stmt.step):
        inside: Expr = Call("lt" if affine.is_at_least(stmt.step, 0) else "gt", (_at(stmt, trip), stmt.stop), BOOL)
    else:
        less, more = (Call(op, (_at(stmt, trip), stmt.stop), BOOL) for op in ("lt", "gt"))
        inside = Call("select", (Call("gt", (stmt.step, affine.ZERO), BOOL), less, more), BOOL)
    body = (Assign(stmt.index, _at(stmt, trip), span=stmt.span), *leaving(build, stmt.body, leaves, goes_on))
    return While(trip, both(goes_on, inside), body, span=stmt.span)


def _at(stmt: For, trip: Var) -> Expr:
    return affine.add(stmt.start, affine.mul(stmt.step, trip))
