"""A function with both sweeps in it: what `backward`, `value_and_backward` and the halves of `vjp` are all made of.

    forward sweep; reverse sweep       interpreted and reversed
    kept values                        for the two halves, and for both in one
    → f_backward, f_forward, …         each the rest of the way, from `assemble` on

The first part of the way is gone once for all kinds that follow each other closely, as a pullback its forward half.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from .assumptions import Assumption, assumptions
from .frontend.arguments import type_of
from .frontend.function import Interpreted, entry_name
from .frontend.seeds import LIKE_THE_OUTPUT
from .ir.info import Info
from .ir.names import Names
from .ir.nodes import Function

REMEMBERED = 4  # programs, those made last


@dataclass(frozen=True, eq=False)
class BothSweeps:
    """The program of one function for arguments of one type, and what it was made for and from."""

    function: Callable[..., Any]
    types: Any
    wanted: Any  # options, and passes that are left out
    start: Interpreted
    program: Function
    assumed: tuple[Assumption, ...]
    kept: dict[Any, Function] = field(default_factory=dict)  # what `keep` made of it: for halves, and for both in one
    finished: dict[Any, Function] = field(default_factory=dict)  # by kind: what is left is to say it as text

    def serves(self, function: Callable[..., Any], types: Any, cotangents: Any, wanted: Any) -> bool:
        if function is not self.function or not _are_same(self.types, types) or self.wanted != wanted:
            return False
        taken = self.start.cotangents
        if taken != (self.start.like_the_output if cotangents is LIKE_THE_OUTPUT else cotangents):
            return False
        return not self._is_outdated()

    def _is_outdated(self) -> bool:
        """Has anything changed that the function reads from outside?"""
        try:
            types = [type_of(outside.name, outside.place()) for outside in self.start.captured]
        except Exception:  # it is gone, or can't be taken any more: interpreting says so at the user's line
            return True
        return types != [outside.type for outside in self.start.captured] or any(a.fails() for a in self.assumed)

    def of_kind(self, kind: str, step: Any, keep: Callable[[Function], Function]) -> Function:
        """What `step` makes of the program, to become one of the kinds: what passes note then stays with that one."""
        key = step, kind in ("forward", "pullback")
        if key not in self.kept:
            self.kept[key] = keep(self._own(self.program, kind))
        return self._own(self.kept[key], kind)

    def to_the_end(self, kind: str, steps: Any, go: Callable[[], Function]) -> Function:
        """Where the rest of the way leads for one kind, which `source` and a GPU's `ptx` ask for as calls do."""
        key = kind, steps
        if key not in self.finished:
            self.finished[key] = go()
        return self._own(self.finished[key], kind)

    def _own(self, program: Function, kind: str) -> Function:
        own = _Own().function(program)
        return replace(own, name=entry_name(self.function, kind), info=replace(own.info, kind=kind))


class Memory:
    """What one `grad` remembers: the last programs of all of them together are kept, and none longer than it lives."""

    _recent: deque[weakref.ref[Memory]] = deque()

    def __init__(self) -> None:
        self.held: list[BothSweeps] = []

    def find(self, function: Callable[..., Any], types: Any, cotangents: Any, wanted: Any) -> BothSweeps | None:
        return next((one for one in tuple(self.held) if one.serves(function, types, cotangents, wanted)), None)

    def add(self, made: BothSweeps) -> None:
        self.held.append(made)
        Memory._recent.append(weakref.ref(self))
        while len(Memory._recent) > REMEMBERED:
            oldest = Memory._recent.popleft()()
            if oldest is not None:
                del oldest.held[:1]


def both_sweeps(
    memory: Memory,
    function: Callable[..., Any],
    types: Any,
    cotangents: Any,
    wanted: Any,
    make: Callable[[], tuple[Interpreted, Function]],
) -> BothSweeps:
    """What was made lately for the same, or what `make` makes now: the function interpreted, and with both sweeps."""
    found = memory.find(function, types, cotangents, wanted)
    if found is None:
        start, program = make()
        found = BothSweeps(function, types, wanted, start, program, tuple(assumptions(start)))
        memory.add(found)
    return found


def _are_same(types: Any, others: Any) -> bool:
    """`==` takes the name of a dtype for that dtype."""
    return types == others and repr(types) == repr(others)


class _Own:
    """A program with names and notes of its own, to which passes may add."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[Names, Names]] = {}  # by the address of those that were there

    def function(self, function: Function) -> Function:
        info: Info = function.info
        notes = {key: self._note(value) for key, value in info.extra.items()}
        info = replace(info, names=self._names_like(info.names), unclean=dict(info.unclean), extra=notes)
        return replace(function, info=info, callees=tuple(map(self.function, function.callees)))

    def _note(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._note(item) for key, item in value.items()}
        return self.function(value) if isinstance(value, Function) else value

    def _names_like(self, names: Names) -> Names:
        """Functions that share names go on sharing them."""
        if id(names) not in self._names:
            own = copy(names)
            own.restore(names.save())
            self._names[id(names)] = names, own
        return self._names[id(names)][1]
