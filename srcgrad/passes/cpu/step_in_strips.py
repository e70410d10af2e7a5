"""Steps of a loop in which no element meets another are made for a strip of elements at a time, out of the cache.

    for t in range(steps):                   for first in range(0, n, 1024):
        for i in range(n):             →         last = min(first + 1024, n)
            y[i] = y[i] * r[t]                   for t in range(steps):
                                                     for i in range(first, last):
                                                         y[i] = y[i] * r[t]

Each element goes through the same steps in the same order.  Otherwise every step fetches all of y from memory.  What
stands in another loop is left as it is: there vectors are short, and to divide them costs up to 6 %.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import SIMPLE, Effects, effects
from ...analysis.lengths import lengths_of
from ...analysis.lives import is_dead, is_private
from ...analysis.signs import signs_of
from ...ir import affine
from ...ir.expressions import INT64, Array, Expr, Load, Var
from ...ir.info import elementwise, roots_of
from ...ir.nodes import Assign, Block, Comment, CopyTo, For, Function, If, Stmt, View, leaves
from ...ir.walk import blocks, loads, statements, variables, with_blocks

STRIP = 1024  # elements: a few arrays of so many are at home in the first cache


def step_in_strips(function: Function) -> Function:
    return replace(function, body=Strips(function).block(function.body, ()))


class Strips:
    """Answers about the outermost loops of one function."""

    def __init__(self, function: Function) -> None:
        self.names, self.roots, self.lengths = function.info.names, roots_of(function), lengths_of(function)
        self.signs = signs_of(function)
        self.results = {var for leaf in leaves(function.results) if isinstance(leaf, Expr) for var in variables(leaf)}

    def block(self, block: Block, later: tuple[Block, ...]) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        for k, stmt in enumerate(block):
            rest = (block[k + 1 :], *later)
            changed = self.by_strips(stmt, rest) if isinstance(stmt, For) else None
            if isinstance(stmt, If):
                changed = (with_blocks(stmt, tuple(self.block(part, rest) for part in blocks(stmt))),)
            out += (stmt,) if changed is None else changed
        return tuple(out)

    def by_strips(self, steps: For, later: tuple[Block, ...]) -> Block | None:
        """The loop over strips, and ahead of it what it needs; None where a step is not all by element."""
        body = tuple(self.as_loop(stmt, steps) for stmt in steps.body)
        loops = [stmt for stmt in body if isinstance(stmt, For)]
        steps = replace(steps, body=body)
        seen = effects((steps,))
        if not loops or not self.is_simple(steps, loops, seen):
            return None
        if not self.memory_allows(steps, loops, seen) or not self.scalars_allow(steps, loops, seen, later):
            return None
        ahead: list[Stmt] = []
        bounds: dict[str, Expr] = {"start": steps.start, "stop": steps.stop}
        for name, bound in bounds.items():
            if loads(bound) or variables(bound) & seen.writes:  # it is looked at once, ahead of all strips
                once = Var(self.names.fresh(name), INT64)
                bounds[name] = once
                ahead.append(Assign(once, bound))
        first, last = (Var(self.names.fresh(name), INT64) for name in ("first", "last"))
        length = affine.integer(STRIP)
        parts = tuple(replace(s, start=first, stop=last) if isinstance(s, For) else s for s in body)
        end = Assign(last, affine.minimum(affine.add(first, length), loops[0].stop))
        strip = (end, replace(steps, body=parts, **bounds))  # type: ignore[arg-type]
        return (*ahead, For(first, loops[0].start, loops[0].stop, length, strip, span=steps.span))

    def as_loop(self, stmt: Stmt, steps: For) -> Stmt:
        if isinstance(stmt, CopyTo) and stmt.target.ndim == 1 and stmt.target.dtype == stmt.source.dtype:
            source, dims, around = stmt.source, self.lengths.of(stmt.target), frozenset({steps.index.name})
            return elementwise(stmt.target, dims, lambda i: Load(source, i, checked=False), self.names, around)
        return stmt

    def is_simple(self, steps: For, loops: list[For], seen: Effects) -> bool:
        """Steps of nothing but loops over the same elements, many of them, and of what these share."""
        start, stop = loops[0].start, loops[0].stop
        few = affine.difference(stop, start)
        return (
            (few is None or few > STRIP)
            and self.signs.is_natural(start)  # y[-1] and y[n - 1] are one element
            and all(isinstance(stmt, (For, Assign, View, Comment)) for stmt in steps.body)
            and all(isinstance(stmt, SIMPLE) for loop in loops for stmt in statements(loop.body))
            and not any(loads(bound) or variables(bound) & seen.writes for bound in (start, stop))
            and all(affine.same(loop.start, start) and affine.same(loop.stop, stop) for loop in loops)
            and all(affine.same(loop.step, affine.ONE) for loop in loops)
            and not (seen.is_visible or seen.pushed or seen.popped)
        )

    def memory_allows(self, steps: For, loops: list[For], seen: Effects) -> bool:
        """Is every element that is written touched by its own iterations alone, and in more steps than one?"""
        made = {self.root(access.array) for access in seen.accesses if access.writes}
        shared = effects(tuple(stmt for stmt in steps.body if not isinstance(stmt, For)))
        if any(self.root(access.array) in made for access in shared.accesses):
            return False
        if self.places(tuple(loops), made, seen) is None:
            return False
        touched = [access.through(seen.views) for access in effects(loops).accesses if self.root(access.array) in made]
        own = {loop.index for loop in loops}
        return any(
            not any(variables(at) & seen.writes for at in access.index if at is not None and at not in own)
            for access in touched
        )

    def places(self, loops: Block, made: set[str], seen: Effects) -> dict[str, int] | None:
        """The axis along which loops go through each of these arrays, if every element is in one iteration."""
        places: dict[str, int] = {}
        for loop in loops:
            for access in effects((loop,)).accesses:
                if self.root(access.array) not in made:
                    continue
                there = access.through(seen.views)
                axes = [axis for axis, at in enumerate(there.index) if at == loop.index]  # type: ignore[attr-defined]
                others = [at for at in there.index if at != loop.index]  # type: ignore[attr-defined]
                if there.array.name != self.root(there.array) or there.whole or len(axes) != 1:
                    return None
                if any(at is None or loop.index in variables(at) for at in others):  # type: ignore[attr-defined]
                    return None
                if places.setdefault(there.array.name, axes[0]) != axes[0]:
                    return None
        return places

    def scalars_allow(self, steps: For, loops: list[For], seen: Effects, later: tuple[Block, ...]) -> bool:
        """Is every scalar an iteration's own, or a sum that may be taken in any order?"""
        of_steps = {stmt.var for stmt in steps.body if isinstance(stmt, Assign)}
        of_loops = effects(loops).writes
        if of_steps & of_loops or not all(is_private(var, steps.body) for var in of_steps):
            return False
        for var in seen.writes - (seen.ours & of_loops):
            own = var in of_steps | seen.indices or all(is_private(var, loop.body) for loop in loops)
            if not own or not is_dead(var, later, var in self.results):
                return False
        return True

    def root(self, array: Array) -> str:
        return self.roots.get(array.name, array.name)


__all__ = ["Strips", "step_in_strips"]
