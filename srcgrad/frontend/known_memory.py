"""What is known of memory: what was written, which types it has, and which Python might hold one for the other.

y = x           x and y are *twins* after the loop, if each has memory of its own: a write to one makes the other
(in a loop)     stale, and reading what is stale is refused (see `aliases`)

y = x if c else z      y is a copy of x or of z, which are not twins for that
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import place
from ..ir import affine
from ..ir.expressions import Array, Const, Expr, Load, Span
from ..ir.nodes import If, Raise, Stmt, View
from ..ir.types import ScalarType
from ..ir.walk import loads
from .joined_numbers import ItemTypes, TypesOf, source_of
from .known_lengths import KnownLengths
from .lists.item_fields_known import ItemFields


class WrittenAfterAll(Exception):
    """An argument was taken for one that is never written: interpret again, knowing better."""

    def __init__(self, name: str) -> None:
        self.name = name


class KnownMemory(KnownLengths):
    """The part of a `Builder` that is about memory."""

    REMEMBERED = (
        *KnownLengths.REMEMBERED, "roots", "rows_of_one", "in_items", "in_unnamed", "parted", "stale", "written",
        "changed_in_loop", "types", "item_types", "rows_of_arrays", "made_in", "arguments_held", "perhaps_written",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.roots: dict[str, str] = {}  # handle → the memory that it is a view of
        self.twins: dict[str, set[str]] = {}  # memory that Python might hold one for the other
        self.originals: dict[str, set[str]] = {}  # of these, what a memory is a copy of; each of the other, if either
        self.parted: dict[frozenset[str], int] = {}  # twins that a check tells apart, if it has to be made: its label
        self.wanted_checks: set[int] = set()
        self.checks_made = 0
        self.makes_checks = False  # of that kind
        self.stale: dict[str, Span | None] = {}
        self.arguments_are_shared = True  # with the caller, who sees what is written to them
        self.rows_of_one: set[str] = set()  # memory of lists, of which Python may hold several items as one array
        self.in_items: set[str] = set()  # memory of arrays in tuples and objects in lists, and copies of it
        self.fields = ItemFields()
        self.in_unnamed: set[str] = set()  # memory of the items of lists that comprehensions make
        self.never_early: frozenset[str] = frozenset()  # arguments that turned out to be written
        self.rows_at_entry: dict[tuple[Array, ...], Array] = {}  # copies of arguments that are never written
        self.written: set[str] = set()
        self.changed_in_loop: set[str] = set()  # of these, by the innermost loop
        self.arguments_held: dict[str, frozenset[str]] = {}  # memory → the arguments that Python may have in its place
        self.perhaps_written: set[str] = set()  # of these, by way of such memory
        self.types: dict[str, Any] = {}  # of memory, by name: the types on different paths (see `joined_numbers`)
        self.item_types: dict[str, ItemTypes] = {}  # of the rows of lists
        self.rows_of_arrays: set[str] = set()  # of these, what holds arrays
        self.made_in: dict[str, list[Stmt]] = {}  # memory → the block that it is made in

    def root(self, array: Array) -> str:
        return self.roots.get(array.name, array.name)

    def is_new(self, name: str) -> None:
        """Memory is allocated: what the one before it may have been, in the last iteration of a loop, it is not."""
        others = self.twins.pop(name, set()) - {name}
        copies = {other for other in others if name in self.originals.get(other, ())}
        originals = self.originals.pop(name, set()) & others
        for other in others:
            self.twins[other].discard(name)
            self.originals.get(other, set()).discard(name)
            self.parted.pop(frozenset((name, other)), None)
        for other in copies:  # of the one before, and so of what that was a copy of
            for one in (originals | copies) - {other}:
                self.note_copy(other, one)
        self.stale.pop(name, None)
        self.types.pop(name, None)
        self.item_types.pop(name, None)

    def note_types(self, array: Array, types: frozenset[ScalarType]) -> None:
        """The memory is of another type on each path."""
        if len(types) > 1:
            root = self.root(array)
            is_new = root not in self.types and source_of(types) is not None
            self.types[root] = types if is_new else TypesOf.of(types | self.types.get(root, frozenset()), object())

    def note_rebound(self, array: Array) -> None:
        """The memory holds another array in each iteration of a loop, and has the type of none of before."""
        root = self.root(array)
        if root in self.types:
            self.types[root] = TypesOf.of(self.types[root], object())

    def note_change(self, root: str) -> None:
        """Other contents, or other memory by this name: nothing that was made of it ahead may be used any more."""
        self.forget_contents()
        self.written.add(root)
        self.changes[root] = self.changes.get(root, 0) + 1
        if any(isinstance(s, View) and self.root(s.base) == root for s in self.prologue):
            raise WrittenAfterAll(root)
        for given, rows in self.rows_at_entry.items():
            if root == rows.name or any(root == array.name for array in given):
                raise WrittenAfterAll(given[0].name if root == rows.name else root)
        self.conformed = {key: view for key, view in self.conformed.items() if self.root(view) != root}

    def note_write(self, array: Array, in_place: bool = True) -> None:
        """Whatever Python might hold for the same memory must not be read any more: we hold a copy of it."""
        self.check_fresh(Load(array, ()))
        root = self.root(array)
        self.perhaps_written |= self.arguments_held.get(root, frozenset())
        if in_place:
            self.fields.note_written(self, root)
        self.note_change(root)
        self.changed_in_loop.add(root)
        twins = self.all_twins(root)
        self.wanted_checks |= {label for pair, label in self.parted.items() if pair <= twins | {root}}
        for twin in self.all_twins(root, parted=False) | (self.rows_of_one & {root}):
            self.stale.setdefault(twin, self.span)

    def conforms_at_entry(self, base: Array, dims: tuple[Expr, ...]) -> bool:
        is_argument = bool(base.dims) and base.name in self.parameters
        never = base.name in self.never_early or base.name in self.written
        return is_argument and not never and all(map(self.is_known_at_entry, dims))

    def note_held(self, copy: str, root: str) -> None:
        """Python may have this memory where we have a copy, which matters to those who hand in one array twice."""
        held = self.arguments_held.get(root, frozenset()) | ({root} & self.parameters)
        if held:
            self.arguments_held[copy] = self.arguments_held.get(copy, frozenset()) | held
            if copy in self.written:  # in the last iteration of a loop
                self.perhaps_written |= held

    def twin(self, copy: Array, original: Array) -> None:
        """Where NumPy has (or may have) a view, we have a copy: writing to one ends reading the other."""
        root = self.root(original)
        self.parted.pop(frozenset((copy.name, root)), None)  # no check tells these apart, whatever had the names before
        self.note_copy(copy.name, root)

    def note_copy(self, copy: str, original: str) -> None:
        """Twins; noted both ways, either may be the copy."""
        self.twins.setdefault(copy, set()).add(original)
        self.twins.setdefault(original, set()).add(copy)
        self.originals.setdefault(copy, set()).add(original)

    def all_twins(self, root: str, parted: bool = True) -> set[str]:
        """Everything that might be this memory, by way of others too; `parted`: if a check did not tell them apart.

        By way of an original they are: both may be copies of it.  By way of a copy they are not: it is one of them.
        """
        found, work = {(root, True)}, [(root, True)]
        while work:
            name, is_up = work.pop()
            for twin in self.twins.get(name, ()):
                is_original, is_copy = (a in self.originals.get(b, ()) for a, b in ((twin, name), (name, twin)))
                if not (is_copy or is_up) or not (parted or frozenset((name, twin)) not in self.parted):
                    continue
                step = (twin, is_up and is_original)
                if step not in found and (twin, True) not in found:
                    found.add(step)
                    work.append(step)
        return {name for name, _ in found} - {root}

    def twin_if(self, copy: Array, original: Array, one: Expr | None) -> None:
        """Twins, if `one` holds when the program runs (None: perhaps).  Then a write to either is an error."""
        if isinstance(one, Const) and not one.value:
            return
        self.twin(copy, original)
        if one is not None and not isinstance(one, Const) and self.makes_checks and self.is_top_level:
            self.checks_made += 1
            label = -1 - self.checks_made
            self.parted[frozenset((copy.name, self.root(original)))] = label
            message = (
                "with these lengths ({} elements) this is a view of an array in NumPy, with others a copy: "
                "to write to either, make a copy first (y = x.copy())" + place(self.span)
            )
            self.emit(If(one, (Raise("RuntimeShapeError", message, (affine.product(copy.dims),)),), label=label))

    def with_wanted_checks(self) -> list[Stmt]:
        """The statements, without the checks for which nobody has asked."""
        kept = (s for s in self.block if s.label >= -1 or s.label in self.wanted_checks)
        return [s if s.label >= -1 else replace(s, label=-1) for s in kept]

    def check_fresh(self, expr: Expr) -> None:
        for load in loads(expr):
            if self.root(load.array) in self.stale:
                self.refuse_stale(load.array.name)

    def refuse_stale(self, name: str) -> None:
        if self.roots.get(name, name) in self.in_items:
            self.refuse_written_part()
        is_item = self.roots.get(name, name) in self.in_unnamed
        called = "an array in a list" if is_item else self.names.wanted.get(name, name)
        self.refuse(
            f"{called} may or may not be the array that was written under another name",
            "copy the array before it gets a second name:  y = x.copy()",
            because="which memory this is depends on the path taken, on lengths or on the order in memory",
        )

    def refuse_written_part(self) -> None:
        self.refuse(
            "an array in a tuple or an object that is an item of a list may or may not be the array that was written",
            "keep the arrays that are written in a list of their own:  fs = [np.zeros(3) for x in xs],  fs[i] += …",
            "and put copies of others into the list:  ys = [(x.copy(), k) for x in xs]",
            because="where the length of the list is only known at run time, what its items hold is copied",
        )
