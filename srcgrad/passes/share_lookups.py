"""An index that is looked up in one place after the other is looked up once.

    values_b[p] += g * x[columns[p]]              column = columns[p]
    x_b[columns[p]] += g * values[p]      →       values_b[p] += g * x[column]
                                                  x_b[column] += g * values[p]

Between the places neither the array that it is looked up in nor its own index may change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..analysis.effects import effects
from ..ir.expressions import LAZY, Call, Expr, Load, Var
from ..ir.info import roots_of
from ..ir.nodes import AddTo, Assign, Block, Function, Rule, Stmt, Store
from ..ir.walk import blocks, children, expressions, loads, made_for, map_expressions, rewrite, variables, with_blocks


def share_lookups(function: Function) -> Function:
    sharer = _Sharer(function)
    return replace(function, body=sharer.block(function.body))


class _Sharer:
    def __init__(self, function: Function) -> None:
        self.names, self.roots = function.info.names, roots_of(function)

    def block(self, block: Block) -> Block:
        out = [
            with_blocks(s, tuple(self.block(b) for b in blocks(s))) if blocks(s) and not isinstance(s, Rule) else s
            for s in block
        ]
        position = 0
        while position < len(out):
            for load in dict.fromkeys(_lookups(out[position])):
                end = self.end(load, out, position)
                if sum(lookup == load for stmt in out[position:end] for lookup in _lookups(stmt)) > 1:
                    var = Var(self.names.fresh(f"{load.array.name}_here"), load.dtype)
                    named = made_for(out[position], [Assign(var, load)])
                    out[position:end] = [*named, *(_with(s, load, var) for s in out[position:end])]
                    position += 1
            position += 1
        return tuple(out)

    def end(self, load: Load, block: list[Stmt], start: int) -> int:
        """How far the lookup comes out the same: the next loop or branch, or what changes it, is not reached."""
        for position in range(start, len(block)):
            stmt = block[position]
            if not isinstance(stmt, (Assign, AddTo, Store)):
                return position
            if self.changes(stmt, load):
                return position + 1  # it reads before it writes
        return len(block)

    def changes(self, stmt: Stmt, load: Load) -> bool:
        inside = effects((stmt,))
        written = {self.roots.get(a.array.name, a.array.name) for a in inside.accesses if a.writes}
        read = {self.roots.get(x.array.name, x.array.name) for x in loads(load)}
        return bool(inside.writes & variables(load) or written & read)


def _lookups(stmt: Stmt) -> Iterator[Load]:
    """The integers that a simple statement is sure to look up for an index, each time that it does."""
    if isinstance(stmt, (Assign, AddTo, Store)):
        for expr in expressions(stmt):
            yield from _in_indices(expr, False)
        if isinstance(stmt, Store):
            places: tuple[Expr, ...] = stmt.index
        else:
            places = stmt.target.index if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) else ()
        for part in places:
            yield from _in_indices(part, True)


def _in_indices(expr: Expr, is_index: bool) -> Iterator[Load]:
    if isinstance(expr, Load) and is_index:
        yield expr
    is_index |= isinstance(expr, Load)
    parts = children(expr)
    for part in parts[:1] if isinstance(expr, Call) and expr.op in LAZY else parts:
        yield from _in_indices(part, is_index)


def _with(stmt: Stmt, load: Load, var: Var) -> Stmt:
    change = lambda e: rewrite(e, lambda node: var if node == load else node)
    return map_expressions(stmt, change)


__all__ = ["share_lookups"]
