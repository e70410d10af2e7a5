"""What a group of statements does for each of the iterations that go side by side: their numbers have one more axis.

s += w[j, a] * u[a]        →        for l in range(8): s[l] += w[j, a] * u[a, l]
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import effects
from ...analysis.lives import is_private, is_set
from ...analysis.reach import Reach
from ...analysis.varying import Varying
from ...ir import affine
from ...ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var, integer, select
from ...ir.nodes import AddTo, Assign, Block, For, If, Stmt, Store
from ...ir.walk import blocks, children, map_expressions, rebuild, variables, with_blocks
from .groups import Group
from .own_rows import OwnRows
from .rounds import Rounds


class Lanes:
    """`wide`: numbers and scratch with one more axis; of the `numbers` a group fetches those that it has from others.

    `totals`: numbers in the place of elements that all add to.
    """

    def __init__(self, varying: Varying, rows: OwnRows, rounds: Rounds, reach: Reach, lane: Var, width: int) -> None:
        self.varying, self.rows, self.rounds, self.reach = varying, rows, rounds, reach
        self.loop, self.names, self.lane, self.width = varying.loop, rows.names, lane, width
        self.wide: dict[str, Array] = {}
        self.numbers: set[Var] = set()
        self.totals: set[Var] = set()

    def expanded(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Group):
                zero = lambda total: Const(total.dtype.type(0).item(), total.dtype)
                out += [Assign(total, zero(total)) for total, _ in (*stmt.totals, *stmt.rare)]
                body = self.of_lane(stmt)
                ends = affine.ZERO, integer(self.width), affine.ONE
                out.append(For(self.lane, *ends, body, ordered=stmt.in_turn, vector=not stmt.in_turn))
                out += [AddTo(place, total, reorder=True) for total, place in stmt.totals]
                for total, place in stmt.rare:
                    is_there = Call("ne", (total, zero(total)), BOOL)
                    out.append(If(is_there, (AddTo(place, total, reorder=True),)))
            else:
                out.append(with_blocks(stmt, tuple(map(self.expanded, blocks(stmt)))))
        return tuple(out)

    def of_lane(self, group: Group) -> Block:
        """The statements for one of the iterations: numbers that others need, or had, are fetched and put back."""
        seen = effects(group.body)
        given = variables(group.mask) if group.mask is not None else frozenset()
        written = seen.writes & self.numbers
        start: list[Stmt] = []
        for var in sorted((seen.reads | written | given) & self.numbers, key=lambda var: var.name):
            is_made = is_private(var, group.body) and (is_set(var, group.body) or var not in written)
            if var in given or not is_made:
                start.append(Assign(var, self.place(var)))
        mask = group.mask
        if mask is not None and (not isinstance(mask, Var) or mask in written):
            is_in = Var(self.names.fresh("is_in"), BOOL)
            start.append(Assign(is_in, mask))
            mask = is_in
        end: list[Stmt] = []
        for var in sorted(written, key=lambda var: var.name):
            place = self.place(var)
            value: Expr = var if mask is None else select(mask, var, place)
            end.append(Store(place.array, place.index, value, checked=False))
        return (*start, *(self.of_one(stmt, mask) for stmt in group.body), *end)

    def place(self, var: Var) -> Load:
        return Load(self.wide[var.name], (self.lane,), checked=False)

    def of_one(self, stmt: Stmt, mask: Expr | None) -> Stmt:
        match stmt:
            case AddTo(target=target, value=value):
                place, value = self.value(target), self.value(value)
                assert isinstance(place, (Var, Load))
                is_lasting = isinstance(place, Load) or self.varying.is_shared_sum(stmt) or target in self.totals
                if mask is None or not is_lasting:
                    return replace(stmt, target=place, value=value)
                if stmt.reorder:
                    zero = Const(value.dtype.type(0).item(), value.dtype)
                    return replace(stmt, target=place, value=select(mask, value, zero))
                assert isinstance(place, Load)
                return Store(place.array, place.index, select(mask, place + value, place), place.checked, place.natural)
            case Store(array=array, index=index, value=value):
                place = self.value(Load(array, index, stmt.checked, stmt.natural))
                assert isinstance(place, Load)
                value = self.value(value)
                if mask is not None and place.array not in self.rounds.kept_arrays():
                    value = select(mask, value, place)
                return replace(stmt, array=place.array, index=place.index, value=value, checked=place.checked)
            case If() | For():
                parts = tuple(tuple(self.of_one(inner, mask) for inner in part) for part in blocks(stmt))
                stmt = with_blocks(stmt, parts)
        return map_expressions(stmt, self.value)

    def value(self, expr: Expr) -> Expr:
        """The expression for one of the iterations."""
        if isinstance(expr, Load) and (copy := self.rows.beside(expr, self.lane)) is not None:
            *others, lane = copy.index
            return replace(copy, index=(*map(self.value, others), lane))
        parts = children(expr)
        return self.shifted(rebuild(expr, tuple(map(self.value, parts))) if parts else expr)

    def shifted(self, node: Expr) -> Expr:
        here = affine.add(self.loop.index, self.lane)
        if node == self.loop.index:
            return here
        if isinstance(node, Load):
            index = tuple(map(affine.normal, node.index))
            ends = [self.loop.stop if part == here else self.reach.end_of(part) for part in index]
            if all((node.array, axis, end) in self.reach.inside for axis, end in enumerate(ends)):
                return replace(node, index=index, checked=False)
            if node.array.name in self.wide:
                return replace(node, array=self.wide[node.array.name], index=(*index, self.lane))
            return replace(node, index=index)
        return node


__all__ = ["Lanes"]
