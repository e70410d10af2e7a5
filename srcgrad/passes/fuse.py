"""Loops over the same range that follow one another become one; arrays that then live within an iteration shrink.

    t = empty(n)
    for i: t[i] = exp(x[i])           for i:
    for i: y[i] = t[i] * w[i]    →        t = exp(x[i])
                                          y[i] = t * w[i]

A copy of a whole array (z[:] = y) is a loop where it comes after one that it can be merged with.

Two loops may be one where no iteration of the second needs what a later iteration of the first makes.  Only loops whose
order can't be seen are merged (array arithmetic, sums, loops proved independent, searches for what is greatest): the
user's own stay as written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

from ..analysis.conflicts import Conflicts
from ..analysis.effects import Access, Effects, effects, is_loud, names_used, uses
from ..analysis.extremes import extremes_of_nest
from ..analysis.lives import is_private
from ..analysis.meetings import meet_in_one_iteration, runs_along
from ..analysis.signs import Signs, signs_of
from ..ir import affine
from ..ir.expressions import Array, Call, Const, Expr, Load, Var
from ..ir.info import elementwise, roots_of
from ..ir.nodes import (
    Alloc,
    Assign,
    Block,
    CopyTo,
    For,
    Function,
    If,
    Pick,
    Rule,
    Run,
    Stmt,
    Store,
    Subscript,
    View,
    leaves,
)
from ..ir.rename import rename_arrays
from ..ir.walk import (
    blocks,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    substitute,
    variables,
    with_blocks,
)


def fuse(function: Function, quiet: frozenset[str] = frozenset()) -> Function:
    """The function with such loops merged.  `quiet`: functions that print nothing, and raise nothing of the user's."""
    roots, signs = roots_of(function), signs_of(function)
    body = Fuser(roots, signs, function, quiet).block(function.body, frozenset())
    return with_contracted(function, body, signs)


def with_contracted(function: Function, body: Block, signs: Signs) -> Function:
    """The function with this body, in which loops are merged, and with arrays that can live in one loop there."""
    made = {stmt.array.name for stmt in statements(body) if isinstance(stmt, Alloc)}
    fixed = fixed_in(function, body) if made else made
    if not made <= fixed:
        body = contracted(body, fixed, uses(body), signs)
    return replace(function, body=body)


# ----------------------------------------------------------------------------------------------------------- fusion


