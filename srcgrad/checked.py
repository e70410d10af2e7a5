"""A way to call that looks outside first: code, globals and attributes that the text was made of may be others by now.

Stage  →  Variant  →  Checked  →  Numba's dispatcher
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

from srcgrad.assumptions import Assumption
from srcgrad.backends import cpu
from srcgrad.backends.direct import Direct, Outside
from srcgrad.frontend.outside import IsGlobal, MadeOf

if TYPE_CHECKING:
    from srcgrad.dispatch import Variant

Call = Callable[..., Any]


class Checked:
    """A way to call that looks outside first: is all as it was, and what are the values to hand in?

    `outside` says so to compiled code; it is None where that can't tell.
    """

    def __init__(self, variant: Variant, assumed: tuple[Assumption, ...]) -> None:
        self._variant, self._assumed, self._writes = variant, assumed, variant.writes
        self._made_of = tuple((a.place.target, a.place.name, a.value) for a in assumed if isinstance(a.place, MadeOf))
        self._of_python = tuple((a.place.name, a.place.scope) for a in assumed if isinstance(a.place, IsGlobal))
        self._others = tuple(a for a in assumed if not isinstance(a.place, (MadeOf, IsGlobal)))
        self._places = tuple(capture.place for capture in variant.captured)
        self._watchers: list[tuple[Any, ...]] = []
        self.outside = self._outside() if variant.stage.program.is_numba else None

    def _outside(self) -> Outside | None:
        same = [found for assumption in self._assumed if (found := assumption.look_up)]
        handed_in = [found for place in self._places if (found := place.holder)]
        if len(same) < len(self._assumed) or len(handed_in) < len(self._places):
            return None
        return Outside(tuple(chain(*same)), tuple(chain(*handed_in)))

    def __call__(self, *leaves: Any) -> Any:
        for function, name, part in self._made_of:
            if getattr(function, name) is not part and any(a.fails() for a in self._assumed):
                return self._variant.stage.restart()(*leaves)
        for global_name, scope in self._of_python:
            if global_name in scope:
                return self._variant.stage.restart()(*leaves)
        for assumption in self._others:
            if assumption.fails():
                return self._variant.stage.restart()(*leaves)
        if not self._places and not self._writes:
            return (self._variant.dispatchers.get(()) or self._add((), len(leaves)))(*leaves)
        try:
            values = [place() for place in self._places]
        except Exception:  # it is gone: where no run comes to it any more, there is nothing to say
            return self._variant.stage.restart()(*leaves)
        every = (*leaves, *values)
        if self._writes:
            self._variant.refuse_writes(every, self._writes)
        key = tuple(map(type, values))
        dispatcher = self._variant.dispatchers.get(key) or self._add(key, len(every))
        return dispatcher(*every)

    def _add(self, key: tuple[type, ...], count: int) -> Call:
        with cpu.LOCK:
            dispatcher = self._variant.dispatcher(key, count)
            for direct, kinds, source, outside in self._watchers:
                dispatcher.tell(direct, kinds, source, outside._replace(kinds=key))  # type: ignore[attr-defined]
            return dispatcher

    def tell(self, direct: Direct, kinds: tuple[type, ...], source: Any, outside: Outside) -> None:
        """Have it know what is compiled for arguments of these Python types."""
        self._watchers.append((direct, kinds, source, outside))
        for key, dispatcher in self._variant.dispatchers.items():
            dispatcher.tell(direct, kinds, source, outside._replace(kinds=key))  # type: ignore[attr-defined]
