"""A number that comes out the same in every iteration is computed ahead of the loop, and its derivative behind it.

    for i in range(n):                                     c = dt / (rho * dx)
        y[i] = dt / (rho * dx) * x[i]            →         for i in range(n):
                                                               y[i] = c * x[i]

LLVM does the first half by itself.  But three sums, of what comes back to dt, rho and dx from every element, can't
become one without this, and what calls a function stays where it is.  Only what every iteration computes moves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from ..analysis.costs import DIVISIONS
from ..analysis.dependence import edges_of, spread
from ..analysis.effects import effects
from ..analysis.known_here import made_by
from ..analysis.lengths import lengths_of
from ..ir.expressions import INT64, Array, Call, Dim, Expr, Load, Var, is_inexact
from ..ir.info import Info, roots_of
from ..ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt, Store, While
from ..ir.walk import blocks, map_expressions, rebuild, statements, subexpressions, variables, with_blocks
from ..rules.costs import cost

MOVES = (Assign, AddTo, Store)
DEAR = 10  # additions: `keep` would keep what costs more, one and the same number for every iteration to store


def hoist_scalars(function: Function) -> Function:
    info: Info = function.info
    roots = roots_of(function)
    steps = [(source, target) for target, sources, _ in edges_of(function.body, roots) for source, _ in sources]
    job = _Hoist(function, spread({roots.get(name, name) for name in info.wrt}, steps))
    body = job.block(function.body)
    ahead = [Assign(var, value) for value, var in job.ahead.items()]
    return replace(function, body=(*ahead, *body))


class _Hoist:
    def __init__(self, function: Function, varied: set[str]) -> None:
        self.names, self.varied = function.info.names, varied
        self.assigned = Counter(var for stmt in statements(function.body) for var in made_by(stmt))
        made = lengths_of(function).made
        self.lasting = {p.name for p in function.params if isinstance(p, Array) and made[p.name] == 1}
        self.ahead: dict[Expr, Var] = {}  # what arguments alone decide is computed once for the whole function
        self.ours: set[Var] = set()

    def block(self, block: Block, is_sure: bool = True) -> Block:
        """`is_sure`: it is run whenever the function is."""
        out: list[Stmt] = []
        for stmt in block:
            sure = is_sure and not isinstance(stmt, If)
            inner = tuple(self.block(part, sure) for part in blocks(stmt))
            stmt = with_blocks(stmt, inner) if inner else stmt
            if isinstance(stmt, (For, While)):
                out += self.split(stmt, is_sure)
            else:
                out.append(stmt)
        return tuple(out)

    def split(self, loop: For | While, is_sure: bool) -> list[Stmt]:
        """What moves ahead of the loop, and the loop."""
        changed = effects((loop,)).writes
        found: dict[Expr, Var] = {}  # with those that are ahead of the loop, in order
        ahead: list[Stmt] = []
        body: list[Stmt] = []
        for stmt in loop.body:
            if isinstance(stmt, Assign) and stmt.var in self.ours and not variables(stmt.value) & changed:
                ahead.append(stmt)
                changed = changed - {stmt.var}
            else:
                known = len(found)
                move = partial(self.moved, changed=changed, found=found, is_sure=is_sure)
                body.append(map_expressions(stmt, move) if isinstance(stmt, MOVES) else stmt)
                ahead += [Assign(var, expr) for expr, var in list(found.items())[known:]]
        return [*ahead, with_blocks(loop, (tuple(body),))]

    def moved(self, expr: Expr, changed: set[Var], found: dict[Expr, Var], is_sure: bool) -> Expr:
        if self.is_worth_it(expr) and not variables(expr) & changed:
            known = self.ahead if is_sure and not any(self.assigned[v] for v in variables(expr)) else found
            if expr not in known:
                known[expr] = Var(self.names.fresh("t"), expr.dtype)
                self.ours.add(known[expr])
            return known[expr]
        if not (isinstance(expr, Call) and is_sure_of(expr)):
            return expr
        return rebuild(expr, tuple(self.moved(part, changed, found, is_sure) for part in expr.args))

    def is_worth_it(self, expr: Expr) -> bool:
        if not is_inexact(expr.dtype) or not variables(expr) or not self.is_steady(expr):
            return False
        carries = bool(self.varied & {v.name for v in variables(expr)})
        return (carries and _computes(expr)) or _is_dear(expr)

    def is_steady(self, expr: Expr) -> bool:
        """Does it read no memory, and no length but those of arguments, and never raise where it is compiled?"""
        for part in subexpressions(expr):
            if isinstance(part, Load) or (isinstance(part, Dim) and part.array not in self.lasting):
                return False
            if isinstance(part, Call) and part.dtype == INT64 and part.op in DIVISIONS:
                return False
        return True


def _computes(expr: Expr) -> bool:
    return isinstance(expr, Call) and (expr.op not in ("cast", "neg") or any(map(_computes, expr.args)))


def _is_dear(expr: Expr) -> bool:
    calls = (node for node in subexpressions(expr) if isinstance(node, Call))
    return any(cost(call) >= DEAR for call in calls)


def is_sure_of(expr: Call) -> bool:
    """Are all operands computed, whatever they are?"""
    return expr.op not in ("select", "and", "or")


__all__ = ["hoist_scalars"]
