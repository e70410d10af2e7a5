"""What a straight body adds to an array: what is computed for it, what that costs, and what is left without it.

a = x[i] * w           `needed_for` the addition to y is a; `live` is what remains
b = a + 1.0      →     without the addition to z, b goes as well
y[i] += a
z[i] += b
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Expr, Load, Var
from ..ir.nodes import AddTo, Assign, Block, Comment, Stmt, Store
from ..ir.walk import expressions, loads, numbers_set, statements, variables
from ..ir.wraps import unwound
from ..rules.scalar import PRIMITIVES
from .nests import Memory
from .straight import arrays_written

FLAT = (AddTo, Assign, Comment, Store)
DEAREST = 40  # additions that may be done again for a neighbour


def adds_to(stmt: Stmt, array: Array) -> bool:
    return isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and stmt.target.array.name == array.name


def touched_beside(stmt: Stmt, array: Array) -> set[str]:
    """The arrays that a statement reads and writes, but for what it adds to this one."""
    read = {load.array.name for s in statements((stmt,)) for expr in expressions(s) for load in loads(expr)}
    return read if adds_to(stmt, array) else read | arrays_written(stmt)


def order_of(array: Array, body: Block, memory: Memory) -> int | None:
    """Whether what is added to the array is computed ahead of the rest of the loop (-1), or behind it (1).

    It reads, at other iterations, what those may write: so it must see all of that, or nothing of it, as they saw it
    themselves.  None: neither will do.
    """
    reads: dict[str, list[int]] = {}
    for position, stmt in enumerate(body):
        if not adds_to(stmt, array):
            continue
        for at in (position, *(needed_for(stmt, body[:position]) or ())):  # type: ignore[arg-type]
            for load in {load for expr in expressions(body[at]) for load in loads(expr)}:
                reads.setdefault(load.array.name, []).append(at)
    when = 0
    for position, stmt in enumerate(body):
        written = arrays_written(stmt) - {array.name}
        changed = [read for read in reads if any(memory.may_be_one(read, name) for name in written)]
        for at in (at for read in changed for at in reads[read]):
            own = -1 if at <= position else 1
            if when and own != when:
                return None
            when = own
    return when or 1


def needed_for(stmt: AddTo | Store, ahead: Block) -> frozenset[int] | None:
    """Where the statements are that compute what is added, or stored; None where that takes a sum of all iterations."""
    wanted = set(variables(stmt.value))
    out: set[int] = set()
    for position in reversed(range(len(ahead))):
        other = ahead[position]
        if isinstance(other, Assign) and other.var in wanted:
            wanted = (wanted - {other.var}) | variables(other.value)
            out.add(position)
        elif isinstance(other, AddTo) and other.target in wanted:
            wanted |= variables(other.value)
            out.add(position)
    return None if wanted & numbers_set(ahead) else frozenset(out)


def cost_of(block: Iterable[Stmt], value: Expr) -> int:
    return sum(_operations(expr) for stmt in block for expr in expressions(stmt)) + _operations(value)


def _operations(expr: Expr) -> int:
    if not isinstance(expr, Call):
        return 0
    own = PRIMITIVES[expr.op].cost if expr.op in PRIMITIVES else 1
    return own + sum(map(_operations, expr.args))


def live(body: Block) -> Block:
    """Without what computes numbers that nobody uses any more."""
    wanted: set[Var] = set()
    out: list[Stmt] = []
    assigned = {s.var for s in body if isinstance(s, Assign)}
    for stmt in reversed(body):
        private = stmt.var if isinstance(stmt, Assign) else stmt.target if isinstance(stmt, AddTo) else None
        if isinstance(private, Var) and private in assigned and private not in wanted:
            continue
        if isinstance(stmt, Assign):
            wanted.discard(stmt.var)
        out.append(stmt)
        for inner in statements((stmt,)):  # what is stored in a branch is wanted, too
            wanted = wanted.union(*map(variables, expressions(inner)))
    return tuple(reversed(out))


def normal_there(expr: Expr) -> Expr:
    if isinstance(expr, Load):
        return replace(expr, index=tuple(affine.normal(part) for part in expr.index))
    return unwound(expr)


def normal_everywhere(expr: Expr) -> Expr:
    """Also what is compared: a + (i - a) < n is i < n."""
    match expr:
        case Call(op="lt" | "le" | "gt" | "ge", args=(x, y)) if x.dtype == y.dtype == INT64:
            return replace(expr, args=(affine.normal(x), affine.normal(y)))
    return normal_there(expr)


__all__ = [
    "DEAREST", "FLAT", "adds_to", "cost_of", "live", "needed_for", "normal_everywhere", "normal_there", "order_of",
    "touched_beside",
]  # fmt: skip
