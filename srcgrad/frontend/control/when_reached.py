"""What fails whatever the data are, fails where a run comes to it: a path that is not taken is no reason to refuse.

def drag(x, w=None):                       if x > 10.0:
    if x > 10.0:                   →           raise TypeError("None has no product …")
        return x * w                       result = x
    return x

So Python does.  What srcgrad can't differentiate is refused before anything runs, on whatever path it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import (
    HELP,
    AttributeArgumentError,
    ImportArgumentError,
    IndexArgumentError,
    KeyArgumentError,
    ModuleArgumentError,
    NameArgumentError,
    NoItemsError,
    NoneArgumentError,
    SrcgradError,
    ZeroDivisionArgumentError,
    place,
)
from ...ir.nodes import Raise
from ..calls.recursion import NotYetKnown

if TYPE_CHECKING:
    from ..interpret import Interpreter

# What Python raises there, and what we do, which is one of these and shows the place.
RAISED: dict[type[SrcgradError], tuple[type[Exception], str]] = {
    KeyArgumentError: (KeyError, "RuntimeKeyError"),
    ModuleArgumentError: (ModuleNotFoundError, "RuntimeImportError"),
    ImportArgumentError: (ImportError, "RuntimeImportError"),
    IndexArgumentError: (IndexError, "BoundsError"),
    NameArgumentError: (NameError, "RuntimeNameError"),
    AttributeArgumentError: (AttributeError, "RuntimeAttributeError"),
    NoItemsError: (TypeError, "RuntimeTypeError"),
    NoneArgumentError: (TypeError, "RuntimeTypeError"),
    ZeroDivisionArgumentError: (ZeroDivisionError, "RuntimeZeroDivisionError"),
}


def raised_for(problem: SrcgradError) -> tuple[type[Exception], str]:
    return next(raised for kind, raised in RAISED.items() if isinstance(problem, kind))


def ends(interpreter: Interpreter, run: Callable[[], Any]) -> bool:
    """Interpret a branch: does it end in an exception?  (One that waits for the result of a call tells nothing yet.)"""
    build = interpreter.build
    try:
        return bool(run())
    except NotYetKnown:
        return True
    except tuple(RAISED) as problem:
        if problem.depth != build.depth:
            raise
        interpreter.failed = problem
        error, ours = raised_for(problem)
        if build.would_catch(error):
            build.emit(Raise(error.__name__, problem.message))
        else:
            build.emit(Raise(ours, HELP.join([problem.message, *problem.help]) + place(problem.span)))
        return True
