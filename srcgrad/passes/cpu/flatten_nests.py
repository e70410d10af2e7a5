"""Loops over all elements of arrays, one axis each, are one loop over their memory.

    for i in range(n):                               x_flat = x.reshape((n * m,)); y_flat = …
        for j in range(m):               →           for k in range(n * m):
            y[i, j] = tanh(x[i, j])                      y_flat[k] = tanh(x_flat[k])

The order is the same.  Only the innermost loop is vectorised, and the part of it that does not fill a register is not:
with rows of two or of seven elements that is all of it.  Some of the loops may be merged and others not:
y[i, j, k] = x[i, j, k] * w[i] goes along i, and along the pairs of j and k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from ...analysis.effects import effects
from ...analysis.lengths import Equal, in_order, lengths_of
from ...analysis.signs import signs_of
from ...analysis.varying import Differs
from ...ir import affine
from ...ir.expressions import INT64, Array, Expr, Load, Var
from ...ir.nodes import (
    AddTo,
    Assign,
    Block,
    Comment,
    For,
    Function,
    If,
    OwnCopy,
    Parallel,
    Raise,
    Reshape,
    Stmt,
    Store,
    View,
    While,
)
from ...ir.walk import (
    blocks,
    children,
    expressions,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    variables,
    with_blocks,
)
from .short_rows import ShortRows

SIMPLE = (AddTo, Assign, Comment, For, If, Raise, Store)
Views = dict[tuple[str, tuple[Expr, ...]], Array]


def flatten_nests(function: Function) -> Function:
    job = _Flatten(function)
    body = job.block(function.body, {}, Equal())
    first = tuple(OwnCopy(array, copy=False) for array in job.to_order.values())
    return replace(function, body=(*first, *body))


class _Flatten:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.names, self.lengths, self.trips = function.info.names, lengths_of(function), signs_of(function).trips
        self.lasting, self.may_be_in_order = in_order(function)
        self.to_order: dict[str, Array] = {}

    def block(self, block: Block, views: Views, equal: Equal, around: list[Stmt] | None = None) -> Block:
        """`views`: arrays with merged axes that there are already; more of them go ahead of the loops `around`."""
        out: list[Stmt] = []
        for stmt in block:
            ahead: list[Stmt] = [] if around is None else around
            self.equal = equal
            flat = self.flattened(stmt, views, ahead) if isinstance(stmt, For) else None
            tiles = self.in_tiles(flat or stmt, views, ahead, around is not None)
            if tiles is None and flat is None:
                inner = [self.part(stmt, part, views, equal, ahead, around) for part in blocks(stmt)]
                stmt = with_blocks(stmt, tuple(inner)) if inner else stmt
            if around is None:
                out += ahead
            out += tiles or (flat or stmt,)
            equal.learn(stmt, self.lengths)
        return tuple(out)

    def part(
        self, stmt: Stmt, part: Block, views: Views, equal: Equal, ahead: list[Stmt], around: list[Stmt] | None
    ) -> Block:
        if isinstance(stmt, For) and not stmt.ordered:
            return part  # what is in it may go side by side
        if isinstance(stmt, (For, While)):
            return self.block(part, views, equal.within(stmt), ahead)
        if isinstance(stmt, Parallel):  # a function of its own
            return self.block(part, {}, equal.within(stmt))
        return self.block(part, views if around is not None else dict(views), equal.within(stmt), around)

    def flattened(self, loop: For, views: Views, ahead: list[Stmt]) -> For | None:
        nest = [loop]
        while len(body := [s for s in nest[-1].body if not isinstance(s, Comment)]) == 1 and isinstance(body[0], For):
            nest.append(body[0])
        if not all(isinstance(stmt, SIMPLE) for stmt in statements(nest[-1].body)):
            return None
        groups = [[nest[0]]]
        for outer, inner in pairwise(nest):
            if self.may_merge(outer, inner, nest):
                groups[-1].append(inner)
            else:
                groups.append([inner])
        return self.with_groups(groups, nest[-1].body, views, ahead) if len(groups) < len(nest) else None

    # ---------------------------------------------------------------------------------------------- may they be one?

    def may_merge(self, outer: For, inner: For, nest: list[For]) -> bool:
        """Is each element that the nest touches by one of the indices the one at both, in whole rows?"""
        if not affine.same(inner.start, affine.ZERO) or any(x.step != affine.ONE for x in (outer, inner)):
            return False
        ends = [(loop.start, loop.stop) for loop in nest if loop is not inner]
        fixed = frozenset[Var]().union(*map(variables, (outer.start, outer.stop, inner.stop)))
        if fixed & effects((nest[0],)).writes or any(self.is_apart(e, outer, inner) for pair in ends for e in pair):
            return False
        return not any(self.is_apart(e, outer, inner) for stmt in statements(nest[-1].body) for e in _exprs(stmt))

    def is_apart(self, expr: Expr, outer: For, inner: For) -> bool:
        """Is one of the indices there for something else than to say, with the other, which element is meant?"""
        if not {outer.index, inner.index} & variables(expr):
            return False
        if not isinstance(expr, Load):
            return expr in (outer.index, inner.index) or any(self.is_apart(e, outer, inner) for e in children(expr))
        first = next((axis for axis, part in enumerate(expr.index) if part == outer.index), -1)
        if first < 0 or expr.index[first + 1 : first + 2] != (inner.index,):
            return True
        others = (*expr.index[:first], *expr.index[first + 2 :])
        length = self.lengths.of(expr.array)[first + 1]
        return (
            expr.checked
            or expr.array.name not in self.lasting
            or self.equal.one_of(length) != self.equal.one_of(self.trips(inner.stop))
            or any({outer.index, inner.index} & variables(part) for part in others)
        )

    def in_tiles(self, outer: Stmt, views: Views, ahead: list[Stmt], is_in_loop: bool) -> Block | None:
        """What is left as rows, several of them at a time."""
        if not isinstance(outer, For) or len(outer.body) != 1 or not isinstance(outer.body[0], For):
            return None
        inner = outer.body[0]
        if is_in_loop and not all(map(self.lengths.is_known_ahead, (outer.start, outer.stop, inner.stop))):
            return None  # (what is spread has its memory ahead of the loops around)
        made: list[Stmt] = []
        known, taken = dict(views), set(self.names.taken)

        def flat(place: Load, at: Expr) -> Load | None:
            if not {outer.index, inner.index} <= variables(place) or self.is_apart(place, outer, inner):
                return None
            return self.merged(place, {outer.index: at, inner.index: at}, known, made)

        try:
            memory, tiles = ShortRows(self.function, outer, inner, flat).made()
        except Differs:
            self.names.taken.intersection_update(taken)
            return None
        views |= known
        ahead += (*made, *memory)
        return tiles

    # ----------------------------------------------------------------------------------------------------- one loop

    def with_groups(self, groups: list[list[For]], body: Block, views: Views, ahead: list[Stmt]) -> For:
        """One loop for each group, and ahead of them arrays whose axes are merged alike."""
        merged: dict[Expr, Expr] = {}
        loops: list[For] = []
        for first, *others in groups:
            if others:
                index = Var(self.names.fresh("k"), INT64)
                merged |= {loop.index: index for loop in (first, *others)}
                row = affine.product(tuple(self.trips(loop.stop) for loop in others))
                start, stop = affine.mul(first.start, row), affine.mul(first.stop, row)
                is_ordered = any(loop.ordered for loop in (first, *others))
                first = replace(first, index=index, start=start, stop=stop, ordered=is_ordered)
            loops.append(first)

        def flat(place: Expr) -> Expr:
            return self.merged(place, merged, views, ahead) if isinstance(place, Load) else place

        def change(stmt: Stmt) -> Block:
            stmt = map_expressions(stmt, lambda expr: rewrite(expr, flat))
            if isinstance(stmt, Store):
                to = self.merged(Load(stmt.array, stmt.index), merged, views, ahead)
                stmt = replace(stmt, array=to.array, index=to.index)
            return (stmt,)

        *around, innermost = loops
        out = replace(innermost, body=rewrite_block(body, change))
        for loop in reversed(around):
            out = replace(loop, body=(out,))
        return out

    def merged(self, place: Load, index: Mapping[Expr, Expr], views: Views, ahead: list[Stmt]) -> Load:
        """The same element, in an array in which axes with one index are one axis."""
        if not any(part in index for part in place.index):
            return place
        parts: list[Expr] = []
        dims: list[Expr] = []
        is_merged = False
        for part, length in zip(place.index, self.lengths.of(place.array), strict=True):
            was_merged, is_merged = is_merged, part in index
            part = index.get(part, part)
            if was_merged and is_merged and part == parts[-1]:  # x[1, 1, …] has one index twice, and two axes
                dims[-1] = affine.mul(dims[-1], length)
            else:
                parts.append(part)
                dims.append(length)
        return replace(place, array=self.view(place.array, tuple(dims), views, ahead), index=tuple(parts))

    def view(self, base: Array, dims: tuple[Expr, ...], views: Views, ahead: list[Stmt]) -> Array:
        if base.name in self.may_be_in_order:
            self.to_order[base.name] = base
        if (base.name, dims) not in views:
            out = Array(self.names.fresh(f"{base.name}_flat"), base.dtype, dims)
            ahead.append(View(out, base, Reshape(dims)))
            views[base.name, dims] = out
        return views[base.name, dims]


def _exprs(stmt: Stmt) -> tuple[Expr, ...]:
    match stmt:
        case Store():
            return Load(stmt.array, stmt.index, stmt.checked), stmt.value
        case AddTo():
            return stmt.target, stmt.value
    return tuple(expressions(stmt))


__all__ = ["flatten_nests"]
