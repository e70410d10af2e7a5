"""Which memory may be which: where Python gives one array two names, and we give each name memory of its own.

y = x           x and y are one array after the loop, if it ran: writing to one must not be followed by reading
(in a loop)     the other.  Such memories are *twins*; what a write makes stale is refused when it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir.expressions import Array, Dim
from ..ir.nodes import Alloc, Stmt, Swap
from ..ir.walk import loads, statements
from . import identities, optional
from .array_values import ArrayValue, whole
from .values import Items, Once, OneOf, Scalar, TupleValue

if TYPE_CHECKING:
    from .control.attempts import Attempt
    from .interpret import Interpreter


HELD = ".items_"
MEMORY = "memory "  # a name and the memory of another may be called the same


class Aliased(Exception):
    """What is rebound in the loop may be memory that others know: seen at its end, minded from its beginning.

    Each twin is a name that goes round the loop and either another one or, behind MEMORY, the memory that it may be.
    """

    def __init__(self, twins: set[tuple[str, str]], stale: dict[str, Any]) -> None:
        self.twins, self.stale = twins, stale


def is_private(interpreter: Interpreter, name: str, value: ArrayValue) -> bool:
    """Is this memory made here, and known by no other name and through no view?"""
    build, handle = interpreter.build, value.handle
    if handle is None or build.root(handle) != handle.name or handle.name not in build.contiguous:
        return False
    if any(isinstance(dim, Dim) and dim.array == handle.name for dim in handle.dims) or handle.name in build.twins:
        return False
    block = tuple(build.block)
    made = {s.array.name for s in block if isinstance(s, Alloc)}
    return _exchanged(handle.name, block) <= made and not is_known_elsewhere(interpreter, name, handle.name)


def _exchanged(name: str, block: tuple[Stmt, ...]) -> set[str]:
    """The handle, and those that it may have changed places with: it stands for the memory of any of them."""
    swaps = [{s.left.name, s.right.name} for s in statements(block) if isinstance(s, Swap)]
    found = {name}
    while more := set().union(*(pair for pair in swaps if pair & found)) - found:
        found |= more
    return found


def note_twins(interpreter: Interpreter, name: str, own: Array, value: ArrayValue) -> None:
    """Python holds one array where we hold a copy: writing to one must not be followed by reading the other."""
    build, handle = interpreter.build, value.handle
    if handle is None:
        return
    build.note_held(own.name, build.root(handle))
    if is_seen_elsewhere(interpreter, name, build.root(handle)):
        build.twin(own, handle)


def is_seen_elsewhere(interpreter: Interpreter, name: str, root: str) -> bool:
    """Does anybody see it if this memory is written: the caller, another name, a copy that Python does not make?"""
    build = interpreter.build
    return build.is_known_outside(root) or bool(build.twins.get(root)) or is_known_elsewhere(interpreter, name, root)


def is_known_elsewhere(interpreter: Interpreter, name: str, root: str) -> bool:
    """Does another name that is still wanted stand for this memory?"""
    build = interpreter.build
    for frame in identities.frames_of(interpreter):
        for other, held in frame.env.items():
            here = frame is interpreter.frame
            hidden = other.startswith(HELD)  # what a loop runs over is wanted until its end
            wanted = interpreter.wanted is None or other in interpreter.wanted or hidden
            if here and (other == name or not wanted):
                continue
            for leaf in value_leaves(held):
                if isinstance(leaf, (ArrayValue, Scalar)) and any(build.root(a) == root for a in arrays_of(leaf)):
                    return True
    return False


def arrays_of(value: ArrayValue | Scalar) -> list[Array]:
    return [load.array for load in loads(value.expr if isinstance(value, Scalar) else value.element)]


def value_leaves(value: Any) -> list[Any]:
    if isinstance(value, TupleValue):
        return [leaf for item in value.items for leaf in value_leaves(item)]
    if isinstance(value, Items):
        return [whole(value.rows)]
    if isinstance(value, Once):
        return value_leaves(value.value)
    return [value.number] if isinstance(value, OneOf) else [value]


def roots_of_value(build: Any, value: Any) -> set[str]:
    leaves = (leaf for leaf in value_leaves(value) if isinstance(leaf, (ArrayValue, Scalar)))
    return {build.root(array) for leaf in leaves for array in arrays_of(leaf)}


def mind_aliases(interpreter: Interpreter, arrays: list[tuple[str, Array, ArrayValue]], attempt: Attempt) -> None:
    """Copies of memory that another name keeps, or that two names get, are twins from the loop's beginning on."""
    build = interpreter.build
    found: set[tuple[str, str]] = set()
    plain = [(name, end) for name, _, end in arrays if name not in attempt.swapped]
    for name, end in plain:
        for root in roots_of_value(build, end):
            same = {root} | build.all_twins(root)
            found |= {(name, other) for other, value in plain if other != name and same & roots_of_value(build, value)}
            others = {n for n, _ in plain}
            if any(
                root in roots_of_value(build, value)
                for frame in identities.frames_of(interpreter)
                for other, value in frame.env.items()
                if not (frame is interpreter.frame and (other in others or not is_wanted(interpreter, other)))
            ):
                found.add((name, MEMORY + root))
            found |= {(name, MEMORY + twin) for twin in build.all_twins(root)}
    found = {(name, other) for name, other in found - attempt.twins if other != MEMORY + memory_of(arrays, name)}
    if found:
        raise Aliased(found, {})


class TwinsAhead:
    """Which memory from ahead of a loop may be which at its head: what an iteration adds, the next begins with."""

    def __init__(self, build: Any) -> None:
        self.build = build
        self.memory = {*build.parameters, *build.roots.values()}
        self.at_head = {name: build.all_twins(name) for name in build.twins}

    def mind_new_ones(self) -> None:
        found = {
            (MEMORY + name, MEMORY + other)
            for name in self.build.twins
            if name in self.memory
            for other in self.build.all_twins(name) - self.at_head.get(name, set())
            if other in self.memory and name < other
        }
        if found:
            raise Aliased(found, {})


def memory_of(arrays: list[tuple[str, Array, ArrayValue]], name: str) -> str:
    return next(target.name for other, target, _ in arrays if other == name)


def is_wanted(interpreter: Interpreter, name: str) -> bool:
    return interpreter.wanted is None or name in interpreter.wanted or name.startswith(HELD)


def _leaf_by_leaf(value: Any, side: Any) -> list[tuple[Any, Any]]:
    """The arrays in what is behind a branch, each with what it is on one side of it."""
    if optional.is_optional(value) and not optional.is_optional(side):
        value = value.items[1]  # on this side it is there, or None
    mine, theirs = value_leaves(value), value_leaves(side)
    return list(zip(mine, theirs, strict=True)) if len(mine) == len(theirs) else [(value, side)]


def mind_merged_aliases(interpreter: Interpreter, merged: dict[str, Any], sides: tuple[dict[str, Any], ...]) -> None:
    """Names that are one memory at the end of a branch are twins after it, where each has memory of its own."""
    build = interpreter.build
    for side in sides:
        by_root: dict[str, set[str]] = {}
        for name, value in merged.items():
            for leaf, there in _leaf_by_leaf(value, side.get(name)):
                roots = roots_of_value(build, leaf)
                if len(roots) == 1:
                    for root in roots_of_value(build, there):
                        by_root.setdefault(root, set()).update(roots)
        for root, group in by_root.items():
            first, *rest = sorted(group, key=lambda name: (name != root, name))
            for other in rest:
                build.note_copy(other, first)
                if first != root:
                    build.note_copy(first, other)
