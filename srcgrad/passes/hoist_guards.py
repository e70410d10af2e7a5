"""A check that comes out the same in every iteration is made once, ahead of the loop.

for i in range(n):                        if n > 0 and k == 0: raise …
    if k == 0: raise …              →     for i in range(n):
    …                                         …
"""

from __future__ import annotations

from dataclasses import replace

from ..ir import affine
from ..ir.expressions import BOOL, Call, both
from ..ir.nodes import Block, For, Function, If, Invoke, Print, Raise, Stmt
from ..ir.walk import blocks, loads, statements, variables, with_blocks
from .effects import effects


def hoist_guards(function: Function) -> Function:
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if blocks(stmt):
            stmt = with_blocks(stmt, tuple(_block(b) for b in blocks(stmt)))
        if isinstance(stmt, For):
            out += _split(stmt)
        else:
            out.append(stmt)
    return tuple(out)


def _split(loop: For) -> list[Stmt]:
    changed = effects((loop,)).writes
    seen_before = False  # something that prints or raises for another reason: that must come first
    ahead: list[Stmt] = []
    body: list[Stmt] = []
    for stmt in loop.body:
        if _is_guard(stmt) and not seen_before and not (variables(stmt.condition) & changed or loads(stmt.condition)):  # type: ignore[attr-defined]
            ends = (loop.start, loop.stop) if affine.same(loop.step, affine.integer(-1)) else (loop.stop, loop.start)
            if not affine.is_at_least(affine.sub(*ends), 1):
                runs = Call("gt", ends, BOOL)
                stmt = replace(stmt, condition=both(runs, stmt.condition))  # type: ignore[call-arg, attr-defined]
            ahead.append(stmt)
            continue
        seen_before |= any(isinstance(s, (Raise, Print, Invoke)) for s in statements((stmt,)))
        body.append(stmt)
    if not ahead or not (affine.same(loop.step, affine.ONE) or affine.same(loop.step, affine.integer(-1))):
        return [loop]
    return [*ahead, replace(loop, body=tuple(body))]


def _is_guard(stmt: Stmt) -> bool:
    return isinstance(stmt, If) and len(stmt.then) == 1 and isinstance(stmt.then[0], Raise) and not stmt.orelse


__all__ = ["hoist_guards"]
