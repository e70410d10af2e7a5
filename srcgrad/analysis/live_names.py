"""Which names statements want from before them, and which they set for what comes behind.

    if n == 0: raise …
    y = float64[n] of nothing           wants n and x, sets y
    for i in range(n):
        y[i] = exp(x[i])

An array that is written to element by element is wanted: it is memory that was made before.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from ..ir.expressions import Array, Dim, Expr, Load, Var
from ..ir.nodes import (
    Absorb,
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    CopyTo,
    For,
    If,
    Library,
    Raise,
    Stack,
    Stmt,
    Store,
    View,
    While,
)
from ..ir.walk import arrays_read, blocks, expressions, remembered, subexpressions, targets

PLAIN = (Absorb, AddTo, Alloc, Assign, Comment, CopyTo, For, If, Library, Raise, Store, View, While)
MAKES = (Assign, Alloc, View)  # set the name that they are for; of what is not plain, all names are wanted and set


def wanted(block: Block, behind: frozenset[str] = frozenset()) -> frozenset[str]:
    """The names whose values before the block are read by it, or by what comes behind, which reads those."""
    live = behind
    for stmt in reversed(block):
        live = wanted_by(stmt) | (live - set_by(stmt))
    return live


@remembered
def wanted_by(stmt: Stmt) -> frozenset[str]:
    """The names whose values before the statement it may read."""
    own = _read_by(stmt) if isinstance(stmt, PLAIN) else names_in(stmt)
    match stmt:
        case If(then=then, orelse=orelse):
            return own | wanted(then) | wanted(orelse)
        case For(index=index, body=body):
            return own | (wanted(body) - {index.name})
        case While(trip=trip, body=body):
            return (own | wanted(body)) - {trip.name}
    return own


@remembered
def set_by(stmt: Stmt) -> frozenset[str]:
    """The names that every run of the statement sets."""
    if isinstance(stmt, MAKES):
        return frozenset(item.name for item in _made_by(stmt))
    if isinstance(stmt, If):
        sides = [frozenset[str]().union(*map(set_by, side)) for side in blocks(stmt)]
        return sides[0] & sides[1]
    return frozenset((stmt.trip.name,)) if isinstance(stmt, While) else frozenset()


@remembered
def perhaps_set_by(stmt: Stmt) -> frozenset[str]:
    """The names that it may set, of which an array's is not set by writing to its elements."""
    if not isinstance(stmt, PLAIN):
        return names_in(stmt)
    inner = (perhaps_set_by(s) for block in blocks(stmt) for s in block)
    return frozenset(item.name for item in _made_by(stmt)).union(*inner)


def _made_by(stmt: Stmt) -> tuple[Var | Array, ...]:
    if isinstance(stmt, (Alloc, View)):
        return (stmt.array,)
    return tuple(item for item in targets(stmt) if isinstance(item, Var))


def _read_by(stmt: Stmt) -> frozenset[str]:
    """The names that a statement itself reads; those of arrays that it writes to are among them."""
    names = {name for expr in expressions(stmt) for name in _names(expr)}
    names |= {array.name for array in arrays_read(stmt)}
    if isinstance(stmt, AddTo) and isinstance(stmt.target, Var):
        names.add(stmt.target.name)
    if not isinstance(stmt, (*MAKES, Comment)):
        names |= {item.name for item in targets(stmt) if isinstance(item, Array)}
    return frozenset(names)


def names_in(value: Any) -> frozenset[str]:
    """All that are said in a statement and in what is inside it."""
    if isinstance(value, tuple):
        return frozenset[str]().union(*map(names_in, value))
    if not is_dataclass(value) or isinstance(value, type):
        return frozenset()
    found = names_in(tuple(getattr(value, f.name) for f in fields(value) if f.name not in ("span", "label")))
    match value:
        case Var(name=name) | Array(name=name) | Dim(array=name):
            return found | {name}
        case Stack(name=name, top=top):
            return found | {name, top}
    return found


@remembered
def _names(expr: Expr) -> frozenset[str]:
    found: set[str] = set()
    for node in subexpressions(expr):
        if isinstance(node, Var):
            found.add(node.name)
        elif isinstance(node, Dim):
            found.add(node.array)
        elif isinstance(node, Load):
            found.add(node.array.name)
    return frozenset(found)


__all__ = ["PLAIN", "names_in", "perhaps_set_by", "set_by", "wanted", "wanted_by"]
