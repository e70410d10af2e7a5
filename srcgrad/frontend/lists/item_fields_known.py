"""What is known of objects in lists of run-time length that change (see `item_fields`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import SrcgradError
from ...ir.types import ScalarType

if TYPE_CHECKING:
    from ..statements import Statements

Field = tuple[Any, Any]  # of which kind of object, and its name
Put = tuple[Any, ...]  # where a program puts an item into a list: the places of all calls under way, and that
Numbers = dict[tuple[Field, Put | None], ScalarType]  # of items that are put there (and which number), or anywhere
ANY_FIELD: Field = (None, None)


class Shared(Exception):
    """Arrays of objects in lists that are written in their places may have other names, after all."""

    def __init__(self, parts: set[Field]) -> None:
        self.parts = parts


class OtherNumbers(Exception):
    """A part of objects in lists gets a number of another kind than it had, and needs room for it from the start."""

    def __init__(self, part: Field, places: Iterable[Put | None], kind: ScalarType) -> None:
        self.found: Numbers = {(part, place): kind for place in places}


@dataclass
class LoopAhead:
    """What was one memory ahead of a loop, how often items had been moved, and where an iteration puts some."""

    node: Any
    twins: dict[str, set[str]]
    moved: dict[str, int]
    put: set[str] = field(default_factory=set)

    @property
    def index(self) -> Any:
        return getattr(self.node, "index", None)


@dataclass
class ItemFields:
    """What is known of objects in lists that change, in one interpretation of a program, at whichever place of it.

    `kinds`: those of the numbers that their parts get, as earlier tries have shown.
    """

    are_views: bool = False
    kinds: Numbers = field(default_factory=dict)
    shared: set[Field] = field(default_factory=set)  # whose arrays may have other names, or be those of other objects
    are_kinds_kept: bool = False  # no part gets another kind of number
    own: set[Field] = field(default_factory=set)  # whose arrays were written in their places, and had none
    is_own_write: bool = False
    are_read: bool = False  # are there objects in lists at all?
    rows: set[str] = field(default_factory=set)  # memory that views are read from
    kinds_in: dict[str, frozenset[Any]] = field(default_factory=dict)  # of the objects in such memory
    layouts: dict[str, Any] = field(default_factory=dict)  # and how these lie there
    put_at: dict[str, frozenset[Put]] = field(default_factory=dict)  # where these are put there
    held_twice: set[Any] = field(default_factory=set)  # kinds of objects that may be in a list more than once
    of_one_array: set[Any] = field(default_factory=set)  # kinds of objects of which several may have one array
    changed: set[str] = field(default_factory=set)  # memory of which a part of an item was given another value
    changed_kinds: set[Any] = field(default_factory=set)  # kinds of these objects
    written_kinds: set[Any] = field(default_factory=set)  # kinds of objects of which an array was written in its place
    own_kinds: set[Any] = field(default_factory=set)  # and those of which an own array was
    of_other_numbers: set[Any] = field(default_factory=set)  # kinds of objects with arrays that are not of one kind
    without_axes: set[Any] = field(default_factory=set)  # kinds of objects with arrays that have none
    replaced: set[str] = field(default_factory=set)  # memory in which an object got another array
    moved: dict[str, int] = field(default_factory=dict)  # memory in which items got other places: how often
    popped: dict[object, set[str]] = field(default_factory=dict)  # objects that left a list: in which memory it is
    looked_up: dict[str, int] = field(default_factory=dict)  # names of objects: the last time
    ahead: list[LoopAhead] = field(default_factory=list)  # the loops around
    parts: set[str] = field(default_factory=set)  # memory of which a loop runs over a part
    are_parts: bool = False  # is a part of a list evaluated for a loop to run over?
    count_of_looks: int = 0
    disturbed: int = 0  # how often something was changed that is a copy elsewhere

    def note_written(self, build: Statements, root: str) -> None:
        """An array that lies there is written in its place."""
        if root in self.rows and not self.is_own_write:
            self.written_kinds |= self.kinds_in.get(root, frozenset())
            self.changed_kinds |= self.kinds_in.get(root, frozenset())
            self.check(build)

    @contextmanager
    def other_places(self) -> Iterator[None]:
        """Rows are written in which no array, nor object, is another one afterwards."""
        before, self.is_own_write = self.is_own_write, True
        try:
            yield
        finally:
            self.is_own_write = before

    def note_shared(self, parts: Iterable[Field]) -> None:
        """An array is put there that may have another name."""
        self.shared |= set(parts)
        if self.shared & self.own or (self.own and ANY_FIELD in self.shared):
            raise Shared(self.shared)

    def note_copied(self, source: str, target: str) -> None:
        """A list has its items in other memory from then on."""
        for memory in self.popped.values():
            if source in memory:
                memory.add(target)
        for loop in self.ahead[-1:]:
            loop.put.add(target)

    def note_put(self, root: str, places: Iterable[Put]) -> None:
        self.put_at[root] = self.put_at.get(root, frozenset()).union(places)

    def note_looked_up(self, name: str) -> None:
        self.count_of_looks += 1
        self.looked_up[name] = self.count_of_looks

    def is_own(self, part: Field) -> bool:
        return part not in self.shared and ANY_FIELD not in self.shared

    def check(self, build: Statements) -> None:
        """Where one object may be two items of a list, or have an array with another, there are numbers of each."""
        if self.changed_kinds & self.held_twice:
            build.refuse(
                "an object in a list changes, or is compared, that may be in it twice, where only a run tells how many "
                "there are",
                "put in copies:  ys.append(copy.copy(y))",
            )
        if self.written_kinds & self.of_one_array:
            build.refuse(
                "an array of an object in a list is changed that may be one of another, too",
                "give each object an array of its own:  Body(x.copy())",
                "or give it a new one:  y.x = y.x + z",
            )
        if self.changed_kinds & self.without_axes:
            build.refuse(
                "an object in a list changes that holds an array without axes, which is a number there",
                "put in a number:  Body(x.item())",
            )
        if (self.written_kinds | self.own_kinds) & self.of_other_numbers:
            build.refuse(
                "an array of an object in a list is changed, where some hold another kind of number than the others",
                "let all be of one kind:  np.zeros(n)",
            )


class FieldsLearnt:
    """What tries to interpret a program show: whether objects in lists change, and what they get."""

    def __init__(self) -> None:
        self.are_views = False
        self.kinds: Numbers = {}
        self.shared: set[Field] = set()
        self.are_kinds_kept = False

    def known(self) -> ItemFields:
        return ItemFields(self.are_views, dict(self.kinds), set(self.shared), self.are_kinds_kept)

    def learn(self, found: OtherNumbers | Shared) -> None:
        if isinstance(found, Shared):
            self.shared |= found.parts
        else:
            self.kinds |= found.found

    def helps(self, fields: ItemFields, problem: SrcgradError) -> bool:
        """Is it worth another try, in which what is read of objects in lists is looked up anew each time?

        Or one to find whose kind of number it is that a program can't work with, which Python has only later.
        """
        if self.kinds and not self.are_kinds_kept and not isinstance(problem, NotImplementedError):
            self.kinds, self.are_kinds_kept = {}, True
            return True
        if self.are_views or not fields.are_read:
            return False
        self.are_views = True
        return True
