"""Warnings and logs, which compiled code has none of: what is handed to them is evaluated, and nothing is said."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..values import NONE, Static, constant, new_dict

if TYPE_CHECKING:
    from ..interpret import Interpreter


def say_nothing(interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
    return NONE


def set_error_state(interpreter: Interpreter, **how: Any) -> Any:
    """`np.seterr`: what it was before, as far as anybody can tell; floats never raise here."""
    for name, value in how.items():
        if isinstance(value, Static) and value.value in ("raise", "call"):
            interpreter.build.refuse(f"np.seterr({name}={value.value!r}) is not supported", "test for it yourself")
    return new_dict({name: constant(value) for name, value in np.geterr().items()})


LEVELS = ("debug", "info", "warning", "error", "critical", "exception", "log")
BUILTINS: dict[Any, Callable[..., Any]] = {
    np.seterr: set_error_state,
    **dict.fromkeys(
        (warnings.warn, warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings), say_nothing
    ),
    **{getattr(owner, name): say_nothing for owner in (logging, logging.Logger) for name in LEVELS},
}
