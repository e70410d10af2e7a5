"""An integer quotient of what stays as it is, that loops want, is computed once: behind the check of its divisor.

    if heads == 0: raise …                           if heads == 0: raise …
    for i in range(n):                               t = d // heads
        for j in range(d // heads):         →        for i in range(n):
            …                                            for j in range(t):

A quotient may not be moved to where nobody has checked its divisor.  So the sweep would have one kept for every
iteration, and no pass takes loops over it for loops over one range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ..analysis.costs import DIVISIONS
from ..analysis.known_here import made_by
from ..analysis.lengths import lengths_of
from ..ir.expressions import INT64, Array, Call, Const, Dim, Expr, Load, Var
from ..ir.nodes import Assign, For, Function, If, Raise, Stmt, While
from ..ir.walk import expressions, remembered, statements, subexpressions, with_names_for


def divide_once(function: Function) -> Function:
    loops = [stmt for stmt in statements(function.body) if isinstance(stmt, (For, While))]
    wanted = {quotient for loop in loops for quotient in _quotients(loop)}
    if not wanted:
        return function
    sets = Counter(var for stmt in statements(function.body) for var in made_by(stmt))
    made = lengths_of(function).made
    arrays = {p.name for p in function.params if isinstance(p, Array) and made[p.name] == 1}
    lasting = {p for p in function.params if isinstance(p, Var) and not sets[p]}
    checked: set[Expr] = set()
    known: dict[Expr, Var] = {}

    def stays(expr: Expr) -> bool:
        return all(
            part in lasting or (isinstance(part, Dim) and part.array in arrays) or isinstance(part, (Const, Call))
            for part in subexpressions(expr)
        )

    body: list[Stmt] = []
    for stmt in function.body:
        for quotient in _quotients(stmt):
            if quotient in wanted - known.keys() and quotient.args[1] in checked and stays(quotient):
                known[quotient] = Var(function.info.names.fresh("t"), INT64)
                body.append(Assign(known[quotient], quotient))
        body.append(with_names_for(stmt, known) if known else stmt)
        checked.update(_divisors(stmt))
        if isinstance(stmt, Assign) and sets[stmt.var] == 1:
            lasting.add(stmt.var)
    return replace(function, body=tuple(body)) if known else function


@remembered
def _quotients(stmt: Stmt) -> tuple[Call, ...]:
    """Those in a statement, and in those inside it, by numbers that are not known."""
    found = (node for inner in statements((stmt,)) for expr in expressions(inner) for node in subexpressions(expr))
    return tuple(dict.fromkeys(node for node in found if _is_quotient(node)))  # type: ignore[misc]


def _is_quotient(expr: Expr) -> bool:
    return (
        isinstance(expr, Call)
        and expr.op in DIVISIONS
        and expr.dtype == INT64
        and not isinstance(expr.args[1], Const)
        and not any(isinstance(part, Load) for part in subexpressions(expr))
    )


def _divisors(stmt: Stmt) -> Iterator[Expr]:
    """The numbers that are not zero behind a check."""
    match stmt:
        case If(condition=condition, then=(*_, Raise()), orelse=()):
            work = [condition]
            while work:
                match work.pop():
                    case Call(op="or", args=args):
                        work += args
                    case Call(op="eq", args=(x, Const(value=0))) if x.dtype == INT64:
                        yield x
