"""Every error that a user can meet, and how it is shown: what, where, why, what to do.

raise UnsupportedError(
    "np.sort has no derivative rule for axis=None",
    span=Span("model.py", 12, 8, 12, 15), because="reached from the output through q",
    help=("sort a flat view instead:  q = np.sort(r.ravel())",),
)
→
srcgrad.UnsupportedError: np.sort has no derivative rule for axis=None
  File "model.py", line 12
  12 |     q = np.sort(r, axis=None)
     |         ^^^^^^^ reached from the output through q
  help: sort a flat view instead:  q = np.sort(r.ravel())
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from srcgrad.ir.expressions import Span


class SrcgradError(Exception):
    """What srcgrad raises.  `str` of it is the whole message; the parts are attributes.

    Parameters
    ----------
    message : str
        What is wrong, in one line, in the user's names.
    span : Span, optional
        The place in the user's program.
    because : str, optional
        Why, shown behind the carets (or on a line of its own without a span).
    help : tuple of str, optional
        What to do, one line each.

    Examples
    --------
    >>> print(SrcgradError("x has no derivative", help=("pass a float",)))
    x has no derivative
      help: pass a float
    """

    def __init__(
        self, message: str, *, span: Span | None = None, because: str = "", help: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.because = because
        self.help = help
        self.depth = -1  # of the loops and branches in which the frontend comes to it; -1: it is found out later

    def __str__(self) -> str:
        return "\n".join((self.message, *_where(self.span, self.because), *(f"  help: {line}" for line in self.help)))

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = "srcgrad"  # the name that users catch it by, and that tracebacks print


SrcgradError.__module__ = "srcgrad"


class UnsupportedError(SrcgradError, NotImplementedError):
    """A construct or call that has no derivative rule here."""


class SourceError(SrcgradError, OSError):
    """The source of a function can't be read."""

    __str__ = SrcgradError.__str__  # OSError has its own


class ArgumentError(SrcgradError, TypeError):
    """An argument (or v) of a type that can't be used here."""


class GivenOtherwise(ArgumentError):
    """What a partial gives to a function is not what it was differentiated with: a call is for another one to serve."""


class NameArgumentError(SrcgradError, NameError):
    """A name that is not defined where the program uses it."""


class UnboundError(NameArgumentError):
    """A name that only another path may have bound."""


class NoItemsError(ArgumentError):
    """A number that is asked for its length or its items, or whose items are set."""


class NoneArgumentError(ArgumentError):
    """None where something else is needed, whatever the data."""


class AttributeArgumentError(SrcgradError, AttributeError):
    """An attribute that an object does not have."""


class ImportArgumentError(SrcgradError, ImportError):
    """What is imported in the function is not in its module."""

    __str__ = SrcgradError.__str__  # ImportError has its own


class ModuleArgumentError(ImportArgumentError, ModuleNotFoundError):
    """A module that is imported in the function, and is not installed."""

    __str__ = SrcgradError.__str__


class KeyArgumentError(SrcgradError, KeyError):
    """A key that a dict does not have, whatever the data."""

    __str__ = SrcgradError.__str__  # KeyError has its own


class ValueArgumentError(SrcgradError, ValueError):
    """An argument of a value that a function of NumPy's does not take."""


class IndexArgumentError(SrcgradError, IndexError):
    """An index that is out of bounds whatever the data."""


class ZeroDivisionArgumentError(SrcgradError, ZeroDivisionError):
    """A division by a number that is 0, whatever the data."""


class ShapeError(SrcgradError, ValueError):
    """Structures or numbers of axes that do not fit."""


class OverlapError(SrcgradError, ValueError):
    """Memory that f writes, and that it can't or must not write: shared by two arguments, or read-only."""


class OptionError(SrcgradError, ValueError):
    """An option of `grad` that makes no sense for this function."""


class DeviceError(SrcgradError, RuntimeError):
    """There is no GPU to run on, or what drives it is not installed."""


class LaterError(SrcgradError, NotImplementedError):
    """An option that is planned and not there yet."""


# --------------------------------------------------------------------------------------------------------------
# Errors raised by generated code.  Numba raises a class with a constant string and numbers cheaply (an f-string costs
# 0.3 s of compile time each), so they take a template and the numbers, and format only when they are shown.


HELP = "\n  help: "  # in a template: what follows is shown behind the place
STEP_OF_ZERO = "range() arg 3 must not be zero"


class CompiledError(SrcgradError):
    """`CompiledError("shapes ({},) and ({},) do not broadcast" + place(span), n, m)`."""

    def __init__(self, template: str, *numbers: Any) -> None:
        Exception.__init__(self, template, *numbers)

    def __str__(self) -> str:
        template, *numbers = self.args
        text, _, where = template.partition(_PLACE)
        message, *help = _fill(text, numbers).split(HELP)
        return "\n".join(
            (message, *_where(_parse_place(where), ""), *(HELP[1:] + line for line in (*help, *self.advice)))
        )

    advice: tuple[str, ...] = ()


