"""Slices: bounds clipped as Python clips them, whether they are known or not.

5:-1 of an axis of length n   →   start 5, step 1, length max(n - 6, 0)
"""

from __future__ import annotations

from typing import Any

from ...errors import IndexArgumentError, ValueArgumentError
from ...errors import place as error_place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Const, Expr
from ...ir.nodes import If, Raise
from ...ir.walk import is_constant
from ..arithmetic import cast
from ..array_values import ArrayValue
from ..builder import Builder
from ..values import Scalar, Slice, static_int

CUT = "a slice ends at {}, and its axis, of length {}, before that"


def normalize(builder: Builder, part: Slice, length: Expr) -> tuple[Expr, Expr, Expr]:
    """(start, step, length) of a slice of an axis, clipped as Python clips."""
    step = affine.ONE if part.step is None else as_integer(builder, part.step)
    if is_constant(step, 0):
        builder.refuse("slice step cannot be zero", error=ValueArgumentError)
    is_upward = builder.is_at_least(step, 1)
    size = step if is_upward else affine.mul(affine.integer(-1), step)
    if not builder.is_at_least(size, 1):
        return _run_time_step(builder, part, step, length)
    if isinstance(size, Const):
        builder.expect_at_least(length, _uncut_length(builder, part, is_upward), CUT)
    if is_upward:
        start = _clip(builder, part.start, length, affine.ZERO, from_below=True)
        stop = _clip(builder, part.stop, length, length, from_below=False)
        count = affine.sub(stop, start)
    else:
        last = affine.sub(length, affine.ONE)
        start = last if part.start is None else _clip_down(builder, part.start, length)
        stop = affine.integer(-1) if part.stop is None else _clip_down(builder, part.stop, length)
        count = affine.sub(start, stop)
    if not is_constant(size, 1):
        count = affine.add(count, affine.sub(size, affine.ONE))
        if isinstance(size, Const):
            count = affine.floordiv(count, int(size.value))
        else:
            count = _captured_length(builder, Call("floordiv", (count, size), INT64))
    if not builder.is_at_least(count, 0):
        count = affine.maximum(count, affine.ZERO)
    return start, step, count


def _uncut_length(builder: Builder, part: Slice, is_upward: bool) -> Expr:
    """The least length of an axis that a slice lies inside; 0 where its own length depends on the axis anyway."""
    given = {name: getattr(part, name) for name in ("start", "stop") if getattr(part, name) is not None}
    constants = {name: static_int(value) for name, value in given.items()}
    if None not in constants.values():
        return affine.integer(_least_length(constants, is_upward))  # type: ignore[arg-type]
    bounds = [as_integer(builder, value) for value in given.values()]  # i : i + 3
    is_early = all(builder.is_at_least(later, 0) for later in (bounds[0], affine.sub(bounds[-1], bounds[0])))
    return builder.greatest(bounds[-1]) if is_upward and is_early else affine.ZERO


def _least_length(bounds: dict[str, int], is_upward: bool) -> int:
    start, stop = bounds.get("start"), bounds.get("stop")
    is_early = [bound is None or bound >= 0 for bound in (start, stop)]  # counted from the front
    is_late = [bound is None or bound < 0 for bound in (start, stop)]
    if is_upward and stop is not None and all(is_early):
        return stop
    if is_upward and start is not None and all(is_late):
        return -start
    if not is_upward and start is not None and all(is_early):
        return start + 1
    if not is_upward and stop is not None and all(is_late):
        return max(-(start or 0), -stop - 1)
    return 0


def _clip(builder: Builder, bound: Any, length: Expr, default: Expr, from_below: bool) -> Expr:
    """A bound of an upward slice.  A start past the end needs no clipping: the length is then 0."""
    if bound is None:
        return default
    expr = as_integer(builder, bound)
    if isinstance(expr, Const) and expr.value < 0:
        moved = affine.add(length, expr)
        return affine.maximum(moved, affine.ZERO) if from_below and not builder.is_at_least(moved, 0) else moved
    if builder.is_at_least(expr, 0):
        is_inside = from_below or builder.is_at_least(affine.sub(length, expr), 0)
        return expr if is_inside else affine.minimum(expr, length)
    expr = builder.capture(expr, "k")
    wrapped = Call("select", (is_negative(expr), affine.add(expr, length), expr), INT64)
    low = Call("maximum", (wrapped, affine.ZERO), INT64)
    return builder.capture(low if from_below else Call("minimum", (low, length), INT64), "k")


def _clip_down(builder: Builder, bound: Any, length: Expr) -> Expr:
    expr = as_integer(builder, bound)
    last = affine.sub(length, affine.ONE)
    if isinstance(expr, Const):
        if expr.value >= 0:
            return expr if builder.is_at_least(affine.sub(last, expr), 0) else affine.minimum(expr, last)
        moved = affine.add(length, expr)
        return moved if builder.is_at_least(moved, -1) else affine.maximum(moved, affine.integer(-1))
    expr = builder.capture(expr, "k")
    wrapped = Call("select", (is_negative(expr), affine.add(expr, length), expr), INT64)
    return builder.capture(Call("minimum", (Call("maximum", (wrapped, affine.integer(-1)), INT64), last), INT64), "k")


def _run_time_step(builder: Builder, part: Slice, step: Expr, length: Expr) -> tuple[Expr, Expr, Expr]:
    step = builder.capture(step, "step")
    zero = Raise("RuntimeValueError", "slice step cannot be zero" + error_place(builder.span))
    builder.emit(If(affine.equals(step, affine.ZERO), (zero,)))
    upward = Call("gt", (step, affine.ZERO), BOOL)
    up = [_clip(builder, part.start, length, affine.ZERO, False), _clip(builder, part.stop, length, length, False)]
    last = affine.sub(length, affine.ONE)
    down = [
        last if part.start is None else _clip_down(builder, part.start, length),
        affine.integer(-1) if part.stop is None else _clip_down(builder, part.stop, length),
    ]
    start = builder.capture(Call("select", (upward, up[0], down[0]), INT64), "start")
    stop = builder.capture(Call("select", (upward, up[1], down[1]), INT64), "stop")
    size = Call("abs", (step,), INT64)
    gap = Call("select", (upward, affine.sub(stop, start), affine.sub(start, stop)), INT64)
    count = Call("floordiv", (affine.sub(affine.add(gap, size), affine.ONE), size), INT64)
    return start, step, _captured_length(builder, count)


def _captured_length(builder: Builder, count: Expr) -> Expr:
    length = builder.variable("n", affine.maximum(count, affine.ZERO))
    builder.lower[length] = 0
    return length


def is_negative(expr: Expr) -> Expr:
    return Call("lt", (expr, affine.ZERO), BOOL)


def as_integer(builder: Builder, value: Any) -> Expr:
    if isinstance(value, ArrayValue) and value.ndim == 0:
        value = Scalar(value.element)
    if not isinstance(value, Scalar) or value.dtype.kind not in "iu":
        builder.refuse("slice bounds and indices must be integers", error=IndexArgumentError)
    return cast(value.expr, INT64)
