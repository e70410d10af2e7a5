"""What the iterations of an independent loop keep on one stack is kept in an array, and the array on the stack.

    while s < 4.0:                               while s < 4.0:
        for i in range(n):                           row = empty(n)
            t = sin(x[i])                            for i in range(n):
            push t on kept                               t = sin(x[i])
                                                         row[i] = t
                                       →             push row on kept
    while …:                                     while …:
        for i in range(n - 1, -1, -1):               row_then = pop kept
            t = pop kept                             for i in range(n - 1, -1, -1):
            x_b[i] += t * …                              t = row_then[i]
                                                         x_b[i] += t * …

One stack has one end: what is pushed by iterations at one time would come back in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.expressions import Array, Expr, Load, Var
from ..ir.nodes import (
    Alloc,
    Assign,
    Block,
    Comment,
    For,
    Function,
    NewStack,
    Pop,
    Push,
    Seal,
    Stack,
    Stmt,
    Store,
    Unseal,
)
from ..ir.walk import blocks, loads, statements, variables, with_blocks
from .info import Info

Changes = dict[int, tuple[Block, Block, Block]]  # by the outermost loop: ahead of it, its body, behind it


@dataclass(frozen=True)
class Nest:
    """Independent loops right within each other."""

    loops: tuple[For, ...]

    @property
    def body(self) -> Block:
        return self.loops[-1].body

    @property
    def lengths(self) -> tuple[Expr, ...] | None:
        """Where the loops run over range(n), up or down: the n of each."""
        found = tuple(map(_length, self.loops))
        inside = {loop.index for loop in self.loops}
        if any(n is None or variables(n) & inside or loads(n) for n in found):
            return None
        return tuple(n if affine.is_at_least(n, 0) else affine.maximum(n, affine.ZERO) for n in found if n is not None)


def _length(loop: For) -> Expr | None:
    if affine.same(loop.start, affine.ZERO) and affine.same(loop.step, affine.ONE):
        return loop.stop
    down = affine.same(loop.step, affine.integer(-1)) and affine.same(loop.stop, affine.integer(-1))
    return affine.add(loop.start, affine.ONE) if down else None


def keep_in_rows(function: Function) -> Function:
    nests = [_nest(loop) for loop in _outermost(function.body)]
    changes: Changes = {}
    for stmt in statements(function.body):
        if isinstance(stmt, NewStack):
            _change(stmt.stack, function, nests, changes)
    if not changes:
        return function
    return replace(function, body=_changed(function.body, changes))


def _outermost(block: Block) -> list[For]:
    out: list[For] = []
    for stmt in block:
        if isinstance(stmt, For) and not stmt.ordered:
            out.append(stmt)
        else:
            for inner in blocks(stmt):
                out += _outermost(inner)
    return out


def _nest(loop: For) -> Nest:
    loops = [loop]
    while True:
        inside = [s for s in loops[-1].body if not isinstance(s, Comment)]
        if len(inside) != 1 or not isinstance(inside[0], For) or inside[0].ordered:
            return Nest(tuple(loops))
        loops.append(inside[0])


def _change(stack: Stack, function: Function, nests: list[Nest], changes: Changes) -> None:
    uses = [s for s in statements(function.body) if getattr(s, "stack", None) == stack and not isinstance(s, NewStack)]
    pushes, pops = [s for s in uses if isinstance(s, Push)], [s for s in uses if isinstance(s, Pop)]
    sealed = any(isinstance(s, (Seal, Unseal)) for s in uses)
    forward, back = _around(pushes, nests), _around(pops, nests)
    if sealed or forward is None or back is None or forward is back or len(pushes) != len(pops):
        return
    if any(isinstance(s.value, Array) for s in pushes) or len(forward.loops) != len(back.loops):
        return
    dims, then = forward.lengths, back.lengths
    if dims is None or then is None:  # (they are as long, if in other words: one mirrors the other)
        return
    info: Info = function.info
    made: dict[int, Stmt] = {}
    ahead: list[Stmt] = []
    behind: list[Stmt] = []
    ahead_of_back: list[Stmt] = []
    for push, pop in zip(pushes, reversed(pops), strict=True):  # the last that was pushed is popped first
        row = Array(info.names.fresh(f"{stack.name}_row"), stack.dtype, dims)
        row_then = Array(info.names.fresh(f"{row.name}_then"), stack.dtype, then)
        assert isinstance(push.value, Expr) and isinstance(pop.target, Var)
        made[id(push)] = Store(row, _indices(forward), push.value, checked=False, span=push.span)
        made[id(pop)] = Assign(pop.target, Load(row_then, _indices(back), checked=False), span=pop.span)
        ahead.append(Alloc(row, dims))
        behind.append(Push(stack, row))
        ahead_of_back.insert(0, Pop(row_then, stack, then))
    _note(changes, forward, ahead, made, behind)
    _note(changes, back, ahead_of_back, made, [])


def _note(changes: Changes, nest: Nest, ahead: list[Stmt], made: dict[int, Stmt], behind: list[Stmt]) -> None:
    key = id(nest.loops[0])
    before, body, after = changes.get(key, ((), nest.body, ()))
    body = tuple(made.get(id(s), s) for s in body)
    changes[key] = (*before, *ahead), body, (*after, *behind)


def _around(uses: Sequence[Stmt], nests: list[Nest]) -> Nest | None:
    """The nest all of whose iterations do these, one after the other."""
    wanted = {id(s) for s in uses}
    found = [nest for nest in nests if wanted and wanted <= {id(s) for s in nest.body}]
    return found[0] if found else None


def _indices(nest: Nest) -> tuple[Expr, ...]:
    return tuple(loop.index for loop in nest.loops)


def _changed(block: Block, changes: Changes) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if id(stmt) in changes:
            ahead, body, behind = changes[id(stmt)]
            out += [*ahead, _with_body(stmt, body), *behind]
        elif blocks(stmt):
            out.append(with_blocks(stmt, tuple(_changed(b, changes) for b in blocks(stmt))))
        else:
            out.append(stmt)
    return tuple(out)


def _with_body(stmt: Stmt, body: Block) -> Stmt:
    """The nest with another innermost body."""
    assert isinstance(stmt, For)
    inside = [s for s in stmt.body if not isinstance(s, Comment)]
    if len(inside) == 1 and isinstance(inside[0], For) and not inside[0].ordered:
        return replace(stmt, body=tuple(s if isinstance(s, Comment) else _with_body(s, body) for s in stmt.body))
    return replace(stmt, body=body)


__all__ = ["keep_in_rows"]