class BroadcastError(CompiledError, ValueError):
    """Shapes that do not broadcast together."""


class ShortAxisError(CompiledError, ValueError):
    """An axis that ends before a slice of it does, where the length of the slice has to be known ahead of time."""


class IdleLoopError(ShortAxisError):
    """Lengths that only a loop would compare, which does not run: nobody sees it, as other code is run instead."""


class CotangentShapeError(CompiledError, ValueError):
    """v has another shape than the output."""


class RuntimeShapeError(CompiledError, ValueError):
    """Lengths that do not fit, known only from the data."""


class RuntimeValueError(CompiledError, ValueError):
    """A value that a function does not take, known only from the data."""


class RuntimeUnsupportedError(CompiledError, NotImplementedError):
    """What has no derivative rule for the lengths that a run has."""


class RuntimeOverflowError(CompiledError, OverflowError):
    """A whole number that is larger than compiled code has them."""


class RuntimeZeroDivisionError(CompiledError, ZeroDivisionError):
    """A whole number divided by 0."""


class RuntimeKeyError(CompiledError, KeyError):
    """A key that is not there, known only from the data."""


class RuntimeTypeError(CompiledError, TypeError):
    """None where something else is needed, known only from the data."""


class RuntimeAttributeError(CompiledError, AttributeError):
    """An attribute that an object does not have, on the path that a run takes."""


class RuntimeImportError(CompiledError, ImportError):
    """What is imported on the path that a run takes is not installed."""

    __str__ = CompiledError.__str__


class RuntimeNameError(CompiledError, NameError):
    """A name that nothing has defined on the path that a run takes."""


class BoundsError(CompiledError, IndexError):
    """An index out of range."""


class DepthError(CompiledError, RecursionError):
    """Recursion deeper than the stated limit."""

    advice = ("write it as a loop, or divide the work in halves instead of one at a time",)


_PLACE = " @ "


def is_placed(template: str) -> bool:
    """Does it end in a place, so that it is an error of ours?"""
    return re.search(rf"{_PLACE}[^:]+:\d+:\d+:-?\d+$", template) is not None


def place(span: Span | None) -> str:
    """What to append to the template of a `CompiledError`, so that it shows the user's own line."""
    if span is None:
        return ""
    end = span.end_column if span.end_line == span.line else -1
    text = f"{os.path.basename(span.file)}:{span.line}:{span.column}:{end}"
    _files[text] = span.file  # generated text has the name only: it is the same wherever the user's file lies
    return _PLACE + text


_files: dict[str, str] = {}  # by places: there are many files of one name


def _parse_place(text: str) -> Span | None:
    from srcgrad.ir.expressions import Span

    match = re.fullmatch(r"(.*):(\d+):(\d+):(-?\d+)", text, re.DOTALL)
    if match is None:
        return None
    file, line, column, end = match[1], *map(int, match.groups()[1:])
    return Span(_files.get(text, file), line, column, line if end >= 0 else line + 1, end)


def _fill(text: str, numbers: list[Any]) -> str:
    """`str.format` for bare {} only: a stray brace in a user's text must not break the error."""
    head, *rest = text.split("{}")
    for number, part in zip([*numbers, *["?"] * len(rest)], rest, strict=False):
        head += f"{number}{part}"
    return head


# --------------------------------------------------------------------------------------------------------------


def _where(span: Span | None, because: str) -> Iterator[str]:
    """The lines that show a place, with carets under it."""
    if span is None:
        if because:
            yield f"  because {because}"
        return
    inside = f", in {span.function}" if span.function else ""
    yield f'  File "{span.file}", line {span.line}{inside}'
    text = linecache.getline(span.file, span.line).rstrip()
    if not text:
        if because:
            yield f"  because {because}"
        return
    start = _characters(text, span.column)
    end = _characters(text, span.end_column) if span.end_line == span.line else len(text)
    text, start, end = _cut(text, start, end)
    number = str(span.line)
    pad = re.sub(r"[^\t]", " ", text[:start])  # tabs stay tabs, so that the carets line up
    yield f"  {number} | {text}"
    yield f"  {' ' * len(number)} | {pad}{'^' * max(1, end - start)} {because}".rstrip()


WIDTH = 140  # of a line that is shown


def _cut(text: str, start: int, end: int) -> tuple[str, int, int]:
    """A long line around what is marked in it, and where that is then."""
    if len(text) <= WIDTH:
        return text, start, end
    left = max(0, min(start - WIDTH // 3, len(text) - WIDTH))
    right = left + WIDTH
    head, tail = "... " if left else "", " ..." if right < len(text) else ""
    return f"{head}{text[left:right]}{tail}", start - left + len(head), min(end, right) - left + len(head)


def _characters(text: str, column: int) -> int:
    """Python's syntax trees count columns in UTF-8 bytes; carets are counted in characters."""
    return len(text.encode()[:column].decode(errors="ignore"))
