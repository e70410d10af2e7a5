"""Products of matrices, one for each step of a loop, are one product of stacks.

    for j in range(k):                                 ys, xs, ws = views of y_rows, x_rows, w_rows [:k]
        y, x, w = views of y_rows, x_rows, w_rows [j]      →
        matmul(y, x, w)                                matmul(ys, xs, ws)

A GPU is filled by all of them together, where one is small.  A matrix that is the same for all is a stack of one.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir import affine
from ...ir.expressions import Array, Expr
from ...ir.names import Names
from ...ir.nodes import Block, Comment, For, Function, Library, NewAxis, Pick, Run, Stmt, Subscript, View, While
from ...ir.walk import blocks, loads, variables, with_blocks
from .distribute import is_made_anew

ROUTINES = tuple(f"{add}matmul{turned}" for add in ("", "add_") for turned in ("", "_nt", "_tn", "_tt"))


def stacked_products(function: Function) -> Function:
    return replace(function, body=_block(function.body, (), function.info.names))


def _block(block: Block, later: tuple[Block, ...], names: Names) -> Block:
    out: list[Stmt] = []
    for position, stmt in enumerate(block):
        rest = (block[position + 1 :], *later)
        stacked = _stacked(stmt, rest, names) if isinstance(stmt, For) else None
        if stacked is not None:
            out += stacked
            continue
        behind = ((stmt,), *rest) if isinstance(stmt, (For, While)) else rest
        if blocks(stmt):
            stmt = with_blocks(stmt, tuple(_block(part, behind, names) for part in blocks(stmt)))
        out.append(stmt)
    return tuple(out)


def _stacked(loop: For, later: tuple[Block, ...], names: Names) -> Block | None:
    """The product of a loop that makes views and one product; None where it is another one, or goes in order."""
    *handles, call = [stmt for stmt in loop.body if not isinstance(stmt, Comment)] or [loop]
    if loop.ordered or not (isinstance(call, Library) and call.routine in ROUTINES):
        return None
    if not (affine.same(loop.start, affine.ZERO) and affine.same(loop.step, affine.ONE)) or loads(loop.stop):
        return None
    views = {stmt.array.name: stmt for stmt in handles if isinstance(stmt, View)}
    if len(views) != len(handles) or not all(is_made_anew(name, later) for name in views):
        return None
    steps = loop.stop if affine.is_at_least(loop.stop, 0) else affine.maximum(loop.stop, affine.ZERO)
    arrays = (call.out, *call.args)
    if not all(isinstance(array, Array) and array.ndim == 2 for array in arrays):
        return None
    if call.out.name not in views:  # every step writes to it
        return None
    made: list[View] = []
    stacks: list[Array] = []
    for array in arrays:
        assert isinstance(array, Array)
        view = _stack(array, views, loop, steps, names)
        if view is None:
            return None
        made += [] if _is_all(view) else [view]
        stacks.append(view.base if _is_all(view) else view.array)
    out, *args = stacks
    return (*made, replace(call, out=out, args=tuple(args)))


def _is_all(view: View) -> bool:
    return isinstance(view.how, Subscript) and all(isinstance(item, Run) and item.whole for item in view.how.items)


def _stack(array: Array, views: dict[str, View], loop: For, steps: Expr, names: Names) -> View | None:
    """The matrices that an operand is, one for each step."""
    name = names.fresh(f"{array.name}_stack")
    view = views.get(array.name)
    if view is None:
        whole = tuple(Run(affine.ZERO, affine.ONE, dim, whole=True) for dim in array.dims)
        return View(Array(name, array.dtype, (affine.ONE, *array.dims)), array, Subscript((NewAxis(), *whole)))
    match view.how:
        case Subscript(items=(Pick(index=index), Run() as down, Run() as along)) if affine.same(index, loop.index):
            pass
        case _:
            return None
    parts = [part for run in (down, along) for part in (run.start, run.step, run.length)]
    moves = any(loop.index in variables(part) or loads(part) for part in parts)
    if moves or view.base.name in views or any(loop.index in variables(dim) for dim in array.dims):
        return None
    matrices = Run(affine.ZERO, affine.ONE, steps, whole=affine.same(view.base.dims[0], steps))
    return View(Array(name, array.dtype, (steps, *array.dims)), view.base, Subscript((matrices, down, along)))


__all__ = ["stacked_products"]
