"""Allocations, views and slices of the IR as trees of Python."""

from __future__ import annotations

import ast

import numpy as np

from ..ir import affine
from ..ir.expressions import FLOAT64, Array, Const, Expr, integer
from ..ir.nodes import Alloc, Conform, NewAxis, Pick, Reshape, Run, Split, Subscript, Transpose, View, split_dims
from .expressions import call_of, expression_text, literal, named, operand, scalar_type


def allocation(stmt: Alloc) -> ast.expr:
    dims = [operand(affine.normal(dim)) for dim in stmt.dims]
    shape = dims[0] if len(dims) == 1 else ast.Tuple(dims, ast.Load())
    dtype = [] if stmt.array.dtype == FLOAT64 else [scalar_type(stmt.array.dtype)]
    if stmt.fill is None:
        return call_of("np.empty", shape, *dtype)
    if isinstance(stmt.fill, Const) and not any(np.asarray(stmt.fill.value, stmt.fill.dtype).tobytes()):  # not -0.0
        return call_of("np.zeros", shape, *dtype)
    return call_of("np.full", shape, operand(stmt.fill), scalar_type(stmt.array.dtype))


def view_of(stmt: View) -> ast.expr:
    base = named(stmt.base.name)
    match stmt.how:
        case Transpose(order=order):
            if order == tuple(reversed(range(len(order)))):
                return ast.Attribute(base, "T", ast.Load())
            return call_of("np.transpose", base, ast.Tuple([ast.Constant(k) for k in order], ast.Load()))
        case Reshape(dims=dims) | Conform(dims=dims):
            shape = ast.Tuple([operand(affine.normal(dim)) for dim in dims], ast.Load())
            if isinstance(stmt.how, Conform):
                return call_of("conform_zeros" if stmt.how.zeros else "conform", base, shape)
            return ast.Call(ast.Attribute(base, "reshape", ast.Load()), [shape], [])
        case Split(axis=axis, dims=dims):
            return _split(base, stmt.base, axis, dims)
        case Subscript(items=items) if all(isinstance(item, Pick) for item in items):
            *first, last = items
            one = Run(last.index, affine.ONE, affine.ONE)  # type: ignore[union-attr]
            part = _subscript(base, stmt.base, (*first, one))  # x[k] is a number, and x[k:k+1] is memory
            return ast.Call(ast.Attribute(part, "reshape", ast.Load()), [ast.Tuple([], ast.Load())], [])
        case Subscript(items=items):
            return _subscript(base, stmt.base, items)
    raise AssertionError(f"not a view: {stmt.how!r}")


def view_text(stmt: View) -> str:
    """The same as a call of `runtime.device_arrays`, for arrays that NumPy's own subscripts are not for."""
    base = stmt.base.name
    match stmt.how:
        case Transpose(order=order):
            return f"transposed({base}, {order})"
        case Reshape(dims=dims):
            return f"reshaped({base}, {_tuple(dims)})"
        case Split(axis=axis, dims=dims):
            return f"with_split_axis({base}, {axis}, {_tuple(dims)})"
        case Conform(dims=dims, zeros=zeros):
            return f"{'conform_zeros' if zeros else 'conform'}({base}, {_tuple(dims)})"
        case Subscript(items=items):
            return f"subscript({', '.join((base, *map(_item_text, items)))})"
    raise AssertionError(f"not a view: {stmt.how!r}")


def _item_text(item: Pick | Run | NewAxis) -> str:
    match item:
        case Pick(index=index):
            return expression_text(affine.normal(index))
        case Run(start=start, step=step, length=length):
            return _tuple((start, length) if affine.same(step, affine.ONE) else (start, length, step))
    return "None"


def _tuple(parts: tuple[Expr, ...]) -> str:
    texts = [expression_text(affine.normal(part)) for part in parts]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _split(base: ast.expr, array: Array, axis: int, dims: tuple[Expr, ...]) -> ast.expr:
    """By its strides, as Numba reshapes only what is contiguous."""
    shape = split_dims(array.dims, axis, dims)
    given = [
        ast.Subscript(ast.Attribute(base, "strides", ast.Load()), literal(k), ast.Load()) for k in range(array.ndim)
    ]
    steps: list[ast.expr] = []
    for k in range(len(dims)):
        count = affine.normal(affine.product(dims[k + 1 :]))
        is_one = affine.same(count, affine.ONE)
        steps.append(given[axis] if is_one else ast.BinOp(operand(count), ast.Mult(), given[axis]))
    strides = [*given[:axis], *steps, *given[axis + 1 :]]
    lengths: list[ast.expr] = [operand(affine.normal(dim)) for dim in shape]
    pair = ast.Tuple(lengths, ast.Load()), ast.Tuple(strides, ast.Load())
    return call_of("np.lib.stride_tricks.as_strided", base, *pair)


def _stride(base: ast.expr, axis: int) -> ast.expr:
    return ast.Subscript(ast.Attribute(base, "strides", ast.Load()), literal(axis), ast.Load())


def _subscript(base: ast.expr, array: Array, items: tuple[Pick | Run | NewAxis, ...]) -> ast.expr:
    axes = iter(array.dims)
    parts: list[ast.expr] = []
    flips = []
    for item in items:
        match item:
            case NewAxis():
                parts.append(ast.Constant(None))
            case Pick(index=index):
                next(axes)
                parts.append(operand(affine.normal(index)))
            case Run():
                part, flipped = _slice(item, next(axes))
                parts.append(part)
                flips.append(flipped)
        if isinstance(item, NewAxis):
            flips.append(False)
    out = base
    while parts and isinstance(parts[-1], ast.Slice) and parts[-1].lower is parts[-1].upper is parts[-1].step is None:
        parts.pop()  # rows[k, :] is rows[k], which Numba knows to be in order
    if parts:
        out = ast.Subscript(base, parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load()), ast.Load())
    if any(flips):
        turned: list[ast.expr] = [ast.Slice(step=literal(-1)) if flip else ast.Slice() for flip in flips]
        out = ast.Subscript(out, turned[0] if len(turned) == 1 else ast.Tuple(turned, ast.Load()), ast.Load())
    return out


def _slice(run: Run, dim: Expr) -> tuple[ast.expr, bool]:
    """The slice, and whether it has to be turned round after it (a hidden slice can't end at index 0)."""
    start, step, length = affine.normal(run.start), affine.normal(run.step), run.length
    is_one = affine.same(step, affine.ONE)
    if not isinstance(step, Const) or step.value > 0:  # only the frontend knows that what a run tells goes up
        if run.whole or (affine.same(length, dim) and affine.same(start, affine.ZERO) and is_one):
            return ast.Slice(), False
        stop = affine.add(start, affine.mul(step, length))
        lower = None if affine.same(start, affine.ZERO) else operand(start)
        upper = None if affine.same(stop, dim) and is_one else operand(stop)
        return ast.Slice(lower, upper, None if is_one else operand(step)), False
    last = affine.add(start, affine.mul(step, affine.sub(length, affine.ONE)))
    stop, stride = affine.add(start, affine.ONE), -int(step.value)
    if not affine.is_at_least(length, 1):
        stop = affine.maximum(stop, affine.ZERO)  # of nothing, which may begin ahead of the array
    lower = None if affine.same(last, affine.ZERO) else operand(last)
    upper = None if affine.same(stop, dim) else operand(stop)
    return ast.Slice(lower, upper, None if stride == 1 else operand(integer(stride))), True
