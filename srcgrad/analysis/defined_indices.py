"""What an iteration touches, with indices said by what they were made of in it, instead of by the names that they have.

for i in range(1, s):
    j = s - i
    t[i, j] = t[i - 1, j] + …       is t[i, s - i], of t[i - 1, s - i]: two iterations never meet in them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Expr, Var
from ..ir.nodes import Assign, Block
from ..ir.walk import blocks, loads, statements, subexpressions, substitute, variables, with_blocks
from .effects import Access, Index, effects, values_behind

LONGEST = 64  # nodes of a bound, or an index, with values in the place of names


def by_values(expr: Expr, values: Mapping[Any, Expr]) -> Expr:
    """The same, by what the variables in it have been made of, and those of these."""
    while not values.keys().isdisjoint(variables(expr)) and not is_long(expr):
        expr = affine.normal(substitute(expr, values))
    return expr


def is_long(*lengths: Expr) -> bool:
    """Lengths made of each other, each of two others, would be twice as long with each step."""
    return any(sum(1 for _ in subexpressions(length)) > LONGEST for length in lengths)


def accesses_by_definition(body: Block) -> list[Access]:
    """The accesses of a loop's body, said of what views are views of."""
    inside = effects(body)
    if not any(isinstance(s, Assign) and s.var.dtype == INT64 for s in statements(body)):
        return inside.on_memory()
    set_here = {access.array.dtype for access in inside.accesses if access.writes}
    made_here = {*inside.views, *inside.allocated}
    is_table = lambda array: array.dtype not in set_here and array.name not in made_here
    indices = list(_indices(body, {}, is_table))
    if len(indices) != len(inside.accesses):
        return inside.on_memory()
    said = zip(inside.accesses, indices, strict=True)
    return [replace(access, index=index).through(inside.views) for access, index in said]


def _indices(block: Block, values: Mapping[Var, Expr], is_table: Callable[[Array], bool]) -> Iterator[Index]:
    """In the order in which `effects` has the accesses; `values`: what variables have been made of ahead of it.

    `is_table`: is the array the same, with the same in it, in all of the block?
    """
    for stmt in block:
        inner = blocks(stmt)
        alone = with_blocks(stmt, tuple(() for _ in inner)) if inner else stmt
        known = _unchanged(values, effects((stmt,)).writes) if inner else values
        for access in effects((alone,)).accesses:
            yield tuple(None if part is None else by_values(part, known) for part in access.index)
        for body in inner:
            yield from _indices(body, dict(known), is_table)
        values = values_behind(stmt, values)
        if isinstance(stmt, Assign) and _is_around_by_a_table(stmt.value, is_table):
            values = {**values, stmt.var: stmt.value}


def _is_around_by_a_table(value: Expr, is_table: Callable[[Array], bool]) -> bool:
    """Is it (i + s[k]) % n, of a table?"""
    read = [load.array for load in loads(value)]
    return bool(read) and isinstance(value, Call) and value.op == "mod" and all(map(is_table, read))


def _unchanged(values: Mapping[Var, Expr], changed: set[Var]) -> dict[Var, Expr]:
    return {var: value for var, value in values.items() if var not in changed and not variables(value) & changed}


__all__ = ["accesses_by_definition", "by_values", "is_long"]
