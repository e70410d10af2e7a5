"""Arguments that are constants to f: what is generated is for their values.

    @grad(static=("axis",))             named by the user
    def f(x, axis=0): ...               an option: an integer or a truth value by default, or a tuple of them

An option is an argument as any other until something cannot be generated for all of its values, as an axis cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter
from typing import Any, TypeVar

import numpy as np

from srcgrad.arguments import known
from srcgrad.errors import CompiledError, SrcgradError

Result = TypeVar("Result")


class Constants:
    """Which of f's arguments are constants to it."""

    def __init__(self, static: frozenset[str], parameters: Mapping[str, Parameter]) -> None:
        self._static = static
        options = (name for name, parameter in parameters.items() if _may_be_known(parameter.default))
        self.options = tuple(name for name in options if name not in static)
        tuples = (name for name in self.options if type(parameters[name].default) is tuple)  # axes and shapes
        self._needed = frozenset(tuples)  # and those of the options that turn out to have to be known
        self._refused: SrcgradError | None = None

    def __bool__(self) -> bool:
        return bool(self._static or self._needed)

    def known(self, values: Sequence[Any], names: Sequence[str]) -> Sequence[Any]:
        """The values of f's parameters (and v), the constants among them as what they are known to be."""
        if not self:
            return values
        names = (*names, *[""] * (len(values) - len(names)))
        return [
            known(value, name) if self.hold(name, value) else value for value, name in zip(values, names, strict=False)
        ]

    def hold(self, name: str, value: Any) -> bool:
        """Is f generated for this value of that parameter?"""
        return name in self._static or (name in self._needed and _may_be_known(value))

    def may_hold(self, name: str) -> bool:
        return name in self._static or name in self.options

    def settle(self, generate: Callable[[], Result]) -> Result:
        """What `generate` returns; where it can't, with as few more options known as will do.

        The caller holds the lock: while this tries, another thread would take an attempt for what is settled.
        """
        try:
            return generate()
        except SrcgradError as error:
            before, last = self._needed, error
            for needed in self._attempts():
                self._needed = needed
                try:
                    return generate()
                except SrcgradError as problem:
                    self._needed, last = before, problem
            self._refused = last
            raise last from None

    def may_settle(self, error: SrcgradError) -> bool:
        """Could more be known where this was raised: by what was generated for other types, or anew?"""
        is_ahead = not isinstance(error, CompiledError)  # of anything that runs
        return bool(self.options) and is_ahead and error is not self._refused

    def _attempts(self) -> Iterator[frozenset[str]]:
        """Each option alone, then all."""
        more = [name for name in self.options if name not in self._needed]
        yield from (self._needed | {name} for name in more)
        if len(more) > 1:
            yield self._needed.union(more)


def _may_be_known(value: Any) -> bool:
    if type(value) is tuple:
        return bool(value) and all(map(_may_be_known, value))
    return type(value) in (int, bool) or isinstance(value, (np.integer, np.bool_))
