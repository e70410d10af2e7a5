"""Whether what was there has changed meanwhile: lists and objects, arrays, and numbers that are variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.expressions import Var
from ...ir.nodes import Alloc, Stmt
from ...ir.walk import loads, statements, targets, variables
from .. import identities
from ..array_values import ArrayValue
from ..builder import Builder
from ..values import Scalar

if TYPE_CHECKING:
    from ..interpret import Interpreter


class Changes:
    """Whether lists, arrays or variables have changed since this was made."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.envs = [dict(frame.env) for frame in identities.frames_of(interpreter)]  # looked at only where asked
        self.variables, self.mark = set(interpreter.build.mutable), len(interpreter.build.block)

    def since(self) -> bool:
        before = identities.held_in(self.envs)
        lists = {key: value for key, value in identities.held(self.interpreter).items() if key in before}
        changed = changed_since(self.interpreter.build, self.mark)
        return lists != before or any(not isinstance(x, Var) or x in self.variables for x in changed)


def changed_since(build: Builder, mark: int) -> set[Any]:
    """Variables and memory that the statements since a mark change."""
    return _changed(build, build.block[mark:])


def reads_any(build: Builder, value: Any, changed: set[Any]) -> bool:
    """Does a value that is read late depend on what has changed?"""
    expr = value.expr if isinstance(value, Scalar) else value.element if isinstance(value, ArrayValue) else None
    return expr is not None and bool(variables(expr) & changed or {build.root(x.array) for x in loads(expr)} & changed)


def _changed(build: Builder, block: list[Stmt]) -> set[Any]:
    """Variables and memory from before that these statements change."""
    made = {build.root(s.array) for s in statements(tuple(block)) if isinstance(s, Alloc)}
    out: set[Any] = set()
    for stmt in statements(tuple(block)):
        for item in targets(stmt):
            if isinstance(item, Var) and item in build.mutable:
                out.add(item)
            elif not isinstance(item, Var) and build.root(item) not in made:
                out.add(build.root(item))
    return out
