"""A long sum of float32 numbers is added up in parts: float32 within one, float64 of the parts.

    s = 0f                                 wide = 0.0
    for i in range(n):                     for strip in range((n + 4095) // 4096):
        s += x[i]                  →           first = strip * 4096
                                               part = 0f
                                               for i in range(first, min(first + 4096, n)): part += x[i]
                                               wide += part
                                           s += float32(wide)

NumPy adds up in pairs to the same end: one number to which millions are added has three digits left.  This is done to
sums that are ours alone: whoever writes `s += x[i]` means that.  Of loops in one another, each run of an inner one is a
part.  A sum that an outer loop begins anew in every iteration stays as it is: those of short rows would pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from ...ir import affine
from ...ir.expressions import FLOAT32, FLOAT64, INT64, Call, Const, Expr, Var
from ...ir.nodes import AddTo, Assign, Block, For, Function, Stmt, While
from ...ir.walk import blocks, expressions, rewrite_block, statements, targets, variables, with_blocks

LONG = affine.integer(4096)


def sums_in_parts(function: Function) -> Function:
    job = _Parts(function)
    return replace(function, body=job.block(function.body))


class _Parts:
    def __init__(self, function: Function) -> None:
        self.names = function.info.names

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For):
                sums = _sums_of(stmt)
                out += self.in_parts(stmt, sums) if sums else (stmt,)
            elif isinstance(stmt, While):
                out.append(stmt)
            else:
                inner = tuple(map(self.block, blocks(stmt)))
                out.append(with_blocks(stmt, inner) if inner else stmt)
        return tuple(out)

    def in_parts(self, loop: For, sums: tuple[Var, ...]) -> list[Stmt]:
        wide = {var: Var(self.names.fresh("wide"), FLOAT64) for var in sums}
        ahead = [Assign(var, Const(0.0, FLOAT64)) for var in wide.values()]
        behind = [AddTo(var, _cast(total, var.dtype), True) for var, total in wide.items()]
        made = self.strips(loop, wide) if _is_innermost(loop) else with_blocks(loop, (self.rows(loop.body, wide),))
        return [*ahead, made, *behind]

    def rows(self, body: Block, wide: dict[Var, Var]) -> Block:
        """The body of an outer loop: each inner loop is a part."""
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, AddTo) and stmt.target in wide:
                out.append(replace(stmt, target=wide[stmt.target], value=_cast(stmt.value, FLOAT64)))
            elif isinstance(stmt, For) and _is_innermost(stmt):
                out += self.part(stmt, wide)
            else:
                inner = tuple(self.rows(part, wide) for part in blocks(stmt))
                out.append(with_blocks(stmt, inner) if inner else stmt)
        return tuple(out)

    def part(self, loop: For, wide: dict[Var, Var]) -> list[Stmt]:
        """The loop, with sums of its own, which are added to the wide ones."""
        added = {stmt.target for stmt in statements(loop.body) if isinstance(stmt, AddTo)}
        own = {var: Var(self.names.fresh("part"), FLOAT32) for var in wide if var in added}
        ahead = [Assign(var, Const(0.0, FLOAT32)) for var in own.values()]
        behind = [AddTo(wide[var], _cast(part, FLOAT64), True) for var, part in own.items()]
        return [*ahead, replace(loop, body=_into(loop.body, own)), *behind]

    def strips(self, loop: For, wide: dict[Var, Var]) -> For:
        strip, first, last = (Var(self.names.fresh(name), INT64) for name in ("strip", "first", "last"))
        count = affine.sub(loop.stop, loop.start)
        strips = Call("floordiv", (affine.sub(affine.add(count, LONG), affine.ONE), LONG), INT64)
        body = (
            Assign(first, affine.add(loop.start, affine.mul(strip, LONG))),
            Assign(last, affine.minimum(affine.add(first, LONG), loop.stop)),
            *self.part(replace(loop, start=first, stop=last), wide),
        )
        return For(strip, affine.ZERO, strips, affine.ONE, body, ordered=loop.ordered)


def _sums_of(loop: For) -> tuple[Var, ...]:
    """The float32 numbers to which a loop does nothing but add, in whatever order."""
    inside = statements(loop.body)
    count = affine.difference(loop.stop, loop.start)
    is_short = count is not None and count <= LONG.value and _is_innermost(loop)
    in_registers = any(isinstance(s, While) or (isinstance(s, For) and (s.vector or s.masked)) for s in (loop, *inside))
    if not affine.same(loop.step, affine.ONE) or loop.few or is_short or in_registers:
        return ()
    found = {stmt.target for stmt in inside if _is_ours(stmt) and isinstance(stmt.target, Var)}
    others = {var for stmt in inside if not _is_ours(stmt) for var in (*targets(stmt), *_read(stmt))}
    read = {var for stmt in inside if _is_ours(stmt) for var in variables(stmt.value)}
    return tuple(sorted(found - others - read, key=lambda var: var.name))


def _is_ours(stmt: Stmt) -> TypeGuard[AddTo]:
    return isinstance(stmt, AddTo) and isinstance(stmt.target, Var) and stmt.target.dtype == FLOAT32 and stmt.reorder


def _read(stmt: Stmt) -> Iterator[Var]:
    for expr in expressions(stmt):
        yield from variables(expr)


def _is_innermost(loop: For) -> bool:
    return not any(isinstance(stmt, For) for stmt in statements(loop.body))


def _into(body: Block, own: Mapping[Var, Var]) -> Block:
    """The body, adding to other numbers."""

    def elsewhere(stmt: Stmt) -> Block:
        is_one = isinstance(stmt, AddTo) and stmt.target in own
        return (replace(stmt, target=own[stmt.target]) if is_one else stmt,)  # type: ignore[attr-defined, call-arg]

    return rewrite_block(body, elsewhere)


def _cast(x: Expr, dtype: np.dtype) -> Expr:
    return Call("cast", (x,), dtype)


__all__ = ["sums_in_parts"]
