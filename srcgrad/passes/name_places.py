"""Places around the ends of a grid get names: in a kernel, or on a CPU as far out as they stay what they are.

total += g[i - 1 + n if i - 1 < 0 else i - 1]          i_before = i - 1 + n if i - 1 < 0 else i - 1
total += x[i - 1 + n if i - 1 < 0 else i - 1]    →     total += g[i_before]
                                                       total += x[i_before]

So does where the rows of a packed triangle begin: with the steps along a row between its parts, LLVM does not see that
it is the same throughout the row.

for j in range(i + 1):                                 i_packed = i * (i + 1) >> 1
    total += x[(i * (i + 1) >> 1) + j]           →     for j in range(i + 1):
                                                           total += x[i_packed + j]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..ir import affine
from ..ir.expressions import INT64, Call, Const, Dim, Expr, Var
from ..ir.names import Names
from ..ir.nodes import Assign, Block, For, Function, Stmt
from ..ir.walk import (
    blocks,
    children,
    expressions,
    map_expressions,
    rebuild,
    remembered,
    statements,
    subexpressions,
    variables,
    with_blocks,
)
from ..ir.wraps import is_wrap
from .alternate import is_parallel
from .effects import effects

STEPS = {-1: "before", 1: "after"}


def name_places(function: Function) -> Function:
    names = function.info.names

    def changed(stmt: Stmt) -> Stmt:
        inner = _named if is_parallel(stmt) else lambda block, _: tuple(map(changed, block))
        return with_blocks(stmt, tuple(inner(block, names) for block in blocks(stmt)))

    return replace(function, body=tuple(map(changed, function.body)))


def name_all_places(function: Function) -> Function:
    return replace(function, body=_named(function.body, function.info.names))


def _named(block: Block, names: Names, known: Mapping[Expr, Var] | None = None) -> Block:
    """`known`: places that have names around the block."""
    if not known and not any(map(_has_place, block)):
        return block
    known = dict(known or {})
    changing = effects(block).writes | {s.index for s in statements(block) if isinstance(s, For)}
    out: list[Stmt] = []
    for stmt in block:
        for place in _places(stmt):
            if place not in known and not variables(place) & changing:
                known[place] = Var(names.fresh(_name(place)), INT64)
                out.append(Assign(known[place], place))
        stmt = map_expressions(stmt, lambda expr: _with_names(expr, known))
        out.append(with_blocks(stmt, tuple(_named(part, names, known) for part in blocks(stmt))))
    return tuple(out)


def _with_names(expr: Expr, known: Mapping[Expr, Var]) -> Expr:
    start = _packed(expr)
    if start is not None and start in known:
        return affine.add(affine.sub(expr, start), known[start])
    parts = children(expr)
    expr = rebuild(expr, tuple(_with_names(part, known) for part in parts)) if parts else expr
    return known.get(expr, expr)


def _places(stmt: Stmt) -> Iterator[Expr]:
    """All in a statement and in those inside it: they may be computed where nobody wants them."""
    for inner in statements((stmt,)) if _has_place(stmt) else ():
        for expr in expressions(inner):
            yield from _places_in(expr)


def _places_in(expr: Expr) -> Iterator[Expr]:
    start = _packed(expr)
    if start is not None:
        yield start
        return
    if is_wrap(expr):
        yield expr
    for part in children(expr):
        yield from _places_in(part)


@remembered
def _has_place(stmt: Stmt) -> bool:
    inside = any(_has_place(inner) for block in blocks(stmt) for inner in block)
    return inside or any(
        is_wrap(part) or _packed(part) is not None for expr in expressions(stmt) for part in subexpressions(expr)
    )


def _packed(expr: Expr) -> Expr | None:
    """Of an index into a packed triangle, where the row begins: its squares of other indices."""
    if not (isinstance(expr, Call) and expr.dtype == INT64 and expr.op in ("add", "sub", "mul", "rshift")):
        return None
    squares = tuple((term, count) for term, count in affine.affine(expr)[0] if _is_square(term))
    return affine.from_affine(squares, 0) if squares else None


def _is_square(term: Expr) -> bool:
    match term:
        case Call(op="rshift", args=(Call(op="mul", args=(x, y)), Const())) | Call(op="mul", args=(x, y)):
            plain = all(isinstance(part, (Var, Dim)) for e in (x, y) for part, _ in affine.affine(e)[0])
            return plain and bool(variables(x) & variables(y))
    return False


def _name(place: Expr) -> str:
    if not is_wrap(place):
        return f"{min((var.name for var in variables(place)), default='n')}_packed"
    assert isinstance(place, Call)
    terms, step = affine.affine(place.args[0])
    index = next((term.name for term, count in terms if isinstance(term, Var) and count == 1), "i")
    return f"{index}_{STEPS.get(step, 'around') if len(terms) == 1 else 'around'}"


__all__ = ["name_all_places", "name_places"]
