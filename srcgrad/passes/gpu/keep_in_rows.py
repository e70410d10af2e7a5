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

from ...ir import affine
from ...ir.expressions import Array, Expr, Load, Var
from ...ir.info import Info
from ...ir.nodes import (
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
from ...ir.walk import blocks, loads, statements, variables, with_blocks

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
        """How many iterations each loop has, where it goes up or down by one, over lengths known ahead of it."""
        found = tuple(map(_span, self.loops))
        inside = {loop.index for loop in self.loops}
        if any(span is None or variables(span[1]) & inside or loads(span[1]) for span in found):
            return None
        lengths = [span[1] for span in found if span is not None]
        return tuple(n if affine.is_at_least(n, 0) else affine.maximum(n, affine.ZERO) for n in lengths)

    @property
    def places(self) -> tuple[Expr, ...]:
        """Which of them an iteration is, counted upwards in either direction."""
        spans = [(loop.index, _span(loop)) for loop in self.loops]
        return tuple(affine.sub(index, span[0]) for index, span in spans if span is not None)

    def in_common(self, other: Nest) -> tuple[Nest, Nest]:
        """The outermost loops of both that go over the same range, known ahead of them, in either direction."""
        count = 0
        for ours, theirs in zip(map(_span, self.loops), map(_span, other.loops), strict=False):
            if ours is None or theirs is None or not all(map(affine.same, ours, theirs)):
                break
            if Nest(self.loops[: count + 1]).lengths is None:
                break
            count += 1
        return Nest(self.loops[:count]), Nest(other.loops[:count])

    def with_body(self, body: Block) -> For:
        whole = replace(self.loops[-1], body=body)
        for loop in reversed(self.loops[:-1]):
            whole = replace(loop, body=tuple(s if isinstance(s, Comment) else whole for s in loop.body))
        return whole


def _span(loop: For) -> tuple[Expr, Expr] | None:
    """The least index, and how many there are."""
    if affine.same(loop.step, affine.ONE):
        return loop.start, affine.sub(loop.stop, loop.start)
    if affine.same(loop.step, affine.integer(-1)):
        return affine.add(loop.stop, affine.ONE), affine.sub(loop.start, loop.stop)
    return None


def nests_of(function: Function) -> list[Nest]:
    """Of independent loops that are in no other independent one."""
    return [_nest(loop) for loop in _outermost(function.body)]


def keep_in_rows(function: Function) -> Function:
    nests = nests_of(function)
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
        made[id(push)] = Store(row, forward.places, push.value, checked=False, span=push.span)
        made[id(pop)] = Assign(pop.target, Load(row_then, back.places, checked=False), span=pop.span)
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


def _changed(block: Block, changes: Changes) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if id(stmt) in changes:
            ahead, body, behind = changes[id(stmt)]
            out += [*ahead, with_body(stmt, body), *behind]
        elif blocks(stmt):
            out.append(with_blocks(stmt, tuple(_changed(b, changes) for b in blocks(stmt))))
        else:
            out.append(stmt)
    return tuple(out)


def with_body(stmt: Stmt, body: Block) -> Stmt:
    """The nest with another innermost body."""
    assert isinstance(stmt, For)
    inside = [s for s in stmt.body if not isinstance(s, Comment)]
    if len(inside) == 1 and isinstance(inside[0], For) and not inside[0].ordered:
        return replace(stmt, body=tuple(s if isinstance(s, Comment) else with_body(s, body) for s in stmt.body))
    return replace(stmt, body=body)


__all__ = ["Nest", "keep_in_rows", "nests_of", "with_body"]
