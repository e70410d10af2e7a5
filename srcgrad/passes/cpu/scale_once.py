"""Steps that do nothing but multiply an array by a number are one multiplication by all of these numbers.

for t in range(steps):                      scale = 1.0
    for i in range(n): a[i] = 2.0 * a[i]    for t in range(steps): scale *= 2.0
                                       →    for i in range(n): a[i] = scale * a[i]

So it is with the reverse of `x = 2.0 * x`, or of a decay.  Before `scale` gets out of range the array takes it over, in
the middle of the steps: what overflows is what would have.  The user's own products stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, log2

import numpy as np

from ...analysis.effects import effects
from ...ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var
from ...ir.nodes import Assign, Block, Comment, For, Function, If, Stmt, Store
from ...ir.walk import loads, rewrite_block, statements, variables

HALF_OF_RANGE = {np.dtype(np.float64): 500, np.dtype(np.float32): 60}  # powers of two


@dataclass(frozen=True)
class _Scaled:
    """A nest of loops that multiplies elements of a cotangent by a factor."""

    nest: For
    store: Store
    factor: float

    @property
    def element(self) -> Load:
        return Load(self.store.array, self.store.index, self.store.checked, self.store.natural)


def scale_once(function: Function) -> Function:
    def scaled(stmt: Stmt) -> Block:
        return (_once(stmt, function) or (stmt,)) if isinstance(stmt, For) else (stmt,)

    return replace(function, body=rewrite_block(function.body, scaled))


def _once(steps: For, function: Function) -> Block | None:
    found = [one for stmt in steps.body if not isinstance(stmt, Comment) for one in _scaled(stmt)]
    changed = effects((steps,)).writes
    if not found or any(loads(bound) for bound in (steps.start, steps.stop, steps.step)):
        return None
    ahead: list[Stmt] = []
    body: list[Stmt] = []
    behind: list[Stmt] = []
    for one in found:
        if one is None or not _is_cotangent(one.element.array, function) or not _is_steady(one, changed):
            return None
        dtype = one.element.dtype
        scale, half = Var(function.info.names.fresh("scale"), dtype), HALF_OF_RANGE[dtype]
        size, restart = Call("abs", (scale,), dtype), Assign(scale, Const(1.0, dtype))
        ends = [Call(op, (size, Const(2.0**power, dtype)), BOOL) for op, power in (("ge", half), ("le", -half))]
        times = _times(one.nest, one, scale)
        ahead.append(restart)
        body.append(Assign(scale, Call("mul", (scale, Const(one.factor, dtype)), dtype)))
        body.append(If(Call("or", tuple(ends), BOOL), (times, restart)))
        behind.append(times)
    arrays = {one.element.array.name for one in found if one}
    return (*ahead, replace(steps, body=tuple(body)), *behind) if len(arrays) == len(found) else None


def _scaled(stmt: Stmt) -> list[_Scaled | None]:
    """What a nest does to one cotangent after the other; None for all else."""
    inner: Block = (stmt,)
    while len(inner) == 1 and isinstance(inner[0], For):
        inner = inner[0].body
    if not isinstance(stmt, For) or not inner:
        return [None]
    return [_one_scaled(stmt, one) for one in inner]


def _one_scaled(nest: For, store: Stmt) -> _Scaled | None:
    if not isinstance(store, Store):
        return None
    element = Load(store.array, store.index)
    factor, half = _factor(store.value, element), HALF_OF_RANGE.get(element.dtype)
    if half and factor is not None and (factor == 0 or abs(log2(abs(factor))) <= half):
        return _Scaled(nest, store, factor)
    return None


def _factor(expr: Expr, element: Load) -> float | None:
    """c, where the expression is c times the element."""
    match expr:
        case Load(array=array, index=index) if (array, index) == (element.array, element.index):
            return 1.0
        case Call(op="mul", args=(Const(value=value), rest)) | Call(op="mul", args=(rest, Const(value=value))):
            if expr.dtype.kind == "c":
                return None
            inner = _factor(rest, element)
            return float(value) * inner if inner is not None and isfinite(value) else None
        case Call(op="neg", args=(rest,)):
            inner = _factor(rest, element)
            return None if inner is None else -inner
    return None


def _is_cotangent(array: Array, function: Function) -> bool:
    return array.name.endswith("_b") and array.name.removesuffix("_b") in function.info.active


def _is_steady(one: _Scaled, changed: set[Var]) -> bool:
    """Does it go over the same elements in every step?"""
    loops = [stmt for stmt in statements((one.nest,)) if isinstance(stmt, For)]
    own = {loop.index for loop in loops}
    exprs = (*one.element.index, *(bound for loop in loops for bound in (loop.start, loop.stop, loop.step)))
    return not any(loads(e) or variables(e) & (changed - own) for e in exprs)


def _times(nest: Stmt, one: _Scaled, scale: Var) -> Stmt:
    if isinstance(nest, For):
        return replace(nest, body=(_times(nest.body[0], one, scale),))
    return replace(one.store, value=Call("mul", (scale, one.element), scale.dtype))


__all__ = ["scale_once"]
