"""Where the rows of a packed triangle begin gets a name, as far out as it stays what it is.

for i in range(n):                                     for i in range(n):
    for j in range(i + 1):                                 i_packed = i * (i + 1) >> 1
        s += x[(i * (i + 1) >> 1) + j]         →           for j in range(i + 1):
                                                               s += x[i_packed + j]

LLVM does not see that it is the same throughout a row: it adds the parts one by one, the step along the row first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..analysis.effects import effects
from ..ir import affine
from ..ir.expressions import INT64, Call, Const, Dim, Expr, Var
from ..ir.names import Names
from ..ir.nodes import Assign, Block, For, Function, Kernel, Lanes, Stmt
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


def name_squares(function: Function) -> Function:
    if not any(map(_has_square, function.body)):
        return function
    return replace(function, body=_named(function.body, function.info.names, frozenset(), {}))


def _named(block: Block, names: Names, around: frozenset[Var], known: Mapping[Expr, Var]) -> Block:
    """`around`: the indices of loops around the block; `known`: what has a name there."""
    if not known and not any(map(_has_square, block)):
        return block
    known = dict(known)
    changing = effects(block).writes | {index for s in statements(block) for index in _indices(s)}
    out: list[Stmt] = []
    for stmt in block:
        for start in _squares(stmt):
            if start not in known and variables(start) & around and not variables(start) & changing:
                index = min(var.name for var in variables(start) & around)
                known[start] = Var(names.fresh(f"{index}_packed"), INT64)
                out.append(Assign(known[start], start))
        inner = around.union(_indices(stmt))
        stmt = map_expressions(stmt, lambda expr: _with_names(expr, known))
        out.append(with_blocks(stmt, tuple(_named(part, names, inner, known) for part in blocks(stmt))))
    return tuple(out)


def _indices(stmt: Stmt) -> tuple[Var, ...]:
    match stmt:
        case For(index=index) | Lanes(index=index):
            return (index,)
        case Kernel(axes=axes):
            return tuple(axis.index for axis in axes)
    return ()


def _with_names(expr: Expr, known: Mapping[Expr, Var]) -> Expr:
    start = _squares_of(expr)
    if start is not None and start in known:
        return affine.add(affine.sub(expr, start), known[start])
    parts = children(expr)
    return rebuild(expr, tuple(_with_names(part, known) for part in parts)) if parts else expr


def _squares(stmt: Stmt) -> Iterator[Expr]:
    """All in a statement and in those inside it: they may be computed where nobody wants them."""
    for inner in statements((stmt,)) if _has_square(stmt) else ():
        for expr in expressions(inner):
            yield from _squares_in(expr)


def _squares_in(expr: Expr) -> Iterator[Expr]:
    start = _squares_of(expr)
    if start is not None:
        yield start
    else:
        for part in children(expr):
            yield from _squares_in(part)


@remembered
def _has_square(stmt: Stmt) -> bool:
    inside = any(_has_square(inner) for block in blocks(stmt) for inner in block)
    return inside or any(_is_square(part) for expr in expressions(stmt) for part in subexpressions(expr))


def _squares_of(expr: Expr) -> Expr | None:
    """Of a sum of integers, the squares: all that is no multiple of an index."""
    if not (isinstance(expr, Call) and expr.dtype == INT64 and expr.op in ("add", "sub", "mul", "rshift")):
        return None
    found = tuple((term, count) for term, count in affine.affine(expr)[0] if _is_square(term))
    return affine.from_affine(found, 0) if found else None


def _is_square(term: Expr) -> bool:
    if term.dtype != INT64:
        return False
    match term:
        case Call(op="rshift", args=(Call(op="mul", args=(x, y)), Const())) | Call(op="mul", args=(x, y)):
            plain = all(isinstance(part, (Var, Dim)) for e in (x, y) for part, _ in affine.affine(e)[0])
            return plain and bool(variables(x) & variables(y))
    return False


__all__ = ["name_squares"]
