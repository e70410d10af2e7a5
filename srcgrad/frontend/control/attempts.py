"""Tries at code whose meaning shows only at its end: what a try teaches the next, and the state that each begins from.

s = 0                                      s = 0
for i in range(n):    Widen(s, float64)    for i in range(n):    (s is 0.0 ahead of the loop)
    s = s * x[i]             →                 s = s * x[i]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...ir.expressions import Var
from ...ir.types import ScalarType
from .. import identities, optional, part_names, resized
from ..array_values import ArrayValue
from ..joined_numbers import ItemTypes
from ..lists.growing_lists import Growth, Leaves
from ..lists.list_rows import Row
from ..values import Scalar, TupleValue, Unusable
from .handed_on import shape_known_ahead

if TYPE_CHECKING:
    from ..interpret import Interpreter


@dataclass
class Attempt:
    """What earlier tries at a loop have taught: types that widen, arrays that are rebound, arrays that are swapped."""

    types: dict[str, Scalar] = field(default_factory=dict)
    rebound: dict[str, Any] = field(default_factory=dict)
    resized: dict[str, resized.Growth] = field(default_factory=dict)  # rebound arrays that change their lengths
    swapped: set[str] = field(default_factory=set)
    kinds: dict[str, frozenset[ScalarType]] = field(default_factory=dict)  # of arrays and lists that are rebound
    unbound: set[str] = field(default_factory=set)  # names without a value ahead of the loop
    tuples: dict[str, TupleValue] = field(default_factory=dict)  # of these, the ones that are tuples at its end
    begun: dict[str, Any] = field(default_factory=dict)  # and those that are lists, or known: what they are ahead of it
    twins: set[tuple[str, str]] = field(default_factory=set)  # a rebound name, and a name or memory that it may be
    stale: dict[str, Any] = field(default_factory=dict)  # what an iteration leaves stale for the next
    optional: dict[str, Any] = field(default_factory=dict)  # names that are None at times, with what they are else
    one_of: dict[str, tuple[Any, ...]] = field(default_factory=dict)  # names that are one of several known things
    lists: dict[object, str] = field(default_factory=dict)  # lists that may change in place, with a name for each
    items: dict[object, ItemTypes] = field(default_factory=dict)  # of these, the types that items have at the head
    in_rows: dict[str, ItemTypes] = field(default_factory=dict)  # the same of the memory of all lists, in this try
    growth: dict[object, Growth] = field(default_factory=dict)  # of lists that change their lengths
    relisted: dict[str, tuple[Row, Leaves]] = field(default_factory=dict)  # names of lists that are others each time
    other_lists: set[str] = field(default_factory=set)  # names that are other lists at the end than at the beginning
    numbers_first: frozenset[str] = frozenset()  # names that may be a number at first, and an array then
    held_twice: set[str] = field(default_factory=set)  # of these, those that are lists which others hold as well
    given_away: dict[object, frozenset[str]] = field(default_factory=dict)  # lists that are items of others
    moved_ahead: dict[str, int] = field(default_factory=dict)  # see `ItemFields.moved`
    as_copies: set[str] = field(default_factory=set)  # names of items of lists that are no views of their places
    names_given_away: set[str] = field(default_factory=set)  # names that are such a list at the end
    counted: set[str] = field(default_factory=set)  # whole numbers in objects that are others at the end
    returned: dict[str, Any] = field(default_factory=dict)  # lists and objects that are returned, and nobody else's
    unlike: dict[str, Unusable] = field(default_factory=dict)  # what is of another kind at the end


class BecomesOneOf(Exception):
    """A name stands for another text, or another function, at the end of the loop than at its head."""

    def __init__(self, name: str, options: tuple[Any, ...], part: str) -> None:
        self.name, self.options, self.part = name, options, part


class Unlike(Exception):
    """What has a name is of another kind at the end of the loop than at its head: fine, as long as nobody reads it."""

    def __init__(self, name: str, part: str, how: str, help: str, kind: Callable[..., Unusable] = Unusable) -> None:
        self.name, self.part, self.value = name, part, kind(part, how, (help,))


class Counts(Exception):
    """Whole numbers in objects, which were taken to be what they are ahead of the loop, are others at its end."""

    def __init__(self, parts: set[str]) -> None:
        self.parts = parts


class Several(Exception):
    """What one try says of several names, or of parts of them."""

    def __init__(self, found: Sequence[Exception]) -> None:
        self.found = found


class FirstKnown(Exception):
    """A name has no value at the head of the loop, and what it is at its end is known, as None is: behind it, too."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value


class OtherList(Exception):
    def __init__(self, name: str) -> None:
        self.name = name


class Relisted(Exception):
    """A name is a list of another length at the end: what both have in common, and how many items there may be."""

    def __init__(self, name: str, row: Row, most: Leaves) -> None:
        self.name, self.row, self.most = name, row, most


class AsCopy(OtherList):
    """It is an item of a list, and in the next iteration one of another, or none."""


class HeldTwice(OtherList):
    """It is, in the next iteration, a list that others hold as well."""


class GivenAway(Exception):
    """Lists from ahead of a loop, or what a name is in the next iteration, become items of others in the loop."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name


class Structured(Exception):
    """A name has no value at the head of the loop, and one of several parts at its end."""

    def __init__(self, interpreter: Interpreter, name: str, value: Any) -> None:
        self.name, self.value = name, value
        self.types: dict[str, Scalar] = {}
        self.shapes: dict[str, Any] = {}
        self.tuples: dict[str, TupleValue] = {}
        self.note(interpreter, name, value)

    def note(self, interpreter: Interpreter, name: str, value: Any) -> None:
        """What numbers and arrays there are in the value: their places are made ahead of the loop."""
        match value:
            case TupleValue(items=items):
                self.tuples[name] = value
                for k, item in enumerate(items):
                    self.note(interpreter, part_names.of_item(name, value, k), item)
            case Scalar():
                self.types[name] = replace(value, expr=Var("", value.dtype))
            case ArrayValue():
                self.shapes[name] = value.dtype, shape_known_ahead(interpreter, self.name, value)


class FirstInside(Structured):
    """A tuple, or a list of run-time length, gets its first value inside the loop."""


class BecomesOptional(Structured):
    """A name is None at one end of the loop, and a value at the other."""

    def note(self, interpreter: Interpreter, name: str, value: Any) -> None:
        super().note(interpreter, name, optional.as_optional(value, value) if name == self.name else value)


class Rebound(Exception):
    def __init__(
        self,
        dims: dict[str, Any],
        swapped: set[str],
        resized: dict[str, resized.Growth],
        kinds: dict[str, frozenset[ScalarType]],
        items: dict[object, ItemTypes],
    ) -> None:
        self.dims, self.swapped, self.resized, self.kinds, self.items = dims, swapped, resized, kinds, items


def save(interpreter: Interpreter) -> Any:
    envs = [(frame, dict(frame.env)) for frame in identities.frames_of(interpreter)]
    popped = {identity: set(memory) for identity, memory in interpreter.build.fields.popped.items()}
    return interpreter.build.save(), envs, dict(interpreter.given_away), popped


def restore(interpreter: Interpreter, saved: Any) -> None:
    build, envs, given_away, popped = saved
    interpreter.build.restore(build)
    interpreter.build.fields.popped = {identity: set(memory) for identity, memory in popped.items()}
    interpreter.given_away = dict(given_away)
    for frame, env in envs:
        frame.env.clear()
        frame.env.update(env)
