"""Arrays that have another shape in each iteration: the first elements of memory that has room for all of them.

while len(x) > 1:                 x_1 = x.copy(); x_length = len(x)
    x = x[::2] * x[1::2]     →    while x_length > 1:
                                      n = x_length; t = x_1[0:n:2] * x_1[1:n:2]
                                      x_1[: n // 2] = t; x_length = n // 2
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import HELP, place
from ..ir import affine
from ..ir.expressions import BOOL, Array, Call, Const, Dim, Expr, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, CopyTo, Grow, If, Invoke, Raise, Run, Stmt, Store, Subscript, View
from ..ir.walk import numbers_set, statements, subexpressions, substitute, targets, variables
from .aliases import is_private, note_twins
from .arithmetic import cast
from .array_values import ArrayValue, axes, whole
from .values import Range, TupleValue

if TYPE_CHECKING:
    from .builder import Builder
    from .interpret import Interpreter

Growth = dict[int, Expr]  # axes that change their lengths → by how much an iteration makes them longer at most


def enter(
    interpreter: Interpreter, name: str, value: ArrayValue, dtype: np.dtype, growth: Growth, trips: Expr | None
) -> ArrayValue:
    """The array at the head of a loop: its lengths are variables, which each iteration assigns."""
    build = interpreter.build
    grows = is_in_growing_memory(growth, trips)
    if grows and not may_grow(interpreter):
        build.refuse(
            f"{name.lstrip('.')} grows in a while loop that is inside another loop, or a branch",
            "write to an array that is allocated ahead of the loop and is long enough, and count",
        )
    most = tuple(
        affine.add(dim, affine.mul(trips, growth[k])) if trips is not None and k in growth else dim
        for k, dim in enumerate(value.dims)
    )
    same = dtype == value.dtype and all(map(affine.same, most, value.dims))
    if same and not grows and is_private(interpreter, name, value):
        memory = value.handle
        assert memory is not None
    else:
        memory = memory_that_grows(build, name, dtype, most) if grows else build.allocate(name, dtype, most)
        build.each(value.dims, lambda index: Store(memory, index, cast(value.at(index), dtype)))
        note_twins(interpreter, name, memory, value)
    dims = list(value.dims)
    for k in growth:
        dims[k] = length = build.variable(f"{name}_length", value.dims[k])
        build.mutable.add(length)
        build.lower[length] = 0
    return ArrayValue(tuple(dims), Load(memory, axes(value.ndim)))


ROWS = 16  # of memory that grows, to begin with


def is_in_growing_memory(growth: Growth, over: Range | Expr | None) -> bool:
    """Of a loop that adds rows, and of which nobody knows how often it runs."""
    return over is None and not affine.same(growth.get(0, affine.ZERO), affine.ZERO)


def may_grow(interpreter: Interpreter) -> bool:
    """Can there be memory here that grows?"""
    return interpreter.instance is None and interpreter.build.is_top_level


def memory_that_grows(build: Builder, name: str, dtype: np.dtype, dims: tuple[Expr, ...]) -> Array:
    """Memory that grows, with room for as many rows as `dims` says from here on."""
    fresh, count = build.names.fresh(name), dims[0]
    row = tuple(build.pin(dim) for dim in dims[1:])
    rows = Array(fresh, dtype, (Dim(fresh, 0), *row))
    build.emit(Alloc(rows, (affine.integer(ROWS), *row)))
    build.made_in[fresh] = build.block
    build.contiguous.add(fresh)
    build.roots[fresh] = fresh
    if not isinstance(count, Const) or count.value > ROWS:
        build.emit(Grow(rows, count))
    return rows


def memory_of(value: ArrayValue) -> Array | None:
    """The memory of which the array is the first elements."""
    match value.element:
        case Load(array=array, index=index) if index == axes(value.ndim) and array.ndim == value.ndim:
            return array
    return None


def is_open(interpreter: Interpreter, value: Any) -> bool:
    """Are there lengths in it that are still to change?"""
    if isinstance(value, TupleValue):
        return any(is_open(interpreter, item) for item in value.items)
    return isinstance(value, ArrayValue) and any(dim in interpreter.build.mutable for dim in value.dims)


def settled(interpreter: Interpreter, value: Any) -> Any:
    """The array with the lengths that it has now."""
    if not is_open(interpreter, value):
        return value
    if isinstance(value, TupleValue):
        return replace(value, items=tuple(settled(interpreter, item) for item in value.items))
    build, memory = interpreter.build, memory_of(value)
    assert memory is not None
    dims = []
    for dim in value.dims:
        now = build.pin(dim)
        if dim in build.mutable:
            build.lower[now] = 0
        dims.append(now)
    return whole(build.view(ArrayValue(tuple(dims), value.element), memory.name))


def changing(interpreter: Interpreter, first: ArrayValue, then: ArrayValue, index: Var | None) -> list[int]:
    """The axes along which the length at the end of an iteration is another than at its beginning, as far as is known.

    Lengths that may be the same are not among them: whether they are is found at run time.
    """
    setters: dict[Any, list[Stmt]] = {}
    for stmt in statements(tuple(interpreter.build.block)):
        for var in targets(stmt):
            setters.setdefault(var, []).append(stmt)

    def changes(x: Expr, y: Expr, followed: frozenset[Var] = frozenset()) -> bool:
        gap = affine.difference(x, y)
        if gap is not None:
            return gap != 0
        inside = [var for var in variables(y) if var in setters]
        if index in variables(y) or any(var in interpreter.build.mutable for var in variables(y) if var not in inside):
            return True
        if not inside:
            return bool(_lengths(x) & _lengths(y))
        var = inside[0]
        if var in followed:  # round a circle of names: the same length again, unless something is added on the way
            return y != var
        for stmt in setters[var]:
            match stmt:
                case Assign(value=value) if var not in variables(value):
                    if changes(x, substitute(y, {var: value}), followed | {var}):
                        return True
                case Invoke():
                    pass  # the length of what a function returns
                case _:
                    return True
        return False

    return [k for k, (x, y) in enumerate(zip(first.dims, then.dims, strict=True)) if changes(x, y)]


def grown(
    interpreter: Interpreter,
    name: str,
    head: ArrayValue,
    end: ArrayValue,
    growth: Growth,
    index: Var | None,
    over: Range | None,
) -> Growth:
    """By how much an iteration makes the axes longer that change."""
    inside = {index, *numbers_set(tuple(interpreter.build.block))}
    out: Growth = {}
    for k in growth:
        more = affine.sub(end.dims[k], _now(interpreter, head.dims[k]))
        if variables(more) & inside:
            more = affine.ZERO  # it may or may not fit: seen at run time
        elif not affine.is_at_least(more, 0):
            more = affine.maximum(more, affine.ZERO)
        if over is None and k and not affine.same(more, affine.ZERO):
            interpreter.build.refuse(
                f"{name.lstrip('.')} grows in a while loop, so its length is not known ahead of it",
                "write to an array that is allocated ahead of the loop and is long enough, and count",
            )
        out[k] = more
    return out


NAME_THE_COUNT = "where an argument says how many rounds there are, and these are few, name it:  @grad(static=...)"


def check_room(interpreter: Interpreter, head: ArrayValue, end: ArrayValue, growth: Growth) -> None:
    """What the array is at the end of an iteration must fit into its memory."""
    build, memory = interpreter.build, memory_of(head)
    assert memory is not None
    for k, grows in growth.items():
        length, room = end.dims[k], memory.dims[k]
        if affine.same(grows, affine.ZERO) and not _is_at_most(interpreter, length, _now(interpreter, head.dims[k])):
            called = build.names.wanted.get(memory.name, memory.name)
            message = f"{called} grows in a loop, by more in some rounds than in others: from at most {{}} to {{}}"
            made_anew = (
                f"where each round makes it anew, give it its shape ahead of the loop:  {called} = np.zeros(...)"
            )
            message += HELP + made_anew + HELP + NAME_THE_COUNT + place(build.span)
            build.emit(If(Call("gt", (length, room), BOOL), (Raise("RuntimeShapeError", message, (room, length)),)))


def hand_on(
    interpreter: Interpreter, head: ArrayValue, end: ArrayValue, source: Array | None, growth: Growth, grows: bool
) -> None:
    """Put what the array is at the end of an iteration (or its copy, `source`) where the next one looks for it.

    `grows`: in memory that is made large enough.
    """
    build, memory = interpreter.build, memory_of(head)
    assert memory is not None
    if grows:
        build.emit(Grow(memory, end.dims[0]))
    if source is not None:
        part = ArrayValue(end.dims, Load(memory, axes(end.ndim)))
        build.emit(CopyTo(build.view(part, memory.name), source))
    for k in growth:
        length, now = head.dims[k], _now(interpreter, head.dims[k])
        assert isinstance(length, Var)
        more = affine.sub(end.dims[k], now)
        if now in subexpressions(more):
            build.emit(Assign(length, end.dims[k]))
        elif not affine.same(more, affine.ZERO):
            build.emit(AddTo(length, more))


def is_beginning(interpreter: Interpreter, memory: Array, end: ArrayValue) -> bool:
    """Is it already the first elements of this memory?"""
    handle = end.handle
    for stmt in reversed(interpreter.build.block):
        match stmt:
            case View(array=array, base=base, how=Subscript(items=items)) if array == handle:
                runs = [item for item in items if isinstance(item, Run)]
                unmoved = all(affine.same(r.start, affine.ZERO) and affine.same(r.step, affine.ONE) for r in runs)
                handle = base if unmoved and len(runs) == len(items) else None
    return handle == memory


def _is_at_most(interpreter: Interpreter, length: Expr, bound: Expr) -> bool:
    match length:
        case Call(op="maximum", args=(x, y)):
            return _is_at_most(interpreter, x, bound) and _is_at_most(interpreter, y, bound)
        case Call(op="minimum", args=(x, y)):
            return _is_at_most(interpreter, x, bound) or _is_at_most(interpreter, y, bound)
    return interpreter.build.is_at_least(affine.sub(bound, length), 0)


def _now(interpreter: Interpreter, length: Expr) -> Expr:
    """What a length that changes is in this iteration."""
    for stmt in interpreter.build.block:
        if isinstance(stmt, Assign) and stmt.value == length:
            return stmt.var
    return length


def _lengths(dim: Expr) -> set[Expr]:
    return {node for node in subexpressions(dim) if isinstance(node, (Var, Dim))}
