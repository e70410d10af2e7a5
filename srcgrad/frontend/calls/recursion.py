"""Functions that call themselves become functions of their own: one `Function` per pattern of argument types.

def f(x, n):                        function f(x, n, depth):
    if n == 0: return 1.0      →        … f_out = f(x, n - 1, depth + 1) …
    return x * f(x, n - 1)

What such a function returns is found by repetition: first what the paths without a call return, then, with that for the
calls, all paths, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...errors import SrcgradError, UnsupportedError
from ...ir.expressions import Span
from ...ir.nodes import Function, Stmt
from ...ir.walk import statements
from ..outside import Place

if TYPE_CHECKING:
    from ..interpret import Interpreter
    from ..syntax.source import Source

Key = Any  # which function: the place of its definition

UNROLLED = 40  # calls within calls of one function that are interpreted in place, where nothing but constants decides
NESTED = 60  # calls within calls of any functions that are interpreted in place
LARGE, PLACES = 120, 8  # a call of so many statements, at so many places, is too much text: it becomes a function
ALIKE = 3  # … but not more functions than this, for different constants or types
EXPANDED = 400  # calls of one function that are interpreted in place, all in all, where they are within each other


class OwnFunction(Exception):
    """A call can't, or should not, be interpreted in place: interpret again, with a function of its own for it."""

    def __init__(self, key: Key, is_large: bool = False) -> None:
        self.key, self.is_large = key, is_large


class InPlace(Exception):
    """A large function can't be one of its own: interpret again, with its calls in place."""

    def __init__(self, key: Key) -> None:
        self.key = key


@dataclass
class Chosen:
    """Which functions are functions of their own, and which lists grow where a run says: what earlier tries taught."""

    own: set[Key] = field(default_factory=set)
    large: set[Key] = field(default_factory=set)  # of these, those that do not call themselves
    in_place: set[Key] = field(default_factory=set)
    grown_apart: set[Span] = field(default_factory=set)  # places of  [[] for _ in range(n)]
    refused_lists: set[Span] = field(default_factory=set)  # and of those that would have had to be such ones

    def lists_grow_apart(self) -> bool:
        """Is it worth another try, with lists of which a run says which one grows?"""
        found = self.refused_lists - self.grown_apart
        self.grown_apart |= found
        return bool(found)

    def learn(self, found: OwnFunction | InPlace) -> None:
        if isinstance(found, InPlace):
            self.own.discard(found.key)
            self.large.discard(found.key)
            self.in_place.add(found.key)
        else:
            self.own.add(found.key)
            self.large |= {found.key} if found.is_large else set()


class NotYetKnown(Exception):
    """The value of a call whose result no path has told so far: this path waits for the next time."""


@dataclass(frozen=True)
class Summary:
    """What a caller has to know: a structure of result types, and what happens to the arguments."""

    result: Any
    writes: frozenset[int] = frozenset()  # leaf parameters, captured ones included
    captured: tuple[tuple[str, Place], ...] = ()  # what is read from outside
    twins: frozenset[tuple[int, int]] = frozenset()  # (result leaf, parameter) that Python may hold as one memory


@dataclass(eq=False)
class Instance:
    """A function for one pattern of arguments."""

    key: Key
    name: str
    title: str  # as the user calls it
    span: Span | None
    start: Callable[[Interpreter, list[Any]], Any]  # interprets the body on the values of these leaves
    names: list[str]
    kinds: list[Any]
    summary: Summary | None = None
    seen: dict[Instance, Summary | None] = field(default_factory=dict)  # what it was interpreted with
    function: Function | None = None
    guard: tuple[Stmt, ...] = ()  # against a recursion that is too deep
    problem: SrcgradError | None = None  # to be raised if it stands when all is known
    never_early: frozenset[str] = frozenset()
    is_running: bool = False
    equal_lengths: bool = False  # see `pipeline.Generated`


class Callees:
    """The functions of their own of one program."""

    def __init__(self, chosen: Chosen, boundscheck: bool = True) -> None:
        self.chosen, self.boundscheck = chosen, boundscheck
        self.has_choices = False  # has a statement been seen that computes with one of several known things?
        self.class_defaults: dict[type, dict[str, None]] = {}  # what objects are given when they are made
        self.entered: dict[Key, int] = {}
        self.sizes: dict[Key, dict[Any, int]] = {}  # of what calls became, by the places of the calls
        self.instances: dict[Any, Instance] = {}
        self.seen: dict[Instance, Summary | None] = {}  # by the entry

    def enter(self, key: Key, around: list[tuple[Key, int]], depth: int) -> None:
        """A call is about to be interpreted in place, within these calls at these depths of loops and branches."""
        self.entered[key] = self.entered.get(key, 0) + 1
        same = [at for other, at in around if other == key]
        if same and (depth != same[0] or len(same) >= UNROLLED or self.entered[key] > EXPANDED):
            raise OwnFunction(key)
        if len(around) >= NESTED:
            keys = [other for other, _ in around]
            often = max(keys, key=keys.count)
            if keys.count(often) > 1:  # among others, they call themselves in a circle
                raise OwnFunction(often)

    def expanded(self, key: Key, place: Any, block: list[Stmt]) -> None:
        """A call at this place has been interpreted in place, to these statements."""
        sizes = self.sizes.setdefault(key, {})
        size = sizes[place] = sum(1 for _ in statements(tuple(block)))
        if size >= LARGE and len(sizes) >= PLACES and key not in self.chosen.in_place:
            raise OwnFunction(key, is_large=True)

    def settle(self, interpreter: Interpreter) -> bool:
        """Interpret again what was interpreted with less than is known now; False where the entry itself was."""
        from .instances import interpret_instance

        while True:
            behind = [i for i in self.instances.values() if any(s != o.summary for o, s in i.seen.items())]
            if not behind:
                break
            for instance in behind:
                interpret_instance(interpreter, instance)
        return all(summary == instance.summary for instance, summary in self.seen.items())

    def functions(self) -> tuple[Function, ...]:
        """What is reached from the entry; what calls itself minds how deep it is."""
        out = []
        for instance in self.reached():
            assert instance.function is not None, instance
            is_recursive = instance in _reached_from(instance.seen)
            ahead = instance.guard if is_recursive else ()
            out.append(replace(instance.function, body=(*ahead, *instance.function.body)))
        return tuple(out)

    def reached(self) -> list[Instance]:
        """What is reached from the entry, in the order of discovery."""
        wanted = _reached_from(self.seen)
        return [i for i in self.instances.values() if i in wanted]


def _reached_from(start: Iterable[Instance]) -> set[Instance]:
    found, work = set(start), list(start)
    while work:
        for other in work.pop().seen:
            if other not in found:
                found.add(other)
                work.append(other)
    return found


def key_of(source: Source) -> Key:
    span = source.span(source.node)
    return (span.file, span.line, span.column, source.name) if span else source.name


def refuse(callees: Callees) -> None:
    """What is still wrong when nothing more can become known."""
    wanted = callees.reached()
    for instance in wanted:
        if instance.problem is not None:
            raise InPlace(instance.key) if instance.key in callees.chosen.large else instance.problem
    for instance in wanted:
        if instance.summary is None:
            raise UnsupportedError(
                f"{instance.title} calls itself on every path",
                span=instance.span,
                because="what it returns can't be known",
                help=("return a value on a path without a call, ahead of the call:  if n == 0: return 0.0",),
            )
