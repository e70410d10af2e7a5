"""Operands of several shapes under one: NumPy's broadcasting, and the lengths that have to agree for it.

x[:, None] + w   →  x[#0] and w[#1] under dims (n, m)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ShapeError, place
from ..ir import affine
from ..ir.expressions import (
    BOOL,
    INT64,
    Array,
    Axis,
    Call,
    Const,
    Expr,
    Load,
    either,
    is_inexact,
    negated,
    select,
)
from ..ir.nodes import Conform, If, Raise, View
from ..ir.walk import children, is_constant, loads, rewrite, subexpressions
from ..rules.costs import cost
from .array_values import ArrayValue, whole
from .builder import Builder
from .values import Scalar

NOT_CHEAP = 4  # additions: a quotient, and what takes longer


def broadcast(builder: Builder, values: Sequence[Any]) -> tuple[tuple[Expr, ...], list[Expr]]:
    """The common dims, and every operand's element under them.

    An axis that is known to be 1 is stretched; equal symbolic lengths are equal; where the lengths may differ, the
    operand conforms at run time: it is itself where its shape fits, and a stretched copy where an axis turns out as 1.
    (In an adjoint that is differentiated itself it is read where it lies: what memory a name is has to be known there.)
    """
    arrays = [v for v in values if isinstance(v, ArrayValue)]
    dims = common_dims(builder, [a.dims for a in arrays])
    return dims, [element_under(builder, _once(builder, v, dims), dims) for v in values]


def _once(builder: Builder, value: Any, dims: tuple[Expr, ...]) -> Any:
    """What is not cheap, and is stretched to more rows, is computed for one of them: x * np.sin(w).

    (Of what is stretched along rows, the loop along a row computes nothing again.)
    """
    if not isinstance(value, ArrayValue) or isinstance(value.element, Load) or builder.for_kernels or builder.again:
        return value
    own = (*((affine.ONE,) * (len(dims) - value.ndim)), *value.dims)
    varies = [axis for axis, length in enumerate(own) if not is_constant(length, 1)]
    stretched = (a for a, n in enumerate(dims) if is_constant(own[a], 1) and not is_constant(n, 1))
    if not any(axis < other for axis in stretched for other in varies):
        return value
    return builder.kept(value) if any(map(_is_not_cheap, subexpressions(value.element))) else value


def _is_not_cheap(node: Expr) -> bool:
    """(A quotient by one number is a product, in the sweep.)"""
    if not (isinstance(node, Call) and is_inexact(node.dtype) and cost(node) >= NOT_CHEAP):
        return False
    return node.op != "div" or reads_axes(node.args[1])


def common_dims(builder: Builder, shapes: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    ndim = max((len(shape) for shape in shapes), default=0)
    out: list[Expr] = []
    for axis in range(-ndim, 0):
        lengths = [shape[axis] for shape in shapes if len(shape) >= -axis]
        out.append(common_length(builder, lengths, shapes))
    return tuple(out)


def common_length(builder: Builder, lengths: list[Expr], shapes: Sequence[tuple[Expr, ...]]) -> Expr:
    length: Expr = affine.ONE
    for other in lengths:
        if affine.same(length, other) or is_constant(other, 1):
            continue
        if is_constant(length, 1):
            length = other
            continue
        gap = affine.difference(length, other)
        if gap is not None and isinstance(length, Const) and isinstance(other, Const):
            texts = " and ".join(shape_text(shape) for shape in shapes)
            builder.refuse(f"operands of shapes {texts} can't be broadcast together", error=ShapeError)
        length = _guarded_length(builder, length, other)
    return length


def _guarded_length(builder: Builder, x: Expr, y: Expr) -> Expr:
    """The common length of two axes that may differ: one of them is then 1, or it is an error."""
    if not builder.stretch:
        return equal_length(builder, x, y)
    if isinstance(x, Const) and x.value != 1:
        x, y = y, x
    if isinstance(y, Const):  # the other one is this, or 1
        return _checked(builder, x, y, affine.equals(x, affine.ONE), y)
    x, y = builder.pin(x), builder.pin(y)
    parts_x, parts_y = builder.length_parts.get(x, {x}), builder.length_parts.get(y, {y})
    if parts_y <= parts_x or parts_x <= parts_y:  # one was made of the other, and compared with it then
        return x if parts_y <= parts_x else y
    single = either(affine.equals(x, affine.ONE), affine.equals(y, affine.ONE))
    parts = frozenset(parts_x | parts_y)
    if parts not in builder.common_lengths:
        length = Call("select", (affine.equals(x, affine.ONE), y, x), INT64)
        early = builder.is_known_at_entry(x) and builder.is_known_at_entry(y)
        var = builder.at_entry("n", length) if early else builder.variable("n", length)
        builder.pinned.add(var)
        builder.lower[var] = 0
        builder.length_parts[var] = parts
        if not (early or builder.is_top_level):
            return _checked(builder, x, y, single, var)
        builder.common_lengths[parts] = var
    return _checked(builder, x, y, single, builder.common_lengths[parts])


def equal_length(builder: Builder, x: Expr, y: Expr) -> Expr:
    """The common length, where a length of 1 that would have to be stretched is not expected."""
    x, y = builder.pin(x), builder.pin(y)
    if not are_equal(builder, x, y):
        builder.compatible.add(frozenset((x, y)))
        builder.equal_lengths = True
        builder.taken_as_equal.append((x, y))
        message = "lengths {} and {} do not broadcast together" + place(builder.span)
        builder.emit(If(Call("ne", (x, y), BOOL), (Raise("BroadcastError", message, (x, y)),)))
    return y if isinstance(y, Const) else x


def are_equal(builder: Builder, x: Expr, y: Expr) -> bool:
    """Are two lengths the same, as written or by what was checked on the way here?"""
    if affine.same(x, y):
        return True
    if builder.stretch:
        return False
    seen, work = {x}, [x]
    while work:
        length = work.pop()
        for pair in builder.compatible:
            if length in pair:
                for other in pair - seen:
                    if affine.same(other, y):
                        return True
                    seen.add(other)
                    work.append(other)
    return False


def _checked(builder: Builder, x: Expr, y: Expr, single: Expr, length: Expr) -> Expr:
    """The length, behind a guard that the two fit (unless that was checked on the way here)."""
    key = frozenset((x, y))
    if key not in builder.compatible:
        builder.compatible.add(key)
        fits = either(affine.equals(x, y), single)
        message = "lengths {} and {} do not broadcast together" + place(builder.span)
        builder.emit(If(negated(fits), (Raise("BroadcastError", message, (x, y)),)))
    return length


def check_fits(builder: Builder, dims: tuple[Expr, ...], wanted: tuple[Expr, ...], *, stretch: bool = False) -> None:
    """An array of the first shape spreads to the second: each length is the same, or 1 (which `stretch` expects)."""
    if len(dims) > len(wanted):
        builder.refuse(misfit(dims, wanted), error=ShapeError)
    for length, target in zip(reversed(dims), reversed(wanted), strict=False):
        if affine.same(length, target) or is_constant(length, 1):
            continue
        if isinstance(length, Const) and isinstance(target, Const):
            builder.refuse(misfit(dims, wanted), error=ShapeError)
        if not (builder.stretch or stretch):
            equal_length(builder, length, target)
            continue
        fits = either(affine.equals(length, target), affine.equals(length, affine.ONE))
        message = "an axis of length {} does not fit into one of length {}" + place(builder.span)
        builder.emit(If(negated(fits), (Raise("BroadcastError", message, (length, target)),)))


def misfit(dims: tuple[Expr, ...], wanted: tuple[Expr, ...]) -> str:
    return f"could not broadcast an array of shape {shape_text(dims)} into shape {shape_text(wanted)}"


def element_that_fits(builder: Builder, value: Any, dims: tuple[Expr, ...]) -> Expr:
    """The element of a value at (#0, #1, …) of a shape that is given, if it fits there."""
    if isinstance(value, ArrayValue):
        check_fits(builder, value.dims, dims)
    return element_under(builder, value, dims)


def element_under(builder: Builder, value: Any, dims: tuple[Expr, ...]) -> Expr:
    """The element of a value at (#0, #1, …) of a broadcast shape."""
    if isinstance(value, Scalar):
        return value.expr
    offset = len(dims) - value.ndim
    index: list[Expr] = []
    conforms = True
    for axis, length in enumerate(value.dims):
        if are_equal(builder, builder.pin(length), dims[axis + offset]):
            index.append(Axis(axis + offset))
        elif is_constant(length, 1):
            index.append(affine.ZERO)
        elif builder.again:
            index.append(select(affine.equals(length, affine.ONE), affine.ZERO, Axis(axis + offset)))
        else:
            conforms = False
            index.append(Axis(axis + offset))
    if conforms:
        return value.at(index)
    return _conform(builder, value, dims[offset:]).at([Axis(axis + offset) for axis in range(value.ndim)])


def _conform(builder: Builder, value: ArrayValue, dims: tuple[Expr, ...]) -> ArrayValue:
    if not value.is_window and (leafwise := _conform_leaves(builder, value, dims)) is not None:
        return leafwise
    base = builder.in_order(value) if value.is_window else builder.materialize(value)
    key = (base, dims)
    early = builder.conforms_at_entry(base, dims)
    if (early or builder.is_top_level) and key in builder.conformed:
        return whole(builder.conformed[key])
    array = Array(builder.names.fresh(base.name), base.dtype, dims)
    view = View(array, base, Conform(dims))
    if early:  # an argument that is never written: once for all
        builder.prologue.append(view)
    else:
        builder.emit(view)
    builder.roots[array.name] = builder.root(base)
    builder.stretched[array.name] = base
    if early or builder.is_top_level:
        builder.conformed[key] = array
    return whole(array)


def shown_as(builder: Builder, dims: tuple[Expr, ...], element: Expr) -> ArrayValue:
    """An operand in a broadcast shape, handed out: a view in NumPy, and here a copy where an axis is stretched."""
    match element:
        case Load(array=Array(name=name), index=index) if name in builder.stretched:
            base = builder.stretched[name]
            array = Array(builder.names.fresh(base.name), base.dtype, element.array.dims)
            builder.emit(View(array, base, Conform(array.dims)))
            builder.roots[array.name] = array.name
            builder.twin(array, base)
            return ArrayValue(dims, Load(array, index))
    return ArrayValue(dims, element)


def _conform_leaves(builder: Builder, value: ArrayValue, dims: tuple[Expr, ...]) -> ArrayValue | None:
    """An expression conforms when the arrays in it do, if each is read by plain axes; no temporary is needed then."""
    odd = {k for k, (x, y) in enumerate(zip(value.dims, dims, strict=False)) if not affine.same(x, y)}
    changed: dict[Expr, Expr] = {}
    for load in loads(value.element):
        if not all(isinstance(part, Axis) or not reads_axes(part) for part in load.index):
            return None
        along = [part.number if isinstance(part, Axis) else None for part in load.index]
        if odd & set(along):
            whole_axes = all(
                k is not None and affine.same(n, value.dims[k]) for k, n in zip(along, load.array.dims, strict=False)
            )
            if not whole_axes:
                return None
            part_dims = tuple(dims[k] for k in along)  # type: ignore[index]
            conformed = _conform(builder, whole(load.array), part_dims)
            changed[load] = conformed.at(load.index)
    if any(isinstance(n, Axis) and n.number in odd for n in _outside_loads(value.element)):
        return None  # an arange: the index itself is the value
    return ArrayValue(dims, rewrite(value.element, lambda node: changed.get(node, node)))


def _outside_loads(expr: Expr) -> list[Expr]:
    if isinstance(expr, Load):
        return []
    return [expr, *(node for part in children(expr) for node in _outside_loads(part))]


def shape_text(dims: Sequence[Expr]) -> str:
    parts = [str(d.value) if isinstance(d, Const) else "?" for d in dims]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def reads_axes(expr: Expr) -> bool:
    return any(isinstance(node, Axis) for node in subexpressions(expr))
