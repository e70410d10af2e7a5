"""Loops that are independent in one case, of two that are told apart ahead of them.

for i in range(n):                          if n % 2 == 0 and m % 2 == 0:
    for j in range(m):                          for i: for j:
        if (i + j) % 2 == c:                        if n % 2 == 0 and m % 2 == 0: …        (what is known there)
            u[i, j] = u[(i + 1) % n, j]…    else:
                                                for i: for j: …                            in order
for b in range(n):                          if h >= 0:
    if b & h == 0:                              h_1 = max(h, 0)
        y[b], y[b | h] = …                      for b: … h_1 …                             y[b | h] is no y[-2]
                                            else:
                                                for b: … h …                               in order
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Expr, Var, both
from ..ir.names import Names
from ..ir.nodes import Assign, Block, For, If, Stmt
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    numbers_set,
    statements,
    subexpressions,
    substituted,
    variables,
    with_blocks,
)
from ..ir.wraps import is_wrap
from .effects import effects
from .remainders import Remainder, known_in
from .signs import Signs

OF_PARTS = ("bitand", "bitor", "bitxor", "floordiv", "mod")


@dataclass(frozen=True)
class Case:
    """A loop as it is where a condition holds, behind what it needs."""

    condition: Expr
    ahead: tuple[Assign, ...]
    loop: For


def case_of(loop: For, signs: Signs, names: Names, own: Callable[[str], bool]) -> Case | None:
    """The case in which more is known of what the loop touches; None where nothing is asked that would help.

    `own`: is a name used nowhere but in the loop?  The loop that is not the other one has others for these.
    """
    changed = effects(loop.body).writes | {loop.index}
    lengths = list(dict.fromkeys(_lengths_to_divide(loop, changed)))
    numbers = list(dict.fromkeys(_numbers_of_parts(loop, changed, signs)))
    if not (lengths or numbers):
        return None
    divided = [affine.equals(Call("mod", (n, affine.integer(by)), INT64), affine.ZERO) for n, by in lengths]
    natural = {v: Var(names.fresh(v.name), INT64) for v in numbers}
    asked: list[Expr] = [*divided, *(Call("ge", (v, affine.ZERO), BOOL) for v in numbers)]
    ahead = tuple(Assign(new, Call("maximum", (v, affine.ZERO), INT64)) for v, new in natural.items())
    body = loop.body
    if divided:
        body = _asking(body, reduce(both, divided))
    indices = effects(body).indices
    inside = sorted((v for v in numbers_set(body) - indices if own(v.name)), key=lambda v: v.name)
    body = substituted(body, {**natural, **{v: Var(names.fresh(v.name), v.dtype) for v in inside}})
    return Case(reduce(both, asked), ahead, with_blocks(loop, (body,)))  # type: ignore[arg-type]


def _lengths_to_divide(loop: For, changed: set[Var]) -> Iterator[tuple[Expr, int]]:
    """The lengths of axes that places go around, and what leaves remainders where they do."""
    own = known_in(loop)[0] if known_in(loop) else ()
    for access in effects(loop.body).accesses:
        for known in (*own, *access.under):
            if not isinstance(known, Remainder):
                continue
            for node in (node for part in access.index if part is not None for node in subexpressions(part)):
                if is_wrap(node):
                    length = node.args[1]  # type: ignore[attr-defined]
                    if not (variables(length) & changed or loads(length)):
                        yield length, known.modulus


def _numbers_of_parts(loop: For, changed: set[Var], signs: Signs) -> Iterator[Var]:
    """The numbers that may be negative of which quotients, remainders or bits are asked in the loop."""
    for stmt in statements(loop.body):
        for node in (node for expr in expressions(stmt) for node in subexpressions(expr)):
            if isinstance(node, Call) and node.op in OF_PARTS and node.dtype == INT64:
                for v in sorted(variables(node) - changed, key=lambda v: v.name):
                    if v.dtype == INT64 and not signs.is_natural(v):
                        yield v


def _asking(block: Block, condition: Expr) -> Block:
    """The block, with a condition around what the innermost loops do."""
    if not any(isinstance(stmt, For) for stmt in statements(block)):
        return (If(condition, block),)
    out: list[Stmt] = []
    for stmt in block:
        inner = blocks(stmt)
        out.append(with_blocks(stmt, tuple(_asking(part, condition) for part in inner)) if inner else stmt)
    return tuple(out)


__all__ = ["Case", "case_of"]