class Fuser:
    def __init__(self, roots: dict[str, str], signs: Signs, function: Function, quiet: frozenset[str]) -> None:
        self.roots, self.signs, self.names, self.quiet = roots, signs, function.info.names, quiet
        made = [s for s in statements(function.body) if isinstance(s, Alloc)]
        once = Counter(s.array.name for s in made)
        self.dims = {s.array.name: s.dims for s in made if once[s.array.name] == 1}
        self.own = {*once, *(shadow.name for shadow in function.info.shadows)}  # memory that no user sees

    def block(self, block: Block, around: frozenset[str]) -> Block:
        out: list[Stmt] = []
        conflicts = Conflicts(self.roots)
        for stmt in block:
            inner = blocks(stmt)
            if inner and not isinstance(stmt, Rule):
                index = {stmt.index.name} if isinstance(stmt, For) else set()
                stmt = with_blocks(stmt, tuple(self.block(b, around | index) for b in inner))
            loop = self.as_loop(stmt, around)
            if loop is not None:
                is_done = self.joined(out, loop, around, conflicts)
            else:
                is_done = isinstance(stmt, If) and self.joined_branches(out, stmt, around, conflicts)
            if not is_done:
                out.append(stmt)
        return tuple(out)

    def as_loop(self, stmt: Stmt, around: frozenset[str]) -> For | None:
        """The statement as a loop that others may be merged with: a copy is one, if there is one to merge it with."""
        if isinstance(stmt, CopyTo) and stmt.target.ndim and stmt.target.dtype == stmt.source.dtype:
            target, source, root = stmt.target, stmt.source, lambda array: self.roots.get(array.name, array.name)
            dims = self.dims.get(target.name)
            if root(source) != root(target) and dims is not None and dims == self.dims.get(source.name):
                stmt = elementwise(target, dims, lambda index: Load(source, index), self.names, around, stmt.span)
        return stmt if isinstance(stmt, For) else None

    def joined(self, out: list[Stmt], later: For, around: frozenset[str], conflicts: Conflicts) -> bool:
        """Merge a loop into an earlier one; what stands between them goes ahead of both.

        That is the last one that it can be merged with; or the first that reads what it reads, if it makes nothing but
        numbers: others wait for those.
        """
        if later.ordered and not extremes_of_nest(later):
            return False
        needed = 0  # what comes between and must stay ahead of the later loop, by its conflicts with that or others
        behind = len(out)  # from there on that is known
        found: tuple[int, tuple[list[Stmt], list[Stmt]]] | None = None
        makes_numbers = not any(a.writes for a in effects((later,)).accesses)
        for position in range(len(out) - 1, -1, -1):
            earlier = out[position]
            if isinstance(earlier, For) and _are_alike(earlier, later) and _shift(earlier, later) is not None:
                for stmt in reversed(out[position + 1 : behind]):
                    if not self.may_follow(stmt, later, needed, conflicts):
                        needed |= 1 << conflicts.number(stmt)
                behind = position + 1
                if conflicts.of(earlier) & needed:
                    continue
                if found is not None and not self.read_alike(earlier, later):
                    continue
                apart = self.apart(earlier, out[position + 1 :], later, conflicts)
                if apart is not None and self.are_one(earlier, later):
                    found = position, apart
                    if not makes_numbers:
                        break
        if found is None:
            return False
        position, (ahead, behind_it) = found
        first: Any = out[position]
        moved = _with_index(later, first.index, _shift(first, later))
        merged = self.block((*first.body, *moved.body), around | {first.index.name})
        out[position:] = [*ahead, replace(first, body=merged, ordered=later.ordered), *behind_it]
        return True

    def read_alike(self, earlier: For, later: For) -> bool:
        """Do both read some array?"""
        read, other = ({self.root(a) for a in effects((loop,)).accesses if not a.writes} for loop in (earlier, later))
        return not read.isdisjoint(other)

    def joined_branches(self, out: list[Stmt], later: If, around: frozenset[str], conflicts: Conflicts) -> bool:
        """Merge an `if` into an earlier one that asks the same, if there are loops in it that may be merged then."""
        if not _has_loop(later):
            return False
        for position in range(len(out) - 1, -1, -1):
            earlier = out[position]
            if isinstance(earlier, If) and earlier.condition == later.condition and _has_loop(earlier):
                between = out[position + 1 :]
                apart = self.apart(earlier, between, later, conflicts)
                if apart is None or not self.asks_the_same(earlier, between):
                    return False
                then, orelse = ((*x, *y) for x, y in zip(blocks(earlier), blocks(later), strict=True))
                merged = replace(earlier, then=self.block(then, around), orelse=self.block(orelse, around))
                out[position:] = [*apart[0], merged, *apart[1]]
                return True
        return False

    def asks_the_same(self, earlier: If, between: list[Stmt]) -> bool:
        """Is what the condition reads left alone up to the second time that it is asked?"""
        seen = effects((*earlier.then, *earlier.orelse, *between))
        read = {self.roots.get(load.array.name, load.array.name) for load in loads(earlier.condition)}
        written = {self.root(a) for a in seen.accesses if a.writes}
        return not (variables(earlier.condition) & seen.writes or read & written)

    def apart(
        self, earlier: Stmt, between: list[Stmt], later: Stmt, conflicts: Conflicts
    ) -> tuple[list[Stmt], list[Stmt]] | None:
        """What stands between two statements, as what may go ahead of the first, and what may go behind the second."""
        passed = 1 << conflicts.number(earlier)
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        for stmt in between:
            if not conflicts.of(stmt) & passed:
                ahead.append(stmt)
            elif self.may_follow(stmt, later, 0, conflicts):
                behind.append(stmt)
                passed |= 1 << conflicts.number(stmt)
            else:
                return None
        return ahead, behind

    def may_follow(self, stmt: Stmt, later: Stmt, needed: int, conflicts: Conflicts) -> bool:
        """May the statement come behind one that it is ahead of, and behind what is `needed` there?"""
        ahead = needed | 1 << conflicts.number(later)
        return not conflicts.of(stmt) & ahead and self.nobody_sees(effects((stmt,)), effects((later,)))

    def are_one(self, earlier: For, later: For) -> bool:
        """May two loops of one range, whose orders nobody sees, be one?"""
        shift = _shift(earlier, later)
        x, y = effects(earlier.body), effects(later.body)
        if x.pushed & y.popped and earlier.label != later.label:
            return False  # what an iteration pushes is popped by its own reverse
        one_way = x.pushed | x.popped | y.pushed | y.popped  # a stack is filled and emptied in opposite orders
        if one_way and earlier.label != later.label and not affine.same(earlier.step, later.step):
            return False
        if not self.visibility_allows(earlier, later, x, y):
            return False
        index = earlier.index
        if later.index != index and (index in y.reads or index in y.writes):
            return False
        body = _with_index(later, index, shift).body
        y = effects(body)
        return self.scalars_allow(x, y, earlier.body, body) and self.memory_allows(x, y, earlier)

    def visibility_allows(self, earlier: For, later: For, x: Effects, y: Effects) -> bool:
        """Does nobody see the order: is at most one of the two seen, and nothing of the other if an error ends them?

        What the user prints or raises comes ahead of an index of the other loop that is out of bounds, or behind it.
        """
        if not (x.is_visible or y.is_visible):
            return True
        if any(is_loud(stmt, self.quiet) for stmt in statements((earlier, later))):
            return False
        return not (x.is_visible and y.is_visible) and self.is_hidden(y if x.is_visible else x)

    def nobody_sees(self, own: Effects, last: Effects) -> bool:
        """May the first of the two come behind the other, though an error may end that?"""
        return not own.is_visible and (not last.is_visible or self.is_hidden(own))

    def is_hidden(self, silent: Effects) -> bool:
        return all(self.root(a) in self.own for a in silent.on_memory() if a.writes)

    def scalars_allow(self, x: Effects, y: Effects, first: Block, second: Block) -> bool:
        for var in (x.writes & (y.reads | y.writes)) | (x.reads & y.writes):
            if var in x.ours and var in y.ours:
                continue
            if var in x.pushed - x.popped and var in y.popped - y.pushed:
                continue
            if not (is_private(var, first) and is_private(var, second)):
                return False
        return True

    def memory_allows(self, x: Effects, y: Effects, loop: For) -> bool:
        changed = x.writes | y.writes
        by_root: dict[str, list[Access]] = {}
        for b in y.on_memory():
            by_root.setdefault(self.root(b), []).append(b)
        for a in x.on_memory():
            for b in by_root.get(self.root(a), ()):
                clash = (a.writes or b.writes) and not (a.adds and b.adds)
                if clash and not meet_in_one_iteration(a, b, loop, changed, self.signs):
                    return False
        return True

    def root(self, access: Access) -> str:
        return self.roots.get(access.array.name, access.array.name)


