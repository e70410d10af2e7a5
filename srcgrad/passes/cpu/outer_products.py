"""What the steps of a loop add to a matrix, an outer product each, is added for 32 of them at a time, as one product.

    for t in …:                            for t in …:
        …                                      …
        W_b += outer(g, h)          →          g_rows[count], h_rows[count] = g, h
                                               count += 1
                                               if count == 32:
                                                   W_b += g_rows.T @ h_rows
                                                   count = 0
                                           if count > 0:
                                               W_b += g_rows[:count].T @ h_rows[:count]

So the matrix goes through the processor's registers once for all of them.  Recurrent networks, power iterations and
filters spend most of their way back on this.  It is done in the outermost loop that has nothing else to do with the
matrix, unless this has few rows or columns: of those so many steps would take more memory than the matrix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeGuard

from ...analysis.effects import names_of_its_own
from ...analysis.lengths import lengths_of
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Expr, Load, Var
from ...ir.info import memory_of
from ...ir.names import Names
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    For,
    Function,
    If,
    Library,
    Reshape,
    Run,
    Stmt,
    Store,
    Subscript,
    View,
    While,
)
from ...ir.walk import blocks, rewrite_block, statements, with_blocks

STEPS = affine.integer(32)
FEW = affine.integer(8)


def outer_products(function: Function) -> Function:
    if not any(map(_is_outer, statements(function.body))):
        return function
    job = _Together(function)
    return replace(function, body=job.block(function.body))


def _is_outer(stmt: Stmt) -> TypeGuard[Library]:
    return isinstance(stmt, Library) and stmt.routine == "add_outer"


def _is_in_order(stmt: Stmt) -> TypeGuard[Alloc | View]:
    return isinstance(stmt, Alloc) or (isinstance(stmt, View) and isinstance(stmt.how, Reshape))


class _Together:
    def __init__(self, function: Function) -> None:
        self.names, self.memory, self.lengths = function.info.names, memory_of(function), lengths_of(function)
        self.made = {stmt.array.name for stmt in statements(function.body) if _is_in_order(stmt)}

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            ahead: list[Stmt] = []
            behind: list[Stmt] = []
            for matrix in self.added_to(stmt) if isinstance(stmt, (For, While)) else ():
                rooms = _Rooms(matrix, self.lengths.of(matrix), self.names)
                ahead += rooms.made()
                behind.append(rooms.emptied())
                stmt = rewrite_block((stmt,), rooms.filled)[0]
            inner = tuple(map(self.block, blocks(stmt)))
            out += [*ahead, with_blocks(stmt, inner) if inner else stmt, *behind]
        return tuple(out)

    def added_to(self, loop: Stmt) -> list[Array]:
        """The matrices with which the loop has nothing else to do."""
        inside = statements((loop,))
        outer = [stmt for stmt in inside if _is_outer(stmt)]
        names = {name for stmt in inside if not _is_outer(stmt) for name in names_of_its_own(stmt)}
        names |= {arg.name for stmt in outer for arg in stmt.args if isinstance(arg, Array)}
        others = {self.memory.get(name, name) for name in names}
        found = (matrix for matrix in dict.fromkeys(stmt.out for stmt in outer) if matrix.name in self.made)
        return [m for m in found if self.memory[m.name] not in others and all(map(_may_be_many, self.lengths.of(m)))]


def _may_be_many(length: Expr) -> bool:
    return not isinstance(length, Const) or length.value >= FEW.value


class _Rooms:
    """Room for the left and the right vectors of so many products, no more than the matrix has; and their count."""

    def __init__(self, matrix: Array, dims: tuple[Expr, ...], names: Names) -> None:
        self.matrix, self.dims, self.names = matrix, dims, names
        self.count, self.steps = (Var(names.fresh(name), INT64) for name in ("count", "steps"))
        self.rows = tuple(Array(names.fresh("rows"), matrix.dtype, (self.steps, dim)) for dim in dims)

    def made(self) -> list[Stmt]:
        steps = affine.minimum(STEPS, affine.minimum(*self.dims))
        rooms = (Alloc(rows, rows.dims) for rows in self.rows)
        return [Assign(self.steps, steps), *rooms, Assign(self.count, affine.ZERO)]

    def filled(self, stmt: Stmt) -> Block:
        """A statement of the loop, where the products are put aside; and added, where there is no more room."""
        if isinstance(stmt, For) and any(_adds_to(inner, self.matrix) for inner in statements(stmt.body)):
            return (replace(stmt, ordered=True, apart=False),)
        if not _adds_to(stmt, self.matrix):
            return (stmt,)
        aside = (
            *map(self.put, self.rows, stmt.args),
            AddTo(self.count, affine.ONE),
            If(Call("eq", (self.count, self.steps), BOOL), (self.product(self.rows), Assign(self.count, affine.ZERO))),
        )
        return (If(Call("ge", (self.steps, FEW), BOOL), aside, (stmt,)),)

    def put(self, rows: Array, vector: Any) -> Stmt:
        i = Var(self.names.fresh("i"), INT64)
        copied = Store(rows, (self.count, i), Load(vector, (i,), checked=False), checked=False)
        return For(i, affine.ZERO, rows.dims[1], affine.ONE, (copied,), ordered=False)

    def emptied(self) -> Stmt:
        views = [self.used(rows) for rows in self.rows]
        product = self.product(tuple(view.array for view in views))
        return If(Call("gt", (self.count, affine.ZERO), BOOL), (*views, product))

    def used(self, rows: Array) -> View:
        length = rows.dims[1]
        part = Array(self.names.fresh("rows"), rows.dtype, (self.count, length))
        runs = Run(affine.ZERO, affine.ONE, self.count), Run(affine.ZERO, affine.ONE, length, whole=True)
        return View(part, rows, Subscript(runs))

    def product(self, rows: tuple[Array, ...]) -> Stmt:
        return Library("add_matmul_tn", self.matrix, rows)


def _adds_to(stmt: Stmt, matrix: Array) -> TypeGuard[Library]:
    return isinstance(stmt, Library) and matrix in stmt.outs


__all__ = ["outer_products"]
