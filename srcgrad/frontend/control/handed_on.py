"""What names hold at the end of an iteration is handed on to the next: memory changes places, or is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import HELP, place
from ...ir import affine
from ...ir.expressions import BOOL, Array, Call, Expr, Var
from ...ir.nodes import CopyTo, If, Raise, Store, Swap
from ...ir.types import ScalarType
from ...ir.walk import numbers_set, variables
from .. import identities, resized
from ..aliases import arrays_of, note_twins, value_leaves
from ..arithmetic import cast
from ..array_values import ArrayValue
from ..joined_numbers import types_of
from ..resized import NAME_THE_COUNT

if TYPE_CHECKING:
    from ..interpret import Interpreter


def steady_dims(build: Any, entry: ArrayValue, end: ArrayValue) -> tuple[Expr, ...]:
    """The shape of memory that is rebound in a loop: that of the end, where it is known from the arguments."""
    if all(map(affine.same, entry.dims, end.dims)) or not all(map(build.is_known_at_entry, end.dims)):
        return entry.dims
    return end.dims


def in_other_memory(
    interpreter: Interpreter, name: str, value: ArrayValue, dtype: np.dtype, dims: tuple[Expr, ...]
) -> Array:
    """The value at the head of a loop in memory with the shape that it has at the end, and a dtype for both."""
    build = interpreter.build
    check_same_shape(interpreter, name, value.dims, dims, "give it the length ahead of the loop that it has behind")
    own = build.allocate(name, dtype, dims)
    build.note_types(own, types_of(build, value) | {ScalarType(dtype)})
    build.each(dims, lambda index: Store(own, index, cast(value.at(index), dtype)))
    note_twins(interpreter, name, own, value)
    return own


def permuted(interpreter: Interpreter, names: list[str], entries: dict[str, Any], rebound: dict[str, Any]) -> set[str]:
    """Rebound names that only change places: their memory can be swapped instead of copied."""
    build = interpreter.build
    ends = {n: interpreter.env[n].handle for n in rebound if isinstance(interpreter.env.get(n), ArrayValue)}
    starts = {n: entries[n].handle for n in rebound if isinstance(entries.get(n), ArrayValue)}
    group = {n for n in rebound if ends.get(n) is not None and starts.get(n) is not None}
    while True:
        handles = {starts[n] for n in group}
        smaller = {n for n in group if ends[n] in handles}
        if smaller == group:
            break
        group = smaller
    if len({starts[n] for n in group}) < len(group) or len({ends[n] for n in group}) < len(group):
        return set()
    for n in group:
        handle = starts[n]
        others = [
            leaf
            for frame in identities.frames_of(interpreter)
            for m, value in frame.env.items()
            for leaf in value_leaves(value)
            if isinstance(leaf, ArrayValue) and handle in arrays_of(leaf)
            if not (frame is interpreter.frame and m in group)
        ]
        views = [a for a, root in build.roots.items() if root == handle.name and a != handle.name]
        fits = all(map(affine.same, starts[n].dims, ends[n].dims)) and handle.name in build.contiguous
        fits = fits and starts[n].dtype == ends[n].dtype
        if others or views or not fits or build.root(handle) != handle.name or build.twins.get(handle.name):
            return set()
    return group


def shape_known_ahead(interpreter: Interpreter, name: str, value: ArrayValue) -> tuple[Expr, ...]:
    inside = numbers_set(tuple(interpreter.build.block))
    for dim in value.dims:
        for var in variables(dim):
            if (var in interpreter.build.lower and var not in interpreter.build.known_at_entry) or var in inside:
                interpreter.build.refuse(
                    f"the shape of {name.lstrip('.')} is only known inside the loop, and it is used after it",
                    "allocate it ahead of the loop",
                )
    return value.dims


def in_parallel(build: Any, pairs: list[tuple[Var, Expr]]) -> list[tuple[Var, Expr]]:
    """Assignments that all read the old values, in an order that keeps them."""
    targets = {var for var, _ in pairs}
    out = []
    for var, expr in pairs:
        if variables(expr) & (targets - {var}):
            expr = build.variable(f"{var.name}_next", expr)
        out.append((var, expr))
    return out


def exchange(
    interpreter: Interpreter,
    pairs: list[tuple[str, Array, ArrayValue]],
    open_heads: dict[str, ArrayValue],
    swapped: set[str],
    growths: dict[str, resized.Growth],
    growing: set[str],
) -> None:
    """Copy what rebound names hold now into their memory (if `growing`, made large enough); swap where they only change
    places."""
    build = interpreter.build
    holder = {target: end.handle for name, target, end in pairs if name in swapped}
    for target in list(holder):  # cycles, as swaps
        source = holder[target]
        if source is None or source not in holder:
            build.refuse("these arrays change places in a way that depends on the path taken", "copy them instead")
        if source != target:
            build.note_change(build.root(target))
            build.note_change(build.root(source))
            build.emit(Swap(target, source))
            for other, wanted in holder.items():
                if wanted == target and other != target:
                    holder[other] = source
            holder[target] = target
    copies = [(name, target, end) for name, target, end in pairs if name not in swapped]
    targets = {target for _, target, _ in copies}
    for name, target, end in copies:
        growth = growths.get(name, {})
        fixed = [k for k in range(target.ndim) if k not in growth]
        first, then = (tuple(v.dims[k] for k in fixed) for v in (target, end))
        check_same_shape(interpreter, target.name, first, then)
        if growth:
            resized.check_room(interpreter, open_heads[name], end, growth)
    held: list[tuple[str, Array, ArrayValue, Array | None]] = []
    for name, target, end in copies:
        build.check_fresh(end.element)
        reads = {a for a in arrays_of(end) if any(build.root(a) == build.root(t) for t in targets)}
        source = end.handle
        if source is None or source.name not in build.contiguous or source.name in build.uncertain:
            build.uncertain.add(target.name)
        if name in open_heads and resized.is_beginning(interpreter, target, end):
            source = None
        elif source is None or reads:  # the source may be a view of what is written
            source = build.materialize(end, "t", copy=source is not None)
        held.append((name, target, end, source))
    for name, target, end, source in held:
        if name in open_heads:
            resized.hand_on(interpreter, open_heads[name], end, source, growths[name], name in growing)
        else:
            assert source is not None
            build.emit(CopyTo(target, source))
        build.stale.pop(target.name, None)


def check_same_shape(
    interpreter: Interpreter, name: str, first: tuple[Expr, ...], then: tuple[Expr, ...], advice: str = NAME_THE_COUNT
) -> None:
    build = interpreter.build
    for x, y in zip(first, then, strict=True):
        gap = affine.difference(x, y)
        if gap is None:
            message = "an array changes its length from {} to {} in a loop, which is not supported"
            message += HELP + advice + place(build.span)
            build.emit(If(Call("ne", (x, y), BOOL), (Raise("RuntimeShapeError", message, (x, y)),)))
        elif gap:
            build.refuse(f"{name} changes its shape from one iteration to the next")