def _are_alike(earlier: For, later: For) -> bool:
    """Does nobody see the order of either, or do both look for what is greatest or least, in the same order?"""
    if not later.ordered:
        return not earlier.ordered
    return earlier.ordered and affine.same(earlier.step, later.step) and bool(extremes_of_nest(earlier))


def _shift(x: For, y: For) -> Expr | None:
    """What an index of the first loop lacks to be one of the second, as often as that runs: mostly nothing.

    The order of the indices may differ: that of neither loop can be seen.
    """
    (start, stop, step), (other_start, other_stop, other_step) = upwards(x), upwards(y)
    shift = affine.sub(other_start, start)
    if not affine.same(step, other_step) or not affine.same(affine.add(stop, shift), other_stop):
        return None
    return shift if isinstance(shift, Const) else None


def upwards(loop: For) -> tuple[Expr, Expr, Expr]:
    """The range of a loop whose order nobody sees, from its least index on."""
    if affine.same(loop.step, affine.integer(-1)):
        return affine.add(loop.stop, affine.ONE), affine.add(loop.start, affine.ONE), affine.ONE
    return loop.start, loop.stop, loop.step


def _with_index(loop: For, index: Var, shift: Expr | None) -> For:
    place = affine.add(index, shift or affine.ZERO)
    if loop.index == place:
        return loop
    change = lambda e: _folded(substitute(e, {loop.index: place}))
    return replace(loop, index=index, body=rewrite_block(loop.body, lambda s: (map_expressions(s, change),)))


def _folded(expr: Expr) -> Expr:
    return rewrite(expr, lambda node: affine.normal(node) if isinstance(node, Call) else node)


def _has_loop(stmt: Stmt) -> bool:
    return any(isinstance(inner, For) for inner in statements((stmt,)))


# ------------------------------------------------------------------------------------------------------ contraction


