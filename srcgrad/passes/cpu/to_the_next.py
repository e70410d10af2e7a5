"""What an iteration writes and the next one reads is handed on in a register.

    for j in range(n - 1, 0, -1):                  carried = u_b[i, n - 1]
        g = u_b[i, j]                              for j in range(n - 1, 0, -1):
        u_b[i, j] = 0.0                                g = carried
        u_b[i - 1, j] += 0.25 * g         →            u_b[i, j] = 0.0
        u_b[i, j - 1] += 0.25 * g                      u_b[i - 1, j] += 0.25 * g
                                                       carried = u_b[i, j - 1] + 0.25 * g
                                                       u_b[i, j - 1] = carried

A number that comes back from memory takes longer than the arithmetic, where each iteration waits for the one before.
LLVM does the same, except where the loop writes other elements of that memory: it can not tell them apart.  The memory
is written as it was, and the values are the same to the last bit.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import effects
from ...analysis.signs import extremes
from ...ir import affine
from ...ir.expressions import BOOL, LAZY, Call, Const, Expr, Load, Var, select
from ...ir.info import memory_of
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, Stmt, Store
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    subexpressions,
    substitute,
    variables,
    with_blocks,
    written_place,
)

SIMPLE = (AddTo, Assign, Comment, Store)


def to_the_next(function: Function) -> Function:
    return replace(function, body=_Carrier(function).block(function.body))


class _Carrier:
    def __init__(self, function: Function) -> None:
        self.names, self.memory = function.info.names, memory_of(function)
        self.outside = {self.memory[param.name] for param in function.params}

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and all(isinstance(inner, SIMPLE) for inner in stmt.body):
                out += self.carried(stmt)
            elif blocks(stmt):
                out.append(with_blocks(stmt, tuple(map(self.block, blocks(stmt)))))
            else:
                out.append(stmt)
        return tuple(out)

    def carried(self, loop: For) -> Block:
        before: list[Stmt] = []
        if isinstance(loop.step, Const) and not loop.vector and all(map(_is_as_it_is_written, loop.body)):
            for place in dict.fromkeys(written_place(stmt) for stmt in loop.body):
                read = place and self.read_next(place, loop)
                if place and read:
                    var = Var(self.names.fresh("carried"), place.dtype)
                    before.append(_at_the_start(loop, read, var))
                    loop = replace(loop, body=_handed_on(loop.body, place, read, var))
        return *before, loop

    def read_next(self, place: Load, loop: For) -> Load | None:
        """The element as the next iteration calls it, if nothing comes in between."""
        changed = effects(loop.body).writes
        parts = place.index
        if not any(loop.index in variables(p) for p in parts) or any(variables(p) & changed or loads(p) for p in parts):
            return None
        back = {loop.index: affine.sub(loop.index, loop.step)}
        read = replace(place, index=tuple(affine.normal(substitute(part, back)) for part in parts))
        writes = [(k, other) for k, stmt in enumerate(loop.body) if (other := written_place(stmt))]
        own = max(k for k, other in writes if _is_same(other, place))
        first_use = next((k for k, stmt in enumerate(loop.body) if _uses(stmt, read)), None)
        if place.checked or first_use is None or first_use > own:
            return None
        memory = self.memory.get(place.array.name)
        for k, other in writes:
            if _is_same(other, place) or (memory is not None and self.memory.get(other.array.name, memory) != memory):
                continue
            if memory is None or memory in self.outside or other.array != place.array:
                return None
            if k > own and not _is_apart(other, place):
                return None
            if k < first_use and not _is_apart(other, read):
                return None
        return read


def _is_as_it_is_written(stmt: Stmt) -> bool:
    """Is what comes back from memory what went there?"""
    place = written_place(stmt)
    return place is None or (place.dtype.kind in "fciu" and stmt.value.dtype == place.dtype)  # type: ignore[attr-defined]


def _uses(stmt: Stmt, place: Load) -> bool:
    """Does the statement read the element, wherever the loop is run?"""
    if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and _is_same(stmt.target, place):
        return True
    sure = (e for e in expressions(stmt) if not any(isinstance(n, Call) and n.op in LAZY for n in subexpressions(e)))
    return any(_is_same(load, place) for expr in sure for load in loads(expr))


def _is_same(x: Load, y: Load) -> bool:
    alike = x.array == y.array and x.checked == y.checked
    return alike and all(affine.same(p, q) for p, q in zip(x.index, y.index, strict=True))


def _is_apart(x: Load, y: Load) -> bool:
    """Two elements of one array, which are inside it, and never the same?"""
    return not x.checked and any(affine.difference(p, q) for p, q in zip(x.index, y.index, strict=True))


def _handed_on(body: Block, place: Load, read: Load, var: Var) -> Block:
    """The body with the number in the variable, up to where the element that it came from is written."""

    def known(node: Expr) -> Expr:
        return var if isinstance(node, Load) and _is_same(node, read) else node

    out: list[Stmt] = []
    holds = True
    last = max(k for k, stmt in enumerate(body) if (other := written_place(stmt)) and _is_same(other, place))
    for k, stmt in enumerate(body):
        target = written_place(stmt)
        here = map_expressions(stmt, lambda expr: rewrite(expr, known)) if holds else stmt
        if target is None:
            out.append(here)
        elif k == last:
            out += (*_computed(here, place, var), _stored(place, var, stmt))
            holds = False
        elif holds and isinstance(here, AddTo) and _is_same(target, read):
            out += (replace(here, target=var), _stored(read, var, stmt))
        else:
            holds = holds and (target.array != read.array or _is_apart(target, read))
            out.append(here)
    return tuple(out)


def _computed(stmt: Stmt, place: Load, var: Var) -> Block:
    """The variable becomes what the statement writes."""
    assert isinstance(stmt, (AddTo, Store))
    if isinstance(stmt, Store):
        return (Assign(var, stmt.value, span=stmt.span),)
    if var in variables(stmt.value):
        return (Assign(var, Call("add", (place, stmt.value), var.dtype), span=stmt.span),)
    return Assign(var, place, span=stmt.span), replace(stmt, target=var)


def _stored(place: Load, value: Var, stmt: Stmt) -> Store:
    return Store(place.array, place.index, value, place.checked, place.natural, span=stmt.span)


def _at_the_start(loop: For, read: Load, var: Var) -> Stmt:
    low, high = extremes(loop)
    first = replace(read, index=tuple(substitute(part, {loop.index: loop.start}) for part in read.index))
    return Assign(var, select(Call("le", (low, high), BOOL), first, Const(var.dtype.type(0).item(), var.dtype)))


__all__ = ["to_the_next"]
