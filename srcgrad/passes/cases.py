"""Loops that are independent in one case, of two that are told apart ahead of them.

for i in range(n):                          if n % 2 == 0 and m % 2 == 0:
    for j in range(m):                          for i: for j:
        if (i + j) % 2 == c:                        if n % 2 == 0 and m % 2 == 0: …        (what is known there)
            u[i, j] = u[(i + 1) % n, j]…    else:
                                                for i: for j: …                            in order
for i in range(w, n):                       if w >= 0:                                             y[i] is no y[-1]
    y[i] = x[i - w]                             w_1 = max(w, 0)
                                                for i in range(w_1, n): …
for b in range(n):                          if h >= 0:
    if b & h == 0:                              h_1 = max(h, 0)
        y[b], y[b | h] = …                      for b: … h_1 …                             y[b | h] is no y[-2]
                                            else:
                                                for b: … h …                               in order
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from ..analysis.effects import effects
from ..analysis.remainders import Remainder, known_in
from ..analysis.signs import Signs
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Dim, Expr, Load, Var, both
from ..ir.names import Names
from ..ir.nodes import Assign, Block, For, If, Stmt, While
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    substituted,
    variables,
    with_blocks,
)
from ..ir.wraps import is_wrap

OF_PARTS = ("bitand", "bitor", "bitxor", "floordiv", "mod")


@dataclass(frozen=True)
class Case:
    """A loop as it is where a condition holds, behind what it needs."""

    condition: Expr
    ahead: tuple[Assign, ...]
    loop: For


def cases_of(loop: For, signs: Signs, names: Names, own: Callable[[str], bool]) -> Iterator[Case]:
    """The cases in which more is known of what the loop touches, those of which less is asked first.

    `own`: is a name used nowhere but in the loop?  The loop that is not the other one has others for these.
    """
    changed = effects(loop.body).writes | {loop.index}
    of_parts = dict.fromkeys(_numbers_of_parts(loop, changed, signs))
    for numbers in dict.fromkeys(
        (tuple(of_parts), tuple(of_parts | dict.fromkeys(_numbers_of_places(loop, changed, signs))))
    ):
        case = _case_of(loop, signs, names, own, numbers)
        if case is not None:
            yield case


def _case_of(loop: For, signs: Signs, names: Names, own: Callable[[str], bool], numbers: Sequence[Var]) -> Case | None:
    """The case in which these numbers are not negative, lengths are multiples, and nothing is divided by 0."""
    changed = effects(loop.body).writes | {loop.index}
    lengths = list(dict.fromkeys(_lengths_to_divide(loop, changed)))
    least: dict[Expr, Expr] = dict.fromkeys(numbers, affine.ZERO)
    least |= dict.fromkeys(_divisors(loop, changed, signs), affine.ONE)
    if not (lengths or least):
        return None
    divided = [affine.equals(Call("mod", (n, affine.integer(by)), INT64), affine.ZERO) for n, by in lengths]
    greater = {number: Var(names.fresh(_name_of(number)), INT64) for number in least}
    asked: list[Expr] = [*divided, *(Call("ge", (number, bound), BOOL) for number, bound in least.items())]
    ahead = tuple(Assign(new, Call("maximum", (old, least[old]), INT64)) for old, new in greater.items())
    body = loop.body
    if divided:
        body = _asking(body, reduce(both, divided))
    lengths_said = lambda node: greater[node] if isinstance(node, Dim) and node in greater else node
    indices = effects(body).indices
    inside = sorted((v for v in numbers_set(body) - indices if own(v.name)), key=lambda v: v.name)
    others = {v: Var(names.fresh(v.name), v.dtype) for v in inside}
    (said,) = substituted((with_blocks(loop, (body,)),), {**greater, **others})
    (said,) = rewrite_block((said,), lambda stmt: (map_expressions(stmt, lambda expr: rewrite(expr, lengths_said)),))
    assert isinstance(said, For)
    return Case(reduce(both, asked), ahead, said)


def conjuncts(condition: Expr) -> frozenset[Expr]:
    """What has to hold for it to hold; h > 0 is h >= 1."""
    match condition:
        case Call(op="and", args=(x, y)) if condition.dtype == BOOL:
            return conjuncts(x) | conjuncts(y)
        case Call(op="gt", args=(x, y)) if x.dtype == y.dtype == INT64:
            return frozenset({Call("ge", (x, affine.add(y, affine.ONE)), BOOL)})
    return frozenset({condition})


def holding_in(stmt: Stmt, holding: frozenset[Expr]) -> tuple[frozenset[Expr], ...]:
    """What holds where each block of a statement begins, by what does where it stands itself."""
    match stmt:
        case If(condition=condition):
            return holding | conjuncts(condition), holding
        case While(condition=condition):
            return (unchanged(holding, stmt) | conjuncts(condition),)
    return (unchanged(holding, stmt),) * len(blocks(stmt))


def unchanged(holding: frozenset[Expr], stmt: Stmt) -> frozenset[Expr]:
    """Of conditions those that hold behind the statement, too: of numbers that it leaves alone."""
    changed = {*effects((stmt,)).writes, *effects((stmt,)).sums} if holding else set()
    return frozenset(each for each in holding if not (variables(each) & changed or _reads_memory(each)))


def _reads_memory(expr: Expr) -> bool:
    return any(isinstance(node, (Load, Dim)) for node in subexpressions(expr))


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
    """The numbers that may be negative of which quotients, remainders or bits are asked in the loop.

    And what those are multiplied by.
    """
    for stmt in statements(loop.body):
        for node in (node for expr in expressions(stmt) for node in subexpressions(expr)):
            if isinstance(node, Call) and node.dtype == INT64 and (_is_part(node) or _is_product_of_parts(node)):
                for v in sorted(variables(node) - changed, key=lambda v: v.name):
                    if v.dtype == INT64 and not signs.is_natural(v):
                        yield v


def _numbers_of_places(loop: For, changed: set[Var], signs: Signs) -> Iterator[Var]:
    """Arguments that may be negative by which it is said where loops begin, and which elements are set."""
    exprs = [stmt.start for stmt in (loop, *statements(loop.body)) if isinstance(stmt, For)]
    exprs += [part for a in effects(loop.body).accesses if a.writes for part in a.index if part is not None]
    for expr in exprs:
        for v in sorted(variables(expr) - changed, key=lambda v: v.name):
            if v.dtype == INT64 and v in signs.fixed and not signs.is_natural(v):
                yield v


def _is_part(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.op in OF_PARTS


def _is_product_of_parts(expr: Call) -> bool:
    return expr.op == "mul" and any(map(_is_part, expr.args))


def _divisors(loop: For, changed: set[Var], signs: Signs) -> Iterator[Expr]:
    """The numbers, and the lengths, that have to be 1 at least for nothing to be divided by 0 in the loop."""
    inside = statements(loop.body)
    copies: dict[Var, Expr] = {s.var: s.value for s in inside if isinstance(s, Assign) and _is_asked(s.value)}
    for stmt in inside:
        for node in (node for expr in expressions(stmt) for node in subexpressions(expr)):
            match node:
                case Call(op="floordiv" | "mod", args=(_, by)) if node.dtype == INT64 and not loads(by):
                    by = substitute(by, copies)
                    if not (variables(by) & changed or signs.is_natural(affine.sub(by, affine.ONE))):
                        yield from (part for part in subexpressions(by) if _is_asked(part))


def _is_asked(part: Expr) -> bool:
    return isinstance(part, Dim) or (isinstance(part, Var) and part.dtype == INT64)


def _name_of(number: Expr) -> str:
    return number.name if isinstance(number, Var) else "length"


def _asking(block: Block, condition: Expr) -> Block:
    """The block, with a condition around what the innermost loops do."""
    if not any(isinstance(stmt, For) for stmt in statements(block)):
        return (If(condition, block),)
    out: list[Stmt] = []
    for stmt in block:
        inner = blocks(stmt)
        out.append(with_blocks(stmt, tuple(_asking(part, condition) for part in inner)) if inner else stmt)
    return tuple(out)


__all__ = ["Case", "cases_of", "conjuncts", "holding_in", "unchanged"]
