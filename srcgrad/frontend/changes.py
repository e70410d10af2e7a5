"""Whether what was there has changed meanwhile: lists and objects, arrays, and numbers that are variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.expressions import Var
from . import expressions, identities

if TYPE_CHECKING:
    from .interpret import Interpreter


class Changes:
    """Whether lists, arrays or variables have changed since this was made."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.envs = [dict(frame.env) for frame in identities.frames_of(interpreter)]  # looked at only where asked
        self.variables, self.mark = set(interpreter.build.mutable), len(interpreter.build.block)

    def since(self) -> bool:
        before = identities.held_in(self.envs)
        lists = {key: value for key, value in identities.held(self.interpreter).items() if key in before}
        changed = expressions.changed_since(self.interpreter.build, self.mark)
        return lists != before or any(not isinstance(x, Var) or x in self.variables for x in changed)


__all__ = ["Changes"]
