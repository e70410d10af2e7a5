"""Independent loops right within each other, over a body without loops, and the memory that such a body touches.

for i in range(n):
    for j in range(m):          (i, j), y[i, j] = x[i, j] * w[j]
        y[i, j] = x[i, j] * w[j]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..ir import affine
from ..ir.expressions import Array, Expr, Load, Var
from ..ir.info import roots_of
from ..ir.names import Names
from ..ir.nodes import Block, Comment, For, Function, Stmt, Swap
from ..ir.walk import blocks, loads, statements, variables, with_blocks
from .effects import Access, values_behind, values_within


def with_nests(
    block: Block,
    change: Callable[[Stmt, Mapping[Var, Expr]], Block | None],
    values: Mapping[Var, Expr] = MappingProxyType({}),
) -> Block:
    """The block with `change` made of each statement, which is told what variables have been made of ahead of it."""
    out: list[Stmt] = []
    for stmt in block:
        changed = change(stmt, values)
        if changed is not None:
            out += changed
        else:
            known = values_within(stmt, values)
            out.append(with_blocks(stmt, tuple(with_nests(part, change, known) for part in blocks(stmt))))
        values = values_behind(stmt, values)
    return tuple(out)


def nest_of(stmt: Stmt, flat: tuple[type[Stmt], ...]) -> tuple[tuple[For, ...], Block] | None:
    """Independent loops right within each other, upwards by one, over a body of such statements."""
    loops: list[For] = []
    while isinstance(stmt, For) and not stmt.ordered and affine.same(stmt.step, affine.ONE):
        loops.append(stmt)
        inside = tuple(s for s in stmt.body if not isinstance(s, Comment))
        if all(isinstance(s, flat) for s in inside):
            bounds = [bound for loop in loops for bound in (loop.start, loop.stop)]
            indices = {loop.index for loop in loops}
            is_box = not any(variables(bound) & indices or loads(bound) for bound in bounds)
            return (tuple(loops), inside) if is_box else None
        if len(inside) != 1:
            return None
        stmt = inside[0]
    return None


def element_of_each(loops: Sequence[For], name: str, dtype: np.dtype, names: Names) -> Load:
    """Of a new array, with one for each iteration of such loops: the iteration's own."""
    dims = tuple(affine.maximum(affine.sub(loop.stop, loop.start), affine.ZERO) for loop in loops)
    kept = Array(names.fresh(f"{name}_kept"), dtype, dims)
    return Load(kept, tuple(affine.sub(loop.index, loop.start) for loop in loops), checked=False, natural=True)


class Memory:
    """Which names may be handles on one memory."""

    def __init__(self, function: Function) -> None:
        self.roots = roots_of(function)
        self.exchanged: set[str] = set()
        for stmt in statements(function.body):
            if isinstance(stmt, Swap):
                self.exchanged |= {self.root(stmt.left.name), self.root(stmt.right.name)}

    def root(self, name: str) -> str:
        return self.roots.get(name, name)

    def may_be_one(self, x: str, y: str) -> bool:
        if x == y or self.root(x) == self.root(y):
            return True
        # a view made ahead of an exchange is of what the other name means behind it
        return {self.root(x), self.root(y)} <= self.exchanged and (x in self.roots or y in self.roots)

    def is_only_added_to(self, array: Array, accesses: Iterable[Access]) -> bool:
        """Of what is done: is nothing else done to this array?"""
        touched = [access for access in accesses if self.may_be_one(access.array.name, array.name)]
        return all(access.adds and access.array == array for access in touched)


__all__ = ["Memory", "element_of_each", "nest_of", "with_nests"]
