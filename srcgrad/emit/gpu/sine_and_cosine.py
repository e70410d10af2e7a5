"""Where a kernel wants the sine and the cosine of one number, one function gives both.

y[i] = sin(x[i])                               sine, cosine = sincos(x[i])
x_b[i] = v[i] * cos(x[i])            →         y[i] = sine
                                               x_b[i] = v[i] * cosine

They have most of their work in common: which quarter of a turn it is.  Derivatives of either want the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from ...ir.expressions import LAZY, Array, Call, Expr, Var
from ...ir.nodes import Assign, Block, Stmt
from ...ir.walk import (
    blocks,
    children,
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    statements,
    subexpressions,
    targets,
    variables,
    with_blocks,
)
from .kernel_text import Lines, text_of

Fresh = Callable[[str], str]

NAMES = {"sin": "sine", "cos": "cosine"}
BOTH = {np.dtype(np.float64): "sincos", np.dtype(np.float32): "sincosf"}


def beside_each_other(body: Block, fresh: Fresh, memory: Mapping[str, str]) -> Block:
    """The body, in which both are computed where the first of them is wanted.  `memory`: what arrays are handles on."""
    if not all(any(_is(part, op) for part in _parts(body)) for op in NAMES):
        return body
    out: list[Block] = [(with_blocks(s, tuple(beside_each_other(b, fresh, memory) for b in blocks(s))),) for s in body]
    for x, found in _wanted(body).items():
        first, last = found["first"], found["last"]
        between = body[first : last + bool(blocks(body[last]))]  # a last one may set what it has read
        if not NAMES.keys() <= found.keys() or _changed(x, between, memory):
            continue
        made: dict[Expr, Var] = {Call(op, (x,), x.dtype): Var(fresh(name), x.dtype) for op, name in NAMES.items()}
        for k in range(first, last + 1):
            out[k] = tuple(map_expressions(stmt, partial(rewrite, rule=partial(_known, made))) for stmt in out[k])
        out[first] = (*(Assign(var, value) for value, var in made.items()), *out[first])
    return tuple(stmt for stmts in out for stmt in stmts)


def _wanted(body: Block) -> dict[Expr, dict[str, int]]:
    """The numbers of which a sine or a cosine is surely computed, and from which statement to which."""
    out: dict[Expr, dict[str, int]] = {}
    for k, stmt in enumerate(body):
        for part in (part for expr in expressions(stmt) for part in _sure(expr)):
            if isinstance(part, Call) and part.op in NAMES and part.dtype in BOTH:
                out.setdefault(part.args[0], {"first": k}).update({"last": k, part.op: k})
    return out


def _sure(expr: Expr) -> Iterator[Expr]:
    """What is computed whenever the expression is."""
    yield expr
    parts = children(expr)
    for part in parts[:1] if isinstance(expr, Call) and expr.op in LAZY else parts:
        yield from _sure(part)


def _known(made: Mapping[Expr, Expr], part: Expr) -> Expr:
    return made.get(part, part)


def _changed(x: Expr, between: Block, memory: Mapping[str, str]) -> bool:
    """May a number that it is made of be another one there?"""
    root = lambda array: memory.get(array.name, array.name)
    written = {root(target) for stmt in statements(between) for target in targets(stmt) if isinstance(target, Array)}
    return bool(variables(x) & numbers_set(between)) or any(root(load.array) in written for load in loads(x))


def by_one_function(block: Block) -> Block:
    """The statements of a kernel, where one that sets a sine and the next one, which sets the cosine, are one call."""
    out: list[Stmt] = []
    for stmt in block:
        if out and isinstance(stmt, Assign) and isinstance(before := out[-1], Assign):
            x, y = before.value, stmt.value
            if isinstance(x, Call) and isinstance(y, Call) and (x.op, y.op) == ("sin", "cos") and x.args == y.args:
                names = f"{before.var.name}, {stmt.var.name}"
                out[-1] = Lines(f"{names} = {BOTH[x.dtype]}({text_of(x.args[0])})")
                continue
        out.append(with_blocks(stmt, tuple(map(by_one_function, blocks(stmt)))))
    return tuple(out)


def _is(part: Expr, op: str) -> bool:
    return isinstance(part, Call) and part.op == op


def _parts(body: Block) -> Iterator[Expr]:
    return (part for stmt in statements(body) for expr in expressions(stmt) for part in subexpressions(expr))


__all__ = ["beside_each_other", "by_one_function"]
