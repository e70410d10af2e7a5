"""Values from outside that a function was specialised to, and whether they are still what they were.

    factor = 3                        Assumption(InScope(scope, "factor"), 3).fails()  →  False
    factor = 4                        →  True: what was generated for 3 is not called again

Arrays and floats from outside are hidden arguments and may change freely; integers, functions, tuples and lists are
constants in generated code, looked at before each call.
"""

from __future__ import annotations

from collections import deque
from types import MethodType
from typing import Any

import numpy as np

from srcgrad.frontend.outside import Place


class Assumption:
    """A function, number, tuple or list from outside that f was specialised to: is it still what it was?"""

    def __init__(self, place: Place, value: Any) -> None:
        self.place = place
        self._value = value
        self._picture = _picture(value)
        self._may_change_inside = _may_change_inside(value)

    @property
    def look_up(self) -> tuple[Any, str | None, Any] | None:
        """Where compiled code finds the value, and which object it must be; None if that does not settle it."""
        return None if self.place.holder is None or self._may_change_inside else (*self.place.holder, self._value)

    def fails(self) -> bool:
        now = self.place()
        return (now is not self._value or self._may_change_inside) and _picture(now) != self._picture


def assumptions(generated: Any) -> list[Assumption]:
    return [Assumption(place, value) for place, value in getattr(generated, "assumed", ())]


def _may_change_inside(value: Any) -> bool:
    return isinstance(value, (list, dict, set, deque)) or (
        isinstance(value, tuple) and any(map(_may_change_inside, value))
    )


def _picture(value: Any) -> Any:
    """What equals another picture only where f can't tell the values apart: 1 is not 1.0, and -0.0 not 0.0."""
    if isinstance(value, (list, tuple, deque)):
        return type(value), [_picture(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return type(value), [_picture(item) for item in value]
    if isinstance(value, dict):
        return dict, [(_picture(key), _picture(item)) for key, item in value.items()]
    if isinstance(value, (int, float, complex, str, np.generic, np.dtype)):
        return type(value), repr(value)
    return _Itself(value)


class _Itself:
    """Equal to itself only: what `==` of an arbitrary object would say, or compute, is no matter."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Itself):
            return False
        if isinstance(self.value, MethodType) and isinstance(other.value, MethodType):  # made anew at each look
            return self.value.__func__ is other.value.__func__ and self.value.__self__ is other.value.__self__
        return self.value is other.value

    __hash__ = None  # type: ignore[assignment]
