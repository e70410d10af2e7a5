"""Sums in the user's order, four iterations of the loop around them at a time.

    for i in range(n):                       for i in range(0, n // 4 * 4, 4):
        s = 0.0                                  s, s_1, s_2, s_3 = 0.0, 0.0, 0.0, 0.0
        for j in range(m):            →          for j in range(m):
            s += a[i, j] * x[j]                      s += a[i, j] * x[j]; s_1 += a[i + 1, j] * x[j]; …
        y[i] = s                                 y[i], y[i + 1], y[i + 2], y[i + 3] = s, s_1, s_2, s_3
                                             for i in range(n // 4 * 4, n): …

An addition waits for the one before, and nothing may be reordered: the processor has nothing else to do meanwhile.
With four sums it has, and what is the same for all is read once.  Each sum is taken as it was, to the last bit.
(Compilers call this unroll and jam; LLVM does not know that the iterations are independent.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir import affine
from ..ir.expressions import INT64, Call, Const, Expr, Var, integer
from ..ir.nodes import AddTo, Assign, Block, Comment, For, Stmt, Store
from ..ir.walk import expressions, loads, map_expressions, rewrite, statements, substitute, variables
from .effects import Effects, effects, is_private, runs_along
from .lengths import trips
from .sharing import Sharing

TOGETHER = 4  # an addition takes three or four cycles


def jammed(loop: For, later: tuple[Block, ...], sharing: Sharing, names: Any) -> Block | None:
    """The loop with its iterations together; None where they are not independent, or nothing waits.

    `later` is what runs after the loop: the rest of the blocks around it, innermost first.
    """
    if not _waits(loop) or not _is_simple(loop):
        return None
    inside = effects(loop.body)
    if inside.sums or not sharing.scalars_are_apart(loop, inside, later) or not _are_apart(loop, inside, sharing):
        return None
    first = Var(names.fresh("first"), INT64)
    count = trips(loop)
    if not affine.is_at_least(count, 0):
        count = affine.maximum(count, affine.ZERO)
    whole = affine.mul(integer(TOGETHER), affine.floordiv(count, TOGETHER))
    indices = {stmt.index for stmt in statements(loop.body) if isinstance(stmt, For)}
    own = sorted(inside.writes - indices, key=lambda var: var.name)
    copies: list[dict[Expr, Expr]] = [{}]
    for k in range(1, TOGETHER):
        renamed: dict[Expr, Expr] = {var: Var(names.fresh(var.name), var.dtype) for var in own}
        copies.append(renamed | {loop.index: affine.add(loop.index, integer(k))})
    together = replace(loop, stop=first, step=integer(TOGETHER), body=_together(loop.body, copies))
    return Assign(first, affine.add(loop.start, whole)), together, replace(loop, start=first)


def _waits(loop: For) -> bool:
    """Is there an inner loop, without others in it, in which a number is made of itself, in the user's order?"""
    for inner in statements(loop.body):
        if isinstance(inner, For) and not any(isinstance(stmt, For) for stmt in inner.body):
            made = effects(inner.body).writes - {inner.index}
            ours = {stmt.target for stmt in inner.body if isinstance(stmt, AddTo) and stmt.reorder}
            if any(v.dtype.kind in "fc" and v not in ours and not is_private(v, inner.body) for v in made):
                return True
    return False


def _is_simple(loop: For) -> bool:
    """Numbers, elements that are inside their arrays, and inner loops that run alike in all iterations."""
    inside = tuple(statements(loop.body))
    count = trips(loop)
    changed = effects(loop.body).writes | {loop.index}
    ends = [end for stmt in inside if isinstance(stmt, For) for end in (stmt.start, stmt.stop, stmt.step)]
    return (
        not loop.ordered
        and loop.step == affine.ONE
        and not (isinstance(count, Const) and count.value < 2 * TOGETHER)
        and all(isinstance(stmt, (AddTo, Assign, Comment, For, Store)) for stmt in inside)
        and not any(isinstance(stmt, For) and stmt.vector for stmt in inside)
        and not any(variables(end) & changed or loads(end) for end in ends)
        and not any(loads(end) or variables(end) & changed for end in (loop.start, loop.stop))
        and not any(stmt.checked for stmt in inside if isinstance(stmt, Store))
        and not any(load.checked for stmt in inside for expr in expressions(stmt) for load in loads(expr))
        and not any(stmt.target.checked for stmt in inside if isinstance(stmt, AddTo) and loads(stmt.target))  # type: ignore[union-attr]
    )


def _are_apart(loop: For, inside: Effects, sharing: Sharing) -> bool:
    """Does each iteration, which is independent of the others, write to elements of its own, and add in one place?"""
    for accesses in sharing.by_root(inside).values():
        writes = [a for a in accesses if a.writes]
        places = {a.index for a in accesses}
        if any(a.adds for a in writes) and len(places) > 1:
            return False
        if not all(any(part and runs_along(part, loop.index, inside.writes) for part in a.index) for a in writes):
            return False
    return True


def _together(block: Block, copies: list[dict[Expr, Expr]]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, For):
            out.append(replace(stmt, body=_together(stmt.body, copies)))
        elif isinstance(stmt, Comment):
            out.append(stmt)
        else:
            out += (_renamed(stmt, copy) for copy in copies)
    return tuple(out)


def _renamed(stmt: Stmt, names: dict[Expr, Expr]) -> Stmt:
    return map_expressions(stmt, lambda expr: rewrite(substitute(expr, names), _folded))


def _folded(node: Expr) -> Expr:
    return affine.normal(node) if isinstance(node, Call) else node


__all__ = ["jammed"]
