"""What an iteration of an independent loop keeps, as much as it turns out to need, has a column of an array.

    for t in range(steps):                       for t in range(steps):
        for i in range(n):                           columns, tops = empty(room, n), empty(n)
            while abs(y) > 0.5:                      for i in range(n):
                push y on kept                           top = 0
                y = …                                    while abs(y) > 0.5:
                                       →                     columns[top, i] = y
                                                             top += 1
                                                             y = …
                                                         tops[i] = top
                                                     push columns on kept, tops on kept_tops
    for t in …:                                  for t in …:
        for i in range(n - 1, -1, -1):               tops_then, columns_then = pop kept_tops, pop kept
            for _ in …:                              for i in range(n - 1, -1, -1):
                y = pop kept                             top = tops_then[i]
                …                                        for _ in …:
                                                             top -= 1
                                                             y = columns_then[top, i]

Where one kernel does both, each thread has a stack of its own, and nothing has to be done.  Neighbouring threads are
neighbours in memory.  Where there is not enough room, that is an error (`MoreRows`), and the call is made again.
Columns have the axes that both nests begin with; loops further inside go in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Load, Var
from ...ir.info import Info
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    For,
    Function,
    If,
    NewStack,
    Pop,
    Push,
    Raise,
    Room,
    Seal,
    Stack,
    Stmt,
    Store,
    Unseal,
    While,
)
from ...ir.walk import blocks, numbers_set, rewrite_block, statements, with_blocks
from .keep_in_rows import Nest, nests_of


@dataclass
class _Columns:
    """What becomes of one stack."""

    stack: Stack
    tops: Stack
    columns: Array
    counts: Array
    columns_then: Array
    counts_then: Array
    room: Var
    forward: Nest
    back: Nest
    now: Var = field(init=False)
    then: Var = field(init=False)


def keep_by_threads(function: Function) -> Function:
    nests = nests_of(function)
    found = [
        made
        for stmt in statements(function.body)
        if isinstance(stmt, NewStack) and (made := _columns(stmt.stack, function, nests)) is not None
    ]
    for each in found:
        function = replace(function, body=_changed(function.body, each))
        if each is not found[-1]:  # the loops of the next one may be among those that were changed
            return keep_by_threads(function)
    return function


def _columns(stack: Stack, function: Function, nests: list[Nest]) -> _Columns | None:
    uses = [s for s in statements(function.body) if getattr(s, "stack", None) == stack and not isinstance(s, NewStack)]
    pushes, pops = [s for s in uses if isinstance(s, Push)], [s for s in uses if isinstance(s, Pop)]
    if any(isinstance(s, (Seal, Unseal)) for s in uses) or any(isinstance(s.value, Array) for s in pushes):
        return None
    forward, back = _around(pushes, nests), _around(pops, nests)
    if forward is None or back is None or forward is back:
        return None
    if _loops_around(forward, function.body) != _loops_around(back, function.body):
        return None
    forward, back = forward.in_common(back)
    dims, then = forward.lengths, back.lengths
    if not dims or then is None:
        return None
    info: Info = function.info
    fresh = info.names.fresh
    tops = Stack(fresh(f"{stack.name}_tops"), fresh(f"{stack.name}_tops_top"), INT64)
    room = Var(fresh("room"), INT64)
    columns = Array(fresh(f"{stack.name}_columns"), stack.dtype, (room, *dims))
    counts = Array(fresh(f"{stack.name}_counts"), INT64, dims)
    columns_then = Array(fresh(f"{columns.name}_then"), stack.dtype, (Dim(columns.name, 0), *then))
    counts_then = Array(fresh(f"{counts.name}_then"), INT64, then)
    made = _Columns(stack, tops, columns, counts, columns_then, counts_then, room, forward, back)
    made.now, made.then = Var(fresh(f"{stack.name}_now"), INT64), Var(fresh(f"{stack.name}_left"), INT64)
    return made


def _around(uses: Sequence[Stmt], nests: list[Nest]) -> Nest | None:
    """The nest in which all of these are, wherever in an iteration."""
    wanted = {id(s) for s in uses}
    found = [nest for nest in nests if wanted and wanted <= {id(s) for s in statements(nest.body)}]
    return found[0] if found else None


def _loops_around(nest: Nest, block: Block) -> int:
    """How many loops are around a nest: each iteration of the innermost of them keeps columns of its own."""
    loops = [stmt for stmt in statements(block) if isinstance(stmt, (For, While))]
    return sum(any(stmt is nest.loops[0] for stmt in statements(loop.body)) for loop in loops)


def _changed(block: Block, made: _Columns) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, NewStack) and stmt.stack == made.stack:
            out += [stmt, NewStack(made.tops), Room(made.room)]
        elif stmt is made.forward.loops[0]:
            out += [
                Alloc(made.columns, made.columns.dims),
                Alloc(made.counts, made.counts.dims),
                made.forward.with_body(_forward(made)),
                Push(made.stack, made.columns),
                Push(made.tops, made.counts),
            ]
        elif stmt is made.back.loops[0]:
            lengths = made.back.lengths
            assert lengths is not None
            out += [
                Pop(made.counts_then, made.tops, lengths),
                Pop(made.columns_then, made.stack, (made.room, *lengths)),
                made.back.with_body(_back(made)),
            ]
        elif blocks(stmt):
            out.append(with_blocks(stmt, tuple(_changed(b, made) for b in blocks(stmt))))
        else:
            out.append(stmt)
    return tuple(out)


def _forward(made: _Columns) -> Block:
    top, index = made.now, made.forward.places

    def change(stmt: Stmt) -> Block:
        if not (isinstance(stmt, Push) and stmt.stack == made.stack):
            return (stmt,)
        assert isinstance(stmt.value, Expr)
        is_full = Call("ge", (top, made.room), BOOL)
        full = Raise("MoreRows", "", (affine.add(top, affine.ONE),), span=stmt.span)
        return (
            If(is_full, (full,)),
            Store(made.columns, (top, *index), stmt.value, checked=False, span=stmt.span),
            AddTo(top, affine.ONE),
        )

    body = _in_order(rewrite_block(made.forward.body, change), top)
    return (Assign(top, Const(0, INT64)), *body, Store(made.counts, index, top, checked=False))


def _back(made: _Columns) -> Block:
    top, index = made.then, made.back.places

    def change(stmt: Stmt) -> Block:
        if not (isinstance(stmt, Pop) and stmt.stack == made.stack):
            return (stmt,)
        assert isinstance(stmt.target, Var)
        held = Load(made.columns_then, (top, *index), checked=False)
        return (AddTo(top, affine.integer(-1)), Assign(stmt.target, held, span=stmt.span))

    body = _in_order(rewrite_block(made.back.body, change), top)
    return (Assign(top, Load(made.counts_then, index, checked=False)), *body)


def _in_order(block: Block, top: Var) -> Block:
    """Loops in a thread that go by what the iterations ahead have kept."""

    def ordered(stmt: Stmt) -> Block:
        goes_by_it = isinstance(stmt, For) and top in numbers_set(stmt.body)
        return (replace(stmt, ordered=True) if goes_by_it else stmt,)  # type: ignore[call-arg]

    return rewrite_block(block, ordered)


__all__ = ["keep_by_threads"]
