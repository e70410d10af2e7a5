"""What branches within a branch come out as, and is only renamed behind them, has that name at once.

if a:                          if a:
    y_2 = x                        y_2 = x
else:                          elif b:
    if b:                          y_2 = 2.0 * x
        y_1 = 2.0 * x     →    else:
    else:                          y_2 = 3.0 * x
        y_1 = 3.0 * x
    y_2 = y_1
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..ir.expressions import Expr, Var
from ..ir.nodes import Assign, Block, Function, If, Stmt, leaves
from ..ir.walk import blocks, expressions, mentioned, remembered, statements, targets, variables, with_blocks


def name_joins(function: Function) -> Function:
    """The function with one name where branches in a chain hand a number on."""
    every = statements(function.body)
    if not any(isinstance(stmt, If) for stmt in every):
        return function
    return replace(function, body=_Joins(function, every).block(function.body, {}))


class _Joins:
    """How often numbers are read and set in the function, and those that are set by anything but an assignment."""

    def __init__(self, function: Function, every: list[Stmt]) -> None:
        results = (leaf for leaf in leaves(function.results) if isinstance(leaf, Expr))
        read = [expr for stmt in every for expr in expressions(stmt)]
        self.read = Counter(var for expr in (*results, *read) for var in variables(expr))
        self.set = Counter(stmt.var for stmt in every if isinstance(stmt, Assign))
        others = (var for stmt in every if not isinstance(stmt, Assign) for var in targets(stmt))
        self.otherwise = {*function.params, *others}

    def block(self, block: Block, names: dict[Var, Var]) -> Block:
        """The block, in which some numbers that are set have other names."""
        out: list[Stmt] = []
        joined: dict[Var, Var] = {}  # what comes out of the last branch
        for k, stmt in enumerate(block):
            if isinstance(stmt, Assign) and stmt.value in joined:
                continue
            if isinstance(stmt, Assign) and stmt.var in names:
                stmt = replace(stmt, var=names[stmt.var])
            if isinstance(stmt, If):
                joined = self._renamed(stmt, block[k + 1 :], names)
            if blocks(stmt):
                inside = names | joined if isinstance(stmt, If) else names
                stmt = with_blocks(stmt, tuple(self.block(part, inside) for part in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    def _renamed(self, branch: If, behind: Block, names: dict[Var, Var]) -> dict[Var, Var]:
        """What comes out of a branch, and the names that it gets by the assignments right behind."""
        out: dict[Var, Var] = {}
        sets, within = _sets(branch), _within(branch)
        for stmt in behind:
            if not isinstance(stmt, Assign):
                break
            var, value = stmt.var, stmt.value
            if isinstance(value, Var) and value.dtype == var.dtype and var not in within:
                if self.read[value] == 1 and value not in self.otherwise and self.set[value] == sets[value]:
                    out[value] = names.get(var, var)
            within = within | mentioned(stmt)
        return out


@remembered
def _within(branch: If) -> frozenset[Var]:
    return frozenset().union(*(mentioned(stmt) for stmt in statements((branch,))))


@remembered
def _sets(branch: If) -> Counter[Var]:
    return Counter(stmt.var for stmt in statements((branch,)) if isinstance(stmt, Assign))


__all__ = ["name_joins"]
