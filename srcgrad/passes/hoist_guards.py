"""A check that comes out the same in every iteration is made once, ahead of the loop.

for i in range(n):                        if n > 0 and k == 0: raise …
    if k == 0: raise …              →     for i in range(n):
    …                                         …

for _ in range(steps):                                      if steps > 0 and x.shape[0] != w.shape[0]:
    if x.shape[0] != w.shape[0]: raise BroadcastError           raise BroadcastError
    …                                                  →    if x.shape[0] != w.shape[0]: raise IdleLoopError
                                                            for _ in range(steps): …

The second error is for a loop that does not run: then other code is tried, which takes nothing for granted.  With the
first check alone the two are one length in the loop, and what stands around it (the states of two fields that meet in
it, and their cotangents) would still be of two lengths.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.effects import effects
from ..errors import place
from ..ir import affine
from ..ir.expressions import BOOL, NEVER_FAIL, Call, Expr, both
from ..ir.nodes import Block, For, Function, If, Invoke, Print, Raise, Stmt
from ..ir.walk import blocks, loads, statements, subexpressions, variables, with_blocks

DIFFER = "lengths {} and {} differ ahead of a loop that does not run"


def hoist_guards(function: Function) -> Function:
    body = _block(function.body)
    return replace(function, body=_with_idle_loops(body) if function.info.lengths_for_granted else body)


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


def _with_idle_loops(block: Block) -> Block:
    """Behind a comparison for a loop that may not run, the same for one that does not.

    At the top level alone: in a loop, iterations before it would run a second time.
    """
    out: list[Stmt] = []
    printed = False
    for stmt in block:
        out.append(stmt)
        printed |= any(isinstance(s, (Print, Invoke)) for s in statements((stmt,)))
        match stmt:
            case If(condition=Call(op="and") as condition, then=(Raise(error="BroadcastError") as problem,), orelse=()):
                differ = _last_of(condition)
                parts = (part for expr in (differ, *problem.values) for part in subexpressions(expr))
                never_fails = all(part.op in NEVER_FAIL for part in parts if isinstance(part, Call))
                if never_fails and isinstance(differ, Call) and differ.op == "ne" and not printed:
                    out.append(replace(stmt, condition=differ, then=(_idle(stmt, differ.args),)))
    return tuple(out)


def _idle(guard: Stmt, lengths: tuple[Expr, ...]) -> Raise:
    return Raise("IdleLoopError", DIFFER + place(guard.span), lengths)


def _last_of(condition: Expr) -> Expr:
    while isinstance(condition, Call) and condition.op == "and":
        condition = condition.args[-1]
    return condition


__all__ = ["hoist_guards"]
