"""What `keep` adds to the forward part: statements beside others, names for values, other statements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...analysis.validity import END, ROOT
from ...ir.expressions import Expr, Load, Var
from ...ir.nodes import AddTo, Assign, Block, Rule, Stmt
from ...ir.walk import blocks, children, made_for, map_expressions, rebuild, rewrite, subexpressions, with_blocks


@dataclass
class Edits:
    """What is added to the forward part."""

    before: dict[int, list[Stmt]] = field(default_factory=dict)
    after: dict[int, list[Stmt]] = field(default_factory=dict)
    entry: dict[tuple[int, int], list[Stmt]] = field(default_factory=dict)
    start: list[Stmt] = field(default_factory=list)
    named: dict[int, dict[Expr, Expr]] = field(default_factory=dict)
    ends: dict[tuple[int, int], list[Stmt]] = field(default_factory=dict)  # last first
    instead: dict[int, Stmt] = field(default_factory=dict)

    def applied(self, block: Block, key: tuple[int, int]) -> Block:
        """A block of the forward part with all that is added to it."""
        out: list[Stmt] = list(self.entry.get(key, []))
        for stmt in block:
            inner = blocks(stmt)
            if inner and not isinstance(stmt, Rule):
                stmt = with_blocks(stmt, tuple(self.applied(b, (stmt.label, n)) for n, b in enumerate(inner)))
            names = self.named.get(stmt.label)
            before = self.before.get(stmt.label, [])
            if names:
                stmt = _named(stmt, names)
                before = _names_first(before, names)
            out += made_for(stmt, before)
            if not isinstance(stmt, Rule):
                out.append(self.instead.get(stmt.label, stmt))
            out += made_for(stmt, self.after.get(stmt.label, []))
        if key == ROOT:
            out += self.before.get(END, [])
        return (*out, *reversed(self.ends.get(key, ())))


def _named(stmt: Stmt, names: dict[Expr, Expr]) -> Stmt:
    """The statement on the names that values have been given; what it writes to stays what it is."""
    if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
        target = Load(stmt.target.array, tuple(_with_names(i, names) for i in stmt.target.index))
        return replace(stmt, target=target, value=_with_names(stmt.value, names))
    return map_expressions(stmt, lambda e: _with_names(e, names))


def _names_first(before: list[Stmt], names: dict[Expr, Expr]) -> list[Stmt]:
    """The statements ahead, those that give names in front: the parts of a value before the value, which uses them."""
    given = {stmt.var: stmt for stmt in before if isinstance(stmt, Assign) and names.get(stmt.value) == stmt.var}
    shortest_first = sorted(given.values(), key=lambda stmt: sum(1 for _ in subexpressions(stmt.value)))
    out: list[Stmt] = []
    for stmt in shortest_first:
        parts = tuple(_with_names(part, names) for part in children(stmt.value))
        out.append(replace(stmt, value=rebuild(stmt.value, parts) if parts else stmt.value))
    return [*out, *(stmt for stmt in before if stmt not in given.values())]


def _with_names(expr: Expr, names: dict[Expr, Expr]) -> Expr:
    if expr in names:
        return names[expr]
    parts = children(expr)
    return rebuild(expr, tuple(_with_names(part, names) for part in parts)) if parts else expr


def renamed(stmt: Stmt, names: dict[str, str]) -> Stmt:
    def rename(expr: Expr) -> Expr:
        if isinstance(expr, Var) and expr.name in names:
            return Var(names[expr.name], expr.dtype)
        return expr

    inner = blocks(stmt)
    if inner:
        stmt = with_blocks(stmt, tuple(tuple(renamed(s, names) for s in block) for block in inner))
    return map_expressions(stmt, lambda e: rewrite(e, rename))
