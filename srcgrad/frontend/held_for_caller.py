"""Arguments that f(x) writes under a name which also stands for other arrays: what is written goes back to the caller.

for k in range(n):           own = copy(x); x_held_in = 1                        (x_held_in: which memory of ours
    x += v              →    for k in range(n):                                   is the caller's array to Python,
    x = x % 5.0                  own += v; t = own % 5.0                          and 0 if none is)
                                 if x_held_in == 1: x[:] = own; x_held_in = 0
                                 own[:] = t
                             if x_held_in == 1: x[:] = own; x_held_in = 0

Such a name has memory of its own, a copy.  Of these copies one at most is the caller's array to Python, and which one
only a run knows.  It goes back before that memory gets other contents, and at the end of what it is made in.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ir.expressions import INT64, Array, Const, Expr, Var, compare
from ..ir.nodes import Assign, CopyTo, If, Stmt

if TYPE_CHECKING:
    from .array_values import ArrayValue
    from .builder import Builder


class WrittenAsCopy(Exception):
    """An argument is written under a name that stands for other arrays too: interpret again, and give it back."""

    def __init__(self, name: str) -> None:
        self.name = name


@dataclass(frozen=True)
class Held:
    """Memory that may be what Python has for an argument: it is, where `holder` is `number`."""

    own: Array
    argument: Array
    holder: Var
    number: int

    @property
    def is_here(self) -> Expr:
        return compare("eq", self.holder, Const(self.number, INT64))

    def becomes(self, number: int) -> Stmt:
        return Assign(self.holder, Const(number, INT64))


def begin(build: Builder, argument: Array) -> None:
    holder = build.variable(f"{argument.name}_held_in", Const(0, INT64))
    build.mutable.add(holder)
    build.pinned.add(holder)
    build.held[argument.name] = Held(argument, argument, holder, 0)


def take(build: Builder, own: Array, value: ArrayValue) -> None:
    """`own` begins as a copy of what is, or may be, the caller's array: it is that from now on."""
    before = build.held.get(value.handle.name) if value.handle is not None else None
    if before is None:
        return
    if own.dtype != before.argument.dtype:
        build.not_given_back.add(before.argument.name)
        return
    number = build.held_numbers.setdefault(own.name, len(build.held_numbers) + 1)
    held = Held(own, before.argument, before.holder, number)
    if before.number:
        build.emit(If(before.is_here, (held.becomes(number),)))
        del build.held[before.own.name]
    else:
        if any(other.number and other.argument == before.argument for other in build.held.values()):
            build.not_given_back.add(before.argument.name)
        build.emit(held.becomes(number))
    build.held[own.name] = held


def share(build: Builder, merged: Array, sides: tuple[dict[str, Held], ...]) -> None:
    """Where branches meet, the memory of both: it may be the caller's array if it is on one side."""
    found = [side[merged.name] for side in sides if merged.name in side]
    build.not_given_back |= {held.argument.name for held in found if held != found[0]}
    for side in sides:
        side.update((merged.name, held) for held in found[:1])


def give_back(build: Builder, held: Held) -> None:
    if held.own.name in build.stale:  # the argument may have been written under another name since
        build.not_given_back.add(held.argument.name)
    build.emit(If(held.is_here, (CopyTo(held.argument, held.own), held.becomes(0))))


def give_back_since(build: Builder, before: Container[str]) -> None:
    """At the end of a block: what was made in it goes back."""
    for name in [name for name in build.held if name not in before]:
        give_back(build, build.held.pop(name))


def hand_on(build: Builder, ahead: dict[str, Held], pairs: list[tuple[Array, Array | None, bool]]) -> None:
    """At the end of an iteration: what goes round gets the contents of other memory, which may be the caller's array.

    `pairs`: target and source, and whether they only change places.
    """
    goes_over: list[tuple[Held, Held]] = []
    for target, source, swaps in pairs:
        there, found = ahead.get(target.name), build.held.get(source.name) if source is not None else None
        if swaps or there is None or target == source:
            build.not_given_back |= {held.argument.name for held in (there, found) if held is not None and swaps}
            continue
        if target.name in build.held:
            give_back(build, build.held[target.name])
        if found is not None and found.argument == there.argument and found.own.name not in ahead:
            goes_over.append((found, there))
            del build.held[found.own.name]
        build.held[target.name] = there
    give_back_since(build, ahead)
    for found, there in goes_over:
        build.emit(If(found.is_here, (there.becomes(there.number),)))
    build.not_given_back |= {held.argument.name for name, held in ahead.items() if name not in build.held}
    build.held = dict(ahead)


def meet(build: Builder, sides: list[tuple[list[Stmt], dict[str, Held], Any]]) -> dict[str, Held]:
    """Behind a branch: what one side alone has made, or the other alone has let go of, goes back in that side.

    `sides`: the block of each, what is held at its end, and what is stale there.
    """
    (_, first, _), (_, second, _) = sides
    both = {name: held for name, held in first.items() if second.get(name) == held}
    stale_behind = build.stale
    for block, held, stale in sides:
        build.stale = stale
        with build.into(block):
            for name in sorted(held.keys() - both.keys()):
                give_back(build, held[name])
    build.stale = stale_behind
    return both
