"""Rows that iterations of a loop have each of its own, copied so that they lie side by side.

    for lane in range(8):                        x_lanes[a, lane] = x[i + lane, a], for all a
        s[lane] += x[i + lane, a] * w[j, a]  →   for lane in range(8):
                                                     s[lane] += x_lanes[a, lane] * w[j, a]

A row that is gone through again and again, for every j, is worth the copy; one of which only a window is read is not:
how many elements are touched, and how many there are, is then asked ahead of the loop.  What iterations change in rows
of their own is copied back; what they add to rows that others add to as well is summed beside them first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...analysis.effects import effects
from ...analysis.varying import Varying, elements, moves_along
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Load, Var, integer
from ...ir.nodes import AddTo, For, Stmt, Store, While
from ...ir.walk import loads, statements, subexpressions, variables

Loops = tuple[For | While, ...]


@dataclass(frozen=True)
class Row:
    """What one iteration has of an array: where its index stands in this axis."""

    array: Array
    axis: int

    @property
    def dims(self) -> tuple[Expr, ...]:
        axes = range(self.array.ndim)
        return tuple(Dim(self.array.name, axis) for axis in axes if axis != self.axis)


class OwnRows:
    """The rows of one loop that are copied, and what is copied `back`, or `summed`."""

    def __init__(self, names: Any, varying: Varying, width: int, is_natural: bool) -> None:
        self.names, self.varying, self.width, self.is_natural = names, varying, width, is_natural
        self.loop = varying.loop
        self.wide: dict[Row, Array] = {}
        self.touches: dict[Row, dict[Loops, None]] = {}  # the loops in which elements of a row are touched
        self.back: set[Row] = set()
        self.summed: set[Row] = set()

    def of(self, load: Load) -> Row | None:
        """Where i stands alone in one place of the index, and nothing else in it differs."""
        at = [axis for axis, part in enumerate(load.index) if self.varying.varies(part)]
        if len(at) != 1 or load.array.ndim < 2 or load.checked or not self.is_natural:
            return None
        return Row(load.array, at[0]) if load.index[at[0]] == self.loop.index else None

    def find(self, together: Iterable[tuple[Stmt, Loops]]) -> None:
        """Choose what is touched again and again by statements that iterations run together."""
        touched: dict[str, set[Row | None]] = {}
        for stmt in statements(self.loop.body):
            for load in elements(stmt):
                touched.setdefault(self.varying.root(load.array), set()).add(self.of(load))
        written = {self.varying.root(access.array) for access in effects(self.loop.body).accesses if access.writes}
        for stmt, around in together:
            for load in elements(stmt):
                row, root = self.of(load), self.varying.root(load.array)
                if row is None or root in self.varying.scratch or not _again(load, around):
                    continue
                if root not in written and row.axis == load.array.ndim - 1:
                    continue  # they lie side by side as it is
                if root not in written or touched[root] == {row}:
                    self.add(row, around)
                    self.back |= {row} if root in written else set()

    def sums(self, stmt: AddTo, around: Loops) -> bool:
        """Can what is added to a row that others add to as well be summed beside it first?"""
        place = stmt.target
        if not isinstance(place, Load):
            return False
        row = self.of(place)
        are_ours = all(stmt.reorder for stmt in self.varying.sums_into(place))
        if row is None or not are_ours or not _again(place, around):
            return False
        if row not in self.wide:
            self.summed.add(row)
        self.add(row, around)
        return True

    def add(self, row: Row, around: Loops) -> None:
        self.touches.setdefault(row, {})[around] = None
        if row not in self.wide:
            dims = (*row.dims, integer(self.width))
            self.wide[row] = Array(self.names.fresh(f"{row.array.name}_lanes"), row.array.dtype, dims)

    def worth(self) -> list[Expr]:
        """What has to hold for the copies to be worth it, of rows that are not gone through from end to end."""
        out: dict[Expr, None] = {}
        for row in self.wide:
            trips = [self.trips_of(around) for around in self.touches[row]]
            if None in trips or any(all(dim in found for dim in row.dims) for found in trips if found is not None):
                continue
            touched = reduce(affine.add, (affine.product(found) for found in trips if found is not None))
            out[Call("ge", (touched, affine.product(row.dims)), BOOL)] = None
        return list(out)

    def trips_of(self, around: Loops) -> tuple[Expr, ...] | None:
        """How often the loops run, where that is known ahead of the one whose iterations go together."""
        inside = effects(self.loop.body)
        made_here = inside.allocated | inside.views.keys()
        out: list[Expr] = []
        for loop in around:
            if not isinstance(loop, For):
                return None
            trips = affine.sub(loop.stop, loop.start)
            lengths = {node.array for node in subexpressions(trips) if isinstance(node, Dim)}
            is_known = not (loads(trips) or lengths & made_here or variables(trips) & inside.writes)
            if not is_known or not affine.same(loop.step, affine.ONE):
                return None
            out.append(trips)
        return tuple(out)

    def leave(self, loads: list[Load]) -> None:
        """Copy no rows of which these are elements."""
        left = set(map(self.of, loads))
        self.wide = {row: wide for row, wide in self.wide.items() if row not in left}

    def beside(self, load: Load, lane: Var) -> Load | None:
        """The element in the copy of its row."""
        row = self.of(load)
        if row not in self.wide:
            return None
        others = (part for axis, part in enumerate(load.index) if axis != row.axis)
        return Load(self.wide[row], (*others, lane), checked=False)

    def copies(self, lane: Var) -> list[Stmt]:
        """What runs ahead of the iterations."""
        return [self.in_loops(row, lane, self.copied) for row in self.wide]

    def copies_back(self, lane: Var) -> list[Stmt]:
        """What runs after them."""
        return [self.in_loops(row, lane, self.returned) for row in self.wide if row in self.back | self.summed]

    def in_loops(self, row: Row, lane: Var, make: Any) -> Stmt:
        indices = tuple(Var(self.names.fresh("at"), INT64) for _ in row.dims)
        place: list[Expr] = list(indices)
        place.insert(row.axis, affine.add(self.loop.index, lane))
        apart = Load(row.array, tuple(place), checked=False)
        body = (make(row, apart, Load(self.wide[row], (*indices, lane), checked=False)),)
        ends = affine.ZERO, integer(self.width), affine.ONE
        out: Stmt = For(lane, *ends, body, ordered=False, vector=True)
        for index, dim in reversed(list(zip(indices, row.dims, strict=True))):
            out = For(index, affine.ZERO, dim, affine.ONE, (out,), ordered=False)
        return out

    def copied(self, row: Row, apart: Load, beside: Load) -> Stmt:
        zero = Const(beside.dtype.type(0).item(), beside.dtype)
        return Store(beside.array, beside.index, zero if row in self.summed else apart, checked=False)

    def returned(self, row: Row, apart: Load, beside: Load) -> Stmt:
        if row in self.summed:
            return AddTo(apart, beside, reorder=True)
        return Store(apart.array, apart.index, beside, checked=False)


def _again(load: Load, around: Loops) -> bool:
    """Is it the same element in several iterations of a loop around it?"""
    return not all(moves_along(load, outer) for outer in around)


__all__ = ["Loops", "OwnRows"]
