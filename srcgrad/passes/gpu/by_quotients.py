"""Iterations that add to one element, as its index is a quotient of theirs, are one thread's (on a GPU).

    for i in range(n):                      for p in range((n + 1) // 2):
        x_b[i // 2] += 2.0 * v[i]     →         x_b[p] += 2.0 * v[2 * p]
                                                if 2 * p + 1 < n:
                                                    x_b[p] += 2.0 * v[2 * p + 1]

Then no two threads meet, or they are neighbours (x_b[i // 2 + 1]), which `gather` sees to.  That is the reverse of
x[i // 2], a grid that is made finer; of two axes, (i // 2, j // 2), a thread has four iterations.

NumPy says it by an axis more (np.repeat, np.kron, np.broadcast_to), which becomes one with the axis before:

    for i in range(n):                      for i in range(n):
        for j in range(2):                      out[i, 0] = x[i]
            out[i, j] = x[i]          →         out[i, 1] = x[i]
    for i in range(2 * n):                  for p in range(n):
        y[i] = f(out[i // 2, i % 2])            y[2 * p] = f(out[p, 0])
                                                y[2 * p + 1] = f(out[p, 1])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise, product
from math import prod

from ...analysis.additions import FLAT
from ...analysis.effects import SIMPLE, effects
from ...analysis.nests import nest_of, with_nests
from ...analysis.quotients import arithmetic, by_number
from ...analysis.signs import Signs, signs_of
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Expr, Load, Var, both
from ...ir.names import Names
from ...ir.naturals import remainder
from ...ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt, Store
from ...ir.walk import loads, map_expressions, rewrite, rewrite_block, statements, substituted, variables, with_fields
from ..write_out import LONG, WrittenOut, settled

MOST = 16  # iterations of one thread
MOST_ALONG = 8  # an axis: neighbouring threads read elements that are so far apart


def by_quotients(function: Function) -> Function:
    merged = {access.array.name for access in effects(function.body).accesses if any(_merged(access.index))}
    spread: set[str] = set()

    def is_spread(loop: For) -> bool:
        found = _spread_along(loop, merged)
        spread.update(found)
        return bool(found)

    if merged:
        function = replace(function, body=WrittenOut(function, SIMPLE, is_spread).block(function.body))
    names, signs = function.info.names, signs_of(function)

    def change(stmt: Stmt, values: Mapping[Var, Expr]) -> Block | None:
        nest = nest_of(stmt, (*FLAT, If))
        return None if nest is None else _Nest(*nest, names, signs, spread).in_groups()

    return replace(function, body=with_nests(function.body, change))


def _merged(index: Sequence[Expr | None]) -> Iterator[tuple[Expr, int]]:
    """x and n, of an index that is x // n along one axis, and x % n along the next."""
    for part, after in pairwise(index):
        match part, after and remainder(after):
            case Call(op="floordiv", args=(x, Const(value=int(n)))), (y, m) if n == m and affine.same(x, y):
                yield x, n


def _spread_along(loop: For, merged: Set[str]) -> set[str]:
    """Of arrays of which two axes are one elsewhere: those that a loop goes along, while a number stays what it is."""
    index, inside = loop.index, statements(loop.body)
    along = {a.array.name for a in effects(loop.body).accesses if a.array.name in merged and index in a.index[1:]}
    stays = any(isinstance(s, (AddTo, Store)) and _is_spread(s, index) for s in inside)
    return along if stays and not any(isinstance(s, Assign) for s in inside) else set()


def _is_spread(stmt: AddTo | Store, index: Var) -> bool:
    """Is one number stored in, or the sum of, all the elements along an axis?"""
    one = stmt.value if isinstance(stmt, Store) else stmt.target
    return index not in variables(one)


@dataclass(frozen=True)
class _Group:
    """Iterations of a loop next to each other: by * quotient, by * quotient + 1, …"""

    loop: For
    by: int
    quotient: Var

    def around(self, body: Block) -> For:
        first = affine.floordiv(self.loop.start, self.by)
        end = affine.floordiv(affine.add(self.loop.stop, affine.integer(self.by - 1)), self.by)
        return replace(self.loop, index=self.quotient, start=first, stop=end, body=body)

    def at(self, rest: int) -> Expr:
        return affine.add(affine.mul(affine.integer(self.by), self.quotient), affine.integer(rest))

    def runs(self, rest: int) -> Iterator[Expr]:
        """What has to be asked for an iteration to be one of the loop's; the first of all before a stop is."""
        start, stop = self.loop.start, _without_zero(self.loop.stop)
        assert isinstance(start, Const)
        if rest < start.value % self.by:
            yield Call("le", (start, self.at(rest)), BOOL)
        left = _rest(stop, self.by)
        if rest and left is None:
            yield Call("lt", (self.at(rest), stop), BOOL)
        elif left and rest >= left:  # all but those behind the last whole group
            yield Call("lt", (self.quotient, affine.floordiv(affine.sub(stop, affine.integer(left)), self.by)), BOOL)


