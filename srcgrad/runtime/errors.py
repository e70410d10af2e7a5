"""The errors that generated code raises: `raise BroadcastError("shapes ({},) and ({},) do not broadcast", n, m)`.

raise ToldValueError("np.float64 int|s {:.3f} for {}", s, n)      →      ValueError("s 1.800 for 4")

To put a text together in compiled code takes long to compile, so that is done by the class that is raised: what it
makes is an error of the user's own class.  (The bar is `APART`, which no text has in it.)
"""

from __future__ import annotations

import builtins
import string
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from srcgrad.errors import (
    BoundsError,
    BroadcastError,
    CompiledError,
    CotangentShapeError,
    DepthError,
    IdleLoopError,
    RuntimeAttributeError,
    RuntimeImportError,
    RuntimeKeyError,
    RuntimeNameError,
    RuntimeOverflowError,
    RuntimeShapeError,
    RuntimeTypeError,
    RuntimeUnsupportedError,
    RuntimeValueError,
    RuntimeZeroDivisionError,
    ShortAxisError,
)

__all__ = [
    "BoundsError",
    "BroadcastError",
    "CompiledError",
    "CotangentShapeError",
    "DepthError",
    "IdleLoopError",
    "MoreRows",
    "RuntimeAttributeError",
    "RuntimeImportError",
    "RuntimeKeyError",
    "RuntimeNameError",
    "RuntimeOverflowError",
    "RuntimeShapeError",
    "RuntimeTypeError",
    "RuntimeUnsupportedError",
    "RuntimeValueError",
    "RuntimeZeroDivisionError",
    "ShortAxisError",
]


class MoreRows(Exception):
    """A thread of a GPU kept more than there was room for: the call is made again with room for that."""


APART, NAMED, NUMBER, NOTHING, SEVERAL = (
    "\x1f",
    "\x1e",
    "\x1d",
    "\x1c",
    "\x1b",
)  # marks between, and in the place of, arguments
ARRAY = "array"  # the kind of what is no number


class Told(Exception):
    """What makes an error of `error`, from the kinds of numbers, texts with fields for them, and the numbers."""

    error: type[BaseException] = Exception

    def __new__(cls, message: str, *numbers: Any) -> Any:
        kinds, *parts = message.split(APART)
        arrays, noted.arrays = noted.arrays, []
        values = as_values(kinds, numbers, arrays)
        given: list[Any] = []
        named: dict[str, Any] = {}
        remaining = iter(parts)
        for part in remaining:
            name, mark, text = part.rpartition(NAMED)
            if mark:
                named[name] = _argument(text, remaining, values)
            else:
                given.append(_argument(text, remaining, values))
        raise cls.error(*given, **named)  # returned, Python 3.10 would take it for an error of this class


class _Noted(threading.local):
    """Arrays for the error that is raised next: compiled code raises no arrays (`python_calls.note_arrays`)."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []


noted = _Noted()


def as_told(error: type[BaseException]) -> type[Told]:
    """The one class that makes errors of this class."""
    if error not in _told:
        _told[error] = type(f"Told{error.__name__}", (Told,), {"error": error, "__module__": __name__})
    return _told[error]


_told: dict[type[BaseException], type[Told]] = {}


def __getattr__(name: str) -> Any:
    """The classes for errors of Python's own, for machine code from the disk."""
    error = getattr(builtins, name.removeprefix("Told"), None) if name.startswith("Told") else None
    if error is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return as_told(error)


def _argument(text: str, remaining: Iterator[str], values: Iterator[Any]) -> Any:
    """What a part says, and those behind it, where it is a tuple of several."""
    if text == NOTHING:
        return None
    if text == NUMBER:
        return next(values, None)
    if text.startswith(SEVERAL):
        count = int(text[len(SEVERAL) :])
        return tuple([_argument(next(remaining), remaining, values) for _ in range(count)])
    return filled(text, values)


def filled(text: str, values: Iterator[Any]) -> str:
    """A text with fields, as `str.format` takes it, with these numbers in them."""
    fields = sum(field is not None for _, field, _, _ in string.Formatter().parse(text))
    return text.format(*(_Shown(next(values, "?")) for _ in range(fields)))


class _Shown:
    """A number as a field of a text shows it; where the text was formatted by %, by % again."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __format__(self, how: str) -> str:
        if isinstance(self.value, str):  # kernels tell integers only
            return "?"
        return how[1:] % (self.value,) if how.startswith("%%") else format(self.value, how)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def as_values(kinds: str, numbers: Iterable[Any], arrays: Iterable[Any]) -> Iterator[Any]:
    """Numbers as Python has them, and arrays in their places among them; as far as there are some."""
    remaining = {False: iter(numbers), True: iter(arrays)}
    for kind in kinds.split():
        for value in remaining[kind == ARRAY]:
            yield value if kind == ARRAY else _as(kind, value)
            break
        else:
            return


def _as(kind: str, number: Any) -> Any:
    own, _, name = kind.partition("np.")
    return getattr(builtins, own)(number) if own else np.dtype(name).type(number)
