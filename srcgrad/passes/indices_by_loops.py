"""An index that an iteration has a name for is said by the indices of the loops around.

    for i in range(1, h - 1):                         for i in range(1, h - 1):
        for j in range(1, w - 1):                         for j in range(1, w - 1):
            c = i * w + j
            y[c] = x[c - w] + x[c - 1]        →               y[i * w + j] = x[i * w + j - w] + x[i * w + j - 1]

So all passes behind see how far the elements are that an iteration touches, and the sweep keeps no such name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..analysis.defined_indices import by_values, is_long
from ..analysis.effects import effects, values_behind, values_within
from ..analysis.lengths import lengths_of
from ..analysis.signs import signs_of
from ..ir.expressions import INT64, Call, Const, Dim, Expr, Load, Var
from ..ir.nodes import Assign, Block, For, Function, Rule, Stmt, Store
from ..ir.walk import blocks, map_expressions, rewrite, subexpressions, variables, with_blocks

ARITHMETIC = ("add", "mul", "neg", "sub")


def indices_by_loops(function: Function) -> Function:
    made = lengths_of(function).made
    fixed = signs_of(function).fixed | {name for name, often in made.items() if often == 1}
    return replace(function, body=_block(function.body, {}, frozenset(), frozenset(fixed)))


def _block(block: Block, said: Mapping[Var, Expr], indices: frozenset[Var], fixed: frozenset[Var | str]) -> Block:
    """`said`: names, by the indices of loops around, which are `indices` where nobody else sets them.

    `fixed`: variables and names of arrays that are what they are throughout.
    """
    out: list[Stmt] = []
    for stmt in block:
        within = values_within(stmt, said) if blocks(stmt) else said  # a condition of `while` is asked again and again
        new = _said(stmt, within) if within else stmt
        if blocks(stmt) and not isinstance(stmt, Rule):
            around = indices
            if isinstance(stmt, For) and stmt.index not in effects(stmt.body).writes:
                around = indices | {stmt.index}
            new = with_blocks(new, tuple(_block(part, within, around, fixed) for part in blocks(stmt)))
        out.append(new)
        here = values_behind(stmt, said)
        if isinstance(stmt, Assign) and stmt.var in here:
            value = by_values(stmt.value, said)
            here = {**here, stmt.var: value}
            if not _is_of_loops(stmt.var, value, indices, fixed):
                del here[stmt.var]
        said = here
    return tuple(out)


def _is_of_loops(var: Var, value: Expr, indices: frozenset[Var], fixed: frozenset[Var | str]) -> bool:
    if var.dtype != INT64 or var in fixed or indices.isdisjoint(variables(value)) or is_long(value):
        return False

    def stays(part: Expr) -> bool:
        match part:
            case Call(op=op):
                return op in ARITHMETIC
            case Dim(array=name):
                return name in fixed
        return isinstance(part, Const) or part in indices | fixed

    return all(map(stays, subexpressions(value)))


def _said(stmt: Stmt, values: Mapping[Var, Expr]) -> Stmt:
    index = lambda parts: tuple(by_values(part, values) for part in parts)

    def element(node: Expr) -> Expr:
        return replace(node, index=index(node.index)) if isinstance(node, Load) else node

    stmt = map_expressions(stmt, lambda expr: rewrite(expr, element))
    return replace(stmt, index=index(stmt.index)) if isinstance(stmt, Store) else stmt


__all__ = ["indices_by_loops"]