def _without_zero(stop: Expr) -> Expr:
    """An index, which is not negative, is less than the greater of a number and 0 where it is less than the number."""
    match stop:
        case Call(op="maximum" | "max", args=(x, y)) if affine.ZERO in (x, y):
            return y if x == affine.ZERO else x
    return stop


def _rest(expr: Expr, by: int) -> int | None:
    """What is left when it is divided by a number, where that is always the same."""
    terms, constant = affine.affine(expr)
    return constant % by if all(count % by == 0 for _, count in terms) else None


class _Nest:
    def __init__(self, loops: tuple[For, ...], body: Block, names: Names, signs: Signs, spread: Set[str]) -> None:
        self.loops, self.names, self.spread = loops, names, spread
        said = lambda expr: arithmetic(expr, signs.powers.__contains__, {})
        self.body = rewrite_block(body, lambda stmt: (map_expressions(stmt, said),))

    def in_groups(self) -> Block | None:
        """The loops over groups of iterations; None where no element is that of a group."""
        around = frozenset(loop.index.name for loop in self.loops)
        groups: dict[Var, _Group] = {}
        for loop in self.loops:
            if by := self.divisor(loop):
                name = self.names.index(f"{loop.index.name}_group", around)
                groups[loop.index] = _Group(loop, by, Var(name, INT64))
        copies = prod(group.by for group in groups.values())
        if not groups or copies > MOST or copies * len(statements(self.body)) > LONG:
            return None
        body: Block = tuple(self.written_out([*groups.values()]))
        for loop in reversed(self.loops):
            group = groups.get(loop.index)
            body = (replace(loop, body=body) if group is None else group.around(body),)
        return body

    # ------------------------------------------------------------------------------------------------- where it helps

    def divisor(self, loop: For) -> int | None:
        """How many iterations go together, for all that add to an element to be among them, or nearly."""
        if not isinstance(loop.start, Const) or loop.start.value < 0:
            return None
        added: dict[Array, list[tuple[Expr, ...]]] = {}
        for stmt in statements(self.body):
            if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
                added.setdefault(stmt.target.array, []).append(stmt.target.index)
        numbers: set[int] = set()
        for places in added.values():
            own = [self.quotients(part, loop.index) for place in places for part in place]
            found = set[int]().union(*(each for each in own if each))
            if None not in own and len(found) == 1:  # of several, some would still be added to by several threads
                numbers |= found
        for access in effects(self.body).accesses:
            if access.array.name in self.spread:
                numbers |= {by for x, by in _merged(access.index) if x == loop.index}
        most = max(numbers, default=0)
        return most if 1 < most <= MOST_ALONG and all(most % number == 0 for number in numbers) else None

    def quotients(self, part: Expr, index: Var) -> set[int] | None:
        """By what the index is divided in a part of the index of an element; None where it is in it otherwise, too."""
        out: set[int] = set()
        for term, _ in affine.affine(part)[0]:
            match term:
                case Call(op="floordiv", args=(x, Const(value=int(by)))) if affine.difference(x, index) is not None:
                    out.add(by)
                case _ if index in variables(term) or loads(term):
                    return None
        return out

    # ---------------------------------------------------------------------------------------------------- the body

    def written_out(self, groups: Sequence[_Group]) -> Iterator[Stmt]:
        own = sorted({s.var for s in statements(self.body) if isinstance(s, Assign)}, key=lambda var: var.name)
        for rests in product(*(range(group.by) for group in groups)):
            values: dict[Var, Expr] = {
                group.loop.index: group.at(rest) for group, rest in zip(groups, rests, strict=True)
            }
            values |= {var: Var(self.names.fresh(var.name), var.dtype) for var in own}
            # passes tell statements apart: what does not change is another object in each copy, too
            one = lambda stmt: settled(with_fields(map_expressions(stmt, _divided), {}))
            body = rewrite_block(substituted(self.body, values), one)
            asked = [each for group, rest in zip(groups, rests, strict=True) for each in group.runs(rest)]
            yield from (If(reduce(both, asked), body),) if asked else body


def _divided(expr: Expr) -> Expr:
    """2 * p + 1, divided by 2, is p, and 1 is left."""

    def divided(node: Expr) -> Expr:
        match node:
            case Call(op="floordiv", args=(x, Const(value=int(by)))) if node.dtype == INT64 and by > 0:
                return by_number("floordiv", x, by)
            case Call(op="mod" | "bitand") if (parts := remainder(node)) is not None:
                return by_number("mod", *parts)
        return affine.normal(node) if node.dtype == INT64 else node

    return rewrite(expr, divided)


__all__ = ["by_quotients"]
