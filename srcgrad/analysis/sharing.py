"""How the iterations of a loop share memory, where they may run at one time: on several threads, or on a GPU.

    for i in range(n):
        e[j] = …          scratch: every iteration, or every thread, has its own
        x_b[i] = …        its own element
        w_b[j] += …       a sum into an array
        u_b[i + 1] += …   a sum in which neighbours alone meet; what they read of it are elements to which none adds
        s += …            a sum

Everything that an iteration touches is proved to be one of these, or only read; what is none of them leaves the loop as
it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

from ..ir import affine
from ..ir.expressions import Array, Call, Const, Expr, Var
from ..ir.info import roots_of
from ..ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    CopyTo,
    For,
    Function,
    If,
    Invoke,
    Library,
    NewStack,
    Pop,
    Push,
    Raise,
    Seal,
    Stack,
    Stmt,
    Store,
    Unseal,
    View,
    While,
    leaves,
)
from ..ir.walk import expressions, loads, statements, subexpressions, targets, variables
from .apart import Apart, Bounded
from .compressed_rows import Rows, rows_of
from .defined_indices import accesses_by_definition
from .effects import Access, Effects, effects, touched
from .lengths import lengths_of
from .lives import is_dead, is_private
from .meetings import meet_in_one_iteration
from .signs import Signs, extremes

# What may run in any order.
SIMPLE = (AddTo, Alloc, Assign, Comment, CopyTo, For, If, Library, Pop, Push, Raise, Store, View, While)
FARTHEST = 64  # iterations that neighbours may be apart


def calls_users(stmt: Stmt) -> bool:
    """Does it call a function of the user's, which may need Python's interpreter?"""
    calls = (node.op for expr in expressions(stmt) for node in subexpressions(expr) if isinstance(node, Call))
    return (isinstance(stmt, Library) and stmt.routine.startswith("user.")) or any(
        op.startswith("user.") for op in calls
    )


@dataclass(frozen=True)
class Shared:
    """What iterations share, and what each of the places that run them has of its own.

    `partial`: arrays into which all add.  `near`: memory into which neighbours add, which are at most `reach`
    iterations apart (any iterations, where they add atomically).  `rows`: of compressed matrices, which must be in
    order, or the iterations share more than that.
    """

    sums: tuple[Var, ...]
    partial: tuple[Array, ...]
    near: frozenset[str]
    reach: Expr
    scratch: tuple[Alloc, ...]
    stacks: tuple[NewStack, ...]
    rows: tuple[Rows, ...] = ()


class Sharing:
    """Answers about the loops of one function; about compressed rows where the caller asks, `by_rows`, at run time.

    `never_negative`: no index is (see `Signs`).  `atomically`: any iterations may add to one element, beside what else
    is done with elements to which none adds.
    """

    def __init__(
        self, function: Function, by_rows: bool = False, never_negative: bool = False, atomically: bool = False
    ) -> None:
        self.by_rows, self.atomically = by_rows, atomically
        self.roots, self.lengths = roots_of(function), lengths_of(function).made
        self.signs = Signs(function, never_negative)
        self.uses: Counter[str] = Counter()
        self.makes: Counter[Var] = Counter()
        self.made: dict[str, list[Alloc]] = {}
        self.stacks: dict[str, list[Stmt]] = {}  # what has to do with each
        for stmt in statements(function.body):
            for name in touched(stmt):
                self.uses[name] += 1
            for target in targets(stmt):
                if isinstance(target, Var):
                    self.makes[target] += 1
            if isinstance(stmt, Alloc):
                self.made.setdefault(stmt.array.name, []).append(stmt)
            for stack in stacks_of(stmt):
                self.stacks.setdefault(stack.name, []).append(stmt)
        self.results: set[str] = set()
        for leaf in leaves(function.results):
            self.results |= {v.name for v in variables(leaf)} if isinstance(leaf, Expr) else {leaf.name}
        self.params = {p.name for p in function.params}
        self.outside = self.results | self.params

    def of(
        self,
        loop: For,
        later: tuple[Block, ...],
        around: tuple[For, ...] = (),
        values: Mapping[Var, Expr] = MappingProxyType({}),
    ) -> Shared | None:
        """What the iterations share; None where they can't be proved to be apart.

        `later` is what runs after the loop: the rest of the blocks around it, innermost first.  `around`: the loops
        around it, as far as they are known, outermost first.  `values`: what variables have been made of ahead of it.
        """
        if not all(isinstance(s, SIMPLE) and not calls_users(s) for s in statements(loop.body)):
            return None
        inside = effects(loop.body)
        stacks = self.own_stacks(loop)
        if stacks is None or not self.scalars_are_apart(loop, inside, later):
            return None
        sums = tuple(sorted(inside.sums, key=lambda var: var.name))
        bounded = (*(Bounded(each, each) for each in around), Bounded.of(loop, values))
        return self.memory(loop, inside, sums, tuple(stacks), Apart(bounded, values, self.signs, self.lengths))

    # ------------------------------------------------------------------------------------------------- scalars

    def scalars_are_apart(self, loop: For, inside: Effects, later: tuple[Block, ...]) -> bool:
        """Is every scalar a sum, or set by each iteration before it is read, and not read after the loop?"""
        return all(
            var in inside.sums or (is_private(var, loop.body) and is_dead(var, later, var.name in self.results))
            for var in inside.writes - inside.pushed - inside.popped
        )

    def own_stacks(self, loop: For) -> list[NewStack] | None:
        """Stacks on which every iteration pops just what it has pushed; None where there are others.

        A value is pushed once and popped once, by the mirrored block: where one loop does both, and nobody else has to
        do with the stack, `fuse` has put the two into one iteration.
        """
        own: list[NewStack] = []
        used = Counter(s.stack.name for s in statements(loop.body) if isinstance(s, (Push, Pop)))
        for name, count in used.items():
            made = [s for s in self.stacks[name] if isinstance(s, NewStack)]
            if len(made) != 1 or count + 1 != len(self.stacks[name]):
                return None
            own += made
        return own

    # -------------------------------------------------------------------------------------------------- memory

    def memory(
        self,
        loop: For,
        inside: Effects,
        sums: tuple[Var, ...],
        stacks: tuple[NewStack, ...],
        apart: Apart,
    ) -> Shared | None:
        partial: dict[str, Array] = {}
        scratch: list[Alloc] = []
        near: set[str] = set()
        rows: dict[Rows, None] = {}
        reach: Expr = affine.ZERO
        for root, accesses in self.by_root(loop.body).items():
            meeting = self.meeting(accesses, loop, inside, apart)
            if not meeting:
                continue
            if self.lives_in(root, loop, inside):
                own = self.own_scratch(root, inside)
                if own is None:
                    return None
                scratch += own
            elif self.by_rows and (row := rows_of(root, loop, self.roots)):
                rows[row] = None
            elif all(a.adds for a in meeting):
                far = self.reach(meeting, loop, inside.writes - {loop.index})
                if far is not None:
                    reach = far if affine.same(reach, affine.ZERO) else affine.maximum(reach, far)
                    near.add(root)
                elif all(a.adds and a.array.ndim for a in accesses):
                    partial |= {a.array.name: a.array for a in accesses}
                elif self.atomically and all(a.array.ndim for a in meeting):
                    near.add(root)
                else:
                    return None
            else:
                return None
        return Shared(sums, tuple(partial.values()), frozenset(near), reach, tuple(scratch), stacks, tuple(rows))

    def meeting(self, accesses: list[Access], loop: For, inside: Effects, apart: Apart) -> list[Access]:
        """Those that may touch an element which another iteration writes, or write one which it touches."""
        changed = inside.writes - {loop.index}
        out: dict[Access, None] = {}
        for a in accesses:
            for b in accesses if a.writes else ():
                if not meet_in_one_iteration(a, b, loop, changed, self.signs) and not apart.never_meet(a, b):
                    if not (a.adds and b.adds):
                        return accesses
                    out |= {a: None, b: None}
        return [*out]

    def by_root(self, body: Block) -> dict[str, list[Access]]:
        out: dict[str, list[Access]] = {}
        for access in accesses_by_definition(body):
            out.setdefault(self.roots.get(access.array.name, access.array.name), []).append(access)
        return out

    def reach(self, accesses: list[Access], loop: For, changed: set[Var]) -> Expr | None:
        """How many iterations lie between any two that add to one element; None where that is not known to be few.

        Of arrays with rows it may be a number that is known when the program runs: the length of a window.

        (Along an axis that a periodic stencil goes round, the first few and the last few meet too: the first piece and
        the last never run at one time.)
        """
        array = accesses[0].array
        if any(a.array != array for a in accesses):
            return None
        found: list[Expr] = []
        ranges = _ranges(loop, changed) if array.ndim > 1 else {}
        for axis in range(array.ndim):
            parts = [a.index[axis] for a in accesses]
            near = _reach_along(parts, loop, changed, ranges)
            if near is not None and all(self.signs.is_apart(part, array, axis, loop) for part in parts if part):
                found.append(near)
        return min(found, key=lambda near: near.value if isinstance(near, Const) else FARTHEST, default=None)

    def lives_in(self, root: str, loop: For, inside: Effects) -> bool:
        """Is this memory used nowhere but in the loop (and made, once, there or ahead of it)?"""
        ahead = root not in inside.allocated
        if root in self.outside or len(self.made.get(root, ())) < 1 or (ahead and len(self.made[root]) > 1):
            return False
        handles = {root} | {name for name, of in self.roots.items() if of == root}
        counts = Counter(name for s in statements((loop,)) for name in touched(s))
        return all(self.uses[h] == counts[h] + (ahead and h == root) for h in handles)

    def own_scratch(self, root: str, inside: Effects) -> list[Alloc] | None:
        """What makes it, for every piece to do; nothing where each iteration does."""
        if root in inside.allocated:
            return []
        made = self.made[root][0]
        known = [*made.dims, *([] if made.fill is None else [made.fill])]
        once = lambda v: self.makes[v] + (v.name in self.params) <= 1
        fixed = all(not loads(e) and all(map(once, variables(e))) for e in known)
        return [made] if fixed and not any(variables(e) & inside.writes for e in known) else None


def _reach_along(
    parts: list[Expr | None], loop: For, changed: set[Var], ranges: dict[Var, tuple[Expr, Expr]]
) -> Expr | None:
    """How far apart iterations are at most in which these indices of one axis are the same."""
    lows: list[Expr] = []
    highs: list[Expr] = []
    others: set[affine.Terms] = set()
    for part in parts:
        if part is None:
            return None
        terms, constant = affine.affine(part)
        inner = [(term, count) for term, count in terms if term in ranges]
        outer = tuple((term, count) for term, count in terms if term not in ranges)
        if any(term != loop.index and (variables(term) & (changed | {loop.index}) or loads(term)) for term, _ in outer):
            return None
        low: Expr = affine.integer(constant)
        high = low
        for term, count in inner:
            ends = [affine.mul(affine.integer(count), end) for end in ranges[term]]
            low, high = affine.add(low, ends[count < 0]), affine.add(high, ends[count > 0])
        lows.append(low)
        highs.append(high)
        others.add(outer)
    if len(others) > 1:
        return None
    if not isinstance(loop.step, Const):
        return None
    stride = abs(dict(others.pop()).get(loop.index, 0) * int(loop.step.value))
    if not stride:
        return None
    widest = affine.sub(reduce(affine.maximum, highs), reduce(affine.minimum, lows))
    reach = affine.maximum(affine.floordiv(widest, stride), affine.ZERO)
    return None if isinstance(reach, Const) and reach.value > FARTHEST else reach


def _ranges(loop: For, changed: set[Var]) -> dict[Var, tuple[Expr, Expr]]:
    """The least and the greatest index of inner loops, where these are known ahead of the loop."""
    out: dict[Var, tuple[Expr, Expr]] = {}
    inner = [stmt for stmt in statements(loop.body) if isinstance(stmt, For)]
    for stmt in inner:
        ends = extremes(stmt)
        again = sum(other.index == stmt.index for other in inner) > 1
        moving = any(loads(end) or variables(end) & (changed | {loop.index}) for end in ends)
        if not again and not moving and stmt.index not in effects(stmt.body).writes:
            out[stmt.index] = ends
    return out


def stacks_of(stmt: Stmt) -> tuple[Stack, ...]:
    """The stacks that a statement itself has to do with."""
    if isinstance(stmt, Invoke):
        return stmt.tapes
    return (stmt.stack,) if isinstance(stmt, (NewStack, Pop, Push, Seal, Unseal)) else ()


__all__ = ["SIMPLE", "Shared", "Sharing", "stacks_of"]
