"""A value that a variable holds already is not computed again.

t = exp(x)                    t = exp(x)
y = t * w                     y = t * w
t_1 = exp(x)          →
x_b += y_b * w * t_1          x_b += y_b * w * t
"""

from __future__ import annotations

from collections import Counter

from ..ir.expressions import Array, Const, Expr, Var
from ..ir.nodes import Assign, Block, Function, Rule, Stmt, leaves
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    remembered,
    statements,
    subexpressions,
    substitute,
    variables,
    with_blocks,
    written,
)
from .info import roots_of

Held = dict[Expr, Var]


def without_repeats(function: Function) -> Block:
    made: dict[Var, int] = {p: 2 for p in function.params if isinstance(p, Var)}
    for leaf in leaves(function.results):
        made |= dict.fromkeys(variables(leaf) if isinstance(leaf, Expr) else (), 2)
    for stmt in statements(function.body):
        for item in _targets(stmt):
            if isinstance(item, Var):
                made[item] = made.get(item, 0) + 1
    return _block(function.body, {}, made, _reads(function.body), roots_of(function))


def _reads(block: Block) -> Counter[Var]:
    """How often each variable is read."""
    out: Counter[Var] = Counter()
    for stmt in statements(block):
        out.update(variables_read(stmt))
    return out


@remembered
def variables_read(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that a statement itself reads, each as often as it does."""
    return tuple(node for expr in expressions(stmt) for node in subexpressions(expr) if isinstance(node, Var))


def _block(block: Block, held: Held, made: dict[Var, int], reads: Counter[Var], roots: dict[str, str]) -> Block:
    out: list[Stmt] = []
    same: dict[Var, Expr] = {}
    for position, stmt in enumerate(block):
        if same:
            stmt = _with(stmt, same)
        if isinstance(stmt, Assign):
            if stmt.value == stmt.var or held.get(stmt.value) == stmt.var:
                continue
            known = held.get(stmt.value)
            once = known is not None and stmt.span is None and made[stmt.var] == 1 and made[known] == 1
            if known is not None and once and _reads(block[position + 1 :])[stmt.var] == reads[stmt.var]:
                same[stmt.var] = known
                continue
        changed, memory = changed_by(stmt, roots)
        if blocks(stmt) and not isinstance(stmt, Rule):
            _forget(held, changed, memory, roots)
            stmt = with_blocks(stmt, tuple(_block(b, dict(held), made, reads, roots) for b in blocks(stmt)))
        else:
            _forget(held, changed, memory, roots)
        if isinstance(stmt, Assign) and not isinstance(stmt.value, (Var, Const)):
            if stmt.var not in variables(stmt.value):
                held.setdefault(stmt.value, stmt.var)
        elif isinstance(stmt, Assign) and isinstance(stmt.value, Var):
            held[stmt.var] = stmt.value  # t_kept = t: nothing is to be done for t = t_kept
        out.append(stmt)
    return tuple(out)


def _with(stmt: Stmt, same: dict[Var, Expr]) -> Stmt:
    inner = blocks(stmt)
    if inner:
        stmt = with_blocks(stmt, tuple(tuple(_with(s, same) for s in b) for b in inner))
    return map_expressions(stmt, lambda e: e if variables(e).isdisjoint(same) else substitute(e, same))


def _targets(stmt: Stmt) -> tuple[Var | Array, ...]:
    if isinstance(stmt, Rule):
        return stmt.outputs
    target = written(stmt)
    return target if isinstance(target, tuple) else (target,) if target is not None else ()


def changed_by(stmt: Stmt, roots: dict[str, str]) -> tuple[set[Var], set[str]]:
    names: set[Var] = set()
    memory: set[str] = set()
    for inner in statements((stmt,)):
        for item in _targets(inner):
            if isinstance(item, Var):
                names.add(item)
            else:
                memory.add(roots.get(item.name, item.name))
    return names, memory


def _forget(held: Held, changed: set[Var], memory: set[str], roots: dict[str, str]) -> None:
    for expr, var in list(held.items()):
        if var in changed or variables(expr) & changed:
            del held[expr]
        elif memory and any(roots.get(x.array.name, x.array.name) in memory for x in loads(expr)):
            del held[expr]


__all__ = ["changed_by", "variables_read", "without_repeats"]
