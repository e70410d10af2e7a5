"""A value that a variable holds already is not computed again.

t = exp(x)                    t = exp(x)
y = t * w                     y = t * w
t_1 = exp(x)          →
x_b += y_b * w * t_1          x_b += y_b * w * t
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import chain

from ..ir.expressions import Array, Const, Expr, Var
from ..ir.info import roots_of
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
    targets,
    variables,
    with_blocks,
)


def without_repeats(function: Function) -> Block:
    made: dict[Var, int] = {p: 2 for p in function.params if isinstance(p, Var)}
    for leaf in leaves(function.results):
        made |= dict.fromkeys(variables(leaf) if isinstance(leaf, Expr) else (), 2)
    for stmt in statements(function.body):
        for item in _targets(stmt):
            if isinstance(item, Var):
                made[item] = made.get(item, 0) + 1
    return _block(function.body, _Held(roots_of(function)), made, _reads(function.body))


class _Held:
    """The values that variables hold, each found again by what it is made of."""

    def __init__(self, roots: Mapping[str, str]) -> None:
        self.roots = roots
        self.values: dict[Expr, Var] = {}
        self.naming: dict[Var | str, list[Expr]] = {}  # by the variables, and the memory, of a value and its holder

    def copy(self) -> _Held:
        out = _Held(self.roots)
        out.values, out.naming = dict(self.values), {key: [*exprs] for key, exprs in self.naming.items()}
        return out

    def hold(self, value: Expr, var: Var) -> None:
        self.values[value] = var
        keys: set[Var | str] = {var, *variables(value)}
        keys.update(self.roots.get(load.array.name, load.array.name) for load in loads(value))
        for key in keys:
            self.naming.setdefault(key, []).append(value)

    def forget(self, changed: set[Var], memory: set[str]) -> None:
        """What is made of any of these, or held by one, is not known any more."""
        for key in (*changed, *memory):
            for value in self.naming.pop(key) if key in self.naming else ():
                if isinstance(key, str) or self.values.get(value) == key or key in variables(value):
                    self.values.pop(value, None)


def _reads(block: Block) -> Counter[Var]:
    """How often each variable is read."""
    return Counter(chain.from_iterable(map(variables_read, statements(block))))


def _places(block: Block) -> dict[Var, list[int]]:
    """Which statements of the block read each variable, or hold those that do: in order, as often as it is read."""
    out: dict[Var, list[int]] = {}
    for position, stmt in enumerate(block):
        for inner in statements((stmt,)):
            for var in variables_read(inner):
                out.setdefault(var, []).append(position)
    return out


@remembered
def variables_read(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that a statement itself reads, each as often as it does."""
    return tuple(node for expr in expressions(stmt) for node in subexpressions(expr) if isinstance(node, Var))


def _block(block: Block, held: _Held, made: dict[Var, int], reads: Counter[Var]) -> Block:
    out: list[Stmt] = []
    same: dict[Var, Expr] = {}
    places: dict[Var, list[int]] | None = None
    for position, stmt in enumerate(block):
        if same:
            stmt = _with(stmt, same)
        if isinstance(stmt, Assign):
            known = held.values.get(stmt.value)
            if stmt.value == stmt.var or known == stmt.var:
                continue
            if known is not None and stmt.is_ours and made[stmt.var] == 1 and made[known] == 1:
                places = _places(block) if places is None else places
                own = places.get(stmt.var, [])
                if len(own) - bisect_right(own, position) == reads[stmt.var]:
                    same[stmt.var] = known
                    continue
        held.forget(*changed_by(stmt, held.roots))
        if blocks(stmt) and not isinstance(stmt, Rule):
            stmt = with_blocks(stmt, tuple(_block(b, held.copy(), made, reads) for b in blocks(stmt)))
        if isinstance(stmt, Assign) and not isinstance(stmt.value, (Var, Const)):
            if stmt.var not in variables(stmt.value) and stmt.value not in held.values:
                held.hold(stmt.value, stmt.var)
        elif isinstance(stmt, Assign) and isinstance(stmt.value, Var):
            held.hold(stmt.var, stmt.value)  # t_kept = t: nothing is to be done for t = t_kept
        out.append(stmt)
    return tuple(out)


def _with(stmt: Stmt, same: dict[Var, Expr]) -> Stmt:
    inner = blocks(stmt)
    if inner:
        stmt = with_blocks(stmt, tuple(tuple(_with(s, same) for s in b) for b in inner))
    return map_expressions(stmt, lambda e: e if variables(e).isdisjoint(same) else substitute(e, same))


def _targets(stmt: Stmt) -> tuple[Var | Array, ...]:
    return stmt.outputs if isinstance(stmt, Rule) else targets(stmt)


def changed_by(stmt: Stmt, roots: Mapping[str, str]) -> tuple[set[Var], set[str]]:
    """The variables and the memory that a statement, or one inside it, sets."""
    names, arrays = _changed(stmt)
    return set(names), {roots.get(name, name) for name in arrays}


@remembered
def _changed(stmt: Stmt) -> tuple[frozenset[Var], frozenset[str]]:
    found = [item for inner in statements((stmt,)) for item in _targets(inner)]
    names = frozenset(item for item in found if isinstance(item, Var))
    return names, frozenset(item.name for item in found if isinstance(item, Array))


__all__ = ["changed_by", "variables_read", "without_repeats"]
