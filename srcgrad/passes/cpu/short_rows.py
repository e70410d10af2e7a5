"""Rows that are too short to fill vector registers go through them several at a time.

    for i in range(n):                          rows = 8 * (64 // m + 1) if m < 256 else 1
        for j in range(m):                      w_rows = w, once for each of the rows
            y[i, j] = exp(x[i, j] - w[j])  →    for tile in range((n + rows - 1) // rows):
                                                    first, last = tile * rows * m, minimum(n, (tile + 1) * rows) * m
                                                    for k in range(last - first):
                                                        y_flat[first + k] = exp(x_flat[first + k] - w_rows[k])

What differs along the rows alone, or from row to row alone, is spread over as many rows as go together; to what is
summed along j alone, each of the rows adds in a place of its own.  The order is the same.  It is done only for what is
dear to compute: cheap operations take no longer than the spreading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...analysis.effects import effects
from ...analysis.signs import signs_of
from ...analysis.varying import Differs
from ...ir import affine
from ...ir.expressions import INT64, Array, Call, Const, Expr, Load, Var, compare, integer, select
from ...ir.info import roots_of
from ...ir.nodes import AddTo, Alloc, Assign, Block, Comment, For, Function, If, Stmt, Store
from ...ir.walk import blocks, children, loads, rebuild, statements, substitute, variables, with_blocks
from ...rules.costs import is_dear

LONG = 256  # elements: of rows of so many, what does not fill a register is little
ENOUGH = 64  # elements that make up for the way from tile to tile
TOGETHER = 8  # rows make whole registers, however long they are


class ShortRows:
    """Makes the tiles of one nest of two loops.  `flat` gives an element at both indices, at an index of its own."""

    def __init__(self, function: Function, outer: For, inner: For, flat: Callable[[Load, Expr], Load | None]) -> None:
        self.names, self.outer, self.inner, self.flat = function.info.names, outer, inner, flat
        self.roots, self.trips = roots_of(function), signs_of(function).trips
        seen = effects((outer,))
        self.changed = seen.writes - {outer.index, inner.index}
        self.written = {self.root(access.array) for access in seen.accesses if access.writes}
        self.k, self.row = self.fresh("k"), self.fresh("row")
        self.first, self.rows = self.fresh("first"), self.fresh("rows")
        self.along: dict[Load, Array] = {}  # what differs along the rows alone
        self.by_row: dict[Load, Array] = {}  # from row to row alone
        self.sums: dict[Load, Array] = {}  # is summed along j alone
        self.length = inner.stop  # of a row, see `made`
        self.is_sure = True  # is what is looked at reached by all iterations?

    def fresh(self, name: str) -> Var:
        return Var(self.names.fresh(name), INT64)

    def root(self, array: Array) -> str:
        return self.roots.get(array.name, array.name)

    def made(self) -> tuple[Block, Block]:
        """Memory, and the tiles."""
        length = self.length = self.trips(self.inner.stop)
        if self.inner.start != affine.ZERO or not self.inner.step == self.outer.step == affine.ONE:
            raise Differs
        if (isinstance(length, Const) and length.value >= LONG) or not any(map(is_dear, statements(self.inner.body))):
            raise Differs
        ends = (self.inner.stop, self.outer.start, self.outer.stop)
        moving = self.changed | {self.outer.index, self.inner.index}
        if any(loads(end) or moving & variables(end) for end in ends):
            raise Differs
        if not all(isinstance(s, (AddTo, Assign, Comment, If, Store)) for s in statements(self.inner.body)):
            raise Differs
        body = tuple(map(self.statement, self.inner.body))
        if not (self.along or self.by_row or self.sums):
            raise Differs
        for place in self.sums:  # nobody else looks
            places = [a for a in effects((self.outer,)).accesses if self.root(a.array) == self.root(place.array)]
            if not all(a.adds and a.index == place.index for a in places):
                raise Differs
        rows, tile, count = self.rows, self.fresh("tile"), self.fresh("count")
        trips = self.trips(affine.sub(self.outer.stop, self.outer.start))
        times = Call("floordiv", (integer(ENOUGH), affine.maximum(length, affine.ONE)), INT64)
        many = affine.mul(integer(TOGETHER), affine.add(times, affine.ONE))
        together = affine.minimum(select(compare("lt", length, integer(LONG)), many, affine.ONE), trips)
        arrays = (*self.along.values(), *self.by_row.values(), *self.sums.values())
        memory: list[Stmt] = [Assign(rows, affine.maximum(together, affine.ONE))]
        memory += [Alloc(array, array.dims) for array in arrays]
        there = affine.minimum(rows, trips)  # none where there are no rows: nothing was looked at
        start = affine.add(self.outer.start, affine.mul(tile, rows))
        tiles = Call("floordiv", (affine.sub(affine.add(trips, rows), affine.ONE), rows), INT64)
        steps: Block = (
            Assign(self.first, start),
            Assign(count, affine.minimum(rows, affine.sub(self.outer.stop, self.first))),
            *self.each(count, [(array, place) for place, array in self.by_row.items()]),
            For(self.k, affine.ZERO, affine.mul(count, length), affine.ONE, body, self.is_ordered()),
        )
        zeros = [(array, Const(array.dtype.type(0).item(), array.dtype)) for array in self.sums.values()]
        return tuple(memory), (
            *self.each(there, [*((array, place) for place, array in self.along.items()), *zeros]),
            For(tile, affine.ZERO, tiles, affine.ONE, steps, self.is_ordered()),
            *self.summed(there),
        )

    def is_ordered(self) -> bool:
        return self.outer.ordered or self.inner.ordered

    def each(self, rows: Expr, given: list[tuple[Array, Expr]]) -> Block:
        """Spread values over rows."""
        if not given:
            return ()
        here = affine.add(self.first, self.row)
        at = affine.add(affine.mul(self.row, self.length), self.inner.index)
        body = tuple(
            Store(array, (at,), substitute(value, {self.outer.index: here}), checked=False, natural=True)
            for array, value in given
        )
        return (self.over_rows(rows, body),)

    def summed(self, rows: Expr) -> Block:
        at = affine.add(affine.mul(self.row, self.length), self.inner.index)
        body = tuple(
            AddTo(place, Load(array, (at,), checked=False, natural=True), reorder=True)
            for place, array in self.sums.items()
        )
        return (self.over_rows(rows, body),) if body else ()

    def over_rows(self, rows: Expr, body: Block) -> For:
        return For(self.row, affine.ZERO, rows, affine.ONE, (replace(self.inner, body=body, ordered=False),), few=True)

    # ----------------------------------------------------------------------------------------- one of the elements

    def statement(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(value=value):
                return replace(stmt, value=self.value(value))
            case If(condition=condition):
                condition, around, self.is_sure = self.value(condition), self.is_sure, False
                parts = tuple(tuple(map(self.statement, part)) for part in blocks(stmt))
                self.is_sure = around
                return with_blocks(replace(stmt, condition=condition), parts)
            case Store(array=array, index=index, value=value):
                to = self.flat(Load(array, index, stmt.checked, stmt.natural), self.place())
                if to is None:
                    raise Differs
                return replace(stmt, array=to.array, index=to.index, value=self.value(value))
            case AddTo(target=Var(), value=value):
                return replace(stmt, value=self.value(value))
            case AddTo(target=Load() as target, value=value):
                return replace(stmt, target=self.target(target, stmt.reorder), value=self.value(value))
        return stmt

    def target(self, place: Load, is_ours: bool) -> Load:
        to = self.flat(place, self.place())
        if to is not None:
            return to
        if not is_ours or self.uses(place) != {self.inner.index} or self.changed & variables(place) or place.checked:
            raise Differs
        return self.spread(self.sums, place)

    def place(self) -> Expr:
        return affine.add(affine.mul(self.first, self.length), self.k)

    def uses(self, expr: Expr) -> set[Var]:
        return {self.outer.index, self.inner.index} & variables(expr)

    def value(self, expr: Expr) -> Expr:
        if expr in (self.outer.index, self.inner.index):
            raise Differs
        if isinstance(expr, Load):
            flat = self.flat(expr, self.place())
            if flat is not None:
                return flat
            used = self.uses(expr)
            is_changed = self.root(expr.array) in self.written or bool(self.changed & variables(expr))
            if expr.checked or is_changed or len(used) == 2:
                raise Differs
            if used:
                return self.spread(self.along if used == {self.inner.index} else self.by_row, expr)
            return expr
        parts = children(expr)
        around = self.is_sure
        values = []
        for part in parts:
            values.append(self.value(part))
            self.is_sure = around and not (isinstance(expr, Call) and expr.op in ("select", "and", "or"))
        self.is_sure = around
        return rebuild(expr, tuple(values)) if parts else expr

    def spread(self, group: dict[Load, Array], place: Load) -> Load:
        if not self.is_sure:  # an element that is only there where a condition holds
            raise Differs
        if place not in group:
            name = self.names.fresh(f"{place.array.name}_rows")
            group[place] = Array(name, place.dtype, (affine.mul(self.rows, self.length),))
        return Load(group[place], (self.k,), checked=False, natural=True)


__all__ = ["ShortRows"]
