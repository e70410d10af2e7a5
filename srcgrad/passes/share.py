"""A dear value that a block needs twice is computed once, under a name.

x_b[i] = g * np.exp(-abs(x[i]))             t = np.exp(-abs(x[i]))
y_b[i] = g / (1.0 + np.exp(-abs(x[i])))  →  x_b[i] = g * t
                                            y_b[i] = g / (1.0 + t)

What is cheap stays as it reads best: machine code has that once in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ..ir.expressions import Call, Const, Expr, Var, is_inexact
from ..ir.info import roots_of
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, Function, Stmt, Store
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    remembered,
    rewrite,
    subexpressions,
    variables,
    with_blocks,
)
from ..rules.costs import cost
from ..rules.scalar import PRIMITIVES, spelling
from .repeats import changed_by

DEAR = 10  # additions


def share(function: Function) -> Function:
    return replace(function, body=_Share(function.info.names, roots_of(function)).block(function.body))


class _Share:
    def __init__(self, names: Names, roots: dict[str, str]) -> None:
        self.names = names
        self.roots = roots

    def block(self, block: Block) -> Block:
        out = [with_blocks(s, tuple(map(self.block, blocks(s)))) if blocks(s) else s for s in block]
        position, times = 0, _times(out)
        while position < len(out):
            for value in _largest_first(_always_computed(out[position])):
                if times[value] < 2:
                    continue
                end = self.end_of(value, out, position)
                if sum(_dear_values(stmt)[value] for stmt in out[position:end]) > 1:
                    name = Var(self.names.fresh("t"), value.dtype)
                    out[position:end] = [
                        _with(stmt, value, name) if _dear_values(stmt)[value] else stmt for stmt in out[position:end]
                    ]
                    out.insert(position, Assign(name, value))
                    times = _times(out)
                    break
            position += 1
        return tuple(out)

    def end_of(self, value: Expr, block: list[Stmt], start: int) -> int:
        """Up to where the value is the same.  A statement reads before it writes, unless it holds others."""
        names, memory = variables(value), {self.roots.get(x.array.name, x.array.name) for x in loads(value)}
        for position in range(start, len(block)):
            changed, written = changed_by(block[position], self.roots)
            if changed & names or written & memory:
                return position if blocks(block[position]) else position + 1
        return len(block)


def _largest_first(values: Iterator[Call]) -> list[Call]:
    return sorted(dict.fromkeys(values), key=lambda value: -sum(1 for _ in subexpressions(value)))


def _always_computed(stmt: Stmt) -> Iterator[Call]:
    if isinstance(stmt, (Assign, AddTo, Store)):
        for expr in expressions(stmt):
            yield from _dear(expr)


def _dear(expr: Expr) -> Iterator[Call]:
    """The dear parts of an expression, those apart that only one side of a choice needs."""
    if isinstance(expr, Call):
        if _is_dear(expr):
            yield expr
        for arg in expr.args[:1] if expr.op in ("select", "and", "or") else expr.args:
            yield from _dear(arg)


def _is_dear(call: Call) -> bool:
    is_costly = is_inexact(call.dtype) and call.op in PRIMITIVES and cost(call) >= DEAR
    return is_costly and not (call.op == "pow" and isinstance(call.args[1], Const) and "**" in spelling(call))


@remembered
def _dear_values(stmt: Stmt) -> Counter[Expr]:
    """How often each dear value stands in a statement, or in those inside it."""
    own = (node for expr in expressions(stmt) for node in subexpressions(expr))
    out: Counter[Expr] = Counter(node for node in own if isinstance(node, Call) and _is_dear(node))
    for block in blocks(stmt):
        for inner in block:
            if found := _dear_values(inner):
                out.update(found)
    return out


def _times(block: list[Stmt]) -> Counter[Expr]:
    out: Counter[Expr] = Counter()
    for stmt in block:
        if found := _dear_values(stmt):
            out.update(found)
    return out


def _with(stmt: Stmt, value: Expr, name: Var) -> Stmt:
    if blocks(stmt):
        stmt = with_blocks(stmt, tuple(tuple(_with(s, value, name) for s in block) for block in blocks(stmt)))
    return map_expressions(stmt, lambda expr: rewrite(expr, lambda node: name if node == value else node))


__all__ = ["share"]
