"""Both sweeps over steps in which no element meets another are made for a strip of elements at a time.

    kept = np.empty((steps, n))                     kept = np.empty((steps, min(1024, n)))
    for t in range(steps):                          for first in range(0, n, 1024):
        for i in range(n):                              last = min(first + 1024, n)
            kept[t, i] = y[i]                           for t in range(steps):
            y[i] = y[i] * r[t]                              for i in range(first, last):
    for i in range(n):                                          kept[t, i - first] = y[i]
        y_b[i] = v[i] * cos(y[i])          →                    y[i] = y[i] * r[t]
    for t in range(steps - 1, -1, -1):                  for i in range(first, last):
        for i in range(n):                                  y_b[i] = v[i] * cos(y[i])
            r_b[t] += y_b[i] * kept[t, i]               for t in range(steps - 1, -1, -1):
            y_b[i] = y_b[i] * r[t]                          for i in range(first, last):
                                                                r_b[t] += y_b[i] * kept[t, i - first]
                                                                y_b[i] = y_b[i] * r[t]

What is kept is read again out of the cache, and is of the size of a strip.  Sums over all elements are ours, and
so is their order.  `step_in_strips` does the same for the steps of one sweep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from ...analysis.conflicts import Conflicts
from ...analysis.effects import SIMPLE, effects, uses
from ...analysis.lives import is_dead, is_private
from ...ir import affine
from ...ir.expressions import INT64, Array, Call, Const, Expr, Load, Var
from ...ir.info import filled
from ...ir.nodes import AddTo, Alloc, Assign, Block, Comment, CopyTo, For, Function, If, Stmt, Store, View
from ...ir.rename import rename_arrays
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    variables,
    with_blocks,
    with_fields,
)
from ..fuse import fixed_in
from .step_in_strips import Strips

OF_STEPS = (For, Assign, AddTo, Store, View, Comment)
STRIP = 512  # elements: what is kept of so many, in all steps, is at home in a cache


def sweeps_in_strips(function: Function) -> Function:
    return replace(function, body=Sweeps(function).block(function.body, ()))


@dataclass(frozen=True)
class _Run:
    """Loops over the same elements, what can be done ahead of them all, and what is left behind."""

    loops: tuple[For, ...]
    ahead: Block
    left: Block
    comments: tuple[tuple[int, Comment], ...]  # each with how many loops stand before it


@dataclass(frozen=True)
class Own:
    """What threads that share out strips have of their own: memory of a strip, and copies of sums to which all add."""

    scratch: tuple[Alloc, ...]
    partial: tuple[Array, ...]


NOTHING_OF_ITS_OWN = Own((), ())


class Sweeps(Strips):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.found: dict[Var, Own] = {}  # by the index of the loop over strips
        self.params = {param.name for param in function.params if isinstance(param, Array)}
        self.fixed, self.uses = fixed_in(function, function.body), uses(function.body)

    def block(self, block: Block, later: tuple[Block, ...]) -> Block:
        out: list[Stmt] = []
        conflicts = Conflicts(self.roots)
        for k, stmt in enumerate(block):
            for start, stop in _ranges(stmt):
                run = self.run(block[k:], start, stop, conflicts)
                made = run and self.together(tuple(out), run, start, stop, later)
                if run and made:
                    return (*made, *self.block(run.left, later))
            if isinstance(stmt, If):
                rest = (block[k + 1 :], *later)
                stmt = with_blocks(stmt, tuple(self.block(part, rest) for part in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    def run(self, block: Block, start: Expr, stop: Expr, conflicts: Conflicts) -> _Run | None:
        """From the first loop of the block to the last that can be in one with it; None where no two are of steps."""
        if sum(_may_be_of_steps(stmt, start, stop) for stmt in block) < 2:
            return None
        loops: list[For] = []
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        comments: list[tuple[int, Comment]] = []
        found: _Run | None = None
        of_loops = of_behind = 0
        for k, stmt in enumerate(block):
            seen = effects((stmt,))
            is_free = not conflicts.of(stmt) & of_behind
            loop = self.over(stmt, start, stop) if is_free and isinstance(stmt, For) else None
            if loop is not None and self.is_allowed((*loops, loop), start, stop):
                loops.append(loop)
                of_loops |= 1 << conflicts.number(stmt)
                if sum(_is_of_steps(each, start, stop) for each in loops) >= 2:
                    found = _Run(tuple(loops), tuple(ahead), (*behind, *block[k + 1 :]), tuple(comments))
            elif isinstance(stmt, Comment):
                comments.append((len(loops), stmt))
            elif not loops or (seen.is_visible and self.params & effects(loops).memory_by(self.roots)[0]):
                break  # what has been written when an error comes can be seen
            elif is_free and not conflicts.of(stmt) & of_loops:
                ahead.append(stmt)
            elif seen.is_visible:
                break
            else:
                behind.append(stmt)
                of_behind |= 1 << conflicts.number(stmt)
        return found

    def over(self, loop: For, start: Expr, stop: Expr) -> For | None:
        """The loop, if it goes over these elements, or is one of steps over them."""
        if _goes_over(loop, start, stop):
            return loop if all(isinstance(stmt, SIMPLE) for stmt in statements(loop.body)) else None
        steps = replace(loop, body=tuple(self.as_loop(stmt, loop) for stmt in loop.body))
        inner = [stmt for stmt in steps.body if isinstance(stmt, For)]
        is_simple = (
            all(_goes_over(stmt, start, stop) for stmt in inner)
            and all(isinstance(stmt, OF_STEPS) or _is_guarded_sum(stmt) for stmt in steps.body)
            and all(isinstance(stmt, SIMPLE) for each in inner for stmt in statements(each.body))
        )
        return steps if inner and is_simple else None

    def is_allowed(self, loops: tuple[For, ...], start: Expr, stop: Expr) -> bool:
        seen = effects(loops)
        bounds = [start, stop]
        for loop in loops:
            bounds += (loop.start, loop.stop, loop.step) if _is_of_steps(loop, start, stop) else ()
        return not (
            any(loads(bound) or variables(bound) & seen.writes for bound in bounds)
            or seen.is_visible
            or seen.pushed
            or seen.popped
            or not self.memory_is_apart(loops, start, stop)
            or not self.scalars_are_own(loops, start, stop)
        )

    def memory_is_apart(self, loops: tuple[For, ...], start: Expr, stop: Expr) -> bool:
        """Is every element that is written touched by its own iterations alone?  Sums that are ours may go over all.

        What a step stores by itself is stored anew for every strip: nothing else in its loop touches it.
        """
        inner, shared = _parts(loops, start, stop)
        made = self.made(loops, inner)
        beside = [access for access in effects(shared).accesses if not self.is_sum(access.array, loops)]
        changed = {self.root(access.array) for access in effects(inner).accesses if access.writes}
        if any(self.root(access.array) in changed for access in beside):
            return False
        for name in {self.root(access.array) for access in beside if access.writes}:
            touching = [[a for a in effects((loop,)).accesses if self.root(a.array) == name] for loop in loops]
            first, *rest = filter(None, touching)
            if any(a.adds or not a.writes for a in first) or any(a.writes for accesses in rest for a in accesses):
                return False
        return self.places(inner, made, effects(loops)) is not None

    def made(self, loops: tuple[For, ...], inner: Block) -> set[str]:
        """The arrays that loops over elements change, otherwise than by adding to sums of ours."""
        changed = {self.root(access.array) for access in effects(inner).accesses if access.writes}
        return {self.root(a.array) for a in effects(loops).accesses if self.root(a.array) in changed and not a.ours}

    def is_sum(self, array: Array, loops: tuple[For, ...]) -> bool:
        """Is nothing done with the array but to add to it, in an order that is ours?"""
        return all(a.ours for a in effects(loops).accesses if self.root(a.array) == self.root(array))

    def scalars_are_own(self, loops: tuple[For, ...], start: Expr, stop: Expr) -> bool:
        """Is every scalar an iteration's own, or a step's, or a sum that may be taken in any order?"""
        seen = effects(loops)
        inner, shared = _parts(loops, start, stop)
        of_loops = effects(inner).writes
        of_steps = {stmt.var for stmt in shared if isinstance(stmt, Assign)}
        totals = {s.var for s in shared if isinstance(s, Assign) and s.value == Const(0.0, s.var.dtype)}
        totals &= effects(inner).ours  # of a step: each strip adds its part to where all of it goes
        for stmt in statements(shared):
            read = frozenset().union(*map(variables, expressions(stmt)))
            if isinstance(stmt, AddTo):
                value = stmt.value.args[0] if isinstance(stmt.value, Call) and stmt.value.op == "neg" else stmt.value
                if value not in totals or not stmt.reorder or (read - {value}) & of_loops:
                    return False
            elif read & (seen.writes if isinstance(stmt, If) else of_loops) - seen.indices:
                return False
        if of_loops & of_steps - totals:
            return False
        return all(
            var in seen.indices
            or all(
                is_private(var, loop.body) for loop in (loops if var in of_steps else inner) if isinstance(loop, For)
            )
            for var in seen.writes - seen.ours
        )

    def together(self, before: Block, run: _Run, start: Expr, stop: Expr, later: tuple[Block, ...]) -> Block | None:
        """All up to the end of the loop over strips; None where the sweeps have nothing large in common."""
        seen, inside = effects(run.loops), uses(run.loops)
        inner, shared = _parts(run.loops, start, stop)
        own = {name for name in inside if inside[name] + 1 == self.uses[name]} - self.fixed  # (one is the allocation)
        own -= {view.base.name for view in seen.views.values()}
        stored = {access.array.name for access in effects(shared).accesses if access.writes and not access.adds}
        steps = [loop for loop in run.loops if _is_of_steps(loop, start, stop)]
        large = [{a.array.name for a in effects((loop,)).accesses if a.array.ndim > 1} for loop in steps]
        if (
            not any(here & there for here, there in combinations(large, 2))
            or not self.signs.is_natural(start)  # y[-1] and y[n - 1] are one element
            or stored - own  # where there are no elements, nothing is stored
            or not all(is_dead(var, (run.left, *later), var in self.results) for var in seen.writes - seen.ours)
        ):
            return None
        places = self.places(inner, self.made(run.loops, inner), seen) or {}
        first, last = (Var(self.names.fresh(name), INT64) for name in ("first", "last"))
        ahead = [*before, *run.ahead]
        shorter: dict[str, Array] = {}
        fills: list[For] = []
        for k, made in enumerate(ahead):
            if isinstance(made, Alloc) and made.on is None and made.array.name in own & places.keys():
                if made.fill is not None and made.array.ndim > 1:
                    continue
                at = places[made.array.name]
                short = affine.minimum(affine.integer(STRIP), made.dims[at])
                dims = (*made.dims[:at], short, *made.dims[at + 1 :])
                ahead[k] = replace(made, array=replace(made.array, dims=dims), dims=dims, fill=None)
                shorter[made.array.name] = ahead[k].array  # type: ignore[attr-defined]
                if made.fill is not None:
                    fills.append(filled(made, self.names, frozenset()))  # type: ignore[arg-type]
        body: list[Stmt] = [Assign(last, affine.minimum(affine.add(first, affine.integer(STRIP)), stop))]
        if fills:
            stores = tuple(stmt for fill in fills for stmt in fill.body)
            body.append(with_fields(fills[0], {"start": first, "stop": last, "body": stores}))
        for k, loop in enumerate(run.loops):
            body += (comment for position, comment in run.comments if position == k)
            body.append(_of_strip(loop, start, stop, first, last))
        moved = _from_first(tuple(body), {name: places[name] for name in shorter}, first)
        strips = For(first, start, stop, affine.integer(STRIP), tuple(rename_arrays(s, shorter) for s in moved), False)
        scratch = tuple(s for s in ahead if isinstance(s, Alloc) and s.array.name in shorter.keys() | stored)
        self.found[first] = Own(scratch, self.sums_of_all(run.loops, inner))
        return (*ahead, strips)

    def sums_of_all(self, loops: tuple[For, ...], inner: Block) -> tuple[Array, ...]:
        """The arrays to which elements of several strips add."""
        seen = effects(loops)
        added = dict.fromkeys(a.array for a in seen.accesses if a.ours and self.is_sum(a.array, loops))
        return tuple(array for array in added if not self.places(inner, {self.root(array)}, seen))


def _ranges(stmt: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """What a loop may go over, by itself or in each of its steps."""
    if isinstance(stmt, For):
        inner = next((each for each in stmt.body if isinstance(each, For)), stmt)
        for loop in dict.fromkeys((stmt, inner)):
            few = affine.difference(loop.stop, loop.start)
            if few is None or few > STRIP:
                yield loop.start, loop.stop


def _goes_over(loop: Stmt, start: Expr, stop: Expr) -> bool:
    return (
        isinstance(loop, For)
        and affine.same(loop.start, start)
        and affine.same(loop.stop, stop)
        and affine.same(loop.step, affine.ONE)
    )


def _may_be_of_steps(stmt: Stmt, start: Expr, stop: Expr) -> bool:
    """Is it a loop that does something over these elements in its steps?"""
    return isinstance(stmt, For) and any(_goes_over(s, start, stop) or isinstance(s, CopyTo) for s in stmt.body)


def _is_guarded_sum(stmt: Stmt) -> bool:
    """`if n > 0: p_b[0] += total`: where nothing is added, the place need not be there."""
    return (
        isinstance(stmt, If)
        and not stmt.orelse
        and not loads(stmt.condition)
        and all(isinstance(each, AddTo) for each in stmt.then)
    )


def _is_of_steps(loop: For, start: Expr, stop: Expr) -> bool:
    return not _goes_over(loop, start, stop)


def _parts(loops: tuple[For, ...], start: Expr, stop: Expr) -> tuple[Block, Block]:
    """The loops over elements, and what steps do beside."""
    steps = [stmt for loop in loops if _is_of_steps(loop, start, stop) for stmt in loop.body]
    alone = (loop for loop in loops if not _is_of_steps(loop, start, stop))
    inner = (*alone, *(stmt for stmt in steps if isinstance(stmt, For)))
    return inner, tuple(stmt for stmt in steps if not isinstance(stmt, For))


def _of_strip(stmt: Stmt, start: Expr, stop: Expr, first: Var, last: Var) -> Stmt:
    """The loop over all elements, or each of those in its steps, over a strip of them."""
    if not isinstance(stmt, For):
        return stmt
    if _goes_over(stmt, start, stop):
        return replace(stmt, start=first, stop=last)
    return replace(stmt, body=tuple(_of_strip(each, start, stop, first, last) for each in stmt.body))


def _from_first(body: Block, axes: dict[str, int], first: Var) -> Block:
    """The statements, with the elements of a strip counted from its first."""

    def place(array: Array, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        at = axes.get(array.name)
        return index if at is None else (*index[:at], affine.sub(index[at], first), *index[at + 1 :])

    def moved(expr: Expr) -> Expr:
        return replace(expr, index=place(expr.array, expr.index)) if isinstance(expr, Load) else expr

    def change(stmt: Stmt) -> Block:
        stmt = map_expressions(stmt, lambda expr: rewrite(expr, moved))
        return (replace(stmt, index=place(stmt.array, stmt.index)) if isinstance(stmt, Store) else stmt,)

    return rewrite_block(body, change)


__all__ = ["NOTHING_OF_ITS_OWN", "Own", "Sweeps", "sweeps_in_strips"]
