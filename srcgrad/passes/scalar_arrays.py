"""Arrays of one element that nobody sees as a whole are numbers.

m = empty((1,))
m[0] = s / n             →      m_0 = s / n
y[i] = x[i] - m[0]              y[i] = x[i] - m_0
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from ..ir import affine
from ..ir.expressions import Array, Const, Expr, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, Block, Comment, For, Function, Stmt, Store, leaves
from ..ir.walk import (
    arrays_read,
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    substitute,
    written,
)


def scalar_arrays(function: Function) -> Function:
    numbers = {name: Var(function.info.names.fresh(f"{name}_0"), dtype) for name, dtype in _single(function).items()}
    if not numbers:
        return function

    def read(expr: Expr) -> Expr:
        return numbers[expr.array.name] if isinstance(expr, Load) and expr.array.name in numbers else expr

    def change(stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Alloc(array=array, fill=fill) if array.name in numbers:
                start = Const(0, array.dtype) if fill is None else fill
                return (Assign(numbers[array.name], start, span=stmt.span),)
            case AddTo(target=Load(array=array), value=value) if array.name in numbers:
                return (AddTo(numbers[array.name], rewrite(value, read), stmt.reorder, span=stmt.span),)
            case Store(array=array, value=value) if array.name in numbers:
                return (Assign(numbers[array.name], rewrite(value, read), span=stmt.span),)
        stmt = map_expressions(stmt, lambda expr: rewrite(expr, read))
        return _once(stmt) if isinstance(stmt, For) else (stmt,)

    return replace(function, body=rewrite_block(function.body, change))


def _once(loop: For) -> Block:
    """A loop that runs once is its body."""
    if affine.difference(loop.stop, loop.start) != 1 or not affine.same(loop.step, affine.ONE):
        return (loop,)
    first = {loop.index: loop.start}
    at_first = lambda stmt: (map_expressions(stmt, lambda expr: substitute(expr, first)),)
    return rewrite_block(loop.body, at_first)


def _single(function: Function) -> dict[str, np.dtype]:
    """Arrays of one element that are made once, and touched by their element alone."""
    made = Counter(s.array.name for s in statements(function.body) if isinstance(s, Alloc))
    found: dict[str, np.dtype] = {
        s.array.name: s.array.dtype
        for s in statements(function.body)
        if isinstance(s, Alloc) and made[s.array.name] == 1 and s.dims and all(_is_one(dim) for dim in s.dims)
    }
    for leaf in leaves(function.results):
        if isinstance(leaf, Array):
            found.pop(leaf.name, None)
    for stmt in statements(function.body):
        elements = {load.array.name for expr in expressions(stmt) for load in loads(expr)}
        if isinstance(stmt, (Store, Alloc)):
            elements.add(stmt.array.name)
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
            elements.add(stmt.target.array.name)
        target = written(stmt)
        touched = {a.name for a in arrays_read(stmt)}
        touched |= {a.name for a in (target if isinstance(target, tuple) else (target,)) if isinstance(a, Array)}
        for name in touched - elements if not isinstance(stmt, Comment) else ():
            found.pop(name, None)
    return found


def _is_one(dim: Expr) -> bool:
    return isinstance(dim, Const) and dim.value == 1


__all__ = ["scalar_arrays"]
