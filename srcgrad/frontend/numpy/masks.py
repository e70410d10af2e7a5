"""Boolean masks as indices: where they hold, and what is done in a loop with a condition instead.

x[mask]                 →   x[positions[#0]]
x[mask] = y[mask] * 2   →   for each i:  if mask[i]: x[i] = y[i] * 2
np.sum(x[mask])         →   for each i:  if mask[i]: s += x[i]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import IndexArgumentError, place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Axis, Call, Const, Expr, Load
from ...ir.nodes import If, Library, Raise
from ...ir.walk import children, is_constant, loads, rebuild, subexpressions, substitute, variables
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..broadcasting import are_equal
from ..builder import Builder


@dataclass(frozen=True)
class Positions(ArrayValue):
    """Indices along an axis that are known to be inside of it, and not negative."""


@dataclass(frozen=True)
class Mask:
    """A mask in memory, and where it holds: an index for each of its axes."""

    held: ArrayValue
    positions: tuple[Positions, ...]


def check_mask(builder: Builder, mask: ArrayValue, value: ArrayValue, axis: int) -> None:
    """A mask is as long as the axes that it stands for."""
    for k, length in enumerate(mask.dims, axis):
        wanted = value.dims[k]
        key = frozenset((length, wanted))
        if are_equal(builder, length, wanted) or key in builder.checked_lengths:
            continue
        text = "boolean index did not match indexed array along axis {}; size of axis is {} but size of corresponding"
        text += " boolean axis is {}"
        if isinstance(length, Const) and isinstance(wanted, Const):
            builder.refuse(text.format(k, wanted.value, length.value), error=IndexArgumentError)
        if builder.is_top_level:
            builder.checked_lengths.add(key)
        differs = Call("ne", (length, wanted), BOOL)
        values = (affine.integer(k), wanted, length)
        builder.emit(If(differs, (Raise("BoundsError", text + place(builder.span), values),)))


def mask_positions(builder: Builder, mask: ArrayValue) -> tuple[Positions, ...]:
    """One integer array per axis of the mask: where it holds, in C order."""
    key = (mask.dims, mask.element)
    if key in builder.masks:
        return builder.masks[key].positions
    held = builder.in_order(mask, "mask")
    known = whole(held)
    count = builder.sum(known.dims, lambda index: cast(known.at(index), INT64), INT64)
    builder.mutable.discard(count)
    positions = builder.allocate("positions", INT64, (count,))
    builder.emit(Library("find_nonzero", positions, (held,)))
    flat = Load(positions, (Axis(0),))
    out: list[Positions] = []
    below: Expr = affine.ONE
    for axis in reversed(range(mask.ndim)):
        part = flat if is_constant(below, 1) else Call("floordiv", (flat, below), INT64)
        if axis:
            part = Call("mod", (part, mask.dims[axis]), INT64)
            below = affine.mul(below, mask.dims[axis])
        out.insert(0, Positions((count,), part))
    if not variables(mask.element) & builder.mutable:
        builder.masks[key] = Mask(known, tuple(out))
    return tuple(out)


def spread_out(builder: Builder, value: ArrayValue, mask: ArrayValue) -> ArrayValue | None:
    """Of `x[mask] * y[mask]` the values x * y, which mean something where the mask holds; None of other arrays."""
    found = builder.masks.get((mask.dims, mask.element))
    return _spread(value, found) if found is not None else None


def where_mask_holds(builder: Builder, value: ArrayValue) -> tuple[ArrayValue, ArrayValue] | None:
    """Of a value like `x[mask] * y[mask]` the mask, and x * y."""
    read = {load.array for load in loads(value.element)}
    for mask in builder.masks.values():
        if read & {load.array for load in loads(mask.positions[0].element)}:
            spread = _spread(value, mask)
            return (mask.held, spread) if spread is not None else None
    return None


def _spread(value: ArrayValue, mask: Mask) -> ArrayValue | None:
    if value.ndim != 1:
        return None
    at = {part.element: Axis(1 + axis) for axis, part in enumerate(mask.positions)}  # Axis(0) counts where it holds

    def spread(expr: Expr) -> Expr:
        if expr in at:
            return at[expr]
        parts = children(expr)
        return rebuild(expr, tuple(map(spread, parts))) if parts else expr

    element = spread(value.element)
    if Axis(0) in subexpressions(element):
        return None
    axes: dict[Any, Expr] = {1 + axis: Axis(axis) for axis in range(mask.held.ndim)}
    return ArrayValue(mask.held.dims, substitute(element, axes))


__all__ = ["Mask", "Positions", "check_mask", "mask_positions", "spread_out", "where_mask_holds"]
