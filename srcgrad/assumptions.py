"""Values from outside that a function was specialised to, and whether they are still what they were.

    factor = 3                        Assumption(InScope(scope, "factor"), 3).fails()  →  False
    factor = 4                        →  True: what was generated for 3 is not called again

Arrays and floats from outside are hidden arguments and may change freely; integers, functions, tuples and lists are
constants in generated code, looked at before each call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np

from srcgrad.frontend.outside import IsGlobal, MadeOf, Place

PLAIN = frozenset({list, tuple, deque, set, frozenset, dict, int, bool, float, complex, str, type(None)})


class Assumption:
    """A function, number, tuple or list from outside that f was specialised to: is it still what it was?"""

    def __init__(self, place: Place, value: Any) -> None:
        self.place = place
        self.value = value
        self._picture = picture(value)
        self._may_change_inside = not isinstance(place, MadeOf) and _may_change_inside(value)

    @property
    def look_up(self) -> tuple[Any, str | None, Any] | None:
        """Where compiled code finds the value, and which object it must be; None if that does not settle it.

        The holder itself stands for nothing.
        """
        if self.place.holder is None or self._may_change_inside:
            return None
        return (*self.place.holder, self.place.scope if isinstance(self.place, IsGlobal) else self.value)

    def fails(self) -> bool:
        try:
            now = self.place()
        except Exception:  # it is gone, or can't be taken any more: interpreting says so, where a run comes to it
            return True
        return (now is not self.value or self._may_change_inside) and picture(now) != self._picture


def assumptions(generated: Any) -> list[Assumption]:
    return [Assumption(place, value) for place, value in getattr(generated, "assumed", ())]


def _may_change_inside(value: Any) -> bool:
    return isinstance(value, (list, dict, set, deque)) or (
        isinstance(value, tuple) and any(map(_may_change_inside, value))
    )


def picture(value: Any, hold: Callable[[Any], Callable[[], Any]] | None = None) -> Any:
    """What equals another picture only where f can't tell the values apart: 1 is not 1.0, and -0.0 not 0.0.

    `hold` says how objects are held that are equal to themselves only: by default they stay as long as the picture.
    """
    itself = _Itself((lambda: value) if hold is None else hold(value)) if _has_attributes(value) else None
    if isinstance(value, (list, tuple, deque, set, frozenset)):
        return type(value), [picture(item, hold) for item in value], getattr(value, "maxlen", None), itself
    if isinstance(value, dict):
        default = picture(getattr(value, "default_factory", None), hold)
        return type(value), [(picture(key, hold), picture(item, hold)) for key, item in value.items()], default, itself
    if isinstance(value, (int, float, complex, str, np.generic, np.dtype)) or value is None:
        return type(value), repr(value), *(() if itself is None else (itself,))
    return _Itself((lambda: value) if hold is None else hold(value)) if itself is None else itself


def _has_attributes(value: Any) -> bool:
    """Could it have other attributes than what else is of its class and holds the same?"""
    return type(value) not in PLAIN and (
        hasattr(value, "__dict__") or any(vars(cls).get("__slots__") for cls in type(value).__mro__)
    )


class _Itself:
    """Equal to itself only: what `==` of an arbitrary object would say, or compute, is no matter."""

    def __init__(self, held: Callable[[], Any]) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Itself):
            return False
        mine, theirs = self.held(), other.held()
        if isinstance(mine, MethodType) and isinstance(theirs, MethodType):  # made anew at each look
            return mine.__func__ is theirs.__func__ and mine.__self__ is theirs.__self__
        return mine is theirs and mine is not None

    __hash__ = None  # type: ignore[assignment]
