"""The adjoint of a function with a vjp of the user's: one call, which gives all cotangents in a row.

user.solve(y, a, b)      →      c = empty(a.size + b.size)
                                user.solve_vjp(c, y_b, y, a, b)
                                for each i, j:  a_b[i, j] += c[i * n + j]
                                for each i:     b_b[i] += c[a.size + i]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir import affine
from ...ir.expressions import Array, Expr, Load, Old, OldArray
from ...ir.nodes import AddTo, Alloc, Block, For, Library, Stmt
from ...rules.user import NUMBERS

if TYPE_CHECKING:
    from .reverse import _Reverse


def is_users(stmt: Stmt) -> bool:
    return isinstance(stmt, Library) and stmt.routine.startswith("user.")


def adjoint_by_vjp(reverse: _Reverse, stmt: Library) -> list[Stmt]:
    at, out = stmt.label, stmt.out
    floats = [arg for arg in stmt.args if arg.dtype.kind == "f"]  # type: ignore[union-attr]
    sizes = [affine.product(arg.dims) if isinstance(arg, Array) else affine.ONE for arg in floats]
    total: Expr = affine.ZERO
    for size in sizes:
        total = affine.add(total, size)
    widest = max((arg.dtype for arg in floats), key=lambda dtype: dtype.itemsize)  # type: ignore[union-attr]
    total = reverse.old(total, at)
    found = Array(reverse.info.names.fresh("c"), widest, (total,))
    shadow = reverse.shadow(out)
    given: tuple[Any, ...] = (shadow, OldArray(out, at + 1))  # the result as it was right after the call
    if stmt.routine in NUMBERS:
        given = (Load(shadow, (affine.ZERO,)), Old(Load(out, (affine.ZERO,)), at + 1))
    args = tuple(OldArray(arg, at) if isinstance(arg, Array) else reverse.old(arg, at) for arg in stmt.args)  # type: ignore[arg-type]
    statements: list[Stmt] = [Alloc(found, (total,)), Library(f"{stmt.routine}_vjp", found, (*given, *args))]
    start: Expr = affine.ZERO
    for arg, size in zip(floats, sizes, strict=True):
        if isinstance(arg, Array) and reverse.is_active(arg):
            statements += _added(reverse, arg, found, start, at)
        elif isinstance(arg, Expr):
            value = Load(found, (reverse.old(start, at),))
            statements += reverse.spread(arg, value, at, False)
        start = affine.add(start, size)
    return statements


def _added(reverse: _Reverse, arg: Array, found: Array, start: Expr, at: int) -> Block:
    """The shadow of an argument grows by its part of the row."""
    indices = reverse.info.names.free_indices(arg.ndim, reverse.indices_around.get(at, frozenset()))
    place: Expr = affine.ZERO
    for index, dim in zip(indices, arg.dims, strict=True):
        place = affine.add(affine.mul(place, reverse.old(dim, at)), index)
    value = Load(found, (affine.add(reverse.old(start, at), place),))
    body: Block = (AddTo(Load(reverse.shadow(arg), indices), value, reorder=True),)
    for index, dim in reversed(list(zip(indices, arg.dims, strict=True))):
        body = (For(index, affine.ZERO, reverse.old(dim, at), affine.ONE, body, False),)
    return body
