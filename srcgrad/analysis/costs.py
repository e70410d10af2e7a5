"""What it costs the sweep to have a value of the forward part, in additions."""

from __future__ import annotations

from math import inf

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Dim, Expr, Load, Old, Var
from ..ir.nodes import For, While
from ..ir.walk import loads, variables
from ..rules.costs import cost
from .labelled import index_of
from .validity import Forward, Version

KEEP_IN_LOOP = 6  # additions that a store and a load of a kept value cost
KEEP_OUTSIDE = 1.5
DIVISIONS = ("mod", "floordiv", "fmod")
DEEPEST_INDEX = 8  # names that an index is made of, by way of others
FAR = 24  # definitions between a value and the states that it is made of
KEEP_BESIDE = 16  # the same beside a state that is kept for every step: what is made of it would be as large again


class Costs:
    """`versions` and `kept` are what the sweep has already: variables, and values of expressions before statements.

    `indices_again`: what is made of indices alone is worth no memory, however it is made of them.
    """

    def __init__(
        self,
        forward: Forward,
        versions: dict[Version, Var],
        kept: dict[tuple[Expr, int], Expr],
        indices_again: bool = False,
    ) -> None:
        self.forward, self.versions, self.kept, self.indices_again = forward, versions, kept, indices_again
        self._sources: dict[tuple[Expr, int], bool | None] = {}

    def keep_cost(self, at: int, expr: Expr | None = None) -> float:
        if not self.forward.loops_around(self.forward.block_of(at)):
            return KEEP_OUTSIDE
        return KEEP_BESIDE if expr is not None and self.is_made_of_states(expr, at) else KEEP_IN_LOOP

    def is_made_of_states(self, expr: Expr, at: int) -> bool:
        """Is it made of what is at hand, and of elements of states that are kept for every step?"""
        sources = [self.sources(part, at, 0) for part in (*loads(expr), *variables(expr))]
        return None not in sources and True in sources

    def sources(self, part: Expr, at: int, depth: int) -> bool | None:
        """Are there states among what this variable or element is made of?  None: it is made of something else.

        So is what is made of states by way of too many others.
        """
        if (part, at) not in self._sources:
            self._sources[part, at] = None  # (nothing is made of itself)
            self._sources[part, at] = self._sources_of(part, at, depth) if depth < FAR else None
        return self._sources[part, at]

    def _sources_of(self, part: Expr, at: int, depth: int) -> bool | None:
        if isinstance(part, Load):
            if self.forward.element_is_valid(part, at):
                return False
            return True if self.is_had_whole(part, at) else None
        assert isinstance(part, Var)
        place = self.forward.birth(part, at)
        if place is None or self.forward.is_valid(Version(part, place)):
            return False
        if self.depth(place.block) < self.depth(self.forward.block_of(at)):
            return False  # it is had once for all iterations of an inner loop
        made = self.forward.definition(Version(part, place))
        if made is None:
            return None
        found = [self.sources(part, made.label, depth + 1) for part in (*loads(made.value), *variables(made.value))]
        return None if None in found else True in found

    def cost(self, expr: Expr, at: int, depth: int = 0, enough: float = inf) -> float:
        """What it costs the sweep to have this value, in additions, with the best choice for every part.

        From `enough` on it does not matter how much it is: the values that a long chain is made of are not all visited.
        """
        match expr:
            case Const() | Dim():
                return 0
            case Old(expr=inner, at=earlier):
                return self.cost(inner, earlier, depth, enough)
            case Var():
                place = self.forward.birth(expr, at)
                if place is None or self.forward.is_valid(Version(expr, place)):
                    return 0
                version = Version(expr, place)
                if version in self.versions:
                    return 0
                if self.depth(place.block) < self.depth(self.forward.block_of(at)):
                    return 1  # it is had once for all iterations of an inner loop
                made = self.forward.definition(version)
                if made is None or depth > 8:
                    return KEEP_IN_LOOP
                return min(KEEP_IN_LOOP, self.cost(made.value, made.label, depth + 1, min(KEEP_IN_LOOP, enough)))
            case Load(index=index):
                if self.forward.element_is_valid(expr, at) or self.is_had_whole(expr, at):
                    return 1 + sum(self.cost(i, at, depth) for i in index if not self.is_free(i, at))
                return 1 if (expr, at) in self.kept else KEEP_IN_LOOP
            case Call(args=args):
                if (expr, at) in self.kept:
                    return 0
                if self.forward.loops_around(self.forward.block_of(at)) and self.is_of_indices(expr, at):
                    return 0
                if self.is_shared(expr, at):
                    return 1
                if self.is_around_the_end(expr, at):
                    return 2
                own = cost(expr)
                total: float = own
                for arg in args:
                    if total >= enough:
                        break
                    most = KEEP_IN_LOOP + own
                    total += min(self.cost(arg, at, depth, min(most, enough - total)), most)
                return total
        raise AssertionError(expr)

    def is_had_whole(self, load: Load, at: int) -> bool:
        """Will the array be kept as one, whoever else reads it?"""
        rows = self.forward.element_is_valid_within(load, at)
        return rows or self.forward.snapshot_place(load, at) is not None

    def is_free(self, expr: Expr, at: int) -> bool:
        """Sums of loop indices and of what is still there: nothing that is worth memory."""
        if isinstance(expr, Call) and expr.op in ("add", "sub", "mul", "neg", "rshift") and expr.dtype == INT64:
            return all(self.is_free(arg, at) for arg in expr.args)
        if isinstance(expr, Var):
            place = self.forward.birth(expr, at)
            return place is None or self.forward.is_valid(Version(expr, place))
        return isinstance(expr, (Const, Dim))

    def is_of_indices(self, expr: Expr, at: int, depth: int = 0) -> bool:
        """Is it made of loop indices, and of what is still there, or had once for all iterations of an inner loop?"""
        if not self.indices_again or depth > DEEPEST_INDEX or expr.dtype not in (INT64, BOOL):
            return False
        match expr:
            case Call(args=args):
                return all(self.is_of_indices(arg, at, depth) for arg in args)
            case Var():
                place = self.forward.birth(expr, at)
                if place is None or self.forward.is_valid(Version(expr, place)):
                    return True
                if self.depth(place.block) < self.depth(self.forward.block_of(at)):
                    return True
                made = self.forward.definition(Version(expr, place))
                return made is not None and self.is_of_indices(made.value, made.label, depth + 1)
        return isinstance(expr, (Const, Dim))

    def is_shared(self, expr: Call, at: int) -> bool:
        """A division of indices that comes out the same in every iteration of an outer loop: one row of it is kept."""
        if self.indices_again or expr.dtype != INT64 or expr.op not in DIVISIONS or isinstance(expr.args[1], Const):
            return False
        if self.is_around_the_end(expr, at):
            return False
        key = self.forward.block_of(at)
        return len(self.loops_of(expr, key, at)) < self.depth(key)

    def is_around_the_end(self, expr: Call, at: int) -> bool:
        """A neighbour's place, which divides nothing but near the ends of its axis (`split_ends`): (i + 2) % n."""
        if expr.op != "mod" or expr.dtype != INT64:
            return False
        x, n = expr.args
        around = self.forward.loops_around(self.forward.block_of(at))
        loops = (loop for loop in around if isinstance(loop, For) and affine.difference(x, loop.index) is not None)
        return any(affine.same(loop.start, affine.ZERO) and affine.same(loop.stop, n) for loop in loops)

    def loops_of(self, expr: Expr, key: tuple[int, int], at: int) -> list[For | While]:
        """The loops around a block along which an expression can differ."""
        loops = self.forward.loops_around(key)
        if loads(expr) or not all(self.is_free(v, at) for v in variables(expr)):
            return loops
        over = [x for x in loops if index_of(x) in variables(expr)]
        same = (self.forward.is_known_ahead(e, loops) for x in over if isinstance(x, For) for e in (x.start, x.step))
        return over if all(same) else loops  # (an iteration's number means the same index in each of the others)

    def one_part_is_gone(self, expr: Expr, at: int) -> bool:
        """Does the value depend on a single variable or element that would have to be kept?"""
        return sum(self.cost(part, at) >= KEEP_IN_LOOP for part in (*variables(expr), *loads(expr))) == 1

    def depth(self, key: tuple[int, int]) -> int:
        return len(self.forward.loops_around(key))
