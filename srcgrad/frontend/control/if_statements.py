"""`if` statements: of a test that is known now, one branch remains."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import operators, optional, split_statements
from ..syntax.liveness import assigned
from . import branches, choices

if TYPE_CHECKING:
    from ..interpret import Interpreter


def branch(interpreter: Interpreter, node: ast.If, then: Callable[[], Any] | None = None) -> bool:
    """An `if`.  A test that is known now leaves one branch only."""
    block = interpreter.build.block
    mark = len(block)
    test = split_statements.expression(interpreter, node.test)
    known = operators.known_truth(interpreter, test)
    if known is None:
        known = choices.decided(interpreter, node.test)
        if known is not None:
            block[mark:] = choices.with_looks(block[mark:])
    if known is not None:
        if known:
            return bool(then()) if then else interpreter.block(node.body)
        return interpreter.block(node.orelse)
    interpreter.at(node)
    condition = operators.truth(interpreter, test)
    live_out = node.live_out  # type: ignore[attr-defined]
    names = sorted(live_out & assigned([*node.body, *node.orelse]))

    def side(run: Callable[[], Any], holds: bool) -> Any:
        with optional.known_there(interpreter, [node.test], holds):
            return run()

    run_then = partial(side, then or (lambda: interpreter.block(node.body)), True)
    run_else = partial(side, lambda: interpreter.block(node.orelse), False)
    return branches.choose(interpreter, condition, run_then, run_else, names, live_out)
