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
from dataclasses import dataclass, replace
from typing import Any

from ..ir import affine
from ..ir.expressions import Expr, Var
from ..ir.nodes import Alloc, Block, For, Function, Invoke, Stmt, Swap, While, leaves
from ..ir.walk import blocks, statements, subexpressions, substitute, variables, with_blocks
from .defined_indices import accesses_by_definition
from .effects import Access, Effects, effects, is_dead, is_private, meet_in_one_iteration, uses, values_behind
from .info import roots_of
from .overwritten import is_overwritten_first
from .ranges import Ranges
from .signs import Signs, signs_of

LONGEST = 64  # nodes of a bound with values in the place of names


def find_independent(function: Function, forgetful: frozenset[str] = frozenset()) -> Function:
    """The function with `ordered=False` on every loop that is proved independent.

    `forgetful`: functions whose calls keep nothing for a reverse sweep.
    """
    return replace(function, body=_Finder(function, forgetful).block(function.body))


def independent_as_they_are(function: Function) -> Function:
    """The same for loops that other passes have made, behind `guard_accesses`; scratch stays where it is."""
    return replace(function, body=_Finder(function, frozenset(), guarded=True).block(function.body))


class _Finder:
    def __init__(self, function: Function, forgetful: frozenset[str], guarded: bool = False) -> None:
        self.forgetful, self.guarded = forgetful, guarded
        self.roots = roots_of(function)
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

    def block(self, block: Block, around: tuple[_Bounded, ...] = (), later: tuple[Block, ...] = ()) -> Block:
        """`later`: what runs after it, the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        values: dict[Var, Expr] = {}  # what variables have been made of, in this block
        for position, stmt in enumerate(block):
            rest = (block[position + 1 :], *later)
            if not self.guarded and isinstance(stmt, For) and stmt.ordered:
                out, stmt = self.with_own_scratch(out, stmt)
            if blocks(stmt):
                inner = (*around, _Bounded.of(stmt, values)) if isinstance(stmt, For) else around
                behind = ((stmt,), *rest) if isinstance(stmt, (For, While)) else rest
                stmt = with_blocks(stmt, tuple(self.block(b, inner, behind) for b in blocks(stmt)))
            if isinstance(stmt, For):
                bounded = _Bounded.of(stmt, values)
                if stmt.ordered and self.is_independent(stmt, (*around, bounded), rest, values):
                    stmt = replace(stmt, ordered=False)
                if self.guarded:  # for who asks the same again
                    stmt = replace(stmt, start=bounded.by_names.start, stop=bounded.by_names.stop)
            values = values_behind(stmt, values)
            out.append(stmt)
        return tuple(out)

    def is_independent(
        self, loop: For, bounded: tuple[_Bounded, ...], later: tuple[Block, ...], values: dict[Var, Expr]
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
        return self.memory_is_apart(inside, loop, bounded, values)

    def memory_is_apart(
        self, inside: Effects, loop: For, bounded: tuple[_Bounded, ...], values: dict[Var, Expr]
    ) -> bool:
        changed = inside.writes - {loop.index}
        moving = inside.writes | {loop.index}
        steady = {var: v for var, v in values.items() if not ({var} | variables(v)) & moving}
        by_root: dict[str, list[Access]] = {}
        for access in accesses_by_definition(loop.body):
            if access.array.name in inside.allocated and self.lives_in(access.array.name, loop):
                continue
            by_root.setdefault(self.roots.get(access.array.name, access.array.name), []).append(access)
        ways = ([b.by_names for b in bounded], [b.by_values for b in bounded])
        made: dict[int, Ranges] = {}

        def never_meet(a: Access, b: Access) -> bool:
            for k, (*around, own) in enumerate(ways if ways[0] != ways[1] else ways[:1]):
                if k not in made:
                    made[k] = Ranges(tuple(around), own, self.signs)
                if made[k].never_meet(a, b):
                    return True
            return False

        for accesses in by_root.values():
            for a in accesses:
                for b in accesses if a.writes else ():
                    adds = a.adds and b.adds
                    if adds or meet_in_one_iteration(a, b, loop, changed, self.signs):
                        continue
                    if not never_meet(a, b) and not never_meet(_by_values(a, steady), _by_values(b, steady)):
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


def _by_values(access: Access, values: dict[Any, Expr]) -> Access:
    """The same touch, by what the variables in its index have been made of."""
    said = lambda part: None if part is None else affine.normal(substitute(part, values))
    return replace(access, index=tuple(map(said, access.index)))


@dataclass(frozen=True)
class _Bounded:
    """A loop by the names that its bounds were copied from, and by what these were made of, if it leaves that alone."""

    by_names: For
    by_values: For

    @classmethod
    def of(cls, loop: For, values: dict[Var, Expr]) -> _Bounded:
        steady = {var: v for var, v in values.items() if not variables(v) & effects(loop.body).writes}
        by_names = _with_bounds(loop, {var: v for var, v in steady.items() if isinstance(v, Var)})
        by_values = loop
        while not _is_long(by_values) and (said := _with_bounds(by_values, steady)) is not by_values:
            by_values = said
        return cls(by_names, by_values)


def _is_long(loop: For) -> bool:
    """Lengths made of each other, each of two others, would be twice as long with each step."""
    return any(sum(1 for _ in subexpressions(bound)) > LONGEST for bound in (loop.start, loop.stop))


def _with_bounds(loop: For, values: dict[Any, Expr]) -> For:
    if values.keys().isdisjoint(variables(loop.start) | variables(loop.stop)):
        return loop
    said = lambda bound: affine.normal(substitute(bound, values))
    return replace(loop, start=said(loop.start), stop=said(loop.stop))


__all__ = ["find_independent", "independent_as_they_are"]
