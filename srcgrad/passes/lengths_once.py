"""A length that a loop computes, of what stays as it is, is computed once, ahead of the loop.

    while t < end:                                  n_1 = maximum(n - 1, 0)
        n_1 = maximum(n - 1, 0)                     while t < end:
        y = float64[n_1]                   →            y = float64[n_1]
        n_2 = maximum(n - 1, 0)                         z = float64[n_1]
        z = float64[n_2]

Loops over it are loops over one range, nobody has to compare it with itself, and the sweep need not be told of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..analysis.known_here import made_by
from ..analysis.lengths import lengths_of
from ..ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Var
from ..ir.nodes import Assign, Block, Function, Stmt, leaves
from ..ir.walk import blocks, map_expressions, statements, subexpressions, substitute, with_blocks

SURE = ("add", "sub", "mul", "neg", "maximum", "minimum", "select", "lt", "le", "gt", "ge", "eq", "ne")  # never raise


def lengths_once(function: Function) -> Function:
    job = _Once(function)
    body: list[Stmt] = []
    for stmt in function.body:
        ahead: list[Stmt] = []
        stmt = job.with_names(stmt)
        if blocks(stmt):
            stmt = with_blocks(stmt, tuple(job.block(part, ahead) for part in blocks(stmt)))
        elif isinstance(stmt, Assign) and stmt.var.dtype == INT64 and job.made[stmt.var] == 1:
            job.lasting.add(stmt.var)
            if job.is_steady(stmt.value):
                job.known.setdefault(stmt.value, stmt.var)
        body += [*ahead, stmt]
    if not job.moved:
        return function
    results = tuple(substitute(e, job.same) if isinstance(e, Expr) else e for e in leaves(function.results))
    return replace(function, body=tuple(body), results=results)


class _Once:
    def __init__(self, function: Function) -> None:
        self.made = Counter(var for stmt in statements(function.body) for var in made_by(stmt))
        made = lengths_of(function).made
        self.arrays = {p.name for p in function.params if isinstance(p, Array) and made[p.name] == 1}
        self.lasting = {p for p in function.params if isinstance(p, Var) and not self.made[p]}
        self.known: dict[Expr, Var] = {}
        self.same: dict[Expr, Expr] = {}
        self.moved = False

    def block(self, block: Block, ahead: list[Stmt]) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            stmt = self.with_names(stmt)
            if blocks(stmt):
                stmt = with_blocks(stmt, tuple(self.block(part, ahead) for part in blocks(stmt)))
            elif isinstance(stmt, Assign) and stmt.var.dtype == INT64 and self.made[stmt.var] == 1:
                if isinstance(stmt.value, Call) and self.is_steady(stmt.value):
                    self.moved = True
                    known = self.known.setdefault(stmt.value, stmt.var)
                    if known != stmt.var:
                        self.same[stmt.var] = known
                        stmt = replace(stmt, value=known)  # which handles of arrays may have in their lengths
                    self.lasting.add(stmt.var)
                    ahead.append(stmt)
                    continue
            out.append(stmt)
        return tuple(out)

    def with_names(self, stmt: Stmt) -> Stmt:
        return map_expressions(stmt, lambda e: substitute(e, self.same)) if self.same else stmt

    def is_steady(self, value: Expr) -> bool:
        for part in subexpressions(value):
            match part:
                case Const() | Var() if isinstance(part, Const) or part in self.lasting:
                    pass
                case Dim(array=array) if array in self.arrays:
                    pass
                case Call(op=op, dtype=dtype) if op in SURE and dtype in (INT64, BOOL):
                    pass
                case Call(op="mod", args=(_, Call(op="maximum", args=(_, Const(value=1)))), dtype=dtype) if (
                    dtype == INT64
                ):
                    pass  # by how much an axis is rolled
                case _:
                    return False
        return True


__all__ = ["lengths_once"]
