"""Memory with a row for every iteration of the loops around."""

from __future__ import annotations

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Expr
from ..ir.nodes import For, Pick, Run, Subscript, View, While


def row_lengths(dims: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Ahead of a loop that may not run at all, a length of its arrays may come out negative."""
    return tuple(dim if affine.is_at_least(dim, 0) else affine.maximum(dim, affine.ZERO) for dim in dims)


def row_view(row: Array, rows: Array, index: tuple[Expr, ...]) -> View:
    picks = tuple(Pick(i) for i in index)
    runs = tuple(Run(affine.ZERO, affine.ONE, d, whole=True) for d in rows.dims[len(index) :])
    return View(row, rows, Subscript((*picks, *runs)))


def iteration(loop: For | While) -> Expr:
    """The number of the current iteration, from 0."""
    if isinstance(loop, While):
        return loop.trip
    gone = affine.sub(loop.index, loop.start)
    if affine.same(loop.step, affine.ONE):
        return gone
    if affine.same(loop.step, affine.integer(-1)):
        return affine.sub(loop.start, loop.index)
    return Call("floordiv", (gone, loop.step), INT64)


__all__ = ["iteration", "row_lengths", "row_view"]
