"""Which of the user's loops may run in any order: their iterations meet in nothing but sums.

    for i in range(n):                  x is only read, y[i] is this iteration's own, t is set before it is read,
        t = x[i] * w[i]          →      s is only added to: independent
        y[i] = t * t
        s += t

The reverse of such a loop may go upwards too, and be merged with other loops over the same range (`fuse`), so that an
iteration is reversed right after it has run.  What can't be proved stays ordered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ..analysis.apart import Apart, Bounded
from ..analysis.defined_indices import accesses_by_definition
from ..analysis.effects import Access, Effects, effects, uses, values_behind, values_within
from ..analysis.lengths import lengths_of
from ..analysis.lives import is_dead, is_private
from ..analysis.meetings import meet_in_one_iteration
from ..analysis.overwritten import is_overwritten_first
from ..analysis.signs import Signs, signs_of
from ..ir.expressions import Expr, Var
from ..ir.info import roots_of
from ..ir.nodes import Alloc, Block, For, Function, If, Invoke, Stmt, Swap, While, leaves
from ..ir.walk import blocks, statements, variables, with_blocks
from .cases import cases_of, conjuncts, holding_in, unchanged


def find_independent(function: Function, forgetful: frozenset[str] = frozenset()) -> Function:
    """The function with `ordered=False` on every loop that is proved independent.

    `forgetful`: functions whose calls keep nothing for a reverse sweep.
    """
    return replace(function, body=_Finder(function, forgetful).block(function.body))


def independent_in_cases(function: Function) -> Function:
    """The same, also for loops that are independent in one case (`cases`), which is asked ahead of them."""
    return replace(function, body=_Finder(function, frozenset(), in_cases=True).block(function.body))


def independent_as_they_are(function: Function) -> Function:
    """The same for loops that other passes have made, behind `guard_accesses`; scratch stays where it is."""
    return replace(function, body=_Finder(function, frozenset(), guarded=True).block(function.body))


class _Finder:
    def __init__(
        self, function: Function, forgetful: frozenset[str], guarded: bool = False, in_cases: bool = False
    ) -> None:
        self.forgetful, self.guarded, self.in_cases, self.names = forgetful, guarded, in_cases, function.info.names
        self.roots, self.made = roots_of(function), lengths_of(function).made
        self.signs = Signs(function, never_negative=True) if guarded else signs_of(function)
        self.uses = Counter(uses(function.body))
        self.indices = {s.index for s in statements(function.body) if isinstance(s, For)}  # nobody reads them after
        self.handed_back = {
            name
            for leaf in leaves(function.results)
            for name in ([v.name for v in variables(leaf)] if isinstance(leaf, Expr) else [leaf.name])
        }
        self.uses.update(self.handed_back)
        self.uses.update(param.name for param in function.params)
        self.inside: dict[int, tuple[For, Counter[str]]] = {}
        self.holding: frozenset[Expr] = frozenset()  # conditions that hold where we are

    def block(
        self,
        block: Block,
        around: tuple[Bounded, ...] = (),
        later: tuple[Block, ...] = (),
        values: Mapping[Var, Expr] = MappingProxyType({}),
    ) -> Block:
        """`later`: what runs after it, the rest of the blocks around it, innermost first.

        `values`: what variables have been made of.
        """
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            rest = (block[position + 1 :], *later)
            if not self.guarded and isinstance(stmt, For) and stmt.ordered:
                out, stmt = self.with_own_scratch(out, stmt)
            cases = self.by_cases(stmt, around, rest, values) if self.in_cases and isinstance(stmt, For) else None
            if cases is not None:
                out += cases
                continue
            if blocks(stmt):
                inner = (*around, Bounded.of(stmt, values)) if isinstance(stmt, For) else around
                behind = ((stmt,), *rest) if isinstance(stmt, (For, While)) else rest
                known, holding = values_within(stmt, values), self.holding
                parts: list[Block] = []
                for part, own in zip(blocks(stmt), holding_in(stmt, holding), strict=True):
                    self.holding = own
                    parts.append(self.block(part, inner, behind, known))
                self.holding, stmt = holding, with_blocks(stmt, tuple(parts))
            if isinstance(stmt, For):
                bounded = Bounded.of(stmt, values)
                if stmt.ordered and self.is_independent(stmt, (*around, bounded), rest, values):
                    stmt = replace(stmt, ordered=False)
                if self.guarded:  # for who asks the same again
                    stmt = replace(stmt, start=bounded.by_names.start, stop=bounded.by_names.stop)
            values = values_behind(stmt, values)
            self.holding = unchanged(self.holding, stmt)
            out.append(stmt)
        return tuple(out)

    def by_cases(
        self, loop: For, around: tuple[Bounded, ...], later: tuple[Block, ...], values: Mapping[Var, Expr]
    ) -> Block | None:
        """The loop as it is in one case, in which it is independent, and as it is in the other one, if there may be."""
        if not loop.ordered or self.is_independent(loop, (*around, Bounded.of(loop, values)), later, values):
            return None
        for case in cases_of(loop, self.signs, self.names, lambda name: self.lives_in(name, loop)):
            known = values
            for stmt in case.ahead:
                known = values_behind(stmt, known)
            self.uses.update({name: n for name, n in uses((case.loop,)).items() if name not in self.uses})
            if not self.is_independent(case.loop, (*around, Bounded.of(case.loop, known)), later, known):
                continue
            self.in_cases = False
            here, there = (self.block((each,), around, later, known) for each in (case.loop, loop))
            self.in_cases = True
            if conjuncts(case.condition) <= self.holding:
                return (*case.ahead, *here)
            return (If(case.condition, (*case.ahead, *here), there, span=loop.span),)
        return None

    def is_independent(
        self, loop: For, bounded: tuple[Bounded, ...], later: tuple[Block, ...], values: Mapping[Var, Expr]
    ) -> bool:
        """`bounded`: the loops around it, and itself, as their bounds are known; `values`: what variables are ahead."""
        calls = {s.callee for s in statements(loop.body) if isinstance(s, Invoke)}
        if calls - self.forgetful:  # what it keeps is taken back last first
            return False
        inside = effects(loop.body)
        for var in inside.writes:
            if var in inside.sums:
                continue
            if not is_private(var, loop.body):
                return False
            if not (var in self.indices or self.lives_in(var.name, loop) or self.is_lost(var, inside, later)):
                return False
        return self.memory_is_apart(inside, loop, Apart(bounded, values, self.signs, self.made))

    def memory_is_apart(self, inside: Effects, loop: For, apart: Apart) -> bool:
        changed = inside.writes - {loop.index}
        by_root: dict[str, list[Access]] = {}
        for access in accesses_by_definition(loop.body):
            if access.array.name in inside.allocated and self.lives_in(access.array.name, loop):
                continue
            by_root.setdefault(self.roots.get(access.array.name, access.array.name), []).append(access)
        for accesses in by_root.values():
            for a in accesses:
                for b in accesses if a.writes else ():
                    adds = a.adds and b.adds
                    if adds or meet_in_one_iteration(a, b, loop, changed, self.signs):
                        continue
                    if not apart.never_meet(a, b):
                        return False
        return True

    def is_lost(self, var: Var, inside: Effects, later: tuple[Block, ...]) -> bool:
        """Does nobody read what the loop leaves in it, though others may have the name?  (On a CPU they merge.)"""
        is_of_a_stack = var in inside.pushed | inside.popped  # which is in order
        return self.guarded and not is_of_a_stack and is_dead(var, later, var.name in self.handed_back)

    def lives_in(self, name: str, loop: For) -> bool:
        """Is the name used nowhere but in this loop?"""
        return self.uses[name] == self.uses_in(loop)[name]

    def uses_in(self, loop: For) -> Counter[str]:
        if id(loop) not in self.inside:
            self.inside[id(loop)] = loop, uses((loop,))
        return self.inside[id(loop)][1]

    # ------------------------------------------------------------------------------------------------ scratch

    def with_own_scratch(self, out: list[Stmt], loop: For) -> tuple[list[Stmt], For]:
        """Scratch that every iteration overwrites before it reads it is made in the iteration."""
        kept: list[Stmt] = []
        own: list[Stmt] = []
        changed = effects(loop.body).writes | {loop.index}
        for stmt in out:
            if (
                isinstance(stmt, Alloc)
                and self.lives_in_both(stmt, loop)
                and not any(variables(dim) & changed for dim in stmt.dims)
                and sum(isinstance(s, Alloc) and s.array.name == stmt.array.name for s in out) == 1
                and is_overwritten_first(stmt.array, loop.body)
            ):
                own.append(replace(stmt, fill=None))  # nobody sees it
            else:
                kept.append(stmt)
        return (kept, replace(loop, body=(*own, *loop.body))) if own else (out, loop)

    def lives_in_both(self, made: Alloc, loop: For) -> bool:
        name = made.array.name
        inside = self.uses_in(loop)[name]
        if inside == 0 or self.uses[name] != inside + 1 or name in self.roots.values():
            return False
        swaps = (s for s in statements((loop,)) if isinstance(s, Swap))
        return not any(name in (s.left.name, s.right.name) for s in swaps)  # another name has this memory then


__all__ = ["find_independent", "independent_as_they_are", "independent_in_cases"]
