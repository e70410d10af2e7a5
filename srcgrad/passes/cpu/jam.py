"""Four iterations at a time of a loop around sums: those in the user's order, and those into rows that they share.

    for i in range(n):                       for i in range(0, n // 4 * 4, 4):
        s = 0.0                                  s, s_1, s_2, s_3 = 0.0, 0.0, 0.0, 0.0
        for j in range(m):            →          for j in range(m):
            s += a[i, j] * x[j]                      s += a[i, j] * x[j]; s_1 += a[i + 1, j] * x[j]; …
        y[i] = s                                 y[i], y[i + 1], y[i + 2], y[i + 3] = s, s_1, s_2, s_3
                                             for i in range(n // 4 * 4, n): …

An addition waits for the one before, and nothing may be reordered: the processor has nothing else to do meanwhile.
With four sums it has, and what is the same for all is read once.  Each sum is taken as it was, to the last bit.

    for i in range(n):                       for i in range(0, n // 4 * 4, 4):
        for k in range(m):            →          for k in range(m):
            w_b[k] += g[i] * x[i, k]                 w_b[k] += g[i] * x[i, k]; w_b[k] += g[i + 1] * x[i + 1, k]; …

A row into which all add is read and written once for four of them.  (Where each writes a row of its own too, of another
array, memory takes the time, and four long rows at a time are slower: then only short ones are.)

Compilers call this unroll and jam; LLVM does not know that the iterations are independent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...analysis.effects import Access, Effects, effects
from ...analysis.lengths import trips
from ...analysis.lives import is_private
from ...analysis.meetings import meet_in_one_iteration
from ...analysis.ranges import Ranges
from ...analysis.sharing import Sharing
from ...ir import affine
from ...ir.expressions import INT64, Call, Const, Expr, Load, Var, compare, integer, select
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Stmt, Store
from ...ir.walk import expressions, loads, map_expressions, rewrite, statements, substitute, variables
from ...rules.costs import is_dear

TOGETHER = 4  # an addition takes three or four cycles
LONG = 32  # elements of a row


def jammed(loop: For, later: tuple[Block, ...], around: tuple[For, ...], sharing: Sharing, names: Any) -> Block | None:
    """The loop with its iterations together; None where they are not independent, or nothing is gained.

    `later` is what runs after the loop: the rest of the blocks around it, innermost first.  `around`: the loops that it
    is in, the outermost first.
    """
    waits, row = _waits(loop), _along_a_shared_row(loop)
    if not (waits or row) or not _is_simple(loop):
        return None
    inside = effects(loop.body)
    if inside.sums or not sharing.scalars_are_apart(loop, inside, later):
        return None
    if not _are_apart(loop, inside, around, sharing):
        return None
    first = Var(names.fresh("first"), INT64)
    whole = affine.mul(integer(TOGETHER), affine.floordiv(sharing.signs.trips(trips(loop)), TOGETHER))
    if row and not waits and _goes_to_memory(loop, row, around):
        whole = select(compare("lt", trips(row), integer(LONG)), whole, affine.ZERO)
    indices = {stmt.index for stmt in statements(loop.body) if isinstance(stmt, For)}
    own = sorted(inside.writes - indices, key=lambda var: var.name)
    copies: list[dict[Expr, Expr]] = [{}]
    for k in range(1, TOGETHER):
        renamed: dict[Expr, Expr] = {var: Var(names.fresh(var.name), var.dtype) for var in own}
        copies.append(renamed | {loop.index: affine.add(loop.index, integer(k))})
    together = replace(loop, stop=first, step=integer(TOGETHER), body=_together(loop.body, copies))
    return Assign(first, affine.add(loop.start, whole)), together, replace(loop, start=first, few=True)


def _waits(loop: For) -> bool:
    """Is there an inner loop, without others in it, in which a number is made of itself, in the user's order?"""
    for inner in statements(loop.body):
        if isinstance(inner, For) and not any(isinstance(stmt, For) for stmt in inner.body):
            made = effects(inner.body).writes - {inner.index}
            ours = {stmt.target for stmt in inner.body if isinstance(stmt, AddTo) and stmt.reorder}
            if any(v.dtype.kind in "fc" and v not in ours and not is_private(v, inner.body) for v in made):
                return True
    return False


def _along_a_shared_row(loop: For) -> For | None:
    """The inner loop, of cheap arithmetic, that adds to a row which is the same in all iterations."""
    changed = effects(loop.body).writes | {loop.index}
    for inner in statements(loop.body):
        if isinstance(inner, For) and not any(isinstance(stmt, For) or is_dear(stmt) for stmt in inner.body):
            added = [s.target for s in inner.body if isinstance(s, AddTo) and s.reorder and isinstance(s.target, Load)]
            if any(_runs_only_along(place, inner.index, changed) for place in added):
                return inner
    return None


def _comes_once(row: For, around: tuple[For, ...]) -> bool:
    """Is it in no loop around the nest, but for one over strips of it?"""
    return all(strips.index == row.start for strips in around)


def _goes_to_memory(loop: For, row: For, around: tuple[For, ...]) -> bool:
    """Does each iteration write a row of its own too, of another array than that of the shared row, or only this once?

    From memory and to it, one long row at a time is faster.
    """
    writes = [access for access in effects(row.body).accesses if access.writes]
    own = {access.array.name for access in writes if _is_own(access, loop)}
    shared = {access.array.name for access in writes if not _is_own(access, loop)}
    return bool(own) and (_comes_once(row, around) or not own & shared)


def _is_own(access: Access, loop: For) -> bool:
    return any(part is None or loop.index in variables(part) for part in access.index)


def _runs_only_along(place: Load, index: Var, changed: frozenset[Var] | set[Var]) -> bool:
    """Is it an element of a row, by this index alone?"""
    *others, last = place.index or (affine.ZERO,)
    known = variables(last) & changed == {index} and not loads(last)
    return known and not any(variables(part) & changed or loads(part) for part in others)


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


def _are_apart(loop: For, inside: Effects, around: tuple[For, ...], sharing: Sharing) -> bool:
    """Do iterations meet nowhere but in additions of ours, so that their statements may be mixed?"""
    changed = inside.writes - {loop.index}
    ranges = Ranges(around, loop, sharing.signs)
    for accesses in sharing.by_root(loop.body).values():
        for a in accesses:
            for b in accesses if a.writes else ():
                in_any_order = a.ours and b.ours and a.array == b.array
                if in_any_order or meet_in_one_iteration(a, b, loop, changed, sharing.signs):
                    continue
                if not ranges.never_meet(a, b):
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