def fixed_in(function: Function, body: Block) -> set[str]:
    """Arrays that must stay arrays of their shape: results, views and their bases, whatever is used as a whole."""
    out = {p.name for p in function.params}
    out |= {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    every = effects(body)
    made: dict[str, int] = {}
    for stmt in statements(body):
        if isinstance(stmt, Alloc):
            made[stmt.array.name] = made.get(stmt.array.name, 0) + 1
    rows = [view for view in every.views.values() if _is_row(view)]
    out |= {view.array.name for view in every.views.values()}
    out |= {view.base.name for view in every.views.values() if view not in rows}
    whole: dict[str, int] = {}
    for access in every.accesses:
        if access.whole:
            whole[access.array.name] = whole.get(access.array.name, 0) + 1
    out |= {name for name, count in whole.items() if made.get(name) != 1 or count > 1}  # (one is the allocation)
    for stmt in statements(body):
        if isinstance(stmt, Rule):
            out |= names_used(stmt)
    return out | every.shapes


def contracted(block: Block, fixed: set[str], used: Counter[str], signs: Signs) -> Block:
    """Arrays that are used in one loop, an element of their own in every iteration, live inside it."""
    out = list(block)
    position = 0
    while position < len(out):
        stmt = out[position]
        if isinstance(stmt, Alloc) and stmt.array.name not in fixed:
            users = [k for k, s in enumerate(out) if k != position and stmt.array.name in names_used(s)]
            inside = uses((out[users[0]],))[stmt.array.name] if len(users) == 1 else 0
            if inside and inside + 1 == used[stmt.array.name] and isinstance(out[users[0]], For):
                sunk = _sunk(stmt, out[users[0]], signs)  # type: ignore[arg-type]
                if sunk is not None:
                    out[users[0]] = sunk
                    del out[position]
                    continue
        position += 1
    return tuple(
        with_blocks(s, tuple(contracted(b, fixed, used, signs) for b in blocks(s)))
        if blocks(s) and not isinstance(s, Rule)
        else s
        for s in out
    )


def _sunk(made: Alloc, loop: For, signs: Signs) -> For | None:
    """The loop with the array inside it, without the axis along which the loop runs."""
    inside = effects(loop.body)
    accesses = [a for a in inside.accesses if a.array.name == made.array.name]
    for view in _views(loop.body, made.array.name):
        picks = tuple(item.index if isinstance(item, Pick) else None for item in view.how.items)  # type: ignore[union-attr]
        accesses.append(Access(made.array, picks, True))
    if any(variables(dim) & inside.writes for dim in made.dims):
        return None
    for axis in range(made.array.ndim):
        first, *others = (a.index[axis] for a in accesses)
        if first is None or not runs_along(first, loop.index, inside.writes):
            continue
        if signs.is_apart(first, made.array, axis, loop):
            if all(part is not None and affine.same(part, first) for part in others):
                return _without_axis(made, loop, axis)
    return None


def _views(block: Block, name: str) -> list[View]:
    return [s for s in statements(block) if isinstance(s, View) and s.base.name == name]


def _is_row(view: View) -> bool:
    """Is the view one row of its base: an index along some axes, all of the others?"""
    if not isinstance(view.how, Subscript):
        return False
    items = view.how.items
    whole = all(isinstance(item, Pick) or (isinstance(item, Run) and item.whole) for item in items)
    return whole and any(isinstance(item, Pick) for item in items) and any(isinstance(item, Run) for item in items)


def _without_axis(made: Alloc, loop: For, axis: int) -> For:
    name, dtype = made.array.name, made.array.dtype
    dims = made.dims[:axis] + made.dims[axis + 1 :]
    smaller = Array(name, dtype, made.array.dims[:axis] + made.array.dims[axis + 1 :])
    drop = lambda index: index[:axis] + index[axis + 1 :]
    scalar = Var(name, dtype)

    def place(load: Load) -> Var | Load:
        return Load(smaller, drop(load.index)) if smaller.dims else scalar

    def read(node: Expr) -> Expr:
        return place(node) if isinstance(node, Load) and node.array.name == name else node

    def change(stmt: Stmt) -> tuple[Stmt, ...]:
        if name not in names_used(stmt):
            return (stmt,)
        stmt = map_expressions(stmt, lambda e: rewrite(e, read))
        if isinstance(stmt, View) and stmt.base.name == name:
            items = drop(stmt.how.items)  # type: ignore[union-attr]
            return (replace(stmt, base=smaller, how=Subscript(items)),)
        if isinstance(stmt, Store) and stmt.array.name == name:
            if not smaller.dims:
                return (Assign(scalar, stmt.value, span=stmt.span, label=stmt.label),)
            stmt = replace(stmt, array=smaller, index=drop(stmt.index))
        return (stmt,)

    parts = (rewrite_block((stmt,), change) if name in names_used(stmt) else (stmt,) for stmt in loop.body)
    body = _without_aliases(tuple(chain.from_iterable(parts)), smaller)
    first: Iterable[Stmt] = ()
    if smaller.dims:
        first = (replace(made, array=smaller, dims=dims),)
    elif made.fill is not None or not is_private(scalar, body):
        first = (Assign(scalar, made.fill or Const(dtype.type(0).item(), dtype), span=made.span),)
    return replace(loop, body=(*first, *body))


def _without_aliases(body: Block, array: Array) -> Block:
    """What was a row of the array, and is all of it now, goes by its name."""
    aliases = {
        view.array.name: array
        for view in _views(body, array.name)
        if isinstance(view.how, Subscript) and all(isinstance(item, Run) and item.whole for item in view.how.items)
    }
    if not aliases:
        return body
    kept = rewrite_block(body, lambda s: () if isinstance(s, View) and s.array.name in aliases else (s,))
    return tuple(rename_arrays(s, aliases) for s in kept)


__all__ = ["Fuser", "contracted", "fixed_in", "fuse", "upwards", "with_contracted"]
